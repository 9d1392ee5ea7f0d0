"""What a quad store can do for us, whoever makes it."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Protocol

from shiyi.model.rdf import DefaultGraph, NamedNode, Quad, Subject, Term

Solution = Mapping[str, Term]


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
