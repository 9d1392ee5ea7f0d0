"""Which sections answer it, in which order."""

from collections.abc import Callable, Iterable
from functools import partial
from typing import Final

from shiyi.answering.knowledge.facts import MATERIAL
from shiyi.answering.recommendation.additive_effects import write_taken_twice
from shiyi.answering.recommendation.advice import advise
from shiyi.answering.recommendation.candidates import choose
from shiyi.answering.retrieval.paths import Retrieved
from shiyi.answering.runtime import Runtime
from shiyi.answering.sections.compatibility import consult
from shiyi.answering.sections.lists import (
    alike,
    allergy,
    asked_for,
    avoided,
    named_groups,
    nothing,
    nutrients,
    of_group,
    of_school,
    qualities,
    report,
    spoken_of,
)
from shiyi.answering.sections.lookups import (
    constitution,
    doctor,
    feverish_child,
    is_feverish_child,
    patterns,
    rules,
    sheet,
    write_long_term_use,
)
from shiyi.answering.sections.verdicts import tell_ratings
from shiyi.answering.understanding.grounding import WINE, is_wine
from shiyi.answering.understanding.intents import MEDICAL, Intent, asks_difference
from shiyi.answering.understanding.question import (
    ParsedQuestion,
    asks_of_unknown,
    asks_to_avoid,
    is_of_allergy_alone,
    is_only_beyond_food,
    meets_anything,
    plain,
    unknown_words,
    wants_advice,
)
from shiyi.answering.wording.draft import AnswerContext, Contribution, Line, Section
from shiyi.answering.wording.verbalization import capital, join_names, verbalize
from shiyi.errors import UsageError
from shiyi.model.answer import SafetyWarning
from shiyi.model.iris import resource
from shiyi.ontology.lexicon import rows
from shiyi.ontology.terms import SHIYI

_MOST_CHECKED: Final = 8
_MOST_MADE: Final = 2
BY_PATHS: Final = frozenset({"fused", "paths"})  # their facts are looked up beside the paths


def write(
    context: AnswerContext, retrieved: Retrieved, runtime: Runtime, method: str
) -> Contribution:
    """Write an answer from what a method retrieved; the safety check is the same for all."""
    part = Contribution()
    _first(context, part, runtime.settings.answer.country)
    for each in _writers(context, retrieved, runtime, method):
        part.take(each())
    if _reports(context, retrieved, part, method):
        least = runtime.settings.answer.recommend_from
        opened = bool(part.opening.lines)
        part.take(report(context, retrieved, least, _said(part), opened=opened))
    school = runtime.school.iri if runtime.school else ""
    part.take(of_school(context, retrieved, school, _said(part)))
    for poison in (
        p for m in context.parsed.materials[:_MOST_CHECKED] for p in context.safety.poisons(m)
    ):
        part.warn(context, poison)  # anyone who wrote, and whatever was asked; once
    if method != "none" and not (context.parsed.urgent or is_only_beyond_food(context.parsed)):
        write_long_term_use(context, part)
    _opened(context, retrieved, runtime, method, part)
    parsed, verbalizer = context.parsed, context.verbalizer
    part.missing += [
        verbalizer.verbalize("m_profile", word=plain(w)) for w in parsed.person.unknown
    ][:5]
    unheard = () if is_only_beyond_food(parsed) else unknown_words(parsed)[:3]
    part.missing += [verbalizer.verbalize("m_unlinked", word=w) for w in unheard]
    if parsed.profile.pregnant and parsed.profile.sex == "male":
        part.missing.append(verbalizer.verbalize("m_contradiction"))
    part.missing += retrieved.remarks
    if not _rests(part) and not is_only_beyond_food(parsed):
        if not part.opening.lines:
            plain_ = verbalizer.verbalize("o_not_known")
            part.opening.add(nothing(verbalizer.language) if method == "neighbourhood" else plain_)
        if not (part.warnings or part.told):
            part.missing.append(verbalizer.verbalize("m_any"))
    if retrieved.notes:
        part.missing.append(verbalizer.verbalize("m_limit"))
    return part


def _opened(
    context: AnswerContext, retrieved: Retrieved, runtime: Runtime, method: str, part: Contribution
) -> None:
    """Place before all else what is stored of the relation asked for, and of words not linked."""
    if context.parsed.urgent or is_only_beyond_food(context.parsed):
        return
    least = runtime.settings.answer.recommend_from
    part.opening.lines[:0] = spoken_of(context, retrieved, least, part)
    if context.parsed.wants(Intent.DOSE):
        part.opening.lines.insert(0, Line(((context.verbalizer.verbalize("s_dose"), ()),), 1))
    if method == "fused" and not (wants_advice(context.parsed) or asks_to_avoid(context.parsed)):
        part.opening.lines[:0] = asked_for(context, retrieved, _said(part))
    if method == "fused":
        tell_ratings(context, part)


def _reports(context: AnswerContext, retrieved: Retrieved, part: Contribution, method: str) -> bool:
    """Return whether a method's claims are written out; Shiyi's only where all else is thin."""
    if method == "none" or context.parsed.urgent or is_only_beyond_food(context.parsed):
        return False
    if method in BY_PATHS:
        return method == "fused" and not _rests(part)
    settled = context.parsed.wants(Intent.CONSTITUTION, Intent.DIAGNOSIS) and _rests(part)
    advised = wants_advice(context.parsed) and (retrieved.paths or context.parsed.seasons)
    return not (settled or advised)


def _said(part: Contribution) -> frozenset[str]:
    """List the claims that a line rests on."""
    lines = (line for s in (part.opening, *part.sections) for line in s.lines)
    return frozenset(f.claim for line in lines for f in line.facts)


def _rests(part: Contribution) -> bool:
    """Return whether anything written so far rests on a claim."""
    return any(line.facts for s in (part.opening, *part.sections) for line in s.lines)


_REACTION: Final = resource("symptom-allergic-reaction").value


def _allergic(context: AnswerContext, part: Contribution) -> None:
    """Warn of a medicine of a class that somebody is allergic to, or to another member of it."""
    allergies, verbalizer = context.parsed.person.allergies, context.verbalizer
    theirs = {near: a for a in reversed(allergies) for near in context.facts.above(a)[1:]}
    for drug in context.parsed.drugs:
        above = context.facts.above(drug)
        own = next((near for near in above if near in allergies), "")
        reacts = {
            f.subject: f
            for near in above
            if near in theirs
            for f in context.facts.of(near, SHIYI.hasAdverseReaction)
            if f.object == _REACTION
        }
        shared = next(iter(reacts), "")
        if not (own or shared):
            continue
        names = {"x": verbalizer.name(drug), "y": verbalizer.name(own or shared)}
        names |= {} if own else {"z": verbalizer.name(theirs[shared])}
        text = verbalizer.verbalize("v_allergic_drug" if own else "v_allergic_kin", **names)
        text = capital(text, verbalizer.language)
        facts = () if own else (reacts[shared],)
        part.warnings.append(SafetyWarning("contraindicated", text, tuple(f.claim for f in facts)))
        part.note(*facts)
        part.told.add(text)
        part.opening.add(text, *facts)


_SUICIDAL: Final = resource("symptom-suicidal-thoughts").value
_COMMON: Final = {"zh": ("CN",), "en": ("US", "GB", "EU", "CN")}  # where no country is set


def _numbers(language: str, country: str) -> dict[str, str]:
    """Return the emergency number and the crisis line of a country, or of some by language.

    Raise ``UsageError`` where the table has no such country.
    """
    table = {code: cells for code, *cells in rows("emergency-numbers")}
    if country and country not in table:
        raise UsageError(f"answer.country {country!r} is none of {', '.join(table)}")
    mark, found = verbalize(language, "v_comma"), dict[str, list[str]]()
    for code in (country,) if country else _COMMON[language]:
        zh, en, number, line = table[code]
        for name, each in (("number", number), ("line", line)):
            named = zh if language == "zh" else en
            found.setdefault(name, []).append(
                verbalize(language, "n_in", country=named, number=each)
            )
    return {name: mark.join(texts) for name, texts in found.items()}


def _alarms(context: AnswerContext, part: Contribution, country: str) -> None:
    """Warn of an emergency and of self-harm, with the numbers to call."""
    parsed, verbalizer = context.parsed, context.verbalizer
    numbers, harm = _numbers(verbalizer.language, country), parsed.alarm == "self_harm"
    if harm:
        text = verbalizer.verbalize("s_self_harm_read", **numbers)
        part.warnings.append(SafetyWarning("emergency", text))
    if found := [e for e in parsed.emergencies if not (harm and e == _SUICIDAL)]:
        signs, number = verbalizer.names(found), numbers["number"]
        text = verbalizer.verbalize("s_emergency", signs=signs, number=number)
        text = capital(text, verbalizer.language)
        flags = [f for e in found for f in context.facts.into(e, SHIYI.hasRedFlag)][:3]
        part.note(*flags)
        part.warnings.append(SafetyWarning("emergency", text, tuple(f.claim for f in flags)))
    if parsed.alarm == "emergency" and not parsed.emergencies:
        text = verbalizer.verbalize("s_emergency_read", number=numbers["number"])
        part.warnings.append(SafetyWarning("emergency", text))
    if parsed.alarm or not parsed.drugs:
        part.opening.add(verbalizer.verbalize("o_doctor_first"))


def _first(context: AnswerContext, part: Contribution, country: str) -> None:
    """Return what must come before everything: emergencies, medicines, cures."""
    parsed, verbalizer = context.parsed, context.verbalizer
    if parsed.urgent:
        _alarms(context, part, country)
    _allergic(context, part)
    write_taken_twice(context, part)
    if parsed.wants(Intent.STOP):
        drugs = verbalizer.names(parsed.person.drugs) or verbalizer.verbalize("s_stop_any")
        text = verbalizer.verbalize("s_stop", drugs=drugs)
        part.warnings.append(SafetyWarning("caution", text))
        part.opening.add(text)
    topics = parsed.topics
    if topics and not (_meetings(parsed) and MEDICAL.issuperset(topics)):
        names = join_names(
            verbalizer.language, [verbalizer.verbalize(f"topic_{each}") for each in topics]
        )
        space = "" if verbalizer.language == "zh" else " "
        ask = (
            space + verbalizer.verbalize("o_beyond_doctor") if MEDICAL.intersection(topics) else ""
        )
        part.opening.add(verbalizer.verbalize("o_beyond", topics=names) + ask)
    for key, left in (("o_theirs", parsed.theirs), ("o_mine", parsed.mine)):
        if left:
            part.opening.add(verbalizer.verbalize(key, states=_states(context, left)))
    for word, iri in parsed.made[:_MOST_MADE]:
        made_of = (iri, WINE) if is_wine(word) else (iri,)
        part.opening.add(
            verbalizer.verbalize("o_made", word=plain(word), x=verbalizer.names(made_of))
        )
    if parsed.wants(Intent.CURE):
        part.opening.add(verbalizer.verbalize("s_cure"))


def _states(context: AnswerContext, left: Iterable[str]) -> str:
    """Name states and medicines; a food among them is what somebody is allergic to."""
    verbalizer = context.verbalizer
    named = [
        verbalizer.verbalize("v_allergic_to", x=verbalizer.name(iri))
        if context.facts.is_a(iri, *MATERIAL, SHIYI.FoodGroup, SHIYI.Organism)
        else verbalizer.name(iri)
        for iri in left
    ]
    return join_names(verbalizer.language, named)


def _writers(
    context: AnswerContext, retrieved: Retrieved, runtime: Runtime, method: str
) -> list[Callable[[], Contribution]]:
    if context.parsed.alarm == "self_harm":
        return []  # whatever is recorded may be a means
    if is_only_beyond_food(context.parsed) and not context.parsed.urgent:
        conditional = [lambda: _conditional(context)] if context.parsed.materials else []
        return [lambda: doctor(context), *conditional]
    if method == "none":
        return [partial(_warned_by, each, context) for each in _checks(context.parsed)]
    if method not in BY_PATHS:
        return _reporters(context, retrieved, runtime)
    parsed, chosen = context.parsed, list[Callable[[], Contribution]]()
    advice = wants_advice(parsed)
    if parsed.wants(Intent.CONSTITUTION) and not (advice and parsed.constitutions):
        chosen.append(lambda: constitution(context))
    if (parsed.rules and not advice) or (parsed.wants(Intent.MEANING) and not parsed.materials):
        chosen.append(lambda: rules(context))
    chosen += [partial(each, context) for each in _meetings(parsed)]
    chosen += _main(context, retrieved, runtime, alone=not chosen)
    if parsed.wants(Intent.DIAGNOSIS) and not advice:
        chosen.append(lambda: patterns(context))
    return chosen or _fallback(context)


def _reporters(
    context: AnswerContext, retrieved: Retrieved, runtime: Runtime
) -> list[Callable[[], Contribution]]:
    """Return what the house rules and the safety check say anyway, and advise from the paths."""
    parsed, chosen = context.parsed, list[Callable[[], Contribution]]()
    advice = wants_advice(parsed)
    if parsed.wants(Intent.CONSTITUTION) and not (advice and parsed.constitutions):
        chosen.append(lambda: constitution(context))
    chosen += [partial(each, context) for each in _checks(parsed)]
    if parsed.wants(Intent.DIAGNOSIS) and not advice:
        chosen.append(lambda: patterns(context))
    if parsed.urgent:
        return [*chosen, lambda: doctor(context)]
    if is_of_allergy_alone(parsed):
        return [*chosen, lambda: allergy(context)]
    if asks_to_avoid(parsed) and not advice:
        return [*chosen, lambda: avoided(context)]
    if asks_of_unknown(parsed) and not advice:
        return [*chosen, lambda: _of_unknown(context)]
    if advice and is_feverish_child(parsed):
        return [*chosen, lambda: feverish_child(context)]
    if advice and (retrieved.paths or parsed.seasons):
        return [*chosen, lambda: _advice(context, retrieved, runtime)]
    return chosen


def _advice(context: AnswerContext, retrieved: Retrieved, runtime: Runtime) -> Contribution:
    choice = choose(
        context.parsed,
        retrieved,
        context.differential,
        context.facts,
        context.safety,
        retrieved.k or runtime.settings.paths.top_k,
    )
    return advise(context, retrieved, choice, runtime.settings.answer.recommendations)


def _meetings(parsed: ParsedQuestion) -> list[Callable[[AnswerContext], Contribution]]:
    """Return what the safety check has to say of its own of the materials that were named."""
    waits = parsed.emergencies and not parsed.drugs  # food can wait, medicines cannot
    if not parsed.materials or not meets_anything(parsed) or waits:
        return []
    return [_clashes if wants_advice(parsed) and not parsed.wants(Intent.MAY) else consult]


def _checks(parsed: ParsedQuestion) -> list[Callable[[AnswerContext], Contribution]]:
    """Return what speaks for safety whatever a method retrieved."""
    if met := _meetings(parsed):
        return met
    asked = parsed.materials and parsed.wants(Intent.MAY, Intent.DOSE)
    return [_conditional] if asked and not parsed.urgent else []


def _clashes(context: AnswerContext) -> Contribution:
    """Write the cautions of a thing named beside a wish for advice, and nothing else of it."""
    part = consult(context)
    for section in part.sections:  # the signs of alarm go with the advice
        section.lines = [
            line
            for line in section.lines
            if not any(f.predicate == SHIYI.hasRedFlag for f in line.facts)
        ]
    return part if part.warnings else Contribution()


def _conditional(context: AnswerContext) -> Contribution:
    """Return what is recorded against the things asked about, should it apply."""
    part = sheet(context, context.parsed.materials, first=False)
    cautions = [section for section in part.sections if section.heading == "h_caution"]
    return Contribution(sections=cautions, warnings=part.warnings, told=part.told, facts=part.facts)


def _warned_by(
    check: Callable[[AnswerContext], Contribution], context: AnswerContext
) -> Contribution:
    """Keep the warnings of a check alone."""
    part = check(context)
    return Contribution(warnings=part.warnings, facts=part.facts, missing=part.missing)


def _main(
    context: AnswerContext, retrieved: Retrieved, runtime: Runtime, *, alone: bool
) -> list[Callable[[], Contribution]]:
    """Return the writer of what was asked for: advice, a list, or a sheet of what was named."""
    parsed = context.parsed
    if parsed.urgent:
        return []  # no food before a doctor
    advice = wants_advice(parsed)
    if listed_ := _list_of(context, advice=advice):
        return [listed_]
    if advice and is_feverish_child(parsed):
        return [lambda: feverish_child(context)]
    if advice and (parsed.constitutions or not parsed.wants(Intent.CONSTITUTION)):
        return [lambda: _advice(context, retrieved, runtime)]
    if parsed.materials and (alone or not meets_anything(parsed)):
        return [lambda: sheet(context, parsed.materials)]
    compared = (*parsed.constitutions, *parsed.ailments)
    if alone and len(compared) > 1 and asks_difference(parsed.text):
        return [lambda: sheet(context, compared)]
    return []


def _list_of(context: AnswerContext, *, advice: bool) -> Callable[[], Contribution] | None:
    """Return the writer of a list: of an allergy, of a nutrient, or of what to avoid."""
    parsed = context.parsed
    if is_of_allergy_alone(parsed):
        return lambda: allergy(context)
    if rich := nutrients(parsed, context):
        return lambda: alike(context, rich)
    if advice:
        return None
    if asks_to_avoid(parsed):
        return lambda: avoided(context)
    if asks_of_unknown(parsed):
        return lambda: _of_unknown(context)
    if wanted := qualities(parsed, context):
        return lambda: alike(context, wanted)
    return None


def _of_unknown(context: AnswerContext) -> Contribution:
    """State that nothing is known of the thing, then what is recorded against in such a state."""
    verbalizer, words = context.verbalizer, unknown_words(context.parsed)[:3]
    if named_groups(context) and not words:
        return of_group(context)
    part, section = avoided(context), Section("")
    if context.parsed.drugs and not words:
        return part  # it is the medicine that is asked about
    section.add(
        verbalizer.verbalize(
            "o_unheard", words=verbalizer.quoted(words) or verbalizer.verbalize("o_unheard_thing")
        )
    )
    part.opening.lines[:0] = section.lines
    part.told |= {verbalizer.verbalize("m_unlinked", word=word) for word in words}
    return part


def _fallback(context: AnswerContext) -> list[Callable[[], Contribution]]:
    parsed = context.parsed
    if parsed.urgent:
        return [lambda: doctor(context)]
    if parsed.ailments and parsed.wants(Intent.PROPERTY) and not parsed.wants(Intent.MAY):
        return []  # what a pattern is: all that is stored of it is written out
    if parsed.ailments:
        return [lambda: patterns(context)]
    if parsed.wants(Intent.STOP):
        return []  # what had to be stated was stated first
    rest = (*parsed.drugs, *parsed.constitutions, *parsed.others)
    if rest:
        return [lambda: sheet(context, rest)]
    return [lambda: rules(context)]
