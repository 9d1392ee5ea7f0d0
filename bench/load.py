"""Mixed load at a fixed rate, with writing and hostile requests beside it, then too much at once.

python bench/load.py [KB] [--rate 300] [--minutes 1] [--readers N] [--rush] [--json FILE]

Starts its own server on a copy of KB: `shiyi serve`, and beside it N gunicorn processes that read,
as docs/deployment.md has it; then those are loaded, and the first takes what is written. 60 % are
entity pages drawn by Zipf's law from all concepts, 24 % SPARQL (half of it never asked before),
10 % search, 5 % questions (half of them of any concept, so that few come twice), 1 % hostile. Times count from the moment each request was due, whether
or not the server keeps up, after --warm seconds at a quarter of the rate. Every --write seconds
triples come by SPARQL update. Prints a line for each minute: percentiles, faults, memory and
descriptors of the server. --rush sends five times the rate for ten seconds afterwards, and tells
how it sheds and how soon it has recovered.
"""

import argparse
import asyncio
import http.client
import json
import os
import random
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter, deque
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import accumulate
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

import psutil
from serving import QUESTIONS, ask

from shiyi.model.names import ID
from shiyi.model.rdf import DefaultGraph, NamedNode, text
from shiyi.ontology.terms import RDF, SKOS
from shiyi.server.tokens import Tokens
from shiyi.sparql.knowledge_base import KnowledgeBase

_CONFIDENT: Final = "SELECT ?c ?n { ?c <https://w3id.org/shiyi/vocab#confidence> ?n } LIMIT "
_WORDS: Final = (
    "gou", "枸", "da", "shan", "renshen", "黄", "gin", "lico", "甘草", "foods", "失眠", "vit",
)  # fmt: skip
_OF_ANYTHING: Final = (
    "…有什么禁忌？", "…适合什么人吃？", "What is known about …?", "Can I have … every day?",
)  # fmt: skip
_HOSTILE: Final = (
    "/sparql?query=" + quote("SELECT * {" + "{" * 900 + "}" * 900 + "}"),
    "/sparql?timeout=1&query=" + quote("SELECT (COUNT(*) AS ?n) { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i }"),
    "/sparql?query=" + quote("SELECT * { SERVICE <http://127.0.0.1:9/> { ?s ?p ?o } }"),
    "/id/%00", "/api/complete?limit=x&q=a", "/..%2f..%2fetc/passwd",
)  # fmt: skip
_FRIENDS, _ENEMY = "127.0.2.{}", "127.0.3.1"
_SHED, _EXPECTED = frozenset({429, 503}), frozenset({504, 507})  # the latter to bombs
_PATIENCE: Final = 30.0  # seconds that a client waits
_MOST: Final = 1000  # connections at once


class Mix:
    """Draws requests."""

    def __init__(self, kb: Path, seed: int) -> None:
        with KnowledgeBase.open(kb) as base:
            labels = base.store.match(None, SKOS.prefLabel, None, DefaultGraph())
            self._labels = sorted(text(quad.object) for quad in labels)
            names = sorted(
                quad.subject.value.removeprefix(ID)
                for quad in base.store.match(None, RDF.type, SKOS.Concept, DefaultGraph())
                if isinstance(quad.subject, NamedNode) and quad.subject.value.startswith(ID)
            )
        self._chance = random.Random(seed)  # noqa: S311 - a choice of pages, no secret
        self._chance.shuffle(names)
        self._names = names
        self._weights = list(accumulate(1 / place for place in range(1, len(names) + 1)))
        self._number = 0

    def draw(self) -> tuple[str, str]:
        """Give the kind of the next request, and its path."""
        chance = self._chance
        draw, language = chance.random(), chance.choice(("zh", "en"))
        if draw < 0.60:
            [name] = chance.choices(self._names, cum_weights=self._weights)
            return "page", f"/page/{quote(name)}?lang={language}"
        if draw < 0.72:
            return "kept query", f"/sparql?query={quote(_CONFIDENT)}{chance.randrange(10, 20)}"
        if draw < 0.84:
            self._number += 1  # another limit, so that no two are alike and each costs the same
            [name] = chance.choices(self._names, cum_weights=self._weights)
            fresh = f"SELECT ?p ?o {{ <{ID}{name}> ?p ?o }} LIMIT {10_000 + self._number}"
            return "new query", f"/sparql?query={quote(fresh)}"
        if draw < 0.94:
            return "search", f"/api/complete?q={quote(chance.choice(_WORDS))}"
        if draw < 0.99:
            asked = chance.choice((QUESTIONS, _OF_ANYTHING))
            said = chance.choice(asked).replace("…", chance.choice(self._labels))
            return "question", f"/api/ask?q={quote(said)}"
        return "hostile", chance.choice(_HOSTILE)


@dataclass(slots=True)
class Seen:
    """Times in milliseconds and statuses, by kind."""

    times: dict[str, list[float]] = field(default_factory=dict)
    statuses: dict[str, Counter[int]] = field(default_factory=dict)

    def add(self, kind: str, took: float, status: int) -> None:
        """Note one answer; 0 is none at all."""
        self.times.setdefault(kind, []).append(took)
        self.statuses.setdefault(kind, Counter())[status] += 1

    def merge(self, other: "Seen") -> None:
        """Take in what another saw."""
        for kind, times in other.times.items():
            self.times.setdefault(kind, []).extend(times)
            self.statuses.setdefault(kind, Counter()).update(other.statuses[kind])

    def told(self) -> dict[str, Any]:
        """Give percentiles by kind, and counts by status."""
        good = [each for kind, times in self.times.items() if kind != "hostile" for each in times]
        said: dict[str, Any] = {}
        for kind, times in sorted({**self.times, "all good": good}.items()):
            cuts = (
                statistics.quantiles(times, n=1000, method="inclusive")
                if len(times) > 1
                else times * 999
            )
            said[kind] = {"n": len(times), "p50_ms": round(cuts[499], 1), "p95_ms": round(cuts[949], 1),
                          "p99_ms": round(cuts[989], 1), "p999_ms": round(cuts[998], 1)}  # fmt: skip
        every = sum(self.statuses.values(), Counter[int]())
        kinds = self.statuses.items()
        said["statuses"] = {str(status): n for status, n in sorted(every.items())}
        said["shed"] = sum(each[status] for _, each in kinds for status in _SHED)
        said["faults"] = sum(
            n for kind, each in kinds for status, n in each.items()
            if status == 0 or (status >= 500 and status not in _SHED and (kind != "hostile" or status not in _EXPECTED))
        )  # fmt: skip
        return said


class Clients:
    """Connections that are kept; as many as there are requests under way, from some addresses."""

    def __init__(self, port: int, mix: Mix) -> None:
        self._port, self._mix, self._number = port, mix, 0
        self._idle: dict[bool, deque[tuple[asyncio.StreamReader, asyncio.StreamWriter]]] = {
            False: deque(), True: deque(),
        }  # fmt: skip

    async def run(self, rate: float, seconds: float) -> Seen:
        """Send ``rate`` requests a second, evenly."""
        seen, start, under_way = Seen(), time.perf_counter(), set[asyncio.Task[None]]()
        for number in range(int(rate * seconds)):
            due = start + number / rate
            if (early := due - time.perf_counter()) > 0:
                await asyncio.sleep(early)
            kind, path = self._mix.draw()
            if len(under_way) >= _MOST:
                seen.add(kind, _PATIENCE * 1000, 0)
                continue
            task = asyncio.create_task(self._one(kind, path, due, seen))
            under_way.add(task)
            task.add_done_callback(under_way.discard)
        if under_way:
            await asyncio.wait(under_way)
        return seen

    def close(self) -> None:
        """Let go of all connections."""
        for _, writer in (*self._idle[False], *self._idle[True]):
            writer.close()

    async def _one(self, kind: str, path: str, due: float, seen: Seen) -> None:
        hostile = kind == "hostile"
        try:
            async with asyncio.timeout(_PATIENCE):
                status = await self._sent(path, kind == "page", hostile)
        except (OSError, asyncio.IncompleteReadError, TimeoutError):
            status = 0
        seen.add(kind, (time.perf_counter() - due) * 1000, status)

    async def _sent(self, path: str, page: bool, hostile: bool) -> int:
        accept = "text/html" if page else "*/*"
        asked = f"GET {path} HTTP/1.1\r\nHost: localhost\r\nAccept: {accept}\r\nAccept-Encoding: gzip, zstd\r\n\r\n"
        line = reader, writer = await self._line(hostile)
        try:
            writer.write(asked.encode())
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
            if "content-length:" in head:
                size = int(head.partition("content-length:")[2].partition("\r\n")[0])
                await reader.readexactly(size)
            else:  # in chunks
                while size := int(await reader.readuntil(b"\r\n"), 16):
                    await reader.readexactly(size + 2)
                await reader.readexactly(2)
        except BaseException:
            writer.close()
            raise
        if "connection: close" in head:
            writer.close()
        else:
            self._idle[hostile].append(line)
        return int(head.split(" ", 2)[1])

    async def _line(self, hostile: bool) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """Give a connection that nobody uses, or another."""
        idle = self._idle[hostile]
        while idle:
            reader, writer = idle.popleft()
            if not reader.at_eof():
                return reader, writer
            writer.close()
        self._number += 1
        source = _ENEMY if hostile else _FRIENDS.format(1 + self._number % 40)
        return await asyncio.open_connection("127.0.0.1", self._port, local_addr=(source, 0))


@dataclass(frozen=True, slots=True)
class Served:
    """What serves a base: where it is asked and where written to, and its processes."""

    port: int
    write_port: int
    processes: list[psutil.Process]


@contextmanager
def served(kb: Path, readers: int) -> Iterator[Served]:
    """Serve ``kb`` from a process of its own; where there are ``readers``, from gunicorn beside it."""
    root = Path(__file__).parents[1]
    with (
        socket.create_server(("127.0.0.1", 0)) as one,
        socket.create_server(("127.0.0.1", 0)) as other,
    ):
        port, write_port = (int(each.getsockname()[1]) for each in (one, other))
    commands = [["-m", "shiyi", "serve", "--port", str(write_port)]]
    if readers:
        commands.append(["-m", "gunicorn", "-c", str(root / "server/deploy/gunicorn.py")])
    environment = os.environ | {
        "SHIYI_KB": str(kb.resolve()), "SHIYI_QUERY_LOG": "false",
        "SHIYI_BIND": f"127.0.0.1:{port}", "SHIYI_PROCESSES": str(readers),
    }  # fmt: skip
    started = [
        subprocess.Popen(  # noqa: S603 - our own interpreter
            [sys.executable, *command], cwd=root, stderr=subprocess.DEVNULL, env=environment
        )
        for command in commands
    ]
    try:
        for each in (write_port, port) if readers else (write_port,):
            for _ in range(600):
                with suppress(OSError):
                    ask(each, "/healthz")
                    break
                time.sleep(0.1)
        processes = [psutil.Process(each.pid) for each in started]
        yield Served(port if readers else write_port, write_port, processes)
    finally:
        for process in started:
            process.terminate()
        for process in started:
            process.wait(60)


def size_of(served: Served) -> dict[str, float]:
    """Give memory and descriptors of what serves, and of its query workers."""
    every = [each for top in served.processes for each in (top, *top.children(recursive=True))]
    found = {"server_mib": 0.0, "workers_mib": 0.0, "descriptors": 0.0}
    for each in every:
        with suppress(psutil.NoSuchProcess):  # a worker that was just replaced
            works = "import_module" in " ".join(each.cmdline())
            found["workers_mib" if works else "server_mib"] += each.memory_info().rss / 2**20
            found["descriptors"] += 0 if works else each.num_fds()
    return {name: round(value) for name, value in found.items()}


async def write(port: int, token: str, every: float, written: list[float]) -> None:
    """Add some triples in a graph of their own now and then, until cancelled."""
    loop, number = asyncio.get_running_loop(), 0
    while True:
        await asyncio.sleep(every)
        number += 1
        triples = " ".join(
            f"<https://example.org/load/{number}> <https://example.org/p> {n} ." for n in range(50)
        )
        body = f"INSERT DATA {{ GRAPH <https://example.org/load> {{ {triples} }} }}".encode()
        began = time.perf_counter()
        await loop.run_in_executor(None, update, port, token, body)
        written.append((time.perf_counter() - began) * 1000)


def update(port: int, token: str, body: bytes) -> None:
    """Send one SPARQL update."""
    line = http.client.HTTPConnection(
        "127.0.0.1", port, timeout=60, source_address=("127.0.2.99", 0)
    )
    headers = {"Content-Type": "application/sparql-update", "Authorization": f"Bearer {token}"}
    line.request("POST", "/sparql", body, headers)
    reply = line.getresponse()
    reply.read()
    line.close()
    if reply.status != 204:
        raise SystemExit(f"an update was answered with {reply.status}")


async def measure(
    server: Served, mix: Mix, chosen: argparse.Namespace, token: str
) -> dict[str, Any]:
    """Load a server, minute by minute."""
    clients = Clients(server.port, mix)
    await clients.run(chosen.rate / 4, chosen.warm)
    written: list[float] = []
    writing = (
        asyncio.create_task(write(server.write_port, token, chosen.write, written)) if token else None
    )  # fmt: skip
    before, every, minutes = size_of(server), Seen(), list[dict[str, Any]]()
    left = chosen.minutes * 60
    while left > 0:
        part = await clients.run(chosen.rate, min(60, left))
        left -= 60
        told, size = part.told(), size_of(server)
        counts = {name: told[name] for name in ("faults", "shed")}
        minutes.append({"p99_ms": told["all good"]["p99_ms"], **counts, **size})
        print(json.dumps(minutes[-1]), file=sys.stderr, flush=True)
        every.merge(part)
    if writing and not writing.cancel():
        writing.result()  # it failed: say so
    found = {
        "rate": chosen.rate, "minutes": chosen.minutes, "readers": chosen.readers, "seed": chosen.seed,
        "load": round(os.getloadavg()[0], 1), "steady": every.told(), "memory_before": before,
        "memory_after": size_of(server), "writes": len(written),
        "slowest_write_ms": round(max(written, default=0.0), 1), "by_minute": minutes,
    }  # fmt: skip
    if chosen.rush:
        found |= await rush(clients, chosen.rate)
    clients.close()
    return found


async def rush(clients: Clients, rate: float) -> dict[str, Any]:
    """Send five times as much for ten seconds; then look when all is as before."""
    crowd = await clients.run(rate * 5, 10)
    ended = begun = time.perf_counter()
    while begun - ended < 60:
        begun = time.perf_counter()
        told = (await clients.run(rate, 1)).told()
        if told["all good"]["p99_ms"] < 200 and not told["shed"]:
            break
    return {"five_times": crowd.told(), "recovered_seconds": round(begun - ended, 1)}


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("kb", nargs="?", default="kb", type=Path)
    parser.add_argument("--rate", type=float, default=300.0)
    parser.add_argument("--minutes", type=float, default=1.0)
    parser.add_argument(
        "--readers", type=int, default=0, help="gunicorn processes, instead of shiyi serve"
    )
    parser.add_argument(
        "--write", type=float, default=10.0, help="seconds between updates; 0: none"
    )
    parser.add_argument("--warm", type=float, default=30.0, help="seconds at a quarter of the rate")
    parser.add_argument("--rush", action="store_true")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--json", type=Path)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "kb"
        shutil.copytree(chosen.kb, copy, ignore=shutil.ignore_patterns("snapshots", "lock"))
        token = Tokens(copy).add("load", "write", 1) if chosen.write > 0 else ""
        mix = Mix(copy, chosen.seed)
        with served(copy, chosen.readers) as server, asyncio.Runner() as runner:
            found = runner.run(measure(server, mix, chosen, token))
    written = json.dumps(found, ensure_ascii=False, indent=1)
    print(written)
    if chosen.json:
        chosen.json.write_text(written + "\n", "utf-8")
    return 1 if found["steady"]["faults"] else 0


if __name__ == "__main__":
    sys.exit(main())
