"""Write docs/evaluation/: `python bench/evaluate.py [--kb kb] [--data DIR] [--out DIR] [--limit N] [--jobs N]`.

DIR holds the benchmark folders (default ../shared/data/benchmarks); what is not there is left out.
Each run is kept in bench/results/runs by release, settings and files: a second call goes on where the
first stopped. `--quick` measures 10 items a cell, into bench/results/quick.
"""

import argparse
import json
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, replace
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from evaluated import (
    ALL,
    ANSWERING,
    CASES,
    DIAGNOSIS,
    MADE,
    RETRIEVING,
    SLOW,
    SWEEPS,
    SWITCHED_RUNS,
    TRAIN,
)

from shiyi.cli.evaluate import Bar
from shiyi.evaluation.bench import Request, Shared
from shiyi.evaluation.drawing import bars, curves
from shiyi.evaluation.held_warnings import FROM_CLAIMS as CLAIMS
from shiyi.evaluation.kept import Kept
from shiyi.evaluation.results import Report
from shiyi.evaluation.runner import at, evaluate
from shiyi.evaluation.statistics import paired
from shiyi.settings import Settings
from shiyi.sparql.knowledge_base import KnowledgeBase

ROOT = Path(__file__).parents[1]
HEAD = """# {title}

Development figures of release `{release}`, seed 0, no language model; written by `make evaluate`.
Brackets hold the 95 % bootstrap interval (1,000 resamples). `p` compares a method with the first column
on the same items (exact McNemar for right or wrong, else paired bootstrap). File names are relative to the
data folder; what the columns and figures mean is said in [../evaluation.md](../evaluation.md).
"""


@dataclass
class Bases:
    """An opened base and what runs over it share; one a process."""

    base: KnowledgeBase
    settings: Settings
    known: Shared
    runs: Path

    @classmethod
    def open(cls, kb: Path, runs: Path) -> "Bases":
        """Open a base to read."""
        settings = replace(Settings(), kb=kb)
        base = KnowledgeBase.open(kb)
        return cls(base, settings, Shared.over(base, settings), runs)

    def kept(self, asked: "Asked") -> Report | None:
        """Give the kept report of a request; None where it was not measured yet."""
        request, settings = self._at(asked)
        return Kept(self.runs, self.base.release, settings).get(request)

    def measure(self, asked: "Asked") -> Report:
        """Give the kept report of a request, or measure and keep it."""
        report = self.kept(asked)
        if report is None:
            request, settings = self._at(asked)
            started = time.perf_counter()
            same = settings.linking == self.settings.linking  # else mentions are linked anew
            report = evaluate(self.base, settings, request, known=self.known if same else None)
            Kept(self.runs, self.base.release, settings).put(request, report)
            said = f"{request.task} {Path(request.file).name} {','.join(request.methods)}"
            told = f"{time.perf_counter() - started:6.1f} s  {said} {','.join(request.ablate)}"
            print(told, *asked[1:], file=sys.stderr, flush=True)
        return report

    def _at(self, asked: "Asked") -> tuple[Request, Settings]:
        request, name, value = asked
        return at(request, self.settings, name, value) if name else (request, self.settings)


Asked = tuple[Request, str, float]  # a request, and where one is swept a parameter and its value


def measured_apart(kb: Path, runs: Path, asked: Asked) -> None:
    """Measure one request in a process of its own, which keeps its base for the next one."""
    if not _HERE:
        _HERE.append(Bases.open(kb, runs))
    _HERE[0].measure(asked)


_HERE: list[Bases] = []


class Writer:
    """Runs requests over one base and gathers the pages; ``planning``, it only lists the requests."""

    def __init__(self, bases: Bases, data: Path, out: Path, limit: int | None) -> None:
        self.bases, self.data, self.out, self.limit = bases, data, out, limit
        self.release = bases.base.release
        self.lines: list[dict[str, Any]] = []
        self.planning, self.only_kept = True, False
        self.wanted: list[Asked] = []

    def run(self, task: str, file: str, methods: Sequence[str], **more: Any) -> Report | None:
        """Measure, where the file is there."""
        made = file == CLAIMS or file.startswith("source:")
        place = file if made else str(self._place(file))
        train = tuple(self.data / each for each in more.pop("train", ()))
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
        report = self.bases.kept(asked) if self.only_kept else self.bases.measure(asked)
        if report is None:
            return None
        self.lines += [each | {"file": file} for each in report.to_json()]
        return report

    def _place(self, file: str) -> Path:
        return ROOT / file if file.startswith("tests/") else self.data / file

    def page(self, name: str, title: str, parts: Sequence[str]) -> None:
        """Write one page of sections."""
        if self.planning:
            return
        text = HEAD.format(title=title, release=self.release) + "\n" + "\n".join(parts)
        (self.out / f"{name}.md").write_text(text.rstrip() + "\n", "utf-8")

    def plot(self, name: str, svg: str) -> str:
        """Write a plot and give the Markdown that shows it."""
        (self.out / f"{name}.svg").write_text(svg, "utf-8")
        return f"![{name}]({name}.svg)\n"


def command(report: Report, file: str) -> str:
    said = report.settings
    words = ["shiyi evaluate", report.task, "--generated" if file == CLAIMS else file]
    words += [f"--train {name}" for name in said["train"]]
    words += [f"--method {','.join(run.method for run in report.runs)}"]
    words += [f"--ablate {','.join(report.ablate)}"] if report.ablate else []
    words += [f"--holdout {said['holdout']}"] if said["holdout"] else []
    words += [f"--limit {said['limit']}"] if said["limit"] else []
    if said["scorer"] != "specific":
        words += [f"--scorer {said['scorer']} --k {said['k']} --damping {said['damping']}"]
    return f"`{' '.join(words)}`"


def section(file: str, report: Report, only: Sequence[str] = ()) -> str:
    """Give a table: metrics by methods, with the command and what was left out."""
    objects = report.to_json()
    names = list(dict.fromkeys(name for each in objects for name in each["metrics"]))
    names = [n for n in names if not only or n in only or n.partition(":")[0] in only]
    rows = ["| | " + " | ".join(each["method"] for each in objects) + " |"]
    rows.append("|---|" + "---|" * len(objects))
    for name in names:
        cells = []
        for each in objects:
            m = each["metrics"].get(name)
            cells.append(f"{m['value']:.3f} [{m['low']:.3f}, {m['high']:.3f}]" if m else "")
        rows.append(f"| {name} | " + " | ".join(cells) + " |")
    if len(objects) > 1:
        ps = [each.get("against", {}) for each in objects]
        cells = [f"{p['p']:.4f}" if "p" in p else "" for p in ps]
        rows.append(f"| p ({objects[1].get('against', {}).get('metric', '')}) | " + " | ".join(cells) + " |")  # fmt: skip
    rows.append("| seconds | " + " | ".join(f"{each['seconds']:.1f}" for each in objects) + " |")
    left = "; ".join(f"{n:,} {reason}" for reason, n in sorted(report.skips.counts.items()))
    note = f"\nLeft out: {left}.\n" if left else ""
    return f"## {report.task}: {named(file)}\n\n{report.n:,} items. {command(report, file)}\n{note}\n" + "\n".join(rows) + "\n"  # fmt: skip


def named(file: str) -> str:
    return "questions made from claims" if file == CLAIMS else file


def plotted(writer: Writer, name: str, title: str, report: Report, metric: str) -> str:
    rows = []
    for run in report.runs:
        m = report.metrics(run).get(metric)
        if m:
            rows.append((run.method, m.value, m.low, m.high))
    return writer.plot(name, bars(f"{title}: {metric}", rows))


def choices(w: Writer) -> None:
    parts = []
    for name, file in (
        ("ed-a", "mtcmb-dev/TCM-ED-A.jsonl"), ("ed-b", "mtcmb-dev/TCM-ED-B.jsonl"),
        ("se-b", "mtcmb-dev/TCM-SE-B.jsonl"),
        ("cmmlu-tcm", "cmmlu-dev/traditional_chinese_medicine_dev.csv"),
        ("cmmlu-nutrition", "cmmlu-dev/nutrition_test.csv"),
        ("cmmlu-food", "cmmlu-dev/food_science_test.csv"),
        ("cmmlu-culture", "cmmlu-dev/chinese_food_culture_test.csv"),
    ):  # fmt: skip
        report = w.run("mcq", file, ALL)
        if report:
            parts.append(section(file, report))
            if name in {"ed-a", "ed-b"}:
                parts.append(plotted(w, f"mcq-{name}", file, report, "accuracy"))
    report = w.run("mcq", "mtcmb-dev/TCM-ED-A.jsonl", ANSWERING, limit=SLOW)
    if report:
        parts.append(section("mtcmb-dev/TCM-ED-A.jsonl", report))
        parts.append(plotted(w, "mcq-answering", "TCM-ED-A", report, "accuracy"))
    w.page("choices", "Multiple choice", parts)


def generated(w: Writer) -> None:
    parts = []
    only = ("accuracy", "accuracy_if_guessed", "abstained", "base_rate_true")
    for source in ("idisk1-mskcc", "zhongyaoxue-7", "chp-2020", "zhongyi-yinshi-yingyangxue"):
        for task in ("truefalse", "mcq"):
            report = w.run(task, f"source:{source}", ("fused", "neighbourhood", "bm25", "none"), limit=100)  # fmt: skip
            if report:
                parts.append(section(f"source:{source}", report, only))
    w.page("generated", "Questions made from a source, that source withheld", parts)


def claims(w: Writer) -> None:
    parts = []
    for task, methods, limit in (
        ("retrieval", RETRIEVING, MADE), ("mcq", (*ALL, "layers", "therapy"), MADE),
        ("recommend", ("fused", "paths", "neighbourhood", "bm25", "tfidf", "random-paths", "none"), MADE),
    ):  # fmt: skip
        report = w.run(task, CLAIMS, methods, limit=limit)
        if report:
            parts.append(section(CLAIMS, report))
            metric = {"retrieval": "context_recall", "mcq": "accuracy", "recommend": "p@5"}[task]
            parts.append(plotted(w, f"claims-{task}", task, report, metric))
    w.page("claims", "Questions made from claims of the base", parts)


def cases(w: Writer) -> None:
    parts = []
    report = w.run("syndrome", CASES, ALL, train=(TRAIN,))
    if report:
        parts += [section(CASES, report), plotted(w, "tcmeval", CASES, report, "top1")]
    report = w.run("syndrome", DIAGNOSIS, ALL)
    if report:
        parts += [section(DIAGNOSIS, report), plotted(w, "diagnosis", DIAGNOSIS, report, "top5")]
    report = w.run("syndrome", DIAGNOSIS, ANSWERING, limit=SLOW)
    if report:
        parts.append(section(DIAGNOSIS, report))
    file = "smgcn/train.txt"
    methods = ("fused", "tfidf", "nearest", "popular", "bm25", "paths", "none")
    report = w.run("recommend", file, methods, holdout=0.13, limit=1000)
    if report:
        parts += [section(file, report), plotted(w, "smgcn", file, report, "p@5")]
    file = "ppi5k/val.tsv.gz"
    report = w.run("confidence", file, ("additive", "none"), train=("ppi5k/train.tsv.gz",))
    if report:
        parts.append(section(file, report))
        parts.append(
            "Embeddings (`--method fused`) take minutes: see [../reasoning.md](../reasoning.md).\n"
        )
    w.page("cases", "Patterns, herbs, confidences", parts)


def own(w: Writer) -> None:
    parts = []
    for task, file in (("linking", "tests/data/linking.tsv"), ("safety", "tests/data/safety.tsv")):
        report = w.run(task, file, ("fused",))
        if report:
            parts.append(section(file, report))
            parts += [f"- {each['id']}: {'; '.join(each['faults'])}" for each in report.failures]
    w.page("own", "Our own frozen sets", parts)


def ablations(w: Writer) -> None:
    parts = ["Each switch against the whole method on the same items: difference with its 95 % interval, and p.\n"]  # fmt: skip
    for task, file, metric, learnt, methods in SWITCHED_RUNS:
        limit = MADE if file == CLAIMS and task != "recommend" else None
        for method, switches in methods.items():
            whole = w.run(task, file, (method,), train=learnt, limit=limit)
            rows = [switched(whole, whole, metric, "whole")] if whole else []
            for switch in switches:
                left = w.run(task, file, (method,), train=learnt, limit=limit, ablate=(switch,))
                if whole and left:
                    rows.append(switched(whole, left, metric, switch))
            if whole:
                parts.append(f"## {task}, {named(file)}: {method}\n\n{whole.n} items. {command(whole, file)[:-1]} --ablate …`\n\n| switch | {metric} | difference | p | abstained | seconds |\n|---|---|---|---|---|---|\n" + "\n".join(rows) + "\n")  # fmt: skip
    parts += sweeps(w)
    w.page("ablations", "Ablations and sweeps", parts)


def switched(whole: Report, left: Report, metric: str, name: str) -> str:
    """Give the row of one switch: its figure, and how far it lies from that of the whole method."""
    m, gone = (left.metrics(left.runs[0])[each] for each in (metric, "abstained"))
    told = f"| {name} | {m.value:.3f} [{m.low:.3f}, {m.high:.3f}] | "
    if left is not whole:
        gap = paired(left.runs[0].values[metric], whole.runs[0].values[metric], 0)
        told += f"{gap['difference']:+.3f} [{gap['low']:+.3f}, {gap['high']:+.3f}] | {gap['p']:.4f}"
    else:
        told += " | "
    return f"{told} | {gone.value:.3f} | {left.runs[0].seconds:.1f} |"


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
        told = "".join(f" --{k} {','.join(v) if isinstance(v, tuple) else v}" for k, v in more.items())  # fmt: skip
        asked = f"shiyi evaluate {task} {'--generated' if file == CLAIMS else file} --method {method}{told} --sweep {name}={','.join(map(str, values))}"
        parts.append(f"## Sweep of {name}: {task}, {named(file)}, {method}\n\n`{asked}`\n\n| {name} | {' | '.join(lines)} |\n|---|{'---|' * len(lines)}\n{table}\n")  # fmt: skip
        parts.append(w.plot(f"sweep-{name}", curves(f"{task} {method}: {name}", values, lines)))
    return parts


def ahead(writer: Writer, kb: Path, jobs: int) -> None:
    """Measure what is not kept yet, in several processes, longest files first."""
    todo = [each for each in dict.fromkeys(writer.wanted) if writer.bases.kept(each) is None]
    bar = Bar(sys.stderr)
    print(f"{len(writer.wanted)} runs, {len(todo)} to measure", file=sys.stderr)
    if jobs == 1:
        for number, each in enumerate(todo, 1):
            writer.bases.measure(each)
            bar.show("runs", number, len(todo))
        return
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        running = [pool.submit(measured_apart, kb, writer.bases.runs, each) for each in todo]
        for number, done in enumerate(as_completed(running), 1):
            done.result()
            bar.show("runs", number, len(todo))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kb", type=Path, default=ROOT / "kb")
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared" / "data" / "benchmarks")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--limit", type=int, help="items of a cell, at most")
    parser.add_argument("--quick", action="store_true", help="10 items a cell, elsewhere")
    parser.add_argument(
        "--jobs", type=int, default=1, help="processes, each with a base of its own"
    )
    parser.add_argument("--runs", type=Path, help="where runs are kept, default bench/results/runs")
    parser.add_argument("--kept", action="store_true", help="measure nothing; show what is kept")
    parser.add_argument("--only", help="comma-separated pages")
    args = parser.parse_args()
    results = ROOT / "bench" / "results"
    out = args.out or (results / "quick" if args.quick else ROOT / "docs" / "evaluation")
    out.mkdir(parents=True, exist_ok=True)
    results.mkdir(exist_ok=True)
    limit = min((n for n in (args.limit, 10 if args.quick else None) if n), default=None)
    writer = Writer(Bases.open(args.kb, args.runs or results / "runs"), args.data, out, limit)
    pages = [p for p in PAGES if not args.only or p.__name__ in args.only.split(",")]
    for write in pages:
        write(writer)
    writer.only_kept = args.kept
    if not args.kept:
        ahead(writer, args.kb, max(1, args.jobs))
    writer.planning = False
    for write in pages:
        write(writer)
    said = "".join(json.dumps(each, ensure_ascii=False) + "\n" for each in writer.lines)
    (out / "figures.jsonl" if args.quick else results / "evaluation.jsonl").write_text(
        said, "utf-8"
    )
    writer.bases.base.close()


PAGES = (cases, generated, claims, ablations, own, choices)

if __name__ == "__main__":
    main()
