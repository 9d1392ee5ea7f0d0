"""Clients that send requests at a fixed rate whether or not the server keeps up, and time the answers.

One process and one thread that share the cores with the server, so it does little for a request: no
stream, no task, no parsing but of the status and the length.
"""

import asyncio
import re
import statistics
import time
from collections import Counter, deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final, cast

from typing_extensions import override

Draw = Callable[[], tuple[str, str]]
_FRIENDS, _ENEMY = "127.0.2.{}", "127.0.3.1"
_FRIENDS_COUNT: Final = 40  # addresses, of which each sends less than nginx lets one send
BESIDE: Final = "good beside hostile"  # from the address of the hostile
POSTED: Final = "query in RDF 1.1"  # by POST, which a proxy gives to the process that writes
SHED, _EXPECTED = frozenset({429, 503}), frozenset({504, 507})  # the latter to bombs
_NONE: Final = SHED | {0}  # no answer
_PATIENCE: Final = 30.0  # seconds that a client waits
_STEP: Final = 0.002  # seconds that the clients rest at least, where nothing is due
_MOST: Final = 1000  # connections at once
_LENGTH: Final = re.compile(rb"\r\ncontent-length: *([0-9]+)", re.IGNORECASE)
_CLOSES: Final = re.compile(rb"\r\nconnection: *close", re.IGNORECASE)


@dataclass(slots=True)
class LoadStatistics:
    """Times in milliseconds and statuses, by kind."""

    times: dict[str, list[float]] = field(default_factory=dict)
    statuses: dict[str, Counter[int]] = field(default_factory=dict)
    until: float = 0.0  # when sending ends, on the clock of performance
    in_time: int = 0  # answers that came before that

    def add(self, kind: str, took: float, status: int) -> None:
        """Note one answer; 0 is none at all."""
        self.times.setdefault(kind, []).append(took)
        self.statuses.setdefault(kind, Counter())[status] += 1

    def merge(self, other: "LoadStatistics") -> None:
        """Accept what another saw."""
        for kind, times in other.times.items():
            self.times.setdefault(kind, []).extend(times)
            self.statuses.setdefault(kind, Counter()).update(other.statuses[kind])
        self.in_time += other.in_time

    def figures(self) -> dict[str, Any]:
        """Return percentiles by kind, and counts by status."""
        good = [each for kind, times in self.times.items() if kind != "hostile" for each in times]
        fields: dict[str, Any] = {}
        for kind, times in sorted({**self.times, **({"all good": good} if good else {})}.items()):
            cuts = (
                statistics.quantiles(times, n=1000, method="inclusive")
                if len(times) > 1
                else times * 999
            )
            fields[kind] = {
                "n": len(times),
                "p50_ms": round(cuts[499], 1),
                "p95_ms": round(cuts[949], 1),
                "p99_ms": round(cuts[989], 1),
                "p999_ms": round(cuts[998], 1),
            }
            if kind in self.statuses:
                lost = sum(self.statuses[kind][status] for status in _NONE)
                fields[kind]["answered"] = round(1 - lost / len(times), 4)
        every = sum(self.statuses.values(), Counter[int]())
        kinds = self.statuses.items()
        fields["statuses"] = {str(status): n for status, n in sorted(every.items())}
        fields["answered"] = sum(every[status] for status in every if status and status not in SHED)
        fields["shed"] = sum(each[status] for _, each in kinds for status in SHED)
        fields["faults"] = sum(
            n
            for kind, each in kinds
            for status, n in each.items()
            if status == 0
            or (
                status >= 500
                and status not in SHED
                and (kind != "hostile" or status not in _EXPECTED)
            )
        )
        return fields


@dataclass(slots=True)
class _Request:
    """One request under way."""

    kind: str
    due: float
    seen: LoadStatistics


class _Line(asyncio.Protocol):
    """A connection that has one request under way, or none."""

    def __init__(self, crowd: "ConnectionPool", hostile: bool) -> None:
        self.hostile, self.lives = hostile, True
        self.asked: _Request | None = None
        self._crowd, self._occupied = crowd, b""
        self._left = -1  # bytes of the body; -1: the head is not whole
        self._status, self._closes = 0, False

    @override
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    def send(self, message: bytes, asked: _Request) -> None:
        """Begin a request."""
        self.asked = asked
        self._transport.write(message)

    def drop(self) -> None:
        """End the connection; a request under way has no answer."""
        self._transport.abort()

    @override
    def data_received(self, data: bytes) -> None:
        if self._left >= 0:
            self._left -= len(data)
            if not self._left:
                self._finish_request()
            return
        self._occupied += data
        end = self._occupied.find(b"\r\n\r\n")
        if end < 0:
            return
        head = self._occupied[: end + 2]
        self._status, self._closes = int(head[9:12]), bool(_CLOSES.search(head))
        if length := _LENGTH.search(head):
            self._left = int(length[1]) - (len(self._occupied) - end - 4)
            self._occupied = b""
            if not self._left:
                self._finish_request()
        elif _whole(self._occupied, end + 4):
            self._finish_request()

    def _finish_request(self) -> None:
        request, self.asked = self.asked, None
        self._occupied, self._left = b"", -1
        if request:
            self._crowd.answered(request, self._status)
        if self._closes:
            self.lives = False
            self._transport.close()
        else:
            self._crowd.free(self)

    @override
    def connection_lost(self, fault: Exception | None) -> None:
        self.lives = False
        if self.asked:
            self._crowd.answered(self.asked, 0)
            self.asked = None


def _whole(body: bytes, at: int) -> bool:
    """Return whether an answer in chunks has come to its end."""
    while (end := body.find(b"\r\n", at)) >= 0:
        if not (size := int(body[at:end], 16)):
            return len(body) >= end + 4
        at = end + size + 4
    return False


class ConnectionPool:
    """Connections that are stored; as many as there are requests under way, and one of each address."""

    def __init__(self, port: int, draw: Draw) -> None:
        self._port, self._draw, self._number = port, draw, 0
        self._idle: dict[bool, deque[_Line]] = {False: deque(), True: deque()}
        self._lines: set[_Line] = set()
        self._under_way = 0
        self._opening: set[asyncio.Task[None]] = set()

    async def run(self, rate: float, seconds: float) -> LoadStatistics:
        """Send ``rate`` requests a second, evenly, and wait for the answers; times count from when each was due."""
        start = time.perf_counter()
        seen_statistics = LoadStatistics(until=start + seconds)
        for number in range(int(rate * seconds)):
            due = start + number / rate
            if (early := due - time.perf_counter()) > 0:
                await asyncio.sleep(
                    max(early, _STEP)
                )  # what is due in the meantime goes together, late
            elif not number % 50:
                await asyncio.sleep(0)  # it runs late: let answers be read
            self._ask(due, seen_statistics)
            if not number % 1000:
                self._drop_late()
        until = time.perf_counter() + _PATIENCE
        while self._under_way and time.perf_counter() < until:
            await asyncio.sleep(0.005)
        self._drop_late()
        await asyncio.sleep(0.01)  # what was dropped is noted
        return seen_statistics

    def close(self) -> None:
        """Release all connections."""
        for line in self._lines:
            line.drop()

    def answered(self, asked: _Request, status: int) -> None:
        """Note an answer."""
        self._under_way -= 1
        now, seen_statistics = time.perf_counter(), asked.seen
        seen_statistics.in_time += now <= seen_statistics.until and status not in _NONE
        seen_statistics.add(asked.kind, (now - asked.due) * 1000, status)

    def free(self, line: _Line) -> None:
        """Release a connection for the next request."""
        self._idle[line.hostile].append(line)

    def _ask(self, due: float, seen: LoadStatistics) -> None:
        kind, path = self._draw()
        if self._under_way >= _MOST:
            seen.add(kind, _PATIENCE * 1000, 0)
            return
        self._under_way += 1
        accept = "text/html" if kind == "page" else "*/*"
        method, body, sent = "GET", "", ""
        if kind == POSTED:
            path, _, body = path.partition("?")
            method = "POST"
            sent = "Content-Type: application/x-www-form-urlencoded\r\n"
            sent += f"Content-Length: {len(body)}\r\n"
        message = (
            f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nAccept: {accept}\r\n"
            f"{sent}Accept-Encoding: gzip, zstd\r\n\r\n{body}"
        ).encode()
        request, hostile = _Request(kind, due, seen), kind in {"hostile", BESIDE}
        idle = self._idle[hostile]
        while idle and (hostile or len(self._lines) >= _FRIENDS_COUNT):
            if (line := idle.popleft()).lives:
                line.send(message, request)
                return
        task = asyncio.get_running_loop().create_task(self._on_another(message, request, hostile))
        self._opening.add(task)
        task.add_done_callback(self._opening.discard)

    async def _on_another(self, message: bytes, asked: _Request, hostile: bool) -> None:
        self._number += 1
        source = _ENEMY if hostile else _FRIENDS.format(1 + self._number % _FRIENDS_COUNT)
        with suppress(OSError, TimeoutError):
            async with asyncio.timeout(_PATIENCE):
                _, line = await asyncio.get_running_loop().create_connection(
                    lambda: _Line(self, hostile), "127.0.0.1", self._port, local_addr=(source, 0)
                )
            self._lines.add(line)
            line.send(message, asked)
            return
        self.answered(asked, 0)

    def _drop_late(self) -> None:
        """End what has waited for too long, and forget what has ended."""
        now = time.perf_counter()
        for line in [*self._lines]:
            if line.asked and now - line.asked.due > _PATIENCE:
                line.drop()
            elif not line.lives:
                self._lines.discard(line)
