"""May I take X with Y: every pair the question names, checked one by one."""

from collections.abc import Iterable
from typing import Final

from shiyi.answering.advice import if_applies
from shiyi.answering.facts import Fact
from shiyi.answering.parts import Desk, Part, question_texts, red_flags
from shiyi.answering.reading import Person
from shiyi.answering.roles import BENEFIT
from shiyi.answering.safety import Finding
from shiyi.answering.thermal import effect_of
from shiyi.ontology.terms import SHIYI

_VERDICT: Final = {"contraindicated": "v_contra", "interaction": "v_inter", "caution": "v_caution"}
_MOST = 8


def consult(desk: Desk) -> Part:
    """Write the verdict on each pair, its grounds, and what stays unknown."""
    part, reading = Part(), desk.reading
    for material in reading.materials[:_MOST]:
        beside = [m for m in reading.materials if m != material]
        found = desk.safety.check(material, reading.person, beside)
        held = _possible(desk, material, part)
        for target in _targets(desk, material):
            met = [f for f in found if f.against == target]
            _pair(desk, material, target, met, part, held and target in reading.ailments)
        _rest(desk, found, material, part)
        _identity(desk, material, part)
    part.opening.lines.sort(key=lambda line: not line.facts)  # what is recorded comes first
    if not part.opening.lines:
        names = desk.voice.names(reading.materials)
        part.opening.add(desk.voice.say("o_sheet", items=names))
    _closing(desk, part)
    return part


def _targets(desk: Desk, material: str) -> list[str]:
    reading = desk.reading
    mine = reading.materials.index(material)
    others = list(reading.materials[mine + 1 :])
    states = [*reading.ailments, *reading.constitutions, *reading.populations]
    named = [*reading.drugs, *states]
    if named:  # two foods of one question are compared where a source speaks of them
        others = [o for o in others if desk.safety.check(material, Person(), [o])]
    return [t for t in (*named, *others) if t != material][:_MOST]


def _pair(
    desk: Desk, material: str, target: str, found: list[Finding], part: Part, held: bool
) -> None:
    voice = desk.voice
    names = {"x": voice.name(material), "y": voice.name(target)}
    good = _benefits(desk, material, target)
    section = part.section("h_compare")
    if found:
        worst = found[0]
        part.opening.add(voice.say(_VERDICT[worst.severity], **names), *worst.facts)
        for each in found:
            section.add(voice.finding(each), *each.facts)
            part.warn(desk, each)
            part.paths += [f.path(f.subject) for f in each.facts if not f.derived][:1]
        if good:
            section.add(voice.say("v_mixed", **names), *good)
    elif good and not held:
        part.opening.add(voice.say("v_good", **names), *good)
        part.paths += [f.path(f.subject) for f in good]
    else:
        if not held:
            part.opening.add(voice.say("v_none", **names))
        part.missing.append(voice.say("m_pair", **names))
    denied = desk.safety.denials(material, target)
    if denied:
        section.add(voice.say("v_negative", **names), *denied)


def _benefits(desk: Desk, material: str, target: str) -> tuple[Fact, ...]:
    return tuple(
        f for f in desk.facts.between(material, target)
        if f.predicate in BENEFIT and f.positive and not f.derived
    )  # fmt: skip


def _rest(desk: Desk, found: Iterable[Finding], material: str, part: Part) -> None:
    """Report what the profile adds beyond what the question names."""
    section = part.section("h_compare")
    targets = _targets(desk, material)
    known = {*desk.reading.materials, *targets}
    for each in found:
        if each.against not in known:
            names = {"x": desk.voice.name(material), "y": desk.voice.name(each.against)}
            part.opening.add(desk.voice.say(_VERDICT[each.severity], **names), *each.facts)
            section.add(desk.voice.finding(each), *each.facts)
            part.warn(desk, each)


def _possible(desk: Desk, material: str, part: Part) -> bool:
    """Warn where the named trouble may be a pattern in which the material is forbidden."""
    if not desk.differential.undecided:
        return False
    patterns = [p.iri for p in desk.differential.patterns]
    reasons = desk.safety.against_states(material, patterns)
    found = [f for f in reasons if f.severity == "contraindicated"]
    effect, because = effect_of(desk.facts, material)
    if not found and not effect:
        return False
    key = f"b_held_{effect}" if effect else "b_held"
    part.opening.add(desk.voice.say(key, x=desk.voice.name(material)), *because[:2])
    for each in found[:2]:
        part.section("h_compare").add(desk.voice.finding(each), *each.facts)
        part.warn(desk, each)
    question_texts(desk, (*desk.reading.ailments, *patterns), part)
    if not part.follow_up:
        part.follow_up.append(desk.voice.say("q_cold_heat"))
    return True


def _identity(desk: Desk, material: str, part: Part) -> None:
    """Name what the material is, what else it must not meet, and what it is mistaken for."""
    voice = desk.voice
    told = {f.subject for f in part.facts.values()} | {f.object for f in part.facts.values()}
    parts = [f.object for f in desk.facts.of(material, SHIYI.hasIngredient) if f.object in told]
    for stuff in (material, *parts[:2]):
        text, facts = voice.profile(stuff)
        if text:
            part.section("h_facts").add(text, *facts)
    both = (
        *desk.facts.of(material, SHIYI.confusedWith), *desk.facts.into(material, SHIYI.confusedWith),
    )  # fmt: skip
    for fact in both[:3]:
        names = {"x": voice.name(material), "y": voice.name(fact.other(material))}
        note = voice.note(fact)
        space = "" if voice.language == "zh" else " "
        said = voice.say("f_confused", **names) + (space + note if note else "")
        part.section("h_caution").add(said, fact)
    for predicate in (SHIYI.safetyNote, SHIYI.useRestriction):
        for fact in desk.facts.texts(material, predicate, voice.language)[:1]:
            said = voice.say("p_text", label=voice.name(material), text=fact.object)
            part.section("h_caution").add(said, fact)
    met = {*desk.reading.person.states, *desk.reading.drugs, *desk.reading.materials}
    for each in [f for f in desk.safety.conditional(material) if f.against not in met][:4]:
        part.section("h_caution").add(if_applies(voice, each), *each.facts)


def _closing(desk: Desk, part: Part) -> None:
    reading, voice = desk.reading, desk.voice
    section = part.section("h_doctor")
    drugs = reading.person.drugs
    for text in desk.watch(*drugs, *reading.person.states):
        section.add(text)
    if drugs:
        names = {"drugs": voice.names(drugs), "items": voice.names(reading.materials)}
        section.add(voice.say("s_tell", **names))
    if _has_pair(part, desk):
        section.add(voice.say("s_prescriber"))
    red_flags(desk, reading.ailments, part)
    if not drugs and part.warnings:
        part.follow_up.append(voice.say("q_drugs"))


def _has_pair(part: Part, desk: Desk) -> bool:
    clashes = {SHIYI.opposes, SHIYI.fears, SHIYI.incompatibleWith}
    herbs = any(desk.facts.is_a(m, SHIYI.Herb, SHIYI.Formula) for m in desk.reading.materials)
    return herbs or any(f.predicate in clashes for f in part.facts.values())
