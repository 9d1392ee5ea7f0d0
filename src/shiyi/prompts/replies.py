"""Replies of models, kept on disk by prompt and model, so that a rebuild is identical and offline."""

import sqlite3
import threading
from collections.abc import Iterable
from pathlib import Path
from typing import Self

from shiyi.errors import KnowledgeBaseError
from shiyi.model.names import content_hash
from shiyi.prompts.chat import Completion

FILE = "replies.sqlite"
_TABLES = """
CREATE TABLE IF NOT EXISTS replies (
  key TEXT PRIMARY KEY, model TEXT NOT NULL, prompt TEXT NOT NULL, said TEXT NOT NULL,
  prompt_tokens INTEGER NOT NULL, completion_tokens INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS uses (
  release TEXT NOT NULL, key TEXT NOT NULL, PRIMARY KEY (release, key)) WITHOUT ROWID;
"""


class Replies:
    """Accepted replies of one knowledge base, and for which releases of which sources they stand.

    Only the prompt's name and hash are kept, not its text: what a source said goes when it goes.
    """

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection, self._turn = connection, threading.Lock()

    @classmethod
    def open(cls, kb: Path) -> Self:
        """Open or make ``replies.sqlite`` in a knowledge base's folder."""
        path = kb / FILE
        try:
            connection = sqlite3.connect(path, check_same_thread=False, isolation_level=None)
            connection.execute("PRAGMA journal_mode=WAL")
            connection.execute("PRAGMA secure_delete=ON")  # forgotten text does not stay in pages
            connection.executescript(_TABLES)
        except sqlite3.DatabaseError as fault:
            raise KnowledgeBaseError(f"{path} is damaged ({fault}): remove it") from fault
        return cls(connection)

    @classmethod
    def in_memory(cls) -> Self:
        """Keep replies for this process alone, as a dry run does."""
        connection = sqlite3.connect(":memory:", check_same_thread=False, isolation_level=None)
        connection.executescript(_TABLES)
        return cls(connection)

    def find(self, model: str, prompt: str, release: str) -> Completion | None:
        """Give the reply this model gave to this very prompt, and note that ``release`` uses it."""
        key = _key(model, prompt)
        with self._turn:
            row = self._connection.execute(
                "SELECT said, prompt_tokens, completion_tokens FROM replies WHERE key = ?", (key,)
            ).fetchone()
            if row is None:
                return None
            self._use(release, key)
        return Completion(*row)

    def keep(self, model: str, name: str, prompt: str, said: Completion, release: str) -> None:
        """Keep a reply; ``name`` is the prompt's name and version. The first one stays."""
        key = _key(model, prompt)
        row = (key, model, name, said.text, said.prompt_tokens, said.completion_tokens)
        with self._turn:
            self._connection.execute("INSERT OR IGNORE INTO replies VALUES (?,?,?,?,?,?)", row)
            self._use(release, key)

    def _use(self, release: str, key: str) -> None:
        self._connection.execute("INSERT OR IGNORE INTO uses VALUES (?,?)", (release, key))

    def forget(self, releases: Iterable[str]) -> int:
        """Remove what only these releases used; count the replies that went."""
        with self._turn:
            for release in releases:
                self._connection.execute("DELETE FROM uses WHERE release = ?", (release,))
            gone = self._connection.execute(
                "DELETE FROM replies WHERE key NOT IN (SELECT key FROM uses)"
            ).rowcount
            self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        return gone

    def __len__(self) -> int:
        with self._turn:
            [count] = self._connection.execute("SELECT count(*) FROM replies").fetchone()
        return int(count)

    def close(self) -> None:
        """Let go of the file."""
        with self._turn:
            self._connection.close()


def _key(model: str, prompt: str) -> str:
    return content_hash(model, prompt)
