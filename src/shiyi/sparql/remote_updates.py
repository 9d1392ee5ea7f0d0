"""Changes that others wrote to a store elsewhere: known, bounded and journaled before they are done.

The engine is only asked what the WHERE of an operation finds. What an update names is read in a confined
process, filled with what was found, and sent as quads by the one writer, as every other change is.
"""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, Final

from typing_extensions import override

from shiyi.errors import (
    KnowledgeBaseError,
    OutsideError,
    QueryRefusedError,
    ShiyiError,
)
from shiyi.model.rdf import DefaultGraph, NamedNode, Quad, Triple
from shiyi.settings import QuerySettings
from shiyi.sparql.guard import bare_text
from shiyi.sparql.knowledge_base import KnowledgeBase
from shiyi.sparql.oxigraph import Graphs, n_quads, parse_n_quads
from shiyi.sparql.remote import NO_GRAPH, NOTE, RemoteStore
from shiyi.sparql.remote_http import Dataset
from shiyi.sparql.remote_pending import Pending
from shiyi.sparql.remote_terms import PARTS
from shiyi.sparql.store import Solution
from shiyi.sparql.updates import Author, Change, Updater
from shiyi.sparql.worker_planning import VARIABLE
from shiyi.sparql.worker_process import WorkerGoneError, WorkerProcess
from shiyi.sparql.worker_replies import death, past_limit, past_time, raise_if_refused
from shiyi.sparql.writer import JOURNAL
from shiyi.sparql.written import WRITTEN

_RESERVED: Final = frozenset({JOURNAL.value, NOTE.value, WRITTEN.value})
Step = Mapping[str, Any]


class RemoteUpdater(Updater):
    """Does what ``Updater`` does where the quads lie in a remote store.

    The operations of an update are one record of the journal, but for one whose WHERE reads after
    another has changed something: what came before is written first, under a number of its own, and
    taken back where a later operation fails. Other writers of this base wait meanwhile.
    """

    def __init__(
        self, kb: KnowledgeBase, settings: QuerySettings, changed: Callable[[], None]
    ) -> None:
        super().__init__(kb, settings, changed)
        if not isinstance(kb.store, RemoteStore):
            raise KnowledgeBaseError(f"{kb.path} has its own store; change it through Updater")
        self._store = kb.store

    @override
    def _done(self, request: dict[str, Any], body: bytes, author: Author, seconds: float) -> Change:
        with self._turn, self._kb.writer.turn():
            if self._kb.writer.journal.find(author.key) is not None:
                return Change(0, 0)  # done before
            doing = _Doing(self._store, self._settings, self._kb, author, seconds, self._step)
            existed = doing.update(request) if request["task"] == "update" else (
                doing.upload(request, body)
            )  # fmt: skip
        self._changed()
        if doing.moved:
            self.listener(doing.moved)
        return Change(doing.removed, doing.added, existed)

    def _step(
        self, request: dict[str, Any], body: bytes, until: float, seconds: float
    ) -> tuple[dict[str, Any], bytes]:
        """Ask the confined process; errors as of :meth:`Updater.update`."""
        if self._process is None:
            self._process = WorkerProcess(self._settings)
        self._process.greeting()
        left = max(0.001, until - time.monotonic())
        try:
            said, spool = self._process.ask(
                {**request, "snapshot": "", "seconds": left}, until, body
            )
        except TimeoutError:
            self._discard()
            raise past_time(seconds) from None
        except WorkerGoneError as gone:
            self._discard()
            raise death(gone.status, seconds) from None
        with spool:
            raise_if_refused(said, self._settings)
            return said, spool.read()


class _Doing:
    """One request on its way: what it moved so far, and what of that is in the journal."""

    def __init__(
        self, store: RemoteStore, settings: QuerySettings, kb: KnowledgeBase, author: Author,
        seconds: float, step: Callable[..., tuple[dict[str, Any], bytes]],
    ) -> None:  # fmt: skip
        self._store, self._settings, self._kb, self._author = store, settings, kb, author
        self._seconds, self._until = seconds, time.monotonic() + seconds
        self._step = step
        self._pending = Pending(store, settings.bytes)
        self._written: list[tuple[tuple[Quad, ...], tuple[Quad, ...], Graphs]] = []
        self.removed = self.added = 0
        self.moved: tuple[Quad, ...] = ()

    def update(self, request: Mapping[str, Any]) -> bool:
        """Do every operation of an update, or none."""
        plan, _ = self._asked({**request, "task": "plan"})
        try:
            for at, step in enumerate(plan["operations"]):
                self._one(step, {**request, "task": "fill", "at": at})
            self._write(last=True)
        except ShiyiError as fault:
            self._take_back(fault)
            raise
        return True

    def upload(self, request: Mapping[str, Any], body: bytes) -> bool:
        """Merge, replace or drop one graph; tell whether it was there."""
        name, task = str(request["target"]), request["task"]
        self._check_graphs([name])
        existed = not name or self._pending.has(name)
        come: set[Quad] = set()
        if task != "drop":
            said, patch = self._asked({**request, "task": "read"}, body)
            come = set(parse_n_quads(patch[said["removed"] :]))
        old = set() if task == "merge" else self._pending.all_in(name)
        self._pending.move(old - come, come)
        if name:
            (self._pending.drop if task == "drop" else self._pending.create)(name)
        self._write(last=True)
        return existed

    def _asked(self, request: dict[str, Any], body: bytes = b"") -> tuple[dict[str, Any], bytes]:
        return self._step(request, body, self._until, self._seconds)

    def _one(self, step: Step, request: dict[str, Any]) -> None:
        verb, silent = step["verb"], bool(step["silent"])
        if verb == "LOAD":  # it is SILENT, and nothing outside is asked
            return
        if verb in {"CLEAR", "DROP", "CREATE"}:
            self._managed(verb, step["graphs"][0], silent)
        elif verb in {"COPY", "MOVE", "ADD"}:
            self._check_graphs(step["graphs"])
            self._pending.transfer(verb, *step["graphs"], silent=silent)
        else:
            rows = self._solutions(step) if verb == "MODIFY" else []
            said, patch = self._asked({**request, "rows": len(rows)}, _rows(rows))
            gone = parse_n_quads(patch[: said["removed"]])
            come = parse_n_quads(patch[said["removed"] :])
            self._check_graphs([*said["graphs"], *_graphs((*gone, *come))])
            self._pending.move(set(gone) - set(come), set(come))
            for name in said["graphs"]:
                self._pending.create(name)

    def _managed(self, verb: str, name: str, silent: bool) -> None:
        if name in {"NAMED", "ALL"}:
            names = [each for each in self._pending.names() if each not in _RESERVED]
            names += [""] if name == "ALL" else []
        else:
            self._check_graphs([name])
            there = not name or self._pending.has(name)
            if there == (verb == "CREATE") and not silent:
                state = "is there already" if there else "is not there"
                raise QueryRefusedError(f"the graph <{name}> {state}")
            names = [name]
        for each in names:
            if verb == "CREATE":
                self._pending.create(each)
                continue
            self._pending.move(self._pending.all_in(each), set())
            if verb == "DROP" and each and self._pending.has(each):
                self._pending.drop(each)

    def _solutions(self, step: Step) -> list[Solution]:
        """Ask the engine what WHERE finds, once it has what came before."""
        if self._pending:
            self._write(last=False)
        left = max(0.001, self._until - time.monotonic())
        most = self._settings.bytes
        ask = partial(self._store.endpoint.bounded, seconds=left, most=most)
        lowered = self._store.settings.profile == "rdf11"
        select, held, size = str(step["whole" if lowered else "select"]), [], 0
        try:
            for row in self._store.solutions(select, self._dataset(step), ask):
                if any(str(getattr(row.get(name), "value", "")) in _RESERVED
                       for name in step["graph_names"]) or (lowered and _describes(row)):  # fmt: skip
                    continue
                size += sum(len(str(term)) for term in row.values())
                if size > most:
                    raise OverflowError
                held.append(row)
        except TimeoutError:
            raise past_time(self._seconds) from None
        except OverflowError:
            raise past_limit("bytes", self._settings) from None
        return held

    def _dataset(self, step: Step) -> Dataset:
        if step["default"] or step["named"]:
            return tuple(step["default"]), tuple(step["named"])
        if not step["within"]:
            return self._store.dataset(step["select"])
        names = "GRAPH" in bare_text(step["select"]).upper()
        named = [each for each in self._store.graph_names() if each not in _RESERVED]
        return (step["within"],), tuple(named or [NO_GRAPH]) if names else ()

    def _check_graphs(self, names: Iterable[str]) -> None:
        own = {*_RESERVED, self._store.settings.default_graph} - {""}
        for name in names:
            if name in own:
                raise QueryRefusedError(f"{name} is kept for Shiyi itself; use another graph")

    def _write(self, last: bool) -> None:
        gone, come, graphs = self._pending.taken()
        key = self._author.key if last else f"{self._author.key} {time.time_ns()}"
        if gone or come or graphs != ((), ()) or (last and self._written):
            self._kb.writer.write(
                come, gone, key=key, who=self._author.who, why=self._author.why, graphs=graphs
            )
            self._written.append((gone, come, graphs))
            self.removed, self.added = self.removed + len(gone), self.added + len(come)
            self.moved = (*self.moved, *gone, *come)

    def _take_back(self, fault: ShiyiError) -> None:
        """Undo what earlier operations of the same update wrote."""
        done, self._written = self._written, []
        for number, (gone, come, (left, made)) in enumerate(reversed(done)):
            try:
                self._kb.writer.write(
                    gone, come, key=f"{self._author.key} {time.time_ns()} back {number}",
                    who=self._author.who, why=f"{self._author.why}: taken back",
                    graphs=(made, left),
                )  # fmt: skip
            except OutsideError as lost:
                raise KnowledgeBaseError(
                    f"{fault}; and what {len(done) - number} of its operations had done stands, "
                    f"since the store was lost: {lost}"
                ) from fault


def _describes(row: Solution) -> bool:
    """Tell whether a solution is of what describes a triple term in the profile ``rdf11``."""
    found = row.values()
    return any(isinstance(term, Triple) for term in found) and any(p in found for p in PARTS)


def _rows(rows: Sequence[Solution]) -> bytes:
    """Write solutions as N-Quads, each a subject with a value for each variable."""
    return n_quads(
        Quad(NamedNode(f"urn:shiyi:row:{at}"), NamedNode(VARIABLE + name), term, DefaultGraph())
        for at, row in enumerate(rows) for name, term in row.items() if name != "shiyi"
    )  # fmt: skip


def _graphs(quads: Iterable[Quad]) -> set[str]:
    return {q.graph_name.value for q in quads if isinstance(q.graph_name, NamedNode)}
