"""Free queries: a pool of confined workers or a remote engine, and a cache of short results."""

import json
import re
import threading
import time
from collections.abc import Hashable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from operator import itemgetter
from typing import Any, Final, Self

from cachetools import LRUCache

from shiyi.errors import (
    KnowledgeBaseError,
    OutsideError,
    QueryLimitError,
    QueryRefusedError,
    ShiyiError,
)
from shiyi.metrics import CACHE_HITS, CACHE_MISSES, WORKER_KILLS
from shiyi.model.rdf import BlankNode, Term, Triple, canonical
from shiyi.ontology.terms import PREFIXES
from shiyi.settings import QuerySettings, RemoteSettings
from shiyi.sparql.base.knowledge_base import KnowledgeBase
from shiyi.sparql.queries.requests import SPEAKS_12, FreeQuery, blank_text, check_query, nest
from shiyi.sparql.queries.results import (
    GRAPH_TYPES,
    SOLUTION_TYPES,
    LiveSpool,
    QueryResult,
    ResultFormat,
    Spool,
    StreamedResult,
)
from shiyi.sparql.remote.http import NO_DATASET, RESULTS, Endpoint
from shiyi.sparql.remote.pool import RemotePool
from shiyi.sparql.remote.store import RemoteStore
from shiyi.sparql.remote.terms import from_wire
from shiyi.sparql.sandbox.operations import OperationSplitError, find_closing_brace, prologue
from shiyi.sparql.sandbox.process import Deadline, WorkerGoneError, WorkerProcess
from shiyi.sparql.sandbox.replies import clamp, raise_if_refused, time_error, unpack, worker_failure
from shiyi.sparql.sandbox.scheduling import MOMENT, WorkerScheduler, busy
from shiyi.sparql.sandbox.views import SharedSnapshot, SnapshotViews

Solutions = tuple[list[str], list[Mapping[str, Term]]]  # the variables, and the rows

ROWS: Final = 10_000  # of one service; each becomes a line of the query
BYTES: Final = 5_000_000
_PART: Final = 1 << 16
_SERVICE: Final = re.compile(
    r"(?<![\w\u00b7:?$@.-])(?<!\\.)SERVICE\s*(?P<silent>SILENT\s*)?(?P<iri><[ ]*>)\s*(?=\{)",
    re.IGNORECASE,
)
_NAME: Final = re.compile(r"\w+")


class Services:
    """Inserts what allowed endpoints answer into queries; ``allowed`` are their exact addresses."""

    def __init__(self, allowed: Sequence[str]) -> None:
        self._endpoints = {
            address: Endpoint(address, RemoteSettings(retries=0)) for address in allowed
        }

    def names_services(self, text: str) -> bool:
        """Return whether a query may name an endpoint that is allowed."""
        return bool(self._endpoints) and any(f"<{each}>" in text for each in self._endpoints)

    def inline(self, text: str, seconds: float, max_bytes: int) -> str:
        """Return the query with solutions in the place of each SERVICE, its address given in full.

        QueryRefusedError for an address that is not allowed, QueryLimitError past ``seconds`` or
        some bounds, OutsideError where an endpoint fails and the clause is not SILENT.
        """
        bare, until = blank_text(text), time.monotonic() + seconds
        parts, end, head = [], 0, prologue(text, bare)
        for number, match in enumerate(_SERVICE.finditer(bare)):
            if match.start() < end:
                raise QueryRefusedError("SERVICE within SERVICE is not offered")
            address = text[match.start("iri") + 1 : match.end("iri") - 1]
            if address not in self._endpoints:
                known = ", ".join(sorted(self._endpoints))
                raise QueryRefusedError(f"SERVICE is offered to {known} only")
            try:
                last = find_closing_brace(bare, match.end())
            except OperationSplitError as fault:
                raise QueryRefusedError(f"SERVICE: {fault}") from fault
            block = text[match.end() : last]
            # the rest of it is checked as it stands, a SERVICE within too
            check_query(f"SELECT * WHERE {block}", max_bytes)
            parts.append(text[end : match.start()])
            try:
                found_there = self._answer(address, f"{head}\nSELECT * WHERE {block}", until)
                parts.append(f"{{ {_values(found_there, number)} }}")
            except ShiyiError:
                if match["silent"] is None:
                    raise
                parts.append("{ }")  # one solution without bindings, as the standard has it
            end = last
        return "".join([*parts, text[end:]])

    def close(self) -> None:
        """Release the connections."""
        for endpoint in self._endpoints.values():
            endpoint.close()

    def _answer(self, address: str, query: str, until: float) -> Solutions:
        left = until - time.monotonic()
        body = bytearray()
        try:
            if left <= 0:
                raise TimeoutError
            with self._endpoints[address].stream(query, RESULTS, NO_DATASET, left) as reply:
                for part in reply.iter_bytes(_PART):
                    body += part
                    if len(body) > BYTES:
                        raise QueryLimitError(
                            "bytes",
                            f"{address} answered more than {BYTES:,} bytes; ask it for less",
                        )
                    if time.monotonic() > until:
                        raise TimeoutError
        except TimeoutError:
            raise QueryLimitError("time", f"{address} did not answer in time") from None
        return solutions(address, bytes(body))


def solutions(address: str, body: bytes) -> Solutions:
    """Read SPARQL JSON results."""
    try:
        results = json.loads(body)
        names, rows = results["head"]["vars"], results["results"]["bindings"]
        if not all(isinstance(item, str) and _NAME.fullmatch(item) for item in names):
            raise ValueError("a name that is no variable")
        read: list[Mapping[str, Term]] = [
            {name: from_wire(term) for name, term in row.items() if name in names}
            for row in rows[: ROWS + 1]
        ]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as fault:
        raise OutsideError(f"{address} did not answer with SPARQL results: {fault}") from fault
    if len(read) > ROWS:
        raise QueryLimitError("rows", f"{address} answered more than {ROWS:,} rows")
    return names, read


def _values(solutions: Solutions, number: int) -> str:
    names, rows = solutions
    lines = (f"({' '.join(_sparql_term(row.get(name), number) for name in names)})" for row in rows)
    return f"VALUES ({' '.join(f'?{name}' for name in names)}) {{ {' '.join(lines)} }}"


def _sparql_term(term: Term | None, number: int) -> str:
    if term is None:
        return "UNDEF"
    if isinstance(term, BlankNode):  # no query can name it, but its likeness joins with itself
        return f"<urn:shiyi:service:{number}:{term.value}>"
    if isinstance(term, Triple):
        parts = (term.subject, term.predicate, term.object)
        return f"<<( {' '.join(_sparql_term(part, number) for part in parts)} )>>"
    return canonical(term)


LARGEST: Final = 1 << 16  # bytes of one stored result
_BESIDE: Final = 600  # bytes that one takes beside its body and its texts (measured)
_CHANGING: Final = re.compile(r"\b(?:NOW|RAND|UUID|STRUUID|BNODE)\s*\(|\\u", re.IGNORECASE)


class ResultCache:
    """An LRU cache of short results, up to ``most`` bytes in all.

    Each belongs to a ``state`` of the base, so a change makes the others unreachable. A query with
    a result that changes from call to call is not stored.
    """

    def __init__(self, most: int) -> None:
        self._lock = threading.Lock()
        self._results: LRUCache[tuple[Hashable, FreeQuery], tuple[int, QueryResult]] = LRUCache(
            most, getsizeof=itemgetter(0)
        )

    def find(self, state: Hashable, query: FreeQuery) -> StreamedResult | None:
        """Return a stored result."""
        with self._lock:
            results = self._results.get((state, query))
        if results is None:
            return None
        _, whole = results
        spool = Spool()
        spool.add(whole.body)
        return StreamedResult(whole.media_type, spool, whole.kind, whole.rows)

    def keep(self, state: Hashable, query: FreeQuery, result: StreamedResult) -> None:
        """Store a result if it is short and the query always gives the same."""
        size = result.body.size + query.size + _BESIDE
        too_large = result.body.size > LARGEST or size > self._results.maxsize
        if too_large or _CHANGING.search(query.text):
            return
        whole = QueryResult(result.media_type, result.body.read(), result.kind, result.rows)
        with self._lock:
            self._results[state, query] = size, whole


_BEFORE_OTHERS = 0.2  # seconds; a query that runs on gives way, which may cost its worker (0.05 s)
_OF_DEBTORS = 0.02  # seconds; the same for clients in debt
_WAIT = 5.0  # seconds for a worker; there is none so late but where the machine is starved
_START = 0.3  # seconds that a worker may take to start, which are not the query's
_AGAIN = 0.2  # seconds between attempts to start a worker
_CLOSING = 3600.0  # seconds, of which none are needed: who holds a worker finds it killed


Begun = tuple[dict[str, Any], Spool] | tuple[None, LiveSpool]


@dataclass(slots=True)
class _Worker:
    process: WorkerProcess
    reads: SharedSnapshot | None = None
    lives: bool = True


@dataclass(slots=True)
class _Lease:
    """One query in its worker: a moment for everybody, then a seat if there is one."""

    worker: _Worker
    asker: str
    scheduler: WorkerScheduler[_Worker]
    begun: float
    seated: bool = False

    def acquire_long_slot(self) -> None:
        """Go on as a long query; QueryLimitError where the asker may not."""
        self.scheduler.acquire_long_slot(self.asker)
        self.seated = True

    def end(self) -> None:
        """Release the seat and charge the client; the worker is returned separately."""
        if self.seated:
            self.scheduler.release_long_slot(self.asker)
        self.scheduler.charge(self.asker, time.monotonic() - self.begun, not self.worker.lives)


class QueryPool:
    """Free queries in confined workers; no query prevents the next.

    Queries see a change ``settings.snapshot_seconds`` later, or after :meth:`refresh`.

    Queries see no restricted claims and no patients' cases
    (:mod:`shiyi.sparql.store.visibility`) unless asked as ``whole`` or with ``open_to_all``.
    """

    def __init__(
        self, kb: KnowledgeBase, settings: QuerySettings | None = None, open_to_all: bool = False
    ) -> None:
        self._settings = settings or QuerySettings()
        self.seen = SnapshotViews(kb, self._settings.snapshot_seconds, open_to_all)
        self._services = Services(self._settings.services.split())
        self._turn, self._closed = threading.Lock(), False
        size = self._settings.cache_bytes
        self._results = ResultCache(size) if size > 0 else None
        self._workers = [
            _Worker(WorkerProcess(self._settings)) for _ in range(max(1, self._settings.workers))
        ]
        self._scheduler: WorkerScheduler[_Worker] = WorkerScheduler(len(self._workers))
        for worker in self._workers:
            self._scheduler.release(worker)
        greeting = self._workers[0].process.wait_for_greeting()
        self.network_blocked = bool(greeting["network_blocked"])

    def query(self, query: FreeQuery) -> QueryResult:
        """Return a result whole and in memory; errors as of :meth:`stream`."""
        result = self.stream(query)
        with result.body as body:
            return QueryResult(result.media_type, body.read(), result.kind, result.rows)

    def stream(self, query: FreeQuery) -> StreamedResult:
        """Return a result at constant memory.

        A long one lies in a file without a name until it is whole, so that one past a limit is an
        error from the first byte; one of a ``live`` query is read while it is made, and the error
        comes at its end. The copy ``rdf11`` is made at its first use.

        QueryError where the query is wrong, QueryLimitError where it ran past its time, memory,
        rows, bytes or its asker's share, FormatError where ``accept`` has no fit.
        """
        seconds, state = clamp(self._settings, query.timeout), self.seen.level(query.whole)
        if self._results:
            result = self._results.find(state, query)
            (CACHE_HITS if result else CACHE_MISSES).labels("results").inc()
            if result:
                return result
        text, left = self._with_services(query.text, seconds)
        request = {
            "query": nest(text),
            "seconds": left,
            "solutions": query.accept.solutions,
            "graph": query.accept.graph,
            "default_graphs": query.default_graphs,
            "named_graphs": query.named_graphs,
            "profile": "rdf11" if query.lowers_graphs else query.profile,
            "base": query.base,
            "rows": min(query.rows or self._settings.rows, self._settings.rows),
            **_prefixes(query.accept.graph),
        }
        lowers = query.profile == "rdf11" and not SPEAKS_12.search(query.text)
        limits = self._settings
        if request["rows"] != limits.rows:
            limits = replace(limits, rows=request["rows"])
        reply = self._reply(
            request, left, query.whole, lowers, query.asker, limits if query.live else None
        )
        if reply[0] is None:
            kind = "graph" if query.accept.graph else "solutions"
            media = GRAPH_TYPES.get(query.accept.graph) or SOLUTION_TYPES[query.accept.solutions]
            return StreamedResult(media, reply[1], kind, 0)
        made = unpack((reply[0], reply[1]), query.accept, limits)
        if self._results and text is query.text and state == self.seen.level(query.whole):
            self._results.keep(state, query, made)
        return made

    def dump(
        self, graph: str, form: str, profile: str = "", whole: bool = False, asker: str = ""
    ) -> StreamedResult | None:
        """Return one graph, the empty name being the default graph; None where it is not.

        QueryLimitError where it is larger than a result may be.
        """
        seconds = self._settings.timeout
        request = {
            "task": "dump",
            "target": graph,
            "graph": form,
            "seconds": seconds,
            "profile": profile,
            **_prefixes(form),
        }
        header, body = self._reply(request, seconds, whole, asker=asker)
        if header is None or header["outcome"] == "absent":
            return None
        return unpack((header, body), ResultFormat.of(form), self._settings)

    def expire(self) -> None:
        """Make the next query see all changes, as ``refresh`` does, but lazily."""
        self.seen.expire()

    def refresh(self) -> None:
        """Make every query that begins from now on see all changes so far."""
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
            worker = self._scheduler.acquire("", _CLOSING)
            worker.process.end()
            self.seen.release(worker.reads)
        self.seen.close()
        self._services.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *fault: object) -> None:
        self.close()

    def _with_services(self, text: str, seconds: float) -> tuple[str, float]:
        """Check a query; return it with replies of services inlined, and the time left."""
        most = self._settings.max_query_bytes
        if not self._services.names_services(text) or len(text) > most:
            check_query(text, most, self.network_blocked)
            return text, seconds
        began = time.monotonic()
        asked = self._services.inline(text, seconds, most)
        check_query(asked, len(asked) * 4, self.network_blocked)
        return asked, max(0.001, seconds - (time.monotonic() - began))

    def _reply(
        self,
        request: dict[str, Any],
        seconds: float,
        whole: bool,
        lowers: bool = False,
        asker: str = "",
        live: QuerySettings | None = None,
    ) -> Begun:
        """Return a reply, or the spool into which a long one comes where it may be ``live``."""
        asked = time.monotonic()
        lowered = self.seen.rdf11(whole, seconds) if lowers else None
        with ExitStack() as stack:
            try:
                lease = stack.enter_context(self._borrow_worker(asker, seconds))
            except BaseException:
                self.seen.release(lowered)
                raise
            worker = lease.worker
            until = min(lease.begun, asked + _START) + seconds
            snapshot = lowered or self.seen.latest(whole)
            stack.enter_context(self._watch_worker(lease, snapshot, until, seconds))
            order = {**request, "snapshot": str(snapshot.snapshot.path)}
            now = time.monotonic()
            before = _OF_DEBTORS if self._scheduler.is_over_quota(asker) else _BEFORE_OTHERS
            moments = [
                (now + before, worker.process.lower_priority),
                (now + min(MOMENT, seconds / 4), lease.acquire_long_slot),
            ]
            deadline = Deadline(until, sorted(moments, key=itemgetter(0)))
            if live is None:
                return worker.process.ask(order, deadline)
            first = Spool()
            header = worker.process.begin(order, deadline, first)
            if header is not None:
                return header, first
            spool = LiveSpool()
            spool.add(first.read())
            task = partial(self._go_on, stack.pop_all(), worker, deadline, spool, live)
            threading.Thread(target=task, name="long result", daemon=True).start()
            return None, spool

    def _go_on(
        self,
        stored: ExitStack,
        worker: "_Worker",
        deadline: Deadline,
        spool: LiveSpool,
        limits: QuerySettings,
    ) -> None:
        """Receive the rest of a long result while its beginning is sent."""
        fault: BaseException | None = None
        try:
            with stored:
                header = worker.process.rest(deadline, spool)
            raise_if_refused(header, limits)
        except (ShiyiError, OSError) as found:
            fault = found
        finally:
            spool.end(fault)

    @contextmanager
    def _watch_worker(
        self, lease: _Lease, shared: SharedSnapshot, until: float, seconds: float
    ) -> Iterator[None]:
        """Raise for a query when its worker died or was stopped; otherwise retain the snapshot."""
        worker = lease.worker
        try:
            yield
        except TimeoutError:
            self._dead(worker, shared, "time")
            waited = until - lease.begun < seconds / 2
            raise (busy() if waited else time_error(seconds)) from None
        except WorkerGoneError as gone:
            self._dead(worker, shared, "died")
            raise worker_failure(gone.status, seconds) from None
        except BaseException:
            self._dead(worker, shared, "share")
            raise
        self.seen.release(worker.reads)
        worker.reads = shared

    @contextmanager
    def _borrow_worker(self, asker: str, seconds: float) -> Iterator[_Lease]:
        if self._closed:
            raise KnowledgeBaseError("the query pool is closed")
        worker = self._scheduler.acquire(asker, min(seconds, _WAIT) + _START)
        lease = _Lease(worker, asker, self._scheduler, time.monotonic())
        try:
            yield lease
        finally:
            lease.end()
            worker.lives = worker.lives and worker.process.restore_priority()
            if worker.lives:
                self._scheduler.release(worker)
            else:  # the caller need not wait until there is another
                reviver = threading.Thread(target=self._revive, args=(worker,), daemon=True)
                try:
                    reviver.start()
                except RuntimeError:  # no thread now
                    self._revive(worker)

    def _dead(self, worker: _Worker, shared: SharedSnapshot, reason: str) -> None:
        WORKER_KILLS.labels(reason).inc()
        worker.process.kill()
        worker.lives = False
        self.seen.release(shared)

    def _revive(self, worker: _Worker) -> None:
        """Replace by a fresh process: one that is gone, as soon as the machine has room."""
        worker.process.end()
        self.seen.release(worker.reads)
        worker.reads = None
        while not self._closed and not worker.lives:
            try:
                worker.process = WorkerProcess(self._settings)
                worker.process.wait_for_greeting()
                worker.lives = True
            except (OSError, KnowledgeBaseError):  # no descriptors or no memory now
                time.sleep(_AGAIN)
        self._scheduler.release(worker)


def _prefixes(form: str) -> dict[str, Any]:
    """Return the prefixes for output formats that write them, else an empty mapping."""
    return {"prefixes": dict(PREFIXES)} if form in {"ttl", "trig", "rdf"} else {}


def open_pool(
    kb: KnowledgeBase, settings: QuerySettings, open_to_all: bool = False
) -> "QueryPool | RemotePool":
    """Return what answers free queries: workers on snapshots, or the engine of a remote store.

    The remote engine shows all it holds.
    """
    if isinstance(kb.store, RemoteStore):
        return RemotePool(kb.store, settings)
    return QueryPool(kb, settings, open_to_all)
