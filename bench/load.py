"""Mixed load at a fixed rate, with writing and hostile requests beside it, then too much at once.

python bench/load.py [KB] [--rate 300] [--minutes 1] [--readers N] [--rush] [--json FILE]

Starts its own server on a copy of KB: `shiyi serve`, and with --readers also N `shiyi serve
--read-only` behind nginx, as docs/how-to/deployment.md has it; then nginx is loaded, and updates go to the
first. 60 % are
entity pages drawn by Zipf's law from all concepts, 24 % SPARQL (half of it never asked before, and
a tenth of that at /sparql/rdf11 of the process that writes), 10 % search, 5 % questions (half of them of any concept, so that few come twice), 1 % hostile. Of the
good ones 2 % come from the address of the hostile, and "answered" is their share without 429, 503
or silence. Times count from the moment each request was due, whether or not the server keeps up, after --warm seconds
at a quarter of the rate. Every --write seconds triples come by SPARQL update, and a name that answers
have to follow; with --back the next update takes both away again. Prints a line for each minute:
percentiles, faults, descriptors, the memory that each kind of process has for itself, and the disk;
at the end how fast memory grew, and how much of the processor the clients took. The updates of a day
of one each ten seconds, in half an hour: --rate 50 --minutes 30 --write 0.2. --rush sends five times
the rate for ten seconds afterwards, and tells how it sheds and how soon it has recovered.
"""

import argparse
import asyncio
import http.client
import json
import os
import random
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from itertools import accumulate
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

import psutil
from crowd import BESIDE, POSTED, SHED, ConnectionPool, LoadStatistics
from footprint import Footprint, footprint, grown, growth
from serving import QUESTIONS, ask

from shiyi.model.iris import ID
from shiyi.model.rdf import DefaultGraph, NamedNode, text
from shiyi.ontology.terms import RDF, RDFS, SKOS
from shiyi.server.site.tokens import Tokens
from shiyi.sparql.base.knowledge_base import KnowledgeBase

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
_NEAR: Final = 0.02  # of the good requests come from the address of the hostile
_EVERY: Final = 10.0  # seconds between looks at the memory
_BEHIND: Final = 60.0  # seconds that updates may be late and still all be sent


class RequestMix:
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
        """Return the kind of the next request, and its path."""
        kind, path = self._drawn()
        if kind != "hostile" and self._chance.random() < _NEAR:
            return (POSTED if kind == POSTED else BESIDE), path
        return kind, path

    def _drawn(self) -> tuple[str, str]:
        chance = self._chance
        draw, language = chance.random(), chance.choice(("zh", "en"))
        if draw < 0.60:
            [name] = chance.choices(self._names, cum_weights=self._weights)
            return "page", f"/page/{quote(name)}?lang={language}"
        if draw < 0.72:
            return "cached query", f"/sparql?query={quote(_CONFIDENT)}{chance.randrange(10, 20)}"
        if draw < 0.84:
            self._number += 1  # another limit, so that no two are alike and each costs the same
            [name] = chance.choices(self._names, cum_weights=self._weights)
            fresh = f"SELECT ?p ?o {{ <{ID}{name}> ?p ?o }} LIMIT {10_000 + self._number}"
            if not self._number % 10:
                return POSTED, f"/sparql/rdf11?query={quote(fresh)}"
            return "new query", f"/sparql?query={quote(fresh)}"
        if draw < 0.94:
            return "search", f"/api/complete?q={quote(chance.choice(_WORDS))}"
        if draw < 0.99:
            asked = chance.choice((QUESTIONS, _OF_ANYTHING))
            content = chance.choice(asked).replace("…", chance.choice(self._labels))
            return "question", f"/api/ask?q={quote(content)}"
        return "hostile", chance.choice(_HOSTILE)


@dataclass(frozen=True, slots=True)
class ServerUnderTest:
    """What serves a base: where it is asked and where written to, and its processes."""

    port: int
    write_port: int
    writer: psutil.Process
    readers: tuple[psutil.Process, ...]
    kb: Path

    def footprint(self) -> Footprint:
        """Look at the memory of all its processes."""
        return footprint(self.writer, self.readers)

    def disk(self) -> dict[str, float]:
        """Return the MiB of all files of the base, linked ones once, of the journal, and how many copies there are."""
        sizes, journal = dict[int, int](), 0
        for path in self.kb.rglob("*"):
            with suppress(FileNotFoundError):
                results = path.stat()
                if path.is_file():
                    sizes[results.st_ino] = results.st_size
                journal += results.st_size if path.name == "journal.nq" else 0
        copies = len(list((self.kb / "snapshots").glob("*.lock")))
        mib = {"disk_mib": sum(sizes.values()), "journal_mib": journal}
        return {**{name: round(size / 2**20, 1) for name, size in mib.items()}, "copies": copies}


_NGINX: Final = """
daemon off; pid {folder}/nginx.pid; error_log {folder}/error.log; {user}
events {{ worker_connections 2048; }}
http {{
  access_log off;
  client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy;
  fastcgi_temp_path {folder}/fastcgi; uwsgi_temp_path {folder}/uwsgi; scgi_temp_path {folder}/scgi;
  include {folder}/shiyi.conf;
}}
"""


def nginx_command(folder: Path, port: int, write_port: int, ports: list[int]) -> list[str]:
    """Write the configuration of server/deploy for these ports; return nginx's command line."""
    text = (Path(__file__).parents[1] / "server/deploy/nginx.conf").read_text("utf-8")
    rest = "max_fails=2 fail_timeout=2s;"
    servers = "".join(f"  server 127.0.0.1:{number} {rest}\n" for number in ports)
    text = re.sub(r"(  server reader-\d:8000 .*\n)+", servers, text)
    text = text.replace("writer:8000", f"127.0.0.1:{write_port}")
    text = text.replace("listen 8080", f"listen 127.0.0.1:{port}")
    text = text.replace("/var/cache/nginx/shiyi", str(folder / "cache"))
    (folder / "shiyi.conf").write_text(text, "utf-8")
    user = "user root;" if os.geteuid() == 0 else ""
    (folder / "nginx.conf").write_text(_NGINX.format(folder=folder, user=user), "utf-8")
    return ["nginx", "-c", str(folder / "nginx.conf")]


@contextmanager
def serve(kb: Path, readers: int) -> Iterator[ServerUnderTest]:
    """Serve ``kb`` from one process; where there are ``readers``, also from those behind nginx."""
    with ExitStack() as free:
        sockets = [
            free.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(readers + 2)
        ]
        port, write_port, *ports = (int(each.getsockname()[1]) for each in sockets)
    serve = [sys.executable, "-m", "shiyi", "serve", "--port"]
    commands = [[*serve, str(write_port)], *([*serve, str(each), "--read-only"] for each in ports)]
    environment = os.environ | {
        "SHIYI_KB": str(kb.resolve()), "SHIYI_QUERY_LOG": "false",
        "SHIYI_SERVER_PROXIES": "1" if readers else "0",
        "MALLOC_ARENA_MAX": "2", "OPENBLAS_NUM_THREADS": "1",
    }  # fmt: skip
    if readers:
        commands.append(nginx_command(kb.parent, port, write_port, ports))
    started_processes = [
        subprocess.Popen(  # noqa: S603 - our own programs
            command, cwd=Path(__file__).parents[1], stderr=subprocess.DEVNULL, env=environment
        )
        for command in commands
    ]
    try:
        for number in (write_port, *ports, *([port] if readers else [])):
            for _ in range(3000):
                with suppress(OSError):
                    ask(number, "/healthz")
                    break
                if any(process.poll() is not None for process in started_processes):
                    raise SystemExit("a server ended before it served")
                time.sleep(0.1)
            else:
                raise SystemExit("a server does not answer")
        processes = tuple(psutil.Process(each.pid) for each in started_processes[: 1 + readers])
        yield ServerUnderTest(
            port if readers else write_port, write_port, processes[0], processes[1:], kb
        )
    finally:
        for process in started_processes:
            process.terminate()
        for process in started_processes:
            process.wait(60)


async def write(
    port: int, token: str, every: float, written: list[float], back: bool = False
) -> None:
    """Change some triples now and then, until cancelled; late ones follow at once."""
    loop, due = asyncio.get_running_loop(), time.perf_counter()
    while True:
        due = max(due + every, time.perf_counter() - _BEHIND)
        await asyncio.sleep(max(0.0, due - time.perf_counter()))
        body = change(len(written), back).encode()
        began = time.perf_counter()
        await loop.run_in_executor(None, update, port, token, body)
        written.append((time.perf_counter() - began) * 1000)


def change(number: int, back: bool = False) -> str:
    """Return an update: triples in a graph of their own, and a name; ``back``: each second one takes them away."""
    verb, number = ("DELETE", number - 1) if back and number % 2 else ("INSERT", number)
    triples = " ".join(
        f"<https://example.org/load/{number}> <https://example.org/p> {n} ." for n in range(50)
    )
    named = f'<{ID}load-{number}> <{RDFS.label.value}> "load {number}"@en .'
    return f"{verb} DATA {{ {named} GRAPH <https://example.org/load> {{ {triples} }} }}"


def update(port: int, token: str, body: bytes) -> None:
    """Send one SPARQL update, again where it is instructed to come again."""
    while (status := sent(port, token, body)) in SHED:
        time.sleep(1.0)
    if status != 204:
        raise SystemExit(f"an update was answered with {status}")


def sent(port: int, token: str, body: bytes) -> int:
    """Send one SPARQL update once, and give the status."""
    line = http.client.HTTPConnection(
        "127.0.0.1", port, timeout=60, source_address=("127.0.2.99", 0)
    )
    headers = {"Content-Type": "application/sparql-update", "Authorization": f"Bearer {token}"}
    line.request("POST", "/sparql", body, headers)
    reply = line.getresponse()
    reply.read()
    line.close()
    return reply.status


@dataclass(slots=True)
class MemoryMonitor:
    """The memory of a server, looked at every few seconds."""

    server: ServerUnderTest
    begun: float = field(default_factory=time.perf_counter)
    seconds: list[float] = field(default_factory=list)
    found: list[Footprint] = field(default_factory=list)

    async def watch(self) -> None:
        """Look until cancelled."""
        while True:
            self.look()
            await asyncio.sleep(_EVERY)

    def look(self) -> Footprint:
        """Look once."""
        self.seconds.append(time.perf_counter() - self.begun)
        self.found.append(self.server.footprint())
        return self.found[-1]

    def figures(self) -> dict[str, Any]:
        """Return the first and the last size, and the growth of the servers' own memory in the last two thirds."""
        sizes = [each.server for each in self.found]
        third = len(sizes) // 3
        values: dict[str, Any] = {
            "memory_before": self.found[0].figures(),
            "memory_after": self.found[-1].figures(),
            "looks": len(sizes),
        }
        if len(sizes) - third >= 3:
            values["growth"] = growth(self.seconds[third:], sizes[third:]).figures
        if (share := grown(self.seconds, sizes)) is not None:
            values["grown_after_5_minutes"] = round(share, 4)
        return values


async def measure(
    server: ServerUnderTest, mix: RequestMix, chosen: argparse.Namespace, token: str
) -> dict[str, Any]:
    """Load a server, minute by minute."""
    crowd = ConnectionPool(server.port, mix.draw)
    await crowd.run(chosen.rate / 4, chosen.warm)
    written: list[float] = []
    watched, tasks = MemoryMonitor(server), list[asyncio.Task[None]]()
    tasks.append(asyncio.create_task(watched.watch()))
    if token:
        tasks.append(
            asyncio.create_task(write(server.write_port, token, chosen.write, written, chosen.back))
        )
    statistics, minutes = LoadStatistics(), list[dict[str, Any]]()
    left, begun, spent = chosen.minutes * 60, time.perf_counter(), time.process_time()
    while left > 0:
        part = await crowd.run(chosen.rate, min(60, left))
        left -= 60
        message, size = part.figures(), watched.look()
        counts = {name: message[name] for name in ("answered", "faults", "shed")}
        minutes.append(
            {
                "p99_ms": message["all good"]["p99_ms"],
                **counts,
                "writes": len(written),
                **size.figures(),
                **server.disk(),
            }
        )
        print(json.dumps(minutes[-1]), file=sys.stderr, flush=True)
        statistics.merge(part)
    took = time.perf_counter() - begun
    for task in tasks:
        if not task.cancel() and (fault := task.exception()):
            raise fault
    steady = statistics.figures()
    results = {
        "rate": chosen.rate,
        "minutes": chosen.minutes,
        "readers": chosen.readers,
        "seed": chosen.seed,
        "back": chosen.back,
        "load": round(os.getloadavg()[0], 1),
        "steady": steady,
        "answered_per_second": round(statistics.in_time / chosen.minutes / 60, 1),
        "cores_of_the_clients": round((time.process_time() - spent) / took, 2),
        **watched.figures(),
        "writes": len(written),
        "slowest_write_ms": round(max(written, default=0.0), 1),
        "by_minute": minutes,
    }
    if chosen.rush:
        results |= await rush(crowd, chosen.rate)
    crowd.close()
    return results


async def rush(clients: ConnectionPool, rate: float) -> dict[str, Any]:
    """Send five times as much for ten seconds; then look when all is as before."""
    crowd = await clients.run(rate * 5, 10)
    ended = begun = time.perf_counter()
    while begun - ended < 60:
        begun = time.perf_counter()
        results = (await clients.run(rate, 1)).figures()
        if results["all good"]["p99_ms"] < 200 and not results["shed"]:
            break
    return {"five_times": crowd.figures(), "recovered_seconds": round(begun - ended, 1)}


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("kb", nargs="?", default="kb", type=Path)
    parser.add_argument("--rate", type=float, default=300.0)
    parser.add_argument("--minutes", type=float, default=1.0)
    parser.add_argument("--readers", type=int, default=0, help="processes that read, behind nginx")
    parser.add_argument(
        "--write", type=float, default=10.0, help="seconds between updates; 0: none"
    )
    parser.add_argument(
        "--back", action="store_true", help="each second update takes away what the first brought"
    )
    parser.add_argument("--warm", type=float, default=30.0, help="seconds at a quarter of the rate")
    parser.add_argument("--rush", action="store_true")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "kb"
        shutil.copytree(options.kb, copy, ignore=shutil.ignore_patterns("snapshots", "lock"))
        token = Tokens(copy).add("load", "maintain", 1) if options.write > 0 else ""
        mix = RequestMix(copy, options.seed)
        with serve(copy, options.readers) as server, asyncio.Runner() as runner:
            results = runner.run(measure(server, mix, options, token))
    written = json.dumps(results, ensure_ascii=False, indent=1)
    print(written)
    if options.json:
        options.json.write_text(written + "\n", "utf-8")
    return 1 if results["steady"]["faults"] else 0


if __name__ == "__main__":
    sys.exit(main())
