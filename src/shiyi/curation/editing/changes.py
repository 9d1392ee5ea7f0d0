"""Saving an edit: new claim, old one retracted."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from shiyi.curation.changes import REJECTED, Change, Changes, Edit
from shiyi.curation.editing.claims import ACCEPTED, Home, StoredClaim, load_claim, quads_of
from shiyi.curation.editing.form import find_quote_span
from shiyi.errors import UsageError
from shiyi.ingest.gate import CANDIDATES, QUARANTINE
from shiyi.ingest.tables.conflicts import conflict_quads
from shiyi.model.claim import Claim, Evidence, Status
from shiyi.model.rdf import XSD_INTEGER, DefaultGraph, Literal, NamedNode, Quad, local_name, text
from shiyi.ontology.serialization import QUALIFIERS, claim_quads
from shiyi.ontology.terms import DCTERMS, PROV, RDF, RDFS, SHIYI, SKOS
from shiyi.sparql.store.port import QuadStore

_WRITTEN = frozenset({
    RDF.type, DCTERMS.source, PROV.wasDerivedFrom, PROV.wasGeneratedBy, SHIYI.sourceTier,
    SHIYI.extractionConfidence, SHIYI.evidenceKind, SHIYI.knowledgeLevel, SHIYI.agentType,
    SHIYI.suggestedSource, SHIYI.sourceLocator, SHIYI.quote, SHIYI.quoteStart, SHIYI.quoteEnd,
    *(predicate for predicate, _ in QUALIFIERS.values()),
})  # fmt: skip


@dataclass(frozen=True, slots=True)
class Outcome:
    """The destination of a saved claim: the accepted view, or the candidates for a reviewer.

    ``retires`` is whether the claim that it replaces is retired at once.
    """

    status: Status
    retires: bool

    @property
    def home(self) -> Home:
        """Return the graph."""
        return ACCEPTED if self.status is Status.ACCEPTED else CANDIDATES


ACCEPT, PROPOSE = Outcome(Status.ACCEPTED, True), Outcome(Status.CANDIDATE, False)
MEND = Outcome(Status.CANDIDATE, True)  # of what was not accepted before


def add_claim(store: QuadStore, claim: Claim, outcome: Outcome) -> Edit:
    """Write a claim that replaces nothing; ``UsageError`` where it was rejected before."""
    quads, old_quads = changed_quads(store, claim, outcome, None)
    return Edit("add", (claim.iri.value,), removed=tuple(old_quads), added=tuple(quads))


def replace_claim(
    store: QuadStore, old: StoredClaim, claims: Sequence[Claim], version: str, outcome: Outcome
) -> Edit:
    """Replace ``old`` by one claim, or by several where it is split.

    A claim that says the same keeps its IRI, and only its evidence changes. As a proposal the new
    one is a candidate, and the old one stays until it is accepted.
    """
    kind = "edit" if len(claims) == 1 else "split"
    names = tuple(dict.fromkeys((old.iri.value, *(each.iri.value for each in claims))))
    quads: list[Quad] = []
    old_quads: list[Quad] = []
    for claim in claims:
        new, lost_quads = changed_quads(store, claim, outcome, old)
        quads, old_quads = quads + new, old_quads + lost_quads
        if claim.iri != old.iri:
            quads.append(Quad(claim.iri, PROV.wasRevisionOf, old.iri, outcome.home))
    if outcome.retires and old.iri not in [each.iri for each in claims]:
        remaining_quads, lost_quads = retirement_quads(store, old, [each.iri for each in claims])
        quads, old_quads = quads + remaining_quads, old_quads + lost_quads
    elif not outcome.retires:
        kind = "propose"
    elif old.home == QUARANTINE:
        kind = "mend"
    removed_quads, added_quads = tuple(dict.fromkeys(old_quads)), tuple(dict.fromkeys(quads))
    return Edit(kind, names, "", removed_quads, added_quads, {old.iri.value: version})


def succession_quads(store: QuadStore, accepted: str) -> tuple[tuple[Quad, ...], tuple[Quad, ...]]:
    """Return the quads to remove and to add when a revision is accepted and retires its forerunner.

    Nothing where the claim revises none that still stands.
    """
    node = NamedNode(accepted)
    quads: list[Quad] = []
    new_quads: list[Quad] = []
    for quad in store.match(node, PROV.wasRevisionOf, None, None):
        old = load_claim(store, text(quad.object))
        if old is not None and old.home != REJECTED and old.iri != node:
            remaining_quads, lost_quads = retirement_quads(store, old, [node])
            new_quads, quads = new_quads + remaining_quads, quads + lost_quads
    return tuple(dict.fromkeys(quads)), tuple(dict.fromkeys(new_quads))


def successors(store: QuadStore, iri: str) -> list[str]:
    """List the candidates that were proposed to take a claim's place."""
    quads = store.match(None, PROV.wasRevisionOf, NamedNode(iri), CANDIDATES)
    return sorted(text(quad.subject) for quad in quads)


def changed_quads(
    store: QuadStore, claim: Claim, outcome: Outcome, old: StoredClaim | None
) -> tuple[list[Quad], list[Quad]]:
    """Return the quads to add for a claim, and those to remove of a claim with its IRI."""
    if old is not None and old.iri == claim.iri:
        return _revised_quads(store, claim, outcome, old)
    known, status = load_claim(store, claim.iri.value), outcome.status
    if known is not None and known.claim.status is Status.REJECTED:
        raise UsageError(
            f"{known.iri.value} was rejected before; open it and undo the rejection, or say "
            "something else"
        )
    if known is not None and known.claim.status is Status.ACCEPTED and outcome == PROPOSE:
        known = None  # its evidence waits beside the accepted claim
    quads = quads_of(store, known) if known else []
    if known is not None and known.home != REJECTED:
        claim = known.claim.join(claim)
        if known.claim.status is Status.ACCEPTED:
            status = Status.ACCEPTED
    place = ACCEPTED if status is Status.ACCEPTED else outcome.home
    new_quads = list(_standing_claims(store, replace(claim, status=status), place))
    for stored in (old, known):
        if stored is not None:
            new_quads += _carry(store, stored, claim, place)
    if place == ACCEPTED:
        new_quads += _conflicts(store, claim)
    return new_quads, quads


def _revised_quads(
    store: QuadStore, claim: Claim, outcome: Outcome, old: StoredClaim
) -> tuple[list[Quad], list[Quad]]:
    """Return the changes of a claim that states the same on other evidence."""
    if not outcome.retires:
        raise UsageError(
            "a proposal says something else than the claim it is to replace: to change its "
            "evidence alone, ask a curator, or comment on it"
        )
    freed = old.home == QUARANTINE
    place = CANDIDATES if freed else old.home
    status = Status.CANDIDATE if freed else old.claim.status
    quads = list(_standing_claims(store, replace(claim, status=status), place))
    quads += _carry(store, old, claim, place)
    nodes = _CLAIMED | ({RDFS.comment} if freed else set())  # why it was withheld
    quads += (
        Quad(q.subject, q.predicate, q.object, place)
        for q in store.match(old.iri, None, None, old.home)
        if q.predicate not in nodes
    )
    return quads, quads_of(store, old)


_CLAIMED = frozenset({
    RDF.type, RDF.reifies, RDF.subject, RDF.predicate, RDF.object, SHIYI.status, SHIYI.polarity,
    SHIYI.confidence, SHIYI.evidence, SHIYI.supportedByText,
})  # fmt: skip


def _standing_claims(store: QuadStore, claim: Claim, place: Home) -> Iterator[Quad]:
    yield from claim_quads(claim, place)
    for evidence in claim.evidence:
        if evidence.passage and place != ACCEPTED:
            yield Quad(claim.iri, SHIYI.supportedByText, evidence.passage, place)
        if span := find_quote_span(evidence, store):
            for predicate, at in zip((SHIYI.quoteStart, SHIYI.quoteEnd), span, strict=True):
                number = Literal(str(at), datatype=XSD_INTEGER)
                yield Quad(evidence.iri(claim.iri), predicate, number, place)


def _carry(store: QuadStore, stored: StoredClaim, claim: Claim, place: Home) -> Iterator[Quad]:
    """Yield the statements about remaining evidence that no field of a form has."""
    remaining = {_likeness(each): each.iri(claim.iri) for each in claim.evidence}
    for node, evidence in zip(stored.nodes, stored.claim.evidence, strict=True):
        target = remaining.get(_likeness(evidence))
        for quad in store.match(node, None, None, stored.home) if target else ():
            if quad.predicate not in _WRITTEN and target:
                yield Quad(target, quad.predicate, quad.object, place)


def _likeness(evidence: Evidence) -> tuple[str, str, str, str]:
    passage = evidence.passage.value if evidence.passage else ""
    return evidence.source.id, evidence.locator, passage, evidence.activity


def retirement_quads(
    store: QuadStore, old: StoredClaim, successors: Iterable[NamedNode]
) -> tuple[list[Quad], list[Quad]]:
    """Move a claim to the rejected ones with all its statements, and link its successors."""
    quads = quads_of(store, old)
    new_quads = [
        Quad(q.subject, q.predicate, q.object, REJECTED)
        for q in quads
        if q.subject != old.claim.subject and q.predicate not in (SHIYI.status, SHIYI.conflictsWith)
    ]
    for predicate, term in (
        (RDF.subject, old.claim.subject),
        (RDF.predicate, old.claim.predicate),
        (RDF.object, old.claim.object),
        (SHIYI.status, SHIYI.retracted),
    ):
        new_quads.append(Quad(old.iri, predicate, term, REJECTED))
    new_quads += [Quad(old.iri, DCTERMS.isReplacedBy, node, REJECTED) for node in successors]
    quads += store.match(None, SHIYI.conflictsWith, old.iri, ACCEPTED)
    return new_quads, quads


def _conflicts(store: QuadStore, claim: Claim) -> Iterator[Quad]:
    """Yield the conflicts of one claim with the accepted ones about the same two things."""
    claims: dict[str, Claim] = {claim.iri.value: claim}
    for iri in _possible_conflicts(store, claim):
        stored = load_claim(store, iri)
        if stored is not None and stored.home == ACCEPTED:
            claims.setdefault(iri, stored.claim)
    for quad in conflict_quads(claims.values(), _broader(store, claims.values())):
        if claim.iri in (quad.subject, quad.object):
            yield quad


def _possible_conflicts(store: QuadStore, claim: Claim) -> Iterator[str]:
    """Yield the accepted claims that might conflict: same pair of things, or two natures."""
    target = claim.object
    triples = [*store.match(claim.subject, None, target, ACCEPTED)]
    if isinstance(target, NamedNode):
        triples += store.match(target, None, claim.subject, ACCEPTED)
    if claim.predicate == SHIYI.hasNature:
        triples += store.match(claim.subject, SHIYI.hasNature, None, ACCEPTED)
    for triple in triples:
        for quad in store.match(None, RDF.reifies, triple.triple, ACCEPTED):
            yield text(quad.subject)


def _broader(store: QuadStore, claims: Iterable[Claim]) -> dict[str, list[str]]:
    natures = {claim.object for claim in claims if claim.predicate == SHIYI.hasNature}
    return {
        local_name(text(node)): [
            local_name(text(q.object)) for q in store.match(node, SKOS.broader, None, ACCEPTED)
        ]
        for node in natures
        if isinstance(node, NamedNode)
    }


KIND: Final = "replace"


def plan_retirements(store: QuadStore, planned: Edit) -> Iterator[Edit]:
    """Yield the retirement of what a claim revises, where an edit is about to accept the claim."""
    for iri in planned.about:
        accepted = Quad(NamedNode(iri), SHIYI.status, SHIYI.accepted, DefaultGraph())
        if accepted not in planned.added:
            continue
        quads, new_quads = succession_quads(store, iri)
        olds = dict.fromkeys(
            text(quad.subject) for quad in new_quads if quad.predicate == DCTERMS.isReplacedBy
        )
        if olds:
            yield Edit(KIND, (*olds, iri), planned.reason, quads, new_quads)


def restore_replaced(changes: Changes, undone: Change, agent: str) -> None:
    """Restore what a claim took the place of, where the claim is no longer accepted."""
    for iri in undone.about:
        node = NamedNode(iri)
        if any(changes.store.match(node, SHIYI.status, SHIYI.accepted, DefaultGraph())):
            continue
        for change in reversed(changes.of(iri)):
            if change.kind == KIND and change.about and _successor(change) == iri:
                if changes.is_live(change):
                    changes.undo(change.iri, agent, undone.reason)
                break


def _successor(change: Change) -> str:
    """Name the claim that took the place: the one the others point to."""
    return next(
        (text(quad.object) for quad in change.added if quad.predicate == DCTERMS.isReplacedBy), ""
    )
