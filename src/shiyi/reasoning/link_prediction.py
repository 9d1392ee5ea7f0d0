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


def filtered_places(model: Model, asked: Numbered, known: Longs, least: float = 0.0) -> list[float]:
    """Give the rank of each asked tail, 1 for the first; see :func:`filtered_ranks`."""
    stated = known[np.lexsort((known[:, 1], known[:, 0]))]
    wide = int(stated[:, 1].max()) + 1
    pairs = stated[:, 0] * wide + stated[:, 1]
    ranks = []
    for head, relation, tail in asked.triples[asked.confidence >= least].tolist():
        scores = model.tails(head, relation)
        first, last = np.searchsorted(pairs, [head * wide + relation, head * wide + relation + 1])
        ranks.append(_rank(scores, tail, stated[first:last, 2]))
    return ranks


def _rank(scores: Floats, tail: int, others: Longs) -> float:
    mine = scores[tail]
    scores = scores.copy()
    scores[others] = -np.inf
    scores[tail] = -np.inf
    return 1.0 + float((scores > mine).sum()) + 0.5 * float((scores == mine).sum())
