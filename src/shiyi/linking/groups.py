"""Numbers by key: a trie of the keys, and the numbers of each in order."""

from array import array
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Self

import numpy as np

from shiyi.model.mapped import Mapped
from shiyi.model.strings import Array, bounds_of, ends
from shiyi.model.trie import Trie

_WIDE: Final = np.uint64(32)  # bits of a number


class Gathered:
    """Keys with a number each, as they come; a key is held once, and no object for a number."""

    __slots__ = ("_keys", "_numbers", "_of")

    def __init__(self) -> None:
        self._keys: dict[str, int] = {}
        self._of, self._numbers = array("I"), array("I")

    def know(self, key: str) -> int:
        """Take a key that may have no number; give its place among those that came."""
        return self._keys.setdefault(key, len(self._keys))

    def add(self, key: str, number: int) -> None:
        """Take a number, below 2³², of a key."""
        self._of.append(self.know(key))
        self._numbers.append(number)

    def groups(self) -> "Groups":
        """Put them in order; nothing is gathered then."""
        keys = Trie.of(self._keys)
        places = np.fromiter(map(keys.place, self._keys), np.uint64, len(self._keys))
        self._keys.clear()
        pairs = places[np.asarray(self._of)] << _WIDE | np.asarray(self._numbers)
        del self._of[:], self._numbers[:]
        pairs = np.unique(pairs)
        bounds = np.searchsorted(pairs, np.arange(len(keys) + 1, dtype=np.uint64) << _WIDE)
        return Groups(keys, bounds, pairs.astype(np.uint32))


@dataclass(frozen=True, slots=True)
class Groups:
    """Numbers by key.

    >>> some = Gathered()
    >>> for key, number in (("goji", 3), ("姜", 2), ("goji", 1), ("goji", 3)):
    ...     some.add(key, number)
    >>> some = some.groups()
    >>> some.under("goji"), some.under("kava"), list(some.starting("g"))
    ([1, 3], [], [('goji', 1), ('goji', 3)])
    """

    keys: Trie
    bounds: Array
    held: Array

    @classmethod
    def over(cls, made: Mapped, name: str) -> Self:
        """Take them from a file."""
        return cls(made.trie(name), bounds_of(made[f"{name}.ends"]), made[f"{name}.held"])

    def arrays(self, name: str) -> dict[str, Array]:
        """Give them as arrays to write."""
        return self.keys.arrays(name) | {
            f"{name}.ends": ends(self.bounds),
            f"{name}.held": self.held,
        }

    def under(self, key: str) -> list[int]:
        """List the numbers under a key."""
        place = self.keys.place(key)
        return [] if place is None else self._at(place)

    def starting(self, prefix: str) -> Iterator[tuple[str, int]]:
        """Yield the keys that begin with ``prefix``, in order, each with every number under it."""
        return (
            (key, each) for key, place in self.keys.starting(prefix) for each in self._at(place)
        )

    def _at(self, place: int) -> list[int]:
        found: list[int] = self.held[self.bounds[place] : self.bounds[place + 1]].tolist()
        return found
