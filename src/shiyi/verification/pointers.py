"""Pointers: the place in a corpus that a piece of evidence rests on."""

import random
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from shiyi.ingest.tables.evidence import COLUMNS, EVIDENCE, PointerRow, read_pointers
from shiyi.model.claim import Locator
from shiyi.verification.corpora import (
    Corpus,
    Record,
    Registry,
    file_faults,
    read_records,
    text_digest,
)
from shiyi.verification.rows import find_records

__all__ = [
    "COLUMNS", "PointerReport", "PointerRow", "check", "open_words", "read_pointed_words",
    "write_pointers",
]  # fmt: skip

AROUND: Final = 120  # characters shown on each side of the words that evidence names


@dataclass(frozen=True, slots=True)
class PointerReport:
    """How many pointers were read, per corpus, which moved, and which corpora are missing."""

    read: dict[str, int]
    faults: list[str]
    missing: dict[str, int]

    @property
    def total(self) -> int:
        """Return the number of pointers that were compared."""
        return sum(self.read.values())


def read_pointed_words(row: PointerRow, record: Record) -> str:
    """Return the words that a pointer names: a span of a cell, or the cell of its column."""
    cell = record.cells.get(row.column, "")
    return cell[row.start : row.end] if row.end else cell


def pointer_fault(row: PointerRow, record: Record | None) -> str:
    """Return why a pointer no longer holds; empty where it does."""
    place = f"{row.place} {row.file} {row.key}"
    if record is None:
        return f"{place}: has no such row; run `shiyi verify claims --corpus {row.corpus}`"
    if row.column not in record.cells:
        return f"{place}: has no column {row.column!r}; correct the row or delete it"
    if row.end:
        if not 0 <= row.start < row.end <= len(record.cells[row.column]):
            length = len(record.cells[row.column])
            return f"{place}: {row.start}–{row.end} lies outside the {length} characters there"
        digest = text_digest(read_pointed_words(row, record))
    else:
        digest = record.digest
    if digest != row.digest:
        return (
            f"{place}: the words have the digest {digest}, not {row.digest}; "
            f"run `shiyi verify claims --corpus {row.corpus}` and read what changed"
        )
    return ""


def check(
    registry: Registry, folder: Path | None = None, sample: int = 0, seed: int = 27
) -> PointerReport:
    """Re-read the pointers of ``folder``, or ``sample`` of them drawn at random.

    A corpus that is not installed is counted as missing, never as read.
    """
    rows = list(read_pointers(folder))
    if 0 < sample < len(rows):
        rows = random.Random(seed).sample(rows, sample)  # noqa: S311 - a sample, not a secret
    by_corpus: dict[str, list[PointerRow]] = {}
    for row in rows:
        by_corpus.setdefault(row.corpus, []).append(row)
    paths, faults = registry.paths(), list[str]()
    read, missing = dict[str, int](), dict[str, int]()
    for name, group in sorted(by_corpus.items()):
        if name not in registry.known:
            faults.append(f"{group[0].place}: {name!r} is no corpus of the catalogue")
        elif name not in paths:
            missing[name] = len(group)
        else:
            read[name] = len(group)
            corpus = registry.known[name]
            results = list(file_faults(corpus, paths[name]))
            faults += results or list(_faults(corpus, paths[name], group))
    return PointerReport(read, faults, missing)


def _faults(corpus: Corpus, folder: Path, rows: Iterable[PointerRow]) -> Iterator[str]:
    by_file: dict[str, list[PointerRow]] = {}
    for row in rows:
        by_file.setdefault(row.file, []).append(row)
    for file, group in by_file.items():
        if corpus.table(file) is None:
            yield from (f"{row.place}: {corpus.name} has no file {file}" for row in group)
            continue
        records = read_keys(corpus, folder, file, {row.key for row in group})
        for row in group:
            if fault := pointer_fault(row, records.get(row.key)):
                yield fault


def read_keys(
    corpus: Corpus, folder: Path, file: str, wanted: Iterable[str]
) -> Mapping[str, Record]:
    """Return the rows of a file that have one of the keys."""
    keys, records = frozenset(wanted), dict[str, Record]()
    for table in corpus.tables:
        if table.file == file:
            for record in read_records(table, folder):
                if record.key in keys:
                    records.setdefault(record.key, record)
    return records


def open_words(registry: Registry, locator: str) -> tuple[str, str, str] | None:
    """Return the words that the locator of evidence names, between those before and after.

    Return None where no installed corpus has the place, or other words stand there now.
    """
    place, paths = Locator.parse(locator), registry.paths()
    if place is None or not place.end:
        return None
    start, end = place.start, place.end
    for name, folder in paths.items():
        table = registry.known[name].table(place.file) if name in registry.known else None
        if table is None or not (folder / table.file).is_file():
            continue
        whole = table.model_copy(update={"where": {}})  # other tables read other rows of the file
        records = find_records(whole, folder, place.key, registry.folder)
        cell = next((record.cells.get(place.column, "") for record in records), "")
        if text_digest(cell[start:end]) == place.digest:
            return cell[max(0, start - AROUND) : start], cell[start:end], cell[end : end + AROUND]
    return None


def write_pointers(path: Path, rows: Iterable[PointerRow], inputs: str) -> int:
    """Write the rows of one corpus in the order of their claims; return their number."""
    lines = sorted("\t".join(row.cells()) for row in rows)
    head = f"# {EVIDENCE}: pointers, never the words of others\n# inputs {inputs}\n"
    fresh = path.with_suffix(".part")
    fresh.write_text(head + "\t".join(COLUMNS) + "\n" + "".join(f"{x}\n" for x in lines), "utf-8")
    fresh.replace(path)
    return len(lines)
