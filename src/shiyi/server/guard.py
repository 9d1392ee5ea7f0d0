"""What every response carries: a strict policy for browsers, sharing rules, compression, counts."""

import logging
import time
from collections.abc import Callable
from typing import Final

from flask import Flask, Response, g, request

from shiyi.server.again import Again
from shiyi.server.metrics import Metrics
from shiyi.server.packing import Packed, pack
from shiyi.server.policy import POLICY, new_word, policy
from shiyi.server.turnstile import Turnstile
from shiyi.server.warming import OF_OURSELVES
from shiyi.server.wording import COOKIE, LANGUAGES
from shiyi.settings import ServerSettings

_OPEN_PATHS: Final = (
    "/sparql",
    "/rdf-graph-store",
    "/id/",
    "/data/",
    "/vocab",
    "/api/",
    "/.well-known/",
)
_SAME: Final = (
    ("X-Content-Type-Options", "nosniff"), ("X-Frame-Options", "DENY"),
    ("Referrer-Policy", "strict-origin-when-cross-origin"),
    ("Permissions-Policy", "camera=(), microphone=(), geolocation=()"),
    ("Cross-Origin-Opener-Policy", "same-origin"),
)  # fmt: skip
_YEAR: Final = 31_536_000
_LOG: Final = logging.getLogger("shiyi")


def nonce() -> str:
    """Give this response's word for scripts that stand in the page."""
    if "nonce" not in g:
        g.nonce = new_word()
    return str(g.nonce)


def register(
    app: Flask, metrics: Metrics, version: Callable[[], int], settings: ServerSettings
) -> None:
    """Dress every response of ``app``; the order matters: counted, guarded, then packed.

    What is kept of a ``version`` is answered before the application; ``server.queue`` requests may wait.
    """
    turnstile = app.extensions["shiyi.turnstile"] = Turnstile(metrics, settings.queue)
    again = app.extensions["shiyi.again"] = Again(app.wsgi_app, turnstile, version)
    app.wsgi_app, packed = again, Packed()  # type: ignore[assignment, method-assign]

    @app.before_request
    def started() -> None:
        g.started = time.perf_counter()
        turnstile.check(request.path, request.remote_addr)

    @app.after_request
    def finished(response: Response) -> Response:
        is_page = response.mimetype == "text/html"
        response.headers[POLICY] = policy(nonce() if is_page else "")  # only pages have scripts
        response.headers.extend(_SAME)
        if is_page:
            _remember_language(response)
        _shared(response)
        pack(response, packed)
        seconds = time.perf_counter() - g.get("started", time.perf_counter())
        route = request.url_rule.rule if request.url_rule else "none"
        turnstile.took(route, request.method, response.status_code, request.remote_addr, seconds)
        if 0 < settings.slow <= seconds and not OF_OURSELVES.items() <= request.environ.items():
            metrics.event("slow", "request")
            _LOG.warning("slow request", extra={
                "route": route, "method": request.method, "status": response.status_code,
                "ms": round(seconds * 1000),
            })  # fmt: skip
        response.headers["Server-Timing"] = f"app;dur={seconds * 1000:.1f}"
        again.keep(response)
        return response


def admit(
    app: Flask, waiting: Callable[[], int], waited: Callable[[], float] = lambda: 0.0
) -> None:
    """Let a server say how many requests wait for a thread, and how long this thread's did.

    503 for those beyond the limit, and for those that waited too long.
    """
    turnstile: Turnstile = app.extensions["shiyi.turnstile"]
    turnstile.waiting, turnstile.waited = waiting, waited


def _remember_language(page: Response) -> None:
    said = request.args.get("lang")
    if said in LANGUAGES:
        page.set_cookie(COOKIE, said, max_age=_YEAR, samesite="Lax", httponly=True)
    page.vary.update({"Accept-Language", "Cookie"})


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
