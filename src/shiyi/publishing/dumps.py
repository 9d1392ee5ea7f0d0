"""Dumps: Turtle, TriG, JSON-LD, SKOS, nanopublications, singleton graphs, Parquet."""

import io
import json
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from functools import lru_cache
from itertools import groupby, islice
from pathlib import Path
from typing import IO, Any, Final
from typing import Literal as Choice

from shiyi.errors import FormatError, MissingExtraError
from shiyi.model.iris import ID, VOCAB
from shiyi.model.rdf import (
    FORMATS,
    XSD_DATE,
    XSD_DECIMAL,
    XSD_INTEGER,
    XSD_STRING,
    BlankNode,
    DefaultGraph,
    Literal,
    NamedNode,
    Quad,
    Term,
    Triple,
    parse_n_quads_lines,
    text,
    write_rdf,
)
from shiyi.ontology.rdf11 import to_rdf11
from shiyi.ontology.terms import DCTERMS, PREFIXES, PROV, RDF, RDFS, SHIYI
from shiyi.publishing.nquads import (
    default_graph_lines,
    group_by_graph,
    lowered_lines,
    published_lines,
    split_line,
    subject_of,
)
from shiyi.publishing.tables import Table
from shiyi.sparql.store.port import QuadStore
from shiyi.sparql.store.visibility import find_restricted

_PREFIXES: Final = ("id", "shiyi", "skos", "prov", "dcterms", "rdfs", "rdf", "owl", "umls")
_DEFAULT: Final = DefaultGraph()
_XSD: Final = {XSD_DECIMAL: "xsd:decimal", XSD_INTEGER: "xsd:integer", XSD_DATE: "xsd:date"}


def context() -> dict[str, Any]:
    """Return the context: prefixes, and the project's own names as they are.

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
    """Return the same as plain values, for any order of the statements."""
    ordered_quads = sorted(quads, key=lambda quad: str(quad.subject))
    return {"@context": context(), "@graph": list(_nodes(ordered_quads))}


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


_SKOS: Final = f"<{PREFIXES['skos']}".encode()
_RETAINED: Final = tuple(
    str(each).encode()
    for each in (DCTERMS.title, DCTERMS.source, DCTERMS.license, DCTERMS.isReplacedBy, RDFS.comment)
)
_KINDS: Final = tuple(
    f"<{PREFIXES['skos']}{name}>".encode() for name in ("Concept", "ConceptScheme")
)
_TYPE: Final = str(RDF.type).encode()


def skos_lines(lines: Iterable[bytes]) -> Iterator[bytes]:
    """Keep schemes and concepts with labels, notes, hierarchy and mappings; lines are sorted."""
    for _, about in groupby(lines, key=subject_of):
        own = [(line, split_line(line)) for line in about]
        if any(p == _TYPE and o in _KINDS for _, (_, p, o, _) in own):
            for line, (_, predicate, value, _) in own:
                wanted = value in _KINDS if predicate == _TYPE else predicate.startswith(_SKOS)
                if wanted or predicate in _RETAINED:
                    yield line


Profile = Choice["rdf12", "rdf11", "singleton", "nanopub", "skos"]
PROFILES: Final[tuple[Profile, ...]] = ("rdf12", "rdf11", "singleton", "nanopub", "skos")
_TOGETHER: Final = 10_000  # lines written at once
_ONE_GRAPH: Final = ("ttl", "nt", "rdfxml", "jsonld")
_NEEDS_GRAPHS: Final = ("singleton", "nanopub")


def dump(store: QuadStore, name: str, profile: str = "rdf12", licence: str | None = None) -> bytes:
    """Return the accepted view and, in formats with graphs, the named graphs behind it."""
    file = io.BytesIO()
    write_dump(store, file, name, profile, licence)
    return file.getvalue()


def write_dump(
    store: QuadStore, file: IO[bytes], name: str, profile: str = "rdf12", licence: str | None = None
) -> None:
    """Write the dump to an open file, at constant memory for most formats.

    JSON-LD and RDF/XML are always lowered to RDF 1.1; ``singleton`` and ``nanopub`` need a format
    with graphs. N-Quads are canonical, so that the same base gives the same bytes.
    """
    check(name, profile)
    write_lines(published_lines(store, find_restricted(store, licence)), file, name, profile)


def check(name: str, profile: str) -> None:
    """Raise :class:`FormatError` for a format or profile that does not exist, or not together."""
    if name not in FORMATS:
        raise FormatError("format", name, tuple(FORMATS))
    if profile not in PROFILES:
        raise FormatError("profile", profile, PROFILES)
    if profile in _NEEDS_GRAPHS and name in _ONE_GRAPH:
        raise FormatError(f"format of profile {profile}", name, ("nq", "trig"))


def write_lines(
    lines: Iterable[bytes], file: IO[bytes], name: str, profile: str = "rdf12", day: str = ""
) -> None:
    """Write canonical lines of RDF 1.2 in another format and profile.

    Nanopublications state the ``day`` of the release, or today.
    """
    if name in _ONE_GRAPH or profile in {*_NEEDS_GRAPHS, "skos"}:
        lines = default_graph_lines(lines)
    if profile == "rdf11" or name in {"jsonld", "rdfxml"}:
        lines = lowered_lines(lines)
    if profile == "skos":
        lines = skos_lines(lines)
    if profile in _NEEDS_GRAPHS:
        day = day or f"{datetime.now(UTC):%Y-%m-%d}"
        quads = singletons(lines) if profile == "singleton" else nanopublications(lines, day)
        write_rdf(quads, name, file, PREFIXES)
    elif name in {"nq", "nt"}:  # lines of one graph are N-Triples already
        left = iter(lines)
        while some := list(islice(left, _TOGETHER)):
            file.write(b"\n".join(some) + b"\n")
    elif name == "jsonld":
        write_json_ld(parse_n_quads_lines(lines), file)
    elif name == "trig":
        write_rdf(parse_n_quads_lines(group_by_graph(lines)), name, file, PREFIXES)
    else:
        write_rdf(
            (
                Triple(quad.subject, quad.predicate, quad.object)
                for quad in parse_n_quads_lines(lines)
            ),
            name,
            file,
            PREFIXES,
        )


def write_parquet(tables: Iterable[Table], folder: Path) -> int:
    """Write each table into ``folder`` as one file, every column a text; count the rows.

    Raises :class:`MissingExtraError` without the extra ``parquet``.
    """
    try:
        import duckdb
    except ImportError as fault:
        raise MissingExtraError("Parquet", "parquet") from fault
    folder.mkdir(parents=True, exist_ok=True)
    count = 0
    with duckdb.connect(config={"threads": 1}) as database:  # one thread: the same bytes each time
        for table in tables:
            columns = ", ".join(f'"{name}" VARCHAR' for name in table.header)
            database.execute(f"CREATE OR REPLACE TABLE rows ({columns})")
            if table.rows:
                holes = ", ".join("?" for _ in table.header)
                database.executemany(f"INSERT INTO rows VALUES ({holes})", list(table.rows))  # noqa: S608 # holes alone
            path = folder / Path(table.name).with_suffix(".parquet")
            database.execute("COPY rows TO $path (FORMAT parquet)", {"path": str(path)})
            count += len(table.rows)
    return count


_NP: Final = "http://www.nanopub.org/nschema#"
_LICENCE: Final = NamedNode("https://creativecommons.org/licenses/by/4.0/")
_CREATOR: Final = NamedNode(PREFIXES["dcterms"] + "creator")
_CREATED: Final = NamedNode(PREFIXES["dcterms"] + "created")
_PUBLISHER: Final = NamedNode("https://w3id.org/shiyi/")
_CLAIM: Final = f"<{ID}claim/".encode()
_EVIDENCE: Final = f"<{ID}evidence/".encode()
_SOURCED: Final = (DCTERMS.source, PROV.wasDerivedFrom)


def nanopublications(lines: Iterable[bytes], day: str) -> Iterator[Quad]:
    """Yield one nanopublication for each claim of the accepted view, lines being sorted.

    Each is ``CLAIM#nanopub``, made on ``day`` (2026-11-21); its four graphs begin with that IRI:
    ``-head``, ``-assertion``, ``-provenance`` and ``-pubinfo`` (nanopub.org guidelines). A
    negative claim asserts that its statement does not hold, as a lowered statement only.
    """
    about = (line for line in lines if line.startswith((_CLAIM, _EVIDENCE)))
    claims: list[bytes] = []
    evidence: dict[bytes, bytes] = {}  # as text, which takes a third of what terms take
    for subject, value in groupby(about, key=subject_of):
        if subject.startswith(_CLAIM):
            claims.append(b"\n".join(value))
        else:
            evidence[subject] = b"\n".join(value)
    literal = Literal(f"{day}T00:00:00Z", datatype=NamedNode(PREFIXES["xsd"] + "dateTime"))
    for block in claims:
        own = list(parse_n_quads_lines([block]))
        if isinstance(claim := own[0].subject, NamedNode):
            yield from _nanopublication(claim, own, evidence)
            node, place = NamedNode(f"{claim.value}#nanopub"), f"{claim.value}#nanopub-pubinfo"
            yield Quad(node, _CREATED, literal, NamedNode(place))


def _nanopublication(
    claim: NamedNode, own: list[Quad], evidence: Mapping[bytes, bytes]
) -> Iterator[Quad]:
    nanopub = NamedNode(f"{claim.value}#nanopub")
    part = {
        name: NamedNode(f"{nanopub.value}-{name}")
        for name in ("head", "assertion", "provenance", "pubinfo")
    }
    head, assertion = part["head"], part["assertion"]
    yield Quad(nanopub, RDF.type, NamedNode(_NP + "Nanopublication"), head)
    for name, graph in (
        ("hasAssertion", assertion),
        ("hasProvenance", part["provenance"]),
        ("hasPublicationInfo", part["pubinfo"]),
    ):
        yield Quad(nanopub, NamedNode(_NP + name), graph, head)
    yield from _assertion(claim, own, assertion)
    provenance = part["provenance"]
    for quad in own:
        if quad.predicate in (SHIYI.confidence, SHIYI.status):
            yield Quad(assertion, quad.predicate, quad.object, provenance)
        if quad.predicate == SHIYI.evidence and isinstance(quad.object, NamedNode):
            yield Quad(assertion, SHIYI.evidence, quad.object, provenance)
            for value in parse_n_quads_lines([evidence.get(str(quad.object).encode(), b"")]):
                if value.predicate in _SOURCED:
                    yield Quad(assertion, PROV.wasDerivedFrom, value.object, provenance)
                yield Quad(quad.object, value.predicate, value.object, provenance)
    pubinfo = part["pubinfo"]
    yield Quad(nanopub, DCTERMS.license, _LICENCE, pubinfo)
    yield Quad(nanopub, _CREATOR, _PUBLISHER, pubinfo)
    yield Quad(nanopub, PROV.wasDerivedFrom, claim, pubinfo)


def _assertion(claim: NamedNode, own: list[Quad], graph: NamedNode) -> Iterator[Quad]:
    positive = any(quad.object == SHIYI.positive for quad in own)
    for quad in own:
        if quad.predicate == RDF.reifies and isinstance(inner := quad.object, Triple):
            if positive and isinstance(inner.subject, NamedNode):
                yield Quad(inner.subject, inner.predicate, inner.object, graph)
            elif not positive:
                for part in to_rdf11([quad]):
                    yield Quad(part.subject, part.predicate, part.object, graph)
                yield Quad(claim, SHIYI.polarity, SHIYI.negative, graph)


def singletons(lines: Iterable[bytes]) -> Iterator[Quad]:
    """Yield the accepted view with each positive claim's triple also in a graph of its own.

    The graph has the claim's name, so that ``GRAPH ?claim { ?s ?p ?o }`` asks for claims. What
    is not asserted stays a lowered statement of the default graph.
    """
    positive = f"{SHIYI.polarity} {SHIYI.positive}".encode()
    stored: list[bytes] = []
    asserted: set[bytes] = set()
    for line in lines:
        subject, _, rest = line.partition(b" ")
        if rest.startswith(positive):
            asserted.add(subject)
        if rest.startswith(str(RDF.reifies).encode()):
            stored.append(line)  # a claim's polarity is sorted behind what it reifies
        elif not rest.startswith(_HELPERS):
            yield from parse_n_quads_lines([line])
    for quad in parse_n_quads_lines(stored):
        claim = quad.subject
        if isinstance(claim, NamedNode) and isinstance(inner := quad.object, Triple):
            if str(claim).encode() not in asserted:
                yield from to_rdf11([quad])
            elif isinstance(inner.subject, NamedNode):
                yield Quad(inner.subject, inner.predicate, inner.object, claim)


_HELPERS: Final = tuple(str(p).encode() for p in (RDF.subject, RDF.predicate, RDF.object))
