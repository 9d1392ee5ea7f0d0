"""What every response carries: a strict policy for browsers, sharing rules, compression, counts."""

import gzip
import secrets
import time
from typing import Final

from flask import Flask, Response, g, request

from shiyi.server.metrics import Metrics
from shiyi.server.wording import COOKIE, LANGUAGES

_OPEN_PATHS: Final = (
    "/sparql",
    "/rdf-graph-store",
    "/id/",
    "/data/",
    "/vocab",
    "/api/",
    "/.well-known/",
)
_SMALL: Final = 1024  # bytes; below this, compressing gains nothing
_PACKABLE: Final = ("text/", "application/json", "application/ld+json", "image/svg+xml",
                    "application/sparql-results", "application/rdf+xml", "application/n-",
                    "application/trig", "text/javascript", "application/problem+json")  # fmt: skip
_YEAR: Final = 31_536_000


def nonce() -> str:
    """Give this response's word for scripts that stand in the page."""
    if "nonce" not in g:
        g.nonce = secrets.token_urlsafe(16)
    return str(g.nonce)


def register(app: Flask, metrics: Metrics) -> None:
    """Dress every response of ``app``; the order matters: counted, guarded, then packed."""

    @app.before_request
    def started() -> None:
        g.started = time.perf_counter()

    @app.after_request
    def finished(response: Response) -> Response:
        _policy(response)
        _remember_language(response)
        _shared(response)
        _packed(response)
        seconds = time.perf_counter() - g.get("started", time.perf_counter())
        route = request.url_rule.rule if request.url_rule else "none"
        metrics.request(route, request.method, response.status_code, seconds)
        response.headers["Server-Timing"] = f"app;dur={seconds * 1000:.1f}"
        return response


def _policy(response: Response) -> None:
    headers = response.headers
    headers["Content-Security-Policy"] = (
        f"default-src 'none'; script-src 'self' 'nonce-{nonce()}'; style-src 'self'; "
        "img-src 'self' data:; font-src 'self'; connect-src 'self'; form-action 'self'; "
        "base-uri 'none'; frame-ancestors 'none'"
    )
    headers["X-Content-Type-Options"] = "nosniff"
    headers["X-Frame-Options"] = "DENY"
    headers["Referrer-Policy"] = "strict-origin-when-cross-origin"
    headers["Permissions-Policy"] = "camera=(), microphone=(), geolocation=()"
    headers["Cross-Origin-Opener-Policy"] = "same-origin"


def _remember_language(response: Response) -> None:
    said = request.args.get("lang")
    if said in LANGUAGES and response.mimetype == "text/html":
        response.set_cookie(COOKIE, said, max_age=_YEAR, samesite="Lax", httponly=True)
    if response.mimetype == "text/html":
        response.vary.update({"Accept-Language", "Cookie"})


def _shared(response: Response) -> None:
    if request.path.startswith(_OPEN_PATHS):
        response.headers["Access-Control-Allow-Origin"] = "*"
        response.headers["Access-Control-Expose-Headers"] = "Link, ETag, Location, Retry-After"
        if request.method == "OPTIONS":
            response.headers["Access-Control-Allow-Headers"] = "Accept, Content-Type"
            response.headers["Access-Control-Allow-Methods"] = "GET, HEAD, POST, OPTIONS"
            response.headers["Access-Control-Max-Age"] = "86400"


def _packed(response: Response) -> None:
    if response.is_streamed or response.direct_passthrough or response.status_code == 304:
        return
    kind = response.mimetype or ""
    packable = kind.startswith(_PACKABLE) or kind.endswith("+json")
    if not packable or "Content-Encoding" in response.headers:
        return
    response.vary.add("Accept-Encoding")
    body = response.get_data()
    if len(body) >= _SMALL and request.accept_encodings["gzip"] > 0:
        response.set_data(gzip.compress(body, compresslevel=4, mtime=0))
        response.headers["Content-Encoding"] = "gzip"
        if (etag := response.get_etag()[0]) is not None:
            response.set_etag(f"{etag}-gz", weak=True)
