"""Home, search, faceted browsing, and the vocabulary reference."""

import csv
from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import cache
from io import StringIO
from typing import Final
from urllib.parse import quote

from flask import Blueprint, Response, redirect, render_template, request
from markupsafe import escape
from werkzeug.exceptions import NotFound
from werkzeug.wrappers import Response as BaseResponse

from shiyi.errors import FormatError
from shiyi.model.iris import GRAPH, ID, VOCAB, resource
from shiyi.model.rdf import DefaultGraph, NamedNode, Term, text
from shiyi.ontology.terms import RDF, SHIYI, SKOS
from shiyi.publishing.vocabulary_page import reference_html
from shiyi.reasoning.classification import load_defined_members
from shiyi.server.http.headers import address as asset_address
from shiyi.server.http.headers import public_root
from shiyi.server.http.messages import HTML, RDF_TYPES, prefer
from shiyi.server.http.page_cache import PageCache, has_bare_address
from shiyi.server.i18n import catalogue, choose_language
from shiyi.server.pages.ask import answer_page
from shiyi.server.site.counts import CLASSES
from shiyi.server.site.site import Site
from shiyi.server.views.links import href
from shiyi.server.views.reader import ACCEPTED, Reader, Thing

_MOST: Final = 40_000  # addresses in one file; the protocol takes 50,000
_KINDS: Final = {"concepts": SKOS.Concept, "sources": SHIYI.Source, "claims": SHIYI.Claim}
_NAMESPACE: Final = "http://www.sitemaps.org/schemas/sitemap/0.9"
_PLAIN: Final = ("/", "/browse", "/dishes", "/compare", "/statistics", "/releases/", "/vocab")
_HIDDEN: Final = ("/ask", "/sparql", "/api/", "/rdf-graph-store", "/curate", "/data/")


def crawler_routes(site: Site) -> Blueprint:
    """Serve ``/robots.txt``, ``/sitemap.xml`` with its parts, and ``/graph/…``."""
    routes = Blueprint("crawling", __name__)

    @routes.get("/robots.txt")
    def robots() -> Response:
        lines = ["User-agent: *", *(f"Disallow: {path}" for path in _HIDDEN)]
        lines.append(f"Sitemap: {public_root()}sitemap.xml\n")
        return Response("\n".join(lines), content_type="text/plain; charset=utf-8")

    @routes.get("/sitemap.xml")
    def sitemap() -> Response:
        parts = ["pages.0"]
        for kind in _KINDS:
            count = site.counts.get(kind, 0)
            parts += [f"{kind}.{number}" for number in range(-(-count // _MOST))]
        places = (f"{public_root()}sitemap-{part}.xml" for part in parts)
        return _xml("sitemapindex", "sitemap", places)

    @routes.get("/sitemap-<kind>.<int:number>.xml")
    def part(kind: str, number: int) -> Response:
        if kind == "pages":
            return _xml("urlset", "url", (public_root().rstrip("/") + path for path in _PLAIN))
        if kind not in _KINDS:
            raise NotFound("the site map has no such part; /sitemap.xml lists all")
        quads = site.store.match(None, RDF.type, _KINDS[kind], DefaultGraph())
        names = sorted(
            quad.subject.value
            for quad in quads
            if isinstance(quad.subject, NamedNode) and quad.subject.value.startswith(ID)
        )
        chosen = names[number * _MOST : (number + 1) * _MOST]
        root = public_root().rstrip("/")
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
    if prefer([HTML, *RDF_TYPES]) == HTML:
        response: BaseResponse = Response(
            render_template("graph.html", iri=node.value, address=address)
        )
    else:
        response = redirect(address, code=303)
    response.headers["Vary"] = "Accept"
    return response


def _xml(outer: str, inner: str, places: Iterable[str]) -> Response:
    rows = "".join(f"<{inner}><loc>{escape(place)}</loc></{inner}>\n" for place in places)
    head = '<?xml version="1.0" encoding="UTF-8"?>'
    body = f'{head}\n<{outer} xmlns="{_NAMESPACE}">\n{rows}</{outer}>\n'
    return Response(body, content_type="application/xml; charset=utf-8")


@cache
def _reference(language: str) -> str:
    return reference_html(language, asset_address("css/reference.css"))


def reference() -> Blueprint:
    """Serve the reference in the reader's language."""
    routes = Blueprint("reference", __name__)

    @routes.get("/vocab/reference")
    def page() -> Response:
        return Response(_reference(choose_language()), content_type="text/html; charset=utf-8")

    return routes


# facet -> the relation, the class of its values, and whether the member is the subject
_FACETS: dict[str, tuple[NamedNode, NamedNode, bool]] = {
    "nature": (SHIYI.hasNature, SHIYI.Nature, True),
    "flavour": (SHIYI.hasFlavour, SHIYI.Flavour, True),
    "meridian": (SHIYI.hasMeridianTropism, SHIYI.Meridian, True),
    "constitution": (SHIYI.suitableFood, SHIYI.Constitution, False),
    "season": (SHIYI.suitableSeason, SHIYI.Season, True),
    "batch": (SHIYI.regulatoryStatus, SHIYI.RegulatoryStatus, True),
}
# a query, since going through every claim of a large base here would take seconds; a claim of many
# pieces of evidence is looked up once
_BACKED: Final = f"""SELECT DISTINCT ?thing ?tier WHERE {{
  {{ SELECT DISTINCT ?claim ?tier {{
    ?evidence {SHIYI.sourceTier} ?tier . ?claim {SHIYI.evidence} ?evidence }} }}
  ?claim {RDF.reifies} <<( ?thing ?relation ?value )>>
}}"""
_TIER, _TIERS, _DEFINED = "tier", resource("scheme-tier"), "defined"
FACETED = frozenset({"MFHSubstance", "Food", "Herb", "Dish", "Formula"})

Members = Mapping[Term, AbstractSet[Term]]  # by value, the things that have it


@dataclass(frozen=True, slots=True)
class Choice:
    """A value of a facet, and how many members have it."""

    key: str
    thing: Thing
    left: int


@dataclass(frozen=True, slots=True)
class Facet:
    """A facet: its name, its values, and the chosen one."""

    name: str
    choices: tuple[Choice, ...]
    chosen: str = ""


@dataclass(frozen=True, slots=True)
class FacetedClass:
    """A class with its facets, and the members that have every chosen value."""

    facets: tuple[Facet, ...]
    left: frozenset[Term]

    @property
    def is_narrowed(self) -> bool:
        """Return whether anything was chosen."""
        return any(facet.chosen for facet in self.facets)


def holders(reader: Reader) -> Mapping[str, Members]:
    """Return the members by facet and value: one pass a relation, one query for tiers.

    Members of defined classes are what was inferred of them (``graph:entailed``).
    """
    terms: dict[str, Members] = {}
    for name, (relation, kind, forward) in _FACETS.items():
        found_terms: dict[Term, set[Term]] = {
            quad.subject: set() for quad in reader.store.match(None, RDF.type, kind, ACCEPTED)
        }
        for quad in reader.store.match(None, relation, None, ACCEPTED):
            value, thing = (quad.object, quad.subject) if forward else (quad.subject, quad.object)
            if value in found_terms:
                found_terms[value].add(thing)
        terms[name] = found_terms
    tiers: dict[Term, set[Term]] = {
        quad.subject: set() for quad in reader.store.match(None, SKOS.inScheme, _TIERS, ACCEPTED)
    }
    for row in reader.store.select(_BACKED):
        if row["tier"] in tiers:
            tiers[row["tier"]].add(row["thing"])
    return {**terms, _TIER: tiers, _DEFINED: load_defined_members(reader.store)}


def narrow_class(
    reader: Reader, name: str, query: Mapping[str, str], by_facet: Mapping[str, Members]
) -> FacetedClass:
    """Narrow a class by the facets of a query string; raise FormatError for an unknown value."""
    members = frozenset(
        quad.subject
        for quad in reader.store.match(None, RDF.type, NamedNode(VOCAB + name), ACCEPTED)
    )
    if name not in FACETED:
        return FacetedClass((), members)
    terms = {facet: _chosen_value(facet, values, query) for facet, values in by_facet.items()}
    picked = {facet: by_facet[facet][value] for facet, value in terms.items() if value is not None}
    made = []
    for facet, values in by_facet.items():
        others = members.intersection(
            *(having for which, having in picked.items() if which != facet)
        )
        choices = tuple(
            Choice(_key(value), reader.thing(value), len(others & values[value]))
            for value in sorted(values, key=_key)
        )
        made.append(Facet(facet, choices, query.get(facet, "")))
    return FacetedClass(tuple(made), members.intersection(*picked.values()))


def things(reader: Reader, nodes: AbstractSet[Term]) -> list[Thing]:
    """Return nodes in the order of their labels."""
    return sorted((reader.thing(node) for node in nodes), key=lambda thing: thing.label)


def _chosen_value(facet: str, values: Members, query: Mapping[str, str]) -> Term | None:
    key = query.get(facet, "")
    if not key:
        return None
    term = next((value for value in values if _key(value) == key), None)
    if term is None:
        raise FormatError(facet, key, sorted(map(_key, values)))
    return term


def _key(value: Term) -> str:
    return value.value.rpartition("/")[2] if isinstance(value, NamedNode) else ""


_FACET_PAGES: Final = "facets"
_EXAMPLES: Final = (1, 2, 3, 4, 5)


def pages(site: Site, cache: PageCache) -> Blueprint:
    """Serve ``/``, ``/ask`` and ``/browse``."""
    routes = Blueprint("pages", __name__)

    def start(asking: bool = False) -> str | Response:
        def render() -> str:
            return render_template("home.html", examples=examples(), asking=asking)

        return cache.response(render) if has_bare_address() else render()

    @routes.get("/")
    def home() -> str | Response:
        return start()

    @routes.route("/ask", methods=["GET", "POST"])  # a profile is posted, never addressed
    def ask() -> str | Response:
        if "q" not in request.values:
            return start(asking=True)
        return answer_page(site, cache)

    @routes.get("/browse")
    def browse() -> str | Response:
        name, counts = request.args.get("class", ""), class_counts(site)
        if name and name not in counts:
            raise FormatError("class", name, list(counts))
        if name and request.args.get("format") == "csv":
            return _list_members(cache, name)

        def render() -> str:
            reader = cache.reader()
            reader.describe(NamedNode(VOCAB + kind) for kind in counts)
            chosen = narrow_by_request(cache, name) if name else None
            left = things(reader, chosen.left) if chosen and chosen.is_narrowed else None
            tree, total = class_tree(reader, name) if name else ([], 0)
            return render_template(
                "browse.html",
                counts=counts,
                chosen=name,
                tree=tree,
                total=total,
                facets=chosen.facets if chosen else (),
                narrowed=left,
            )

        # a page of earlier counts is not stored: the next reader may have the new ones
        return (
            cache.response(render)
            if name not in FACETED or cache.is_current(_FACET_PAGES)
            else render()
        )

    return routes


def narrow_by_request(cache: PageCache, name: str) -> FacetedClass:
    """Narrow a class by the facets that the query string chooses."""
    reader = cache.reader()
    by_facet = cache.figures(_FACET_PAGES, lambda: holders(reader)) if name in FACETED else {}
    return narrow_class(reader, name, request.args, by_facet)


def _list_members(cache: PageCache, name: str) -> Response:
    """Return the members that the facets leave, as CSV."""
    table = StringIO()
    writer = csv.writer(table)
    writer.writerow(("id", "label", "other"))
    for thing in things(cache.reader(), narrow_by_request(cache, name).left):
        writer.writerow((thing.iri, thing.label, thing.other))
    response = Response(table.getvalue(), content_type="text/csv; charset=utf-8")
    response.headers["Content-Disposition"] = f'attachment; filename="{name}.csv"'
    return response


def examples() -> list[str]:
    """List the example questions in the reader's language."""
    words = catalogue()
    return [words(f"example.{n}") for n in _EXAMPLES]


def class_counts(site: Site) -> dict[str, int]:
    """Count the concepts of each class that has any."""
    return {name: site.counts[name] for name in CLASSES if name in site.counts}


Tree = list[tuple[Thing, "Tree"]]


def class_tree(reader: Reader, name: str) -> tuple[Tree, int]:
    """Return the concepts of a class as a forest along ``skos:broader``, and how many there are."""
    kind = NamedNode(VOCAB + name)
    members = {
        quad.subject
        for quad in reader.store.match(None, RDF.type, kind, DefaultGraph())
        if isinstance(quad.subject, NamedNode)
    }
    children: dict[NamedNode, list[NamedNode]] = {}
    roots: list[NamedNode] = []
    for node in members:
        above = [p for p in reader.values(node, SKOS.broader) if p in members and p != node]
        parents = [parent for parent in above if isinstance(parent, NamedNode)]
        for parent in parents:
            children.setdefault(parent, []).append(node)
        if not parents:
            roots.append(node)

    def subtree(node: NamedNode, above: frozenset[NamedNode]) -> tuple[Thing, Tree]:
        below = [n for n in children.get(node, ()) if n not in above]
        return reader.thing(node), subtrees(below, above | {node})

    def subtrees(nodes: list[NamedNode], above: frozenset[NamedNode]) -> Tree:
        return [subtree(node, above) for node in sorted(nodes, key=sort_key)]

    def sort_key(node: NamedNode) -> tuple[str, str]:
        return text(next(reader.values(node, SKOS.notation), None)), reader.thing(node).label

    return subtrees(roots, frozenset()), len(members)
