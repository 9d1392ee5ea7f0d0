"""Which writers answer a question, and in which order: what is urgent first, safety for every method."""

from collections.abc import Callable, Iterable
from functools import partial
from typing import Final

from shiyi.answering.advice import advise
from shiyi.answering.beyond import MEDICAL, TOPICS, beyond_food
from shiyi.answering.candidates import choose
from shiyi.answering.consult import consult
from shiyi.answering.cues import (
    Intent,
    asks_difference,
)
from shiyi.answering.draft import Section
from shiyi.answering.for_long import say_for_long
from shiyi.answering.forms import WINE, is_wine
from shiyi.answering.listing import (
    alike,
    allergy,
    avoided,
    named_groups,
    nutrients,
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
from shiyi.answering.roles import MATERIAL
from shiyi.answering.runtime import Runtime
from shiyi.answering.wanted import (
    asks_of_unheard,
    asks_to_avoid,
    meets,
    of_allergy_alone,
    only_beyond_food,
    unheard_of,
    wants_advice,
)
from shiyi.model.answer import SafetyWarning
from shiyi.model.names import resource
from shiyi.ontology.terms import SHIYI

_MOST_CHECKED: Final = 8
_MOST_MADE: Final = 2
BY_PATHS: Final = frozenset({"fused", "paths"})  # their facts are looked up beside the paths


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
    if method != "none" and not (desk.reading.emergencies or only_beyond_food(desk.reading)):
        say_for_long(desk, part)
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
    if method == "fused" and not (wants_advice(desk.reading) or asks_to_avoid(desk.reading)):
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
    for key, left in (("o_theirs", reading.theirs), ("o_mine", reading.mine)):
        if left:
            part.opening.add(voice.say(key, states=_states(desk, left)))
    for word, iri in reading.made[:_MOST_MADE]:
        made_of = (iri, WINE) if is_wine(word) else (iri,)
        part.opening.add(voice.say("o_made", word=plain(word), x=voice.names(made_of)))
    if reading.wants(Intent.CURE):
        part.opening.add(voice.say("s_cure"))


def _states(desk: Desk, left: Iterable[str]) -> str:
    """Name states and medicines; a food among them is what somebody is allergic to."""
    voice = desk.voice
    said = [
        voice.say("v_allergic_to", x=voice.name(iri))
        if desk.facts.is_a(iri, *MATERIAL, SHIYI.FoodGroup, SHIYI.Organism) else voice.name(iri)
        for iri in left
    ]  # fmt: skip
    return listed(voice.language, said)


def _writers(
    desk: Desk, retrieved: Retrieved, runtime: Runtime, method: str
) -> list[Callable[[], Part]]:
    if only_beyond_food(desk.reading) and not desk.reading.emergencies:
        told = [lambda: _conditional(desk)] if desk.reading.materials else []
        return [lambda: doctor(desk), *told]
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
    if of_allergy_alone(reading):
        return [*chosen, lambda: allergy(desk)]
    if asks_to_avoid(reading) and not advice:
        return [*chosen, lambda: avoided(desk)]
    if asks_of_unheard(reading) and not advice:
        return [*chosen, lambda: _of_unheard(desk)]
    if advice and is_feverish_child(reading):
        return [*chosen, lambda: feverish_child(desk)]
    if advice and (retrieved.paths or reading.seasons):
        return [*chosen, lambda: _advice(desk, retrieved, runtime)]
    return chosen


def _advice(desk: Desk, retrieved: Retrieved, runtime: Runtime) -> Part:
    choice = choose(desk.reading, retrieved, desk.differential, desk.facts, desk.safety)
    return advise(desk, retrieved, choice, runtime.settings.answer.recommendations)


def _meetings(reading: Reading) -> list[Callable[[Desk], Part]]:
    """Give what the safety check has to say of its own of the materials that were named."""
    waits = reading.emergencies and not reading.drugs  # food can wait, medicines cannot
    if not reading.materials or not meets(reading) or waits:
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
    advice = wants_advice(reading)
    if listed_ := _list_of(desk, advice=advice):
        return [listed_]
    if advice and is_feverish_child(reading):
        return [lambda: feverish_child(desk)]
    if advice and (reading.constitutions or not reading.wants(Intent.CONSTITUTION)):
        return [lambda: _advice(desk, retrieved, runtime)]
    if reading.materials and (alone or not meets(reading)):
        return [lambda: sheet(desk, reading.materials)]
    compared = (*reading.constitutions, *reading.ailments)
    if alone and len(compared) > 1 and asks_difference(reading.question):
        return [lambda: sheet(desk, compared)]
    return []


def _list_of(desk: Desk, *, advice: bool) -> Callable[[], Part] | None:
    """Give the writer of a list: what an allergy leaves out, what is rich in something, what to avoid."""
    reading = desk.reading
    if of_allergy_alone(reading):
        return lambda: allergy(desk)
    if rich := nutrients(reading, desk):
        return lambda: alike(desk, rich)
    if advice:
        return None
    if asks_to_avoid(reading):
        return lambda: avoided(desk)
    if asks_of_unheard(reading):
        return lambda: _of_unheard(desk)
    if wanted := qualities(reading, desk):
        return lambda: alike(desk, wanted)
    return None


def _of_unheard(desk: Desk) -> Part:
    """Say that nothing is known of the thing, then what is recorded against in such a state."""
    voice, words = desk.voice, unheard_of(desk.reading)[:3]
    if named_groups(desk) and not words:
        return of_group(desk)
    part, said = avoided(desk), Section("")
    if desk.reading.drugs and not words:
        return part  # it is the medicine that is asked about
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
