"""One page and one document per IRI; the quads that describe it."""

import json
import threading
from collections.abc import Iterable, Iterator
from functools import partial
from itertools import chain, islice
from typing import Final
from urllib.parse import quote

from flask import Blueprint, Response, abort, redirect, render_template, request
from werkzeug.exceptions import NotFound, UnavailableForLegalReasons
from werkzeug.wrappers import Response as BaseResponse

from shiyi.answering.retrieval.casebook import count_cases
from shiyi.errors import FormatError
from shiyi.model.iris import ID, VOCAB, graph
from shiyi.model.rdf import DefaultGraph, Literal, NamedNode, Quad, local_name, serialize, text
from shiyi.ontology.terms import DCTERMS, OWL, PREFIXES, RDF, RDFS, SHIYI, SKOS
from shiyi.publishing.description import INCOMING, adapt_quads, description, is_cut
from shiyi.publishing.dumps import json_ld
from shiyi.publishing.vocabulary import vocabulary_quads
from shiyi.reasoning.confidence.reviews import list_reviews
from shiyi.server.http.messages import (
    HTML,
    PROFILE_IRIS,
    RDF_TYPES,
    graph_profile,
    graph_type,
    prefer,
    rdf_response,
    read_profile_parameter,
)
from shiyi.server.http.page_cache import PageCache
from shiyi.server.i18n import catalogue, choose_language
from shiyi.server.pages.releases import PREFIX, Release, describe_release, find
from shiyi.server.site.site import Site
from shiyi.server.site.visibility import is_hidden
from shiyi.server.views.concept import (
    ConceptView,
    concept_view,
    heading,
    is_concept,
    is_evidence,
    is_source,
)
from shiyi.server.views.links import href
from shiyi.server.views.overview import overview
from shiyi.server.views.reader import EvidenceView, Passages, Reader, Thing
from shiyi.sparql.store.port import QuadStore
from shiyi.verification.corpora import Registry
from shiyi.verification.pointers import open_words

_DESCRIBED: Final = (
    OWL.deprecated, SHIYI.status, SKOS.prefLabel, RDFS.label, RDFS.comment, RDF.type,
    DCTERMS.isReplacedBy, NamedNode(PREFIXES["skos"] + "changeNote"),
    NamedNode(PREFIXES["prov"] + "invalidatedAtTime"),
)  # fmt: skip
_REASONS: Final = (RDFS.comment, NamedNode(PREFIXES["skos"] + "changeNote"))
_TRUE: Final = frozenset({"true", "1"})
_REVIEWS: Final = graph("reviews")
_WRITERS: Final = {"rdf": "rdfxml"}


def is_gone(store: QuadStore, node: NamedNode) -> bool:
    """Return whether a resource was retracted, or is deprecated and stands for nothing else."""
    if any(store.match(node, SHIYI.status, SHIYI.retracted)):
        return True
    return any(text(quad.object) in _TRUE for quad in store.match(node, OWL.deprecated))


def tombstone(site: Site, node: NamedNode) -> Response:
    """Answer 410 in the requested format; a tombstone says only that there was something."""
    path = request.path
    extension = path.rpartition(".")[2] if path.startswith("/data/") else ""
    if extension not in RDF_TYPES.values():
        offered = list(RDF_TYPES) if path.startswith("/data/") else [HTML, *RDF_TYPES]
        kind = HTML if path.startswith("/page/") else prefer(offered)
        extension = RDF_TYPES.get(kind, "")
    if not extension:
        response = Response(_page(site, node), 410)
    else:
        triples = dict.fromkeys(quad.triple for quad in _description(site.store, node))
        response = rdf_response(triples, extension)
        response.status_code = 410
    response.headers["Vary"] = "Accept"
    return response


def _description(store: QuadStore, node: NamedNode) -> Iterator[Quad]:
    for quad in store.match(node):
        if quad.predicate in _DESCRIBED and quad.graph_name != _REVIEWS:
            yield quad


def _page(site: Site, node: NamedNode) -> str:
    words, store = catalogue(), site.store
    reader = Reader(store, choose_language())
    retracted = any(store.match(node, SHIYI.status, SHIYI.retracted))
    reasons = [words("tombstone.retracted" if retracted else "tombstone.deprecated")]
    for predicate in _REASONS:
        comments = [q.object for q in store.match(node, predicate) if isinstance(q.object, Literal)]
        reasons += [t.value for t in comments if t.language in (None, choose_language())]
    label = reader.thing(node).label
    return render_template(
        "tombstone.html",
        iri=node.value,
        reasons=reasons,
        name="" if label == local_name(node.value) else label,
    )


_TYPES: Final = {extension: kind for kind, extension in RDF_TYPES.items()}
_SCHEMA_ORG: Final = {
    "claim": "Claim", "evidence": "Quotation", "source": "CreativeWork", "passage": "Quotation",
    "section": "Chapter", "activity": "Action", "scheme": "DefinedTermSet", "dataset": "Dataset",
    "review": "Review",
}  # fmt: skip
_LICENCE: Final = "https://creativecommons.org/licenses/by/4.0/"
_REFERRED: Final = 50  # statements about others shown on a page
_FEW: Final = 5  # claims of a page that also lists related concepts


def resources(site: Site, cache: PageCache) -> Blueprint:
    """Serve ``/id/…``, ``/page/…``, ``/data/…`` and ``/vocab`` out of the store."""
    routes = Blueprint("resources", __name__)

    @routes.get("/id/<path:name>")
    def see_other(name: str) -> BaseResponse:
        return _see_other(site, name)

    @routes.get("/data/<path:name>")
    def data(name: str) -> BaseResponse:
        return _data(site, cache, name)

    @routes.get("/page/<path:name>")
    def page(name: str) -> BaseResponse:
        return _person(site, cache, name)

    @routes.get("/vocab")
    def vocab() -> BaseResponse:
        kind = prefer([HTML, *RDF_TYPES])
        if kind != HTML:
            return vocabulary(RDF_TYPES[kind])
        response = cache.response(lambda: _vocabulary_page(site, cache))
        response.vary.add("Accept")
        return response

    @routes.get("/vocab/<version>")
    def vocab_version(version: str) -> BaseResponse:
        ontology, is_now = NamedNode(VOCAB.rstrip("#")), NamedNode(f"{PREFIXES['owl']}versionIRI")
        quads = site.store.match(ontology, is_now, None, DefaultGraph())
        if f"{ontology.value}/{version}" not in {text(quad.object) for quad in quads}:
            raise NotFound("no such version of the vocabulary; /releases/ has earlier ones")
        return vocab()

    @routes.get("/vocab.<extension>")
    def vocabulary(extension: str) -> BaseResponse:
        if extension not in _TYPES:
            raise FormatError("format", extension, list(_TYPES))
        return rdf(vocabulary_quads(site.store), extension, NamedNode(VOCAB.rstrip("#")))

    return routes


def find_resource(site: Site, name: str) -> NamedNode:
    """Return the resource of that name; raise 404 if it is unknown, 410 if it was retracted.

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
        raise NotFound(f"nothing is recorded about {node.value}")
    heirs = sorted(
        {
            quad.object.value
            for quad in site.store.match(node, DCTERMS.isReplacedBy, None, None)
            if isinstance(quad.object, NamedNode) and quad.object.value.startswith(ID)
        }
    )
    if len(heirs) > 1:  # it was split
        abort(_choices(site, name, heirs))
    if heirs:
        moved = redirect(redirect_address(name, heirs[0][len(ID) :]), code=301)
        moved.headers["Cache-Control"] = "no-cache"  # a merge may be undone
        abort(moved)
    if is_gone(site.store, node):
        abort(tombstone(site, node))
    return node


def find_release(site: Site, name: str) -> Release | None:
    """Return the release of that name; None for another name, 404 for an unknown release."""
    return find(site, name.removeprefix(PREFIX)) if name.startswith(PREFIX) else None


def _choices(site: Site, name: str, heirs: list[str]) -> BaseResponse:
    """Answer 300 with the successors of a concept that was split."""
    reader = Reader(site.store, choose_language())
    things = [(reader.premise(NamedNode(e)), redirect_address(name, e[len(ID) :])) for e in heirs]
    response = Response(render_template("choices.html", things=things), 300)
    response.headers["Link"] = ", ".join(f'<{path}>; rel="alternate"' for _, path in things)
    return response


def redirect_address(name: str, other: str) -> str:
    """Return the address of the same form of another resource."""
    kind, _, ending = request.path.lstrip("/").partition("/")
    return f"/{kind}/{quote(other, safe='/:~')}{ending.removeprefix(name)}"


def rdf(quads: Iterable[Quad], extension: str, node: NamedNode) -> BaseResponse:
    """Answer with RDF, validators and links to the other forms."""
    profile = _profile(extension)
    return _rdf(_write_quads(quads, extension, profile).encode(), extension, node, profile)


def _profile(extension: str) -> str:
    return graph_profile(_TYPES[extension], request.args)


def _see_other(site: Site, name: str) -> BaseResponse:
    kind = prefer([HTML, *RDF_TYPES])
    if release := find_release(site, name):
        response = redirect(f"/releases/{release.version}/", code=303)
        response.vary.add("Accept")
        return response
    node = find_resource(site, name)
    target = href(node.value)
    if kind != HTML:
        target = f"/data/{target.removeprefix('/page/')}.{RDF_TYPES[kind]}"
        if "profile" in request.args:
            target += f"?profile={read_profile_parameter(request.args)}"
    response = redirect(target, code=303)
    response.headers["Vary"] = "Accept"
    _add_links(response, target, node)
    return response


def _person(site: Site, cache: PageCache, name: str) -> BaseResponse:
    if release := find_release(site, name):
        return redirect(f"/releases/{release.version}/", code=303)
    # a cached page needs no look whether the resource exists: its version is in the key
    if "words" in request.args:  # which corpora are installed is no part of the version
        response = Response(_resource_page(site, cache, find_resource(site, name)))
        response.headers["Cache-Control"] = "no-store"
    else:
        response = cache.response(lambda: _resource_page(site, cache, find_resource(site, name)))
    node = NamedNode(ID + name)
    _add_links(response, href(node.value), node)
    return response


def _data(site: Site, cache: PageCache, name: str) -> BaseResponse:
    """Describe a resource in the form its address or the client names."""
    stem, dot, extension = name.rpartition(".")
    named = bool(dot) and extension in _TYPES
    if not named:
        extension, stem = RDF_TYPES[prefer(list(RDF_TYPES))], name
    if release := find_release(site, stem):
        return describe_release(release, extension)
    node = find_resource(site, stem)
    profile = _profile(extension)

    def render() -> str:
        return _write_quads(description(site.store, node), extension, profile)

    # cached by its address, which says the profile or leaves it at the usual one
    usual = named and profile == (request.args.get("profile") or "rdf11")
    response = _rdf((cache.page(render) if usual else render()).encode(), extension, node, profile)
    if is_cut(site.store, node):
        _mark_cut(response, node)
    return response


def _write_quads(quads: Iterable[Quad], extension: str, profile: str) -> str:
    fitted = list(dict.fromkeys(adapt_quads(quads, extension, profile)))
    fitted.sort(key=lambda quad: (str(quad.graph_name), str(quad.subject), str(quad.predicate)))
    if extension == "jsonld":
        return json.dumps(json_ld(fitted), ensure_ascii=False, indent=1)
    if extension not in {"nq", "trig"}:
        triples = [quad.triple for quad in fitted]
        return serialize(triples, _WRITERS.get(extension, extension), dict(PREFIXES)).decode()
    return serialize(fitted, extension, dict(PREFIXES)).decode()


def _mark_cut(response: BaseResponse, node: NamedNode) -> None:
    """Add headers that say that a hub's description is partial, and link to all of it."""
    query = f"DESCRIBE {node}"
    response.headers["X-Shiyi-Description"] = f"cut; incoming={INCOMING}"
    response.headers.add("Link", f'</sparql?query={quote(query)}>; rel="related"; title="all"')


def _rdf(body: bytes, extension: str, node: NamedNode, profile: str) -> BaseResponse:
    response = Response(body, content_type=graph_type(_TYPES[extension], profile))
    _add_links(response, href(node.value), node)
    response.headers.add("Link", f'<{PROFILE_IRIS[profile]}>; rel="profile"')
    response.vary.update(("Accept", "Accept-Profile"))
    response.add_etag()
    return response


def _add_links(response: BaseResponse, page: str, node: NamedNode) -> None:
    """Point to the page, to each data form, and to the canonical name (signposting.org)."""
    stem = href(node.value).removeprefix("/page/")
    links = [
        f'<{node.value}>; rel="canonical"',
        f'<{node.value}>; rel="cite-as"',
        f'<{_LICENCE}>; rel="license"',
        '</.well-known/void>; rel="describedby"; type="text/turtle"',
    ]
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
    """Return the schema.org class of what a page is about."""
    name = node.value.removeprefix(ID).partition("/")[0].partition("-")[0]
    return "https://schema.org/" + _SCHEMA_ORG.get(name, "DefinedTerm")


def _vocabulary_page(site: Site, cache: PageCache) -> str:
    reader = cache.reader()
    ontology = NamedNode(VOCAB.rstrip("#"))
    quads = site.store.match(None, RDFS.isDefinedBy, ontology, DefaultGraph())
    named = (quad.subject for quad in quads if isinstance(quad.subject, NamedNode))
    terms = sorted(named, key=lambda node: local_name(node.value).lower())
    reader.describe(terms)
    read = {"definition": SKOS.definition, "above": RDFS.subPropertyOf}
    read |= {"comment": RDFS.comment, "above_class": RDFS.subClassOf}
    read |= {"domain": RDFS.domain, "range": RDFS.range}
    return render_template("vocab.html", terms=terms, reader=reader, v=read)


def _related_concepts(site: Site, reader: Reader, concept: ConceptView) -> list[Thing]:
    """Return the concepts of the same name, and those that a definition names."""
    names = [Literal(concept.name.label, language=each) for each in ("zh", "en")]
    found = (
        site.store.match(None, predicate, name, DefaultGraph())
        for predicate in (SKOS.prefLabel, SKOS.altLabel)
        for name in names
    )
    results = [text(quad.subject) for quad in islice(chain.from_iterable(found), _FEW)]
    results += [mention.iri or "" for mention in site.link(concept.definition, guess=False)]
    shown = {concept.iri, "", *(statement.other.iri for statement in concept.statements)}
    return [reader.thing(NamedNode(iri)) for iri in dict.fromkeys(results) if iri not in shown]


def _resource_page(site: Site, cache: PageCache, node: NamedNode) -> str:
    reader = cache.reader()
    home = reader.home_of_claim(node)
    if home is not None:
        claim = reader.claim(node, home)
        reviews = list_reviews(site.store, claim.iri)
        return render_template(
            "claim.html",
            claim=claim,
            home=getattr(home, "value", ""),
            reviews=reviews,
            in_passage=Passages(reader.store),
        )
    if is_concept(reader, node):
        whole = site.base.store if site.base else site.store  # counts may leave, cases may not
        cases = count_cases(whole, node.value)
        concept = concept_view(reader, node)
        seen = overview(reader, concept.statements)
        return render_template(
            "concept.html",
            view=concept,
            seen=seen,
            cases=cases,
            heading=partial(heading, reader),
            related=_related_concepts(site, reader, concept) if concept.claims <= _FEW else [],
        )
    if is_source(reader, node):
        cited = list(site.store.match(None, None, node, DefaultGraph()))
        pieces = [quad.subject for quad in cited if quad.predicate == DCTERMS.source]
        citing = (
            q
            for term in pieces
            for q in site.store.match(None, SHIYI.evidence, term, DefaultGraph())
        )
        claims = [reader.premise(quad.subject) for quad in islice(citing, _REFERRED)]
        return render_template(
            "source.html", source=reader.source(node), count=len(pieces), claims=claims
        )
    if is_evidence(reader, node):
        found = site.store.match(None, SHIYI.evidence, node, None)
        claims = [reader.premise(quad.subject) for quad in found]
        view = reader.evidence(node, None)
        return render_template(
            "evidence.html",
            evidence=view,
            claims=claims,
            in_passage=Passages(reader.store),
            opened=_open_pointer(site, view) if "words" in request.args else None,
        )
    quads = [quad for quad in description(site.store, node) if quad.subject == node]
    rows = [(reader.thing(quad.predicate), reader.thing(quad.object)) for quad in quads]
    found = islice(site.store.match(None, None, node), _REFERRED + 1)
    pointing = [(reader.thing(quad.predicate), reader.premise(quad.subject)) for quad in found]
    return render_template(
        "resource.html",
        iri=node.value,
        name=reader.thing(node),
        rows=rows,
        referred=pointing[:_REFERRED],
        more=len(pointing) > _REFERRED,
    )


_ONE_AT_A_TIME: Final = threading.Lock()


def _open_pointer(site: Site, view: EvidenceView) -> tuple[str, str, str] | None:
    """Return the words of an old book that evidence points to, where its corpus is installed."""
    if site.base is None or view.source.tier != "classic":
        return None
    with _ONE_AT_A_TIME:  # a collection is read from its beginning, which takes seconds
        return open_words(Registry(site.base.path), view.locator)
