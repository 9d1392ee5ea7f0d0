"""Millions of names with CUIs on disk, found by the 3-grams they share with a mention."""

import json
import math
import re
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice, pairwise
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from shiyi.errors import IndexMismatchError
from shiyi.linking.normalise import fold
from shiyi.linking.umls_filter import hopeful
from shiyi.linking.umls_sources import UmlsName
from shiyi.linking.umls_words import WordIndex, write_words

THRESHOLD = 0.7  # QuickUMLS
FORMAT = 2
_BUCKETS = 1 << 20
_BATCH = 20_000  # names in memory at a time while an index is made
_MAX = 500  # characters of a name; longer ones name nothing a person says
WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)?")
_COLUMNS = {"ends": np.int64, "cuis": np.uint32, "preferred": np.uint8, "kinds": np.uint16}


@dataclass(frozen=True, slots=True)
class FoundName:
    """A name of the index, and the share of 3-grams it has in common with what was asked."""

    text: str
    cui: str
    preferred: bool
    types: frozenset[str]
    similarity: float


class UmlsNames:
    """An index in a folder; its arrays are mapped, not read."""

    def __init__(self, folder: Path) -> None:
        """Open what :meth:`build` wrote; raises :class:`IndexMismatchError` where it is not."""
        try:
            said = json.loads((folder / "umls.json").read_text("utf-8"))
            if said["format"] != FORMAT:
                raise ValueError(f"format {said['format']}")
            self._kinds = [frozenset(each) for each in said["kinds"]]
            self.size: int = said["size"]
            self._text = _mapped(folder / "text.bin", np.uint8)
            self._columns = {
                name: _mapped(folder / f"{name}.bin", kind) for name, kind in _COLUMNS.items()
            }
            self._counts = _mapped(folder / "counts.bin", np.uint32)
            self._starts = _mapped(folder / "starts.bin", np.int64)
            self._postings = _mapped(folder / "postings.bin", np.uint32)
            self.words = WordIndex(folder)
        except (OSError, ValueError, KeyError, TypeError) as fault:
            raise IndexMismatchError(
                f"{folder} holds no index of UMLS names ({fault}): make it again"
            ) from fault

    @classmethod
    def build(cls, names: Iterable[UmlsName], folder: Path) -> Self:
        """Write an index of ``names`` into ``folder`` and open it; memory is bounded."""
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "umls.json").unlink(missing_ok=True)
        size, kinds = _write_names(names, folder)
        _write_grams(folder, size)
        write_words(_in_words(folder, size), folder)
        said = {"format": FORMAT, "size": size, "kinds": [sorted(each) for each in kinds]}
        (folder / "umls.json").write_text(json.dumps(said), "utf-8")  # last: it says all is there
        return cls(folder)

    def similar(self, mention: str) -> list[FoundName]:
        """Give the names whose Jaccard similarity with the folded mention is at least 0.7.

        And those of the same words in another number or order: few letters tell berry from berries.
        """
        folded = fold(mention)
        own = grams(folded)
        ranked = _telling(own, self._counts)
        if not ranked:
            return []
        lists = [self._postings[self._starts[at] : self._starts[at + 1]] for at in ranked]
        held = np.unique(np.concatenate(lists)).astype(np.int64)
        places = hopeful(self._text, self._columns["ends"], held, own, THRESHOLD).tolist()
        alike = [each for each in self._all(own, places) if each.similarity >= THRESHOLD]
        more = [each for each in self.of_words(folded) if each.similarity < THRESHOLD]
        return _sorted(alike + more)

    def of_words(self, folded: str) -> list[FoundName]:
        """Give the names that have the words of a folded text, in any number and order."""
        return _sorted(self._all(grams(folded), self.words.named(words_of(folded))))

    def _all(self, own: frozenset[str], places: Iterable[int]) -> Iterator[FoundName]:
        for place in places:
            text = self._string(place)
            yield self._found(place, text, jaccard(own, grams(text)))

    def _found(self, place: int, text: str, similarity: float) -> FoundName:
        columns = self._columns
        kinds = self._kinds[columns["kinds"][place]]
        cui = f"C{int(columns['cuis'][place]):07d}"
        return FoundName(text, cui, bool(columns["preferred"][place]), kinds, similarity)

    def _string(self, place: int) -> str:
        ends = self._columns["ends"]
        start = int(ends[place - 1]) if place else 0
        return bytes(self._text[start : int(ends[place])]).decode("utf-8")


def _sorted(found: Iterable[FoundName]) -> list[FoundName]:
    return sorted(found, key=lambda each: (-each.similarity, not each.preferred, each.cui))


def words_of(folded: str) -> list[str]:
    """Give the words and figures of a folded text.

    >>> words_of("st. john's wort 300")
    ['st', "john's", 'wort', '300']
    """
    return WORD.findall(folded)


def grams(text: str) -> frozenset[str]:
    """Give the character 3-grams of a folded text, as QuickUMLS; a shorter text is one gram.

    >>> sorted(grams("goji"))
    ['goj', 'oji']
    """
    if len(text) < 3:
        return frozenset({text} - {""})
    return frozenset(text[at : at + 3] for at in range(len(text) - 2))


def jaccard(one: frozenset[str], other: frozenset[str]) -> float:
    """Give the share of 3-grams that two texts have in common, in [0, 1].

    >>> round(jaccard(grams("blood pressure lowering drugs"), grams("drugs")), 3)
    0.111
    """
    shared = len(one & other)
    return shared / (len(one) + len(other) - shared) if shared else 0.0


@lru_cache(maxsize=1 << 17)
def _bucket(gram: str) -> int:
    return zlib.crc32(gram.encode("utf-8")) & (_BUCKETS - 1)


def _telling(own: frozenset[str], counts: Sequence[int] | NDArray[np.uint32]) -> list[int]:
    """Give so many of the rarest grams that two texts as alike as the threshold share one."""
    buckets = sorted({_bucket(gram) for gram in own}, key=lambda at: (int(counts[at]), at))
    return buckets[: len(own) - math.ceil(THRESHOLD * len(own)) + 1] if own else []


def _write_names(names: Iterable[UmlsName], folder: Path) -> tuple[int, list[frozenset[str]]]:
    kinds: dict[frozenset[str], int] = {}
    size = end = 0
    rest, text_path = iter(names), folder / "text.bin"
    files = {name: (folder / f"{name}.bin").open("wb") for name in _COLUMNS}
    try:
        with text_path.open("wb") as text:
            while batch := list(islice(rest, _BATCH)):
                kept = [(each, fold(each.text)) for each in batch if len(each.text) <= _MAX]
                kept = [(each, folded) for each, folded in kept if folded]
                encoded = [folded.encode("utf-8") for _, folded in kept]
                text.write(b"".join(encoded))
                values: dict[str, Any] = {
                    "ends": end + np.cumsum([len(each) for each in encoded], dtype=np.int64),
                    "cuis": [int(each.cui[1:]) for each, _ in kept],
                    "preferred": [each.preferred for each, _ in kept],
                    "kinds": [kinds.setdefault(each.types, len(kinds)) for each, _ in kept],
                }
                for name, column in values.items():
                    np.asarray(column, _COLUMNS[name]).tofile(files[name])
                end += sum(map(len, encoded))
                size += len(kept)
    finally:
        for file in files.values():
            file.close()
    return size, list(kinds)


def _write_grams(folder: Path, size: int) -> None:
    counts = np.zeros(_BUCKETS, np.uint32)
    for _, texts in _batches(folder, size):
        for text in texts:
            counts[[_bucket(gram) for gram in grams(text)]] += 1  # equal buckets count once
    often = counts.tolist()
    sizes = np.zeros(_BUCKETS + 1, np.int64)
    with (folder / "chosen.bin").open("wb") as chosen:
        for first, texts in _batches(folder, size):
            pairs = [
                (at, first + place)
                for place, text in enumerate(texts)
                for at in _telling(grams(text), often)
            ]
            rows = np.asarray(pairs, np.uint32).reshape(-1, 2)
            np.add.at(sizes, rows[:, 0] + 1, 1)
            rows.tofile(chosen)
    starts = np.cumsum(sizes)
    _sort_postings(folder, starts)
    counts.tofile(folder / "counts.bin")
    starts.tofile(folder / "starts.bin")


def _sort_postings(folder: Path, starts: NDArray[np.int64]) -> None:
    """Put the pairs (bucket, name) in the order of buckets, a piece at a time."""
    path, total = folder / "chosen.bin", int(starts[-1])
    if not total:
        (folder / "postings.bin").write_bytes(b"")
        return path.unlink()
    out = np.memmap(folder / "postings.bin", np.uint32, "w+", shape=(total,))
    free = starts[:-1].copy()
    with path.open("rb") as file:
        while (piece := np.fromfile(file, np.uint32, 2 * _BATCH * 50)).size:
            rows = piece.reshape(-1, 2)
            rows = rows[np.argsort(rows[:, 0], kind="stable")]
            buckets, first, often = np.unique(rows[:, 0], return_index=True, return_counts=True)
            within = np.arange(len(rows)) - np.repeat(first, often)
            out[free[rows[:, 0]] + within] = rows[:, 1]
            free[buckets] += often
    out.flush()
    return path.unlink()


def _in_words(folder: Path, size: int) -> Iterator[tuple[int, list[str]]]:
    for first, texts in _batches(folder, size):
        yield from ((first + at, words_of(text)) for at, text in enumerate(texts))


def _batches(folder: Path, size: int) -> Iterator[tuple[int, list[str]]]:
    """Yield the folded names again, a batch at a time, with the place of the first."""
    ends, start = _mapped(folder / "ends.bin", np.int64), 0
    with (folder / "text.bin").open("rb") as text:
        for first in range(0, size, _BATCH):
            stops = ends[first : first + _BATCH].tolist()
            block, base = text.read(stops[-1] - start), start
            lines: Sequence[int] = [base, *stops]
            yield (
                first,
                [
                    block[one - base : other - base].decode("utf-8")
                    for one, other in pairwise(lines)
                ],
            )
            start = stops[-1]


def _mapped(path: Path, kind: Any) -> NDArray[Any]:
    if not path.stat().st_size:
        return np.zeros(0, kind)
    return np.memmap(path, kind, "r")
