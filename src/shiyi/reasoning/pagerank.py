"""Weighted PageRank: how important an entity is among the accepted claims."""

from collections.abc import Iterator, Mapping
from functools import lru_cache
from itertools import compress
from typing import Final

import numpy as np
from numpy.typing import NDArray
from typing_extensions import override

from shiyi.errors import RangeError
from shiyi.model.strings import Strings
from shiyi.settings import PageRankSettings

Vector = NDArray[np.float64]
_KEPT: Final = 65_536  # places of nodes that were asked for last (ours)


class Ranks(Mapping[str, float]):
    """The importance of nodes, each read where it is asked for; one of 0 is none.

    >>> some = Ranks(Strings.of(["goji", "kava", "姜"]), np.array([0.5, 0.0, 1.5]))
    >>> some["姜"], some.get("kava"), dict(some)
    (1.5, None, {'goji': 0.5, '姜': 1.5})
    """

    def __init__(self, nodes: Strings, ranks: Vector) -> None:
        """Take the rank of each of ``nodes``."""
        self.nodes, self.ranks = nodes, ranks
        self._place = lru_cache(_KEPT)(nodes.place)

    @override
    def __getitem__(self, node: str) -> float:
        place = self._place(node)
        if place is None or not (rank := float(self.ranks[place])):
            raise KeyError(node)
        return rank

    @override
    def __iter__(self) -> Iterator[str]:
        return compress(self.nodes, self.ranks)

    @override
    def __len__(self) -> int:
        return int(np.count_nonzero(self.ranks))

    def all(self) -> dict[str, float]:
        """Give the importance of all nodes, each read once."""
        ranks = zip(self.nodes, self.ranks.tolist(), strict=True)
        return {node: rank for node, rank in ranks if rank}


def pagerank(
    size: int,
    source: NDArray[np.int32],
    target: NDArray[np.int32],
    weight: Vector,
    settings: PageRankSettings = PageRankSettings(),  # noqa: B008 - frozen
    start: Vector | None = None,
) -> Vector:
    """Give each of ``size`` nodes its importance (Yaoshi-RAG; doi:10.2196/75279).

    ``PR(e) = (1-d)/N + d * sum(w(j->e) / sum_k w(j->k) * PR(j))``; the mass of nodes without
    out-edges is spread evenly, so the sum stays 1 (or N where ``scale_by_n`` is set).
    With ``start``, an earlier rank of nearly the same graph, few steps are needed; the outcome is the same
    within the tolerance. Raises ``RangeError`` for weights outside [0, 1] or a damping outside [0, 1).
    """
    _check(weight, settings)
    if size == 0:
        return np.zeros(0)
    out = np.bincount(source, weights=weight, minlength=size)
    dangling = out == 0
    share = weight / np.where(dangling, 1.0, out)[source]
    rank = np.full(size, 1.0 / size)
    if start is not None and len(start) == size and bool(np.all(start > 0.0)):
        rank = start / start.sum()
    for _ in range(settings.max_iterations):
        flow = np.bincount(target, weights=share * rank[source], minlength=size)
        flow += rank[dangling].sum() / size
        following = (1.0 - settings.damping) / size + settings.damping * flow
        moved = float(np.abs(following - rank).sum())
        rank = following
        if moved < settings.tolerance:
            break
    return rank * size if settings.scale_by_n else rank


def _check(weight: Vector, settings: PageRankSettings) -> None:
    if not 0.0 <= settings.damping < 1.0:
        raise RangeError(f"a damping lies in [0, 1), not at {settings.damping}")
    if weight.size and not bool(np.all((weight >= 0.0) & (weight <= 1.0))):  # also refuses NaN
        raise RangeError("an edge weighs between 0 and 1")
