"""What is recorded against a thing, should it apply: merged, the gravest first."""

from collections.abc import Iterable

from shiyi.answering.draft import Piece
from shiyi.answering.parts import Desk
from shiyi.answering.safety import Finding
from shiyi.ontology.terms import SHIYI


def caution_pieces(
    desk: Desk, found: Iterable[Finding], most: int = 2, about: str = ""
) -> list[Piece]:
    """Merge what is recorded against a thing: interactions, then the gravest states."""
    voice, pieces, found = desk.voice, list[Piece](), list(found)
    drugs = _drugs(desk, found)[:most]
    if drugs:
        names = voice.names((f.against for f in drugs), "or")
        parts = [f.material for f in drugs if about and f.material != about]
        has = voice.say("k_has", parts=voice.names(parts)) if parts else ""
        pieces.append((has + voice.say("k_drugs", drugs=names), tuple(f.fact for f in drugs)))
    states = [f for f in found if f.severity in {"contraindicated", "caution"}]
    states = sorted((f for f in states if _concerns(desk, f)), key=lambda f: _state(desk, f))
    states = [f for f in states if not (drugs and f.against.endswith("-anticoagulated"))]
    states = states[: most - bool(drugs)]
    for severity in ("contraindicated", "caution"):
        these = [f for f in states if f.severity == severity]
        if these:
            names = voice.these(f.against for f in these)
            pieces.append((voice.say(f"k_{severity}", states=names), tuple(f.fact for f in these)))
    return pieces


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
    return desk.evidences.qualifier(found.fact.claim, "rating") != "minor"


def _weight(desk: Desk, found: Finding) -> tuple[object, ...]:
    ratings = ("major", "moderate", "")
    rating = desk.evidences.qualifier(found.fact.claim, "rating")
    place = ratings.index(rating) if rating in ratings else len(ratings)
    wide = len(desk.facts.below(found.against))
    return place, -wide, -found.fact.confidence, found.fact.claim


def _concerns(desk: Desk, found: Finding) -> bool:
    """Keep what may matter: pregnancy unless ruled out, diseases and signs; patterns if forbidden."""
    about, name = desk.reading.profile, found.against.rpartition("/")[2]
    if name in _WOMEN:
        return bool(about.pregnant) or not (about.sex == "male" or about.pregnant is False)
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
