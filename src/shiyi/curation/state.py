"""What the base holds of one claim or concept: now, at an earlier change, and who said it."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from shiyi.curation.ledger import REVIEWS, Change, named
from shiyi.model.names import content_hash, graph
from shiyi.model.rdf import NamedNode, Quad, text
from shiyi.ontology.terms import SHIYI
from shiyi.sparql.store import QuadStore

_ASIDE = frozenset({REVIEWS.value, graph("derived").value, graph("journal").value})
State = frozenset[Quad]


@dataclass(frozen=True, slots=True)
class Difference:
    """What went and what came between two states."""

    removed: tuple[Quad, ...]
    added: tuple[Quad, ...]

    @classmethod
    def between(cls, before: State, after: State) -> "Difference":
        """Compare two states; the order is that of the text."""
        return cls(
            tuple(sorted(before - after, key=str)), tuple(sorted(after - before, key=str))
        )  # fmt: skip


def state_of(store: QuadStore, thing: str) -> State:
    """Give every quad about a thing and about its evidence, but no review and nothing derived."""
    own = [quad for quad in store.match(named(thing)) if text_graph(quad) not in _ASIDE]
    evidence = {q.object for q in own if q.predicate == SHIYI.evidence}
    for node in evidence:
        if isinstance(node, NamedNode):
            own += [quad for quad in store.match(node) if text_graph(quad) not in _ASIDE]
    return frozenset(own)


def version_of(store: QuadStore, thing: str) -> str:
    """Give a short hash of a thing's state, which an edit names as what it was made from."""
    return version(state_of(store, thing))


def version(state: State) -> str:
    """Give the hash of a state.

    >>> version(frozenset()) == version(frozenset([]))
    True
    """
    return content_hash(*sorted(map(str, state)))[:16]


def as_of(state: State, thing: str, changes: Sequence[Change], number: int) -> State:
    """Take back every change about a thing that is newer than ``number``; 0 gives the origin."""
    found = state
    for change in sorted(changes, key=lambda each: -each.number):
        if change.number > number and thing in change.about:
            found = (found - frozenset(change.added)) | _own(change.removed, thing, found)
    return found


def blame(state: State, changes: Iterable[Change]) -> Mapping[Quad, Change]:
    """Give, for the quads of a state that a change brought, the newest change that did."""
    known: dict[Quad, Change] = {}
    for change in sorted(changes, key=lambda each: each.number):
        for quad in change.added:
            if quad in state:
                known[quad] = change
    return known


def text_graph(quad: Quad) -> str:
    """Give the name of a quad's graph; the default graph's is empty."""
    place = quad.graph_name
    return place.value if isinstance(place, NamedNode) else ""


def _own(quads: Iterable[Quad], thing: str, state: State) -> State:
    """Keep of a change what is about the thing or its evidence."""
    quads = frozenset(quads)
    links = {text(q.object) for q in quads | state if q.predicate == SHIYI.evidence}
    return frozenset(q for q in quads if text(q.subject) == thing or text(q.subject) in links)
