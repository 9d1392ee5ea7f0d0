"""Checking more than fits into memory: some focus nodes at a time, each with what its shapes look at."""

import gc
from array import array
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

import numpy as np

from shiyi.errors import KnowledgeBaseError
from shiyi.model.rdf import BlankNode, NamedNode, Quad, Term, text
from shiyi.ontology.terms import RDF, RDFS
from shiyi.shapes.reach import MARK, Reach
from shiyi.shapes.validation import Result, engine_form, lowered, results_of, validate

if TYPE_CHECKING:
    from rdflib import Graph

PART: Final = 200_000  # quads of one part; some 250 MB as a graph of rdflib


def validate_parts(
    quads: Iterable[Quad], types: Iterable[Quad], shapes: "Graph", part: int = PART
) -> tuple[Result, ...]:
    """List what ``validate(lowered(quads), shapes)`` lists, with one part at a time in memory.

    All quads of a subject stand together in ``quads``, as a store or a sorted dump gives them;
    ``types`` are those of rdf:type and rdfs:subClassOf among them, in any order. Of each node's
    classes 12 bytes stay in memory. What shapes look at beyond a focus node, its values and their
    classes is checked over everything at once. Raises :class:`KnowledgeBaseError` where there is
    nothing to validate, or where the quads of a subject stand apart.
    """
    reach = Reach.of(shapes)
    near, known = engine_form(reach.near), _Classes(reach, types)
    found, subjects = list[Result](), array("q")
    whole = lowered(())  # stays empty where no shape looks further
    with _uncollected():
        for held in _parts(quads, part, subjects):
            data = lowered(held)
            if reach.far is not None:
                whole += data
            known.mark(data)
            known.tell_of_values(held, data)
            held.clear()
            found += results_of(data, near)
            del data
            gc.collect()
    if not subjects:
        raise KnowledgeBaseError("there is nothing to validate: the data graph is empty")
    if len(np.unique(np.frombuffer(subjects, np.int64))) < len(subjects):
        raise KnowledgeBaseError("the quads of a subject stand apart: sort them before validating")
    if reach.far is not None:
        found += validate(whole, reach.far)
    return tuple(found)


def of_classes(quads: Iterable[Quad]) -> Iterator[Quad]:
    """Keep what says which class a node is of, and which class lies below another."""
    return (quad for quad in quads if quad.predicate in (RDF.type, RDFS.subClassOf))


def _parts(quads: Iterable[Quad], part: int, subjects: "array[int]") -> Iterator[list[Quad]]:
    """Yield quads, all those of a subject together; note the subjects as they come."""
    held, last = list[Quad](), None
    for quad in quads:
        if quad.subject != last:
            if len(held) >= part:
                yield held
                held = []
            last = quad.subject
            subjects.append(hash(last))
        held.append(quad)
    if held:
        yield held


@contextmanager
def _uncollected() -> Iterator[None]:
    """Look for cycles between parts only: looking through what stays costs a quarter."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()


class _Classes:
    """The classes of every node, by the hashes of both: which shapes they bring, which are looked for."""

    def __init__(self, reach: Reach, types: Iterable[Quad]) -> None:
        from rdflib import URIRef

        self._paths = reach.paths
        nodes, kinds = array("q"), array("I")
        numbers, above = dict[Term, int](), dict[Term, set[Term]]()
        for quad in types:
            if quad.predicate == RDF.type:
                nodes.append(hash(quad.subject))
                kinds.append(numbers.setdefault(quad.object, len(numbers)))
            else:
                above.setdefault(quad.subject, set()).add(quad.object)
        closed = [{text(each) for each in _closed(kind, above)} for kind in numbers]
        self._marks = {
            URIRef(text(kind)): tuple(URIRef(MARK + each) for each in names & reach.targets)
            for kind, names in zip(numbers, closed, strict=True)
        }
        self._looked_for = [tuple(map(URIRef, names & reach.classes)) for names in closed]
        hashes, held = np.frombuffer(nodes, np.int64), np.frombuffer(kinds, np.uint32)
        wanted = np.array([bool(each) for each in self._looked_for], bool)
        kept = np.flatnonzero(wanted[held]) if len(held) else held
        order = kept[np.argsort(hashes[kept], kind="stable")]
        self._hashes, self._kinds = hashes[order], held[order]

    def mark(self, data: "Graph") -> None:
        """Mark the focus nodes of a part: what is told of values must not make them ones."""
        from rdflib import RDF as RDFLIB_RDF

        for node, _, kind in list(data.triples((None, RDFLIB_RDF.type, None))):
            for mark in self._marks.get(kind, ()):  # type: ignore[call-overload]
                data.add((node, mark, kind))

    def tell_of_values(self, quads: Iterable[Quad], data: "Graph") -> None:
        """Tell of which classes the values are that shapes look at."""
        from rdflib import RDF as RDFLIB_RDF
        from rdflib import BNode, URIRef

        values = list({
            quad.object for quad in quads
            if quad.predicate.value in self._paths
            and isinstance(quad.object, NamedNode | BlankNode)
        })  # fmt: skip
        hashes = np.fromiter(map(hash, values), np.int64, len(values))
        starts = np.searchsorted(self._hashes, hashes, "left").tolist()
        ends = np.searchsorted(self._hashes, hashes, "right").tolist()
        for value, start, end in zip(values, starts, ends, strict=True):
            node = URIRef(value.value) if isinstance(value, NamedNode) else BNode(value.value)
            for kind in self._kinds[start:end].tolist():
                for name in self._looked_for[kind]:
                    data.add((node, RDFLIB_RDF.type, name))


def _closed(kind: Term, above: Mapping[Term, set[Term]]) -> set[Term]:
    """Give a class with all above it."""
    found, ahead = {kind}, [kind]
    while ahead:
        for each in above.get(ahead.pop(), set()) - found:
            found.add(each)
            ahead.append(each)
    return found
