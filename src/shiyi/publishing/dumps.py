"""The whole knowledge base as RDF."""

import io
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import IO, Final
from typing import Literal as Choice

from shiyi.errors import FormatError
from shiyi.model.rdf import FORMATS, Quad, Triple, parse_n_quads_lines, write_rdf
from shiyi.ontology.terms import PREFIXES
from shiyi.publishing.jsonld import write_json_ld
from shiyi.publishing.lines import allowed_lines, by_graph, in_default_graph, lowered_lines
from shiyi.publishing.nanopublications import nanopublications, singletons
from shiyi.publishing.skos import skos_lines
from shiyi.publishing.turtle_lines import trig, turtle
from shiyi.sparql.store import QuadStore
from shiyi.sparql.withheld import withheld

Profile = Choice["rdf12", "rdf11", "singleton", "nanopub", "skos"]
PROFILES: Final[tuple[Profile, ...]] = ("rdf12", "rdf11", "singleton", "nanopub", "skos")
_TOGETHER: Final = 10_000  # lines written at once
_ONE_GRAPH: Final = ("ttl", "nt", "rdfxml", "jsonld")
_NEEDS_GRAPHS: Final = ("singleton", "nanopub")


def dump(store: QuadStore, name: str, profile: str = "rdf12", licence: str | None = None) -> bytes:
    """Give the accepted view and, in formats with graphs, the named graphs behind it."""
    file = io.BytesIO()
    write_dump(store, file, name, profile, licence)
    return file.getvalue()


def write_dump(
    store: QuadStore, file: IO[bytes], name: str, profile: str = "rdf12", licence: str | None = None
) -> None:
    """Write what :func:`dump` gives into an open file, at constant memory for most formats.

    JSON-LD and RDF/XML are always lowered to RDF 1.1; ``singleton`` and ``nanopub`` need a format
    with graphs. N-Quads are canonical, so that the same base gives the same bytes.
    """
    check(name, profile)
    write_lines(allowed_lines(store, withheld(store, licence)), file, name, profile)


def check(name: str, profile: str) -> None:
    """Raise :class:`FormatError` for a format or profile that does not exist, or not together."""
    if name not in FORMATS:
        raise FormatError("format", name, tuple(FORMATS))
    if profile not in PROFILES:
        raise FormatError("profile", profile, PROFILES)
    if profile in _NEEDS_GRAPHS and name in _ONE_GRAPH:
        raise FormatError(f"format of profile {profile}", name, ("nq", "trig"))


def write_lines(lines: Iterable[bytes], file: IO[bytes], name: str, profile: str = "rdf12") -> None:
    """Write canonical lines of RDF 1.2 in another format and profile."""
    if name in _ONE_GRAPH or profile in {*_NEEDS_GRAPHS, "skos"}:
        lines = in_default_graph(lines)
    if profile == "rdf11" or name in {"jsonld", "rdfxml"}:
        lines = lowered_lines(lines)
    if profile == "skos":
        lines = skos_lines(lines)
    if profile in _NEEDS_GRAPHS:
        made = {"singleton": singletons, "nanopub": nanopublications}[profile](lines)
        write_rdf(made, name, file, PREFIXES)
    elif name in {"nq", "nt"}:  # lines of one graph are N-Triples already
        left = iter(lines)
        while some := list(islice(left, _TOGETHER)):
            file.write(b"\n".join(some) + b"\n")
    elif name == "jsonld":
        write_json_ld(parse_n_quads_lines(lines), file)
    elif name == "trig":
        file.writelines(trig(by_graph(lines)))
    elif name == "ttl":
        file.writelines(turtle(lines))
    else:
        write_rdf(_triples(parse_n_quads_lines(lines)), name, file, PREFIXES)


def _triples(quads: Iterable[Quad]) -> Iterator[Triple]:
    return (Triple(each.subject, each.predicate, each.object) for each in quads)
