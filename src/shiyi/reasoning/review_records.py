"""Reviews that hold, read from the reviews graph: what moved a claim's confidence, and by whom."""

from collections.abc import Mapping
from typing import Final

from shiyi.errors import UsageError
from shiyi.model.names import graph, resource
from shiyi.model.rdf import NamedNode, text
from shiyi.ontology.terms import DCTERMS, PROV, SHIYI
from shiyi.reasoning.reviews import Review, Standing, Vote
from shiyi.sparql.store import QuadStore

REVIEWS: Final = graph("reviews")
KINDS: Final = frozenset({"accept", "reject", "unsure"})
_AGENT: Final = resource("agent/x").value[:-1]


def reviews_of(store: QuadStore, claim: str) -> tuple[Review, ...]:
    """List each reviewer's latest review of a claim that nobody took back, the oldest first.

    A safety claim that waits for a second reviewer has reviews that have not moved it yet.
    """
    latest: dict[str, tuple[int, Review]] = {}
    for quad in store.match(None, DCTERMS.subject, NamedNode(claim), REVIEWS):
        said = {
            q.predicate: text(q.object)
            for q in store.match(NamedNode(text(quad.subject)), None, None, REVIEWS)
        }
        if said.get(DCTERMS.type) not in KINDS or not stands(store, text(quad.subject)):
            continue
        who = said.get(PROV.wasAttributedTo, "").removeprefix(_AGENT)
        number = int(said.get(SHIYI.changeNumber, "0"))
        if who and number > latest.get(who, (0, None))[0]:
            latest[who] = number, Review(who, float(said.get(SHIYI.agreement, "0")))
    return tuple(review for _, review in sorted(latest.values(), key=lambda each: each[0]))


def standing_of(store: QuadStore, claim: str) -> Standing:
    """Give what a claim's confidence is made of, read from its evidence and its reviews alone.

    Its ``confidence`` is what stepwise reviews and undoing led to, save for a safety claim that waits
    for a second reviewer, and for a claim of a retracted source, which decays. Raises ``UsageError`` for a claim without evidence.
    """
    votes = []
    for link in store.match(NamedNode(claim), SHIYI.evidence):
        said = {
            q.predicate: text(q.object)
            for q in store.match(NamedNode(text(link.object)))
            if q.graph_name == link.graph_name
        }
        source = said.get(DCTERMS.source, "")
        if source and SHIYI.extractionConfidence in said:
            kin = next(iter(store.match(NamedNode(source), SHIYI.lineage)), None)
            lineage = text(kin.object) if kin else source
            votes.append(Vote(source, lineage, float(said[SHIYI.extractionConfidence])))
    if not votes:
        raise UsageError(f"{claim} has no evidence, so its confidence cannot be counted anew")
    gone = {vote.source for vote in votes if is_retracted(store, vote.source)}
    made = Standing(tuple(votes), retracted=frozenset(gone))
    for review in reviews_of(store, claim):
        made = made.reviewed(review)
    return made


def reviewed_claims(store: QuadStore) -> frozenset[str]:
    """List the claims that have a review which nobody took back."""
    asked = {text(q.object) for q in store.match(None, DCTERMS.subject, None, REVIEWS)}
    return frozenset(claim for claim in asked if reviews_of(store, claim))


def decayed_claims(store: QuadStore) -> Mapping[str, float]:
    """Give the confidence of each claim that a retracted source states, counted anew.

    A source is retracted where any graph says ``shiyi:status shiyi:retracted`` of it.
    """
    found: dict[str, float] = {}
    for said in store.match(None, SHIYI.status, SHIYI.retracted):
        for evidence in store.match(None, DCTERMS.source, said.subject):
            for link in store.match(None, SHIYI.evidence, evidence.subject):
                claim = text(link.subject)
                if claim not in found:
                    found[claim] = standing_of(store, claim).confidence
    return found


def is_retracted(store: QuadStore, source: str) -> bool:
    """Tell whether a source was retracted: whether any graph says so of it."""
    return any(store.match(NamedNode(source), SHIYI.status, SHIYI.retracted))


def stands(store: QuadStore, change: str) -> bool:
    """Tell whether no change that stands reverses this one."""
    takers = store.match(None, SHIYI.reverses, NamedNode(change), REVIEWS)
    return not any(stands(store, text(quad.subject)) for quad in takers)
