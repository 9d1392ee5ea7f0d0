"""How paths are scored, and which ten of them are shown."""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Final

import numpy as np
from numpy.typing import NDArray

from shiyi.model.path import Path

Floats = NDArray[np.float64]
Columns = tuple[Floats, ...]
Scorer = Callable[[Path, Mapping[str, float]], float]


def _terms(path: Path, rank: Mapping[str, float]) -> list[float]:
    return [hop.confidence * rank.get(hop.end, 0.0) for hop in path.hops]


def mean_entities(path: Path, rank: Mapping[str, float]) -> float:
    """Give (1/n) * sum of confidence times PageRank, n entities (Yaoshi-RAG)."""
    return sum(_terms(path, rank)) / len(path.entities)


def mean_hops(path: Path, rank: Mapping[str, float]) -> float:
    """Give the mean over the hops, which does not favour long paths."""
    return sum(_terms(path, rank)) / len(path.hops)


def total(path: Path, rank: Mapping[str, float]) -> float:
    """Give the sum over the hops."""
    return sum(_terms(path, rank))


def product(path: Path, rank: Mapping[str, float]) -> float:
    """Give the product of the confidences times the mean PageRank."""
    return path.product * _mean_rank(path, rank)


def weakest(path: Path, rank: Mapping[str, float]) -> float:
    """Give the smallest confidence times the mean PageRank."""
    return path.weakest * _mean_rank(path, rank)


def _mean_rank(path: Path, rank: Mapping[str, float]) -> float:
    return math.fsum(rank.get(hop.end, 0.0) for hop in path.hops) / len(path.hops)


SCORERS: Final[Mapping[str, Scorer]] = {
    "mean_entities": mean_entities, "mean": mean_entities, "mean_hops": mean_hops, "sum": total, "product": product,
    "min": weakest,
}  # fmt: skip


def whole_scores(name: str, held: Columns, rank: Columns) -> Floats:
    """Give what the scorer ``name`` gives, for every row of columns of confidence and PageRank.

    There is a column for each hop; ``rank`` is that of the hop's end.
    """
    hops = len(held)
    if name in _SUMS:
        summed = sum((c * r for c, r in zip(held, rank, strict=True)), np.zeros(len(held[0])))
        return (
            summed
            / {"mean_entities": hops + 1, "mean": hops + 1, "mean_hops": hops, "sum": 1}[name]
        )
    surest = np.prod(held, axis=0) if name == "product" else np.min(held, axis=0)
    mean: Floats = sum(rank, np.zeros(len(held[0]))) / hops
    return np.asarray(surest * mean)


_SUMS: Final = frozenset({"mean_entities", "mean", "mean_hops", "sum"})


def scored(paths: Iterable[Path], rank: Mapping[str, float], scorer: Scorer) -> list[Path]:
    """Score every path; best first, ties by their claims."""
    marked = [Path(path.hops, scorer(path, rank)) for path in paths]
    return sorted(marked, key=lambda p: (-p.score, [hop.claim for hop in p.hops]))


def diverse(ranked: Iterable[Path], k: int, per_middle: int = 4, per_end: int = 2) -> list[Path]:
    """Take the best ``k``, no more than ``per_middle`` through one middle and ``per_end`` to an end.

    A path of one hop has its start for a middle.
    """
    middles: Counter[str] = Counter()
    ends: Counter[str] = Counter()
    chosen: list[Path] = []
    for path in ranked:
        middle, end = path.hops[-1].start, path.hops[-1].end
        if middles[middle] < per_middle and ends[end] < per_end:
            middles[middle] += 1
            ends[end] += 1
            chosen.append(path)
        if len(chosen) == k:
            break
    return chosen
