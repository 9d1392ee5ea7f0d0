"""Replies cached in memory and on disk; exchanges recorded and replayed."""

import sqlite3
import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from cachetools import LRUCache
from pydantic import BaseModel

from shiyi.errors import KnowledgeBaseError, OutsideError, UsageError
from shiyi.model.iris import content_hash
from shiyi.prompts.chat import ChatModel, Completion, Listener


class ReplyCache:
    """A cache of ``most`` replies by their prompt, in memory; faults are not stored.

    >>> class Echo:
    ...     name = "echo"
    ...
    ...     def complete(self, prompt, form=None, listener=None):
    ...         print("asked")
    ...         return Completion(prompt)
    >>> model = ReplyCache(Echo())
    >>> model.complete("a").text, model.complete("a").text
    asked
    ('a', 'a')
    """

    def __init__(self, model: ChatModel, limit: int = 512) -> None:
        self.model, self._turn = model, threading.Lock()
        self._replies = LRUCache[str, Completion](limit)

    @property
    def name(self) -> str:
        """Name the model."""
        return self.model.name

    def complete(
        self, prompt: str, form: type[BaseModel] | None = None, listener: Listener | None = None
    ) -> Completion:
        """Return the reply that was stored, or ask; raise what the model raises."""
        with self._turn:
            completion = self._replies.get(prompt)
        if completion is None:
            completion = self.model.complete(prompt, form, listener)
            with self._turn:
                self._replies[prompt] = completion
        elif listener is not None:
            listener(completion.text)
        return completion


FILE = "replies.sqlite"
_TABLES = """
CREATE TABLE IF NOT EXISTS replies (
  key TEXT PRIMARY KEY, model TEXT NOT NULL, prompt TEXT NOT NULL, said TEXT NOT NULL,
  prompt_tokens INTEGER NOT NULL, completion_tokens INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS uses (
  release TEXT NOT NULL, key TEXT NOT NULL, PRIMARY KEY (release, key)) WITHOUT ROWID;
"""


class ReplyStore:
    """Accepted replies of one knowledge base, and for which releases of which sources they stand.

    Only the prompt's name and hash are stored, not its text, so that no source's words stay here.
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
        """Store replies for this process alone, as a dry run does."""
        connection = sqlite3.connect(":memory:", check_same_thread=False, isolation_level=None)
        connection.executescript(_TABLES)
        return cls(connection)

    def find(self, model: str, prompt: str, release: str) -> Completion | None:
        """Return this model's stored reply to a prompt, and note that ``release`` uses it."""
        key = _key(model, prompt)
        with self._turn:
            row = self._connection.execute(
                "SELECT said, prompt_tokens, completion_tokens FROM replies WHERE key = ?", (key,)
            ).fetchone()
            if row is None:
                return None
            self._use(release, key)
        return Completion(*row)

    def keep(self, model: str, name: str, prompt: str, reply: Completion, release: str) -> None:
        """Store a reply; ``name`` is the prompt's name and version. The first one stays."""
        key = _key(model, prompt)
        row = (key, model, name, reply.text, reply.prompt_tokens, reply.completion_tokens)
        with self._turn:
            self._connection.execute("INSERT OR IGNORE INTO replies VALUES (?,?,?,?,?,?)", row)
            self._use(release, key)

    def _use(self, release: str, key: str) -> None:
        self._connection.execute("INSERT OR IGNORE INTO uses VALUES (?,?)", (release, key))

    def releases(self, source: str) -> list[str]:
        """List the releases of a source that use replies, also those that the base has no more."""
        start = f"{source}@"
        with self._turn:
            rows = self._connection.execute(
                "SELECT DISTINCT release FROM uses WHERE substr(release, 1, ?) = ?",
                (len(start), start),
            ).fetchall()
        return sorted(release for (release,) in rows)

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
        """Release the file."""
        with self._turn:
            self._connection.close()


def _key(model: str, prompt: str) -> str:
    return content_hash(model, prompt)


_MOST, _LONGEST = 200, 400_000  # exchanges, and characters of one


@dataclass(frozen=True, slots=True)
class Exchange:
    """One prompt with its reply, or with the fault that came instead."""

    prompt: str
    reply: str | None = None
    fault: str = ""

    def to_json(self) -> dict[str, Any]:
        """Return the exchange as a trace holds it."""
        return {"prompt": self.prompt, "reply": self.reply, "fault": self.fault or None}


@dataclass(slots=True)
class RecordingModel:
    """A chat model that records each prompt and its reply."""

    model: ChatModel
    exchanges: list[Exchange] = field(default_factory=list)

    @property
    def name(self) -> str:
        """Name the model."""
        return self.model.name

    def complete(
        self, prompt: str, form: type[BaseModel] | None = None, listener: Listener | None = None
    ) -> Completion:
        """Return the model's reply; a fault is stored and re-raised."""
        try:
            completion = self.model.complete(prompt, form, listener)
        except OutsideError as fault:
            self.exchanges.append(Exchange(prompt, fault=str(fault)))
            raise
        self.exchanges.append(Exchange(prompt, completion.text))
        return completion


@dataclass(frozen=True, slots=True)
class ReplayModel:
    """Replay recorded replies without a model."""

    name: str
    exchanges: Mapping[str, Exchange]

    @classmethod
    def from_json(cls, name: str, payload: object) -> "ReplayModel":
        """Read the exchanges of a trace; complain of what is none."""
        if not isinstance(payload, Sequence) or isinstance(payload, str) or len(payload) > _MOST:
            raise UsageError(f"the trace's exchanges are a list of at most {_MOST}")
        return cls(name, {exchange.prompt: exchange for exchange in map(_exchange, payload)})

    def complete(
        self, prompt: str, form: type[BaseModel] | None = None, listener: Listener | None = None
    ) -> Completion:
        """Return the recorded reply to a prompt; an unknown prompt is a fault."""
        exchange = self.exchanges.get(prompt)
        if exchange is None:
            raise OutsideError(f"{self.name} was never asked this, so there is no reply to replay")
        if exchange.reply is None:
            raise OutsideError(exchange.fault)
        if listener is not None:
            listener(exchange.reply)
        return Completion(exchange.reply)


def _exchange(payload: object) -> Exchange:
    if isinstance(payload, Mapping):
        prompt, reply, fault = payload.get("prompt"), payload.get("reply"), payload.get("fault")
        texts = [item for item in (prompt, reply, fault) if item is not None]
        whole = all(isinstance(text, str) and len(text) <= _LONGEST for text in texts)
        if whole and prompt and (reply is None) != (fault is None):
            return Exchange(str(prompt), reply, str(fault or ""))
    raise UsageError("an exchange of the trace has a prompt and either a reply or a fault")
