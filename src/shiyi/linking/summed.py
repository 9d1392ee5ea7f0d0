"""Vectors that are sums of the rows of a table, as the numbers of these rows: exact, and small.

A static model gives a text the sum of the vectors of its pieces, scaled to length 1. So the pieces
are kept, in a twentieth of the room of a rounded vector, and a question is multiplied with each
piece once instead of with each text.
"""

import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from typing import Final, Self

import numpy as np
from numpy.typing import NDArray

from shiyi.errors import IndexMismatchError
from shiyi.linking.embedder import Embedder, Vectors, unit
from shiyi.model.mapped import Mapped
from shiyi.model.strings import Array, least

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

Near = list[tuple[int, float]]
_ROWS: Final = 8_192  # sums made at a time, that stay in the cache
_FEW: Final = 4_096  # numbers of a group, below which it is summed at once
_AT_ONCE: Final = 16  # vectors sought at a time: nearly as quick as one
_THOROUGH: Final = 9  # of zstd's levels
_OFF: Final = 6e-4  # of a cosine, whose length is kept in half precision


class Sums:
    """Sums of some rows of a table; those of equally many lie together, one number of each after the other."""

    def __init__(self, counts: Array, numbers: Array) -> None:
        """Take how many rows each is the sum of, and the numbers as :meth:`of` lays them out."""
        self.counts, self.numbers = counts, numbers
        self._order = np.argsort(counts, kind="stable").astype(np.int32)
        self._rank = np.empty(len(counts), np.int32)
        self._rank[self._order] = np.arange(len(counts), dtype=np.int32)
        self._sizes = np.bincount(counts, minlength=1)
        self._firsts = np.cumsum(self._sizes) - self._sizes
        held = self._sizes * np.arange(len(self._sizes))
        self._starts = np.cumsum(held) - held
        if len(numbers) != held.sum():
            raise ValueError("there are other numbers than counted")

    @classmethod
    def of(cls, rows: Sequence[Sequence[int]], most: int) -> Self:
        """Lay out the numbers, below ``most``, of the rows each is the sum of."""
        counts = np.fromiter(map(len, rows), np.int64, len(rows))
        flat = np.fromiter(chain.from_iterable(rows), least(most), int(counts.sum()))
        return cls.flat(counts, flat)

    @classmethod
    def flat(cls, counts: Array, flat: Array) -> Self:
        """Lay out numbers that come one sum after the other, so many of each."""
        ends = np.cumsum(counts)
        laid = [np.zeros(0, flat.dtype)]
        for count in np.unique(counts[counts > 0]).tolist():
            firsts = (ends - counts)[counts == count]
            laid.append(flat[firsts + np.arange(count)[:, None]].ravel())
        return cls(counts.astype(least(int(counts.max(initial=0)))), np.concatenate(laid))

    @classmethod
    def joined(cls, every: Sequence["Sums"]) -> Self:
        """Lay out some, one after the other, together."""
        laid: dict[int, list[Array]] = {}
        for each in every:
            for count, _, columns in each._groups():
                laid.setdefault(count, []).append(columns)
        numbers = [np.concatenate(laid[count], axis=1).ravel() for count in sorted(laid)]
        counts = np.concatenate([each.counts for each in every])
        return cls(counts.astype(least(int(counts.max(initial=0)))),
                   np.concatenate([every[0].numbers[:0], *numbers]))  # fmt: skip

    @classmethod
    def over(cls, said: Mapped, name: str) -> Self:
        """Take them from a file; ``IndexMismatchError`` where they do not fit together."""
        try:
            return cls(said[f"{name}.counts"], said[f"{name}.numbers"])
        except (ValueError, TypeError) as fault:
            raise IndexMismatchError(f"{said.path} is damaged: run `shiyi build` again") from fault

    def arrays(self, name: str) -> dict[str, Array]:
        """Give them as arrays to write."""
        return {f"{name}.counts": self.counts, f"{name}.numbers": self.numbers}

    @classmethod
    def unpacked(cls, said: Mapped, name: str) -> Self:
        """Take what :meth:`packed` gave from a file; ``IndexMismatchError`` where it is damaged."""
        width = f"u{int(said[f'{name}.width'][0])}"
        try:
            flat = np.frombuffer(zstd.decompress(said[f"{name}.packed"].data), width)
            return cls.flat(said[f"{name}.counts"].astype(np.int64), flat)
        except (zstd.ZstdError, ValueError, IndexError) as fault:
            raise IndexMismatchError(f"{said.path} is damaged: run `shiyi build` again") from fault

    def packed(self, name: str) -> dict[str, Array]:
        """Give them as arrays to write of what is seldom read: a third of the room."""
        counts = self.counts.astype(np.int64)
        firsts = np.cumsum(counts) - counts
        flat = np.empty(int(counts.sum()), self.numbers.dtype)
        for count, rows, columns in self._groups():
            flat[firsts[rows] + np.arange(count)[:, None]] = columns
        held = zstd.compress(flat.tobytes(), _THOROUGH)
        return {
            f"{name}.counts": self.counts, f"{name}.packed": np.frombuffer(held, np.uint8),
            f"{name}.width": np.array([flat.itemsize], np.uint8),
        }  # fmt: skip

    def _groups(self) -> Iterator[tuple[int, NDArray[np.int32], Array]]:
        """Yield how many rows some are the sum of, their places, and the numbers in columns."""
        for count in np.flatnonzero(self._sizes[1:]) + 1:
            size, first, start = self._sizes[count], self._firsts[count], self._starts[count]
            columns = self.numbers[start : start + count * size].reshape(count, size)
            yield int(count), self._order[first : first + size], columns

    def holding(self, most: int) -> tuple[Array, NDArray[np.int32]]:
        """Give for each row below ``most`` where the places begin of the sums it is in, and these."""
        places = [np.tile(rows, count) for count, rows, _ in self._groups()]
        order = np.argsort(self.numbers)
        found = np.concatenate([np.zeros(0, np.int32), *places])[order]
        return np.cumsum([0, *np.bincount(self.numbers, minlength=most).tolist()]), found

    def __len__(self) -> int:
        """Count the sums."""
        return len(self.counts)

    def below(self, most: int) -> bool:
        """Tell whether all rows they are of are below ``most``."""
        return not len(self.numbers) or int(self.numbers.max()) < most

    def numbers_of(self, place: int) -> list[int]:
        """List the rows that the sum at a place is of, in their order."""
        count = int(self.counts[place])
        first = self._starts[count] + self._rank[place] - self._firsts[count]
        found: list[int] = self.numbers[first :: self._sizes[count]][:count].tolist()
        return found

    def every(self, table: Vectors) -> Vectors:
        """Give all sums."""
        found = np.zeros((len(self), table.shape[1]), table.dtype)
        for places, sums in self.blocks(table):
            found[places] = sums
        return found

    def blocks(self, table: Vectors) -> Iterator[tuple[NDArray[np.int32], Vectors]]:
        """Yield places and their sums of rows of ``table``; a sum of none is left out."""
        few = [(np.zeros(0, np.int32), np.zeros((0, table.shape[1]), table.dtype))]
        for _, rows, columns in self._groups():
            if (
                columns.size < _FEW
            ):  # one after the other, the long ones would take most of the time
                few.append((rows, table.take(columns, axis=0).sum(axis=0)))
                continue
            for at in range(0, len(rows), _ROWS):
                some = columns[:, at : at + _ROWS]
                sums = table.take(some[0], axis=0)
                for each in some[1:]:
                    sums += table.take(each, axis=0)
                yield rows[at : at + _ROWS], sums
        yield np.concatenate([rows for rows, _ in few]), np.concatenate([sums for _, sums in few])

    def some(self, table: Vectors, places: NDArray[np.integer]) -> Vectors:
        """Give the sums at some places."""
        found = np.zeros((len(places), table.shape[1]), table.dtype)
        counts = self.counts[places]
        for count in np.unique(counts[counts > 0]).tolist():
            meant = counts == count
            columns = self._starts[count] + self._sizes[count] * np.arange(count)[:, None]
            at = columns + self._rank[places[meant]] - self._firsts[count]
            found[meant] = table[self.numbers[at]].sum(axis=0)
        return found


@dataclass(frozen=True, slots=True, eq=False)
class Summed:
    """Vectors of length 1, or of zeros, that are sums of rows of ``table`` but for their length.

    With ``parts`` they are sums of these, which are sums of rows.
    """

    table: Vectors
    sums: Sums
    scale: NDArray[np.float16]  # one over the length of each sum
    own: bool = False  # whether the table is of these texts, and not the model's
    parts: Sums | None = None

    @classmethod
    def of(cls, embedder: Embedder, batches: Iterable[Sequence[str]]) -> Self:
        """Make those of the texts of some batches."""
        if (table := embedder.table) is None:
            return cls.alone(np.concatenate([embedder.encode([]), *map(embedder.encode, batches)]))
        every, scales = [Sums.of([], len(table))], [np.zeros(0, np.float16)]
        for texts in batches:
            every.append(Sums.of(embedder.pieces(texts), len(table)))
            scales.append(_scale(every[-1].some(table, np.arange(len(texts)))))
        return cls(table, Sums.joined(every), np.concatenate(scales))

    @classmethod
    def of_parts(cls, embedder: Embedder, parts: Sequence[str], sums: Sums) -> Self:
        """Make those of texts that are ``sums`` of some parts, which no piece reaches across."""
        if (table := embedder.table) is None:
            rows = np.concatenate([embedder.encode([]), *(
                embedder.encode([" ".join(parts[n] for n in sums.numbers_of(place))])
                for place in range(len(sums))
            )])  # fmt: skip
            return cls.alone(rows)
        inner = Sums.joined([
            Sums.of([], len(table)),
            *(
                Sums.of(embedder.pieces(parts[at : at + _ROWS]), len(table))
                for at in range(0, len(parts), _ROWS)
            ),
        ])  # fmt: skip
        scales = [np.zeros(0, np.float16)]
        for at in range(0, len(sums), _ROWS):
            every = [sums.numbers_of(place) for place in range(at, min(at + _ROWS, len(sums)))]
            used, numbers = np.unique([n for each in every for n in each], return_inverse=True)
            ends = np.cumsum([0, *map(len, every)])
            local = [numbers[one:end].tolist() for one, end in pairwise(ends.tolist())]
            made = Sums.of(local, len(used)).every(inner.some(table, used.astype(np.int64)))
            scales.append(_scale(made))
        return cls(table, sums, np.concatenate(scales), parts=inner)

    @classmethod
    def alone(cls, rows: Vectors) -> Self:
        """Take vectors of which nothing is known, each as the sum of itself alone."""
        sums = Sums.of([[place] for place in range(len(rows))], len(rows))
        return cls(rows, sums, _scale(rows), own=True)

    @classmethod
    def over(cls, said: Mapped, name: str, embedder: Embedder) -> Self:
        """Take them from a file; ``IndexMismatchError`` where it does not hold so many."""
        own, sums, scale = embedder.table is None, Sums.over(said, name), said[f"{name}.scale"]
        table = embedder.table if embedder.table is not None else said[f"{name}.table"]
        held = f"{name}.part.counts" in said.arrays
        parts = Sums.unpacked(said, f"{name}.part") if held else None
        if scale.shape != (len(sums),) or not (
            sums.below(len(table))
            if parts is None
            else sums.below(len(parts)) and parts.below(len(table))
        ):
            raise IndexMismatchError(f"{said.path} is damaged: run `shiyi build` again")
        return cls(table, sums, scale, own, parts)

    def arrays(self, name: str) -> dict[str, Array]:
        """Give them as arrays to write."""
        arrays: dict[str, Array] = {f"{name}.scale": self.scale} | self.sums.arrays(name)
        if self.own:
            arrays |= {f"{name}.table": self.table}
        return arrays if self.parts is None else arrays | self.parts.packed(f"{name}.part")

    def __len__(self) -> int:
        """Count the vectors."""
        return len(self.scale)

    def some(self, places: NDArray[np.integer]) -> Vectors:
        """Give those at some places."""
        if self.parts is None:
            return unit(self.sums.some(self.table, places))
        rows = [
            self.parts.some(self.table, np.array(self.sums.numbers_of(place), np.int64)).sum(axis=0)
            for place in places.tolist()
        ]
        return unit(np.array(rows, np.float32).reshape(-1, self.table.shape[1]))

    def nearest(
        self, asked: Vectors, k: int, wanted: NDArray[np.bool_] | None = None
    ) -> list[Near]:
        """Give for each vector asked the places and cosines of the ``k`` nearest, nearest first.

        ``wanted`` tells which places are looked at, where not all are.
        """
        return [
            each for some in _parts(asked) for each in self._search(some, -1.0, max(k, 1), wanted)
        ]

    def above(self, asked: Vectors, least: float) -> list[Near]:
        """Give for each vector asked every place whose cosine is at least ``least``."""
        found = [each for some in _parts(asked) for each in self._search(some, least, len(self))]
        return [[each for each in near if each[1] >= least] for near in found]

    def _search(
        self, asked: Vectors, least: float, k: int, wanted: NDArray[np.bool_] | None = None
    ) -> list[Near]:
        """Look twice at what may be near: at cosines off by ``_OFF`` at most, and at exact ones."""
        low = np.full(len(asked), least - _OFF, np.float32)
        best = [np.zeros(0, np.float32) for _ in asked]
        kept: list[list[tuple[NDArray[np.int32], Vectors]]] = [[] for _ in asked]
        scores = np.ascontiguousarray(self.table @ asked.T)
        if self.parts is not None:
            scores = self.parts.every(scores)
        for places, sums in self.sums.blocks(scores):
            sums *= self.scale[places].astype(np.float32)[:, None]
            if wanted is not None:
                sums[~wanted[places]] = -np.inf
            if k < len(sums) and not len(best[0]):
                low = np.maximum(low, np.partition(sums, -k, axis=0)[-k] - 2 * _OFF)
            at, who = divmod(np.flatnonzero(sums >= low), len(asked))
            if not len(at):
                continue
            for row in np.unique(who).tolist():
                near = at[who == row]
                cosines = sums[near, row]
                kept[row].append((places[near], cosines))
                if k < len(self):
                    best[row] = _largest(np.concatenate([best[row], cosines]), k)
                    if len(best[row]) == k:
                        low[row] = max(low[row], best[row].min() - 2 * _OFF)
        return [self._ranked(asked[row], found, low[row], k) for row, found in enumerate(kept)]

    def _ranked(
        self, row: Vectors, kept: list[tuple[NDArray[np.int32], Vectors]], low: float, k: int
    ) -> Near:
        if not kept:
            return []
        places = np.concatenate([held[cosines >= low] for held, cosines in kept])
        cosines = np.clip(self.some(places) @ row, -1, 1)
        order = np.lexsort((places, -cosines))[:k]
        return list(zip(places[order].tolist(), cosines[order].tolist(), strict=True))


def _scale(rows: Vectors) -> NDArray[np.float16]:
    lengths = np.linalg.norm(rows, axis=1)
    scale = np.divide(1, lengths, out=np.zeros_like(lengths), where=lengths > 0)
    found: NDArray[np.float16] = scale.astype(np.float16)
    return found


def _parts(asked: Vectors) -> Iterator[Vectors]:
    return (asked[at : at + _AT_ONCE] for at in range(0, len(asked), _AT_ONCE))


def _largest(values: Vectors, k: int) -> Vectors:
    return values if len(values) <= k else np.partition(values, -k)[-k:]
