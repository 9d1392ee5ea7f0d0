"""The worker's side of changes to a store that lies elsewhere: read them, never the store.

``plan`` says what each operation of an update asks and does, ``fill`` puts what was found into its
templates, ``read`` reads an upload. What others wrote is parsed here alone.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from pyoxigraph import DefaultGraph, NamedNode, Quad, RdfFormat, parse, serialize

from shiyi.sparql.operations import Operation
from shiyi.sparql.worker_patterns import Row, Template, as_stored, graph_of
from shiyi.sparql.worker_updates import parted, refuse_reserved, uploaded

VARIABLE: Final = "urn:shiyi:variable:"  # the predicate of a row's value
Header = dict[str, Any]
_SILENT: Final = re.compile(r"\s*\w+\s+SILENT\b", re.IGNORECASE)
_FROM: Final = re.compile(r"FROM\s*(NAMED\b)?\s*(\S.*)", re.IGNORECASE)
_GRAPH: Final = re.compile(r"\bGRAPH\s*[?$]([\w\u00b7\u0300-\u036f\u203f\u2040]+)", re.IGNORECASE)
_SETS: Final = ("DEFAULT", "NAMED", "ALL")


def plan(request: Header, body: bytes, size: int) -> tuple[Header, bytes]:
    """Give of each operation what it asks, of which graphs, and the graphs it manages."""
    return {
        "outcome": "planned", "operations": [_step(each, request) for each in parted(request)],
    }, b""  # fmt: skip


def fill(request: Header, body: bytes, size: int) -> tuple[Header, bytes]:
    """Give the quads that the operation ``at`` names for its rows: those to go, those to come."""
    operation, base = parted(request)[request["at"]], request["base"]
    written = graph_of(operation, operation.within, base) if operation.within else DefaultGraph()
    delete = Template(operation, operation.delete, base, written)
    insert = Template(operation, operation.insert, base, written)
    deleted, inserted = set(delete.quads), set(insert.quads)
    if operation.verb == "MODIFY":
        rows = list(_rows(body, request["rows"]))
        deleted = {quad for row in rows for quad in delete.filled(row)}
        inserted = {quad for row in rows for quad in insert.filled(row)}
    graphs = {each.value for each in insert.graphs} if operation.verb != "MODIFY" else set()
    return _moved(as_stored(deleted), as_stored(inserted), graphs, size)


def read(request: Header, body: bytes, size: int) -> tuple[Header, bytes]:
    """Give the quads of an upload."""
    memory, _ = uploaded(request, body)
    return _moved(set(), set(memory), set(), size)


STEPS: Final[Mapping[str, Callable[[Header, bytes, int], tuple[Header, bytes]]]] = {
    "plan": plan, "fill": fill, "read": read,
}  # fmt: skip


def _step(operation: Operation, request: Header) -> Header:
    base = request["base"]

    def named(name: str) -> str:
        graph = graph_of(operation, name, base)
        return "" if graph == DefaultGraph() else str(graph.value)

    step: Header = {"verb": operation.verb, "silent": bool(_SILENT.match(operation.text))}
    if operation.verb == "MODIFY":
        return step | _asked(operation, request, named)
    graphs = [each.upper() if each.upper() in _SETS else named(each) for each in operation.graphs]
    return step | {"graphs": ["" if each == "DEFAULT" else each for each in graphs]}


def _asked(operation: Operation, request: Header, named: Callable[[str], str]) -> Header:
    """Give the SELECT of an operation's WHERE, its data set, and the variables that name graphs."""
    base = request["base"]
    wanted: set[str] = set()
    for block in (operation.delete, operation.insert):
        wanted |= Template(operation, block, base, DefaultGraph()).variables.keys()
    graphs = sorted(set(_GRAPH.findall(operation.bare_where)))
    names = sorted({*wanted, *graphs})
    listed = " ".join(f"?{name}" for name in names) or "(1 AS ?shiyi)"
    using: dict[bool, list[str]] = {False: [], True: []}
    for line in operation.using.splitlines():
        if found := _FROM.match(line):
            using[bool(found[1])].append(named(found[2]))
    prologue = (f"BASE <{base}>\n" if base else "") + operation.prologue
    every = "*" if re.search(r"[?$]\w", operation.bare_where) else listed
    return {
        "select": f"{prologue}SELECT {listed} WHERE {operation.where}", "graph_names": graphs,
        "whole": f"{prologue}SELECT {every} WHERE {operation.where}",
        "default": using[False], "named": using[True],
        "within": named(operation.within) if operation.within else "",
    }  # fmt: skip


def _rows(body: bytes, count: int) -> Iterator[Row]:
    """Read solutions, each a subject with a value for each of its variables."""
    rows: list[Row] = [{} for _ in range(count)]
    for quad in parse(body, RdfFormat.N_QUADS):
        if isinstance(quad.subject, NamedNode):
            place = int(quad.subject.value.rpartition(":")[2])
            rows[place][quad.predicate.value.removeprefix(VARIABLE)] = quad.object
    yield from rows


def _moved(gone: set[Quad], come: set[Quad], graphs: set[str], size: int) -> tuple[Header, bytes]:
    refuse_reserved((*gone, *come), graphs)
    before, after = _lines(gone), _lines(come)
    if len(before) + len(after) > size:
        return {"outcome": "limit", "limit": "bytes"}, b""
    return {"outcome": "changed", "removed": len(before), "graphs": sorted(graphs)}, before + after


def _lines(quads: set[Quad]) -> bytes:
    return serialize(quads, format=RdfFormat.N_QUADS) or b""
