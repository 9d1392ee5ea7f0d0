"""Where nothing speaks against a pair: uses on record, patterns behind, what is mistaken for what."""

import itertools
from collections.abc import Iterable

from shiyi.answering.advice import joined
from shiyi.answering.cautions import caution_pieces
from shiyi.answering.cues import asks_difference
from shiyi.answering.draft import Line, Piece
from shiyi.answering.facts import Fact
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


def use_of(desk: Desk, facts: tuple[Fact, ...], x: str, y: str) -> str:
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
