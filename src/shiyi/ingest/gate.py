"""The gate: what was extracted is checked with the shapes, then a candidate or in quarantine."""

from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from shiyi.linking.labels import LabelIndex
from shiyi.model.claim import Claim, Polarity, Status
from shiyi.model.confidence import Confidence, fuse
from shiyi.model.names import graph
from shiyi.model.rdf import (
    XSD_INTEGER,
    DefaultGraph,
    Literal,
    NamedNode,
    Quad,
    decimal,
    local_name,
    text,
)
from shiyi.ontology.statements import claim_quads, source_quads
from shiyi.ontology.terms import DCTERMS, RDF, RDFS, SHIYI
from shiyi.ontology.vocabulary import Schema
from shiyi.shapes.telling import Telling
from shiyi.shapes.validation import Result, lowered, shapes_graph, validate
from shiyi.sparql.store import QuadStore

if TYPE_CHECKING:
    from rdflib import Graph

CANDIDATES, QUARANTINE = graph("candidates"), graph("quarantine")


@dataclass(frozen=True, slots=True)
class Proposed:
    """A claim with one piece of evidence; its quote is ``[start, end)`` of a passage, if any."""

    claim: Claim
    start: int = -1
    end: int = -1


@dataclass(frozen=True, slots=True)
class Judged:
    """A proposed claim and what the shapes say against it; nothing means that it conforms."""

    proposed: Proposed
    faults: tuple[Result, ...] = ()


class Gate:
    """Checks claims a batch at a time, each in its neighbourhood: as if it were asserted.

    What the shapes say of a neighbourhood depends on its classes, relation and kind of evidence,
    and on terms and texts that shapes name or read; of claims that agree in these, one is
    validated and speaks for the others.
    """

    def __init__(self, index: LabelIndex, schema: Schema | None = None) -> None:
        schema = schema or Schema.load()
        self._above = {kind: schema.superclasses(kind) for kind in schema.parents}
        self._classes = {
            each.iri: self._above.get(each.kind, frozenset()) for each in index.concepts
        }
        self._shapes: Graph | None = None
        self._relations: frozenset[str] = frozenset()
        self._telling = Telling.of(shapes_graph())
        self._said: dict[Hashable, tuple[Result, ...]] = {}

    def know(self, classes: Mapping[str, str]) -> None:
        """Take in what class each new concept of a source has, by IRI."""
        for iri, kind in classes.items():
            self._classes[iri] = self._above.get(kind, frozenset())

    def judge(self, proposed: Sequence[Proposed]) -> list[Judged]:
        """Give each claim with the results that are about it, its evidence or its triple."""
        keys = [self._likeness(each.claim) for each in proposed]
        fresh = {
            key: each for key, each in zip(keys, proposed, strict=True) if key not in self._said
        }
        if fresh:
            self._validate(fresh)
        return [Judged(each, self._said[key]) for key, each in zip(keys, proposed, strict=True)]

    def _validate(self, fresh: Mapping[Hashable, Proposed]) -> None:
        relations = self._relations | {each.claim.predicate.value for each in fresh.values()}
        if self._shapes is None or relations != self._relations:
            self._shapes, self._relations = pruned(shapes_graph(), relations), relations
        quads = (q for e in fresh.values() for q in neighbourhood(e.claim, self._classes))
        by_focus: Mapping[str, list[Result]] = defaultdict(list)
        for result in validate(lowered(quads), self._shapes):
            if result.severity == "Violation":
                by_focus[result.focus].append(result)
        for key, each in fresh.items():
            self._said[key] = tuple(against(each.claim, by_focus))

    def _likeness(self, claim: Claim) -> Hashable:
        telling = self._telling
        evidence = tuple(
            (e.source.tier, e.confidence.value, e.checked, telling.qualifiers(e.qualifiers))
            for e in claim.evidence
        )
        same = claim.subject == claim.object
        kind = self._classes.get(claim.subject.value)
        said: Hashable = claim.object
        if telling.reads(claim.predicate.value):
            pass
        elif isinstance(claim.object, Literal):
            said = claim.object.language, claim.object.datatype
        elif not telling.names(claim.object):
            said = self._classes.get(claim.object.value)
        return kind, claim.predicate, said, claim.polarity, same, evidence


def neighbourhood(claim: Claim, classes: Mapping[str, Iterable[str]]) -> Iterator[Quad]:
    """Yield what the shapes look at: the claim as if asserted, the classes of both ends, sources.

    ``classes`` gives the local names of an IRI's classes with those above them.
    """
    default = DefaultGraph()
    yield from claim_quads(claim)
    if claim.polarity is Polarity.POSITIVE:
        yield Quad(claim.subject, claim.predicate, claim.object, default)
    for node in (claim.subject, claim.object):
        for name in classes.get(text(node), ()):
            if isinstance(node, NamedNode):
                yield Quad(node, RDF.type, getattr(SHIYI, name), default)
    for evidence in claim.evidence:
        yield from source_quads(evidence.source)


_WHOLE = ("Claim", "Evidence", "Source")  # classes whose shapes are kept whole


def pruned(shapes: "Graph", relations: frozenset[str]) -> "Graph":
    """Drop what is said of paths other than ``relations``: its results would not count here."""
    from rdflib import SH, URIRef

    kept = {URIRef(getattr(SHIYI, name).value) for name in _WHOLE}
    for shape, constraint in list(shapes.subject_objects(SH.property)):
        path = shapes.value(constraint, SH.path)
        targets = set(shapes.objects(shape, SH.targetClass))
        of_evidence = shapes.value(shape, SH.targetSubjectsOf) is not None
        if not (targets & kept or of_evidence or str(path) in relations):
            shapes.remove((shape, SH.property, constraint))
    return shapes


def against(claim: Claim, by_focus: Mapping[str, list[Result]]) -> Iterator[Result]:
    """Yield the results that are about a claim, its evidence or its triple."""
    yield from by_focus.get(claim.iri.value, ())
    for evidence in claim.evidence:
        yield from by_focus.get(evidence.iri(claim.iri).value, ())
    for result in by_focus.get(claim.subject.value, ()):
        of_triple = result.path == claim.predicate.value
        if of_triple and result.value in {"", text(claim.object)}:
            yield result


class Votes:
    """What each candidate rests on so far, so that its one confidence is kept up to date."""

    def __init__(self, store: QuadStore) -> None:
        self._store = store
        self._best: dict[NamedNode, dict[str, Confidence]] = {}
        self._said: dict[NamedNode, Quad] = {}  # the confidence that this run gave a claim
        self._new: set[NamedNode] = set()  # claims that the store did not hold

    def __len__(self) -> int:
        """Count the claims that are kept in memory."""
        return len(self._best)

    def clear(self) -> None:
        """Let go of what is in memory, once the store holds it."""
        self._best.clear()
        self._said.clear()
        self._new.clear()

    def add(self, claim: Claim) -> None:
        """Count a claim's evidence."""
        iri = claim.iri
        best = self._best.get(iri)
        if best is None:
            best = self._best[iri] = self._of_store(iri)
            if not best:
                self._new.add(iri)
        for each in claim.evidence:
            lineage = each.source.lineage or each.source.id
            known = best.get(lineage)
            best[lineage] = max(known, each.confidence) if known else each.confidence

    def confidence(self, iri: NamedNode) -> tuple[Quad, list[Quad]]:
        """Give the fused confidence of a counted claim, and what it replaces."""
        fused = fuse(self._best[iri].items())
        said = Quad(iri, SHIYI.confidence, decimal(fused.value), CANDIDATES)
        if before := self._said.get(iri):
            old = [before]
        elif iri in self._new:
            old = []
        else:
            old = list(self._store.match(iri, SHIYI.confidence, None, CANDIDATES))
        self._said[iri] = said
        return said, [quad for quad in old if quad != said]

    def _of_store(self, claim: NamedNode) -> dict[str, Confidence]:
        return dict(_best(votes(self._store, claim)))


def votes(store: QuadStore, claim: NamedNode) -> Iterator[tuple[str, Confidence]]:
    """Yield lineage and weight of each piece of evidence that a candidate has in the store."""
    for quad in store.match(claim, SHIYI.evidence, None, CANDIDATES):
        if isinstance(quad.object, NamedNode):
            weight = _first(store, quad.object, SHIYI.extractionConfidence, CANDIDATES)
            source = NamedNode(_first(store, quad.object, DCTERMS.source, CANDIDATES))
            lineage = _first(store, source, SHIYI.lineage, None) or local_name(source.value)
            yield lineage, Confidence(float(weight))


def _best(found: Iterable[tuple[str, Confidence]]) -> Iterator[tuple[str, Confidence]]:
    best: dict[str, Confidence] = {}
    for lineage, weight in found:
        best[lineage] = max(best.get(lineage, weight), weight)
    yield from best.items()


def _first(
    store: QuadStore, subject: NamedNode, predicate: NamedNode, place: NamedNode | None
) -> str:
    return next((text(q.object) for q in store.match(subject, predicate, None, place)), "")


@dataclass(slots=True)
class Change:
    """What a batch of claims adds, and which confidences of earlier candidates it replaces."""

    added: list[Quad] = field(default_factory=list)
    replacing: list[Quad] = field(default_factory=list)
    replaced: list[Quad] = field(default_factory=list)


def change_of(judged: Iterable[Judged], kept: Votes) -> Change:
    """Write judged claims as quads of ``candidates`` and ``quarantine``."""
    change, counted = Change(), dict[NamedNode, None]()
    for each in judged:
        change.added += _claim(each)
        if not each.faults:
            counted[each.proposed.claim.iri] = None
            kept.add(each.proposed.claim)
    for iri in counted:
        quad, old = kept.confidence(iri)
        (change.replacing if old else change.added).append(quad)
        change.replaced += old
    change.added = list(dict.fromkeys(change.added))
    return change


def _claim(judged: Judged) -> Iterator[Quad]:
    conforms = not judged.faults
    place = CANDIDATES if conforms else QUARANTINE
    status = Status.CANDIDATE if conforms else Status.QUARANTINED
    claim = replace(judged.proposed.claim, status=status)
    # a candidate's confidence is fused over all its evidence, and written once
    yield from claim_quads(claim, place, fused=not conforms)
    for evidence in claim.evidence:
        if evidence.passage:
            yield Quad(claim.iri, SHIYI.supportedByText, evidence.passage, place)
        if judged.proposed.start >= 0:
            node = evidence.iri(claim.iri)
            for predicate, offset in (
                (SHIYI.quoteStart, judged.proposed.start), (SHIYI.quoteEnd, judged.proposed.end),
            ):  # fmt: skip
                yield Quad(node, predicate, Literal(str(offset), datatype=XSD_INTEGER), place)
    for fault in judged.faults:
        yield Quad(claim.iri, RDFS.comment, Literal(fault.message_en, language="en"), place)
        yield Quad(claim.iri, RDFS.comment, Literal(fault.message_zh, language="zh"), place)


def sources_of(evidence_graph: NamedNode, store: QuadStore, source: NamedNode) -> list[NamedNode]:
    """List the evidence nodes of ``source`` in a graph of claims."""
    found = store.match(None, DCTERMS.source, source, evidence_graph)
    return [quad.subject for quad in found if isinstance(quad.subject, NamedNode)]
