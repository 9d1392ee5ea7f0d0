"""Recommendations with reasons and branches."""

from collections.abc import Collection, Iterable
from typing import Final

from shiyi.answering.knowledge.facts import Fact
from shiyi.answering.recommendation.candidates import Candidate, Candidates, is_mild
from shiyi.answering.recommendation.cautions import caution_lines, write_not_recommended
from shiyi.answering.retrieval.paths import Retrieval
from shiyi.answering.safety import Finding
from shiyi.answering.understanding.differentiation import Pattern
from shiyi.answering.wording.draft import (
    AnswerContext,
    Contribution,
    Piece,
    checks,
    join_pieces,
    question_texts,
    write_red_flags,
)
from shiyi.answering.wording.verbalization import rating_text
from shiyi.model.answer import Recommendation
from shiyi.model.iris import resource
from shiyi.model.path import Path
from shiyi.model.rdf import NamedNode
from shiyi.ontology.terms import SHIYI


def write_undecided(context: AnswerContext, part: Contribution) -> None:
    """State that the trouble may be of cold or of heat, and that this decides."""
    verbalizer, differential = context.verbalizer, context.differential
    cold, hot = (differential.of_nature(n)[:1] for n in ("cold", "hot"))
    signs = [f for p in (*cold, *hot) for f in p.signs[:1]]
    natures = [f for p in (*cold[:1], *hot[:1]) for f in p.nature_facts[:1]]
    text = verbalizer.verbalize(
        "o_undecided",
        sign=verbalizer.names(context.parsed.ailments),
        cold=verbalizer.these(p.iri for p in cold),
        hot=verbalizer.these(p.iri for p in hot),
    )
    part.opening.add(text, *signs, *natures)


def branches(context: AnswerContext, choice: Candidates, part: Contribution) -> None:
    """List warm choices for cold and mild ones for heat, without any that a pattern forbids."""
    if not context.differential.undecided:
        return
    section = part.section("h_branches")
    for nature in ("cold", "hot"):
        fitting = _list_fitting(context, choice, nature)[: 2 if choice.open else 3]
        if not fitting:
            section.add(context.verbalizer.verbalize(f"b_none_{nature}"))
            continue
        signs = _signs(context, context.differential.of_nature(nature))
        key = f"b_{nature}" if signs else f"b_{nature}_plain"
        text = context.verbalizer.verbalize(
            key,
            items=context.verbalizer.names(c.iri for c in fitting),
            signs=context.verbalizer.names(f.object for f in signs),
        )
        section.add(text, *(_ground(c) for c in fitting), *signs)
        part.paths += [path for c in fitting for path in c.reason()[:1]]


def _list_fitting(context: AnswerContext, choice: Candidates, nature: str) -> list[Candidate]:
    """List what no possible pattern speaks against; for cold, else what only heat speaks against.

    A cold drink in a cold pattern is the graver mistake, so heat gets mild choices only.
    """
    mine = [c for c in choice.waiting if c.branch == nature]
    free = [c for c in mine if not c.reservations]
    if nature == "hot":
        return [c for c in free if is_mild(c)]
    hot = {p.iri for p in context.differential.of_nature("hot")}
    return free or [c for c in mine if all(f.against in hot for f in c.reservations)]


def _ground(candidate: Candidate) -> Fact:
    if candidate.paths:
        hop = candidate.reason()[0].hops[-1]
        return Fact(hop.subject, NamedNode(hop.predicate), hop.object, hop.claim, hop.confidence)
    return (*candidate.fits, *candidate.effect_facts)[0]


def _signs(context: AnswerContext, patterns: Iterable[Pattern]) -> list[Fact]:
    """List the signs that only these patterns have, so that they tell cold from heat."""
    mine = list(patterns)
    others = {p.iri for p in context.differential.patterns} - {p.iri for p in mine}
    taken = {f.object for o in others for f in context.facts.of(o, SHIYI.hasManifestation)}
    found: dict[str, list[Fact]] = {}
    for pattern in mine:
        for fact in context.facts.of(pattern.iri, SHIYI.hasManifestation):
            if fact.object not in taken and fact.object not in context.parsed.ailments:
                found.setdefault(fact.object, []).append(fact)
    most = sorted(found.values(), key=lambda each: (-len(each), -each[0].confidence, each[0].claim))
    return [each[0] for each in most[:2]]


HOW: Final = (SHIYI.cookingMethod, SHIYI.consumptionMethod)
_OPERATED: Final = resource("population-postoperative").value
_GOOD: Final = (SHIYI.dietaryBenefit, SHIYI.primaryEffect)
_PER_MATERIAL: Final = 2  # a substance and one dish of it, or two dishes of it


def advise(
    context: AnswerContext, retrieved: Retrieval, choice: Candidates, most: int
) -> Contribution:
    """Write the advice."""
    part = Contribution()
    if unclear(context):
        part.opening.add(context.verbalizer.verbalize("o_unclear"))
        part.follow_up.append(context.verbalizer.verbalize("q_cold_heat"))
        part.section("h_ask").add(part.follow_up[-1])
        write_red_flags(context, (), part, persist=True)
        return part
    chosen = _spread(context, choice.open, 3 if context.differential.undecided else most)
    _write_opening(context, choice, chosen, part)
    for candidate in chosen:
        _recommend(context, candidate, part)
    branches(context, choice, part)
    write_not_recommended(context, choice, part)
    _cautions(context, chosen, part)
    part.paths += [*(path for c in chosen for path in c.reason()[:1]), *choice.paths]
    _ask(context, chosen, part)
    ailments = context.parsed.ailments
    checks(context, ailments, part)
    write_red_flags(context, ailments, part, persist=bool(ailments or context.parsed.aims))
    if _OPERATED in context.parsed.populations:
        part.section("h_doctor").add(context.verbalizer.verbalize("s_operation"))
    if context.parsed.is_of_child() and chosen:
        part.section("h_caution").add(context.verbalizer.verbalize("s_child"))
    if choice.loosened and ailments:
        part.missing.append(context.verbalizer.verbalize("m_season"))
    if not retrieved.paths and ailments:
        part.missing.append(
            context.verbalizer.verbalize("m_food", sign=context.verbalizer.names(ailments))
        )
    return part


def unclear(context: AnswerContext) -> bool:
    """Return whether words stand where the trouble should, and none of them was recognised."""
    parsed = context.parsed
    known = (*parsed.ailments, *parsed.constitutions, *parsed.aims)
    described = parsed.profile.constitution or parsed.profile.conditions
    return not (known or described) and bool(parsed.unknown)


def _spread(
    context: AnswerContext, candidates: tuple[Candidate, ...], most: int
) -> tuple[Candidate, ...]:
    """Select the best: at most two with one main material, a third dishes if there are any."""
    main = {c.iri for c in candidates}
    used: dict[str, int] = {}
    picked: list[Candidate] = []
    for candidate in candidates:
        parts = {candidate.iri} | {
            f.object
            for f in context.facts.of(candidate.iri, SHIYI.hasIngredient)
            if f.object in main
        }
        if all(used.get(each, 0) < _PER_MATERIAL for each in parts):
            picked.append(candidate)
            used |= {each: used.get(each, 0) + 1 for each in parts}
    dishes = [c for c in picked if context.facts.is_a(c.iri, SHIYI.Dish)][: (most + 2) // 3]
    others = [c for c in picked if c not in dishes][: most - len(dishes)]
    return tuple(c for c in picked if c in dishes or c in others)


def _write_opening(
    context: AnswerContext, choice: Candidates, chosen: tuple[Candidate, ...], part: Contribution
) -> None:
    verbalizer, differential = context.verbalizer, context.differential
    items = verbalizer.names(c.iri for c in chosen)
    if choice.form_missed and chosen:
        forms = verbalizer.names(choice.form_missed, "or")
        part.opening.add(verbalizer.verbalize("o_form_missed", form=forms))
    if differential.undecided:
        write_undecided(context, part)
        key = "o_open" if chosen else "o_none_open"
        part.opening.add(verbalizer.verbalize(key, items=items), *grounds(chosen))
        return
    pieces: list[Piece] = []
    if differential.leaning and context.parsed.ailments:
        sentence_key = "o_said" if differential.words else "o_leaning"
        words = verbalizer.quoted(differential.words[:2])
        pieces.append(
            (verbalizer.verbalize(f"{sentence_key}_{differential.leaning}", words=words), ())
        )
    if choice.group_missed and chosen:
        groups = context.verbalizer.names(context.parsed.asked_groups(context.facts))
        pieces.append((verbalizer.verbalize("o_group_missed", group=groups), ()))
    if choice.loosened and (context.parsed.ailments or context.parsed.constitutions):
        pieces.append((verbalizer.verbalize("o_loosened"), ()))
    key = "o_recommend" if chosen else "o_nothing"
    pieces.append((verbalizer.verbalize(key, items=items), grounds(chosen)))
    space = "" if verbalizer.language == "zh" else " "
    spaced = [
        (text + (space if i + 1 < len(pieces) else ""), facts)
        for i, (text, facts) in enumerate(pieces)
    ]
    part.opening.item(*spaced)


def grounds(chosen: Iterable[Candidate]) -> tuple[Fact, ...]:
    """Return for each the claim that recommends it."""
    return tuple(
        path_facts(c.reason()[0])[-1] if c.paths else c.fits[0] for c in chosen if c.paths or c.fits
    )


def path_facts(path: Path) -> tuple[Fact, ...]:
    """Return the claims of a path."""
    return tuple(
        Fact(h.subject, NamedNode(h.predicate), h.object, h.claim, h.confidence) for h in path.hops
    )


def _recommend(context: AnswerContext, candidate: Candidate, part: Contribution) -> None:
    verbalizer = context.verbalizer
    claims = [f.claim for p in candidate.reason() for f in path_facts(p)]
    claims += [f.claim for f in candidate.fits]
    part.recommendations.append(
        Recommendation(
            candidate.iri,
            verbalizer.name(candidate.iri),
            context.kind(candidate.iri),
            tuple(dict.fromkeys(claims)),
        )
    )
    section = part.section("h_why")
    pieces: list[Piece] = [(verbalizer.verbalize("w_name", x=verbalizer.name(candidate.iri)), ())]
    pieces.append(
        _reason(context, candidate, {f.claim for line in section.lines for f in line.facts})
    )
    how = _how(context, candidate.iri)
    explained = any(
        verbalizer.verbalize("r_how", text="") in line.text for line in section.lines[1:]
    )
    dish = context.facts.is_a(candidate.iri, SHIYI.Dish)
    if not how[0] or (explained and not dish):  # one plain food shows how such foods are taken
        how = _effect(context, candidate.iri) if not candidate.paths else ("", ())
    section.item(*join_pieces(context.verbalizer.language, [*pieces, how]))


def _reason(context: AnswerContext, candidate: Candidate, written: Collection[str]) -> Piece:
    """State the best way from the question to the candidate in plain words.

    What is ``written`` already of the way to the pattern is not repeated.
    """
    verbalizer, ways = context.verbalizer, candidate.reason()
    if not ways:
        fits = verbalizer.names(f.object for f in candidate.fits)
        return verbalizer.verbalize("r_fit", fits=fits), candidate.fits
    facts = tuple(f for path in ways for f in path_facts(path))
    fresh = tuple(f for f in facts if f.claim not in written)
    signs = verbalizer.names(path.entities[0] for path in ways)
    middles = ways[0].entities[1:-1]
    values = {"signs": signs}
    if not middles:
        mine = context.facts.is_a(ways[0].entities[0], SHIYI.Constitution, SHIYI.Syndrome)
        values["signs"] = verbalizer.these(path.entities[0] for path in ways)
        if any(path.hops[-1].predicate == SHIYI.isEffectiveFor.value for path in ways):
            rating = context.evidences.rating(ways[0].hops[-1].claim)
            rating = rating_text(verbalizer.language, rating)
            return verbalizer.verbalize("r_rated", rating=rating or "-", **values), facts
        listed = context.facts.is_a(candidate.iri, SHIYI.DSIngredient)
        effect = context.facts.is_a(ways[0].entities[0], SHIYI.Efficacy)
        key = "r_listed" if listed else "r_own" if mine else "r_has" if effect else "r_direct"
        return verbalizer.verbalize(key, **values), facts
    if context.facts.is_a(middles[0], SHIYI.Efficacy):
        return verbalizer.verbalize("r_for", effect=verbalizer.name(middles[0]), **values), facts
    state = next((m for m in middles if context.facts.is_a(m, SHIYI.Constitution)), middles[0])
    if all(path.hops[0].claim in written for path in ways) and fresh:
        return verbalizer.verbalize("r_state_again", state=verbalizer.the(state)), fresh
    if context.facts.is_a(ways[0].entities[0], SHIYI.Therapy):
        return verbalizer.verbalize("r_principle", state=verbalizer.the(state), **values), facts
    if context.facts.is_a(ways[0].entities[0], SHIYI.Symptom):
        return verbalizer.verbalize("r_state", state=verbalizer.the(state), **values), facts
    return verbalizer.verbalize("r_known", state=verbalizer.the(state), **values), facts


def _effect(context: AnswerContext, iri: str) -> Piece:
    """Return what it does: its recorded efficacy, else what a source writes of its use."""
    verbalizer = context.verbalizer
    found = context.facts.of(iri, SHIYI.hasEfficacy)[:1]
    if found:
        return verbalizer.verbalize(
            "r_efficacy", items=verbalizer.names(f.object for f in found)
        ), found
    return _text(context, iri, _GOOD)


def _how(context: AnswerContext, iri: str) -> Piece:
    text, facts = _text(context, iri, HOW)
    return (context.verbalizer.verbalize("r_how", text=text), facts) if text else ("", ())


def _text(context: AnswerContext, iri: str, predicates: Iterable[NamedNode]) -> Piece:
    for predicate in predicates:
        for fact in context.facts.texts(iri, predicate, context.verbalizer.language)[:1]:
            return context.verbalizer.words(fact).rstrip("。.；; "), (fact,)
    return "", ()


def _cautions(context: AnswerContext, chosen: Iterable[Candidate], part: Contribution) -> None:
    """Name what speaks against the items should it apply, by whom it concerns."""
    about: dict[str, list[Finding]] = {}
    for candidate in chosen:
        found = list(context.safety.conditional(candidate.iri))
        for link in context.facts.of(candidate.iri, SHIYI.hasIngredient):
            found += [
                f for f in context.safety.conditional(link.object) if f.severity == "interaction"
            ]
        about[candidate.iri] = found
    for pieces in caution_lines(context, about):
        part.section("h_caution").item(*pieces)
    person = context.parsed.person
    diets = (s for s in person.states if context.facts.of(s, SHIYI.excludesFoodGroup))
    if about and (person.allergies or person.left_out or any(diets)):
        part.section("h_caution").add(context.verbalizer.verbalize("s_labels"))


def _ask(context: AnswerContext, chosen: Collection[Candidate], part: Contribution) -> None:
    patterns: Iterable[Pattern] = (
        context.differential.patterns if context.differential.undecided else ()
    )
    question_texts(
        context, (*context.parsed.ailments[:2], *(p.iri for p in list(patterns)[:1])), part
    )
    del part.follow_up[1:], part.section("h_ask").lines[1:]
    section = part.section("h_ask")
    if context.differential.undecided and not part.follow_up:
        part.follow_up.append(context.verbalizer.verbalize("q_cold_heat"))
        section.add(part.follow_up[-1])
    if key := _unknown_of_person(context, bool(chosen)):
        part.follow_up.append(context.verbalizer.verbalize(key))
        section.add(part.follow_up[-1])


def _unknown_of_person(context: AnswerContext, is_advised: bool) -> str:
    """Return the key of the question for medicines and pregnancy, empty where both are known."""
    parsed = context.parsed
    if parsed.person.drugs:
        return ""
    pregnant = any(s.endswith("population-pregnant") for s in parsed.person.states)
    may_be = is_advised and not (parsed.is_of_child() or pregnant)
    may_be = may_be and parsed.profile.sex != "male" and parsed.profile.pregnant is None
    if parsed.frame.has_cue("no-medicines"):
        return "q_pregnant" if may_be else ""
    return "q_drugs_pregnant" if may_be else "q_drugs"
