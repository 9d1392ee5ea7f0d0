"""The gate: what was extracted is checked with the shapes; it enters, or goes into quarantine."""

from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from shiyi.ingest.votes import Votes
from shiyi.linking.labels import LabelIndex
from shiyi.model.claim import Claim, Polarity, Status
from shiyi.model.names import graph
from shiyi.model.rdf import (
    XSD_INTEGER,
    DefaultGraph,
    Literal,
    NamedNode,
    Quad,
    canonical,
    text,
)
from shiyi.ontology.lines import claim_blocks, line_end
from shiyi.ontology.statements import Graph as Place
from shiyi.ontology.statements import claim_quads, source_quads
from shiyi.ontology.terms import DCTERMS, RDF, RDFS, SHIYI
from shiyi.ontology.vocabulary import Schema
from shiyi.shapes.telling import Telling
from shiyi.shapes.validation import Result, lowered, shapes_graph, validate
from shiyi.sparql.store import QuadStore

if TYPE_CHECKING:
    from rdflib import Graph

CANDIDATES, QUARANTINE = graph("candidates"), graph("quarantine")
ACCEPTED = DefaultGraph()
_PLACES: Mapping[Status, Place] = {
    Status.ACCEPTED: ACCEPTED, Status.CANDIDATE: CANDIDATES, Status.QUARANTINED: QUARANTINE,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Proposed:
    """A claim with one piece of evidence; its quote is ``[start, end)`` of a passage, if any.

    ``entry`` is its status once it conforms. ``by_model`` tells that a model read it.
    """

    claim: Claim
    start: int = -1
    end: int = -1
    by_model: bool = False
    entry: Status = Status.CANDIDATE


@dataclass(frozen=True, slots=True)
class Judged:
    """A proposed claim and what the shapes say against it; nothing means that it conforms."""

    proposed: Proposed
    faults: tuple[Result, ...] = ()

    @property
    def status(self) -> Status:
        """Give the status it enters with."""
        return Status.QUARANTINED if self.faults else self.proposed.entry


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


@dataclass(slots=True)
class Change:
    """What a batch of claims adds, and which confidences of earlier candidates it replaces.

    ``added`` are lines of N-Quads, some in each block.
    """

    added: list[str] = field(default_factory=list)
    replacing: list[Quad] = field(default_factory=list)
    replaced: list[Quad] = field(default_factory=list)


def change_of(judged: Iterable[Judged], kept: Votes) -> Change:
    """Write judged claims as lines of the accepted view, ``candidates`` and ``quarantine``."""
    change, blocks = Change(), dict[str, None]()
    counted: dict[tuple[NamedNode, Place], None] = {}
    for each in judged:
        blocks.update(dict.fromkeys(_claim(each)))
        if each.status is Status.ACCEPTED:
            blocks.update(dict.fromkeys(_sources(each.proposed.claim, kept)))
        if not each.faults:
            place = _PLACES[each.status]
            counted[each.proposed.claim.iri, place] = None
            kept.add(each.proposed.claim, place)
    change.added = list(blocks)
    for iri, place in counted:
        quad, old = kept.confidence(iri, place)
        if old:
            change.replacing.append(quad)
            change.replaced += old
        else:
            change.added.append(f"{quad} .\n")
    return change


def _claim(judged: Judged) -> Iterator[str]:
    status = judged.status
    place = _PLACES[status]
    proposed, said, end = judged.proposed, judged.proposed.claim, line_end(place)
    claim = Claim(said.subject, said.predicate, said.object, said.evidence, said.polarity, status)
    iri = canonical(claim.iri)
    # the confidence of what enters is fused over all its evidence, and written once
    yield from claim_blocks(claim, place, fused=status is Status.QUARANTINED)
    for evidence in claim.evidence:
        if evidence.passage:
            yield f"{iri} {SHIYI.supportedByText} {evidence.passage}{end}"
        if proposed.start >= 0:
            node = evidence.iri(claim.iri)
            yield (
                f"{node} {SHIYI.quoteStart} {Literal(str(proposed.start), datatype=XSD_INTEGER)}{end}"
                f"{node} {SHIYI.quoteEnd} {Literal(str(proposed.end), datatype=XSD_INTEGER)}{end}"
            )
    for fault in judged.faults:
        yield f"{iri} {RDFS.comment} {Literal(fault.message_en, language='en')}{end}"
        yield f"{iri} {RDFS.comment} {Literal(fault.message_zh, language='zh')}{end}"


def _sources(claim: Claim, kept: Votes) -> Iterator[str]:
    """Yield what the accepted view must know of the sources that an accepted claim cites."""
    for evidence in claim.evidence:
        if kept.untold(evidence.source):
            yield from (f"{quad} .\n" for quad in source_quads(evidence.source))


def sources_of(evidence_graph: Place, store: QuadStore, source: NamedNode) -> list[NamedNode]:
    """List the evidence nodes of ``source`` in a graph of claims."""
    found = store.match(None, DCTERMS.source, source, evidence_graph)
    return [quad.subject for quad in found if isinstance(quad.subject, NamedNode)]
