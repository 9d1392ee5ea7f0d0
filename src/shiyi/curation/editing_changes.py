"""What saving an edited claim writes: the new claim, and the old one retracted in its favour."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from shiyi.curation.changes import Edit
from shiyi.curation.editing import span_of
from shiyi.curation.editing_claims import (
    ACCEPTED,
    Home,
    StoredClaim,
    quads_of,
    stored_claim,
)  # fmt: skip
from shiyi.curation.ledger import REJECTED
from shiyi.errors import UsageError
from shiyi.ingest.conflicts import conflict_quads
from shiyi.ingest.gate import CANDIDATES, QUARANTINE
from shiyi.model.claim import Claim, Evidence, Status
from shiyi.model.rdf import XSD_INTEGER, Literal, NamedNode, Quad, local_name, text
from shiyi.ontology.statements import QUALIFIERS, claim_quads
from shiyi.ontology.terms import DCTERMS, PROV, RDF, RDFS, SHIYI, SKOS
from shiyi.sparql.store import QuadStore

_WRITTEN = frozenset({
    RDF.type, DCTERMS.source, PROV.wasDerivedFrom, PROV.wasGeneratedBy, SHIYI.sourceTier,
    SHIYI.extractionConfidence, SHIYI.checked, SHIYI.sourceLocator, SHIYI.quote, SHIYI.quoteStart,
    SHIYI.quoteEnd, *(predicate for predicate, _ in QUALIFIERS.values()),
})  # fmt: skip


@dataclass(frozen=True, slots=True)
class Outcome:
    """Where a saved claim is to stand: in the accepted view, or as a candidate for a reviewer.

    ``retires`` tells whether what it takes the place of goes at once.
    """

    status: Status
    retires: bool

    @property
    def home(self) -> Home:
        """Give the graph."""
        return ACCEPTED if self.status is Status.ACCEPTED else CANDIDATES


ACCEPT, PROPOSE = Outcome(Status.ACCEPTED, True), Outcome(Status.CANDIDATE, False)
MEND = Outcome(Status.CANDIDATE, True)  # of what was not accepted before


def added(store: QuadStore, claim: Claim, reason: str, outcome: Outcome, key: str = "") -> Edit:
    """Write a claim that replaces nothing; ``UsageError`` where it was rejected before."""
    come, gone = coming(store, claim, outcome, None)
    return Edit("add", (claim.iri.value,), reason, tuple(gone), tuple(come), key=key)


def replaced(
    store: QuadStore, old: StoredClaim, claims: Sequence[Claim], reason: str, version: str,
    outcome: Outcome, key: str = "",
) -> Edit:  # fmt: skip
    """Write what takes the place of ``old``: one claim, or several where it is split.

    A claim that says the same keeps its IRI, and only its evidence changes. As a proposal the new
    one is a candidate, and the old one stays until it is accepted.
    """
    kind = "edit" if len(claims) == 1 else "split"
    names = tuple(dict.fromkeys((old.iri.value, *(each.iri.value for each in claims))))
    come: list[Quad] = []
    gone: list[Quad] = []
    for claim in claims:
        new, lost = coming(store, claim, outcome, old)
        come, gone = come + new, gone + lost
        if claim.iri != old.iri:
            come.append(Quad(claim.iri, PROV.wasRevisionOf, old.iri, outcome.home))
    if outcome.retires and old.iri not in [each.iri for each in claims]:
        left, lost = retired(store, old, [each.iri for each in claims])
        come, gone = come + left, gone + lost
    elif not outcome.retires:
        kind = "propose"
    elif old.home == QUARANTINE:
        kind = "mend"
    return Edit(
        kind, names, reason, tuple(dict.fromkeys(gone)), tuple(dict.fromkeys(come)),
        {old.iri.value: version}, key=key,
    )  # fmt: skip


def succession(store: QuadStore, accepted: str) -> tuple[tuple[Quad, ...], tuple[Quad, ...]]:
    """Give what goes and what comes once a proposed revision is accepted: its forerunner retires.

    Nothing where the claim revises none that still stands.
    """
    node = NamedNode(accepted)
    gone: list[Quad] = []
    come: list[Quad] = []
    for quad in store.match(node, PROV.wasRevisionOf, None, None):
        old = stored_claim(store, text(quad.object))
        if old is not None and old.home != REJECTED and old.iri != node:
            left, lost = retired(store, old, [node])
            come, gone = come + left, gone + lost
    return tuple(dict.fromkeys(gone)), tuple(dict.fromkeys(come))


def successors(store: QuadStore, iri: str) -> list[str]:
    """List the candidates that were proposed to take a claim's place."""
    found = store.match(None, PROV.wasRevisionOf, NamedNode(iri), CANDIDATES)
    return sorted(text(quad.subject) for quad in found)


def coming(
    store: QuadStore, claim: Claim, outcome: Outcome, old: StoredClaim | None
) -> tuple[list[Quad], list[Quad]]:
    """Give the quads that come with a claim, and those that go: the one of that name it takes in."""
    if old is not None and old.iri == claim.iri:
        return _revised(store, claim, outcome, old)
    known, status = stored_claim(store, claim.iri.value), outcome.status
    if known is not None and known.claim.status is Status.REJECTED:
        raise UsageError(
            f"{known.iri.value} was rejected before; open it and undo the rejection, or say "
            "something else"
        )
    gone = quads_of(store, known) if known else []
    if known is not None and known.home != REJECTED:
        claim = known.claim.joined(claim)
        if known.claim.status is Status.ACCEPTED:
            status = Status.ACCEPTED
    place = ACCEPTED if status is Status.ACCEPTED else outcome.home
    come = list(_standing(store, replace(claim, status=status), place))
    for held in (old, known):
        if held is not None:
            come += _carried(store, held, claim, place)
    if place == ACCEPTED:
        come += _conflicts(store, claim)
    return come, gone


def _revised(
    store: QuadStore, claim: Claim, outcome: Outcome, old: StoredClaim
) -> tuple[list[Quad], list[Quad]]:
    """Give what changes of a claim that says the same on other evidence."""
    if not outcome.retires:
        raise UsageError(
            "a proposal says something else than the claim it is to replace: to change its "
            "evidence alone, ask a curator, or comment on it"
        )
    freed = old.home == QUARANTINE
    place = CANDIDATES if freed else old.home
    status = Status.CANDIDATE if freed else old.claim.status
    come = list(_standing(store, replace(claim, status=status), place))
    come += _carried(store, old, claim, place)
    dropped = _CLAIMED | ({RDFS.comment} if freed else set())  # why it was held back
    come += (
        Quad(q.subject, q.predicate, q.object, place)
        for q in store.match(old.iri, None, None, old.home) if q.predicate not in dropped
    )  # fmt: skip
    return come, quads_of(store, old)


_CLAIMED = frozenset({
    RDF.type, RDF.reifies, RDF.subject, RDF.predicate, RDF.object, SHIYI.status, SHIYI.polarity,
    SHIYI.confidence, SHIYI.evidence, SHIYI.supportedByText,
})  # fmt: skip


def _standing(store: QuadStore, claim: Claim, place: Home) -> Iterator[Quad]:
    yield from claim_quads(claim, place)
    for evidence in claim.evidence:
        if evidence.passage and place != ACCEPTED:
            yield Quad(claim.iri, SHIYI.supportedByText, evidence.passage, place)
        if span := span_of(evidence, store):
            for predicate, at in zip((SHIYI.quoteStart, SHIYI.quoteEnd), span, strict=True):
                number = Literal(str(at), datatype=XSD_INTEGER)
                yield Quad(evidence.iri(claim.iri), predicate, number, place)


def _carried(store: QuadStore, held: StoredClaim, claim: Claim, place: Home) -> Iterator[Quad]:
    """Yield what is said of evidence that stays and that no field of a form holds."""
    kept = {_likeness(each): each.iri(claim.iri) for each in claim.evidence}
    for node, evidence in zip(held.nodes, held.claim.evidence, strict=True):
        target = kept.get(_likeness(evidence))
        for quad in store.match(node, None, None, held.home) if target else ():
            if quad.predicate not in _WRITTEN and target:
                yield Quad(target, quad.predicate, quad.object, place)


def _likeness(evidence: Evidence) -> tuple[str, str, str, str]:
    passage = evidence.passage.value if evidence.passage else ""
    return evidence.source.id, evidence.locator, passage, evidence.activity


def retired(
    store: QuadStore, old: StoredClaim, successors: Iterable[NamedNode]
) -> tuple[list[Quad], list[Quad]]:
    """Move a claim out of every view, keep all it said, and point to what took its place."""
    gone = quads_of(store, old)
    come = [
        Quad(q.subject, q.predicate, q.object, REJECTED) for q in gone
        if q.subject != old.claim.subject and q.predicate not in (SHIYI.status, SHIYI.conflictsWith)
    ]  # fmt: skip
    for predicate, term in (
        (RDF.subject, old.claim.subject), (RDF.predicate, old.claim.predicate),
        (RDF.object, old.claim.object), (SHIYI.status, SHIYI.retracted),
    ):  # fmt: skip
        come.append(Quad(old.iri, predicate, term, REJECTED))
    come += [Quad(old.iri, DCTERMS.isReplacedBy, each, REJECTED) for each in successors]
    gone += store.match(None, SHIYI.conflictsWith, old.iri, ACCEPTED)
    return come, gone


def _conflicts(store: QuadStore, claim: Claim) -> Iterator[Quad]:
    """Yield the conflicts of one claim with the accepted ones about the same two things."""
    others: dict[str, Claim] = {claim.iri.value: claim}
    for iri in _about(store, claim):
        held = stored_claim(store, iri)
        if held is not None and held.home == ACCEPTED:
            others.setdefault(iri, held.claim)
    for quad in conflict_quads(others.values(), _broader(store, others.values())):
        if claim.iri in (quad.subject, quad.object):
            yield quad


def _about(store: QuadStore, claim: Claim) -> Iterator[str]:
    """Yield the accepted claims that might conflict: same pair of things, or two natures."""
    said = claim.object
    triples = [*store.match(claim.subject, None, said, ACCEPTED)]
    if isinstance(said, NamedNode):
        triples += store.match(said, None, claim.subject, ACCEPTED)
    if claim.predicate == SHIYI.hasNature:
        triples += store.match(claim.subject, SHIYI.hasNature, None, ACCEPTED)
    for triple in triples:
        for quad in store.match(None, RDF.reifies, triple.triple, ACCEPTED):
            yield text(quad.subject)


def _broader(store: QuadStore, claims: Iterable[Claim]) -> dict[str, list[str]]:
    natures = {each.object for each in claims if each.predicate == SHIYI.hasNature}
    return {
        local_name(text(node)): [
            local_name(text(q.object)) for q in store.match(node, SKOS.broader, None, ACCEPTED)
        ]
        for node in natures if isinstance(node, NamedNode)
    }  # fmt: skip
