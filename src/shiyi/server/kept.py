"""What was made from the store is kept until the store changes."""

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Final

from flask import request

from shiyi.server.reading import Reader
from shiyi.server.site import Site
from shiyi.server.wording import chosen_language

PAGES: Final = 512  # rendered pages kept; some tens of kilobytes each


class Kept:
    """Rendered pages and labels of one site, forgotten when its version changes."""

    def __init__(self, site: Site) -> None:
        self._site, self._lock = site, threading.Lock()
        self._version = site.version()
        self._pages: OrderedDict[Hashable, str] = OrderedDict()
        self._readers: dict[str, Reader] = {}

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
                self._readers[language] = Reader(self._site.store, language)
            return self._readers[language]

    def _forget_if_changed(self) -> None:
        if (version := self._site.version()) != self._version:
            self._pages.clear()
            self._readers.clear()
            self._version = version
