"""What monitors, harvesters and crawlers read."""

from flask import Blueprint, Response

from shiyi.artefacts import artefact
from shiyi.server.api import as_json
from shiyi.server.describe_service import counted, void
from shiyi.server.kept import Kept
from shiyi.server.metrics import Metrics
from shiyi.server.negotiation import RDF_TYPES, preferred
from shiyi.server.openapi import document
from shiyi.server.site import Site


def machine(site: Site, metrics: Metrics, kept: Kept) -> Blueprint:
    """Serve health, metrics, OpenAPI, VoID and the icon."""
    routes = Blueprint("machine", __name__)

    @routes.get("/healthz")
    def health() -> Response:
        said = site.health()
        response = as_json(said)
        response.status_code = 200 if said["status"] == "ok" else 503
        response.headers["Cache-Control"] = "no-store"
        return response

    @routes.get("/metrics")
    def measured() -> Response:
        return Response(metrics.text(), content_type="text/plain; version=0.0.4; charset=utf-8")

    @routes.get("/api/openapi.json")
    def openapi() -> Response:
        return as_json(document(site))

    @routes.get("/.well-known/void")
    def void_description() -> Response:
        kind = preferred(list(RDF_TYPES))
        counts = kept.figures("void", lambda: counted(site))
        return void(site, counts, RDF_TYPES[kind], kind)

    @routes.get("/favicon.ico")
    @routes.get("/favicon.svg")
    def icon() -> Response:
        drawing = artefact("server/static/favicon.svg").read_bytes()
        response = Response(drawing, content_type="image/svg+xml")
        response.headers["Cache-Control"] = "public, max-age=86400"
        return response

    return routes
