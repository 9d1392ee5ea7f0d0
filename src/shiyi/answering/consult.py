"""May I take X with Y: every pair the question names is checked, and said in one line."""

from collections.abc import Iterable, Iterator
from typing import Final

from shiyi.answering.adding_up import Together, say_together, taken, together
from shiyi.answering.candidates import asked_groups
from shiyi.answering.consulted import Case, case_of
from shiyi.answering.cues import Intent, asks_difference, names_prescription
from shiyi.answering.draft import Piece, Section
from shiyi.answering.listing import is_met_by, of_group
from shiyi.answering.lookups import child_first, is_feverish_child, sheet
from shiyi.answering.parts import Desk, Part, question_texts, red_flags
from shiyi.answering.phrases import capital
from shiyi.answering.roles import INCOMPATIBLE
from shiyi.answering.safety import Finding
from shiyi.answering.thermal import effect_of
from shiyi.answering.unopposed import (
    aims,
    benefits,
    by_effect,
    called,
    end_of,
    patterns_behind,
    should_it_apply,
    told_apart,
    used,
)
from shiyi.answering.verdicts import NOT_EATEN, verdict_of, verdicts
from shiyi.answering.voice import closed
from shiyi.linking.normalise import fold, is_cjk
from shiyi.model.names import resource
from shiyi.ontology.terms import SHIYI

_UNHELD: Final = (SHIYI.ChemicalEntity, SHIYI.TherapeuticClass)  # no source warns of them as such
_ALCOHOL: Final = resource("drug-ethanol").value
_MOST, _DESCRIBED, _CHECKED = 12, 4, 16  # things described, and all that are checked


def consult(desk: Desk) -> Part:
    """Write the verdict on each pair, its grounds, and what stays unknown."""
    part, alone = Part(), list[str]()
    apart = asks_difference(desk.reading.question) and not desk.reading.person.drugs
    adding = () if apart else together(desk.safety, taken(desk.reading))
    cases = [case_of(desk, group) for group in desk.reading.groups[:_CHECKED]]
    for place, case in enumerate(cases):
        if place >= _DESCRIBED and not case.found:
            _unrecorded(desk, case, part)
        elif apart and not case.found:
            _poisons(desk, case.named, part)
            alone.append(case.named[0])
        else:
            _described(desk, case, adding, part)
    every = [finding for case in cases for finding in case.found]
    say_together(desk, adding, part)
    told_apart(desk, part)
    _beside(desk, part)
    _implied(desk, every, part)
    if rest := desk.reading.groups[_CHECKED:]:
        names = desk.voice.names(group[0] for group in rest[:_MOST])
        part.opening.add(desk.voice.say("m_unchecked", x=names))
    if alone:
        part.take(sheet(desk, alone))
    part.opening.lines.sort(key=lambda line: not line.facts)  # what is recorded comes first
    kept = [f for f in every if verdict_of(f) in NOT_EATEN]
    if kept:
        _kept_from(desk, kept, part)
    _child_first(desk, part)
    if part.warnings and (len(kept) < len(every) or not every):
        _ask_whom(desk, part)
    if desk.reading.wants(Intent.DOSE):
        part.section("h_caution").add(desk.voice.say("s_dose"))
    if not part.opening.lines:
        names = desk.voice.names(desk.reading.materials)
        part.opening.add(desk.voice.say("o_sheet", items=names))
    _closing(desk, part)
    return part


def _described(desk: Desk, case: Case, adding: Iterable[Together], part: Part) -> None:
    """Say of one thing what it does with all that was named, on what grounds, and what is unknown."""
    met = {f.material for f in case.found}
    # ginkgo may be its leaf or its seed: what meets the medicine is told before the other's poison
    aside = [m for m in case.named[1:] if met and m not in met]
    _poisons(desk, [m for m in case.named if m not in aside], part)
    verdicts(desk, case.found, part)
    _of_kin_only(desk, case, part)
    held = not case.barred and sum(_possible(desk, m, part) for m in case.named) > 0
    _poisons(desk, aside, part)
    _unspoken(desk, case, part, held, adding)
    _no_allergen(desk, case, part)
    _grounds(desk, case, part)
    _identity(desk, case, part)


def _ask_whom(desk: Desk, part: Part) -> None:
    """Say whom to ask first: who prescribed, or a doctor or pharmacist, of one thing or of several."""
    reading = desk.reading
    pair = any(f.predicate in INCOMPATIBLE for f in part.facts.values())
    several = reading.drugs or reading.person.drugs or len(reading.groups) > 1
    part.opening.add(
        desk.voice.say("v_ask_prescriber" if pair else "v_ask" if several else "v_ask_one")
    )


def _child_first(desk: Desk, part: Part) -> None:
    """Say before all else that a child with a fever, or an infant that loses water, needs a doctor."""
    if is_feverish_child(desk.reading):
        said = Section("")
        said.add(desk.voice.say(child_first(desk.reading)))
        part.opening.lines[:0] = said.lines


def _unrecorded(desk: Desk, case: Case, part: Part) -> None:
    """Say in a word that nothing is held of one of many things; poisons are told all the same."""
    _poisons(desk, case.materials, part)
    values = {"x": called(desk, case.materials), "y": desk.voice.names(case.targets)}
    part.missing.append(desk.voice.say("m_pair", **values))


def _beside(desk: Desk, part: Part) -> None:
    """Speak of what is named beside foods: groups of them, and constituents nothing is held of."""
    states, voice = is_met_by(desk.reading), desk.voice
    if not states:
        return
    if asked_groups(desk.reading, desk.facts):
        part.take(of_group(desk))
    meant = set(desk.reading.materials)  # 碘 is a constituent, and a supplement of that name
    unheld = [
        m.iri for m in desk.reading.mentions
        if m.iri in desk.reading.others and desk.facts.is_a(m.iri, *_UNHELD)
        and not meant.intersection(m.alternatives)
    ]  # fmt: skip
    if unheld:
        part.missing.append(voice.say("m_pair", x=voice.names(unheld), y=voice.names(states)))


def _implied(desk: Desk, every: Iterable[Finding], part: Part) -> None:
    """Say which medicine a state was read from that nobody named: metformin is for diabetes."""
    reading, met = desk.reading, {f.against for f in every}
    met -= {*reading.ailments, *reading.populations, *reading.constitutions}
    for drug in reading.person.drugs:
        for near in desk.facts.above(drug):
            for fact in desk.facts.of(near, SHIYI.judgedAs):
                if fact.object in met and (note := desk.voice.note(fact)):
                    said = desk.voice.say("f_judged", y=desk.voice.name(drug), note=note)
                    part.section("h_compare").add(said, fact)


def _kept_from(desk: Desk, kept: Iterable[Finding], part: Part) -> None:
    """Say to read labels, and with an allergy which signs need a doctor at once."""
    part.section("h_caution").add(desk.voice.say("s_labels"))
    if any(verdict_of(f) == "v_allergy" for f in kept):
        red_flags(desk, [resource("disease-food-allergy").value], part)


def _poisons(desk: Desk, materials: Iterable[str], part: Part) -> None:
    for poison in (p for m in materials for p in desk.safety.poisons(m)):
        part.warn(desk, poison, told=True)
        part.opening.add(desk.voice.finding(poison), *poison.stated)


def _unspoken(desk: Desk, case: Case, part: Part, held: bool, adding: Iterable[Together]) -> None:
    """Say where only a use is recorded, or nothing at all."""
    voice = desk.voice
    silent: list[str] = []
    aimed, beside = aims(desk, case), held or bool(case.found)
    summed = {t for t in case.targets for each in adding if each.joins(case.materials, t)}
    for target in case.targets:
        good = tuple(f for m in case.materials for f in benefits(desk, m, target))
        if good:
            used(desk, good, target, part, beside)
        elif not (
            case.met(target) or target in aimed or target in summed or _is_diet(desk, target)
            or _denied(desk, case, target, part)
        ):  # fmt: skip
            silent.append(target)
        if case.met(target) or good:
            _denied(desk, case, target, part)
    if aimed:
        by_effect(desk, case, aimed, part, beside)
    if held:  # the line on cold and heat speaks for the trouble, not for who has it
        told = [t for t in silent if t in desk.reading.ailments]
        part.told |= {
            voice.say("m_pair", x=called(desk, case.materials), y=voice.name(t)) for t in told
        }
        silent = [t for t in silent if t not in told]
    if silent:
        values = {"x": called(desk, case.materials), "y": voice.names(silent)}
        missing = voice.say("m_pair", **values)
        if not any(f.against in case.targets for f in case.found):
            part.opening.add(voice.say("v_none", **values))
            part.told.add(missing)
            patterns_behind(desk, case.materials, silent, part)
        part.missing.append(missing)


def _no_allergen(desk: Desk, case: Case, part: Part) -> None:
    """Say that nothing joins a thing with an allergy, which is no promise."""
    allergies = [a for a in desk.reading.person.allergies if a not in case.materials]
    if allergies and not any(f.against in allergies for f in case.found):
        values = {"x": called(desk, case.materials), "y": desk.voice.names(allergies)}
        key = "v_named_after" if _named_after(desk, case.materials) else "v_no_allergen"
        part.opening.add(desk.voice.say(key, **values))


def _of_kin_only(desk: Desk, case: Case, part: Part) -> None:
    """Say that what is told is told of a relative: of an extract, where the leaf was asked about."""
    if not case.kin or any(f.material not in case.kin for f in case.found):
        return
    values = {
        "x": called(desk, [m for m in case.materials if m not in case.kin]),
        "y": desk.voice.names(f.against for f in case.found), "z": desk.voice.names(case.kin),
    }  # fmt: skip
    part.opening.add(desk.voice.say("v_kin", **values))


def _named_after(desk: Desk, materials: Iterable[str]) -> bool:
    """Tell whether a thing bears the name of an allergen, and nothing says what it is made of."""
    reading, text = desk.reading, desk.reading.question
    allergens = [fold(m.text) for m in reading.mentions if m.iri in reading.person.allergies]
    called = [
        fold(text[m.start : m.end]) for m in reading.mentions
        if m.iri in materials and not desk.facts.of(m.iri, SHIYI.derivedFromOrganism)
    ]  # fmt: skip
    return any(
        name != known and (name in known if is_cjk(name[0]) else f" {name} " in f" {known} ")
        for known in called for name in allergens
    )  # fmt: skip


def _is_diet(desk: Desk, target: str) -> bool:
    """Tell whether people are told by what they leave out: nothing else is recorded of them."""
    person = desk.facts.is_a(target, SHIYI.Population)
    return person and bool(desk.facts.of(target, SHIYI.excludesFoodGroup))


def _denied(desk: Desk, case: Case, target: str, part: Part) -> bool:
    """Say that a source found nothing against the two, with its note; tell whether one did."""
    voice = desk.voice
    denied = [f for m in case.materials for f in desk.safety.denials(m, target)]
    if not denied:
        return False
    values = {"x": voice.names(case.materials), "y": voice.name(target)}
    place = part.section("h_compare") if case.found else part.opening
    space = "" if voice.language == "zh" else " "
    note = voice.note(denied[0])
    told = space + capital(closed(note, end_of(desk)), voice.language) if note else ""
    said = voice.say("v_negative", **values) + told + voice.sources(denied[:1])
    place.add(said, *denied)
    return True


def _grounds(desk: Desk, case: Case, part: Part) -> None:
    """Write one line for each thing met: who says so, and why; near-identical ones together."""
    for target in dict.fromkeys(f.against for f in case.found):
        found = case.met(target)
        for each in found:
            part.warn(desk, each, told=True)
            part.paths += [f.path(f.subject) for f in each.stated[:1]]
        if len(part.section("h_compare").lines) < _MOST:
            part.section("h_compare").item(*_line(desk, found))


def _line(desk: Desk, found: tuple[Finding, ...]) -> list[Piece]:
    """Say what is recorded of some like materials with one thing, with notes that differ."""
    voice = desk.voice
    if len(found) == 1 or not all(f.facts for f in found):
        return [(voice.finding(found[0]), found[0].stated)]
    space, end = ("", "。") if voice.language == "zh" else (" ", ".")
    pieces: list[Piece] = []
    notes: dict[str, None] = {}
    for each in _each_once(found):
        text = closed(voice.warned(each), end)
        note = voice.note(each.fact)
        if note and note not in notes:
            notes[note] = None
            text += space + capital(closed(note, end), voice.language)
        for why in voice.judged(each):
            if why not in notes:
                notes[why] = None
                text += space + why
        before = space if pieces else ""
        pieces.append((before + capital(text, voice.language), each.stated))
    return pieces


def _each_once(found: Iterable[Finding]) -> Iterator[Finding]:
    """Leave out what rests on the same claims, found through another thing of one name."""
    told = set[tuple[str, ...]]()
    for each in found:
        if each.claims not in told:
            told.add(each.claims)
            yield each


def _possible(desk: Desk, material: str, part: Part) -> bool:
    """Warn where the named trouble is, or may be, a pattern that the material does not suit."""
    differential = desk.differential
    nature = differential.leaning or differential.likely
    if not (differential.undecided or nature):
        return False
    patterns = differential.of_nature(nature) if nature else differential.patterns
    reasons = desk.safety.against_states(material, [p.iri for p in patterns])
    found = [f for f in reasons if f.severity == "contraindicated"]
    if any(desk.facts.is_a(a, SHIYI.Syndrome) and benefits(desk, material, a)
           for a in desk.reading.ailments):  # fmt: skip
        return False  # it is recorded for the very pattern that was named
    effect, because = effect_of(desk.facts, material)
    against = {"cold": "cooling", "hot": "warming"}.get(nature, effect)
    if not found and (not effect or effect != against):
        return False
    key = f"b_held_{effect}" if effect and not nature else "b_held"
    if nature and effect == against:
        key = f"b_wrong_{nature}" if differential.leaning else f"b_likely_{nature}"
    text = desk.voice.say("w_name", x=desk.voice.name(material)) + desk.voice.say(key)
    part.opening.add(closed(text, end_of(desk)), *because[:2])
    for each in found[:2]:
        part.section("h_compare").add(desk.voice.finding(each), *each.stated)
        part.warn(desk, each, told=True)
    if differential.undecided:
        question_texts(desk, (*desk.reading.ailments, *(p.iri for p in patterns)), part)
        if not part.follow_up:
            part.follow_up.append(desk.voice.say("q_cold_heat"))
    return True


def _identity(desk: Desk, case: Case, part: Part) -> None:
    """Name what the material is mistaken for, and what is noted about its use in general."""
    voice, section = desk.voice, part.section("h_caution")
    if desk.reading.wants(Intent.PROPERTY):
        for material in case.materials[:2]:
            text, facts = voice.profile(material)
            if text:
                part.section("h_facts").add(closed(text, end_of(desk)), *facts)
    if not (case.found or part.warnings):
        should_it_apply(desk, case.materials[0], part)
    noted = [m for m in case.materials if any(f.material == m for f in case.found)]
    for material in (noted or case.materials)[:1]:
        for told in desk.facts.told(material, SHIYI.safetyNote, voice.language)[:1]:
            text = voice.say("p_text", label=voice.name(material), text=told[0].object)
            section.add(closed(text, end_of(desk)), *told)


def _closing(desk: Desk, part: Part) -> None:
    reading, voice = desk.reading, desk.voice
    section = part.section("h_doctor")
    drugs = [d for d in reading.person.drugs if d != _ALCOHOL]  # nobody is told to go on drinking
    watch = "" if voice.language == "zh" else " "
    said = watch.join(desk.watch(*reading.person.drugs, *reading.person.states)[:2])
    if said:
        section.add(said)
    if drugs:
        warned = {f.subject for f in part.facts.values()} | {f.object for f in part.facts.values()}
        items = [next((m for m in g if m in warned), g[0]) for g in reading.groups]
        names = {"drugs": voice.names(drugs), "items": voice.names(items)}
        section.add(voice.say("s_tell", **names))
    if _prescribed(desk, part):
        section.add(voice.say("s_prescriber"))
    red_flags(desk, reading.ailments, part)
    if not reading.person.drugs and part.warnings:
        part.follow_up.append(voice.say("q_drugs"))


def _prescribed(desk: Desk, part: Part) -> bool:
    """Tell whether the question is about a prescription of Chinese medicine."""
    formula = any(desk.facts.is_a(m, SHIYI.Formula) for m in desk.reading.materials)
    clash = any(f.predicate in INCOMPATIBLE for f in part.facts.values())
    return formula or clash or names_prescription(desk.reading.question)
