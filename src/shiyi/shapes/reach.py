"""How far shapes look: at a focus node with its values and their classes, or further."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Self

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
    """Shapes told apart, and what those that look near ask of the data."""

    near: "Graph"  # aimed at marks where they were aimed at classes
    far: "Graph | None"  # the others, where there are any
    targets: frozenset[str]  # classes whose instances the near ones check
    paths: frozenset[str]  # properties, of whose values they look for classes
    classes: frozenset[str]  # those they look for

    @classmethod
    def of(cls, shapes: "Graph") -> Self:
        """Tell apart; a shape with anything but what is known to look near looks far."""
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
                paths |= {str(each) for each in near.transitive_objects(path, None)
                          if isinstance(each, URIRef)}  # fmt: skip
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
    """Tell whether a path is a property, or one of several."""
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

    said = (str(each) for each in shapes.predicates(shape) if each != RDF.type)
    return all(each.startswith(str(SH)) and each.removeprefix(str(SH)) in known for each in said)


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
