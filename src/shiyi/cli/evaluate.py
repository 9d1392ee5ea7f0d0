"""``shiyi evaluate``."""

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from shiyi.settings import Settings

if TYPE_CHECKING:
    from shiyi.evaluation.bench import Request
    from shiyi.evaluation.results import Report
    from shiyi.sparql.knowledge_base import KnowledgeBase


def configure(parser: argparse.ArgumentParser) -> None:
    """Say what ``shiyi evaluate`` takes."""
    parser.add_argument("task", metavar="TASK",
                        help="mcq, truefalse, recommend, syndrome, linking, extraction, confidence, retrieval, safety or dialogue; kit (sheets for human raters) or agreement (what they say)")  # fmt: skip
    parser.add_argument("file", metavar="FILE", nargs="?", default="",
                        help="a question file, or source:NAME for questions made from a source")  # fmt: skip
    parser.add_argument("--generated", action="store_true",
                        help="safety, mcq, retrieval, recommend: questions made from the base's claims (--limit N of them)")  # fmt: skip
    parser.add_argument("--keep", type=Path, metavar="DIR",
                        help="keep the run of each method here, and go on after those that are kept")  # fmt: skip
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="processes that measure")
    parser.add_argument("--train", action="append", default=[], metavar="FILE", type=Path,
                        help="may be learnt from, for this run alone")  # fmt: skip
    parser.add_argument("--known", action="append", default=[], metavar="FILE", type=Path,
                        help="confidence: facts to leave out of ranked tails, never learnt from")  # fmt: skip
    parser.add_argument("--method", action="append", default=[], metavar="M", help="default fused, or the one that --ablate changes; several are compared")  # fmt: skip
    parser.add_argument("--ablate", action="append", default=[], metavar="A", help="switch a part off")  # fmt: skip
    parser.add_argument("--sweep", metavar="NAME=V,V…",
                        help="measure at each value: k, damping, hops, rounds, beam, delta, threshold, chunk, …")  # fmt: skip
    parser.add_argument("--without-source", action="append", default=[], metavar="NAME",
                        help="withhold what stands on this source alone (source:NAME does so)")  # fmt: skip
    parser.add_argument("--holdout", type=float, default=0.0, metavar="SHARE",
                        help="ask this share of FILE and learn from the rest")  # fmt: skip
    parser.add_argument("--limit", type=int, metavar="N")
    parser.add_argument("--seed", type=int, default=0, metavar="S")
    parser.add_argument("--k", type=int, default=None, metavar="N", help="paths kept")
    parser.add_argument("--damping", type=float, default=None, metavar="D", help="of PageRank")
    parser.add_argument("--hops", type=int, default=2, metavar="N")
    parser.add_argument("--scorer", default="specific", help="specific, or mean_entities (Yaoshi-RAG)")  # fmt: skip
    parser.add_argument("--with-model", action="store_true",
                        help="let the model of models.answer read what each method retrieves")  # fmt: skip
    parser.add_argument("--limit-seconds", type=float, default=900.0, metavar="S",
                        help="confidence: of training")  # fmt: skip
    parser.add_argument("-o", "--output", type=Path, metavar="PATH",
                        help="kit: folder to write; agreement: table of all ratings")  # fmt: skip
    parser.add_argument("--raters", type=int, default=2, metavar="N", help="kit: sheets to write")
    parser.add_argument("--sheet", action="append", default=[], metavar="CSV", type=Path,
                        help="agreement: filled sheets; default: those in the folder")  # fmt: skip
    parser.add_argument("--json", action="store_true", help="one JSON object a line and method")


def run(args: argparse.Namespace, settings: Settings) -> int:
    """Measure, and print a table or JSON."""
    from shiyi.errors import UsageError
    from shiyi.evaluation.apart import evaluate_apart
    from shiyi.evaluation.bench import Request
    from shiyi.evaluation.held_warnings import FROM_CLAIMS
    from shiyi.evaluation.runner import swept
    from shiyi.evaluation.switches import Sweep, usual_method
    from shiyi.sparql.knowledge_base import KnowledgeBase

    if args.generated:
        args.file = FROM_CLAIMS
    if not args.file:
        raise UsageError("name a question file, or give --generated")
    without = tuple(args.without_source)
    if args.file.startswith("source:") and not without:
        without = (args.file.removeprefix("source:"),)
    ablate = _words(args.ablate)
    sweep = Sweep.read(args.sweep) if args.sweep else None
    request = Request(
        args.task, args.file, tuple(args.train), _words(args.method) or (usual_method(ablate),),
        ablate, without, args.limit, args.seed, args.k or settings.paths.top_k,
        args.damping if args.damping is not None else settings.pagerank.damping, args.hops,
        args.scorer, args.holdout, args.limit_seconds,
        with_model=args.with_model, known=tuple(args.known),
    )  # fmt: skip
    bar = Bar(sys.stderr)
    if args.task == "agreement":
        return _agreement(args)
    if args.task == "kit":
        return _kit(args, settings, request, bar)
    with KnowledgeBase.of(settings) as base:
        report = (
            _extraction(base, settings, request, bar) if args.task == "extraction"
            else swept(base, settings, request, sweep, bar.show) if sweep
            else evaluate_apart(base, settings, request, args.keep, args.jobs, bar.show)
        )  # fmt: skip
    bar.clear()
    return _shown(report, args.json)


def _shown(report: "Report", as_json: bool) -> int:
    if as_json:
        for each in report.to_json():
            print(json.dumps(each, ensure_ascii=False))
    else:
        print(report.table())
        for failure in report.failures:
            print(f"  {failure['id']} ({failure['method']}): {'; '.join(failure['faults'])}")
    return 0


def _kit(args: argparse.Namespace, settings: Settings, request: "Request", bar: "Bar") -> int:
    from shiyi.errors import UsageError
    from shiyi.evaluation.bench import Bench
    from shiyi.evaluation.people import make_kit
    from shiyi.sparql.knowledge_base import KnowledgeBase

    if args.output is None:
        raise UsageError("say with -o DIR where the sheets go")
    with KnowledgeBase.of(settings) as base:
        bench = Bench(base, settings, request)
        made = make_kit(bench, request, args.output, args.raters, bar.show)
    bar.clear()
    if args.json:
        said = {"folder": str(made.folder), "items": made.items, "sheets": made.sheets,
                "skipped": made.skips.to_json()}  # fmt: skip
        print(json.dumps(said, ensure_ascii=False))
        return 0
    print(f"{made.folder}: {made.items:,} answers, {made.sheets} sheets and pages; key.json is not for raters")  # fmt: skip
    for reason, count in sorted(made.skips.counts.items()):
        print(f"left out: {count:,} {reason} (first: {made.skips.first[reason]})")
    return 0


def _agreement(args: argparse.Namespace) -> int:
    from shiyi.evaluation.people import read_kit

    report, ratings = read_kit(Path(args.file), args.sheet, args.seed)
    if args.output is not None:
        args.output.write_text(ratings, "utf-8")
    return _shown(report, args.json)


def _extraction(
    base: "KnowledgeBase", settings: Settings, request: "Request", bar: "Bar"
) -> "Report":
    """Measure the extractors of ``shiyi ingest``; a model's replies are kept in the base's folder."""
    from dataclasses import replace

    from shiyi.cli.extracting import EXTRACTORS, Extracting
    from shiyi.evaluation.extraction import measure_extraction
    from shiyi.ingest.datasets import Dataset
    from shiyi.ingest.gate import Gate
    from shiyi.linking.labels import LabelIndex
    from shiyi.model.claim import Source, Tier

    index = LabelIndex.from_store(base.store, base.release)
    gate, held = Gate(index), Dataset("held", "1", Source("held", "评测", "held", Tier.CLASSIC))
    made = {name: Extracting(name, index, gate, settings, base.path) for name in EXTRACTORS}
    makers = {name: lambda each=each: each.extractor(held) for name, each in made.items()}
    chosen = request if request.methods != ("fused",) else replace(request, methods=("rules",))
    try:
        return measure_extraction(index, base.release, chosen, makers, bar.show)
    finally:
        for each in made.values():
            each.close()


def _words(given: list[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(w for each in given for w in each.split(",") if w))


class Bar:
    """A progress bar on a terminal, nothing elsewhere."""

    def __init__(self, stream: TextIO) -> None:
        self._stream, self._live, self._shown = stream, stream.isatty(), ""

    def show(self, method: str, done: int, of: int) -> None:
        """Draw how far a method is."""
        if not self._live or (done % max(1, of // 100) and done != of):
            return
        filled = 30 * done // of
        self._shown = f"\r{method:<14} [{'#' * filled}{'.' * (30 - filled)}] {done:,}/{of:,}"
        self._stream.write(self._shown)
        self._stream.flush()

    def clear(self) -> None:
        """Wipe the bar."""
        if self._shown:
            self._stream.write("\r" + " " * len(self._shown) + "\r")
