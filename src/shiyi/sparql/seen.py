"""Which snapshot a free query sees: what all may, the whole, or either as RDF 1.1 says it."""

import math
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from shiyi.sparql.knowledge_base import KnowledgeBase
from shiyi.sparql.lowered_view import lower
from shiyi.sparql.snapshots import Snapshot
from shiyi.sparql.withheld import hide


@dataclass(slots=True)
class Shared:
    """A snapshot that several workers read; removed when the last lets go."""

    snapshot: Snapshot
    sequence: int
    made: float
    hides: bool = False  # whether something was taken out of it
    users: int = 1


class Seen:
    """The snapshots of one base, at most ``seconds`` behind it; made when first asked for.

    A ``shortcut`` may give a snapshot of some sequence number sooner than the base does.
    """

    def __init__(self, kb: KnowledgeBase, seconds: float, open_to_all: bool) -> None:
        self.shortcut: Callable[[int], Snapshot | None] = lambda sequence: None
        self._kb, self._seconds, self._open_to_all = kb, seconds, open_to_all
        self._turn, self._lowering = threading.Lock(), threading.Lock()
        self._current = self._made()
        self._whole: Shared | None = None
        self._lowered: dict[bool, Shared] = {}  # of what all see, and of the whole

    def latest(self, whole: bool) -> Shared:
        """Take hold of a snapshot that is recent enough."""
        with self._turn:
            shared = self._of(whole)
            shared.users += 1
            return shared

    def lowered(self, whole: bool) -> Shared:
        """Take hold of the same in RDF 1.1; other queries go on while that is made."""
        with self._lowering:
            seen = self.latest(whole)
            try:
                every = seen is self._whole
                known = self._lowered.get(every)
                if known is None or known.sequence != seen.sequence:
                    made = self._lowered_copy(seen)
                    self.release(known)
                    self._lowered[every] = known = made
                with self._turn:
                    known.users += 1
                return known
            finally:
                self.release(seen)

    def level(self, whole: bool) -> tuple[int, bool]:
        """Tell of what a query that begins now will see: the last change, and whether all."""
        with self._turn:
            shared = self._of(whole)
            return shared.sequence, shared is self._whole

    def expire(self) -> None:
        """Let the next query see all changes made so far."""
        with self._turn:
            self._current.made = -math.inf

    def refresh(self) -> None:
        """Make what queries see from now on."""
        with self._turn:
            self._renew()

    def release(self, shared: Shared | None) -> None:
        """Let go of a snapshot."""
        if shared is not None:
            with self._turn:
                self._drop(shared)

    def close(self) -> None:
        """Remove the snapshots that nobody reads."""
        for shared in (self._current, self._whole, *self._lowered.values()):
            self.release(shared)

    def _of(self, whole: bool) -> Shared:
        """Give what a query sees; where nothing is hidden, all see one."""
        behind = self._kb.sequence != self._current.sequence
        if behind and time.monotonic() - self._current.made >= self._seconds:
            self._renew()
        if not (whole and self._current.hides):
            return self._current
        if self._whole is None or self._whole.sequence != self._current.sequence:
            old, self._whole = self._whole, self._made(whole=True)
            if old:
                self._drop(old)
        return self._whole

    def _renew(self) -> None:
        if self._kb.sequence != self._current.sequence:
            old, self._current = self._current, self._made()
            self._drop(old)

    def _made(self, whole: bool = False) -> Shared:
        sequence = self._kb.sequence  # before the copy: it may hold more, never less
        snapshot = self.shortcut(sequence) or self._kb.take_snapshot()
        try:
            hides = hide(snapshot, whole, self._open_to_all)
        except BaseException:
            snapshot.remove()
            raise
        return Shared(snapshot, sequence, time.monotonic(), hides)

    def _lowered_copy(self, seen: Shared) -> Shared:
        copy = seen.snapshot.copied(self._kb.path / "snapshots")
        try:
            lower(copy)
        except BaseException:
            copy.remove()
            raise
        return Shared(copy, seen.sequence, seen.made)

    def _drop(self, shared: Shared) -> None:
        shared.users -= 1
        if shared.users == 0:
            shared.snapshot.remove()
