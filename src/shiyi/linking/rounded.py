"""Vectors in eight bits, searched exactly as they lie in a file: no copy of them in memory."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final, Self

import numpy as np
from numpy.typing import NDArray

from shiyi.errors import IndexMismatchError
from shiyi.linking.embedder import Vectors
from shiyi.model.mapped import Mapped
from shiyi.model.strings import Array

Levels = NDArray[np.int8]
Near = list[tuple[int, float]]
_LEVELS: Final = 127
_SLACK: Final = 1e-5  # of sums in single precision
_ROWS: Final = 65_536  # vectors compared at a time, which bounds the memory of a search
_PART: Final = 1_024  # of these, where they are widened to single precision, that stay in the cache
_AT_ONCE: Final = 16  # vectors sought at a time: as quick as one, since memory is what takes long


@dataclass(frozen=True, slots=True, eq=False)
class Rounded:
    """Vectors of length 1 at most, as whole numbers of a step each of its own, its length kept.

    192 numbers of a text are off by 0.6 % of its length, a cosine by 0.0005.
    """

    levels: Levels
    steps: Vectors

    @classmethod
    def of(cls, rows: Vectors | NDArray[np.float16]) -> Self:
        """Round ``rows``."""
        parts = [cls._part(rows[at : at + _ROWS]) for at in range(0, len(rows), _ROWS)]
        return cls.joined(parts or [cls._part(rows)])

    @classmethod
    def _part(cls, rows: Vectors | NDArray[np.float16]) -> Self:
        rows = rows.astype(np.float32, copy=False)
        largest = np.abs(rows).max(axis=1, initial=0)
        numbers = np.rint(rows * (_LEVELS / np.where(largest > 0, largest, 1))[:, None])
        lengths = np.linalg.norm(numbers, axis=1)
        steps = np.linalg.norm(rows, axis=1) / np.where(lengths > 0, lengths, 1)
        return cls(numbers.astype(np.int8), steps.astype(np.float32))

    @classmethod
    def joined(cls, parts: Iterable[Self]) -> Self:
        """Put some together, in their order."""
        every = [*parts]
        return cls(np.concatenate([each.levels for each in every]),
                   np.concatenate([each.steps for each in every]))  # fmt: skip

    @classmethod
    def over(cls, said: Mapped, name: str) -> Self:
        """Take them from a file; ``IndexMismatchError`` where it does not hold so many."""
        levels, steps = said[f"{name}.levels"], said[f"{name}.steps"]
        if levels.ndim != 2 or steps.shape != levels.shape[:1]:
            raise IndexMismatchError(f"{said.path} is damaged: run `shiyi build` again")
        return cls(levels, steps)

    def arrays(self, name: str) -> dict[str, Array]:
        """Give them as arrays to write."""
        return {f"{name}.levels": self.levels, f"{name}.steps": self.steps}

    def __len__(self) -> int:
        """Count the vectors."""
        return len(self.steps)

    def some(self, places: NDArray[np.integer] | slice) -> Vectors:
        """Give those at some places in single precision."""
        found: Vectors = self.levels[places] * self.steps[places, None]
        return found

    def nearest(self, asked: Vectors, k: int) -> list[Near]:
        """Give for each vector asked the places and cosines of the ``k`` nearest, nearest first."""
        return self._search(asked, lambda cosines, off: _kth(cosines, k) - 2 * off, k)

    def above(self, asked: Vectors, least: float) -> list[Near]:
        """Give for each vector asked every place whose cosine is at least ``least``."""
        found = self._search(asked, lambda _, off: least - off, len(self))
        return [[each for each in near if each[1] >= least] for near in found]

    def _search(
        self, asked: Vectors, least: Callable[[Vectors, float], float], most: int
    ) -> list[Near]:
        """Look twice at what may be near: cosines ``off`` by so much at most, and the exact ones."""
        found: list[Near] = []
        for first in range(0, len(asked), _AT_ONCE):
            some = asked[first : first + _AT_ONCE]
            multiply, off = _multiplying(some)
            kept: list[list[NDArray[np.intp]]] = [[] for _ in some]
            for at in range(0, len(self), _ROWS):
                cosines = multiply(self.levels[at : at + _ROWS]) * self.steps[at : at + _ROWS]
                for places, row, wrong in zip(kept, cosines, off, strict=True):
                    places.append(at + np.flatnonzero(row >= least(row, wrong)))
            found += [self._ranked(row, np.concatenate([[], *places]).astype(np.intp), most)
                      for row, places in zip(some, kept, strict=True)]  # fmt: skip
        return found

    def _ranked(self, row: Vectors, places: NDArray[np.intp], most: int) -> Near:
        cosines = np.clip(self.some(places) @ row, -1, 1)
        order = np.lexsort((places, -cosines))[:most]
        return list(zip(places[order].tolist(), cosines[order].tolist(), strict=True))


def _kth(cosines: Vectors, k: int) -> float:
    k = min(k, len(cosines))
    return float(np.partition(cosines, -k)[-k])


def _multiplying(asked: Vectors) -> tuple[Callable[[Levels], Vectors], list[float]]:
    """Give what multiplies every row of levels with vectors, and how far off each cosine may be.

    With numkong (extra ``hnsw``) in eight bits: with q' for the rounded q, |q·r - q'·r| is at most
    |q - q'| |r|. Else in single precision.
    """
    try:
        import numkong
    except ImportError:
        return lambda levels: _widened(levels, asked), [_SLACK] * len(asked)
    rounded = Rounded.of(asked)
    packed = numkong.dots_pack(rounded.levels, dtype="int8")
    off = np.linalg.norm(asked - rounded.some(slice(None)), axis=1) + _SLACK

    def multiply(levels: Levels) -> Vectors:
        products = np.asarray(numkong.dots_packed(levels, packed))
        cosines: Vectors = np.ascontiguousarray(products.T) * rounded.steps[:, None]
        return cosines

    return multiply, off.tolist()


def _widened(levels: Levels, asked: Vectors) -> Vectors:
    found = np.empty((len(asked), len(levels)), np.float32)
    for at in range(0, len(levels), _PART):
        np.matmul(
            asked, levels[at : at + _PART].astype(np.float32).T, out=found[:, at : at + _PART]
        )
    return found
