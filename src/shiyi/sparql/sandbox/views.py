"""The public, full and RDF 1.1 views of a snapshot."""

import math
import threading
import time
from collections.abc import Callable, Iterable
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from itertools import takewhile
from typing import Final

from shiyi.errors import KnowledgeBaseError, QueryLimitError, QueryRefusedError
from shiyi.model.rdf import BlankNode, DefaultGraph, NamedNode, Quad, Subject, Triple
from shiyi.ontology.rdf11 import to_rdf11
from shiyi.sparql.base.journal import Record
from shiyi.sparql.base.knowledge_base import KnowledgeBase
from shiyi.sparql.sandbox.background import LOWEST, run_in_background
from shiyi.sparql.store.oxigraph import OxigraphStore
from shiyi.sparql.store.snapshots import Snapshot
from shiyi.sparql.store.visibility import quads_with_triple_terms, remove_restricted

_FOLLOWED: Final = 20_000  # nodes changed at once; above, lowering all is as fast
_SMALL: Final = 4 << 20  # bytes of a store that is lowered faster than a process starts
Graph = NamedNode | DefaultGraph


def lower_snapshot(snapshot: Snapshot, is_closed: Callable[[], bool] = lambda: False) -> None:
    """Write every statement of a snapshot with ``rdf:subject``, ``rdf:predicate``, ``rdf:object``.

    Nothing but triple terms is lost: a claim is the subject of the three in the place of
    ``rdf:reifies``, in the same graph. Raise QueryRefusedError where the snapshot is no copy,
    KnowledgeBaseError as soon as ``is_closed``.
    """
    if snapshot.is_original:
        raise QueryRefusedError(
            "the profile rdf11 cannot be asked: the folder of the knowledge base is read-only, so "
            "no copy in RDF 1.1 can be made"
        )

    def is_open(_: Quad) -> bool:
        return not is_closed()

    store = OxigraphStore.on_disk(snapshot.path)
    try:
        # an error must not keep an iterator of the store: it may end in its own thread alone
        quads = list(takewhile(is_open, quads_with_triple_terms(store)))
        store.load_quads(takewhile(is_open, to_rdf11(quads)))
        store.unload_quads(takewhile(is_open, quads))
        if is_closed():
            raise KnowledgeBaseError("the query pool is closed")
        store.flush()
    finally:
        store.close()


@dataclass(slots=True)
class SharedSnapshot:
    """A snapshot that several workers read; removed when the last lets go."""

    snapshot: Snapshot
    sequence: int
    made: float
    hides: bool = False  # whether something was taken out of it
    users: int = 1


class _Follower:
    """A lowered copy that follows the changes of a base from which nothing is hidden."""

    def __init__(self, copy: Snapshot, sequence: int) -> None:
        self.store, self.sequence = OxigraphStore.on_disk(copy.path), sequence
        self._copy = copy

    def follow(self, snapshot: SharedSnapshot, changes: Iterable[Record]) -> bool:
        """Make the changes up to what is ``snapshot``; False where they are too many.

        The statements of each changed node in each graph are lowered as they are now, since two
        statements may have the same lowered form.
        """
        places: set[tuple[Subject, Graph]] = set()
        for record in changes:
            nodes, old_nodes = record.graphs[1], record.graphs[0]
            self.store.change((), (), (old_nodes, nodes))
            for quad in (*record.removed, *record.added):
                node, place = quad.subject, quad.graph_name
                if not isinstance(node, Triple) and not isinstance(place, BlankNode):
                    places.add((node, place))
            if len(places) > _FOLLOWED:
                return False
        now = OxigraphStore.read_only(snapshot.snapshot.path)
        try:
            quads, removed_quads = list[Quad](), list[Quad]()
            for subject, place in places:
                new = set(to_rdf11(now.match(subject, None, None, place)))
                old = set(self.store.match(subject, None, None, place))
                quads += new - old
                removed_quads += old - new
        finally:
            now.close()
        self.store.change(quads, removed_quads)
        self.sequence = snapshot.sequence
        return True

    def close(self) -> None:
        """Remove the copy."""
        self.store.close()
        self._copy.remove()


class SnapshotViews:
    """The snapshots of one base, at most ``seconds`` behind it; made when first asked for.

    The one in RDF 1.1 is lowered once; after that it follows the journal, change by change.

    A ``shortcut`` may give a snapshot of some sequence number sooner than the base does.
    """

    def __init__(self, kb: KnowledgeBase, seconds: float, open_to_all: bool) -> None:
        self.shortcut: Callable[[int], Snapshot | None] = lambda sequence: None
        self._kb, self._seconds, self._open_to_all = kb, seconds, open_to_all
        self._turn, self._lowering = threading.Lock(), ThreadPoolExecutor(1, "shiyi-lower")
        self._closed, self._hurried = threading.Event(), threading.Event()
        self._current, self._expired = self._make(), False
        self._whole: SharedSnapshot | None = None
        self._lowered: dict[bool, SharedSnapshot] = {}  # of what all see, and of the whole
        self._follower: _Follower | None = None  # where all is seen by all

    def latest(self, whole: bool) -> SharedSnapshot:
        """Acquire a snapshot that is recent enough."""
        with self._turn:
            snapshot = self._current_for(whole)
            snapshot.users += 1
            return snapshot

    def rdf11(self, whole: bool, seconds: float) -> SharedSnapshot:
        """Acquire the same in RDF 1.1; other queries go on while that is made.

        QueryLimitError where it is not made in time; later requests find it.
        """
        with self._turn:
            snapshot = self._lowered_of(self._current_for(whole))
        if snapshot is not None:
            return snapshot
        self._hurried.set()
        future = self._lowering.submit(self._lower, whole)
        try:
            return future.result(seconds)
        except TimeoutError:
            future.add_done_callback(self._release_view)
            raise QueryLimitError(
                "busy", "the copy in RDF 1.1 is being made; ask again in a minute"
            ) from None

    def prepare(self) -> None:
        """Make the one in RDF 1.1 in a process of lowest priority, before anybody asks for it.

        A request that comes before it is made restarts it with its own priority.
        """
        with suppress(CancelledError, KnowledgeBaseError, QueryRefusedError):
            self.release(self._lowering.submit(self._lower, False, is_hurried=False).result())

    def _lowered_of(self, snapshot: SharedSnapshot) -> SharedSnapshot | None:
        known = self._lowered.get(snapshot is self._whole)
        if known is None or known.sequence != snapshot.sequence:
            return None
        known.users += 1
        return known

    def _lower(self, whole: bool, is_hurried: bool = True) -> SharedSnapshot:
        with self._turn:
            snapshot = self._current_for(whole)
            snapshot.users += 1
            every, known = snapshot is self._whole, self._lowered_of(snapshot)
        try:
            if known is None:
                known = self._follow_changes(snapshot) or self._make_rdf11(snapshot, is_hurried)
                known.users += 1
                with self._turn:
                    old, self._lowered[every] = self._lowered.get(every), known
                self.release(old)
            return known
        finally:
            self.release(snapshot)

    def _release_view(self, future: "Future[SharedSnapshot]") -> None:
        if not future.cancelled() and future.exception() is None:
            self.release(future.result())

    def level(self, whole: bool) -> tuple[int, bool]:
        """Describe what a query that begins now will see: the last change, and whether all."""
        with self._turn:
            snapshot = self._current_for(whole)
            return snapshot.sequence, snapshot is self._whole

    def expire(self) -> None:
        """Make the next query see all changes made so far.

        Takes no lock: the caller may hold that of the writer, for which a query waits.
        """
        self._expired = True

    def refresh(self) -> None:
        """Make what queries see from now on."""
        with self._turn:
            self._renew()

    def release(self, shared: SharedSnapshot | None) -> None:
        """Release a snapshot."""
        if shared is not None:
            with self._turn:
                self._drop(shared)

    def close(self) -> None:
        """Remove the snapshots without readers; a view in the making is given up."""
        self._closed.set()
        self._lowering.shutdown(cancel_futures=True)
        for snapshot in (self._current, self._whole, *self._lowered.values()):
            self.release(snapshot)
        if self._follower:
            self._follower.close()

    def _current_for(self, whole: bool) -> SharedSnapshot:
        """Return what a query sees; where nothing is hidden, all see one."""
        if self._expired:
            self._expired = False  # before a look at the base, so that no later change is missed
            self._current.made = -math.inf
        behind = self._kb.sequence != self._current.sequence
        if behind and time.monotonic() - self._current.made >= self._seconds:
            self._renew()
        if not (whole and self._current.hides):
            return self._current
        if self._whole is None or self._whole.sequence != self._current.sequence:
            old, self._whole = self._whole, self._make(whole=True)
            if old:
                self._drop(old)
        return self._whole

    def _renew(self) -> None:
        if self._kb.sequence != self._current.sequence:
            old, self._current = self._current, self._make()
            self._drop(old)

    def _make(self, whole: bool = False) -> SharedSnapshot:
        sequence = self._kb.sequence  # before the copy: it may hold more, never less
        snapshot = self.shortcut(sequence) or self._kb.take_snapshot()
        try:
            hides = remove_restricted(snapshot, whole, self._open_to_all)
        except BaseException:
            snapshot.remove()
            raise
        return SharedSnapshot(snapshot, sequence, time.monotonic(), hides)

    def _make_rdf11(self, snapshot: SharedSnapshot, is_hurried: bool) -> SharedSnapshot:
        home = self._kb.path / "snapshots"
        copy = snapshot.snapshot.copy_to(home)
        try:
            size = sum(path.stat().st_size for path in copy.path.iterdir())
            if copy.is_original or (is_hurried and size < _SMALL):
                lower_snapshot(copy, self._closed.is_set)
            elif status := self._lower_beside(copy, is_hurried):
                raise KnowledgeBaseError(f"no copy in RDF 1.1 was made: its process gave {status}")
            if self._kb.writes and not (snapshot.hides or self._current.hides):
                if self._follower:
                    self._follower.close()
                self._follower = _Follower(copy.copy_to(home), snapshot.sequence)
        except BaseException:
            copy.remove()
            raise
        return SharedSnapshot(copy, snapshot.sequence, snapshot.made)

    def _lower_beside(self, copy: Snapshot, is_hurried: bool) -> int:
        """Lower a copy in a process of its own, so that requests go on; return its status."""

        def is_closed() -> bool:
            return self._closed.is_set() or (not is_hurried and self._hurried.is_set())

        priority = 0 if is_hurried else LOWEST
        return run_in_background(lower_snapshot, copy, is_closed=is_closed, priority=priority)

    def _follow_changes(self, seen: SharedSnapshot) -> SharedSnapshot | None:
        """Return the earlier view with what changed since, None if it must be rebuilt."""
        follower = self._follower
        if follower is None or seen.hides or seen is self._whole:
            return None
        records = self._kb.writer.journal.records(after=follower.sequence)
        changes = takewhile(lambda record: record.sequence <= seen.sequence, records)
        if not follower.follow(seen, changes):
            self._follower = None
            follower.close()
            return None
        snapshot = Snapshot.of_store(follower.store, self._kb.path / "snapshots")
        return SharedSnapshot(snapshot, seen.sequence, seen.made)

    def _drop(self, shared: SharedSnapshot) -> None:
        shared.users -= 1
        if shared.users == 0:
            shared.snapshot.remove()
