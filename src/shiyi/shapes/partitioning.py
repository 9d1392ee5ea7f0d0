"""Validating more than fits in memory, by groups of focus nodes."""

import gc
from array import array
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Self

import numpy as np

from shiyi.errors import KnowledgeBaseError
from shiyi.model.rdf import BlankNode, NamedNode, Quad, Term, text
from shiyi.ontology.terms import RDF, RDFS
from shiyi.shapes.validation import Result, engine_form, lowered, results_of, validate

if TYPE_CHECKING:
    from rdflib import Graph
    from rdflib.term import Node


MARK: Final = (
    "urn:shiyi:shapes:instance-of:"  # and a class: what its instances carry to be focus nodes
)
# what a node shape and a property shape may say to look no further (SHACL sections 2.1.3, 4)
_TOLD: Final = ("description", "message", "name", "severity")
_OF_NODE: Final = frozenset({"deactivated", "property", "targetClass", "targetSubjectsOf", *_TOLD})
_OF_VALUES: Final = frozenset({
    "class", "datatype", "flags", "in", "languageIn", "maxExclusive", "maxInclusive", "maxLength",
    "minExclusive", "minInclusive", "minLength", "nodeKind", "or", "pattern",
})  # fmt: skip
_OF_PROPERTY: Final = frozenset({
    "deactivated", "defaultValue", "disjoint", "equals", "group", "hasValue", "lessThan",
    "lessThanOrEquals", "maxCount", "minCount", "order", "path", "uniqueLang", *_TOLD, *_OF_VALUES,
})  # fmt: skip
_RUNS: Final = ("target", "targetClass", "targetNode", "targetObjectsOf", "targetSubjectsOf")


@dataclass(frozen=True)
class Reach:
    """Shapes distinguished, and what those that look near ask of the data."""

    near: "Graph"  # aimed at marks where they were aimed at classes
    far: "Graph | None"  # the others, where there are any
    targets: frozenset[str]  # classes of the instances that the shapes check
    paths: frozenset[str]  # properties with values that are checked for a class
    classes: frozenset[str]  # those they look for

    @classmethod
    def of(cls, shapes: "Graph") -> Self:
        """Distinguish; a shape with anything but what is known to look near looks far."""
        from rdflib import RDF, SH, Graph, URIRef

        near, far = Graph(), Graph() + shapes
        for shape in shapes.subjects(RDF.type, SH.NodeShape):
            if _looks_near(shape, shapes):
                part = shapes.cbd(shape)
                near += part
                far -= part
        targets = frozenset(map(str, near.objects(None, SH.targetClass)))
        paths, classes = set[str](), frozenset(map(str, near.objects(None, SH["class"])))
        for shape, path in near.subject_objects(SH.path):
            if any(True for _ in _classes(shape, near)):
                paths |= {
                    str(each)
                    for each in near.transitive_objects(path, None)
                    if isinstance(each, URIRef)
                }
        for shape, kind in list(near.subject_objects(SH.targetClass)):
            near.remove((shape, SH.targetClass, kind))
            near.add((shape, SH.targetSubjectsOf, URIRef(MARK + str(kind))))
        runs = any((None, SH[name], None) in far for name in _RUNS) or any(
            (None, RDF.type, kind) in far for kind in (SH.NodeShape, SH.PropertyShape)
        )
        return cls(near, far if runs else None, targets, frozenset(paths), classes)


def _looks_near(shape: "Node", shapes: "Graph") -> bool:
    from rdflib import RDF, RDFS, SH, URIRef

    named = set(shapes.cbd(shape).objects())
    return (
        isinstance(shape, URIRef)
        and set(shapes.objects(shape, RDF.type)) == {SH.NodeShape}
        and not any(shapes.triples((None, None, shape)))
        and not named & {RDF.type, RDFS.subClassOf}  # of these a part tells more, or less
        and _says_only(shape, shapes, _OF_NODE)
        and all(_constrains_near(each, shapes) for each in shapes.objects(shape, SH.property))
    )


def _constrains_near(shape: "Node", shapes: "Graph") -> bool:
    from rdflib import SH, BNode

    return (
        isinstance(shape, BNode)
        and len(list(shapes.subjects(None, shape))) == 1
        and _says_only(shape, shapes, _OF_PROPERTY)
        and _is_step(shapes.value(shape, SH.path), shapes)
        and all(_says_only(each, shapes, _OF_VALUES) for each in _alternatives(shape, shapes))
    )


def _is_step(path: "Node | None", shapes: "Graph") -> bool:
    """Return whether a path is a property, or one of several."""
    from rdflib import SH, URIRef
    from rdflib.collection import Collection

    if isinstance(path, URIRef):
        return True
    if path is None or set(shapes.predicates(path)) != {SH.alternativePath}:
        return False
    return all(
        isinstance(each, URIRef)
        for list_ in shapes.objects(path, SH.alternativePath)
        for each in Collection(shapes, list_)
    )


def _says_only(shape: "Node", shapes: "Graph", known: frozenset[str]) -> bool:
    from rdflib import RDF, SH

    names = (str(each) for each in shapes.predicates(shape) if each != RDF.type)
    return all(each.startswith(str(SH)) and each.removeprefix(str(SH)) in known for each in names)


def _alternatives(shape: "Node", shapes: "Graph") -> Iterator["Node"]:
    from rdflib import SH
    from rdflib.collection import Collection

    for list_ in shapes.objects(shape, SH["or"]):
        for each in Collection(shapes, list_):
            yield each
            yield from _alternatives(each, shapes)


def _classes(shape: "Node", shapes: "Graph") -> Iterator["Node"]:
    from rdflib import SH

    for each in (shape, *_alternatives(shape, shapes)):
        yield from shapes.objects(each, SH["class"])


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
        for batch in _parts(quads, part, subjects):
            data = lowered(batch)
            if reach.far is not None:
                whole += data
            known.mark(data)
            known.tell_of_values(batch, data)
            batch.clear()
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
    """Yield the types of nodes and the subclass statements."""
    return (quad for quad in quads if quad.predicate in (RDF.type, RDFS.subClassOf))


def _parts(quads: Iterable[Quad], part: int, subjects: "array[int]") -> Iterator[list[Quad]]:
    """Yield quads, all those of a subject together; note the subjects as they come."""
    batch, last = list[Quad](), None
    for quad in quads:
        if quad.subject != last:
            if len(batch) >= part:
                yield batch
                batch = []
            last = quad.subject
            subjects.append(hash(last))
        batch.append(quad)
    if batch:
        yield batch


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
    """The classes of every node, by the hashes of both."""

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
        hashes, bits = np.frombuffer(nodes, np.int64), np.frombuffer(kinds, np.uint32)
        wanted = np.array([bool(each) for each in self._looked_for], bool)
        chosen = np.flatnonzero(wanted[bits]) if len(bits) else bits
        order = chosen[np.argsort(hashes[chosen], kind="stable")]
        self._hashes, self._kinds = hashes[order], bits[order]

    def mark(self, data: "Graph") -> None:
        """Mark the focus nodes of a part: what is informed of values must not make them ones."""
        from rdflib import RDF as RDFLIB_RDF

        for node, _, kind in list(data.triples((None, RDFLIB_RDF.type, None))):
            for mark in self._marks.get(kind, ()):  # type: ignore[call-overload]
                data.add((node, mark, kind))

    def tell_of_values(self, quads: Iterable[Quad], data: "Graph") -> None:
        """Return of which classes the values are that shapes look at."""
        from rdflib import RDF as RDFLIB_RDF
        from rdflib import BNode, URIRef

        values = list(
            {
                quad.object
                for quad in quads
                if quad.predicate.value in self._paths
                and isinstance(quad.object, NamedNode | BlankNode)
            }
        )
        hashes = np.fromiter(map(hash, values), np.int64, len(values))
        starts = np.searchsorted(self._hashes, hashes, "left").tolist()
        ends = np.searchsorted(self._hashes, hashes, "right").tolist()
        for value, start, end in zip(values, starts, ends, strict=True):
            node = URIRef(value.value) if isinstance(value, NamedNode) else BNode(value.value)
            for kind in self._kinds[start:end].tolist():
                for name in self._looked_for[kind]:
                    data.add((node, RDFLIB_RDF.type, name))


def _closed(kind: Term, above: Mapping[Term, set[Term]]) -> set[Term]:
    """Return a class with all above it."""
    found, ahead = {kind}, [kind]
    while ahead:
        for each in above.get(ahead.pop(), set()) - found:
            found.add(each)
            ahead.append(each)
    return found
