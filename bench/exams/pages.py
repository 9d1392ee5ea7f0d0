"""Write bench/tables/: `python bench/exams/pages.py [--kb kb] [--data DIR] [--out DIR] [--limit N] [--jobs N]`.

DIR holds the benchmark folders (default ../shared/data/benchmarks); what is not there is left out.
Each run is stored in bench/results/runs by release, settings and files: a second call goes on where the
first stopped. `--quick` measures 10 items a cell, into bench/results/quick. `--books` names a base that
the ancient books were read into; `make evaluate` makes one in bench/results/books where they are there.
"""

import argparse
import json
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from plan import (
    ALL,
    ANSWERING,
    BOOK_SWITCHES,
    CASES,
    DIAGNOSIS,
    EXAM,
    MADE,
    READING,
    RETRIEVING,
    SOURCES,
    SWEEPS,
    SWITCHED_RUNS,
    TRAIN,
    WITHHELD,
)
from runs import Asked, SharedBase, measure_in_process
from tables import bars, command, curves, named, section, switched

from shiyi.cli.terminal import ProgressBar
from shiyi.evaluation.bench import Request
from shiyi.evaluation.questions.safety import FROM_CLAIMS as CLAIMS
from shiyi.evaluation.report import Report

ROOT = Path(__file__).parents[2]
HEAD = """# {title}

Development figures of release `{release}`, seed 0, no language model; written by `make evaluate`, the load of the machine {load}.
Brackets hold the 95 % bootstrap interval (1,000 resamples). `p` compares a method with the first column
on the same items (exact McNemar for right or wrong, else paired bootstrap). File names are relative to the
data folder; [how to evaluate](../../docs/how-to/evaluation.md) explains the columns and figures.
"""


class Writer:
    """Runs requests over one base and gathers the pages; ``planning``, it only lists the requests."""

    def __init__(self, bases: SharedBase, data: Path, out: Path, limit: int | None) -> None:
        self.bases, self.data, self.out, self.limit = bases, data, out, limit
        self.release = bases.base.release
        self.lines: list[dict[str, Any]] = []
        self.planning, self.only_stored = True, False
        self.wanted: list[Asked] = []

    def run(self, task: str, file: str, methods: Sequence[str], **more: Any) -> Report | None:
        """Measure, where the file is there."""
        made = file == CLAIMS or file.startswith("source:")
        place = file if made else str(self._place(file))
        train = tuple(self.data / item for item in more.pop("train", ()))
        missing = [p for p in (*(() if made else (Path(place),)), *train) if not p.is_file()]
        if missing:
            print(f"left out: {missing[0]} is not there", file=sys.stderr)
            return None
        if place.startswith("source:"):
            more["without"] = (place.removeprefix("source:"),)
        limit, (name, value) = more.pop("limit", None), more.pop("swept", ("", 0.0))
        least = min((n for n in (limit, self.limit) if n), default=None)
        asked = Request(task, place, train, tuple(methods), limit=least, **more), name, value
        if self.planning:
            self.wanted.append(asked)
            return None
        report = self.bases.stored(asked) if self.only_stored else self.bases.measure(asked)
        if report is None:
            return None
        self.lines += [record | {"file": file} for record in report.to_json()]
        return report

    def _place(self, file: str) -> Path:
        return ROOT / file if file.startswith("tests/") else self.data / file

    def page(self, name: str, title: str, parts: Sequence[str]) -> None:
        """Write one page of sections."""
        if self.planning:
            return
        text = (
            HEAD.format(title=title, release=self.release, load=round(os.getloadavg()[2], 1))
            + "\n"
            + "\n".join(parts)
        )
        (self.out / f"{name}.md").write_text(text.rstrip() + "\n", "utf-8")

    def plot(self, name: str, svg: str) -> str:
        """Write a plot and give the Markdown that shows it."""
        (self.out / f"{name}.svg").write_text(svg, "utf-8")
        return f"![{name}]({name}.svg)\n"


def plot(writer: Writer, name: str, title: str, report: Report, metric: str) -> str:
    rows = []
    for run in report.runs:
        m = report.metrics(run).get(metric)
        if m:
            rows.append((run.method, m.value, m.low, m.high))
    return writer.plot(name, bars(f"{title}: {metric}", rows))


def exam(w: Writer, page: str, name: str, file: str, methods: Sequence[str]) -> list[str]:
    """Write one file of questions with options, with a plot of the two largest."""
    report = w.run("mcq", file, methods)
    if not report:
        return []
    shown = [plot(w, f"{page}-{name}", file, report, "accuracy")] * (name in {"ed-a", "ed-b"})
    return [section(file, report), *shown]


def choices(w: Writer) -> None:
    parts = []
    for name, file in (
        ("ed-a", "mtcmb-dev/TCM-ED-A.jsonl"),
        ("ed-b", "mtcmb-dev/TCM-ED-B.jsonl"),
        ("se-b", "mtcmb-dev/TCM-SE-B.jsonl"),
        ("cmmlu-tcm", "cmmlu-dev/traditional_chinese_medicine_dev.csv"),
        ("cmmlu-nutrition", "cmmlu-dev/nutrition_test.csv"),
        ("cmmlu-food", "cmmlu-dev/food_science_test.csv"),
        ("cmmlu-culture", "cmmlu-dev/chinese_food_culture_test.csv"),
    ):
        parts += exam(w, "mcq", name, file, ALL)
    report = w.run("mcq", "mtcmb-dev/TCM-ED-A.jsonl", ANSWERING)
    if report:
        parts.append(section("mtcmb-dev/TCM-ED-A.jsonl", report))
        parts.append(plot(w, "mcq-answering", "TCM-ED-A", report, "accuracy"))
    w.page("choices", "Multiple choice", parts)


def books(w: Writer) -> None:
    """Write what passages of ingested books add; over a base of its own."""
    parts = [
        "Over the same release with the ancient books read into it (`shiyi ingest books`): `fused` also adds how much oftener than by chance words of option and stem stand in one passage (`passages`); `bm25-passages` is the passage that best matches both. The commands take `--kb bench/results/books`, the base that `make evaluate` makes of the starter base and the books.\n"
    ]
    for name, file in (
        ("ed-a", EXAM),
        ("ed-b", "mtcmb-dev/TCM-ED-B.jsonl"),
        ("se-b", "mtcmb-dev/TCM-SE-B.jsonl"),
        ("cmmlu-nutrition", "cmmlu-dev/nutrition_test.csv"),
        ("cmmlu-culture", "cmmlu-dev/chinese_food_culture_test.csv"),
    ):
        parts += exam(w, "books", name, file, READING)
    for name, file, train in (("tcmeval", CASES, (TRAIN,)), ("diagnosis", DIAGNOSIS, ())):
        report = w.run("syndrome", file, READING, train=train)
        if report:
            parts.append(section(file, report))
            parts.append(plot(w, f"books-{name}", file, report, "top1"))
    for task, file, metric, learnt, methods in BOOK_SWITCHES:
        parts += switches(w, task, file, metric, learnt, methods)
    w.page("books", "With the ancient books", parts)


def generated(w: Writer) -> None:
    parts = []
    only = ("accuracy", "accuracy_if_guessed", "abstained", "base_rate_true")
    for source in SOURCES:
        for task in ("truefalse", "mcq"):
            report = w.run(
                task, f"source:{source}", ("fused", "neighbourhood", "bm25", "none"), limit=WITHHELD
            )
            if report:
                parts.append(section(f"source:{source}", report, only))
    w.page("generated", "Questions made from a source, that source withheld", parts)


def claims(w: Writer) -> None:
    parts = []
    for task, methods, limit in (
        ("retrieval", RETRIEVING, MADE),
        ("mcq", (*ALL, "layers", "therapy"), MADE),
        (
            "recommend",
            ("fused", "paths", "neighbourhood", "bm25", "tfidf", "random-paths", "none"),
            MADE,
        ),
    ):
        report = w.run(task, CLAIMS, methods, limit=limit)
        if report:
            parts.append(section(CLAIMS, report))
            metric = {"retrieval": "context_recall", "mcq": "accuracy", "recommend": "p@5"}[task]
            parts.append(plot(w, f"claims-{task}", task, report, metric))
    w.page("claims", "Questions made from claims of the base", parts)


def cases(w: Writer) -> None:
    parts = []
    report = w.run("syndrome", CASES, ALL, train=(TRAIN,))
    if report:
        parts += [section(CASES, report), plot(w, "tcmeval", CASES, report, "top1")]
    report = w.run("syndrome", DIAGNOSIS, ALL)
    if report:
        parts += [section(DIAGNOSIS, report), plot(w, "diagnosis", DIAGNOSIS, report, "top5")]
    report = w.run("syndrome", DIAGNOSIS, ANSWERING)
    if report:
        parts.append(section(DIAGNOSIS, report))
    file = "smgcn/train.txt"
    methods = ("fused", "tfidf", "nearest", "popular", "bm25", "paths", "none")
    report = w.run("recommend", file, methods, holdout=0.13)
    if report:
        parts += [section(file, report), plot(w, "smgcn", file, report, "p@5")]
    file = "ppi5k/val.tsv.gz"
    report = w.run("confidence", file, ("additive", "none"), train=("ppi5k/train.tsv.gz",))
    if report:
        parts.append(section(file, report))
        parts.append(
            "Embeddings (`--method fused`) take minutes: see [reasoning](../../docs/explanation/reasoning.md).\n"
        )
    w.page("cases", "Patterns, herbs, confidences", parts)


def own(w: Writer) -> None:
    parts = []
    for task, file in (("linking", "tests/data/linking.tsv"), ("safety", "tests/data/safety.tsv")):
        report = w.run(task, file, ("fused",))
        if report:
            parts.append(section(file, report))
            parts += [
                f"- {failure['id']}: {'; '.join(failure['faults'])}" for failure in report.failures
            ]
    w.page("own", "Our own frozen sets", parts)


def ablations(w: Writer) -> None:
    parts = [
        "Each switch against the whole method on the same items: difference with its 95 % interval, and p.\n"
    ]
    for task, file, metric, learnt, methods in SWITCHED_RUNS:
        parts += switches(w, task, file, metric, learnt, methods)
    parts += sweeps(w)
    w.page("ablations", "Ablations and sweeps", parts)


def switches(
    w: Writer,
    task: str,
    file: str,
    metric: str,
    learnt: tuple[str, ...],
    methods: Mapping[str, Sequence[str]],
) -> list[str]:
    """Return a table a method: the whole of it, then each switch."""
    parts = []
    limit = MADE if file == CLAIMS and task != "recommend" else None
    for method, names in methods.items():
        whole = w.run(task, file, (method,), train=learnt, limit=limit)
        rows = [switched(whole, whole, metric, "whole")] if whole else []
        for switch in names:
            report = w.run(task, file, (method,), train=learnt, limit=limit, ablate=(switch,))
            if whole and report:
                rows.append(switched(whole, report, metric, switch))
        if whole:
            parts.append(
                f"## {task}, {named(file)}: {method}\n\n{whole.n} items. {command(whole, file)[:-1]} --ablate …`\n\n| switch | {metric} | difference | p | abstained | seconds |\n|---|---|---|---|---|---|\n"
                + "\n".join(rows)
                + "\n"
            )
    return parts


def sweeps(w: Writer) -> list[str]:
    parts: list[str] = []
    for name, values, task, file, method, metrics, more in SWEEPS:
        lines: dict[str, list[float]] = {}
        for value in values:
            report = w.run(task, file, (method,), swept=(name, value), **more)
            if report is None:
                continue
            means = report.metrics(report.runs[0])
            for metric in metrics:
                lines.setdefault(metric, []).append(means[metric].value)
        if not lines:
            continue
        table = "\n".join(
            f"| {x} | " + " | ".join(f"{line[i]:.3f}" for line in lines.values()) + " |"
            for i, x in enumerate(values)
        )
        text = "".join(
            f" --{k} {','.join(v) if isinstance(v, tuple) else v}" for k, v in more.items()
        )
        asked = f"python bench/exams/measure.py {task} {'--generated' if file == CLAIMS else file} --method {method}{text} --sweep {name}={','.join(map(str, values))}"
        parts.append(
            f"## Sweep of {name}: {task}, {named(file)}, {method}\n\n`{asked}`\n\n| {name} | {' | '.join(lines)} |\n|---|{'---|' * len(lines)}\n{table}\n"
        )
        parts.append(w.plot(f"sweep-{name}", curves(f"{task} {method}: {name}", values, lines)))
    return parts


def measure_ahead(writers: Sequence[Writer], jobs: int) -> None:
    """Measure what is not stored yet, in several processes."""
    todo = [
        (writer.bases, each)
        for writer in writers
        for each in dict.fromkeys(writer.wanted)
        if writer.bases.stored(each) is None
    ]
    bar = ProgressBar()
    print(f"{sum(len(w.wanted) for w in writers)} runs, {len(todo)} to measure", file=sys.stderr)
    if jobs == 1:
        for number, (bases, row) in enumerate(todo, 1):
            bases.measure(row)
            bar.show("runs", number, len(todo))
        return
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        running = [
            pool.submit(measure_in_process, bases.settings.kb, bases.runs, each)
            for bases, each in todo
        ]
        for number, future in enumerate(as_completed(running), 1):
            future.result()
            bar.show("runs", number, len(todo))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kb", type=Path, default=ROOT / "kb")
    parser.add_argument(
        "--books",
        type=Path,
        help="a base that ancient books were read into, default bench/results/books",
    )
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared" / "data" / "benchmarks")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--limit", type=int, help="items of a cell, at most")
    parser.add_argument("--quick", action="store_true", help="10 items a cell, elsewhere")
    parser.add_argument(
        "--jobs", type=int, default=1, help="processes, each with a base of its own"
    )
    parser.add_argument(
        "--runs", type=Path, help="where runs are stored, default bench/results/runs"
    )
    parser.add_argument(
        "--stored", action="store_true", help="measure nothing; show what is stored"
    )
    parser.add_argument("--only", help="comma-separated pages")
    args = parser.parse_args()
    results = ROOT / "bench" / "results"
    out = args.out or (results / "quick" if args.quick else ROOT / "bench/tables")
    out.mkdir(parents=True, exist_ok=True)
    results.mkdir(exist_ok=True)
    limit = min((n for n in (args.limit, 10 if args.quick else None) if n), default=None)
    runs = args.runs or results / "runs"
    text = args.only.split(",") if args.only else None
    writers = list[tuple[Writer, Sequence[Page]]]()
    for kb, pages in ((args.kb, PAGES), (args.books or results / "books", (books,))):
        listed = [p for p in pages if not text or p.__name__ in text]
        if kb == args.kb or (listed and (kb / "CURRENT").is_file()):
            writers.append((Writer(SharedBase.open(kb, runs), args.data, out, limit), listed))
    for writer, chosen in writers:
        for write in chosen:
            write(writer)
        writer.only_stored = args.stored
    if not args.stored:
        measure_ahead([writer for writer, _ in writers], max(1, args.jobs))
    for writer, chosen in writers:
        writer.planning = False
        for write in chosen:
            write(writer)
        writer.bases.base.close()
    lines = [line for writer, _ in writers for line in writer.lines]
    content = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
    (out / "figures.jsonl" if args.quick else results / "evaluation.jsonl").write_text(
        content, "utf-8"
    )


Page = Callable[[Writer], None]
PAGES = (cases, generated, claims, ablations, own, choices)

if __name__ == "__main__":
    main()
