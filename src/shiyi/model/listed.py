"""Mappings that read an entry when it is asked for, and mappings after a few entries changed."""

from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from itertools import chain
from typing import Any, Final, TypeVar, overload

import numpy as np
from numpy.typing import NDArray
from typing_extensions import override

from shiyi.model.strings import Alike, Strings

Key = TypeVar("Key")
Value = TypeVar("Value")
Other = TypeVar("Other")
Ints = NDArray[np.int32]
_KEPT: Final = 65_536  # entries that stay as they were read last


class Rows(Alike[Value]):
    """Rows of a file, each read when it is asked for.

    >>> list(Rows(lambda row: row * row, 3)), Rows(str, 3) == ("0", "1", "2")
    ([0, 1, 4], True)
    """

    def __init__(self, read: Callable[[int], Value], length: int) -> None:
        self._read, self._length = read, length
        self._known = lru_cache(_KEPT)(read)

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


class Listed(Mapping[str, Value]):
    """Entries by name, in the order they were written; each is read when it is asked for.

    ``keys`` are the places of the names in ``names``; ``read`` gives the entry at a place in them.
    The ``kept`` entries that were asked for last stay in memory.
    """

    def __init__(
        self, names: Strings, keys: Ints, read: Callable[[int], Value], kept: int = _KEPT
    ) -> None:
        self._names, self._at, self._read = names, keys.data, read
        rows = np.full(len(names), -1, np.int32)
        rows[keys] = np.arange(len(keys), dtype=np.int32)
        self._rows = rows.data
        self._known = lru_cache(kept)(self._found)

    def _found(self, name: str) -> Value | None:
        """Give the entry at a name, if it has one; what is no name at all is not remembered."""
        if (place := self._names.place(name)) is None:
            raise KeyError(name)
        row = self._rows[place]
        return None if row < 0 else self._read(row)

    @override
    def __getitem__(self, name: str) -> Value:
        if (found := self._known(name)) is None:
            raise KeyError(name)
        return found

    @overload
    def get(self, name: str, /) -> Value | None: ...
    @overload
    def get(self, name: str, default: Value | Other, /) -> Value | Other: ...
    @override
    def get(self, name: str, default: Any = None, /) -> Any:
        try:
            found = self._known(name)
        except KeyError:
            return default
        return default if found is None else found

    @override
    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self.get(name) is not None

    @override
    def __iter__(self) -> Iterator[str]:
        names = self._names
        return (names[each] for each in self._at)

    @override
    def __len__(self) -> int:
        return len(self._at)

    @override
    def items(self) -> Any:
        """Give every entry, none of which stays in memory for it."""
        return Pairs(self, self._read)

    @override
    def values(self) -> Any:
        """Give every entry without its name, none of which stays in memory for it."""
        return Entries(self, self._read)


class Entries:
    """The entries of a mapping, read one after the other."""

    def __init__(self, of: Listed[Any], read: Callable[[int], Any]) -> None:
        self._of, self._read = of, read

    def __len__(self) -> int:
        """Count them."""
        return len(self._of)

    def __iter__(self) -> Iterator[Any]:
        """Read them in order."""
        return map(self._read, range(len(self._of)))


class Pairs(Entries):
    """The names and entries of a mapping, read one after the other."""

    @override
    def __iter__(self) -> Iterator[Any]:
        return zip(self._of, super().__iter__(), strict=True)


class Changed(Mapping[Key, Value]):
    """A mapping after a few of its entries changed; what it was made from stays as it is.

    >>> dict(Changed({"a": 1, "b": 2}, {"a": None, "c": 3}))
    {'b': 2, 'c': 3}
    """

    def __init__(self, held: Mapping[Key, Value], changes: Mapping[Key, Value | None]) -> None:
        """Take ``changes`` into ``held``; None takes an entry out."""
        if isinstance(held, Changed):
            earlier: Changed[Key, Value] = held
            held, changes = earlier.held, {**earlier.changes, **changes}
        self.held: Mapping[Key, Value] = held
        self.changes: Mapping[Key, Value | None] = {  # what came and went leaves nothing behind
            k: v for k, v in changes.items() if v is not None or k in held
        }
        self._new = [k for k, v in changes.items() if v is not None and k not in held]
        self._gone = sum(v is None for v in self.changes.values())

    @override
    def __getitem__(self, key: Key) -> Value:
        if key not in self.changes:
            return self.held[key]
        if (found := self.changes[key]) is None:
            raise KeyError(key)
        return found

    @override
    def get(self, key: Key, default: Any = None, /) -> Any:
        if key not in self.changes:
            return self.held.get(key, default)
        found = self.changes[key]
        return default if found is None else found

    @override
    def __contains__(self, key: object) -> bool:
        if key in self.changes:
            return self.changes[key] is not None  # type: ignore[index] # it is one of them
        return key in self.held

    @override
    def __iter__(self) -> Iterator[Key]:
        changes = self.changes
        kept = (key for key in self.held if key not in changes or changes[key] is not None)
        return chain(kept, self._new)

    @override
    def __len__(self) -> int:
        return len(self.held) + len(self._new) - self._gone
