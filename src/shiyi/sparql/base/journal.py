"""The append-only change log and its offset index."""

import hashlib
import json
import os
import sqlite3
import threading
from collections.abc import Collection, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, BinaryIO, Self

from shiyi.errors import KnowledgeBaseError
from shiyi.model.rdf import NamedNode, Quad
from shiyi.sparql.store.files import sync_folder, write_all
from shiyi.sparql.store.oxigraph import NO_GRAPHS, Graphs, n_quads, parse_n_quads

TAIL = 2_000  # records, or
TAIL_BYTES = 64 << 20  # bytes, that may follow the checkpoint before it is moved (Shiyi's)
_FORMAT = 1
_MAKE = """
CREATE TABLE IF NOT EXISTS record (
  sequence INTEGER PRIMARY KEY, key TEXT NOT NULL, ends INTEGER NOT NULL, digest TEXT NOT NULL);
CREATE INDEX IF NOT EXISTS record_key ON record (key);
"""


@dataclass(frozen=True, slots=True)
class Entry:
    """One record: its number and key, the byte where it ends, and its checksum."""

    sequence: int = 0
    key: str = ""
    end: int = 0
    digest: str = ""


class JournalIndex:
    """Keys up to a checkpoint in SQLite, the few after it in memory; opening reads one row.

    Only what the journal has on the disk is added, so an index can be behind but never ahead. It
    fits where the journal has, at the checkpoint, the checksum that the index says; else it goes.
    """

    def __init__(self, path: Path, base: sqlite3.Connection | None, last: Entry) -> None:
        self._path, self._base = path, base
        self.last = self._saved = last
        self._tail: dict[str, int] = {}
        self._entries: list[Entry] = []
        self._turn = threading.Lock()  # SQLite's connection serves one thread at a time

    @classmethod
    def open(cls, journal: Path) -> Self:
        """Open the index of a journal, or begin one where there is none that fits."""
        path = index_of(journal)
        if path.exists():
            try:
                base = _connect(path)
                row = base.execute("SELECT * FROM record ORDER BY sequence DESC LIMIT 1").fetchone()
                last = Entry(*row) if row else Entry()
                if _fits(journal, last):
                    return cls(path, base, last)
                base.close()
            except (sqlite3.Error, TypeError):
                pass  # a cache that cannot be read is rebuilt
            _remove_index(path)
        return cls(path, None, Entry())

    def find(self, key: str) -> int | None:
        """Return the number of the record called ``key``."""
        with self._turn:
            if (known := self._tail.get(key)) is not None or self._base is None:
                return known
            found = self._base.execute(
                "SELECT sequence FROM record WHERE key = ? ORDER BY sequence DESC LIMIT 1", (key,)
            ).fetchone()
        return int(found[0]) if found else None

    def add(self, entry: Entry) -> None:
        """Accept a record that is on the disk; from time to time move the checkpoint to it."""
        with self._turn:
            self._tail[entry.key] = entry.sequence
            self._entries.append(entry)
            self.last = entry
            if len(self._entries) >= TAIL or entry.end - self._saved.end >= TAIL_BYTES:
                self._save()

    def before(self, sequence: int) -> Entry:
        """Return the entry before number ``sequence``, or an empty one for the first."""
        with self._turn:
            for entry in self._entries:
                if entry.sequence == sequence - 1:
                    return entry
            if self._base is None or sequence <= 1:
                return Entry()
            row = self._base.execute(
                "SELECT * FROM record WHERE sequence = ?", (sequence - 1,)
            ).fetchone()
        return Entry(*row) if row else Entry()

    def close(self) -> None:
        """Release the file; what follows the checkpoint is reread at the next opening."""
        with self._turn:
            if self._base is not None:
                self._base.close()
                self._base = None

    def _save(self) -> None:
        """Write the tail; where that fails, as on a full disk, the index stays behind."""
        try:
            if self._base is None:
                self._base = _connect(self._path)
            rows = [(e.sequence, e.key, e.end, e.digest) for e in self._entries]
            with self._base:
                self._base.executemany("INSERT OR REPLACE INTO record VALUES (?, ?, ?, ?)", rows)
        except sqlite3.Error:
            return
        self._saved = self.last
        self._tail.clear()
        self._entries.clear()


def index_of(journal: Path) -> Path:
    """Return the path of the index of a journal."""
    return journal.with_name(f"{journal.name}.index")


def index_fits(journal: Path) -> bool:
    """Return whether what the index of a journal has, if there is one, is what the journal has."""
    path = index_of(journal)
    if not path.exists():
        return True
    try:
        with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as base:
            rows = base.execute("SELECT * FROM record ORDER BY sequence")
            entries = _headers(journal, Entry())
            return all(next(entries, None) == Entry(*row) for row in rows)
    except (sqlite3.Error, TypeError):
        return False


def _connect(path: Path) -> sqlite3.Connection:
    base = sqlite3.connect(path, check_same_thread=False)
    [version] = base.execute("PRAGMA user_version").fetchone()
    if version not in (0, _FORMAT):
        base.close()
        raise sqlite3.DatabaseError(f"format {version}")
    base.executescript(_MAKE)
    base.execute(f"PRAGMA user_version = {_FORMAT}")
    return base


def _fits(journal: Path, last: Entry) -> bool:
    """Return whether the journal has the checksum of ``last`` where that record ends."""
    if not last.end:
        return True
    payload = f"C {last.digest}\n".encode()
    with suppress(OSError), journal.open("rb") as file:
        file.seek(0, os.SEEK_END)
        if file.tell() >= last.end >= len(payload):
            file.seek(last.end - len(payload))
            return file.read(len(payload)) == payload
    return False


def _remove_index(path: Path) -> None:
    for name in (path.name, f"{path.name}-journal"):
        path.with_name(name).unlink(missing_ok=True)


# One record, after the RDF Patch format: a header line, D and A lines, and a checksum line.
_HEADER, _DELETE, _ADD, _CHECK = b"H ", b"D ", b"A ", b"C "


@dataclass(frozen=True, slots=True)
class Record:
    """One change: what goes, what comes, who asked for it, why and when (UTC, ISO 8601).

    ``key`` is the caller's name for the change; a second change of that name does nothing.
    """

    sequence: int
    key: str
    who: str
    why: str
    when: str
    removed: tuple[Quad, ...]
    added: tuple[Quad, ...]
    graphs: Graphs = NO_GRAPHS
    request: str = ""  # the digest of what was asked for, where the caller gives one

    def to_bytes(self) -> bytes:
        """Write the record, which ends with the SHA-256 of all that stands before it."""
        return b"".join(self.parts())

    def parts(self, added: bytes = b"") -> Iterator[bytes | memoryview]:
        """Yield the record piece by piece: it may have hundreds of megabytes.

        ``added`` is the N-Quads to add, in place of ``self.added``, where the caller has them.
        """
        payload: dict[str, Any] = {
            "sequence": self.sequence,
            "key": self.key,
            "who": self.who,
            "why": self.why,
            "when": self.when,
            "removed": len(self.removed),
            "added": added.count(b"\n") or len(self.added),
        }
        if self.graphs != NO_GRAPHS:
            payload["graphs"] = [[node.value for node in names] for names in self.graphs]
        if self.request:
            payload["request"] = self.request
        digest = hashlib.sha256()
        for part in (
            _HEADER + json.dumps(payload, ensure_ascii=False).encode() + b"\n",
            *_mark_lines(_DELETE, n_quads(self.removed)),
            *_mark_lines(_ADD, added or n_quads(self.added)),
        ):
            digest.update(part)
            yield part
        yield _CHECK + digest.hexdigest().encode() + b"\n"

    @classmethod
    def from_lines(cls, lines: list[bytes]) -> Self:
        """Read the lines of one record back; ValueError where they are not what was written."""
        *body, check = lines
        if check != _CHECK + hashlib.sha256(b"".join(body)).hexdigest().encode() + b"\n":
            raise ValueError("the checksum does not fit")
        if not body or not body[0].startswith(_HEADER):
            raise ValueError("the header is missing")
        payload = json.loads(body[0][len(_HEADER) :])
        quads = parse_n_quads(b"".join(x[2:] for x in body[1:] if x.startswith(_DELETE)))
        added = parse_n_quads(b"".join(x[2:] for x in body[1:] if x.startswith(_ADD)))
        if (len(quads), len(added)) != (payload["removed"], payload["added"]):
            raise ValueError("the number of quads does not fit")
        nodes, come = (tuple(map(NamedNode, names)) for names in payload.get("graphs", NO_GRAPHS))
        return cls(
            int(payload["sequence"]),
            payload["key"],
            payload["who"],
            payload["why"],
            payload["when"],
            quads,
            added,
            (nodes, come),
            payload.get("request", ""),
        )


def _mark_lines(mark: bytes, data: bytes) -> tuple[bytes | memoryview, ...]:
    """Place ``mark`` before each line; N-Quads have no line break within a line."""
    if not data:
        return ()
    return mark, memoryview(data.replace(b"\n", b"\n" + mark))[: -len(mark)]


class Journal:
    """An append-only file of records; a record that ``append`` returned from is on the disk.

    ``notice`` says what was cut off at opening: the last record of a writer that was killed. The
    keys of a long journal stand in ``<name>.index``, so that only what follows its checkpoint is
    read at opening; the index is rebuilt where it does not fit the journal.
    """

    def __init__(self, path: Path, file: BinaryIO, index: JournalIndex, notice: str) -> None:
        self.path, self.notice = path, notice
        self._file, self._index = file, index

    @classmethod
    def open(cls, path: Path) -> Self:
        """Open the journal for its one writer; KnowledgeBaseError where its middle is damaged."""
        made = not path.exists()
        file = path.open("ab", buffering=0)
        index = JournalIndex.open(path)
        try:
            if made:
                os.fsync(file.fileno())
                sync_folder(path.parent)
            for entry in _headers(path, index.last):
                index.add(entry)
            notice = _cut(path, file, index.last.end)
        except BaseException:
            file.close()
            index.close()
            raise
        return cls(path, file, index, notice)

    @property
    def sequence(self) -> int:
        """Return the number of the last record, 0 for none."""
        return self._index.last.sequence

    def find(self, key: str) -> int | None:
        """Return the sequence number of the change called ``key``."""
        return self._index.find(key)

    def digest(self, sequence: int) -> str:
        """Return the checksum of the record of a number, "" where there is none."""
        return self._index.before(sequence + 1).digest if sequence <= self.sequence else ""

    def append(self, record: Record, added: bytes = b"") -> None:
        """Bring a record to the disk; when that fails, the journal is as it was before.

        ``added`` is the N-Quads of what comes, where the caller has them.
        """
        whole = self._index.last.end
        try:
            self._truncate(whole)  # what an earlier failure may have left
            for part in record.parts(added):
                write_all(self._file.fileno(), part)
            os.fsync(self._file.fileno())
        except OSError as fault:
            with suppress(OSError):
                self._truncate(whole)
            raise KnowledgeBaseError(
                f"{self.path} took no record: {fault}; nothing was written, so make room on the "
                "disk and try again"
            ) from fault
        digest = bytes(part[len(_CHECK) : -1]).decode("ascii")  # the last part is the checksum
        end = os.fstat(self._file.fileno()).st_size
        self._index.add(Entry(record.sequence, record.key, end, digest))

    def erase(self, quads: Collection[Quad]) -> int:
        """Remove some quads from every record permanently, and return how many records had any.

        Numbers, keys and reasons stay. The file is replaced atomically.
        """
        count, path = 0, self.path.with_name(f".{self.path.name}.new")
        with path.open("wb") as file:
            for at, lines in _pieces(self.path, 0):
                with _open_at(self.path, at):
                    record = Record.from_lines(lines)
                found = replace(
                    record,
                    removed=tuple(quad for quad in record.removed if quad not in quads),
                    added=tuple(quad for quad in record.added if quad not in quads),
                )
                count += found != record
                file.writelines(lines if found == record else found.parts())
            file.flush()
            os.fsync(file.fileno())
        path.replace(self.path)
        sync_folder(self.path.parent)
        self.close()
        journal = type(self).open(self.path)
        self._file, self._index = journal._file, journal._index
        return count

    def _truncate(self, size: int) -> None:
        if os.fstat(self._file.fileno()).st_size != size:
            os.ftruncate(self._file.fileno(), size)

    def records(self, after: int = 0) -> Iterator[Record]:
        """Yield the records that follow number ``after``."""
        if after >= self.sequence:
            return iter(())
        start = self._index.before(after + 1)
        return (record for record in _scan(self.path, start) if record.sequence > after)

    def close(self) -> None:
        """Release the files."""
        self._index.close()
        self._file.close()


def read_journal(path: Path, after: int = 0) -> Iterator[Record]:
    """Yield all whole records of a journal that may be absent; its file stays as it is.

    Those up to number ``after`` are passed over without a look at what they hold.
    """
    if path.exists():
        yield from _scan(path, Entry(), after)


def last_number(path: Path) -> int:
    """Return the number of the last whole record of a journal, 0 where it is empty or absent."""
    number = 0
    if path.exists():
        for entry in _headers(path, Entry()):
            number = entry.sequence
    return number


def _scan(path: Path, start: Entry, after: int = 0) -> Iterator[Record]:
    """Yield each whole record after ``start`` and after number ``after``."""
    sequence = start.sequence + 1
    for at, lines in _pieces(path, start.end):
        if sequence <= after:
            sequence += 1
            continue
        with _open_at(path, at):
            record = Record.from_lines(lines)
            _check_number(record.sequence, sequence)
        yield record
        sequence += 1


def _headers(path: Path, start: Entry) -> Iterator[Entry]:
    """Yield number, key, end and checksum of each whole record after ``start``.

    The checksum says that the quads are those which were read back before they were written, so
    they are not parsed, and no more than a line is in memory.
    """
    expected, at, end = start.sequence + 1, start.end, start.end
    header, digest = b"", hashlib.sha256()
    for line in _lines(path, start.end):
        end += len(line)
        header = header or line
        if not (line.startswith(_CHECK) and line.endswith(b"\n")):
            digest.update(line)
            continue
        with _open_at(path, at):
            if line != _CHECK + digest.hexdigest().encode() + b"\n":
                raise ValueError("the checksum does not fit")
            if not header.startswith(_HEADER):
                raise ValueError("the header is missing")
            payload = json.loads(header[len(_HEADER) :])
            _check_number(int(payload["sequence"]), expected)
            entry = Entry(expected, payload["key"], end, digest.hexdigest())
        yield entry
        expected, at, header, digest = expected + 1, end, b"", hashlib.sha256()


def _pieces(path: Path, start: int) -> Iterator[tuple[int, list[bytes]]]:
    """Yield the lines of each record that ends with a checksum line, and where it begins."""
    at, lines = start, list[bytes]()
    for line in _lines(path, start):
        lines.append(line)
        if line.startswith(_CHECK) and line.endswith(b"\n"):
            yield at, lines
            at, lines = at + sum(map(len, lines)), []


def _lines(path: Path, start: int) -> Iterator[bytes]:
    with path.open("rb") as file:
        file.seek(start)
        yield from file


def _check_number(number: int, expected: int) -> None:
    if number != expected:
        raise ValueError(f"number {number} stands where {expected} belongs")


@contextmanager
def _open_at(path: Path, at: int) -> Iterator[None]:
    try:
        yield
    except (ValueError, KeyError, TypeError) as fault:
        raise KnowledgeBaseError(
            f"{path} is damaged in the record at byte {at}: {fault}; restore it from "
            "a backup, since changes after this place cannot be trusted"
        ) from fault


def _cut(path: Path, file: BinaryIO, whole: int) -> str:
    size = os.fstat(file.fileno()).st_size
    if size == whole:
        return ""
    os.ftruncate(file.fileno(), whole)
    os.fsync(file.fileno())
    return (
        f"{path}: {size - whole} bytes of an unfinished last record were cut off; "
        "its writer was never answered"
    )
