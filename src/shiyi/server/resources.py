"""One IRI per resource: people are sent to its page, machines to its data."""

import json
from collections.abc import Iterable
from functools import partial
from itertools import islice
from typing import Final
from urllib.parse import quote

from flask import Blueprint, Response, abort, redirect, render_template, request
from werkzeug.exceptions import NotFound, UnavailableForLegalReasons
from werkzeug.wrappers import Response as BaseResponse

from shiyi.errors import FormatError
from shiyi.model.names import ID, VOCAB
from shiyi.model.rdf import DefaultGraph, NamedNode, Quad, local_name, serialize
from shiyi.ontology.terms import DCTERMS, PREFIXES, RDF, RDFS, SHIYI, SKOS
from shiyi.publishing.jsonld import json_ld
from shiyi.reasoning.review_records import reviews_of
from shiyi.server.concept_view import concept_view, is_concept, is_evidence, is_source
from shiyi.server.describe import INCOMING, description, for_format, is_cut
from shiyi.server.kept import Kept
from shiyi.server.links import href
from shiyi.server.negotiation import HTML, RDF_TYPES, preferred
from shiyi.server.quoting import Passages
from shiyi.server.reading import Reader
from shiyi.server.reading_requests import profile_of
from shiyi.server.releases import PREFIX, Release, described, find
from shiyi.server.restricted import is_hidden
from shiyi.server.site import Site
from shiyi.server.tombstones import is_gone, tombstone
from shiyi.server.wording import chosen_language
from shiyi.sparql.case_layer import counted

_TYPES: Final = {extension: kind for kind, extension in RDF_TYPES.items()}
_WRITERS: Final = {"rdf": "rdfxml"}
_SCHEMA_ORG: Final = {
    "claim": "Claim", "evidence": "Quotation", "source": "CreativeWork", "passage": "Quotation",
    "section": "Chapter", "activity": "Action", "scheme": "DefinedTermSet", "dataset": "Dataset",
    "review": "Review",
}  # fmt: skip
_LICENCE: Final = "https://creativecommons.org/licenses/by/4.0/"
_REFERRED: Final = 50  # statements about others shown on a plain page


def resources(site: Site, kept: Kept) -> Blueprint:
    """Serve ``/id/…``, ``/page/…``, ``/data/…`` and ``/vocab`` out of the store."""
    routes = Blueprint("resources", __name__)

    @routes.get("/id/<path:name>")
    def see_other(name: str) -> BaseResponse:
        return _see_other(site, name)

    @routes.get("/data/<path:name>")
    def data(name: str) -> BaseResponse:
        return _data(site, kept, name)

    @routes.get("/page/<path:name>")
    def page(name: str) -> BaseResponse:
        return _person(site, kept, name)

    @routes.get("/vocab")
    def vocab() -> BaseResponse:
        kind = preferred([HTML, *RDF_TYPES])
        if kind != HTML:
            return vocabulary(RDF_TYPES[kind])
        response = kept.response(lambda: _vocabulary_page(site, kept))
        response.vary.add("Accept")
        return response

    @routes.get("/vocab.<extension>")
    def vocabulary(extension: str) -> BaseResponse:
        if extension not in _TYPES:
            raise FormatError("format", extension, list(_TYPES))
        quads = [
            quad for term in _vocabulary_terms(site)
            for quad in site.store.match(term, None, None, DefaultGraph())
        ]  # fmt: skip
        return rdf(quads, extension, NamedNode(VOCAB.rstrip("#")))

    return routes


class Term:
    """The predicates a vocabulary page reads."""

    type, label, definition, comment = RDF.type, RDFS.label, SKOS.definition, RDFS.comment
    domain, range, above, above_class = (
        RDFS.domain, RDFS.range, RDFS.subPropertyOf, RDFS.subClassOf
    )  # fmt: skip


def known(site: Site, name: str) -> NamedNode:
    """Give the resource of that name; 404 for what we say nothing of, 410 for what was taken back.

    What was merged into another resource leads there by 301, what was split to its parts by 300.
    """
    try:
        node = NamedNode(ID + name)
    except ValueError:
        node = None
    if node is None or not name or not name.isprintable():
        raise NotFound("no resource has such a name")
    if is_hidden(site, node):
        raise UnavailableForLegalReasons(
            f"the licence of its source forbids passing {node.value} on"
        )
    first = next(iter(site.store.match(node, None, None, None)), None)
    if first is None:
        first = next(iter(site.store.match(None, None, node, None)), None)
    if first is None:
        raise NotFound(f"nothing is said about {node.value}")
    heirs = sorted({
        quad.object.value for quad in site.store.match(node, DCTERMS.isReplacedBy, None, None)
        if isinstance(quad.object, NamedNode) and quad.object.value.startswith(ID)
    })  # fmt: skip
    if len(heirs) > 1:  # it was split
        abort(_choices(site, name, heirs))
    if heirs:
        abort(redirect(moved_to(name, heirs[0][len(ID) :]), code=301))
    if is_gone(site.store, node):
        abort(tombstone(site, node))
    return node


def released(site: Site, name: str) -> Release | None:
    """Give the release that ``name`` names, if it names one; 404 where that was never made."""
    return find(site, name.removeprefix(PREFIX)) if name.startswith(PREFIX) else None


def _choices(site: Site, name: str, heirs: list[str]) -> BaseResponse:
    """Answer 300 with what took the place of a thing that was split."""
    reader = Reader(site.store, chosen_language())
    things = [(reader.premise(NamedNode(e)), moved_to(name, e[len(ID) :])) for e in heirs]
    response = Response(render_template("choices.html", things=things), 300)
    response.headers["Link"] = ", ".join(f'<{path}>; rel="alternate"' for _, path in things)
    return response


def moved_to(name: str, other: str) -> str:
    """Give the address of the same form of another resource."""
    kind, _, ending = request.path.lstrip("/").partition("/")
    return f"/{kind}/{quote(other, safe='/:~')}{ending.removeprefix(name)}"


def rdf(quads: Iterable[Quad], extension: str, node: NamedNode) -> BaseResponse:
    """Answer with RDF, validators and links to the other forms."""
    return _rdf(_written(quads, extension).encode(), extension, node)


def _see_other(site: Site, name: str) -> BaseResponse:
    kind = preferred([HTML, *RDF_TYPES])
    if release := released(site, name):
        return _vary(redirect(f"/releases/{release.version}/", code=303))
    node = known(site, name)
    target = href(node.value)
    if kind != HTML:
        target = f"/data/{target.removeprefix('/page/')}.{RDF_TYPES[kind]}"
    response = redirect(target, code=303)
    response.headers["Vary"] = "Accept"
    _linked(response, target, node)
    return response


def _person(site: Site, kept: Kept, name: str) -> BaseResponse:
    if release := released(site, name):
        return redirect(f"/releases/{release.version}/", code=303)
    # what a kept page is about was known when it was made, and the store is as it was
    response = kept.response(lambda: _page(site, kept, known(site, name)))
    node = NamedNode(ID + name)
    _linked(response, href(node.value), node)
    return response.make_conditional(request)


def _data(site: Site, kept: Kept, name: str) -> BaseResponse:
    """Describe a resource in the form its address or the client names."""
    stem, dot, extension = name.rpartition(".")
    named = bool(dot) and extension in _TYPES
    if not named:
        extension, stem = RDF_TYPES[preferred(list(RDF_TYPES))], name
    if release := released(site, stem):
        return described(release, extension)
    node = known(site, stem)
    made = partial(_made, site, node, extension)
    written = kept.page(made) if named else made()  # what is kept, is kept by its address
    response = _rdf(written.encode(), extension, node)
    if is_cut(site.store, node):
        _say_cut(response, node)
    return response


def _made(site: Site, node: NamedNode, extension: str) -> str:
    return _written(description(site.store, node), extension)


def _written(quads: Iterable[Quad], extension: str) -> str:
    fitted = list(dict.fromkeys(for_format(quads, extension, profile_of(request.args))))
    fitted.sort(key=lambda quad: (str(quad.graph_name), str(quad.subject), str(quad.predicate)))
    if extension == "jsonld":
        return json.dumps(json_ld(fitted), ensure_ascii=False, indent=1)
    if extension not in {"nq", "trig"}:
        triples = [quad.triple for quad in fitted]
        return serialize(triples, _WRITERS.get(extension, extension), dict(PREFIXES)).decode()
    return serialize(fitted, extension, dict(PREFIXES)).decode()


def _say_cut(response: BaseResponse, node: NamedNode) -> None:
    """Say that a hub's description holds only a part of what points at it, and where all is."""
    query = f"DESCRIBE {node}"
    response.headers["X-Shiyi-Description"] = f"cut; incoming={INCOMING}"
    response.headers.add("Link", f'</sparql?query={quote(query)}>; rel="related"; title="all"')


def _rdf(body: bytes, extension: str, node: NamedNode) -> BaseResponse:
    kind = _TYPES[extension]
    charset = "; charset=utf-8" if kind.startswith("text/") else ""
    response = Response(body, content_type=kind + charset)
    _linked(response, href(node.value), node)
    response.vary.add("Accept")
    response.add_etag()
    return response.make_conditional(request)


def _vary(response: BaseResponse) -> BaseResponse:
    response.headers["Vary"] = "Accept"
    return response


def _linked(response: BaseResponse, page: str, node: NamedNode) -> None:
    """Point to the page, to each data form, and to the canonical name (signposting.org)."""
    stem = href(node.value).removeprefix("/page/")
    links = [
        f'<{node.value}>; rel="canonical"', f'<{node.value}>; rel="cite-as"',
        f'<{_LICENCE}>; rel="license"', '</.well-known/void>; rel="describedby"; type="text/turtle"',
    ]  # fmt: skip
    if node.value.startswith(ID):
        links += [
            f'</data/{stem}.{extension}>; rel="alternate"; type="{kind}"'
            for kind, extension in RDF_TYPES.items()
        ]
        links.append(f'</page/{stem}>; rel="alternate"; type="{HTML}"')
        if request.path.startswith("/data/"):
            links.append(f'</page/{stem}>; rel="describes"; type="{HTML}"')
        else:
            links.append(f'</data/{stem}.ttl>; rel="describedby"; type="text/turtle"')
            links.append(f'<{_kind_of(node)}>; rel="type"')
    response.headers["Link"] = ", ".join(links)


def _kind_of(node: NamedNode) -> str:
    """Give the schema.org class of what a page is about."""
    name = node.value.removeprefix(ID).partition("/")[0].partition("-")[0]
    return "https://schema.org/" + _SCHEMA_ORG.get(name, "DefinedTerm")


def _vocabulary_terms(site: Site) -> set[NamedNode]:
    found = set()
    for predicate in (RDFS.label, SKOS.definition):
        for quad in site.store.match(None, predicate, None, DefaultGraph()):
            if isinstance(quad.subject, NamedNode) and quad.subject.value.startswith(VOCAB):
                found.add(quad.subject)
    return found


def _vocabulary_page(site: Site, kept: Kept) -> str:
    reader = kept.reader(chosen_language())
    terms = sorted(_vocabulary_terms(site), key=lambda each: local_name(each.value).lower())
    return render_template("vocab.html", terms=terms, reader=reader, v=Term)


def _page(site: Site, kept: Kept, node: NamedNode) -> str:
    reader = kept.reader(chosen_language())
    home = reader.home_of_claim(node)
    if home is not None:
        claim = reader.claim(node, home)
        reviews = reviews_of(site.store, claim.iri)
        return render_template(
            "claim.html", claim=claim, home=getattr(home, "value", ""), reviews=reviews,
            in_passage=Passages(reader.store),
        )  # fmt: skip
    if is_concept(reader, node):
        whole = site.base.store if site.base else site.store  # counts may leave, cases may not
        cases = counted(whole, node.value)
        return render_template("concept.html", view=concept_view(reader, node), cases=cases)
    if is_source(reader, node):
        cited = list(site.store.match(None, None, node, DefaultGraph()))
        count = sum(1 for quad in cited if local_name(quad.predicate.value) == "source")
        return render_template("source.html", source=reader.source(node), count=count)
    if is_evidence(reader, node):
        found = site.store.match(None, SHIYI.evidence, node, None)
        claims = [reader.premise(quad.subject) for quad in found]
        view = reader.evidence(node, None)
        return render_template(
            "evidence.html", evidence=view, claims=claims, in_passage=Passages(reader.store)
        )
    quads = [quad for quad in description(site.store, node) if quad.subject == node]
    rows = [(reader.thing(quad.predicate), reader.thing(quad.object)) for quad in quads]
    found = islice(site.store.match(None, None, node), _REFERRED + 1)
    pointing = [(reader.thing(quad.predicate), reader.premise(quad.subject)) for quad in found]
    return render_template(
        "resource.html", iri=node.value, name=reader.thing(node), rows=rows,
        referred=pointing[:_REFERRED], more=len(pointing) > _REFERRED,
    )  # fmt: skip
