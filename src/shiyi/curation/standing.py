"""Where a claim stands: its evidence as votes, the reviews that hold, and what follows from both."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from shiyi.curation.ledger import REJECTED, Change
from shiyi.curation.state import State, text_graph
from shiyi.errors import UsageError
from shiyi.model.claim import Status
from shiyi.model.names import graph
from shiyi.model.rdf import DefaultGraph, NamedNode, Quad, Triple, decimal, local_name, text
from shiyi.ontology.terms import DCTERMS, RDF, SHIYI
from shiyi.reasoning.review_records import is_retracted
from shiyi.reasoning.reviews import Review, Standing, Vote, agreement
from shiyi.sparql.store import QuadStore

DECIDING: Final = (
    0.5  # the mean agreement from which a status follows; nearer 0 only the confidence
)
SECOND: Final = 2  # reviewers who must agree before a safety claim changes for the worse, or at all
PLACES: Final[Mapping[Status, NamedNode | DefaultGraph]] = {
    Status.ACCEPTED: DefaultGraph(),
    Status.CANDIDATE: graph("candidates"),
    Status.QUARANTINED: graph("quarantine"),
    Status.REJECTED: REJECTED,
}
REVIEWING: Final = frozenset({"accept", "reject", "unsure"})


@dataclass(frozen=True, slots=True)
class Held:
    """A claim as the base holds it now."""

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
        """Give the triple."""
        return Triple(self.subject, self.predicate, self.object)  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True)
class Verdict:
    """What follows from the reviews: status, confidence, and whether a second reviewer is awaited."""

    status: Status
    confidence: float
    agreement: float
    waits: bool = False


def held(state: State, iri: str) -> Held:
    """Read a claim out of its state; ``UsageError`` where it is none that can be reviewed."""
    node = NamedNode(iri)
    # what is accepted and read again elsewhere is accepted
    own = sorted((q for q in state if q.subject == node), key=text_graph, reverse=True)
    triple = next((q.object for q in own if isinstance(q.object, Triple)), None)
    said = {quad.predicate: quad.object for quad in own}
    if triple is None or SHIYI.status not in said or not isinstance(triple.subject, NamedNode):
        raise UsageError(f"there is no claim {iri[:200]!r} to review")
    return Held(
        iri, triple.subject, triple.predicate, triple.object,
        said.get(SHIYI.polarity) != SHIYI.negative,
        Status(local_name(text(said[SHIYI.status]))), float(text(said[SHIYI.confidence])), state,
    )  # fmt: skip


def standing(store: QuadStore, claim: Held, reviews: Iterable[Change]) -> Standing:
    """Give what a claim's confidence is made of: one vote an evidence, one review a reviewer."""
    links = {q.object for q in claim.state if q.predicate == SHIYI.evidence}
    said: dict[object, dict[NamedNode, str]] = {}
    for quad in claim.state:
        if quad.subject in links:
            said.setdefault(quad.subject, {})[quad.predicate] = text(quad.object)
    made = Standing(tuple(
        Vote(each[DCTERMS.source], _lineage(store, each[DCTERMS.source]),
             float(each[SHIYI.extractionConfidence]))
        for each in said.values()
        if DCTERMS.source in each and SHIYI.extractionConfidence in each
    ))  # fmt: skip
    if not made.votes:
        raise UsageError(f"{claim.iri} has no evidence, so there is nothing to review")
    for source in {vote.source for vote in made.votes if is_retracted(store, vote.source)}:
        made = made.retract(source)
    for change in reviews:
        made = made.reviewed(Review(change.who, float(change.note(SHIYI.agreement) or 0)))
    return made


def verdict(made: Standing, home: Status, safety: bool) -> Verdict:
    """Say what status and confidence follow from the reviews of a claim.

    A mean agreement of 0.5 or more accepts, of -0.5 or less rejects; in between the claim stays
    at ``home`` and only its confidence moves. A safety claim waits for a second reviewer on the
    same side, unless the first confirms what stands: until then nothing about it changes.
    """
    own = Standing(made.votes, retracted=made.retracted).confidence
    agreed = agreement(made.reviews.values())
    status = home
    if agreed >= DECIDING:
        status = Status.ACCEPTED
    elif agreed <= -DECIDING:
        status = Status.REJECTED
    confirms = status is home and agreed >= 0
    same = sum(1 for each in made.reviews.values() if each.agreement * agreed > 0)
    if safety and agreed and not confirms and same < SECOND:
        return Verdict(home, own, agreed, waits=True)
    return Verdict(status, made.confidence, agreed)


def moved(
    store: QuadStore, claim: Held, status: Status, confidence: float
) -> Mapping[str, list[Quad]]:
    """Give the quads that go and come when a claim takes a status and a confidence."""
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
            Quad(node, RDF.subject, s, place), Quad(node, RDF.predicate, p, place),
            Quad(node, RDF.object, o, place),
        }  # fmt: skip
    else:
        after.add(Quad(s, p, o, place))
    if claim.positive and claim.status is Status.ACCEPTED:
        before.add(Quad(s, p, o, DefaultGraph()))
    _keep_links(store, claim, status, before, after)
    return {"removed": sorted(before - after, key=str), "added": sorted(after - before, key=str)}


_REWRITTEN: Final = frozenset({
    SHIYI.status, SHIYI.confidence, RDF.subject, RDF.predicate, RDF.object,
})  # fmt: skip


def _keep_links(
    store: QuadStore, claim: Held, status: Status, before: set[Quad], after: set[Quad]
) -> None:
    """Conflicts are told from both sides of the accepted view, and only there."""
    node, default = NamedNode(claim.iri), DefaultGraph()
    back = set(store.match(None, SHIYI.conflictsWith, node, default))
    if status is not Status.ACCEPTED:
        before |= back
        return
    for quad in claim.state:
        if quad.subject == node and quad.predicate == SHIYI.conflictsWith:
            other = quad.object
            if isinstance(other, NamedNode) and _is_claim(store, other):
                after.add(Quad(other, SHIYI.conflictsWith, node, default))
    before |= back
    after |= back


def _is_claim(store: QuadStore, node: NamedNode) -> bool:
    return any(True for _ in store.match(node, RDF.type, SHIYI.Claim, DefaultGraph()))


def _lineage(store: QuadStore, source: str) -> str:
    found = store.match(NamedNode(source), SHIYI.lineage)
    return next((text(quad.object) for quad in found), source)


def source_copies(store: QuadStore, claim: Held) -> list[Quad]:
    """Give what the accepted view must know of the sources that an accepted claim cites."""
    wanted = {
        q.object for q in claim.state
        if q.predicate == DCTERMS.source and isinstance(q.object, NamedNode)
    }  # fmt: skip
    found: list[Quad] = []
    for source in wanted:
        quads = list(store.match(source))
        if not any(text_graph(quad) == "" and quad.predicate == RDF.type for quad in quads):
            found += {
                Quad(q.subject, q.predicate, q.object, DefaultGraph())
                for q in quads if text_graph(q).startswith(graph("source").value)
            }  # fmt: skip
    return found
