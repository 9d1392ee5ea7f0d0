"""Relevance and support judgements."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

from shiyi.answering.knowledge.facts import BENEFIT, BRIDGES, CAUTION, INTERACTION, Fact
from shiyi.answering.methods.method import (
    Query,
    both_labels,
    claims_at,
    claims_in,
    join,
    neighbours,
)
from shiyi.answering.methods.model_calls import ask_model, verdict
from shiyi.answering.retrieval.passages import Unit
from shiyi.answering.runtime import Runtime
from shiyi.errors import ReplyError
from shiyi.linking.normalization import words
from shiyi.model.path import Step as Walked
from shiyi.model.rdf import NamedNode, local_name
from shiyi.ontology.terms import SHIYI
from shiyi.prompts.chat import ChatModel

Step = Mapping[str, Any]
_LEADING: Final = frozenset(local_name(step.predicate) for _, step, _ in BRIDGES)
_ADVISING: Final = _LEADING | {local_name(p.value) for p in (*BENEFIT, *CAUTION, *INTERACTION)}
_COVERED: Final = 0.5  # Shiyi's: share of what was asked that the texts must cover
_ABOUT: Final = 5  # Shiyi's: concepts that one reformulation asks about
_SHOWN: Final = 300  # characters of a text that a judge reads


class Judge(Protocol):
    """The judgements of TOSRR; emptiness needs no judge, it is a count."""

    def relevant(self, units: Sequence[Unit]) -> tuple[tuple[Unit, ...], Step]:
        """Keep the texts that bear on the question."""

    def is_supported(self, units: Sequence[Unit]) -> tuple[bool, Step]:
        """Return whether what would be stated is borne out by the texts."""

    def helpful(self, units: Sequence[Unit]) -> tuple[bool, Step]:
        """Return whether the texts answer what was asked."""

    def reformulate(self, units: Sequence[Unit], round_: int) -> tuple[str, Step]:
        """Return the question in other words; several lines are several questions."""


@dataclass(slots=True)
class ScoredJudge:
    """Judges by claim coverage; ``frontier`` grows by what the stored texts lead to."""

    query: Query
    runtime: Runtime
    frontier: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.frontier |= neighbours(self.runtime.facts, self.query.concepts)

    def relevant(self, units: Sequence[Unit]) -> tuple[tuple[Unit, ...], Step]:
        """Keep what shares a concept with the question and speaks of the relation asked for.

        Where the question names no concept, what shares half of its rarer words.
        """
        chosen_units = tuple(unit for unit in units if self._bears(unit))
        for unit in chosen_units:
            for fact in claims_in(self.runtime, unit):
                self.frontier |= set(self._led_to(fact))
        return chosen_units, _step(
            "relevance",
            "claim coverage",
            kept=len(chosen_units),
            of=len(units),
            dropped=[u.iri for u in units if u not in chosen_units],
        )

    def _bears(self, unit: Unit) -> bool:
        facts = claims_in(self.runtime, unit)
        if not self.query.concepts:
            asked = set(words(self.query.text))
            return bool(asked) and len(asked & set(words(unit.text))) / len(asked) >= _COVERED
        if not facts:
            return unit.iri in self.frontier or _names(unit, self.query, self.runtime)
        return any(self._touches(fact) for fact in facts)

    def _touches(self, fact: Fact) -> bool:
        ends = {fact.subject, fact.object} & self.frontier
        name = local_name(fact.predicate.value)
        if not ends:
            return False
        if self.query.advice:
            return name in _ADVISING
        return len(ends) == 2 or not self.query.predicates or name in self.query.predicates

    def is_supported(self, units: Sequence[Unit]) -> tuple[bool, Step]:
        """Return whether claims speak of at least half of the concepts asked about."""
        facts = [f for unit in units for f in claims_in(self.runtime, unit)]
        concepts = self.query.concepts
        spoken = {iri for iri in concepts if any(_speaks(self.runtime, f, iri) for f in facts)}
        share = len(spoken) / len(concepts) if concepts else float(bool(facts))
        return share >= _COVERED and bool(facts), _step(
            "support",
            "claim coverage",
            verdict=share >= _COVERED and bool(facts),
            covered=round(share, 2),
            claims=len(facts),
        )

    def helpful(self, units: Sequence[Unit]) -> tuple[bool, Step]:
        """Return whether claims reach what is wanted, join what was named, or fit the relation."""
        facts = [f for unit in units for f in claims_in(self.runtime, unit)]
        good, why = self._helps(facts)
        return good, _step("helpfulness", "claim coverage", verdict=good, reason=why)

    def _helps(self, facts: Sequence[Fact]) -> tuple[bool, str]:
        query = self.query
        if query.advice:
            paths = join(query, self.runtime, facts)
            return bool(paths), f"{len(paths)} ways from the question to something wanted"
        named_ = neighbours(self.runtime.facts, query.concepts)
        if query.parsed.wants("may") and len(query.concepts) > 1:
            both = sum(f.subject in named_ and f.object in named_ for f in facts)
            return bool(both), f"{both} claims join what was named"
        if query.predicates:
            named = {local_name(f.predicate.value) for f in facts} & query.predicates
            lacking = sorted(self._find_recorded() - named)
            why = f"lacks {', '.join(lacking)}" if lacking else "of the relations asked for"
            return bool(named) and not lacking, why
        return bool(facts), f"{len(facts)} claims"

    def _find_helpful(self) -> set[str]:
        """Name the benefits that may lead from the seeds to what is wanted."""
        facts, query = self.runtime.facts, self.query
        if not any(facts.is_a(seed, SHIYI.Symptom, SHIYI.Disease) for seed in query.seeds):
            return {"suitableFood"}
        if SHIYI.DSIngredient in query.wanted:
            return {"isEffectiveFor", "indicatedFor"}
        return {"suitableFood", "relieves"}

    def _led_to(self, fact: Fact) -> list[str]:
        """Return what a claim leads to on a sound way from the seeds: a pattern, a constitution."""
        facts, planner = self.runtime.facts, self.runtime.retriever.planner
        if not self.query.advice or fact.language or not fact.positive:
            return []
        hops = [fact.path(end).hops[0] for end in (fact.subject, fact.object)]
        return [
            hop.end
            for hop in hops
            if hop.start in self.frontier
            and planner.leads(
                facts.classes.get(hop.start, ""),
                Walked(hop.predicate, hop.forward),
                facts.classes.get(hop.end, ""),
            )
        ]

    def _find_recorded(self) -> set[str]:
        """Name the relations asked for of which the base has claims at the question's concepts."""
        own = (f for iri in self.query.concepts for f in claims_at(self.runtime.facts, iri))
        return {n for f in own if (n := local_name(f.predicate.value)) in self.query.predicates}

    def reformulate(self, units: Sequence[Unit], round_: int) -> tuple[str, Step]:
        """Ask of each concept, and of what it led to, for the relations wanted; a line for each.

        Later what stands above a concept is asked of too.
        """
        facts = self.runtime.facts
        asked = list(self.query.concepts)
        if round_ > 1:
            asked += [above for iri in asked for above in facts.above(iri)[1:2]]
        middles = [
            end for unit in units for f in claims_in(self.runtime, unit) for end in self._led_to(f)
        ]
        relations = self._find_helpful() if self.query.advice else self.query.predicates
        relation = " ".join(_relation(facts, name) for name in sorted(relations))
        about = list(dict.fromkeys((*asked, *middles)))[:_ABOUT]
        text = (
            "\n".join(f"{both_labels(facts, iri)} {relation}" for iri in about) or self.query.text
        )
        return text, _step("reformulation", "concepts and relations", question=text)


@dataclass(slots=True)
class ModelJudge:
    """Judge with a model; fall back to the scored judge where it fails, and note it."""

    query: Query
    runtime: Runtime
    model: ChatModel
    scored: ScoredJudge

    def relevant(self, units: Sequence[Unit]) -> tuple[tuple[Unit, ...], Step]:
        """Keep the numbered texts that the model calls relevant."""
        fallback = self.scored.relevant(units)  # also moves the frontier on
        reply, step = ask_model(
            self.model, "judge-relevance", question=self.query.text, texts=_number_units(units)
        )
        numbers = reply.get("relevant") if reply else None
        if not isinstance(numbers, list):
            return fallback[0], {**fallback[1], "model": _add_reason(step, "no list of numbers")}
        chosen = {n for n in numbers if isinstance(n, int)}
        chosen_units = tuple(unit for n, unit in enumerate(units, 1) if n in chosen)
        return chosen_units, _step(
            "relevance", "model", kept=len(chosen_units), of=len(units), model=step
        )

    def is_supported(self, units: Sequence[Unit]) -> tuple[bool, Step]:
        """Ask whether an answer can be given from these texts alone."""
        return self._ask_judge("judge-support", "support", units, self.scored.is_supported)

    def helpful(self, units: Sequence[Unit]) -> tuple[bool, Step]:
        """Ask whether such an answer helps."""
        return self._ask_judge("judge-helpfulness", "helpfulness", units, self.scored.helpful)

    def _ask_judge(
        self, prompt: str, name: str, units: Sequence[Unit], otherwise: Any
    ) -> tuple[bool, Step]:
        reply, step = ask_model(
            self.model, prompt, question=self.query.text, texts=_number_units(units)
        )
        try:
            good = verdict(reply or {}, "verdict")
        except ReplyError as fault:
            good, detail = otherwise(units)
            return good, {**detail, "model": _add_reason(step, str(fault))}
        return good, _step(name, "model", verdict=good, model=step)

    def reformulate(self, units: Sequence[Unit], round_: int) -> tuple[str, Step]:
        """Ask for another question; a long or empty one is not taken."""
        reply, step = ask_model(
            self.model, "reformulate-question", question=self.query.text, texts=_number_units(units)
        )
        text = " ".join(str((reply or {}).get("question", "")).split())
        if not text or len(text) > 4 * _SHOWN:
            text, detail = self.scored.reformulate(units, round_)
            return text, {**detail, "model": _add_reason(step, "no question")}
        return text, _step("reformulation", "model", question=text, model=step)


def _number_units(units: Iterable[Unit]) -> str:
    return "\n".join(f"[{n}] {unit.text[:_SHOWN]}" for n, unit in enumerate(units, 1)) or "(none)"


def _add_reason(step: Step, reason: str) -> Step:
    return step if "fault" in step else {**step, "fault": reason}


def _step(name: str, by: str, **text: Any) -> Step:
    return {"step": name, "by": by, **text}


def _names(unit: Unit, query: Query, runtime: Runtime) -> bool:
    low = unit.text.lower()
    labels = (
        label for iri in query.concepts for label in runtime.facts.labels.get(iri, {}).values()
    )
    return any(label.lower() in low for label in labels)


def _speaks(runtime: Runtime, fact: Fact, iri: str) -> bool:
    return not {fact.subject, fact.object}.isdisjoint(runtime.facts.above(iri))


def _relation(facts: Any, name: str) -> str:
    predicate = NamedNode(f"{SHIYI.suitableFood.value.rpartition('#')[0]}#{name}")
    return " ".join(facts.property_label(predicate, language) for language in ("zh", "en"))
