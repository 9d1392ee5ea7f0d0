"""What was made from the store is kept until the store changes."""

import sys
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Final, TypeVar, cast

from flask import request

from shiyi.server.known import Known
from shiyi.server.reading import Reader
from shiyi.server.site import Site
from shiyi.server.wording import chosen_language

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

Made = TypeVar("Made")
MOST: Final = 24 << 20  # bytes of packed pages: some five thousand, a tenth of them unpacked
_SELDOM: Final = 9.0  # times as long between two counts as one of them takes (ours)
_LEVEL: Final = 3  # of zstd: 0.1 ms to pack a page, 0.02 ms to unpack it


@dataclass(frozen=True, slots=True)
class _Value:
    version: int
    value: object
    due: float  # not counted again before, in monotonic seconds


class Kept:
    """Rendered pages and labels of one site, forgotten when its version changes."""

    def __init__(self, site: Site, known: Known | None = None, most: int = MOST) -> None:
        """Keep ``most`` bytes of pages; what was asked for longest ago goes first."""
        self._most, self._held = most, 0
        self._site, self._known, self._lock = site, known, threading.Lock()
        self._version = site.version()
        self._pages: OrderedDict[tuple[str, str], bytes] = OrderedDict()
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
        key = (request.full_path, chosen_language())
        with self._lock:
            self._forget_if_changed()
            version, found = self._version, self._pages.get(key)
            if found is not None:
                self._pages.move_to_end(key)
        if found is not None:
            return zstd.decompress(found).decode()
        made = make()
        self._keep(key, zstd.compress(made.encode(), _LEVEL), version)
        return made

    def _keep(self, key: tuple[str, str], packed: bytes, version: int) -> None:
        with self._lock:
            if version != self._version or key in self._pages:
                return
            self._pages[key] = packed
            self._held += len(packed) + len(key[0])
            while self._held > self._most:
                (address, _), gone = self._pages.popitem(last=False)
                self._held -= len(gone) + len(address)

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
            self._held = 0
            self._readers.clear()
            self._version = version
