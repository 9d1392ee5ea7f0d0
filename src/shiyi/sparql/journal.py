"""The journal: every change ever made, who made it and why, on the disk before the store."""

import hashlib
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Self

from shiyi.errors import KnowledgeBaseError
from shiyi.model.rdf import NamedNode, Quad
from shiyi.sparql.durable import sync_folder
from shiyi.sparql.journal_index import Entry, JournalIndex
from shiyi.sparql.oxigraph import NO_GRAPHS, Graphs, n_quads, parse_n_quads

# One record, after the RDF Patch format: a header line, D and A lines, and a checksum line.
_HEADER, _DELETE, _ADD, _CHECK = b"H ", b"D ", b"A ", b"C "
_DIGEST = 65  # bytes at a record's end: its checksum in hexadecimal digits, and a line break


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

    def to_bytes(self, added: bytes = b"") -> bytes:
        """Write the record, which ends with the SHA-256 of all that stands before it.

        ``added`` is the N-Quads of what comes, where the caller has them; ``self.added`` may then
        be empty.
        """
        said: dict[str, Any] = {
            "sequence": self.sequence, "key": self.key, "who": self.who, "why": self.why,
            "when": self.when, "removed": len(self.removed),
            "added": added.count(b"\n") or len(self.added),
        }  # fmt: skip
        if self.graphs != NO_GRAPHS:
            said["graphs"] = [[each.value for each in names] for names in self.graphs]
        header = _HEADER + json.dumps(said, ensure_ascii=False).encode() + b"\n"
        parts = (
            header,
            *_marked(_DELETE, n_quads(self.removed)),
            *_marked(_ADD, added or n_quads(self.added)),
        )
        digest = hashlib.sha256()
        for part in parts:  # a record may have 100 MB, which are copied once
            digest.update(part)
        return b"".join((*parts, _CHECK, digest.hexdigest().encode(), b"\n"))

    @classmethod
    def from_lines(cls, lines: list[bytes]) -> Self:
        """Read the lines of one record back; ValueError where they are not what was written."""
        *body, check = lines
        if check != _CHECK + hashlib.sha256(b"".join(body)).hexdigest().encode() + b"\n":
            raise ValueError("the checksum does not fit")
        if not body or not body[0].startswith(_HEADER):
            raise ValueError("the header is missing")
        said = json.loads(body[0][len(_HEADER) :])
        removed = parse_n_quads(b"".join(x[2:] for x in body[1:] if x.startswith(_DELETE)))
        added = parse_n_quads(b"".join(x[2:] for x in body[1:] if x.startswith(_ADD)))
        if (len(removed), len(added)) != (said["removed"], said["added"]):
            raise ValueError("the number of quads does not fit")
        gone, come = (tuple(map(NamedNode, names)) for names in said.get("graphs", NO_GRAPHS))
        return cls(
            int(said["sequence"]), said["key"], said["who"], said["why"], said["when"],
            removed, added, (gone, come),
        )  # fmt: skip


def _marked(mark: bytes, written: bytes) -> tuple[bytes | memoryview, ...]:
    """Put ``mark`` before each line; N-Quads have no line break within a line."""
    if not written:
        return ()
    return mark, memoryview(written.replace(b"\n", b"\n" + mark))[: -len(mark)]


class Journal:
    """An append-only file of records; a record that ``append`` returned from is on the disk.

    ``notice`` says what was cut off at opening: the last record of a writer that was killed. The
    keys of a long journal stand in ``<name>.index``, so that only what follows its checkpoint is
    read at opening; the index is made again wherever it does not fit the journal.
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
        """Give the number of the last record, 0 for none."""
        return self._index.last.sequence

    def find(self, key: str) -> int | None:
        """Give the sequence number of the change called ``key``."""
        return self._index.find(key)

    def append(self, record: Record, written: bytes = b"") -> None:
        """Bring a record to the disk; when that fails, the journal is as it was before.

        ``written`` is what ``record.to_bytes()`` gave, where the caller has it.
        """
        written = written or record.to_bytes()
        before = os.fstat(self._file.fileno()).st_size
        try:
            _write_all(self._file, written)
            os.fsync(self._file.fileno())
        except OSError as fault:
            os.ftruncate(self._file.fileno(), before)
            raise KnowledgeBaseError(
                f"{self.path} took no record: {fault}; nothing was written, so make room on the "
                "disk and try again"
            ) from fault
        digest = written[-_DIGEST:].strip().decode("ascii")
        end = before + len(written)
        self._index.add(Entry(record.sequence, record.key, end, digest))

    def records(self, after: int = 0) -> Iterator[Record]:
        """Yield the records that follow number ``after``."""
        if after >= self.sequence:
            return iter(())
        start = self._index.before(after + 1)
        return (record for record in _scan(self.path, start) if record.sequence > after)

    def close(self) -> None:
        """Let go of the files."""
        self._index.close()
        self._file.close()


def read_journal(path: Path, after: int = 0) -> Iterator[Record]:
    """Yield all whole records of a journal that may be absent; its file stays as it is.

    Those up to number ``after`` are passed over without a look at what they hold.
    """
    if path.exists():
        yield from _scan(path, Entry(), after)


def _scan(path: Path, start: Entry, after: int = 0) -> Iterator[Record]:
    """Yield each whole record after ``start`` and after number ``after``."""
    expected = start.sequence + 1
    for at, lines in _pieces(path, start.end):
        if expected <= after:
            expected += 1
            continue
        with _reading(path, at):
            record = Record.from_lines(lines)
            _check_number(record.sequence, expected)
        yield record
        expected += 1


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
        with _reading(path, at):
            if line != _CHECK + digest.hexdigest().encode() + b"\n":
                raise ValueError("the checksum does not fit")
            if not header.startswith(_HEADER):
                raise ValueError("the header is missing")
            said = json.loads(header[len(_HEADER) :])
            _check_number(int(said["sequence"]), expected)
            entry = Entry(expected, said["key"], end, digest.hexdigest())
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


def _check_number(found: int, expected: int) -> None:
    if found != expected:
        raise ValueError(f"number {found} stands where {expected} belongs")


@contextmanager
def _reading(path: Path, at: int) -> Iterator[None]:
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
        "its writer was never told that it succeeded"
    )


def _write_all(file: BinaryIO, content: bytes) -> None:
    left = memoryview(content)
    while len(left):  # a raw write may be short when the disk fills up
        left = left[file.write(left) :]
