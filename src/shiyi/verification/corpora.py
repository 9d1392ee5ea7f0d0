"""The texts and tables to which evidence points, and where an operator has them."""

import csv
import hashlib
import json
import lzma
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal, TextIO

from pydantic import BaseModel, ConfigDict

from shiyi.artefacts import artefact
from shiyi.errors import TableError, UsageError
from shiyi.sparql.base.digests import file_digest

CATALOGUE = "ingest/evidence/corpora.toml"
REGISTRY = "corpora.json"  # in the folder of the knowledge base
DIGEST = 16  # hexadecimal digits of SHA-256 that a pointer names


class _DescribedCorpus(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Join(_DescribedCorpus):
    """A file of rows that complete those of a table with the same cell ``on``."""

    file: str
    on: str
    digest: str


class Table(_DescribedCorpus):
    """One file of a corpus: how its rows are named, and which column supports which relation.

    ``rules`` holds, by the name of a reader, the columns of each relation.
    """

    file: str
    digest: str
    key: tuple[str, ...]
    names: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    rules: Mapping[str, Mapping[str, tuple[str, ...]]] = {}
    where: Mapping[str, str] = {}  # what a column is, or with ~ contains
    same: str = ""  # the column of ingredients that tells homonyms apart
    join: Join | None = None
    cues: Mapping[str, tuple[str, ...]] = {}  # one of these stands in what is read
    bars: Mapping[str, tuple[str, ...]] = {}  # none of these does
    entries: str = ""  # a pattern with title and text, where a row is a book of many entries
    cited: str = ""  # the column that states what an editor read in a row and cites by its key
    complete: tuple[str, ...] = ()  # relations of which the rows of a subject state every value


class Corpus(_DescribedCorpus):
    """A text or data set of one version, and the source that its evidence names."""

    name: str
    source: str
    kind: Literal["read", "row"]
    version: str
    origin: str
    tables: tuple[Table, ...]
    books: bool = False  # each key is a book, a work of its own; rows are selected, not compared

    def table(self, file: str) -> Table | None:
        """Return the first table that reads ``file``; None where the corpus has no such file."""
        return next((each for each in self.tables if each.file == file), None)

    @property
    def digests(self) -> dict[str, str]:
        """Return the SHA-256 digest of each file."""
        joined = {table.join.file: table.join.digest for table in self.tables if table.join}
        return {table.file: table.digest for table in self.tables} | joined


@dataclass(frozen=True, slots=True)
class Record:
    """One row of a table, its cells by column; ``offset`` is that of an entry in its book."""

    key: str
    cells: Mapping[str, str]
    offset: int = 0

    @property
    def digest(self) -> str:
        """Return the digest of all cells."""
        return text_digest("\t".join(self.cells.values()))


def text_digest(text: str) -> str:
    """Return the first 16 hexadecimal digits of the SHA-256 digest of ``text``.

    >>> text_digest("")
    'e3b0c44298fc1c14'
    """
    return hashlib.sha256(text.encode()).hexdigest()[:DIGEST]


@cache
def catalogue(path: Path | None = None) -> dict[str, Corpus]:
    """Return every corpus that ``ingest/evidence/corpora.toml`` describes, by name."""
    with (path or artefact(CATALOGUE)).open("rb") as file:
        results = tomllib.load(file)
    return {name: Corpus(name=name, **item) for name, item in results.items()}


class Registry:
    """The corpora that an operator has installed, in ``corpora.json`` of a knowledge base."""

    def __init__(self, folder: Path, known: Mapping[str, Corpus] | None = None) -> None:
        self._file = folder / REGISTRY
        self.known = known if known is not None else catalogue()

    @property
    def folder(self) -> Path:
        """Return the folder of the knowledge base."""
        return self._file.parent

    def paths(self) -> dict[str, Path]:
        """Return the folder of each installed corpus, by name."""
        if not self._file.is_file():
            return {}
        found = json.loads(self._file.read_text(encoding="utf-8"))
        return {name: Path(item["path"]) for name, item in sorted(found.items())}

    def corpus(self, name: str) -> Corpus:
        """Return a corpus of the catalogue; raise :class:`UsageError` where it has none."""
        if name not in self.known:
            raise UsageError(f"{name!r} is no corpus; known: {', '.join(sorted(self.known))}")
        return self.known[name]

    def add(self, name: str, path: Path) -> Corpus:
        """Register ``path``, after every file of the corpus was found there and its digest met.

        Raise :class:`UsageError` for an unknown name or a folder that does not exist, and
        :class:`TableError` for a file that is missing or of another version.
        """
        corpus = self.corpus(name)
        if not path.is_dir():
            raise UsageError(f"{path} is no folder; give the folder with the files of {name}")
        if faults := list(file_faults(corpus, path)):
            raise TableError(faults)
        self._write(self.paths() | {name: path.resolve()})
        return corpus

    def remove(self, name: str) -> None:
        """Unregister a corpus; its files stay. Raise :class:`UsageError` where it is not there."""
        paths = self.paths()
        if name not in paths:
            raise UsageError(f"{name!r} is not installed; installed: {', '.join(paths) or 'none'}")
        del paths[name]
        self._write(paths)

    def _write(self, paths: Mapping[str, Path]) -> None:
        self._file.parent.mkdir(parents=True, exist_ok=True)
        content = {
            name: {
                "path": str(path),
                "version": self.known[name].version if name in self.known else "",
                "digests": self.known[name].digests if name in self.known else {},
            }
            for name, path in sorted(paths.items())
        }
        fresh = self._file.with_suffix(".part")
        fresh.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
        fresh.replace(self._file)


def file_faults(corpus: Corpus, folder: Path) -> Iterator[str]:
    """Yield a line for each file that is missing or with the digest of another version."""
    for file, digest in corpus.digests.items():
        path = folder / file
        if not path.is_file():
            yield f"{path}: is missing; {corpus.name} comes from {corpus.origin}"
        elif (result := file_digest(path)) != digest:
            yield (
                f"{path}: has the digest {result[:DIGEST]}, not {digest[:DIGEST]}: it is another "
                f"version than {corpus.version}; install that version of {corpus.origin}, or run "
                f"`shiyi verify claims --corpus {corpus.name}` after its digest is changed in "
                f"{CATALOGUE}"
            )


def read_records(table: Table, folder: Path) -> Iterator[Record]:
    """Yield the rows of a table in their order; of several with one key, the first has it."""
    seen: set[str] = set()
    rows = _join_rows(table, folder)
    for cells in read_rows(folder / table.file):
        if not all(_meets(cells.get(column, ""), text) for column, text in table.where.items()):
            continue
        key = " ".join(cells.get(column, "") for column in table.key)
        if key in seen:
            continue
        seen.add(key)
        if table.join:
            cells |= rows.get(cells.get(table.join.on, ""), {})
        yield Record(key, cells)


def entries(table: Table, record: Record) -> Iterator[Record]:
    """Yield the record, or the entries of a book with their titles and offsets."""
    if not table.entries:
        yield record
        return
    for match in re.finditer(table.entries, record.cells["text"]):
        cells = {"title": match["title"].strip(), "text": match["text"]}
        yield Record(record.key, cells, match.start("text"))


def _meets(cell: str, name: str) -> bool:
    return name[1:] in cell if name.startswith("~") else cell == name


def _join_rows(table: Table, folder: Path) -> dict[str, dict[str, str]]:
    if not table.join:
        return {}
    return {row[table.join.on]: row for row in read_rows(folder / table.join.file)}


def read_rows(path: Path) -> Iterator[dict[str, str]]:
    """Yield the rows of a CSV, TSV or JSON Lines file, packed with xz or not, as text by column."""
    with _open_text(path) as file:
        if ".jsonl" in path.name:
            yield from (
                {
                    name: "|".join(map(str, value)) if isinstance(value, list) else str(value)
                    for name, value in json.loads(line).items()
                }
                for line in file
            )
            return
        if path.suffix == ".csv":
            yield from csv.DictReader(file)
            return
        header = next(file, "").rstrip("\r\n").split("\t")
        for line in file:
            cells = line.rstrip("\r\n").split("\t")
            yield dict(zip(header, cells + [""] * (len(header) - len(cells)), strict=False))


def _open_text(path: Path) -> TextIO:
    if path.suffix == ".xz":
        return lzma.open(path, "rt", encoding="utf-8-sig", newline="\n")
    return path.open(encoding="utf-8-sig", newline="\n")
