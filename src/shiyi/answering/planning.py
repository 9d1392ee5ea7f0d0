"""Relation paths planned from the schema and from what the claims join, without a model."""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field

from shiyi.answering.facts import Facts
from shiyi.answering.roles import BENEFIT, BRIDGES, FIRST_BRIDGES, WITH_EFFECT
from shiyi.model.path import Path, RelationPath, Step
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
        names = {each for joined in joins for each in (joined[0], joined[2])}
        return cls(joins, {name: facts.schema.superclasses(name) for name in names})

    def plan(
        self, start: str, wanted: Collection[NamedNode], max_hops: int, most: int
    ) -> tuple[RelationPath, ...]:
        """Plan paths from a class: bridges first, one benefit last into the wanted classes.

        The shortest come first, and among equally long ones those that more claims support.
        """
        key = (start, tuple(wanted), max_hops, most)
        if key in self._plans:
            return self._plans[key]
        ends = {local_name(each.value) for each in wanted}
        found: Counter[RelationPath] = Counter()
        for path, support in self._grow(start, ends, max_hops):
            found[path] = max(found[path], support)
        ranked = sorted(found, key=lambda p: (len(p), -found[p], [str(s) for s in p]))
        return self._plans.setdefault(key, tuple(ranked[:most]))

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

    def _benefits(self, here: str) -> Iterator[tuple[Step, str, int]]:
        names = {each.value for each in BENEFIT}
        for (subject, predicate, object_), support in self.joins.items():
            if predicate in names and subject == here:
                yield Step(predicate), object_, support
            if predicate in names and object_ == here:
                yield Step(predicate, forward=False), subject, support
            if predicate == WITH_EFFECT.predicate and object_ == here:
                yield WITH_EFFECT, subject, support

    def _bridges(self, here: str, *, first: bool) -> Iterator[tuple[Step, str, int]]:
        steps = {step for _, step, _ in (*BRIDGES, *FIRST_BRIDGES)}
        for (subject, predicate, object_), support in self.joins.items():
            for step in steps:
                start, end = (subject, object_) if step.forward else (object_, subject)
                if (
                    step.predicate == predicate
                    and start == here
                    and self.leads(here, step, end, first=first)
                ):
                    yield step, end, support

    def leads(self, start: str, step: Step, end: str, *, first: bool = False) -> bool:
        """Tell whether advice may be looked for along ``step`` between two classes.

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
        """Tell whether each hop before the last leads on; properties join more than was planned."""
        return all(
            self.leads(
                classes.get(hop.start, ""), Step(hop.predicate, hop.forward),
                classes.get(hop.end, ""), first=place == 0,
            )
            for place, hop in enumerate(path.hops[:-1])
        )  # fmt: skip


_NONE: frozenset[str] = frozenset()
