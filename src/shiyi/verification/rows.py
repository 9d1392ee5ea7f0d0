"""Rows of packed files, each readable by its key: one book without the other 640."""

import json
import sqlite3
import zlib
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path

from shiyi.verification.corpora import Corpus, Record, Table, read_records

FILE = "corpora.sqlite"  # in the folder of the knowledge base
_PACKED = ".xz"
_TABLE = (
    "CREATE TABLE IF NOT EXISTS rows (file TEXT, key TEXT, cells BLOB, PRIMARY KEY (file, key))"
)


def unpack(corpus: Corpus, path: Path, base: Path) -> int:
    """Write the rows of the packed files of a corpus under ``path``; return their number."""
    number = 0
    for table in {each.file: each for each in corpus.tables}.values():
        if not table.file.endswith(_PACKED):
            continue
        whole = table.model_copy(update={"where": {}})
        name = _version(path / table.file)
        with closing(sqlite3.connect(base / FILE)) as rows, rows:
            rows.execute(_TABLE)
            rows.execute("DELETE FROM rows WHERE file LIKE ?", (f"{path / table.file} %",))
            for each in read_records(whole, path):
                cells = zlib.compress(json.dumps(dict(each.cells), ensure_ascii=False).encode(), 1)
                rows.execute("INSERT INTO rows VALUES (?, ?, ?)", (name, each.key, cells))
                number += 1
    return number


def find_records(table: Table, folder: Path, key: str, base: Path) -> Iterable[Record]:
    """Return the rows of a table with a key: from what was unpacked, else by reading the file."""
    path = folder / table.file
    if table.file.endswith(_PACKED) and (base / FILE).is_file():
        with closing(sqlite3.connect(base / FILE)) as rows:
            found = rows.execute(
                "SELECT cells FROM rows WHERE file = ? AND key = ?", (_version(path), key)
            ).fetchone()
        if found:
            return [Record(key, json.loads(zlib.decompress(found[0])))]
    return (record for record in read_records(table, folder) if record.key == key)


def _version(path: Path) -> str:
    """Return the name of a file with its version: one that changed is reread."""
    state = path.stat()
    return f"{path} {state.st_size} {state.st_mtime_ns}"
