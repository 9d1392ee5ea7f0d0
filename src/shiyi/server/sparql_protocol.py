"""``/sparql``: the SPARQL 1.1 Protocol for programs, a query page for people."""

import re
import time
from dataclasses import dataclass, replace
from typing import Final

from flask import Blueprint, Response, render_template, request
from werkzeug.datastructures import MultiDict
from werkzeug.exceptions import BadRequest, MethodNotAllowed, UnsupportedMediaType
from werkzeug.wrappers import Response as BaseResponse

from shiyi.errors import FormatError, QueryError, ShiyiError, TooLargeError, UsageError
from shiyi.server.access import Door, keep_apart
from shiyi.server.describe_service import service_description
from shiyi.server.graph_store import graph_store
from shiyi.server.kept import Kept
from shiyi.server.metrics import Metrics
from shiyi.server.negotiation import HTML, RDF_TYPES, RESULT_TYPES, preferred
from shiyi.server.problems import problem_of
from shiyi.server.query_log import noted
from shiyi.server.reading_requests import FORM, profile_of, timeout_of, utf8_body, utf8_form
from shiyi.server.results_table import ResultsTable
from shiyi.server.results_views import chart, graph
from shiyi.server.shares import household
from shiyi.server.site import Site
from shiyi.server.sparql_examples import examples
from shiyi.server.sparql_update import ordered, updated
from shiyi.server.spooled import spooled
from shiyi.server.wording import chosen_language
from shiyi.sparql.free_query import FreeQuery
from shiyi.sparql.results import GRAPH_TYPES, ResultFormat

_NOISE: Final = re.compile(
    r"<[^<>\s\"{}|^`\\]*>|\"\"\"[\s\S]*?\"\"\"|'''[\s\S]*?'''|\"(?:[^\"\\\n]|\\.)*\""
    r"|'(?:[^'\\\n]|\\.)*'|#[^\n]*|[?$]\w+|(?<!\w)\w*:[\w.-]*"  # from a word's start: linear
)
_VERB: Final = re.compile(r"\b(SELECT|ASK|CONSTRUCT|DESCRIBE)\b", re.IGNORECASE)
_PAGE_ROWS: Final = 100_000  # of the query page, which shows the first of them
_GRAPH_FORMS: Final = frozenset({"CONSTRUCT", "DESCRIBE"})
_GRAPH_TYPES: Final = {kind: name for name, kind in GRAPH_TYPES.items()}


@dataclass(frozen=True, slots=True)
class Asked:
    """What a request to the endpoint says: a query, and the extension of a format, if it names one."""

    query: FreeQuery
    format: str = ""


def query_form(query: str) -> str:
    r"""Tell which of the four forms a query has; empty where none is found.

    >>> query_form("PREFIX ask: <http://e.org/select> # construct\n SELECT * {}")
    'SELECT'
    """
    found = _VERB.search(_NOISE.sub(" ", query))
    return found[1].upper() if found else ""


def sparql_protocol(site: Site, metrics: Metrics, kept: Kept) -> Blueprint:
    """Serve ``/sparql``; every query runs in a contained worker."""
    routes, door = Blueprint("sparql", __name__), Door(site)
    routes.register_blueprint(graph_store(site, door))

    @routes.route("/sparql", methods=["GET", "POST"])
    def sparql() -> BaseResponse:
        done = updated(door, site)
        if done is not None:
            metrics.event("sparql", "UPDATE")
            return done
        return _queried(site, metrics, kept, door, "")

    @routes.route("/sparql/rdf11", methods=["GET", "POST"])
    def sparql_of_rdf_11() -> BaseResponse:
        """Answer clients that append their parameters to an address that has none."""
        if ordered(site) is not None:
            raise MethodNotAllowed(description="updates go to /sparql")
        return _queried(site, metrics, kept, door, "rdf11")

    return routes


def _queried(site: Site, metrics: Metrics, kept: Kept, door: Door, profile: str) -> BaseResponse:
    """Answer a query; ``profile`` is that of the address."""
    asked = _read(site, profile)
    if asked is None:
        return _without_query(site, kept)
    form = query_form(asked.query.text)
    offered = _offered(form, asked.format)
    kind = offered[0] if asked.format else preferred([*offered, HTML])
    metrics.event("sparql", form or "unknown")
    if kind == HTML:
        return _page(site, kept, asked.query)
    asker, whole = door.reader()
    query = replace(asked.query, accept=ResultFormat.of_type(kind), whole=whole, asker=asker)
    with noted(site.log, query.text, form) as told:
        body = site.free.stream(query).body
        told(body.size)
    response = spooled(body, kind)
    if whole:
        keep_apart(response)
    if asked.format:
        stem = f"shiyi-result.{asked.format}"
        response.headers["Content-Disposition"] = f'attachment; filename="{stem}"'
    return response


def _offered(form: str, extension: str) -> list[str]:
    """List the media types for a form of query; only one where ``format=`` names its extension."""
    types = _GRAPH_TYPES if form in _GRAPH_FORMS else RESULT_TYPES
    if not extension:
        return list(types)
    by_extension = {known: kind for kind, known in types.items()}
    if extension not in by_extension:
        raise FormatError("format", extension, list(by_extension))
    return [by_extension[extension]]


def _read(site: Site, profile: str) -> Asked | None:
    """Read the request by the three forms of the protocol; nothing where it holds no query.

    A ``profile`` of the address counts before that of the request.
    """
    readers = {FORM: _posted_form, "application/sparql-query": _posted_query}
    if request.method in {"GET", "HEAD"}:
        _only(request.args.getlist("query"))
        query, source = request.args.get("query"), request.args
    elif request.mimetype in readers:
        query, source = readers[request.mimetype]()
    else:
        raise UnsupportedMediaType(f"send {FORM} or application/sparql-query")
    if query is None:
        return None
    limit = site.settings.query.max_query_bytes
    if (size := len(query.encode())) > limit:
        raise TooLargeError("query", size, limit, "bytes")
    if not query.strip():
        raise QueryError("the query is empty; begin with SELECT, ASK, CONSTRUCT or DESCRIBE")
    said = profile_of(source)
    return Asked(
        FreeQuery(
            query, timeout=timeout_of(site, source.get("timeout")),
            default_graphs=tuple(source.getlist("default-graph-uri")),
            named_graphs=tuple(source.getlist("named-graph-uri")),
            base=request.base_url, profile=profile or said,
        ),
        source.get("format", ""),
    )  # fmt: skip


def _posted_form() -> tuple[str, MultiDict[str, str]]:
    form = utf8_form()
    _only(form.getlist("query"))
    if request.args.getlist("query"):
        raise BadRequest("a form carries the query in its body, not in the address")
    if "query" not in form:
        raise UsageError("the form has no field query")
    return form["query"], form


def _posted_query() -> tuple[str, MultiDict[str, str]]:
    if request.args.getlist("query"):
        raise BadRequest("the query is the body; the address must not hold another")
    return utf8_body(), request.args


def _only(queries: list[str]) -> None:
    if len(queries) > 1:
        raise BadRequest(f"a request holds one query, not {len(queries)}")


def _without_query(site: Site, kept: Kept) -> Response:
    kind = preferred([HTML, *RDF_TYPES])
    if request.accept_mimetypes and kind != HTML:
        response = service_description(site, RDF_TYPES[kind], kind)
    elif HTML in request.accept_mimetypes.values():
        return _page(site, kept, None)
    else:
        response = service_description(site, "ttl", "text/turtle")
    response.vary.add("Accept")
    return response


def _page(site: Site, kept: Kept, asked: FreeQuery | None) -> Response:
    table, fault, status, seconds = None, None, 200, 0.0
    if asked is not None:
        form, started = query_form(asked.text), time.perf_counter()
        accept = ResultFormat.of("ttl" if form in _GRAPH_FORMS else "json")
        asker = household(request.remote_addr)
        try:
            with noted(site.log, asked.text, form) as told:
                query = replace(asked, accept=accept, rows=_PAGE_ROWS, asker=asker)
                found = site.free.stream(query)
                told(found.body.size)
            seconds = time.perf_counter() - started
            table = ResultsTable.of(found)
        except ShiyiError as error:
            fault = problem_of(error)
            status = int(fault["status"])
    page = render_template(
        "sparql.html", asked=asked, table=table, fault=fault, examples=examples(),
        seconds=seconds, chart=chart(table) if table else None,
        drawing=graph(table, kept.reader(chosen_language())) if table else None,
    )  # fmt: skip
    response = Response(page, status, content_type="text/html; charset=utf-8")
    response.vary.add("Accept")
    return response
