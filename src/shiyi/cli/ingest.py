"""``shiyi ingest``."""

import argparse
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from shiyi.cli import emit, sourcing
from shiyi.cli.extracting import EXTRACTORS, Extracting
from shiyi.cli.sourcing import batches_of
from shiyi.errors import UsageError
from shiyi.settings import Settings

if TYPE_CHECKING:
    from shiyi.ingest.report import Report


def configure(parser: argparse.ArgumentParser) -> None:
    """Say what ``shiyi ingest`` takes."""
    parser.add_argument("source", help="books, text, cases, umls, sssom, skos, owl, table, or a folder of "
                        "ingest/ such as idisk2")  # fmt: skip
    parser.add_argument(
        "paths", nargs="+", type=Path, metavar="PATH", help="files; tables: a folder"
    )
    parser.add_argument("--extractor", choices=EXTRACTORS, default="rules",
                        help="rules needs no model; llm asks the one that models.extract names")  # fmt: skip
    parser.add_argument("--school", metavar="NAME", default="",
                        help="also fill the overlay graph of this school or practitioner")  # fmt: skip
    parser.add_argument("--dry-run", action="store_true", help="count everything, write nothing")
    parser.add_argument("--resume", action="store_true", help="pass over what was written before")
    parser.add_argument(
        "--limit", type=int, default=0, metavar="N", help="first N passages or rows"
    )
    parser.add_argument("--json", action="store_true", help="print the reports as JSON")
    sourcing.configure(parser)


def _others(args: argparse.Namespace) -> set[str]:
    """Name the ways of reading that this run does not take; what they found before stays."""
    return {"rules", "llm", "school"} - {args.extractor, "school" if args.school else ""}


def run(args: argparse.Namespace, settings: Settings) -> int:
    """Ingest each path; print what came of it; status 1 where a part of a source failed."""
    from shiyi.cli.making import infer_anew
    from shiyi.ingest.entry import Entry
    from shiyi.ingest.extraction.lessons import lessons, told
    from shiyi.ingest.gate import Gate
    from shiyi.ingest.replacing import Seen, sweep
    from shiyi.ingest.report import Report
    from shiyi.ingest.run import Options, ingest
    from shiyi.linking.labels import FILE, LabelIndex
    from shiyi.sparql.knowledge_base import KnowledgeBase

    if args.limit < 0:
        raise UsageError("--limit counts from 1; 0 takes everything")
    reports: list[Report] = []
    with KnowledgeBase.of(settings, write=not args.dry_run) as base:
        folder = base.folder / "index"
        index = (
            LabelIndex.load(folder, base.release) if (folder / FILE).is_file()
            else LabelIndex.from_store(base.store, base.release)
        )  # fmt: skip
        gate = Gate(index)
        options = Options(args.limit, args.resume, _progress())
        extracting = Extracting(
            args.extractor, index, gate, settings, None if args.dry_run else base.path,
            told(lessons(base.store)),
        )  # fmt: skip
        for path in args.paths:
            report = Report()
            dataset, batches = batches_of(args, path, extracting, base, report)
            if path.is_file() and dataset.differs(path):
                report.notes.append(f"{path.name} is not the file that source.ttl describes")
            writer = None if args.dry_run else base.writer
            seen = Seen()
            watched = replace(options, watch=seen.take, entry=Entry(dataset, base.store))
            reports.append(ingest(dataset, batches, report, gate, writer, watched))
            if writer and not (args.resume or args.limit or report.failures or report.waiting):
                report.taken_back += Counter(sweep(writer, dataset, seen, _others(args)))
            extracting.tell(report, dataset)
        extracting.close()
        if not args.dry_run and any(each.asserted for each in reports):
            infer_anew(base, settings)
    if sys.stderr.isatty():
        sys.stderr.write("\r\x1b[K")
    if args.json:
        emit([each.to_json() for each in reports])
    else:
        print("\n".join(line for each in reports for line in each.lines()))
    return 1 if any(each.failures for each in reports) else 0


def _progress() -> Callable[["Report"], None]:
    def show(report: "Report") -> None:
        if sys.stderr.isatty():
            sys.stderr.write(
                f"\r\x1b[K{report.dataset}: {report.documents:,} texts, {report.passages:,} "
                f"passages, {report.rows:,} rows, {sum(report.claims.values()):,} claims"
            )
            sys.stderr.flush()

    return show
