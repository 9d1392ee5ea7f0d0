"""Where the records of a long journal end and what they are called: a cache beside it."""

import os
import sqlite3
import threading
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Self

TAIL = 2_000  # records, or
TAIL_BYTES = 64 << 20  # bytes, that may follow the checkpoint before it is moved (ours)
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
        path = journal.with_name(journal.name + ".index")
        if path.exists():
            try:
                base = _connected(path)
                row = base.execute("SELECT * FROM record ORDER BY sequence DESC LIMIT 1").fetchone()
                last = Entry(*row) if row else Entry()
                if _fits(journal, last):
                    return cls(path, base, last)
                base.close()
            except (sqlite3.Error, TypeError):
                pass  # a cache that cannot be read is made again
            _removed(path)
        return cls(path, None, Entry())

    def find(self, key: str) -> int | None:
        """Give the number of the record called ``key``."""
        with self._turn:
            if (known := self._tail.get(key)) is not None or self._base is None:
                return known
            found = self._base.execute(
                "SELECT sequence FROM record WHERE key = ? ORDER BY sequence DESC LIMIT 1", (key,)
            ).fetchone()
        return int(found[0]) if found else None

    def add(self, entry: Entry) -> None:
        """Take in a record that is on the disk; from time to time move the checkpoint to it."""
        with self._turn:
            self._tail[entry.key] = entry.sequence
            self._entries.append(entry)
            self.last = entry
            if len(self._entries) >= TAIL or entry.end - self._saved.end >= TAIL_BYTES:
                self._save()

    def before(self, sequence: int) -> Entry:
        """Give the record before number ``sequence``, or the nothing that a journal begins with."""
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
        """Let go of the file; what follows the checkpoint is read again at the next opening."""
        with self._turn:
            if self._base is not None:
                self._base.close()
                self._base = None

    def _save(self) -> None:
        """Write the tail; where that fails, as on a full disk, the index stays behind."""
        try:
            if self._base is None:
                self._base = _connected(self._path)
            rows = [(e.sequence, e.key, e.end, e.digest) for e in self._entries]
            with self._base:
                self._base.executemany("INSERT OR REPLACE INTO record VALUES (?, ?, ?, ?)", rows)
        except sqlite3.Error:
            return
        self._saved = self.last
        self._tail.clear()
        self._entries.clear()


def _connected(path: Path) -> sqlite3.Connection:
    base = sqlite3.connect(path, check_same_thread=False)
    [version] = base.execute("PRAGMA user_version").fetchone()
    if version not in (0, _FORMAT):
        base.close()
        raise sqlite3.DatabaseError(f"format {version}")
    base.executescript(_MAKE)
    base.execute(f"PRAGMA user_version = {_FORMAT}")
    return base


def _fits(journal: Path, last: Entry) -> bool:
    """Tell whether the journal has the checksum of ``last`` where that record ends."""
    if not last.end:
        return True
    said = f"C {last.digest}\n".encode()
    with suppress(OSError), journal.open("rb") as file:
        file.seek(0, os.SEEK_END)
        if file.tell() >= last.end >= len(said):
            file.seek(last.end - len(said))
            return file.read(len(said)) == said
    return False


def _removed(path: Path) -> None:
    for name in (path.name, f"{path.name}-journal"):
        path.with_name(name).unlink(missing_ok=True)
