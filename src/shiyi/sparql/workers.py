"""The reading path for queries others wrote: killable workers on snapshots, never this process."""

import re
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Self

from shiyi.errors import KnowledgeBaseError
from shiyi.model.tally import TALLY
from shiyi.ontology.terms import PREFIXES
from shiyi.settings import QuerySettings
from shiyi.sparql.federation import Services
from shiyi.sparql.free_query import FreeQuery
from shiyi.sparql.guard import check_query
from shiyi.sparql.kept_results import KeptResults
from shiyi.sparql.knowledge_base import KnowledgeBase
from shiyi.sparql.results import QueryResult, ResultFormat, StreamedResult
from shiyi.sparql.seen import Seen, Shared
from shiyi.sparql.turns import MOMENT, Turns, busy
from shiyi.sparql.worker_process import Deadline, Reply, WorkerGoneError, WorkerProcess
from shiyi.sparql.worker_replies import death, past_time, result_of, seconds_of

if TYPE_CHECKING:
    from shiyi.sparql.remote_pool import RemotePool

_BEFORE_OTHERS = 0.2  # seconds; a query that runs on gives way, which may cost its worker (0.05 s)
_OF_DEBTORS = 0.02  # seconds; the same for who owes much
_WAIT = 5.0  # seconds for a worker; there is none so late but where the machine is starved
_START = 0.3  # seconds that a worker may take to start, which are not the query's
_AGAIN = 0.2  # seconds between attempts to start a worker
_CLOSING = 3600.0  # seconds, of which none are needed: who holds a worker finds it killed
# a query that itself names triple terms or their reifiers is asked of the base as it is
_SPEAKS_12 = re.compile(r"<<|\breifies\b")


@dataclass(slots=True)
class _Worker:
    process: WorkerProcess
    reads: Shared | None = None
    lives: bool = True


@dataclass(slots=True)
class _Stay:
    """One query in its worker: a moment for everybody, then a seat if there is one."""

    worker: _Worker
    asker: str
    turns: Turns[_Worker]
    begun: float
    seated: bool = False

    def sit(self) -> None:
        """Go on as a long query; QueryLimitError where the asker may not."""
        self.turns.sit(self.asker)
        self.seated = True

    def end(self) -> None:
        """Give back what is not the worker."""
        if self.seated:
            self.turns.rise(self.asker)
        self.turns.left(self.asker, time.monotonic() - self.begun, not self.worker.lives)


class QueryPool:
    """Answers free queries in confined workers; whatever a query does, the next is answered.

    A change is seen by queries that begin ``settings.snapshot_seconds`` after it, or at once
    after :meth:`refresh`.

    Queries see no restricted claims and no patients' cases (:mod:`shiyi.sparql.withheld`), but
    for those asked as ``whole``; with ``open_to_all`` restricted claims are for everybody.
    """

    def __init__(
        self, kb: KnowledgeBase, settings: QuerySettings | None = None, open_to_all: bool = False
    ) -> None:
        self._settings = settings or QuerySettings()
        self.seen = Seen(kb, self._settings.snapshot_seconds, open_to_all)
        self._services = Services(self._settings.services.split())
        self._turn, self._closed = threading.Lock(), False
        kept = self._settings.cache_bytes
        self._kept = KeptResults(kept) if kept > 0 else None
        self._workers = [
            _Worker(WorkerProcess(self._settings)) for _ in range(max(1, self._settings.workers))
        ]
        self._turns: Turns[_Worker] = Turns(len(self._workers))
        for worker in self._workers:
            self._turns.put(worker)
        greeting = self._workers[0].process.greeting()
        self.network_blocked = bool(greeting["network_blocked"])

    def query(self, query: FreeQuery) -> QueryResult:
        """Give a result whole and in memory; errors as of :meth:`stream`."""
        made = self.stream(query)
        with made.body as body:
            return QueryResult(made.media_type, body.read(), made.kind, made.rows)

    def stream(self, query: FreeQuery) -> StreamedResult:
        """Give a result at constant memory.

        A long one lies in a file without a name until it is whole, so that one past a limit is an
        error from the first byte. The copy for the profile ``rdf11`` is made when it is first asked
        for after a change.

        QueryError where the query is wrong, QueryLimitError where it ran past its time, memory,
        rows, bytes or its asker's share, FormatError where ``accept`` has no fit.
        """
        seconds, state = seconds_of(self._settings, query.timeout), self.seen.level(query.whole)
        if self._kept:
            known = self._kept.find(state, query)
            TALLY.add("cache_hits" if known else "cache_misses", "results")
            if known:
                return known
        text, left = self._with_services(query.text, seconds)
        request = {
            "query": text, "seconds": left, "solutions": query.accept.solutions,
            "graph": query.accept.graph, "default_graphs": query.default_graphs,
            "named_graphs": query.named_graphs, "profile": query.profile, "base": query.base,
            "rows": min(query.rows or self._settings.rows, self._settings.rows),
            **_prefixes(query.accept.graph),
        }  # fmt: skip
        lowers = query.profile == "rdf11" and not _SPEAKS_12.search(query.text)
        reply = self._reply(request, left, query.whole, lowers, query.asker)
        made = result_of(reply, query.accept, replace(self._settings, rows=request["rows"]))
        if self._kept and text is query.text and state == self.seen.level(query.whole):
            self._kept.keep(state, query, made)
        return made

    def dump(
        self, graph: str, form: str, profile: str = "", whole: bool = False, asker: str = ""
    ) -> StreamedResult | None:
        """Give one graph, the empty name being the default graph; None where it is not.

        QueryLimitError where it is larger than a result may be.
        """
        seconds = self._settings.timeout
        request = {
            "task": "dump", "target": graph, "graph": form, "seconds": seconds,
            "profile": profile, **_prefixes(form),
        }  # fmt: skip
        reply = self._reply(request, seconds, whole, asker=asker)
        if reply[0]["outcome"] == "absent":
            return None
        return result_of(reply, ResultFormat.of(form), self._settings)

    def expire(self) -> None:
        """Let the next query see all changes made so far, as ``refresh`` does, but then only."""
        self.seen.expire()

    def refresh(self) -> None:
        """Let every query that begins from now on see all changes made so far."""
        self.seen.refresh()

    def close(self) -> None:
        """End all workers and remove the snapshots; queries under way get an error."""
        with self._turn:
            if self._closed:
                return
            self._closed = True
        for worker in self._workers:
            worker.process.kill()  # a query under way fails now, not at its deadline
        for _ in self._workers:
            worker = self._turns.take("", _CLOSING)
            worker.process.end()
            self.seen.release(worker.reads)
        self.seen.close()
        self._services.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *fault: object) -> None:
        self.close()

    def _with_services(self, text: str, seconds: float) -> tuple[str, float]:
        """Check a query; where it asks allowed services, give it with their answers, and the time left."""
        most = self._settings.max_query_bytes
        if not self._services.asked_in(text) or len(text) > most:
            check_query(text, most, self.network_blocked)
            return text, seconds
        began = time.monotonic()
        asked = self._services.inlined(text, seconds, most)
        check_query(asked, len(asked) * 4, self.network_blocked)
        return asked, max(0.001, seconds - (time.monotonic() - began))

    def _reply(
        self, request: dict[str, Any], seconds: float, whole: bool, lowers: bool = False,
        asker: str = "",
    ) -> Reply:  # fmt: skip
        if lowers:  # making it is not the query's time
            self.seen.release(self.seen.lowered(whole))
        asked = time.monotonic()
        with self._borrowed(asker, seconds) as stay:
            worker = stay.worker
            until = min(stay.begun, asked + _START) + seconds
            shared = self.seen.lowered(whole) if lowers else self.seen.latest(whole)
            try:
                said = {**request, "snapshot": str(shared.snapshot.path)}
                now = time.monotonic()
                before = _OF_DEBTORS if self._turns.owes_much(asker) else _BEFORE_OTHERS
                moments = [
                    (now + before, worker.process.give_way),
                    (now + min(MOMENT, seconds / 4), stay.sit),
                ]
                reply = worker.process.ask(
                    said, Deadline(until, sorted(moments, key=itemgetter(0)))
                )
            except TimeoutError:
                self._dead(worker, shared, "time")
                waited = until - stay.begun < seconds / 2
                raise (busy() if waited else past_time(seconds)) from None
            except WorkerGoneError as gone:
                self._dead(worker, shared, "died")
                raise death(gone.status, seconds) from None
            except BaseException:
                self._dead(worker, shared, "share")
                raise
            self.seen.release(worker.reads)
            worker.reads = shared
            return reply

    @contextmanager
    def _borrowed(self, asker: str, seconds: float) -> Iterator[_Stay]:
        if self._closed:
            raise KnowledgeBaseError("the query pool is closed")
        worker = self._turns.take(asker, min(seconds, _WAIT) + _START)
        stay = _Stay(worker, asker, self._turns, time.monotonic())
        try:
            yield stay
        finally:
            stay.end()
            worker.lives = worker.lives and worker.process.take_part()
            if worker.lives:
                self._turns.put(worker)
            else:  # whoever asked need not wait until there is another
                reviver = threading.Thread(target=self._revive, args=(worker,), daemon=True)
                try:
                    reviver.start()
                except RuntimeError:  # no thread now
                    self._revive(worker)

    def _dead(self, worker: _Worker, shared: Shared, why: str) -> None:
        TALLY.add("worker_kills", why)
        worker.process.kill()
        worker.lives = False
        self.seen.release(shared)

    def _revive(self, worker: _Worker) -> None:
        """Put a fresh process in the place of one that is gone, as soon as the machine has room."""
        worker.process.end()
        self.seen.release(worker.reads)
        worker.reads = None
        while not self._closed and not worker.lives:
            try:
                worker.process = WorkerProcess(self._settings)
                worker.process.greeting()
                worker.lives = True
            except (OSError, KnowledgeBaseError):  # no descriptors or no memory now
                time.sleep(_AGAIN)
        self._turns.put(worker)


def _prefixes(form: str) -> dict[str, Any]:
    """Give the prefixes to the forms that write them; small requests are soon read."""
    return {"prefixes": dict(PREFIXES)} if form in {"ttl", "trig", "rdf"} else {}


def pool_of(
    kb: KnowledgeBase, settings: QuerySettings, open_to_all: bool = False
) -> "QueryPool | RemotePool":
    """Give what answers free queries: workers on snapshots, or the engine of a remote store.

    The remote engine shows all it holds.
    """
    from shiyi.sparql.remote import RemoteStore
    from shiyi.sparql.remote_pool import RemotePool

    if isinstance(kb.store, RemoteStore):
        return RemotePool(kb.store, settings)
    return QueryPool(kb, settings, open_to_all)
