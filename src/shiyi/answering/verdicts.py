"""What is recorded of some things with what they meet, in one sentence of the opening for each."""

from collections.abc import Iterable
from typing import Final

from shiyi.answering.draft import Piece
from shiyi.answering.parts import Desk, Part
from shiyi.answering.phrases import RATINGS, listed
from shiyi.answering.roles import ADVERSE, CAUTION, INCOMPATIBLE, INTERACTION
from shiyi.answering.safety import Finding
from shiyi.answering.unopposed import end_of
from shiyi.ontology.terms import SHIYI

_VERDICT: Final = {"contraindicated": "v_contra", "interaction": "v_inter", "caution": "v_caution"}
_VERDICTS: Final = (
    "v_allergy", "v_pair", "v_contra", "v_inter", "v_caution", "v_adverse", "v_diet", "v_avoided",
)  # fmt: skip
NOT_EATEN: Final = frozenset({"v_allergy", "v_diet", "v_avoided"})


def verdicts(desk: Desk, every: Iterable[Finding], part: Part) -> None:
    """Say in the opening what is recorded, the gravest first: one sentence for what meets the same."""
    every, met = list(every), dict[str, set[str]]()
    for each in every:
        met.setdefault(each.material, set()).add(each.against)
    told: dict[tuple[str, ...], list[str]] = {}
    for material, against in met.items():
        told.setdefault(tuple(sorted(against)), []).append(material)
    for materials in told.values():
        _verdict_on(desk, [f for f in every if f.material in materials], part)


def _named(desk: Desk, found: Iterable[Finding]) -> str:
    """Name the things; where only a kind of one is spoken of, that kind: vitamin D (cod liver oil)."""
    voice, kinds = desk.voice, dict[str, set[str]]()
    for each in found:
        below = desk.facts.below(each.material)[1:]
        kinds.setdefault(each.material, set()).add(each.through if each.through in below else "")
    said = [
        voice.name(m) if "" in of else voice.say("v_kind", x=voice.name(m), y=voice.names(sorted(of)))
        for m, of in kinds.items()
    ]  # fmt: skip
    return listed(voice.language, said)


def _verdict_on(desk: Desk, asked: Iterable[Finding], part: Part) -> None:
    mark = "；" if desk.voice.language == "zh" else "; "
    asked = list(asked)
    pieces: list[Piece] = [(_named(desk, asked), ())]
    for key in _VERDICTS:
        found = [f for f in asked if verdict_of(f) == key]
        if found:
            facts = tuple({f.fact.claim: f.fact for f in found if f.facts}.values())
            values = {"y": desk.voice.these(f.against for f in found), "grade": _grade(desk, found)}
            before = mark if len(pieces) > 1 else desk.voice.say("v_colon")
            pieces.append((before + desk.voice.say(key, **values), facts))
    pieces.append((end_of(desk), ()))
    part.opening.item(*pieces)


def verdict_of(found: Finding) -> str:
    """Give the key of the phrase that says how grave a finding is."""
    if found.facts and found.fact.predicate in ADVERSE:
        return "v_adverse"
    rule = any(f.predicate == SHIYI.excludesFoodGroup for f in found.facts)
    if found.left_out:
        return "v_diet" if rule else "v_avoided"
    if rule:
        return "v_contra"
    if not found.facts or found.fact.predicate not in (*CAUTION, *INTERACTION, *INCOMPATIBLE,
                                                       SHIYI.unsuitableFood):  # fmt: skip
        return "v_allergy"
    if found.fact.predicate in INCOMPATIBLE:
        return "v_pair"
    return _VERDICT[found.severity]


def _grade(desk: Desk, found: Iterable[Finding]) -> str:
    """Give the gravest rating of some interactions, or that it rests on case reports."""
    facts = [f.fact for f in found if f.facts and f.fact.predicate in INTERACTION]
    rated = {desk.evidences.rating(f.claim) for f in facts}
    worst = next((r for r in ("major", "moderate", "minor") if r in rated), "")
    if not worst:
        return ""
    word = RATINGS.get(worst, worst) if desk.voice.language == "zh" else worst
    return desk.voice.say("v_rating", rating=word)
