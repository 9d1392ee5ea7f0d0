"""Compression of responses, whole or as they go, in the coding the client prefers."""

import gzip
import hashlib
import sys
import threading
import zlib
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Final

from flask import Response, request

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

SMALL: Final = 1024  # bytes; below this, compressing gains nothing
_PACKABLE: Final = ("text/", "application/json", "application/ld+json", "image/svg+xml",
                    "application/sparql-results", "application/rdf+xml", "application/n-",
                    "application/trig", "text/javascript", "application/problem+json")  # fmt: skip
_GZIP_LEVEL: Final = 4
_ZSTD_LEVEL: Final = 3
_LARGEST: Final = 1 << 18  # bytes of a packed body that is kept
_MOST: Final = 4 << 20  # bytes of all of those
_BESIDE: Final = 200  # bytes that one takes beside its own
_WATCHED: Final = ("text/event-stream", "text/html")  # each part is to be seen as it is made


@dataclass(frozen=True, slots=True)
class _Packer:
    """Packs part after part; ``so_far`` gives what is still held back, ``end`` the rest."""

    pack: Callable[[bytes], bytes]
    so_far: Callable[[], bytes]
    end: Callable[[], bytes]


def _zstd() -> _Packer:
    made = zstd.ZstdCompressor(_ZSTD_LEVEL)
    return _Packer(made.compress, partial(made.flush, zstd.ZstdCompressor.FLUSH_BLOCK), made.flush)


def _gzip() -> _Packer:
    made = zlib.compressobj(_GZIP_LEVEL, zlib.DEFLATED, zlib.MAX_WBITS | 16)
    return _Packer(made.compress, partial(made.flush, zlib.Z_SYNC_FLUSH), made.flush)


WHOLE: Final[dict[str, Callable[[bytes], bytes]]] = {
    "zstd": lambda body: zstd.compress(body, _ZSTD_LEVEL),
    "gzip": lambda body: gzip.compress(body, compresslevel=_GZIP_LEVEL, mtime=0),
}
_PACKERS: Final = {"zstd": _zstd, "gzip": _gzip}


class Packed:
    """Packs whole bodies; those asked for lately are kept, so that a page is packed once."""

    def __init__(self, most: int = _MOST) -> None:
        """Keep ``most`` bytes."""
        self._most, self._size, self._lock = most, 0, threading.Lock()
        self._kept: OrderedDict[tuple[str, bytes], bytes] = OrderedDict()  # by a digest of each

    def __call__(self, name: str, digest: bytes, body: Callable[[], bytes]) -> bytes:
        """Give a body in the coding of that name; ``digest`` is a hash of it that nobody can forge."""
        key = name, digest
        with self._lock:
            if found := self._kept.get(key):
                self._kept.move_to_end(key)
                return found
        made = WHOLE[name](body())
        if len(made) <= _LARGEST:
            self._keep(key, made)
        return made

    def _keep(self, key: tuple[str, bytes], made: bytes) -> None:
        with self._lock:
            if key in self._kept:
                return
            self._kept[key] = made
            self._size += len(made) + _BESIDE
            while self._size > self._most:
                _, gone = self._kept.popitem(last=False)
                self._size -= len(gone) + _BESIDE


def coding() -> str:
    """Give the content coding for this client: ``zstd``, ``gzip``, or nothing.

    Among equals zstd, which is several times faster; a wildcard means gzip, which all can read.
    """
    accepted = request.accept_encodings
    if not accepted:
        return ""
    qualities = {value.lower(): quality for value, quality in accepted}
    anything = qualities.get("*", 0.0)
    offers = {"zstd": qualities.get("zstd", 0.0), "gzip": qualities.get("gzip", anything)}
    best = max(offers, key=lambda name: offers[name])
    return best if offers[best] > 0 and offers[best] >= qualities.get("identity", 0.0) else ""


def pack(response: Response, packed: Packed) -> None:
    """Compress a response in place where that is worth it and wanted; ``packed`` keeps what has an ETag."""
    if response.direct_passthrough or response.status_code in {204, 206, 304}:
        return
    kind = response.mimetype or ""
    if not (kind.startswith(_PACKABLE) or kind.endswith("+json")):
        return
    if "Content-Encoding" in response.headers:
        return
    response.vary.add("Accept-Encoding")
    if not response.is_streamed and len(response.get_data()) < SMALL:
        return
    if not (name := coding()):
        return
    if response.is_streamed:
        response.response = _packed(response.response, _PACKERS[name](), kind in _WATCHED)
        response.headers.pop("Content-Length", None)
    else:
        body, kept = response.get_data(), "ETag" in response.headers  # what has one comes again
        response.set_data(packed(name, _digest(body), lambda: body) if kept else WHOLE[name](body))
    response.headers["Content-Encoding"] = name
    if (etag := response.get_etag()[0]) is not None:
        response.set_etag(etag, weak=True)  # the same content in other bytes


def _digest(body: bytes) -> bytes:
    return hashlib.blake2b(body, digest_size=16).digest()


def _packed(parts: Iterable[bytes | str], packer: _Packer, watched: bool) -> Iterator[bytes]:
    """Yield the packed bytes; where it is watched as it comes, those of each part at once."""
    for part in parts:
        packed = packer.pack(part if isinstance(part, bytes) else part.encode())
        if watched:
            packed += packer.so_far()
        if packed:
            yield packed
    yield packer.end()
