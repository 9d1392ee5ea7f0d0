"""``GET /sparql?query=…`` as a plain WSGI application.

Small queries are many, and most of what they cost in a web framework is the framework. What is not
plainly a SELECT or ASK for a program and every error goes to :mod:`shiyi.server.sparql.protocol`.
"""

import re
import time
from collections.abc import Iterable
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote_plus

from flask import Flask
from werkzeug.exceptions import NotAcceptable

from shiyi.errors import ShiyiError
from shiyi.metrics import SPARQL
from shiyi.server.http.headers import content_security_policy, note_request, open_headers
from shiyi.server.http.messages import HTML, RESULT_TYPES, choose_media_type, graph_type
from shiyi.server.http.rate_limit import client_network
from shiyi.server.site.query_log import log_query
from shiyi.server.site.site import Site
from shiyi.server.sparql.protocol import query_form
from shiyi.sparql.queries.requests import FreeQuery
from shiyi.sparql.queries.results import LiveSpool, ResultFormat, Spool

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment

_PATH: Final = "/sparql"
_FIRST: Final = "query="
_OFFERED: Final = (*RESULT_TYPES, HTML)
_HOST: Final = re.compile(r"[A-Za-z0-9.-]+(?::[0-9]+)?")
_PLAIN: Final = frozenset({"SELECT", "ASK"})
_OTHER: Final = (  # what makes an answer depend on more than the query and Accept
    "HTTP_AUTHORIZATION", "HTTP_IF_MATCH", "HTTP_IF_NONE_MATCH", "HTTP_IF_MODIFIED_SINCE",
    "HTTP_IF_UNMODIFIED_SINCE", "HTTP_RANGE",
)  # fmt: skip


class SmallQueries:
    """Answers plain queries of ``/sparql`` itself; all else goes to the application around it."""

    def __init__(self, app: Flask, site: Site) -> None:
        self._app, self._rest, self._site = app, app.wsgi_app, site
        self._headers = open_headers(content_security_policy(""))

    def __call__(
        self, environ: "WSGIEnvironment", start_response: "StartResponse"
    ) -> Iterable[bytes]:
        """Answer one request."""
        if environ["PATH_INFO"] != _PATH or environ["REQUEST_METHOD"] != "GET":
            return self._rest(environ, start_response)
        began = time.perf_counter()
        asked = self._parse_request(environ)
        if asked is None:
            return self._rest(environ, start_response)
        form, kind, query = asked
        SPARQL.labels(form).inc()
        try:
            with log_query(self._site.log, query.text, form) as record:
                body = self._site.free.stream(query).body
                record(body.size)
        except ShiyiError as fault:
            return self._delegate_fault(fault, environ)(environ, start_response)
        return self._send(body, kind, began, start_response)

    def _parse_request(self, environ: "WSGIEnvironment") -> tuple[str, str, FreeQuery] | None:
        """Return the form, the media type and the query; None where the routes must look at it."""
        parameters, host = environ.get("QUERY_STRING", ""), environ.get("HTTP_HOST", "")
        settings = self._site.settings
        if (
            not parameters.startswith(_FIRST)
            or "&" in parameters
            or not parameters.isascii()
            or not _HOST.fullmatch(host)
            or any(name in environ for name in _OTHER)
            or self._app.extensions["shiyi.waiting"]() > settings.server.queue
        ):
            return None
        try:
            text = unquote_plus(parameters[len(_FIRST) :], errors="strict")
            kind = choose_media_type(environ.get("HTTP_ACCEPT", ""), _OFFERED)
        except (UnicodeDecodeError, NotAcceptable):
            return None
        if kind == HTML or not 0 < len(text.encode()) <= settings.query.max_query_bytes:
            return None
        form = query_form(text)
        if form not in _PLAIN:
            return None
        base = f"{environ['wsgi.url_scheme']}://{host}{environ.get('SCRIPT_NAME', '')}{_PATH}"
        asker = client_network(environ.get("REMOTE_ADDR"))
        accept = ResultFormat.of_type(kind)
        return form, kind, FreeQuery(text, accept, base=base, asker=asker, live=True)

    def _send(
        self, body: Spool, kind: str, began: float, start_response: "StartResponse"
    ) -> Iterable[bytes]:
        headers = [("Content-Type", graph_type(kind, "")), ("Vary", "Accept"), *self._headers]
        if not isinstance(body, LiveSpool):
            headers += [("Content-Length", str(body.size)), ("ETag", f'"{body.digest}"')]
        seconds = time.perf_counter() - began
        headers.append(("Server-Timing", f"app;dur={seconds * 1000:.1f}"))
        note_request(_PATH, "GET", 200, seconds, self._site.settings.server.slow)
        start_response("200 OK", headers)
        return [body.read()] if body.is_short else _Parts(body)

    def _delegate_fault(self, fault: ShiyiError, environ: "WSGIEnvironment") -> "WSGIApplication":
        """Return the answer of the application to an error."""
        with self._app.request_context(environ):
            return self._app.finalize_request(self._app.handle_user_exception(fault))


class _Parts:
    """The parts of a spool, which is closed when they are sent or the client left."""

    def __init__(self, body: Spool) -> None:
        self._body, self._parts = body, body.parts()

    def __iter__(self) -> "_Parts":
        return self

    def __next__(self) -> bytes:
        return next(self._parts)

    def close(self) -> None:
        """Release the file, as servers do at the end (PEP 3333)."""
        self._body.close()
