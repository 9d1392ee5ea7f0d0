"""The embedded store."""

import threading
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Self, cast

from pyoxigraph import QueryBoolean, QuerySolutions, QueryTriples, RdfFormat, Store, Variable
from pyoxigraph import parse as _parse
from pyoxigraph import serialize as _serialize
from typing_extensions import override

from shiyi.errors import KnowledgeBaseError, QueryError
from shiyi.model.rdf import (
    BlankNode,
    DefaultGraph,
    Literal,
    NamedNode,
    Quad,
    Subject,
    Term,
    Triple,
    canonical,
)
from shiyi.sparql.store.functions import FUNCTIONS
from shiyi.sparql.store.port import Solution, WritableStore

_BLANK = NamedNode("urn:shiyi:blank-node")  # a function of the update below, never stored
Graphs = tuple[tuple[NamedNode, ...], tuple[NamedNode, ...]]
NO_GRAPHS: Graphs = ((), ())  # names of graphs that go and that come, also where they are empty
_MESSAGE = 400  # characters; the parser lists all of Unicode's letters
_READ = 1 << 20  # bytes of lines at a time


class OxigraphStore(WritableStore):
    """A quad store of this process; a change is one transaction, and changes take turns.

    >>> store = OxigraphStore.in_memory()
    >>> store.change(
    ...     add=[Quad(NamedNode("urn:a"), NamedNode("urn:p"), Literal("süß", language="de"))]
    ... )
    >>> [row["o"].value for row in store.select("SELECT ?o { ?s ?p ?o }")]
    ['süß']
    """

    def __init__(self, store: Store, path: Path | None = None, writable: bool = True) -> None:
        self._store: Store | None = store
        self._path, self._writable = path, writable
        self._turn = threading.RLock()  # concurrent updates of Oxigraph lose changes on disk

    @classmethod
    def in_memory(cls) -> Self:
        """Open an empty store in memory."""
        return cls(Store())

    @classmethod
    def on_disk(cls, path: Path) -> Self:
        """Open or create the store in folder ``path``, as its only writer."""
        return cls(_open_store(path, writable=True), path)

    @classmethod
    def read_only(cls, path: Path) -> Self:
        """Open the store in ``path``, to which nobody writes: a snapshot."""
        return cls(_open_store(path, writable=False), path, writable=False)

    @override
    def select(self, query: str, **bound: Term) -> Iterator[Solution]:
        rows = self._query(query, bound)
        if not isinstance(rows, QuerySolutions):
            raise QueryError("this query is not a SELECT")
        return _solutions(rows)

    def ask(self, query: str) -> bool:
        """Return whether an ASK query holds."""
        rows = self._query(query, {})
        if not isinstance(rows, QueryBoolean):
            raise QueryError("this query is not an ASK")
        return bool(rows)

    def construct(self, query: str) -> Iterator[Quad]:
        """Yield the triples of a CONSTRUCT or DESCRIBE, in the default graph."""
        rows = self._query(query, {})
        if not isinstance(rows, QueryTriples):
            raise QueryError("this query is neither a CONSTRUCT nor a DESCRIBE")
        return (Quad(*item) for item in rows)

    @override
    def match_each(
        self,
        subjects: Iterable[Subject] = (),
        predicate: NamedNode | None = None,
        graph: NamedNode | DefaultGraph | None = None,
        objects: Iterable[Term] = (),
    ) -> Iterator[Quad]:
        for subject in subjects:
            yield from self.match(subject, predicate, None, graph)
        for term in objects:
            yield from self.match(None, predicate, term, graph)

    @override
    def match(
        self,
        subject: Subject | None = None,
        predicate: NamedNode | None = None,
        object: Term | None = None,
        graph: NamedNode | DefaultGraph | None = None,
    ) -> Iterator[Quad]:
        return self._open().quads_for_pattern(subject, predicate, object, graph)

    @override
    def change(
        self, add: Iterable[Quad] = (), remove: Iterable[Quad] = (), graphs: Graphs = NO_GRAPHS
    ) -> None:
        quads, removed_quads = tuple(add), tuple(remove)  # a failing iterable changes nothing
        with self._turn:
            store = self._to_write()
            try:
                if not removed_quads and graphs == NO_GRAPHS:
                    store.extend(quads)
                else:
                    text = _update(quads, removed_quads, graphs)
                    store.update(text, custom_functions={_BLANK: _blank_node})
            except OSError as fault:
                raise self._full(fault) from fault

    def load_quads(self, quads: Iterable[Quad]) -> None:
        """Load many quads fast, past the transaction log; for a store without readers."""
        with self._turn:
            self._to_write().bulk_extend(quads)

    @override
    def unload_quads(self, quads: Iterable[Quad]) -> None:
        """Remove many quads fast, each by itself."""
        with self._turn:
            store = self._to_write()
            try:
                for quad in quads:
                    store.remove(quad)
            except OSError as fault:
                raise self._full(fault) from fault

    @override
    def load_n_quads(self, data: bytes) -> None:
        """Load N-Quads without blank nodes past the transaction log, while other threads run.

        Up to a million quads come at once or not at all, and none twice.
        """
        with self._turn:
            try:
                self._to_write().bulk_load(input=data, format=RdfFormat.N_QUADS)
            except OSError as fault:
                raise self._full(fault) from fault

    def _full(self, fault: OSError) -> KnowledgeBaseError:
        return KnowledgeBaseError(
            f"the store in {self._path} took no change: {fault}; make room on the disk, then open "
            "it again"
        )

    def backup(self, path: Path) -> None:
        """Place a copy of this moment into the new folder ``path``, by hard links where it can."""
        with self._turn:
            self._open().backup(str(path))

    def pack(self, path: Path) -> None:
        """Load every quad and graph name into the new folder ``path``, a third of the size.

        What was loaded in parts or changed since overlaps and leaves a log; loaded at once it lies
        in order. Blank nodes keep their labels. Raise :class:`KnowledgeBaseError` for a full disk.
        """
        store = self._open()
        try:
            packed = Store(str(path))
            with TemporaryFile(dir=path.parent) as whole:
                store.dump(whole, format=RdfFormat.N_QUADS)
                whole.seek(0)
                lines = _NamedLines(whole)
                packed.bulk_load(cast("IO[bytes]", lines), format=RdfFormat.N_QUADS)
                packed.bulk_extend(_parse(b"".join(lines.blank), format=RdfFormat.N_QUADS))
            for name in store.named_graphs():
                packed.add_graph(name)
            packed.flush()
        except (OSError, RuntimeError) as fault:
            raise KnowledgeBaseError(
                f"the store could not be packed into {path}: {fault}; make room on the disk"
            ) from fault
        if len(packed) != len(store):
            raise KnowledgeBaseError(
                f"{path} has {len(packed)} quads and not {len(store)}: the disk cannot be trusted"
            )

    def dump(self, file: IO[bytes]) -> None:
        """Write every quad into an open file as N-Quads, in the store's own order.

        Other threads run while it is written; it is several times faster than quad by quad.
        """
        try:
            self._open().dump(file, format=RdfFormat.N_QUADS)
        except (OSError, RuntimeError) as fault:
            raise KnowledgeBaseError(f"the store could not be written out: {fault}") from fault

    @override
    def flush(self) -> None:
        """Bring every change to the disk."""
        self._open().flush()

    @override
    def reopen(self) -> None:
        """Reopen the folder, which a store needs after its disk was full."""
        with self._turn:
            if self._path is None:
                return
            self._store = None
            try:
                self._store = _open_store(self._path, self._writable)
            except KnowledgeBaseError:
                self._store = _open_store(self._path, writable=False)  # so that reading goes on
                raise

    @override
    def close(self) -> None:
        """Release the store's files; a closed store answers nothing."""
        with self._turn:
            self._store = None

    @override
    def __len__(self) -> int:
        return len(self._open())

    def _query(
        self, query: str, bound: dict[str, Term]
    ) -> QuerySolutions | QueryBoolean | QueryTriples:
        fixed = {Variable(name): term for name, term in bound.items()}
        try:
            return self._open().query(query, substitutions=fixed, custom_functions=FUNCTIONS)
        except SyntaxError as fault:
            raise QueryError(str(fault)[:_MESSAGE]) from fault
        except RuntimeError as fault:  # also a bound variable that is not projected
            raise QueryError(str(fault)) from fault

    def _open(self) -> Store:
        if self._store is None:
            raise KnowledgeBaseError(f"the store in {self._path or 'memory'} is closed")
        return self._store

    def _to_write(self) -> Store:
        if not self._writable:
            raise KnowledgeBaseError(f"the store in {self._path} is open for reading only")
        return self._open()


class _NamedLines:
    """A file of N-Quads without its lines of blank nodes, which a bulk load would rename."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file, self._rest, self.blank = file, b"", list[bytes]()

    def read(self, size: int) -> bytes:
        """Return up to ``size`` bytes; nothing at the end."""
        while not self._rest:
            if not (lines := self._file.readlines(_READ)):
                return b""
            blank = [line for line in lines if b"_:" in line]
            if blank:
                self.blank += blank
                lines = [line for line in lines if b"_:" not in line]
            self._rest = b"".join(lines)
        part, self._rest = self._rest[:size], self._rest[size:]
        return part


def n_quads(quads: Iterable[Quad]) -> bytes:
    """Write quads as N-Quads 1.2, one a line, in their order."""
    written = _serialize(quads, format=RdfFormat.N_QUADS)
    return written or b""


REPAIR = "run `shiyi build`, which repeats the journal, or restore a backup with `shiyi restore`"


def _open_store(path: Path, writable: bool) -> Store:
    try:
        return Store(str(path)) if writable else Store.read_only(str(path))
    except (OSError, RuntimeError) as fault:  # corruption is a RuntimeError
        raise KnowledgeBaseError(
            f"the store in {path} cannot be opened: {fault}; if another process writes to it, "
            f"stop that; if it is damaged, {REPAIR}"
        ) from fault


def _solutions(solutions: QuerySolutions) -> Iterator[Solution]:
    names: Sequence[Variable] = solutions.variables
    try:
        for row in solutions:
            yield {name.value: term for name in names if (term := row[name]) is not None}
    except (OSError, RuntimeError) as fault:
        raise KnowledgeBaseError(f"the store could not be read to the end: {fault}") from fault


def _update(added: Sequence[Quad], removed: Sequence[Quad], graphs: Graphs) -> str:
    """Write one request as one transaction; all its parts are terms, written canonically."""
    nodes, new_nodes = graphs
    parts = [
        *_operations("DELETE", removed),
        *(f"DROP SILENT GRAPH {canonical(node)}" for node in nodes),
        *(f"CREATE SILENT GRAPH {canonical(node)}" for node in new_nodes),
        *_operations("INSERT", added),
    ]
    return " ;\n".join(parts)


def _operations(verb: str, quads: Sequence[Quad]) -> Iterator[str]:
    plain = [quad for quad in quads if not has_blank_node(quad)]
    if plain:
        yield f"{verb} DATA {{ {' '.join(_pattern(quad, []) for quad in plain)} }}"
    for quad in quads:
        if has_blank_node(quad):
            # a label in an update would mean a new node, so it goes in by BIND
            labels: list[str] = []
            pattern = _pattern(quad, labels)
            binds = " ".join(
                f'BIND({_BLANK}("{label}") AS ?b{i})' for i, label in enumerate(labels)
            )
            yield f"{verb} {{ {pattern} }} WHERE {{ {binds} }}"


def _pattern(quad: Quad, labels: list[str]) -> str:
    triple = " ".join(
        _write_term(term, labels) for term in (quad.subject, quad.predicate, quad.object)
    )
    if isinstance(quad.graph_name, DefaultGraph):
        return f"{triple} ."
    return f"GRAPH {_write_term(quad.graph_name, labels)} {{ {triple} }}"


def _write_term(term: Term, labels: list[str]) -> str:
    if isinstance(term, BlankNode):
        labels.append(term.value)
        return f"?b{len(labels) - 1}"
    if isinstance(term, Triple):
        parts = (term.subject, term.predicate, term.object)
        return f"<<( {' '.join(_write_term(part, labels) for part in parts)} )>>"
    return canonical(term)


def has_blank_node(quad: Quad) -> bool:
    """Return whether a quad has a blank node, be it within a triple term."""
    return any(_blank_within(term) for term in (quad.subject, quad.object, quad.graph_name))


def _blank_within(term: Term | DefaultGraph) -> bool:
    if isinstance(term, Triple):
        return _blank_within(term.subject) or _blank_within(term.object)
    return isinstance(term, BlankNode)


def _blank_node(label: Term) -> BlankNode | None:
    return BlankNode(label.value) if isinstance(label, Literal) else None


def parse_n_quads(text: bytes) -> tuple[Quad, ...]:
    """Read N-Quads 1.2; blank nodes keep their labels; ValueError where it is malformed."""
    try:
        return tuple(_parse(text, format=RdfFormat.N_QUADS))
    except SyntaxError as fault:
        raise ValueError(str(fault)) from fault
