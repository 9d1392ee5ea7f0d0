"""Headers, metrics and admission control of every request."""

import gzip
import hashlib
import logging
import mimetypes
import secrets
import time
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from ipaddress import ip_address
from typing import Any, Final
from urllib.parse import urlsplit

from flask import Blueprint, Flask, Response, current_app, g, request, url_for
from werkzeug.exceptions import NotFound, ServiceUnavailable

from shiyi.artefacts import artefact
from shiyi.metrics import REQUEST_SECONDS, REQUESTS, SHED, SLOW
from shiyi.server.http.warmup import WARMUP
from shiyi.server.i18n import COOKIE, LANGUAGES
from shiyi.settings import ServerSettings

_TYPES: Final = {"js": "text/javascript", "svg": "image/svg+xml", "css": "text/css"}
_YEAR_SECONDS: Final = "public, max-age=31536000, immutable"
_HOUR: Final = "public, max-age=3600"


@dataclass(frozen=True)
class Asset:
    """A file, its media type and its digest."""

    body: bytes
    content_type: str
    digest: str

    @cached_property
    def compressed_body(self) -> bytes:
        """Return the body compressed, once for all requests."""
        return gzip.compress(self.body)


def static() -> Blueprint:
    """Serve ``/static/…``; an address with the file's digest never changes."""
    routes = Blueprint("static_files", __name__)

    @routes.get("/static/<path:name>")
    def file(name: str) -> Response:
        if name not in names():
            raise NotFound("there is no such file")
        found = asset(name)
        response = Response(found.body, content_type=found.content_type)
        if is_compressible(response) and len(found.body) >= SMALL:
            response.set_data(found.compressed_body)
            response.headers["Content-Encoding"] = "gzip"
        has_digest = request.args.get("v") == found.digest
        response.headers["Cache-Control"] = _YEAR_SECONDS if has_digest else _HOUR
        response.set_etag(found.digest, weak=True)
        return response

    return routes


@cache
def names() -> frozenset[str]:
    """List the files below ``server/static``, so that no other path is ever opened."""
    root = artefact("server/static")
    return frozenset(
        path.relative_to(root).as_posix() for path in root.rglob("*") if path.is_file()
    )


@cache
def asset(name: str) -> Asset:
    """Read a file of ``server/static`` once."""
    body = artefact(f"server/static/{name}").read_bytes()
    kind = _TYPES.get(name.rpartition(".")[2]) or mimetypes.guess_type(name)[0] or "text/plain"
    charset = "; charset=utf-8" if kind.startswith("text/") else ""
    return Asset(body, kind + charset, hashlib.sha256(body).hexdigest()[:12])


def address(name: str) -> str:
    """Return the address of a file, with its digest.

    >>> address("favicon.svg").startswith("/static/favicon.svg?v=")
    True
    """
    return f"/static/{name}?v={asset(name).digest}"


_OPEN_PATHS: Final = (
    "/sparql", "/rdf-graph-store", "/id/", "/data/", "/vocab", "/api/", "/.well-known/",
)  # fmt: skip
_SECURITY: Final = (
    ("X-Content-Type-Options", "nosniff"), ("X-Frame-Options", "DENY"),
    ("Referrer-Policy", "strict-origin"),
    ("Permissions-Policy", "camera=(), microphone=(), geolocation=()"),
    ("Cross-Origin-Opener-Policy", "same-origin"),
)  # fmt: skip
_ORIGINS: Final = (
    ("Access-Control-Allow-Origin", "*"),
    ("Access-Control-Expose-Headers", "Link, ETag, Location, Retry-After"),
)
_METHODS: Final = frozenset({"GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH"})
_PREREQUISITES: Final = ("If-Match", "If-None-Match", "If-Modified-Since", "If-Unmodified-Since")
_NEVER_SHED: Final = ("/healthz", "/metrics", "/static/")
_RETRY_AFTER: Final = 5  # seconds
_COMPRESSED: Final = frozenset({"text/html", *_TYPES.values()})
SMALL: Final = 1024  # bytes, below which nothing is compressed
_YEAR: Final = 31_536_000
_LOG: Final = logging.getLogger("shiyi")


def nonce() -> str:
    """Return the nonce of this response's inline scripts."""
    if "nonce" not in g:
        g.nonce = secrets.token_urlsafe(16)
    return str(g.nonce)


def content_security_policy(nonce: str) -> str:
    """Return a policy for files of this server and inline scripts with ``nonce``."""
    scripts = f" 'nonce-{nonce}'" if nonce else ""
    return (
        f"default-src 'none'; script-src 'self'{scripts}; style-src 'self'; "
        "img-src 'self' data:; font-src 'self'; connect-src 'self'; form-action 'self'; "
        "base-uri 'none'; frame-ancestors 'none'"
    )


def open_headers(policy: str) -> list[tuple[str, str]]:
    """Return the headers of an answer without a page that other origins may read."""
    return [("Content-Security-Policy", policy), *_SECURITY, *_ORIGINS]


def public_root() -> str:
    """Return the address of this server in what others store, with a final slash.

    It is ``server.url``; without it the address of the request, where that is of this machine or a
    private network, else the published base: any client may send any Host.
    """
    settings = current_app.extensions["shiyi"].settings
    if settings.server.url:
        return f"{settings.server.url.rstrip('/')}/"
    return request.url_root if _is_local(urlsplit(request.url_root).hostname) else settings.base


def public_address(endpoint: str, **values: Any) -> str:
    """Return the address of a route below :func:`public_root`."""
    return public_root() + url_for(endpoint, **values).removeprefix("/")


def _is_local(host: str | None) -> bool:
    try:
        return host == "localhost" or ip_address(host or "").is_private
    except ValueError:
        return False


def limit_queue(app: Flask, waiting: Callable[[], int]) -> None:
    """Shed load: refuse a request while more than ``server.queue`` are ``waiting`` for a thread."""
    app.extensions["shiyi.waiting"] = waiting


def register(app: Flask, settings: ServerSettings) -> None:
    """Admit, count and add headers to every request of ``app``."""
    limit_queue(app, lambda: 0)
    app.add_template_global(public_root)
    is_proxy_unknown = not settings.proxies

    @app.before_request
    def admit() -> None:
        nonlocal is_proxy_unknown
        g.started = time.perf_counter()
        if is_proxy_unknown and "X-Forwarded-For" in request.headers:
            is_proxy_unknown = False  # once is enough
            _LOG.warning(
                "requests come through a proxy, whose clients share the limits of one address; "
                "set server.proxies (SHIYI_SERVER_PROXIES) to the number of proxies"
            )
        is_full = app.extensions["shiyi.waiting"]() > settings.queue
        if is_full and not request.path.startswith(_NEVER_SHED):
            SHED.labels("queue").inc()
            raise ServiceUnavailable(
                f"too many requests are waiting; retry after {_RETRY_AFTER} seconds",
                retry_after=_RETRY_AFTER,
            )

    @app.after_request
    def finish(response: Response) -> Response:
        is_page = response.mimetype == "text/html"
        policy = content_security_policy(nonce() if is_page else "")  # only pages have scripts
        response.headers["Content-Security-Policy"] = policy
        response.headers.extend(_SECURITY)
        if g.get("is_framed"):
            del response.headers["X-Frame-Options"]
            framed = policy.replace("frame-ancestors 'none'", "frame-ancestors *")
            response.headers["Content-Security-Policy"] = framed
        if is_page:
            _remember_language(response)
        _allow_origins(response)
        compress(response)
        if has_prerequisite() and response.status_code == 200 and "ETag" in response.headers:
            response.make_conditional(request)
        _count(response, settings.slow)
        return response


def compress(response: Response) -> None:
    """Compress a page, style or script for a client that takes gzip.

    The desks are left as they are: their forms have secrets that lengths would reveal (BREACH).
    """
    if response.mimetype not in _COMPRESSED or request.path.startswith("/curate"):
        return
    response.vary.add("Accept-Encoding")
    if not is_compressible(response) or response.status_code != 200:
        return
    if response.is_streamed:
        response.call_on_close(getattr(response.response, "close", lambda: None))
        response.response = gzip_parts(response.iter_encoded())
    elif len(response.get_data()) < SMALL:
        return
    else:
        response.set_data(b"".join(gzip_parts([response.get_data()])))
    response.headers["Content-Encoding"] = "gzip"
    etag, _ = response.get_etag()
    if etag:
        response.set_etag(etag, weak=True)


def is_compressible(response: Response) -> bool:
    """Return whether the client takes gzip, and the body is text that has no encoding yet."""
    is_wanted = request.method != "HEAD" and request.accept_encodings.quality("gzip") > 0
    is_text = response.mimetype in _COMPRESSED and "Content-Encoding" not in response.headers
    return is_wanted and is_text


def gzip_parts(parts: Iterable[bytes]) -> Iterator[bytes]:
    """Yield ``parts`` compressed; the client can read each of them at once."""
    packer = zlib.compressobj(wbits=31)  # 31: with the header of gzip
    for part in parts:
        yield packer.compress(part) + packer.flush(zlib.Z_SYNC_FLUSH)
    yield packer.flush()


def has_prerequisite() -> bool:
    """Return whether the request is for an answer that differs from what the client has."""
    return any(name in request.headers for name in _PREREQUISITES)


def _count(response: Response, slow: float) -> None:
    seconds = time.perf_counter() - g.get("started", time.perf_counter())
    route = request.url_rule.rule if request.url_rule else "none"
    method = request.method if request.method in _METHODS else "other"
    response.headers["Server-Timing"] = f"app;dur={seconds * 1000:.1f}"
    is_warmup = WARMUP.items() <= request.environ.items()
    note_request(route, method, response.status_code, seconds, 0 if is_warmup else slow)


def note_request(route: str, method: str, status: int, seconds: float, slow: float) -> None:
    """Count a request, and log one of ``slow`` seconds or more; 0: none is slow."""
    REQUESTS.labels(route, method, status).inc()
    REQUEST_SECONDS.labels(route).observe(seconds)
    if 0 < slow <= seconds:
        SLOW.labels("request").inc()
        facts = {"route": route, "method": method, "status": status}
        _LOG.warning("slow request", extra={**facts, "ms": round(seconds * 1000)})


def _remember_language(page: Response) -> None:
    language = request.args.get("lang")
    if language in LANGUAGES:
        page.set_cookie(COOKIE, language, max_age=_YEAR, samesite="Lax", httponly=True)
    # in one order in all processes: a proxy's key of a variant depends on it
    page.vary.update(("Accept-Language", "Cookie"))


def _allow_origins(response: Response) -> None:
    if not request.path.startswith(_OPEN_PATHS):
        return
    response.headers.extend(_ORIGINS)
    if request.method == "OPTIONS":
        response.headers["Access-Control-Allow-Headers"] = (
            "Accept, Content-Type, Authorization, If-None-Match, Idempotency-Key"
        )
        writes = ", PUT, DELETE" if request.path.startswith("/rdf-graph-store") else ""
        response.headers["Access-Control-Allow-Methods"] = f"GET, HEAD, POST, OPTIONS{writes}"
        response.headers["Access-Control-Max-Age"] = "86400"
