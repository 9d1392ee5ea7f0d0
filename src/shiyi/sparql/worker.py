"""A worker: one process that answers one free query at a time from a snapshot, confined.

Imports pyoxigraph and little of the standard library, since a killed worker is replaced while a
client waits; what changes ask for comes with the first of them.
"""

import json
import os
import signal
import sys
from collections.abc import Iterable, Iterator
from typing import IO, TYPE_CHECKING, Any, NamedTuple, cast

from pyoxigraph import (
    DefaultGraph,
    NamedNode,
    QueryBoolean,
    QueryResultsFormat,
    QuerySolutions,
    QueryTriples,
    RdfFormat,
    Store,
    Triple,
    serialize,
)

from shiyi.sparql.confinement import confine
from shiyi.sparql.worker_frames import FRAME, packed
from shiyi.sparql.worker_frames import part as framed
from shiyi.sparql.worker_functions import FUNCTIONS
from shiyi.sparql.worker_lowering import lowered
from shiyi.sparql.worker_rows import RowCounter

if TYPE_CHECKING:
    from shiyi.sparql.worker_written import Restorer

_ASIDE = "written"  # as shiyi.sparql.written says, which only few workers need
_GRACE = 1.0  # seconds after the deadline until a worker whose parent died ends itself
_PART = 1 << 18  # bytes passed on at a time
_MESSAGE = 400  # characters; the parser lists all of Unicode's letters

_SOLUTIONS = {
    "json": QueryResultsFormat.JSON, "xml": QueryResultsFormat.XML,
    "csv": QueryResultsFormat.CSV, "tsv": QueryResultsFormat.TSV,
}  # fmt: skip
_GRAPHS = {
    "ttl": RdfFormat.TURTLE, "nt": RdfFormat.N_TRIPLES, "nq": RdfFormat.N_QUADS,
    "trig": RdfFormat.TRIG, "rdf": RdfFormat.RDF_XML, "jsonld": RdfFormat.JSON_LD,
}  # fmt: skip

_WITHOUT_TERMS = {"rdf", "jsonld"}  # their readers know RDF 1.1 only
_WITH_PREFIXES = {"ttl", "trig", "rdf"}


class _PastLimit(Exception):  # noqa: N818 - never leaves this process
    def __init__(self, limit: str) -> None:
        self.limit = limit


class _Sink:
    """Takes what Oxigraph writes and passes it on, until it is too long or has too many rows."""

    def __init__(self, form: str, rows: int, size: int) -> None:
        self._held, self._passed = bytearray(), 0
        self._rows, self._size, self._counter = rows, size, RowCounter(form)

    def write(self, part: bytes) -> int:
        self._held += part
        if self._passed + len(self._held) > self._size:
            self.rest()
            raise _PastLimit("bytes")
        if len(self._held) >= _PART:
            passed = self.rest()
            self._passed += len(passed)
            _write(framed(passed))
        return len(part)

    def flush(self) -> None:
        """Oxigraph calls this."""

    def rest(self) -> bytes:
        """Count and take out what is held."""
        held, self._held = bytes(self._held), bytearray()
        self._counter.feed(held)
        if self._counter.rows > self._rows:
            raise _PastLimit("rows")
        return held

    @property
    def rows(self) -> int:
        return max(0, self._counter.rows)


def main(memory_mib: str, rows: str, size: str) -> None:
    """Answer requests from standard input until it ends."""
    blocked = confine(int(memory_mib))
    _send({"outcome": "ready", "network_blocked": blocked}, b"")
    path, store, forms = "", None, None
    while (received := _receive()) is not None:
        request, sent = received
        signal.setitimer(signal.ITIMER_REAL, request["seconds"] + _GRACE)
        try:
            if request["snapshot"] != path or store is None:
                store = forms = None  # a copy that is written to is open once at most
                store = _opened(request)
                path = request["snapshot"]
                forms = None if request.get("writes") else _aside(path)
            limits = Limits(request.get("rows") or int(rows), request.get("bytes") or int(size))
            restorer = _restorer(store, forms, request) if forms else None
            header, body = _done(store, restorer, request, sent, limits)
        except _PastLimit as past:
            header, body = {"outcome": "limit", "limit": past.limit}, b""
        except MemoryError:
            header, body = {"outcome": "limit", "limit": "memory"}, b""
        except SyntaxError as fault:
            header, body = {"outcome": "query", "message": str(fault)[:_MESSAGE]}, b""
        except (ValueError, RuntimeError) as fault:  # well-formed, but not to be done
            header, body = {"outcome": "refused", "message": str(fault)[:_MESSAGE]}, b""
        except OSError as fault:
            header, body = {"outcome": "store", "message": str(fault)[:_MESSAGE]}, b""
        signal.setitimer(signal.ITIMER_REAL, 0)
        _send(header, body)


class Limits(NamedTuple):
    """How much a reply may hold."""

    rows: int
    size: int


def _opened(request: dict[str, Any]) -> Store:
    if not request["snapshot"]:  # what is read lies elsewhere
        return Store()
    if request.get("writes"):
        from shiyi.sparql.worker_updates import open_copy

        return open_copy(request["snapshot"])
    return Store.read_only(request["snapshot"])


def _aside(snapshot: str) -> Store | None:
    """Open the literals as they were written that lie in a snapshot; mostly there are none."""
    folder = os.path.join(snapshot, _ASIDE)  # noqa: PTH118 # a worker needs no pathlib else
    return Store.read_only(folder) if snapshot and os.path.isdir(folder) else None  # noqa: PTH112


def _restorer(store: Store, forms: Store, request: dict[str, Any]) -> "Restorer":
    from shiyi.sparql.worker_written import Restorer

    return Restorer(store, forms, request)


def _done(
    store: Store, restorer: "Restorer | None", request: dict[str, Any], sent: bytes, limits: Limits
) -> tuple[dict[str, Any], bytes]:
    if request.get("task") in {"plan", "fill", "read"}:
        from shiyi.sparql.worker_planning import STEPS

        return STEPS[request["task"]](request, sent, limits.size)
    if request.get("writes"):
        from shiyi.sparql.worker_updates import changed

        return changed(store, request, sent, limits.size)
    if request.get("task") == "dump":
        return _dumped(store, restorer, request, limits.size)
    return _answer(store, restorer, request, *limits)


def _dumped(
    store: Store, restorer: "Restorer | None", request: dict[str, Any], size: int
) -> tuple[dict[str, Any], bytes]:
    """Write one whole graph; its size is bounded, its rows are not."""
    target = request["target"]
    graph = NamedNode(target) if target else DefaultGraph()
    if target and not store.contains_named_graph(graph):
        return {"outcome": "absent"}, b""
    quads = store.quads_for_pattern(None, None, None, graph)
    triples = (restorer.quad(quad) if restorer else quad.triple for quad in quads)
    return _written(triples, request, Limits(1 << 62, size))


def _answer(
    store: Store, restorer: "Restorer | None", request: dict[str, Any], rows: int, size: int
) -> tuple[dict[str, Any], bytes]:
    found = store.query(
        request["query"], base_iri=request["base"] or None, custom_functions=FUNCTIONS,
        **_dataset(request),
    )  # fmt: skip
    kind = "graph" if isinstance(found, QueryTriples) else "solutions"
    form = request[kind]
    if isinstance(found, QueryBoolean):
        kind = "boolean"
    if not form:
        return {"outcome": "format", "kind": kind}, b""
    if isinstance(found, QueryTriples):
        triples = restorer.triples(found) if restorer else found
        return _written(triples, request, Limits(rows, size))
    if restorer and isinstance(found, QuerySolutions):
        found = restorer.solutions(found)
    sink = _Sink(form, rows, size)
    found.serialize(cast("IO[bytes]", sink), format=_SOLUTIONS[form])
    body = sink.rest()
    count = sink.rows if isinstance(found, QuerySolutions) else 1
    return {"outcome": "whole", "kind": kind, "rows": count}, body


def _written(
    found: Iterable[Triple], request: dict[str, Any], limits: Limits
) -> tuple[dict[str, Any], bytes]:
    sink, count, form = _Sink("none", *limits), 0, request["graph"]

    def counted() -> Iterator[Triple]:
        nonlocal count
        for triple in found:
            count += 1
            if count > limits.rows:
                raise _PastLimit("rows")
            yield triple

    triples = counted()
    if request.get("profile") == "rdf11" or form in _WITHOUT_TERMS:
        triples = lowered(triples)
    prefixes = request.get("prefixes") if form in _WITH_PREFIXES else None
    serialize(triples, cast("IO[bytes]", sink), format=_GRAPHS[form], prefixes=prefixes)
    return {"outcome": "whole", "kind": "graph", "rows": count}, sink.rest()


def _dataset(request: dict[str, Any]) -> dict[str, Any]:
    default, named = request["default_graphs"], request["named_graphs"]
    if not default and not named:
        return {}
    return {
        "default_graph": [NamedNode(each) if each else DefaultGraph() for each in default],
        "named_graphs": [NamedNode(each) for each in named],
    }


def _receive() -> tuple[dict[str, Any], bytes] | None:
    head = _read(FRAME.size)
    if head is None:
        return None
    length, following = FRAME.unpack(head)
    text, body = _read(length), _read(following)
    return None if text is None or body is None else (json.loads(text), body)


def _read(size: int) -> bytes | None:
    read = sys.stdin.buffer.read(size)
    return read if len(read) == size else None


def _send(header: dict[str, Any], body: bytes) -> None:
    _write(packed(header, body))


def _write(message: bytes) -> None:
    left = memoryview(message)
    while len(left):
        left = left[os.write(1, left) :]
