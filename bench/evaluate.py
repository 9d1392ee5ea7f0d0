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

from shiyi.cli.evaluate import Bar
from shiyi.evaluation.bench import Request, Shared
from shiyi.evaluation.drawing import bars, curves
from shiyi.evaluation.kept import Kept
from shiyi.evaluation.results import Report
from shiyi.evaluation.runner import evaluate
from shiyi.evaluation.switches import ABLATIONS as SWITCHED
from shiyi.settings import Settings
from shiyi.sparql.knowledge_base import KnowledgeBase

ROOT = Path(__file__).parents[1]
ALL = ("fused", "paths", "neighbourhood", "bm25", "tfidf", "random-paths", "none")
ANSWERING = ("fused", "spot", "layers", "therapy", "chain", "transe", "rotate", "none")
OF_ANSWERS = {  # switches of the methods of answering
    "spot": ("no-ranking", "spo-without-text", "keyword-only", "vector-only", "union", "no-reflection", "fixed-chunks"),
    "chain": ("deterministic", "no-ranking", "macro-only", "micro-only", "fixed-chunks"),
    "layers": ("deterministic", "no-ranking", "no-multilayer"),
    "therapy": ("deterministic", "no-ranking", "no-multilayer", "beam-1"),
}  # fmt: skip
SLOW = 100  # items where methods of answering are compared
SWITCHED_ITEMS = 40  # where their switches are: 19 runs
SWITCHES = (
    "deterministic",
    "no-ranking",
    "random-paths",
    "spo-without-text",
    "keyword-only",
    "vector-only",
)
KS, DS = (1, 3, 5, 10, 20, 30), (0.1, 0.3, 0.5, 0.7, 0.8, 0.9)
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
    kept: Kept

    @classmethod
    def open(cls, kb: Path, runs: Path) -> "Bases":
        """Open a base to read."""
        settings = replace(Settings(), kb=kb)
        base = KnowledgeBase.open(kb)
        kept = Kept(runs, base.release, settings)
        return cls(base, settings, Shared.over(base, settings), kept)

    def measure(self, request: Request) -> Report:
        """Give the kept report of a request, or measure and keep it."""
        report = self.kept.get(request)
        if report is None:
            started = time.perf_counter()
            report = evaluate(self.base, self.settings, request, known=self.known)
            self.kept.put(request, report)
            said = f"{request.task} {Path(request.file).name} {','.join(request.methods)}"
            told = f"{time.perf_counter() - started:6.1f} s  {said} {','.join(request.ablate)}"
            print(told, file=sys.stderr, flush=True)
        return report


def measured_apart(kb: Path, runs: Path, request: Request) -> None:
    """Measure one request in a process of its own, which keeps its base for the next one."""
    if not _HERE:
        _HERE.append(Bases.open(kb, runs))
    _HERE[0].measure(request)


_HERE: list[Bases] = []


class Writer:
    """Runs requests over one base and gathers the pages; ``planning``, it only lists the requests."""

    def __init__(self, bases: Bases, data: Path, out: Path, limit: int | None) -> None:
        self.bases, self.data, self.out, self.limit = bases, data, out, limit
        self.release = bases.base.release
        self.lines: list[dict[str, Any]] = []
        self.planning, self.only_kept = True, False
        self.wanted: list[Request] = []

    def run(self, task: str, file: str, methods: Sequence[str], **more: Any) -> Report | None:
        """Measure, where the file is there."""
        place = file if file.startswith("source:") else str(self._place(file))
        train = tuple(self.data / each for each in more.pop("train", ()))
        missing = [p for p in (Path(place), *train) if not place.startswith("source:") and not p.is_file()]  # fmt: skip
        if missing:
            print(f"left out: {missing[0]} is not there", file=sys.stderr)
            return None
        if place.startswith("source:"):
            more["without"] = (place.removeprefix("source:"),)
        limit = more.pop("limit", None)
        least = min((n for n in (limit, self.limit) if n), default=None)
        request = Request(task, place, train, tuple(methods), limit=least, **more)
        if self.planning:
            self.wanted.append(request)
            return None
        report = self.bases.kept.get(request) if self.only_kept else self.bases.measure(request)
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
    words = ["shiyi evaluate", report.task, file]
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
    return f"## {report.task}: {file}\n\n{report.n:,} items. {command(report, file)}\n{note}\n" + "\n".join(rows) + "\n"  # fmt: skip


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
    for source, limit in (("idisk1-mskcc", None), ("zhongyaoxue-7", 500)):
        for task in ("truefalse", "mcq"):
            report = w.run(task, f"source:{source}", ("fused", "neighbourhood", "bm25", "none"), limit=limit)  # fmt: skip
            if report:
                parts.append(section(f"source:{source}", report, only))
    w.page("generated", "Questions made from a source, that source withheld", parts)


def cases(w: Writer) -> None:
    parts = []
    file, train = "tcmeval_sdt/Validation_TCM_Data_v1.json", ("tcmeval_sdt/Train_TCM_Data_v1.json",)
    report = w.run("syndrome", file, ALL, train=train)
    if report:
        parts += [section(file, report), plotted(w, "tcmeval", file, report, "top1")]
    file = "mtcmb-dev/TCM-Diagnosis.jsonl"
    report = w.run("syndrome", file, ALL)
    if report:
        parts += [section(file, report), plotted(w, "diagnosis", file, report, "top5")]
    report = w.run("syndrome", file, ANSWERING, limit=SLOW)
    if report:
        parts.append(section(file, report))
    file = "smgcn/train.txt"
    report = w.run("recommend", file, ("fused", "paths", "bm25", "tfidf", "popular", "none"), holdout=0.13, limit=1000)  # fmt: skip
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


def _of(method: str, task: str, learnt: Sequence[str]) -> list[str]:
    """Give the switches of a method; comparing a thousand names by meaning takes too long."""
    found = [each for each in SWITCHES if method in SWITCHED[each]]
    return [each for each in found if each != "vector-only" or task == "mcq" or learnt]


def ablations(w: Writer) -> None:
    parts = ["Each switch against the whole method, which stands in the first row.\n"]
    train = ("tcmeval_sdt/Train_TCM_Data_v1.json",)
    for task, file, method, metric, learnt in (
        ("mcq", "mtcmb-dev/TCM-ED-A.jsonl", "fused", "accuracy", ()),
        ("mcq", "mtcmb-dev/TCM-ED-A.jsonl", "paths", "accuracy", ()),
        ("syndrome", "mtcmb-dev/TCM-Diagnosis.jsonl", "fused", "top5", ()),
        ("syndrome", "tcmeval_sdt/Validation_TCM_Data_v1.json", "fused", "top1", train),
    ):
        n, bound = 0, f" --limit {w.limit}" if w.limit else ""
        rows, told = [], "".join(f" --train {name}" for name in learnt)
        for switch in (
            "",
            *_of(method, task, learnt),
            *(("general-kg-only",) if learnt else ()),
        ):
            report = w.run(task, file, (method,), train=learnt, ablate=(switch,) if switch else ())
            if report:
                n = report.n
                m = report.metrics(report.runs[0])[metric]
                rows.append(f"| {switch or 'whole'} | {m.value:.3f} [{m.low:.3f}, {m.high:.3f}] |")
        if rows:
            parts.append(f"## {file}, {method}\n\n{n} items. `shiyi evaluate {task} {file}{told}{bound} --method {method} --ablate …`\n\n| switch | {metric} |\n|---|---|\n" + "\n".join(rows) + "\n")  # fmt: skip
    parts += switches_of_answers(w)
    parts += sweeps(w)
    w.page("ablations", "Ablations and sweeps", parts)


def switches_of_answers(w: Writer) -> list[str]:
    """Give each method of answering whole and under its switches, on the same questions."""
    parts = []
    file = "mtcmb-dev/TCM-ED-A.jsonl"
    for method, switches in OF_ANSWERS.items():
        rows = []
        for switch in ("", *switches):
            report = w.run(
                "mcq", file, (method,), ablate=(switch,) if switch else (), limit=SWITCHED_ITEMS
            )
            if report:
                found = report.metrics(report.runs[0])
                cells = [found[name] for name in ("accuracy", "accuracy_if_guessed", "abstained")]
                told = " | ".join(f"{m.value:.3f} [{m.low:.3f}, {m.high:.3f}]" for m in cells)
                rows.append(f"| {switch or 'whole'} | {told} | {report.runs[0].seconds:.0f} |")
        if rows:
            parts.append(f"## {file}, {method}\n\nAt most {SWITCHED_ITEMS} items. `shiyi evaluate mcq {file} --limit {SWITCHED_ITEMS} --method {method} --ablate …`\n\n| switch | accuracy | accuracy_if_guessed | abstained | seconds |\n|---|---|---|---|---|\n" + "\n".join(rows) + "\n")  # fmt: skip
    return parts


def sweeps(w: Writer) -> list[str]:
    file = "mtcmb-dev/TCM-Diagnosis.jsonl"
    parts: list[str] = []
    for name, values in (("k", KS), ("damping", DS)):
        lines: dict[str, list[float]] = {}
        for value in values:
            report = w.run("syndrome", file, ("paths",), scorer="mean_entities", **{name: value})
            if report is None:
                continue
            means = report.metrics(report.runs[0])
            for metric in ("top1", "top5"):
                lines.setdefault(metric, []).append(means[metric].value)
        if not lines:
            continue
        table = "\n".join(
            f"| {x} | " + " | ".join(f"{line[i]:.3f}" for line in lines.values()) + " |"
            for i, x in enumerate(values)
        )
        parts.append(f"## Sweep of {name}, {file}\n\n`shiyi evaluate syndrome {file} --method paths --scorer mean_entities --{name} …`\n\n| {name} | {' | '.join(lines)} |\n|---|{'---|' * len(lines)}\n{table}\n")  # fmt: skip
        parts.append(w.plot(f"sweep-{name}", curves(f"{file}: {name}", values, lines)))
    return parts


def ahead(writer: Writer, kb: Path, jobs: int) -> None:
    """Measure what is not kept yet, in several processes, longest files first."""
    todo = [each for each in dict.fromkeys(writer.wanted) if writer.bases.kept.get(each) is None]
    bar = Bar(sys.stderr)
    print(f"{len(writer.wanted)} runs, {len(todo)} to measure", file=sys.stderr)
    if jobs == 1:
        for number, each in enumerate(todo, 1):
            writer.bases.measure(each)
            bar.show("runs", number, len(todo))
        return
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        running = [pool.submit(measured_apart, kb, writer.bases.kept.folder, each) for each in todo]
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


PAGES = (cases, generated, ablations, own, choices)

if __name__ == "__main__":
    main()
