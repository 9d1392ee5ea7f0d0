"""Build the starter base from nothing: seconds and peak memory of each part, disk used."""

import argparse
import json
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]


def shiyi(*words: str) -> float:
    """Run one command; return its seconds."""
    started = time.perf_counter()
    subprocess.run([sys.executable, "-m", "shiyi", *words], check=True, cwd=ROOT)  # noqa: S603
    return time.perf_counter() - started


def main() -> None:
    """Measure once; print a table, and each row as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.parse_args()
    folder = Path(tempfile.mkdtemp())
    try:
        figures = {
            "build_seconds": shiyi("--kb", str(folder / "kb"), "build"),
            "check_seconds": shiyi("build", "--check"),
            "validate_seconds": shiyi("--kb", str(folder / "kb"), "validate"),
            "owl_seconds": shiyi("reason", "owl"),
            "help_seconds": shiyi("--help"),
        }
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        figures["peak_child_mib"] = usage.ru_maxrss / 1024
        disk = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
        figures["disk_mib"] = disk / 2**20
    finally:
        shutil.rmtree(folder)
    for name, value in figures.items():
        print(f"{name:<18} {value:10.2f}")
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
