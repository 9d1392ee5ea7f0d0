"""A worker: one process that answers one free query at a time from a snapshot, confined.

Imports pyoxigraph and the standard library only, since a killed worker is replaced while a
client waits.
"""

import json
import os
import signal
import sys
from collections.abc import Iterable, Iterator
from typing import IO, Any, NamedTuple, cast

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
from shiyi.sparql.worker_lowering import lowered
from shiyi.sparql.worker_updates import changed, open_copy

_GRACE = 1.0  # seconds after the deadline until a worker whose parent died ends itself
_FIRST_COUNT = 1 << 20  # bytes
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
    """Takes what Oxigraph writes, until it is too long or has too many rows."""

    def __init__(self, form: str, rows: int, size: int) -> None:
        self.written, self._form = bytearray(), form
        self._rows, self._size, self._count_at = rows, size, _FIRST_COUNT

    def write(self, part: bytes) -> int:
        self.written += part
        if len(self.written) > self._size:
            self.count()
            raise _PastLimit("bytes")
        if len(self.written) >= self._count_at:
            self._count_at *= 2
            self.count()
        return len(part)

    def flush(self) -> None:
        """Oxigraph calls this."""

    def count(self) -> int:
        rows = count_rows(self._form, bytes(self.written))
        if rows > self._rows:
            raise _PastLimit("rows")
        return rows


def count_rows(form: str, body: bytes) -> int:
    r"""Count the solutions in a serialised result.

    >>> count_rows("csv", b'a\r\n"x\r\ny"\r\nz\r\n')
    2
    >>> count_rows("json", b'{"head":{"vars":["a"]},"results":{"bindings":[{},{"a":{}}]}}')
    2
    """
    if form == "none":
        return 0
    if form == "xml":
        return body.count(b"<result>")
    if form == "tsv":
        return max(0, body.count(b"\n") - 1)  # its literals escape the line feed
    if form == "csv":
        return max(0, sum(x.count(b"\r\n") for x in body.split(b'"')[::2]) - 1)
    bare = body.replace(b"\\\\", b"").replace(b'\\"', b"").split(b'"')[::2]
    skeleton = b"".join(bare)
    return skeleton.count(b"[{") + skeleton.count(b",{")  # a term follows a colon


def main(memory_mib: str, rows: str, size: str) -> None:
    """Answer requests from standard input until it ends."""
    blocked = confine(int(memory_mib))
    _send({"outcome": "ready", "network_blocked": blocked}, b"")
    path, store = "", None
    while (received := _receive()) is not None:
        request, sent = received
        signal.setitimer(signal.ITIMER_REAL, request["seconds"] + _GRACE)
        try:
            if request["snapshot"] != path or store is None:
                store = None  # a copy that is written to is open once at most
                store = _opened(request)
                path = request["snapshot"]
            header, body = _done(store, request, sent, Limits(int(rows), int(size)))
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
    if request.get("writes"):
        return open_copy(request["snapshot"])
    return Store.read_only(request["snapshot"])


def _done(
    store: Store, request: dict[str, Any], sent: bytes, limits: Limits
) -> tuple[dict[str, Any], bytes]:
    if request.get("writes"):
        return changed(store, request, sent, limits.size)
    if request.get("task") == "dump":
        return _dumped(store, request, limits.size)
    return _answer(store, request, *limits)


def _dumped(store: Store, request: dict[str, Any], size: int) -> tuple[dict[str, Any], bytes]:
    """Write one whole graph; its size is bounded, its rows are not."""
    target = request["target"]
    graph = NamedNode(target) if target else DefaultGraph()
    if target and not store.contains_named_graph(graph):
        return {"outcome": "absent"}, b""
    quads = store.quads_for_pattern(None, None, None, graph)
    return _written((quad.triple for quad in quads), request, Limits(1 << 62, size))


def _answer(
    store: Store, request: dict[str, Any], rows: int, size: int
) -> tuple[dict[str, Any], bytes]:
    found = store.query(request["query"], base_iri=request["base"] or None, **_dataset(request))
    kind = "graph" if isinstance(found, QueryTriples) else "solutions"
    form = request[kind]
    if isinstance(found, QueryBoolean):
        kind = "boolean"
    if not form:
        return {"outcome": "format", "kind": kind}, b""
    if isinstance(found, QueryTriples):
        return _written(found, request, Limits(rows, size))
    sink = _Sink(form, rows, size)
    found.serialize(cast("IO[bytes]", sink), format=_SOLUTIONS[form])
    count = sink.count() if isinstance(found, QuerySolutions) else 1
    return {"outcome": "whole", "kind": kind, "rows": count}, bytes(sink.written)


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
    return {"outcome": "whole", "kind": "graph", "rows": count}, bytes(sink.written)


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
    left = memoryview(packed(header, body))
    while len(left):
        left = left[os.write(1, left) :]
