"""SPARQL 1.1 Protocol and Graph Store Protocol, the query page and its named queries."""

import re
import time
from dataclasses import dataclass, replace
from functools import cache
from typing import Final
from urllib.parse import quote, urljoin, urlsplit
from uuid import uuid4

from flask import Blueprint, Response, render_template, request
from werkzeug.datastructures import MultiDict
from werkzeug.exceptions import BadRequest, MethodNotAllowed, NotFound, UnsupportedMediaType
from werkzeug.wrappers import Response as BaseResponse

from shiyi.artefacts import artefact
from shiyi.errors import FormatError, QueryError, ShiyiError, TooLargeError, UsageError
from shiyi.metrics import SPARQL
from shiyi.model.rdf import NamedNode
from shiyi.server.http import messages
from shiyi.server.http.access import Authenticator, mark_private
from shiyi.server.http.headers import has_prerequisite
from shiyi.server.http.page_cache import PageCache
from shiyi.server.http.problems import problem_of
from shiyi.server.http.rate_limit import client_network
from shiyi.server.site.query_log import log_query
from shiyi.server.site.site import Site
from shiyi.server.sparql.service_description import service_description
from shiyi.server.views.remedies import SLOW, faster, remedy
from shiyi.server.views.results import ResultsTable, chart, graph
from shiyi.sparql.queries.requests import FreeQuery
from shiyi.sparql.queries.results import GRAPH_TYPES, ResultFormat
from shiyi.sparql.updates.update import Part

_HEAD: Final = re.compile(r"\A#\s*(?:question\s*[:：]?\s*)?(.+)", re.IGNORECASE)
# group -> terms of the vocabulary that put a query there; the first that fits
_GROUPS: Final = {
    "safety": ("contraindicatedIn", "cautionIn", "interactsWith", "redFlag", "incompatible",
               "fears", "hasAdverse", "caution", "emergency"),
    "food": ("hasNature", "hasFlavour", "hasIngredient", "suitableFood", "regulatoryStatus",
             "hasEffic", "effectiveFor", "importance", "latinName"),
    "provenance": ("evidence", "sourceTier", "DCTERMS.source", "licen", "prov:", "generation"),
    "claims": ("rdf:reifies", "shiyi:confidence", "Claim"),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Example:
    """One query with the question it answers."""

    name: str
    group: str
    question_en: str
    question_zh: str
    text: str


@cache
def examples() -> tuple[Example, ...]:
    """Read every example, sorted by group and name.

    The first line of a query is ``# question in English? / 中文问题？``; a second comment line
    ``# group: …`` may group it; else the terms it uses do.
    """
    home = artefact("sparql")
    files = sorted(home.rglob("*.rq")) if home.is_dir() else []
    found_examples = [_read_example(path.read_text(encoding="utf-8"), path.stem) for path in files]
    return tuple(sorted(found_examples, key=lambda example: (example.group, example.name)))


def _read_example(text: str, name: str) -> Example:
    head = _HEAD.match(text)
    question = head[1].strip() if head else name
    english, _, chinese = question.partition(" / ")
    group = re.search(r"^#\s*group:\s*(\S.*)$", text, re.MULTILINE)
    kind = group[1].strip() if group else _group(name, text)
    return Example(name, kind, english, chinese or english, text)


def _group(name: str, text: str) -> str:
    """Return the topic of a query by its terms; queries for faults are a topic of their own."""
    if "-violation" in name:
        return "quality"
    results = (
        group for group, terms in _GROUPS.items() if any(term in name + text for term in terms)
    )
    return next(results, "concepts")


UPDATE: Final = "application/sparql-update"


def find_update() -> tuple[str, MultiDict[str, str]] | None:
    """Return the update of a request and its parameters; None for another request."""
    if request.args.getlist("update"):
        raise BadRequest("an update stands in the body of a POST, never in the address")
    if request.method != "POST":
        return None
    if request.mimetype == UPDATE:
        text, source = messages.utf8_body(), request.args
    elif request.mimetype == messages.FORM and "update" in (form := messages.utf8_form()):
        text, source = form["update"], form
    else:
        return None
    if source.getlist("query") or request.args.getlist("query"):
        raise BadRequest("a request holds a query or an update, not both")
    if len(source.getlist("update")) > 1:
        raise BadRequest("a request holds one update")
    if not text.strip():
        raise QueryError("the update is empty")
    return text, source


def run_update(auth: Authenticator, site: Site) -> Response | None:
    """Run the update of the request, if it has one and its sender may."""
    results = find_update()
    if results is None:
        return None
    text, source = results
    timeout = messages.read_timeout(site, source.get("timeout"))
    updater, author = auth.writer("SPARQL update")
    updater.update(
        text,
        author,
        default_graphs=source.getlist("using-graph-uri"),
        named_graphs=source.getlist("using-named-graph-uri"),
        timeout=timeout,
        base=request.base_url,
    )
    return Response(status=204)


_NOISE: Final = re.compile(
    r"<[^<>\s\"{}|^`\\]*>|\"\"\"[\s\S]*?\"\"\"|'''[\s\S]*?'''|\"(?:[^\"\\\n]|\\.)*\""
    r"|'(?:[^'\\\n]|\\.)*'|#[^\n]*|[?$]\w+|(?<!\w)\w*:[\w.-]*"  # from a word's start: linear
)
_SYNTAX_12: Final = re.compile(r"<<|\{\||~")  # triple terms, annotations, reifiers
_VERB: Final = re.compile(r"\b(SELECT|ASK|CONSTRUCT|DESCRIBE)\b", re.IGNORECASE)
_PAGE_ROWS: Final = 100_000  # of the query page, which shows the first of them
_GRAPH_FORMS: Final = frozenset({"CONSTRUCT", "DESCRIBE"})
_GRAPH_TYPES: Final = {kind: name for name, kind in GRAPH_TYPES.items()}
# SPARQLWrapper and others send one of these beside Accept, by names of their own
_FORMAT_NAMES: Final = ("format", "output", "results")
_GRAPH_ALIASES: Final = {
    "xml": "rdf", "rdf+xml": "rdf", "rdfxml": "rdf", "turtle": "ttl", "n3": "ttl",
    "json": "jsonld", "json-ld": "jsonld", "ntriples": "nt", "nquads": "nq",
}  # fmt: skip
_RESULT_ALIASES: Final = {"sparql-results+json": "json", "sparql-results+xml": "xml"}


@dataclass(frozen=True, slots=True)
class QueryRequest:
    """A query, the parameters it came with, and the requested format, if any."""

    query: FreeQuery
    source: MultiDict[str, str]
    format: str = ""


def query_form(query: str) -> str:
    r"""Return which of the four forms a query has; empty where none is found.

    >>> query_form("PREFIX ask: <http://e.org/select> # construct\n SELECT * {}")
    'SELECT'
    """
    match = _VERB.search(_NOISE.sub(" ", query))
    return match[1].upper() if match else ""


def sparql_protocol(site: Site, cache: PageCache) -> Blueprint:
    """Serve ``/sparql``; every query runs in a sandboxed worker."""
    routes, auth = Blueprint("sparql", __name__), Authenticator(site)
    routes.register_blueprint(graph_store(site, auth))

    @routes.route("/sparql", methods=["GET", "POST"])
    def sparql() -> BaseResponse:
        done = run_update(auth, site)
        if done is not None:
            SPARQL.labels("UPDATE").inc()
            return done
        return _answer_query(site, cache, auth, "")

    @routes.route("/sparql/rdf11", methods=["GET", "POST"])
    def sparql_of_rdf_11() -> BaseResponse:
        """Answer clients that append their parameters to an address that has none."""
        if find_update() is not None:
            raise MethodNotAllowed(description="updates go to /sparql")
        return _answer_query(site, cache, auth, "rdf11")

    return routes


def _answer_query(site: Site, cache: PageCache, auth: Authenticator, profile: str) -> BaseResponse:
    """Answer a query; ``profile`` is the profile of the path."""
    asked = _read(site, profile)
    if asked is None:
        return _without_query(site, cache)
    form = query_form(asked.query.text)
    offered_types = _offered_types(form, asked.format)
    kind = offered_types[0] if asked.format else messages.prefer([*offered_types, messages.HTML])
    SPARQL.labels(form or "unknown").inc()
    if kind == messages.HTML:
        return _page(site, cache, asked.query)
    asker, whole = auth.reader()
    # who writes triple terms reads them
    usual = "rdf12" if _SYNTAX_12.search(_NOISE.sub(" ", asked.query.text)) else "rdf11"
    written = (
        profile or messages.graph_profile(kind, asked.source, usual) if form in _GRAPH_FORMS else ""
    )
    query = replace(
        asked.query,
        accept=ResultFormat.of_type(kind),
        whole=whole,
        asker=asker,
        lowers_graphs=written == "rdf11",
        live=request.method != "HEAD" and not has_prerequisite(),  # which needs the ETag
    )
    with log_query(site.log, query.text, form) as record:
        body = site.free.stream(query).body
        record(body.size)
    response = messages.send_spool(body, kind, written)
    if whole:
        mark_private(response)
    if asked.format:
        stem = f"shiyi-result.{asked.format}"
        response.headers["Content-Disposition"] = f'attachment; filename="{stem}"'
    return response


def _offered_types(form: str, extension: str) -> list[str]:
    """List the media types for a form of query; only one where ``format=`` names its extension."""
    is_graph = form in _GRAPH_FORMS
    types = _GRAPH_TYPES if is_graph else messages.RESULT_TYPES
    if not extension:
        return list(types)
    if extension in types:  # a media type
        return [extension]
    by_extension = {known: kind for kind, known in types.items()}
    known = (_GRAPH_ALIASES if is_graph else _RESULT_ALIASES).get(extension, extension)
    if known not in by_extension:
        raise FormatError("format", extension, list(by_extension))
    return [by_extension[known]]


def _read(site: Site, profile: str) -> QueryRequest | None:
    """Parse the three forms of query requests; None where there is no query.

    A ``profile`` of the address counts before that of the request.
    """
    readers = {messages.FORM: _posted_form, "application/sparql-query": _posted_query}
    if request.method in {"GET", "HEAD"}:
        _check_single(request.args.getlist("query"))
        query, source = request.args.get("query"), request.args
    elif request.mimetype in readers:
        query, source = readers[request.mimetype]()
    else:
        raise UnsupportedMediaType(f"send {messages.FORM} or application/sparql-query")
    if query is None:
        return None
    limit = site.settings.query.max_query_bytes
    if (size := len(query.encode())) > limit:
        raise TooLargeError("query", size, limit, "bytes")
    if not query.strip():
        raise QueryError("the query is empty; begin with SELECT, ASK, CONSTRUCT or DESCRIBE")
    requested = messages.read_profile_parameter(source)
    return QueryRequest(
        FreeQuery(
            query,
            timeout=messages.read_timeout(site, source.get("timeout")),
            default_graphs=tuple(source.getlist("default-graph-uri")),
            named_graphs=tuple(source.getlist("named-graph-uri")),
            base=request.base_url,
            profile=profile or requested,
        ),
        source,
        next((value for name in _FORMAT_NAMES if (value := source.get(name))), ""),
    )


def _posted_form() -> tuple[str, MultiDict[str, str]]:
    """Return the query and the fields of a form; what it leaves out may stand in the address."""
    form = messages.utf8_form()
    _check_single(form.getlist("query"))
    if request.args.getlist("query"):
        raise BadRequest("a form carries the query in its body, not in the address")
    if "query" not in form:
        raise UsageError("the form has no field query")
    for name in request.args.keys() - form.keys():
        form.setlist(name, request.args.getlist(name))
    return form["query"], form


def _posted_query() -> tuple[str, MultiDict[str, str]]:
    if request.args.getlist("query"):
        raise BadRequest("the query is the body; the address must not hold another")
    return messages.utf8_body(), request.args


def _check_single(queries: list[str]) -> None:
    if len(queries) > 1:
        raise BadRequest(f"a request holds one query, not {len(queries)}")


def _without_query(site: Site, cache: PageCache) -> Response:
    kind = messages.prefer([messages.HTML, *messages.RDF_TYPES])
    if request.accept_mimetypes and kind != messages.HTML:
        response = service_description(site, messages.RDF_TYPES[kind])
    elif messages.HTML in request.accept_mimetypes.values():
        return _page(site, cache, None)
    else:
        response = service_description(site, "ttl")
    response.vary.add("Accept")
    return response


def _page(site: Site, cache: PageCache, asked: FreeQuery | None) -> Response:
    table, fault, status, seconds = None, None, 200, 0.0
    if asked is not None:
        form, started = query_form(asked.text), time.perf_counter()
        accept = ResultFormat.of("ttl" if form in _GRAPH_FORMS else "json")
        asker = client_network(request.remote_addr)
        try:
            with log_query(site.log, asked.text, form) as record:
                query = replace(asked, accept=accept, rows=_PAGE_ROWS, asker=asker)
                result = site.free.stream(query)
                record(result.body.size)
            seconds = time.perf_counter() - started
            table = ResultsTable.of(result)
        except ShiyiError as error:
            fault = problem_of(error)
            status = int(fault["status"])
    page = render_template(
        "sparql.html",
        asked=asked,
        table=table,
        fault=fault,
        examples=examples(),
        seconds=seconds,
        chart=chart(table) if table else None,
        drawing=graph(table, cache.reader()) if table else None,
        remedy=remedy(asked.text, fault) if asked and fault else None,
        faster=faster(asked.text) if asked and seconds > SLOW else "",
    )
    response = Response(page, status, content_type="text/html; charset=utf-8")
    response.vary.add("Accept")
    return response


PATH: Final = "/rdf-graph-store"
_READ: Final = (
    "text/turtle", "application/n-triples", "application/ld+json", "application/rdf+xml",
)  # fmt: skip
_MULTIPART: Final = "multipart/form-data"


def graph_store(site: Site, auth: Authenticator) -> Blueprint:
    """Serve the graphs of the store: by ``?graph=``, ``?default``, or their own address."""
    routes = Blueprint("graph_store", __name__)

    @routes.route(PATH, methods=["GET"])
    @routes.route(f"{PATH}/<path:name>", methods=["GET"])
    def read(name: str = "") -> BaseResponse:
        graph, kind = _target(name), messages.prefer(list(_READ))
        asker, whole = auth.reader()
        # what was put is given back, triple terms too, unless RDF 1.1 is asked for
        profile = messages.graph_profile(kind, request.args, "rdf12")
        body = site.free.dump(graph, kind, profile, whole, asker)
        if body is None:
            raise NotFound(f"there is no graph {graph}")
        response = messages.send_spool(body, kind, profile)
        if whole:
            mark_private(response)
        return response

    @routes.route(PATH, methods=["PUT", "POST", "DELETE"])
    @routes.route(f"{PATH}/<path:name>", methods=["PUT", "POST", "DELETE"])
    def write(name: str = "") -> BaseResponse:
        updater, author = auth.writer(f"Graph Store {request.method}")
        fresh = request.method == "POST" and not name and not request.args
        graph = urljoin(request.base_url, f"{PATH}/{uuid4()}") if fresh else _target(name)
        if request.method == "DELETE":
            if not updater.drop(graph, author).existed:
                raise NotFound(f"there is no graph {graph}")
            return Response(status=204)
        change = (updater.replace if request.method == "PUT" else updater.merge)(
            graph, _parts(), graph or request.base_url, author
        )
        if change.existed:
            return Response(status=204)
        there = graph if fresh or name else f"{PATH}?graph={quote(graph, safe='')}"
        return Response(status=201, headers={"Location": there})

    return routes


def _target(name: str) -> str:
    """Return the IRI of the requested graph; None for the default graph."""
    graphs, default = request.args.getlist("graph"), "default" in request.args
    if name:
        if graphs or default:
            raise BadRequest("the address names the graph; graph= and default must not")
        return _check_iri(request.base_url)
    if default == bool(graphs) or len(graphs) > 1:
        raise BadRequest("say which graph: ?default, or one ?graph=IRI")
    return "" if default else _check_iri(urljoin(request.base_url, graphs[0]))


def _check_iri(iri: str) -> str:
    try:
        if not urlsplit(iri).scheme:
            raise ValueError("it has no scheme")
        return NamedNode(iri).value
    except ValueError as fault:
        raise BadRequest(f"{iri[:80]!r} names no graph: {fault}") from fault


def _parts() -> list[Part]:
    """Read the body: one document, or those of a form."""
    if request.headers.get("Content-Encoding", "identity") != "identity":
        raise UnsupportedMediaType("send the upload as it is, without Content-Encoding")
    if request.mimetype != _MULTIPART:
        charset = request.mimetype_params.get("charset", "utf-8")
        return [Part(_form(request.mimetype, charset), request.get_data())]
    files = list(request.files.values()) + [
        item for name in request.files for item in request.files.getlist(name)[1:]
    ]
    if request.form or not files:
        raise BadRequest("send each document of the form as a file with its media type")
    return [
        Part(_form(file.mimetype, file.mimetype_params.get("charset", "utf-8")), file.read())
        for file in files
    ]


def _form(kind: str, charset: str) -> str:
    if kind not in messages.RDF_TYPES:
        raise UnsupportedMediaType(
            f"{kind or 'nothing'} is not among {', '.join(messages.RDF_TYPES)}"
        )
    if charset.lower() not in {"utf-8", "utf8"}:
        raise UnsupportedMediaType(f"an upload is UTF-8, not {charset[:20]}")
    return messages.RDF_TYPES[kind]
