"""The facts in memory kept in step with a base that is written to, a few claims at a time."""

import threading
from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace

from shiyi.answering.changed_facts import after, edges_of
from shiyi.answering.evidence import Evidences
from shiyi.answering.facts import Fact, Facts
from shiyi.answering.finders import ProjectionFinder
from shiyi.answering.planning import Planner
from shiyi.answering.runtime import Runtime
from shiyi.answering.safety import Safety
from shiyi.reasoning.projection import Edge, Projection
from shiyi.reasoning.rederive import Followed


class Living:
    """The runtime of this moment; a question keeps the one it began with to its end."""

    def __init__(self, runtime: Runtime) -> None:
        self.current = runtime
        self._turn = threading.Lock()
        self.refreshed = 0  # how often; it changes after ``current``

    def refresh(self, claims: Iterable[str], concepts: Iterable[str] = ()) -> None:
        """Read some claims and concepts anew; after that every new question sees them."""
        with self._turn:
            runtime, named = self.current, tuple(dict.fromkeys(claims))
            concepts = tuple(concepts)
            facts, projection = after(
                runtime.facts, runtime.projection, runtime.store, named, concepts
            )
            new = [fact for each in named for fact in facts.by_claim.get(each, ())]
            runtime.shelf.follow(facts, named, (*new, *_naming(facts, concepts)))
            self.current = _over(runtime, facts, projection, concepts)
            self.refreshed += 1

    def edges(self) -> list[Edge]:
        """List what the accepted view joins, as the rules of inheritance read it."""
        return edges_of(self.current.facts)

    def derived(self) -> dict[str, Followed]:
        """Give what the derived graph holds, as this moment's facts have it."""
        facts = self.current.facts
        return {
            f.claim: Followed(
                f.subject, f.predicate.value, f.object, f.confidence,
                frozenset(facts.premises.get(f.claim, ())),
            )
            for found in facts.by_subject.values() for f in found if f.derived
        }  # fmt: skip


def _naming(facts: Facts, concepts: Iterable[str]) -> Iterator[Fact]:
    """Yield the claims whose text names some concepts."""
    for iri in concepts:
        for side in (facts.by_subject, facts.by_object):
            yield from side.get(iri, ())


def _over(
    runtime: Runtime, facts: Facts, projection: Projection, concepts: Collection[str]
) -> Runtime:
    old, rank = runtime.retriever, runtime.rank
    if projection is not runtime.projection:
        rank = projection.importance(runtime.settings.pagerank, rank)
    same = facts.joins.keys() == old.planner.joins.keys()
    planner = old.planner if same else Planner.over(facts)
    finder = (
        old.finder.after(projection, facts, planner, rank, concepts)
        if isinstance(old.finder, ProjectionFinder)
        else old.finder
    )
    evidences = Evidences(runtime.store, facts)
    return replace(
        runtime, facts=facts, evidences=evidences, safety=Safety(facts, evidences),
        projection=projection, rank=rank,
        retriever=replace(old, facts=facts, planner=planner, finder=finder, rank=rank),
    )  # fmt: skip
