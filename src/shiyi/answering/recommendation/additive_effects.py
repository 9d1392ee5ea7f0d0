"""Effects recorded singly that add up."""

import heapq
import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from shiyi.answering.knowledge.facts import Fact
from shiyi.answering.safety import Safety
from shiyi.answering.understanding.patient import Person
from shiyi.answering.wording.draft import AnswerContext, Contribution, Piece
from shiyi.answering.wording.verbalization import Verbalizer, capital, join_names
from shiyi.model.answer import SafetyWarning
from shiyi.model.iris import resource
from shiyi.ontology.lexicon import Cues
from shiyi.ontology.terms import SHIYI


@dataclass(frozen=True, slots=True)
class Effect:
    """An effect that adds up: its sentence and cue, and the reactions and class that record it."""

    phrase: str
    recorded_as: frozenset[str]
    of_meals: bool = False  # also reported for two foods, where a source rates one of them major

    def is_reaction(self, fact: Fact) -> bool:
        """Return whether a claim records the effect as an unwanted reaction, or by the class."""
        return fact.object in self.recorded_as


def _effect(phrase: str, names: str, *, of_meals: bool = False) -> Effect:
    return Effect(phrase, frozenset(resource(name).value for name in names.split()), of_meals)


EFFECTS: Final = (
    _effect("e_sedation", "symptom-drowsiness symptom-sedation-reaction class-sedative",
            of_meals=True),
    _effect("e_bleeding", "symptom-bleeding class-antiplatelet-like"),
    _effect("e_sugar", "symptom-low-blood-sugar class-glucose"),
    _effect("e_pressure", "symptom-low-blood-pressure-reaction"),
    _effect("e_potassium", "symptom-low-potassium", of_meals=True),
    _effect("e_serotonin", "symptom-serotonin-syndrome"),
    _effect("e_stimulation", "symptom-raised-blood-pressure class-stimulant"),
)  # fmt: skip
_CUES: Final = Cues("additive-effects")
_MOST_NOTED: Final = 256  # interactions of one thing with notes read, each from the store
_MINOR, _UNSURE, _SURE, _MAJOR = range(-1, 3)  # how far a record counts; two have to be sure


@dataclass(frozen=True, slots=True)
class Record:
    """A thing with the claim that records an effect of it, and all that its name may mean."""

    thing: str
    fact: Fact
    end: tuple[str, ...]
    weight: int


@dataclass(frozen=True, slots=True)
class SharedEffects:
    """Things that each have one effect on record, or several."""

    effects: tuple[Effect, ...]
    records: tuple[Record, ...]

    def joins(self, things: Iterable[str], other: str) -> bool:
        """Return whether some names of a thing, and another thing, are among them."""
        some = [r for r in self.records if set(r.end).intersection(things)]
        return bool(some) and any(other in r.end for r in self.records if r not in some)

    def is_within(self, things: frozenset[str]) -> bool:
        """Return whether each of them has a name among some things."""
        return all(not things.isdisjoint(r.end) for r in self.records)


def find_shared(
    safety: Safety, ends: Iterable[tuple[str, ...]], *, include_all: bool = False
) -> tuple[SharedEffects, ...]:
    """Find what adds up among ``ends``, each the things that one name may mean.

    Foods among themselves are a meal and medicines among themselves are the doctor's; a pair of
    which something is recorded, or of which a source found nothing, is left to that record. With
    ``include_all``, pairs of medicines and pairs on record add up as well.
    """
    found, ends = dict[tuple[tuple[str, ...], ...], list[SharedEffects]](), tuple(ends)
    kin = {end: (k for iri in end for k in safety.facts.siblings(iri)) for end in ends}
    things = {end: [list_effects(safety, name) for name in (*end, *kin[end])] for end in ends}
    for effect in EFFECTS:
        known = [record for end in ends if (record := _record(safety, effect, end, things[end]))]
        pairs = [
            pair
            for pair in itertools.combinations(known, 2)
            if sum(each.weight for each in pair) >= _SURE
            and (
                not _is_meal(safety, effect, *pair)
                if include_all
                else _is_unstated(safety, effect, *pair)
            )
        ]
        records = tuple(dict.fromkeys(itertools.chain(*pairs)))
        if records:
            key = tuple(each.end for each in records)
            found.setdefault(key, []).append(SharedEffects((effect,), records))
    return tuple(
        SharedEffects(
            tuple(e for each in same for e in each.effects),
            tuple(r for each in same for r in each.records),
        )
        for same in found.values()
    )


_Recorded = tuple[str, list[Fact], list[tuple[Fact, str]]]  # of a thing: effects, and notes


def _record(
    safety: Safety, effect: Effect, end: tuple[str, ...], things: Iterable[_Recorded]
) -> Record | None:
    """Return the first of the things that one name may mean that has the effect, or of its kin."""
    for thing in things:
        if fact := effect_of(safety, effect, thing):
            return Record(thing[0], fact, end, _weight(safety, fact))
    return None


def list_effects(safety: Safety, thing: str) -> _Recorded:
    """Return the effects of a thing, its kind or ingredients; its interactions with their notes."""
    facts, made_of = safety.facts, [f.object for f in safety.facts.of(thing, SHIYI.hasIngredient)]
    near = [n for name in (thing, *made_of) for n in facts.above(name)]
    effects = (SHIYI.hasAdverseReaction, SHIYI.hasTherapeuticClass)
    met = [f for iri in near for f in facts.of(iri, SHIYI.interactsWith)]
    surest = heapq.nsmallest(_MOST_NOTED, met, key=lambda f: (-f.confidence, f.claim))
    notes = [(f, note) for f in surest if (note := _note(safety, f))]
    return thing, [f for iri in near for f in facts.of(iri, *effects)], notes


def effect_of(safety: Safety, effect: Effect, things: _Recorded) -> Fact | None:
    """Return the surest claim that records an effect among those :func:`list_effects` a thing."""
    _, facts, noted = things
    if own := next((f for f in facts if effect.is_reaction(f)), None):
        return own
    cue = _CUES[effect.phrase]
    some = [f for f, note in noted if cue.search(note)]
    return min(some, key=lambda f: (-_weight(safety, f), -f.confidence, f.claim), default=None)


def _note(safety: Safety, fact: Fact) -> str:
    return safety.evidences.note(fact.claim)


def _weight(safety: Safety, fact: Fact) -> int:
    """Return how far a record counts: what is rated minor only beside what is rated major."""
    if fact.predicate != SHIYI.interactsWith:
        return _SURE
    rated = {"minor": _MINOR, "major": _MAJOR}.get(safety.evidences.rating(fact.claim))
    return rated or (_UNSURE if _CUES["open"].search(_note(safety, fact)) else _SURE)


def _is_meal(safety: Safety, effect: Effect, one: Record, other: Record) -> bool:
    """Return whether two things are foods of which none is rated major, or one thing twice."""
    rated = effect.of_meals and _MAJOR in (one.weight, other.weight)
    meal = all(_is_eaten(safety, record) for record in (one, other)) and not rated
    return meal or bool(set(one.end).intersection(other.end))


def _is_unstated(safety: Safety, effect: Effect, one: Record, other: Record) -> bool:
    """Return whether two things are neither meal nor prescription and nothing joins them."""
    facts, both = safety.facts, (one, other)
    if _is_meal(safety, effect, one, other):
        return False
    if all(facts.is_a(record.thing, SHIYI.Drug) for record in both):
        return False
    first, then = (other, one) if facts.is_a(one.thing, SHIYI.Drug) else both
    person = Person(drugs=then.end)
    findings = [f for thing in (first.thing, *first.end) for f in safety.check(thing, person)]
    denied_facts = [f for thing in first.end for t in then.end for f in safety.denials(thing, t)]
    return not (denied_facts or any(f.against in (then.thing, *then.end) for f in findings))


def _is_eaten(safety: Safety, record: Record) -> bool:
    """Return whether a thing is a food or a dish, or stands for one that was named."""
    named = record.end[:1] if record.thing not in record.end else (record.thing,)
    return safety.facts.is_a(named[0], SHIYI.Food, SHIYI.Dish)


def write_shared(verbalizer: Verbalizer, shared: SharedEffects) -> list[Piece]:
    """Write what the same things have in common, each name with the claims it rests on."""
    effects = join_names(
        verbalizer.language, [verbalizer.verbalize(e.phrase) for e in shared.effects]
    )
    because: dict[tuple[str, ...], list[Record]] = {}
    for record in shared.records:
        because.setdefault(record.end, []).append(record)
    pieces: list[Piece] = []
    for n, records in enumerate(because.values()):
        mark = "v_and" if n + 1 == len(because) else "v_comma"
        between = verbalizer.verbalize(mark) if n else ""
        name = verbalizer.name(records[0].thing)
        name = name if n else capital(name, verbalizer.language)
        pieces.append((between + name, tuple(r.fact for r in records)))
    return [*pieces, (verbalizer.verbalize("v_adds", effect=effects), ())]


def repeats(verbalizer: Verbalizer, one: Iterable[str], other: Iterable[str]) -> Iterator[str]:
    """Yield a sentence for each medicine that two medicines are or combine, but for one alone."""
    facts, others = verbalizer.facts, tuple(other)
    for first, then in itertools.product(one, others):
        beside = facts.medicines_in(then)
        for medicine in facts.medicines_in(first) if first != then else ():
            if medicine in beside:
                x, z = (then, first) if medicine == first else (first, then)
                names = {"x": verbalizer.name(x), "y": verbalizer.name(medicine)}
                names |= {} if medicine == z else {"z": verbalizer.name(z)}
                key = "v_contains" if medicine == z else "v_both_contain"
                yield capital(verbalizer.verbalize(key, **names), verbalizer.language)


def write_duplicates(context: AnswerContext, part: Contribution) -> None:
    """Warn of each medicine that two named or used medicines are or combine."""
    parsed = context.parsed
    drugs = dict.fromkeys((*parsed.materials, *parsed.drugs, *parsed.person.drugs))
    for one, other in itertools.combinations(drugs, 2):
        for text in repeats(context.verbalizer, (one,), (other,)):
            part.warnings.append(SafetyWarning("caution", text, ()))
            part.shown.add(text)
            part.opening.add(text)


def write_additive_effects(
    context: AnswerContext, shared_effects: Iterable[SharedEffects], part: Contribution
) -> None:
    """Write one sentence and one warning for what the same things have in common."""
    for effects in shared_effects:
        if len({context.verbalizer.name(record.thing) for record in effects.records}) < 2:
            continue
        part.opening.item(*write_shared(context.verbalizer, effects))
        text = part.opening.lines[-1].text
        facts = [record.fact for record in effects.records]
        part.warnings.append(SafetyWarning("caution", text, tuple(f.claim for f in facts)))
        part.note(*facts)
        part.shown.add(text)
