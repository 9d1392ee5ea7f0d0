"""The reader of old books, measured on annotated entries."""

import csv
import json
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from time import perf_counter
from typing import Final

from shiyi.artefacts import artefact
from shiyi.errors import UsageError
from shiyi.evaluation.items import Skips
from shiyi.evaluation.report import Report, Run
from shiyi.ingest.datasets.limits import lines
from shiyi.ingest.extraction.books import statement as kinds
from shiyi.ingest.extraction.books.entry import read_entry
from shiyi.ingest.extraction.books.statement import BookStatement

COLUMNS: Final = ("book", "entry", "start", "end", "relation", "object", "polarity", "quote")
RELATIONS: Final = (
    kinds.NATURE, kinds.FLAVOUR, kinds.TOXICITY, kinds.CHANNEL, kinds.EFFICACY, kinds.RELIEVES,
    kinds.CONTRAINDICATED, kinds.CAUTION, kinds.INCOMPATIBLE,
)  # fmt: skip
_ACTION, _RESTRICTION = "action", "restriction"
_MERGED: Final = {
    "indicatedFor": _ACTION, kinds.RELIEVES: _ACTION, kinds.EFFICACY: _ACTION,
    kinds.CONTRAINDICATED: _RESTRICTION, kinds.CAUTION: _RESTRICTION,
    "opposes": kinds.INCOMPATIBLE, "fears": kinds.INCOMPATIBLE,
}  # fmt: skip
_EXACT: Final = frozenset({kinds.NATURE, kinds.FLAVOUR, kinds.TOXICITY})
_LONGEST_LINE = 64 << 20  # bytes of a book in a collection
_BOOKS = "tcm_ancient_books/books.jsonl.xz"
Entry = tuple[str, str, int, int]


def read_entries(path: Path) -> dict[Entry, list[dict[str, str]]]:
    """Read annotated statements by entry: book, title, start and end in the book's text.

    Raise :class:`UsageError` where a column is missing, a place is no number or no row is there.
    """
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    if not rows:
        raise UsageError(f"{path} holds no statement")
    if missing := [name for name in COLUMNS if rows[0].get(name) is None]:
        raise UsageError(f"{path} lacks the columns {', '.join(missing)}")
    entries: dict[Entry, list[dict[str, str]]] = defaultdict(list)
    for number, row in enumerate(rows, 2):
        try:
            places = int(row["start"]), int(row["end"])
        except ValueError as fault:
            raise UsageError(f"{path}, line {number}: start and end are numbers") from fault
        entries[row["book"], row["entry"], *places].append(row)
    return dict(entries)


def find_corpus(path: Path, corpus: Path | None) -> Path:
    """Return the collection of books: ``corpus``, else that of the project's or the file's data.

    Raise :class:`UsageError` where none is found.
    """
    project = artefact("ontology").parent
    places = (
        [corpus]
        if corpus
        else [project.parent / "shared/data" / _BOOKS, path.resolve().parent.parent / _BOOKS]
    )
    for place in places:
        if place.is_file():
            return place
    raise UsageError(f"no collection of books at {places[0]}: name one with --corpus PATH")


def load_books(path: Path, titles: Iterable[str]) -> dict[str, str]:
    """Return the texts of the books of these titles; raise :class:`UsageError` for a lost one."""
    wanted, books = set(titles), dict[str, str]()
    for line in lines(path, _LONGEST_LINE):
        book = json.loads(line)
        if book["title"] in wanted:
            books[book["title"]] = book["text"]
        if len(books) == len(wanted):
            return books
    raise UsageError(f"{path} lacks the books {', '.join(sorted(wanted - books.keys()))}")


def measure_reading(
    path: Path,
    corpus: Path | None = None,
    progress: Callable[[str, int, int], None] = lambda *_: None,
) -> Report:
    """Return precision and recall over the annotated entries, overall and by relation.

    One object may contain the other, but natures, flavours and toxicity are exact; what it does
    and what it is used for count as one relation, and so do the two restrictions.
    """
    entries = read_entries(path)
    books = load_books(find_corpus(path, corpus), {book for book, *_ in entries})
    values: dict[str, list[float]] = defaultdict(list)
    failures, started = [], perf_counter()
    for number, ((book, title, start, end), gold) in enumerate(entries.items(), 1):
        read = read_entry(books[book][start:end], title, start)
        wrong = score(gold, read, values)
        if wrong:
            failures.append({"id": f"{book} {title}", "method": "reader", "faults": wrong})
        progress("reader", number, len(entries))
    for name in ("", *(f"_{relation}" for relation in RELATIONS)):
        precision, recall = values.get(f"precision{name}"), values.get(f"recall{name}")
        if precision and recall:
            p, r = sum(precision) / len(precision), sum(recall) / len(recall)
            values[f"f1{name}"] = [2 * p * r / (p + r) if p + r else 0.0]
    run = Run("reader", dict(sorted(values.items())), perf_counter() - started)
    settings = {"seed": 0}
    return Report(
        "reading",
        str(path),
        (),
        len(entries),
        Skips(),
        (run,),
        "",
        settings,
        failures=tuple(failures),
    )


def score(
    gold: Sequence[Mapping[str, str]], read: Sequence[BookStatement], values: dict[str, list[float]]
) -> list[str]:
    """Add the figures of one entry to ``values``; return what was missed or read wrongly."""
    faults = []
    listed = [(statement.relation, statement.object, "affirmed") for statement in read]
    meant = [(each["relation"], each["object"], each["polarity"]) for each in gold]
    for name, these, those in (("recall", meant, listed), ("precision", listed, meant)):
        for row in these:
            found = any(_is_same_claim(row, other) for other in those)
            values[name].append(float(found))
            values[f"{name}_{row[0]}"].append(float(found))
            if not found:
                faults.append(f"{'missed' if name == 'recall' else 'wrong'}: {' '.join(row)}")
    return faults


def _is_same_claim(one: tuple[str, str, str], other: tuple[str, str, str]) -> bool:
    relation, another = (_MERGED.get(row[0], row[0]) for row in (one, other))
    if relation != another or one[2] != other[2]:
        return False
    a, b = (re.sub(r"[\W_]", "", row[1].lower()) for row in (one, other))
    if relation in _EXACT:
        return a == b
    return bool(a and b) and (a in b or b in a)
