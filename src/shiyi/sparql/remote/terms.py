"""Blank nodes and triple terms over the wire.

A blank node is an IRI of Shiyi's there, since SPARQL Update makes new blank nodes. In the profile
``rdf11`` a triple term is an IRI named after its content, with ``rdf:subject``, ``rdf:predicate``
and ``rdf:object`` in the graph that uses it, so ``?claim rdf:reifies ?t . ?t rdf:subject ?s``.
"""

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final
from urllib.parse import quote, unquote

from shiyi.errors import OutsideError
from shiyi.model.rdf import (
    BlankNode,
    DefaultGraph,
    Literal,
    NamedNode,
    Quad,
    Term,
    Triple,
    canonical,
)
from shiyi.ontology.terms import RDF

BLANK: Final = "urn:shiyi:blank:"
TRIPLE: Final = "urn:shiyi:triple:"
PARTS: Final = (RDF.subject, RDF.predicate, RDF.object)
# graphs that an engine keeps for itself; only Virtuoso shows them
OWN_GRAPHS: Final = (
    "http://www.openlinksw.com/", "http://localhost:8890/", "http://localuriqaserver/",
    "http://www.w3.org/", "urn:activitystreams-owl:map", "urn:core:services:sparql",
    "virtrdf-label", "b3s", "b3sonto", "facets", "dbprdf-label",
)  # fmt: skip
_BOOLEAN: Final = "http://www.w3.org/2001/XMLSchema#boolean"
_TRUTH: Final = {"0": "false", "1": "true"}


def to_wire(term: Term, lowered: bool) -> Term:
    """Write a term as the store holds it.

    >>> to_wire(BlankNode("x"), False).value
    'urn:shiyi:blank:x'
    """
    if isinstance(term, BlankNode):
        return NamedNode(BLANK + quote(term.value, safe=""))
    if isinstance(term, Triple):
        triple = Triple(
            _node(to_wire(term.subject, lowered)), term.predicate, to_wire(term.object, lowered)
        )
        return triple_name(triple) if lowered else triple
    return term


def sparql_term(term: Term) -> str:
    """Write a term in SPARQL.

    >>> sparql_term(Triple(NamedNode("a:a"), NamedNode("a:b"), Literal("c")))
    '<<( <a:a> <a:b> "c" )>>'
    """
    if isinstance(term, Triple):
        parts = (term.subject, term.predicate, term.object)
        return f"<<( {' '.join(sparql_term(part) for part in parts)} )>>"
    return canonical(term)


def quad_to_wire(quad: Quad, lowered: bool) -> Quad:
    """Write a quad as the store holds it, without what describes its triple term."""
    graph = quad.graph_name
    if isinstance(graph, BlankNode | NamedNode):
        graph = _node(to_wire(graph, lowered))
    return Quad(
        _node(to_wire(quad.subject, lowered)), quad.predicate, to_wire(quad.object, lowered), graph
    )


def describe_terms(quad: Quad) -> Iterator[Quad]:
    """Yield what describes the triple term of a quad in the profile ``rdf11``."""
    term = quad.object
    while isinstance(term, Triple):
        graph = quad_to_wire(quad, lowered=True).graph_name
        node = _node(to_wire(term, lowered=True))
        for predicate, part in zip(PARTS, (term.subject, term.predicate, term.object), strict=True):
            yield Quad(node, predicate, to_wire(part, lowered=True), graph)
        term = term.object


def triple_name(term: Triple) -> NamedNode:
    """Name a triple term after its content."""
    return NamedNode(TRIPLE + hashlib.sha256(sparql_term(term).encode()).hexdigest()[:32])


def is_triple_name(term: Term) -> bool:
    """Return whether a term stands for a triple term."""
    return isinstance(term, NamedNode) and term.value.startswith(TRIPLE)


def from_wire(binding: Mapping[str, Any]) -> Term:
    """Read one binding of SPARQL JSON results; OutsideError for what is no term of RDF.

    >>> from_wire({"type": "literal", "value": "süß", "xml:lang": "de"}).language
    'de'
    """
    try:
        return _term(binding)
    except ValueError as fault:
        raise OutsideError(
            f"the remote store sent no term: {fault}: {str(binding)[:120]}"
        ) from fault


def _term(binding: Mapping[str, Any]) -> Term:
    kind, value = binding.get("type"), binding.get("value")
    if kind == "triple" and isinstance(value, Mapping):
        parts = (_term(value[name]) for name in ("subject", "predicate", "object"))
        subject, predicate, object_ = parts
        if isinstance(predicate, NamedNode):
            return Triple(_node(subject), predicate, object_)
    if isinstance(value, str):
        if kind == "uri":
            own = value.startswith(BLANK)
            return BlankNode(unquote(value.removeprefix(BLANK))) if own else NamedNode(value)
        if kind == "bnode":
            return BlankNode("".join(each if each.isalnum() else "-" for each in value).strip("-"))
        if kind in {"literal", "typed-literal"}:
            return _literal(value, binding)
    raise OutsideError(f"the remote store sent a term of an unknown kind: {str(binding)[:120]}")


def _literal(value: str, binding: Mapping[str, Any]) -> Literal:
    if language := binding.get("xml:lang"):
        return Literal(value, language=language)
    if not (datatype := binding.get("datatype")):
        return Literal(value)
    if datatype == _BOOLEAN:
        value = _TRUTH.get(value, value)
    return Literal(value, datatype=NamedNode(datatype))


def _node(term: Term | DefaultGraph) -> Any:
    return term


def group_quads(quads: Iterable[Quad]) -> dict[NamedNode | DefaultGraph, list[Quad]]:
    """Sort quads by their graph, in their order."""
    found_quads: dict[NamedNode | DefaultGraph, list[Quad]] = {}
    for quad in quads:
        graph = quad.graph_name
        assert not isinstance(graph, BlankNode | Triple | Literal)  # noqa: S101 - they have names
        found_quads.setdefault(graph, []).append(quad)
    return found_quads
