"""Effects that add to each other: each is recorded of one thing alone, and none of the two together."""

import heapq
import itertools
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from shiyi.answering.draft import Piece
from shiyi.answering.facts import Fact
from shiyi.answering.parts import Desk, Part
from shiyi.answering.person import Person
from shiyi.answering.phrases import capital, listed
from shiyi.answering.reading import Reading
from shiyi.answering.safety import Safety
from shiyi.model.answer import SafetyWarning
from shiyi.model.names import resource
from shiyi.ontology.terms import SHIYI


@dataclass(frozen=True, slots=True)
class Effect:
    """An effect that adds up: the reactions and the class that record it, and how notes say it."""

    phrase: str
    reactions: tuple[str, ...]
    noted: re.Pattern[str]  # in the Chinese note of an interaction, which every claim of ours has
    kind: str = ""
    of_meals: bool = False  # told of two foods as well, where a source rates one of them major

    def is_reaction(self, fact: Fact) -> bool:
        """Tell whether a claim records the effect as an unwanted reaction, or by the class."""
        names = (*self.reactions, self.kind)
        return fact.object in {resource(each).value for each in names if each}


def _effect(
    phrase: str, reactions: str, noted: str, kind: str = "", *, of_meals: bool = False
) -> Effect:
    return Effect(phrase, tuple(reactions.split()), re.compile(noted), kind, of_meals)


EFFECTS: Final = (
    _effect("e_sedation", "symptom-drowsiness symptom-sedation-reaction",
            "镇静[^，；。]{0,8}[相叠]加|叠加镇静|嗜睡|中枢抑制", "class-sedative", of_meals=True),
    _effect("e_bleeding", "symptom-bleeding",
            "(?<!胃肠或皮下)出血|抗血小板|抑制血小板", "class-antiplatelet-like"),
    _effect("e_sugar", "symptom-low-blood-sugar",
            "降糖[^，；。]{0,8}[相叠]加|[叠加增][加强]降糖|低血糖|降低?血糖|降低餐后血糖", "class-glucose"),
    _effect("e_pressure", "symptom-low-blood-pressure-reaction",
            "降压[^，；。]{0,8}[相叠]加|叠加降压|轻度降压|有降压|低血压|血压可?(?:骤降|下降)|扩血管[^，；。]{0,8}相加"),
    _effect("e_potassium", "symptom-low-potassium",
            "低血钾|低钾|失钾|降血钾|电解质丢失|利尿[^，；。]{0,8}叠加|利水[^，；。]{0,8}叠加", of_meals=True),
    _effect("e_serotonin", "symptom-serotonin-syndrome", "5-羟色胺"),
    _effect("e_stimulation", "symptom-raised-blood-pressure",
            "兴奋[^，；。]{0,8}[相叠]加|拟交感", "class-stimulant"),
)  # fmt: skip
# the note leaves open which way it goes: it counts only beside a record that does not
_OPEN: Final = re.compile("或改变|或血药|或诱发|可能影响")
_MOST: Final = 16  # things of one question
_MOST_NOTED: Final = 256  # interactions of one thing whose notes are read, each from the store
_MINOR, _UNSURE, _SURE, _MAJOR = range(-1, 3)  # how far a record counts; two have to be sure


@dataclass(frozen=True, slots=True)
class Record:
    """A thing with the claim that records an effect of it, and all that its name may mean."""

    thing: str
    fact: Fact
    end: tuple[str, ...]
    weight: int


@dataclass(frozen=True, slots=True)
class Together:
    """Things that each have one effect on record, or several."""

    effects: tuple[Effect, ...]
    records: tuple[Record, ...]

    def joins(self, things: Iterable[str], other: str) -> bool:
        """Tell whether some names of a thing, and another thing, are among them."""
        some = [r for r in self.records if set(r.end).intersection(things)]
        return bool(some) and any(other in r.end for r in self.records if r not in some)


def taken(reading: Reading) -> tuple[tuple[str, ...], ...]:
    """List what is taken together: the things named, and medicines and supplements taken."""
    drugs = [d for d in reading.person.drugs if d not in reading.materials]
    return (*reading.groups[:_MOST], *((d,) for d in drugs))


def together(safety: Safety, ends: Iterable[tuple[str, ...]]) -> tuple[Together, ...]:
    """Find what adds up among ``ends``, each the things that one name may mean.

    Foods among themselves are a meal and medicines among themselves are the doctor's; a pair of
    which something is recorded, or of which a source found nothing, is left to that record.
    """
    found, ends = dict[tuple[tuple[str, ...], ...], list[Together]](), tuple(ends)
    for effect in EFFECTS:
        known = [record for end in ends if (record := _record(safety, effect, end))]
        pairs = [
            pair for pair in itertools.combinations(known, 2)
            if sum(each.weight for each in pair) >= _SURE and _unsaid(safety, effect, *pair)
        ]  # fmt: skip
        records = tuple(dict.fromkeys(itertools.chain(*pairs)))
        if records:
            key = tuple(each.end for each in records)
            found.setdefault(key, []).append(Together((effect,), records))
    return tuple(
        Together(
            tuple(e for each in same for e in each.effects),
            tuple(r for each in same for r in each.records),
        )
        for same in found.values()
    )


def _record(safety: Safety, effect: Effect, end: tuple[str, ...]) -> Record | None:
    """Give the first of the things that one name may mean that has the effect, or of its kin."""
    kin = (k for each in end for k in safety.facts.kin(each))
    for thing in (*end, *kin):
        if fact := effect_of(safety, effect, thing):
            return Record(thing, fact, end, _weight(safety, fact))
    return None


def effect_of(safety: Safety, effect: Effect, thing: str) -> Fact | None:
    """Give the surest claim that records an effect of a thing, of its kind or its ingredients."""
    facts, made_of = safety.facts, [f.object for f in safety.facts.of(thing, SHIYI.hasIngredient)]
    near = [n for each in (thing, *made_of) for n in facts.above(each)]
    for each in near:
        told = facts.of(each, SHIYI.hasAdverseReaction, SHIYI.hasTherapeuticClass)
        if own := next((f for f in told if effect.is_reaction(f)), None):
            return own
    met = (f for each in near for f in facts.of(each, SHIYI.interactsWith))
    surest = heapq.nsmallest(_MOST_NOTED, met, key=lambda f: (-f.confidence, f.claim))
    noted = [f for f in surest if effect.noted.search(_note(safety, f))]
    return min(noted, key=lambda f: (-_weight(safety, f), -f.confidence, f.claim), default=None)


def _note(safety: Safety, fact: Fact) -> str:
    return safety.evidences.qualifier(fact.claim, "note_zh")


def _weight(safety: Safety, fact: Fact) -> int:
    """Tell how far a record counts: what is rated minor only beside what is rated major."""
    if fact.predicate != SHIYI.interactsWith:
        return _SURE
    rated = {"minor": _MINOR, "major": _MAJOR}.get(safety.evidences.rating(fact.claim))
    return rated or (_UNSURE if _OPEN.search(_note(safety, fact)) else _SURE)


def _unsaid(safety: Safety, effect: Effect, one: Record, other: Record) -> bool:
    """Tell whether two things are no meal and no prescription, and nothing is recorded of both."""
    facts, both = safety.facts, (one, other)
    told = effect.of_meals and _MAJOR in (one.weight, other.weight)
    meal = all(_is_eaten(safety, each) for each in both) and not told
    if meal or set(one.end).intersection(other.end):
        return False
    if all(facts.is_a(each.thing, SHIYI.Drug) for each in both):
        return False
    first, then = (other, one) if facts.is_a(one.thing, SHIYI.Drug) else both
    beside = Person(drugs=then.end)
    said = [f for thing in (first.thing, *first.end) for f in safety.check(thing, beside)]
    denied = [f for thing in first.end for t in then.end for f in safety.denials(thing, t)]
    return not (denied or any(f.against in (then.thing, *then.end) for f in said))


def _is_eaten(safety: Safety, record: Record) -> bool:
    """Tell whether a thing is a food or a dish, or stands for one that was named."""
    named = record.end[:1] if record.thing not in record.end else (record.thing,)
    return safety.facts.is_a(named[0], SHIYI.Food, SHIYI.Dish)


def say_together(desk: Desk, found: Iterable[Together], part: Part) -> None:
    """Write one sentence and one warning for what the same things have in common."""
    voice = desk.voice
    for each in found:
        effects = listed(voice.language, [voice.say(e.phrase) for e in each.effects])
        because: dict[tuple[str, ...], list[Record]] = {}
        for record in each.records:
            because.setdefault(record.end, []).append(record)
        pieces: list[Piece] = []
        for n, records in enumerate(because.values()):
            between = "" if n == 0 else voice.say("v_and" if n + 1 == len(because) else "v_comma")
            name = voice.name(records[0].thing)
            name = capital(name, voice.language) if n == 0 else name
            pieces.append((between + name, tuple(r.fact for r in records)))
        part.opening.item(*pieces, (voice.say("v_adds", effect=effects), ()))
        text = part.opening.lines[-1].text
        facts = [record.fact for record in each.records]
        part.warnings.append(SafetyWarning("caution", text, tuple(f.claim for f in facts)))
        part.note(*facts)
        part.told.add(text)
