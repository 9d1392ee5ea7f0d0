"""What one request of each kind costs the processor, and one of the mix of bench/load.py.

python bench/costs.py [KB] [--requests 1500] [--rate 250] [--json FILE]

Serves a copy of KB from one process of gunicorn, asks it for one kind after the other, each warm, and
adds up the time that the processor gave to the reader, to its query workers and to the client. It
hardly matters what else the machine does: time without the processor does not count.
"""

import argparse
import asyncio
import json
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from itertools import chain, cycle
from pathlib import Path
from typing import Final

import psutil
from crowd import Crowd
from load import Mix, served
from serving import QUESTIONS

Request = tuple[str, str]
# of the mix; of its pages about every sixth is made anew in the first minutes of a reader
_SHARES: Final = {
    "page": 0.5, "page made": 0.1, "kept query": 0.12, "new query": 0.12, "search": 0.1,
    "question": 0.025, "question made": 0.025, "hostile": 0.01,
}  # fmt: skip
_SEEN: Final = 400  # pages that are asked for again


def kinds(mix: Mix, many: int) -> Iterator[tuple[str, list[Request], list[Request]]]:
    """Yield each kind, what warms it, and what is measured."""
    drawn: dict[str, list[Request]] = {}
    while min((len(each) for each in drawn.values()), default=0) < many // 10 or len(drawn) < 6:
        request = mix.draw()
        drawn.setdefault(request[0], []).append(request)
    pages = list(dict.fromkeys(drawn["page"]))
    asked = list(dict.fromkeys(drawn["question"]))
    common = [each for each in asked if _is_common(each)]
    yield "page made", pages[:10], pages[10:][:many]
    yield "page", pages[:_SEEN], _often(pages[:_SEEN], many)
    for kind in ("kept query", "search"):
        yield kind, list(dict.fromkeys(drawn[kind])), _often(drawn[kind], many)
    yield "new query", drawn["new query"][:10], drawn["new query"][10:][:many]
    yield "question", common, _often(common, many)
    yield "question made", asked[:10], [each for each in asked[10:] if not _is_common(each)][:many]
    yield "hostile", [], drawn["hostile"][: many // 10]


def _is_common(request: Request) -> bool:
    from urllib.parse import quote

    return any(request[1].endswith(quote(each)) for each in QUESTIONS)


def _often(requests: list[Request], many: int) -> list[Request]:
    again = cycle(requests)
    return [next(again) for _ in range(many)]


def spent(reader: psutil.Process) -> tuple[float, float]:
    """Give the seconds of processor of a reader, and of its workers, those that ended too."""
    own, workers = 0.0, 0.0
    for process in reader.children():
        times = process.cpu_times()
        own += times.user + times.system
        workers += times.children_user + times.children_system
        for worker in process.children(recursive=True):
            with suppress(psutil.NoSuchProcess):
                workers += sum(worker.cpu_times()[:4])
    return own, workers


async def measure(
    port: int, reader: psutil.Process, mix: Mix, many: int, rate: float
) -> dict[str, dict[str, float]]:
    """Ask for one kind after the other."""
    found: dict[str, dict[str, float]] = {}
    for kind, before, asked in kinds(mix, many):
        drawn = chain(before, asked)
        crowd = Crowd(port, lambda drawn=drawn: next(drawn))  # type: ignore[misc] # bound now
        slow = rate / 10 if kind in {"hostile", "question made", "page made"} else rate
        await crowd.run(slow, len(before) / slow)
        at, own = spent(reader), time.process_time()
        seen = await crowd.run(slow, len(asked) / slow)
        crowd.close()
        client, (read, worked) = time.process_time() - own, spent(reader)
        told, n = seen.told(), len(asked) / 1000
        found[kind] = {
            "n": len(asked), "reader_ms": round((read - at[0]) / n, 3),
            "workers_ms": round((worked - at[1]) / n, 3), "client_ms": round(client / n, 3),
            "shed": told["shed"], "faults": told["faults"],
        }  # fmt: skip
        print(f"{kind:14}", found[kind], file=sys.stderr, flush=True)
    found["mix"] = {
        each: round(sum(found[kind][each] * share for kind, share in _SHARES.items()), 3)
        for each in ("reader_ms", "workers_ms", "client_ms")
    }
    return found


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("kb", nargs="?", default="kb", type=Path)
    parser.add_argument("--requests", type=int, default=1500)
    parser.add_argument("--rate", type=float, default=250.0)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--json", type=Path)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "kb"
        shutil.copytree(chosen.kb, copy, ignore=shutil.ignore_patterns("snapshots", "lock"))
        mix = Mix(copy, chosen.seed)
        with served(copy, 1) as server:
            assert server.readers is not None  # noqa: S101 - one was asked for
            time.sleep(10)  # what is made at the start is not counted
            found = asyncio.run(
                measure(server.port, server.readers, mix, chosen.requests, chosen.rate)
            )
    written = json.dumps(found, indent=1)
    print(written)
    if chosen.json:
        chosen.json.write_text(written + "\n", "utf-8")


if __name__ == "__main__":
    main()
