"""Child side: the quads an operation adds and removes.

SPARQL 1.1 Update section 3.1: all solutions of WHERE are found first, then the quads of the DELETE
template go and those of the INSERT template come.

What others wrote is parsed here alone.
"""

import re
import secrets
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final

from pyoxigraph import (
    BlankNode,
    DefaultGraph,
    NamedNode,
    Quad,
    QuerySolutions,
    RdfFormat,
    Store,
    Triple,
    parse,
    serialize,
)

from shiyi.sparql.sandbox.operations import Block, Operation, OperationSplitError, operations

Moved = tuple[set[Quad], set[Quad]]  # what goes, what comes
Row = dict[str, Any]  # terms by variable
Fresh = dict[BlankNode, BlankNode]  # blank nodes of one solution by those of the template
Fill = Callable[[Row, Fresh], Any]

_VARIABLE = re.compile(r"(?<!\\)[?$]([\w\u00b7\u0300-\u036f\u203f\u2040]+)")
_MANY = 100  # quads; more are removed as one transaction


class NetChange:
    """All that a sequence of operations moved; what went and came back is left out."""

    def __init__(self) -> None:
        self.removed: set[Quad] = set()
        self.added: set[Quad] = set()

    def add(self, gone: set[Quad], come: set[Quad]) -> None:
        """Count in what one more operation moved."""
        self.removed |= gone - self.added if self.added else gone
        self.added -= gone
        self.added |= come - self.removed if self.removed else come
        self.removed -= come


def run_operation(
    store: Store, operation: Operation, base: str | None, maintains: bool = True
) -> Moved:
    """Do one operation in the copy; return the quads that went and came.

    :class:`GraphAccessError` for an operation that changes a graph of the base, unless the
    author ``maintains`` the base: before anything is computed.
    """
    if operation.verb == "LOAD":  # it is SILENT, and there are no sockets
        return set(), set()
    if operation.verb in {"COPY", "MOVE", "ADD"}:
        source, target = (read_graph(operation, name, base) for name in operation.graphs)
        if not maintains:
            _refuse_base_graphs([target, *([source] if operation.verb == "MOVE" else [])])
        return _transfer(store, operation, base, source, target)
    if operation.verb in {"CLEAR", "DROP", "CREATE"}:
        graphs = _graphs_of_operation(store, operation, base)
        if not maintains:
            _refuse_base_graphs(graphs)
        before = set() if operation.verb == "CREATE" else set(_all_in(store, graphs))
        store.update(operation.whole, base_iri=base)
        return before, set()
    quads, new_quads = _fill_templates(store, operation, base, maintains)
    _remove(store, quads)
    store.extend(new_quads)
    return quads, new_quads


def _fill_templates(store: Store, operation: Operation, base: str | None, maintains: bool) -> Moved:
    graph = read_graph(operation, operation.within, base) if operation.within else DefaultGraph()
    delete = Template(operation, operation.delete, base, graph)
    insert = Template(operation, operation.insert, base, graph)
    if not maintains:
        _refuse_base_graphs(quad.graph_name for quad in (*delete.quads, *insert.quads))
    if operation.verb == "MODIFY":
        quads: set[Quad] = set()
        inserted_quads: set[Quad] = set()
        names = {*delete.variables, *insert.variables}
        for row in _solutions(store, operation, base, graph, names):
            quads.update(delete.fill(row))
            inserted_quads.update(insert.fill(row))
    else:
        quads, inserted_quads = set(delete.quads), set(insert.quads)
        for name in insert.graphs:
            store.add_graph(name)
    comes, goes = canonicalize(inserted_quads), canonicalize(quads)
    new_quads = {quad for quad in comes if quad not in store}
    return {quad for quad in goes if quad not in comes and quad in store}, new_quads


class Template:
    """The quads of a template, in which each variable is an IRI of its own while it is parsed."""

    def __init__(self, operation: Operation, block: Block, base: str | None, written: Any) -> None:
        self.quads: tuple[Quad, ...] = ()
        self.graphs: tuple[Any, ...] = ()
        self.variables: dict[str, str] = {}  # the IRI that stands for each
        self._fills: list[tuple[Fill, ...]] = []
        if not block[0]:
            return
        marker = f"urn:shiyi:{secrets.token_hex(8)}:"
        memory = Store()
        ground = self._ground(block, marker)
        memory.update(f"{operation.prologue}INSERT DATA {ground}", base_iri=base)
        self.quads = tuple(
            Quad(
                q.subject,
                q.predicate,
                q.object,
                written if q.graph_name == DefaultGraph() else q.graph_name,
            )
            for q in memory
        )
        self.graphs = tuple(memory.named_graphs())
        self._fills = [
            tuple(self._fill(part) for part in (q.subject, q.predicate, q.object, q.graph_name))
            for q in self.quads
        ]

    def fill(self, row: Row) -> Iterator[Quad]:
        """Yield the quads of one solution; one with a hole or in a wrong place is left out."""
        fresh: Fresh = {}
        for subject, predicate, object_, graph in self._fills:
            s, p, o, g = (
                subject(row, fresh),
                predicate(row, fresh),
                object_(row, fresh),
                graph(row, fresh),
            )
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
        parts: list[str] = []
        end = 0
        for match in _VARIABLE.finditer(bare):
            iri = names.setdefault(match[1], f"{marker}{len(names)}")
            parts += [text[end : match.start()], f"<{iri}>"]
            end = match.end()
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
    rows = store.query(text, base_iri=base, **only)
    assert isinstance(rows, QuerySolutions)  # noqa: S101 - the text begins with SELECT
    variables = [(variable.value, variable) for variable in rows.variables]
    for row in rows:
        yield {name: term for name, variable in variables if (term := row[variable]) is not None}


def canonicalize(quads: set[Quad]) -> set[Quad]:
    """Return the quads with literals in the canonical form that the store uses."""
    memory = Store()
    memory.extend(quads)
    return set(memory)


def read_graph(operation: Operation, name: str, base: str | None) -> Any:
    """Read the name of a graph as an operation writes it."""
    if name.upper() == "DEFAULT":
        return DefaultGraph()
    memory = Store()
    text = f"{operation.prologue}INSERT DATA {{ GRAPH {name} {{ <a:a> <a:a> <a:a> }} }}"
    memory.update(text, base_iri=base)
    return next(iter(memory)).graph_name


def _graphs_of_operation(store: Store, operation: Operation, base: str | None) -> list[Any]:
    """Return the graph that CLEAR, DROP or CREATE names; of DEFAULT, NAMED or ALL every one."""
    (name,) = operation.graphs
    if name.upper() in {"ALL", "NAMED"}:
        return [*store.named_graphs(), *([DefaultGraph()] if name.upper() == "ALL" else [])]
    return [read_graph(operation, name, base)]


def _all_in(store: Store, graphs: Iterable[Any]) -> Iterator[Quad]:
    for graph in graphs:
        yield from store.quads_for_pattern(None, None, None, graph)


def _refuse_base_graphs(graphs: Iterable[Any]) -> None:
    for graph in graphs:
        if graph == DefaultGraph():
            raise GraphAccessError("")
        if isinstance(graph, NamedNode) and graph.value.startswith(_OWNED):
            raise GraphAccessError(graph.value)


def _transfer(
    store: Store, operation: Operation, base: str | None, source: Any, target: Any
) -> Moved:
    """Do COPY, MOVE or ADD; what it fails at, and what SILENT means, is the engine's business."""
    quads = set(_all_in(store, [source]))
    copies = {Quad(q.subject, q.predicate, q.object, target) for q in quads}
    known_quads = {quad for quad in copies if quad in store}
    old = set() if operation.verb == "ADD" else set(_all_in(store, [target]))
    store.update(operation.whole, base_iri=base)
    new_quads = {quad for quad in copies - known_quads if quad in store}
    old_quads = {quad for quad in old | quads if quad not in store}
    return old_quads, new_quads


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


_OWNED: Final = "https://w3id.org/shiyi/graph/"  # graphs of the base
JOURNAL: Final = NamedNode("https://w3id.org/shiyi/graph/journal")
_FORMER_NOTES: Final = NamedNode("https://w3id.org/shiyi/graph/written")
_RESERVED: Final = (JOURNAL, _FORMER_NOTES)  # the writer's own
DEEPEST: Final = 8  # levels of triple terms; a parser follows them on its stack

_FORMATS = {
    "ttl": RdfFormat.TURTLE, "nt": RdfFormat.N_TRIPLES, "nq": RdfFormat.N_QUADS,
    "trig": RdfFormat.TRIG, "rdf": RdfFormat.RDF_XML, "jsonld": RdfFormat.JSON_LD,
}  # fmt: skip
Header = dict[str, Any]
# quads gone and come, graphs likewise
Patch = tuple[list[Quad], list[Quad], set[str], set[str]]


class ReservedError(ValueError):
    """A change touches what only the writer may touch, or nests terms too deeply."""


class GraphAccessError(Exception):
    """A change names a graph of the base, "" for the default graph, and its author may not."""


def open_copy(path: str) -> Store:
    """Open a private copy, without the writer's own notes in it."""
    store = Store(path)
    for graph in _RESERVED:
        store.remove_graph(graph)
    return store


def apply_request(store: Store, request: Header, body: bytes, size: int) -> tuple[Header, bytes]:
    """Make the change in the copy; return the N-Quads that go and that come, and the graphs."""
    if request["task"] == "backup":
        store.backup(request["to"])
        return {"outcome": "made"}, b""
    make: dict[str, Callable[[Store, Header, bytes], Patch]] = {
        "update": _update, "merge": _merge, "replace": _replace, "drop": _drop,
    }  # fmt: skip
    existed = _exists(store, request.get("target"))
    try:
        quads, added_quads, gone, come = make[request["task"]](store, request, body)
    except GraphAccessError as owned:
        return {"outcome": "owned", "graph": str(owned)}, b""
    refuse_reserved((*quads, *added_quads), gone | come)
    before, after = _lines(quads), _lines(added_quads)
    if len(before) + len(after) > size:
        return {"outcome": "limit", "limit": "bytes"}, b""
    header = {
        "outcome": "changed", "removed": len(before), "added": len(after), "gone": sorted(gone),
        "come": sorted(come), "existed": existed,
    }  # fmt: skip
    return header, before + after


def _exists(store: Store, target: str | None) -> bool:
    """Return whether a graph is there; the default graph always is."""
    return not target or store.contains_named_graph(NamedNode(target))


def _update(store: Store, request: Header, body: bytes) -> Patch:
    split, base = parse_operations(request), request["base"]
    graphs, net = _graphs(store), NetChange()
    for operation in split:
        net.add(*run_operation(store, operation, base, request["maintains"]))
    now = _graphs(store)
    return list(net.removed), list(net.added), graphs - now, now - graphs


def parse_operations(request: Header) -> tuple[Operation, ...]:
    """Split the update of a request into operations that a parser has read."""
    text, base = request["text"], request["base"]
    try:
        split = operations(text, request["bare"])
    except OperationSplitError as fault:
        Store().update(text, base_iri=base)  # its parser says better what is wrong
        raise ValueError(f"the update cannot be read: {fault}") from fault
    _check(text, split, base)
    return split


def _check(text: str, split: tuple[Operation, ...], base: str | None) -> None:
    """Parse each operation before anything is done.

    One by one, since that of Oxigraph 0.5 takes no prologue between operations (SPARQL 1.1 Update
    section 4). The failing operation in front keeps the rest from being done.
    """
    labels: set[str] = set()
    for each in split:
        try:
            Store().update(f"{each.prologue}CLEAR GRAPH <urn:none> ; {each.text}", base_iri=base)
        except SyntaxError:
            Store().update(text, base_iri=base)  # the same fault at its own place
            raise
        except RuntimeError:  # the graph is not there
            if twice := labels & each.labels:
                raise SyntaxError(f"blank node {min(twice)} stands in two operations") from None
        labels |= each.labels


def _add_all(store: Store, memory: Store) -> tuple[list[Quad], set[str]]:
    """Add to the copy what stands in ``memory``, with literals in canonical form."""
    added = [quad for quad in memory if quad not in store]
    graphs = _graphs(memory) - _graphs(store)
    store.extend(added)
    for name in graphs:
        store.add_graph(NamedNode(name))
    return added, graphs


def _merge(store: Store, request: Header, body: bytes) -> Patch:
    quads, come = _add_all(store, parse_upload(request, body))
    return [], quads, set(), come


def _replace(store: Store, request: Header, body: bytes) -> Patch:
    memory, target = parse_upload(request, body), request["target"]
    graph = NamedNode(target) if target else DefaultGraph()
    old = set(store.quads_for_pattern(None, None, None, graph))
    quads = [quad for quad in old if quad not in memory]
    store.clear_graph(graph)
    added_quads, come = _add_all(store, memory)
    return quads, [quad for quad in added_quads if quad not in old], set(), come


def _drop(store: Store, request: Header, body: bytes) -> Patch:
    target = request["target"]
    graph = NamedNode(target) if target else DefaultGraph()
    quads = list(store.quads_for_pattern(None, None, None, graph))
    gone = {target} if target and store.contains_named_graph(graph) else set()
    store.remove_graph(graph)
    return quads, [], gone, set()


def parse_upload(request: Header, body: bytes) -> Store:
    """Read every part of an upload into the target graph, its blank nodes made new."""
    target, memory, start = request["target"], Store(), 0
    graph = NamedNode(target) if target else DefaultGraph()
    if target:
        memory.add_graph(graph)
    for form, length in request["parts"]:
        part, start = body[start : start + length], start + length
        for quad in parse(part, _FORMATS[form], base_iri=request["base"], rename_blank_nodes=True):
            if quad.graph_name != DefaultGraph():
                raise ReservedError("this is a graph, so the upload must not name other graphs")
            memory.add(Quad(quad.subject, quad.predicate, quad.object, graph))
    return memory


def _graphs(store: Store) -> set[str]:
    return {graph.value for graph in store.named_graphs() if isinstance(graph, NamedNode)}


def _lines(quads: Iterable[Quad]) -> bytes:
    return serialize(quads, format=RdfFormat.N_QUADS) or b""


def refuse_reserved(quads: Iterable[Quad], graphs: set[str]) -> None:
    """Raise :class:`ReservedError` where a change touches the writer's own or nests too deeply."""
    for graph in _RESERVED:
        if graph.value in graphs:
            raise ReservedError(f"{graph.value} is the store's own; use another graph")
    for quad in quads:
        if isinstance(quad.graph_name, BlankNode):
            raise ReservedError("a graph is named by an IRI")
        if _depth(quad.object) > DEEPEST:
            raise ReservedError(f"a triple term nests deeper than {DEEPEST} levels")


def _depth(term: object) -> int:
    depth = 0
    while isinstance(term, Triple):
        depth, term = depth + 1, term.object
    return depth
