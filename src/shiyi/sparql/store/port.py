"""The quad-store port: select, match, change."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Protocol

from typing_extensions import override

from shiyi.model.iris import GRAPH, ROOT
from shiyi.model.rdf import DefaultGraph, NamedNode, Quad, Subject, Term, text

Solution = Mapping[str, Term]
Graphs = tuple[tuple[NamedNode, ...], tuple[NamedNode, ...]]  # graphs dropped and graphs created


class QuadStore(Protocol):
    """In memory, on disk or across HTTP: anything that answers SPARQL 1.2.

    The default graph is never a union: it holds the accepted view and nothing else.
    """

    def select(self, query: str, **bound: Term) -> Iterator[Solution]:
        """Yield one solution at a time; ``bound`` fixes projected variables beforehand."""

    def match(
        self,
        subject: Subject | None = None,
        predicate: NamedNode | None = None,
        object: Term | None = None,
        graph: NamedNode | DefaultGraph | None = None,
    ) -> Iterator[Quad]:
        """Yield the quads that fit; ``None`` fits anything, in any graph."""

    def match_each(
        self,
        subjects: Iterable[Subject] = (),
        predicate: NamedNode | None = None,
        graph: NamedNode | DefaultGraph | None = None,
        objects: Iterable[Term] = (),
    ) -> Iterator[Quad]:
        """Yield the quads of several subjects or to several objects, in few requests of a store."""

    def change(self, add: Iterable[Quad] = (), remove: Iterable[Quad] = ()) -> None:
        """Remove and add, all or nothing."""

    def __len__(self) -> int:
        """Count the quads."""


class WritableStore(QuadStore, Protocol):
    """A quad store that the one writer keeps in step with its journal."""

    @override
    def change(
        self, add: Iterable[Quad] = (), remove: Iterable[Quad] = (), graphs: Graphs = ((), ())
    ) -> None:
        """Remove and add, and drop and make graphs, all or nothing."""

    def unload_quads(self, quads: Iterable[Quad]) -> None:
        """Remove many quads, which readers may see in part."""

    def load_n_quads(self, data: bytes) -> None:
        """Add N-Quads without blank nodes, none twice."""

    def flush(self) -> None:
        """Bring every change to the disk."""

    def reopen(self) -> None:
        """Reopen after a fault."""

    def close(self) -> None:
        """Release files and connections; a closed store answers nothing."""


def is_own(quad: Quad) -> bool:
    """Return whether a quad is of the base: in a graph of its own, of a node that it names.

    A client with write access can add any RDF, so readers of the base take no other.

    >>> node = NamedNode("https://w3id.org/shiyi/id/x")
    >>> is_own(Quad(node, node, node)), is_own(Quad(node, node, node, NamedNode("urn:mine")))
    (True, False)
    """
    subject, place = quad.subject, quad.graph_name
    if not isinstance(subject, NamedNode) or not subject.value.startswith(ROOT):
        return False
    return isinstance(place, DefaultGraph) or (
        isinstance(place, NamedNode) and place.value.startswith(GRAPH)
    )


def match_own(
    store: QuadStore,
    subject: Subject | None = None,
    predicate: NamedNode | None = None,
    object_: Term | None = None,
    graph: NamedNode | DefaultGraph | None = None,
) -> Iterator[Quad]:
    """Yield the quads of the base that fit, see :func:`is_own`."""
    return filter(is_own, store.match(subject, predicate, object_, graph))


def text_value(
    store: QuadStore, node: NamedNode, predicate: NamedNode, graph: NamedNode | DefaultGraph | None
) -> str:
    """Return the text of one value of ``predicate`` in one graph or any, or an empty string."""
    return next((text(q.object) for q in store.match(node, predicate, None, graph)), "")
