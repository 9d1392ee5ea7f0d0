"""Checking lowered claims and concepts against the shapes."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from typing_extensions import override

from shiyi.artefacts import artefact
from shiyi.errors import KnowledgeBaseError
from shiyi.model.rdf import XSD_STRING, BlankNode, Literal, NamedNode, Quad, Term, Triple
from shiyi.ontology.terms import RDF

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


def lowered(quads: Iterable[Quad]) -> "Graph":
    """Write quads as an RDF 1.1 graph: each reified triple as subject, predicate and object.

    >>> from shiyi.model.rdf import DefaultGraph
    >>> node, default = NamedNode("https://e.org/c"), DefaultGraph()
    >>> said = Triple(node, node, node)
    >>> len(lowered([Quad(node, RDF.reifies, said, default)]))
    3
    """
    from rdflib import Graph

    graph, nodes = Graph(), _Nodes()
    for quad in quads:
        subject = nodes[quad.subject]
        if isinstance(quad.object, Triple):
            inner = quad.object
            parts = ((RDF.subject, inner.subject), (RDF.predicate, inner.predicate),
                     (RDF.object, inner.object))  # fmt: skip
            for predicate, part in parts:
                graph.add((subject, nodes[predicate], nodes[part]))
        else:
            graph.add((subject, nodes[quad.predicate], nodes[quad.object]))
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
    raise TypeError(f"a nested triple term cannot be lowered: {term}")


def shape_names() -> tuple[str, ...]:
    """List the shape files of ``shapes/``, without their ending."""
    return tuple(sorted(path.stem for path in artefact("shapes").glob("*.ttl")))


def shapes_graph(*names: str) -> "Graph":
    """Parse shape files together; all of them where none is named."""
    from rdflib import Graph

    graph = Graph()
    for name in names or shape_names():
        graph.parse(data=artefact(f"shapes/{name}.ttl").read_text(encoding="utf-8"))
    return graph


def validate(data: "Graph", shapes: "Graph") -> tuple[Result, ...]:
    """List what is wrong with ``data``; nothing means that it conforms.

    Raises :class:`KnowledgeBaseError` for an empty graph: it would conform to anything.
    """
    if len(data) == 0:
        raise KnowledgeBaseError("there is nothing to validate: the data graph is empty")
    return results_of(data, engine_form(shapes))


def results_of(data: "Graph", shapes: "Graph") -> tuple[Result, ...]:
    """List what is wrong with ``data``; ``shapes`` are in the form that :func:`engine_form` gives."""
    from rdflib import SH

    _, report = _reported(data, shapes)
    return tuple(_result(report, node) for node in report.subjects(SH.resultSeverity, None))


def report_of(data: "Graph", shapes: "Graph") -> tuple[bool, "Graph"]:
    """Say whether ``data`` conforms, with the report of results (SHACL section 3.6).

    Raises :class:`KnowledgeBaseError` where the engine reports nothing: shapes that are not well formed.
    """
    return _reported(data, engine_form(shapes))


def engine_form(shapes: "Graph") -> "Graph":
    """Write shapes so that the engine gives the same results, and sooner."""
    return _aimed(_as_written(shapes))


def _reported(data: "Graph", shapes: "Graph") -> tuple[bool, "Graph"]:
    from pyshacl import validate as run_pyshacl
    from rdflib import Graph

    conforms, report, _ = run_pyshacl(data, shacl_graph=shapes, allow_warnings=False)
    if not isinstance(report, Graph):
        raise KnowledgeBaseError(f"the SHACL engine failed instead of reporting: {report!r}")
    return conforms, report


def _as_written(shapes: "Graph") -> "Graph":
    """Leave out ``sh:uniqueLang 1``: it is asked for by ``true`` alone (SHACL section 4.4.5)."""
    from rdflib import SH, Graph

    kept = Graph() + shapes
    for shape, said in shapes.subject_objects(SH.uniqueLang):
        if str(said) != "true":
            kept.remove((shape, SH.uniqueLang, said))
    return kept


def _aimed(shapes: "Graph") -> "Graph":
    """Aim each property shape at the targets of its node shape: the same results, much sooner.

    pySHACL reads a property shape anew for every focus node that a node shape hands down to it,
    and once for all nodes that are its own targets (9 times faster on the starter base).
    """
    from rdflib import RDF as RDFLIB_RDF
    from rdflib import SH, Graph

    aims = (SH.targetClass, SH.targetNode, SH.targetSubjectsOf, SH.targetObjectsOf)
    aimed = Graph() + shapes
    for shape, constraint in shapes.subject_objects(SH.property):
        targets = [(aim, target) for aim in aims for target in shapes.objects(shape, aim)]
        if targets and _apart(shapes, shape, constraint):
            for aim, target in targets:
                aimed.add((constraint, aim, target))
            aimed.remove((shape, SH.property, constraint))
            aimed.add((constraint, RDFLIB_RDF.type, SH.PropertyShape))
    return aimed


def _apart(shapes: "Graph", shape: "Node", constraint: "Node") -> bool:
    """Tell whether a property shape says the same without the node shape it is of.

    Not where others use the node shape, where it is switched off or also one of a class that
    stands for its targets, or where its property shapes are counted together (SHACL sections
    2.1.3.3, 4.7.3 and 4.8.1).
    """
    from rdflib import RDF as RDFLIB_RDF
    from rdflib import RDFS, SH

    together = (
        (shape, SH.closed),
        (shape, SH.deactivated),
        (constraint, SH.qualifiedValueShapesDisjoint),
    )
    used = any(shapes.triples((None, None, shape)))
    implicit = (shape, RDFLIB_RDF.type, RDFS.Class) in shapes
    return not used and not implicit and all(shapes.value(*each) is None for each in together)


def _result(report: "Graph", node: "Node") -> Result:
    from rdflib import SH
    from rdflib import Literal as RdflibLiteral

    def said(predicate: "Node") -> str:
        return str(report.value(node, predicate) or "")

    messages = {
        each.language: str(each)
        for each in report.objects(node, SH.resultMessage)
        if isinstance(each, RdflibLiteral)
    }
    return Result(
        focus=said(SH.focusNode), component=said(SH.sourceConstraintComponent),
        path=said(SH.resultPath), value=said(SH.value), message_en=messages.get("en", ""),
        message_zh=messages.get("zh", ""), severity=said(SH.resultSeverity).rpartition("#")[2],
    )  # fmt: skip
