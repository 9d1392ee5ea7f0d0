"""May X be taken with Y."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Final

from shiyi.answering.knowledge.facts import INCOMPATIBLE, INTERACTION, Fact
from shiyi.answering.recommendation.additive_effects import (
    SharedEffects,
    find_shared,
    write_additive_effects,
)
from shiyi.answering.safety import Finding
from shiyi.answering.sections.guidance import Guide
from shiyi.answering.sections.lists import write_composition, write_group
from shiyi.answering.sections.records import write_grave_note, write_record
from shiyi.answering.sections.terms import child_first
from shiyi.answering.sections.verdicts import (
    BARRING,
    Case,
    aims,
    assess_case,
    benefits,
    compose_verdict,
    distinguish,
    lead,
    level_of,
    list_rated,
    name_of,
    patterns_behind,
    verdict_key,
    write_others,
    write_symptoms,
    write_toxic_verdict,
    write_use,
    write_verdicts,
)
from shiyi.answering.understanding.differentiation import effect_of
from shiyi.answering.wording.draft import (
    AnswerContext,
    Contribution,
    Piece,
    Section,
    question_texts,
    write_red_flags,
)
from shiyi.answering.wording.verbalization import capital, finish, join_names, kind_words
from shiyi.linking.normalization import fold, is_cjk
from shiyi.model.answer import SafetyWarning
from shiyi.model.claim import EvidenceKind
from shiyi.model.iris import resource
from shiyi.ontology.lexicon import Cues
from shiyi.ontology.terms import SHIYI

_CUES: Final = Cues("wanted")
_UNHELD: Final = (SHIYI.ChemicalEntity, SHIYI.TherapeuticClass)  # no source warns of them as such
_ALCOHOL: Final = resource("drug-ethanol").value
_MOST, _DESCRIBED, _CHECKED = 12, 4, 16  # things described, and all that are checked


def write_compatibility(context: AnswerContext, guides: Sequence[Guide] = ()) -> Contribution:
    """Write the verdict on each pair, but for what statements of ``guides`` judge, with reasons."""
    part, alone, silent = Contribution(), list[str](), list[_Silent]()
    apart = context.parsed.wants("compare") and not context.parsed.person.drugs
    ends = [guide.ends for guide in guides]
    several = len(context.parsed.groups) + len(context.parsed.person.drugs) > 1
    adding = find_shared(context.safety, context.parsed.intake) if several and not apart else ()
    adding = tuple(e for e in adding if not any(e.is_within(end) for end in ends))
    cases = [assess_case(context, group) for group in context.parsed.groups[:_CHECKED]]
    findings = [finding for case in cases for finding in case.found]
    for each in findings:
        part.warn(context, each, is_stated=True)
        part.paths += [f.path(f.subject) for f in each.stated_claims[:1]]
    stated_findings, nearby_findings = _sort_by_statements(
        context, [f for case in cases for f in _drop_implied(context, case.found)], guides
    )
    level = write_verdicts(context, stated_findings, part)
    for place, case in enumerate(cases):
        if place >= _DESCRIBED and not case.found:
            _poisons(context, case.materials, part, level)
            silent.append((case.senses, case.targets))
        elif apart and not case.found:
            _poisons(context, case.senses, part, level)
            alone.append(case.senses[0])
        else:
            settled = all(any(g.settles(f) for g in guides) for f in case.found)
            silent += _write_verdict(context, case, adding, part, level, is_settled=settled)
    if nearby_findings:
        pieces = compose_verdict(context, "beside", nearby_findings)
        part.section("h_compare").item(*pieces)
    if adding:
        write_additive_effects(context, adding, part)
    distinguish(context, part)
    _write_groups(context, part, beside=bool(findings))
    _write_implied(context, stated_findings, part)
    if rest := context.parsed.groups[_CHECKED:]:
        names = context.verbalizer.names(group[0] for group in rest[:_MOST])
        part.opening.add(context.verbalizer.verbalize("m_unchecked", x=names))
    if alone:
        part.extend(write_record(context, alone))
    part.opening.lines.sort(key=lambda line: not line.facts)  # what is recorded comes first
    _write_unrecorded(context, _leave_untold(silent, ends), part, level or "stated" * bool(guides))
    _write_no_allergen(context, cases, part)
    _child_first(context, part)
    if not (part.opening.lines or guides):
        names = context.verbalizer.names(context.parsed.materials)
        part.opening.add(context.verbalizer.verbalize("o_sheet", items=names))
    _write_closing(context, part, findings, level)
    return part


_Silent = tuple[tuple[str, ...], tuple[str, ...]]  # what one name means, and what it meets unheard


def _sort_by_statements(
    context: AnswerContext, findings: Iterable[Finding], guides: Sequence[Guide]
) -> tuple[list[Finding], list[Finding]]:
    """Return what is stated as a verdict, and what only beside a statement that allows it."""
    stated_findings, nearby_findings = list[Finding](), list[Finding]()
    for finding in findings:
        settled_guides = [guide for guide in guides if guide.settles(finding)]
        if not settled_guides:
            stated_findings.append(finding)
        elif level_of(context, finding) in BARRING:
            ill = context.facts.is_a(finding.against, SHIYI.Disease)
            joined = finding.severity == "interaction"
            allowed = all(g.verdict == "yes" if ill or joined else g.allows for g in settled_guides)
            if not (allowed and joined and finding.through):
                (nearby_findings if allowed and not joined else stated_findings).append(finding)
    return stated_findings, nearby_findings


def _leave_untold(silent: Iterable[_Silent], ends: Sequence[frozenset[str]]) -> list[_Silent]:
    """Return of which pairs nothing is recorded and no statement speaks."""
    left = (
        (senses, tuple(t for t in targets if not any({senses[0], t} <= end for end in ends)))
        for senses, targets in silent
    )
    return [row for row in left if row[1]]


def _drop_implied(context: AnswerContext, findings: Sequence[Finding]) -> list[Finding]:
    """Leave out states that a medicine implies where a thing meets what is named itself."""
    parsed = context.parsed
    states = {*parsed.states, *parsed.person.drugs, *parsed.person.allergies, *parsed.materials}
    states |= {*_stated_conditions(context)}
    met = any(f.against in states for f in findings)
    return [f for f in findings if f.against in states or not met]


def _stated_conditions(context: AnswerContext) -> tuple[str, ...]:
    """List the states of the person that no medicine implies."""
    facts, person = context.facts, context.parsed.person
    implied = {
        f.object
        for drug in person.drugs
        for broader in facts.above(drug)
        for f in facts.of(broader, SHIYI.judgedAs)
    }
    return tuple(s for s in person.states if s not in implied)


def _write_verdict(
    context: AnswerContext,
    case: Case,
    adding: Iterable[SharedEffects],
    part: Contribution,
    level: str,
    *,
    is_settled: bool,
) -> list[_Silent]:
    """Write what is recorded of one thing besides its verdict; return what nothing is known of."""
    met = {f.material for f in case.found}
    # ginkgo may be leaf or seed: the other is poisonous, which the line on the two tells
    aside = [
        m for m in case.senses if met and m not in met and _is_confused(context, m, case.senses)
    ]
    _poisons(context, [m for m in case.senses if m not in aside], part, level)
    for poison in (p for m in aside for p in context.safety.poisons(m)):
        part.warn(context, poison, is_stated=True)
    if not is_settled:
        _of_kin_only(context, case, part)
    possible = not case.is_barred and sum(_possible(context, m, part) for m in case.senses) > 0
    silent = _write_use_only(context, case, part, possible, adding, level)
    if not case.found:
        write_grave_note(context, case.materials[0], part)
    return silent


def _write_unrecorded(
    context: AnswerContext, silent: Sequence[_Silent], part: Contribution, level: str
) -> None:
    """State once of which pairs nothing is recorded; beside a verdict of medicines and people."""
    verbalizer, question = context.verbalizer, context.parsed
    own = (*question.drugs, *question.person.drugs, *question.populations)
    by_targets: dict[tuple[str, ...], list[str]] = {}
    for materials, targets in silent:
        name = name_of(context, materials)
        missing = verbalizer.verbalize("m_pair", x=name, y=verbalizer.names(targets))
        part.missing.append(missing)
        part.shown.add(missing)
        stated = tuple(t for t in targets if t in own) if level else targets
        if stated:
            by_targets.setdefault(stated, []).append(name)
    foods = set(question.materials)
    if any(w.severity == "contraindicated" for w in part.warnings) and not level:
        return  # it is poisonous, which says enough
    if len(by_targets) > 1 and all(foods.issuperset(target) for target in by_targets):
        names = verbalizer.names(group[0] for group in question.groups[:_CHECKED])
        part.opening.add(verbalizer.verbalize("v_none_together", x=names))
        return
    pairs = [
        verbalizer.verbalize("v_with", x=verbalizer.join(names), y=verbalizer.names(targets))
        for targets, names in by_targets.items()
    ]
    if pairs:
        text = join_names(verbalizer.language, pairs, verbalizer.verbalize("v_or"))
        whom = _ask_whom(context, part, level)  # what the last sentence says
        part.opening.add(verbalizer.verbalize("v_none_beside" if whom else "v_none", pairs=text))


def _is_prescribed(context: AnswerContext, part: Contribution) -> bool:
    """Return whether a note tells that doctors give a thing together with the medicine."""
    facts = [f for f in part.facts.values() if f.predicate in INTERACTION]
    return any(_CUES["given-together"].search(context.verbalizer.note(f)) for f in facts)


def _child_first(context: AnswerContext, part: Contribution) -> None:
    """Write first that a child with a fever, or a dehydrating infant, needs a doctor."""
    if context.parsed.is_feverish_child():
        section = Section("")
        section.add(context.verbalizer.verbalize(child_first(context.parsed)))
        part.opening.lines[:0] = section.lines


def _write_groups(context: AnswerContext, part: Contribution, *, beside: bool) -> None:
    """Write of groups of foods, and of constituents that nothing is recorded of."""
    states, verbalizer = context.parsed.states, context.verbalizer
    if not states:
        return
    if context.parsed.asked_groups(context.facts):
        part.extend(write_group(context))
    meant = set(context.parsed.materials)  # 碘 is a constituent, and a supplement of that name
    unheld = [
        m.iri
        for m in context.parsed.mentions
        if m.iri in context.parsed.others
        and context.facts.is_a(m.iri, *_UNHELD)
        and not meant.intersection(m.alternatives)
    ]
    states = context.parsed.drugs if beside else states
    if unheld and states:
        values = {"x": verbalizer.names(unheld), "y": verbalizer.names(states)}
        part.missing.append(verbalizer.verbalize("m_pair", **values))


def _write_implied(context: AnswerContext, stated: Iterable[Finding], part: Contribution) -> None:
    """Write from which medicine a condition was inferred: metformin implies diabetes."""
    question, met = context.parsed, {f.against for f in stated}
    named = {
        *question.ailments,
        *question.populations,
        *question.constitutions,
        *_stated_conditions(context),
    }
    met -= {near for iri in named for near in context.facts.above(iri)}
    for drug in question.person.drugs:
        for broader in context.facts.above(drug):
            for fact in context.facts.of(broader, SHIYI.judgedAs):
                if fact.object in met and (note := context.verbalizer.note(fact)):
                    met.discard(fact.object)
                    text = context.verbalizer.verbalize(
                        "f_judged", y=context.verbalizer.name(drug), note=note
                    )
                    part.section("h_compare").add(text, fact)


def _poisons(
    context: AnswerContext, materials: Iterable[str], part: Contribution, level: str
) -> None:
    """Write which things are toxic: with a verdict where none stands yet."""
    for poison in (p for m in materials for p in context.safety.poisons(m)):
        part.warn(context, poison, is_stated=True)
        if level or not context.parsed.wants("may"):
            part.opening.add(context.verbalizer.state_finding(poison), *poison.stated_claims)
        else:
            part.opening.add(write_toxic_verdict(context, poison), *poison.stated_claims)


def _is_confused(context: AnswerContext, material: str, others: Iterable[str]) -> bool:
    pairs = (f for iri in others for f in context.facts.between(material, iri))
    return any(f.predicate == SHIYI.confusedWith and f.positive for f in pairs)


def _write_use_only(
    context: AnswerContext,
    case: Case,
    part: Contribution,
    has_finding: bool,
    adding: Iterable[SharedEffects],
    level: str,
) -> list[_Silent]:
    """Write that only a use is recorded; return of what nothing is."""
    silent: list[str] = []
    level = level or ("care" if has_finding else "")
    aimed, beside = aims(context, case), bool(level)
    summed = {t for t in case.targets for effects in adding if effects.joins(case.materials, t)}
    for target in case.targets:
        good = tuple(f for m in case.materials for f in benefits(context, m, target))
        if good:
            write_use(context, good, target, part, level)
        elif not (
            case.findings_against(target)
            or target in aimed
            or target in summed
            or _is_diet(context, target)
            or _write_denial(context, case, target, part)
            or _write_composition(context, case, target, part)
        ):
            silent.append(target)
        if case.findings_against(target) or good:
            _write_denial(context, case, target, part)
    if aimed:
        write_symptoms(context, case, aimed, part, beside)
    if has_finding:  # the line on cold and heat speaks for the trouble, not for who has it
        silent = [t for t in silent if t not in context.parsed.ailments]
    silent = [t for t in silent if not any(list_rated(context, m, t) for m in case.materials)]
    if not silent:
        return []
    if not case.found:
        patterns_behind(context, case.materials, silent, part)
    return [(case.senses, tuple(silent))]


def _write_no_allergen(context: AnswerContext, cases: Iterable[Case], part: Contribution) -> None:
    """State once of which things nothing joins them with an allergy, which is no promise."""
    keys: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for case in cases:
        allergies = [a for a in context.parsed.person.allergies if a not in case.materials]
        if allergies and not any(f.against in allergies for f in case.found):
            key = "v_named_after" if _named_after(context, case.materials) else "v_no_allergen"
            keys.setdefault((key, tuple(allergies)), []).append(name_of(context, case.senses))
    for (key, results), names in keys.items():
        values = {"x": context.verbalizer.join(names), "y": context.verbalizer.names(results)}
        part.opening.add(context.verbalizer.verbalize(key, **values))


def _of_kin_only(context: AnswerContext, case: Case, part: Contribution) -> None:
    """Write that the record is of a relative: of the extract, where the leaf was asked about."""
    if not case.kin or any(f.material not in case.kin for f in case.found):
        return
    values = {
        "x": name_of(context, [m for m in case.materials if m not in case.kin]),
        "y": context.verbalizer.names(f.against for f in case.found),
        "z": context.verbalizer.names(case.kin),
    }
    part.opening.add(context.verbalizer.verbalize("v_kin", **values))


def _named_after(context: AnswerContext, materials: Iterable[str]) -> bool:
    """Return whether a thing bears the name of an allergen, and nothing says what it is made of."""
    question, text = context.parsed, context.parsed.question
    allergens = [fold(m.text) for m in question.mentions if m.iri in question.person.allergies]
    name_of = [
        fold(text[m.start : m.end])
        for m in question.mentions
        if m.iri in materials and not context.facts.of(m.iri, SHIYI.derivedFromOrganism)
    ]
    return any(
        name != known and (name in known if is_cjk(name[0]) else f" {name} " in f" {known} ")
        for known in name_of
        for name in allergens
    )


def _is_diet(context: AnswerContext, target: str) -> bool:
    """Return whether people are defined by what they leave out, with nothing else recorded."""
    person = context.facts.is_a(target, SHIYI.Population)
    return person and bool(context.facts.of(target, SHIYI.excludesFoodGroup))


def _write_denial(context: AnswerContext, case: Case, target: str, part: Contribution) -> bool:
    """State that a source found nothing against the two, with its note; return whether one did."""
    verbalizer = context.verbalizer
    facts = [f for m in case.materials for f in context.safety.denials(m, target)]
    if not facts:
        return False
    values = {"x": verbalizer.names(case.materials), "y": verbalizer.name(target)}
    place = part.section("h_compare") if case.found else part.opening
    text = verbalizer.add_note(verbalizer.verbalize("v_negative", **values), facts[0])
    place.add(text + verbalizer.sources(facts[:1]), *facts)
    return True


def _write_composition(context: AnswerContext, case: Case, target: str, part: Contribution) -> bool:
    """State that one is in the other, unless it is asked if both may be taken; return whether."""
    if context.parsed.wants("may") and not context.parsed.frame.has_cue("open-question"):
        return False
    lines = write_composition(context, case.materials, target)
    part.opening.lines += lines
    return bool(lines)


def _possible(context: AnswerContext, material: str, part: Contribution) -> bool:
    """Warn where the named trouble is, or may be, a pattern that the material does not suit."""
    differential = context.differential
    nature = differential.leaning or differential.likely
    if not (differential.is_undecided or nature):
        return False
    patterns = differential.of_nature(nature) if nature else differential.patterns
    reasons = context.safety.against_states(material, [p.iri for p in patterns])
    findings = [f for f in reasons if f.severity == "contraindicated"]
    if any(benefits(context, material, a) for a in context.parsed.ailments):
        return False  # it is recorded for the very complaint that was named
    effect, because = effect_of(context.facts, material)
    against = {"cold": "cooling", "hot": "warming"}.get(nature, effect)
    if not findings and (not effect or effect != against):
        return False
    key = f"b_held_{effect}" if effect and not nature else "b_held"
    if nature and effect == against:
        key = f"b_wrong_{nature}" if differential.leaning else f"b_likely_{nature}"
    first = "" if part.opening.lines else lead(context, "unfit" if nature else "care")
    values = {"x": context.verbalizer.name(material), "text": context.verbalizer.verbalize(key)}
    text = first + context.verbalizer.verbalize("v_held", **values)
    part.opening.add(finish(text, context.verbalizer.stop), *because[:2])
    for finding in findings[:2]:
        part.warn(context, finding, is_stated=True)
    if differential.is_undecided:
        question_texts(context, (*context.parsed.ailments, *(p.iri for p in patterns)), part)
        if not part.follow_up:
            part.follow_up.append(context.verbalizer.verbalize("q_cold_heat"))
    return True


def _write_closing(
    context: AnswerContext, part: Contribution, findings: Sequence[Finding], level: str
) -> None:
    """Write in a sentence or two what to watch, and whom to ask with what to say."""
    parsed, verbalizer = context.parsed, context.verbalizer
    states = (*parsed.states, *parsed.person.drugs, *parsed.person.states)
    if not (findings or part.warnings or any((states, parsed.person.allergies))):
        write_others(context, part)
    met = [f for f in findings if f.severity == "interaction"]
    notes = " ".join(context.verbalizer.note(f.fact) for f in met)
    watched = [] if _CUES["watch-told"].search(notes) else context.watch(*(f.against for f in met))
    texts = list(filter(None, (_ask_whom(context, part, level), *watched[:1])))
    if texts:
        part.section("h_doctor").add(verbalizer.space.join(texts))
    allergic = any(verdict_key(f) == "v_allergy" for f in findings)
    if allergic:
        write_red_flags(context, [resource("disease-food-allergy").value], part)
    elif level in BARRING or parsed.is_of_child():
        write_red_flags(context, parsed.ailments, part)
    known = parsed.person.drugs or parsed.frame.has_cue("no-medicines")
    if part.warnings and not known:
        part.follow_up.append(verbalizer.verbalize("q_drugs"))


def _ask_whom(context: AnswerContext, part: Contribution, level: str) -> str:
    """Return whom to ask, what to say there, and that a medicine is not to be stopped."""
    question, verbalizer = context.parsed, context.verbalizer
    # never advise anyone to go on drinking
    drugs = verbalizer.names(d for d in question.person.drugs if d != _ALCOHOL)
    if not part.warnings:
        return ""
    if _is_prescribed(context, part):
        return verbalizer.verbalize("v_ask_nutrient")
    if _is_prescription(context, part):
        return verbalizer.verbalize("s_prescriber")
    if drugs:
        key = "s_tell_taken" if level in BARRING else "s_tell_them" if level == "ask" else "s_tell"
        return verbalizer.verbalize(key, drugs=drugs)
    return "" if level in (*BARRING, "ask") else verbalizer.verbalize("v_ask_one")


def _is_prescription(context: AnswerContext, part: Contribution) -> bool:
    """Return whether the question is about a prescription of Chinese medicine."""
    formula = any(context.facts.is_a(m, SHIYI.Formula) for m in context.parsed.materials)
    foods = all(context.facts.is_a(m, SHIYI.Food) for m in context.parsed.materials)
    clash = not foods and any(f.predicate in INCOMPATIBLE for f in part.facts.values())
    return formula or clash or context.parsed.frame.has_cue("prescription")


_STATED: Final = (
    SHIYI.contraindicatedIn, SHIYI.cautionIn, SHIYI.hasAdverseReaction, SHIYI.hasAdverseEffectOn,
    SHIYI.isEffectiveFor,
)  # fmt: skip
_LONG_TERM_TEXTS: Final = (
    SHIYI.safetyNote, SHIYI.useRestriction, SHIYI.consumptionMethod, SHIYI.dietaryBenefit,
    SHIYI.primaryEffect,
)  # fmt: skip
_MOST_THINGS, _MOST_READ, _MOST_STATED = 4, 256, 3  # Shiyi's


def write_watch(context: AnswerContext) -> Contribution:
    """Write what is recorded to watch for with a pair that was had, without the verdict on it."""
    question, verbalizer = context.parsed, context.verbalizer
    part = write_compatibility(context)
    part = Contribution(warnings=part.warnings, facts=part.facts)
    part.shown = {warning.text for warning in part.warnings}
    name = verbalizer.names(group[0] for group in question.groups)
    key = "o_stopped" if question.frame.has_cue("stopped-now") else "o_cleared"
    known = kind_words(verbalizer.language, [EvidenceKind.RECALLED])
    part.opening.add(verbalizer.annotate(verbalizer.verbalize(key, x=name), known))
    facts = [part.facts[claim] for warning in part.warnings for claim in warning.claims]
    notes = {note: f for f in facts if (note := verbalizer.note(f))}
    for note, fact in list(notes.items())[:_MOST_WATCHED]:
        part.opening.add(capital(finish(note, verbalizer.stop), verbalizer.language), fact)
    met = [e for f in facts for e in (f.subject, f.object) if e not in question.drugs]
    ends = dict.fromkeys(met or question.materials)
    if harms := [f for e in ends for f in context.facts.of(e, SHIYI.hasAdverseReaction)][:8]:
        items = verbalizer.names(f.object for f in harms)
        part.opening.add(verbalizer.verbalize("o_watch", items=items), *harms)
    for text in (general := context.watch(*question.person.drugs)[:_MOST_WATCHED]):
        part.opening.add(text)
    key = "o_watch_end" if notes or harms or general else "o_watch_none"
    part.opening.add(verbalizer.verbalize(key, items=name))
    return part


_MOST_WATCHED: Final = 3


def write_long_term_use(context: AnswerContext, part: Contribution) -> None:
    """State before the rest what is recorded of taking each thing for long, or that nothing is."""
    question, verbalizer = context.parsed, context.verbalizer
    section, unrecorded = Section(""), list[str]()
    for group in question.groups[:_MOST_THINGS]:
        pieces = _long_term_pieces(context, group)
        if not pieces:
            unrecorded.append(group[0])
            continue
        section.item((verbalizer.verbalize("v_for_long"), ()), *pieces, (verbalizer.stop, ()))
        facts = section.lines[-1].facts
        text = section.lines[-1].text
        part.warnings.append(SafetyWarning("caution", text, tuple(f.claim for f in facts)))
        part.note(*facts)
        part.shown.add(text)
    if unrecorded:
        section.add(verbalizer.verbalize("v_for_long_none", x=verbalizer.names(unrecorded)))
    place = 1 if question.person.states or question.person.drugs else 0  # after the verdict
    part.opening.lines[place:place] = section.lines


def _long_term_pieces(context: AnswerContext, group: Iterable[str]) -> list[Piece]:
    """Write the notes on a thing, on what is sold of it and what it is made of, each once."""
    verbalizer, pieces, named = context.verbalizer, list[Piece](), ""
    notes = _notes(context, group)
    apart = verbalizer.verbalize("v_clause")
    for note, (thing, facts) in notes.items():
        if any(note != other and note in other for other in notes):
            continue
        if verbalizer.language == "en" and note[1:2].islower():
            note = note[0].lower() + note[1:]
        name = verbalizer.verbalize("w_noted", x=verbalizer.name(thing)) if thing != named else ""
        named = thing
        pieces.append(
            ((apart if pieces else "") + name + note + verbalizer.sources(facts[:1]), facts)
        )
    return pieces[:_MOST_STATED]


def _notes(context: AnswerContext, group: Iterable[str]) -> dict[str, tuple[str, tuple[Fact, ...]]]:
    facts, own = context.facts, tuple(group)
    near = [k for iri in own for k in facts.siblings(iri)]
    made_of = [f.object for iri in own for f in facts.of(iri, SHIYI.hasIngredient)]
    results: dict[str, tuple[str, tuple[Fact, ...]]] = {}
    for thing in dict.fromkeys((*own, *near, *made_of)):
        if len(results) < _MOST_STATED:
            for note, fact_texts in _list_notes(context, thing):
                results.setdefault(note.rstrip("。."), (thing, fact_texts))
    return results


def _list_notes(context: AnswerContext, thing: str) -> Iterator[tuple[str, tuple[Fact, ...]]]:
    facts, verbalizer = context.facts, context.verbalizer
    for fact in islice(facts.of(thing, *_STATED), _MOST_READ):
        note = _CUES["for-long-noted"].search(
            context.evidences.qualifier(fact.claim, "note_zh")
        ) and verbalizer.note(fact)
        if note:
            yield note, (fact,)
    for predicate in _LONG_TERM_TEXTS:
        for fact in facts.texts(thing, predicate, verbalizer.language):
            both = (facts.words(fact, "zh"), facts.words(fact, "en"))
            if any(_CUES["for-long-noted"].search(iri) for iri in both):
                yield verbalizer.words(fact), (fact,)
