"""The whole knowledge base as RDF."""

from collections.abc import Iterable, Iterator
from typing import Literal as Choice

from shiyi.errors import FormatError
from shiyi.model.rdf import FORMATS, DefaultGraph, NamedNode, Quad, Triple, serialize, text
from shiyi.ontology.terms import PREFIXES, RDF, SHIYI
from shiyi.publishing.licences import Withheld, withheld
from shiyi.publishing.lowering import lower
from shiyi.sparql.store import QuadStore

Profile = Choice["rdf12", "rdf11"]
PROFILES: tuple[Profile, ...] = ("rdf12", "rdf11")
_ONE_GRAPH = ("ttl", "nt", "rdfxml")


def dump(store: QuadStore, name: str, profile: str = "rdf12", licence: str | None = None) -> bytes:
    """Write the accepted view and, in formats with graphs, the named graphs behind it.

    JSON-LD and RDF/XML are always lowered to RDF 1.1. Lines are sorted where the format has
    lines, so that the same base gives the same bytes.
    """
    if name not in FORMATS:
        raise FormatError("format", name, tuple(FORMATS))
    if profile not in PROFILES:
        raise FormatError("profile", profile, PROFILES)
    graph = DefaultGraph() if name in _ONE_GRAPH else None
    quads: Iterable[Quad] = _allowed(store, graph, withheld(store, licence))
    if profile == "rdf11" or name in ("jsonld", "rdfxml"):
        quads = lower(quads)
    ordered = sorted(quads, key=str)
    if name in _ONE_GRAPH:
        triples = (Triple(each.subject, each.predicate, each.object) for each in ordered)
        return serialize(triples, name, PREFIXES)
    return serialize(ordered, name, PREFIXES)


def _allowed(store: QuadStore, graph: DefaultGraph | None, held: Withheld) -> Iterator[Quad]:
    hidden = held.evidence | held.claims
    gone = {
        (inner.subject, inner.predicate, inner.object)
        for claim in held.claims
        for quad in store.match(NamedNode(claim), RDF.reifies)
        if isinstance(inner := quad.object, Triple)
    }
    for quad in store.match(graph=graph):
        if text(quad.subject) in hidden or text(quad.object) in hidden:
            continue
        if (quad.subject, quad.predicate, quad.object) in gone:
            continue
        if quad.predicate != SHIYI.appliedThrough:  # the store's own bookkeeping
            yield quad
