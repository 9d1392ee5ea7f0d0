"""The single writer: journal first, then the store."""

import fcntl
import logging
import os
import sqlite3
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime
from itertools import accumulate
from pathlib import Path
from typing import Final, Self

from shiyi.errors import KeyReuseError, KnowledgeBaseError, ShiyiError, StaleError, UsageError
from shiyi.metrics import LISTENER_FAULTS
from shiyi.model.iris import graph
from shiyi.model.rdf import XSD_INTEGER, Literal, Quad
from shiyi.ontology.terms import SHIYI
from shiyi.sparql.base.digests import note_tables, tables
from shiyi.sparql.base.journal import Journal, Record
from shiyi.sparql.store.oxigraph import NO_GRAPHS, Graphs, OxigraphStore, n_quads, parse_n_quads
from shiyi.sparql.store.port import QuadStore, WritableStore
from shiyi.sparql.store.visibility import FORMER_NOTES

_MOST = 96 << 20  # bytes that wait at most, and that go to the store at once (measured)


class Loader:
    """A queue of changes to a store, in their order; those that wait go together, as one.

    ``load`` takes the number of the last of them and the N-Quads of all. Once it failed nothing
    more is taken until :meth:`wait` has returned False; the journal has what was on its way.
    """

    def __init__(self, load: Callable[[int, bytes], None]) -> None:
        self._load = load
        self._pool = ThreadPoolExecutor(1, "shiyi-load")
        self._moved = threading.Condition()
        self._waiting: list[tuple[int, bytes]] = []
        self._busy = self._failed = False
        self._running: Future[None] | None = None
        self._done = 0

    @property
    def is_idle(self) -> bool:
        """Return whether nothing is on its way, and nothing failed on it."""
        return not (self._busy or self._failed)

    def submit(self, sequence: int, data: bytes) -> bool:
        """Queue a change once there is room; False where an earlier one failed."""
        with self._moved:
            self._moved.wait_for(lambda: self._failed or self._size() < _MOST)
            if self._failed:
                return False
            self._waiting.append((sequence, data))
            if not self._busy:
                self._busy = True
                self._running = self._pool.submit(self._run)
        return True

    def wait(self, through: int | None = None) -> bool:
        """Wait for the changes up to ``through``, or for all; False where one failed."""
        with self._moved:
            self._moved.wait_for(
                lambda: not self._busy or (through is not None and self._done >= through)
            )
            failed, self._failed = self._failed, False
        if not failed or self._running is None:
            return True
        fault = self._running.exception()
        if fault and not isinstance(fault, KnowledgeBaseError):
            raise fault
        return False

    def close(self) -> None:
        """End the thread after its queued work."""
        self._pool.shutdown()

    def _size(self) -> int:
        return sum(len(written) for _, written in self._waiting)

    def _run(self) -> None:
        whole = False
        try:
            while part := self._next():
                last = part[-1][0]
                self._load(last, b"".join(written for _, written in part))
                with self._moved:
                    self._done = last
                    self._moved.notify_all()
            whole = True
        finally:
            if not whole:
                self._stop()

    def _next(self) -> list[tuple[int, bytes]]:
        with self._moved:
            sizes = accumulate(len(written) for _, written in self._waiting)
            count = max(1, sum(size <= _MOST for size in sizes))
            part, self._waiting = self._waiting[:count], self._waiting[count:]
            self._busy = bool(part)
            self._moved.notify_all()
        return part

    def _stop(self) -> None:
        with self._moved:
            self._waiting.clear()
            self._busy, self._failed = False, True
            self._moved.notify_all()


JOURNAL_FILE = "journal.nq"
JOURNAL = graph("journal")
_BULK = 20_000  # quads from which past the store's own log is faster than through it (measured)
UNFLUSHED = 10_000  # quads that a store may hold in memory before a flush (Shiyi's)


class Writer:
    """The single writer of a knowledge base: one change at a time, across threads and processes."""

    def __init__(self, store: WritableStore, journal: Journal, lock: int) -> None:
        self.store, self.journal = store, journal
        self._lock, self._turn = lock, threading.RLock()
        self._changing = threading.RLock()  # acquired after the turn
        self._applied = last_applied(store)
        self._now: Callable[[], datetime] = lambda: datetime.now(UTC)
        self._unflushed = 0
        self._generation: Path | None = None  # of the store on this machine
        self._earlier: list[Path] = []  # tables present at opening
        self._loader = Loader(self._load)

    @classmethod
    def open(cls, kb: Path, folder: Path, remote: WritableStore | None = None) -> Self:
        """Acquire the lock of ``kb``, clean up after dead writers, and finish what they began.

        The store is the one in ``folder``, or the ``remote`` one.
        """
        with ExitStack() as undo:
            lock = acquire_lock(kb)
            undo.callback(os.close, lock)
            remove_debris(folder)
            earlier = tables(folder.parent)
            store = remote or OxigraphStore.on_disk(folder)
            undo.callback(store.close)
            journal = Journal.open(kb / JOURNAL_FILE)
            undo.callback(journal.close)
            writer = cls(store, journal, lock)
            writer._catch_up()
            if remote is None and any(store.match(None, None, None, FORMER_NOTES)):
                store.change((), (), ((FORMER_NOTES,), ()))
            if remote is None:
                writer._generation, writer._earlier = folder.parent, earlier
            undo.pop_all()
        return writer

    @property
    def sequence(self) -> int:
        """Return the number of the last change that the store holds.

        It waits for what is on its way to the store, and for no writer that prepares a change.
        """
        if self._loader.is_idle:
            return self._applied
        with self._turn:
            self._settle()
            return self._applied

    @contextmanager
    def turn(self) -> Iterator[WritableStore]:
        """Exclude every other writer while one reads, decides and writes."""
        with self._turn:
            yield self.store

    @contextmanager
    def frozen(self) -> Iterator[WritableStore]:
        """Exclude changes of the store while one copies it; others may prepare changes."""
        with self._changing:
            yield self.store

    def write(
        self,
        add: Iterable[Quad],
        remove: Iterable[Quad] = (),
        *,
        key: str,
        agent: str,
        reason: str,
        graphs: Graphs = NO_GRAPHS,
    ) -> int:
        """Remove and add as one change that survives a power cut, and return its number.

        ``graphs`` names those that go and those that come, which matters for empty ones. A ``key``
        used before changes nothing and returns the number it had. After a KnowledgeBaseError the
        same call may be repeated, and is finished once there is room.
        """
        quads = tuple(remove), tuple(add)
        return self.write_record(Record(0, key, agent, reason, "", *quads, graphs))

    def write_record(self, record: Record) -> int:
        """Write a change as :meth:`write` does; its number and time are set here."""
        if not (record.key and record.who and record.why):
            raise UsageError("a change states its key, who makes it and why")
        with self._turn:
            self._settle()
            self._finish_earlier()
            if (known := self.journal.find(record.key)) is not None:
                return known
            record = replace(record, sequence=self.journal.sequence + 1, when=self._time())
            _rehearse(record)
            self.journal.append(record)
            with suppress(KnowledgeBaseError):
                self._apply(record)
            self._finish_earlier()
            return record.sequence

    def record_of(self, key: str, request: str) -> Record | None:
        """Return the record of a key, None before; KeyReuseError where another request made it."""
        if (number := self.journal.find(key)) is None:
            return None
        record = next(self.journal.records(after=number - 1))
        if record.request and record.request != request:
            raise KeyReuseError(record.when)
        return record

    def undo(self, sequence: int, *, agent: str, reason: str) -> int:
        """Undo journal record ``sequence`` by a new record, and return its number.

        What the record removed comes back and what it added goes; undone twice changes nothing.
        Raise UsageError for a number that the journal lacks, StaleError where a later record moved
        one of the same quads, since that one has to be undone before.
        """
        with self._turn:
            self._settle()
            records = self.journal.records(sequence - 1) if sequence > 0 else iter(())
            if (record := next(records, None)) is None:
                raise UsageError(
                    f"the journal has no record {sequence}; it has 1 to {self.journal.sequence}"
                )
            key = f"undo-{sequence}-{record.key}"
            if (known := self.journal.find(key)) is not None:
                return known
            quads = frozenset((*record.removed, *record.added))
            for later in records:
                if not quads.isdisjoint((*later.removed, *later.added)):
                    raise StaleError(
                        (f"record {sequence}",),
                        f"record {later.sequence} changed the same quads; undo that one first",
                    )
            change, graphs = (record.removed, record.added), record.graphs[::-1]
            return self.write(*change, key=key, agent=agent, reason=reason, graphs=graphs)

    def erase(self, agent: str, reason: str) -> int:
        """Erase from the journal what the changes by ``agent`` for ``reason`` removed.

        Return how many records had any of it. What the store has regained stays, and what it had
        before any record, since a build would bring it back.
        """
        with self._turn:
            self._settle()
            records = self.journal.records
            quads = {
                quad
                for record in records()
                if (record.who, record.why) == (agent, reason)
                for quad in record.removed
            }
            came = set[Quad]()
            for record in records() if quads else ():
                quads.difference_update(quad for quad in record.removed if quad not in came)
                came.update(quads.intersection(record.added))
            quads = {
                quad
                for quad in quads & came
                if quad not in self.store.match(None, quad.predicate, quad.object, None)
            }
            for computed in self.journal.path.parent.glob("*.cache"):  # may hold some of it
                computed.unlink()
            return self.journal.erase(quads) if quads else 0

    def load(
        self, add: Iterable[Quad], *, key: str, agent: str, reason: str, lines: Iterable[str] = ()
    ) -> int:
        """Add much as one change; it is in the journal on return, in the store a little later.

        ``lines`` are further quads, in N-Quads as ``canonical`` writes terms, no blank nodes. The
        store follows in a thread of its own, in order, with as many changes at a time as wait;
        :meth:`write`, :meth:`wait` and :meth:`close` wait for it. Few quads are written at once.
        """
        added, text = tuple(add), "".join(lines).encode()
        quads = n_quads(added)
        blank = b" _:" in quads or b"\n_:" in quads or quads[:2] == b"_:"
        if blank or len(added) + text.count(b"\n") < _BULK:
            return self.write((*added, *parse_n_quads(text)), key=key, agent=agent, reason=reason)
        with self._turn:
            if (known := self.journal.find(key)) is not None:
                return known
            if self._loader.is_idle:
                self._finish_earlier()
            number = self.journal.sequence + 1
            record = Record(number, key, agent, reason, self._time(), (), ())
            written = quads + text
            _check_escaped(quads, added)
            if b"\\" in text:
                _check_escaped(text)
            self.journal.append(record, written)
            if not self._loader.submit(record.sequence, written):
                self._settle()
            return record.sequence

    def wait(self, through: int | None = None) -> None:
        """Wait until the store holds the changes up to number ``through``, or all changes."""
        with self._turn:
            self._settle(through)
            if through is None:
                self._finish_earlier()

    def close(self) -> None:
        """Release store, journal and lock; twice does no harm."""
        with self._turn, self._changing:
            with suppress(KnowledgeBaseError):  # what the store did not take is taken at opening
                self._settle()
            self._loader.close()
            self.store.close()
            self.journal.close()
            if self._generation is not None:
                with suppress(OSError, ValueError):  # a scrub names what is wrong
                    note_tables(self._generation, self._earlier)
                self._generation = None
            if self._lock >= 0:
                os.close(self._lock)
                self._lock = -1

    def _time(self) -> str:
        return self._now().isoformat(timespec="milliseconds")

    def _load(self, sequence: int, data: bytes) -> None:
        self.store.load_n_quads(data)
        self.store.change((_note(sequence),))
        self._applied = sequence

    def _settle(self, through: int | None = None) -> None:
        """Wait for changes that are on their way to the store, and repair them where one failed."""
        if not self._loader.wait(through):
            self._finish_earlier()

    def _finish_earlier(self) -> None:
        """Bring the store up to the journal if it refused a change, as on a full disk.

        After that Oxigraph writes only when reopened, which works only once no process holds the
        old store, so not while its error is being handled.
        """
        if self._applied < self.journal.sequence:
            with self._changing:
                self.store.reopen()
                self._catch_up()

    def _catch_up(self) -> None:
        if self._applied > self.journal.sequence:
            raise KnowledgeBaseError(
                f"the store has change {self._applied}, but {self.journal.path} ends with "
                f"{self.journal.sequence}; restore the journal from a backup"
            )
        for record in self.journal.records(after=self._applied):
            self._apply(record)

    def _apply(self, record: Record) -> None:
        with self._changing:
            apply(self.store, record)
            self._applied = record.sequence
            self._unflushed += len(record.added) + len(record.removed)
            if self._unflushed >= UNFLUSHED:
                self.store.flush()
                self._unflushed = 0


def apply(store: WritableStore, record: Record) -> None:
    """Make a record's change, and note in the same transaction that it was made.

    A large change is made in parts, which bounds the memory; its note comes last, so one that was
    interrupted is repeated. What earlier releases noted of lexical forms is left out. Earlier
    notes go with the next change that removes something: one that only adds is much faster.
    """
    before = (
        tuple(store.match(JOURNAL, SHIYI.appliedThrough, None, JOURNAL)) if record.removed else ()
    )
    now = _note(record.sequence)
    quads = tuple(quad for quad in record.added if quad.graph_name != FORMER_NOTES)
    if not _is_large(record):
        store.change((*quads, now), (*record.removed, *before), record.graphs)
        return
    store.unload_quads(record.removed)
    for part in _parts(quads):
        store.change(part)
    store.change((now,), before, record.graphs)


def _is_large(record: Record) -> bool:
    return len(record.removed) + len(record.added) > UNFLUSHED


def _parts(quads: tuple[Quad, ...]) -> Iterator[tuple[Quad, ...]]:
    return (quads[at : at + UNFLUSHED] for at in range(0, len(quads), UNFLUSHED))


def _note(sequence: int) -> Quad:
    number = Literal(str(sequence), datatype=XSD_INTEGER)
    return Quad(JOURNAL, SHIYI.appliedThrough, number, JOURNAL)


def _rehearse(record: Record) -> None:
    """Raise UsageError for a record that could not be read back or applied."""
    try:
        for part in (*_parts(record.removed), *_parts(record.added)):
            if parse_n_quads(n_quads(part)) != part:
                raise UsageError("nothing was written, since a quad is not the same when read back")
        next(replace(record, removed=(), added=()).parts())
        if record.removed and not _is_large(record):  # such a change goes as text
            both = (*record.removed, *record.added)
            OxigraphStore.in_memory().change(both, both, record.graphs)
    except (SyntaxError, ValueError, RuntimeError) as fault:
        raise UsageError(
            f"nothing was written, since a quad has no N-Quads form: {fault}"
        ) from fault


def _check_escaped(data: bytes, added: tuple[Quad, ...] | None = None) -> None:
    """Read back the lines that were written with escapes; the others are what they say.

    They are the quads ``added``; without those, they must be written the same once more.
    """
    lines = data.splitlines(keepends=True)
    places = [at for at, line in enumerate(lines) if b"\\" in line]
    quads = parse_n_quads(b"".join(lines[at] for at in places))
    wrong = (
        n_quads(quads) != b"".join(lines[at] for at in places)
        if added is None
        else len(lines) != len(added) or quads != tuple(added[at] for at in places)
    )
    if wrong:
        raise UsageError("nothing was written, since a quad is not the same when read back")


_LOG: Final = logging.getLogger(__name__)
_FAULTS: Final = (
    ShiyiError, ArithmeticError, AttributeError, LookupError, OSError, RuntimeError, SyntaxError,
    TypeError, ValueError, sqlite3.Error,
)  # fmt: skip


@contextmanager
def guard_after_commit(kind: str, key: str) -> Iterator[None]:
    """Log and count a fault of what follows a change; the change itself stands."""
    try:
        yield
    except _FAULTS:
        LISTENER_FAULTS.labels(kind).inc()
        _LOG.exception("change %s is written, but not followed; restart the server", key)


def last_applied(store: QuadStore) -> int:
    """Return the number of the last change a store holds, 0 for none."""
    noted = [
        int(q.object.value)
        for q in store.match(JOURNAL, SHIYI.appliedThrough, None, JOURNAL)
        if isinstance(q.object, Literal)
    ]
    return max(noted, default=0)


def acquire_lock(kb: Path) -> int:
    """Lock ``kb`` against other writers, until the descriptor is closed or the process dies.

    The lock lies outside the store's folder, which may be renamed or deleted.
    """
    lock = os.open(kb / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        holder = os.read(lock, 32).decode("ascii", "replace").strip() or "unknown"
        os.close(lock)
        raise KnowledgeBaseError(
            f"process {holder} writes to {kb}; stop it and try again, or open for reading. A "
            "running `shiyi serve` takes reviews itself: at /curate, or by POST to /curate/review "
            "with a token of `shiyi token add NAME --scope review --person ACCOUNT` "
            "(docs/how-to/curation.md)"
        ) from None
    os.ftruncate(lock, 0)
    os.pwrite(lock, f"{os.getpid()}\n".encode(), 0)
    return lock


def remove_debris(folder: Path) -> int:
    """Delete what killed bulk loads and earlier openings left in a store's folder."""
    debris = [*folder.glob("bulk-*.sst"), *folder.glob("LOG.old.*")]
    for file in debris:
        file.unlink(missing_ok=True)
    return len(debris)
