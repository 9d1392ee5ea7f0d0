"""The person: states, medicines, age."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from shiyi.answering.knowledge.facts import MATERIAL, Facts
from shiyi.answering.understanding.attribution import allergens as allergens_of
from shiyi.answering.understanding.attribution import foods_not_eaten, resolve_denials, resolve_time
from shiyi.answering.understanding.grounding import TAKEN, expand_collective, read_measured_values
from shiyi.answering.understanding.text import QuestionText
from shiyi.linking.linker import Linker
from shiyi.linking.normalization import fold
from shiyi.model.iris import resource
from shiyi.model.mention import Mention
from shiyi.model.profile import Profile
from shiyi.model.rdf import NamedNode
from shiyi.ontology.lexicon import Cues, word_list
from shiyi.ontology.terms import SHIYI

_CUES: Final = Cues("people")

_ALLERGEN_END: Final = re.compile(r"\s+(?:and|but|so|can|may|what|which|who)\b.*$", re.IGNORECASE)


def is_question(text: QuestionText) -> bool:
    """Return whether words ask; a reply to a question states.

    >>> (
    ...     is_question(QuestionText.of("yes, pregnant")),
    ...     is_question(QuestionText.of("And mung beans?")),
    ... )
    (False, True)
    """
    return _CUES["question"].search(text.aligned) is not None


def profile_in(text: QuestionText, linker: Linker, facts: Facts, *, reply: bool = False) -> Profile:
    """Read what the words say of the person who asks; nothing where they speak of others.

    ``reply`` takes words without "I" for the asker's own, as in a reply to what was asked back.
    """
    folded = text.aligned
    if _CUES["others"].search(folded) or not (reply or _CUES["mine"].search(folded)):
        return Profile()
    linked = linker.link(text.raw)
    resolved = resolve_denials(_as_read(linked, text, linker, facts), text)
    every = resolve_time(resolved, text, facts)
    mentions = [m for m in every if m.iri and not m.negated]
    past = {m.iri for m, was in zip(every, resolved, strict=True) if m.negated and not was.negated}
    over = past - {m.iri for m in mentions}
    foods = [
        m for m in linked if m.iri and facts.is_a(m.iri, *MATERIAL, SHIYI.FoodGroup)
    ]  # with the denied ones: 不吃 denies
    bring_on = allergens_of(text, foods)
    allergens = _allergens(text, bring_on)
    avoids = [m.text for m in foods_not_eaten(text, foods) if m not in bring_on]
    age = next(
        (float(hit[1]) for hit in _CUES["age-years"].finditer(folded) if float(hit[1]) <= _OLDEST),
        None,
    )
    return Profile(
        age=age,
        sex=next((sex for sex in ("male", "female") if _CUES[sex].search(folded)), ""),
        pregnant=None if _WITH_CHILD in over else _is_affirmed(_CUES["pregnant"], folded),
        lactating=_is_affirmed(_CUES["lactating"], folded),
        medicines=_those(mentions, facts, allergens),
        allergies=tuple(a for a in dict.fromkeys(allergens) if a)[:5],
        conditions=tuple(
            _name(m, text, linker)
            for m in mentions
            if (facts.is_a(m.iri, SHIYI.Disease) and not facts.is_a(m.iri, SHIYI.EmergencySign))
            or facts.of(m.iri, SHIYI.excludesFoodGroup)
        )[:5],
        constitution=next((m.text for m in mentions if facts.is_a(m.iri, SHIYI.Constitution)), ""),
        avoids=tuple(dict.fromkeys(avoids))[:_MOST],
    )


def _allergens(text: QuestionText, linked: Iterable[Mention]) -> list[str]:
    """List the words for allergens: as written, and those linked that are no part of these."""
    allergens = [
        _ALLERGEN_END.sub("", text.raw[slice(*hit.span(hit.lastindex or 0))]).strip()
        for hit in _CUES["allergic-to"].finditer(text.aligned)
        if not _CUES["no"].search(text.aligned[: hit.start()])
    ]
    named = [m.text for m in linked if not any(t in m.text or m.text in t for t in allergens)]
    return list(dict.fromkeys((*allergens, *named)))


def _as_read(
    linked: tuple[Mention, ...], text: QuestionText, linker: Linker, facts: Facts
) -> tuple[Mention, ...]:
    """Link words as a question is read: values that are low, several states in one word."""
    return read_measured_values(expand_collective(linked, text, linker.link), text, facts)


def _name(mention: Mention, text: QuestionText, linker: Linker) -> str:
    """Return the word, or the name of what it was read as, where the word alone says otherwise."""
    alone = [m.iri for m in linker.link(mention.text)]
    label = mention.label_zh if text.language == "zh" else mention.label_en
    return mention.text if alone == [mention.iri] else label or mention.text


def _is_affirmed(cue: re.Pattern[str], text: str) -> bool | None:
    """Return whether the words affirm or deny; None where they do neither."""
    hits = list(cue.finditer(text))
    if not hits:
        return None
    return not all(_CUES["no"].search(text[: hit.start()]) for hit in hits)


def _those(mentions: list[Mention], facts: Facts, allergens: list[str]) -> tuple[str, ...]:
    """List the medicines that the words say are taken; supplements are not distinguished here."""
    found = [
        m for m in mentions if facts.is_a(m.iri, SHIYI.Drug, SHIYI.DrugClass) and m.iri != _ALCOHOL
    ]
    allergic = fold(" ".join(allergens))
    return tuple(dict.fromkeys(m.text for m in found if fold(m.text) not in allergic))[:_MOST]


_WITH_CHILD: Final = resource("population-pregnant").value
_ALCOHOL: Final = resource("drug-ethanol").value  # no medicine that somebody takes
_MOST, _OLDEST = 10, 130


_STAGES: Final = (
    ("infant", 0, 1), ("young-child", 0, 3), ("child", 0, 14), ("elderly", 65, 131),
)  # fmt: skip
_DIGITS: Final = (
    dict(zip("一二两三四五六七八九", (1, 2, 2, 3, 4, 5, 6, 7, 8, 9), strict=True))
    | {"十": 10, "半": 0.5}
    | {
        name: n
        for n, name in enumerate(
            (
                "one",
                "two",
                "three",
                "four",
                "five",
                "six",
                "seven",
                "eight",
                "nine",
                "ten",
                "eleven",
                "twelve",
            ),
            1,
        )
    }
)


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


def life_stages_in(question: QuestionText, facts: Facts) -> list[str]:
    """Read an age from the words, the narrowest group first: "8 months old", "2 years old", "baby".

    How long something lasts is no age: "for three months".
    """
    text = question.folded
    ages = _ages(text)
    if not ages and _has_word(text, "infant"):
        ages.append(0.5)
    if not ages and _has_word(text, "toddler"):
        ages.append(2.0)
    names = [name for age in ages for name in life_stages(Profile(age=min(age, 130.0)))]
    iris = (resource(name).value for name in names)
    return [iri for iri in dict.fromkeys(iris) if iri in facts.labels]


def age_in(text: str) -> float | None:
    """Return the first age that folded words tell, in years; months are parts of one.

    >>> age_in("my 7 year old has a cough"), age_in("for three months")
    (7.0, None)
    """
    ages = _ages(text, exact=True)
    return round(ages[0], 1) if ages and ages[0] <= _OLDEST else None


def _ages(text: str, *, exact: bool = False) -> list[float]:
    hits = _CUES["age"].finditer(text)
    ages = [age for hit in hits if (age := _age(hit, text, exact=exact)) is not None]
    if not ages and _CUES["age-owner"].search(text):
        ages += [float(hit[1] or hit[2]) for hit in _CUES["bare-age"].finditer(text)]
    return ages


def _has_word(text: str, cue: str) -> bool:
    return any(word in text for words in word_list("words", cue) for word in words)


def _age(hit: re.Match[str], text: str, *, exact: bool = False) -> float | None:
    """Return an age; unless ``exact``, a little less where it may be of the year before."""
    before, after = text[: hit.start()], text[hit.end() :]
    unit, count = hit[2], _number(hit[1])
    if "岁" in unit or unit.startswith("year") or unit in {"yo", "y/o"}:
        count += 0.5 if after.startswith("半") else 0.0
        # "not yet one", and "one" itself, which may be stated of the first year
        younger = _CUES["not-yet"].search(before) or _CUES["within"].match(after) or count == 1
        return count - 0.1 if younger and not exact else count
    of_age = _CUES["old"].match(after) or _CUES["child-word"].search(text)
    lasting = _CUES["span-before"].search(before) or _CUES["span-after"].match(after)
    if not of_age or (lasting and not _CUES["old"].match(after)):
        return None
    return count / (52 if unit.startswith("week") else 12)


def _number(numeral: str) -> float:
    if numeral in _DIGITS:
        return float(_DIGITS[numeral])
    if numeral.isdigit():
        return float(numeral)
    tens, _, ones = numeral.partition("十")
    return 10.0 * _DIGITS.get(tens, 1) + _DIGITS.get(ones, 0)


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


def person_of(
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
    prone = [resource("population-allergic").value] if allergies else []
    states = [*mentioned, *linked(profile.conditions, SHIYI.Condition)]
    states += linked(filter(None, [profile.constitution]), SHIYI.Constitution)
    states += [*prone, *(resource(name).value for name in life_stages(profile))]
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
