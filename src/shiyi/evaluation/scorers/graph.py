"""Path strength between concepts."""

import math
import random
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Self

from shiyi.answering.retrieval.neighbourhood import Link
from shiyi.errors import FormatError
from shiyi.linking.labels import Concept, LabelIndex
from shiyi.model.iris import ID, graph
from shiyi.model.rdf import DefaultGraph, Literal, NamedNode, Quad, Triple, local_name, text
from shiyi.ontology.schema import Schema
from shiyi.ontology.terms import DCTERMS, RDF, RDFS, SHIYI, SKOS
from shiyi.reasoning.adjacency import Edge, Projection, load_edges
from shiyi.sparql.store.port import QuadStore

_DEFAULT = DefaultGraph()
BROADER = "broader"
BROADER_CONFIDENCE = 0.9  # Shiyi's: what holds of a class mostly holds of its members


@dataclass(frozen=True, slots=True)
class View:
    """Edges, texts and names that the readers of one run retrieve from."""

    projection: Projection
    links: Mapping[str, tuple[Link, ...]]
    texts: tuple[tuple[str, str], ...]  # concept, sentence
    concepts: Mapping[str, Concept]
    ratings: Mapping[str, str]
    withheld: int  # claims left out because they stand on withheld sources alone

    @classmethod
    def read(
        cls,
        store: QuadStore,
        index: LabelIndex,
        release: str,
        without: Collection[str] = (),
        ablate: Collection[str] = (),
        withheld: frozenset[str] = frozenset(),
    ) -> Self:
        """Read the accepted view; ``without`` names sources by their id.

        A claim stays where other evidence bears it. Sources of one lineage are withheld together.
        The claims ``withheld`` are withheld with all their evidence.
        """
        gone = withheld | (_withheld_claims(store, without) if without else frozenset())
        edges = [e for e in load_edges(store) if e.claim not in gone]
        if "deterministic" in ablate:
            edges = [Edge(e.subject, e.predicate, e.object, e.claim, 1.0) for e in edges]
        concepts = {concept.iri: concept for concept in index.concepts}
        texts = () if "spo-without-text" in ablate else tuple(_texts(store, gone))
        return cls(
            Projection.from_edges(edges, release),
            _links(edges, store),
            texts,
            concepts,
            _ratings(store),
            len(gone),
        )

    def name(self, iri: str) -> str:
        """Return the names of a concept in both languages, for sentences that are searched."""
        concept = self.concepts.get(iri)
        return f"{concept.zh} {concept.en}".strip() if concept else local_name(iri)

    def sentences(self) -> Iterator[tuple[str, str, str]]:
        """Yield both ends of each claim (the second empty for a text) and its sentence."""
        properties = Schema.load().properties
        seen = self.projection
        for i, claim in enumerate(seen.claims):
            if claim:
                one, other = seen.nodes[seen.source[i]], seen.nodes[seen.target[i]]
                relation = properties.get(local_name(seen.predicates[seen.kind[i]]))
                verb = f"{relation.label_zh} {relation.label_en}" if relation else ""
                yield one, other, f"{self.name(one)} {verb} {self.name(other)}"
        for iri, sentence in self.texts:
            yield iri, "", f"{self.name(iri)} {sentence}"


def sources_of(store: QuadStore) -> dict[str, frozenset[str]]:
    """Return the ids of the sources each claim of the accepted view stands on."""
    source = {
        q.subject: text(q.object).removeprefix(ID).removeprefix("source-")
        for q in store.match(None, DCTERMS.source, None, _DEFAULT)
    }
    results: dict[str, set[str]] = defaultdict(set)
    for quad in store.match(None, SHIYI.evidence, None, _DEFAULT):
        if isinstance(quad.object, NamedNode) and quad.object in source:
            results[text(quad.subject)].add(source[quad.object])
    return {claim: frozenset(group) for claim, group in results.items()}


def is_of_release(quad: Quad, name: str) -> bool:
    """Return whether a statement is in the graph of a loaded release."""
    place = quad.graph_name
    start = f"{graph('source', name).value}@"
    return isinstance(place, NamedNode) and place.value.startswith(start)


def _withheld_claims(store: QuadStore, without: Collection[str]) -> frozenset[str]:
    lineage = {
        text(q.subject).removeprefix(ID).removeprefix("source-"): text(q.object)
        for q in store.match(None, SHIYI.lineage, None, _DEFAULT)
    }
    lines = set[str]()
    for name in without:
        quads = store.match(None, SHIYI.lineage, None, None)
        own = {text(q.object) for q in quads if is_of_release(q, name)}  # and of works it cites
        if not own and name not in lineage:
            raise FormatError("source", name, sorted(lineage))
        lines |= own or {lineage[name]}
    return frozenset(
        claim
        for claim, sources in sources_of(store).items()
        if all(lineage.get(source, source) in lines for source in sources)
    )


def _links(edges: Collection[Edge], store: QuadStore) -> dict[str, tuple[Link, ...]]:
    links: dict[str, list[Link]] = defaultdict(list)
    for e in edges:
        name = local_name(e.predicate)
        links[e.subject].append(Link(e.object, name, e.claim, e.confidence, forward=True))
        links[e.object].append(Link(e.subject, name, e.claim, e.confidence, forward=False))
    for quad in store.match(None, SKOS.broader, None, _DEFAULT):
        below, above = text(quad.subject), text(quad.object)
        links[below].append(Link(above, BROADER, "", BROADER_CONFIDENCE, forward=True))
        links[above].append(Link(below, BROADER, "", BROADER_CONFIDENCE, forward=False))
    return {node: tuple(group) for node, group in links.items()}


def _texts(store: QuadStore, gone: Collection[str]) -> Iterator[tuple[str, str]]:
    for quad in store.match(None, SKOS.definition, None, _DEFAULT):
        if isinstance(quad.object, Literal):
            yield text(quad.subject), quad.object.value
    terms = {q.subject for q in store.match(None, SHIYI.status, SHIYI.accepted, _DEFAULT)}
    notes = {q.subject: text(q.object) for q in store.match(None, SHIYI.noteText, None, _DEFAULT)}
    bearing = defaultdict(list)
    for quad in store.match(None, SHIYI.evidence, None, _DEFAULT):
        if isinstance(quad.object, NamedNode) and quad.object in notes:
            bearing[text(quad.subject)].append(notes[quad.object])
    values: dict[object, list[str]] = defaultdict(list)
    for quad in store.match(None, RDFS.label, None, _DEFAULT):
        values[quad.subject].append(text(quad.object))
    for quad in store.match(None, RDF.reifies, None, _DEFAULT):
        triple, claim = quad.object, text(quad.subject)
        if not isinstance(triple, Triple) or quad.subject not in terms or claim in gone:
            continue
        own = [triple.object.value] if isinstance(triple.object, Literal) else values[triple.object]
        for words in own or dict.fromkeys(bearing.get(claim, ())):
            yield text(triple.subject), words


def _ratings(store: QuadStore) -> dict[str, str]:
    rated = {q.subject: text(q.object) for q in store.match(None, SHIYI.rating, None, _DEFAULT)}
    return {
        text(q.subject): rated[q.object]
        for q in store.match(None, SHIYI.evidence, None, _DEFAULT)
        if isinstance(q.object, NamedNode) and q.object in rated
    }


BEAM = 400  # Shiyi's: branches followed from one concept, best first


@dataclass(frozen=True, slots=True)
class StrengthSettings:
    """How paths are followed and scored.

    ``scorer`` is ``specific`` (product of confidences, each middle concept divided by the
    logarithm of its degree; Shiyi's) or ``mean_entities`` (Yaoshi-RAG: confidence times PageRank,
    over the entities of the path).
    """

    hops: int = 2
    k: int = 10  # Yaoshi-RAG
    damping: float = 0.8  # Yaoshi-RAG
    scorer: str = "specific"
    ranked: bool = True
    random_paths: bool = False
    seed: int = 0


@dataclass(slots=True)
class PathStrength:
    """Remembers what each concept reaches, so that a thousand questions share the work."""

    view: View
    settings: StrengthSettings = StrengthSettings()
    rank: Mapping[str, float] = field(default_factory=dict)
    _reached: dict[tuple[str, frozenset[str]], dict[str, float]] = field(default_factory=dict)

    def reach(self, seed: str, predicates: frozenset[str] = frozenset()) -> Mapping[str, float]:
        """Return the strength, in (0, 1], of every concept within the hops.

        It is the sum of the ``k`` best paths from ``seed``; ``keys`` predicates weigh more.
        """
        key = seed, predicates
        known = self._reached.get(key)
        if known is None:
            known = self._reached[key] = self._walk(seed, predicates)
        return known

    def thin(self) -> View:
        """Return the view with the links alone that paths follow."""
        return replace(self.view, links={node: self._out_links(node) for node in self.view.links})

    def _walk(self, seed: str, predicates: frozenset[str]) -> dict[str, float]:
        results: dict[str, list[float]] = defaultdict(list)
        front: list[tuple[str, float, float, Collection[str]]] = [(seed, 1.0, 0.0, (seed,))]
        for hop in range(1, self.settings.hops + 1):
            front = self._step(front, hop, predicates, results)
        for group in results.values():
            group.sort(reverse=True)
        k = self.settings.k
        if not self.settings.ranked:
            return {node: float(min(len(seen), k)) for node, seen in results.items()}
        return {node: sum(seen[:k]) for node, seen in results.items()}

    def _step(
        self,
        front: list[tuple[str, float, float, Collection[str]]],
        hop: int,
        predicates: frozenset[str],
        paths: dict[str, list[float]],
    ) -> list[tuple[str, float, float, Collection[str]]]:
        following: list[tuple[str, float, float, Collection[str]]] = []
        for node, product, total, seen in front:
            links = self._out_links(node)
            damp = 1.0 if hop == 1 else 1 / math.log2(2 + len(links))
            for link in links:
                if link.other in seen:
                    continue
                boost = 1.0 if not predicates or link.predicate in predicates else 0.5
                through = product * link.confidence * damp
                gained = total + link.confidence * self.rank.get(link.other, 1.0)
                mean = self.settings.scorer == "mean_entities"
                paths[link.other].append((gained / (hop + 1) if mean else through) * boost)
                following.append((link.other, through, gained, (*seen, link.other)))
        if self.settings.random_paths:
            return following
        following.sort(key=lambda row: (-row[1], row[0]))
        return following[:BEAM]

    def _out_links(self, node: str) -> tuple[Link, ...]:
        links = self.view.links.get(node, ())
        if not self.settings.random_paths:
            return links
        pick = random.Random(f"{self.settings.seed} {node}")  # noqa: S311 - a draw, no secret
        return tuple(pick.sample(links, min(3, len(links))))
