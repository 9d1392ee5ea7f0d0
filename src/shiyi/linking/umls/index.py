"""3-gram index of UMLS names."""

import json
import math
import re
import zlib
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from itertools import islice, pairwise
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from shiyi.errors import IndexMismatchError
from shiyi.linking.dictionary import singular
from shiyi.linking.normalization import fold
from shiyi.linking.umls.sources import UmlsName

_PART = 50_000  # names looked at together
_BITS = 16


def filter_by_bound(
    text: NDArray[np.uint8],
    ends: NDArray[np.int64],
    places: NDArray[np.int64],
    own: Collection[str],
    threshold: float,
) -> NDArray[np.int64]:
    """Keep the ``places`` of names that may reach a Jaccard similarity of ``threshold``.

    Two sets as alike as that share at least that part of either; the 3-grams of a name that are
    among ``own`` are counted as often as they stand, and by hashes, so never too few. Where a gram
    of ``own`` is not of three ASCII characters, all places are stored.
    """
    if not all(len(gram) == 3 and gram.isascii() for gram in own):
        return places
    wanted = np.zeros(1 << _BITS, bool)
    wanted[_hashes(np.frombuffer("".join(own).encode(), np.uint8).reshape(-1, 3).T)] = True
    least = math.ceil(threshold * len(own) - 1e-9)
    parts = (places[at : at + _PART] for at in range(0, len(places), _PART))
    likely = [part[_count_shared(text, ends, part, wanted) >= least] for part in parts]
    return np.concatenate(likely) if likely else places


def _count_shared(
    text: NDArray[np.uint8],
    ends: NDArray[np.int64],
    places: NDArray[np.int64],
    mask: NDArray[np.bool_],
) -> NDArray[np.int64]:
    stops = np.asarray(ends[places])
    starts = np.where(places > 0, ends[places - 1], 0)  # of place 0 the last end, not used
    grams = np.maximum(stops - starts - 2, 0)
    first = np.cumsum(grams) - grams
    at = np.arange(int(grams.sum())) + np.repeat(starts - first, grams)
    found = mask[_hashes((text[at], text[at + 1], text[at + 2]))]
    counted = np.concatenate(([0], np.cumsum(found, dtype=np.int64)))
    shared: NDArray[np.int64] = counted[first + grams] - counted[first]
    return shared


def _hashes(three: Collection[NDArray[np.uint8]]) -> NDArray[np.uint32]:
    one, two, last = (item.astype(np.uint32) for item in three)
    mixed = (one << 16 | two << 8 | last) * np.uint32(2654435761)  # Knuth's multiplier
    return np.asarray(mixed >> np.uint32(32 - _BITS), np.uint32)


_RUN = 4_000_000  # hashes in memory at a time: 32 MB (Shiyi's)
_PARTS = 64  # ranges of hashes that are put in order one after the other (Shiyi's)


class SortedHashes:
    """A file of 64-bit hashes in order, made by adding them in any order; whole once it is left.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "some.bin"
    >>> with SortedHashes(path) as some:
    ...     some.add([3, 1])
    ...     some.add([3, 2])
    >>> np.fromfile(path, np.uint64).tolist()
    [1, 2, 3]
    """

    def __init__(self, path: Path, run: int = _RUN) -> None:
        self._path, self._most = path, run
        self._late: list[NDArray[np.uint64]] = []
        self._count = 0
        self._runs: list[Path] = []

    def add(self, hashes: Iterable[int]) -> None:
        """Add some names."""
        self._late.append(np.fromiter(hashes, np.uint64))
        self._count += len(self._late[-1])
        if self._count >= self._most:
            self._put_down()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        fault: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is None:
            self._put_down()
            self._merge()
        for path in self._runs:
            path.unlink(missing_ok=True)

    def _put_down(self) -> None:
        if self._count:
            path = self._path.with_suffix(f".run{len(self._runs)}")
            self._runs.append(path)
            _distinct(np.concatenate(self._late)).tofile(path)
        self._late, self._count = [], 0

    def _merge(self) -> None:
        runs = [np.memmap(path, np.uint64, "r") for path in self._runs]
        edges = [np.uint64(part * ((1 << 64) // _PARTS)) for part in range(1, _PARTS)]
        cuts = [[0, *np.searchsorted(run, edges).tolist(), len(run)] for run in runs]
        with self._path.open("wb") as out:
            for part in range(_PARTS if runs else 0):
                pieces = [run[at[part] : at[part + 1]] for run, at in zip(runs, cuts, strict=True)]
                _distinct(np.concatenate(pieces)).tofile(out)


def _distinct(hashes: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return the sorted distinct hashes; np.unique would hash them, which is slower."""
    hashes.sort()
    first = np.ones(len(hashes), bool)
    first[1:] = hashes[1:] != hashes[:-1]
    return hashes[first]


_LATE = 300_000  # words known to be written, so that they are not rewritten (Shiyi's)
FORGIVEN = 5  # letters from which a word may be misspelt
_FILES = {"words": np.uint64, "spellings": np.uint64, "keys": np.uint64, "key_places": np.uint32}


class WordIndex:
    """Hashes on disk; its arrays are mapped, not read."""

    def __init__(self, folder: Path) -> None:
        """Open what :func:`write_words` wrote; raise ``OSError`` where it is not there."""
        self._words, self._spellings, self._keys, self._places = (
            _map_array(folder / f"{name}.bin", kind) for name, kind in _FILES.items()
        )

    def knows(self, word: str) -> bool:
        """Return whether a name has the word, in the singular or the plural."""
        return _holds(self._words, _hash(singular(word)))

    def resembles(self, word: str) -> bool:
        """Return whether a name may have a word with one letter more, fewer or other."""
        if len(word) < FORGIVEN:
            return False
        return any(_holds(self._spellings, _hash(deletion)) for deletion in _deletions(word))

    def find_same_words(self, words: Sequence[str]) -> list[int]:
        """Return the places of the names of these words and no others, in any order."""
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
        SortedHashes(folder / "words.bin") as hashes,
        SortedHashes(folder / "spellings.bin") as spellings,
    ):
        for batch in _batches(names):
            fresh = {singular(word) for _, words in batch for word in words} - late
            hashes.add(map(_hash, fresh))
            long = (word for word in fresh if len(word) >= FORGIVEN and word.isalpha())
            spellings.add(_hash(deletion) for word in long for deletion in _deletions(word))
            late = late | fresh if len(late) < _LATE else fresh
            keys.append(np.array([_hash(_key(words)) for _, words in batch], np.uint64))
            places.append(np.array([place for place, _ in batch], np.uint32))
    key, place = np.concatenate(keys), np.concatenate(places)
    order = np.argsort(key, kind="stable")
    key[order].tofile(folder / "keys.bin")
    place[order].tofile(folder / "key_places.bin")


def _deletions(word: str) -> Iterator[str]:
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
    for name in names:
        batch.append(name)
        if len(batch) == size:
            yield batch
            batch = []
    yield batch


def _map_array(path: Path, kind: Any) -> NDArray[Any]:
    if not path.stat().st_size:
        return np.zeros(0, kind)
    return np.memmap(path, kind, "r")


THRESHOLD = 0.7  # QuickUMLS
FORMAT = 2
_BUCKETS = 1 << 20
_BATCH = 20_000  # names in memory at a time while an index is made
_MAX = 500  # characters of a name; longer ones name nothing a person says
WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)?")
_COLUMNS = {"ends": np.int64, "cuis": np.uint32, "preferred": np.uint8, "kinds": np.uint16}


@dataclass(frozen=True, slots=True)
class UmlsNameMatch:
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
            about = json.loads((folder / "umls.json").read_text("utf-8"))
            if about["format"] != FORMAT:
                raise ValueError(f"format {about['format']}")
            self._kinds = [frozenset(item) for item in about["kinds"]]
            self.size: int = about["size"]
            self._text = _map_array(folder / "text.bin", np.uint8)
            self._columns = {
                name: _map_array(folder / f"{name}.bin", kind) for name, kind in _COLUMNS.items()
            }
            self._counts = _map_array(folder / "counts.bin", np.uint32)
            self._starts = _map_array(folder / "starts.bin", np.int64)
            self._postings = _map_array(folder / "postings.bin", np.uint32)
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
        about = {"format": FORMAT, "size": size, "kinds": [sorted(kind) for kind in kinds]}
        (folder / "umls.json").write_text(json.dumps(about), "utf-8")  # last: it says all is there
        return cls(folder)

    def similar(self, mention: str) -> list[UmlsNameMatch]:
        """Return the names with a Jaccard similarity to the folded mention of at least 0.7.

        And those of the same words in another number or order: few letters tell berry from berries.
        """
        folded = fold(mention)
        own = grams(folded)
        rarest_grams = _rarest_grams(own, self._counts)
        if not rarest_grams:
            return []
        lists = [self._postings[self._starts[at] : self._starts[at + 1]] for at in rarest_grams]
        unique = np.unique(np.concatenate(lists)).astype(np.int64)
        places = filter_by_bound(self._text, self._columns["ends"], unique, own, THRESHOLD).tolist()
        matches = [match for match in self._all(own, places) if match.similarity >= THRESHOLD]
        more = [match for match in self.of_words(folded) if match.similarity < THRESHOLD]
        return _sort_names(matches + more)

    def of_words(self, folded: str) -> list[UmlsNameMatch]:
        """Return the names that have the words of a folded text, in any number and order."""
        return _sort_names(
            self._all(grams(folded), self.words.find_same_words(split_words(folded)))
        )

    def _all(self, own: frozenset[str], places: Iterable[int]) -> Iterator[UmlsNameMatch]:
        for place in places:
            text = self._string(place)
            yield self._make_name(place, text, jaccard(own, grams(text)))

    def _make_name(self, place: int, text: str, similarity: float) -> UmlsNameMatch:
        columns = self._columns
        kinds = self._kinds[columns["kinds"][place]]
        cui = f"C{int(columns['cuis'][place]):07d}"
        return UmlsNameMatch(text, cui, bool(columns["preferred"][place]), kinds, similarity)

    def _string(self, place: int) -> str:
        ends = self._columns["ends"]
        start = int(ends[place - 1]) if place else 0
        return bytes(self._text[start : int(ends[place])]).decode("utf-8")


def _sort_names(names: Iterable[UmlsNameMatch]) -> list[UmlsNameMatch]:
    return sorted(names, key=lambda match: (-match.similarity, not match.preferred, match.cui))


def split_words(folded: str) -> list[str]:
    """Return the words and figures of a folded text.

    >>> split_words("st. john's wort 300")
    ['st', "john's", 'wort', '300']
    """
    return WORD.findall(folded)


def grams(text: str) -> frozenset[str]:
    """Return the character 3-grams of a folded text, as QuickUMLS; a shorter text is one gram.

    >>> sorted(grams("goji"))
    ['goj', 'oji']
    """
    if len(text) < 3:
        return frozenset({text} - {""})
    return frozenset(text[at : at + 3] for at in range(len(text) - 2))


def jaccard(one: frozenset[str], other: frozenset[str]) -> float:
    """Return the share of 3-grams that two texts have in common, in [0, 1].

    >>> round(jaccard(grams("blood pressure lowering drugs"), grams("drugs")), 3)
    0.111
    """
    shared = len(one & other)
    return shared / (len(one) + len(other) - shared) if shared else 0.0


@lru_cache(maxsize=1 << 17)
def _bucket(gram: str) -> int:
    return zlib.crc32(gram.encode("utf-8")) & (_BUCKETS - 1)


def _rarest_grams(own: frozenset[str], counts: Sequence[int] | NDArray[np.uint32]) -> list[int]:
    """Return so many of the rarest grams that two texts as alike as the threshold share one."""
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
                body = [(each, fold(each.text)) for each in batch if len(each.text) <= _MAX]
                body = [(each, folded) for each, folded in body if folded]
                encoded = [folded.encode("utf-8") for _, folded in body]
                text.write(b"".join(encoded))
                values: dict[str, Any] = {
                    "ends": end + np.cumsum([len(block) for block in encoded], dtype=np.int64),
                    "cuis": [int(each.cui[1:]) for each, _ in body],
                    "preferred": [each.preferred for each, _ in body],
                    "kinds": [kinds.setdefault(each.types, len(kinds)) for each, _ in body],
                }
                for name, column in values.items():
                    np.asarray(column, _COLUMNS[name]).tofile(files[name])
                end += sum(map(len, encoded))
                size += len(body)
    finally:
        for file in files.values():
            file.close()
    return size, list(kinds)


def _write_grams(folder: Path, size: int) -> None:
    counts = np.zeros(_BUCKETS, np.uint32)
    for _, texts in _name_batches(folder, size):
        for text in texts:
            counts[[_bucket(gram) for gram in grams(text)]] += 1  # equal buckets count once
    often = counts.tolist()
    sizes = np.zeros(_BUCKETS + 1, np.int64)
    with (folder / "chosen.bin").open("wb") as writer:
        for first, texts in _name_batches(folder, size):
            pairs = [
                (at, first + place)
                for place, text in enumerate(texts)
                for at in _rarest_grams(grams(text), often)
            ]
            rows = np.asarray(pairs, np.uint32).reshape(-1, 2)
            np.add.at(sizes, rows[:, 0] + 1, 1)
            rows.tofile(writer)
    starts = np.cumsum(sizes)
    _sort_postings(folder, starts)
    counts.tofile(folder / "counts.bin")
    starts.tofile(folder / "starts.bin")


def _sort_postings(folder: Path, starts: NDArray[np.int64]) -> None:
    """Place the pairs (bucket, name) in the order of buckets, a piece at a time."""
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
    for first, texts in _name_batches(folder, size):
        yield from ((first + at, split_words(text)) for at, text in enumerate(texts))


def _name_batches(folder: Path, size: int) -> Iterator[tuple[int, list[str]]]:
    """Yield the folded names in batches, with the place of the first."""
    ends, start = _map_array(folder / "ends.bin", np.int64), 0
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
