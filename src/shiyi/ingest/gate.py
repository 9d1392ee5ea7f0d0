"""SHACL gate and quarantine; votes of lineages."""

import re
from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from shiyi.ingest.extraction.books.patterns import pattern
from shiyi.linking.labels import LabelIndex
from shiyi.model.claim import Claim, Confidence, Polarity, Source, Status, fuse
from shiyi.model.iris import graph
from shiyi.model.rdf import (
    XSD_INTEGER,
    DefaultGraph,
    Literal,
    NamedNode,
    Quad,
    canonical,
    decimal,
    local_name,
    text,
)
from shiyi.ontology.lexicon import sentences
from shiyi.ontology.schema import Schema
from shiyi.ontology.serialization import Graph as Place
from shiyi.ontology.serialization import claim_blocks, claim_quads, line_end, source_quads
from shiyi.ontology.terms import DCTERMS, RDF, RDFS, SHIYI
from shiyi.shapes.validation import DataFingerprint, Result, shapes_graph, to_graph, validate
from shiyi.sparql.store.port import QuadStore

if TYPE_CHECKING:
    from rdflib import Graph


@dataclass(slots=True)
class _Votes:
    best: dict[str, Confidence]  # by lineage
    new: bool  # whether the store did not hold the claim
    stated: Quad | None = None  # the confidence that this run gave it


class Votes:
    """The evidence of each claim so far in its graph, from which its confidence is computed.

    Claims of this run are cached; all others are in the store.
    """

    def __init__(self, store: QuadStore) -> None:
        self._store = store
        self._cached: dict[tuple[NamedNode, Place], _Votes] = {}
        self._described: set[NamedNode] = set()

    def __len__(self) -> int:
        """Count the cached claims."""
        return len(self._cached)

    def clear(self) -> None:
        """Empty the cache, once the store has what was written."""
        self._cached.clear()

    def add(self, claim: Claim, place: Place) -> None:
        """Count a claim's evidence."""
        best = self._of(claim.iri, place).best
        for each in claim.evidence:
            lineage = each.source.lineage or each.source.id
            known = best.get(lineage)
            best[lineage] = max(known, each.confidence) if known else each.confidence

    def confidence(self, iri: NamedNode, place: Place) -> tuple[Quad, list[Quad]]:
        """Return the fused confidence of a counted claim, and what it replaces."""
        retained = self._of(iri, place)
        value = Quad(iri, SHIYI.confidence, decimal(fuse(retained.best.items()).value), place)
        if retained.stated:
            old = [retained.stated]
        else:
            old = (
                [] if retained.new else list(self._store.match(iri, SHIYI.confidence, None, place))
            )
        retained.stated = value
        return value, [quad for quad in old if quad != value]

    def lacks_source(self, source: Source) -> bool:
        """Return True, once, for a source that the accepted view does not know yet."""
        if source.iri in self._described:
            return False
        self._described.add(source.iri)
        return not any(self._store.match(source.iri, RDF.type, SHIYI.Source, DefaultGraph()))

    def _of(self, iri: NamedNode, place: Place) -> _Votes:
        cached = self._cached.get((iri, place))
        if cached is None:
            best: dict[str, Confidence] = {}
            for lineage, weight in votes(self._store, iri, place):
                best[lineage] = max(best.get(lineage, weight), weight)
            cached = self._cached[iri, place] = _Votes(best, new=not best)
        return cached


def votes(store: QuadStore, claim: NamedNode, place: Place) -> Iterator[tuple[str, Confidence]]:
    """Yield lineage and weight of each piece of evidence that a claim has in a graph."""
    for quad in store.match(claim, SHIYI.evidence, None, place):
        if isinstance(quad.object, NamedNode):
            weight = _first(store, quad.object, SHIYI.extractionConfidence, place)
            source = NamedNode(_first(store, quad.object, DCTERMS.source, place))
            lineage = _first(store, source, SHIYI.lineage, None) or local_name(source.value)
            yield lineage, Confidence(float(weight))


def _first(store: QuadStore, subject: NamedNode, predicate: NamedNode, place: Place | None) -> str:
    return next((text(q.object) for q in store.match(subject, predicate, None, place)), "")


CANDIDATES, QUARANTINE = graph("candidates"), graph("quarantine")
ACCEPTED = DefaultGraph()
_PLACES: Mapping[Status, Place] = {
    Status.ACCEPTED: ACCEPTED, Status.CANDIDATE: CANDIDATES, Status.QUARANTINED: QUARANTINE,
}  # fmt: skip


BENEFITS: Final = frozenset({
    "indicatedFor", "relieves", "hasEfficacy", "isEffectiveFor", "suitableFor", "dietaryBenefit",
    "primaryEffect", "recommendedFor", "prevents",
})  # fmt: skip
_CLAUSE = re.compile(r"[，,。；;.!?！？\n]+")


def is_caution(quote: str) -> bool:
    """Return whether every clause of a quote warns, and none speaks of a benefit.

    >>> is_caution("脾胃虚寒者慎服"), is_caution("主腹痛，孕妇忌服")
    (True, False)
    """
    clauses = [part for part in _CLAUSE.split(quote) if part.strip()]
    return bool(clauses) and all(pattern("warns").search(clause) for clause in clauses)


def is_warned_of(quote: str, after: str) -> bool:
    """Return whether what follows a quote warns those whom the quote names.

    >>> is_warned_of("血病消渴", "，俱忌。"), is_warned_of("主血病", "，孕妇忌服。")
    (True, False)
    """
    return pattern("warned-next").match(after) is not None and not pattern("states-use").search(
        quote
    )


def polarity_faults(claim: Claim, after: str = "") -> tuple[Result, ...]:
    """Return what is wrong with a benefit on quotes that warn of its subject alone.

    ``after`` is what follows the quote in its passage, where a warning of it may stand.
    """
    relation = local_name(claim.predicate.value)
    if relation not in BENEFITS or claim.polarity is not Polarity.POSITIVE:
        return ()
    path = claim.predicate.value
    chinese, english = sentences("claim-faults")["caution_quoted"]
    return tuple(
        Result(claim.iri.value, "polarity", path, evidence.quote, english, chinese, "Violation")
        for evidence in claim.evidence
        if evidence.quote and (is_caution(evidence.quote) or is_warned_of(evidence.quote, after))
    )


@dataclass(frozen=True, slots=True)
class ProposedClaim:
    """A claim with one piece of evidence; its quote is ``[start, end)`` of a passage, if any.

    ``after`` is what follows the quote in the passage.
    ``entry`` is its status once it conforms; ``by_model`` is whether a model read it.
    """

    claim: Claim
    start: int = -1
    end: int = -1
    by_model: bool = False
    entry: Status = Status.CANDIDATE
    after: str = ""


@dataclass(frozen=True, slots=True)
class GateResult:
    """A proposed claim and the violations of shapes; none means that it conforms."""

    proposed: ProposedClaim
    faults: tuple[Result, ...] = ()

    @property
    def status(self) -> Status:
        """Return the status it enters with."""
        return Status.QUARANTINED if self.faults else self.proposed.entry


class Gate:
    """Checks claims a batch at a time, each in its neighbourhood: as if it were asserted.

    The results for a neighbourhood depend on its classes, relation and kind of evidence,
    and on terms and texts that shapes name or read; one of claims that agree is validated.
    """

    def __init__(self, index: LabelIndex, schema: Schema | None = None) -> None:
        schema = schema or Schema.load()
        self._above = {kind: schema.superclasses(kind) for kind in schema.parents}
        self._classes = {
            concept.iri: self._above.get(concept.kind, frozenset()) for concept in index.concepts
        }
        self._shapes: Graph | None = None
        self._relations: frozenset[str] = frozenset()
        self._telling = DataFingerprint.of(shapes_graph())
        self._results: dict[Hashable, tuple[Result, ...]] = {}

    def know(self, classes: Mapping[str, str]) -> None:
        """Add the class of each new concept of a source, by IRI."""
        for iri, kind in classes.items():
            self._classes[iri] = self._above.get(kind, frozenset())

    def judge(self, proposed: Sequence[ProposedClaim]) -> list[GateResult]:
        """Return each claim with the results that are about it, its evidence or its triple."""
        keys = [self._likeness(claim.claim) for claim in proposed]
        fresh = {
            key: claim
            for key, claim in zip(keys, proposed, strict=True)
            if key not in self._results
        }
        if fresh:
            self._validate(fresh)
        return [
            GateResult(claim, (*self._results[key], *polarity_faults(claim.claim, claim.after)))
            for key, claim in zip(keys, proposed, strict=True)
        ]

    def _validate(self, fresh: Mapping[Hashable, ProposedClaim]) -> None:
        relations = self._relations | {each.claim.predicate.value for each in fresh.values()}
        if self._shapes is None or relations != self._relations:
            self._shapes, self._relations = prune_shapes(shapes_graph(), relations), relations
        quads = (q for e in fresh.values() for q in neighbourhood(e.claim, self._classes))
        by_focus: Mapping[str, list[Result]] = defaultdict(list)
        for result in validate(to_graph(quads), self._shapes):
            if result.severity == "Violation":
                by_focus[result.focus].append(result)
        for key, claim in fresh.items():
            self._results[key] = tuple(results_against(claim.claim, by_focus))

    def _likeness(self, claim: Claim) -> Hashable:
        telling = self._telling
        evidence = tuple(
            (
                e.source.tier,
                e.confidence.value,
                e.kind,
                bool(e.suggested),
                telling.qualifiers(e.qualifiers),
            )
            for e in claim.evidence
        )
        same = claim.subject == claim.object
        kind = self._classes.get(claim.subject.value)
        target: Hashable = claim.object
        if telling.reads(claim.predicate.value):
            pass
        elif claim.text:
            target = tuple(literal.language for literal in claim.text.labels)
        elif isinstance(claim.object, Literal):
            target = claim.object.language, claim.object.datatype
        elif not telling.names(claim.object):
            target = self._classes.get(claim.object.value)
        return kind, claim.predicate, target, claim.polarity, same, evidence


def neighbourhood(claim: Claim, classes: Mapping[str, Iterable[str]]) -> Iterator[Quad]:
    """Yield the quads to validate: the claim as if asserted, the classes of both ends, sources.

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


_WHOLE = ("Claim", "Evidence", "Source")  # classes with complete stored shapes


def prune_shapes(shapes: "Graph", relations: frozenset[str]) -> "Graph":
    """Remove constraints on paths other than ``relations``: their results would not count here."""
    from rdflib import SH, URIRef

    remaining = {URIRef(getattr(SHIYI, name).value) for name in _WHOLE}
    for shape, constraint in list(shapes.subject_objects(SH.property)):
        path = shapes.value(constraint, SH.path)
        targets = set(shapes.objects(shape, SH.targetClass))
        of_evidence = shapes.value(shape, SH.targetSubjectsOf) is not None
        if not (targets & remaining or of_evidence or str(path) in relations):
            shapes.remove((shape, SH.property, constraint))
    return shapes


def results_against(claim: Claim, by_focus: Mapping[str, list[Result]]) -> Iterator[Result]:
    """Yield the results that are about a claim, its evidence or its triple."""
    yield from by_focus.get(claim.iri.value, ())
    for evidence in claim.evidence:
        yield from by_focus.get(evidence.iri(claim.iri).value, ())
    for result in by_focus.get(claim.subject.value, ()):
        of_triple = result.path == claim.predicate.value
        if of_triple and result.value in {"", text(claim.object)}:
            yield result


@dataclass(slots=True)
class Change:
    """The quads that a batch of claims adds, and the confidences of earlier candidates it replaces.

    ``added`` are lines of N-Quads, some in each block.
    """

    added: list[str] = field(default_factory=list)
    replacing: list[Quad] = field(default_factory=list)
    replaced: list[Quad] = field(default_factory=list)


def build_change(judged: Iterable[GateResult], retained: Votes) -> Change:
    """Write judged claims as lines of the accepted view, ``candidates`` and ``quarantine``."""
    change, blocks = Change(), dict[str, None]()
    counted: dict[tuple[NamedNode, Place], None] = {}
    for result in judged:
        blocks.update(dict.fromkeys(_claim(result)))
        if result.status is Status.ACCEPTED:
            blocks.update(dict.fromkeys(_sources(result.proposed.claim, retained)))
        if not result.faults:
            place = _PLACES[result.status]
            counted[result.proposed.claim.iri, place] = None
            retained.add(result.proposed.claim, place)
    change.added = list(blocks)
    for iri, place in counted:
        quad, old = retained.confidence(iri, place)
        if old:
            change.replacing.append(quad)
            change.replaced += old
        else:
            change.added.append(f"{quad} .\n")
    return change


def _claim(judged: GateResult) -> Iterator[str]:
    status = judged.status
    place = _PLACES[status]
    proposed, values, end = judged.proposed, judged.proposed.claim, line_end(place)
    claim = replace(values, status=status)
    iri = canonical(claim.iri)
    # the confidence of what enters is fused over all its evidence, and written once
    yield from claim_blocks(claim, place, fused=status is Status.QUARANTINED)
    for evidence in claim.evidence:
        if evidence.passage:
            yield f"{iri} {SHIYI.supportedByText} {evidence.passage}{end}"
        if proposed.start >= 0:
            node = evidence.iri(claim.iri)
            for predicate, at in (
                (SHIYI.quoteStart, proposed.start),
                (SHIYI.quoteEnd, proposed.end),
            ):
                yield f"{node} {predicate} {Literal(str(at), datatype=XSD_INTEGER)}{end}"
    for fault in judged.faults:
        yield f"{iri} {RDFS.comment} {Literal(fault.message_en, language='en')}{end}"
        yield f"{iri} {RDFS.comment} {Literal(fault.message_zh, language='zh')}{end}"


def _sources(claim: Claim, retained: Votes) -> Iterator[str]:
    """Yield the descriptions of the sources that an accepted claim cites."""
    for evidence in claim.evidence:
        if retained.lacks_source(evidence.source):
            yield from (f"{quad} .\n" for quad in source_quads(evidence.source))


def list_evidence(evidence_graph: Place, store: QuadStore, source: NamedNode) -> list[NamedNode]:
    """List the evidence nodes of ``source`` in a graph of claims."""
    quads = store.match(None, DCTERMS.source, source, evidence_graph)
    return [quad.subject for quad in quads if isinstance(quad.subject, NamedNode)]
