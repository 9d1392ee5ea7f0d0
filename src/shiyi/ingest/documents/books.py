"""Collections of ancient books: tagged texts, and the table of their dates, authors and schools."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from shiyi.artefacts import artefact
from shiyi.errors import TableError, UsageError
from shiyi.ingest.datasets.dataset import Dataset, load_repairs
from shiyi.ingest.datasets.limits import lines
from shiyi.ingest.documents.document import Document, Heading
from shiyi.model.claim import Locator, Source, Tier
from shiyi.model.iris import resource
from shiyi.model.rdf import XSD_INTEGER, DefaultGraph, Literal, NamedNode, Quad
from shiyi.ontology.terms import DCTERMS, RDF, RDFS, SHIYI

COLLECTION = "tcm-ancient-books"
_FOLDER = f"ingest/{COLLECTION}"
_HEAD = re.compile(
    r"<(?:(?:目录>(?P<chapter>[^\r\n<]*)[ \t]*[\r\n]*<)?篇名>(?P<title>[^\r\n<]*)\s*"
    r"|目录>(?P<alone>[^\r\n<]*)\s*)"
)
_FIELD = re.compile(r"(书名|作者|朝代|年份)：([^\r\n]*)\s*")
_YEAR = re.compile(r"公元([0-9]{3,4})年?$")
_MARKS = ("内容：", "属性：")


@dataclass(frozen=True, slots=True)
class Book:
    """What is known of a book: when it was written, by whom, of which kind and school.

    ``start`` and ``end`` are years, None where they are not known. ``entries`` is a pattern of the
    chapters that hold entries of materia medica, empty where the book has none. ``basis`` says how
    the date is known: from the opening lines of the text, or recalled. ``place`` is where its
    author was from, or where it was made: ``place_at`` is the character where the text says so.
    """

    file: str
    title: str
    title_en: str
    author: str
    dynasty: str
    start: int | None
    end: int | None
    genre: str
    school: str
    lineage: str
    entries: str
    basis: str
    place: str
    place_at: str

    @property
    def place_basis(self) -> str:
        """Return how the place is known: ``header`` from the text itself, or ``recalled``."""
        return ("header" if self.place_at else "recalled") if self.place else ""

    @property
    def source_id(self) -> str:
        """Return the id of the book as a source: that of the collection and its number there."""
        return f"{COLLECTION}-{self.file.split('-')[0]}"


@dataclass(frozen=True, slots=True)
class Label:
    """A dynasty, school or genre in both languages; a dynasty has its years."""

    kind: str
    id: str
    zh: str
    en: str
    start: int | None
    end: int | None


@cache
def books() -> Mapping[str, Book]:
    """Return the books of the table by their file.

    Raise :class:`TableError` for years that are no numbers or out of order.
    """
    found_books = {}
    for cells in _rows("books"):
        file, title, title_en, author, dynasty, start, end, *rest = cells
        years = _years(f"books.tsv: {file}", start, end)
        found_books[file] = Book(file, title, title_en, author, dynasty, *years, *rest)
    return found_books


@cache
def labels() -> Mapping[tuple[str, str], Label]:
    """Return dynasties, schools and genres by kind and id, in the order of the table."""
    return {
        (kind, name): Label(kind, name, zh, en, *_years(f"labels.tsv: {name}", start, end))
        for kind, name, zh, en, start, end in _rows("labels")
    }


def _rows(name: str) -> Iterator[list[str]]:
    text = artefact(f"{_FOLDER}/{name}.tsv").read_text("utf-8")
    rows = [line.split("\t") for line in text.splitlines() if line and line[0] != "#"]
    for row in rows[1:]:
        if len(row) != len(rows[0]):
            raise TableError([f"{_FOLDER}/{name}.tsv: {row[0]} is not as wide as the heading"])
        yield row


def _years(address: str, start: str, end: str) -> tuple[int | None, int | None]:
    try:
        years = int(start) if start else None, int(end) if end else None
    except ValueError as fault:
        raise TableError([f"{address}: years are whole numbers"]) from fault
    if years[0] is not None and years[1] is not None and years[0] > years[1]:
        raise TableError([f"{address}: {start} lies after {end}"])
    return years


def read_books(path: Path, dataset: Dataset, limit: int) -> Iterator[Document | UsageError]:
    """Yield each book of a collection, or what is wrong with its line, in order.

    ``limit`` is of one line, in bytes; only one book is in memory at a time.
    """
    repairs = load_repairs(dataset.name)
    for number, line in enumerate(lines(path, limit), start=1):
        if not line.strip():
            continue
        try:
            payload = json.loads(line)
            title, text = str(payload["title"]), payload["text"]
            if not isinstance(text, str) or not title:
                raise UsageError(f"{path.name}:{number} has no text or no title")
        except (ValueError, KeyError, TypeError, RecursionError) as fault:
            yield UsageError(f"{path.name}:{number} is no book: {fault}")
            continue
        headings, fields = headings_of(text, title)
        source = _source(dataset, payload, title, fields)
        name = str(payload.get("file") or f"{title}.txt")
        yield Document(name, source, "zh", text, headings, repairs, _MARKS)


def headings_of(text: str, title: str) -> tuple[tuple[Heading, ...], dict[str, str]]:
    """Return the headings of a tagged book and what its opening block says of it."""
    results: list[Heading] = []
    fields: dict[str, str] = {}
    for match in _HEAD.finditer(text):
        start, end = match.span()
        own = _mark_lost_characters(match["title"] or "")
        chapter = (match["chapter"] or match["alone"] or "").strip()
        if own == title and not results and not chapter:
            while field := _FIELD.match(text, end):
                fields[field[1]], end = field[2].strip(), field.end()
            results.append(Heading(start, end, (title,)))
            continue
        names = [part.strip() for part in (*chapter.split("\\"), own) if part.strip()]
        results.append(Heading(start, end, (title, *names)))
    return tuple(results), fields


def _mark_lost_characters(title: str) -> str:
    """Place □ where a blank stands for a character that was lost: “ fish” may be any fish."""
    return re.sub(r"[ \u3000]+", "□", title.rstrip()) + ("□" if title.endswith(" ") else "")


def _source(dataset: Dataset, values: dict[str, Any], title: str, fields: dict[str, str]) -> Source:
    """Return a book as a source: of the table, else as its opening lines describe it."""
    if book := books().get(str(values.get("file"))):
        return source_of(book, dataset.source)
    from pypinyin import lazy_pinyin

    number = re.sub(r"[^a-z0-9]+", "-", str(values.get("no") or values.get("file", "")).lower())
    number = number.strip("-") or "-".join(lazy_pinyin(title))
    year = _YEAR.search(fields.get("年份", ""))
    about = "；".join(f"{key}：{value}" for key, value in fields.items() if value)
    return Source(
        f"{dataset.name}-{number}",
        title,
        " ".join(lazy_pinyin(title)).capitalize(),
        Tier.CLASSIC,
        year[1].zfill(4) if year else "",
        licence=dataset.source.licence,
        lineage=f"{dataset.name}-{number}",
        note=f"{dataset.source.title_zh}；{about}".rstrip("；"),
    )


@cache
def source_of(book: Book, collection: Source) -> Source:
    """Return a book of the table as a source that claims cite."""
    from pypinyin import lazy_pinyin

    year = "" if book.end is None else str(book.end)
    return Source(
        book.source_id,
        book.title,
        book.title_en or " ".join(lazy_pinyin(book.title)).capitalize(),
        Tier.CLASSIC,
        year.zfill(4) if year and not year.startswith("-") else year,
        licence=collection.licence,
        lineage=book.lineage or next(name for name, each in _works().items() if each == book),
        note=collection.title_zh,
    )


@cache
def _works() -> Mapping[str, Book]:
    """Return the books of the table by the ids of the sources that they are."""
    named = {source: books()[file] for source, file in _rows("works")}
    return named | {book.source_id: book for book in books().values()}


def book_of(source: str, locator: str = "") -> Book | None:
    """Return the book that a source is, by its id, or that a place in a collection names.

    >>> book_of("yinshan-zhengyao") == book_of("tcm-ancient-books-009")
    True
    >>> getattr(book_of("a-collection", "books.jsonl.xz 009-饮膳正要.txt [text] 1–2"), "author", "")
    '忽思慧'
    """
    place = Locator.parse(locator)
    return _works().get(source) or (books().get(place.key) if place else None)


def book_quads(book: Book, source: NamedNode, graph: NamedNode | DefaultGraph) -> Iterator[Quad]:
    """Yield when a book, which is a ``source``, was written, by whom, of which kind and school."""
    for predicate, value in (
        (DCTERMS.creator, Literal(book.author, language="zh") if book.author else None),
        (SHIYI.writtenFrom, _year(book.start)),
        (SHIYI.writtenTo, _year(book.end)),
        (SHIYI.dynasty, Literal(book.dynasty) if book.dynasty else None),
        (SHIYI.genre, Literal(book.genre)),
        (SHIYI.dateBasis, Literal(book.basis) if book.basis else None),
        (DCTERMS.spatial, Literal(book.place, language="zh") if book.place else None),
        (SHIYI.placeBasis, Literal(book.place_basis) if book.place else None),
    ):
        if value is not None:
            yield Quad(source, predicate, value, graph)
    if book.school:
        school, label = resource(f"school-{book.school}"), labels()["school", book.school]
        yield Quad(source, SHIYI.belongsToSchool, school, graph)
        yield Quad(school, RDF.type, SHIYI.School, graph)
        yield Quad(school, RDFS.label, Literal(label.zh, language="zh"), graph)
        yield Quad(school, RDFS.label, Literal(label.en, language="en"), graph)


def _year(year: int | None) -> Literal | None:
    return None if year is None else Literal(str(year), datatype=XSD_INTEGER)
