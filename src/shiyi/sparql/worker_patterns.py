"""What one operation of an update moves, found by its pattern and not by comparing the store.

SPARQL 1.1 Update section 3.1: all solutions of WHERE are found first, then the quads of the DELETE
template go and those of the INSERT template come.
"""

import re
import secrets
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
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
    parse,
    serialize,
)

from shiyi.sparql.operations import Block, NotSplitError, Operation, closed
from shiyi.sparql.written import Said, by_value, kept, note

Moved = tuple[set[Quad], set[Quad], Said]  # what goes, what comes, how that is written
Row = dict[str, Any]  # terms by variable
Fresh = dict[BlankNode, BlankNode]  # blank nodes of one solution by those of the template
Fill = Callable[[Row, Fresh], Any]

_GRAPH = re.compile(r"(?<![\w:.-])GRAPH\s*(?:<\s*>|[^\s{}<]*)\s*\{(?!\|)", re.IGNORECASE)
_BLANK = re.compile(r"_:[^\s)]+")
_VARIABLE = re.compile(r"(?<!\\)[?$]([\w\u00b7\u0300-\u036f\u203f\u2040]+)")
_MANY = 100  # quads; more are removed as one transaction


class Net:
    """All that a sequence of operations moved; what went and came back is left out.

    With ``all_forms`` it is also said of what comes back as it is how it was written.
    """

    def __init__(self, all_forms: bool = False) -> None:
        self.removed: set[Quad] = set()
        self.added: set[Quad] = set()
        self.said: Said = {}
        self.all_forms = all_forms

    def take(self, gone: set[Quad], come: set[Quad], said: Said | None = None) -> None:
        """Count in what one more operation moved."""
        for quad in gone & self.said.keys():
            del self.said[quad]
        self.said |= said or {}
        self.removed |= gone - self.added
        self.added -= gone
        self.added |= come - self.removed
        self.removed -= come


def do(store: Store, operation: Operation, base: str | None, net: Net) -> Moved:
    """Do one operation in the copy, after those of ``net``; give the quads that went and came."""
    if operation.verb == "LOAD":  # it is SILENT, and there are no sockets
        return set(), set(), {}
    if operation.verb in {"COPY", "MOVE", "ADD"}:
        return _transferred(store, operation, base, net)
    if operation.verb in {"CLEAR", "DROP", "CREATE"}:
        before = set() if operation.verb == "CREATE" else _all_in(store, operation, base)
        store.update(operation.whole, base_iri=base)
        return before, set(), {}
    gone, come, said = _templated(store, operation, base, net.all_forms)
    _remove(store, gone)
    store.extend(come)
    return gone, come, said


def _templated(store: Store, operation: Operation, base: str | None, all_forms: bool) -> Moved:
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
    comes, goes = as_stored(inserted), as_stored(deleted)
    come = {quad for quad in comes if quad not in store}
    said: Said = {}
    for quad in inserted:
        note(said, quad, all_forms)
    said = {quad: how for quad, how in said.items() if quad in come or quad in goes}
    return {quad for quad in goes if quad not in comes and quad in store}, come, said


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
        ground = self._ground(block, marker)
        memory.update(f"{operation.prologue}INSERT DATA {ground[0]}", base_iri=base)
        self.quads = tuple(
            Quad(q.subject, q.predicate, q.object,
                 written if q.graph_name == DefaultGraph() else q.graph_name)
            for q in _as_written(operation.prologue, ground, base, set(memory))
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

    def _ground(self, block: Block, marker: str) -> Block:
        text, bare = block
        names: dict[str, str] = {}
        parts: list[str] = []
        blanks: list[str] = []
        end = 0
        for found in _VARIABLE.finditer(bare):
            iri = names.setdefault(found[1], f"{marker}{len(names)}")
            parts += [text[end : found.start()], f"<{iri}>"]
            blanks += [bare[end : found.start()], f"<{' ' * len(iri)}>"]
            end = found.end()
        self.variables = names
        return "".join([*parts, text[end:]]), "".join([*blanks, bare[end:]])

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


def _as_written(
    prologue: str, block: Block, base: str | None, stored: set[Quad]
) -> Collection[Quad]:
    """Read the quads of a ground template as they are written, by the parser of TriG.

    Where that reads others than the ``stored`` ones, the stored ones.
    """
    try:
        text = f"{prologue}\n{_as_trig(block)}"
        quads = list(parse(text, format=RdfFormat.TRIG, base_iri=base, rename_blank_nodes=True))
    except (SyntaxError, NotSplitError):
        return stored
    if all(kept(quad.object) for quad in quads):
        return stored
    return quads if _unnamed(as_stored(set(quads))) == _unnamed(stored) else stored


def _as_trig(block: Block) -> str:
    """Write a block with its GRAPHs inside as blocks beside each other."""
    (text, bare), at, parts = block, 1, []
    while found := _GRAPH.search(bare, at):
        end = closed(bare, found.end() - 1)
        parts += [f"{{{text[at : found.start()]}\n}}", text[found.start() : end]]
        at = end + len(bare[end:]) - len(bare[end:].lstrip(" \t\r\n."))
    return "\n".join([*parts, f"{{{text[at:]}"])


def _unnamed(quads: set[Quad]) -> set[str]:
    return {_BLANK.sub("_:", str(quad)) for quad in quads}


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


def _transferred(store: Store, operation: Operation, base: str | None, net: Net) -> Moved:
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
    said: Said = {}
    for quad in there if net.said or net.all_forms else ():
        copy = Quad(quad.subject, quad.predicate, quad.object, target)
        replaces = operation.verb != "ADD" and copy in store
        if by_value(quad.object) and (replaces or copy in come):
            said[copy] = net.said.get(quad, quad)
    return gone, come, said


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
