"""Fuzzing led by coverage: ``python -m soak.fuzzing --runs 60000`` fuzzes every target with atheris.

Each target runs in its own process, since atheris ends the one it runs in. Found inputs lie in
``build/fuzz/TARGET``; the figures are merged into ``--json``.
"""

import argparse
import json
import os
import platform
import re
import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

_DONE = re.compile(rb"^Done (\d+) runs", re.MULTILINE)
_COVERED = re.compile(rb"\bcov: (\d+)")


def fuzz(target: str, runs: int, seed: int, seconds: int, home: Path) -> None:
    """Fuzz one target in this process, which ends with it."""
    import atheris

    with atheris.instrument_imports(include=["shiyi"]):
        from soak.fuzzing.targets import SEEDS, try_target

    corpus = home / target
    corpus.mkdir(parents=True, exist_ok=True)
    for number, content in enumerate(SEEDS[target]):
        (corpus / f"seed-{number}").write_bytes(content)
    options = [
        f"-runs={runs}",
        f"-seed={seed}",
        f"-max_total_time={seconds}",
        "-max_len=2048",
        "-timeout=20",
        "-rss_limit_mb=3000",
        f"-artifact_prefix={home / target}-fault-",
        str(corpus),
    ]
    atheris.Setup([sys.argv[0], *options], lambda content: try_target(target, content) and None)
    atheris.Fuzz()


def fuzzed(target: str, runs: int, seed: int, seconds: int, home: Path) -> dict[str, Any]:
    """Fuzz one target in a process of its own; return how much was tried and what went wrong."""
    done = subprocess.run(  # noqa: S603 - our own interpreter
        [
            sys.executable,
            "-m",
            "soak.fuzzing",
            "--target",
            target,
            "--runs",
            str(runs),
            "--seed",
            str(seed),
            "--seconds",
            str(seconds),
            "--home",
            str(home),
        ],
        capture_output=True,
        check=False,
    )
    output = done.stderr + done.stdout
    found, covered = _DONE.search(output), _COVERED.findall(output)
    row: dict[str, Any] = {
        "inputs": int(found[1]) if found else 0,
        "edges": int(covered[-1]) if covered else 0,
        "faults": int(done.returncode != 0 or not found),
    }
    if row["faults"]:
        row["note"] = output[-2500:].decode(errors="replace")
    return row


def main() -> int:
    """Fuzz every target, or one; status 1 where anything was found."""
    parser = argparse.ArgumentParser(prog="python -m soak.fuzzing", description=__doc__)
    parser.add_argument("--target", help="fuzz this one in this process")
    parser.add_argument("--only", default="", help="names of targets, with commas")
    parser.add_argument("--runs", type=int, default=60_000)
    parser.add_argument("--seed", type=int, default=20261121)
    parser.add_argument("--seconds", type=int, default=0, help="of one target at most; 0: all runs")
    parser.add_argument("--home", type=Path, default=Path("build/fuzz"))
    parser.add_argument("--json", type=Path)
    chosen = parser.parse_args()
    if chosen.target:
        fuzz(chosen.target, chosen.runs, chosen.seed, chosen.seconds, chosen.home)
        return 0
    from soak.fuzzing.targets import TARGETS

    names = [name for name in chosen.only.split(",") if name] or list(TARGETS)
    rows, start = {}, time.monotonic()
    for name in names:
        rows[name] = fuzzed(name, chosen.runs, chosen.seed, chosen.seconds, chosen.home)
        sys.stdout.write(f"{name:<12} {json.dumps(rows[name])}\n")
        sys.stdout.flush()
    faults = sum(row["faults"] for row in rows.values())
    if chosen.json:
        reply = json.loads(chosen.json.read_text("utf-8")) if chosen.json.exists() else {}
        reply["fuzzing"] = {
            "targets": rows,
            "inputs": sum(row["inputs"] for row in rows.values()),
            "faults": faults,
            "seconds": round(time.monotonic() - start, 1),
            "seed": chosen.seed,
            "load": round(os.getloadavg()[0], 1),
            "day": f"{datetime.now(UTC):%Y-%m-%d}",
            "python": platform.python_version(),
        }
        chosen.json.parent.mkdir(parents=True, exist_ok=True)
        text = json.dumps(reply, indent=1, ensure_ascii=False, sort_keys=True)
        chosen.json.write_text(text + "\n", "utf-8")
    return int(faults > 0)


if __name__ == "__main__":
    sys.exit(main())
