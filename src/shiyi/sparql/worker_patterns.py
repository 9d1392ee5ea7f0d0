"""What one operation of an update moves, found by its pattern and not by comparing the store.

SPARQL 1.1 Update section 3.1: all solutions of WHERE are found first, then the quads of the DELETE
template go and those of the INSERT template come.
"""

import re
import secrets
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from pyoxigraph import (
    BlankNode,
    DefaultGraph,
    NamedNode,
    Quad,
    QuerySolutions,
    RdfFormat,
    Store,
    Triple,
    serialize,
)

from shiyi.sparql.operations import Block, Operation

Moved = tuple[set[Quad], set[Quad]]  # what goes, what comes
Row = dict[str, Any]  # terms by variable
Fresh = dict[BlankNode, BlankNode]  # blank nodes of one solution by those of the template
Fill = Callable[[Row, Fresh], Any]

_VARIABLE = re.compile(r"(?<!\\)[?$]([\w\u00b7\u0300-\u036f\u203f\u2040]+)")
_MANY = 100  # quads; more are removed as one transaction


class Net:
    """All that a sequence of operations moved; what went and came back is left out."""

    def __init__(self) -> None:
        self.removed: set[Quad] = set()
        self.added: set[Quad] = set()

    def take(self, gone: set[Quad], come: set[Quad]) -> None:
        """Count in what one more operation moved."""
        self.removed |= gone - self.added
        self.added -= gone
        self.added |= come - self.removed
        self.removed -= come


def do(store: Store, operation: Operation, base: str | None) -> Moved:
    """Do one operation in the copy and give the quads that went and came."""
    if operation.verb == "LOAD":  # it is SILENT, and there are no sockets
        return set(), set()
    if operation.verb in {"COPY", "MOVE", "ADD"}:
        return _transferred(store, operation, base)
    if operation.verb in {"CLEAR", "DROP", "CREATE"}:
        before = set() if operation.verb == "CREATE" else _all_in(store, operation, base)
        store.update(operation.whole, base_iri=base)
        return before, set()
    gone, come = _templated(store, operation, base)
    _remove(store, gone)
    store.extend(come)
    return gone, come


def _templated(store: Store, operation: Operation, base: str | None) -> Moved:
    written = graph_of(operation, operation.within, base) if operation.within else DefaultGraph()
    delete = Template(operation, operation.delete, base, written)
    insert = Template(operation, operation.insert, base, written)
    if operation.verb == "MODIFY":
        deleted: set[Quad] = set()
        inserted: set[Quad] = set()
        names = {*delete.variables, *insert.variables}
        for row in _solutions(store, operation, base, written, names):
            deleted.update(delete.filled(row))
            inserted.update(insert.filled(row))
    else:
        deleted, inserted = set(delete.quads), set(insert.quads)
        for name in insert.graphs:
            store.add_graph(name)
    comes = as_stored(inserted)
    gone = {quad for quad in as_stored(deleted) if quad not in comes and quad in store}
    return gone, {quad for quad in comes if quad not in store}


class Template:
    """The quads of a template, in which each variable is an IRI of its own while it is parsed."""

    def __init__(self, operation: Operation, block: Block, base: str | None, written: Any) -> None:
        self.quads: tuple[Quad, ...] = ()
        self.graphs: tuple[Any, ...] = ()
        self.variables: dict[str, str] = {}  # the IRI that stands for each
        if not block[0]:
            return
        marker = f"urn:shiyi:{secrets.token_hex(8)}:"
        memory = Store()
        data = f"{operation.prologue}INSERT DATA {self._ground(block, marker)}"
        memory.update(data, base_iri=base)
        self.quads = tuple(
            Quad(q.subject, q.predicate, q.object,
                 written if q.graph_name == DefaultGraph() else q.graph_name)
            for q in memory
        )  # fmt: skip
        self.graphs = tuple(memory.named_graphs())
        self._fills = [
            tuple(self._fill(part) for part in (q.subject, q.predicate, q.object, q.graph_name))
            for q in self.quads
        ]

    def filled(self, row: Row) -> Iterator[Quad]:
        """Yield the quads of one solution; one with a hole or in a wrong place is left out."""
        if not self.quads:
            return
        fresh: Fresh = {}
        for subject, predicate, object_, graph in self._fills:
            s, p, o, g = (
                subject(row, fresh), predicate(row, fresh), object_(row, fresh), graph(row, fresh),
            )  # fmt: skip
            if (
                o is not None
                and isinstance(s, NamedNode | BlankNode)
                and isinstance(p, NamedNode)
                and isinstance(g, NamedNode | BlankNode | DefaultGraph)
            ):
                yield Quad(s, p, o, g)

    def _ground(self, block: Block, marker: str) -> str:
        text, bare = block
        names: dict[str, str] = {}
        parts, end = [], 0
        for found in _VARIABLE.finditer(bare):
            iri = names.setdefault(found[1], f"{marker}{len(names)}")
            parts += [text[end : found.start()], f"<{iri}>"]
            end = found.end()
        self.variables = names
        return "".join([*parts, text[end:]])

    def _fill(self, term: Any) -> Fill:
        names = {iri: name for name, iri in self.variables.items()}
        if isinstance(term, NamedNode) and term.value in names:
            name = names[term.value]
            return lambda row, fresh: row.get(name)
        if isinstance(term, BlankNode):
            return lambda row, fresh: fresh.setdefault(term, BlankNode())
        if isinstance(term, Triple):
            s, p, o = (self._fill(part) for part in (term.subject, term.predicate, term.object))
            return lambda row, fresh: _triple(s(row, fresh), p(row, fresh), o(row, fresh))
        return lambda row, fresh: term


def _triple(subject: Any, predicate: Any, object_: Any) -> Triple | None:
    fits = isinstance(subject, NamedNode | BlankNode) and isinstance(predicate, NamedNode)
    return Triple(subject, predicate, object_) if fits and object_ is not None else None


def _solutions(
    store: Store, operation: Operation, base: str | None, written: Any, names: Iterable[str]
) -> Iterator[Row]:
    """Evaluate WHERE over the data set of USING, or over the graph of WITH."""
    wanted = " ".join(f"?{name}" for name in sorted(names)) or "*"
    text = f"{operation.prologue}SELECT {wanted}\n{operation.using}WHERE {operation.where}"
    only: Mapping[str, Any] = {}
    if operation.within and not operation.using:
        only = {"default_graph": written}
    found = store.query(text, base_iri=base, **only)
    assert isinstance(found, QuerySolutions)  # noqa: S101 - the text begins with SELECT
    variables = [(each.value, each) for each in found.variables]
    for row in found:
        yield {name: term for name, each in variables if (term := row[each]) is not None}


def as_stored(quads: set[Quad]) -> set[Quad]:
    """Give literals the form that a store keeps them in."""
    memory = Store()
    memory.extend(quads)
    return set(memory)


def graph_of(operation: Operation, name: str, base: str | None) -> Any:
    """Read the name of a graph as an operation writes it."""
    if name.upper() == "DEFAULT":
        return DefaultGraph()
    memory = Store()
    said = f"{operation.prologue}INSERT DATA {{ GRAPH {name} {{ <a:a> <a:a> <a:a> }} }}"
    memory.update(said, base_iri=base)
    return next(iter(memory)).graph_name


def _all_in(store: Store, operation: Operation, base: str | None) -> set[Quad]:
    """Give all that a graph holds, or DEFAULT, NAMED or ALL of them."""
    (name,) = operation.graphs
    if name.upper() in {"NAMED", "ALL"}:
        default, every = DefaultGraph(), name.upper() == "ALL"
        return {quad for quad in store if every or quad.graph_name != default}
    return set(store.quads_for_pattern(None, None, None, graph_of(operation, name, base)))


def _transferred(store: Store, operation: Operation, base: str | None) -> Moved:
    """Do COPY, MOVE or ADD; what it fails at, and what SILENT means, is the engine's business."""
    source, target = (graph_of(operation, name, base) for name in operation.graphs)
    there = set(store.quads_for_pattern(None, None, None, source))
    ours = {Quad(q.subject, q.predicate, q.object, target) for q in there}
    known = {quad for quad in ours if quad in store}
    old = (
        set() if operation.verb == "ADD" else set(store.quads_for_pattern(None, None, None, target))
    )
    store.update(operation.whole, base_iri=base)
    come = {quad for quad in ours - known if quad in store}
    gone = {quad for quad in old | there if quad not in store}
    return gone, come


def _remove(store: Store, quads: set[Quad]) -> None:
    plain = [quad for quad in quads if not _has_blank(quad)] if len(quads) > _MANY else []
    if plain:
        graphs: dict[Any, list[Triple]] = {}
        for quad in plain:
            graphs.setdefault(quad.graph_name, []).append(quad.triple)
        parts = [_block(graph, triples) for graph, triples in graphs.items()]
        store.update(f"DELETE DATA {{ {' '.join(parts)} }}")
    for quad in quads.difference(plain):
        store.remove(quad)


def _block(graph: Any, triples: list[Triple]) -> str:
    lines = (serialize(triples, format=RdfFormat.N_TRIPLES) or b"").decode()
    return lines if graph == DefaultGraph() else f"GRAPH {graph} {{ {lines} }}"


def _has_blank(quad: Quad) -> bool:
    return any(_blank(term) for term in (quad.subject, quad.object, quad.graph_name))


def _blank(term: Any) -> bool:
    if isinstance(term, Triple):
        return _blank(term.subject) or _blank(term.object)
    return isinstance(term, BlankNode)
