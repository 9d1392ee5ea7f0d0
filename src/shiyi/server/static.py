"""Scripts, styles and drawings: packed once, and kept by browsers until they change."""

import gzip
import hashlib
import mimetypes
from dataclasses import dataclass
from functools import cache
from typing import Final

from flask import Blueprint, Response, request
from werkzeug.exceptions import NotFound
from werkzeug.wrappers import Response as BaseResponse

from shiyi.artefacts import artefact

_KINDS: Final = {"js": "text/javascript", "svg": "image/svg+xml", "css": "text/css"}
_YEAR: Final = "public, max-age=31536000, immutable"
_HOUR: Final = "public, max-age=3600"
_PACKED: Final = frozenset({"js", "css", "svg"})


@dataclass(frozen=True, slots=True)
class Asset:
    """A file as it is sent; ``packed`` is empty where compressing gains nothing."""

    body: bytes
    packed: bytes
    kind: str
    digest: str


def static() -> Blueprint:
    """Serve ``/static/…``; an address that names the file's digest never changes."""
    routes = Blueprint("static_files", __name__)

    @routes.get("/static/<path:name>")
    def file(name: str) -> BaseResponse:
        found = asset(name) if name in names() else None
        if found is None:
            raise NotFound("there is no such file")
        packed = found.packed and request.accept_encodings["gzip"] > 0
        response = Response(found.packed if packed else found.body, content_type=found.kind)
        if packed:
            response.headers["Content-Encoding"] = "gzip"
        response.vary.add("Accept-Encoding")
        response.headers["Cache-Control"] = (
            _YEAR if request.args.get("v") == found.digest else _HOUR
        )
        response.set_etag(found.digest + ("-gz" if packed else ""), weak=True)
        return response.make_conditional(request)

    return routes


@cache
def names() -> frozenset[str]:
    """List the files below ``server/static``, so that no other path is ever opened."""
    root = artefact("server/static")
    return frozenset(
        each.relative_to(root).as_posix() for each in root.rglob("*") if each.is_file()
    )


@cache
def asset(name: str) -> Asset:
    """Read a file of ``server/static`` once."""
    body = artefact(f"server/static/{name}").read_bytes()
    extension = name.rpartition(".")[2]
    kind = _KINDS.get(extension) or mimetypes.guess_type(name)[0] or "text/plain"
    charset = "; charset=utf-8" if kind.startswith("text/") else ""
    packed = gzip.compress(body, compresslevel=9, mtime=0) if extension in _PACKED else b""
    return Asset(body, packed, kind + charset, hashlib.sha256(body).hexdigest()[:12])


def address(name: str) -> str:
    """Give the address of a file, with its digest.

    >>> address("favicon.svg").startswith("/static/favicon.svg?v=")
    True
    """
    return f"/static/{name}?v={asset(name).digest}"
