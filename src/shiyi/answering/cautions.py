"""What is recorded against a thing, should it apply: merged, the gravest first."""

from collections.abc import Iterable, Mapping

from shiyi.answering.draft import Piece
from shiyi.answering.parts import Desk
from shiyi.answering.phrases import listed
from shiyi.answering.safety import Finding
from shiyi.ontology.terms import SHIYI


def caution_pieces(desk: Desk, found: Iterable[Finding], most: int = 2) -> list[Piece]:
    """Merge what is recorded against a thing: interactions, then the gravest states."""
    voice, pieces = desk.voice, list[Piece]()
    drugs, states = _telling(desk, found, most)
    if drugs:
        names = voice.names((f.against for f in drugs), "or")
        pieces.append((voice.say("k_drugs", drugs=names), tuple(f.fact for f in drugs)))
    for severity in _GRAVEST_FIRST:
        these = [f for f in states if f.severity == severity]
        if these:
            names = voice.these(f.against for f in these)
            pieces.append((voice.say(f"k_{severity}", states=names), tuple(f.fact for f in these)))
    return pieces


def caution_lines(desk: Desk, about: Mapping[str, list[Finding]]) -> list[list[Piece]]:
    """Say of several things together whom they concern: one line for each kind of caution.

    ``about`` gives what is recorded of each thing and of what it is made of.
    """
    met: dict[str, dict[tuple[str, ...], list[tuple[str, Finding]]]] = {}
    for item, found in about.items():
        drugs, states = _telling(desk, found, 2)
        if drugs:
            key = tuple(dict.fromkeys(f.against for f in drugs))
            met.setdefault("interaction", {}).setdefault(key, []).extend((item, f) for f in drugs)
        for each in states:
            met.setdefault(each.severity, {}).setdefault((each.against,), []).append((item, each))
    kinds = (*_GRAVEST_FIRST, "interaction")
    return [_line(desk, kind, _merged(met[kind])) for kind in kinds if kind in met]


_Told = list[tuple[tuple[str, ...], list[tuple[str, Finding]]]]  # whom it concerns, and what


def _merged(met: Mapping[tuple[str, ...], list[tuple[str, Finding]]]) -> _Told:
    """Join what concerns the same things: "bloating or constipation (lotus seed)"."""
    same: dict[tuple[str, ...], dict[str, None]] = {}
    because: dict[tuple[str, ...], list[tuple[str, Finding]]] = {}
    for against, found in met.items():
        items = tuple(dict.fromkeys(item for item, _ in found))
        same.setdefault(items, {}).update(dict.fromkeys(against))
        because.setdefault(items, []).extend(found)
    return [(tuple(same[items]), because[items]) for items in same]


def _line(desk: Desk, kind: str, met: _Told) -> list[Piece]:
    """Write whom a kind of caution concerns, each with the things in brackets."""
    voice, pieces = desk.voice, list[Piece]()
    pieces.append((voice.say(f"l_{kind}"), ()))
    for n, (against, found) in enumerate(met):
        who, what = voice.these(against, "or"), _things(desk, found)
        text = voice.say("l_who", who=who, items=what)
        mark = "" if n == 0 else ("；" if voice.language == "zh" else "; ")
        facts = tuple({f.fact.claim: f.fact for _, f in found}.values())
        pieces.append((mark + text, facts))
    return pieces


def _things(desk: Desk, found: Iterable[tuple[str, Finding]]) -> str:
    """Name things, each with what it is made of where that is what is spoken of."""
    voice, parts = desk.voice, dict[str, dict[str, None]]()
    for item, each in found:
        part = "" if each.material == item else voice.name(each.material)
        parts.setdefault(voice.name(item), {})[part] = None
    made: dict[tuple[str, ...], list[str]] = {}
    for name, of in parts.items():
        made.setdefault(() if "" in of else tuple(of), []).append(name)
    said = [
        listed(voice.language, names) if not of
        else voice.say("l_has", x=listed(voice.language, names), part=listed(voice.language, of))
        for of, names in made.items()
    ]  # fmt: skip
    return ("；" if voice.language == "zh" else "; ").join(said)


def _telling(
    desk: Desk, found: Iterable[Finding], most: int
) -> tuple[list[Finding], list[Finding]]:
    """Take the gravest interactions, then the gravest states."""
    found = list(found)
    drugs = _drugs(desk, found)[:most]
    states = [f for f in found if f.severity in _GRAVEST_FIRST]
    states = sorted((f for f in states if _concerns(desk, f)), key=lambda f: _state(desk, f))
    states = [f for f in states if not (drugs and f.against.endswith("-anticoagulated"))]
    return drugs, states[: most - bool(drugs)]


_GRAVEST_FIRST = ("contraindicated", "caution")


def _drugs(desk: Desk, found: Iterable[Finding]) -> list[Finding]:
    """List interactions, gravest and widest first; a class stands for its members."""
    met = [f for f in found if f.severity == "interaction" and _matters(desk, f)]
    ranked = sorted(met, key=lambda f: _weight(desk, f))
    kept: dict[str, Finding] = {}
    for each in ranked:
        member = not desk.facts.is_a(each.against, SHIYI.DrugClass)
        if not (member and set(desk.facts.above(each.against)) & set(kept)):
            kept.setdefault(each.against, each)
    return list(kept.values())


def _matters(desk: Desk, found: Finding) -> bool:
    return desk.evidences.rating(found.fact.claim) != "minor"


def _weight(desk: Desk, found: Finding) -> tuple[object, ...]:
    wide = len(desk.facts.below(found.against))
    return desk.evidences.gravity(found.fact.claim), -wide, -found.fact.confidence, found.fact.claim


def _concerns(desk: Desk, found: Finding) -> bool:
    """Keep what may matter: pregnancy unless ruled out, diseases and signs; patterns if forbidden."""
    about, name = desk.reading.profile, found.against.rpartition("/")[2]
    if name in _WOMEN:
        return bool(about.pregnant) or not (about.sex == "male" or about.pregnant is False)
    if (
        desk.facts.of(found.against, SHIYI.excludesFoodGroup)
        and found.against.find("/disease-") < 0
    ):
        return False  # a diet is kept by choice: who keeps it says so
    grave = found.severity == "contraindicated"
    if desk.facts.is_a(found.against, SHIYI.Disease, SHIYI.Symptom):
        return grave or not desk.facts.is_a(found.against, SHIYI.EmergencySign)
    return grave and desk.facts.is_a(found.against, SHIYI.Condition)


_WOMEN = frozenset({"population-pregnant", "population-lactating"})


def _state(desk: Desk, found: Finding) -> tuple[object, ...]:
    pregnant = found.against.endswith("population-pregnant")
    return (
        not pregnant, found.severity != "contraindicated",
        not desk.facts.is_a(found.against, SHIYI.Population), -found.fact.confidence,
        found.fact.claim,
    )  # fmt: skip
