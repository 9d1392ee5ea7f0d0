"""For crawlers and harvesters: site map, robots, and named graphs by their IRI."""

from collections.abc import Iterable
from typing import Final
from urllib.parse import quote

from flask import Blueprint, Response, redirect, render_template, request
from markupsafe import escape
from werkzeug.exceptions import NotFound
from werkzeug.wrappers import Response as BaseResponse

from shiyi.model.names import GRAPH, ID
from shiyi.model.rdf import DefaultGraph, NamedNode
from shiyi.ontology.terms import RDF, SHIYI, SKOS
from shiyi.server.links import href
from shiyi.server.negotiation import HTML, RDF_TYPES, preferred
from shiyi.server.site import Site

_MOST: Final = 40_000  # addresses in one file; the protocol takes 50,000
_KINDS: Final = {"concepts": SKOS.Concept, "sources": SHIYI.Source, "claims": SHIYI.Claim}
_NAMESPACE: Final = "http://www.sitemaps.org/schemas/sitemap/0.9"
_PLAIN: Final = ("/", "/browse", "/dishes", "/compare", "/statistics", "/releases/", "/vocab")
_HIDDEN: Final = ("/ask", "/sparql", "/api/", "/rdf-graph-store", "/curate", "/data/")


def crawling(site: Site) -> Blueprint:
    """Serve ``/robots.txt``, ``/sitemap.xml`` with its parts, and ``/graph/…``."""
    routes = Blueprint("crawling", __name__)

    @routes.get("/robots.txt")
    def robots() -> Response:
        lines = ["User-agent: *", *(f"Disallow: {path}" for path in _HIDDEN)]
        lines.append(f"Sitemap: {request.url_root}sitemap.xml\n")
        return Response("\n".join(lines), content_type="text/plain; charset=utf-8")

    @routes.get("/sitemap.xml")
    def sitemap() -> Response:
        parts = ["pages.0"]
        for kind in _KINDS:
            count = site.counts.get(kind, 0)
            parts += [f"{kind}.{number}" for number in range(-(-count // _MOST))]
        places = (f"{request.url_root}sitemap-{part}.xml" for part in parts)
        return _xml("sitemapindex", "sitemap", places)

    @routes.get("/sitemap-<kind>.<int:number>.xml")
    def part(kind: str, number: int) -> Response:
        if kind == "pages":
            return _xml("urlset", "url", (request.url_root.rstrip("/") + path for path in _PLAIN))
        if kind not in _KINDS:
            raise NotFound("the site map has no such part; /sitemap.xml lists all")
        found = site.store.match(None, RDF.type, _KINDS[kind], DefaultGraph())
        names = sorted(
            quad.subject.value
            for quad in found
            if isinstance(quad.subject, NamedNode) and quad.subject.value.startswith(ID)
        )
        chosen = names[number * _MOST : (number + 1) * _MOST]
        root = request.url_root.rstrip("/")
        return _xml("urlset", "url", (root + href(name) for name in chosen))

    @routes.get("/graph/<path:name>")
    def graph(name: str) -> BaseResponse:
        return _graph(site, name)

    return routes


def _graph(site: Site, name: str) -> BaseResponse:
    try:
        node = NamedNode(GRAPH + name)
    except ValueError as fault:
        raise NotFound("no graph has such a name") from fault
    if next(iter(site.store.match(None, None, None, node)), None) is None:
        raise NotFound(f"there is no graph {node.value}")
    address = f"/rdf-graph-store?graph={quote(node.value, safe='')}"
    if preferred([HTML, *RDF_TYPES]) == HTML:
        response: BaseResponse = Response(
            render_template("graph.html", iri=node.value, address=address)
        )
    else:
        response = redirect(address, code=303)
    response.headers["Vary"] = "Accept"
    return response


def _xml(outer: str, inner: str, places: Iterable[str]) -> Response:
    rows = "".join(f"<{inner}><loc>{escape(place)}</loc></{inner}>\n" for place in places)
    body = f'<?xml version="1.0" encoding="UTF-8"?>\n<{outer} xmlns="{_NAMESPACE}">\n{rows}</{outer}>\n'
    return Response(body, content_type="application/xml; charset=utf-8")
