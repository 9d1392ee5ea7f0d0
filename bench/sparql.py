"""Small queries and streams through our contained workers, beside stock `oxigraph serve-read-only`.

python bench/sparql.py [KB] [--oxigraph PROGRAM] [--seconds 5] [--json FILE]

The PyPI package `oxigraph` of pyoxigraph's version brings the program; without it there is no
ratio. Client and server share the machine; both servers get the same client and the same store.
"""

import argparse
import http.client
import json
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

_START = (
    "import sys; from pathlib import Path; from shiyi.server.app import create_app, serve; "
    "from shiyi.settings import Settings; "
    "serve(create_app(Path(sys.argv[1]), Settings()), '127.0.0.1', int(sys.argv[2]), 8)"
)
_PREFIXES = "PREFIX s: <https://w3id.org/shiyi/vocab#> PREFIX i: <https://w3id.org/shiyi/id/> "
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
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    address = f"{path}?{urlencode({'query': _PREFIXES + query})}"
    headers = {"Accept": "application/sparql-results+json"}
    while time.perf_counter() < until:
        start = time.perf_counter()
        connection.request("GET", address, headers=headers)
        reply = connection.getresponse()
        body = reply.read()
        if reply.status != 200:
            raise SystemExit(f"{address} answered {reply.status}: {body[:200]!r}")
        times.append((time.perf_counter() - start) * 1000)


def measure(port: int, path: str, query: str, seconds: float, clients: int) -> dict[str, float]:
    times: list[float] = []
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
        "per_second": round(len(times) / seconds), "p50_ms": round(cut[49], 2),
        "p99_ms": round(cut[98], 2), "count": len(times),
    }  # fmt: skip


def servers(kb: Path, program: str | None, home: Path) -> dict[str, tuple[list[str], int, str]]:
    port, other = free_port(), free_port()
    found = {"ours": ([sys.executable, "-c", _START, str(kb), str(port)], port, "/sparql")}
    if program:
        current = (kb / "CURRENT").read_text(encoding="utf-8").strip()
        copy = home / "store"
        shutil.copytree(kb / "generations" / current / "store", copy)
        found["stock"] = (
            [program, "serve-read-only", "--location", str(copy), "--bind", f"127.0.0.1:{other}"],
            other, "/query",
        )  # fmt: skip
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kb", nargs="?", type=Path, default=Path("kb"))
    parser.add_argument("--oxigraph", default=shutil.which("oxigraph"))
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--json", type=Path, default=Path("bench/results/sparql.json"))
    args = parser.parse_args()
    result: dict[str, dict[str, dict[str, float]]] = {}
    with tempfile.TemporaryDirectory() as home:
        for name, (command, port, path) in servers(args.kb, args.oxigraph, Path(home)).items():
            process = subprocess.Popen(  # noqa: S603 - our own interpreter, the operator's program
                command, stderr=subprocess.DEVNULL, env=dict(os.environ)
            )
            try:
                wait_for(port, process)
                measure(port, path, QUERIES["ask"], 1, 2)  # warm
                result[name] = {
                    f"{what}, {clients} clients": measure(port, path, query, args.seconds, clients)
                    for what, query in QUERIES.items()
                    for clients in (2, 8)
                }
            finally:
                process.terminate()
                process.wait(20)
    for what, ours in result["ours"].items():
        stock = result.get("stock", {}).get(what)
        ratio = f", {ours['per_second'] / stock['per_second']:.2f} of stock" if stock else ""
        print(
            f"{what}: {ours['per_second']:.0f}/s, p50 {ours['p50_ms']} ms, "
            f"p99 {ours['p99_ms']} ms{ratio}"
        )
    if not args.oxigraph:
        print("no ratio: pip install oxigraph==0.5.13 brings the stock server")
    args.json.parent.mkdir(parents=True, exist_ok=True)
    args.json.write_text(json.dumps(result, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
