"""Attributed, reversible changes (PROV-O)."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from uuid import uuid4

from shiyi.errors import KnowledgeBaseError, StaleError, UsageError
from shiyi.model.iris import content_hash, graph, resource
from shiyi.model.rdf import XSD_INTEGER, BlankNode, Literal, NamedNode, Object, Quad, Triple, text
from shiyi.ontology.terms import DCTERMS, PROV, RDF, RDFS, SHIYI
from shiyi.reasoning.confidence.reviews import is_live
from shiyi.sparql.base.journal import Record
from shiyi.sparql.base.writer import Writer, guard_after_commit
from shiyi.sparql.store.oxigraph import n_quads, parse_n_quads
from shiyi.sparql.store.port import QuadStore

REVIEWS = graph("reviews")
REJECTED = graph("rejected")
_LONGEST = 2000  # characters of an IRI
_XSD_TIME = NamedNode("http://www.w3.org/2001/XMLSchema#dateTime")
_OWN = frozenset({
    RDF.type, DCTERMS.type, DCTERMS.subject, PROV.wasAttributedTo, PROV.generatedAtTime,
    RDFS.comment,
    SHIYI.changeNumber, SHIYI.removedQuads, SHIYI.addedQuads, SHIYI.reverses,
})  # fmt: skip
Note = tuple[NamedNode, Object]


@dataclass(frozen=True, slots=True)
class Change:
    """An attributed change: agent, time, reason, subjects, and the quads removed and added.

    ``number`` counts the changes of this base from 1; ``when`` is ISO 8601 in UTC; ``notes`` are
    further statements about the change, such as the agreement of a review; ``reverses`` is the
    IRI of the change it takes back, or empty.
    """

    iri: str
    number: int
    kind: str
    who: str
    when: str
    reason: str
    about: tuple[str, ...]
    removed: tuple[Quad, ...] = ()
    added: tuple[Quad, ...] = ()
    reverses: str = ""
    notes: tuple[Note, ...] = field(default=())

    def note(self, predicate: NamedNode) -> str:
        """Return the value of a note, or the empty text."""
        return next((text(value) for name, value in self.notes if name == predicate), "")


def parse_iri(iri: str) -> NamedNode:
    """Parse the IRI of a thing from user input; raise ``UsageError`` where it is none.

    >>> parse_iri("https://e.org/a").value
    'https://e.org/a'
    """
    try:
        if len(iri) <= _LONGEST:
            return NamedNode(iri)
    except ValueError:
        pass
    raise UsageError(f"{iri[:100]!r} is no IRI; name a claim or a concept by its IRI")


def agent(name: str) -> NamedNode:
    """Name a person as PROV-O's agent."""
    return resource(f"agent/{name}")


def change_quads(change: Change) -> Iterator[Quad]:
    """Yield the change as a ``shiyi:Review`` in the reviews graph."""
    node, person = NamedNode(change.iri), agent(change.who)
    values: list[Note] = [
        (RDF.type, SHIYI.Review),
        (DCTERMS.type, Literal(change.kind)),
        (PROV.wasAttributedTo, person),
        (PROV.generatedAtTime, Literal(change.when, datatype=_XSD_TIME)),
        (RDFS.comment, Literal(change.reason)),
        (SHIYI.changeNumber, _number(change.number)),
        (SHIYI.removedQuads, Literal(_lines(change.removed))),
        (SHIYI.addedQuads, Literal(_lines(change.added))),
        *((DCTERMS.subject, NamedNode(each)) for each in change.about),
        *change.notes,
    ]
    if change.reverses:
        values.append((SHIYI.reverses, NamedNode(change.reverses)))
    for predicate, value in values:
        yield Quad(node, predicate, value, REVIEWS)
    yield Quad(person, RDF.type, PROV.Agent, REVIEWS)
    yield Quad(person, RDFS.label, Literal(change.who), REVIEWS)


def read_change(store: QuadStore, iri: str) -> Change | None:
    """Read one change back, or None where the reviews graph has none of that name."""
    values: dict[NamedNode, list[Object]] = {}
    for quad in store.match(NamedNode(iri), None, None, REVIEWS):
        if isinstance(quad.object, NamedNode | Literal):
            values.setdefault(quad.predicate, []).append(quad.object)
    if SHIYI.changeNumber not in values:
        return None
    try:
        return Change(
            iri,
            int(_first_text(values, SHIYI.changeNumber)),
            _first_text(values, DCTERMS.type),
            _first_text(values, PROV.wasAttributedTo).removeprefix(agent("").value),
            _first_text(values, PROV.generatedAtTime),
            _first_text(values, RDFS.comment),
            tuple(sorted(map(text, values.get(DCTERMS.subject, [])))),
            _quads(_first_text(values, SHIYI.removedQuads)),
            _quads(_first_text(values, SHIYI.addedQuads)),
            _first_text(values, SHIYI.reverses),
            tuple(
                (name, value)
                for name in sorted(values, key=text)
                if name not in _OWN
                for value in sorted(values[name], key=str)
            ),
        )
    except ValueError as fault:
        raise KnowledgeBaseError(f"the change {iri} cannot be read back: {fault}") from fault


def change_of_number(store: QuadStore, number: int) -> str:
    """Return the IRI of the change of that number, or nothing."""
    quads = store.match(None, SHIYI.changeNumber, _number(number), REVIEWS)
    return next((text(quad.subject) for quad in quads), "")


def last_number(store: QuadStore) -> int:
    """Return the number of the newest change, 0 for none."""
    quads = store.match(None, SHIYI.changeNumber, None, REVIEWS)
    return max((int(text(quad.object)) for quad in quads), default=0)


def _number(value: int) -> Literal:
    return Literal(str(value), datatype=XSD_INTEGER)


def _first_text(values: dict[NamedNode, list[Object]], predicate: NamedNode) -> str:
    return text(next(iter(values.get(predicate, [])), None))


def _lines(quads: Iterable[Quad]) -> str:
    return n_quads(sorted(quads, key=str)).decode()


def _quads(lines: str) -> tuple[Quad, ...]:
    return parse_n_quads(lines.encode())


_ASIDE = frozenset({REVIEWS.value, graph("derived").value, graph("journal").value})
State = frozenset[Quad]


@dataclass(frozen=True, slots=True)
class Difference:
    """The difference between two states."""

    removed: tuple[Quad, ...]
    added: tuple[Quad, ...]

    @classmethod
    def between(cls, before: State, after: State) -> "Difference":
        """Compare two states; the order is that of the text."""
        return cls(tuple(sorted(before - after, key=str)), tuple(sorted(after - before, key=str)))


def state_of(store: QuadStore, thing: str) -> State:
    """Return every quad about a thing and about its evidence, but no review and nothing derived."""
    own = [quad for quad in store.match(parse_iri(thing)) if graph_name(quad) not in _ASIDE]
    evidence = {q.object for q in own if q.predicate == SHIYI.evidence}
    for node in evidence:
        if isinstance(node, NamedNode):
            own += [quad for quad in store.match(node) if graph_name(quad) not in _ASIDE]
    return frozenset(own)


def version_of(store: QuadStore, thing: str) -> str:
    """Return a short hash of a thing's state, which an edit names as what it was made from."""
    return version(state_of(store, thing))


def version(state: State) -> str:
    """Return the hash of a state.

    >>> version(frozenset()) == version(frozenset([]))
    True
    """
    return content_hash(*sorted(map(str, state)))[:16]


def state_before(state: State, thing: str, changes: Sequence[Change], number: int) -> State:
    """Withdraw every change about a thing that is newer than ``number``; 0 gives the origin."""
    result = state
    for change in sorted(changes, key=lambda each: -each.number):
        if change.number > number and thing in change.about:
            result = (result - frozenset(change.added)) | _own_quads(change.removed, thing, result)
    return result


def blame(state: State, changes: Iterable[Change]) -> Mapping[Quad, Change]:
    """Return, for the quads of a state that a change brought, the newest change that did."""
    known_changes: dict[Quad, Change] = {}
    for change in sorted(changes, key=lambda each: each.number):
        for quad in change.added:
            if quad in state:
                known_changes[quad] = change
    return known_changes


def graph_name(quad: Quad) -> str:
    """Return the name of a quad's graph; the default graph's is empty."""
    place = quad.graph_name
    return place.value if isinstance(place, NamedNode) else ""


def _own_quads(quads: Iterable[Quad], thing: str, state: State) -> State:
    """Return the quads about the thing or its evidence."""
    quads = frozenset(quads)
    links = {text(q.object) for q in quads | state if q.predicate == SHIYI.evidence}
    return frozenset(q for q in quads if text(q.subject) == thing or text(q.subject) in links)


REASON = 2000  # characters of a reason or a comment at most
Listener = Callable[[Sequence[Change]], None]
Reversal = tuple[tuple[Quad, ...], tuple[Quad, ...]]  # what undoing removes, and what it adds


@dataclass(frozen=True, slots=True)
class Edit:
    """A requested change.

    ``about`` names claims, concepts or mappings by IRI; ``expected`` gives, for each of them that
    was read before, the version it had then (see ``version_of``). A ``key`` used before changes
    nothing and returns the change it made: a form sent twice is one change.
    """

    kind: str
    about: tuple[str, ...]
    reason: str = ""
    removed: tuple[Quad, ...] = ()
    added: tuple[Quad, ...] = ()
    expected: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[Note, ...] = ()
    key: str = ""

    def __post_init__(self) -> None:
        if not (self.kind and self.about):
            raise UsageError("a change says its kind and what it is about")
        for each in self.about:
            parse_iri(each)
        if len(self.reason) > REASON:
            raise UsageError(f"a reason has at most {REASON} characters")

    def with_reason(self, reason: str, version: str = "", key: str = "") -> "Edit":
        """Return the edit with its reason, and the version in which its first thing was read."""
        seen = {self.about[0]: version} if version else self.expected
        return replace(self, reason=reason or self.reason, expected=seen, key=key)


class Changes:
    """Writes and reads the changes of one base; listeners are called after each is stored."""

    def __init__(self, writer: Writer, now: Callable[[], datetime] | None = None) -> None:
        self.writer, self.store = writer, writer.store
        self.listeners: list[Listener] = []
        self._now = now or (lambda: datetime.now(UTC))
        self._last: int | None = None
        self._request: tuple[str, str] | None = None  # the key and digest of what is being done

    @contextmanager
    def under_request(self, key: str, digest: str) -> Iterator[tuple[Change, ...]]:
        """Write what follows under the key of a request; yield the changes it made before.

        Raise ``KeyReuseError`` where a request of another digest made them. No other writer may
        come between, so of two equal requests the second finds what the first made.
        """
        with self.writer.turn():
            record = self.writer.record_of(key, digest)
            quads = record.added if record else ()
            made_quads = [quad for quad in quads if quad.predicate == SHIYI.changeNumber]
            names = [text(q.subject) for q in sorted(made_quads, key=lambda q: int(text(q.object)))]
            self._request = None if record else (key, digest)
            try:
                yield tuple(self.get(name) for name in names)
            finally:
                self._request = None

    def make(self, edit: Edit, agent: str, plan: Callable[[], Edit] | None = None) -> Change:
        """Write one change and return it.

        Raises ``StaleError`` where a version is not the expected one or a quad that should go is
        gone, and then nothing was written. ``plan`` makes the edit while no other writer may
        come between, for one that depends on what the base holds.
        """
        return self.make_all([edit], agent, plan)[0]

    def make_all(
        self, edits: Sequence[Edit], agent: str, plan: Callable[[], Edit] | None = None
    ) -> tuple[Change, ...]:
        """Write several changes at once: all of them, or none."""
        with self.writer.turn():
            before = [self.of_key(edit.key) for edit in edits]
            done_changes = tuple(change for change in before if change)
            if edits and len(done_changes) == len(edits):
                return done_changes
            if plan:
                edits = [plan()]
            changes = tuple(self._check_edit(edit, agent, i) for i, edit in enumerate(edits, 1))
            self.write(changes)
        return changes

    def write(self, created: Sequence[Change]) -> None:
        """Write changes as they are, as one journal record; imports bring their own names."""
        if not created:
            return
        with self.writer.turn():
            removed = dict.fromkeys(quad for change in created for quad in change.removed)
            added = dict.fromkeys(quad for change in created for quad in change.added)
            notes = (quad for change in created for quad in change_quads(change))
            names = [change.iri for change in created]
            key = names[0] if len(names) == 1 else f"{content_hash(*names)} {len(names)}"
            key, request = self._request or (f"curation {key}", "")
            self._request = None  # the first record of a request names it
            reason = f"{created[0].kind}: {created[0].reason or 'no reason given'}"
            quads = tuple(removed), (*added, *notes)
            self.writer.write_record(
                Record(0, key, created[0].who, reason, "", *quads, request=request)
            )
            self._last = max(change.number for change in created)
        for listener in self.listeners:
            with guard_after_commit("curation", created[0].iri):
                listener(created)

    def undo(
        self,
        iri: str,
        agent: str,
        reason: str,
        key: str = "",
        otherwise: Callable[[Change], Reversal | None] = lambda _: None,
    ) -> Change:
        """Undo a change by a new one: exactly, or by what ``otherwise`` removes and adds.

        Raises ``StaleError`` where a later change is in the way and there is no other way.
        """

        def plan() -> Edit:
            change = self.get(iri)
            if not self.is_live(change):
                raise UsageError(f"{iri} was taken back already; undo the undoing to restore it")
            reversal: Reversal | None = change.added, change.removed
            if _conflicting_quads(self.store, change):
                reversal = otherwise(change)
            if reversal is None:
                raise StaleError(change.about, "a later change stands on this one; undo it first")
            notes = ((SHIYI.reverses, NamedNode(iri)),)
            return Edit("undo", change.about, reason, *reversal, key=key, notes=notes)

        return self.make(Edit("undo", (iri,), reason, key=key), agent, plan)

    def get(self, iri: str) -> Change:
        """Return one change; ``UsageError`` where there is none of that name."""
        result = read_change(self.store, parse_iri(iri).value)
        if result is None:
            raise UsageError(f"there is no change {iri[:200]!r}; see `shiyi review log`")
        return result

    def of_key(self, key: str) -> Change | None:
        """Return the change that was made with a key before."""
        return read_change(self.store, change_iri(key)) if key else None

    def of(self, thing: str) -> list[Change]:
        """List the changes about a claim, concept or mapping, the oldest first."""
        return list_changes(self.store, thing)

    def since(self, thing: str, seen: str) -> tuple[tuple[Change, ...], Difference]:
        """Return the changes of a thing after version ``seen``, and what they changed in all.

        Where no earlier version is that one, these are the last three changes and no difference.
        """
        now, changes = state_of(self.store, thing), self.of(thing)
        for number in [change.number - 1 for change in reversed(changes)]:
            before = state_before(now, thing, changes, number)
            if version(before) == seen:
                later = tuple(change for change in changes if change.number > number)
                return later, Difference.between(before, now)
        return tuple(changes[-3:]), Difference((), ())

    def latest(self, count: int = 50, before: int = 0) -> list[Change]:
        """List the newest changes, the newest first; ``before`` goes on from a number."""
        top = self.last if not before else before - 1
        results = (self.find_change(n) for n in range(top, max(0, top - count), -1))
        return [change for change in results if change]

    def find_change(self, number: int) -> Change | None:
        """Return the change of that number."""
        iri = change_of_number(self.store, number)
        return read_change(self.store, iri) if iri else None

    @property
    def last(self) -> int:
        """Return the number of the newest change, 0 for none."""
        if self._last is None:
            self._last = last_number(self.store)
        return self._last

    def is_live(self, change: Change) -> bool:
        """Return whether a change stands: it was not undone, or its undoing was."""
        return is_live(self.store, change.iri)

    def check_fits(self, change: Change) -> None:
        """Raise ``StaleError`` where what a change removes is not here."""
        missing = [quad for quad in change.removed if not is_stored(self.store, quad)]
        if missing:
            raise StaleError(change.about, f"what should go is not there ({missing[0]})")

    def _check_edit(self, edit: Edit, agent: str, place: int) -> Change:
        stale = [t for t, seen in edit.expected.items() if version_of(self.store, t) != seen]
        if stale:
            raise StaleError(stale)
        missing = [q for q in edit.removed if not is_stored(self.store, q)]
        if missing:
            raise StaleError(edit.about, f"what should go is not there ({missing[0]})")
        reverses = next((text(v) for name, v in edit.notes if name == SHIYI.reverses), "")
        notes = tuple(note for note in edit.notes if note[0] != SHIYI.reverses)
        # what stays need not be written, and must not go when this is undone
        quads = frozenset(edit.removed)
        fresh = tuple(
            q for q in dict.fromkeys(edit.added) if q in quads or not is_stored(self.store, q)
        )
        both = quads & frozenset(fresh)
        return Change(
            change_iri(edit.key or uuid4().hex),
            self.last + place,
            edit.kind,
            agent,
            _canonical(self._now()),
            edit.reason,
            edit.about,
            tuple(q for q in dict.fromkeys(edit.removed) if q not in both),
            tuple(q for q in fresh if q not in both),
            reverses,
            notes,
        )


def _canonical(time: datetime) -> str:
    """Return the canonical lexical form of a time, as the store returns it (XSD 1.1, E.3.6)."""
    seconds = time.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="milliseconds")
    return seconds.rstrip("0").rstrip(".") + "Z"


def change_iri(key: str) -> str:
    """Name the change that a key makes."""
    return resource(f"change/{content_hash(key)}").value


def list_changes(store: QuadStore, thing: str) -> list[Change]:
    """List the changes about a thing, the oldest first."""
    quads = (
        read_change(store, text(quad.subject))
        for quad in store.match(None, DCTERMS.subject, parse_iri(thing), REVIEWS)
    )
    return sorted((change for change in quads if change), key=lambda change: change.number)


def _conflicting_quads(store: QuadStore, change: Change) -> Iterable[Quad]:
    quads = [quad for quad in change.added if not is_stored(store, quad)]
    inverse_quads = [quad for quad in change.removed if is_stored(store, quad)]
    return [*quads, *inverse_quads]


def is_stored(store: QuadStore, quad: Quad) -> bool:
    """Return whether a store has a quad; raise ``UsageError`` for one that it cannot have."""
    subject, place = quad.subject, quad.graph_name
    if isinstance(subject, Triple) or isinstance(place, BlankNode):
        raise UsageError(f"{quad} is no quad of this base: a subject or graph it cannot have")
    return next(iter(store.match(subject, quad.predicate, quad.object, place)), None) is not None
