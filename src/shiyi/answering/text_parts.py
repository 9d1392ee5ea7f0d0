"""What texts are put together of: their words, and the strings that many of them share."""

import itertools
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Final, Self, overload

import numpy as np
from numpy.typing import NDArray
from typing_extensions import override

from shiyi.linking.normalise import fold, is_cjk
from shiyi.model.mapped import Mapped
from shiyi.model.shortened import Shortened
from shiyi.model.strings import Alike, Array, bounds_of, ends
from shiyi.model.trie import Trie

_SHORT: Final = 48  # bytes of a part, up to which it is kept in the trie
_LEARNT: Final = 16_384  # long parts from which is learnt what they share
_TOGETHER: Final = 32  # of these that are packed together, in half the room
_READ: Final = 256  # times as many that stay as they were read last


def words(text: str) -> list[str]:
    """Part a text into words; Chinese runs into pairs, a lone character into itself.

    >>> words("枸杞子, 姜 goji-berry")
    ['枸杞', '杞子', '姜', 'goji', 'berry']
    """
    found: list[str] = []
    for kind, run in itertools.groupby(fold(text), _script):
        said = "".join(run)
        if kind == "cjk":
            found += [a + b for a, b in itertools.pairwise(said)] or [said]
        elif kind == "word":
            found.append(said)
    return found


def _script(character: str) -> str:
    if is_cjk(character):
        return "cjk"
    return "word" if character.isalnum() else ""


@dataclass(frozen=True, eq=False)
class Parts(Alike[str]):
    """Strings by number: short ones in a trie, then long ones, packed by what they share."""

    short: Trie
    long: NDArray[np.uint8]
    bounds: Array
    shortened: Shortened
    longs: int  # how many long ones

    @cached_property
    def _block(self) -> Callable[[int], list[str]]:
        return lru_cache(_READ)(self._read)

    @classmethod
    def of(cls, texts: Iterable[str]) -> Self:
        """Pack different strings, in an order of its own."""
        short, long = list[str](), list[str]()
        for each in texts:
            fits = len(each) <= _SHORT and len(each.encode("utf-8", "replace")) <= _SHORT
            (short if fits and "\0" not in each else long).append(each)
        shortened = Shortened.of(long[:_LEARNT])
        long = [each.replace("\0", "\ufffd") for each in long]
        packed = [
            _bytes(shortened.short("\0".join(long[at : at + _TOGETHER])))
            for at in range(0, len(long), _TOGETHER)
        ]
        bounds = np.cumsum([0, *map(len, packed)])
        held = np.frombuffer(b"".join(packed), np.uint8)
        return cls(Trie.of(short), held, bounds, shortened, len(long))

    @classmethod
    def over(cls, said: Mapped) -> Self:
        """Take them from a file."""
        shortened = Shortened.over(said["long.shared"].tobytes())
        bounds, count = bounds_of(said["long.ends"]), int(said["long.count"][0])
        return cls(said.trie("short"), said["long"], bounds, shortened, count)

    def arrays(self) -> dict[str, Array]:
        """Give them as arrays to write."""
        shared = np.frombuffer(self.shortened.written, np.uint8)
        return self.short.arrays("short") | {
            "long": self.long, "long.ends": ends(self.bounds), "long.shared": shared,
            "long.count": np.array([self.longs], np.int64),
        }  # fmt: skip

    @override
    def __len__(self) -> int:
        return len(self.short) + self.longs

    @overload
    def __getitem__(self, number: int) -> str: ...
    @overload
    def __getitem__(self, number: slice) -> tuple[str, ...]: ...
    @override
    def __getitem__(self, number: int | slice) -> str | tuple[str, ...]:
        if isinstance(number, slice):
            return tuple(self[each] for each in range(*number.indices(len(self))))
        at = number - len(self.short)
        if at < 0:
            return self.short[number]
        return self._block(at // _TOGETHER)[at % _TOGETHER]

    def _read(self, block: int) -> list[str]:
        held = self.long[self.bounds[block] : self.bounds[block + 1]].tobytes()
        return self.shortened.text(held if self.shortened.shared else held.decode()).split("\0")


def _bytes(held: str | bytes) -> bytes:
    return held if isinstance(held, bytes) else held.encode("utf-8", "replace")
