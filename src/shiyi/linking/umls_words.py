"""Which words the names of an index use, and which names consist of given words."""

from collections.abc import Iterable, Iterator, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shiyi.linking.hashes import SortedHashes
from shiyi.linking.surfaces import inflections

_LATE = 300_000  # words that are known to be written, so that they are not written again (ours)
FORGIVEN = 5  # letters from which a word may be misspelt
_FILES = {"words": np.uint64, "spellings": np.uint64, "keys": np.uint64, "key_places": np.uint32}


class WordIndex:
    """Hashes on disk; its arrays are mapped, not read."""

    def __init__(self, folder: Path) -> None:
        """Open what :func:`write_words` wrote; raises ``OSError`` where it is not there."""
        self._words, self._spellings, self._keys, self._places = (
            _mapped(folder / f"{name}.bin", kind) for name, kind in _FILES.items()
        )

    def knows(self, word: str) -> bool:
        """Say whether a name has the word, in the singular or the plural."""
        return _holds(self._words, _hash(singular(word)))

    def resembles(self, word: str) -> bool:
        """Say whether a name may have a word with one letter more, fewer or other."""
        if len(word) < FORGIVEN:
            return False
        return any(_holds(self._spellings, _hash(each)) for each in _shortened(word))

    def named(self, words: Sequence[str]) -> list[int]:
        """Give the places of the names of these words and no others, in any order."""
        key = np.uint64(_hash(_key(words)))
        first = int(np.searchsorted(self._keys, key))
        last = int(np.searchsorted(self._keys, key, side="right"))
        return sorted(self._places[first:last].tolist())


def write_words(names: Iterable[tuple[int, Sequence[str]]], folder: Path) -> None:
    """Write the words of names, given as place and words; some 30 bytes a name are in memory."""
    keys: list[NDArray[np.uint64]] = []
    places: list[NDArray[np.uint32]] = []
    late: set[str] = set()
    with (
        SortedHashes(folder / "words.bin") as known,
        SortedHashes(folder / "spellings.bin") as spellings,
    ):
        for batch in _batches(names):
            fresh = {singular(word) for _, words in batch for word in words} - late
            known.add(map(_hash, fresh))
            long = (word for word in fresh if len(word) >= FORGIVEN and word.isalpha())
            spellings.add(_hash(each) for word in long for each in _shortened(word))
            late = late | fresh if len(late) < _LATE else fresh
            keys.append(np.array([_hash(_key(words)) for _, words in batch], np.uint64))
            places.append(np.array([place for place, _ in batch], np.uint32))
    key, place = np.concatenate(keys), np.concatenate(places)
    order = np.argsort(key, kind="stable")
    key[order].tofile(folder / "keys.bin")
    place[order].tofile(folder / "key_places.bin")


def singular(word: str) -> str:
    """Give one form for a word and its regular plural.

    >>> singular("berries"), singular("berry"), singular("ginkgo")
    ('berry', 'berry', 'ginkgo')
    """
    return min((word, *inflections(word)), key=lambda each: (len(each), each))


def _shortened(word: str) -> Iterator[str]:
    """Yield the word and all it becomes without one letter: two that share one are alike."""
    yield word
    yield from (word[:at] + word[at + 1 :] for at in range(len(word)))


def _key(words: Sequence[str]) -> str:
    return " ".join(sorted(map(singular, words)))


def _hash(text: str) -> int:
    return int.from_bytes(blake2b(text.encode("utf-8"), digest_size=8).digest())


def _holds(hashes: NDArray[np.uint64], value: int) -> bool:
    at = int(np.searchsorted(hashes, np.uint64(value)))
    return at < len(hashes) and int(hashes[at]) == value


def _batches(
    names: Iterable[tuple[int, Sequence[str]]], size: int = 20_000
) -> Iterator[list[tuple[int, Sequence[str]]]]:
    batch: list[tuple[int, Sequence[str]]] = []
    for each in names:
        batch.append(each)
        if len(batch) == size:
            yield batch
            batch = []
    yield batch


def _mapped(path: Path, kind: Any) -> NDArray[Any]:
    if not path.stat().st_size:
        return np.zeros(0, kind)
    return np.memmap(path, kind, "r")
