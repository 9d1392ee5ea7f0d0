"""Who follows relation paths: the store with built queries, or the adjacency over whole arrays."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import pairwise
from typing import Final, Protocol

import numpy as np

from shiyi.answering.facts import Facts
from shiyi.answering.node_classes import NodeClasses
from shiyi.answering.planning import Planner
from shiyi.answering.ranking import whole_scores
from shiyi.model.path import Path, RelationPath, Step
from shiyi.model.rdf import NamedNode, local_name
from shiyi.reasoning.hub_walk import (
    Bools,
    Floats,
    Places,
    Ways,
    best_through,
    importance_of,
    leading,
    ways_along,
)
from shiyi.reasoning.projection import Ints, Projection
from shiyi.sparql.path_query import find_paths, path_query
from shiyi.sparql.store import QuadStore

Errand = tuple[RelationPath, tuple[str, ...]]  # a relation path, and the seeds it starts from
ENGINES: Final = ("projection", "sparql")
PER_HOP: Final = 0.6  # ours: what a further hop leaves of a way's weight
_ALL: Final = 3_000  # ours: of so many paths every one is weighed, of more the best alone
_ENDS, _WAYS = 400, 4  # ours: ends that may be suggested, and ways kept from one seed to one end
_BEST, _THROUGH = 500, 12  # ours: paths that may be shown, and how many of them through one middle


class Walked(Protocol):
    """Paths, and whether a limit cut them."""

    @property
    def paths(self) -> tuple[Path, ...]:
        """Give the paths."""

    @property
    def reached_limit(self) -> bool:
        """Tell whether there may be more."""


@dataclass(frozen=True, slots=True)
class Sought:
    """What paths are followed for: the classes they end in, the confidence of each hop, the score.

    ``favoured`` are ends that fit what else was asked (a season, a drink).
    """

    wanted: tuple[NamedNode, ...]
    least: float
    scorer: str
    limit: int
    favoured: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Gathered:
    """The paths of one errand that are kept, how many were found, and whether a limit cut them."""

    paths: tuple[Path, ...]
    found: int
    reached_limit: bool = False


class PathFinder(Protocol):
    """Follows relation paths from some seeds."""

    def follow(self, path: RelationPath, seeds: tuple[str, ...], limit: int) -> Walked:
        """Give at most ``limit`` paths along one relation path."""

    def gather(self, errands: Sequence[Errand], sought: Sought) -> list[Gathered]:
        """Give the paths of each errand that may matter for what is sought."""


@dataclass(frozen=True, slots=True)
class SparqlFinder:
    """Asks the store with built queries: the definition."""

    store: QuadStore
    known: frozenset[str]
    max_hops: int

    def follow(self, path: RelationPath, seeds: tuple[str, ...], limit: int) -> Walked:
        """Give at most ``limit`` paths."""
        query = path_query(path, seeds, known=self.known, limit=limit, max_hops=self.max_hops)
        return find_paths(self.store, query)

    def gather(self, errands: Sequence[Errand], sought: Sought) -> list[Gathered]:
        """Give every path, up to the limit of each errand."""
        walks = [self.follow(path, seeds, sought.limit) for path, seeds in errands]
        return [Gathered(w.paths, len(w.paths), w.reached_limit) for w in walks]


@dataclass(frozen=True)
class ProjectionFinder:
    """Walks the adjacency: fast from hubs, the same answer as SPARQL.

    From a hub, where there are more than 3,000 paths, only those become values that can matter:
    the best by score, and for the 400 surest ends the four surest ways from each seed.
    """

    projection: Projection
    facts: Facts
    planner: Planner
    rank: Mapping[str, float]

    def after(
        self, projection: Projection, facts: Facts, planner: Planner, rank: Mapping[str, float],
        concepts: Collection[str],
    ) -> "ProjectionFinder":  # fmt: skip
        """Give one that walks a changed adjacency; of what was read, ``concepts`` are read anew."""
        made = ProjectionFinder(projection, facts, planner, rank)
        classes = self._classes.after(projection.nodes, facts.classes, concepts)
        made.__dict__["_classes"] = classes
        if planner is self.planner:
            made.__dict__["_leading_on"] = self._leading_on
        return made

    def follow(self, path: RelationPath, seeds: tuple[str, ...], limit: int) -> Walked:
        """Give at most ``limit`` paths."""
        return self.projection.walk(path, seeds, limit)

    def gather(self, errands: Sequence[Errand], sought: Sought) -> list[Gathered]:
        """Give all paths where they are few, else those that may be suggested or shown."""
        found = [self._ways(path, seeds, sought) for path, seeds in errands]
        if sum(map(len, found)) <= _ALL:
            kept: Iterable[Sequence[int] | Places] = [range(len(ways)) for ways in found]
        else:
            kept = self._kept(found, sought)
        return [
            Gathered(tuple(ways.paths(rows)), len(ways), ways.cut)
            for ways, rows in zip(found, kept, strict=True)
        ]

    def _ways(self, path: RelationPath, seeds: tuple[str, ...], sought: Sought) -> Ways:
        classes = self._classes
        wanted = np.array([self._fits(name, sought.wanted) for name in classes.names], dtype=bool)

        def admits(place: int, starts: Ints, ends: Ints) -> Bools:
            there = classes.at(ends)
            if place == len(path) - 1:
                return np.asarray(wanted[there])
            return np.asarray(self._leads(path[place], place == 0)[classes.at(starts), there])

        return ways_along(self.projection, path, seeds, sought.least, admits)

    def _fits(self, name: str, wanted: Collection[NamedNode]) -> bool:
        above = self.facts.schema.superclasses(name) if name else frozenset()
        return any(local_name(each.value) in above for each in wanted)

    def _leads(self, step: Step, first: bool) -> Bools:
        """Tell between which classes advice may be looked for along a step."""
        known = self._leading_on.get((step, first))
        if known is None:
            names = self._classes.names
            leads = partial(self.planner.leads, first=first)
            rows = [[leads(one, step, other) for other in names] for one in names]
            known = self._leading_on[step, first] = np.array(rows, dtype=bool)
        return known

    @cached_property
    def _leading_on(self) -> dict[tuple[Step, bool], Bools]:
        return {}

    @cached_property
    def _importance(self) -> Floats:
        return importance_of(self.projection, self.rank)

    @cached_property
    def _classes(self) -> NodeClasses:
        names = self.facts.schema.parents
        return NodeClasses.of(self.projection.nodes, self.facts.classes, names)

    def _kept(self, found: Sequence[Ways], sought: Sought) -> Iterator[Places]:
        """Choose among the paths of all errands together."""
        first, middle, end, score, worth = (
            np.concatenate(column)
            for column in zip(*(self._columns(ways, sought) for ways in found), strict=True)
        )
        favoured = np.isin(end, self.projection.places(sought.favoured))
        parts = [best_through(middle, score, _THROUGH, _BEST)]
        for group in (favoured, ~favoured):
            rows = np.flatnonzero(group)
            rows = rows[np.argsort(-worth[rows], kind="stable")]
            ends = end[leading(end, rows, 1)[:_ENDS]]
            rows = rows[np.isin(end[rows], ends)]
            between = first.astype(np.int64) * len(self.projection.nodes) + end
            parts.append(leading(between, rows, _WAYS))
        chosen = np.unique(np.concatenate(parts))
        bounds = np.cumsum([0, *map(len, found)])
        for low, high in pairwise(bounds.tolist()):
            yield chosen[(chosen >= low) & (chosen < high)] - low

    def _columns(self, ways: Ways, sought: Sought) -> tuple[Ints, Ints, Ints, Floats, Floats]:
        held = ways.held()
        ranks = tuple(self._importance[column] for column in ways.nodes[1:])
        score = whole_scores(sought.scorer, held, ranks)
        worth = np.prod(held, axis=0) * PER_HOP ** (len(held) - 1)
        return ways.nodes[0], ways.nodes[-2], ways.nodes[-1], score, worth
