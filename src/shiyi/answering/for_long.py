"""Every day, or for long: what notes on claims say of that, where a question asks it."""

import re
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Final

from shiyi.answering.clauses import clause_at, in_place
from shiyi.answering.draft import Piece, Section
from shiyi.answering.facts import Fact
from shiyi.answering.parts import Desk, Part
from shiyi.answering.reading import Reading
from shiyi.answering.wanted import wants_advice
from shiyi.model.answer import SafetyWarning
from shiyi.ontology.terms import SHIYI

_EATEN: Final = "[吃喝服用泡饮嚼食补]"
_ASKED: Final = re.compile(
    rf"(?:天天|每天|每日|日日|顿顿|长期|长时间)[^，,。；;？?！!]{{0,8}}?(?:{_EATEN}|[一两几][杯碗片粒勺颗个])"
    rf"|(?:经常|一直|常年|连续|连着|坚持)(?:地|都|这么|在)?{_EATEN}"
    rf"|{_EATEN}(?:太久|很久|久了|几个月|半年|[一两几]年|一辈子)|久[服用吃喝饮食]|常[服吃喝饮]|当[水茶][喝饮]"
    rf"|{_EATEN}多久(?!.{{0,3}}(?:见效|有效|起效|好转))"
    r"|\b(?:every ?day|daily|each day|every (?:morning|night|evening)|long[- ]term|regularly|indefinitely"
    r"|all the time|for (?:a )?long(?: time)?|for (?:(?:\w+ )?(?:weeks|months|years)|ever|good)"
    r"|how long(?![^.?!]*\b(?:wait|apart|between|before|after)\b))\b",
    re.IGNORECASE,
)
# in the Chinese note, which every claim of ours has, or in a text; what is boiled long is not meant
_NOTED: Final = re.compile(
    rf"(?<!非)长期|(?:长时间|持续){_EATEN}|久[服用吃喝饮食]|常[服吃喝食]|[吃喝服用]久|成瘾|依赖(?!性?(?:凝血|因子|蛋白))"
    r"|long[- ]term|long(?:er)? use|for long\b|prolonged|dependence",
    re.IGNORECASE,
)
_SAID: Final = (
    SHIYI.contraindicatedIn, SHIYI.cautionIn, SHIYI.hasAdverseReaction, SHIYI.hasAdverseEffectOn,
    SHIYI.isEffectiveFor,
)  # fmt: skip
_TEXTS: Final = (
    SHIYI.safetyNote, SHIYI.useRestriction, SHIYI.consumptionMethod, SHIYI.dietaryBenefit,
    SHIYI.primaryEffect,
)  # fmt: skip
_MOST_THINGS, _MOST_READ, _MOST_SAID = 4, 256, 3  # ours


def asks_for_long(reading: Reading) -> bool:
    """Tell whether it is asked if something may be taken every day or for long.

    The word belongs to the next thing, trouble or medicine that its clause names, or to the last
    one before it: "I take warfarin every day" asks nothing of the kind.
    """
    theirs = {*reading.drugs, *reading.ailments} - {*reading.materials}
    named = [m for m in reading.mentions if m.iri in theirs or m.iri in reading.materials]
    text = in_place(reading.question)
    for found in _ASKED.finditer(text):
        first, last = clause_at(text, found.start())
        clause = [m for m in named if first <= m.start < max(last, found.end())]
        before = [m for m in reversed(clause) if m.start < found.start()]
        after = [m for m in clause if m.start >= found.start()]
        near = [*before, *after] if reading.language == "en" else [*after, *before]
        if not near or near[0].iri not in theirs:
            return True
    return False


def say_for_long(desk: Desk, part: Part) -> None:
    """Say before the rest what is recorded of taking each thing for long, or that nothing is."""
    reading, voice = desk.reading, desk.voice
    if not reading.materials or wants_advice(reading) or not asks_for_long(reading):
        return
    said, unsaid = Section(""), list[str]()
    for group in reading.groups[:_MOST_THINGS]:
        pieces = _pieces(desk, group)
        if not pieces:
            unsaid.append(group[0])
            continue
        said.item(
            (voice.say("v_for_long"), ()), *pieces, ("。" if voice.language == "zh" else ".", ())
        )
        facts = said.lines[-1].facts
        text = said.lines[-1].text
        part.warnings.append(SafetyWarning("caution", text, tuple(f.claim for f in facts)))
        part.note(*facts)
        part.told.add(text)
    if unsaid:
        said.add(voice.say("v_for_long_none", x=voice.names(unsaid)))
    place = 1 if reading.person.states or reading.person.drugs else 0  # after the verdict
    part.opening.lines[place:place] = said.lines


def _pieces(desk: Desk, group: Iterable[str]) -> list[Piece]:
    """Write the notes on a thing, on what is sold of it and what it is made of, each once."""
    voice, pieces, named = desk.voice, list[Piece](), ""
    notes = _notes(desk, group)
    apart = "；" if voice.language == "zh" else "; "
    for note, (thing, facts) in notes.items():
        if any(note != other and note in other for other in notes):
            continue
        if voice.language == "en" and note[1:2].islower():
            note = note[0].lower() + note[1:]
        name = voice.say("w_noted", x=voice.name(thing)) if thing != named else ""
        named = thing
        pieces.append(((apart if pieces else "") + name + note + voice.sources(facts[:1]), facts))
    return pieces[:_MOST_SAID]


def _notes(desk: Desk, group: Iterable[str]) -> dict[str, tuple[str, tuple[Fact, ...]]]:
    facts, own = desk.facts, tuple(group)
    near = [k for each in own for k in facts.kin(each)]
    made_of = [f.object for each in own for f in facts.of(each, SHIYI.hasIngredient)]
    found: dict[str, tuple[str, tuple[Fact, ...]]] = {}
    for thing in dict.fromkeys((*own, *near, *made_of)):
        if len(found) < _MOST_SAID:
            for note, said in _noted(desk, thing):
                found.setdefault(note.rstrip("。."), (thing, said))
    return found


def _noted(desk: Desk, thing: str) -> Iterator[tuple[str, tuple[Fact, ...]]]:
    facts, voice = desk.facts, desk.voice
    for fact in islice(facts.of(thing, *_SAID), _MOST_READ):
        note = _NOTED.search(desk.evidences.qualifier(fact.claim, "note_zh")) and voice.note(fact)
        if note:
            yield note, (fact,)
    for predicate in _TEXTS:
        for told in facts.told(thing, predicate, voice.language):
            if any(_NOTED.search(each.object) for each in told):
                yield told[0].object, told
