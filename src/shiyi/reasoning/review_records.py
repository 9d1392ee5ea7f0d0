"""Reviews that hold, read from the reviews graph: what moved a claim's confidence, and by whom."""

from typing import Final

from shiyi.model.names import graph, resource
from shiyi.model.rdf import NamedNode, text
from shiyi.ontology.terms import DCTERMS, PROV, SHIYI
from shiyi.reasoning.reviews import Review
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


def stands(store: QuadStore, change: str) -> bool:
    """Tell whether no change that stands reverses this one."""
    takers = store.match(None, SHIYI.reverses, NamedNode(change), REVIEWS)
    return not any(stands(store, text(quad.subject)) for quad in takers)
