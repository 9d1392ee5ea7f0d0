"""Ascending numbers in many groups, each as the step from the one before: a byte where it is short."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Self

import numpy as np
from numpy.typing import NDArray

from shiyi.model.strings import Array, bounds_of, ends

Ints = NDArray[np.int32]
_BITS: Final = 7  # of a step that a byte holds
_MOST: Final = 127
_AT_ONCE: Final = 1 << 22  # numbers packed together, since that takes some ten times their room
_SHIFTS: Final = (_BITS, 2 * _BITS, 3 * _BITS)


@dataclass(frozen=True, slots=True)
class Steps:
    """Numbers below 2²⁸ in groups.

    >>> some = Steps.of([[0, 5, 5, 300], [], [7]])
    >>> some.under(0).tolist(), some.under(1).tolist(), some.among(np.array([2, 0])).tolist()
    ([0, 5, 5, 300], [], [7, 0, 5, 5, 300])
    """

    bounds: Array
    held: NDArray[np.uint8]

    @classmethod
    def of(cls, groups: Iterable[Sequence[int] | Array]) -> Self:
        """Pack some groups; the numbers of a group come in order, and may come twice."""
        packed, some, count = [], list[Array](), 0
        for group in groups:
            some.append(np.asarray(group, np.int64))
            if (count := count + len(group)) >= _AT_ONCE:
                packed.append(cls._together(some))
                some, count = [], 0
        packed.append(cls._together(some))
        before = np.cumsum([0, *(len(each.held) for each in packed)])
        bounds = [each.bounds[1:] + start for each, start in zip(packed, before, strict=False)]
        return cls(np.concatenate([[0], *bounds]), np.concatenate([each.held for each in packed]))

    @classmethod
    def _together(cls, groups: Sequence[Array]) -> Self:
        flat = np.concatenate([np.zeros(0, np.int64), *groups])
        return cls.flat(flat, np.cumsum([0, *map(len, groups)]))

    @classmethod
    def flat(cls, numbers: Array, bounds: Array) -> Self:
        """Pack groups that lie one after the other between ``bounds``."""
        steps = np.diff(numbers, prepend=-1)
        firsts = bounds[:-1][bounds[:-1] < bounds[1:]]
        steps[firsts] = numbers[firsts] + 1
        sizes = 1 + sum((steps >> shift > 0).astype(np.int8) for shift in _SHIFTS)
        lasts = np.cumsum(sizes)
        held = np.zeros(lasts[-1] if len(lasts) else 0, np.uint8)
        for back, shift in enumerate((0, *_SHIFTS)):
            there = sizes > back
            held[lasts[there] - 1 - back] = steps[there] >> shift & _MOST | (back > 0) << _BITS
        return cls(np.concatenate([[0], lasts])[bounds], held)

    @classmethod
    def over(cls, arrays: Mapping[str, Array], name: str) -> Self:
        """Take what :meth:`arrays` gave."""
        return cls(bounds_of(arrays[f"{name}.ends"]), arrays[f"{name}.steps"])

    def arrays(self, name: str) -> dict[str, Array]:
        """Give them as arrays to write."""
        return {f"{name}.ends": ends(self.bounds), f"{name}.steps": self.held}

    def under(self, group: int) -> Ints:
        """Give the numbers of a group."""
        held = self.held[self.bounds[group] : self.bounds[group + 1]]
        last, summed = _summed(held)
        found: Ints = (summed[last] - 1).astype(np.int32)
        return found

    def among(self, groups: Array) -> Ints:
        """Give the numbers of some groups, one group after the other."""
        if len(groups) < 2:
            return self.under(int(groups[0])) if len(groups) else np.zeros(0, np.int32)
        firsts = self.bounds[groups]
        sizes = self.bounds[groups + 1] - firsts
        last, summed = _summed(self.held[ranges(firsts, sizes)])
        starts = np.cumsum(sizes) - sizes
        before = np.concatenate([[0], summed])[starts]  # what the groups before come to
        found: Ints = (summed - np.repeat(before, sizes))[last].astype(np.int32) - 1
        return found


def ranges(firsts: Array, sizes: Array) -> NDArray[np.int64]:
    """Give the places of so many items from each first one on.

    >>> ranges(np.array([7, 2]), np.array([2, 3])).tolist()
    [7, 8, 2, 3, 4]
    """
    ended = np.cumsum(sizes)
    found: NDArray[np.int64] = np.arange(int(sizes.sum())) + np.repeat(
        firsts - ended + sizes, sizes
    )
    return found


def _summed(held: NDArray[np.uint8]) -> tuple[NDArray[np.bool_], Array]:
    """Tell which bytes end a step, and what all steps come to until then."""
    more = held >> _BITS  # 1 where the step goes on in the next byte
    left = more.copy()  # bytes of the step that follow
    for _ in range(2):
        left[:-1] = more[:-1] * (1 + left[1:])
    return more == 0, np.cumsum((held & _MOST).astype(np.int64) << left * _BITS)
