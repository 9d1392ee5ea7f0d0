"""Child side: confines itself, runs one query on a snapshot.

Imports pyoxigraph and little of the standard library, since a killed worker is replaced while a
client waits; what changes ask for comes with the first of them.
"""

import signal
from collections.abc import Iterable, Iterator
from typing import IO, Any, NamedTuple, cast

from pyoxigraph import (
    DefaultGraph,
    NamedNode,
    Quad,
    QueryBoolean,
    QueryResultsFormat,
    QuerySolutions,
    QueryTriples,
    RdfFormat,
    Store,
    Triple,
    serialize,
)

from shiyi.ontology.rdf11 import to_rdf11
from shiyi.sparql.sandbox.confinement import confine
from shiyi.sparql.sandbox.framing import RowCounter, pack_part, receive, send, write
from shiyi.sparql.store.functions import FUNCTIONS

_GRACE = 1.0  # seconds after the deadline until a worker without a parent ends itself
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


class _LimitExceeded(Exception):  # noqa: N818 - never leaves this process
    def __init__(self, limit: str) -> None:
        self.limit = limit


class _Sink:
    """A file that passes on what Oxigraph writes, up to limits of bytes and rows."""

    def __init__(self, form: str, rows: int, size: int) -> None:
        self._waiting, self._passed = bytearray(), 0
        self._rows, self._size, self._counter = rows, size, RowCounter(form)

    def write(self, part: bytes) -> int:
        self._waiting += part
        if self._passed + len(self._waiting) > self._size:
            self.rest()
            raise _LimitExceeded("bytes")
        if len(self._waiting) >= _PART:
            passed = self.rest()
            self._passed += len(passed)
            write(pack_part(passed))
        return len(part)

    def flush(self) -> None:
        """Oxigraph calls this."""

    def rest(self) -> bytes:
        """Count and return what waits."""
        rest, self._waiting = bytes(self._waiting), bytearray()
        self._counter.feed(rest)
        if self._counter.rows > self._rows:
            raise _LimitExceeded("rows")
        return rest

    @property
    def rows(self) -> int:
        return max(0, self._counter.rows)


def main(memory_mib: str, rows: str, size: str) -> None:
    """Answer requests from standard input until it ends."""
    blocked = confine(int(memory_mib))
    send({"outcome": "ready", "network_blocked": blocked}, b"")
    path, store = "", None
    while (received := receive()) is not None:
        request, sent = received
        signal.setitimer(signal.ITIMER_REAL, request["seconds"] + _GRACE)
        try:
            if request["snapshot"] != path or store is None:
                store = None  # a copy that is written to is open once at most
                store = _open_store(request)
                path = request["snapshot"]
            limits = Limits(request.get("rows") or int(rows), request.get("bytes") or int(size))
            header, body = _dispatch(store, request, sent, limits)
        except _LimitExceeded as past:
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
        send(header, body)


class Limits(NamedTuple):
    """The limits of a reply."""

    rows: int
    size: int


def _open_store(request: dict[str, Any]) -> Store:
    if request.get("writes"):
        from shiyi.sparql.sandbox.effects import open_copy

        return open_copy(request["snapshot"])
    return Store.read_only(request["snapshot"])


def _dispatch(
    store: Store, request: dict[str, Any], sent: bytes, limits: Limits
) -> tuple[dict[str, Any], bytes]:
    if request.get("writes"):
        from shiyi.sparql.sandbox.effects import apply_request

        return apply_request(store, request, sent, limits.size)
    if request.get("task") == "dump":
        return _dump_graph(store, request, limits.size)
    return _answer(store, request, *limits)


def _dump_graph(store: Store, request: dict[str, Any], size: int) -> tuple[dict[str, Any], bytes]:
    """Write one whole graph; its size is bounded, its rows are not."""
    target = request["target"]
    graph = NamedNode(target) if target else DefaultGraph()
    if target and not store.contains_named_graph(graph):
        return {"outcome": "absent"}, b""
    quads = store.quads_for_pattern(None, None, None, graph)
    triples = (quad.triple for quad in quads)
    return _serialize(triples, request, Limits(1 << 62, size))


def _answer(
    store: Store, request: dict[str, Any], rows: int, size: int
) -> tuple[dict[str, Any], bytes]:
    found_rows = store.query(
        request["query"],
        base_iri=request["base"] or None,
        custom_functions=FUNCTIONS,
        **_dataset(request),
    )
    kind = "graph" if isinstance(found_rows, QueryTriples) else "solutions"
    form = request[kind]
    if isinstance(found_rows, QueryBoolean):
        kind = "boolean"
    if not form:
        return {"outcome": "format", "kind": kind}, b""
    if isinstance(found_rows, QueryTriples):
        return _serialize(found_rows, request, Limits(rows, size))
    sink = _Sink(form, rows, size)
    found_rows.serialize(cast("IO[bytes]", sink), format=_SOLUTIONS[form])
    body = sink.rest()
    count = sink.rows if isinstance(found_rows, QuerySolutions) else 1
    return {"outcome": "whole", "kind": kind, "rows": count}, body


def _serialize(
    triples: Iterable[Triple], request: dict[str, Any], limits: Limits
) -> tuple[dict[str, Any], bytes]:
    sink, count, form = _Sink("none", *limits), 0, request["graph"]

    def count_triples() -> Iterator[Triple]:
        nonlocal count
        for triple in triples:
            count += 1
            if count > limits.rows:
                raise _LimitExceeded("rows")
            yield triple

    statements: Iterable[Triple] | Iterable[Quad] = count_triples()
    if request.get("profile") == "rdf11" or form in _WITHOUT_TERMS:
        statements = to_rdf11(Quad(*triple) for triple in count_triples())
    prefixes = request.get("prefixes") if form in _WITH_PREFIXES else None
    serialize(statements, cast("IO[bytes]", sink), format=_GRAPHS[form], prefixes=prefixes)
    return {"outcome": "whole", "kind": "graph", "rows": count}, sink.rest()


def _dataset(request: dict[str, Any]) -> dict[str, Any]:
    default, named = request["default_graphs"], request["named_graphs"]
    if not default and not named:
        return {}
    return {
        "default_graph": [NamedNode(item) if item else DefaultGraph() for item in default],
        "named_graphs": [NamedNode(item) for item in named],
    }
