"""Run every benchmark in its small form: `python bench/run.py [--kb kb] [--only NAME,…] [--long] [--list]`.

Each runs in a process of its own, for at most five minutes (`--long`: the sizes of the papers, two
hours). What it printed is stored in bench/results/figures/NAME.json with the machine, the day, the load
before and after, the cores that other programs took in the meantime and the seconds it took; `python docs/make/performance.py` writes the page from them.
A benchmark that fails or runs out of time is stored as such, and the exit status is 1.
"""

import argparse
import json
import os
import platform
import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

HERE: Final = Path(__file__).parent
SHORT_S, LONG_S = 300, 7200
QUIET: Final = 0.2  # cores that others took, up to which a figure counts as measured in quiet
KB: Final = "{kb}"  # where the base's folder stands among the arguments


@dataclass(frozen=True)
class Benchmark:
    """A benchmark, and its arguments in the small and in the long form (none: not run)."""

    name: str
    script: str
    short: tuple[str, ...] | None = ()
    long: tuple[str, ...] | None = None


BENCHES: Final = (
    Benchmark("hubs", "hubs.py", ("--sizes", "29292,334265", "--rounds", "5"),
          ("--sizes", "29292,334265,3500000")),
    Benchmark("ask", "ask.py", (KB, "--rounds", "3"), (KB,)),
    Benchmark("ask-yaoshi", "ask.py", (KB, "--size", "yaoshi", "--rounds", "2"), (KB, "--size",
    "yaoshi")),
    Benchmark("ask-idisk", "ask.py", None, (KB, "--size", "idisk", "--rounds", "4")),
    Benchmark("methods", "methods.py", (KB, "fused", "paths", "spot"), (KB,)),
    Benchmark("texts", "texts.py", (KB,), (KB,)),
    Benchmark("build", "build.py", ()),
    Benchmark("loading", "loading.py", (KB, "--rounds", "1"), (KB,)),
    Benchmark("validating", "validating.py", (KB,), (KB, "--size", "idisk")),
    Benchmark("reasoning", "reasoning.py"),
    Benchmark("linking", "linking.py", ("--strings", "10000")),
    Benchmark("vectors", "vectors.py", ("--vectors", "20000", "--exact", "20000", "--queries", "200"),
    ()),
    Benchmark("umls", "umls.py", ("--lines", "100000"), ("--lines", "10000000")),
    Benchmark("quickumls", "quickumls.py", ("--names", "20000", "--sentences", "100"), ()),
    Benchmark("ingest", "ingest.py", ("--made", "3")),
    Benchmark("ingest-tables", "ingest_tables.py", ("--rows", "20000"), ()),
    Benchmark("sparql", "sparql.py", (KB, "--seconds", "2"), (KB,)),
    Benchmark("serving", "serving.py", (KB, "--requests", "30"), (KB,)),
    Benchmark("publishing", "publishing.py", (KB,), (KB, "--size", "idisk")),
    Benchmark("curation", "curation.py", ("5000", "200"), ()),
    Benchmark("beside", "beside.py", (KB, "--focus", "100", "--asked", "100"), (KB,)),
    Benchmark("scaling", "scaling.py", ("--kb", KB, "--copies", "1,2"), ("--kb", KB)),
)  # fmt: skip
APART: Final = {  # these are no figures of speed, or need what is not here
    "precision.py": "judged by hand",
    "llm_soak.py": "needs the fault server", "grown.py": "a module", "made_up.py": "a module",
    "run.py": "this",
    "load.py": "needs a server under way", "crowd.py": "a module", "footprint.py": "a module",
    "web.py": "needs a browser", "axe.py": "needs a browser",
}  # fmt: skip


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kb", default="kb")
    parser.add_argument("--only", default="")
    parser.add_argument("--long", action="store_true")
    parser.add_argument("--list", action="store_true")
    result = parser.parse_args()
    unnamed = {path.name for path in HERE.glob("*.py")} - {b.script for b in BENCHES} - set(APART)
    if unnamed:
        print(
            f"not run, since bench/run.py does not list it: {', '.join(sorted(unnamed))}",
            file=sys.stderr,
        )
    benchmarks = [b for b in BENCHES if not result.only or b.name in result.only.split(",")]
    failed = 0
    for bench in benchmarks:
        arguments = bench.short
        if result.long:
            arguments = bench.short if bench.long is None else bench.long
        if arguments is None:
            continue
        if result.list:
            print(bench.name, bench.script, *arguments)
            continue
        text = ran(
            bench,
            [argument.replace(KB, result.kb) for argument in arguments],
            LONG_S if result.long else SHORT_S,
        )
        failed += text["status"] != "ran"
        print(f"{bench.name}: {text['status']} in {text['seconds']} s, load {text['load_before']}")
    return 1 if failed else 0


def ran(bench: Benchmark, arguments: list[str], most: int) -> dict[str, Any]:
    """Run one benchmark and keep what it printed."""
    before, started, busy = os.getloadavg()[0], time.monotonic(), busy_seconds()
    spent = resource.getrusage(resource.RUSAGE_CHILDREN)
    # its own group, so that what it started ends with it
    process = subprocess.Popen(  # noqa: S603 - our own scripts
        [sys.executable, str(HERE / bench.script), *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env={"OPENBLAS_NUM_THREADS": "1", **os.environ},  # as `shiyi` and its processes have it
    )
    try:
        out, err = process.communicate(timeout=most)
        status = "ran" if process.returncode == 0 else f"failed with {process.returncode}"
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, 15)
        out, err = process.communicate()
        status = f"took more than {most} s"
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds, own = time.monotonic() - started, processor_seconds(after) - processor_seconds(spent)
    others = max(0.0, busy_seconds() - busy - own) / seconds
    values: dict[str, Any] = {
        "name": bench.name,
        "arguments": arguments,
        "status": status,
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
        "machine": machine(),
        "seconds": round(seconds, 1),
        "cpu_seconds": round(own, 1),
        "others": round(others, 2),
        "load_before": round(before, 1),
        "load_after": round(os.getloadavg()[0], 1),
        "quiet": others <= QUIET,
        "rows": list(objects(out)),
        "printed": out[-4000:],
        "complaint": err[-1000:] if status != "ran" else "",
    }
    folder = HERE / "results" / "figures"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{bench.name}.json").write_text(
        json.dumps(values, ensure_ascii=False, indent=1) + "\n", "utf-8"
    )
    return values


def processor_seconds(spent: resource.struct_rusage) -> float:
    """Return the processor seconds."""
    return spent.ru_utime + spent.ru_stime


def busy_seconds() -> float:
    """Return the seconds that any processor was busy since the machine started, for whomever."""
    user, nice, system, _idle, _wait, *rest = map(int, Path("/proc/stat").read_text().split()[1:9])
    return (user + nice + system + sum(rest)) / os.sysconf("SC_CLK_TCK")


def machine() -> dict[str, Any]:
    """Return what the figures were measured on."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return {
        "cores": os.cpu_count(),
        "memory_gib": round(memory),
        "processor": platform.machine(),
        "system": platform.system(),
        "python": platform.python_version(),
    }


def objects(text: str) -> Iterator[dict[str, Any]]:
    """Find the JSON objects among what was printed."""
    decoder, at = json.JSONDecoder(), 0
    while (at := text.find("{", at)) >= 0:
        try:
            found, at = decoder.raw_decode(text, at)
        except ValueError:
            at += 1
            continue
        yield found


if __name__ == "__main__":
    sys.exit(main())
