"""What was made from the store is kept until the store changes."""

import threading
import time
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Final, TypeVar, cast

from flask import Response, request

from shiyi.model.tally import TALLY
from shiyi.server.again import lasts
from shiyi.server.kept_pages import MOST, KeptPages, Page
from shiyi.server.known import Known
from shiyi.server.reading import Reader
from shiyi.server.site import Site
from shiyi.server.wording import chosen_language

Made = TypeVar("Made")
_SELDOM: Final = 9.0  # times as long between two counts as one of them takes (ours)
_HTML: Final = "text/html; charset=utf-8"


@dataclass(frozen=True, slots=True)
class _Value:
    version: int
    value: object
    due: float  # not counted again before, in monotonic seconds


class Kept:
    """Rendered pages and labels of one site, forgotten when its version changes."""

    def __init__(self, site: Site, known: Known | None = None, most: int = MOST) -> None:
        """Keep ``most`` bytes of pages."""
        self._site, self._known, self._lock = site, known, threading.Lock()
        self._version = site.version()
        self._pages = KeptPages(most)
        self._readers: dict[str, Reader] = {}
        self._values: dict[Hashable, _Value] = {}
        self._makers: dict[Hashable, threading.Lock] = {}
        self._making: set[Hashable] = set()

    def value(self, name: Hashable, make: Callable[[], Made]) -> Made:
        """Give what is kept by that name, made once for each version of the store."""
        with self._alone(name):
            version, found = self._now(name)
            if found is None or found.version != version:
                found = self._made(name, version, make)
        return cast("Made", found.value)

    def figures(self, name: Hashable, make: Callable[[], Made]) -> Made:
        """Give what takes long to count: after a change, the earlier until the new are there.

        Counting anew takes no more than a tenth of the time, however often the store changes.
        """
        version, found = self._now(name)
        if found is None:
            return self.value(name, make)
        if found.version != version and time.monotonic() > found.due and self._begin(name):
            threading.Thread(target=self._made, args=(name, version, make), daemon=True).start()
        return cast("Made", found.value)

    def is_current(self, name: Hashable) -> bool:
        """Tell whether what is kept by that name is of this version of the store."""
        version, found = self._now(name)
        return found is not None and found.version == version

    def _now(self, name: Hashable) -> tuple[int, "_Value | None"]:
        with self._lock:
            self._forget_if_changed()
            return self._version, self._values.get(name)

    def _alone(self, name: Hashable) -> threading.Lock:
        with self._lock:
            return self._makers.setdefault(name, threading.Lock())

    def _begin(self, name: Hashable) -> bool:
        with self._lock:
            if name in self._making:
                return False
            self._making.add(name)
            return True

    def _made(self, name: Hashable, version: int, make: Callable[[], object]) -> "_Value":
        began = time.monotonic()
        try:
            value = make()
            ended = time.monotonic()
            made = _Value(version, value, ended + _SELDOM * (ended - began))
            with self._lock:
                self._values[name] = made
            return made
        finally:
            with self._lock:
                self._making.discard(name)

    def page(self, make: Callable[[], str]) -> str:
        """Give the page for this address and language, made once."""
        return self._page(make).body().decode()

    def response(self, make: Callable[[], str], content_type: str = _HTML) -> Response:
        """Answer with the same, in the coding that the client prefers; its ETag is of what it says."""
        page = self._page(make)
        body, name = page.coded()
        response = Response(body, content_type=content_type)
        response.headers["Vary"] = "Accept-Encoding"
        if name:
            response.headers["Content-Encoding"] = name
        response.set_etag(page.digest.hex(), weak=True)
        return response

    def _page(self, make: Callable[[], str]) -> Page:
        asked = request.query_string.decode("latin-1")
        key = (request.root_path, request.path, asked, chosen_language())
        with self._lock:
            self._forget_if_changed()
            version, found = self._version, self._pages.find(key)
        TALLY.add("cache_misses" if found is None else "cache_hits", "pages")
        if found is None:
            kind = request.endpoint or ""
            found = self._pages.made(kind, make().encode())
            with self._lock:
                if version != self._version:
                    return found
                self._pages.keep(key, kind, found)
        lasts(version)
        return found

    def reader(self, language: str) -> Reader:
        """Give a reader that remembers labels."""
        with self._lock:
            self._forget_if_changed()
            if language not in self._readers:
                self._readers[language] = Reader(self._site.store, language, self._known)
            return self._readers[language]

    def _forget_if_changed(self) -> None:
        if (version := self._site.version()) != self._version:
            self._pages.clear()
            self._readers.clear()
            self._version = version
