"""From seeds along planned relation paths to scored reasoning paths (Yaoshi-RAG)."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from shiyi.answering.facts import Fact, Facts
from shiyi.answering.finders import Errand, PathFinder, Sought
from shiyi.answering.planning import Planner
from shiyi.answering.ranking import SCORERS, diverse, scored
from shiyi.answering.texts import Unit
from shiyi.errors import FormatError
from shiyi.model.path import Path, RelationPath
from shiyi.model.rdf import NamedNode
from shiyi.reasoning.query_rank import importance_for
from shiyi.settings import PageRankSettings, PathSettings
from shiyi.sparql.path_query import path_query

Plans = Mapping[str, tuple[RelationPath, ...]]  # by the class they start from
_NONE: Final[Plans] = {}


@dataclass(frozen=True, slots=True)
class Found:
    """A claim that was retrieved, and the number that ranks it within its method."""

    fact: Fact
    score: float


@dataclass(frozen=True, slots=True)
class Retrieved:
    """Every path found, best first; the few that are shown; and how they were found.

    ``claims`` and ``texts`` are best first too; ``steps`` say what the method did, in order;
    ``notes`` name the limits that were reached.
    """

    paths: tuple[Path, ...] = ()
    shown: tuple[Path, ...] = ()
    relation_paths: tuple[RelationPath, ...] = ()
    queries: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    claims: tuple[Found, ...] = ()
    texts: tuple[Unit, ...] = ()
    steps: tuple[Mapping[str, Any], ...] = ()
    rounds: int = 0
    beside: tuple[
        Found, ...
    ] = ()  # claims that hold words of the question no concept was found for
    remarks: tuple[str, ...] = ()  # what the reader is told of how it was found

    def with_steps(self, steps: Iterable[Mapping[str, Any]]) -> "Retrieved":
        """Give the same with further steps."""
        return replace(self, steps=(*self.steps, *steps))

    def with_remarks(self, remarks: Iterable[str]) -> "Retrieved":
        """Give the same with sentences for the reader."""
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
        wanted: Collection[NamedNode],
        k: int,
        least: float,
        first: Plans = _NONE,
        favoured: Collection[str] = (),
    ) -> Retrieved:
        """Find paths from ``seeds`` to the wanted classes, each hop held with at least ``least``.

        The relation paths in ``first`` are followed before those that are planned. From a hub only
        those paths are given that may be suggested or shown, ``favoured`` ends among them.
        """
        if self.settings.scorer not in SCORERS:
            raise FormatError("scorer", self.settings.scorer, list(SCORERS))
        errands = self._errands(seeds, wanted, first)
        sought = Sought(
            tuple(wanted), least, self.settings.scorer, self.settings.limit, frozenset(favoured)
        )
        found: dict[tuple[str, ...], Path] = {}
        plans: dict[RelationPath, None] = {}
        queries: list[str] = []
        notes: list[str] = []
        steps: list[Mapping[str, Any]] = []
        for (plan, group), walk in zip(errands, self.finder.gather(errands, sought), strict=True):
            if walk.found:
                plans[plan] = None
                queries.append(self._query(plan, group))
            if walk.reached_limit:
                notes.append(f"{'/'.join(map(str, plan))}: limit reached")
            if len(walk.paths) < walk.found:
                named = [str(step) for step in plan]
                steps.append(
                    {"step": "kept", "path": named, "found": walk.found, "kept": len(walk.paths)}
                )
            for path in walk.paths:
                if path.weakest >= least and self._fits(path, wanted):
                    found[tuple(hop.claim for hop in path.hops)] = path
        rank = importance_for(self.ranking.scope, found.values(), self.rank, self.ranking)
        ranked = scored(found.values(), rank, SCORERS[self.settings.scorer])
        shown = diverse(ranked, k)
        return Retrieved(
            tuple(ranked), tuple(shown), tuple(plans), tuple(queries), tuple(notes),
            steps=tuple(steps),
        )  # fmt: skip

    def _errands(
        self, seeds: Iterable[str], wanted: Collection[NamedNode], first: Plans
    ) -> list[Errand]:
        found: list[Errand] = []
        for start, group in sorted(_by_class(self.facts, seeds).items()):
            planned = self.planner.plan(
                start, wanted, self.settings.max_hops, self.settings.relation_paths
            )
            found += [(p, group) for p in dict.fromkeys((*first.get(start, ()), *planned))]
        return found

    def _fits(self, path: Path, wanted: Collection[NamedNode]) -> bool:
        ends_well = self.facts.is_a(path.hops[-1].end, *wanted)
        return ends_well and self.planner.sound(path, self.facts.classes)

    def _query(self, plan: RelationPath, seeds: tuple[str, ...]) -> str:
        return path_query(
            plan, seeds, known=self.known, limit=self.settings.limit,
            max_hops=self.settings.max_hops,
        ).text  # fmt: skip


def _by_class(facts: Facts, seeds: Iterable[str]) -> dict[str, tuple[str, ...]]:
    grouped: dict[str, list[str]] = {}
    for seed in dict.fromkeys(seeds):
        if seed in facts.classes:
            grouped.setdefault(facts.classes[seed], []).append(seed)
    return {name: tuple(found) for name, found in grouped.items()}
