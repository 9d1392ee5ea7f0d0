"""Reviews of claims, and the status and confidence that follow."""

import re
from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

from shiyi.curation.changes import (
    REJECTED,
    Change,
    Changes,
    Edit,
    Note,
    Reversal,
    State,
    graph_name,
    state_of,
    version,
)
from shiyi.curation.editing.changes import plan_retirements, restore_replaced
from shiyi.errors import RangeError, StaleError, UsageError
from shiyi.model.claim import Status, confidence_value
from shiyi.model.iris import content_hash, graph, is_text
from shiyi.model.rdf import DefaultGraph, NamedNode, Quad, Triple, decimal, local_name, text
from shiyi.ontology.schema import Schema
from shiyi.ontology.terms import DCTERMS, RDF, SHIYI
from shiyi.reasoning.confidence.reviews import (
    SETTLES,
    ConfidenceInputs,
    Review,
    agreement,
    graphs_with_waiting,
    load_inputs,
)
from shiyi.sparql.store.port import QuadStore

DECIDING: Final = (
    0.5  # the mean agreement from which a status follows; nearer 0 only the confidence
)
SECOND: Final = 2  # reviewers who must agree before a safety claim changes for the worse, or at all
PLACES: Final[Mapping[Status, NamedNode | DefaultGraph]] = {
    Status.ACCEPTED: DefaultGraph(), Status.CANDIDATE: graph("candidates"),
    Status.QUARANTINED: graph("quarantine"), Status.REJECTED: REJECTED,
}  # fmt: skip
REVIEWING: Final = frozenset({"accept", "reject", "unsure"})


@dataclass(frozen=True, slots=True)
class ReviewedClaim:
    """A claim under review, as stored now."""

    iri: str
    subject: NamedNode
    predicate: NamedNode
    object: object
    positive: bool
    status: Status
    confidence: float
    state: State

    @property
    def triple(self) -> Triple:
        """Return the triple."""
        return Triple(self.subject, self.predicate, self.object)  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True)
class ReviewOutcome:
    """The outcome of the reviews: status, confidence, and whether a second reviewer is required."""

    status: Status
    confidence: float
    agreement: float
    waits: bool = False


def read_reviewed_claim(state: State, iri: str) -> ReviewedClaim:
    """Read a claim from its state; raise ``UsageError`` where it cannot be reviewed."""
    node = NamedNode(iri)
    # what is accepted and read elsewhere too is accepted
    own = sorted((q for q in state if q.subject == node), key=graph_name, reverse=True)
    triple = next((q.object for q in own if isinstance(q.object, Triple)), None)
    values = {quad.predicate: quad.object for quad in own}
    status = local_name(text(values.get(SHIYI.status)))
    confidence = confidence_value(values.get(SHIYI.confidence))
    if triple is None or not isinstance(triple.subject, NamedNode):
        raise UsageError(f"there is no claim {iri[:200]!r} to review")
    if confidence is None or status not in set(Status):
        raise UsageError(f"there is no claim {iri[:200]!r} to review")
    return ReviewedClaim(
        iri,
        triple.subject,
        triple.predicate,
        triple.object,
        values.get(SHIYI.polarity) != SHIYI.negative,
        Status(status),
        confidence,
        state,
    )


def review_outcome(created: ConfidenceInputs, home: Status, twice: bool) -> ReviewOutcome:
    """Return the status and confidence that follow from the reviews of a claim.

    A mean agreement of 0.5 or more accepts, of -0.5 or less rejects; in between the claim stays
    at ``home`` and only its confidence moves. With ``twice`` it waits for a second reviewer on the
    same side, unless the first confirms what stands: until then nothing about it changes.
    """
    own = created.prior
    agreed = agreement(created.reviews.values())
    status = home
    if agreed >= DECIDING:
        status = Status.ACCEPTED
    elif agreed <= -DECIDING:
        status = Status.REJECTED
    confirms = status is home and agreed >= 0
    same = sum(1 for review in created.reviews.values() if review.agreement * agreed > 0)
    if twice and agreed and not confirms and same < SECOND:
        return ReviewOutcome(home, own, agreed, waits=True)
    return ReviewOutcome(status, created.confidence, agreed)


def status_change_quads(
    store: QuadStore, claim: ReviewedClaim, status: Status, confidence: float
) -> Mapping[str, list[Quad]]:
    """Return the quads to remove and add when a claim gets a status and a confidence."""
    place, node = PLACES[status], NamedNode(claim.iri)
    after = {
        Quad(q.subject, q.predicate, q.object, place)
        for q in claim.state
        if not (q.subject == node and q.predicate in _REWRITTEN)
    }
    after |= {
        Quad(node, SHIYI.status, getattr(SHIYI, status.value), place),
        Quad(node, SHIYI.confidence, decimal(confidence), place),
    }
    before = set(claim.state)
    s, p, o = claim.triple.subject, claim.triple.predicate, claim.triple.object
    asserted = claim.positive and status is Status.ACCEPTED
    if not asserted:
        after |= {
            Quad(node, RDF.subject, s, place),
            Quad(node, RDF.predicate, p, place),
            Quad(node, RDF.object, o, place),
        }
    else:
        after.add(Quad(s, p, o, place))
    if claim.positive and claim.status is Status.ACCEPTED:
        before.add(Quad(s, p, o, DefaultGraph()))
    _update_conflict_links(store, claim, status, before, after)
    return {"removed": sorted(before - after, key=str), "added": sorted(after - before, key=str)}


_REWRITTEN: Final = frozenset({
    SHIYI.status, SHIYI.confidence, RDF.subject, RDF.predicate, RDF.object,
})  # fmt: skip


def _update_conflict_links(
    store: QuadStore, claim: ReviewedClaim, status: Status, before: set[Quad], after: set[Quad]
) -> None:
    """Update conflict links, which the accepted view alone has, in both directions."""
    node, default = NamedNode(claim.iri), DefaultGraph()
    quads = set(store.match(None, SHIYI.conflictsWith, node, default))
    if status is not Status.ACCEPTED:
        before |= quads
        return
    for quad in claim.state:
        if quad.subject == node and quad.predicate == SHIYI.conflictsWith:
            other = quad.object
            if isinstance(other, NamedNode) and any(
                True for _ in store.match(other, RDF.type, SHIYI.Claim, DefaultGraph())
            ):
                after.add(Quad(other, SHIYI.conflictsWith, node, default))
    before |= quads
    after |= quads


def source_copies(store: QuadStore, claim: ReviewedClaim) -> list[Quad]:
    """Return copies of what an accepted claim cites and says as a text, where missing."""
    nodes = {
        q.object
        for q in claim.state
        if q.predicate == DCTERMS.source and isinstance(q.object, NamedNode)
    }
    if isinstance(claim.object, NamedNode) and is_text(claim.object.value):
        nodes.add(claim.object)
    results: list[Quad] = []
    for source in nodes:
        quads = list(store.match(source))
        if not any(graph_name(quad) == "" and quad.predicate == RDF.type for quad in quads):
            results += {
                Quad(q.subject, q.predicate, q.object, DefaultGraph())
                for q in quads
                if graph_name(q).startswith(graph("source").value) or source == claim.object
            }
    return results


Quads = tuple[Quad, ...]
_MENTION = re.compile(r"(?<![\w@])@([a-z0-9][a-z0-9._-]{0,39})")
SIDES: Mapping[str, float] = {"accept": 1.0, "reject": -1.0, "unsure": 0.0}


@dataclass(frozen=True, slots=True)
class ClaimAssessment:
    """A claim with votes, reviews and outcome; ``version`` is the one an edit should expect."""

    claim: ReviewedClaim
    standing: ConfidenceInputs
    home: Status
    outcome: ReviewOutcome
    reviews: tuple[Change, ...]
    safety: bool
    twice: bool  # whether it waits for a second reviewer

    @property
    def version(self) -> str:
        """Return the version of the claim."""
        return version(self.claim.state)


@dataclass(frozen=True, slots=True)
class ReviewDecision:
    """What one reviewer decides of a claim: ``accept``, ``reject`` or ``unsure``.

    ``agreement`` in [-1, 1] is the degree, on the side of the kind (default: whole). ``expected``
    is the version of the claim that was read. ``settles`` annuls live reviews of the other side.
    """

    kind: str
    agent: str
    reason: str = ""
    agreement: float | None = None
    expected: str = ""
    key: str = ""
    settles: bool = False

    @property
    def degree(self) -> float:
        """Return the signed degree of agreement; ``UsageError`` where it is not of the kind."""
        return _agreement_value(self.kind, self.agreement)


class Decisions:
    """Makes and undoes reviews of claims."""

    def __init__(self, changes: Changes, *, twice: bool = False) -> None:
        """Review claims; with ``twice`` every one waits for a second reviewer, as harms do."""
        self.changes, self.store, self.twice = changes, changes.store, twice

    def assess(self, iri: str, *, attaching: bool = False) -> ClaimAssessment:
        """Return a claim with its votes, its live reviews, and the outcome.

        With ``attaching`` the evidence counts that would be attached if the claim was accepted.
        """
        claim = read_reviewed_claim(state_of(self.store, iri), iri)
        reviews = self.reviews(iri)
        home = _home(reviews[0]) if reviews else claim.status
        inputs = _confidence_inputs(self.store, iri, reviews, attaching=attaching)
        twice = (safety := self.is_safety(claim)) or self.twice
        return ClaimAssessment(
            claim, inputs, home, review_outcome(inputs, home, twice), reviews, safety, twice
        )

    def reviews(self, iri: str) -> tuple[Change, ...]:
        """List the live reviews of a claim: each reviewer's latest, the oldest first."""
        latest: dict[str, Change] = {}
        for change in self.changes.of(iri):
            if change.kind in REVIEWING and self.changes.is_live(change):
                latest.pop(change.who, None)
                latest[change.who] = change
        return tuple(sorted(latest.values(), key=lambda each: each.number))

    def needs_reason(self, iri: str, kind: str) -> bool:
        """Return whether a decision has to state a reason: the rejection of a safety claim has."""
        return kind == "reject" and self.assess(iri).safety

    def is_safety(self, claim: ReviewedClaim) -> bool:
        """Return whether a claim is about harm."""
        known = self._schema.properties.get(local_name(claim.predicate.value))
        return bool(known and known.is_safety)

    def review(self, iri: str, decision: ReviewDecision) -> Change:
        """Write one reviewer's decision on a claim; return the change.

        A reviewer's later review takes the place of the earlier. Raise ``StaleError`` where the
        claim is not the version ``expected``, ``UsageError`` where there is nothing to settle.
        """
        degree = decision.degree
        before = self.changes.of_key(decision.key)
        if before:
            return before
        with self.changes.writer.turn():
            self._bring_sources(iri, decision.agent, degree)
            edit = self._plan_edit(iri, decision)  # with what it replaces, in one write
            edits = [edit, *plan_retirements(self.store, edit)]
            return self.changes.make_all(edits, decision.agent)[0]

    def refuse_evidence(
        self, iri: str, evidence: str, agent: str, reason: str, expected: str = "", key: str = ""
    ) -> Change:
        """Remove evidence that waits beside an accepted claim; what was decided stays as it is.

        Raise ``UsageError`` where no such evidence waits.
        """

        def plan() -> Edit:
            waiting = self.pending_evidence(iri)
            quads = [q for q in waiting if evidence in (text(q.subject), text(q.object))]
            if not quads:
                raise UsageError(f"no evidence {evidence[:200]!r} of the claim waits for review")
            remaining_quads = waiting.difference(quads)
            if not any(quad.predicate == SHIYI.evidence for quad in remaining_quads):
                quads = sorted(waiting, key=str)
            seen = {iri: expected} if expected else {}
            return Edit("refuse", (iri,), reason, tuple(quads), (), seen, key=key)

        return self.changes.make(Edit("refuse", (iri,), reason, key=key), agent, plan)

    def pending_evidence(self, iri: str) -> State:
        """Return the candidates' quads of an accepted claim: evidence that waits for review."""
        state = state_of(self.store, iri)
        place = PLACES[Status.CANDIDATE]
        return frozenset(q for q in waiting_quads(state, iri) if q.graph_name == place)

    def comment(self, iri: str, agent: str, text: str, key: str = "") -> Change:
        """Write a comment on a claim or concept; ``@name`` calls somebody."""
        if not text.strip():
            raise UsageError("a comment says something")
        if not state_of(self.store, iri):
            raise UsageError(f"the base holds nothing called {iri[:200]}")
        return self.changes.make(Edit("comment", (iri,), text.strip(), key=key), agent)

    def skip(self, iri: str, agent: str, reason: str = "", key: str = "") -> Change:
        """Skip a claim; the queue shows it to this person last."""
        read_reviewed_claim(state_of(self.store, iri), iri)
        return self.changes.make(Edit("skip", (iri,), reason, key=key), agent)

    def undo(self, iri: str, agent: str, reason: str, key: str = "") -> Change:
        """Undo a change: exactly, or, for a review that others followed, by evaluating the rest.

        Both ways lead to the same state, since it follows from the evidence and the reviews.
        """

        def reversal_of(change: Change) -> Reversal | None:
            return self.reversal(change) if change.kind in REVIEWING else None

        with self.changes.writer.turn():
            undone = self.changes.undo(iri, agent, reason, key, reversal_of)
            restore_replaced(self.changes, undone, agent)
            return undone

    def reversal(self, change: Change) -> Reversal:
        """Return the quads to remove and add to undo a change, re-evaluating a reviewed claim."""
        if change.kind not in REVIEWING:
            return change.added, change.removed
        now = self.assess(change.about[0])
        rest = [review for review in now.reviews if review.iri != change.iri]
        rest += [self.changes.get(review) for review in settled_reviews(change)]
        attached_quads, inverse_quads = _attached_evidence(change, rest)
        inputs = _confidence_inputs(
            self.store, now.claim.iri, rest, without={q.subject for q in attached_quads}
        )
        value = review_outcome(inputs, _home(change), now.twice)
        claim = replace(now.claim, state=now.claim.state - attached_quads)
        quads = status_change_quads(self.store, claim, value.status, value.confidence)
        return (*attached_quads, *quads["removed"]), (*inverse_quads, *quads["added"])

    def effect(self, review: Change) -> tuple[Quads, Quads, tuple[Note, ...]]:
        """Return the effect of another base's review on this base's claim, and its notes."""
        claim = review.about[0]
        agreement = float(review.note(SHIYI.agreement) or 0)
        decision = ReviewDecision(review.kind, review.who, review.reason, agreement)
        self._bring_sources(claim, review.who, decision.degree)
        edit = self._plan_edit(claim, decision)
        return edit.removed, edit.added, edit.notes

    def _plan_edit(self, iri: str, decision: ReviewDecision) -> Edit:
        now, agreed, agent = self.assess(iri), decision.degree, decision.agent
        settles = decision.settles
        if decision.expected and now.version != decision.expected:
            raise StaleError((iri,))
        if now.claim.status not in {Status.ACCEPTED, Status.CANDIDATE, Status.REJECTED}:
            raise UsageError(
                f"{iri} is {now.claim.status}: quarantined claims are corrected at "
                "the quarantine desk first"
            )
        against = [e for e in now.reviews if settles and agreed * _side(e) < 0 and e.who != agent]
        if settles and not against:
            raise UsageError("there is no dispute to settle: nobody else is on the other side")
        rest = [change for change in now.reviews if change not in against]
        attaching = agreed > 0
        inputs = _confidence_inputs(self.store, iri, rest, attaching=attaching)
        value = review_outcome(inputs.with_review(Review(agent, agreed)), now.home, now.twice)
        claim = _remove_waiting(now.claim, value.status, attaching)
        quads = status_change_quads(self.store, claim, value.status, value.confidence)
        notes: tuple[Note, ...] = (
            (SHIYI.agreement, decimal(agreed)),
            (SHIYI.homeStatus, getattr(SHIYI, now.home.value)),
            *((SETTLES, NamedNode(change.iri)) for change in against),
        )
        removed_quads, added_quads = tuple(quads["removed"]), tuple(quads["added"])
        kind, reason = decision.kind, decision.reason
        return Edit(kind, (iri,), reason, removed_quads, added_quads, notes=notes, key=decision.key)

    def _bring_sources(self, iri: str, agent: str, agreed: float) -> None:
        """Copy source descriptions to the accepted view first; they are never removed."""
        if agreed <= 0:
            return
        copies = source_copies(self.store, read_reviewed_claim(state_of(self.store, iri), iri))
        if copies:
            key = f"curation sources {content_hash(*sorted(map(str, copies)))}"
            self.changes.writer.write(
                copies, key=key, agent=agent, reason="sources of an accepted claim"
            )

    @cached_property
    def _schema(self) -> Schema:
        return Schema.load()


def mentions(text: str) -> tuple[str, ...]:
    """List the names a comment calls.

    >>> mentions("@li and @wang.wu: see a@b, @li")
    ('li', 'wang.wu')
    """
    return tuple(dict.fromkeys(result.rstrip(".") for result in _MENTION.findall(text)))


def _agreement_value(kind: str, agreement: float | None) -> float:
    if kind not in REVIEWING:
        raise UsageError(f"a review accepts, rejects or is unsure, it does not {kind[:40]!r}")
    agreed = SIDES[kind] if agreement is None else agreement
    if not -1.0 <= agreed <= 1.0:
        raise RangeError(f"an agreement lies in [-1, 1], not at {agreed}")
    if agreed * SIDES[kind] < 0 or (kind != "unsure" and agreed == 0):
        raise UsageError(f"an agreement of {agreed} is not on the side of {kind}")
    return round(agreed, 6)


def settled_reviews(change: Change) -> tuple[str, ...]:
    """Return the reviews that no longer count since a review settled their dispute."""
    return tuple(text(value) for name, value in change.notes if name == SETTLES)


def _side(review: Change) -> float:
    return float(review.note(SHIYI.agreement) or 0)


def _confidence_inputs(
    store: QuadStore,
    claim: str,
    reviews: Iterable[Change],
    *,
    attaching: bool = False,
    without: Container[object] = (),
) -> ConfidenceInputs:
    found_reviews = (Review(change.who, _side(change)) for change in reviews)
    return load_inputs(store, claim, found_reviews, attaching=attaching, without=without)


def waiting_quads(state: State, claim: str, *, attaching: bool = False) -> State:
    """Return the quads of a claim that wait for review beside what was decided."""
    links = [q for q in state if q.subject == NamedNode(claim) and q.predicate == SHIYI.evidence]
    waiting = graphs_with_waiting((q.graph_name for q in links), attaching=attaching)
    return frozenset(q for q in state if q.graph_name in waiting)


def _remove_waiting(claim: ReviewedClaim, status: Status, attaching: bool) -> ReviewedClaim:
    """Leave out what goes on waiting when a claim gets a status; all of a rejected one is."""
    if status is Status.REJECTED:
        return claim
    return replace(
        claim, state=claim.state - waiting_quads(claim.state, claim.iri, attaching=attaching)
    )


def _attached_evidence(change: Change, rest: Iterable[Change]) -> tuple[State, Quads]:
    """Return the evidence that a review attached and no later one accepted, and where it waited."""
    later = any(each.number > change.number and _side(each) > 0 for each in rest)
    if later or _home(change) is not Status.ACCEPTED:
        return frozenset(), ()
    place = PLACES[Status.CANDIDATE]
    quads = tuple(quad for quad in change.removed if quad.graph_name == place)
    added_quads = (quad for quad in change.added if quad.predicate not in _REWRITTEN)
    waited = {quad.triple for quad in quads}
    return frozenset(q for q in added_quads if q.triple in waited), quads


def _home(review: Change) -> Status:
    return Status(local_name(review.note(SHIYI.homeStatus)))
