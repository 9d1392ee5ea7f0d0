"""What a quad store can do for us, whoever makes it."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Protocol

from typing_extensions import override

from shiyi.model.rdf import DefaultGraph, NamedNode, Quad, Subject, Term

Solution = Mapping[str, Term]
Graphs = tuple[tuple[NamedNode, ...], tuple[NamedNode, ...]]  # that go and that come


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

    def change(self, add: Iterable[Quad] = (), remove: Iterable[Quad] = ()) -> None:
        """Remove and add, all or nothing."""

    def __len__(self) -> int:
        """Count the quads."""


class WritableStore(QuadStore, Protocol):
    """A quad store that the one writer keeps in step with its journal."""

    @override
    def change(
        self,
        add: Iterable[Quad] = (),
        remove: Iterable[Quad] = (),
        graphs: Graphs = ((), ()),
    ) -> None:
        """Remove and add, and drop and make graphs, all or nothing."""

    def load_n_quads(self, written: bytes) -> None:
        """Add N-Quads without blank nodes, none twice."""

    def flush(self) -> None:
        """Bring every change to the disk."""

    def reopen(self) -> None:
        """Begin anew after a fault."""

    def close(self) -> None:
        """Let go of files and connections; a closed store answers nothing."""
