"""``/sparql``: the SPARQL 1.1 Protocol for programs, a query page for people."""

import re
from dataclasses import dataclass, replace
from typing import Final, NoReturn
from urllib.parse import parse_qsl

from flask import Blueprint, Response, render_template, request
from werkzeug.datastructures import MultiDict
from werkzeug.exceptions import BadRequest, Forbidden, UnsupportedMediaType
from werkzeug.wrappers import Response as BaseResponse

from shiyi.errors import FormatError, QueryError, ShiyiError, TooLargeError, UsageError
from shiyi.server.describe_service import service_description
from shiyi.server.metrics import Metrics
from shiyi.server.negotiation import HTML, RDF_TYPES, RESULT_TYPES, preferred
from shiyi.server.problems import problem_of
from shiyi.server.results_table import ResultsTable
from shiyi.server.site import FreeQuery, Site
from shiyi.server.sparql_examples import examples
from shiyi.sparql.results import GRAPH_TYPES

_FORM: Final = "application/x-www-form-urlencoded"
_NOISE: Final = re.compile(
    r"<[^<>\s\"{}|^`\\]*>|\"\"\"[\s\S]*?\"\"\"|'''[\s\S]*?'''|\"(?:[^\"\\\n]|\\.)*\""
    r"|'(?:[^'\\\n]|\\.)*'|#[^\n]*|[?$]\w+|\w*:[\w.-]*"
)
_VERB: Final = re.compile(r"\b(SELECT|ASK|CONSTRUCT|DESCRIBE)\b", re.IGNORECASE)
_GRAPH_FORMS: Final = frozenset({"CONSTRUCT", "DESCRIBE"})
_GRAPH_TYPES: Final = {kind: name for name, kind in GRAPH_TYPES.items()}


@dataclass(frozen=True, slots=True)
class Asked:
    """What a request to the endpoint says."""

    query: str
    default_graphs: tuple[str, ...] = ()
    named_graphs: tuple[str, ...] = ()
    timeout: float | None = None
    format: str = ""


def query_form(query: str) -> str:
    r"""Tell which of the four forms a query has; empty where none is found.

    >>> query_form("PREFIX ask: <http://e.org/select> # construct\n SELECT * {}")
    'SELECT'
    """
    found = _VERB.search(_NOISE.sub(" ", query))
    return found[1].upper() if found else ""


def sparql_protocol(site: Site, metrics: Metrics) -> Blueprint:
    """Serve ``/sparql``; every query runs in a contained worker."""
    routes = Blueprint("sparql", __name__)

    @routes.route("/sparql", methods=["GET", "POST"])
    def sparql() -> BaseResponse:
        asked = _read(site)
        if asked is None:
            return _without_query(site)
        offered = _offered(asked)
        kind = offered[0] if asked.format else preferred([*offered, HTML])
        metrics.event("sparql", query_form(asked.query) or "unknown")
        if kind == HTML:
            return _page(site, asked)
        body = _answered(site, asked, kind)
        charset = "; charset=utf-8" if kind.startswith("text/") else ""
        response = Response(body, content_type=kind + charset)
        response.vary.add("Accept")
        if asked.format:
            stem = f"shiyi-result.{asked.format}"
            response.headers["Content-Disposition"] = f'attachment; filename="{stem}"'
        response.add_etag()
        return response.make_conditional(request) if request.method == "GET" else response

    return routes


def _answered(site: Site, asked: Asked, kind: str) -> bytes:
    return site.free.answer(
        FreeQuery(asked.query, kind, asked.timeout, asked.default_graphs, asked.named_graphs)
    )


def _offered(asked: Asked) -> list[str]:
    """List the media types for this form of query; only one where ``format=`` names it."""
    graph = query_form(asked.query) in _GRAPH_FORMS
    types = _GRAPH_TYPES if graph else RESULT_TYPES
    if not asked.format:
        return list(types)
    by_extension = {extension: kind for kind, extension in types.items()}
    if asked.format not in by_extension:
        raise FormatError("format", asked.format, list(by_extension))
    return [by_extension[asked.format]]


def _read(site: Site) -> Asked | None:
    """Read the request by the three forms of the protocol; nothing where it holds no query."""
    readers = {
        _FORM: _posted_form, "application/sparql-query": _posted_query,
        "application/sparql-update": _posted_update,
    }  # fmt: skip
    if request.method == "GET":
        _only(request.args.getlist("query"), request.args.getlist("update"))
        query, source = request.args.get("query"), request.args
    elif request.mimetype in readers:
        query, source = readers[request.mimetype]()
    else:
        raise UnsupportedMediaType(f"send {_FORM} or application/sparql-query")
    if query is None:
        return None
    limit = site.settings.query.max_query_bytes
    if (size := len(query.encode())) > limit:
        raise TooLargeError("query", size, limit, "bytes")
    if not query.strip():
        raise QueryError("the query is empty; begin with SELECT, ASK, CONSTRUCT or DESCRIBE")
    return Asked(
        query, tuple(source.getlist("default-graph-uri")), tuple(source.getlist("named-graph-uri")),
        _timeout(site, source.get("timeout")), source.get("format", ""),
    )  # fmt: skip


def _posted_form() -> tuple[str, MultiDict[str, str]]:
    form = _utf8_form()
    _only(form.getlist("query"), form.getlist("update") + request.args.getlist("update"))
    if request.args.getlist("query"):
        raise BadRequest("a form carries the query in its body, not in the address")
    if "query" not in form:
        raise UsageError("the form has no field query")
    return form["query"], form


def _posted_query() -> tuple[str, MultiDict[str, str]]:
    if request.args.getlist("query") or request.args.getlist("update"):
        raise BadRequest("the query is the body; the address must not hold another")
    return _utf8(request.get_data()), request.args


def _posted_update() -> NoReturn:
    raise Forbidden("this endpoint answers queries; updates go through curation")


def _only(queries: list[str], updates: list[str]) -> None:
    if updates and queries:
        raise BadRequest("a request holds a query or an update, not both")
    if updates:
        if request.method == "GET":
            raise BadRequest("an update is never sent by GET")
        raise Forbidden("this endpoint answers queries; updates go through curation")
    if len(queries) > 1:
        raise BadRequest(f"a request holds one query, not {len(queries)}")


def _utf8(body: bytes) -> str:
    charset = request.mimetype_params.get("charset", "utf-8").lower()
    if charset not in {"utf-8", "utf8"}:
        raise UnsupportedMediaType(f"the query is UTF-8, not {charset[:20]}")
    try:
        return body.decode("utf-8")
    except UnicodeDecodeError as fault:
        raise BadRequest(f"the query is not UTF-8 at byte {fault.start}") from fault


def _utf8_form() -> MultiDict[str, str]:
    text = _utf8(request.get_data(cache=True))
    try:
        pairs = parse_qsl(text, keep_blank_values=True, errors="strict", max_num_fields=200)
    except ValueError as fault:
        raise BadRequest(f"the form cannot be read: {fault}") from fault
    return MultiDict(pairs)


def _timeout(site: Site, value: str | None) -> float | None:
    if value in (None, ""):
        return None
    cap = site.settings.query.timeout_cap
    if not re.fullmatch(r"[0-9]{1,6}(\.[0-9]{1,3})?", str(value)) or float(str(value)) <= 0:
        raise UsageError(f"timeout is a number of seconds above 0, at most {cap:g}")
    return min(float(str(value)), cap)


def _without_query(site: Site) -> Response:
    kind = preferred([HTML, *RDF_TYPES])
    if request.accept_mimetypes and kind != HTML:
        response = service_description(RDF_TYPES[kind], kind)
    elif HTML in request.accept_mimetypes.values():
        return _page(site, None)
    else:
        response = service_description("ttl", "text/turtle")
    response.vary.add("Accept")
    return response


def _page(site: Site, asked: Asked | None) -> Response:
    table, fault, status = None, None, 200
    if asked is not None:
        graph = query_form(asked.query) in _GRAPH_FORMS
        kind = "text/turtle" if graph else "application/sparql-results+json"
        try:
            body = _answered(site, replace(asked, format=""), kind)
            table = ResultsTable.of_turtle(body) if graph else ResultsTable.of_json(body)
        except ShiyiError as error:
            fault = problem_of(error)
            status = int(fault["status"])
    page = render_template(
        "sparql.html", asked=asked, table=table, fault=fault, examples=examples()
    )
    response = Response(page, status, content_type="text/html; charset=utf-8")
    response.vary.add("Accept")
    return response
