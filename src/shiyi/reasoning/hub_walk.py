"""The best paths along one relation path, found over whole arrays: from a hub as fast as from a leaf.

Only the paths that are kept become values; the score is that of Yaoshi-RAG, (1/n)·Σ confidence ·
importance over the n entities of a path.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shiyi.errors import RangeError
from shiyi.model.path import Hop, Path, RelationPath
from shiyi.reasoning.projection import Ints, Projection

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Best:
    """The best paths, best first, and how many there are in all."""

    paths: tuple[Path, ...]
    found: int


def importance_of(projection: Projection, rank: Mapping[str, float]) -> Floats:
    """Give the importance of each node in the order of ``projection.nodes``."""
    return np.fromiter(
        (rank.get(iri, 0.0) for iri in projection.nodes), float, len(projection.nodes)
    )


def best_paths(
    projection: Projection, plan: RelationPath, seeds: Iterable[str], importance: Floats, most: int,
    least: float = 0.0,
) -> Best:  # fmt: skip
    """Follow ``plan`` from ``seeds`` through no node twice, each hop held with at least ``least``.

    At most ``most`` paths are kept; equal scores are ordered by the places of their claims.
    """
    if most < 1 or not 0.0 <= least <= 1.0 or not plan:
        raise RangeError("most is at least 1, least lies in [0, 1], and a path has a hop")
    starts = projection.places(seeds)
    passed: list[Ints] = [starts]  # the nodes of each path, a column for each entity
    taken: list[Ints] = []  # its claims, a column for each hop
    score = np.zeros(len(starts))
    for step in plan:
        origin, edges = projection.leaving(passed[-1], step)
        ends = projection.target[edges] if step.forward else projection.source[edges]
        fresh = projection.confidence[edges] >= least
        for column in passed:
            fresh &= column[origin] != ends
        origin, edges, ends = origin[fresh], edges[fresh], ends[fresh]
        passed = [*(column[origin] for column in passed), ends]
        taken = [*(column[origin] for column in taken), edges]
        score = score[origin] + projection.confidence[edges] * importance[ends]
    score = score / (len(plan) + 1)
    kept = _top(score, taken, most)
    return Best(tuple(_path(projection, plan, taken, score, i) for i in kept), len(score))


def _top(score: Floats, taken: list[Ints], most: int) -> list[int]:
    chosen = np.arange(len(score))
    if len(score) > most:
        least = np.partition(score, len(score) - most)[len(score) - most]
        chosen = np.flatnonzero(score >= least)
    order = np.lexsort([column[chosen] for column in reversed(taken)] + [-score[chosen]])
    return [int(i) for i in chosen[order][:most]]


def _path(
    projection: Projection, plan: RelationPath, taken: list[Ints], score: Floats, place: int
) -> Path:
    edges = [int(column[place]) for column in taken]
    hops = tuple(
        Hop(
            projection.nodes[projection.source[e]], step.predicate,
            projection.nodes[projection.target[e]], projection.claims[e],
            float(projection.confidence[e]), step.forward,
        )
        for e, step in zip(edges, plan, strict=True)
    )  # fmt: skip
    return Path(hops, float(score[place]))
