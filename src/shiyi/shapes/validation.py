"""Validating a graph; the report as values; which features shapes can tell apart."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Self

from typing_extensions import override

from shiyi.artefacts import artefact
from shiyi.errors import KnowledgeBaseError
from shiyi.model.rdf import XSD_STRING, BlankNode, Literal, NamedNode, Quad, Term
from shiyi.ontology.rdf11 import to_rdf11
from shiyi.ontology.serialization import QUALIFIERS

if TYPE_CHECKING:
    from rdflib import Graph
    from rdflib.term import Node


@dataclass(frozen=True, slots=True)
class Result:
    """One thing wrong with one focus node; ``severity`` is Violation, Warning or Info."""

    focus: str
    component: str
    path: str
    value: str
    message_en: str
    message_zh: str
    severity: str

    @override
    def __str__(self) -> str:
        value = f" = {self.value}" if self.value else ""
        return f"{self.severity}: {self.focus} {self.path}{value}: {self.message_en}"


def to_graph(quads: Iterable[Quad]) -> "Graph":
    """Return quads as an RDF 1.1 graph of rdflib.

    >>> from shiyi.model.rdf import DefaultGraph, Triple
    >>> from shiyi.ontology.terms import RDF
    >>> node, default = NamedNode("https://e.org/c"), DefaultGraph()
    >>> term = Triple(node, node, node)
    >>> len(to_graph([Quad(node, RDF.reifies, term, default)]))
    3
    """
    from rdflib import Graph

    graph, nodes = Graph(), _Nodes()
    for quad in to_rdf11(quads):
        graph.add((nodes[quad.subject], nodes[quad.predicate], nodes[quad.object]))
    return graph


class _Nodes(dict[Term, "Node"]):
    """Terms as rdflib has them, each made once: most IRIs come back many times."""

    def __missing__(self, term: Term) -> "Node":
        node = self[term] = _node(term)
        return node


def _node(term: Term) -> "Node":
    from rdflib import BNode, URIRef
    from rdflib import Literal as RdflibLiteral

    match term:
        case NamedNode():
            return URIRef(term.value)
        case BlankNode():
            return BNode(term.value)
        case Literal():
            if term.language:
                return RdflibLiteral(term.value, lang=term.language)
            if term.datatype == XSD_STRING:  # rdflib tells "x" from "x"^^xsd:string; SHACL does not
                return RdflibLiteral(term.value)
            return RdflibLiteral(term.value, datatype=URIRef(term.datatype.value))
    raise TypeError(f"{term} is no term of RDF 1.1")


def shape_names() -> tuple[str, ...]:
    """List the shape files of ``shapes/``, without their ending."""
    return tuple(sorted(path.stem for path in artefact("shapes").glob("*.ttl")))


def shapes_graph(*names: str) -> "Graph":
    """Parse shape files together; all of them where none is named."""
    from rdflib import Graph

    graph = Graph()
    for name in names or shape_names():
        graph += _parse_shapes(artefact(f"shapes/{name}.ttl").read_text(encoding="utf-8"))
    return graph


@lru_cache(maxsize=64)
def _parse_shapes(turtle: str) -> "Graph":
    """Parse a shape file; it is read for every batch of claims and changes rarely."""
    from rdflib import Graph

    return Graph().parse(data=turtle)


def validate(data: "Graph", shapes: "Graph") -> tuple[Result, ...]:
    """List what is wrong with ``data``; nothing means that it conforms.

    Raises :class:`KnowledgeBaseError` for an empty graph: it would conform to anything.
    """
    if len(data) == 0:
        raise KnowledgeBaseError("there is nothing to validate: the data graph is empty")
    return list_results(data, engine_form(shapes))


def list_results(data: "Graph", shapes: "Graph") -> tuple[Result, ...]:
    """Return the violations in ``data``; ``shapes`` come from :func:`engine_form`."""
    from rdflib import SH

    _, report = build_report(data, shapes)
    return tuple(_result(report, node) for node in report.subjects(SH.resultSeverity, None))


def engine_form(shapes: "Graph") -> "Graph":
    """Write shapes so that the engine gives the same results, and sooner."""
    return _target_property_shapes(_drop_default_constraints(shapes))


def build_report(data: "Graph", shapes: "Graph") -> tuple[bool, "Graph"]:
    """Return whether ``data`` conforms, with the report of results (SHACL section 3.6).

    ``shapes`` come from :func:`engine_form`. Raise :class:`KnowledgeBaseError` where the engine
    has no report: shapes are malformed.
    """
    from pyshacl import validate as run_pyshacl
    from rdflib import Graph

    conforms, report, _ = run_pyshacl(data, shacl_graph=shapes, allow_warnings=False)
    if not isinstance(report, Graph):
        raise KnowledgeBaseError(f"the SHACL engine failed instead of reporting: {report!r}")
    return conforms, report


def _drop_default_constraints(shapes: "Graph") -> "Graph":
    """Leave out ``sh:uniqueLang 1``: it is asked for by ``true`` alone (SHACL section 4.4.5)."""
    from rdflib import SH, Graph

    rest = Graph() + shapes
    for shape, flag in shapes.subject_objects(SH.uniqueLang):
        if str(flag) != "true":
            rest.remove((shape, SH.uniqueLang, flag))
    return rest


def _target_property_shapes(shapes: "Graph") -> "Graph":
    """Aim each property shape at the targets of its node shape: the same results, much sooner.

    pySHACL rereads a property shape for every focus node that a node shape passes to it,
    and once for all nodes that are its own targets (9 times faster on the starter base).
    """
    from rdflib import RDF as RDFLIB_RDF
    from rdflib import SH, Graph

    aims = (SH.targetClass, SH.targetNode, SH.targetSubjectsOf, SH.targetObjectsOf)
    aimed = Graph() + shapes
    for shape, constraint in shapes.subject_objects(SH.property):
        targets = [(aim, target) for aim in aims for target in shapes.objects(shape, aim)]
        if targets and _is_independent(shapes, shape, constraint):
            for aim, target in targets:
                aimed.add((constraint, aim, target))
            aimed.remove((shape, SH.property, constraint))
            aimed.add((constraint, RDFLIB_RDF.type, SH.PropertyShape))
    return aimed


def _is_independent(shapes: "Graph", shape: "Node", constraint: "Node") -> bool:
    """Return whether a property shape says the same without the node shape it is of.

    Not where others use the node shape, where it is switched off or also one of a class that
    stands for its targets, or where its property shapes are counted together (SHACL sections
    2.1.3.3, 4.7.3 and 4.8.1).
    """
    from rdflib import RDF as RDFLIB_RDF
    from rdflib import RDFS, SH

    together = (
        (shape, SH.closed), (shape, SH.deactivated), (constraint, SH.qualifiedValueShapesDisjoint),
    )  # fmt: skip
    used = any(shapes.triples((None, None, shape)))
    implicit = (shape, RDFLIB_RDF.type, RDFS.Class) in shapes
    return not used and not implicit and all(shapes.value(*row) is None for row in together)


def _result(report: "Graph", node: "Node") -> Result:
    from rdflib import SH
    from rdflib import Literal as RdflibLiteral

    def value_of(predicate: "Node") -> str:
        return str(report.value(node, predicate) or "")

    messages = {
        item.language: str(item)
        for item in report.objects(node, SH.resultMessage)
        if isinstance(item, RdflibLiteral)
    }
    return Result(
        focus=value_of(SH.focusNode),
        component=value_of(SH.sourceConstraintComponent),
        path=value_of(SH.resultPath),
        value=value_of(SH.value),
        message_en=messages.get("en", ""),
        message_zh=messages.get("zh", ""),
        severity=value_of(SH.resultSeverity).rpartition("#")[2],
    )


# constraints that look at the kind of a value and not at the value
_BLIND = (
    "class", "datatype", "description", "languageIn", "maxCount", "message", "minCount", "name",
    "nodeKind", "or", "path", "severity",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class DataFingerprint:
    """Two claims that differ only in what is not reported here get the same results."""

    terms: frozenset[str]  # every IRI that a shape names
    paths: frozenset[str]  # properties with values that a shape reads as text

    @classmethod
    def of(cls, shapes: "Graph") -> Self:
        """Read off a graph of shapes; a constraint that is not known to be blind reads texts."""
        from rdflib import SH, URIRef

        terms = {str(node) for triple in shapes for node in triple if isinstance(node, URIRef)}
        paths = set[str]()
        for shape, path in shapes.subject_objects(SH.path):
            if not _is_blind(shape, shapes):
                paths |= (
                    {str(path)} if isinstance(path, URIRef) else set(_path_properties(path, shapes))
                )
        return cls(frozenset(terms), frozenset(paths))

    def names(self, term: NamedNode) -> bool:
        """Return whether a shape names this term, in a list of values for example."""
        return term.value in self.terms

    def reads(self, path: str) -> bool:
        """Return whether a shape reads the texts of this property, in a pattern for example."""
        return path in self.paths

    def qualifiers(self, given: Iterable[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
        """Return qualifiers without the values that no shape reads."""
        return tuple(
            (name, value if self.reads(QUALIFIERS[name][0].value) else "") for name, value in given
        )


def _is_blind(shape: "Node", shapes: "Graph") -> bool:
    """Return whether a property shape, and each alternative within it, looks at kinds alone."""
    from rdflib import SH
    from rdflib.collection import Collection

    for predicate, value in shapes.predicate_objects(shape):
        name = str(predicate).removeprefix(str(SH))
        if str(predicate).startswith(str(SH)) and name not in _BLIND:
            return False
        if predicate == SH["or"] and not all(
            _is_blind(item, shapes) for item in Collection(shapes, value)
        ):
            return False
    return True


def _path_properties(path: "Node", shapes: "Graph") -> Iterable[str]:
    """Yield every property of a path that is more than one."""
    from rdflib import URIRef

    for value in shapes.transitive_objects(path, None):
        if isinstance(value, URIRef):
            yield str(value)
