"""Query shapes and outcomes.

No address, no token, no cookie; of the query only its shape: texts, numbers and comments are taken
out, and so are IRIs that are not of the vocabularies used here. The time is that of the hour.
"""

import json
import logging
import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from functools import lru_cache
from logging import Formatter, makeLogRecord
from logging.handlers import RotatingFileHandler
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Event, Lock, Thread
from typing import Final

from shiyi.errors import QueryError, QueryLimitError, ShiyiError
from shiyi.metrics import SLOW
from shiyi.ontology.terms import PREFIXES

FILE: Final = "queries.jsonl"
LARGEST: Final = 10_000_000  # bytes; then a new file begins, and the last one is stored beside it
_LONGEST: Final = 2_000  # characters of one query
_PAUSE: Final = 0.5  # seconds
_TOGETHER: Final = 200  # lines written at once
_ENCODER: Final = json.JSONEncoder(ensure_ascii=False)
_MOST_WAITING: Final = 10_000  # lines
_WHILE_RUNNING: Final = frozenset({"time", "memory", "rows", "bytes"})  # limits that end a query
_TOKENS: Final = re.compile(
    r"""(?P<text>'''(?:[^'\\]|\\.|'(?!''))*(?:'''|\Z)|\"\"\"(?:[^"\\]|\\.|"(?!""))*(?:\"\"\"|\Z)
        |'(?:[^'\\\n\r]|\\.)*'?|"(?:[^"\\\n\r]|\\.)*"?)
      |(?P<iri><[^<>"{}|^`\x00-\x20]*>)
      |(?P<comment>\#[^\n\r]*)
      |(?P<name>(?:[?$]|(?<!\w)[A-Za-z][\w.-]*:)[\w.:%-]*)
      |(?P<number>(?<![\w.])[0-9][0-9.eE+-]*)
      |(?P<other>[A-Za-z]+:[^\s<>{}()]*@[^\s<>{}()]*)""",
    re.VERBOSE | re.DOTALL,
)
_LOG: Final = logging.getLogger("shiyi")
_KNOWN: Final = tuple(f"<{base}" for base in PREFIXES.values())
_HEAD: Final = re.compile(r"(?:\s*PREFIX\s+[\w.-]*:\s*<[^<>\s]*>)+", re.IGNORECASE)
_PREFIX: Final = re.compile(r"\bPREFIX\s+([\w.-]*):\s*(<[^<>\s]*>)", re.IGNORECASE)


class QueryLog:
    """Appends a line of JSON for each free query; a folder that cannot be written to keeps none.

    Queries of ``slow`` seconds or more also go to the log of the server; 0: none.
    Lines wait up to half a second and are written together by a thread of their own: many queries
    at once would else wait for each other at the file.
    """

    def __init__(
        self,
        folder: Path,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
        slow: float = 0.0,
    ) -> None:
        self._now, self._slow = now, slow
        self._waiting: SimpleQueue[tuple[datetime, str, dict[str, object]]] = SimpleQueue()
        self._ended = Event()
        self._writing = Lock()
        self._writer: Thread | None = None
        # opened at the first query
        self._file = RotatingFileHandler(
            folder / FILE, maxBytes=LARGEST, backupCount=1, encoding="utf-8", delay=True
        )
        self._file.setFormatter(Formatter("%(message)s"))
        self._file.handleError = lambda record: None  # type: ignore[method-assign] # left out

    def note(self, text: str, form: str, outcome: str, seconds: float, size: int = 0) -> None:
        """Write down one query: its shape, its form, how it went, and what it took.

        Above ten thousand waiting lines, new ones are left out.
        """
        if self._waiting.qsize() >= _MOST_WAITING:
            return
        facts = {"form": form, "outcome": outcome, "ms": round(seconds * 1000, 1), "bytes": size}
        if 0 < self._slow <= seconds:
            SLOW.labels("query").inc()
            _LOG.warning("slow query", extra={**facts, "query": shape(text)})
        self._waiting.put((self._now(), text, facts))
        if self._writer is None:
            self._start()

    def flush(self) -> None:
        """Write what waits."""
        with self._writing:
            while lines := self._next_lines():
                self._file.handle(makeLogRecord({"msg": "\n".join(lines)}))

    def _next_lines(self) -> list[str]:
        """Return the next lines that wait, shaped; none where nothing does."""
        lines: list[str] = []
        with suppress(Empty):
            while len(lines) < min(_TOGETHER, 1 + LARGEST // _LONGEST):
                at, text, facts = self._waiting.get_nowait()
                entry = {"hour": f"{at:%Y-%m-%dT%HZ}", **facts, "query": shape(text)}
                lines.append(_ENCODER.encode(entry))
        return lines

    def close(self) -> None:
        """Write what waits and let go of the file."""
        self._ended.set()
        if self._writer is not None:
            self._writer.join()
        self.flush()
        self._file.close()

    def _start(self) -> None:
        with self._writing:
            if self._writer is None:
                self._writer = Thread(target=self._write, name="query-log", daemon=True)
                self._writer.start()

    def _write(self) -> None:
        while not self._ended.wait(_PAUSE):
            self.flush()


@contextmanager
def log_query(log: QueryLog | None, text: str, form: str) -> Iterator[Callable[[int], None]]:
    """Log a query when it is answered or fails; pass the answer's size to the function yielded.

    Of a query that cannot be parsed, which may be any text, only the error is logged.
    """
    began, sizes, outcome, logged = time.perf_counter(), [0], "fault", ""
    try:
        yield sizes.append
        outcome, logged = "whole", text
    except ShiyiError as fault:
        outcome, logged = type(fault).__name__, text if _was_parsed(fault) else ""
        raise
    finally:
        if log:
            log.note(logged, form, outcome, time.perf_counter() - began, sizes[-1])


def _was_parsed(fault: ShiyiError) -> bool:
    if isinstance(fault, QueryLimitError):
        return fault.limit in _WHILE_RUNNING
    return not isinstance(fault, QueryError)


def shape(text: str) -> str:
    r"""Return a query with all taken out that might tell of a person.

    >>> shape("SELECT * { ?s <mailto:a@b.c> 'Li Si' # mine\n FILTER(?age > 42) }")
    "SELECT * { ?s <> '' FILTER(?age > 0) }"
    """
    head = match[0] if (match := _HEAD.match(text)) else ""
    shaped, prefixes = _shape_of_head(head)
    body = text[len(head) :]
    more = _trusted_terms(body) if _PREFIX.search(body) else frozenset[str]()
    return " ".join(f"{shaped} {_blank_literals(body, prefixes | more)}".split())[:_LONGEST]


@lru_cache(maxsize=1024)
def _shape_of_head(head: str) -> tuple[str, frozenset[str]]:
    """Return the shape of the prefixes before a query, which a client sends repeatedly."""
    trusted_terms = _trusted_terms(head)
    return _blank_literals(head, trusted_terms), trusted_terms


def _trusted_terms(text: str) -> frozenset[str]:
    return frozenset(f"{name}:" for name, iri in _PREFIX.findall(text) if iri.startswith(_KNOWN))


def _blank_literals(text: str, trusted: frozenset[str]) -> str:
    def blank(token: re.Match[str]) -> str:
        result = token[0]
        if token["comment"] is not None:
            return " "
        if token["text"] is not None:
            return "''"
        if token["iri"] is not None:
            return result if result.startswith(_KNOWN) else "<>"
        if token["number"] is not None:
            return "0"
        known = (
            result[0] in "?$" or result.endswith(":") or result.partition(":")[0] + ":" in trusted
        )
        return result if token["name"] is not None and known else "<>"

    return _TOKENS.sub(blank, text)
