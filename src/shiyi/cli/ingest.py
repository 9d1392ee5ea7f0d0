"""``shiyi ingest``."""

import argparse
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from shiyi.cli import emit
from shiyi.cli.extracting import EXTRACTORS, Extracting
from shiyi.errors import UsageError
from shiyi.settings import Settings

if TYPE_CHECKING:
    from shiyi.ingest.datasets import Dataset
    from shiyi.ingest.report import Report
    from shiyi.ingest.run import Batch
    from shiyi.sparql.knowledge_base import KnowledgeBase

BOOKS = "tcm-ancient-books"


def configure(parser: argparse.ArgumentParser) -> None:
    """Say what ``shiyi ingest`` takes."""
    parser.add_argument("source", help="books, text, cases, or a folder of ingest/ such as chp")
    parser.add_argument(
        "paths", nargs="+", type=Path, metavar="PATH", help="files; tables: a folder"
    )
    parser.add_argument("--extractor", choices=EXTRACTORS, default="rules",
                        help="rules needs no model; llm asks the one that models.extract names")  # fmt: skip
    parser.add_argument("--dry-run", action="store_true", help="count everything, write nothing")
    parser.add_argument("--resume", action="store_true", help="pass over what was written before")
    parser.add_argument(
        "--limit", type=int, default=0, metavar="N", help="first N passages or rows"
    )
    parser.add_argument("--json", action="store_true", help="print the reports as JSON")


def run(args: argparse.Namespace, settings: Settings) -> int:
    """Ingest each path; print what came of it; status 1 where a part of a source failed."""
    from shiyi.ingest.extraction.lessons import lessons, told
    from shiyi.ingest.gate import Gate
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
            dataset, batches = _batches(args.source, path, args.limit, extracting, base, report)
            if path.is_file() and dataset.differs(path):
                report.notes.append(f"{path.name} is not the file that source.ttl describes")
            writer = None if args.dry_run else base.writer
            reports.append(ingest(dataset, batches, report, gate, writer, options))
            extracting.tell(report, dataset)
        extracting.close()
    if sys.stderr.isatty():
        sys.stderr.write("\r\x1b[K")
    if args.json:
        emit([each.to_json() for each in reports])
    else:
        print("\n".join(line for each in reports for line in each.lines()))
    return 1 if any(each.failures for each in reports) else 0


def _batches(
    source: str,
    path: Path,
    limit: int,
    extracting: Extracting,
    base: "KnowledgeBase",
    report: "Report",
) -> tuple["Dataset", Iterable["Batch"]]:
    from shiyi.artefacts import artefact
    from shiyi.ingest.datasets import described
    from shiyi.ingest.extraction.lexicon import Lexicon
    from shiyi.ingest.run import text_batches
    from shiyi.ingest.text.books import read_books
    from shiyi.ingest.text.reading import read_text

    settings, index = extracting.settings, extracting.index
    store = base.store if base.writes else None
    largest = settings.ingest.max_text_bytes
    lexicon = Lexicon(index)
    if source == "text":
        dataset, document = read_text(path, largest)
        documents = iter((document,))
        extractor = extracting.extractor(dataset)
        return dataset, text_batches(dataset, documents, extractor, settings, report, limit, store)
    if source == "cases":
        from shiyi.ingest.cases.batches import case_batches, cases_dataset

        if not path.is_file():
            raise UsageError("the file of cases does not exist")
        dataset = cases_dataset(path)
        reading, terms = extracting.case_reading(dataset, base)
        return dataset, case_batches(dataset, path, reading, terms, settings, report, limit)
    dataset = described(BOOKS if source == "books" else source)
    if not path.exists():
        raise UsageError(f"{path} does not exist")
    if artefact(f"ingest/{dataset.name}/mapping.toml").is_file():
        from shiyi.ingest.mapped import table_batches

        lexicons = {"zh": lexicon, "en": Lexicon(index, "en")}
        return dataset, table_batches(dataset, path, lexicons, settings, report, limit)
    books = read_books(path, dataset, largest)
    extractor = extracting.extractor(dataset)
    return dataset, text_batches(dataset, books, extractor, settings, report, limit, store)


def _progress() -> Callable[["Report"], None]:
    def show(report: "Report") -> None:
        if sys.stderr.isatty():
            sys.stderr.write(
                f"\r\x1b[K{report.dataset}: {report.documents:,} texts, {report.passages:,} "
                f"passages, {report.rows:,} rows, {sum(report.claims.values()):,} claims"
            )
            sys.stderr.flush()

    return show
