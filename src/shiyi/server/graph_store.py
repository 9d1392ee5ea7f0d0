"""``/rdf-graph-store``: the SPARQL 1.1 Graph Store HTTP Protocol; reading is free."""

from typing import Final
from urllib.parse import quote, urljoin, urlsplit
from uuid import uuid4

from flask import Blueprint, Response, request
from werkzeug.exceptions import BadRequest, NotFound, UnsupportedMediaType
from werkzeug.wrappers import Response as BaseResponse

from shiyi.model.rdf import NamedNode
from shiyi.server.access import Door, keep_apart
from shiyi.server.negotiation import RDF_TYPES, preferred
from shiyi.server.reading_requests import profile_of
from shiyi.server.site import Site
from shiyi.server.spooled import spooled
from shiyi.sparql.updates import Part

PATH: Final = "/rdf-graph-store"
_READ: Final = ("text/turtle", "application/n-triples", "application/ld+json",
                "application/rdf+xml")  # fmt: skip
_MULTIPART: Final = "multipart/form-data"


def graph_store(site: Site, door: Door) -> Blueprint:
    """Serve the graphs of the store: by ``?graph=``, ``?default``, or their own address."""
    routes = Blueprint("graph_store", __name__)

    @routes.route(PATH, methods=["GET"])
    @routes.route(f"{PATH}/<path:name>", methods=["GET"])
    def read(name: str = "") -> BaseResponse:
        graph, kind = _target(name), preferred(list(_READ))
        asker, whole = door.reader()
        body = site.free.dump(graph, kind, profile_of(request.args), whole, asker)
        if body is None:
            raise NotFound(f"there is no graph {graph}")
        response = spooled(body, kind)
        if whole:
            keep_apart(response)
        return response

    @routes.route(PATH, methods=["PUT", "POST", "DELETE"])
    @routes.route(f"{PATH}/<path:name>", methods=["PUT", "POST", "DELETE"])
    def write(name: str = "") -> BaseResponse:
        updater, author = door.writer(f"Graph Store {request.method}")
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
    """Give the IRI of the graph the request is about; nothing for the default graph."""
    graphs, default = request.args.getlist("graph"), "default" in request.args
    if name:
        if graphs or default:
            raise BadRequest("the address names the graph; graph= and default must not")
        return _checked(request.base_url)
    if default == bool(graphs) or len(graphs) > 1:
        raise BadRequest("say which graph: ?default, or one ?graph=IRI")
    return "" if default else _checked(urljoin(request.base_url, graphs[0]))


def _checked(iri: str) -> str:
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
        each for name in request.files for each in request.files.getlist(name)[1:]
    ]
    if request.form or not files:
        raise BadRequest("send each document of the form as a file with its media type")
    return [
        Part(_form(each.mimetype, each.mimetype_params.get("charset", "utf-8")), each.read())
        for each in files
    ]


def _form(kind: str, charset: str) -> str:
    if kind not in RDF_TYPES:
        raise UnsupportedMediaType(f"{kind or 'nothing'} is not among {', '.join(RDF_TYPES)}")
    if charset.lower() not in {"utf-8", "utf8"}:
        raise UnsupportedMediaType(f"an upload is UTF-8, not {charset[:20]}")
    return RDF_TYPES[kind]
