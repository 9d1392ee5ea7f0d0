"""What to eat or drink: recommendations, why, how, and what they depend on."""

from collections.abc import Iterable
from typing import Final

from shiyi.answering.candidates import Candidate, Choice
from shiyi.answering.draft import Section
from shiyi.answering.facts import Fact
from shiyi.answering.parts import Desk, Part, checks, question_texts, red_flags
from shiyi.answering.paths import Retrieved
from shiyi.answering.phrases import degree
from shiyi.answering.safety import Finding
from shiyi.answering.thermal import Pattern, effect_of
from shiyi.answering.voice import Voice
from shiyi.model.answer import Recommendation
from shiyi.model.path import Path
from shiyi.model.rdf import NamedNode
from shiyi.ontology.terms import SHIYI

_MOST_HELD: Final = 24  # candidates come best first
_HOW: Final = (SHIYI.cookingMethod, SHIYI.consumptionMethod)
_GOOD: Final = (SHIYI.dietaryBenefit, SHIYI.primaryEffect)


def advise(desk: Desk, retrieved: Retrieved, choice: Choice, most: int) -> Part:
    """Write the advice."""
    part = Part()
    chosen = _spread(desk, choice.open, most)
    _opening(desk, choice, chosen, part)
    for candidate in chosen:
        _recommend(desk, candidate, part)
    _states(desk, choice, part)
    _branches(desk, choice, part)
    _held(desk, choice, part)
    _vetoed(desk, choice, part)
    _middles(desk, retrieved, part)
    _how(desk, chosen, part)
    _conditional(desk, chosen, part)
    _ask(desk, part)
    ailments = desk.reading.ailments
    red_flags(desk, ailments, part)
    checks(desk, ailments, part)
    part.section("h_doctor").add(desk.voice.say("s_persist"))
    part.paths += retrieved.shown
    if choice.loosened and ailments:
        part.missing.append(desk.voice.say("m_season"))
    if not retrieved.paths and ailments:
        part.missing.append(desk.voice.say("m_food", sign=desk.voice.names(ailments)))
    return part


def _spread(desk: Desk, candidates: tuple[Candidate, ...], most: int) -> tuple[Candidate, ...]:
    """Take the best, a third of them dishes at least, where there are any: they can be cooked."""
    dishes = [c for c in candidates if desk.facts.is_a(c.iri, SHIYI.Dish)]
    least = dishes[: (most + 2) // 3]
    others = [c for c in candidates if c not in least][: most - len(least)]
    return tuple(c for c in candidates if c in least or c in others)


def _opening(desk: Desk, choice: Choice, chosen: tuple[Candidate, ...], part: Part) -> None:
    voice, differential = desk.voice, desk.differential
    items = voice.names(c.iri for c in chosen)
    if differential.undecided:
        part.opening.add(*_undecided(desk))
        key = "o_open" if chosen else "o_none_open"
        part.opening.add(voice.say(key, items=items), *_grounds(chosen))
        return
    if differential.leaning and desk.reading.ailments:
        part.opening.add(voice.say(f"o_leaning_{differential.leaning}"))
    if choice.loosened and desk.reading.ailments:
        part.opening.add(voice.say("o_loosened"))
    part.opening.add(
        voice.say("o_recommend" if chosen else "o_nothing", items=items), *_grounds(chosen)
    )


def _undecided(desk: Desk) -> tuple[str, *tuple[Fact, ...]]:
    voice, differential = desk.voice, desk.differential
    cold, hot = (differential.of_nature(n)[:2] for n in ("cold", "hot"))
    facts = [f for p in (*cold, *hot) for f in (*p.signs[:1], *p.nature_facts[:1])]
    text = voice.say(
        "o_undecided", sign=voice.names(desk.reading.ailments), cold=voice.names(p.iri for p in cold),
        hot=voice.names(p.iri for p in hot),
    )  # fmt: skip
    return text, *facts


def _grounds(chosen: Iterable[Candidate]) -> tuple[Fact, ...]:
    return tuple(
        _fact(c.reasons()[0]) if c.paths else c.fits[0] for c in chosen if c.paths or c.fits
    )


def _fact(path: Path) -> Fact:
    hop = path.hops[-1]
    return Fact(hop.subject, NamedNode(hop.predicate), hop.object, hop.claim, hop.confidence)


def _path_facts(path: Path) -> tuple[Fact, ...]:
    return tuple(
        Fact(h.subject, NamedNode(h.predicate), h.object, h.claim, h.confidence) for h in path.hops
    )


def _recommend(desk: Desk, candidate: Candidate, part: Part) -> None:
    voice, section = desk.voice, part.section("h_why")
    claims = [f.claim for p in candidate.reasons() for f in _path_facts(p)]
    claims += [f.claim for f in candidate.fits]
    part.recommendations.append(
        Recommendation(
            candidate.iri, voice.name(candidate.iri), desk.kind(candidate.iri),
            tuple(dict.fromkeys(claims)),
        )
    )  # fmt: skip
    name = f"**{voice.name(candidate.iri)}**"
    for path in candidate.reasons()[:2]:
        section.add(voice.say("w_path", label=name, chain=voice.chain(path)), *_path_facts(path))
    if candidate.fits and not candidate.paths:
        fits = voice.names(f.object for f in candidate.fits)
        section.add(voice.say("w_fit", label=name, fits=fits), *candidate.fits)
    good = _texts(desk, candidate.iri, _GOOD)[:1]
    if good:
        section.add(good[0].object, *good, depth=2)
    else:
        text, facts = voice.profile(candidate.iri)
        if text:
            section.add(text, *facts, depth=2)


def _texts(desk: Desk, iri: str, predicates: Iterable[NamedNode]) -> list[Fact]:
    return [f for p in predicates for f in desk.facts.texts(iri, p, desk.voice.language)[:1]]


def _states(desk: Desk, choice: Choice, part: Part) -> None:
    """Show each constitution a sign is linked with, how surely, and its foods."""
    voice, section = desk.voice, part.section("h_states")
    for ailment in desk.reading.ailments:
        for fact in desk.facts.of(ailment, SHIYI.relatedConstitution)[:3]:
            through = [
                c for c in (*choice.open, *choice.waiting)
                if any(path.hops[-1].start == fact.object for path in c.paths)
            ][:4]  # fmt: skip
            if through:
                text = voice.say(
                    "t_state", sign=voice.name(ailment), state=voice.name(fact.object),
                    degree=degree(voice.language, fact.confidence),
                    items=voice.names(c.iri for c in through),
                )  # fmt: skip
                grounds = [
                    _fact(p) for c in through for p in c.paths if p.hops[-1].start == fact.object
                ]
                section.add(text, fact, *{f.claim: f for f in grounds}.values())


def _branches(desk: Desk, choice: Choice, part: Part) -> None:
    if not desk.differential.undecided:
        return
    section = part.section("h_branches")
    for nature in ("cold", "hot"):
        fitting = [c for c in choice.waiting if c.branch == nature][:4]
        if not fitting:
            section.add(desk.voice.say(f"b_none_{nature}"))
            continue
        signs = _signs(desk, desk.differential.of_nature(nature))
        key = f"b_{nature}" if signs else f"b_{nature}_plain"
        text = desk.voice.say(
            key, items=desk.voice.names(c.iri for c in fitting),
            signs=desk.voice.names(f.object for f in signs),
        )  # fmt: skip
        section.add(
            text, *signs, *_grounds(fitting), *(f for c in fitting for f in c.effect_facts[:1])
        )


def _signs(desk: Desk, patterns: Iterable[Pattern]) -> list[Fact]:
    """List the signs that only these patterns have, so that they tell cold from heat."""
    mine = list(patterns)
    others = {p.iri for p in desk.differential.patterns} - {p.iri for p in mine}
    taken = {f.object for o in others for f in desk.facts.of(o, SHIYI.hasManifestation)}
    found: dict[str, list[Fact]] = {}
    for pattern in mine:
        for fact in desk.facts.of(pattern.iri, SHIYI.hasManifestation):
            if fact.object not in taken and fact.object not in desk.reading.ailments:
                found.setdefault(fact.object, []).append(fact)
    most = sorted(found.values(), key=lambda each: (-len(each), -each[0].confidence))
    return [each[0] for each in most[:4]]


def _held(desk: Desk, choice: Choice, part: Part) -> None:
    """State the facts about what is held back: the gravest first."""
    held = [c for c in choice.waiting if c.held]
    ranked = sorted(held[:_MOST_HELD], key=lambda c: _gravity(desk, c))
    section = part.section("h_held")
    shown: set[str] = set()
    for candidate in ranked:
        telling = (_telling(desk, candidate) or [candidate.iri])[0]
        most = 3 if desk.differential.undecided else 1
        if telling in shown or len(shown) >= most:
            continue
        shown.add(telling)
        key = f"b_held_{candidate.effect}" if candidate.effect else "b_held"
        if candidate.held and not desk.differential.undecided:
            key = "b_held"
        text = desk.voice.say(key, x=desk.voice.name(candidate.iri))
        section.add(text, *candidate.effect_facts[:2])
        _held_facts(desk, candidate, section)
        for found in [f for f in candidate.held if not f.through][:1]:
            part.warn(desk, found)


def _gravity(desk: Desk, candidate: Candidate) -> tuple[object, ...]:
    """Put first what was asked for, is forbidden outright, by most sources."""
    outright = [f for f in candidate.held if f.fact.predicate == SHIYI.contraindicatedIn]
    direct = [f for f in outright if not f.through]
    parts = [candidate.iri, *(f.object for f in desk.facts.of(candidate.iri, SHIYI.hasIngredient))]
    sources = sum(
        len(desk.evidences.of(f.fact.claim, desk.voice.language))
        for p in parts for f in _warned(desk, p) if f.severity == "contraindicated"
    )  # fmt: skip
    size = len(parts)
    return (not candidate.fits, not direct, not outright, -sources, size, candidate.iri)


def _held_facts(desk: Desk, candidate: Candidate, section: Section) -> None:
    for found in candidate.held[:2]:
        section.add(desk.voice.finding(found), *found.facts, depth=2)
    for material in _telling(desk, candidate)[:1]:
        text, facts = desk.voice.profile(material)
        if text:
            section.add(text, *facts, depth=2)
        for found in _warned(desk, material)[:2]:
            section.add(desk.voice.finding(found), *found.facts, depth=2)


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
    return desk.safety.against_states(material, patterns)


def _vetoed(desk: Desk, choice: Choice, part: Part) -> None:
    section = part.section("h_held")
    told: set[str] = set()
    for candidate in choice.vetoed:
        found = candidate.vetoes[0]
        if len(told) == 4 or (found.claims[:1] and found.claims[0] in told):
            continue
        told |= set(found.claims[:1])
        name = desk.voice.say("b_vetoed", x=desk.voice.name(candidate.iri))
        section.add(name + desk.voice.finding(found), *found.facts)
        part.warn(desk, found)


def _middles(desk: Desk, retrieved: Retrieved, part: Part) -> None:
    """Show each constitution or syndrome the paths run through, with its confidence."""
    voice, seen = desk.voice, set[tuple[str, str]]()
    section = part.section("h_paths")
    for path in (*retrieved.shown, *retrieved.paths):
        pair = (path.hops[0].start, path.entities[1])
        if len(path.hops) > 1 and pair not in seen and len(seen) < 6:
            seen.add(pair)
            section.add(voice.chain(path), *_path_facts(path))


def _how(desk: Desk, chosen: Iterable[Candidate], part: Part) -> None:
    section = part.section("h_how")
    for candidate in chosen:
        for fact in _texts(desk, candidate.iri, _HOW):
            section.add(f"**{desk.voice.name(candidate.iri)}** {fact.object}", fact)


def _conditional(desk: Desk, chosen: Iterable[Candidate], part: Part) -> None:
    """Name what else is recorded against what is recommended, should it apply."""
    section = part.section("h_caution")
    for candidate in chosen:
        found = list(desk.safety.conditional(candidate.iri))
        for link in desk.facts.of(candidate.iri, SHIYI.hasIngredient):
            found += [
                f for f in desk.safety.conditional(link.object) if f.severity == "interaction"
            ]
        picked = [f for f in found if f.severity == "interaction"][:2]
        picked += [f for f in found if f.severity != "interaction"][:2]
        for each in picked:
            text = if_applies(desk.voice, each)
            if text not in {line.text for line in section.lines}:
                section.add(text, *each.facts)


def if_applies(voice: Voice, found: Finding) -> str:
    """Say a finding for whoever it may concern."""
    x, y = voice.name(found.material), voice.name(found.against)
    key = {"interaction": "f_if_drug"}.get(found.severity, "f_if")
    if found.fact.predicate in (SHIYI.opposes, SHIYI.fears, SHIYI.incompatibleWith):
        key = "f_if_pair"
    return voice.say(key, x=x, y=y, grade=voice.grade(found.fact))


def _ask(desk: Desk, part: Part) -> None:
    patterns = [p.iri for p in desk.differential.patterns]
    question_texts(desk, (*desk.reading.ailments, *patterns), part)
    section = part.section("h_ask")
    if desk.differential.undecided and not part.follow_up:
        part.follow_up.append(desk.voice.say("q_cold_heat"))
        section.add(part.follow_up[-1])
    if not desk.reading.person.drugs:
        part.follow_up.append(desk.voice.say("q_drugs"))
        section.add(part.follow_up[-1])
