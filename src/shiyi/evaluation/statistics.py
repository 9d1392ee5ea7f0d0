"""Intervals and comparisons: bootstrap, the paper's ten draws of a hundred, McNemar."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

RESAMPLES = 1000
DRAWS, DRAW_SIZE = 10, 100  # iDISK2.0-RAG


@dataclass(frozen=True, slots=True)
class Measured:
    """A mean with its 95 % interval, and mean and spread over ten draws of a hundred items."""

    value: float
    low: float
    high: float
    draws_mean: float
    draws_sd: float

    def to_json(self) -> dict[str, float]:
        """Give the object that a result holds for one metric."""
        return {
            "value": round(self.value, 4), "low": round(self.low, 4),
            "high": round(self.high, 4), "draws_mean": round(self.draws_mean, 4),
            "draws_sd": round(self.draws_sd, 4),
        }  # fmt: skip


def measured(values: Sequence[float], seed: int) -> Measured:
    """Give mean and percentile bootstrap interval (1,000 resamples of all items).

    >>> m = measured([1.0] * 5, seed=1)
    >>> m.value, m.low, m.high, m.draws_sd
    (1.0, 1.0, 1.0, 0.0)
    """
    if not len(values):
        return Measured(*[math.nan] * 5)
    data = np.asarray(values, dtype=np.float64)
    rng = np.random.default_rng(seed)
    means = np.array([data[rng.integers(0, len(data), len(data))].mean() for _ in range(RESAMPLES)])
    low, high = np.percentile(means, [2.5, 97.5])
    size = min(DRAW_SIZE, len(data))
    draws = np.array([rng.choice(data, size, replace=False).mean() for _ in range(DRAWS)])
    return Measured(
        float(data.mean()), float(low), float(high), float(draws.mean()), float(draws.std(ddof=1))
    )


def mcnemar(one: Sequence[float], other: Sequence[float]) -> float:
    """Give the exact two-sided p of McNemar's test on right (1) and wrong (0).

    >>> mcnemar([1, 1, 1, 1, 1, 0], [0, 0, 0, 0, 0, 1])  # 5 against 1: 2 * (1 + 6) / 64
    0.21875
    """
    first = sum(a > b for a, b in zip(one, other, strict=True))
    second = sum(b > a for a, b in zip(one, other, strict=True))
    n, least = first + second, min(first, second)
    tail = sum(math.comb(n, k) for k in range(least + 1)) / 2**n
    return min(1.0, 2 * float(tail))


def paired(one: Sequence[float], other: Sequence[float], seed: int) -> dict[str, Any]:
    """Compare two methods on the same items: difference, 95 % interval, and p.

    McNemar where every figure is 0 or 1, else the paired bootstrap.
    """
    gap = np.asarray(one, dtype=np.float64) - np.asarray(other, dtype=np.float64)
    rng = np.random.default_rng(seed)
    means = np.array([gap[rng.integers(0, len(gap), len(gap))].mean() for _ in range(RESAMPLES)])
    low, high = np.percentile(means, [2.5, 97.5])
    binary = all(v in (0.0, 1.0) for v in (*one, *other))
    tail = min(float((means <= 0).mean()), float((means >= 0).mean()))
    p = mcnemar(one, other) if binary else min(1.0, 2 * max(tail, 1 / RESAMPLES))
    return {
        "difference": round(float(gap.mean()), 4), "low": round(float(low), 4),
        "high": round(float(high), 4), "p": round(p, 6),
        "test": "McNemar, exact" if binary else "paired bootstrap",
    }  # fmt: skip
