"""Relation paths planned from the schema and from what the claims join, without a model."""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from shiyi.answering.facts import Facts
from shiyi.answering.roles import BENEFIT, BRIDGE, PATTERN
from shiyi.model.path import RelationPath, Step
from shiyi.model.rdf import NamedNode, local_name

Signature = tuple[str, str, str]  # class of the subject, predicate, class of the object


@dataclass(frozen=True, slots=True)
class Planner:
    """Knows how many claims join which classes by which property."""

    joins: Mapping[Signature, int]
    schema_fits: Mapping[str, frozenset[str]]

    @classmethod
    def over(cls, facts: Facts) -> "Planner":
        """Count the accepted claims."""
        joins: Counter[Signature] = Counter()
        for subject, found in facts.by_subject.items():
            one = facts.classes.get(subject, "")
            for fact in found:
                other = facts.classes.get(fact.object, "")
                if one and other and fact.positive and not fact.derived:
                    joins[one, fact.predicate.value, other] += 1
        names = {each for joined in joins for each in (joined[0], joined[2])}
        return cls(joins, {name: facts.schema.superclasses(name) for name in names})

    def plan(
        self, start: str, wanted: Collection[NamedNode], max_hops: int, most: int
    ) -> tuple[RelationPath, ...]:
        """Plan paths from a class: bridges first, one benefit last into the wanted classes.

        The shortest come first, and among equally long ones those that more claims support.
        """
        ends = {local_name(each.value) for each in wanted}
        found: Counter[RelationPath] = Counter()
        for path, support in self._grow(start, ends, max_hops):
            found[path] = max(found[path], support)
        ranked = sorted(found, key=lambda p: (len(p), -found[p], [str(s) for s in p]))
        return tuple(ranked[:most])

    def _grow(
        self, start: str, ends: set[str], hops: int, seen: frozenset[str] = frozenset()
    ) -> Iterator[tuple[RelationPath, int]]:
        for step, there, support in self._benefits(start):
            if self.schema_fits[there] & ends:
                yield (step,), support
        if hops == 1:
            return
        for step, there, support in self._bridges(start):
            if there in seen | {start}:
                continue
            for rest, further in self._grow(there, ends, hops - 1, seen | {start}):
                yield (step, *rest), min(support, further)

    def _benefits(self, here: str) -> Iterator[tuple[Step, str, int]]:
        names = {each.value for each in BENEFIT}
        for (subject, predicate, object_), support in self.joins.items():
            if predicate in names and subject == here:
                yield Step(predicate), object_, support
            if predicate in names and object_ == here:
                yield Step(predicate, forward=False), subject, support

    def _bridges(self, here: str) -> Iterator[tuple[Step, str, int]]:
        for (subject, predicate, object_), support in self.joins.items():
            for step in BRIDGE:
                start, end = (subject, object_) if step.forward else (object_, subject)
                if step.predicate == predicate and start == here and self._leads(step, end):
                    yield step, end, support

    def _leads(self, step: Step, end: str) -> bool:
        """Keep from a sign to a disease: that would be a diagnosis."""
        return step.forward or bool(self.schema_fits[end] & _PATTERNS)


_PATTERNS = frozenset(local_name(each.value) for each in PATTERN)
