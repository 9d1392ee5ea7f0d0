"""What is not recommended, and why: three lines at most, what matters to the asker first."""

from typing import Final

from shiyi.answering.candidates import Candidate, Choice
from shiyi.answering.draft import Piece
from shiyi.answering.facts import Fact
from shiyi.answering.parts import Desk, Part
from shiyi.answering.roles import CAUTION, MATERIAL, TOXIC
from shiyi.answering.safety import SEVERITIES, Finding
from shiyi.answering.thermal import effect_of
from shiyi.ontology.terms import SHIYI

_MOST: Final = 3
_MOST_HELD: Final = 24  # candidates come best first


def held_lines(desk: Desk, choice: Choice, part: Part) -> None:
    """Write what the asker's own state forbids, what a possible pattern does, and taboos."""
    section = part.section("h_held")
    told = _vetoed(desk, choice, part)
    _held(desk, choice, part, 3 if desk.differential.undecided else 1)
    if told < _MOST:
        _taboos(desk, part)
    del section.lines[_MOST:]


def _vetoed(desk: Desk, choice: Choice, part: Part) -> int:
    """Say what medicines, allergies or another state of the person keep off the list."""
    own = set(desk.reading.ailments)
    told: dict[str, None] = {}
    for candidate in choice.vetoed:
        mine = (
            f for f in candidate.vetoes
            if not (f.left_out and f.material == f.against)
            and (not f.facts or f.fact.predicate not in TOXIC)
        )  # fmt: skip
        found = next((f for f in mine if f.against not in own), None)
        if found is None or len(told) == 2:
            continue
        ground = found.claims[0] if found.claims else found.material
        if ground in told:
            continue
        told[ground] = None
        text = desk.voice.reason(found)
        note = desk.voice.note(found.fact).rstrip("。.") if found.facts else ""
        text += ("；" if desk.voice.language == "zh" else "; ") + note if note else ""
        name = desk.voice.say("w_name", x=desk.voice.name(candidate.iri))
        part.section("h_held").item((name, ()), (text, found.stated))
        part.warn(desk, found, told=True)
    return len(told)


def _taboos(desk: Desk, part: Part) -> None:
    """Name common foods that a source advises against in the trouble itself."""
    voice = desk.voice
    for ailment in desk.reading.ailments:
        found = {
            fact.other(near): fact for near in reversed(desk.facts.above(ailment))
            for fact in against(desk, near)
            if desk.facts.is_a(food := fact.other(near), *MATERIAL) and desk.kind(food) != "dish"
        }  # fmt: skip
        ranked = sorted(
            found.items(),
            key=lambda item: (
                item[1].predicate not in (SHIYI.contraindicatedIn, SHIYI.unsuitableFood),
                -round(item[1].confidence, 1), states_against(desk, item[0]), item[0],
            ),
        )[:3]  # fmt: skip
        if ranked:
            text = voice.say(
                "b_taboo", sign=voice.the(ailment), items=voice.names(iri for iri, _ in ranked)
            )
            part.section("h_held").add(text, *(fact for _, fact in ranked))
            return


def states_against(desk: Desk, food: str) -> int:
    """Count the states a food is unsuitable in: offal, of few, tells more of gout than fried food."""
    return len(desk.facts.into(food, SHIYI.unsuitableFood))


def against(desk: Desk, state: str) -> tuple[Fact, ...]:
    """List what is recorded against in a state, either way round."""
    return (*desk.facts.of(state, SHIYI.unsuitableFood), *desk.facts.into(state, *CAUTION))


def _held(desk: Desk, choice: Choice, part: Part, most: int) -> None:
    """State the facts about what is held back: the gravest in full, the others by their reason."""
    held = [c for c in choice.waiting if c.held and (c.fits or desk.differential.undecided)]
    ranked = sorted(held[:_MOST_HELD], key=lambda c: _gravity(desk, c))
    shown: set[str] = set()
    for candidate in ranked:
        telling = (_telling(desk, candidate) or [candidate.iri])[0]
        if telling in shown or len(shown) >= most:
            continue
        found = next((f for f in candidate.held if not f.through), candidate.held[0])
        pieces = _in_full(desk, candidate, telling) if not shown else [_reason(desk, found)]
        shown.add(telling)
        name = desk.voice.say("w_name", x=desk.voice.name(candidate.iri))
        part.section("h_held").item((name, ()), *pieces)
        part.warn(desk, found, told=True)


def _reason(desk: Desk, found: Finding) -> Piece:
    return desk.voice.reason(found), found.stated


def _in_full(desk: Desk, candidate: Candidate, telling: str) -> list[Piece]:
    """Say the effect, the nature of the material that matters, and where it is forbidden."""
    voice = desk.voice
    mark = "；" if voice.language == "zh" else "; "
    pieces: list[Piece] = []
    if desk.differential.undecided:
        pieces.append(
            (voice.say(f"b_held_{candidate.effect}" if candidate.effect else "b_held"), ())
        )
    text, facts = voice.profile(telling, only=SHIYI.hasNature)
    against = {"cold": "cooling", "hot": "warming"}.get(desk.differential.leaning, candidate.effect)
    if text and candidate.effect == against:
        pieces.append((text, facts))
    found = (_warned(desk, telling) or candidate.held)[0]
    said = voice.warned(found) + (f"{mark}{note}" if (note := _note(desk, found)) else "")
    pieces.append((said, found.stated))
    return [(text if i == 0 else mark + text, facts) for i, (text, facts) in enumerate(pieces)]


def _note(desk: Desk, found: Finding) -> str:
    return desk.voice.note(found.fact).rstrip("。.")


def _gravity(desk: Desk, candidate: Candidate) -> tuple[object, ...]:
    """Put first what was asked for, is forbidden outright, by most sources."""
    outright = [f for f in candidate.held if f.fact.predicate == SHIYI.contraindicatedIn]
    direct = [f for f in outright if not f.through]
    parts = [candidate.iri, *(f.object for f in desk.facts.of(candidate.iri, SHIYI.hasIngredient))]
    sources = sum(
        len(desk.evidences.of(f.fact.claim, desk.voice.language))
        for p in parts for f in _warned(desk, p) if f.severity == "contraindicated"
    )  # fmt: skip
    return (not candidate.fits, not direct, not outright, -sources, len(parts), candidate.iri)


def _telling(desk: Desk, candidate: Candidate) -> list[str]:
    """List the material that makes a dish what it is here: warned of, and of its effect."""
    links = desk.facts.of(candidate.iri, SHIYI.hasIngredient)
    if not links:
        return [candidate.iri]
    ranked = sorted(
        {link.object for link in links},
        key=lambda m: (
            -len(_warned(desk, m)), effect_of(desk.facts, m)[0] != candidate.effect, m,
        ),
    )  # fmt: skip
    return [m for m in ranked if _warned(desk, m) or effect_of(desk.facts, m)[0]]


def _warned(desk: Desk, material: str) -> tuple[Finding, ...]:
    patterns = [p.iri for p in desk.differential.patterns]
    found = desk.safety.against_states(material, patterns)
    return tuple(
        sorted(
            found,
            key=lambda f: (
                SEVERITIES.index(f.severity), bool(f.through), -len(_sources(desk, f)), f.claims,
            ),
        )
    )  # fmt: skip


def _sources(desk: Desk, found: Finding) -> tuple[object, ...]:
    return desk.evidences.of(found.fact.claim, "en")
