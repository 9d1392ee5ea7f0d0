"""String tables, tries and mappings in memory-mapped arrays, decoded where they are read."""

import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import chain
from typing import Any, Final, Self, TypeVar, overload

import marisa_trie
import numpy as np
from numpy.typing import NDArray
from typing_extensions import override

from shiyi.errors import IndexMismatchError, RangeError

Array = NDArray[Any]
Item = TypeVar("Item")


class ComparableSequence(Sequence[Item]):
    """A sequence that is the same as any other of the same items, as a list is."""

    __slots__ = ()

    @override
    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Sequence)
            and len(self) == len(other)
            and all(one == two for one, two in zip(self, other, strict=True))
        )

    __hash__ = None  # type: ignore[assignment] # as of a list


class Strings(ComparableSequence[str]):
    """Many strings in one piece of memory or of a file, the first ``ordered`` of them in order.

    >>> some = Strings.of(["goji", "maté"])
    >>> some[1], some.place("goji"), some.place("kava"), some.with_more(["kava"]).place("kava")
    ('maté', 0, None, 2)
    """

    __slots__ = ("_bounds", "_bytes", "_later", "_ordered", "_place")

    def __init__(self, packed: memoryview, bounds: memoryview, later: tuple[str, ...] = ()) -> None:
        self._bytes, self._bounds, self._later = packed, bounds, later
        self._ordered = len(bounds) - 1
        self._place = {text: self._ordered + i for i, text in enumerate(later)}

    @classmethod
    def of(cls, texts: Iterable[str]) -> "Strings":
        """Pack some strings; :meth:`place` finds them where they come in order, each once."""
        packed = [text.encode() for text in texts]
        bounds = np.cumsum([0, *map(len, packed)], dtype=np.int64)
        return cls(memoryview(b"".join(packed)), bounds.data)

    @classmethod
    def over(cls, arrays: Mapping[str, Array], name: str) -> "Strings":
        """Return the strings that :meth:`arrays` gave; ``KeyError`` where they are not there."""
        return cls(arrays[f"{name}.bytes"].data, arrays[f"{name}.bounds"].data)

    def arrays(self, name: str) -> dict[str, Array]:
        """Return the strings as arrays to write."""
        if self._later:
            raise RangeError("strings that came later are in no order, and are not written")
        packed = np.frombuffer(self._bytes, np.uint8)
        return {f"{name}.bytes": packed, f"{name}.bounds": np.asarray(self._bounds)}

    @property
    def check(self) -> str:
        """Return a checksum of the strings as they lie here."""
        return f"{zlib.crc32(self._bytes):08x}"

    def _text(self, place: int) -> str:
        bounds = self._bounds
        return str(self._bytes[bounds[place] : bounds[place + 1]], "utf-8")

    def place(self, text: str) -> int | None:
        """Find a string, among those in order by bisection."""
        if (late := self._place.get(text)) is not None:
            return late
        wanted, bounds = text.encode("utf-8", "surrogatepass"), self._bounds
        low, high = 0, self._ordered
        while low < high:
            middle = (low + high) // 2
            if self._bytes[bounds[middle] : bounds[middle + 1]].tobytes() < wanted:
                low = middle + 1
            else:
                high = middle
        there = low < self._ordered and self._bytes[bounds[low] : bounds[low + 1]] == wanted
        return low if there else None

    def with_more(self, texts: Iterable[str]) -> "Strings":
        """Return these strings and some that are not among them, which come last."""
        return type(self)(self._bytes, self._bounds, (*self._later, *texts))

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
            return tuple(self[number] for number in range(*place.indices(len(self))))
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


@dataclass(frozen=True, slots=True, eq=False)
class Selection(ComparableSequence[str]):
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
        place = {text: i for i, text in enumerate(table)}
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
            return tuple(self.table[number] for number in self._at[place])
        return self.table[self._at[place]]

    @override
    def __iter__(self) -> Iterator[str]:
        table = self.table
        return (table[number] for number in self._at)


_WORD = 8  # bytes to which the trie is filled up, since it is read by words


class Trie:
    """Different strings, each with a number that goes by no order of theirs.

    >>> some = Trie.of(["goji", "goji berry", "maté"])
    >>> [word for word, _ in some.prefixes("goji berry tea")], some[some.place("maté")]
    (['goji', 'goji berry'], 'maté')
    >>> [word for word, _ in some.items_with_prefix("go")], some.place("kava"), len(some)
    (['goji', 'goji berry'], None, 3)
    """

    __slots__ = ("_packed", "_trie")

    def __init__(self, packed: Array) -> None:
        self._packed = packed  # the trie reads it where it lies
        self._trie = marisa_trie.Trie()
        self._trie.map(packed)

    @classmethod
    def of(cls, texts: Iterable[str]) -> Self:
        """Build a trie of some strings."""
        # in order of their letters, so that those with one beginning come in order
        made = marisa_trie.Trie(texts, order=marisa_trie.LABEL_ORDER).tobytes()
        return cls(np.frombuffer(made + bytes(-len(made) % _WORD), np.int64))

    @classmethod
    def over(cls, arrays: Mapping[str, Array], name: str) -> Self:
        """Return what :meth:`arrays` wrote; ``IndexMismatchError`` where it is damaged."""
        packed = arrays.get(f"{name}.trie")
        if packed is None or zlib.crc32(packed.data) != int(arrays[f"{name}.check"][0]):
            raise IndexMismatchError(f"the {name} trie is damaged: run `shiyi index`")
        return cls(packed)

    def arrays(self, name: str) -> dict[str, Array]:
        """Return the trie as arrays to write; reading it trusts every byte, so it is checked."""
        check = np.array([zlib.crc32(self._packed.data)], np.int64)
        return {f"{name}.trie": self._packed, f"{name}.check": check}

    def place(self, text: str) -> int | None:
        """Return the number of a string, None where it is not there."""
        try:
            result: int | None = self._trie.get(text)
        except UnicodeEncodeError:  # half a character
            return None
        return result

    def prefixes(self, text: str) -> Iterator[tuple[str, int]]:
        """Yield the strings that ``text`` begins with, and their numbers, shortest first."""
        results: Iterator[tuple[str, int]] = self._trie.iter_prefixes_with_ids(text)
        return results

    def items_with_prefix(self, prefix: str) -> Iterator[tuple[str, int]]:
        """Yield the strings that begin with ``prefix``, in order, and their numbers."""
        results: Iterator[tuple[str, int]] = self._trie.iteritems(prefix)
        return results

    def __len__(self) -> int:
        """Count the strings."""
        return len(self._trie)

    def __getitem__(self, place: int) -> str:
        """Return the string of a number."""
        result: str = self._trie.restore_key(place)
        return result

    def __iter__(self) -> Iterator[str]:
        """Yield every string, in the order of their numbers."""
        return map(self.__getitem__, range(len(self)))


Key = TypeVar("Key")
Value = TypeVar("Value")
Other = TypeVar("Other")
Ints = NDArray[np.int32]
_CACHED: Final = 65_536  # entries that stay as they were read last


class Rows(ComparableSequence[Value]):
    """Rows of a file, each read when it is asked for.

    >>> list(Rows(lambda row: row * row, 3)), Rows(str, 3) == ("0", "1", "2")
    ([0, 1, 4], True)
    """

    def __init__(self, read: Callable[[int], Value], length: int) -> None:
        self._read, self._length = read, length
        self._known = lru_cache(_CACHED)(read)

    @override
    def __len__(self) -> int:
        return self._length

    @overload
    def __getitem__(self, place: int) -> Value: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[Value, ...]: ...
    @override
    def __getitem__(self, place: int | slice) -> Value | tuple[Value, ...]:
        if isinstance(place, slice):
            return tuple(map(self._read, range(*place.indices(self._length))))
        if not -self._length <= place < self._length:
            raise IndexError(place)
        return self._known(place % self._length)

    @override
    def __iter__(self) -> Iterator[Value]:
        return map(self._read, range(self._length))


class LazyMap(Mapping[str, Value]):
    """Entries by name, in the order they were written; each is read when it is asked for.

    ``keys`` are the places of the names in ``names``; ``read`` gives the entry at a place in them.
    The ``size`` entries that were asked for last stay in memory.
    """

    def __init__(
        self, names: Strings, keys: Ints, read: Callable[[int], Value], size: int = _CACHED
    ) -> None:
        self._names, self._at, self._read = names, keys.data, read
        rows = np.full(len(names), -1, np.int32)
        rows[keys] = np.arange(len(keys), dtype=np.int32)
        self._rows = rows.data
        self._known = lru_cache(size)(self._find)

    def _find(self, name: str) -> Value | None:
        """Return the entry at a name, if it has one; what is no name at all is not remembered."""
        if (place := self._names.place(name)) is None:
            raise KeyError(name)
        row = self._rows[place]
        return None if row < 0 else self._read(row)

    @override
    def __getitem__(self, name: str) -> Value:
        if (value := self._known(name)) is None:
            raise KeyError(name)
        return value

    @overload
    def get(self, name: str, /) -> Value | None: ...
    @overload
    def get(self, name: str, default: Value | Other, /) -> Value | Other: ...
    @override
    def get(self, name: str, default: Any = None, /) -> Any:
        try:
            value = self._known(name)
        except KeyError:
            return default
        return default if value is None else value

    @override
    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self.get(name) is not None

    @override
    def __iter__(self) -> Iterator[str]:
        names = self._names
        return (names[item] for item in self._at)

    @override
    def __len__(self) -> int:
        return len(self._at)

    @override
    def items(self) -> Any:
        """Return every entry, none of which stays in memory for it."""
        return LazyItems(self, self._read)

    @override
    def values(self) -> Any:
        """Return every entry without its name, none of which stays in memory for it."""
        return LazyValues(self, self._read)


class LazyValues:
    """The entries of a mapping, read one after the other."""

    def __init__(self, of: LazyMap[Any], read: Callable[[int], Any]) -> None:
        self._of, self._read = of, read

    def __len__(self) -> int:
        """Count them."""
        return len(self._of)

    def __iter__(self) -> Iterator[Any]:
        """Read them in order."""
        return map(self._read, range(len(self._of)))


class LazyItems(LazyValues):
    """The names and entries of a mapping, read one after the other."""

    @override
    def __iter__(self) -> Iterator[Any]:
        return zip(self._of, super().__iter__(), strict=True)


class PatchedMap(Mapping[Key, Value]):
    """A mapping after a few of its entries changed; what it was made from stays as it is.

    >>> dict(PatchedMap({"a": 1, "b": 2}, {"a": None, "c": 3}))
    {'b': 2, 'c': 3}
    """

    def __init__(self, fields: Mapping[Key, Value], changes: Mapping[Key, Value | None]) -> None:
        """Apply ``changes`` to ``fields``; None removes an entry."""
        if isinstance(fields, PatchedMap):
            earlier: PatchedMap[Key, Value] = fields
            fields, changes = earlier.stored, {**earlier.changes, **changes}
        self.stored: Mapping[Key, Value] = fields
        self.changes: Mapping[Key, Value | None] = {  # what came and went leaves nothing behind
            k: v for k, v in changes.items() if v is not None or k in fields
        }
        self._new = [k for k, v in changes.items() if v is not None and k not in fields]
        self._gone = sum(v is None for v in self.changes.values())

    @override
    def __getitem__(self, key: Key) -> Value:
        if key not in self.changes:
            return self.stored[key]
        if (value := self.changes[key]) is None:
            raise KeyError(key)
        return value

    @override
    def get(self, key: Key, default: Any = None, /) -> Any:
        if key not in self.changes:
            return self.stored.get(key, default)
        value = self.changes[key]
        return default if value is None else value

    @override
    def __contains__(self, key: object) -> bool:
        if key in self.changes:
            return self.changes[key] is not None  # type: ignore[index] # it is one of them
        return key in self.stored

    @override
    def __iter__(self) -> Iterator[Key]:
        changes = self.changes
        old = (key for key in self.stored if key not in changes or changes[key] is not None)
        return chain(old, self._new)

    @override
    def __len__(self) -> int:
        return len(self.stored) + len(self._new) - self._gone
