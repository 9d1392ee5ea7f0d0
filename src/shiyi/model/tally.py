"""What happens in this process, counted by kind for whoever watches it; ``/metrics`` shows it."""

import threading
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

BOUNDS: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)  # seconds


@dataclass(slots=True)
class Times:
    """How many took up to each of ``BOUNDS``, and longer; and how many seconds all took."""

    within: list[int] = field(default_factory=lambda: [0] * (len(BOUNDS) + 1))
    seconds: float = 0.0

    def add(self, seconds: float) -> None:
        """Count one."""
        self.within[bisect_left(BOUNDS, seconds)] += 1
        self.seconds += seconds


class Tally:
    """Counts and times; names and kinds are of closed lists, so it stays small.

    >>> tally = Tally()
    >>> tally.add("worker_kills", "time")
    >>> tally.counts()
    {('worker_kills', 'time'): 1.0}
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts: defaultdict[tuple[str, str], float] = defaultdict(float)
        self._times: defaultdict[tuple[str, str], Times] = defaultdict(Times)

    def add(self, name: str, kind: str, amount: float = 1) -> None:
        """Count something of a kind that happened."""
        with self._lock:
            self._counts[name, kind] += amount

    def took(self, name: str, kind: str, seconds: float) -> None:
        """Count what something of a kind took."""
        with self._lock:
            self._times[name, kind].add(seconds)

    def counts(self) -> dict[tuple[str, str], float]:
        """Give what was counted, by name and kind."""
        with self._lock:
            return dict(self._counts)

    def times(self) -> Mapping[tuple[str, str], Times]:
        """Give what was timed, by name and kind."""
        with self._lock:
            return {key: Times([*of.within], of.seconds) for key, of in self._times.items()}


TALLY: Final = Tally()  # of this process
