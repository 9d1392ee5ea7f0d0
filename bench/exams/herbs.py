"""Herbs learnt from prescriptions: ridge regression, graph propagation and a hidden layer."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from shiyi.evaluation.scorers.baselines import Floats, HerbScorer, PrescriptionTable

Singles = NDArray[np.float32]
UNITS, ROUNDS, BATCH, RATE = 256, 12, 256, 3e-3  # Shiyi's, by cross-validation on training alone
LEAST = 300  # steps, where training is small
DROPPED_INPUT, DROPPED_UNITS, DECAY = 0.2, 0.5, 1e-5
_FIRST, _SECOND, _LEAST = 0.9, 0.999, 1e-8  # Adam; Kingma and Ba 2015


@dataclass(frozen=True, slots=True, eq=False)
class HiddenLayer:
    """A rectified layer between a set of symptoms and a distribution over herbs.

    The layer stands for the syndrome that a set of symptoms points to, which prescriptions do not name (SMGCN).
    """

    inner: Singles
    inner_bias: Singles
    outer: Singles
    outer_bias: Singles

    @classmethod
    def trained(cls, had: NDArray[np.float64], given: NDArray[np.float64], seed: int = 0) -> Self:
        """Learn from rows of symptoms and of herbs by cross-entropy with Adam; same seed, same weights."""
        rng = np.random.default_rng(seed)
        x, y = had.astype(np.float32), given.astype(np.float32)
        wanted = y / np.maximum(y.sum(axis=1, keepdims=True), 1.0)
        weights = _begun(rng, x.shape[1], y)
        moments = [(np.zeros_like(singles), np.zeros_like(singles)) for singles in weights]
        step, parts = 0, max(1, len(x) // BATCH)
        rounds = max(ROUNDS, LEAST // parts)
        for number in range(rounds):
            rate = RATE * (1 - number / rounds)
            for rows in np.array_split(rng.permutation(len(x)), parts):
                step += 1
                slopes = _slopes(rng, weights, x[rows], wanted[rows])
                for weight, slope, (mean, square) in zip(weights, slopes, moments, strict=True):
                    mean += (1 - _FIRST) * (slope - mean)
                    square += (1 - _SECOND) * (slope * slope - square)
                    size = np.sqrt(square / (1 - _SECOND**step)) + _LEAST
                    weight -= rate * (mean / (1 - _FIRST**step)) / size
        return cls(*weights)

    def shares(self, had: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the distribution over herbs for one set of symptoms; it sums to 1."""
        hidden = np.maximum(had.astype(np.float32) @ self.inner + self.inner_bias, 0)
        return _softmax(hidden @ self.outer + self.outer_bias).astype(np.float64)


def _begun(rng: np.random.Generator, symptoms: int, given: Singles) -> list[Singles]:
    def drawn(rows: int, columns: int, width: float) -> Singles:
        return ((rng.random((rows, columns), np.float32) * 2 - 1) * np.float32(width)).astype(
            np.float32
        )

    herbs = given.shape[1]
    usual = np.log(given.mean(axis=0) + 1e-4).astype(np.float32)
    return [
        drawn(symptoms, UNITS, 0.35),
        np.zeros(UNITS, np.float32),
        drawn(UNITS, herbs, UNITS**-0.5),
        usual,
    ]


def _slopes(
    rng: np.random.Generator, weights: list[Singles], had: Singles, wanted: Singles
) -> Iterator[Singles]:
    inner, inner_bias, outer, outer_bias = weights
    retained = rng.random(had.shape, np.float32) > DROPPED_INPUT
    x = had * retained / np.float32(1 - DROPPED_INPUT)
    rising = x @ inner + inner_bias
    passed = (rising > 0) & (rng.random(rising.shape, np.float32) > DROPPED_UNITS)
    gate = (passed / np.float32(1 - DROPPED_UNITS)).astype(np.float32)
    hidden = (rising * gate).astype(np.float32)
    singles: Singles = hidden @ outer + outer_bias
    off = (_softmax(singles) - wanted) / np.float32(len(had))
    back = (off @ outer.T) * gate
    results = x.T @ back, back.sum(axis=0), hidden.T @ off, off.sum(axis=0)
    yield from (
        slope + np.float32(DECAY) * weight for slope, weight in zip(results, weights, strict=True)
    )


def _softmax(values: Singles) -> Singles:
    grown = np.exp(values - values.max(axis=-1, keepdims=True))
    shares: Singles = grown / grown.sum(axis=-1, keepdims=True)
    return shares


RIDGE = 10.0


@dataclass(frozen=True, slots=True, eq=False)
class HerbModel:
    """What is learnt from a table of prescriptions."""

    table: PrescriptionTable
    weights: Floats  # ridge regression of herbs on symptoms
    spread: Floats  # symptoms by herbs one and three steps away in the graph of prescriptions
    layer: HiddenLayer

    @classmethod
    def of(cls, table: PrescriptionTable) -> Self:
        """Solve and train."""
        had, given = table.had, table.given
        together = had.T @ given
        ridge = RIDGE * np.eye(had.shape[1])
        weights: Floats = np.linalg.solve(had.T @ had + ridge, together).astype(np.float64)
        even = together / np.sqrt(
            np.outer(np.maximum(together.sum(axis=1), 1), np.maximum(together.sum(axis=0), 1))
        )
        spread = even + even @ even.T @ even
        return cls(table, weights, spread, HiddenLayer.trained(had, given))

    def regress(self, symptoms: Sequence[str]) -> Floats:
        """Return the herbs that a ridge regression on the symptoms expects."""
        expected: Floats = np.maximum(self.table.vector(symptoms) @ self.weights, 0.0)
        return expected

    def propagate(self, symptoms: Sequence[str]) -> Floats:
        """Return the herbs near the symptoms in the graph of prescriptions, degrees evened out."""
        spread: Floats = self.table.vector(symptoms) @ self.spread
        return spread

    def induce(self, symptoms: Sequence[str]) -> Floats:
        """Return the herbs that the hidden layer expects."""
        return self.layer.shares(self.table.vector(symptoms))

    @property
    def scorers(self) -> list[HerbScorer]:
        """Return what ``fused`` adds up."""
        return [self.regress, self.table.nearest, self.propagate, self.induce]
