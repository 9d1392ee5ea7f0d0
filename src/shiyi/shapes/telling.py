"""What of a claim the shapes look at: which terms they name, which texts they read."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from shiyi.model.rdf import NamedNode
from shiyi.ontology.statements import QUALIFIERS

if TYPE_CHECKING:
    from rdflib import Graph
    from rdflib.term import Node

# constraints that look at the kind of a value and not at the value
_BLIND = (
    "class", "datatype", "description", "languageIn", "maxCount", "message", "minCount", "name",
    "nodeKind", "or", "path", "severity",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Telling:
    """Two claims that differ only in what is not told here get the same results."""

    terms: frozenset[str]  # every IRI that a shape names
    paths: frozenset[str]  # properties, of whose values a shape reads the text

    @classmethod
    def of(cls, shapes: "Graph") -> Self:
        """Read off a graph of shapes; a constraint that is not known to be blind reads texts."""
        from rdflib import SH, URIRef

        terms = {str(node) for triple in shapes for node in triple if isinstance(node, URIRef)}
        paths = set[str]()
        for shape, path in shapes.subject_objects(SH.path):
            if not _is_blind(shape, shapes):
                paths |= {str(path)} if isinstance(path, URIRef) else set(_within(path, shapes))
        return cls(frozenset(terms), frozenset(paths))

    def names(self, term: NamedNode) -> bool:
        """Tell whether a shape names this term, in a list of values for example."""
        return term.value in self.terms

    def reads(self, path: str) -> bool:
        """Tell whether a shape reads the texts of this property, in a pattern for example."""
        return path in self.paths

    def qualifiers(self, given: Iterable[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
        """Give qualifiers without the values that no shape reads."""
        return tuple(
            (name, value if self.reads(QUALIFIERS[name][0].value) else "") for name, value in given
        )


def _is_blind(shape: "Node", shapes: "Graph") -> bool:
    """Tell whether a property shape, and each alternative within it, looks at kinds alone."""
    from rdflib import SH
    from rdflib.collection import Collection

    for predicate, value in shapes.predicate_objects(shape):
        name = str(predicate).removeprefix(str(SH))
        if str(predicate).startswith(str(SH)) and name not in _BLIND:
            return False
        if predicate == SH["or"] and not all(
            _is_blind(each, shapes) for each in Collection(shapes, value)
        ):
            return False
    return True


def _within(path: "Node", shapes: "Graph") -> Iterable[str]:
    """Yield every property of a path that is more than one."""
    from rdflib import URIRef

    for value in shapes.transitive_objects(path, None):
        if isinstance(value, URIRef):
            yield str(value)
