"""Where nothing speaks against a pair: uses on record, patterns behind, what is mistaken for what."""

import itertools
from collections.abc import Iterable, Mapping

from shiyi.answering.advice import joined
from shiyi.answering.cautions import caution_pieces
from shiyi.answering.consulted import Case
from shiyi.answering.cues import asks_difference
from shiyi.answering.draft import Line, Piece
from shiyi.answering.facts import Fact
from shiyi.answering.lookups import is_feverish_child
from shiyi.answering.parts import Desk, Part
from shiyi.answering.phrases import RATED, RATINGS, capital
from shiyi.answering.roles import BENEFIT, MATERIAL
from shiyi.answering.voice import closed
from shiyi.ontology.terms import SHIYI

_MOST_COMPARED, _MOST_CONFUSED = 12, 2


def benefits(desk: Desk, material: str, target: str) -> tuple[Fact, ...]:
    """List the uses of a material for a target that a source supports."""
    return tuple(
        f for f in desk.facts.between(material, target)
        if f.predicate in BENEFIT and f.positive and not f.derived
        and desk.evidences.supports(f.claim)
    )  # fmt: skip


def called(desk: Desk, materials: Iterable[str]) -> str:
    """Name the materials that one name may mean, without groups that stand above another of them."""
    every = list(materials)
    groups = {above for each in every for above in desk.facts.above(each)[1:]}
    return desk.voice.names([each for each in every if each not in groups] or every)


def used(desk: Desk, good: tuple[Fact, ...], target: str, part: Part, beside: bool) -> None:
    """Say that a use is recorded; ``beside`` a warning it is no headline."""
    voice, y = desk.voice, desk.voice.name(target)
    x = voice.names(f.other(target) for f in good)
    if beside:
        part.section("h_compare").add(voice.say("v_mixed", x=x, y=y), *good[:2])
    else:
        part.opening.add(_use_of(desk, good, x, y), *good[:2])
    part.paths += [f.path(f.subject) for f in good]


def aims(desk: Desk, case: Case) -> dict[str, list[Fact]]:
    """List for each symptom the efficacies that are for it, or for a broader one, and what says so.

    There is none where a use of the thing or a harm is recorded, or the thing is not to be taken.
    """
    found: dict[str, list[Fact]] = {}
    if case.barred or is_feverish_child(desk.reading):
        return found
    for target in case.targets:
        near = desk.facts.above(target)
        if not case.met(target) and not any(benefits(desk, m, target) for m in case.materials):
            pairs = (
                (has, aim) for m in case.materials for has in desk.facts.of(m, SHIYI.hasEfficacy)
                for aim in desk.facts.of(has.object, SHIYI.directedAt) if aim.object in near
            )  # fmt: skip
            if facts := [each for pair in pairs for each in pair]:
                found[target] = facts
    return found


def by_effect(
    desk: Desk, case: Case, aimed: Mapping[str, list[Fact]], part: Part, beside: bool
) -> None:
    """Say that efficacies are for some symptoms, and no more; ``beside`` it is no headline."""
    voice, facts = desk.voice, [f for found in aimed.values() for f in found]
    has = [f for f in facts if f.predicate == SHIYI.hasEfficacy]
    said = voice.say(
        "v_effect", x=voice.names(f.subject for f in has), y=voice.names(aimed),
        effects=voice.quoted(dict.fromkeys(voice.name(f.object) for f in has)),
        signs=voice.names(f.object for f in facts if f not in has),
    )  # fmt: skip
    place = part.section("h_compare") if beside else part.opening
    place.add(said, *facts)
    if not beside:
        patterns_behind(desk, case.materials, aimed, part)


def _use_of(desk: Desk, facts: tuple[Fact, ...], x: str, y: str) -> str:
    """Say that a use is recorded, and how far a source trusts it."""
    voice, words = desk.voice, RATINGS if desk.voice.language == "zh" else RATED
    rated = (desk.evidences.rating(f.claim) for f in facts
             if f.predicate == SHIYI.isEffectiveFor)  # fmt: skip
    if rating := next((r for r in rated if r), ""):
        return voice.say("v_rated", x=x, y=y, rating=words.get(rating, rating))
    sold = all(desk.facts.is_a(f.subject, SHIYI.DSIngredient) for f in facts)
    return voice.say("v_listed" if sold else "v_good", x=x, y=y)


def patterns_behind(
    desk: Desk, materials: tuple[str, ...], targets: Iterable[str], part: Part
) -> None:
    """Say what is recorded of the pattern behind a disease, and of the thing itself."""
    voice, end = desk.voice, end_of(desk)
    for disease in targets:
        for link in desk.facts.of(disease, SHIYI.hasSyndrome):
            fits = [f for m in materials for f in benefits(desk, m, link.object)]
            against = [f for m in materials
                       for f in desk.safety.against_states(m, [link.object])]  # fmt: skip
            if fits and not against:
                values = {"x": called(desk, materials), "y": voice.the(disease)}
                said = voice.say("v_via", state=voice.the(link.object), **values)
                part.section("h_compare").add(capital(said, voice.language), link, fits[0])
                break
    beside = [each for each in targets if desk.facts.is_a(each, *MATERIAL)]
    for material in (*materials[:1], *beside):
        text, facts = voice.profile(material)
        if text:
            part.section("h_facts").add(closed(text, end), *facts)


def should_it_apply(desk: Desk, material: str, part: Part) -> None:
    """Say in one line what is recorded against a thing for others, where nothing is for the asker."""
    if pieces := caution_pieces(desk, desk.safety.conditional(material), 4):
        name: Piece = (desk.voice.say("w_name", x=desk.voice.name(material)), ())
        part.section("h_caution").item(*joined(desk, [name, *pieces]))


def told_apart(desk: Desk, part: Part) -> None:
    """Name what is mistaken for what; first, where it is asked whether they are the same."""
    first = asks_difference(desk.reading.question)
    place = part.opening if first else part.section("h_caution")
    found: list[Line] = []
    for one, other in itertools.combinations(desk.reading.materials[:_MOST_COMPARED], 2):
        for fact in desk.facts.between(one, other):
            if fact.predicate == SHIYI.confusedWith and fact.positive:
                names = {"x": desk.voice.name(fact.subject), "y": desk.voice.name(fact.object)}
                text = _noted(desk, desk.voice.say("f_confused", **names), fact)
                found.append(Line(((text, (fact,)),), 1))
    place.lines[:0] = found[:_MOST_CONFUSED]


def _noted(desk: Desk, text: str, fact: Fact) -> str:
    note = desk.voice.note(fact)
    if not note:
        return text
    space = "" if desk.voice.language == "zh" else " "
    return text + space + capital(closed(note, end_of(desk)), desk.voice.language)


def end_of(desk: Desk) -> str:
    """Give the full stop of the answer's language."""
    return "。" if desk.voice.language == "zh" else "."
