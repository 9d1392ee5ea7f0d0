"""Updates by the SPARQL 1.1 Protocol: a form field or a body of their own, for token holders."""

from dataclasses import dataclass
from typing import Final

from flask import Response, request
from werkzeug.datastructures import MultiDict
from werkzeug.exceptions import BadRequest

from shiyi.errors import QueryError
from shiyi.server.access import Door
from shiyi.server.reading_requests import FORM, timeout_of, utf8_body, utf8_form
from shiyi.server.site import Site

UPDATE: Final = "application/sparql-update"


@dataclass(frozen=True, slots=True)
class Ordered:
    """What a request for an update says."""

    text: str
    default_graphs: tuple[str, ...] = ()
    named_graphs: tuple[str, ...] = ()
    timeout: float | None = None


def ordered(site: Site) -> Ordered | None:
    """Read a request for an update; nothing where the request is none."""
    if request.args.getlist("update"):
        raise BadRequest("an update stands in the body of a POST, never in the address")
    if request.method != "POST":
        return None
    if request.mimetype == UPDATE:
        if request.args.getlist("query"):
            raise BadRequest("a request holds a query or an update, not both")
        return _of(site, utf8_body(), request.args)
    if request.mimetype == FORM and "update" in (form := utf8_form()):
        if form.getlist("query") or request.args.getlist("query"):
            raise BadRequest("a request holds a query or an update, not both")
        if len(form.getlist("update")) > 1:
            raise BadRequest("a request holds one update")
        return _of(site, form["update"], form)
    return None


def _of(site: Site, text: str, source: MultiDict[str, str]) -> Ordered:
    if not text.strip():
        raise QueryError("the update is empty")
    return Ordered(
        text, tuple(source.getlist("using-graph-uri")),
        tuple(source.getlist("using-named-graph-uri")), timeout_of(site, source.get("timeout")),
    )  # fmt: skip


def updated(door: Door, site: Site) -> Response | None:
    """Do the update the request holds, if it holds one and its sender may."""
    order = ordered(site)
    if order is None:
        return None
    updater, author = door.writer("SPARQL update")
    updater.update(
        order.text, author, default_graphs=order.default_graphs, named_graphs=order.named_graphs,
        timeout=order.timeout, base=request.base_url,
    )  # fmt: skip
    return Response(status=204)
