"""What to eat or drink: recommendations, why, how, and what they depend on."""

from collections.abc import Collection, Iterable
from typing import Final

from shiyi.answering.candidates import Candidate, Choice, asked_groups
from shiyi.answering.cautions import caution_lines
from shiyi.answering.cues import is_cue, is_meal
from shiyi.answering.draft import Piece
from shiyi.answering.facts import Fact
from shiyi.answering.held import held_lines
from shiyi.answering.parts import Desk, Part, checks, question_texts, red_flags
from shiyi.answering.paths import Retrieved
from shiyi.answering.phrases import RATED, RATINGS, sure
from shiyi.answering.safety import Finding
from shiyi.answering.thermal import Pattern, nature_of
from shiyi.answering.undecided import branches, undecided
from shiyi.model.answer import Recommendation
from shiyi.model.names import resource
from shiyi.model.path import Path
from shiyi.model.rdf import NamedNode
from shiyi.ontology.terms import SHIYI

HOW: Final = (SHIYI.cookingMethod, SHIYI.consumptionMethod)
_GOOD: Final = (SHIYI.dietaryBenefit, SHIYI.primaryEffect)
_PER_MATERIAL: Final = 2  # a substance and one dish of it, or two dishes of it


def advise(desk: Desk, retrieved: Retrieved, choice: Choice, most: int) -> Part:
    """Write the advice."""
    part = Part()
    if unclear(desk):
        part.opening.add(desk.voice.say("o_unclear"))
        part.follow_up.append(desk.voice.say("q_cold_heat"))
        part.section("h_ask").add(part.follow_up[-1])
        red_flags(desk, (), part, persist=True)
        return part
    chosen = _spread(desk, choice.open, 3 if desk.differential.undecided else most)
    _opening(desk, choice, chosen, part)
    for candidate in chosen:
        _recommend(desk, candidate, part)
    branches(desk, choice, part)
    held_lines(desk, choice, part)
    _cautions(desk, chosen, part)
    _paths(desk, retrieved, choice, chosen, part)
    _ask(desk, chosen, part)
    ailments = desk.reading.ailments
    checks(desk, ailments, part)
    red_flags(desk, ailments, part, persist=bool(ailments or desk.reading.aims))
    if resource("population-postoperative").value in desk.reading.populations:
        part.section("h_doctor").add(desk.voice.say("s_operation"))
    if choice.loosened and ailments:
        part.missing.append(desk.voice.say("m_season"))
    if not retrieved.paths and ailments:
        part.missing.append(desk.voice.say("m_food", sign=desk.voice.names(ailments)))
    return part


def unclear(desk: Desk) -> bool:
    """Tell whether words stand where the trouble should, and none of them was recognised."""
    reading = desk.reading
    known = (*reading.ailments, *reading.constitutions, *reading.aims)
    said = reading.profile.constitution or reading.profile.conditions
    return not (known or said) and any(
        not m.iri and not is_cue(m.text) and not is_meal(m.text) for m in reading.mentions
    )


def _spread(desk: Desk, candidates: tuple[Candidate, ...], most: int) -> tuple[Candidate, ...]:
    """Take the best: at most two with one main material, a third dishes if there are any."""
    main = {c.iri for c in candidates}
    used: dict[str, int] = {}
    picked: list[Candidate] = []
    for candidate in candidates:
        parts = {candidate.iri} | {
            f.object for f in desk.facts.of(candidate.iri, SHIYI.hasIngredient) if f.object in main
        }
        if all(used.get(each, 0) < _PER_MATERIAL for each in parts):
            picked.append(candidate)
            used |= {each: used.get(each, 0) + 1 for each in parts}
    dishes = [c for c in picked if desk.facts.is_a(c.iri, SHIYI.Dish)][: (most + 2) // 3]
    others = [c for c in picked if c not in dishes][: most - len(dishes)]
    return tuple(c for c in picked if c in dishes or c in others)


def _opening(desk: Desk, choice: Choice, chosen: tuple[Candidate, ...], part: Part) -> None:
    voice, differential = desk.voice, desk.differential
    items = voice.names(c.iri for c in chosen)
    if choice.form_missed and chosen:
        forms = voice.names(choice.form_missed, "or")
        part.opening.add(voice.say("o_form_missed", form=forms))
    if differential.undecided:
        undecided(desk, part)
        key = "o_open" if chosen else "o_none_open"
        part.opening.add(voice.say(key, items=items), *grounds(chosen))
        return
    pieces: list[Piece] = []
    if differential.leaning and desk.reading.ailments:
        said = "o_said" if differential.words else "o_leaning"
        words = voice.quoted(differential.words[:2])
        pieces.append((voice.say(f"{said}_{differential.leaning}", words=words), ()))
    if choice.group_missed and chosen:
        groups = desk.voice.names(asked_groups(desk.reading, desk.facts))
        pieces.append((voice.say("o_group_missed", group=groups), ()))
    if choice.loosened and (desk.reading.ailments or desk.reading.constitutions):
        pieces.append((voice.say("o_loosened"), ()))
    key = "o_recommend" if chosen else "o_nothing"
    pieces.append((voice.say(key, items=items), grounds(chosen)))
    space = "" if voice.language == "zh" else " "
    spaced = [(text + (space if i + 1 < len(pieces) else ""), facts)
              for i, (text, facts) in enumerate(pieces)]  # fmt: skip
    part.opening.item(*spaced)


def grounds(chosen: Iterable[Candidate]) -> tuple[Fact, ...]:
    """Give for each the claim that recommends it."""
    return tuple(
        path_facts(c.reason()[0])[-1] if c.paths else c.fits[0] for c in chosen
        if c.paths or c.fits
    )  # fmt: skip


def path_facts(path: Path) -> tuple[Fact, ...]:
    """Give the claims of a path."""
    return tuple(
        Fact(h.subject, NamedNode(h.predicate), h.object, h.claim, h.confidence) for h in path.hops
    )


def _recommend(desk: Desk, candidate: Candidate, part: Part) -> None:
    voice = desk.voice
    claims = [f.claim for p in candidate.reason() for f in path_facts(p)]
    claims += [f.claim for f in candidate.fits]
    part.recommendations.append(
        Recommendation(
            candidate.iri, voice.name(candidate.iri), desk.kind(candidate.iri),
            tuple(dict.fromkeys(claims)),
        )
    )  # fmt: skip
    section = part.section("h_why")
    pieces: list[Piece] = [(voice.say("w_name", x=voice.name(candidate.iri)), ())]
    pieces.append(_why(desk, candidate, {f.claim for line in section.lines for f in line.facts}))
    how = _how(desk, candidate.iri)
    told = any(voice.say("r_how", text="") in line.text for line in section.lines[1:])
    dish = desk.facts.is_a(candidate.iri, SHIYI.Dish)
    if not how[0] or (told and not dish):  # one plain food shows how such foods are taken
        how = _effect(desk, candidate.iri) if not candidate.paths else ("", ())
    section.item(*joined(desk, [*pieces, how]))


def joined(desk: Desk, pieces: Iterable[Piece]) -> list[Piece]:
    """Put pieces that say something one after another, the first being a label."""
    kept = [piece for piece in pieces if piece[0]]
    mark = "；" if desk.voice.language == "zh" else "; "
    return [
        (text if i < 2 else mark + text, facts) for i, (text, facts) in enumerate(kept)
    ]  # fmt: skip


def _why(desk: Desk, candidate: Candidate, told: Collection[str]) -> Piece:
    """Say the best way from the question to the candidate in plain words.

    What another candidate has ``told`` of the way to the pattern is not said again.
    """
    voice, ways = desk.voice, candidate.reason()
    if not ways:
        fits = voice.names(f.object for f in candidate.fits)
        return voice.say("r_fit", fits=fits), candidate.fits
    facts = tuple(f for path in ways for f in path_facts(path))
    fresh = tuple(f for f in facts if f.claim not in told)
    signs = voice.names(path.entities[0] for path in ways)
    middles = ways[0].entities[1:-1]
    first = min(path.hops[0].confidence for path in ways)
    values = {"signs": signs, "sure": sure(voice.language, first)}
    if not middles:
        mine = desk.facts.is_a(ways[0].entities[0], SHIYI.Constitution, SHIYI.Syndrome)
        values["signs"] = voice.these(path.entities[0] for path in ways)
        if any(path.hops[-1].predicate == SHIYI.isEffectiveFor.value for path in ways):
            rating = desk.evidences.rating(ways[0].hops[-1].claim)
            words = RATINGS if voice.language == "zh" else RATED
            rating = words.get(rating, rating)
            return voice.say("r_rated", rating=rating or "-", **values), facts
        listed = desk.facts.is_a(candidate.iri, SHIYI.DSIngredient)
        effect = desk.facts.is_a(ways[0].entities[0], SHIYI.Efficacy)
        key = "r_listed" if listed else "r_own" if mine else "r_has" if effect else "r_direct"
        return voice.say(key, **values), facts
    if desk.facts.is_a(middles[0], SHIYI.Efficacy):
        return voice.say("r_for", effect=voice.name(middles[0]), **values), facts
    state = next((m for m in middles if desk.facts.is_a(m, SHIYI.Constitution)), middles[0])
    if all(path.hops[0].claim in told for path in ways) and fresh:
        return voice.say("r_state_again", state=voice.the(state)), fresh
    if desk.facts.is_a(ways[0].entities[0], SHIYI.Therapy):
        return voice.say("r_principle", state=voice.the(state), **values), facts
    if desk.facts.is_a(ways[0].entities[0], SHIYI.Symptom):
        return voice.say("r_state", state=voice.the(state), **values), facts
    return voice.say("r_known", state=voice.the(state), **values), facts


def _effect(desk: Desk, iri: str) -> Piece:
    """Say what it does: its recorded efficacy, else what a source writes of its use."""
    voice = desk.voice
    found = desk.facts.of(iri, SHIYI.hasEfficacy)[:1]
    if found:
        return voice.say("r_efficacy", items=voice.names(f.object for f in found)), found
    return _text(desk, iri, _GOOD)


def _how(desk: Desk, iri: str) -> Piece:
    text, facts = _text(desk, iri, HOW)
    return (desk.voice.say("r_how", text=text), facts) if text else ("", ())


def _text(desk: Desk, iri: str, predicates: Iterable[NamedNode]) -> Piece:
    for predicate in predicates:
        for told in desk.facts.told(iri, predicate, desk.voice.language)[:1]:
            return told[0].object.rstrip("。.；; "), told
    return "", ()


def _cautions(desk: Desk, chosen: Iterable[Candidate], part: Part) -> None:
    """Name what speaks against the items should it apply, by whom it concerns."""
    about: dict[str, list[Finding]] = {}
    for candidate in chosen:
        found = list(desk.safety.conditional(candidate.iri))
        for link in desk.facts.of(candidate.iri, SHIYI.hasIngredient):
            found += [
                f for f in desk.safety.conditional(link.object) if f.severity == "interaction"
            ]
        about[candidate.iri] = found
    for pieces in caution_lines(desk, about):
        part.section("h_caution").item(*pieces)
    person = desk.reading.person
    diets = (s for s in person.states if desk.facts.of(s, SHIYI.excludesFoodGroup))
    if about and (person.allergies or person.left_out or any(diets)):
        part.section("h_caution").add(desk.voice.say("s_labels"))


def _paths(
    desk: Desk, retrieved: Retrieved, choice: Choice, chosen: Iterable[Candidate], part: Part
) -> None:
    """Show one way in full, or one for cold and one for heat; keep all that the answer rests on."""
    voice, section = desk.voice, part.section("h_paths")
    kept = [path for c in chosen for path in c.reason()[:1]]
    named = {c.iri for c in chosen}
    every = [path for c in (*choice.open, *choice.waiting) for path in c.paths]
    every.sort(key=lambda path: path.hops[-1].end not in named)  # what was named comes first
    leading = {first.claim: n for n, first in enumerate(_relations(desk))}
    for first in sorted(
        _relations(desk), key=lambda f: (not _reaches(every, f, named), leading[f.claim])
    ):
        through = [p for p in every if p.hops[0].claim == first.claim and len(p.hops) == 2][:1]
        if through and not section.lines:
            ends = tuple(path_facts(path)[-1] for path in through)
            text = voice.ways(through) + voice.sources([first])
            section.add(text, first, *ends)
            kept = [*through, *kept]
    barred = {c.iri for c in (*choice.waiting, *choice.vetoed) if c.held or c.vetoes}
    shown = [path for path in retrieved.shown if path.hops[-1].end not in barred]
    if desk.differential.undecided or not section.lines:
        section.lines.clear()
        own = [p for p in (*kept, *part.paths) if len(p.hops) > 1]
        _through(desk, own or kept[:1] or [p for p in shown if len(p.hops) > 1][:1], part)
    part.paths += [*kept, *shown]


def _reaches(paths: Iterable[Path], first: Fact, named: Collection[str]) -> bool:
    return any(p.hops[0].claim == first.claim and p.hops[-1].end in named for p in paths)


def _through(desk: Desk, paths: Iterable[Path], part: Part) -> None:
    """Write two ways that run through different patterns, of cold and of heat if both are open."""
    ways: dict[str, Path] = {}
    for path in paths:
        nature = nature_of(desk.facts, path.entities[1])[0] if desk.differential.undecided else ""
        ways.setdefault(nature or path.entities[1], path)
    ranked = sorted(ways, key=lambda each: each not in {"cold", "hot"})
    for path in [ways[each] for each in ranked[:2]]:
        part.section("h_paths").add(desk.voice.chain(path), *path_facts(path))


def _relations(desk: Desk) -> list[Fact]:
    """List which constitution each sign is related to, other constitutions before other signs."""
    found = [
        (place, n, fact) for n, ailment in enumerate(desk.reading.ailments)
        for place, fact in enumerate(desk.facts.of(ailment, SHIYI.relatedConstitution)[:2])
    ]  # fmt: skip
    return [fact for _, _, fact in sorted(found, key=lambda each: (each[1], each[0]))]


def _ask(desk: Desk, chosen: Collection[Candidate], part: Part) -> None:
    patterns: Iterable[Pattern] = desk.differential.patterns if desk.differential.undecided else ()
    question_texts(desk, (*desk.reading.ailments[:2], *(p.iri for p in list(patterns)[:1])), part)
    del part.follow_up[2:], part.section("h_ask").lines[2:]
    section = part.section("h_ask")
    if desk.differential.undecided and not part.follow_up:
        part.follow_up.append(desk.voice.say("q_cold_heat"))
        section.add(part.follow_up[-1])
    about = desk.reading.profile
    if not desk.reading.person.drugs:
        said = any(s.endswith("population-pregnant") for s in desk.reading.person.states)
        women = about.sex != "male" and about.pregnant is None and bool(chosen) and not said
        part.follow_up.append(desk.voice.say("q_drugs_pregnant" if women else "q_drugs"))
        section.add(part.follow_up[-1])
