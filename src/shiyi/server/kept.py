"""What was made from the store is kept until the store changes."""

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Any, Final, TypeVar, cast

from flask import request

from shiyi.server.known import Known
from shiyi.server.reading import Reader
from shiyi.server.site import Site
from shiyi.server.wording import chosen_language

Made = TypeVar("Made")
PAGES: Final = 512  # rendered pages kept; some tens of kilobytes each


class Kept:
    """Rendered pages and labels of one site, forgotten when its version changes."""

    def __init__(self, site: Site, known: Known | None = None) -> None:
        self._site, self._known, self._lock = site, known, threading.Lock()
        self._version = site.version()
        self._pages: OrderedDict[Hashable, str] = OrderedDict()
        self._readers: dict[str, Reader] = {}
        self._values: dict[Hashable, tuple[int, Any]] = {}
        self._making: set[Hashable] = set()

    def value(self, name: Hashable, make: Callable[[], Made]) -> Made:
        """Give what is kept by that name, made once for each version of the store."""
        with self._lock:
            self._forget_if_changed()
            version, found = self._version, self._values.get(name)
        if found and found[0] == version:
            return cast("Made", found[1])
        return self._made(name, version, make)

    def figures(self, name: Hashable, make: Callable[[], Made]) -> Made:
        """Give what takes long to count: after a change, the earlier until the new are there."""
        with self._lock:
            self._forget_if_changed()
            version, found = self._version, self._values.get(name)
            begin = found is not None and found[0] != version and name not in self._making
            if begin:
                self._making.add(name)
        if found is None:
            return self._made(name, version, make)
        if begin:
            threading.Thread(target=self._made, args=(name, version, make), daemon=True).start()
        return cast("Made", found[1])

    def _made(self, name: Hashable, version: int, make: Callable[[], Made]) -> Made:
        try:
            made = make()
            with self._lock:
                self._values[name] = version, made
            return made
        finally:
            with self._lock:
                self._making.discard(name)

    def page(self, make: Callable[[], str]) -> str:
        """Give the page for this address and language, made once."""
        key = (request.full_path, chosen_language())
        with self._lock:
            self._forget_if_changed()
            if key in self._pages:
                self._pages.move_to_end(key)
                return self._pages[key]
            version = self._version
        made = make()
        with self._lock:
            if version == self._version:
                self._pages[key] = made
                while len(self._pages) > PAGES:
                    self._pages.popitem(last=False)
        return made

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
