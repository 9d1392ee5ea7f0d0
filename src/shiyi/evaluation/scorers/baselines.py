"""Baselines that read training material: the nearest cases and the nearest prescriptions."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from shiyi.answering.retrieval.bm25 import TextIndex
from shiyi.evaluation.items import Choice, Prescription

Floats = NDArray[np.float64]
HerbScorer = Callable[[Sequence[str]], Floats]
NEAREST_CASES, NEAREST_PRESCRIPTIONS = 10, 50  # Shiyi's


@dataclass(frozen=True, slots=True)
class CaseScorer:
    """Scores an option by the answers of the nearest training cases (TF-IDF of characters)."""

    index: TextIndex
    answers: tuple[tuple[str, ...], ...]
    nearest: int = NEAREST_CASES

    @classmethod
    def of(cls, cases: Sequence[Choice], nearest: int = NEAREST_CASES) -> Self:
        """Learn from cases with their right options."""
        answers = tuple(
            tuple(text for letter, text in case.options if letter in case.gold) for case in cases
        )
        return cls(TextIndex.tfidf([case.stem for case in cases]), answers, nearest)

    def scores(self, stem: str, options: Sequence[str]) -> list[float]:
        """Return for each option the similarity of the cases times that of their answers."""
        similar = self.index.top(stem, self.nearest)
        return [
            sum(
                sim * max((likeness(option, answer) for answer in self.answers[case]), default=0.0)
                for case, sim in similar
            )
            for option in options
        ]


def likeness(one: str, other: str) -> float:
    """Return the Dice coefficient of the characters and pairs of two names.

    >>> likeness("脾气虚", "脾气虚")
    1.0
    >>> likeness("脾气虚", "血瘀")
    0.0
    """
    a, b = _pieces(one), _pieces(other)
    total = a.total() + b.total()
    return 2 * (a & b).total() / total if total else 0.0


def _pieces(text: str) -> Counter[str]:
    return Counter([*text, *(text[i : i + 2] for i in range(len(text) - 1))])


@dataclass(frozen=True, slots=True, eq=False)
class PrescriptionTable:
    """Symptoms by herbs, as counted in training prescriptions."""

    symptoms: Mapping[str, int]
    herbs: tuple[str, ...]
    had: Floats  # prescriptions by symptoms
    given: Floats  # prescriptions by herbs
    rarity: Floats
    rows: Floats  # prescriptions by symptoms, TF-IDF, each of length 1

    @classmethod
    def of(cls, training: Sequence[Prescription], herbs: Sequence[str]) -> Self:
        """Count the training prescriptions."""
        names = sorted({s for each in training for s in each.symptoms})
        symptoms = {name: i for i, name in enumerate(names)}
        column = {name: i for i, name in enumerate(herbs)}
        had, given = np.zeros((len(training), len(names))), np.zeros((len(training), len(herbs)))
        for row, prescription in enumerate(training):
            had[row, [symptoms[s] for s in prescription.symptoms]] = 1.0
            given[row, [column[h] for h in prescription.herbs if h in column]] = 1.0
        rarity = np.log((1 + len(had)) / (1 + had.sum(axis=0)))
        rows = had * rarity
        rows /= np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)
        return cls(symptoms, tuple(herbs), had, given, _floats(rarity), _floats(rows))

    def popular(self) -> Floats:
        """Return how often each herb was prescribed."""
        return _floats(self.given.mean(axis=0))

    def nearest(self, symptoms: Sequence[str], count: int = NEAREST_PRESCRIPTIONS) -> Floats:
        """Return the herbs of the prescriptions with the most similar symptoms (TF-IDF, cosine)."""
        own = self.vector(symptoms) * self.rarity
        similarity = _floats(self.rows @ (own / (np.linalg.norm(own) or 1.0)))
        order = np.argpartition(-similarity, min(count, len(similarity)) - 1)[:count]
        return _floats(similarity[order] @ self.given[order])

    def vector(self, symptoms: Sequence[str]) -> Floats:
        """Return the row of a set of symptoms."""
        vector = np.zeros(len(self.symptoms))
        vector[[self.symptoms[s] for s in symptoms if s in self.symptoms]] = 1.0
        return vector


def _floats(values: Any) -> Floats:
    return np.asarray(values, dtype=np.float64)
