"""Relation paths planned from the schema; how paths are scored."""

import math
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray

from shiyi.answering.knowledge.facts import BENEFIT, BRIDGES, FIRST_BRIDGES, WITH_EFFECT, Facts
from shiyi.model.path import Path, RelationPath, Scorer, Step
from shiyi.model.rdf import NamedNode, local_name

Signature = tuple[str, str, str]  # class of the subject, predicate, class of the object


@dataclass(frozen=True, slots=True)
class Planner:
    """Knows how many claims join which classes by which property."""

    joins: Mapping[Signature, int]
    schema_fits: Mapping[str, frozenset[str]]
    _plans: dict[tuple[object, ...], tuple[RelationPath, ...]] = field(default_factory=dict)
    _leading: dict[tuple[str, Step, str, bool], bool] = field(default_factory=dict)

    @classmethod
    def over(cls, facts: Facts) -> "Planner":
        """Count the accepted claims."""
        joins = facts.joins
        names = {each for row in joins for each in (row[0], row[2])}
        return cls(joins, {name: facts.schema.superclasses(name) for name in names})

    def plan(
        self, start: str, targets: Collection[NamedNode], max_hops: int, limit: int
    ) -> tuple[RelationPath, ...]:
        """Plan paths from a class: bridges first, one benefit last into the wanted classes.

        The shortest come first, and among equally long ones those that more claims support.
        """
        key = (start, tuple(targets), max_hops, limit)
        if key in self._plans:
            return self._plans[key]
        ends = {local_name(node.value) for node in targets}
        steps: Counter[RelationPath] = Counter()
        for path, support in self._grow(start, ends, max_hops):
            steps[path] = max(steps[path], support)
        ranked = sorted(steps, key=lambda p: (len(p), -steps[p], [str(s) for s in p]))
        return self._plans.setdefault(key, tuple(ranked[:limit]))

    def _grow(
        self, start: str, ends: set[str], hops: int, seen: frozenset[str] = frozenset()
    ) -> Iterator[tuple[RelationPath, int]]:
        for step, there, support in self._benefits(start):
            if self.schema_fits[there] & ends:
                yield (step,), support
        if hops == 1:
            return
        for step, there, support in self._bridges(start, first=not seen):
            if there in seen | {start}:
                continue
            for rest, further in self._grow(there, ends, hops - 1, seen | {start}):
                yield (step, *rest), min(support, further)

    def _benefits(self, node: str) -> Iterator[tuple[Step, str, int]]:
        names = {each.value for each in BENEFIT}
        for (subject, predicate, object_), support in self.joins.items():
            if predicate in names and subject == node:
                yield Step(predicate), object_, support
            if predicate in names and object_ == node:
                yield Step(predicate, forward=False), subject, support
            if predicate == WITH_EFFECT.predicate and object_ == node:
                yield WITH_EFFECT, subject, support

    def _bridges(self, node: str, *, first: bool) -> Iterator[tuple[Step, str, int]]:
        steps = {step for _, step, _ in (*BRIDGES, *FIRST_BRIDGES)}
        for (subject, predicate, object_), support in self.joins.items():
            for step in steps:
                start, end = (subject, object_) if step.forward else (object_, subject)
                if (
                    step.predicate == predicate
                    and start == node
                    and self.leads(node, step, end, first=first)
                ):
                    yield step, end, support

    def leads(self, start: str, step: Step, end: str, *, first: bool = False) -> bool:
        """Return whether advice may be looked for along ``step`` between two classes.

        ``first`` tells that nothing leads to the step: it leaves what was asked about.
        """
        known = self._leading.get((start, step, end, first))
        if known is None:
            above, below = self.schema_fits.get(start, _NONE), self.schema_fits.get(end, _NONE)
            known = self._leading[start, step, end, first] = any(
                each == step and local_name(one.value) in above and local_name(other.value) in below
                for one, each, other in ((*BRIDGES, *FIRST_BRIDGES) if first else BRIDGES)
            )
        return known

    def sound(self, path: Path, classes: Mapping[str, str]) -> bool:
        """Return whether each hop before the last leads on; properties may join more."""
        return all(
            self.leads(
                classes.get(hop.start, ""),
                Step(hop.predicate, hop.forward),
                classes.get(hop.end, ""),
                first=place == 0,
            )
            for place, hop in enumerate(path.hops[:-1])
        )


_NONE: frozenset[str] = frozenset()


Floats = NDArray[np.float64]
Columns = tuple[Floats, ...]


def _terms(path: Path, rank: Mapping[str, float]) -> list[float]:
    return [hop.confidence * rank.get(hop.end, 0.0) for hop in path.hops]


def mean_entities(path: Path, rank: Mapping[str, float]) -> float:
    """Return (1/n) * sum of confidence times PageRank, n entities (Yaoshi-RAG)."""
    return sum(_terms(path, rank)) / len(path.entities)


def mean_hops(path: Path, rank: Mapping[str, float]) -> float:
    """Return the mean over the hops, which does not favour long paths."""
    return sum(_terms(path, rank)) / len(path.hops)


def total(path: Path, rank: Mapping[str, float]) -> float:
    """Return the sum over the hops."""
    return sum(_terms(path, rank))


def product(path: Path, rank: Mapping[str, float]) -> float:
    """Return the product of the confidences times the mean PageRank."""
    return path.product * _mean_rank(path, rank)


def weakest(path: Path, rank: Mapping[str, float]) -> float:
    """Return the smallest confidence times the mean PageRank."""
    return path.weakest * _mean_rank(path, rank)


def specific(path: Path, rank: Mapping[str, float]) -> float:
    """Return the product of the confidences, less for further hops and through hubs (Shiyi).

    With h(e) = log2(2 + PageRank): each middle divides by (1 + h)^1.5, since what half the base
    leads through says little about this question; an end multiplies by the root of h, since what
    much evidence leads to is better known. The evidence is in the confidences.
    """
    ends = [math.log2(2.0 + rank.get(hop.end, 0.0)) for hop in path.hops]
    hubs: float = math.prod([(1.0 + end) ** _HUB for end in ends[:-1]])
    further: float = PER_HOP ** (len(path.hops) - 1)
    return path.product * further * math.sqrt(ends[-1]) / hubs


PER_HOP: Final = 0.4  # Shiyi's, by bench/ranking.py: what a further hop leaves of a path's weight
_HUB: Final = 1.5  # Shiyi's, by bench/ranking.py


def _mean_rank(path: Path, rank: Mapping[str, float]) -> float:
    return math.fsum(rank.get(hop.end, 0.0) for hop in path.hops) / len(path.hops)


SCORERS: Final[Mapping[str, Scorer]] = {
    "mean_entities": mean_entities, "mean": mean_entities, "mean_hops": mean_hops,
    "sum": total, "product": product,
    "min": weakest, "specific": specific,
}  # fmt: skip


def whole_scores(name: str, confidences: Columns, rank: Columns) -> Floats:
    """Return what the scorer ``name`` gives, for every row of columns of confidence and PageRank.

    There is a column for each hop; ``rank`` is that of the hop's end.
    """
    hops = len(confidences)
    if name in _SUMS:
        summed = sum(
            (c * r for c, r in zip(confidences, rank, strict=True)), np.zeros(len(confidences[0]))
        )
        return (
            summed
            / {"mean_entities": hops + 1, "mean": hops + 1, "mean_hops": hops, "sum": 1}[name]
        )
    surest = np.min(confidences, axis=0) if name == "min" else np.prod(confidences, axis=0)
    if name == "specific":
        ends = [np.log2(2.0 + each) for each in rank]
        hubs = np.prod([np.ones(len(surest)), *((1.0 + e) ** _HUB for e in ends[:-1])], axis=0)
        return np.asarray(surest * PER_HOP ** (hops - 1) * np.sqrt(ends[-1]) / hubs)
    mean: Floats = sum(rank, np.zeros(len(confidences[0]))) / hops
    return np.asarray(surest * mean)


_SUMS: Final = frozenset({"mean_entities", "mean", "mean_hops", "sum"})
