"""Histories of concurrent updates and reads over HTTP, while the server is paused, ended and killed.

Values are added to a set, each once, and read as a whole. The histories of such a set can be
checked without a search: reads are ordered by inclusion, and additions stand between them.
"""

import json
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from http.client import HTTPConnection, HTTPException
from itertools import pairwise
from pathlib import Path
from typing import Any
from urllib.parse import quote

from tests.support import bases
from tests.support.processes import free_port

from shiyi.server.site.tokens import Tokens
from shiyi.sparql.base.knowledge_base import build_generation

_READ = "/sparql?query=" + quote("SELECT ?n { GRAPH <urn:set> { <urn:s> <urn:has> ?n } }")
_UNKNOWN, _REFUSED = 0, -1  # instead of a status: no whole answer came, or nobody listened
_NOTHING = (_REFUSED, 503)  # of an update that was not made
_EVENTS = (signal.SIGSTOP, signal.SIGHUP, signal.SIGTERM, signal.SIGKILL)


@dataclass(frozen=True, slots=True)
class Step:
    """One addition or read: when it began and ended, and whether its end is known."""

    began: float
    ended: float
    added: int | None = None
    seen: frozenset[int] = frozenset()
    known: bool = True  # False: nobody was answered, it may have been done or not


def faults_of(history: Sequence[Step]) -> Iterator[str]:
    """Yield why a history of a set is not linearizable."""
    adds = {step.added: step for step in history if step.added is not None}
    reads = sorted(
        (step for step in history if step.added is None), key=lambda each: len(each.seen)
    )
    for read in reads:
        yield from _faults_of_read(read, adds)
    for less, more in pairwise(reads):
        if not less.seen <= more.seen:
            yield f"two reads differ by {sorted(less.seen - more.seen)[:5]} both ways"
        elif less.seen != more.seen and more.ended < less.began:
            yield f"{sorted(more.seen - less.seen)[:5]} went from one read to the next"


def _faults_of_read(read: Step, adds: Mapping[int, Step]) -> Iterator[str]:
    for value in read.seen:
        if value not in adds or adds[value].began > read.ended:
            yield f"{value} was read before it was added"
    last = max((adds[value].began for value in read.seen if value in adds), default=0.0)
    for other, add in adds.items():
        if add.known and add.ended < max(read.began, last) and other not in read.seen:
            yield f"{other} was added before a read, or before what it has, but is not in it"


@dataclass(slots=True)
class Histories:
    """How many steps were checked, what happened to the server, and what was wrong."""

    added: int = 0
    unanswered: int = 0
    reads: int = 0
    events: dict[str, int] = field(default_factory=dict)
    lost: int = 0
    faults: int = 0
    notes: list[str] = field(default_factory=list)

    def to_json(self) -> dict[str, Any]:
        """Return the counts as a JSON object."""
        return asdict(self)


class _Server:
    """`shiyi serve` over one base, at one port, started again after each end."""

    def __init__(self, kb: Path) -> None:
        self.kb, self.port = kb, free_port()
        # under nohup it is ignored, which a server would inherit
        signal.signal(signal.SIGHUP, lambda *_: None)
        self._process = self._start()

    def _start(self) -> subprocess.Popen[bytes]:
        words = ["-m", "shiyi", "--kb", str(self.kb), "serve", "--port", str(self.port)]
        return subprocess.Popen(  # noqa: S603 - our own interpreter
            [sys.executable, *words], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )

    def wait(self) -> None:
        """Wait until the server answers."""
        until = time.monotonic() + 120
        while True:
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
                return
            except OSError:
                assert time.monotonic() < until, "the server does not start again"
                time.sleep(0.05)

    def strike(self, event: signal.Signals, seconds: float) -> None:
        """Pause the server for some seconds, or end it and start it again."""
        os.kill(self._process.pid, event)
        if event is signal.SIGSTOP:
            time.sleep(seconds)
            os.kill(self._process.pid, signal.SIGCONT)
            return
        self._process.wait(60)
        self._process = self._start()
        self.wait()

    def close(self) -> None:
        """End the server."""
        self._process.terminate()
        self._process.wait(60)


class _Client:
    """Adds and reads until the end."""

    def __init__(self, port: int, token: str, number: int, seed: int) -> None:
        self.steps: list[Step] = []
        self._port, self._token, self._number = port, token, number
        self._chance = random.Random(f"{seed} client {number}")  # noqa: S311 - choices, no secrets

    def run(self, end: threading.Event) -> None:
        """Add and read by turns of chance."""
        count = 0
        while not end.is_set():
            if self._chance.random() < 0.5:
                count += 1
                self.add(self._number * 1_000_000 + count)
            else:
                self.read()

    def add(self, value: int) -> None:
        """Add a value; an answer that does not come leaves open whether it was added."""
        text = f"INSERT DATA {{ GRAPH <urn:set> {{ <urn:s> <urn:has> {value} }} }}"
        began = time.monotonic()
        status, _ = self._ask("POST", "/sparql", text.encode())
        assert status in {204, _UNKNOWN, *_NOTHING}, f"an update had the status {status}"
        if status not in _NOTHING:
            self.steps.append(Step(began, time.monotonic(), added=value, known=status == 204))

    def read(self) -> None:
        """Read all values."""
        began = time.monotonic()
        status, body = self._ask("GET", _READ)
        if status == 200:
            rows = json.loads(body)["results"]["bindings"]
            seen = frozenset(int(row["n"]["value"]) for row in rows)
            self.steps.append(Step(began, time.monotonic(), seen=seen))

    def _ask(self, method: str, path: str, body: bytes | None = None) -> tuple[int, bytes]:
        line = HTTPConnection("127.0.0.1", self._port, timeout=60)
        headers = {"Accept": "application/sparql-results+json"}
        if body is not None:
            headers |= {"Content-Type": "application/sparql-update"}
            headers |= {"Authorization": f"Bearer {self._token}"}
        try:
            line.request(method, path, body, headers)
            reply = line.getresponse()
            return reply.status, reply.read()
        except ConnectionRefusedError:
            time.sleep(0.05)
            return _REFUSED, b""
        except (OSError, HTTPException):
            return _UNKNOWN, b""
        finally:
            line.close()


def histories(clients: int, events: int, seed: int) -> Histories:
    """Run clients that add and read while the server is struck; check what they saw."""
    chance, row, end = random.Random(f"{seed} events"), Histories(), threading.Event()  # noqa: S311
    home = Path(tempfile.mkdtemp(prefix="soak-histories-"))
    try:
        kb = home / "kb"
        quads = list(bases.kitchen_quads())
        build_generation(kb, quads, {"quads": len(quads)})
        token = Tokens(kb).add("writer", "write", 1)
        server = _Server(kb)
        server.wait()
        crowd = [_Client(server.port, token, number + 1, seed) for number in range(clients)]
        threads = [threading.Thread(target=each.run, args=(end,)) for each in crowd]
        for thread in threads:
            thread.start()
        try:
            for number in range(events):
                time.sleep(chance.uniform(0.2, 1.5))
                event = _EVENTS[number % len(_EVENTS)]
                row.events[event.name] = row.events.get(event.name, 0) + 1
                server.strike(event, chance.uniform(0.2, 1.5))
            time.sleep(1.0)
        finally:
            end.set()
            for thread in threads:
                thread.join()
            last = _Client(server.port, token, 0, seed)
            last.read()
            server.close()
        history = [step for each in (*crowd, last) for step in each.steps]
    finally:
        shutil.rmtree(home, ignore_errors=True)
    row.notes = list(faults_of(history))[:20]
    row.faults = len(row.notes)
    row.added = sum(step.known for step in history if step.added is not None)
    row.unanswered = sum(not step.known for step in history)
    row.reads = sum(step.added is None for step in history)
    [final] = last.steps
    known = {step.added for step in history if step.added is not None and step.known}
    row.lost = len(known - final.seen)
    return row
