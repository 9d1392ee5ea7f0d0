"""Which writers answer a question, and in which order: what is urgent first, safety for every method."""

from collections.abc import Callable
from functools import partial
from typing import Final

from shiyi.answering.advice import advise
from shiyi.answering.beyond import MEDICAL, TOPICS, beyond_food, food_in
from shiyi.answering.candidates import choose
from shiyi.answering.consult import consult
from shiyi.answering.cues import (
    Intent,
    asks_difference,
    asks_of_one,
    asks_to_take,
    intents_of,
    is_cue,
)
from shiyi.answering.draft import Section
from shiyi.answering.listing import (
    alike,
    avoided,
    is_met_by,
    named_groups,
    of_group,
    qualities,
)
from shiyi.answering.lookups import (
    constitution,
    doctor,
    feverish_child,
    is_feverish_child,
    patterns,
    rules,
    sheet,
)
from shiyi.answering.parts import Desk, Part
from shiyi.answering.paths import Retrieved
from shiyi.answering.phrases import capital, listed, plain
from shiyi.answering.reading import Reading
from shiyi.answering.report import asked_for, nothing, report, spoken_of
from shiyi.answering.runtime import Runtime
from shiyi.model.answer import SafetyWarning
from shiyi.model.names import resource
from shiyi.ontology.terms import SHIYI

_MOST_CHECKED: Final = 8
BY_PATHS: Final = frozenset({"fused", "paths"})  # their facts are looked up beside the paths


def only_beyond_food(reading: Reading) -> bool:
    """Tell whether nothing is asked that has to do with food, and no two things are to meet."""
    if not beyond_food(reading.question) or reading.wants(Intent.STOP):
        return False
    beside = reading.drugs or reading.ailments or reading.populations or len(reading.groups) > 1
    if reading.materials and beside:
        return False
    return not intents_of(food_in(reading.question)).intersection(_OF_FOOD)


_OF_FOOD: Final = frozenset({
    Intent.ADVICE, Intent.MAY, Intent.AVOID, Intent.DOSE, Intent.STOP, Intent.METHOD, Intent.DRINK,
    Intent.PROPERTY, Intent.CONSTITUTION, Intent.SUPPLEMENT,
})  # fmt: skip


def wants_advice(reading: Reading) -> bool:
    """Tell whether something to eat, drink or take is asked for, and there is a reason for it."""
    if only_beyond_food(reading):
        return False
    seeds = (*reading.ailments, *reading.constitutions, *reading.seasons, *reading.populations,
             *reading.aims)  # fmt: skip
    if reading.materials and asks_of_one(reading.question):
        return False
    if reading.wants(Intent.ADVICE):
        return bool(seeds) or bool(reading.person.states)
    if asks_difference(reading.question):
        return False
    named = reading.materials or (reading.wants(Intent.MAY) and unheard_of(reading))
    only = reading.wants(Intent.DRINK) or not reading.intents
    return only and bool(seeds) and not named


def unheard_of(reading: Reading) -> tuple[str, ...]:
    """List the words of a question that name something, but nothing the knowledge base holds."""
    unlinked = (m.text for m in reading.mentions if not m.iri and not is_cue(m.text))
    return tuple(word for word in map(plain, unlinked) if word)


def write(desk: Desk, retrieved: Retrieved, runtime: Runtime, method: str) -> Part:
    """Write an answer from what a method retrieved; the safety check is the same for all."""
    part = Part()
    _first(desk, part)
    for each in _writers(desk, retrieved, runtime, method):
        part.take(each())
    if _reports(desk, retrieved, part, method):
        least = runtime.settings.answer.recommend_from
        opened = bool(part.opening.lines)
        part.take(report(desk, retrieved, least, _said(part), opened=opened))
    for poison in (
        p for m in desk.reading.materials[:_MOST_CHECKED] for p in desk.safety.poisons(m)
    ):
        part.warn(desk, poison)  # whoever wrote, and whatever was asked; once
    _opened(desk, retrieved, runtime, method, part)
    reading, voice = desk.reading, desk.voice
    part.missing += [voice.say("m_profile", word=plain(w)) for w in reading.person.unknown][:5]
    unheard = () if only_beyond_food(reading) else unheard_of(reading)[:3]
    part.missing += [voice.say("m_unlinked", word=w) for w in unheard]
    if reading.profile.pregnant and reading.profile.sex == "male":
        part.missing.append(voice.say("m_contradiction"))
    part.missing += retrieved.remarks
    if not _rests(part) and not only_beyond_food(reading):
        if not part.opening.lines:
            plain_ = voice.say("o_not_known")
            part.opening.add(nothing(voice.language) if method == "neighbourhood" else plain_)
        if not (part.warnings or part.told):
            part.missing.append(voice.say("m_any"))
    if retrieved.notes:
        part.missing.append(voice.say("m_limit"))
    return part


def _opened(desk: Desk, retrieved: Retrieved, runtime: Runtime, method: str, part: Part) -> None:
    """Put before all else what is held of the relation asked for, and of words not linked."""
    if desk.reading.emergencies or only_beyond_food(desk.reading):
        return
    least = runtime.settings.answer.recommend_from
    part.opening.lines[:0] = spoken_of(desk, retrieved, least, part)
    if method == "fused" and not (wants_advice(desk.reading) or _asks_to_avoid(desk.reading)):
        part.opening.lines[:0] = asked_for(desk, retrieved, _said(part))


def _reports(desk: Desk, retrieved: Retrieved, part: Part, method: str) -> bool:
    """Tell whether the claims a method found are written out; ours does where all else is thin."""
    if method == "none" or desk.reading.emergencies or only_beyond_food(desk.reading):
        return False
    if method in BY_PATHS:
        return method == "fused" and not _rests(part)
    settled = desk.reading.wants(Intent.CONSTITUTION, Intent.DIAGNOSIS) and _rests(part)
    advised = wants_advice(desk.reading) and (retrieved.paths or desk.reading.seasons)
    return not (settled or advised)


def _said(part: Part) -> frozenset[str]:
    """List the claims that a line rests on."""
    lines = (line for s in (part.opening, *part.sections) for line in s.lines)
    return frozenset(f.claim for line in lines for f in line.facts)


def _rests(part: Part) -> bool:
    """Tell whether anything written so far rests on a claim."""
    return any(line.facts for s in (part.opening, *part.sections) for line in s.lines)


_REACTION: Final = resource("symptom-allergic-reaction").value


def _allergic(desk: Desk, part: Part) -> None:
    """Warn of a medicine of a class that somebody is allergic to, or to another member of it."""
    allergies, voice = desk.reading.person.allergies, desk.voice
    theirs = {near: a for a in reversed(allergies) for near in desk.facts.above(a)[1:]}
    for drug in desk.reading.drugs:
        above = desk.facts.above(drug)
        own = next((near for near in above if near in allergies), "")
        reacts = {
            f.subject: f for near in above if near in theirs
            for f in desk.facts.of(near, SHIYI.hasAdverseReaction) if f.object == _REACTION
        }  # fmt: skip
        shared = next(iter(reacts), "")
        if not (own or shared):
            continue
        names = {"x": voice.name(drug), "y": voice.name(own or shared)}
        names |= {} if own else {"z": voice.name(theirs[shared])}
        text = voice.say("v_allergic_drug" if own else "v_allergic_kin", **names)
        text = capital(text, voice.language)
        facts = () if own else (reacts[shared],)
        part.warnings.append(SafetyWarning("contraindicated", text, tuple(f.claim for f in facts)))
        part.note(*facts)
        part.told.add(text)
        part.opening.add(text, *facts)


def _first(desk: Desk, part: Part) -> None:
    """Say what must come before everything: emergencies, medicines, cures."""
    reading, voice = desk.reading, desk.voice
    if reading.emergencies:
        text = voice.say("s_emergency", signs=voice.names(reading.emergencies))
        text = capital(text, voice.language)
        flags = [f for e in reading.emergencies for f in desk.facts.into(e, SHIYI.hasRedFlag)][:3]
        part.note(*flags)
        part.warnings.append(SafetyWarning("emergency", text, tuple(f.claim for f in flags)))
        if not reading.drugs:
            part.opening.add(voice.say("o_doctor_first"))
    _allergic(desk, part)
    if reading.wants(Intent.STOP):
        drugs = voice.names(reading.person.drugs) or voice.say("s_stop_any")
        text = voice.say("s_stop", drugs=drugs)
        part.warnings.append(SafetyWarning("caution", text))
        part.opening.add(text)
    topics = beyond_food(reading.question)
    if topics and not (_meetings(reading) and MEDICAL.issuperset(topics)):
        said = listed(voice.language, [TOPICS[t][voice.language == "en"] for t in topics])
        space = "" if voice.language == "zh" else " "
        ask = space + voice.say("o_beyond_doctor") if MEDICAL.intersection(topics) else ""
        part.opening.add(voice.say("o_beyond", topics=said) + ask)
    if reading.theirs:
        part.opening.add(voice.say("o_theirs", states=voice.names(reading.theirs)))
    if reading.wants(Intent.CURE):
        part.opening.add(voice.say("s_cure"))


def _writers(
    desk: Desk, retrieved: Retrieved, runtime: Runtime, method: str
) -> list[Callable[[], Part]]:
    if only_beyond_food(desk.reading) and not desk.reading.emergencies:
        return [lambda: doctor(desk)]
    if method == "none":
        return [partial(_warned_by, each, desk) for each in _checks(desk.reading)]
    if method not in BY_PATHS:
        return _reporters(desk, retrieved, runtime)
    reading, chosen = desk.reading, list[Callable[[], Part]]()
    advice = wants_advice(reading)
    if reading.wants(Intent.CONSTITUTION) and not (advice and reading.constitutions):
        chosen.append(lambda: constitution(desk))
    if (reading.rules and not advice) or (reading.wants(Intent.MEANING) and not reading.materials):
        chosen.append(lambda: rules(desk))
    chosen += [partial(each, desk) for each in _meetings(reading)]
    chosen += _main(desk, retrieved, runtime, alone=not chosen)
    if reading.wants(Intent.DIAGNOSIS) and not advice:
        chosen.append(lambda: patterns(desk))
    return chosen or _fallback(desk)


def _reporters(desk: Desk, retrieved: Retrieved, runtime: Runtime) -> list[Callable[[], Part]]:
    """Say what the house rules and the safety check say anyway, and advise from the paths."""
    reading, chosen = desk.reading, list[Callable[[], Part]]()
    advice = wants_advice(reading)
    if reading.wants(Intent.CONSTITUTION) and not (advice and reading.constitutions):
        chosen.append(lambda: constitution(desk))
    chosen += [partial(each, desk) for each in _checks(reading)]
    if reading.wants(Intent.DIAGNOSIS) and not advice:
        chosen.append(lambda: patterns(desk))
    if reading.emergencies:
        return [*chosen, lambda: doctor(desk)]
    if _asks_to_avoid(reading) and not advice:
        return [*chosen, lambda: avoided(desk)]
    if _asks_of_unheard(reading) and not advice:
        return [*chosen, lambda: _of_unheard(desk)]
    if advice and is_feverish_child(reading):
        return [*chosen, lambda: feverish_child(desk)]
    if advice and (retrieved.paths or reading.seasons):
        return [*chosen, lambda: _advice(desk, retrieved, runtime)]
    return chosen


def _advice(desk: Desk, retrieved: Retrieved, runtime: Runtime) -> Part:
    choice = choose(desk.reading, retrieved, desk.differential, desk.facts, desk.safety)
    return advise(desk, retrieved, choice, runtime.settings.answer.recommendations)


def _meets(reading: Reading) -> bool:
    """Tell whether a material of the question meets anything it may clash with."""
    return bool(
        reading.drugs or reading.ailments or reading.constitutions or reading.populations
        or reading.person.states or reading.person.drugs or reading.person.allergies
        or len(reading.materials) > 1
    )  # fmt: skip


def _meetings(reading: Reading) -> list[Callable[[Desk], Part]]:
    """Give what the safety check has to say of its own of the materials that were named."""
    waits = reading.emergencies and not reading.drugs  # food can wait, medicines cannot
    if not reading.materials or not _meets(reading) or waits:
        return []
    return [_clashes if wants_advice(reading) and not reading.wants(Intent.MAY) else consult]


def _checks(reading: Reading) -> list[Callable[[Desk], Part]]:
    """Give what speaks for safety whatever a method retrieved."""
    if met := _meetings(reading):
        return met
    asked = reading.materials and reading.wants(Intent.MAY, Intent.DOSE)
    return [_conditional] if asked and not reading.emergencies else []


def _clashes(desk: Desk) -> Part:
    """Say what is recorded against a thing named beside a wish for advice; nothing else of it."""
    part = consult(desk)
    for section in part.sections:  # the signs of alarm go with the advice
        section.lines = [
            line for line in section.lines
            if not any(f.predicate == SHIYI.hasRedFlag for f in line.facts)
        ]  # fmt: skip
    return part if part.warnings else Part()


def _conditional(desk: Desk) -> Part:
    """Say what is recorded against the things asked about, should it apply."""
    part = sheet(desk, desk.reading.materials, first=False)
    kept = [section for section in part.sections if section.heading == "h_caution"]
    return Part(sections=kept, warnings=part.warnings, told=part.told, facts=part.facts)


def _warned_by(check: Callable[[Desk], Part], desk: Desk) -> Part:
    """Keep the warnings of a check alone."""
    part = check(desk)
    return Part(warnings=part.warnings, facts=part.facts, missing=part.missing)


def _main(
    desk: Desk, retrieved: Retrieved, runtime: Runtime, *, alone: bool
) -> list[Callable[[], Part]]:
    """Give the writer of what was asked for: advice, a list, or a sheet of what was named."""
    reading = desk.reading
    if reading.emergencies:
        return []  # no food before a doctor
    advice, wanted = wants_advice(reading), qualities(reading, desk)
    if _asks_to_avoid(reading) and not advice:
        return [lambda: avoided(desk)]
    if _asks_of_unheard(reading) and not advice:
        return [lambda: _of_unheard(desk)]
    if wanted and not advice:
        return [lambda: alike(desk, wanted)]
    if advice and is_feverish_child(reading):
        return [lambda: feverish_child(desk)]
    if advice and (reading.constitutions or not reading.wants(Intent.CONSTITUTION)):
        return [lambda: _advice(desk, retrieved, runtime)]
    if reading.materials and (alone or not _meets(reading)):
        return [lambda: sheet(desk, reading.materials)]
    compared = (*reading.constitutions, *reading.ailments)
    if alone and len(compared) > 1 and asks_difference(reading.question):
        return [lambda: sheet(desk, compared)]
    return []


def _asks_to_avoid(reading: Reading) -> bool:
    """Tell whether it is asked what to leave out in a state or with a medicine."""
    return reading.wants(Intent.AVOID) and not reading.materials and bool(is_met_by(reading))


def _asks_of_unheard(reading: Reading) -> bool:
    """Tell whether it is asked if something nobody here has heard of may be had in a state."""
    if reading.materials or not reading.wants(Intent.MAY) or not is_met_by(reading):
        return False
    return bool(unheard_of(reading)) or asks_to_take(reading.question)


def _of_unheard(desk: Desk) -> Part:
    """Say that nothing is known of the thing, then what is recorded against in such a state."""
    voice, words = desk.voice, unheard_of(desk.reading)[:3]
    if named_groups(desk) and not words:
        return of_group(desk)
    part, said = avoided(desk), Section("")
    said.add(voice.say("o_unheard", words=voice.quoted(words) or voice.say("o_unheard_thing")))
    part.opening.lines[:0] = said.lines
    part.told |= {voice.say("m_unlinked", word=word) for word in words}
    return part


def _fallback(desk: Desk) -> list[Callable[[], Part]]:
    reading = desk.reading
    if reading.emergencies:
        return [lambda: doctor(desk)]
    if reading.ailments and reading.wants(Intent.PROPERTY) and not reading.wants(Intent.MAY):
        return []  # what a pattern is: all that is held of it is written out
    if reading.ailments:
        return [lambda: patterns(desk)]
    if reading.wants(Intent.STOP):
        return []  # what had to be said was said first
    rest = (*reading.drugs, *reading.constitutions, *reading.others)
    if rest:
        return [lambda: sheet(desk, rest)]
    return [lambda: rules(desk)]
