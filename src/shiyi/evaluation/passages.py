"""How the passages of ingested books join an option to a stem."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Self

import numpy as np
from numpy.typing import NDArray

from shiyi.evaluation.cooccurrence import Cooccurrence, Places, words
from shiyi.linking.labels import LabelIndex

_OTHER = (
    0.3  # ours, on the licensing exam alone (TCM-ED-B): weight of a word no name of the base holds
)
_K1, _B = 1.2, 0.75  # Robertson and Zaragoza 2009


@dataclass(slots=True)
class TogetherScorer:
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
        """Give each option its mean."""
        asked = [(key, 1.0 if key in self.named else _OTHER) for key in self._held(words(stem))]
        return [self._mean(asked, self._held(words(option))) for option in options]

    def _held(self, keys: Iterable[int]) -> list[int]:
        return [key for key in keys if len(self._where(key))]

    def _where(self, key: int) -> Places:
        if key not in self._places:
            self._places[key] = self.index.holding(key)
        return self._places[key]

    def _mean(self, asked: Sequence[tuple[int, float]], said: Sequence[int]) -> float:
        found = []
        for own in said:
            others = [(key, weight) for key, weight in asked if key != own]
            if others:
                total = sum(weight * self._joined(own, key) for key, weight in others)
                found.append(total / sum(weight for _, weight in others))
        return sum(found) / len(found) if found else 0.0

    def _joined(self, one: int, other: int) -> float:
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
        """Give each option the best sum of a passage that matches both; 0 where none does."""
        asked = self._all(stem)
        found = []
        for option in options:
            said = self._all(option)
            both = np.where((asked > 0) & (said > 0), asked + said, 0.0)
            found.append(float(both.max()) if len(both) else 0.0)
        return found

    def _all(self, said: str) -> NDArray[np.float64]:
        n = self.index.count
        if self._length is None:
            often = np.bincount(self.index.places, minlength=n)
            self._length = often / (often.mean() if n else 1.0)
        total = np.zeros(n)
        for key in words(said):
            held = self.index.holding(key)
            if len(held):
                rarity = math.log(1 + (n - len(held) + 0.5) / (len(held) + 0.5))
                total[held] += rarity * (_K1 + 1) / (1 + _K1 * (1 - _B + _B * self._length[held]))
        return total
