"""Very many strings as a trie in a few bytes each, searched as it lies in a file."""

import zlib
from collections.abc import Iterable, Iterator, Mapping
from typing import Self

import marisa_trie
import numpy as np

from shiyi.errors import IndexMismatchError
from shiyi.model.strings import Array

_WORD = 8  # bytes to which the trie is filled up, since it is read by words


class Trie:
    """Different strings, each with a number that goes by no order of theirs.

    >>> some = Trie.of(["goji", "goji berry", "姜"])
    >>> [word for word, _ in some.prefixes("goji berry tea")], some[some.place("姜")]
    (['goji', 'goji berry'], '姜')
    >>> [word for word, _ in some.starting("go")], some.place("kava"), len(some)
    (['goji', 'goji berry'], None, 3)
    """

    __slots__ = ("_held", "_trie")

    def __init__(self, held: Array) -> None:
        self._held = held  # the trie reads it where it lies
        self._trie = marisa_trie.Trie()
        self._trie.map(held)

    @classmethod
    def of(cls, texts: Iterable[str]) -> Self:
        """Make a trie of some strings."""
        # in order of their letters, so that those with one beginning come in order
        made = marisa_trie.Trie(texts, order=marisa_trie.LABEL_ORDER).tobytes()
        return cls(np.frombuffer(made + bytes(-len(made) % _WORD), np.int64))

    @classmethod
    def over(cls, arrays: Mapping[str, Array], name: str) -> Self:
        """Take what :meth:`arrays` gave; ``IndexMismatchError`` where it is damaged."""
        held = arrays.get(f"{name}.trie")
        if held is None or zlib.crc32(held.data) != int(arrays[f"{name}.check"][0]):
            raise IndexMismatchError(f"the {name} trie is damaged: run `shiyi build` again")
        return cls(held)

    def arrays(self, name: str) -> dict[str, Array]:
        """Give the trie as arrays to write; reading it trusts every byte, hence the check."""
        check = np.array([zlib.crc32(self._held.data)], np.int64)
        return {f"{name}.trie": self._held, f"{name}.check": check}

    def place(self, text: str) -> int | None:
        """Give the number of a string, None where it is not there."""
        try:
            found: int | None = self._trie.get(text)
        except UnicodeEncodeError:  # half a character
            return None
        return found

    def prefixes(self, text: str) -> Iterator[tuple[str, int]]:
        """Yield the strings that ``text`` begins with, and their numbers, shortest first."""
        found: Iterator[tuple[str, int]] = self._trie.iter_prefixes_with_ids(text)
        return found

    def starting(self, prefix: str) -> Iterator[tuple[str, int]]:
        """Yield the strings that begin with ``prefix``, in order, and their numbers."""
        found: Iterator[tuple[str, int]] = self._trie.iteritems(prefix)
        return found

    def __len__(self) -> int:
        """Count the strings."""
        return len(self._trie)

    def __getitem__(self, place: int) -> str:
        """Give the string of a number."""
        found: str = self._trie.restore_key(place)
        return found

    def __iter__(self) -> Iterator[str]:
        """Yield every string, in the order of their numbers."""
        return map(self.__getitem__, range(len(self)))
