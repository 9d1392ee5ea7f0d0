"""Paths followed from seeds, by the store or by the adjacency."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import pairwise
from typing import Any, Final, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from shiyi.answering.knowledge.facts import Fact, Facts
from shiyi.answering.retrieval.passages import Unit
from shiyi.answering.retrieval.planning import PER_HOP, SCORERS, Planner, whole_scores
from shiyi.columnar.strings import Strings
from shiyi.errors import FormatError
from shiyi.model.path import Path, RelationPath, Step, diverse, score_paths
from shiyi.model.rdf import NamedNode, local_name
from shiyi.reasoning import path_search
from shiyi.reasoning.adjacency import Ints, Projection, Walk
from shiyi.settings import PageRankSettings, PathSettings
from shiyi.sparql.queries.paths import PathRows, find_paths, path_query
from shiyi.sparql.store.port import QuadStore

_UNMET = -1


@dataclass(frozen=True, slots=True, eq=False)
class NodeClasses:
    """The class of each node as a place in ``names``, which end with one for no class.

    >>> some = NodeClasses.of(Strings.of(["goji", "maté"]), {"goji": "Food"}, ["Drug", "Food"])
    >>> [some.names[each] for each in some.at(np.array([1, 0, 0], np.int32))]
    ['', 'Food', 'Food']
    """

    names: tuple[str, ...]
    _nodes: Strings
    _classes: Mapping[str, str]
    _place: Mapping[str, int]
    _known: NDArray[np.int16]

    @classmethod
    def of(cls, nodes: Strings, classes: Mapping[str, str], names: Iterable[str]) -> Self:
        """Look ``nodes`` up in ``classes``; a class that is not among ``names`` is none."""
        place = {name: at for at, name in enumerate((*sorted(names), ""))}
        known = np.full(len(nodes), _UNMET, np.int16)
        return cls(tuple(place), nodes, classes, place, known)

    def at(self, nodes: Ints) -> NDArray[np.int16]:
        """Return the classes of some nodes."""
        found = self._known[nodes]
        unmet = np.unique(nodes[found == _UNMET])
        if len(unmet):
            none = self._place[""]
            for node in unmet.tolist():
                name = self._classes.get(self._nodes[node], "")
                self._known[node] = self._place.get(name, none)
            found = self._known[nodes]
        return found

    def after(self, nodes: Strings, classes: Mapping[str, str], changed: Collection[str]) -> Self:
        """Return them after a change: ``nodes`` begin with the old; ``changed`` are reloaded."""
        known = np.full(len(nodes), _UNMET, np.int16)
        known[: len(self._known)] = self._known
        again = [place for place in map(nodes.place, changed) if place is not None]
        known[again] = _UNMET
        return type(self)(self.names, nodes, classes, self._place, known)


Errand = tuple[RelationPath, tuple[str, ...]]  # a relation path, and the seeds it starts from
SPARQL, ADJACENCY = "sparql", "adjacency"
ENGINES: Final = (SPARQL, ADJACENCY)
_ALL: Final = 3_000  # Shiyi's: of so many paths every one is weighed, of more the best alone
_ENDS, _WAYS = 400, 4  # Shiyi's: ends that may be suggested, and ways from one seed to one end
_BEST, _THROUGH = 500, 12  # Shiyi's: paths that may be shown, and those through one middle


Walked = Walk | PathRows


@dataclass(frozen=True, slots=True)
class Goal:
    """What paths are followed for: the classes they end in, the confidence of each hop, the score.

    ``favoured`` are ends that fit what else was asked (a season, a drink).
    """

    wanted: tuple[NamedNode, ...]
    least: float
    scorer: str
    limit: int
    favoured: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class PathSearch:
    """The paths of one errand, how many were found, and whether a limit cut them."""

    paths: tuple[Path, ...]
    found: int
    reached_limit: bool = False
    engine: str = ADJACENCY


class PathFinder(Protocol):
    """Follows relation paths from some seeds."""

    def follow(self, path: RelationPath, seeds: tuple[str, ...], limit: int) -> Walked:
        """Return at most ``limit`` paths along one relation path."""

    def gather(self, errands: Sequence[Errand], sought: Goal) -> list[PathSearch]:
        """Return the paths of each errand that may matter for what is sought."""

    def after(
        self,
        projection: Projection,
        facts: Facts,
        planner: Planner,
        rank: Mapping[str, float],
        concepts: Collection[str],
    ) -> "PathFinder":
        """Return one for a changed base; ``concepts`` are reloaded."""


@dataclass(frozen=True, slots=True)
class SparqlFinder:
    """Asks the store with built queries: the definition.

    Above ``bound`` hops to read, the adjacency is walked instead: the same paths, sooner.
    """

    store: QuadStore
    known: frozenset[str]
    max_hops: int
    adjacency: "ProjectionFinder"
    bound: int

    def follow(self, path: RelationPath, seeds: tuple[str, ...], limit: int) -> Walked:
        """Return at most ``limit`` paths."""
        if self._cost([(path, seeds)]) > self.bound:
            return self.adjacency.follow(path, seeds, limit)
        query = path_query(path, seeds, known=self.known, limit=limit, max_hops=self.max_hops)
        return find_paths(self.store, query)

    def gather(self, errands: Sequence[Errand], sought: Goal) -> list[PathSearch]:
        """Return every path that may matter, up to the limit of each errand."""
        if self._cost(errands) > self.bound:
            return self.adjacency.gather(errands, sought)
        return [self._search_path(path, seeds, sought) for path, seeds in errands]

    def after(
        self,
        projection: Projection,
        facts: Facts,
        planner: Planner,
        rank: Mapping[str, float],
        concepts: Collection[str],
    ) -> "SparqlFinder":
        """Return one for a changed base; ``concepts`` are reloaded."""
        adjacency = self.adjacency.after(projection, facts, planner, rank, concepts)
        return replace(self, adjacency=adjacency)

    def _cost(self, errands: Sequence[Errand]) -> float:
        projection = self.adjacency.projection
        return sum(projection.expected_rows(path, seeds) for path, seeds in errands)

    def _search_path(self, path: RelationPath, seeds: tuple[str, ...], sought: Goal) -> PathSearch:
        walk = self.follow(path, seeds, sought.limit)
        facts, planner = self.adjacency.facts, self.adjacency.planner
        fitting = tuple(
            each
            for each in walk.paths
            if each.weakest >= sought.least
            and facts.is_a(each.hops[-1].end, *sought.wanted)
            and planner.sound(each, facts.classes)
        )
        return PathSearch(fitting, len(fitting), walk.reached_limit, SPARQL)


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
        self,
        projection: Projection,
        facts: Facts,
        planner: Planner,
        rank: Mapping[str, float],
        concepts: Collection[str],
    ) -> "ProjectionFinder":
        """Return one that walks a changed adjacency; ``concepts`` are reloaded."""
        finder = ProjectionFinder(projection, facts, planner, rank)
        classes = self._classes.after(projection.nodes, facts.classes, concepts)
        finder.__dict__["_classes"] = classes
        if planner is self.planner:
            finder.__dict__["_leading_on"] = self._leading_on
        return finder

    def follow(self, path: RelationPath, seeds: tuple[str, ...], limit: int) -> Walked:
        """Return at most ``limit`` paths."""
        return self.projection.walk(path, seeds, limit)

    def gather(self, errands: Sequence[Errand], sought: Goal) -> list[PathSearch]:
        """Return all paths where they are few, else those that may be suggested or shown."""
        fits = [self._fits(name, sought.wanted) for name in self._classes.names]
        wanted = np.array(fits, dtype=bool)
        results = [self._ways(path, seeds, sought.least, wanted) for path, seeds in errands]
        if sum(map(len, results)) <= _ALL:
            chosen: Iterable[Sequence[int] | path_search.Places] = [
                range(len(ways)) for ways in results
            ]
        else:
            chosen = self._choose_rows(results, sought)
        return [
            PathSearch(tuple(ways.paths(rows)), len(ways), ways.cut)
            for ways, rows in zip(results, chosen, strict=True)
        ]

    def _ways(
        self, path: RelationPath, seeds: tuple[str, ...], minimum: float, targets: path_search.Bools
    ) -> path_search.PathColumns:
        classes = self._classes

        def admits(place: int, starts: Ints, ends: Ints) -> path_search.Bools:
            there = classes.at(ends)
            if place == len(path) - 1:
                return np.asarray(targets[there])
            return np.asarray(self._leads(path[place], place == 0)[classes.at(starts), there])

        return path_search.ways_along(self.projection, path, seeds, minimum, admits)

    def _fits(self, name: str, targets: Collection[NamedNode]) -> bool:
        above = self.facts.schema.above.get(name, frozenset())
        return any(local_name(node.value) in above for node in targets)

    def _leads(self, step: Step, first: bool) -> path_search.Bools:
        """Return between which classes advice may be looked for along a step."""
        known = self._leading_on.get((step, first))
        if known is None:
            names = self._classes.names
            leads = partial(self.planner.leads, first=first)
            rows = [[leads(name, step, other) for other in names] for name in names]
            known = self._leading_on[step, first] = np.array(rows, dtype=bool)
        return known

    @cached_property
    def _leading_on(self) -> dict[tuple[Step, bool], path_search.Bools]:
        return {}

    @cached_property
    def _importance(self) -> path_search.Floats:
        return path_search.importance_vector(self.projection, self.rank)

    @cached_property
    def _classes(self) -> NodeClasses:
        names = self.facts.schema.parents
        return NodeClasses.of(self.projection.nodes, self.facts.classes, names)

    def _choose_rows(
        self, columns: Sequence[path_search.PathColumns], sought: Goal
    ) -> Iterator[path_search.Places]:
        """Choose among the paths of all errands together."""
        first, middle, end, score, worth = (
            np.concatenate(column)
            for column in zip(*(self._columns(ways, sought) for ways in columns), strict=True)
        )
        favoured = np.isin(end, self.projection.places(sought.favoured))
        parts = [path_search.best_rows(middle, score, _THROUGH, _BEST)]
        for group in (favoured, ~favoured):
            rows = np.flatnonzero(group)
            rows = rows[np.argsort(-worth[rows], kind="stable")]
            ends = end[path_search.leading_rows(end, rows, 1)[:_ENDS]]
            rows = rows[np.isin(end[rows], ends)]
            between = first.astype(np.int64) * len(self.projection.nodes) + end
            parts.append(path_search.leading_rows(between, rows, _WAYS))
        chosen = np.unique(np.concatenate(parts))
        bounds = np.cumsum([0, *map(len, columns)])
        for low, high in pairwise(bounds.tolist()):
            yield chosen[(chosen >= low) & (chosen < high)] - low

    def _columns(
        self, ways: path_search.PathColumns, sought: Goal
    ) -> tuple[Ints, Ints, Ints, path_search.Floats, path_search.Floats]:
        confidences = ways.confidences()
        ranks = tuple(self._importance[column] for column in ways.nodes[1:])
        score = whole_scores(sought.scorer, confidences, ranks)
        worth = np.prod(confidences, axis=0) * PER_HOP ** (len(confidences) - 1)
        return ways.nodes[0], ways.nodes[-2], ways.nodes[-1], score, worth


Plans = Mapping[str, tuple[RelationPath, ...]]  # by the class they start from
_NONE: Final[Plans] = {}


@dataclass(frozen=True, slots=True)
class RankedFact:
    """A claim that was retrieved, and the number that ranks it within its method."""

    fact: Fact
    score: float


@dataclass(frozen=True, slots=True)
class Retrieval:
    """Every path found, best first; the few that are shown; and how they were found.

    ``claims`` and ``texts`` are best first too; ``steps`` say what the method did, in order;
    ``notes`` name the limits that were reached.
    """

    paths: tuple[Path, ...] = ()
    shown: tuple[Path, ...] = ()
    relation_paths: tuple[RelationPath, ...] = ()
    queries: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    claims: tuple[RankedFact, ...] = ()
    texts: tuple[Unit, ...] = ()
    steps: tuple[Mapping[str, Any], ...] = ()
    rounds: int = 0
    beside: tuple[RankedFact, ...] = ()  # claims with words of the question that name no concept
    remarks: tuple[str, ...] = ()  # sentences for the reader on how it was found
    k: int = 0  # paths that may be recommended from; 0: as the settings say
    engine: str = ""  # what ran the relation paths: sparql, adjacency

    def with_steps(self, steps: Iterable[Mapping[str, Any]]) -> "Retrieval":
        """Return the same with further steps."""
        return replace(self, steps=(*self.steps, *steps))

    def with_remarks(self, remarks: Iterable[str]) -> "Retrieval":
        """Return the same with sentences for the reader."""
        return replace(self, remarks=(*self.remarks, *remarks))


@dataclass(frozen=True, slots=True)
class Retriever:
    """Plans, follows, scores and thins out paths."""

    facts: Facts
    planner: Planner
    finder: PathFinder
    rank: Mapping[str, float]
    settings: PathSettings
    known: frozenset[str]
    ranking: PageRankSettings = PageRankSettings()  # noqa: RUF009 - frozen

    def retrieve(
        self,
        seeds: Iterable[str],
        targets: Collection[NamedNode],
        k: int,
        minimum: float,
        first: Plans = _NONE,
        favoured: Collection[str] = (),
    ) -> Retrieval:
        """Find paths from ``seeds`` to the classes ``targets``; hops have at least ``minimum``.

        The relation paths in ``first`` are followed before those that are planned. From a hub only
        those paths are given that may be suggested or shown, ``favoured`` ends among them.
        """
        if self.settings.scorer not in SCORERS:
            raise FormatError("scorer", self.settings.scorer, list(SCORERS))
        errands = self._plan_searches(seeds, targets, first)
        goal = Goal(
            tuple(targets), minimum, self.settings.scorer, self.settings.limit, frozenset(favoured)
        )
        paths: dict[tuple[str, ...], Path] = {}
        plans: dict[RelationPath, None] = {}
        queries: list[str] = []
        notes: list[str] = []
        steps: list[Mapping[str, Any]] = []
        ran = set[str]()
        for (plan, group), walk in zip(errands, self.finder.gather(errands, goal), strict=True):
            if walk.found:
                plans[plan] = None
                limit, hops = self.settings.limit, self.settings.max_hops
                query = path_query(plan, group, known=self.known, limit=limit, max_hops=hops)
                queries.append(query.text)
            if walk.reached_limit:
                notes.append(f"{'/'.join(map(str, plan))}: limit reached")
            if len(walk.paths) < walk.found:
                named = [str(step) for step in plan]
                steps.append(
                    {"step": "kept", "path": named, "found": walk.found, "kept": len(walk.paths)}
                )
            paths |= {tuple([hop.claim for hop in path.hops]): path for path in walk.paths}
            ran.add(walk.engine)
        rank = self.rank
        if self.ranking.scope == "query_subgraph":
            rank = path_search.importance_on_paths(paths.values(), self.ranking)
        ranked_paths = score_paths(paths.values(), rank, SCORERS[self.settings.scorer])
        shown_paths = diverse(ranked_paths, k)
        return Retrieval(
            tuple(ranked_paths),
            tuple(shown_paths),
            tuple(plans),
            tuple(queries),
            tuple(notes),
            steps=tuple(steps),
            engine=ADJACENCY if ADJACENCY in ran else SPARQL if ran else "",
        )

    def _plan_searches(
        self, seeds: Iterable[str], targets: Collection[NamedNode], first: Plans
    ) -> list[Errand]:
        results: list[Errand] = []
        for start, group in sorted(_by_class(self.facts, seeds).items()):
            planned = self.planner.plan(
                start, targets, self.settings.max_hops, self.settings.relation_paths
            )
            both_ways, plans = self.settings.allow_inverse, (*first.get(start, ()), *planned)
            results += [
                (plan, group)
                for plan in dict.fromkeys(plans)
                if both_ways or all(step.forward for step in plan)
            ]
        return results


def _by_class(facts: Facts, seeds: Iterable[str]) -> dict[str, tuple[str, ...]]:
    grouped: dict[str, list[str]] = {}
    for seed in dict.fromkeys(seeds):
        if seed in facts.classes:
            grouped.setdefault(facts.classes[seed], []).append(seed)
    return {name: tuple(results) for name, results in grouped.items()}
