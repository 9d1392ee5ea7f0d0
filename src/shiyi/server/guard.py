"""What every response carries: a strict policy for browsers, sharing rules, compression, counts.

And how many requests may wait: more are told at once to come again, so that all recover soon;
first those whose address has had more than its share.
"""

import secrets
import time
from collections.abc import Callable
from typing import Final

from flask import Flask, Response, g, request
from werkzeug.exceptions import ServiceUnavailable, TooManyRequests

from shiyi.server.metrics import Metrics
from shiyi.server.packing import Packed, pack
from shiyi.server.shares import Shares, household
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
_YEAR: Final = 31_536_000
_ALWAYS: Final = ("/healthz", "/metrics", "/static/")  # answered however many wait


def nonce() -> str:
    """Give this response's word for scripts that stand in the page."""
    if "nonce" not in g:
        g.nonce = secrets.token_urlsafe(16)
    return str(g.nonce)


def register(app: Flask, metrics: Metrics, packed: Packed) -> None:
    """Dress every response of ``app``; the order matters: counted, guarded, then packed."""
    shares = Shares()

    @app.before_request
    def started() -> None:
        g.started = time.perf_counter()

    @app.before_request
    def admitted() -> None:
        waiting: Callable[[], int] | None = app.extensions.get("shiyi.waiting")
        if waiting is None or request.path.startswith(_ALWAYS):
            return
        many, limits = waiting(), app.extensions["shiyi"].settings.server
        if many > limits.queue // 2 and shares.greedy(household(request.remote_addr)):
            metrics.event("shed", "share")
            raise TooManyRequests("you ask much while others wait; come again soon")
        if many > limits.queue:
            metrics.event("shed", "queue")
            raise ServiceUnavailable("too many requests wait already; come again soon")

    @app.after_request
    def finished(response: Response) -> Response:
        _policy(response)
        _remember_language(response)
        _shared(response)
        pack(response, packed)
        seconds = time.perf_counter() - g.get("started", time.perf_counter())
        route = request.url_rule.rule if request.url_rule else "none"
        metrics.request(route, request.method, response.status_code, seconds)
        shares.took(household(request.remote_addr), seconds)
        response.headers["Server-Timing"] = f"app;dur={seconds * 1000:.1f}"
        return response


def admit(app: Flask, waiting: Callable[[], int]) -> None:
    """Let ``waiting`` say how many requests wait for a thread; 503 for those beyond the limit."""
    app.extensions["shiyi.waiting"] = waiting


def _policy(response: Response) -> None:
    headers = response.headers
    # only pages have scripts, and the word for them is made anew for each
    word = f" 'nonce-{nonce()}'" if response.mimetype == "text/html" else ""
    headers["Content-Security-Policy"] = (
        f"default-src 'none'; script-src 'self'{word}; style-src 'self'; "
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
            response.headers["Access-Control-Allow-Headers"] = (
                "Accept, Content-Type, Authorization, If-None-Match, Idempotency-Key"
            )
            writes = ", PUT, DELETE" if request.path.startswith("/rdf-graph-store") else ""
            response.headers["Access-Control-Allow-Methods"] = f"GET, HEAD, POST, OPTIONS{writes}"
            response.headers["Access-Control-Max-Age"] = "86400"
