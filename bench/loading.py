"""Loading a base with its evidence, beside `oxigraph load` of the same quads, in one run.

python bench/loading.py [KB] [--rounds N]

The base is written as N-Quads once. Then the program `oxigraph` loads that file into an empty folder,
and Shiyi takes the same lines into an empty base as `shiyi ingest` does: journal first, brought to the
disk, then the store. Each has a process and a folder of its own; the best of some rounds is kept, of both.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from itertools import islice
from pathlib import Path
from typing import Any

from shiyi.sparql.generations import build_generation
from shiyi.sparql.knowledge_base import KnowledgeBase
from shiyi.sparql.oxigraph import OxigraphStore

CHUNK = 250_000  # lines taken in as one change


def taken_in(written: Path, folder: Path) -> float:
    """Load the lines through the writer; give the seconds until the store holds and keeps them all."""
    build_generation(folder, (), {})
    with KnowledgeBase.open(folder, write=True) as base, written.open(encoding="utf-8") as lines:
        begun = time.perf_counter()
        for number in range(sys.maxsize):
            chunk = list(islice(lines, CHUNK))
            if not chunk:
                break
            base.writer.load((), key=f"part {number}", who="bench", why="loading", lines=chunk)
        base.writer.settle()
        if isinstance(base.store, OxigraphStore):
            base.store.flush()
        return time.perf_counter() - begun


def raw(written: Path, folder: Path) -> float:
    """Load the file with Oxigraph's own program."""
    program = shutil.which("oxigraph") or str(Path(sys.executable).with_name("oxigraph"))
    begun = time.perf_counter()
    subprocess.run(  # noqa: S603
        [program, "load", "--location", str(folder), "--file", str(written)],
        check=True, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    return time.perf_counter() - begun


def own_process(written: Path, folder: Path) -> float:
    """Let :func:`taken_in` run in a process of its own."""
    told = subprocess.run(  # noqa: S603
        [sys.executable, __file__, "--one", str(written), str(folder)],
        check=True, capture_output=True, text=True,
    )  # fmt: skip
    return float(told.stdout)


def measure(kb: Path, rounds: int) -> dict[str, Any]:
    """Load with both, in turn."""
    with tempfile.TemporaryDirectory() as home:
        written = Path(home) / "base.nq"
        with KnowledgeBase.open(kb) as base, written.open("wb") as out:
            if not isinstance(base.store, OxigraphStore):
                raise SystemExit("the base must lie in a folder")
            base.store.dump(out)
        count = sum(1 for _ in written.open("rb"))
        spent: dict[str, list[float]] = {"oxigraph load": [], "shiyi": []}
        for turn in range(rounds):
            for name, load in (("oxigraph load", raw), ("shiyi", own_process)):
                folder = Path(home) / f"{name.split()[0]}-{turn}"
                folder.mkdir()
                spent[name].append(load(written, folder))
                shutil.rmtree(folder)
        best = {name: min(each) for name, each in spent.items()}
        return {
            "quads": count, "n_quads_mib": round(written.stat().st_size / 2**20, 1),
            "rounds": rounds, "load": round(os.getloadavg()[0], 1),
            **{f"{name}, s": round(each, 2) for name, each in best.items()},
            **{f"{name}, quads/s": round(count / each) for name, each in best.items()},
            "shiyi / oxigraph load": round(best["oxigraph load"] / best["shiyi"], 2),
        }  # fmt: skip


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kb", nargs="?", type=Path, default=Path("kb"))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--one", nargs=2, type=Path, help=argparse.SUPPRESS)
    said = parser.parse_args()
    if said.one:
        print(taken_in(*said.one))
    else:
        print(json.dumps(measure(said.kb, said.rounds)))
