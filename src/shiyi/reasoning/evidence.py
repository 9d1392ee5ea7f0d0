"""What the rest of the graph says of a claim, at three levels kept apart (Yaoshi-RAG)."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shiyi.reasoning.profiles import Profiles, Values
from shiyi.reasoning.projection import Projection
from shiyi.reasoning.triples import Longs

_CHUNK = 2_000_000  # neighbours looked at in one go: some 100 MB
_MIDDLES = 400  # of one claim at most; from a hub, the first by number


@dataclass(frozen=True, slots=True, eq=False)
class Parts:
    """Three levels for each claim asked for, in [0, 1]; 0.5 says nothing either way.

    ``entity``: resource association of the two ends. ``relation``: translation energy.
    ``path``: belief in the ways round the claim.
    """

    entity: Values
    relation: Values
    path: Values

    def columns(self) -> Values:
        """Give the three as columns, in that order."""
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

    def ask(self, triples: Longs, own: Values) -> Parts:
        """Weigh numbered triples (head, relation, tail) as though the graph lacked each.

        ``own`` is the confidence the graph holds a triple with, 0 where it lacks it.
        """
        resource, doubt = self._around(triples)
        direct = self._direct(triples, own)
        chance = self._chance(triples, own)
        entity = np.where(resource > 0, resource / (resource + chance), 0.5)
        path = np.where((resource > 0) | (direct > 0), 1.0 - np.exp(doubt) * (1.0 - direct), 0.5)
        return Parts(entity, self.profiles.plausibility(triples, own), path)

    def _direct(self, triples: Longs, own: Values) -> Values:
        """Give the belief in the other claims on the same two ends."""
        joined = self._weight(triples[:, 0] * len(self.graph.nodes) + triples[:, 2])
        rest = 1.0 - (1.0 - joined) / (1.0 - np.minimum(own, 0.999999))
        return np.where(rest > 1e-6, np.clip(rest, 0.0, 1.0), 0.0)

    def _weight(self, keys: Longs) -> Values:
        if not len(self.keys):
            return np.zeros(len(keys))
        place = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)
        return np.where(self.keys[place] == keys, self.weights[place], 0.0)

    def _chance(self, triples: Longs, own: Values) -> Values:
        """Give the share of all resource that ends at the tail wherever one starts."""
        mine = self.strength[triples[:, 2]] - own
        return np.maximum(mine, 1e-9) / max(float(self.strength.sum()), 1e-9)

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
            last = max(first + 1, int(np.searchsorted(ends, base + _CHUNK, side="right")))
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
        far = np.where(fewer == head, tail, head)[claim]
        joined = self._weight(middle * size + far)
        good = (joined > 0) & (middle != head[claim]) & (middle != tail[claim])
        claim, middle, edge = claim[good], middle[good], edge[good]
        near, away = self.weights[edge], joined[good]
        from_head = np.where((fewer == head)[claim], near, away)
        to_tail = near + away - from_head
        flow = from_head / np.maximum(self.strength[head[claim]], 1e-9)
        flow *= to_tail / np.maximum(self.strength[middle], 1e-9)
        # a hub joins everything, so a way through it says little
        belief = near * away / np.log2(2.0 + np.diff(self.starts)[middle])
        doubt = np.bincount(claim, np.log1p(-np.minimum(belief, 0.999)), len(head))
        resource = np.bincount(claim, flow, len(head))
        return resource.astype(np.float64), doubt.astype(np.float64)
