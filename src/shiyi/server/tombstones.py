"""What was taken back: 410, with what it was and why, for people and for machines."""

from collections.abc import Iterator
from typing import Final

from flask import Response, render_template, request

from shiyi.model.names import graph
from shiyi.model.rdf import Literal, NamedNode, Quad, Triple, local_name, serialize, text
from shiyi.ontology.terms import DCTERMS, OWL, PREFIXES, RDF, RDFS, SHIYI, SKOS
from shiyi.server.negotiation import HTML, RDF_TYPES, preferred
from shiyi.server.reading import Reader
from shiyi.server.site import Site
from shiyi.server.wording import catalogue, chosen_language
from shiyi.sparql.store import QuadStore

_TOLD: Final = (
    OWL.deprecated, SHIYI.status, SKOS.prefLabel, RDFS.label, RDFS.comment, RDF.type,
    DCTERMS.isReplacedBy, NamedNode(PREFIXES["skos"] + "changeNote"),
    NamedNode(PREFIXES["prov"] + "invalidatedAtTime"),
)  # fmt: skip
_REASONS: Final = (RDFS.comment, NamedNode(PREFIXES["skos"] + "changeNote"))
_TRUE: Final = frozenset({"true", "1"})
_REVIEWS: Final = graph("reviews")
_WRITERS: Final = {"rdf": "rdfxml"}


def is_gone(store: QuadStore, node: NamedNode) -> bool:
    """Tell whether a resource was retracted, or is deprecated and stands for nothing else."""
    if any(store.match(node, SHIYI.status, SHIYI.retracted)):
        return True
    return any(text(quad.object) in _TRUE for quad in store.match(node, OWL.deprecated))


def tombstone(site: Site, node: NamedNode) -> Response:
    """Answer 410 in the form asked for; a tombstone says no more than that there was something."""
    path = request.path
    extension = path.rpartition(".")[2] if path.startswith("/data/") else ""
    if extension not in RDF_TYPES.values():
        offered = list(RDF_TYPES) if path.startswith("/data/") else [HTML, *RDF_TYPES]
        kind = HTML if path.startswith("/page/") else preferred(offered)
        extension = RDF_TYPES.get(kind, "")
    if not extension:
        response = Response(_page(site, node), 410)
    else:
        triples = [Triple(q.subject, q.predicate, q.object) for q in _told(site.store, node)]
        body = serialize(dict.fromkeys(triples), _WRITERS.get(extension, extension), dict(PREFIXES))
        kind = next(kind for kind, known in RDF_TYPES.items() if known == extension)
        response = Response(body, 410, content_type=kind)
    response.headers["Vary"] = "Accept"
    return response


def _told(store: QuadStore, node: NamedNode) -> Iterator[Quad]:
    for quad in store.match(node):
        if quad.predicate in _TOLD and quad.graph_name != _REVIEWS:
            yield quad


def _page(site: Site, node: NamedNode) -> str:
    words, store = catalogue(), site.store
    reader = Reader(store, chosen_language())
    retracted = any(store.match(node, SHIYI.status, SHIYI.retracted))
    reasons = [words("tombstone.retracted" if retracted else "tombstone.deprecated")]
    for predicate in _REASONS:
        said = [q.object for q in store.match(node, predicate) if isinstance(q.object, Literal)]
        reasons += [t.value for t in said if t.language in (None, chosen_language())]
    label = reader.thing(node).label
    return render_template(
        "tombstone.html", iri=node.value, reasons=reasons,
        name="" if label == local_name(node.value) else label,
    )  # fmt: skip
