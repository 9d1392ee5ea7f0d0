"""SPARQL Update: tried on a copy, then written."""

import re
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

from shiyi.errors import KnowledgeBaseError, QueryError, QueryLimitError, RightsError
from shiyi.model.iris import GRAPH
from shiyi.model.rdf import DefaultGraph, NamedNode, Quad
from shiyi.settings import QuerySettings
from shiyi.sparql.base.journal import Record
from shiyi.sparql.base.knowledge_base import KnowledgeBase
from shiyi.sparql.base.writer import UNFLUSHED, guard_after_commit
from shiyi.sparql.queries.requests import blank_text, check_update
from shiyi.sparql.sandbox.process import WorkerGoneError, WorkerProcess
from shiyi.sparql.sandbox.replies import clamp, raise_if_refused, time_error, worker_failure
from shiyi.sparql.store.oxigraph import NO_GRAPHS, parse_n_quads
from shiyi.sparql.store.snapshots import Snapshot

_CLAUSE: Final = re.compile(r"\b(?:USING|WITH)\b", re.IGNORECASE)
_WHERE: Final = re.compile(r"\bWHERE\b", re.IGNORECASE)
_GROUP: Final = re.compile(r"\{[^{}]*\}")
_NAMES: Final = re.compile(r"[?$]\w+|[\w.-]*:[\w.:%-]*")
_SHORT: Final = re.compile(r"\bDELETE\s*$", re.IGNORECASE)


def set_dataset(text: str, bare: str, default: Sequence[str], names: Sequence[str]) -> str:
    """Return the update with the data set of the request in each of its WHERE clauses.

    ``bare`` is the same text with blanks for what stands in comments, texts and IRIs. QueryError
    where the update names a data set itself (SPARQL 1.1 Protocol section 2.2.3).

    >>> update = "DELETE { ?s ?p 1 } WHERE { ?s ?p 2 }"
    >>> set_dataset(update, update, ["https://e.org/g"], [])
    'DELETE { ?s ?p 1 } USING <https://e.org/g> WHERE { ?s ?p 2 }'
    """
    if not default and not names:
        return text
    outside = _outside(bare)
    if _CLAUSE.search(outside):
        raise QueryError(
            "the update names its graphs with USING or WITH, so using-graph-uri and "
            "using-named-graph-uri must not"
        )
    clauses = [f"USING {_node(iri)} " for iri in default]
    clauses += [f"USING NAMED {_node(iri)} " for iri in names]
    pieces, end = [], 0
    for match in _WHERE.finditer(outside):
        if _SHORT.search(outside, 0, match.start()):
            raise QueryError("with using-graph-uri, write DELETE { … } WHERE { … } in full")
        pieces += [text[end : match.start()], *clauses]
        end = match.start()
    return "".join([*pieces, text[end:]])


def _outside(bare: str) -> str:
    """Blank what stands in braces, and names, which may hold such words."""
    outside, count = bare, 1
    while count:
        outside, count = _GROUP.subn(lambda match: "." * len(match[0]), outside)
    return _NAMES.sub(lambda match: "." * len(match[0]), outside)


def _node(iri: str) -> NamedNode:
    try:
        return NamedNode(iri)
    except ValueError as fault:
        raise QueryError(f"a graph is named by an absolute IRI, not {iri[:80]!r}") from fault


_WAIT_SECONDS = 1.0  # for a place among updates
_BACKUP_SECONDS = 5.0  # hard links of some files; more means an overloaded machine


@dataclass(frozen=True, slots=True)
class Author:
    """The agent and reason of a change, for the journal; ``key`` names the change.

    ``request`` is the digest of a request under a key that may be repeated. Who does not
    maintain the base cannot change what it owns, see :func:`check_rights`.
    """

    key: str
    who: str
    why: str
    request: str = ""
    maintains: bool = True


@dataclass(frozen=True, slots=True)
class Part:
    """A piece of an upload: its format (``ttl``, ``nt``, …) and its bytes."""

    form: str
    body: bytes


@dataclass(frozen=True, slots=True)
class Change:
    """How many quads were removed and added, and whether the graph existed before."""

    removed: int
    added: int
    existed: bool = True


class Updater:
    """SPARQL updates and uploads, bounded and journaled before they are applied.

    An update runs in a confined process on a private copy of the store. What it would remove and
    add comes back as quads, which the writer journals and applies as one change. Other writers
    wait until then, so the change fits the store it was computed on.
    """

    def __init__(
        self,
        kb: KnowledgeBase,
        settings: QuerySettings,
        changed: Callable[[], None],
        places: int = 4,
    ) -> None:
        """Bound the updates that run or wait at once by ``places``."""
        self._kb, self._settings, self._changed = kb, settings, changed
        self._places = threading.BoundedSemaphore(places)
        self.listener: Callable[[Sequence[Quad]], None] = lambda quads: None  # what came and went
        self._turn = threading.Lock()
        self._process: WorkerProcess | None = None
        self._copy: Snapshot | None = None
        self._sequence = -1
        self._moved = 0  # quads that the copy was changed by

    def update(
        self,
        text: str,
        author: Author,
        *,
        default_graphs: Sequence[str] = (),
        named_graphs: Sequence[str] = (),
        timeout: float | None = None,
        base: str = "",
    ) -> Change:
        """Do a SPARQL update, all or nothing; its LOAD and SERVICE are refused."""
        bare = check_update(text, self._settings.max_query_bytes)
        full_text = set_dataset(text, bare, default_graphs, named_graphs)
        if full_text != text:
            bare = blank_text(full_text)
        request = {
            "task": "update",
            "text": full_text,
            "bare": bare,
            "base": base or None,
            "maintains": author.maintains,
        }
        return self._apply(request, b"", author, clamp(self._settings, timeout))

    def merge(self, graph: str, parts: Sequence[Part], base: str, author: Author) -> Change:
        """Add an upload to a graph; the empty name is the default graph."""
        return self._upload("merge", graph, parts, base, author)

    def replace(self, graph: str, parts: Sequence[Part], base: str, author: Author) -> Change:
        """Replace by an upload: all that a graph holds."""
        return self._upload("replace", graph, parts, base, author)

    def drop(self, graph: str, author: Author) -> Change:
        """Remove a graph with all it holds."""
        return self._upload("drop", graph, (), "", author)

    def snapshot(self, sequence: int) -> Snapshot | None:
        """Return a snapshot of the worker's copy where it is level with ``sequence`` and idle."""
        if not self._turn.acquire(blocking=False):
            return None
        try:
            if self._process is None or self._copy is None or self._sequence != sequence:
                return None
            copy = Snapshot.to_fill(self._kb.path / "snapshots")
            request = {
                "task": "backup", "to": str(copy.path), "snapshot": str(self._copy.path),
                "seconds": _BACKUP_SECONDS, "writes": True,
            }  # fmt: skip
            try:
                header, spool = self._process.ask(request, time.monotonic() + _BACKUP_SECONDS)
                spool.close()
            except (TimeoutError, WorkerGoneError):
                header = {"outcome": "gone"}
            if header["outcome"] == "made":
                return copy
            copy.remove()
            self._discard()
            return None
        finally:
            self._turn.release()

    def close(self) -> None:
        """End the worker and remove its copy; twice does no harm."""
        with self._turn:
            self._discard()

    def _upload(
        self, task: str, graph: str, parts: Sequence[Part], base: str, author: Author
    ) -> Change:
        if not author.maintains:
            check_rights((), [_node(graph) if graph else DefaultGraph()])
        request = {
            "task": task,
            "target": graph,
            "base": base or None,
            "parts": [(part.form, len(part.body)) for part in parts],
        }
        body = b"".join(part.body for part in parts)
        return self._apply(request, body, author, clamp(self._settings, None))

    def _apply(
        self, request: dict[str, Any], body: bytes, author: Author, seconds: float
    ) -> Change:
        with self._place(), self._turn, self._kb.writer.turn():
            if self._kb.writer.record_of(author.key, author.request):
                return Change(0, 0)  # done before
            try:
                header, patch = self._compute(request, body, seconds)
                change, quads = self._write(header, patch, author)
            except BaseException:
                self._discard()  # the copy may hold what was not written
                raise
        with guard_after_commit("update", author.key):
            self._changed()
        if quads:
            with guard_after_commit("update", author.key):
                self.listener(quads)
        return change

    @contextmanager
    def _place(self) -> Iterator[None]:
        """Keep threads of the server free of updates that wait for a slow one."""
        if not self._places.acquire(timeout=_WAIT_SECONDS):
            raise QueryLimitError("busy", "other updates take their time; try again later")
        try:
            yield
        finally:
            self._places.release()

    def _compute(
        self, request: dict[str, Any], body: bytes, seconds: float
    ) -> tuple[dict[str, Any], bytes]:
        process, copy = self._prepare()
        process.wait_for_greeting()
        asked = {**request, "snapshot": str(copy.path), "seconds": seconds, "writes": True}
        try:
            header, spool = process.ask(asked, time.monotonic() + seconds, body)
        except TimeoutError:
            raise time_error(seconds) from None
        except WorkerGoneError as gone:
            raise worker_failure(gone.status, seconds) from None
        with spool:
            raise_if_refused(header, self._settings)
            if header["outcome"] == "owned":
                check_rights((), [_node(header["graph"]) if header["graph"] else DefaultGraph()])
            if header["outcome"] != "changed":
                raise KnowledgeBaseError(f"no copy could be changed: {header.get('message')}")
            return header, spool.read()

    def _write(
        self, header: dict[str, Any], patch: bytes, author: Author
    ) -> tuple[Change, tuple[Quad, ...]]:
        first = header["removed"]
        quads, added_quads = parse_n_quads(patch[:first]), parse_n_quads(patch[first:])
        graphs = (tuple(map(NamedNode, header["gone"])), tuple(map(NamedNode, header["come"])))
        if not author.maintains:
            check_rights((*quads, *added_quads), (name for names in graphs for name in names))
        if quads or added_quads or graphs != NO_GRAPHS:
            names = author.key, author.who, author.why
            record = Record(0, *names, "", quads, added_quads, graphs, author.request)
            self._sequence = self._kb.writer.write_record(record)
        self._moved += len(quads) + len(added_quads)
        return Change(len(quads), len(added_quads), bool(header["existed"])), (*quads, *added_quads)

    def _prepare(self) -> tuple[WorkerProcess, Snapshot]:
        """Return a worker and a copy that equals the store and has few changes in memory."""
        level = self._sequence == self._kb.sequence and self._moved < UNFLUSHED
        if self._process is None or self._copy is None or not level:
            self._discard()
            self._copy = self._kb.take_snapshot()
            self._sequence = self._kb.sequence
            self._process = WorkerProcess(self._settings)
            self._moved = 0
        return self._process, self._copy

    def _discard(self) -> None:
        if self._process is not None:
            self._process.end()
            self._process = None
        if self._copy is not None:
            self._copy.remove()
            self._copy = None


def check_rights(quads: Iterable[Quad], graphs: Iterable[NamedNode | DefaultGraph]) -> None:
    """Raise RightsError where a change touches what only curation and maintainers may change.

    That is the default graph and every graph of the base: derived, reviews, rejected, and so on.

    >>> check_rights([Quad(NamedNode("urn:s"), NamedNode("urn:p"), NamedNode("urn:o"))], [])
    Traceback (most recent call last):
    shiyi.errors.RightsError: the default graph is the base's own: change it by curation, write \
to a named graph of your own, or use a token of scope maintain
    """
    for place in {*graphs, *(quad.graph_name for quad in quads)}:
        is_default = isinstance(place, DefaultGraph)
        if is_default or (isinstance(place, NamedNode) and place.value.startswith(GRAPH)):
            raise RightsError(
                f"{'the default graph' if is_default else place} is the base's own: change it by "
                "curation, write to a named graph of your own, or use a token of scope maintain"
            )
