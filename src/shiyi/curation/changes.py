"""The one way a curator changes the base: checked, journaled, attributed, and reversible."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from uuid import uuid4

from shiyi.curation.ledger import (
    REVIEWS,
    Change,
    Note,
    change_quads,
    last_number,
    named,
    numbered,
    read_change,
)
from shiyi.curation.state import version_of
from shiyi.errors import StaleError, UsageError
from shiyi.model.names import content_hash, resource
from shiyi.model.rdf import BlankNode, NamedNode, Quad, Triple, text
from shiyi.ontology.terms import DCTERMS, SHIYI
from shiyi.sparql.store import QuadStore
from shiyi.sparql.writer import Writer

REASON = 2000  # characters of a reason or a comment at most
Listener = Callable[[Sequence[Change]], None]


@dataclass(frozen=True, slots=True)
class Edit:
    """What somebody wants changed.

    ``about`` names claims, concepts or mappings by IRI; ``expected`` gives, for each of them that
    was read before, the version it had then (see ``version_of``). A ``key`` used before changes
    nothing and gives the change it made: a form sent twice is one change.
    """

    kind: str
    about: tuple[str, ...]
    reason: str
    removed: tuple[Quad, ...] = ()
    added: tuple[Quad, ...] = ()
    expected: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[Note, ...] = ()
    key: str = ""

    def __post_init__(self) -> None:
        if not (self.kind and self.about):
            raise UsageError("a change says its kind and what it is about")
        for each in self.about:
            named(each)
        if len(self.reason) > REASON:
            raise UsageError(f"a reason has at most {REASON} characters")


class Changes:
    """Writes and reads the changes of one base; listeners hear of each one after it is stored."""

    def __init__(self, writer: Writer, now: Callable[[], datetime] | None = None) -> None:
        self.writer, self.store = writer, writer.store
        self.listeners: list[Listener] = []
        self._now = now or (lambda: datetime.now(UTC))
        self._last: int | None = None

    def make(self, edit: Edit, who: str, plan: Callable[[], Edit] | None = None) -> Change:
        """Write one change and give it.

        Raises ``StaleError`` where a version is not the expected one or a quad that should go is
        gone, and then nothing was written. ``plan`` makes the edit while no other writer may
        come between, for one that depends on what the base holds.
        """
        return self.make_all([edit], who, plan)[0]

    def make_all(
        self, edits: Sequence[Edit], who: str, plan: Callable[[], Edit] | None = None
    ) -> tuple[Change, ...]:
        """Write several changes at once: all of them, or none."""
        with self.writer.turn():
            before = [self.of_key(each.key) for each in edits]
            done = tuple(each for each in before if each)
            if edits and len(done) == len(edits):
                return done
            if plan:
                edits = [plan()]
            made = tuple(self._checked(each, who, i) for i, each in enumerate(edits, 1))
            self.write(made)
        return made

    def write(self, made: Sequence[Change]) -> None:
        """Write changes as they are, as one journal record; imports bring their own names."""
        if not made:
            return
        with self.writer.turn():
            removed = dict.fromkeys(quad for each in made for quad in each.removed)
            added = dict.fromkeys(quad for each in made for quad in each.added)
            notes = (quad for each in made for quad in change_quads(each))
            self.writer.write(
                (*added, *notes),
                tuple(removed),
                key=f"curation {made[0].iri}" if len(made) == 1 else _joint_key(made),
                who=made[0].who, why=f"{made[0].kind}: {made[0].reason or 'no reason given'}",
            )  # fmt: skip
            self._last = max(each.number for each in made)
        for listener in self.listeners:
            listener(made)

    def undo(self, iri: str, who: str, reason: str, key: str = "") -> Change:
        """Take a change back exactly, by a new one; a later change in the way is a StaleError."""

        def plan() -> Edit:
            change = self.get(iri)
            if not self.is_live(change):
                raise UsageError(f"{iri} was taken back already; undo the undoing to restore it")
            stale = _in_the_way(self.store, change)
            if stale:
                raise StaleError(change.about, "a later change stands on this one; undo it first")
            return Edit(
                "undo", change.about, reason, change.added, change.removed, key=key,
                notes=((SHIYI.reverses, NamedNode(iri)),),
            )  # fmt: skip

        return self.make(Edit("undo", (iri,), reason, key=key), who, plan)

    def get(self, iri: str) -> Change:
        """Give one change; ``UsageError`` where there is none of that name."""
        found = read_change(self.store, named(iri).value)
        if found is None:
            raise UsageError(f"there is no change {iri[:200]!r}; see `shiyi review log`")
        return found

    def of_key(self, key: str) -> Change | None:
        """Give the change that was made with a key before."""
        return read_change(self.store, named_by(key)) if key else None

    def of(self, thing: str) -> list[Change]:
        """List the changes about a claim, concept or mapping, the oldest first."""
        return changes_about(self.store, thing)

    def latest(self, count: int = 50, before: int = 0) -> list[Change]:
        """List the newest changes, the newest first; ``before`` goes on from a number."""
        top = self.last if not before else before - 1
        found = (self.numbered(n) for n in range(top, max(0, top - count), -1))
        return [each for each in found if each]

    def numbered(self, number: int) -> Change | None:
        """Give the change of that number."""
        iri = numbered(self.store, number)
        return read_change(self.store, iri) if iri else None

    @property
    def last(self) -> int:
        """Give the number of the newest change, 0 for none."""
        if self._last is None:
            self._last = last_number(self.store)
        return self._last

    def is_live(self, change: Change) -> bool:
        """Tell whether a change stands: nobody took it back, or the taking back was taken back."""
        return is_live(self.store, change.iri)

    def check_fits(self, change: Change) -> None:
        """Raise ``StaleError`` where what a change removes is not here."""
        missing = [quad for quad in change.removed if not _held(self.store, quad)]
        if missing:
            raise StaleError(change.about, f"what should go is not there ({missing[0]})")

    def _checked(self, edit: Edit, who: str, place: int) -> Change:
        stale = [t for t, seen in edit.expected.items() if version_of(self.store, t) != seen]
        if stale:
            raise StaleError(stale)
        missing = [q for q in edit.removed if not _held(self.store, q)]
        if missing:
            raise StaleError(edit.about, f"what should go is not there ({missing[0]})")
        reverses = next((text(v) for name, v in edit.notes if name == SHIYI.reverses), "")
        notes = tuple(each for each in edit.notes if each[0] != SHIYI.reverses)
        # what stays need not be written, and must not go when this is undone
        gone = frozenset(edit.removed)
        fresh = tuple(q for q in dict.fromkeys(edit.added) if q in gone or not _held(self.store, q))
        both = gone & frozenset(fresh)
        return Change(
            named_by(edit.key or uuid4().hex), self.last + place, edit.kind, who,
            self._now().astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z"), edit.reason, edit.about,
            tuple(q for q in dict.fromkeys(edit.removed) if q not in both),
            tuple(q for q in fresh if q not in both), reverses, notes,
        )  # fmt: skip


def named_by(key: str) -> str:
    """Name the change that a key makes."""
    return resource(f"change/{content_hash(key)}").value


def changes_about(store: QuadStore, thing: str) -> list[Change]:
    """List the changes about a thing, the oldest first."""
    found = (
        read_change(store, text(quad.subject))
        for quad in store.match(None, DCTERMS.subject, named(thing), REVIEWS)
    )
    return sorted((each for each in found if each), key=lambda each: each.number)


def is_live(store: QuadStore, iri: str) -> bool:
    """Tell whether no live change reverses this one."""
    takers = store.match(None, SHIYI.reverses, NamedNode(iri), REVIEWS)
    return not any(is_live(store, text(quad.subject)) for quad in takers)


def _in_the_way(store: QuadStore, change: Change) -> Iterable[Quad]:
    gone = [quad for quad in change.added if not _held(store, quad)]
    back = [quad for quad in change.removed if _held(store, quad)]
    return [*gone, *back]


def _held(store: QuadStore, quad: Quad) -> bool:
    subject, place = quad.subject, quad.graph_name
    if isinstance(subject, Triple) or isinstance(place, BlankNode):
        raise UsageError(f"{quad} is no quad of ours: a subject or graph it cannot have")
    return next(iter(store.match(subject, quad.predicate, quad.object, place)), None) is not None


def _joint_key(made: Sequence[Change]) -> str:
    return f"curation {content_hash(*(each.iri for each in made))} {len(made)}"
