"""One number from the four levels of evidence, and how well it is calibrated."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from shiyi.errors import RangeError, UsageError
from shiyi.reasoning.evidence import Structure
from shiyi.reasoning.profiles import Values
from shiyi.reasoning.projection import Projection
from shiyi.reasoning.triples import Longs

_EDGE = 0.02  # parts are kept this far from 0 and 1, so that no one level decides alone
_RIDGE = 1.0
_BINS = 10


@dataclass(frozen=True, slots=True)
class Fusion:
    """How much each level of structure counts: ``sigmoid(bias + sum w * logit(part))``.

    The defaults are the closed form: what was fitted on the starter base, rounded. They need no
    training. ``share`` is how far structure may move what the sources say (ours).
    """

    bias: float = 0.6
    weights: tuple[float, float, float] = (0.6, 1.3, 0.0)
    share: float = 0.5

    def structure(self, parts: Values) -> Values:
        """Give the belief structure alone supports, for rows of entity, relation, path."""
        return _sigmoid(self.bias + _logit(parts) @ np.array(self.weights))

    def fused(self, text: Values, parts: Values) -> Values:
        """Move what the sources say by what structure says, in log-odds.

        >>> one = Fusion().fused(np.array([0.9]), np.full((1, 3), 0.5))
        >>> round(float(one[0]), 6)
        0.9
        """
        _check(text)
        moved = _logit(text, 0.001) + self.share * (_logit(parts) @ np.array(self.weights))
        return _sigmoid(moved)

    @classmethod
    def fit(cls, parts: Values, holds: NDArray[np.bool_], share: float = 0.5) -> Self:
        """Fit a logistic model; a level that would count against itself counts nothing.

        Raises ``UsageError`` where all hold or none does.
        """
        if len(parts) < 2 or holds.all() or not holds.any():
            raise UsageError("a fusion is fitted on claims that hold and claims that do not")
        rows = np.column_stack([np.ones(len(parts)), _logit(parts)])
        weights, used = np.zeros(rows.shape[1]), np.ones(rows.shape[1], dtype=bool)
        while True:
            weights[used] = _newton(rows[:, used], holds)
            against = used & (weights < 0) & (np.arange(len(used)) > 0)
            if not against.any():
                break
            used &= ~against
            weights[against] = 0.0
        bias, entity, relation, path = weights.tolist()
        return cls(bias, (entity, relation, path), share)


@dataclass(frozen=True, slots=True)
class Calibration:
    """How far beliefs agree with outcomes: errors in [0, 1], and the diagram's points.

    ``bins`` holds mean belief, share that held, and count.
    """

    ece: float
    brier: float
    auc: float
    rows: int
    bins: tuple[tuple[float, float, int], ...]

    @classmethod
    def of(cls, belief: Values, holds: NDArray[np.bool_]) -> Self:
        """Measure; raises ``UsageError`` where only one outcome occurs."""
        _check(belief)
        if holds.all() or not holds.any():
            raise UsageError("calibration is measured on claims that hold and claims that do not")
        place = np.minimum((belief * _BINS).astype(np.int64), _BINS - 1)
        bins = tuple(
            (float(belief[own].mean()), float(holds[own].mean()), int(own.sum()))
            for own in (place == i for i in range(_BINS))
            if own.any()
        )
        ece = sum(abs(mean - share) * count for mean, share, count in bins) / len(belief)
        brier = float(((belief - holds) ** 2).mean())
        return cls(ece, brier, _auc(belief, holds), len(belief), bins)


def corrupted(graph: Structure, seed: int) -> Longs:
    """Give one triple for each claim, its tail another that the relation has, none of them stated.

    Raises ``UsageError`` for an empty graph. Where a relation has too few tails, none comes.
    """
    claims = graph.graph
    if not len(claims):
        raise UsageError("an empty graph has no claims to learn from")
    random = np.random.default_rng(seed)
    size, kinds = len(claims.nodes), claims.kind.astype(np.int64)
    order = np.argsort(kinds, kind="stable")
    starts = np.searchsorted(kinds[order], np.arange(len(claims.predicates) + 1))
    spread = starts[kinds + 1] - starts[kinds]
    drawn = order[starts[kinds] + (random.random(len(kinds)) * spread).astype(np.int64)]
    false = np.column_stack([claims.source, kinds, claims.target[drawn]]).astype(np.int64)
    stated = np.unique(_keys(numbered(graph), size))
    keys = _keys(false, size)
    place = np.minimum(np.searchsorted(stated, keys), len(stated) - 1)
    return np.asarray(false[(stated[place] != keys) & (false[:, 0] != false[:, 2])])


def numbered(structure: Structure) -> Longs:
    """Give the graph's claims as head, relation, tail."""
    graph = structure.graph
    return np.column_stack([graph.source, graph.kind, graph.target]).astype(np.int64)


def named(graph: Projection, triples: Iterable[tuple[str, str, str]]) -> Longs:
    """Write triples of IRIs as numbers, those left out that name what no claim of the graph does."""
    node = {iri: i for i, iri in enumerate(graph.nodes)}
    kind = {iri: i for i, iri in enumerate(graph.predicates)}
    rows = [
        (node[s], kind[p], node[o])
        for s, p, o in sorted(triples)
        if s in node and p in kind and o in node
    ]
    return np.array(rows, dtype=np.int64).reshape(-1, 3)


def calibrated(
    structure: Structure, seed: int = 0, refused: Iterable[tuple[str, str, str]] = ()
) -> tuple[Fusion, Calibration]:
    """Fit on four fifths of claims, corrupted claims and ``refused`` ones; measure on the rest.

    Those refused are triples of IRIs that a curator rejected; each counts as one corrupted.
    """
    true = numbered(structure)
    false = np.concatenate([corrupted(structure, seed), named(structure.graph, refused)])
    held = structure.graph.confidence
    parts = np.vstack([
        structure.ask(true, held).columns(), structure.ask(false, np.zeros(len(false))).columns(),
    ])  # fmt: skip
    holds = np.r_[np.ones(len(true), dtype=bool), np.zeros(len(false), dtype=bool)]
    tested = np.random.default_rng(seed).random(len(holds)) < 0.2
    fusion = Fusion.fit(parts[~tested], holds[~tested])
    return fusion, Calibration.of(fusion.structure(parts[tested]), holds[tested])


def _newton(rows: Values, holds: NDArray[np.bool_]) -> Values:
    """Give the weights of a ridge logistic regression whose first column is the bias."""
    ridge = _RIDGE * np.r_[1e-6, np.ones(rows.shape[1] - 1)]
    weights = np.zeros(rows.shape[1])
    for _ in range(50):
        belief = _sigmoid(rows @ weights)
        slope = rows.T @ (belief - holds) + ridge * weights
        bend = (rows * (belief * (1 - belief))[:, None]).T @ rows + np.diag(ridge)
        step = np.linalg.solve(bend, slope)
        weights -= step
        if float(np.abs(step).max()) < 1e-9:
            break
    return weights


def _keys(triples: Longs, size: int) -> Longs:
    return np.asarray((triples[:, 1] * size + triples[:, 0]) * size + triples[:, 2])


def _auc(belief: Values, holds: NDArray[np.bool_]) -> float:
    values, place, counts = np.unique(belief, return_inverse=True, return_counts=True)
    ends = np.cumsum(counts)
    rank = (ends - (counts - 1) / 2.0)[place]
    good = int(holds.sum())
    return float((rank[holds].sum() - good * (good + 1) / 2) / (good * (len(values[place]) - good)))


def _check(values: Values) -> None:
    if not bool(np.all((values >= 0.0) & (values <= 1.0))):  # also refuses NaN
        raise RangeError("a belief is a number in [0, 1]")


def _logit(values: Values, edge: float = _EDGE) -> Values:
    kept = np.clip(values, edge, 1.0 - edge)
    return np.asarray(np.log(kept / (1.0 - kept)))


def _sigmoid(values: Values) -> Values:
    return np.asarray(1.0 / (1.0 + np.exp(-np.clip(values, -60.0, 60.0))))
