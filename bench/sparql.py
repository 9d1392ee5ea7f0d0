"""Small queries, long results and updates through our contained workers, beside stock `oxigraph`.

python bench/sparql.py [KB] [--oxigraph PROGRAM] [--seconds 5]

`shiyi` asks a worker each time, `cached` may answer from what is stored; `stock` is `oxigraph
serve-read-only`. CPU is that of the server with its workers, for each request. Updates run on a
copy of the base.

The PyPI package `oxigraph` of pyoxigraph's version brings the program; without it there is no
ratio. Client and server share the machine; both servers get the same client and the same store. It
begins when the server has made the pages it makes at its start.
"""

import argparse
import contextlib
import http.client
import os
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from urllib.parse import urlencode

import psutil

from shiyi.settings import QuerySettings
from shiyi.sparql.base.knowledge_base import KnowledgeBase
from shiyi.sparql.updates.update import Author, Updater

_CHANGE = (
    "DELETE { ?c s:confidence ?o } INSERT { ?c s:confidence 0.NUMBER } WHERE { "
    "i:substance-gouqizi s:hasNature ?n . ?c rdf:reifies "
    "<<( i:substance-gouqizi s:hasNature ?n )>> ; s:confidence ?o }"
)
_LONG = "SELECT * { ?s ?p ?o . ?s ?q ?x } LIMIT 1000000"
_TENTH = _LONG.removesuffix("0")
_UPDATES = {
    "insert data": "INSERT DATA { <urn:a> <urn:p> NUMBER }",
    "delete and insert where, one claim": _CHANGE,
    "delete where, one subject": "DELETE WHERE { <urn:a> ?p ?o }",
    "insert where, thousands": "INSERT { ?c <urn:seen> true } WHERE { ?c s:confidence ?o FILTER(?o > 0.9) }",
    "delete where, thousands": "DELETE WHERE { ?c <urn:seen> true }",
}
_PREFIXES = "PREFIX rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#> PREFIX s: <https://w3id.org/shiyi/vocab#> PREFIX i: <https://w3id.org/shiyi/id/> "
QUERIES = {
    "one fact": "SELECT ?o { i:substance-gouqizi s:hasNature ?o }",
    "two hops": "SELECT ?f { i:symptom-insomnia s:relatedConstitution ?c . ?c s:suitableFood ?f } "
    "LIMIT 10",
    "ask": "ASK { i:substance-gouqizi s:interactsWith i:drug-warfarin }",
}


def free_port() -> int:
    with socket.socket() as opened:
        opened.bind(("127.0.0.1", 0))
        return int(opened.getsockname()[1])


def wait_for(port: int, process: subprocess.Popen[bytes]) -> None:
    for _ in range(600):
        if process.poll() is not None:
            raise SystemExit(f"the server ended with {process.returncode}")
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
        except OSError:
            time.sleep(0.1)
        else:
            return
    raise SystemExit("the server did not start")


def client(port: int, path: str, query: str, until: float, times: list[float]) -> None:
    """Ask again and again on one connection, by hand: `http.client` takes 0.2 ms for each reply."""
    address = f"{path}?{urlencode({'query': _PREFIXES + query})}"
    asked = (
        f"GET {address} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n"
        "Accept: application/sparql-results+json\r\n\r\n"
    ).encode()
    with socket.create_connection(("127.0.0.1", port), 60) as line:
        line.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        while time.perf_counter() < until:
            start = time.perf_counter()
            line.sendall(asked)
            reply = line.recv(1 << 16)
            while (missing := _missing(reply)) and (part := line.recv(1 << 16)):
                reply += part
            if missing or not reply.startswith(b"HTTP/1.1 200 "):
                raise SystemExit(f"{address} was answered with {reply[:300]!r}")
            times.append((time.perf_counter() - start) * 1000)


def _missing(reply: bytes) -> bool:
    """Return whether there is more of a reply to come: of a known length, or in chunks."""
    head, ends, body = reply.partition(b"\r\n\r\n")
    _, known, size = head.lower().partition(b"content-length:")
    if known:
        return len(body) < int(size.partition(b"\r")[0])
    return not ends or not body.endswith(b"0\r\n\r\n")


def wait_until_quiet(pid: int) -> None:
    """Wait until the server has made what it makes at its start."""
    still = 0
    for _ in range(120):
        used = cpu_seconds(pid)
        time.sleep(0.5)
        still = still + 1 if cpu_seconds(pid) - used < 0.02 else 0
        if still == 4:
            return
    raise SystemExit("the server is never quiet")


def cpu_seconds(pid: int) -> float:
    own = psutil.Process(pid)
    processes = [own, *own.children(recursive=True)]
    return sum(sum(process.cpu_times()[:2]) for process in processes)


def measure(
    port: int, path: str, query: str, seconds: float, clients: int, pid: int
) -> dict[str, float]:
    times: list[float] = []
    used = cpu_seconds(pid)
    until = time.perf_counter() + seconds
    threads = [
        threading.Thread(target=client, args=(port, path, query, until, times))
        for _ in range(clients)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    cut = statistics.quantiles(times, n=100)
    return {
        "per_second": round(len(times) / seconds),
        "p50_ms": round(cut[49], 2),
        "p99_ms": round(cut[98], 2),
        "count": len(times),
        "cpu_ms": round((cpu_seconds(pid) - used) / len(times) * 1000, 2),
    }


def stream(port: int, pid: int, query: str) -> dict[str, float]:
    """Accept a long result and look at the memory of the server and its workers in the meantime."""
    most, event = [0.0, 0.0], threading.Event()

    def watch() -> None:
        while not event.wait(0.05):
            own = psutil.Process(pid)
            with contextlib.suppress(psutil.Error):
                workers = [process.memory_info().rss for process in own.children(recursive=True)]
                most[:] = max(most[0], own.memory_info().rss), max(most[1], *workers)

    before = psutil.Process(pid).memory_info().rss
    watcher = threading.Thread(target=watch)
    watcher.start()
    start = time.perf_counter()
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
    address = f"/sparql?{urlencode({'query': query, 'timeout': 60})}"
    connection.request("GET", address, headers={"Accept": "text/csv"})
    reply = connection.getresponse()
    first, size, rows = time.perf_counter() - start, 0, -1
    while part := reply.read(1 << 18):
        size, rows = size + len(part), rows + part.count(b"\n")
    event.set()
    watcher.join()
    return {
        "status": reply.status,
        "rows": rows,
        "bytes": size,
        "first_byte_s": round(first, 2),
        "seconds": round(time.perf_counter() - start, 2),
        "server_grew_mib": round((most[0] - before) / 2**20, 1),
        "largest_worker_mib": round(most[1] / 2**20, 1),
    }


def update(kb: Path, home: Path) -> dict[str, dict[str, float]]:
    copy = shutil.copytree(kb, home / "kb")
    results: dict[str, dict[str, float]] = {}
    with KnowledgeBase.open(copy, write=True) as base:
        updater = Updater(base, QuerySettings(), lambda: None)
        for name, text in _UPDATES.items():
            times, moved = [], 0
            for number in range(10, 20 if "thousands" not in name else 11):
                written = _PREFIXES + text.replace("NUMBER", str(number))
                start = time.perf_counter()
                change = updater.update(written, Author(f"{name}{number}", "bench", "bench"))
                times.append((time.perf_counter() - start) * 1000)
                moved = max(moved, change.removed + change.added)
            results[name] = {
                "first_ms": round(times[0], 1),
                "p50_ms": round(statistics.median(times), 1),
                "quads": moved,
                "base": len(base.store),
            }
        updater.close()
    return results


def servers(kb: Path, program: str | None, home: Path) -> dict[str, tuple[list[str], int, str]]:
    port, retained, other = free_port(), free_port(), free_port()
    command = [sys.executable, "-m", "shiyi", "--kb", str(kb), "serve", "--port"]
    results = {
        "shiyi": (["env", "SHIYI_QUERY_CACHE_BYTES=0", *command, str(port)], port, "/sparql"),
        "cached": ([*command, str(retained)], retained, "/sparql"),
    }
    if program:
        current = (kb / "CURRENT").read_text(encoding="utf-8").strip()
        copy = home / "store"
        shutil.copytree(kb / "generations" / current / "store", copy)
        results["stock"] = (
            [program, "serve-read-only", "--location", str(copy), "--bind", f"127.0.0.1:{other}"],
            other,
            "/query",
        )
    return results


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kb", nargs="?", type=Path, default=Path("kb"))
    parser.add_argument("--oxigraph", default=shutil.which("oxigraph"))
    parser.add_argument("--seconds", type=float, default=5.0)
    args = parser.parse_args()
    result: dict[str, dict[str, dict[str, float]]] = {}
    long: dict[str, dict[str, float]] = {}
    with tempfile.TemporaryDirectory() as home:
        for name, (command, port, path) in servers(args.kb, args.oxigraph, Path(home)).items():
            process = subprocess.Popen(  # noqa: S603 - our own interpreter, the operator's program
                command, stderr=subprocess.DEVNULL, env=dict(os.environ)
            )
            try:
                wait_for(port, process)
                wait_until_quiet(process.pid)
                measure(port, path, QUERIES["ask"], 1, 2, process.pid)  # warm
                result[name] = {
                    f"{what}, {clients} clients": measure(
                        port, path, query, args.seconds, clients, process.pid
                    )
                    for what, query in QUERIES.items()
                    for clients in (2, 8)
                }
                if name == "shiyi":
                    long = {  # the buffers of the first stay, so the second tells of its length
                        "a hundred thousand rows": stream(port, process.pid, _TENTH),
                        "then a million rows": stream(port, process.pid, _LONG),
                    }
            finally:
                process.terminate()
                process.wait(20)
        updates = update(args.kb, Path(home))
    for name, record in result.items():
        for what, results in record.items():
            stock = result.get("stock", {}).get(what)
            ratio = f", {results['per_second'] / stock['per_second']:.2f} of stock" if stock else ""
            print(
                f"{name}: {what}: {results['per_second']:.0f}/s, p50 {results['p50_ms']} ms, "
                f"p99 {results['p99_ms']} ms, CPU {results['cpu_ms']} ms{ratio}"
            )
    for name, took in (long | updates).items():
        print(f"{name}:", ", ".join(f"{key} {value:,}" for key, value in took.items()))
    if not args.oxigraph:
        print("no ratio: pip install oxigraph==0.5.13 brings the stock server")


if __name__ == "__main__":
    main()
