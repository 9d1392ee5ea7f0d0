"""Fill the figures of bench/tables/testing.md from bench/tables/testing-figures.json and from the tests themselves.

python docs/make/testing.py [build/soak.json …] merges the JSON of runs into the figures first.
"""

import json
import re
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
Run = dict[str, Any]
Figures = dict[str, Run]
Row = tuple[object, ...]
_DAY = 50 * 86_400  # requests
PAGE, FIGURES = ROOT / "bench/tables/testing.md", ROOT / "bench/tables/testing-figures.json"


def lines(folder: Path, kinds: str = "*.py") -> int:
    """Count lines of code files beneath a folder."""
    return sum(len(path.read_text("utf-8").splitlines()) for path in folder.rglob(kinds))


def counts() -> str:
    """Return how much there is of code and of tests."""
    code, tests = lines(ROOT / "src"), lines(ROOT / "tests")
    files = [*(ROOT / "tests").rglob("test_*.py")]
    named = sum(
        len(re.findall(r"^\s*def test_", path.read_text("utf-8"), re.MULTILINE)) for path in files
    )
    return (
        f"{code:,} lines of code, {tests:,} lines of tests in {len(files)} files with {named:,} "
        "test functions, many of which run for each of a list of cases."
    )


def runs(figures: Figures) -> str:
    """Return a table of kills, power cuts and concurrent curators."""
    chosen = {
        name: run for name, run in figures.items() if {"kills", "cuts", "curators"} & run.keys()
    }
    head = ("run", "amount", "acknowledged", "lost", "torn", "doubled", "seconds", "day, load")
    rows = [
        (
            name,
            _amount(run),
            f"{run.get('acknowledged', run.get('decided', 0)):,}",
            run.get("lost", 0),
            run.get("torn", "–"),
            run.get("doubled", "–"),
            run["seconds"],
            f"{run['day']}, {run['load']}",
        )
        for name, run in chosen.items()
    ]
    kills = sum(run.get("kills", 0) for run in chosen.values())
    slowest = max((run.get("slowest_check", 0.0) for run in chosen.values()), default=0.0)
    return (
        f"{_table(head, rows)}\n\n{kills:,} kills in all; the base was open again and checked "
        f"after {slowest} s at most."
    )


def _amount(run: Run) -> str:
    if "kills" in run:
        return f"{run['kills']} kills"
    if "cuts" in run:
        return f"{run['cuts']} cuts"
    order = "same as in sequence" if run.get("serial", True) else "NOT the same as in sequence"
    return f"{run['curators']} at once, {run['items']} claims; {order}"


def loads(figures: Figures) -> str:
    """Return the tables of load, memory and hostile requests."""
    rows = [
        _load(name, figures[name])
        for name in ("load", "peak", "endurance", "day", "day and back", "whole day")
        if name in figures
    ]
    head = (
        "load", "requests/s", "minutes", "servers", "updates", "p50, p95, p99 ms", "answered",
        "refused", "of good ones beside hostile ones answered", "faults", "memory, MiB: 1 min, 5 min, end", "load of the machine",
    )  # fmt: skip
    text = _table(head, rows)
    hostile = [figures[name] for name in ("hostile requests", "hostile crowd") if name in figures]
    head = (
        "hostile requests", "addresses", "kinds", "faults", "slowest, s", "later than 1 s",
        "good ones beside them", "of these refused", "growth, MiB", "seconds, load",
    )  # fmt: skip
    return f"{text}\n\n{_table(head, map(_hostile, hostile))}"


def _load(name: str, run: Run) -> Row:
    steady, good = run["steady"], run["steady"]["all good"]
    sizes = [row["writer_mib"] + row["readers_mib"] for row in run.get("by_minute", ())]
    chosen = [sizes[0], sizes[min(4, len(sizes) - 1)], sizes[-1]] if sizes else []
    return (
        name,
        f"{run['rate']:,.0f}",
        f"{run['minutes']:g}",
        f"writer and {run['readers']} readers" if run["readers"] else "one",
        f"{run['writes']:,}",
        f"{good['p50_ms']}, {good['p95_ms']}, {good['p99_ms']}",
        f"{steady['answered']:,}",
        f"{steady['shed']:,}",
        f"{steady['good beside hostile']['answered']:.1%}"
        if "good beside hostile" in steady
        else "–",
        steady["faults"],
        ", ".join(f"{size:.0f}" for size in chosen) or "–",
        run["load"],
    )


def _hostile(run: Run) -> Row:
    return (
        f"{run['requests']:,}",
        f"{run['addresses']:,}",
        run["kinds"],
        run["faults"],
        run["slowest"],
        run["late"],
        f"{run['good']:,}",
        run["good_failed"],
        ", ".join(map(str, run["grown_mib_by_quarter"])),
        f"{run['seconds']}, {run['load']}",
    )


def other_figures(figures: Figures) -> str:
    """Return a table of recovery, safety, model faults, de-identification and fuzzing."""
    rows = [row(figures[name]) for name, row in OTHERS.items() if name in figures]
    rows += [_calls(run) for name, run in figures.items() if name.startswith("system calls: ")]
    return _table(("run", "input", "result", "seconds", "load of the machine"), rows)


def _recovery(run: Run) -> Row:
    return (
        "recovery of a base from backup and journal",
        f"{run['quads']:,} quads, 100 changes after the backup",
        f"{run['lost']} changes lost; hash of all quads {'differs' if run['torn'] else 'the same'}",
        f"backup {run['backup_seconds']}, back {run['back_seconds']}",
        run["load"],
    )


def _safety(run: Run) -> Row:
    return (
        "safety of answers",
        (
            f"{run['questions']:,} questions over {run['situations']:,} situations of release "
            f"`{run['release'][:15]}…`, and {run['written_by_hand']:,} hand-written cases"
        ),
        f"{run['unsafe']:,} without the warning, with an unsupported dose, or without a basis",
        run["seconds"],
        run["load"],
    )


def _model(run: Run) -> Row:
    names = ("twice", "not verbatim", "parked with facts", "reason with the key")
    wrong = sum(run.get(name, 0) for name in names)
    return (
        "failing language model",
        (
            f"{run['calls']:,} calls, {run['rate']:.0%} of which fail; {run['passages']:,} "
            f"passages; seed {run['seed']}"
        ),
        (
            f"{run['facts']:,} facts, {run['lost']} lost, {wrong} double, not verbatim, of a "
            f"parked passage or with the key; at most {run['peak_mib']} MiB"
        ),
        run["seconds"],
        run["load"],
    )


def _names(run: Run) -> Row:
    return (
        "de-identification",
        (
            f"{run['cases']:,} made-up cases with {run['identifiers']:,} identifiers; seeds "
            f"{', '.join(map(str, run['seeds']))}"
        ),
        (
            f"{run['left']:,} left; {run['found']} of {run['searched_for']:,} found in "
            f"{run['searched_mib']} MiB of a base with {run['read_in']:,} of them, logs and output"
        ),
        run["seconds"],
        run["load"],
    )


def _fuzzing(run: Run) -> Row:
    return (
        "coverage-guided fuzzing (atheris)",
        f"{run['inputs']:,} inputs to {len(run['targets'])} parsers; seed {run['seed']}",
        f"{run['faults']} faults",
        run["seconds"],
        run["load"],
    )


def _api(run: Run) -> Row:
    return (
        "requests from the OpenAPI description (schemathesis)",
        f"{run['inputs']:,} to {run['operations']} operations; seed {run['seed']}",
        f"{run['faults']} replies with 500 or not as described, 0 quads changed",
        run.get("seconds", "–"),
        run.get("load", "–"),
    )


def _damage(run: Run) -> Row:
    return (
        f"damage; seed {run['seed']}",
        f"each of {run['files']} files lost, {run['bits']:,} single bits flipped over all files",
        (
            f"{run['found'] + run['refused']:,} found, with the next command; {run['harmless']:,} "
            f"harmless; {run['unseen']} unseen"
        ),
        run["seconds"],
        run["load"],
    )


def _histories(run: Run) -> Row:
    return (
        f"histories of updates and reads; seed {run['seed']}",
        f"{', '.join(f'{count} {event}' for event, count in run['events'].items())}",
        (
            f"{run['added']:,} updates and {run['reads']:,} reads, {run['lost']} lost, "
            f"{run['faults']} not linearizable"
        ),
        run["seconds"],
        run["load"],
    )


def _calls(run: Run) -> Row:
    return (
        f"failing system calls; seed {run['seed']}",
        f"{run['stage']}: {run['cases']:,} calls, {run['met']:,} of which failed",
        ", ".join(f"{run[name]} {name}" for name in ("stuck", "lost", "torn", "doubled")),
        run["seconds"],
        run["load"],
    )


OTHERS: dict[str, Callable[[Run], Row]] = {
    "way back": _recovery,
    "safety": _safety,
    "model faults": _model,
    "names removed": _names,
    "damage": _damage,
    "histories": _histories,
    "fuzzing": _fuzzing,
    "api fuzzing": _api,
}


def _table(head: Row, rows: Iterable[Row]) -> str:
    lines = [head, ("---",) * len(head), *rows]
    return "\n".join(f"| {' | '.join(map(str, row))} |" for row in lines)


def _named(run: dict[str, Any]) -> str:
    """Name a run of bench/load.py by what it is for."""
    if run["rate"] * run["minutes"] * 60 >= _DAY:
        return "whole day"
    if run["writes"] > 60 * run["minutes"]:
        return "day and back" if run["back"] else "day"
    if run["rate"] < 100:
        return "endurance"
    return "peak" if run["rate"] >= 1000 else "load"


def main() -> None:
    """Merge the JSON of runs into the figures, and fill the page."""
    figures = json.loads(FIGURES.read_text("utf-8")) if FIGURES.exists() else {}
    for name in sys.argv[1:]:
        result = json.loads(Path(name).read_text("utf-8"))
        figures |= {_named(result): result} if "steady" in result else result
    text = json.dumps(figures, indent=1, ensure_ascii=False, sort_keys=True)
    FIGURES.write_text(f"{text}\n", "utf-8")
    page = PAGE.read_text("utf-8")
    sections = {
        "counts": counts(),
        "runs": runs(figures),
        "loads": loads(figures),
        "others": other_figures(figures),
    }
    for mark, section in sections.items():
        start, end = f"<!-- {mark} -->\n", "<!-- end -->"
        before, _, rest = page.partition(start)
        page = f"{before}{start}{section}\n{end}{rest.partition(end)[2]}"
    PAGE.write_text(page, "utf-8")


if __name__ == "__main__":
    main()
