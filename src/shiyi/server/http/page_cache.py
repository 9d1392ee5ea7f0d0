"""The cache of pages and answers of a site, for one version of its store at a time."""

import hashlib
import threading
import time
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Final, TypeVar, cast

from cachetools import LRUCache
from flask import Response, request

from shiyi.metrics import CACHE_HITS, CACHE_MISSES
from shiyi.server.i18n import chosen_language
from shiyi.server.site.site import Site
from shiyi.server.site.visibility import Known
from shiyi.server.views.reader import Reader

MAX_BYTES: Final = 48 << 20  # of all pages
_OVERHEAD: Final = 500  # bytes that an entry takes beside its body
_HTML: Final = "text/html; charset=utf-8"
_PAUSE: Final = 9.0  # times the duration of a count that pass until the next
Key = tuple[int, str, str, bytes, str]  # version, the parts of an address, language
Made = TypeVar("Made")


@dataclass(frozen=True, slots=True)
class _Page:
    body: bytes
    etag: str


@dataclass(frozen=True, slots=True)
class _Value:
    version: int
    value: object
    due: float  # monotonic seconds before which it is not counted again


def _size(page: _Page) -> int:
    return len(page.body) + _OVERHEAD


class PageCache:
    """Rendered pages, figures and labels of one site."""

    def __init__(self, site: Site, known: Known | None = None, max_bytes: int = MAX_BYTES) -> None:
        self._site, self._known, self._lock = site, known, threading.Lock()
        self._pages: LRUCache[Key, _Page] = LRUCache(max_bytes, getsizeof=_size)
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

    def figures(self, name: Hashable, make: Callable[[], Made]) -> Made:
        """Return a slow count: after a change the earlier value, until the next is there.

        Counting takes at most a tenth of the time, however often the store changes.
        """
        version, found = self._site.version(), self._values.get(name)
        if found is None:
            return self.value(name, make)
        if found.version != version and time.monotonic() > found.due and self._begin(name):
            threading.Thread(target=self._make, args=(name, version, make), daemon=True).start()
        return cast("Made", found.value)

    def is_current(self, name: Hashable) -> bool:
        """Return whether the value of that name belongs to the present version of the store."""
        found = self._values.get(name)
        return found is not None and found.version == self._site.version()

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

    def page(self, make: Callable[[], str]) -> str:
        """Return the page of this address and language, made once."""
        return self._page(make).body.decode()

    def response(
        self, make: Callable[[], str], content_type: str = _HTML, language: str | None = None
    ) -> Response:
        """Return the page as a response with an ETag.

        ``language`` is that of the page, by default the one of the reader; it is empty where the
        address alone decides.
        """
        page = self._page(make, language)
        response = Response(page.body, content_type=content_type)
        response.set_etag(page.etag, weak=True)  # a proxy may compress it
        return response

    def _page(self, make: Callable[[], str], language: str | None = None) -> _Page:
        where = request.root_path, request.path, request.query_string
        key = self._site.version(), *where, chosen_language() if language is None else language
        with self._lock:
            found = self._pages.get(key)
        (CACHE_MISSES if found is None else CACHE_HITS).labels("pages").inc()
        if found is None:
            body = make().encode()
            found = _Page(body, hashlib.blake2b(body, digest_size=16).hexdigest())
            if _size(found) <= self._pages.maxsize:
                with self._lock:
                    self._pages[key] = found
        return found

    def reader(self, language: str) -> Reader:
        """Return a reader that caches labels."""
        with self._lock:
            version, found = self._site.version(), self._readers.get(language)
            if found is None or found[0] != version:
                found = version, Reader(self._site.store, language, self._known)
                self._readers[language] = found
            return found[1]
