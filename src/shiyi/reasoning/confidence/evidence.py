"""Support for a claim from the rest of the graph."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shiyi.reasoning.adjacency import Projection
from shiyi.reasoning.embeddings.triples import Floats, Longs

Values = NDArray[np.float64]
SIZE = 128  # of a profile; collisions shrink with it (Shiyi's)
_CHUNK = 20_000  # triples in one go, so that what is worked on stays in the cache
SHARPNESS = 8.0  # lambda of the published logistic layer (Shiyi's; the papers do not state it)


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
        evidence = cls(nodes, sums, groups, counts.astype(np.int64), signs, rarity, size, 0.0)
        triples = np.column_stack([graph.source, graph.kind, graph.target]).astype(np.int64)
        energy = evidence.energy(triples, graph.confidence)
        mean = float(np.nanmean(energy)) if np.isfinite(energy).any() else 1.0
        return cls(nodes, sums, groups, evidence.counts, signs, rarity, size, mean)

    def energy(self, triples: Longs, own: Values) -> Values:
        """Return ``||h - c||``, c the mean profile of the other heads of (relation, tail).

        It lies in [0, 2]; NaN where there is no other head. ``own`` is the confidence of the
        triple itself where it is in the graph, else 0: what it adds is taken out first.
        """
        parts = [slice(i, i + _CHUNK) for i in range(0, len(triples), _CHUNK)]
        results = [self._energy(triples[part], own[part]) for part in parts]
        return np.concatenate(results) if results else np.zeros(0)

    def _energy(self, triples: Longs, own: Values) -> Values:
        keys = triples[:, 1] * self.size + triples[:, 2]
        place = np.minimum(np.searchsorted(self.groups, keys), max(0, len(self.groups) - 1))
        if not len(self.groups):
            return np.full(len(triples), np.nan)
        known = self.groups[place] == keys
        mine = own > 0
        whole = self.nodes[triples[:, 0]]
        column = _column(self.rarity[place] * own) * self.signs_of[place]
        others = self.sums[place] - np.where(mine[:, None], _unit(whole), 0.0)
        count = self.counts[place] - mine
        # the others all have this very claim: what it gives their mean is no likeness
        apart = _unit(whole - np.where(mine[:, None], column, 0.0))
        distance = np.linalg.norm(apart - _unit(others), axis=1)
        return np.asarray(np.where(known & (count > 0), distance, np.nan), dtype=np.float64)

    def plausibility(self, triples: Longs, own: Values) -> Values:
        """Return ``1 / (1 + exp(-lambda * (delta - E)))`` in [0, 1]; 0.5 where nothing is known."""
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


_EVIDENCE_CHUNK = 2_000_000  # neighbours looked at in one go: some 100 MB
_MIDDLES = 400  # of one claim at most; from a hub, the first by number


@dataclass(frozen=True, slots=True, eq=False)
class EvidenceLevels:
    """Three levels for each claim asked for, in [0, 1]; 0.5 says nothing either way.

    ``entity``: resource association of the two ends. ``relation``: translation energy.
    ``path``: belief in the ways round the claim.
    """

    entity: Values
    relation: Values
    path: Values

    def columns(self) -> Values:
        """Return the three as columns, in that order."""
        return np.column_stack([self.entity, self.relation, self.path])


@dataclass(frozen=True, slots=True, eq=False)
class Structure:
    """A graph read both ways, ready to be asked about claims it has or lacks."""

    graph: Projection
    profiles: Profiles
    keys: Longs  # one end * size + other end, sorted, each edge twice
    weights: Values  # 1 - product of (1 - confidence) of what joins the two ends
    starts: Longs
    strength: Values

    @classmethod
    def of(cls, graph: Projection) -> "Structure":
        """Prepare; some seconds for a million claims."""
        size = len(graph.nodes)
        one = np.r_[graph.source, graph.target].astype(np.int64)
        other = np.r_[graph.target, graph.source].astype(np.int64)
        both = np.r_[graph.confidence, graph.confidence]
        keys, place = np.unique(one * size + other, return_inverse=True)
        doubt = np.bincount(place, np.log1p(-np.minimum(both, 0.999999)), len(keys))
        weights = -np.expm1(doubt)
        strength = np.zeros(size)
        strength += np.bincount(keys // max(1, size), weights, size)
        starts = np.searchsorted(keys, np.arange(size + 1) * size)
        return cls(graph, Profiles.of(graph), keys, weights, starts, strength)

    def ask(self, triples: Longs, own: Values) -> EvidenceLevels:
        """Weigh numbered triples (head, relation, tail) as though the graph lacked each.

        ``own`` is the confidence the graph holds a triple with, 0 where it lacks it.
        """
        resource, doubt = self._around(triples)
        direct = self._direct(triples, own)
        chance = self._chance(triples, own)
        entity = np.where(resource > 0, resource / (resource + chance), 0.5)
        path = np.where((resource > 0) | (direct > 0), 1.0 - np.exp(doubt) * (1.0 - direct), 0.5)
        return EvidenceLevels(entity, self.profiles.plausibility(triples, own), path)

    def _direct(self, triples: Longs, own: Values) -> Values:
        """Return the belief in the other claims on the same two ends."""
        values = self._weight(triples[:, 0] * len(self.graph.nodes) + triples[:, 2])
        rest = 1.0 - (1.0 - values) / (1.0 - np.minimum(own, 0.999999))
        return np.where(rest > 1e-6, np.clip(rest, 0.0, 1.0), 0.0)

    def _weight(self, keys: Longs) -> Values:
        if not len(self.keys):
            return np.zeros(len(keys))
        place = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)
        return np.where(self.keys[place] == keys, self.weights[place], 0.0)

    def _chance(self, triples: Longs, own: Values) -> Values:
        """Return the share of all resource that ends at the tail from any start."""
        strength = self.strength[triples[:, 2]] - own
        return np.maximum(strength, 1e-9) / max(float(self.strength.sum()), 1e-9)

    def _around(self, triples: Longs) -> tuple[Values, Values]:
        """Follow h - j - t for each j: the resource that comes so, and log(1 - belief) in it."""
        resource, doubt = np.zeros(len(triples)), np.zeros(len(triples))
        degree = np.diff(self.starts)
        head, tail = triples[:, 0], triples[:, 2]
        fewer = np.where(degree[head] <= degree[tail], head, tail)
        reach = np.minimum(degree[fewer], _MIDDLES)
        ends = np.cumsum(reach)
        first = 0
        while first < len(triples):
            base = ends[first - 1] if first else 0
            last = max(first + 1, int(np.searchsorted(ends, base + _EVIDENCE_CHUNK, side="right")))
            part = slice(first, last)
            resource[part], doubt[part] = self._chunk(
                head[part], tail[part], fewer[part], reach[part]
            )
            first = last
        return resource, doubt

    def _chunk(
        self, head: Longs, tail: Longs, fewer: Longs, reach: NDArray[np.int_]
    ) -> tuple[Values, Values]:
        size = len(self.graph.nodes)
        claim = np.repeat(np.arange(len(head)), reach)
        offset = np.arange(len(claim)) - np.repeat(np.cumsum(reach) - reach, reach)
        edge = self.starts[fewer][claim] + offset
        middle = self.keys[edge] % size
        where = np.where(fewer == head, tail, head)[claim]
        values = self._weight(middle * size + where)
        good = (values > 0) & (middle != head[claim]) & (middle != tail[claim])
        claim, middle, edge = claim[good], middle[good], edge[good]
        near, away = self.weights[edge], values[good]
        from_head = np.where((fewer == head)[claim], near, away)
        to_tail = near + away - from_head
        flow = from_head / np.maximum(self.strength[head[claim]], 1e-9)
        flow *= to_tail / np.maximum(self.strength[middle], 1e-9)
        # a hub joins everything, so a way through it says little
        belief = near * away / np.log2(2.0 + np.diff(self.starts)[middle])
        doubt = np.bincount(claim, np.log1p(-np.minimum(belief, 0.999)), len(head))
        resource = np.bincount(claim, flow, len(head))
        return resource.astype(np.float64), doubt.astype(np.float64)
