"""Readers that learn from ``--train`` for one run alone: nearest cases, herbs by symptom."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from shiyi.answering.baselines import TextIndex
from shiyi.evaluation.hidden_layer import HiddenLayer
from shiyi.evaluation.items import Choice, Prescription

Floats = NDArray[np.float64]
NEAREST_CASES, NEAREST_PRESCRIPTIONS = 10, 50  # ours
RIDGE = 10.0  # ours


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
        """Give each option the likeness of the cases times that of their answers."""
        near = self.index.top(stem, self.nearest)
        return [
            sum(
                sim * max((likeness(option, said) for said in self.answers[case]), default=0.0)
                for case, sim in near
            )
            for option in options
        ]


def likeness(one: str, other: str) -> float:
    """Give the Dice coefficient of the characters and pairs of two names.

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
class HerbTable:
    """Symptoms by herbs, as counted in training prescriptions."""

    symptoms: Mapping[str, int]
    herbs: tuple[str, ...]
    rarity: Floats
    near: Floats  # prescriptions by symptoms, TF-IDF, each of length 1
    given: Floats  # prescriptions by herbs
    weights: Floats  # ridge regression of herbs on symptoms
    spread: Floats  # symptoms by herbs one and three steps away in the graph of prescriptions
    layer: HiddenLayer

    @classmethod
    def of(cls, training: Sequence[Prescription], herbs: Sequence[str]) -> Self:
        """Count and solve."""
        names = sorted({s for each in training for s in each.symptoms})
        symptoms = {name: i for i, name in enumerate(names)}
        column = {name: i for i, name in enumerate(herbs)}
        had, given = np.zeros((len(training), len(names))), np.zeros((len(training), len(herbs)))
        for row, each in enumerate(training):
            had[row, [symptoms[s] for s in each.symptoms]] = 1.0
            given[row, [column[h] for h in each.herbs if h in column]] = 1.0
        rarity = np.log((1 + len(had)) / (1 + had.sum(axis=0)))
        near = had * rarity
        near /= np.maximum(np.linalg.norm(near, axis=1, keepdims=True), 1e-12)
        together = _floats(had.T @ given)
        weights = np.linalg.solve(had.T @ had + RIDGE * np.eye(len(names)), together)
        even = together / np.sqrt(
            np.outer(np.maximum(together.sum(axis=1), 1), np.maximum(together.sum(axis=0), 1))
        )
        spread = even + even @ even.T @ even
        return cls(
            symptoms, tuple(herbs), _floats(rarity), _floats(near), given, _floats(weights),
            _floats(spread), HiddenLayer.trained(had, given),
        )  # fmt: skip

    def popular(self) -> Floats:
        """Give how often each herb was prescribed."""
        return _floats(self.given.mean(axis=0))

    def nearest(self, symptoms: Sequence[str], count: int = NEAREST_PRESCRIPTIONS) -> Floats:
        """Give the herbs of the prescriptions with the likest symptoms, TF-IDF and cosine."""
        mine = self._vector(symptoms) * self.rarity
        near = _floats(self.near @ (mine / (np.linalg.norm(mine) or 1.0)))
        order = np.argpartition(-near, min(count, len(near)) - 1)[:count]
        return _floats(near[order] @ self.given[order])

    def regressed(self, symptoms: Sequence[str]) -> Floats:
        """Give the herbs that a ridge regression on the symptoms expects."""
        return _floats(np.maximum(self._vector(symptoms) @ self.weights, 0.0))

    def propagated(self, symptoms: Sequence[str]) -> Floats:
        """Give the herbs near the symptoms in the graph of prescriptions, degrees evened out."""
        return _floats(self._vector(symptoms) @ self.spread)

    def induced(self, symptoms: Sequence[str]) -> Floats:
        """Give the herbs that a hidden layer, trained on the prescriptions, expects."""
        return self.layer.shares(self._vector(symptoms))

    def _vector(self, symptoms: Sequence[str]) -> Floats:
        vector = np.zeros(len(self.symptoms))
        vector[[self.symptoms[s] for s in symptoms if s in self.symptoms]] = 1.0
        return vector


def _floats(values: Any) -> Floats:
    return np.asarray(values, dtype=np.float64)
