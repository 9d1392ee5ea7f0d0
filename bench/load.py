"""Mixed load at a fixed rate, with ingest and hostile requests beside it, then too much at once.

python bench/load.py [KB] [--rate 300] [--minutes 1] [--json FILE]

Starts its own server on a copy of KB. Prints percentiles of answers, counted from the moment each
request was due, faults, the server's memory, and how it sheds and recovers from five times the rate.
"""

import argparse
import http.client
import json
import os
import random
import shutil
import statistics
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any
from urllib.parse import quote

from serving import QUESTIONS, memory_mib, started

_QUERY = quote("SELECT ?c ?n { ?c <https://w3id.org/shiyi/vocab#confidence> ?n } LIMIT 10")
_NAMES = ("substance-gouqizi", "substance-shanyao", "substance-dazao", "population-pregnant")
_HOSTILE = ("/sparql?query=" + quote("SELECT * {" + "{" * 900 + "}" * 900 + "}"), "/id/%00",
            "/sparql?query=" + quote("SELECT * { SERVICE <http://127.0.0.1:9/> { ?s ?p ?o } }"),
            "/api/complete?limit=x&q=a")  # fmt: skip
_SHED = frozenset({429, 503})


def request(chance: random.Random) -> tuple[str, str]:
    """Give kind and path: 60 % pages, 25 % queries, 9 % search, 5 % questions, 1 % hostile."""
    draw = chance.random()
    if draw < 0.60:
        return "page", f"/page/{chance.choice(_NAMES)}?lang={chance.choice(('zh', 'en'))}"
    if draw < 0.85:
        return "query", f"/sparql?query={_QUERY}"
    if draw < 0.94:
        return "search", f"/api/complete?q={chance.choice(('gou', '枸', 'da', 'shan'))}"
    if draw < 0.99:
        return "question", f"/api/ask?q={quote(chance.choice(QUESTIONS))}"
    return "hostile", chance.choice(_HOSTILE)


class Load:
    """Clients that each send their share of a rate, whether or not the server keeps up."""

    def __init__(self, port: int, seed: int) -> None:
        self.port, self.seed = port, seed
        self.times: dict[str, list[float]] = {}
        self.statuses: dict[str, Counter[int]] = {}
        self._turn = threading.Lock()

    def run(self, rate: float, seconds: float, clients: int) -> None:
        """Send ``rate`` requests a second for some seconds."""
        start = time.perf_counter() + 0.2
        threads = [
            threading.Thread(target=self._client, args=(n, start, seconds, clients / rate, clients))
            for n in range(clients)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def _client(self, which: int, start: float, seconds: float, gap: float, clients: int) -> None:
        chance = random.Random(f"{self.seed} {which}")  # noqa: S311
        line = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        for number in range(int(seconds / gap)):
            due = start + gap * (number + which / clients)
            time.sleep(max(0.0, due - time.perf_counter()))
            kind, path = request(chance)
            try:
                line.request("GET", path.encode("ascii", "ignore").decode() if kind == "hostile" else quote(path, safe="/?=&%"),
                             headers={"Accept": "text/html" if kind == "page" else "*/*", "Accept-Encoding": "gzip"})  # fmt: skip
                reply = line.getresponse()
                reply.read()
                status = reply.status
            except (OSError, http.client.HTTPException):
                line.close()
                status = 0
            took = (time.perf_counter() - due) * 1000
            with self._turn:
                self.times.setdefault(kind, []).append(took)
                self.statuses.setdefault(kind, Counter())[status] += 1
        line.close()

    def found(self) -> dict[str, Any]:
        """Give percentiles by kind, and counts by status."""
        told: dict[str, Any] = {}
        good = [each for kind, times in self.times.items() if kind != "hostile" for each in times]
        for kind, times in {**self.times, "all good": good}.items():
            cuts = (
                statistics.quantiles(times, n=100, method="inclusive")
                if len(times) > 1
                else times * 99
            )
            told[kind] = {"n": len(times), "p50_ms": round(cuts[49], 1), "p95_ms": round(cuts[94], 1),
                          "p99_ms": round(cuts[98], 1)}  # fmt: skip
        every = sum(self.statuses.values(), Counter())
        told["statuses"] = {str(k): v for k, v in sorted(every.items())}
        told["faults"] = sum(v for k, v in every.items() if k == 0 or (k >= 500 and k not in _SHED))
        told["shed"] = sum(v for k, v in every.items() if k in _SHED)
        return told


def measure(kb: Path, rate: float, minutes: float, seed: int) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "kb"
        shutil.copytree(kb, copy, ignore=shutil.ignore_patterns("snapshots", "lock"))
        server, port, _ = started(str(copy))
        try:
            warm = Load(port, seed)
            warm.run(20, 5, 2)
            before = memory_mib(server.pid)
            load = Load(port, seed + 1)
            load.run(rate, minutes * 60, 16)
            after = memory_mib(server.pid)
            rush = Load(port, seed + 2)
            rush.run(rate * 5, 10, 400)
            ended, calm = time.perf_counter(), 0.0
            while not calm and time.perf_counter() - ended < 60:
                begun = time.perf_counter()
                probe = Load(port, seed + 3)
                probe.run(10, 1, 1)
                if probe.found()["all good"]["p95_ms"] < 200 and not probe.found()["shed"]:
                    calm = begun - ended
            return {"rate": rate, "minutes": minutes, "load": round(os.getloadavg()[0], 1), "steady": load.found(),
                    "memory_before": before, "memory_after": after, "five_times": rush.found(),
                    "recovered_seconds": round(calm, 1)}  # fmt: skip
        finally:
            server.terminate()
            server.wait(30)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kb", nargs="?", default="kb", type=Path)
    parser.add_argument("--rate", type=float, default=300.0)
    parser.add_argument("--minutes", type=float, default=1.0)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--json", type=Path)
    chosen = parser.parse_args()
    found = measure(chosen.kb, chosen.rate, chosen.minutes, chosen.seed)
    text = json.dumps(found, ensure_ascii=False, indent=1)
    print(text)
    if chosen.json:
        chosen.json.write_text(text + "\n", "utf-8")
    return 1 if found["steady"]["faults"] else 0


if __name__ == "__main__":
    sys.exit(main())
