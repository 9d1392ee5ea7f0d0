"""RDF 1.2 terms, triples and quads as values."""

from collections.abc import Iterable, Iterator
from decimal import Decimal
from functools import lru_cache
from itertools import islice
from typing import IO

from pyoxigraph import (
    BlankNode,
    CanonicalizationAlgorithm,
    Dataset,
    DefaultGraph,
    Literal,
    NamedNode,
    Quad,
    RdfFormat,
    Triple,
)
from pyoxigraph import parse as oxigraph_parse
from pyoxigraph import serialize as oxigraph_serialize

from shiyi.errors import FormatError, UsageError

__all__ = [
    "FORMATS", "XSD_BOOLEAN", "XSD_DATE", "XSD_DECIMAL", "XSD_INTEGER", "XSD_STRING", "BlankNode",
    "DefaultGraph", "Literal", "NamedNode", "Object", "Quad", "Subject", "Term", "Triple",
    "canonical", "canonical_blank_nodes", "decimal", "local_name", "parse", "parse_n_quads_lines",
    "parse_turtle", "serialize", "text", "write_rdf",
]  # fmt: skip


Term = NamedNode | BlankNode | Literal | Triple
Subject = NamedNode | BlankNode
Object = NamedNode | Literal

FORMATS = {
    "nq": RdfFormat.N_QUADS, "trig": RdfFormat.TRIG, "ttl": RdfFormat.TURTLE,
    "nt": RdfFormat.N_TRIPLES, "jsonld": RdfFormat.JSON_LD, "rdfxml": RdfFormat.RDF_XML,
}  # fmt: skip
TEXT_FORMATS = ("ttl", "nt", "nq", "trig")
_XSD = "http://www.w3.org/2001/XMLSchema#"
XSD_BOOLEAN = NamedNode(f"{_XSD}boolean")
XSD_DECIMAL = NamedNode(f"{_XSD}decimal")
XSD_INTEGER = NamedNode(f"{_XSD}integer")
XSD_DATE = NamedNode(f"{_XSD}date")
XSD_STRING = NamedNode(f"{_XSD}string")


@lru_cache(maxsize=4096)  # few weights are used, and each very often
def decimal(value: float) -> Literal:
    """Write a number as ``xsd:decimal``, which the store keeps as it is, to six places.

    >>> decimal(0.5).value
    '0.5'
    >>> decimal(1.0).value
    '1'
    """
    digits = f"{Decimal(repr(round(value, 6))):f}"
    return Literal(
        digits.rstrip("0").rstrip(".") if "." in digits else digits, datatype=XSD_DECIMAL
    )


def canonical(term: Term) -> str:
    """Write a term as canonical N-Triples 1.2.

    >>> canonical(Literal("süß", language="de"))
    '"süß"@de'
    """
    return str(term)


def text(term: Term | None) -> str:
    """Return the IRI, the lexical form, or nothing for an unbound variable.

    >>> text(None)
    ''
    """
    if term is None:
        return ""
    return str(term) if isinstance(term, Triple) else term.value


def local_name(iri: str) -> str:
    """Return what follows the last ``#`` or ``/``.

    >>> local_name("https://w3id.org/shiyi/vocab#hasNature")
    'hasNature'
    """
    return iri.replace("#", "/").rpartition("/")[2]


def parse_turtle(turtle: str) -> Iterator[Quad]:
    """Read Turtle that Shiyi wrote; other text is parsed in a worker.

    >>> [quad.object.value for quad in parse_turtle('<https://e.org/a> <https://e.org/p> "x" .')]
    ['x']
    """
    yield from oxigraph_parse(turtle, format=RdfFormat.TURTLE)


def parse(content: str, name: str) -> Iterator[Quad]:
    """Read an RDF file of a user by the ending of its name; faults have line and column."""
    ending = name.rpartition(".")[2]
    if ending not in TEXT_FORMATS:
        raise FormatError("file ending", ending, TEXT_FORMATS)
    try:
        yield from oxigraph_parse(content, format=FORMATS[ending])
    except SyntaxError as fault:
        raise UsageError(f"{name} is not {ending}: {fault.msg}") from fault


def parse_stream(file: IO[bytes], ending: str, name: str) -> Iterator[Quad]:
    """Read RDF piece by piece by an ending of :data:`FORMATS`; nothing it names is fetched.

    UsageError where it is malformed, or where JSON-LD names a context elsewhere.
    """
    if ending not in FORMATS:
        raise FormatError("file ending", ending, tuple(FORMATS))
    try:
        yield from oxigraph_parse(file, format=FORMATS[ending])
    except (SyntaxError, ValueError) as fault:
        raise UsageError(f"{name} is not {ending}: {str(fault)[:300]}") from fault


def serialize(
    statements: Iterable[Quad] | Iterable[Triple], name: str, prefixes: dict[str, str]
) -> bytes:
    r"""Write quads (or triples, where the format has no graphs) in the format ``name``.

    JSON-LD and RDF/XML take lowered statements only: they have no triple terms.

    >>> node = NamedNode("https://e.org/a")
    >>> serialize([Triple(node, node, node)], "nt", {})
    b'<https://e.org/a> <https://e.org/a> <https://e.org/a> .\n'
    """
    if name not in FORMATS:
        raise FormatError("format", name, tuple(FORMATS))
    syntax = FORMATS[name]
    takes_prefixes = syntax in (RdfFormat.TRIG, RdfFormat.TURTLE, RdfFormat.RDF_XML)
    written = oxigraph_serialize(
        statements, format=syntax, prefixes=prefixes if takes_prefixes else None
    )
    return written or b""


def write_rdf(
    statements: Iterable[Quad] | Iterable[Triple],
    name: str,
    file: IO[bytes],
    prefixes: dict[str, str],
) -> None:
    """Write statements one after the other into an open file, as :func:`serialize` does."""
    chosen = FORMATS[name]
    takes_prefixes = chosen in (RdfFormat.TRIG, RdfFormat.TURTLE, RdfFormat.RDF_XML)
    oxigraph_serialize(
        statements, file, format=chosen, prefixes=prefixes if takes_prefixes else None
    )


def parse_n_quads_lines(lines: Iterable[bytes]) -> Iterator[Quad]:
    """Read lines of N-Quads that we wrote ourselves; blank nodes keep their names.

    >>> [str(quad.object) for quad in parse_n_quads_lines([b"<urn:a> <urn:p> _:x ."])]
    ['_:x']
    """
    left = iter(lines)
    while batch := list(islice(left, 10_000)):
        yield from oxigraph_parse(b"\n".join(batch), format=RdfFormat.N_QUADS)


def canonical_blank_nodes(lines: Iterable[bytes]) -> list[bytes]:
    """Name the blank nodes of N-Quads lines by RDFC-1.0, which looks at no line without any.

    >>> canonical_blank_nodes([b"_:x <urn:p> _:y ."])
    [b'_:c14n1 <urn:p> _:c14n0 .']
    """
    dataset = Dataset(parse_n_quads_lines(lines))
    dataset.canonicalize(CanonicalizationAlgorithm.RDFC_1_0)
    written = oxigraph_serialize(dataset, format=RdfFormat.N_QUADS) or b""
    return written.splitlines()
