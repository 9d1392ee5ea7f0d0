"""The facts in memory kept in step with a base that is written to, a few claims at a time."""

import threading
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import replace

from shiyi.answering.changed_facts import (
    edge_of,
    edges_of,
    facts_of,
    is_edge,
    with_claims,
    with_concepts,
    with_premises,
)
from shiyi.answering.evidence import Evidences
from shiyi.answering.facts import Fact, Facts
from shiyi.answering.finders import ProjectionFinder
from shiyi.answering.planning import Planner
from shiyi.answering.runtime import Runtime
from shiyi.answering.safety import Safety
from shiyi.reasoning.projection import Edge
from shiyi.reasoning.projection_changes import changed
from shiyi.reasoning.rederive import Followed


class Living:
    """The runtime of this moment; a question keeps the one it began with to its end."""

    def __init__(self, runtime: Runtime) -> None:
        self.current = runtime
        self._turn = threading.Lock()
        self.refreshed = 0  # how often; it changes after ``current``
        self._by_claim: dict[str, tuple[Fact, ...]] | None = None

    def refresh(self, claims: Iterable[str], concepts: Iterable[str] = ()) -> None:
        """Read some claims and concepts anew; after that every new question sees them."""
        with self._turn:
            runtime, named = self.current, tuple(dict.fromkeys(claims))
            concepts = tuple(concepts)
            fresh = {each: facts_of(runtime.store, each) for each in named}
            known = self._known()
            old = [fact for each in named for fact in known.get(each, ())]
            new = [fact for found in fresh.values() for fact in found]
            facts = with_claims(runtime.facts, old, new)
            facts = with_premises(facts, runtime.store, named)
            facts = with_concepts(facts, runtime.store, concepts)
            runtime.shelf.follow(facts, named, (*new, *_naming(facts, concepts)))
            self.current = _over(runtime, facts, named, new)
            self.refreshed += 1
            known.update(fresh)

    def prepare(self) -> None:
        """Index the facts by claim now rather than at the first change."""
        with self._turn:
            self._known()

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

    def _known(self) -> dict[str, tuple[Fact, ...]]:
        if self._by_claim is None:
            found: dict[str, list[Fact]] = defaultdict(list)
            for facts in self.current.facts.by_subject.values():
                for fact in facts:
                    found[fact.claim].append(fact)
            self._by_claim = {claim: tuple(each) for claim, each in found.items()}
        return self._by_claim


def _naming(facts: Facts, concepts: Iterable[str]) -> Iterator[Fact]:
    """Yield the claims whose text names some concepts."""
    for iri in concepts:
        for side in (facts.by_subject, facts.by_object):
            yield from side.get(iri, ())


def _over(runtime: Runtime, facts: Facts, claims: tuple[str, ...], new: list[Fact]) -> Runtime:
    projection = changed(runtime.projection, claims, [edge_of(f) for f in new if is_edge(f)])
    old, rank = runtime.retriever, runtime.rank
    if projection.claims != runtime.projection.claims or any(map(is_edge, new)):
        rank = projection.importance(runtime.settings.pagerank, rank)
    planner = (
        old.planner if all(_planned(old.planner, facts, f) for f in new) else Planner.over(facts)
    )
    finder = (
        ProjectionFinder(projection, facts, planner, rank)
        if isinstance(old.finder, ProjectionFinder)
        else old.finder
    )
    evidences = Evidences(runtime.store, facts)
    return replace(
        runtime, facts=facts, evidences=evidences, safety=Safety(facts, evidences),
        projection=projection, rank=rank,
        retriever=replace(old, facts=facts, planner=planner, finder=finder, rank=rank),
    )  # fmt: skip


def _planned(planner: Planner, facts: Facts, fact: Fact) -> bool:
    one, other = facts.classes.get(fact.subject), facts.classes.get(fact.object)
    return not (one and other) or (one, fact.predicate.value, other) in planner.joins
