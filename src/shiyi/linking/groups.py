"""Numbers by key: a trie of the keys, and the numbers of each in order."""

from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from itertools import chain
from typing import Self

import numpy as np

from shiyi.model.mapped import Mapped
from shiyi.model.strings import Array, bounds_of, ends
from shiyi.model.trie import Trie


@dataclass(frozen=True, slots=True)
class Groups:
    """Numbers by key.

    >>> some = Groups.of({"goji": {3, 1}, "姜": {2}})
    >>> some.under("goji"), some.under("kava"), list(some.starting("g"))
    ([1, 3], [], [('goji', 1), ('goji', 3)])
    """

    keys: Trie
    bounds: Array
    held: Array

    @classmethod
    def of(cls, held: Mapping[str, AbstractSet[int]]) -> Self:
        """Take them from a mapping."""
        keys = Trie.of(held)
        bounds = np.cumsum([0, *(len(held[key]) for key in keys)])
        every = chain.from_iterable(sorted(held[key]) for key in keys)
        return cls(keys, bounds, np.fromiter(every, np.uint32))

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
