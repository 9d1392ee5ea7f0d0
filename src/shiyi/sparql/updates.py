"""Changes others wrote: tried in a confined worker on a copy, then written by the one writer."""

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from shiyi.errors import KnowledgeBaseError
from shiyi.model.rdf import NamedNode, Quad
from shiyi.settings import QuerySettings
from shiyi.sparql.guard import bare_text, check_update
from shiyi.sparql.knowledge_base import KnowledgeBase
from shiyi.sparql.oxigraph import NO_GRAPHS, parse_n_quads
from shiyi.sparql.snapshots import Snapshot
from shiyi.sparql.using import with_graphs
from shiyi.sparql.worker_process import WorkerGoneError, WorkerProcess
from shiyi.sparql.worker_replies import death, past_time, raise_if_refused, seconds_of
from shiyi.sparql.writer import UNFLUSHED
from shiyi.sparql.written import any_form, forms_moved

_BACKUP_SECONDS = 5.0  # hard links of some files; more means a machine in distress


@dataclass(frozen=True, slots=True)
class Author:
    """Who asks for a change and why, as the journal keeps it; ``key`` names the change."""

    key: str
    who: str
    why: str


@dataclass(frozen=True, slots=True)
class Part:
    """A piece of an upload: its format (``ttl``, ``nt``, …) and its bytes."""

    form: str
    body: bytes


@dataclass(frozen=True, slots=True)
class Change:
    """What a change did: how many quads went and came, and whether its graph was there before."""

    removed: int
    added: int
    existed: bool = True


class Updater:
    """Takes updates and uploads; what they do is known, bounded and journaled before it is done.

    An update runs in a confined process on a private copy of the store. What it would remove and
    add comes back as quads, which the writer journals and applies as one change. Other writers
    wait meanwhile, so the change fits the store it was computed on.
    """

    def __init__(
        self, kb: KnowledgeBase, settings: QuerySettings, changed: Callable[[], None]
    ) -> None:
        self._kb, self._settings, self._changed = kb, settings, changed
        self.listener: Callable[[Sequence[Quad]], None] = lambda moved: None  # what came and went
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
        written = with_graphs(text, bare, default_graphs, named_graphs)
        if written != text:
            bare = bare_text(written)
        request = {"task": "update", "text": written, "bare": bare, "base": base or None}
        return self._done(request, b"", author, seconds_of(self._settings, timeout))

    def merge(self, graph: str, parts: Sequence[Part], base: str, author: Author) -> Change:
        """Add an upload to a graph; the empty name is the default graph."""
        return self._upload("merge", graph, parts, base, author)

    def replace(self, graph: str, parts: Sequence[Part], base: str, author: Author) -> Change:
        """Put an upload in the place of all that a graph holds."""
        return self._upload("replace", graph, parts, base, author)

    def drop(self, graph: str, author: Author) -> Change:
        """Remove a graph with all it holds."""
        return self._upload("drop", graph, (), "", author)

    def snapshot(self, sequence: int) -> Snapshot | None:
        """Give a snapshot of the worker's copy where it is level with ``sequence`` and idle.

        None also where the store has literals in other forms: the copy has not.
        """
        if any_form(self._kb.store.match) or not self._turn.acquire(blocking=False):
            return None
        try:
            if self._process is None or self._copy is None or self._sequence != sequence:
                return None
            made = Snapshot.to_fill(self._kb.path / "snapshots")
            request = {
                "task": "backup", "to": str(made.path), "snapshot": str(self._copy.path),
                "seconds": _BACKUP_SECONDS, "writes": True,
            }  # fmt: skip
            try:
                said, spool = self._process.ask(request, time.monotonic() + _BACKUP_SECONDS)
                spool.close()
            except (TimeoutError, WorkerGoneError):
                said = {"outcome": "gone"}
            if said["outcome"] == "made":
                return made
            made.remove()
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
        request = {
            "task": task, "target": graph, "base": base or None,
            "parts": [(part.form, len(part.body)) for part in parts],
        }  # fmt: skip
        body = b"".join(part.body for part in parts)
        return self._done(request, body, author, seconds_of(self._settings, None))

    def _done(self, request: dict[str, Any], body: bytes, author: Author, seconds: float) -> Change:
        with self._turn, self._kb.writer.turn():
            if self._kb.writer.journal.find(author.key) is not None:
                return Change(0, 0)  # done before
            try:
                asked = {**request, "forms": any_form(self._kb.store.match)}
                said, patch = self._tried(asked, body, seconds)
                change, moved = self._written(said, patch, author)
            except BaseException:
                self._discard()  # the copy may hold what was not written
                raise
        self._changed()
        if moved:
            self.listener(moved)
        return change

    def _tried(
        self, request: dict[str, Any], body: bytes, seconds: float
    ) -> tuple[dict[str, Any], bytes]:
        process, copy = self._ready()
        process.greeting()
        asked = {**request, "snapshot": str(copy.path), "seconds": seconds, "writes": True}
        try:
            said, spool = process.ask(asked, time.monotonic() + seconds, body)
        except TimeoutError:
            raise past_time(seconds) from None
        except WorkerGoneError as gone:
            raise death(gone.status, seconds) from None
        with spool:
            raise_if_refused(said, self._settings)
            if said["outcome"] != "changed":
                raise KnowledgeBaseError(f"no copy could be changed: {said.get('message')}")
            return said, spool.read()

    def _written(
        self, said: dict[str, Any], patch: bytes, author: Author
    ) -> tuple[Change, tuple[Quad, ...]]:
        first, second = said["removed"], said["removed"] + said["added"]
        removed, added = parse_n_quads(patch[:first]), parse_n_quads(patch[first:second])
        gone, come = forms_moved(self._kb.store.match, parse_n_quads(patch[second:]))
        graphs = (tuple(map(NamedNode, said["gone"])), tuple(map(NamedNode, said["come"])))
        if removed or added or gone or come or graphs != NO_GRAPHS:
            self._sequence = self._kb.writer.write(
                (*added, *come), (*removed, *gone), key=author.key, who=author.who, why=author.why,
                graphs=graphs,
            )  # fmt: skip
        self._moved += len(removed) + len(added)
        return Change(len(removed), len(added), bool(said["existed"])), (*removed, *added)

    def _ready(self) -> tuple[WorkerProcess, Snapshot]:
        """Give a worker and a copy that is level with the store, and has not taken in much."""
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
