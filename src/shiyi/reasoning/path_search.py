"""Vectorised path search; importance within one question.

Only the paths that are stored become values; the score is that of Yaoshi-RAG, (1/n)·Σ confidence ·
importance over the n entities of a path.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import Final

import numpy as np
from numpy.typing import NDArray

from shiyi.errors import RangeError
from shiyi.model.path import Path, RelationPath
from shiyi.reasoning.adjacency import Edge, ImportanceLookup, Ints, Projection
from shiyi.settings import PageRankSettings

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Places = NDArray[np.int64]
Admits = Callable[[int, Ints, Ints], Bools]  # which claims the hop at a place may take
_AMONG: Final = 4  # times as many rows as are wanted, among which they are sought
WIDEST: Final = 500_000  # Shiyi's: claims looked at for a hop; three from a hub have no bound


@dataclass(frozen=True, slots=True, eq=False)
class PathColumns:
    """The paths along one relation path as columns: a row for each, no node twice in one.

    ``nodes`` has a column for each entity, ``claims`` one for each hop; ``cut`` tells that a hop
    had more than could be looked at, and that its likeliest ways were followed.
    """

    projection: Projection
    plan: RelationPath
    nodes: tuple[Ints, ...]
    claims: tuple[Ints, ...]
    cut: bool = False

    def __len__(self) -> int:
        """Count the paths."""
        return len(self.nodes[0])

    def confidences(self) -> tuple[Floats, ...]:
        """Return the confidence of each hop, a column for each."""
        return tuple(self.projection.confidence[column] for column in self.claims)

    def paths(
        self, rows: Sequence[int] | Places, scores: Iterable[float] = repeat(0.0)
    ) -> list[Path]:
        """Make some of them values, each with its score."""
        known, hops = self.projection, []
        for column, step in zip(self.claims, self.plan, strict=True):
            edges = column[rows].tolist()
            made = {edge: known.hop(edge, step) for edge in {*edges}}  # a hop is on many paths
            hops.append([made[e] for e in edges])
        return [Path(*row) for row in zip(zip(*hops, strict=True), scores, strict=False)]


def importance_vector(projection: Projection, rank: Mapping[str, float]) -> Floats:
    """Return the importance of each node in the order of ``projection.nodes``."""
    if isinstance(rank, ImportanceLookup) and rank.nodes is projection.nodes:
        return rank.ranks
    return np.fromiter(
        (rank.get(iri, 0.0) for iri in projection.nodes), float, len(projection.nodes)
    )


def ways_along(
    projection: Projection,
    plan: RelationPath,
    seeds: Iterable[str],
    minimum: float = 0.0,
    admits: Admits | None = None,
    widest: int = WIDEST,
) -> PathColumns:
    """Follow ``plan`` from ``seeds`` through no node twice, over hops of at least ``least``.

    ``admits`` may refuse claims by the hop's place, where they start and where they end.
    """
    if not 0.0 <= minimum <= 1.0 or not plan or widest < 1:
        raise RangeError("least lies in [0, 1], a path has a hop, and widest is at least 1")
    nodes: list[Ints] = [projection.places(seeds)]
    taken: list[Ints] = []
    cut = False
    for place, step in enumerate(plan):
        counts = projection.degrees(nodes[-1], step)
        if counts.sum() > widest:
            rows = _likeliest([projection.confidence[c] for c in taken], counts, widest)
            nodes, taken, cut = [c[rows] for c in nodes], [c[rows] for c in taken], True
        origin, edges = projection.outgoing(nodes[-1], step)
        ends = projection.target[edges] if step.forward else projection.source[edges]
        fresh = (
            np.ones(len(edges), bool) if minimum == 0 else projection.confidence[edges] >= minimum
        )
        for column in nodes:
            fresh &= column[origin] != ends
        if admits is not None:
            fresh &= admits(place, nodes[-1][origin], ends)
        origin, edges, ends = origin[fresh], edges[fresh], ends[fresh]
        nodes = [*(column[origin] for column in nodes), ends]
        taken = [*(column[origin] for column in taken), edges]
    return PathColumns(projection, plan, tuple(nodes), tuple(taken), cut)


def _likeliest(confidences: Sequence[Floats], counts: Ints, widest: int) -> Ints:
    """Return the surest rows that together have no more than ``widest`` claims, in their order."""
    surest = np.prod(confidences, axis=0) if confidences else np.ones(len(counts))
    order = np.argsort(-surest, kind="stable")
    fitting = np.cumsum(counts[order]) <= widest
    fitting[0] = True
    return np.sort(order[fitting]).astype(np.int32)


def best_rows(groups: NDArray[np.integer], score: Floats, through: int, limit: int) -> Places:
    """Return the ``limit`` best rows, best first, no more than ``through`` of one group."""
    chosen, left = np.empty(0, np.int64), np.arange(len(score))
    while len(left) and len(chosen) < limit:
        there, least = score[left], -np.inf
        if len(left) > (some := _AMONG * limit):  # only the best of them are put in order
            least = np.partition(there, len(left) - some)[len(left) - some]
        best = left[there >= least]
        order = best[np.argsort(-score[best], kind="stable")]
        chosen = leading_rows(groups, np.concatenate((chosen, order)), through)
        named, counts = np.unique(groups[chosen], return_counts=True)
        left = left[there < least]
        left = left[~np.isin(groups[left], named[counts >= through])]
    return chosen[:limit]


def leading_rows(groups: NDArray[np.integer], order: Places, limit: int) -> Places:
    """Return the first ``limit`` rows of each group; ``groups`` has the group of each row."""
    of = groups[order]
    by_group = np.argsort(of, kind="stable")
    ranked = of[by_group]
    starts = np.flatnonzero(np.r_[True, ranked[1:] != ranked[:-1]])
    within = np.arange(len(ranked)) - np.repeat(starts, np.diff(np.r_[starts, len(ranked)]))
    first = np.zeros(len(order), dtype=bool)
    first[by_group[within < limit]] = True
    return order[first]


def importance_on_paths(paths: Iterable[Path], settings: PageRankSettings) -> Mapping[str, float]:
    """Return the weighted PageRank of each node on some paths among their claims."""
    edges = {
        hop.claim: Edge(hop.subject, hop.predicate, hop.object, hop.claim, hop.confidence)
        for path in paths
        for hop in path.hops
    }
    return Projection.from_edges(list(edges.values()), release="").importance(settings)
