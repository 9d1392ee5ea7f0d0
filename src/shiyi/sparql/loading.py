"""Changes on their way from the journal to the store, in a thread of their own."""

import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import accumulate

from shiyi.errors import KnowledgeBaseError

_MOST = 96 << 20  # bytes that wait at most, and that go to the store at once (measured)


class Loader:
    """Gives changes to a store in their order; those that wait go together, as one.

    ``load`` takes the number of the last of them and the N-Quads of all. Once it failed nothing
    more is taken until :meth:`settle` has said so: what was on its way stands in the journal.
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
    def idle(self) -> bool:
        """Tell whether nothing is on its way, and nothing failed on it."""
        return not (self._busy or self._failed)

    def give(self, sequence: int, written: bytes) -> bool:
        """Take a change, once there is room; False where an earlier one failed."""
        with self._moved:
            self._moved.wait_for(lambda: self._failed or self._size() < _MOST)
            if self._failed:
                return False
            self._waiting.append((sequence, written))
            if not self._busy:
                self._busy = True
                self._running = self._pool.submit(self._run)
        return True

    def settle(self, through: int | None = None) -> bool:
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
        """End the thread, once it has done what it was given."""
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
