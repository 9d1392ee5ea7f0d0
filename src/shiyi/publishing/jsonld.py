"""JSON-LD that reads well: short names, explained by a context that stands in the document."""

import json
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import groupby
from typing import IO, Any, Final

from shiyi.model.names import VOCAB
from shiyi.model.rdf import (
    XSD_DATE,
    XSD_DECIMAL,
    XSD_INTEGER,
    XSD_STRING,
    BlankNode,
    DefaultGraph,
    Literal,
    Quad,
    Term,
    text,
)  # fmt: skip
from shiyi.ontology.terms import PREFIXES, RDF

_PREFIXES: Final = ("id", "shiyi", "skos", "prov", "dcterms", "rdfs", "rdf", "owl", "umls")
_DEFAULT: Final = DefaultGraph()
_XSD: Final = {XSD_DECIMAL: "xsd:decimal", XSD_INTEGER: "xsd:integer", XSD_DATE: "xsd:date"}


def context() -> dict[str, Any]:
    """Give the context: prefixes, and the project's own names as they are.

    >>> context()["@vocab"]
    'https://w3id.org/shiyi/vocab#'
    """
    return {**PREFIXES, "@vocab": VOCAB, "type": "@type", "iri": "@id"}


def write_json_ld(quads: Iterable[Quad], file: IO[bytes]) -> None:
    """Write lowered statements of one graph, sorted by subject, one node a line."""
    head = json.dumps(context(), ensure_ascii=False)
    file.write(f'{{"@context": {head},\n"@graph": [\n'.encode())
    for number, node in enumerate(_nodes(quads)):
        file.write(b",\n" if number else b"")
        file.write(json.dumps(node, ensure_ascii=False).encode())
    file.write(b"\n]}\n")


def json_ld(quads: Iterable[Quad]) -> dict[str, Any]:
    """Give the same as plain values, whatever the order of the statements."""
    ordered = sorted(quads, key=lambda quad: str(quad.subject))
    return {"@context": context(), "@graph": list(_nodes(ordered))}


def _nodes(quads: Iterable[Quad]) -> Iterator[dict[str, Any]]:
    for _, about in groupby(quads, key=lambda quad: str(quad.subject)):
        node: dict[str, Any] = {}
        for quad in about:
            if quad.graph_name != _DEFAULT:
                continue
            node.setdefault("iri", _name(quad.subject))
            if quad.predicate == RDF.type:
                _append(node, "type", _short(text(quad.object)))
            else:
                _append(node, _short(quad.predicate.value), _value(quad.object))
        if node:
            yield node


def _append(node: dict[str, Any], key: str, value: Any) -> None:
    known = node.get(key)
    if known is None:
        node[key] = value
    elif isinstance(known, list):
        known.append(value)
    else:
        node[key] = [known, value]


def _value(term: Term) -> Any:
    if not isinstance(term, Literal):
        return {"iri": _name(term)}
    if term.language:
        return {"@value": term.value, "@language": term.language}
    if term.datatype == XSD_STRING:
        return term.value
    return {"@value": term.value, "@type": _XSD.get(term.datatype, term.datatype.value)}


def _name(term: Term) -> str:
    return f"_:{term.value}" if isinstance(term, BlankNode) else _compact(text(term))


def _short(iri: str) -> str:
    return iri.removeprefix(VOCAB) if iri.startswith(VOCAB) else _compact(iri)


@lru_cache(65_536)  # classes, sources and relations are named very often
def _compact(iri: str) -> str:
    """Shorten an IRI by a prefix where what is left is a plain name."""
    for prefix in _PREFIXES:
        name = PREFIXES[prefix]
        if iri.startswith(name) and not iri[len(name) :].startswith("//"):
            return f"{prefix}:{iri[len(name) :]}"
    return iri
