"""Arrays and strings of an index as one file, mapped into memory: it opens at once, whatever its size.

The file is a safetensors file, so other programs read it too; its metadata say what it was made for.
"""

import json
import mmap
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Self, TypeVar, overload

import numpy as np
from numpy.typing import NDArray
from typing_extensions import override

from shiyi.errors import IndexMismatchError, RangeError

Array = NDArray[Any]
Item = TypeVar("Item")
_LENGTH: Final = 8  # bytes of the number that a safetensors file begins with
_TYPES: Final = {
    "U8": np.uint8, "I8": np.int8, "I32": np.int32, "I64": np.int64, "F16": np.float16,
    "F32": np.float32, "F64": np.float64,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Mapped:
    """What a file holds: ``about`` says what it was made for, ``arrays`` lie in the file."""

    path: Path
    about: Mapping[str, str]
    arrays: Mapping[str, Array]

    @classmethod
    def open(cls, path: Path, **about: str) -> Self:
        """Map what :func:`write` wrote.

        Raises ``IndexMismatchError`` where there is none, it is damaged, or was made for another
        than ``about`` says.
        """
        try:
            with path.open("rb") as file:
                whole = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
            end = _LENGTH + int.from_bytes(whole[:_LENGTH], "little")
            said = json.loads(bytes(whole[_LENGTH:end]))
            noted = said.pop("__metadata__", {})
            arrays = {name: _array(whole[end:], **each) for name, each in said.items()}
        except FileNotFoundError as fault:
            raise IndexMismatchError(f"there is no {path}: run `shiyi build` again") from fault
        except (OSError, ValueError, KeyError, TypeError, AttributeError, OverflowError) as fault:
            raise IndexMismatchError(
                f"{path} is damaged ({fault!r}): run `shiyi build` again"
            ) from fault
        for name, wanted in about.items():
            if noted.get(name) != wanted:
                raise IndexMismatchError(
                    f"{path} was made for {name} {noted.get(name)}, and this is {wanted}: "
                    "run `shiyi build` again"
                )
        return cls(path, noted, arrays)

    def __getitem__(self, name: str) -> Array:
        """Give an array; ``IndexMismatchError`` where the file has none of that name."""
        try:
            return self.arrays[name]
        except KeyError:
            raise IndexMismatchError(
                f"{self.path} has no {name}: run `shiyi build` again"
            ) from None

    def strings(self, name: str) -> "Strings":
        """Give strings that were written by :meth:`Strings.arrays`."""
        return Strings.over(self[f"{name}.bytes"], self[f"{name}.bounds"])

    def words(self, name: str) -> tuple[str, ...]:
        """Give a few strings that stand in the metadata, as JSON."""
        return tuple(json.loads(self.about.get(name, "[]")))


def write(path: Path, arrays: Mapping[str, Array], **about: str) -> Path:
    """Write arrays and what they are made for, whole or not at all."""
    from safetensors.numpy import save_file

    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(path.name + ".part")
    save_file({k: np.ascontiguousarray(v) for k, v in arrays.items()}, partial, about)
    partial.chmod(0o644)
    return partial.replace(path)


def words(said: Iterable[str]) -> str:
    """Write a few strings as :meth:`Mapped.words` reads them."""
    return json.dumps(list(said), ensure_ascii=False)


def _array(data: memoryview, dtype: str, shape: list[int], data_offsets: list[int]) -> Array:
    start, end = data_offsets
    if not 0 <= start <= end <= len(data):
        raise ValueError("the file is cut short")
    return np.frombuffer(data[start:end], _TYPES[dtype]).reshape(shape)


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

    >>> some = Strings.of(["goji", "姜"])
    >>> some[1], some.place("goji"), some.place("kava"), some.with_more(["kava"]).place("kava")
    ('姜', 0, None, 2)
    """

    __slots__ = ("_bounds", "_bytes", "_later", "_ordered", "_place")

    def __init__(self, held: memoryview, bounds: memoryview, later: tuple[str, ...] = ()) -> None:
        self._bytes, self._bounds, self._later = held, bounds, later
        self._ordered = len(bounds) - 1
        self._place = {each: self._ordered + i for i, each in enumerate(later)}

    @classmethod
    def of(cls, texts: Iterable[str]) -> Self:
        """Pack some strings; :meth:`place` finds them where they come in order, each once."""
        packed = [each.encode() for each in texts]
        bounds = np.zeros(len(packed) + 1, np.int64)
        np.cumsum([len(each) for each in packed], out=bounds[1:])
        return cls(memoryview(b"".join(packed)), bounds.data)

    @classmethod
    def over(cls, held: Array, bounds: Array) -> Self:
        """Take strings out of two arrays of a file."""
        return cls(held.data, bounds.data)

    def arrays(self, name: str) -> dict[str, Array]:
        """Give the strings as arrays to write."""
        if self._later:
            raise RangeError("strings that came later are in no order, and are not written")
        return {
            f"{name}.bytes": np.frombuffer(self._bytes, np.uint8),
            f"{name}.bounds": np.frombuffer(self._bounds, np.int64),
        }

    def place(self, text: str) -> int | None:
        """Find a string, among those in order by halving."""
        if (late := self._place.get(text)) is not None:
            return late
        wanted, held, bounds = text.encode("utf-8", "surrogatepass"), self._bytes, self._bounds
        low, high = 0, self._ordered
        while low < high:
            middle = (low + high) // 2
            if held[bounds[middle] : bounds[middle + 1]].tobytes() < wanted:
                low = middle + 1
            else:
                high = middle
        if low < self._ordered and held[bounds[low] : bounds[low + 1]] == wanted:
            return low
        return None

    def first_from(self, text: str) -> int:
        """Give the place of the first string that is not before ``text`` in order."""
        return bisect_left(self, text, 0, self._ordered)

    def with_more(self, texts: Iterable[str]) -> "Strings":
        """Give these strings and some that are not among them, which come last."""
        return Strings(self._bytes, self._bounds, (*self._later, *texts))

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
        bounds = self._bounds
        return str(self._bytes[bounds[place] : bounds[place + 1]], "utf-8")

    @override
    def __iter__(self) -> Iterator[str]:
        held, start = self._bytes, 0
        for end in self._bounds[1:]:
            yield str(held[start:end], "utf-8")
            start = end
        yield from self._later

    @override
    def __reduce__(self) -> tuple[Any, ...]:
        return Strings.of, (tuple(self),)


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
