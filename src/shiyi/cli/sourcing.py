"""Which batches a source of ``shiyi ingest`` becomes."""

import argparse
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from shiyi.cli.extracting import Extracting
from shiyi.errors import UsageError

if TYPE_CHECKING:
    from shiyi.ingest.datasets import Dataset
    from shiyi.ingest.report import Report
    from shiyi.ingest.run import Batch
    from shiyi.ingest.text.document import Document
    from shiyi.sparql.knowledge_base import KnowledgeBase

BOOKS = "tcm-ancient-books"
Batches = tuple["Dataset", Iterable["Batch"]]


def configure(parser: argparse.ArgumentParser) -> None:
    """Say what concerns one kind of source."""
    parser.add_argument("--workers", default="1", metavar="N|ray",
                        help="books and text: read by this many processes, or over Ray")  # fmt: skip
    parser.add_argument("--mapping", type=Path, metavar="FILE",
                        help="table: a mapping.toml with its source.ttl beside it")  # fmt: skip
    for name, what in (
        ("--languages", "umls: languages, such as ENG,CHI"),
        ("--sources", "umls: source abbreviations, such as MSH,SNOMEDCT_US"),
        ("--types", "umls: semantic types, such as T047,T121"),
    ):
        parser.add_argument(name, default="", metavar="A,B", help=what)


def batches_of(
    args: argparse.Namespace, path: Path, extracting: Extracting, base: "KnowledgeBase",
    report: "Report",
) -> Batches:  # fmt: skip
    """Give the dataset and the batches of one path, with the overlay of a school if one is named."""
    dataset, batches = _batches_of(args, path, extracting, base, report)
    if args.school and args.source != "cases":
        from shiyi.ingest.schools.overlay import School, of_school

        batches = of_school(School(args.school), dataset, batches)
    return dataset, batches


def _batches_of(
    args: argparse.Namespace, path: Path, extracting: Extracting, base: "KnowledgeBase",
    report: "Report",
) -> Batches:  # fmt: skip
    from shiyi.artefacts import artefact
    from shiyi.ingest.datasets import described
    from shiyi.ingest.vocabularies import KINDS

    if args.source == "text":
        return _text(args, path, extracting, base, report)
    if args.source == "cases":
        return _cases(args, path, extracting, base, report)
    if args.source in KINDS:
        return _vocabulary(args, path, extracting, base, report)
    plain = args.source in {"umls", "table"}
    dataset = None if plain else described(BOOKS if args.source == "books" else args.source)
    if not path.exists():
        raise UsageError(f"{path} does not exist")
    if args.source == "umls":
        return _umls(args, path, base, report)
    if dataset is None:
        return _table(args, path, extracting, base, report)
    if artefact(f"ingest/{dataset.name}/mapping.toml").is_file():
        return _table(args, path, extracting, base, report)
    return _books(args, dataset, path, extracting, base, report)


def _text(
    args: argparse.Namespace, path: Path, extracting: Extracting, base: "KnowledgeBase",
    report: "Report",
) -> Batches:  # fmt: skip
    from shiyi.ingest.text.reading import read_text

    dataset, document = read_text(path, extracting.settings.ingest.max_text_bytes)
    return dataset, _read(args, dataset, iter((document,)), extracting, base, report)


def _books(
    args: argparse.Namespace, dataset: "Dataset", path: Path, extracting: Extracting,
    base: "KnowledgeBase", report: "Report",
) -> Batches:  # fmt: skip
    from shiyi.ingest.text.books import read_books

    books = read_books(path, dataset, extracting.settings.ingest.max_text_bytes)
    return dataset, _read(args, dataset, books, extracting, base, report)


def _read(
    args: argparse.Namespace, dataset: "Dataset", documents: "Iterable[Document | UsageError]",
    extracting: Extracting, base: "KnowledgeBase", report: "Report",
) -> Iterable["Batch"]:  # fmt: skip
    settings = extracting.settings
    if args.workers == "1":
        from shiyi.ingest.run import text_batches

        extractor = extracting.extractor(dataset)
        store = base.store if base.writes else None
        return text_batches(dataset, documents, extractor, settings, report, args.limit, store)
    from shiyi.ingest.workers import Reader, spread_batches
    from shiyi.linking.labels import FILE

    if args.extractor != "rules" or args.limit:
        raise UsageError("--workers goes with the rules extractor, and without --limit")
    folder = base.folder / "index"
    if not (folder / FILE).is_file():
        extracting.index.save(folder)
    reader = Reader(dataset, folder, base.release, settings)
    return spread_batches(reader, documents, report, args.workers)


def _cases(
    args: argparse.Namespace, path: Path, extracting: Extracting, base: "KnowledgeBase",
    report: "Report",
) -> Batches:  # fmt: skip
    from shiyi.ingest.cases.batches import case_batches, cases_dataset
    from shiyi.ingest.cases.llm_reader import LlmCaseReader
    from shiyi.ingest.schools.overlay import School

    school = School(args.school) if args.school else None
    if not path.is_file():
        raise UsageError("the file of cases does not exist")
    dataset = cases_dataset(path, school.slug if school else "")
    reading, terms = extracting.case_reading(dataset, base)
    if isinstance(reading.reader, LlmCaseReader):
        report.model_faults = reading.reader.faults
    overlay = extracting.overlay(school, dataset, base) if school else None
    if overlay:
        report.overlay = overlay.counts
    return dataset, case_batches(
        dataset, path, reading, terms, extracting.settings, report, args.limit,
        overlay.quads if overlay else None,
    )  # fmt: skip


def _table(
    args: argparse.Namespace, path: Path, extracting: Extracting, base: "KnowledgeBase",
    report: "Report",
) -> Batches:  # fmt: skip
    from shiyi.ingest.datasets import described, described_in
    from shiyi.ingest.extraction.lexicon import Lexicon
    from shiyi.ingest.mapped import table_batches
    from shiyi.ingest.mapping import read_mapping
    from shiyi.ingest.umls import linker_of

    if args.source == "table":
        if args.mapping is None:
            raise UsageError(
                "a table needs --mapping, a mapping.toml with its source.ttl beside it"
            )
        tables = read_mapping(args.mapping)
        dataset = described_in(args.mapping.parent / "source.ttl")
    else:
        tables, dataset = (), described(args.source)
    index = extracting.index
    lexicons = {"zh": Lexicon(index), "en": Lexicon(index, "en")}
    linker = linker_of(base.path)
    return dataset, table_batches(
        dataset, path, lexicons, extracting.settings, report, args.limit,
        linker.link if linker else None, tables,
    )  # fmt: skip


def _vocabulary(
    args: argparse.Namespace, path: Path, extracting: Extracting, base: "KnowledgeBase",
    report: "Report",
) -> Batches:  # fmt: skip
    from shiyi.ingest.extraction.lexicon import Lexicon
    from shiyi.ingest.vocabularies import Known, same_as, vocabulary_batches, vocabulary_of

    index = extracting.index
    known = Known(
        {each.iri: each.kind for each in index.concepts},
        {"zh": Lexicon(index), "en": Lexicon(index, "en")},
        same_as(base.store),
    )
    dataset = vocabulary_of(args.source, path)
    return dataset, vocabulary_batches(
        args.source, dataset, path, known, extracting.settings, report, args.limit
    )


def _umls(args: argparse.Namespace, path: Path, base: "KnowledgeBase", report: "Report") -> Batches:
    from shiyi.ingest.umls import Filters, Release, index_names, known_cuis, umls_batches

    filters = Filters(
        _listed(args.languages) or Filters().languages, _listed(args.sources), _listed(args.types)
    )
    release = Release(path, filters)
    dataset = release.dataset()
    if base.writes:
        count = index_names(release, base.path)
        report.notes.append(f"{count:,} names are in the index, which tables are linked with")
    return dataset, umls_batches(release, dataset, known_cuis(base.store), report)


def _listed(said: str) -> tuple[str, ...]:
    return tuple(each.strip().upper() for each in said.split(",") if each.strip())
