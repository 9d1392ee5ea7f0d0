"""Co-occurrence in ingested books."""

import hashlib
import math
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import islice, pairwise
from pathlib import Path
from typing import Final, Self

import numpy as np
from numpy.typing import NDArray

from shiyi.columnar.mapped_file import Memmap, write
from shiyi.columnar.strings import Array
from shiyi.errors import IndexMismatchError
from shiyi.linking.labels import LabelIndex
from shiyi.linking.normalization import fold
from shiyi.model.rdf import NamedNode, text
from shiyi.ontology.terms import RDF, RDFS, SHIYI
from shiyi.sparql.store.port import QuadStore

Places = NDArray[np.int32]
Keys = NDArray[np.uint64]
FILE: Final = "together.safetensors"
_BATCH: Final = 4096  # passages at a time; a place within a batch fits in as many bits:
_BITS: Final = np.uint64(12)
_CHARACTER: Final = 18  # bits of a code point
_WORDS: Final = 1 << 39  # from here on keys are those of words in Latin script
_LATIN: Final = re.compile(r"[a-z0-9][a-z0-9']*")
_RUN: Final = re.compile(r"[\u3400-\u9fff\U00020000-\U0003ffff]+")
_DEEPEST: Final = 8  # titles above a passage


def words(message: str) -> list[int]:
    """Return the keys of a text's words, each once: pairs of Chinese characters, words in Latin script.

    >>> len(words("脾胃虚寒")), words("脾胃") == words("脾胃 脾胃")
    (3, True)
    """
    folded = fold(message)
    results = [
        (ord(a) << _CHARACTER) | ord(b) for run in _RUN.findall(folded) for a, b in pairwise(run)
    ]
    return list(dict.fromkeys([*results, *map(_key, _LATIN.findall(folded))]))


def _key(word: str) -> int:
    short = hashlib.blake2b(word.encode(), digest_size=8).digest()
    return _WORDS | (int.from_bytes(short) & (_WORDS - 1))


@dataclass(frozen=True, slots=True, eq=False)
class Cooccurrence:
    """The words of ``count`` passages, each with the passages that hold it, in ascending order."""

    count: int
    keys: Keys
    starts: NDArray[np.int64]  # where the places of each word begin, one more than there are words
    places: Places

    @classmethod
    def of(cls, passages: Iterable[str]) -> Self:
        """Index passages, some 15,000 a second."""
        parts = list[tuple[Keys, Places]]()
        count = 0
        rest = iter(passages)
        while batch := list(islice(rest, _BATCH)):
            both = np.unique(_withheld(batch))
            parts.append(
                (both >> _BITS, (both & np.uint64(_BATCH - 1)).astype(np.int32) + np.int32(count))
            )
            count += len(batch)
        if not parts:
            empty = np.zeros(0, np.uint64)
            return cls(0, empty, np.zeros(1, np.int64), np.zeros(0, np.int32))
        known = [np.unique(keys, return_index=True, return_counts=True) for keys, _ in parts]
        keys = np.unique(np.concatenate([each for each, _, _ in known]))
        often = np.zeros(len(keys), np.int64)
        for item, _, times in known:
            often[np.searchsorted(keys, item)] += times
        starts = np.concatenate(([0], np.cumsum(often)))
        free, places = starts[:-1].copy(), np.empty(starts[-1], np.int32)
        for (_, stored_places), (item, first, times) in zip(parts, known, strict=True):
            column = np.searchsorted(keys, item)
            places[np.repeat(free[column] - first, times) + np.arange(len(stored_places))] = (
                stored_places
            )
            free[column] += times
        return cls(count, keys, starts, places)

    @classmethod
    def over(cls, store: QuadStore, folder: Path, release: str) -> Self:
        """Open the index of a base's passages; where none was stored for them, make it and keep it."""
        count = sum(1 for _ in store.match(None, RDF.type, SHIYI.Passage, None))
        if not count:
            return cls.of(())
        of = {"release": release, "passages": str(count)}
        try:
            return cls.load(folder, **of)
        except IndexMismatchError:
            made = cls.of(passages_of(store))
            with suppress(PermissionError):  # a base one may only read
                made.save(folder, **of)
            return made

    def save(self, folder: Path, **of: str) -> None:
        """Write the arrays and what they were made from."""
        arrays: dict[str, Array] = {
            "keys": self.keys.view(np.int64),
            "starts": self.starts,
            "places": self.places,
        }
        write(folder / FILE, arrays, count=str(self.count), **of)

    @classmethod
    def load(cls, folder: Path, **of: str) -> Self:
        """Map what :meth:`save` wrote; ``IndexMismatchError`` where it was made from something else."""
        result = Memmap.open(folder / FILE, **of)
        keys = result["keys"].view(np.uint64)
        return cls(int(result.about["count"]), keys, result["starts"], result["places"])

    def passages_with(self, key: int) -> Places:
        """Return the passages that hold a word, none for one that no passage holds."""
        column = int(np.searchsorted(self.keys, np.uint64(key)))
        if column == len(self.keys) or int(self.keys[column]) != key:
            return np.zeros(0, np.int32)
        return np.asarray(self.places[self.starts[column] : self.starts[column + 1]])


def _withheld(passages: Sequence[str]) -> Keys:
    """Return every word of some passages, the place of its passage in the lowest bits."""
    folded = [fold(passage) for passage in passages]
    codes = np.frombuffer("\n".join(folded).encode("utf-32-le"), np.uint32).astype(np.uint64)
    place = np.repeat(np.arange(len(folded)), [len(character) + 1 for character in folded])[:-1]
    chinese = ((codes >= 0x3400) & (codes <= 0x9FFF)) | ((codes >= 0x20000) & (codes <= 0x3FFFF))
    pair = chinese[:-1] & chinese[1:]
    keys = (codes[:-1][pair] << np.uint64(_CHARACTER)) | codes[1:][pair]
    latin = [(_key(word), i) for i, each in enumerate(folded) for word in _LATIN.findall(each)]
    others = np.array([key << int(_BITS) | i for key, i in latin], np.uint64)
    return np.concatenate(((keys << _BITS) | place[:-1][pair].astype(np.uint64), others))


def passages_of(store: QuadStore) -> Iterator[str]:
    """Yield each passage of a base below the titles it stands under, in the order of their IRIs."""
    passages = {q.subject for q in store.match(None, RDF.type, SHIYI.Passage, None)}
    if not passages:
        return
    above = {q.subject: q.object for q in store.match(None, SHIYI.partOfSection, None, None)}
    titles = {
        q.subject: text(q.object)
        for q in store.match(None, RDFS.label, None, None)
        if q.subject not in passages
    }
    values = {
        q.subject: text(q.object)
        for q in store.match(None, RDF.value, None, None)
        if q.subject in passages
    }
    for passage in sorted(values, key=text):
        node, path = above.get(passage), list[str]()
        while isinstance(node, NamedNode) and node in titles and len(path) < _DEEPEST:
            path.append(titles[node])
            node = above.get(node)
        yield " ".join([*reversed(path), values[passage]])


_OTHER = 0.3  # Shiyi's, on the licensing exam alone (TCM-ED-B): weight of a word no name of the base holds
_K1, _B = 1.2, 0.75  # Robertson and Zaragoza 2009


@dataclass(slots=True)
class CooccurrenceScorer:
    """How much oftener than by chance the words of an option stand in one passage with the stem's.

    The mean, over pairs of a word of the stem and one of the option, of their normalised pointwise
    mutual information (Bouma 2009), what is below 0 counted as 0: the statistical solver of
    Clark et al. (AAAI 2016). Words of the stem that stand in names of the base weigh more.
    """

    index: Cooccurrence
    named: frozenset[int]
    _places: dict[int, Places] = field(default_factory=dict)
    _known: dict[tuple[int, int], float] = field(default_factory=dict)

    @classmethod
    def over(cls, index: Cooccurrence, names: LabelIndex) -> Self:
        """Weigh words by the names of a base."""
        return cls(index, frozenset(key for label in names.labels for key in words(label.text)))

    def scores(self, stem: str, options: Sequence[str]) -> list[float]:
        """Return each option its mean."""
        asked = [(key, 1.0 if key in self.named else _OTHER) for key in self._counts(words(stem))]
        return [self._mean(asked, self._counts(words(option))) for option in options]

    def _counts(self, keys: Iterable[int]) -> list[int]:
        return [key for key in keys if len(self._where(key))]

    def _where(self, key: int) -> Places:
        if key not in self._places:
            self._places[key] = self.index.passages_with(key)
        return self._places[key]

    def _mean(self, asked: Sequence[tuple[int, float]], items: Sequence[int]) -> float:
        results = []
        for own in items:
            others = [(key, weight) for key, weight in asked if key != own]
            if others:
                total = sum(weight * self._joint_score(own, key) for key, weight in others)
                results.append(total / sum(weight for _, weight in others))
        return sum(results) / len(results) if results else 0.0

    def _joint_score(self, one: int, other: int) -> float:
        pair = (one, other) if one < other else (other, one)
        if pair not in self._known:
            self._known[pair] = self._information(self._where(one), self._where(other))
        return self._known[pair]

    def _information(self, one: Places, other: Places) -> float:
        n, both = self.index.count, _shared(one, other)
        if not both or both == n:
            return 0.0
        return max(0.0, math.log(both * n / (len(one) * len(other))) / -math.log(both / n))


def _shared(one: Places, other: Places) -> int:
    few, many = (one, other) if len(one) <= len(other) else (other, one)
    at = np.minimum(np.searchsorted(many, few), len(many) - 1)
    return int((many[at] == few).sum())


@dataclass(slots=True)
class PassageRanker:
    """The passage that best matches stem and option (BM25 over words, each counted once a passage)."""

    index: Cooccurrence
    _length: NDArray[np.float64] | None = None

    def scores(self, stem: str, options: Sequence[str]) -> list[float]:
        """Return each option the best sum of a passage that matches both; 0 where none does."""
        asked = self._all(stem)
        results = []
        for option in options:
            result = self._all(option)
            both = np.where((asked > 0) & (result > 0), asked + result, 0.0)
            results.append(float(both.max()) if len(both) else 0.0)
        return results

    def _all(self, message: str) -> NDArray[np.float64]:
        n = self.index.count
        if self._length is None:
            often = np.bincount(self.index.places, minlength=n)
            self._length = often / (often.mean() if n else 1.0)
        total = np.zeros(n)
        for key in words(message):
            places = self.index.passages_with(key)
            if len(places):
                rarity = math.log(1 + (n - len(places) + 0.5) / (len(places) + 0.5))
                total[places] += (
                    rarity * (_K1 + 1) / (1 + _K1 * (1 - _B + _B * self._length[places]))
                )
        return total
