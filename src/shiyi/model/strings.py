"""Strings in one piece of memory or of a file, without an object each."""

import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Self, TypeVar, overload

import numpy as np
from numpy.typing import NDArray
from typing_extensions import override

from shiyi.errors import RangeError

Array = NDArray[Any]
Item = TypeVar("Item")
_SHORT: Final = 2**31 - 1  # bytes, up to which their bounds are short numbers
_WIDTH: Final = 16  # bytes of a content hash
_DIGITS: Final = "0123456789abcdef"
_NONE: Final = memoryview(b"")


def least(most: int) -> type[np.unsignedinteger[Any]]:
    """Give the smallest whole numbers that reach ``most``."""
    every = np.uint8, np.uint16, np.uint32, np.uint64
    return next(each for each in every if most <= np.iinfo(each).max)


def narrow(numbers: Sequence[int]) -> Array:
    """Give whole numbers in as few bytes as they need."""
    return np.array(numbers, least(max(numbers, default=0)))


def ends(bounds: Array) -> Array:
    """Pack where each of some runs ends: a bit an item and one a run, or its size, as is shorter.

    >>> bounds_of(ends(np.array([0, 2, 2, 5]))).tolist()
    [0, 2, 2, 5]
    """
    sizes = np.diff(bounds)
    width = max(2, np.dtype(least(int(sizes.max(initial=0)))).itemsize)
    if width * len(sizes) < (int(bounds[-1]) + len(sizes)) // 8:
        return sizes.astype(f"u{width}")
    bits = np.ones(int(bounds[-1]) + len(sizes), np.uint8)
    bits[bounds[1:] + np.arange(len(sizes))] = 0
    return np.packbits(np.concatenate([bits, np.ones(-len(bits) % 8, np.uint8)]))


def bounds_of(packed: Array) -> Array:
    """Give the bounds that :func:`ends` packed."""
    if packed.dtype != np.uint8:
        return np.concatenate([[0], np.cumsum(packed, dtype=np.int64)])
    found = np.flatnonzero(np.unpackbits(packed) == 0)
    bounds = np.zeros(len(found) + 1, np.int64 if len(packed) > _SHORT // 8 else np.int32)
    bounds[1:] = found - np.arange(len(found))
    return bounds


def told_apart(name: str, values: Array) -> dict[str, Array]:
    """Write numbers of which many are alike: the different ones, and which of them each is."""
    different, which = np.unique(values, return_inverse=True)
    return {f"{name}.values": different, name: which.astype(least(len(different)))}


def told(arrays: Mapping[str, Array], name: str) -> Array:
    """Give the numbers that :func:`told_apart` wrote.

    >>> told(told_apart("x", np.array([0.5, 0.9, 0.5])), "x").tolist()
    [0.5, 0.9, 0.5]
    """
    found: Array = arrays[f"{name}.values"][arrays[name]]
    return found


class Alike(Sequence[Item]):
    """A sequence that is the same as any other of the same items, as a list is."""

    __slots__ = ()

    @override
    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and len(self) == len(other) and all(
            one == two for one, two in zip(self, other, strict=True)
        )  # fmt: skip

    __hash__ = None  # type: ignore[assignment] # as of a list


class Strings(Alike[str]):
    """Many strings in one piece of memory or of a file, the first ``ordered`` of them in order.

    What all begin with is kept once. Where all else is a content hash, its bytes are kept.

    >>> some = Strings.of(["goji", "姜"])
    >>> some[1], some.place("goji"), some.place("kava"), some.with_more(["kava"]).place("kava")
    ('姜', 0, None, 2)
    """

    __slots__ = ("_bounds", "_bytes", "_head", "_later", "_ordered", "_place")

    def __init__(
        self, held: memoryview, bounds: memoryview, head: str = "", later: tuple[str, ...] = ()
    ) -> None:
        self._bytes, self._bounds, self._head, self._later = held, bounds, head, later
        self._ordered = self._count()
        self._place = {each: self._ordered + i for i, each in enumerate(later)}

    @classmethod
    def of(cls, texts: Iterable[str]) -> "Strings":
        """Pack some strings; :meth:`place` finds them where they come in order, each once."""
        every = [*texts]
        head = _alike(min(every), max(every)) if every else ""
        if every and (root := _root(every)) is not None:
            raw = "".join(each[len(root) :] for each in every)
            return Digests(memoryview(bytes.fromhex(raw)), _NONE, root)
        packed = [each[len(head) :].encode() for each in every]
        bounds = np.zeros(len(packed) + 1, np.int64)
        np.cumsum([len(each) for each in packed], out=bounds[1:])
        if bounds[-1] <= _SHORT:
            bounds = bounds.astype(np.int32)
        return Strings(memoryview(b"".join(packed)), bounds.data, head)

    @classmethod
    def over(cls, arrays: Mapping[str, Array], name: str) -> "Strings":
        """Take strings that :meth:`arrays` gave; ``KeyError`` where they are not there."""
        head = str(arrays[f"{name}.head"].data, "utf-8") if f"{name}.head" in arrays else ""
        if (digests := arrays.get(f"{name}.digests")) is not None:
            return Digests(digests.reshape(-1).data, _NONE, head)
        held, sizes = arrays[f"{name}.bytes"], arrays[f"{name}.sizes"]
        bounds = np.zeros(len(sizes) + 1, np.int32 if len(held) <= _SHORT else np.int64)
        np.cumsum(sizes, out=bounds[1:])
        return Strings(held.data, bounds.data, head)

    def arrays(self, name: str) -> dict[str, Array]:
        """Give the strings as arrays to write."""
        if self._later:
            raise RangeError("strings that came later are in no order, and are not written")
        head = {f"{name}.head": np.frombuffer(self._head.encode(), np.uint8)} if self._head else {}
        return head | self._arrays(name)

    @property
    def check(self) -> str:
        """Give a checksum of the strings as they lie here."""
        return f"{zlib.crc32(self._bytes):08x}"

    def _arrays(self, name: str) -> dict[str, Array]:
        held = np.frombuffer(self._bytes, np.uint8)
        sizes = np.diff(np.asarray(self._bounds))
        return {
            f"{name}.bytes": held,
            f"{name}.sizes": sizes.astype(least(int(sizes.max(initial=0)))),
        }

    def _count(self) -> int:
        return len(self._bounds) - 1

    def _sought(self, text: str) -> bytes | None:
        """Give the bytes that ``text`` is kept as, if it is."""
        if not text.startswith(self._head):
            return None
        return text[len(self._head) :].encode("utf-8", "surrogatepass")

    def _kept(self, place: int) -> memoryview:
        return self._bytes[self._bounds[place] : self._bounds[place + 1]]

    def _text(self, place: int) -> str:
        bounds = self._bounds
        return self._head + str(self._bytes[bounds[place] : bounds[place + 1]], "utf-8")

    def place(self, text: str) -> int | None:
        """Find a string, among those in order by halving."""
        if (late := self._place.get(text)) is not None:
            return late
        if (wanted := self._sought(text)) is None:
            return None
        low, high, kept = 0, self._ordered, self._kept
        while low < high:
            middle = (low + high) // 2
            if kept(middle).tobytes() < wanted:
                low = middle + 1
            else:
                high = middle
        return low if low < self._ordered and kept(low) == wanted else None

    def with_more(self, texts: Iterable[str]) -> "Strings":
        """Give these strings and some that are not among them, which come last."""
        return type(self)(self._bytes, self._bounds, self._head, (*self._later, *texts))

    @override
    def __len__(self) -> int:
        return self._ordered + len(self._later)

    @overload
    def __getitem__(self, place: int) -> str: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[str, ...]: ...
    @override
    def __getitem__(self, place: int | slice) -> str | tuple[str, ...]:
        if isinstance(place, slice):
            return tuple(self[each] for each in range(*place.indices(len(self))))
        if place >= self._ordered:
            return self._later[place - self._ordered]
        if place < 0:
            return self[len(self) + place]
        return self._text(place)

    @override
    def __iter__(self) -> Iterator[str]:
        yield from map(self._text, range(self._ordered))
        yield from self._later

    @override
    def __reduce__(self) -> tuple[Any, ...]:
        return Strings.of, (tuple(self),)


class Digests(Strings):
    """Strings that begin alike and end in a content hash, in 16 bytes each.

    >>> some = Strings.of(f"urn:{n}{'0' * 31}" for n in "0123")
    >>> some[2][:8], some.place(some[3]), some.place("urn:3"), len(some.arrays("s")["s.digests"])
    ('urn:2000', 3, None, 4)
    """

    __slots__ = ()

    @override
    def _arrays(self, name: str) -> dict[str, Array]:
        return {f"{name}.digests": np.frombuffer(self._bytes, np.uint8).reshape(-1, _WIDTH)}

    @override
    def _count(self) -> int:
        return self._bytes.nbytes // _WIDTH

    @override
    def _sought(self, text: str) -> bytes | None:
        digits = text.removeprefix(self._head)
        if len(digits) != 2 * _WIDTH or len(text) == len(digits) or digits.strip(_DIGITS):
            return None
        return bytes.fromhex(digits)

    @override
    def _kept(self, place: int) -> memoryview:
        return self._bytes[_WIDTH * place : _WIDTH * (place + 1)]

    @override
    def _text(self, place: int) -> str:
        return self._head + self._bytes[_WIDTH * place : _WIDTH * (place + 1)].hex()


def _alike(one: str, other: str) -> str:
    """Give what two strings begin with."""
    length = min(len(one), len(other))
    return one[: next((i for i in range(length) if one[i] != other[i]), length)]


def _root(texts: Sequence[str]) -> str | None:
    """Give what stands before a content hash in each, where it is always the same."""
    root = texts[0][: -2 * _WIDTH]
    length = len(root) + 2 * _WIDTH
    for each in texts:
        if len(each) != length or not each.startswith(root) or each[len(root) :].strip(_DIGITS):
            return None
    return root or None


@dataclass(frozen=True, slots=True, eq=False)
class Picked(Alike[str]):
    """Some strings of a table, in any order."""

    table: Strings
    places: NDArray[np.int32]
    _at: memoryview = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_at", self.places.data)

    @classmethod
    def of(cls, texts: Sequence[str]) -> Self:
        """Pack some strings that may come in any order, and more than once."""
        table = sorted(set(texts))
        place = {each: i for i, each in enumerate(table)}
        return cls(Strings.of(table), np.fromiter((place[t] for t in texts), np.int32, len(texts)))

    @override
    def __len__(self) -> int:
        return len(self._at)

    @overload
    def __getitem__(self, place: int) -> str: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[str, ...]: ...
    @override
    def __getitem__(self, place: int | slice) -> str | tuple[str, ...]:
        if isinstance(place, slice):
            return tuple(self.table[each] for each in self._at[place])
        return self.table[self._at[place]]

    @override
    def __iter__(self) -> Iterator[str]:
        table = self.table
        return (table[each] for each in self._at)
