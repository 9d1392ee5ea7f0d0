"""How fast and how heavy the server is: percentiles of pages, answers and queries, and memory.

python bench/serving.py KB [--requests 60] [--json FILE]

Starts its own server on a free loopback port and asks it with two clients at once, warm. With
``--start N`` it only starts ``shiyi serve`` N times, and prints the seconds, on the clock and of
processors, until a page is answered.
"""

import argparse
import http.client
import json
import os
import socket
import statistics
import subprocess
import sys
import threading
import time
from pathlib import Path
from urllib.parse import quote

_START = (
    "import sys; from pathlib import Path; from shiyi.server.app import create_app, run_server; "
    "from shiyi.settings import Settings; "
    "run_server(create_app(Path(sys.argv[1]), Settings()), '127.0.0.1', int(sys.argv[2]), 8)"
)
_QUERY = "SELECT ?c ?n { ?c <https://w3id.org/shiyi/vocab#confidence> ?n } LIMIT 10"
QUESTIONS = (
    "失眠多梦、手脚心热，吃点什么好？", "Can I take ginkgo biloba with warfarin?",
    "吃着华法林，枸杞泡水可以天天喝吗？", "我最近胃不舒服，能推荐几款夏天的饮品吗？",
    "What does the medicine-food catalogue mean?", "枸杞的性味？",
)  # fmt: skip
PAGES = {
    "GET /": "/?lang=zh", "GET /browse": "/browse?class=MFHSubstance&lang=zh",
    "GET /page (substance)": "/page/substance-gouqizi?lang=zh",
    "GET /page (hub)": "/page/population-pregnant?lang=en",
    "GET /data ttl": "/data/substance-gouqizi.ttl", "GET /vocab": "/vocab?lang=en",
    "GET /api/complete": "/api/complete?q=gou", "GET /sparql": f"/sparql?query={quote(_QUERY)}",
    "GET /ask": f"/ask?lang=zh&q={quote(QUESTIONS[0])}",
}  # fmt: skip


def ask(port: int, path: str, body: bytes | None = None) -> tuple[float, int]:
    html = path.startswith(("/page", "/ask", "/vocab", "/browse", "/?"))
    headers = {"Accept": "text/html" if html else "*/*", "Accept-Encoding": "gzip"}
    if body is not None:
        headers["Content-Type"] = "application/json"
    start = time.perf_counter()
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    connection.request("GET" if body is None else "POST", path, body, headers)
    reply = connection.getresponse()
    read = reply.read()
    connection.close()
    if reply.status != 200:
        raise SystemExit(f"{path} answered {reply.status}: {read[:200]!r}")
    return (time.perf_counter() - start) * 1000, len(read)


def measure(port: int, calls: list[tuple[str, bytes | None]], clients: int = 2) -> dict[str, float]:
    times: list[float] = []
    sizes: list[int] = []

    def run(mine: list[tuple[str, bytes | None]]) -> None:
        for path, body in mine:
            took, size = ask(port, path, body)
            times.append(took)
            sizes.append(size)

    run(calls[:6])  # warm
    times.clear()
    threads = [threading.Thread(target=run, args=(calls[i::clients],)) for i in range(clients)]
    start = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    cuts = statistics.quantiles(times, n=100, method="inclusive")
    return {
        "n": len(times),
        "p50_ms": round(cuts[49], 1),
        "p95_ms": round(cuts[94], 1),
        "p99_ms": round(cuts[98], 1),
        "per_second": round(len(times) / (time.perf_counter() - start)),
        "bytes_gzip": max(sizes),
    }


def memory_mib(pid: int) -> dict[str, float]:
    import psutil

    own = psutil.Process(pid)
    return {
        "server_mib": round(own.memory_info().rss / 2**20),
        "workers_mib": round(sum(p.memory_info().rss for p in own.children(True)) / 2**20),
    }


def first_pages(kb: Path, times: int) -> dict[str, float]:
    """Return the median seconds to the first page, and the memory at that time."""
    rows = [_first_page(kb) for _ in range(times)]
    return {name: statistics.median(row[name] for row in rows) for name in rows[0]}


def _first_page(kb: Path) -> dict[str, float]:
    import psutil

    with socket.create_server(("127.0.0.1", 0)) as free:
        port = int(free.getsockname()[1])
    begun = time.perf_counter()
    environment = {**os.environ, "SHIYI_KB": str(kb.absolute())}
    server = subprocess.Popen(  # noqa: S603 - ours
        [sys.executable, "-m", "shiyi", "serve", "--port", str(port)],
        cwd=Path(__file__).parents[1],
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        while server.poll() is None:
            try:
                ask(port, "/?lang=zh")
                break
            except OSError:
                time.sleep(0.02)
        seconds, own = time.perf_counter() - begun, psutil.Process(server.pid)
        processes = [own, *own.children(recursive=True)]
        worked = [sum(process.cpu_times()[:2]) for process in processes]
        return {
            "seconds": round(seconds, 2),
            "cpu_seconds_of_the_busiest": round(max(worked), 2),
            "mib": round(max(process.memory_info().rss for process in processes) / 2**20),
        }
    finally:
        server.terminate()
        server.wait(60)


def start_server(kb: str) -> tuple[subprocess.Popen[bytes], int, float]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = int(free.getsockname()[1])
    begun = time.perf_counter()
    server = subprocess.Popen([sys.executable, "-c", _START, kb, str(port)])  # noqa: S603 - ours
    while server.poll() is None:
        try:
            ask(port, "/healthz")
        except OSError:
            time.sleep(0.1)
        else:
            return server, port, time.perf_counter() - begun
    raise SystemExit(f"the server ended with {server.returncode}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kb", nargs="?", default="kb")
    parser.add_argument("--requests", type=int, default=60)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--start", type=int, metavar="N", help="only start it, N times")
    options = parser.parse_args()
    if options.start:
        print(json.dumps(first_pages(Path(options.kb), options.start)))
        return
    server, port, seconds = start_server(options.kb)
    try:
        results: dict[str, dict[str, float]] = {"start": {"seconds": round(seconds, 1)}}
        bodies = [json.dumps({"question": q}).encode() for q in QUESTIONS]
        asking = [("/api/ask", bodies[i % len(bodies)]) for i in range(options.requests)]
        results["POST /api/ask"] = measure(port, list(asking))
        for name, path in PAGES.items():
            results[name] = measure(port, [(path, None)] * options.requests)
        results["memory"] = memory_mib(server.pid)
    finally:
        server.terminate()
        server.wait(timeout=20)
    for name, values in results.items():
        print(f"{name:24}", "  ".join(f"{key} {value:g}" for key, value in values.items()))
    if options.json:
        options.json.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
