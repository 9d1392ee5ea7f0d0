"""The accepted claims as a run may see them: without withheld sources, as a switch distorts them."""

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Self

from shiyi.answering.neighbourhood import Link
from shiyi.errors import FormatError
from shiyi.linking.labels import Concept, LabelIndex
from shiyi.model.names import ID
from shiyi.model.rdf import DefaultGraph, Literal, NamedNode, Triple, local_name, text
from shiyi.ontology.terms import DCTERMS, RDF, SHIYI, SKOS
from shiyi.ontology.vocabulary import Schema
from shiyi.reasoning.projection import Edge, Projection, accepted_edges
from shiyi.sparql.store import QuadStore

_DEFAULT = DefaultGraph()
BROADER = "broader"
BROADER_CONFIDENCE = 0.9  # ours: what holds of a class mostly holds of its members


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
        held: frozenset[str] = frozenset(),
    ) -> Self:
        """Read the accepted view; ``without`` names sources by their id.

        A claim stays where other evidence bears it. Sources of one lineage are withheld together.
        The claims ``held`` are withheld, whatever bears them.
        """
        gone = held | (_withheld(store, without) if without else frozenset())
        edges = [e for e in accepted_edges(store) if e.claim not in gone]
        if "deterministic" in ablate:
            edges = [Edge(e.subject, e.predicate, e.object, e.claim, 1.0) for e in edges]
        concepts = {each.iri: each for each in index.concepts}
        kept = () if "spo-without-text" in ablate else tuple(_texts(store, gone))
        return cls(
            Projection.from_edges(edges, release), _links(edges, store), kept, concepts,
            _ratings(store), len(gone),
        )  # fmt: skip

    def name(self, iri: str) -> str:
        """Give the names of a concept in both languages, for sentences that are searched."""
        known = self.concepts.get(iri)
        return f"{known.zh} {known.en}".strip() if known else local_name(iri)

    def sentences(self) -> Iterator[tuple[str, str, str]]:
        """Yield both ends of each claim (the second empty for a text) and its sentence."""
        properties = Schema.load().properties
        seen = self.projection
        for i, claim in enumerate(seen.claims):
            if claim:
                one, other = seen.nodes[seen.source[i]], seen.nodes[seen.target[i]]
                said = properties.get(local_name(seen.predicates[seen.kind[i]]))
                verb = f"{said.label_zh} {said.label_en}" if said else ""
                yield one, other, f"{self.name(one)} {verb} {self.name(other)}"
        for iri, sentence in self.texts:
            yield iri, "", f"{self.name(iri)} {sentence}"


def sources_of(store: QuadStore) -> dict[str, frozenset[str]]:
    """Give the ids of the sources each claim of the accepted view stands on."""
    source = {
        q.subject: text(q.object).removeprefix(ID).removeprefix("source-")
        for q in store.match(None, DCTERMS.source, None, _DEFAULT)
    }
    found: dict[str, set[str]] = defaultdict(set)
    for quad in store.match(None, SHIYI.evidence, None, _DEFAULT):
        if isinstance(quad.object, NamedNode) and quad.object in source:
            found[text(quad.subject)].add(source[quad.object])
    return {claim: frozenset(each) for claim, each in found.items()}


def _withheld(store: QuadStore, without: Collection[str]) -> frozenset[str]:
    lineage = {
        text(q.subject).removeprefix(ID).removeprefix("source-"): text(q.object)
        for q in store.match(None, SHIYI.lineage, None, _DEFAULT)
    }
    for name in without:
        if name not in lineage:
            raise FormatError("source", name, sorted(lineage))
    lines = {lineage[name] for name in without}
    return frozenset(
        claim
        for claim, sources in sources_of(store).items()
        if all(lineage.get(each, each) in lines for each in sources)
    )


def _links(edges: Collection[Edge], store: QuadStore) -> dict[str, tuple[Link, ...]]:
    found: dict[str, list[Link]] = defaultdict(list)
    for e in edges:
        name = local_name(e.predicate)
        found[e.subject].append(Link(e.object, name, e.claim, e.confidence, forward=True))
        found[e.object].append(Link(e.subject, name, e.claim, e.confidence, forward=False))
    for quad in store.match(None, SKOS.broader, None, _DEFAULT):
        below, above = text(quad.subject), text(quad.object)
        found[below].append(Link(above, BROADER, "", BROADER_CONFIDENCE, forward=True))
        found[above].append(Link(below, BROADER, "", BROADER_CONFIDENCE, forward=False))
    return {node: tuple(each) for node, each in found.items()}


def _texts(store: QuadStore, gone: Collection[str]) -> Iterator[tuple[str, str]]:
    for quad in store.match(None, SKOS.definition, None, _DEFAULT):
        if isinstance(quad.object, Literal):
            yield text(quad.subject), quad.object.value
    accepted = {q.subject for q in store.match(None, SHIYI.status, SHIYI.accepted, _DEFAULT)}
    notes = {q.subject: text(q.object) for q in store.match(None, SHIYI.noteText, None, _DEFAULT)}
    bearing = defaultdict(list)
    for quad in store.match(None, SHIYI.evidence, None, _DEFAULT):
        if isinstance(quad.object, NamedNode) and quad.object in notes:
            bearing[text(quad.subject)].append(notes[quad.object])
    for quad in store.match(None, RDF.reifies, None, _DEFAULT):
        said, claim = quad.object, text(quad.subject)
        if not isinstance(said, Triple) or quad.subject not in accepted or claim in gone:
            continue
        if isinstance(said.object, Literal):
            yield text(said.subject), said.object.value
        else:
            for note in dict.fromkeys(bearing.get(claim, ())):
                yield text(said.subject), note


def _ratings(store: QuadStore) -> dict[str, str]:
    rated = {q.subject: text(q.object) for q in store.match(None, SHIYI.rating, None, _DEFAULT)}
    return {
        text(q.subject): rated[q.object]
        for q in store.match(None, SHIYI.evidence, None, _DEFAULT)
        if isinstance(q.object, NamedNode) and q.object in rated
    }
