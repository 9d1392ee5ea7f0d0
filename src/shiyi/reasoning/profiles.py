"""What an entity does in the graph, as a short vector: the translation energy of a triple."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shiyi.reasoning.projection import Projection
from shiyi.reasoning.triples import Floats, Longs

Values = NDArray[np.float64]
SIZE = 128  # of a profile; collisions shrink with it (ours)
_CHUNK = 20_000  # triples in one go, so that what is worked on stays in the cache
SHARPNESS = 8.0  # lambda of the published logistic layer (ours; the papers do not state it)


@dataclass(frozen=True, slots=True, eq=False)
class Profiles:
    """Sketches of each node's claims, and their sum for each predicate and object.

    A node's profile is a sum of one random sign vector for each (predicate, other end) it has,
    rare ones weighing more; nodes that share claims have near profiles.
    """

    nodes: Floats
    sums: Floats
    groups: Longs  # predicate * size + object, sorted
    counts: Longs
    signs_of: Floats
    rarity: Values
    size: int
    threshold: float  # delta: the mean energy of the claims

    @classmethod
    def of(cls, graph: Projection, seed: int = 0) -> "Profiles":
        """Sketch a graph; no training and no torch."""
        size = len(graph.nodes)
        random = np.random.default_rng(seed)
        keys = graph.kind.astype(np.int64) * size + graph.target
        back = graph.kind.astype(np.int64) * size + graph.source
        groups, place, counts = np.unique(keys, return_inverse=True, return_counts=True)
        others, other_place, other_counts = np.unique(back, return_inverse=True, return_counts=True)
        total = max(1, len(graph.nodes))
        rarity = np.log1p(total / counts)
        signs = random.choice(np.array([-1.0, 1.0], dtype=np.float32), (len(groups), SIZE))
        backward = random.choice(np.array([-1.0, 1.0], dtype=np.float32), (len(others), SIZE))
        nodes = np.zeros((size, SIZE), dtype=np.float32)
        _add(nodes, graph.source, signs[place] * _column(rarity[place] * graph.confidence))
        idf = np.log1p(total / other_counts)[other_place] * graph.confidence
        _add(nodes, graph.target, backward[other_place] * _column(idf))
        sums = np.zeros((len(groups), SIZE), dtype=np.float32)
        _add(sums, place, _unit(nodes)[graph.source])
        held = cls(nodes, sums, groups, counts.astype(np.int64), signs, rarity, size, 0.0)
        triples = np.column_stack([graph.source, graph.kind, graph.target]).astype(np.int64)
        energy = held.energy(triples, graph.confidence)
        mean = float(np.nanmean(energy)) if np.isfinite(energy).any() else 1.0
        return cls(nodes, sums, groups, held.counts, signs, rarity, size, mean)

    def energy(self, triples: Longs, own: Values) -> Values:
        """Give ``||h - c||``, c the mean profile of the other heads of (relation, tail).

        It lies in [0, 2]; NaN where there is no other head. ``own`` is the confidence of the
        triple itself where it is in the graph, else 0: what it adds is taken out first.
        """
        parts = [slice(i, i + _CHUNK) for i in range(0, len(triples), _CHUNK)]
        found = [self._energy(triples[part], own[part]) for part in parts]
        return np.concatenate(found) if found else np.zeros(0)

    def _energy(self, triples: Longs, own: Values) -> Values:
        keys = triples[:, 1] * self.size + triples[:, 2]
        place = np.minimum(np.searchsorted(self.groups, keys), max(0, len(self.groups) - 1))
        if not len(self.groups):
            return np.full(len(triples), np.nan)
        known = self.groups[place] == keys
        mine = own > 0
        whole = self.nodes[triples[:, 0]]
        added = _column(self.rarity[place] * own) * self.signs_of[place]
        others = self.sums[place] - np.where(mine[:, None], _unit(whole), 0.0)
        count = self.counts[place] - mine
        # the others all have this very claim: what it gives their mean is no likeness
        apart = _unit(whole - np.where(mine[:, None], added, 0.0))
        distance = np.linalg.norm(apart - _unit(others), axis=1)
        return np.asarray(np.where(known & (count > 0), distance, np.nan), dtype=np.float64)

    def plausibility(self, triples: Longs, own: Values) -> Values:
        """Give ``1 / (1 + exp(-lambda * (delta - E)))`` in [0, 1]; 0.5 where nothing is known."""
        gap = SHARPNESS * (self.threshold - self.energy(triples, own))
        belief = 1.0 / (1.0 + np.exp(-np.clip(gap, -60.0, 60.0)))
        return np.asarray(np.where(np.isnan(belief), 0.5, belief), dtype=np.float64)


def _add(rows: Floats, place: NDArray[np.int_] | NDArray[np.int32], values: Floats) -> None:
    """Add ``values`` to the rows they name, several to one row where named so."""
    if not len(place):
        return
    order = np.argsort(place, kind="stable")
    sorted_place = place[order]
    starts = np.flatnonzero(np.r_[True, sorted_place[1:] != sorted_place[:-1]])
    rows[sorted_place[starts]] += np.add.reduceat(values[order], starts, axis=0)


def _column(values: Values) -> Floats:
    return np.asarray(values[:, None], dtype=np.float32)


def _unit(rows: Floats) -> Floats:
    length = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(rows / np.where(length == 0, 1.0, length), dtype=np.float32)
