"""How well an embedding predicts confidences, and which tails it ranks first."""

from dataclasses import dataclass

import numpy as np

from shiyi.errors import UsageError
from shiyi.reasoning.embedding import Model
from shiyi.reasoning.triples import Floats, Longs, Numbered


@dataclass(frozen=True, slots=True)
class Errors:
    """Mean squared and mean absolute error of confidence over ``rows``."""

    mse: float
    mae: float
    rows: int


@dataclass(frozen=True, slots=True)
class Ranks:
    """Filtered tail prediction: shares in [0, 1], and the mean reciprocal rank."""

    hits1: float
    hits10: float
    mrr: float
    rows: int


def confidence_errors(model: Model, rows: Numbered) -> Errors:
    """Measure on numbered rows; raises ``UsageError`` for none."""
    if not len(rows.triples):
        raise UsageError("there is no triple to measure on: none names what was trained on")
    gap = model.confidences(rows.triples).astype(np.float64) - rows.confidence
    return Errors(float((gap**2).mean()), float(np.abs(gap).mean()), len(gap))


def filtered_ranks(model: Model, asked: Numbered, known: Longs, least: float = 0.0) -> Ranks:
    """Rank every tail of each asked (head, relation); other ``known`` tails are left out.

    Only rows held with at least ``least`` are asked. Ties count half, so a constant model is not
    first.
    """
    ranks = filtered_places(model, asked, known, least)
    if not ranks:
        raise UsageError("no triple is held with so much confidence")
    places = np.array(ranks)
    return Ranks(
        float((places <= 1).mean()), float((places <= 10).mean()), float((1 / places).mean()),
        len(places),
    )  # fmt: skip


def filtered_places(
    model: Model, asked: Numbered, known: Longs, least: float = 0.0, first: Longs | None = None
) -> list[float]:
    """Give the rank of each asked tail, 1 for the first; see :func:`filtered_ranks`.

    Tails in ``first`` go before all others.
    """
    others = _Tails(known)
    ahead = _Tails(first) if first is not None and len(first) else None
    ranks = []
    for head, relation, tail in asked.triples[asked.confidence >= least].tolist():
        scores = model.tails(head, relation)
        if ahead is not None:
            scores[np.unique(ahead.of(head, relation))] += 1.0
        ranks.append(_rank(scores, tail, others.of(head, relation)))
    return ranks


class _Tails:
    """The tails of each head and relation, found by bisection."""

    def __init__(self, triples: Longs) -> None:
        self._rows = triples[np.lexsort((triples[:, 1], triples[:, 0]))]
        self._wide = int(self._rows[:, 1].max()) + 1
        self._pairs = self._rows[:, 0] * self._wide + self._rows[:, 1]

    def of(self, head: int, relation: int) -> Longs:
        """List them."""
        if relation >= self._wide:
            return self._rows[:0, 2]
        pair = head * self._wide + relation
        first, last = np.searchsorted(self._pairs, [pair, pair + 1])
        return self._rows[first:last, 2]


def _rank(scores: Floats, tail: int, others: Longs) -> float:
    mine = scores[tail]
    scores = scores.copy()
    scores[others] = -np.inf
    scores[tail] = -np.inf
    return 1.0 + float((scores > mine).sum()) + 0.5 * float((scores == mine).sum())
