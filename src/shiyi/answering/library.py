"""Claims, definitions and passages as texts, found by their words and by their meaning."""

import math
import threading
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final, Self

import numpy as np
from numpy.typing import NDArray

from shiyi.answering.text_parts import words
from shiyi.answering.texts import CLAIM, Unit
from shiyi.answering.unit_index import FILE, UnitIndex
from shiyi.errors import IndexMismatchError
from shiyi.linking.embedder import Embedder

__all__ = ["Hit", "Library", "words"]

_MOST_WORDS: Final = 96  # of a question; more only slow it down
_STOP: Final = frozenset((  # words that ask, and tell nothing apart
    "a", "an", "the", "and", "or", "of", "for", "in", "on", "to", "with", "is", "are", "was",
    "be", "do", "does", "did", "can", "may", "should", "could", "would", "i", "my", "me", "you",
    "it", "what", "which", "how", "when", "why", "who", "that", "this", "there", "have", "has",
    "if", "as", "at", "by", "from", "not", "any", "some", "什么", "是什", "可以", "怎么", "哪些", "如何",
    "能不", "不能", "以吗", "么好", "吗", "的", "了", "呢", "吃什", "喝什", "请问", "我的",
))  # fmt: skip
_OFTEN, _LONG = 1.2, 0.75  # k1 and b of BM25: how much repetition and length of a text count
_LEAST: Final = 1e-6  # that a word weighs which more than half of the texts hold
Wanted = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Hit:
    """A unit that was recalled: ``score`` is BM25 or a cosine, larger is better."""

    unit: Unit
    score: float


@dataclass(frozen=True, slots=True)
class Shown:
    """An index of texts, and which of them are there still."""

    index: UnitIndex
    there: Wanted

    @classmethod
    def of(cls, index: UnitIndex) -> Self:
        """Show all of an index."""
        there = np.ones(index.last, bool)
        there[index.absent] = False
        return cls(index, there)

    def without(self, claims: Iterable[str]) -> Self:
        """Take out the texts of some claims."""
        gone = self.index.own(claims)
        if not gone:
            return self
        there = self.there.copy()
        there[gone] = False
        return replace(self, there=there)

    def units(self) -> list[Unit]:
        """List the units that are there."""
        return [self.index.unit(place) for place in np.flatnonzero(self.there).tolist()]


@dataclass(frozen=True, slots=True)
class State:
    """What is shown at a moment; ``read`` tells in which passages claims that came were read."""

    shown: tuple[Shown, ...]
    touched: frozenset[str] = frozenset()  # claims which passages of the build bear no more
    read: Mapping[str, frozenset[str]] = field(default_factory=dict)

    def unit(self, number: int, place: int) -> Unit:
        """Give a unit with the claims it bears by now."""
        unit = self.shown[number].index.unit(place)
        if unit.kind == CLAIM or not self.touched:
            return unit
        come = (claim for claim, read in self.read.items() if unit.iri in read)
        kept = (claim for claim in unit.claims if claim not in self.touched)
        return replace(unit, claims=(*kept, *come))


@dataclass(slots=True)
class Library:
    """Units searched by their words (BM25) and as vectors; safe between threads.

    What came since is in small indexes of its own, which are joined as they become as many.
    """

    state: State
    embedder: Embedder | None
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @classmethod
    def build(
        cls,
        units: Iterable[Unit],
        release: str,
        embedder: Embedder | None,
        folder: Path | None = None,
    ) -> Self:
        """Index ``units``, and write them below ``folder`` where one is given."""
        index = UnitIndex.of(units, embedder)
        if folder is not None:
            index.write(folder, release, embedder.identity if embedder else "")
        return cls(State((Shown.of(index),)), embedder)

    @classmethod
    def open(cls, folder: Path, release: str, embedder: Embedder | None) -> Self:
        """Open what :meth:`build` wrote.

        Raises ``IndexMismatchError`` where there is none, or one of another release.
        """
        if not (folder / FILE).is_file():
            raise IndexMismatchError(f"{folder} holds no index of texts: run `shiyi build` again")
        return cls(State((Shown.of(UnitIndex.open(folder, release, embedder)),)), embedder)

    def __len__(self) -> int:
        """Count the units."""
        return sum(int(each.there.sum()) for each in self.state.shown)

    def claims(self) -> frozenset[str]:
        """List the claims that have a text of their own."""
        return frozenset(
            each.index.claims[place]
            for each in self.state.shown
            for place in np.flatnonzero(each.there[: len(each.index.claims)]).tolist()
        )

    def change(
        self, gone: Collection[str], come: Sequence[Unit], read_in: Mapping[str, Collection[str]]
    ) -> None:
        """Take the texts of claims out and put others in; the file of the build stays as it is.

        ``read_in`` gives for each claim that came the passages it was read in.
        """
        fresh = [Shown.of(UnitIndex.of(come, self.embedder))] if come else []
        with self._lock:
            state = self.state
            touched = {*gone, *(unit.iri for unit in come)}
            shown = [*(each.without(touched) for each in state.shown), *fresh]
            while len(shown) > 2 and len(shown[-2].index) <= len(shown[-1].index):
                later = [unit for each in shown[-2:] for unit in each.units()]
                shown[-2:] = [Shown.of(UnitIndex.of(later, self.embedder))]
            read = {claim: each for claim, each in state.read.items() if claim not in touched}
            read |= {claim: frozenset(each) for claim, each in read_in.items()}
            self.state = State(tuple(shown), state.touched | touched, read)

    def by_words(
        self, text: str, k: int, kinds: Collection[str] = (), claims: Collection[str] = ()
    ) -> tuple[Hit, ...]:
        """Give the ``k`` units that share the rarest words with a text, best first (BM25).

        ``kinds`` and ``claims`` leave only units of these kinds, or that bear one of these claims.
        """
        state, said = self.state, dict.fromkeys(words(text))
        asked = [each for each in said if each not in _STOP][:_MOST_WORDS] or list(said)
        asked = [w for w in asked if not state.shown[0].index.is_common(w)] or asked
        if not asked or k < 1:
            return ()
        every = [each.index for each in state.shown]
        count = sum(map(len, every))
        usual = sum(float(each.lengths.sum()) for each in every) / max(1, count)
        scores = [np.zeros(each.last) for each in every]
        for word in asked:
            held = [each.holding(word) for each in every]
            holding = sum(len(places) for places, _ in held)
            rarity = max(_LEAST, math.log((count - holding + 0.5) / (holding + 0.5)))
            for index, score, (places, times) in zip(every, scores, held, strict=True):
                length = 1 - _LONG + _LONG * index.lengths[places] / usual
                score[places] += rarity * times * (_OFTEN + 1) / (times + _OFTEN * length)
        found = list[tuple[float, int, int]]()
        for number, (each, score) in enumerate(zip(state.shown, scores, strict=True)):
            score[~self._wanted(state, each, kinds, claims)] = 0
            places = np.flatnonzero(score)
            if len(places) > k:
                least = np.partition(score[places], -k)[-k]
                places = places[score[places] >= least]
            found += [(-float(score[place]), number, place) for place in places.tolist()]
        return self._hits(state, found, k)

    def by_meaning(self, text: str, k: int, kinds: Collection[str] = ()) -> tuple[Hit, ...]:
        """Give the ``k`` units nearest to a text by cosine; none where there are no vectors."""
        return self.nearest([text], k, kinds)[0]

    def nearest(
        self, texts: Sequence[str], k: int, kinds: Collection[str] = ()
    ) -> tuple[tuple[Hit, ...], ...]:
        """Give for each text the ``k`` nearest units, nearest first."""
        state = self.state
        found: list[list[tuple[float, int, int]]] = [[] for _ in texts]
        if self.embedder is None or not texts or k < 1:
            return tuple(() for _ in texts)
        asked = self.embedder.encode(texts)
        for number, each in enumerate(state.shown):
            if each.index.vectors is not None:
                wanted = self._wanted(state, each, kinds, ())
                for held, near in zip(
                    found, each.index.vectors.nearest(asked, k, wanted), strict=True
                ):
                    held += [(-cosine, number, place) for place, cosine in near if cosine > 0]
        return tuple(self._hits(state, held, k) for held in found)

    def bearing(self, claims: Collection[str], kinds: Collection[str]) -> tuple[Unit, ...]:
        """Give the texts of some kinds that bear any of these claims."""
        state = self.state
        return tuple(
            state.unit(number, place)
            for number, each in enumerate(state.shown)
            for place in np.flatnonzero(self._wanted(state, each, kinds, claims)).tolist()
        )

    def _wanted(
        self, state: State, shown: Shown, kinds: Collection[str], claims: Collection[str]
    ) -> Wanted:
        """Tell which units are there, of some kinds and bear some claims, where any are named."""
        index = shown.index
        found = shown.there & index.of_kinds(kinds) if kinds else shown.there
        if not claims:
            return found
        bearing = np.zeros(len(found), bool)
        bearing[index.own(claims)] = True
        bearing[index.bearing(each for each in claims if each not in state.touched)] = True
        bearing[index.named({iri for each in claims for iri in state.read.get(each, ())})] = True
        return found & bearing

    def _hits(self, state: State, found: list[tuple[float, int, int]], k: int) -> tuple[Hit, ...]:
        return tuple(
            Hit(state.unit(number, place), -score) for score, number, place in sorted(found)[:k]
        )
