"""The person: age, states, medicines, and what a frame or a profile says of them."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from typing import Final

from shiyi.answering.knowledge.facts import MATERIAL, Facts
from shiyi.answering.understanding.attribution import assertion_of
from shiyi.answering.understanding.frame import Focus, Frame, Sex, State
from shiyi.answering.understanding.mentions import TAKEN
from shiyi.linking.linker import Linker
from shiyi.linking.normalization import is_cjk
from shiyi.model.iris import ID, resource
from shiyi.model.profile import Profile
from shiyi.model.rdf import NamedNode
from shiyi.ontology.lexicon import Cues, cue_texts, cues, word_list
from shiyi.ontology.terms import SHIYI

_CUES: Final = Cues("people")
_ALCOHOL: Final = resource("drug-ethanol").value  # no medicine that somebody takes
_MOST, _GROWN, _OLDEST = 10, 14, 130


_STAGES: Final = (
    ("infant", 0, 1), ("young-child", 0, 3), ("child", 0, 14), ("elderly", 65, 131),
)  # fmt: skip
STAGES: Final = frozenset(f"{ID}population-{name}" for name, _, _ in _STAGES)


@cache
def _numerals() -> dict[str, float]:
    """Return the values of numerals in both languages."""
    return {
        word: float(value)
        for value in cue_texts("numerals")
        for words in word_list("numerals", value)
        for word in words
    }


def life_stages(profile: Profile) -> list[str]:
    """Name the groups of people that a profile puts somebody in."""
    stages = []
    if profile.pregnant:
        stages.append("population-pregnant")
    if profile.lactating:
        stages.append("population-lactating")
    if profile.allergies:
        stages.append("population-allergic")
    if profile.age is not None:
        stages += [f"population-{n}" for n, low, high in _STAGES if low <= profile.age < high]
    return stages


def parse_age(text: str) -> float | None:
    """Return the age that folded words tell, in years; of several children that of the youngest.

    >>> age_in("my 7 year old has a cough"), age_in("for three months")
    (7.0, None)
    """
    ages = [age for age in _ages(text) if age <= _OLDEST]
    age = min(ages) if ages and min(ages) < _GROWN else next(iter(ages), None)
    return None if age is None else round(age, 1)


def _ages(text: str) -> list[float]:
    hits = _CUES["age"].finditer(text)
    ages = [age for hit in hits if (age := _age(hit, text)) is not None]
    if not ages and _CUES["age-owner"].search(text):
        ages += [float(hit[1] or hit[2]) for hit in _CUES["bare-age"].finditer(text)]
    return ages


def _age(hit: re.Match[str], text: str) -> float | None:
    """Return an age in years; how long something lasts is none: "for three months"."""
    before, after = text[: hit.start()], text[hit.end() :]
    unit, count = hit[2], _number(hit[1])
    if _CUES["year-unit"].match(unit):
        younger = _CUES["not-yet"].search(before) or _CUES["within"].match(after)
        count += 0.5 if _CUES["and-a-half"].match(after) else 0.0
        return count - 0.1 if younger else count
    of_age = _CUES["old"].match(after) or _CUES["child-word"].search(text)
    of_age = of_age or _CUES["age-of"].search(before)
    lasting = _CUES["span-before"].search(before) or _CUES["span-after"].match(after)
    if not of_age or (lasting and not _CUES["old"].match(after)):
        return None
    return count / (52 if unit.startswith("week") else 12)


def _number(numeral: str) -> float:
    """Return the value of a numeral; a Chinese one may have tens and ones."""
    known = _numerals()
    if numeral in known or not is_cjk(numeral[0]):
        return known[numeral] if numeral in known else float(numeral)
    ten = next(word for word, value in known.items() if value == 10 and is_cjk(word[0]))
    tens, _, ones = numeral.partition(ten)
    return 10.0 * known.get(tens, 1) + known.get(ones, 0)


def parse_states(text: str) -> tuple[State, ...]:
    """List the states that folded words name, each affirmed, denied, past or planned.

    >>> [(state.label, state.assertion) for state in states_in("not pregnant, but breastfeeding")]
    [('pregnant', 'denied'), ('breastfeeding', 'affirmed')]
    """
    found = []
    for label, cue in cues("states").items():
        if hit := cue.search(text):
            found.append(State(label, assertion_of(text[: hit.start()], text[hit.end() :])))
    return tuple(found)


def parse_sex(text: str) -> Sex:
    """Return the sex that folded words tell of the asker."""
    found: tuple[Sex, ...] = ("male", "female")
    return next((sex for sex in found if _CUES[sex].search(text)), "")


def build_profile(frame: Frame, facts: Facts, *, reply: bool = False) -> Profile:
    """Return what a frame says of the asker; nothing where it is about somebody else.

    ``reply`` takes words without "I" for the asker's own, as in a reply to what was asked back.
    """
    own = reply or frame.has_cue("own")
    others = frame.patient.who not in {"self", "general"} or frame.has_cue("others")
    if others or frame.alarm:
        return Profile()
    states = {each.label: each.assertion for each in frame.patient.states}
    mine = [f for f in frame.focus if f.iri and f.assertion == "affirmed"]
    illnesses = (
        f
        for f in mine
        if f.role == "condition"
        and not facts.is_a(f.iri, SHIYI.EmergencySign, SHIYI.Syndrome, SHIYI.Constitution)
        and (facts.is_a(f.iri, SHIYI.Disease) or facts.of(f.iri, SHIYI.excludesFoodGroup))
    )
    diets = (
        facts.label(s.iri, frame.language)
        for s in frame.patient.states
        if s.assertion == "affirmed" and facts.of(s.iri, SHIYI.excludesFoodGroup)
    )
    return Profile(
        age=frame.patient.age if frame.patient.who == "self" else None,
        sex=frame.patient.sex,
        pregnant=_is_so(states.get("pregnant")) if own else None,
        lactating=_is_so(states.get("breastfeeding")) if own else None,
        medicines=_words(
            f.label or f.text for f in mine if f.role == "medicine" and f.iri != _ALCOHOL
        ),
        allergies=_words(f.label or f.text for f in mine if f.role == "allergy"),
        conditions=_words([*(f.label or f.text for f in illnesses), *diets]) if own else (),
        constitution=next(
            (f.label or f.text for f in mine if own and facts.is_a(f.iri, SHIYI.Constitution)), ""
        ),
        avoids=_words(f.label or f.text for f in frame.focus if _is_left_out(f)),
    )


def _is_left_out(focus: Focus) -> bool:
    return bool(focus.iri) and focus.role == "asked_about" and focus.assertion == "denied"


def _is_so(assertion: str | None) -> bool | None:
    """Return whether a state is so; what is over or only planned says nothing of the present."""
    return {"affirmed": True, "denied": False}.get(assertion or "")


def _words(found: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(found))[:_MOST]


@dataclass(frozen=True, slots=True)
class Person:
    """The states that are certain, the medicines taken, allergies and foods not eaten, as concepts.

    ``states`` are conditions of every kind, diets among them; ``left_out`` are foods and groups
    of foods; ``unknown`` are words of the profile that we could not link.
    """

    states: tuple[str, ...] = ()
    drugs: tuple[str, ...] = ()
    allergies: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()


def _whole_name(constitution: str) -> str:
    """Return the name of a constitution with the word for it: "phlegm-damp"."""
    chinese, english = word_list("people", "constitution-ends")
    if not constitution or any(each in constitution.lower() for each in (*chinese, *english)):
        return constitution
    space, ends = ("", chinese) if is_cjk(constitution[0]) else (" ", english)
    return constitution + space + next(iter(ends))


def build_person(
    profile: Profile,
    linker: Linker,
    facts: Facts,
    mentioned: Iterable[str],
    taken: Iterable[str],
    allergens: Iterable[str],
    left_out: Iterable[str],
) -> Person:
    """Assemble what the words and the profile say of who is to eat.

    ``mentioned`` are states, ``taken`` medicines, ``left_out`` foods, all named in the question.
    """
    unknown: list[str] = []

    def linked(words: Iterable[str], *classes: NamedNode) -> list[str]:
        found: list[str] = []
        for word in words:
            hits = [m.iri for m in linker.link(word) if m.iri and facts.is_a(m.iri, *classes)]
            found += hits
            if not hits:
                unknown.append(word)
        return found

    drugs = [*taken, *linked(profile.medicines, SHIYI.Drug, *MATERIAL)]
    allergies = [*allergens, *linked(profile.allergies, *TAKEN)]
    avoids = linked(profile.avoids, *TAKEN)
    prone = [ID + "population-allergic"] if allergies else []
    states = [*mentioned, *linked(profile.conditions, SHIYI.Condition)]
    states += linked(filter(None, [_whole_name(profile.constitution)]), SHIYI.Constitution)
    states += [*prone, *(ID + name for name in life_stages(profile))]
    states += [
        f.object
        for drug in drugs
        for near in facts.above(drug)
        for f in facts.of(near, SHIYI.judgedAs)
    ]
    return Person(
        tuple(dict.fromkeys(s for s in states if s in facts.labels)),
        tuple(dict.fromkeys(drugs)),
        tuple(dict.fromkeys(allergies)),
        tuple(unknown),
        tuple(dict.fromkeys([*left_out, *avoids])),
    )
