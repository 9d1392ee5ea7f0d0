"""The journal: every change ever made, who made it and why, on the disk before the store."""

import hashlib
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Self

from shiyi.errors import KnowledgeBaseError
from shiyi.model.rdf import NamedNode, Quad
from shiyi.sparql.durable import sync_folder
from shiyi.sparql.oxigraph import NO_GRAPHS, Graphs, n_quads, parse_n_quads

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

    def to_bytes(self) -> bytes:
        """Write the record, which ends with the SHA-256 of all that stands before it."""
        said: dict[str, Any] = {
            "sequence": self.sequence, "key": self.key, "who": self.who, "why": self.why,
            "when": self.when, "removed": len(self.removed), "added": len(self.added),
        }  # fmt: skip
        if self.graphs != NO_GRAPHS:
            said["graphs"] = [[each.value for each in names] for names in self.graphs]
        lines = [_HEADER + json.dumps(said, ensure_ascii=False).encode() + b"\n"]
        lines += [_DELETE + line for line in n_quads(self.removed).splitlines(keepends=True)]
        lines += [_ADD + line for line in n_quads(self.added).splitlines(keepends=True)]
        body = b"".join(lines)
        return body + _CHECK + hashlib.sha256(body).hexdigest().encode() + b"\n"

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


class Journal:
    """An append-only file of records; a record that ``append`` returned from is on the disk.

    ``notice`` says what was cut off at opening: the last record of a writer that was killed.
    """

    def __init__(self, path: Path, file: BinaryIO, keys: dict[str, int], notice: str) -> None:
        self.path, self.notice = path, notice
        self._file, self._keys = file, keys
        self._last = max(keys.values(), default=0)

    @classmethod
    def open(cls, path: Path) -> Self:
        """Open the journal for its one writer; KnowledgeBaseError where its middle is damaged."""
        made = not path.exists()
        file = path.open("ab", buffering=0)
        try:
            if made:
                os.fsync(file.fileno())
                sync_folder(path.parent)
            keys: dict[str, int] = {}
            whole = 0
            for record, end in _scan(path):
                keys[record.key], whole = record.sequence, end
            notice = _cut(path, file, whole)
        except BaseException:
            file.close()
            raise
        return cls(path, file, keys, notice)

    @property
    def sequence(self) -> int:
        """Give the number of the last record, 0 for none."""
        return self._last

    def find(self, key: str) -> int | None:
        """Give the sequence number of the change called ``key``."""
        return self._keys.get(key)

    def append(self, record: Record) -> None:
        """Bring a record to the disk; when that fails, the journal is as it was before."""
        before = os.fstat(self._file.fileno()).st_size
        try:
            _write_all(self._file, record.to_bytes())
            os.fsync(self._file.fileno())
        except OSError as fault:
            os.ftruncate(self._file.fileno(), before)
            raise KnowledgeBaseError(
                f"{self.path} took no record: {fault}; nothing was written, so make room on the "
                "disk and try again"
            ) from fault
        self._keys[record.key] = self._last = record.sequence

    def records(self, after: int = 0) -> Iterator[Record]:
        """Yield the records that follow number ``after``."""
        return (record for record, _ in _scan(self.path) if record.sequence > after)

    def close(self) -> None:
        """Let go of the file."""
        self._file.close()


def read_journal(path: Path) -> Iterator[Record]:
    """Yield all whole records of a journal that may be absent; its file stays as it is."""
    if path.exists():
        yield from (record for record, _ in _scan(path))


def _scan(path: Path) -> Iterator[tuple[Record, int]]:
    """Yield each whole record and the offset where it ends."""
    expected, offset, start = 1, 0, 0
    lines: list[bytes] = []
    with path.open("rb") as file:
        for line in file:
            lines.append(line)
            offset += len(line)
            if not (line.startswith(_CHECK) and line.endswith(b"\n")):
                continue
            try:
                record = Record.from_lines(lines)
                if record.sequence != expected:
                    raise ValueError(f"number {record.sequence} stands where {expected} belongs")
            except (ValueError, KeyError, TypeError) as fault:
                raise KnowledgeBaseError(
                    f"{path} is damaged in the record at byte {start}: {fault}; restore it from "
                    "a backup, since changes after this place cannot be trusted"
                ) from fault
            yield record, offset
            expected, start, lines = expected + 1, offset, []


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
