"""Loading a base with its evidence, beside `oxigraph load` of the same quads, in one run.

python bench/loading.py [KB] [--rounds N] [--size starter|yaoshi|idisk|chain]

The base, grown to a size, is written as N-Quads once. Then the program `oxigraph` loads that file
into an empty folder, and Shiyi takes the same lines into an empty base as `shiyi ingest` does: journal
first, brought to the disk, then the store. Each has a process and a folder of its own; the best of some
rounds is stored, of both. ``--keep FOLDER`` leaves what Shiyi loaded last there as the grown base that the
other benchmarks open.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, Final

from grown import SIZES, adopt_base, chunks, report_step

from shiyi.sparql.base.knowledge_base import KnowledgeBase, build_generation
from shiyi.sparql.store.oxigraph import OxigraphStore

CHUNK = 250_000  # lines taken in as one change


def load_lines(written: Path, folder: Path) -> float:
    """Load the lines through the writer; return the seconds until the store holds and keeps them all."""
    build_generation(folder, (), {})
    with KnowledgeBase.open(folder, write=True) as base, written.open(encoding="utf-8") as lines:
        begun = time.perf_counter()
        for number in range(sys.maxsize):
            chunk = list(islice(lines, CHUNK))
            if not chunk:
                break
            base.writer.load((), key=f"part {number}", agent="bench", reason="loading", lines=chunk)
        base.writer.wait()
        if isinstance(base.store, OxigraphStore):
            base.store.flush()
        return time.perf_counter() - begun


@dataclass(frozen=True, slots=True)
class ResourceUse:
    """What a process took: seconds of the work, seconds of processors, MiB at most."""

    seconds: float
    processor: float
    peak: float


def raw(written: Path, folder: Path) -> ResourceUse:
    """Load the file with Oxigraph's own program."""
    program = shutil.which("oxigraph") or str(Path(sys.executable).with_name("oxigraph"))
    return ran([program, "load", "--location", str(folder), "--file", str(written)])[1]


def run_in_process(written: Path, folder: Path) -> ResourceUse:
    """Run :func:`load_lines` in a process of its own."""
    message, spent = ran([sys.executable, __file__, "--one", str(written), str(folder)])
    return replace(spent, seconds=float(message))


LOADERS: Final = {"oxigraph load": raw, "shiyi": run_in_process}


def ran(words: list[str]) -> tuple[str, ResourceUse]:
    """Run a program; return what it printed and what it took."""
    begun, peak = time.perf_counter(), 0.0
    with (
        tempfile.TemporaryFile("w+") as out,
        subprocess.Popen(words, stdout=out, stderr=subprocess.DEVNULL) as process,  # noqa: S603
    ):
        status = Path(
            f"/proc/{process.pid}/status"
        )  # what the system tells at the end is Shiyi's too
        while not (ended := os.wait4(process.pid, os.WNOHANG))[0]:
            text = [line for line in status.read_text().splitlines() if line.startswith("VmHWM")]
            peak = max(peak, *(int(line.split()[1]) / 1024 for line in text), 0.0)
            time.sleep(0.05)
        _, code, used = ended
        process.returncode = os.waitstatus_to_exitcode(code)
        if process.returncode:
            raise SystemExit(f"{words[:3]} ended with {process.returncode}")
        out.seek(0)
        seconds = time.perf_counter() - begun
        return out.read(), ResourceUse(seconds, used.ru_utime + used.ru_stime, peak)


def measure(kb: Path, text: argparse.Namespace) -> dict[str, Any]:
    """Load with each, in turn."""
    relations, concepts = SIZES.get(text.size, (0, 0))
    with tempfile.TemporaryDirectory(dir=text.keep) as home, KnowledgeBase.open(kb) as base:
        written = text.lines or Path(home) / "base.nq"
        if not written.exists():
            with report_step("write"), written.open("wb") as out:
                out.writelines(chunks(base, relations, concepts))
        with written.open("rb") as lines:
            count = sum(block.count(b"\n") for block in iter(partial(lines.read, 1 << 20), b""))
        spent: dict[str, list[ResourceUse]] = {name: [] for name in text.only.split(",")}
        disk: dict[str, float] = {}
        for turn in range(text.rounds):
            for name, uses in spent.items():
                folder = Path(home) / f"{name.split()[0]}-{turn}"
                folder.mkdir()
                with report_step(name):
                    uses.append(LOADERS[name](written, folder))
                disk[name] = sum(path.stat().st_size for path in folder.rglob("*.sst"))
                if name == "shiyi" and text.keep and turn == text.rounds - 1:
                    adopt_base(folder, base, relations, concepts, text.keep)
                else:
                    shutil.rmtree(folder)
        best = {name: min(group, key=lambda use: use.seconds) for name, group in spent.items()}
        return {
            "size": text.size,
            "quads": count,
            "n_quads_mib": round(written.stat().st_size / 2**20, 1),
            "rounds": text.rounds,
            "load": round(os.getloadavg()[0], 1),
            **{f"{name}, s": round(use.seconds, 2) for name, use in best.items()},
            **{f"{name}, processor s": round(use.processor, 2) for name, use in best.items()},
            **{f"{name}, quads/s": round(count / use.seconds) for name, use in best.items()},
            **{f"{name}, MiB at most": round(use.peak) for name, use in best.items()},
            **{f"{name}, MB of tables": round(each / 1e6) for name, each in disk.items()},
            **(
                {
                    "shiyi / oxigraph load": round(
                        best["oxigraph load"].seconds / best["shiyi"].seconds, 2
                    )
                }
                if len(best) == 2
                else {}
            ),
        }


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kb", nargs="?", type=Path, default=Path("kb"))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--size", choices=("starter", *SIZES), default="starter")
    parser.add_argument("--only", default=",".join(LOADERS))
    parser.add_argument("--lines", type=Path, help="where the lines lie, or are left")
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--one", nargs=2, type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        print(load_lines(*options.one))
    else:
        print(json.dumps(measure(options.kb, options)))
