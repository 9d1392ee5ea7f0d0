"""Counters and times of this process, in the text form Prometheus reads."""

import os
import threading
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Final

from shiyi.model.tally import BOUNDS, TALLY, Tally, Times

_PAGE_BYTES: Final = 4096
_METHODS: Final = frozenset({"GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH"})
_HELP: Final = {
    "answers": "Answers made, by method; those that abstained apart.",
    "answer_seconds": "Time of each stage of an answer.",
    "cache_hits": "Answered from what was kept.",
    "cache_misses": "Looked for among what is kept, and made anew.",
    "model_calls": "Calls of language models, by how they ended.",
    "model_cost": "Price of the tokens, by models.price_prompt and models.price_completion.",
    "model_seconds": "Time of calls of language models, by how they ended.",
    "model_tokens": "Tokens that language models read and wrote, as they say themselves.",
    "request_seconds": "Time to make a response.",
    "requests": "Requests served.",
    "shed": "Requests told to come again, by why.",
    "slow": "Requests and queries that took longer than server.slow.",
    "sparql": "Free queries and updates, by form.",
    "worker_kills": "Query workers that were ended or died, by why.",
}


class Metrics:
    """Requests by route, method and status, and how long they took, with what else was counted."""

    def __init__(self, tally: Tally = TALLY) -> None:
        self._lock, self._tally, self._own = threading.Lock(), tally, Tally()
        self._requests: Counter[tuple[str, str, int]] = Counter()

    def request(self, route: str, method: str, status: int, seconds: float) -> None:
        """Count one request; a method that somebody made up is ``other``."""
        method = method if method in _METHODS else "other"
        with self._lock:
            self._requests[route, method, status] += 1
        self._own.took("request_seconds", route, seconds)

    def event(self, name: str, label: str) -> None:
        """Count something else that happened, such as a request that was shed."""
        self._own.add(name, label)

    def text(self) -> str:
        """Give the Prometheus text exposition."""
        counts = self._own.counts()
        for key, count in self._tally.counts().items():  # some, as answers, are counted by both
            counts[key] = counts.get(key, 0) + count
        return "\n".join([
            *self._request_lines(), *_time_lines(self._own.times(), "route"),
            *_time_lines(self._tally.times(), "kind"), *_count_lines(counts), *_process_lines(), "",
        ])  # fmt: skip

    def _request_lines(self) -> Iterator[str]:
        with self._lock:
            requests = sorted(self._requests.items())
        yield from _head("requests", "_total", "counter")
        for (route, method, status), count in requests:
            labels = f'route="{route}",method="{method}",status="{status}"'
            yield f"shiyi_requests_total{{{labels}}} {count}"


def _head(name: str, suffix: str, kind: str) -> Iterator[str]:
    yield f"# HELP shiyi_{name}{suffix} {_HELP[name]}"
    yield f"# TYPE shiyi_{name}{suffix} {kind}"


def _by_name(keys: Iterable[tuple[str, str]]) -> Iterator[tuple[str, Iterator[tuple[str, str]]]]:
    return groupby(sorted(keys), itemgetter(0))


def _count_lines(counts: Mapping[tuple[str, str], float]) -> Iterator[str]:
    for name, keys in _by_name(counts):
        yield from _head(name, "_total", "counter")
        for key in keys:
            yield f'shiyi_{name}_total{{kind="{key[1]}"}} {counts[key]:.12g}'


def _time_lines(times: Mapping[tuple[str, str], Times], label: str) -> Iterator[str]:
    for name, keys in _by_name(times):
        yield from _head(name, "", "histogram")
        for key in keys:
            of, total = f'{label}="{key[1]}"', 0
            for bound, count in zip((*BOUNDS, "+Inf"), times[key].within, strict=True):
                total += count
                yield f'shiyi_{name}_bucket{{{of},le="{bound}"}} {total}'
            yield f"shiyi_{name}_sum{{{of}}} {times[key].seconds:.6f}"
            yield f"shiyi_{name}_count{{{of}}} {total}"


def _process_lines() -> Iterator[str]:
    process = Path("/proc/self")
    if not process.exists():  # only Linux tells
        return
    statm = (process / "statm").read_text(encoding="ascii").split()
    for name, value in (
        ("process_resident_memory_bytes", int(statm[1]) * _PAGE_BYTES),
        ("process_open_fds", len(os.listdir(process / "fd"))),  # noqa: PTH208 - no paths are wanted
    ):
        yield f"# TYPE {name} gauge"
        yield f"{name} {value}"
