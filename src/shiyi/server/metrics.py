"""Counters and times of this process, in the text form Prometheus reads."""

import threading
from bisect import bisect_left
from collections import Counter, defaultdict
from pathlib import Path
from typing import Final

BUCKETS: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
_PAGE_BYTES: Final = 4096
_METHODS: Final = frozenset({"GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH"})


class Metrics:
    """Requests by route, method and status, and how long they took."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._requests: Counter[tuple[str, str, int]] = Counter()
        self._buckets: dict[str, list[int]] = defaultdict(lambda: [0] * (len(BUCKETS) + 1))
        self._seconds: dict[str, float] = defaultdict(float)
        self._events: Counter[tuple[str, str]] = Counter()

    def request(self, route: str, method: str, status: int, seconds: float) -> None:
        """Count one request; a method that somebody made up is ``other``."""
        method = method if method in _METHODS else "other"
        with self._lock:
            self._requests[route, method, status] += 1
            self._buckets[route][bisect_left(BUCKETS, seconds)] += 1
            self._seconds[route] += seconds

    def event(self, name: str, label: str) -> None:
        """Count something else that happened, such as an answer by its method."""
        with self._lock:
            self._events[name, label] += 1

    def text(self) -> str:
        """Give the Prometheus text exposition."""
        with self._lock:
            lines = [*self._request_lines(), *self._time_lines(), *self._event_lines()]
        return "\n".join([*lines, *_memory_lines(), ""])

    def _request_lines(self) -> list[str]:
        lines = [
            "# HELP shiyi_requests_total Requests served.",
            "# TYPE shiyi_requests_total counter",
        ]
        for (route, method, status), count in sorted(self._requests.items()):
            labels = f'route="{route}",method="{method}",status="{status}"'
            lines.append(f"shiyi_requests_total{{{labels}}} {count}")
        return lines

    def _time_lines(self) -> list[str]:
        name = "shiyi_request_seconds"
        lines = [f"# HELP {name} Time to make a response.", f"# TYPE {name} histogram"]
        for route, counts in sorted(self._buckets.items()):
            total = 0
            for bound, count in zip((*BUCKETS, "+Inf"), counts, strict=True):
                total += count
                lines.append(f'{name}_bucket{{route="{route}",le="{bound}"}} {total}')
            lines.append(f'{name}_sum{{route="{route}"}} {self._seconds[route]:.6f}')
            lines.append(f'{name}_count{{route="{route}"}} {total}')
        return lines

    def _event_lines(self) -> list[str]:
        lines, last = [], ""
        for (name, label), count in sorted(self._events.items()):
            if name != last:
                lines.append(f"# TYPE shiyi_{name}_total counter")
                last = name
            lines.append(f'shiyi_{name}_total{{kind="{label}"}} {count}')
        return lines


def _memory_lines() -> list[str]:
    statm = Path("/proc/self/statm")
    if not statm.exists():  # only Linux tells
        return []
    resident = int(statm.read_text(encoding="ascii").split()[1]) * _PAGE_BYTES
    name = "process_resident_memory_bytes"
    return [f"# TYPE {name} gauge", f"{name} {resident}"]
