"""The cache of pages and answers of a site, for one version of its store at a time."""

import hashlib
import threading
import time
import zlib
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Final, Self, TypeVar, cast

from cachetools import LRUCache
from flask import Response, request

from shiyi.metrics import CACHE_HITS, CACHE_MISSES
from shiyi.server.http.headers import SMALL, is_compressible, public_root
from shiyi.server.i18n import choose_language
from shiyi.server.site.site import Site
from shiyi.server.site.visibility import Claims
from shiyi.server.views.reader import Reader

MAX_BYTES: Final = 48 << 20  # of all pages
_OVERHEAD: Final = 500  # bytes that an entry takes beside its body
_HTML: Final = "text/html; charset=utf-8"
_PAUSE: Final = 9.0  # times the duration of a count that pass until the next
_GZIP: Final = 31  # `wbits` of zlib for a body with the header of gzip
Made = TypeVar("Made")


@dataclass(frozen=True, slots=True)
class _Page:
    packed: bytes  # by gzip, as most clients take it; about four times as many fit
    size: int  # of the body
    etag: str

    @classmethod
    def of(cls, body: bytes) -> Self:
        digest = hashlib.blake2b(body, digest_size=16).hexdigest()
        return cls(zlib.compress(body, wbits=_GZIP), len(body), digest)

    @property
    def body(self) -> bytes:
        return zlib.decompress(self.packed, _GZIP)


@dataclass(frozen=True, slots=True)
class _Entry:
    value: object
    size: int


@dataclass(frozen=True, slots=True)
class _Value:
    version: int
    value: object
    due: float  # monotonic seconds before which it is not recounted


class PageCache:
    """Rendered pages, answers, figures and labels of one site."""

    def __init__(self, site: Site, known: Claims | None = None, max_bytes: int = MAX_BYTES) -> None:
        self._site, self._known, self._lock = site, known, threading.Lock()
        self._entries: LRUCache[Hashable, _Entry] = LRUCache(
            max_bytes, getsizeof=lambda entry: entry.size
        )
        self._readers: dict[str, tuple[int, Reader]] = {}
        self._values: dict[Hashable, _Value] = {}
        self._makers: dict[Hashable, threading.Lock] = {}
        self._making: set[Hashable] = set()

    def value(self, name: Hashable, make: Callable[[], Made]) -> Made:
        """Return the value of that name, made once for each version of the store."""
        with self._lock:
            maker = self._makers.setdefault(name, threading.Lock())
        with maker:  # made once for all that wait
            version, found = self._site.version(), self._values.get(name)
            if found is None or found.version != version:
                found = self._make(name, version, make)
        return cast("Made", found.value)

    def figures(
        self,
        name: Hashable,
        make: Callable[[], Made],
        earlier: Callable[[], Made | None] = lambda: None,
    ) -> Made:
        """Return a slow count: after a change the earlier value, until the next is there.

        Counting takes at most a tenth of the time, however often the store changes. ``earlier``
        gives a value that an earlier process left.
        """
        version, value = self._site.version(), self._values.get(name)
        if value is None and (left := earlier()) is not None:
            value = self._values.setdefault(name, _Value(-1, left, 0.0))
        if value is None:
            return self.value(name, make)
        if value.version != version and time.monotonic() > value.due and self._begin(name):
            threading.Thread(target=self._make, args=(name, version, make), daemon=True).start()
        return cast("Made", value.value)

    def is_current(self, name: Hashable) -> bool:
        """Return whether the value of that name belongs to the present version of the store."""
        value = self._values.get(name)
        return value is not None and value.version == self._site.version()

    def _begin(self, name: Hashable) -> bool:
        with self._lock:
            if name in self._making:
                return False
            self._making.add(name)
            return True

    def _make(self, name: Hashable, version: int, make: Callable[[], object]) -> _Value:
        began = time.monotonic()
        try:
            value = make()
            ended = time.monotonic()
            made = self._values[name] = _Value(version, value, ended + _PAUSE * (ended - began))
            return made
        finally:
            with self._lock:
                self._making.discard(name)

    def entry(
        self, name: Hashable, make: Callable[[], Made], size: Callable[[Made], int], kind: str
    ) -> Made:
        """Return the value of that name for this version of the store, as long as there is room.

        ``size`` is what it takes in bytes, ``kind`` its label in the metrics.
        """
        key = self._site.version(), kind, name
        with self._lock:
            found = self._entries.get(key)
        (CACHE_MISSES if found is None else CACHE_HITS).labels(kind).inc()
        if found is None:
            value = make()
            found = _Entry(value, size(value) + _OVERHEAD)
            if found.size <= self._entries.maxsize:
                with self._lock:
                    self._entries[key] = found
        return cast("Made", found.value)

    def text(self, name: Hashable, make: Callable[[], str]) -> str:
        """Return the text of that name, made once for each version of the store."""
        return self._page(name, make).body.decode()

    def page(self, make: Callable[[], str]) -> str:
        """Return the page of this address and language, made once."""
        return self.text(_address(), make)

    def response(
        self, make: Callable[[], str], content_type: str = _HTML, language: str | None = None
    ) -> Response:
        """Return the page as a response with an ETag.

        ``language`` is by default that of the reader, and empty where the address decides.
        """
        page = self._page(_address(language), make)
        response = Response(content_type=content_type)
        if page.size >= SMALL and is_compressible(response):
            response.set_data(page.packed)
            response.headers["Content-Encoding"] = "gzip"
        else:
            response.set_data(page.body)
        response.set_etag(page.etag, weak=True)  # a proxy may compress it
        return response

    def _page(self, name: Hashable, make: Callable[[], str]) -> _Page:
        return self.entry(
            name, lambda: _Page.of(make().encode()), lambda page: len(page.packed), "pages"
        )

    def reader(self, language: str = "") -> Reader:
        """Return a reader that caches labels, by default in the language of the request."""
        language = language or choose_language()
        with self._lock:
            version, results = self._site.version(), self._readers.get(language)
            if results is None or results[0] != version:
                results = version, Reader(self._site.store, language, self._known)
                self._readers[language] = results
            return results[1]


def has_bare_address() -> bool:
    """Return whether a request asks for a page and states nothing but its language."""
    return request.method != "POST" and request.args.keys() <= {"lang"}


def _address(language: str | None = None) -> Hashable:
    """Return what a page depends on: its address below that of the server, and the language."""
    where = public_root(), request.root_path, request.path, request.query_string
    return *where, choose_language() if language is None else language
