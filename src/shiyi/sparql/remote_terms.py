"""How terms travel to a remote store and back: blank nodes by name, triple terms where it has none.

A blank node is an IRI of ours there, since SPARQL Update makes each blank node anew. In the profile
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


def outgoing(term: Term, lowered: bool) -> Term:
    """Write a term as the store holds it.

    >>> outgoing(BlankNode("x"), False).value
    'urn:shiyi:blank:x'
    """
    if isinstance(term, BlankNode):
        return NamedNode(BLANK + quote(term.value, safe=""))
    if isinstance(term, Triple):
        made = Triple(
            _node(outgoing(term.subject, lowered)), term.predicate, outgoing(term.object, lowered)
        )
        return triple_name(made) if lowered else made
    return term


def written(term: Term) -> str:
    """Write a term in SPARQL.

    >>> written(Triple(NamedNode("a:a"), NamedNode("a:b"), Literal("c")))
    '<<( <a:a> <a:b> "c" )>>'
    """
    if isinstance(term, Triple):
        parts = (term.subject, term.predicate, term.object)
        return f"<<( {' '.join(written(part) for part in parts)} )>>"
    return canonical(term)


def outgoing_quad(quad: Quad, lowered: bool) -> Quad:
    """Write a quad as the store holds it, without what describes its triple term."""
    graph = quad.graph_name
    if isinstance(graph, BlankNode | NamedNode):
        graph = _node(outgoing(graph, lowered))
    return Quad(
        _node(outgoing(quad.subject, lowered)),
        quad.predicate,
        outgoing(quad.object, lowered),
        graph,
    )


def descriptions(quad: Quad) -> Iterator[Quad]:
    """Yield what describes the triple term of a quad in the profile ``rdf11``."""
    term = quad.object
    while isinstance(term, Triple):
        graph = outgoing_quad(quad, lowered=True).graph_name
        node = _node(outgoing(term, lowered=True))
        for predicate, part in zip(PARTS, (term.subject, term.predicate, term.object), strict=True):
            yield Quad(node, predicate, outgoing(part, lowered=True), graph)
        term = term.object


def triple_name(term: Triple) -> NamedNode:
    """Name a triple term after its content."""
    return NamedNode(TRIPLE + hashlib.sha256(written(term).encode()).hexdigest()[:32])


def is_triple_name(term: Term) -> bool:
    """Tell whether a term stands for a triple term."""
    return isinstance(term, NamedNode) and term.value.startswith(TRIPLE)


def incoming(said: Mapping[str, Any]) -> Term:
    """Read one binding of SPARQL JSON results; OutsideError for what is no term of RDF.

    >>> incoming({"type": "literal", "value": "甘", "xml:lang": "zh"}).language
    'zh'
    """
    try:
        return _term(said)
    except ValueError as fault:
        raise OutsideError(f"the remote store sent no term: {fault}: {str(said)[:120]}") from fault


def _term(said: Mapping[str, Any]) -> Term:
    kind, value = said.get("type"), said.get("value")
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
            return _literal(value, said)
    raise OutsideError(f"the remote store sent a term of an unknown kind: {str(said)[:120]}")


def _literal(value: str, said: Mapping[str, Any]) -> Literal:
    if language := said.get("xml:lang"):
        return Literal(value, language=language)
    if not (datatype := said.get("datatype")):
        return Literal(value)
    if datatype == _BOOLEAN:
        value = _TRUTH.get(value, value)
    return Literal(value, datatype=NamedNode(datatype))


def _node(term: Term | DefaultGraph) -> Any:
    return term


def by_graph(quads: Iterable[Quad]) -> dict[NamedNode | DefaultGraph, list[Quad]]:
    """Sort quads by their graph, in their order."""
    found: dict[NamedNode | DefaultGraph, list[Quad]] = {}
    for quad in quads:
        graph = quad.graph_name
        assert not isinstance(graph, BlankNode | Triple | Literal)  # noqa: S101 - they have names
        found.setdefault(graph, []).append(quad)
    return found
