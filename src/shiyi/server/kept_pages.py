"""Pages that were made, packed by what is alike in them, in bounded memory."""

import hashlib
import sys
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from shiyi.server.packing import SMALL, WHOLE, coding

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

MOST: Final = 24 << 20  # bytes of packed pages: some thirteen thousand
_LEVEL: Final = 3  # of zstd: 0.05 ms to pack a page, 0.02 ms to unpack it
_MODELS: Final = 2  # pages of a kind, after which the next are packed by what they say alike
_LONGEST: Final = 1 << 16  # bytes of a model
_BESIDE: Final = 300  # bytes that a page takes beside its own and its address
Key = tuple[str, ...]  # the parts of an address, and the language


@dataclass(frozen=True, slots=True)
class Page:
    """A page as it is kept: in two fifths of what it takes packed alone."""

    packed: bytes
    like: zstd.ZstdDict | None
    size: int
    digest: bytes

    def body(self) -> bytes:
        """Give the bytes of the page."""
        if self.like is None:
            return zstd.decompress(self.packed)
        return zstd.decompress(self.packed, zstd_dict=self.like)

    def coded(self) -> tuple[bytes, str]:
        """Give the bytes for this request's client, and the name of their coding, if any."""
        name = coding() if self.size >= SMALL else ""
        return (WHOLE[name](self.body()) if name else self.body()), name


class KeptPages:
    """Keeps ``most`` bytes of pages; what was asked for longest ago goes first.

    The first pages of a kind are the dictionary of those after them (RFC 8878, section 5). Not safe
    between threads, but for :meth:`made`.
    """

    def __init__(self, most: int = MOST) -> None:
        self.held, self._most = 0, most
        self._pages: OrderedDict[Key, Page] = OrderedDict()
        self._models: dict[str, list[bytes]] = {}
        self._likes: dict[str, zstd.ZstdDict] = {}

    def find(self, key: Key) -> Page | None:
        """Give a kept page."""
        found = self._pages.get(key)
        if found is not None:
            self._pages.move_to_end(key)
        return found

    def made(self, kind: str, body: bytes) -> Page:
        """Pack a page; ``kind`` tells what others it is like."""
        like = self._likes.get(kind)
        packed = (
            zstd.compress(body, _LEVEL) if like is None
            else zstd.compress(body, _LEVEL, zstd_dict=like.as_digested_dict)
        )  # fmt: skip
        return Page(packed, like, len(body), hashlib.blake2b(body, digest_size=16).digest())

    def keep(self, key: Key, kind: str, page: Page) -> None:
        """Keep a page, and learn from the first of a kind."""
        if key in self._pages:
            return
        if page.like is None:
            self._learn(kind, page.body)
        self._pages[key] = page
        self.held += _size(key, page)
        while self.held > self._most:
            self.held -= _size(*self._pages.popitem(last=False))

    def clear(self) -> None:
        """Forget the pages; what is alike in them stays known."""
        self._pages.clear()
        self.held = 0

    def _learn(self, kind: str, body: Callable[[], bytes]) -> None:
        models = self._models.setdefault(kind, [])
        if len(models) < _MODELS:
            models.append(body()[:_LONGEST])
        if len(models) == _MODELS and kind not in self._likes:
            self._likes[kind] = zstd.ZstdDict(b"".join(models), is_raw=True)


def _size(key: Key, page: Page) -> int:
    return len(page.packed) + sum(map(len, key)) + _BESIDE
