"""The worker's side of writing: try a change on a private copy, and say which quads it moves."""

from collections.abc import Callable, Iterable
from typing import Any, Final

from pyoxigraph import (
    BlankNode,
    DefaultGraph,
    NamedNode,
    Quad,
    RdfFormat,
    Store,
    Triple,
    parse,
    serialize,
)

from shiyi.sparql.operations import NotSplitError, Operation, operations
from shiyi.sparql.worker_patterns import Net, do
from shiyi.sparql.written import WRITTEN, Said, forms, note

JOURNAL: Final = NamedNode("https://w3id.org/shiyi/graph/journal")
_RESERVED: Final = (JOURNAL, WRITTEN)  # the writer's own
DEEPEST: Final = 8  # levels of triple terms; a parser follows them on its stack

_FORMATS = {
    "ttl": RdfFormat.TURTLE, "nt": RdfFormat.N_TRIPLES, "nq": RdfFormat.N_QUADS,
    "trig": RdfFormat.TRIG, "rdf": RdfFormat.RDF_XML, "jsonld": RdfFormat.JSON_LD,
}  # fmt: skip
Header = dict[str, Any]
# quads gone and come, graphs likewise, and how some quads are written
Patch = tuple[list[Quad], list[Quad], set[str], set[str], Said]


class ReservedError(ValueError):
    """A change touches what only the writer may touch, or nests terms too deeply."""


def open_copy(path: str) -> Store:
    """Open a private copy, without the writer's own notes in it."""
    store = Store(path)
    for graph in _RESERVED:
        store.remove_graph(graph)
    return store


def changed(store: Store, request: Header, body: bytes, size: int) -> tuple[Header, bytes]:
    """Make the change in the copy; give the N-Quads that go and that come, the graphs, and forms."""
    if request["task"] == "backup":
        store.backup(request["to"])
        return {"outcome": "made"}, b""
    make: dict[str, Callable[[Store, Header, bytes], Patch]] = {
        "update": _update, "merge": _merge, "replace": _replace, "drop": _drop,
    }  # fmt: skip
    existed = _exists(store, request.get("target"))
    removed, added, gone, come, said = make[request["task"]](store, request, body)
    refuse_reserved((*removed, *added), gone | come)
    before, after, beside = _lines(removed), _lines(added), _lines(forms(said))
    if len(before) + len(after) + len(beside) > size:
        return {"outcome": "limit", "limit": "bytes"}, b""
    header = {
        "outcome": "changed", "removed": len(before), "added": len(after), "gone": sorted(gone),
        "come": sorted(come), "existed": existed,
    }  # fmt: skip
    return header, before + after + beside


def _exists(store: Store, target: str | None) -> bool:
    """Tell whether a graph is there; the default graph always is."""
    return not target or store.contains_named_graph(NamedNode(target))


def _update(store: Store, request: Header, body: bytes) -> Patch:
    split, base = parted(request), request["base"]
    graphs, net = _graphs(store), Net(request.get("forms", False))
    for operation in split:
        net.take(*do(store, operation, base, net))
    now = _graphs(store)
    return list(net.removed), list(net.added), graphs - now, now - graphs, net.said


def parted(request: Header) -> tuple[Operation, ...]:
    """Split the update of a request into operations that a parser has read."""
    text, base = request["text"], request["base"]
    try:
        split = operations(text, request["bare"])
    except NotSplitError as fault:
        Store().update(text, base_iri=base)  # its parser says better what is wrong
        raise ValueError(f"the update cannot be read: {fault}") from fault
    _check(text, split, base)
    return split


def _check(text: str, split: tuple[Operation, ...], base: str | None) -> None:
    """Let the parser read each operation before anything is done.

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


def _merged(store: Store, memory: Store) -> tuple[list[Quad], set[str]]:
    """Add to the copy what stands in ``memory``, whose literals are in the store's own form."""
    added = [quad for quad in memory if quad not in store]
    come = _graphs(memory) - _graphs(store)
    store.extend(added)
    for name in come:
        store.add_graph(NamedNode(name))
    return added, come


def _merge(store: Store, request: Header, body: bytes) -> Patch:
    memory, said = uploaded(request, body)
    added, come = _merged(store, memory)
    return [], added, set(), come, {quad: said[quad] for quad in added if quad in said}


def _replace(store: Store, request: Header, body: bytes) -> Patch:
    (memory, said), target = uploaded(request, body), request["target"]
    graph = NamedNode(target) if target else DefaultGraph()
    old = set(store.quads_for_pattern(None, None, None, graph))
    removed = [quad for quad in old if quad not in memory]
    store.clear_graph(graph)
    added, come = _merged(store, memory)
    return removed, [quad for quad in added if quad not in old], set(), come, said


def _drop(store: Store, request: Header, body: bytes) -> Patch:
    target = request["target"]
    graph = NamedNode(target) if target else DefaultGraph()
    removed = list(store.quads_for_pattern(None, None, None, graph))
    gone = {target} if target and store.contains_named_graph(graph) else set()
    store.remove_graph(graph)
    return removed, [], gone, set(), {}


def uploaded(request: Header, body: bytes) -> tuple[Store, Said]:
    """Read every part of an upload into the target graph, its blank nodes made new."""
    target, memory, start = request["target"], Store(), 0
    said: Said = {}
    graph = NamedNode(target) if target else DefaultGraph()
    if target:
        memory.add_graph(graph)
    for form, length in request["parts"]:
        part, start = body[start : start + length], start + length
        for quad in parse(part, _FORMATS[form], base_iri=request["base"], rename_blank_nodes=True):
            if quad.graph_name != DefaultGraph():
                raise ReservedError("this is a graph, so the upload must not name other graphs")
            moved = Quad(quad.subject, quad.predicate, quad.object, graph)
            memory.add(moved)
            note(said, moved, request.get("forms", False))
    return memory, said


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
        if quad.graph_name in _RESERVED:
            raise ReservedError(f"{quad.graph_name} is the store's own; use another graph")
        if isinstance(quad.graph_name, BlankNode):
            raise ReservedError("a graph is named by an IRI")
        if _depth(quad.object) > DEEPEST:
            raise ReservedError(f"a triple term nests deeper than {DEEPEST} levels")


def _depth(term: object) -> int:
    depth = 0
    while isinstance(term, Triple):
        depth, term = depth + 1, term.object
    return depth
