"""Link prediction: filtered ranks, confidence error."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from shiyi.errors import UsageError
from shiyi.reasoning.embeddings.model import Model
from shiyi.reasoning.embeddings.triples import Floats, Longs, TripleArray


class Ranker(Protocol):
    """Scores tails; the higher, the likelier."""

    def tails(self, head: int, relation: int, /) -> Floats:
        """Score every entity as the tail of a head and relation, by its number."""
        ...


@dataclass(frozen=True, slots=True)
class Errors:
    """Mean squared and mean absolute error of confidence over ``rows``."""

    mse: float
    mae: float
    rows: int


def confidence_errors(model: Model, rows: TripleArray) -> Errors:
    """Measure on numbered rows; raise ``UsageError`` for none."""
    if not len(rows.triples):
        raise UsageError("there is no triple to measure on: none names what was trained on")
    gap = model.confidences(rows.triples).astype(np.float64) - rows.confidence
    return Errors(float((gap**2).mean()), float(np.abs(gap).mean()), len(gap))


def filtered_ranks(model: Ranker, triples: TripleArray, known: Longs) -> list[float]:
    """Return the rank of each asked tail, 1 for the first; other ``known`` tails are left out.

    Ties count half, so a constant model is not first.
    """
    return [float(item) for item in ranks_under_filters(model, triples, {"": known})[""]]


def ranks_under_filters(
    model: Ranker, asked: TripleArray, filters: Mapping[str, Longs], first: Sequence[Longs] = ()
) -> Mapping[str, NDArray[np.float64]]:
    """Return the rank of each asked tail under each filter, by the filter's name.

    A filter lists the triples of which the tails are left out, save the asked one. Tails of the
    triples that ``first`` names go before all others, its first list first.
    """
    left_out = {name: _Tails(triples) for name, triples in filters.items()}
    ahead = [_Tails(item) for item in first if len(item)]
    places = {name: np.empty(len(asked.triples)) for name in filters}
    triples = asked.triples
    order = np.lexsort((triples[:, 1], triples[:, 0]))  # so that a pair is scored once
    scores, pair = np.empty(0, np.float32), (-1, -1)
    for i in order.tolist():
        head, relation, tail = (int(triple) for triple in triples[i])
        if (head, relation) != pair:
            scores, pair = model.tails(head, relation), (head, relation)
            for tails in reversed(ahead):
                scores = scores.copy()
                scores[np.unique(tails.of(head, relation))] += 1.0 + np.ptp(scores)
        for name, other_tails in left_out.items():
            places[name][i] = _rank(scores, tail, other_tails.of(head, relation))
    return places


class _Tails:
    """The tails of each head and relation, found by bisection."""

    def __init__(self, triples: Longs) -> None:
        self._rows = triples[np.lexsort((triples[:, 1], triples[:, 0]))]
        self._wide = int(self._rows[:, 1].max()) + 1 if len(triples) else 0
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
