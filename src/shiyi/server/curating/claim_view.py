"""A claim as a reviewer sees it: what it says, on what grounds, who thinks what, what moved when."""

from dataclasses import dataclass

from shiyi.curation.decisions import Weighing
from shiyi.curation.ledger import Change, named
from shiyi.curation.opinions import Opinion
from shiyi.curation.queue import Item
from shiyi.curation.state import Difference, version_of
from shiyi.model.rdf import DefaultGraph, Quad
from shiyi.reasoning.reviews import moved
from shiyi.server.curating.edit_stale import Line, lines_of
from shiyi.server.curating.reviewing import Reviewing
from shiyi.server.reading import ClaimView, Reader


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the queue."""

    item: Item
    claim: ClaimView
    version: str


@dataclass(frozen=True, slots=True)
class Event:
    """One change as the history shows it; ``live`` tells that nobody took it back."""

    change: Change
    live: bool
    lines: tuple[Line, ...] = ()
    title: str = ""


@dataclass(frozen=True, slots=True)
class ClaimDesk:
    """Everything on the page of one claim under review."""

    claim: ClaimView
    weighing: Weighing
    opinions: tuple[Opinion, ...]
    events: tuple[Event, ...]
    own: float  # what the evidence alone gives
    if_accepted: float
    if_rejected: float
    assigned: str


def rows_of(reader: Reader, items: tuple[Item, ...]) -> list[Row]:
    """Give the lines of a page of the queue."""
    return [
        Row(item, view, version_of(reader.store, item.claim))
        for item in items if (view := view_of(reader, item.claim)) is not None
    ]  # fmt: skip


def view_of(reader: Reader, iri: str) -> ClaimView | None:
    """Read a claim where it lives, or None where it is no claim."""
    node = named(iri)
    home = reader.home_of_claim(node)
    return None if home is None else reader.claim(node, home)


def desk_of(reader: Reader, reviewing: Reviewing, iri: str) -> ClaimDesk | None:
    """Give the page of a claim, None where there is no such claim."""
    view = view_of(reader, iri)
    if view is None:
        return None
    weighing = reviewing.decisions.weighing(iri)
    own = _own(weighing)
    return ClaimDesk(
        view, weighing,
        tuple(sorted(reviewing.opinions.of(iri).values(), key=lambda each: each.number)),
        events_of(reader, reviewing, iri), own, moved(own, 1.0), moved(own, -1.0),
        reviewing.opinions.assigned(iri),
    )  # fmt: skip


def events_of(reader: Reader, reviewing: Reviewing, thing: str) -> tuple[Event, ...]:
    """List what happened to a thing, the newest first."""
    changes = reviewing.decisions.changes
    return tuple(
        Event(each, changes.is_live(each), lines_of_change(reader, each))
        for each in reversed(changes.of(thing))
    )


def lines_of_change(reader: Reader, change: Change) -> tuple[Line, ...]:
    """Write what a change removed and added, without what only moved to another graph."""
    gone, come = {_bare(q) for q in change.removed}, {_bare(q) for q in change.added}
    return lines_of(reader, Difference.between(frozenset(gone - come), frozenset(come - gone)))


def _bare(quad: Quad) -> Quad:
    return Quad(quad.subject, quad.predicate, quad.object, DefaultGraph())


def _own(weighing: Weighing) -> float:
    made = weighing.made
    for who in tuple(made.reviews):
        made = made.without(who)
    return made.confidence
