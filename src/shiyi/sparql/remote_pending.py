"""What an update has done to a store elsewhere, before any of it is sent there."""

from collections.abc import Iterable

from shiyi.errors import QueryLimitError, QueryRefusedError
from shiyi.model.rdf import DefaultGraph, NamedNode, Quad
from shiyi.sparql.oxigraph import Graphs
from shiyi.sparql.remote import RemoteStore
from shiyi.sparql.worker_patterns import Net


class Pending:
    """The quads and graphs that go and come; asked what a graph holds, it counts them in."""

    def __init__(self, store: RemoteStore, most: int) -> None:
        self._store, self._most = store, most
        self._net = Net()
        self._made: set[str] = set()
        self._left: set[str] = set()

    def __bool__(self) -> bool:
        """Tell whether anything is to be done."""
        return bool(self._net.removed or self._net.added or self._made or self._left)

    def move(self, gone: set[Quad], come: set[Quad]) -> None:
        """Let quads go and others come; what is not there, or there already, is left out."""
        held = self._holding(gone | come)
        self._net.take(gone & held, come - held)

    def has(self, name: str) -> bool:
        """Tell whether a named graph is there."""
        node = NamedNode(name)
        if name in self._made or any(quad.graph_name == node for quad in self._net.added):
            return True
        return name not in self._left and self._store.has_graph(node)

    def names(self) -> list[str]:
        """List the named graphs."""
        added = {q.graph_name.value for q in self._net.added if isinstance(q.graph_name, NamedNode)}
        return sorted((set(self._store.graph_names()) - self._left) | added | self._made)

    def create(self, name: str) -> None:
        """Make a graph, if only an empty one."""
        if not self.has(name):
            self._left.discard(name)
            self._made.add(name)

    def drop(self, name: str) -> None:
        """Remove a graph whose quads have gone."""
        self._made.discard(name)
        if self._store.has_graph(NamedNode(name)):
            self._left.add(name)

    def all_in(self, name: str) -> set[Quad]:
        """Give all that a graph holds, the empty name being the default graph.

        QueryLimitError where that is more than one change may move.
        """
        graph = NamedNode(name) if name else DefaultGraph()
        found, size = set[Quad](), 0
        for quad in self._store.match(None, None, None, graph):
            size += len(str(quad))
            if size > self._most:
                raise QueryLimitError(
                    "bytes", f"the graph holds more than {self._most:,} bytes; change it in parts"
                )
            found.add(quad)
        added = {quad for quad in self._net.added if quad.graph_name == graph}
        return (found - self._net.removed) | added

    def transfer(self, verb: str, source: str, target: str, *, silent: bool) -> None:
        """Do COPY, MOVE or ADD (SPARQL 1.1 Update section 3.2)."""
        if source and not self.has(source):
            if not silent:
                raise QueryRefusedError(f"the graph <{source}> is not there")
            return
        if source == target:
            return
        there, graph = self.all_in(source), NamedNode(target) if target else DefaultGraph()
        come = {Quad(q.subject, q.predicate, q.object, graph) for q in there}
        old = set() if verb == "ADD" else self.all_in(target)
        self.move(old - come, come)
        if target:
            self.create(target)
        if verb == "MOVE":
            self.move(there, set())
            if source:
                self.drop(source)

    def taken(self) -> tuple[tuple[Quad, ...], tuple[Quad, ...], Graphs]:
        """Give what goes and what comes, and begin anew.

        QueryLimitError where that is more than one change may move.
        """
        net, self._net = self._net, Net()
        if sum(len(str(quad)) for quad in (*net.removed, *net.added)) > self._most:
            raise QueryLimitError(
                "bytes", f"the update moves more than {self._most:,} bytes; change less at a time"
            )
        graphs = _nodes(self._left), _nodes(self._made)
        self._left, self._made = set(), set()
        return tuple(net.removed), tuple(net.added), graphs

    def _holding(self, quads: set[Quad]) -> set[Quad]:
        asked = quads - self._net.added - self._net.removed
        return (quads & self._net.added) | self._store.holding(asked)


def _nodes(names: Iterable[str]) -> tuple[NamedNode, ...]:
    return tuple(NamedNode(each) for each in sorted(names))
