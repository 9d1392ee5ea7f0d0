"""Recommendations with their reasons."""

from collections.abc import Collection, Iterable
from typing import Final

from shiyi.answering.knowledge.facts import Fact
from shiyi.answering.recommendation.candidates import Candidate, Candidates
from shiyi.answering.recommendation.cautions import write_vetoed
from shiyi.answering.retrieval.paths import Retrieval
from shiyi.answering.safety import Finding
from shiyi.answering.understanding.differentiation import Pattern
from shiyi.answering.wording.draft import (
    AnswerContext,
    Contribution,
    Piece,
    question_texts,
    write_red_flags,
)
from shiyi.answering.wording.verbalization import rating_text
from shiyi.model.answer import Recommendation
from shiyi.model.iris import resource
from shiyi.model.path import Path
from shiyi.model.rdf import NamedNode
from shiyi.ontology.terms import SHIYI

HOW: Final = (SHIYI.cookingMethod, SHIYI.consumptionMethod)
_OPERATED: Final = resource("population-postoperative").value
_MOST_CHOICES: Final = 4
_PER_MATERIAL: Final = 2  # a substance and one dish of it, or two dishes of it


def advise(
    context: AnswerContext, retrieved: Retrieval, choice: Candidates, limit: int
) -> Contribution:
    """Write the advice."""
    part = Contribution()
    if is_unclear(context):
        part.opening.add(context.verbalizer.verbalize("o_unclear"))
        part.follow_up.append(context.verbalizer.verbalize("q_cold_heat"))
        part.section("h_ask").add(part.follow_up[-1])
        write_red_flags(context, (), part, persist=True)
        return part
    candidates = _select_varied(context, choice.open, min(limit, _MOST_CHOICES))
    _write_opening(context, choice, candidates, part)
    write_vetoed(context, choice, part)
    _labels(context, candidates, part)
    part.paths += [*(path for c in candidates for path in c.reason()[:1]), *choice.paths]
    _ask(context, candidates, part)
    ailments = context.parsed.ailments
    write_red_flags(context, ailments, part, persist=bool(ailments or context.parsed.aims))
    if _OPERATED in context.parsed.populations:
        part.section("h_doctor").add(context.verbalizer.verbalize("s_operation"))
    if context.parsed.is_of_child() and candidates:
        part.section("h_caution").add(context.verbalizer.verbalize("s_child"))
    if choice.loosened and ailments:
        part.missing.append(context.verbalizer.verbalize("m_season"))
    if not retrieved.paths and ailments:
        part.missing.append(
            context.verbalizer.verbalize("m_food", sign=context.verbalizer.names(ailments))
        )
    return part


def is_unclear(context: AnswerContext) -> bool:
    """Return whether words stand where the trouble should, and none of them was recognised."""
    question = context.parsed
    ailments = (*question.ailments, *question.constitutions, *question.aims)
    constitution = question.profile.constitution or question.profile.conditions
    return not (ailments or constitution) and bool(question.unknown)


def _select_varied(
    context: AnswerContext, candidates: tuple[Candidate, ...], limit: int
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
        if all(used.get(part, 0) < _PER_MATERIAL for part in parts):
            picked.append(candidate)
            used |= {part: used.get(part, 0) + 1 for part in parts}
    dishes = [c for c in picked if context.facts.is_a(c.iri, SHIYI.Dish)][: (limit + 2) // 3]
    others = [c for c in picked if c not in dishes][: limit - len(dishes)]
    return tuple(c for c in picked if c in dishes or c in others)


def _write_opening(
    context: AnswerContext, choice: Candidates, chosen: tuple[Candidate, ...], part: Contribution
) -> None:
    verbalizer, differential = context.verbalizer, context.differential
    if choice.form_missed and chosen:
        forms = verbalizer.names(choice.form_missed, "or")
        part.opening.add(verbalizer.verbalize("o_form_missed", form=forms))
    reasons = [_recommend(context, candidate, part) for candidate in chosen]
    if differential.is_undecided:
        if chosen:
            part.opening.item(*_choices(context, "o_open", reasons))
        else:
            part.opening.add(verbalizer.verbalize("o_undecided"))
            for branch in ("hot", "cold"):
                for finding in _plainest_reservation(context, choice, branch):
                    part.opening.add(verbalizer.state_finding(finding), *finding.stated_claims)
        return
    pieces: list[Piece] = []
    if differential.leaning and context.parsed.ailments:
        sentence_key = "o_said" if differential.words else "o_leaning"
        words = verbalizer.quote(differential.words[:2])
        pieces.append(
            (verbalizer.verbalize(f"{sentence_key}_{differential.leaning}", words=words), ())
        )
    if choice.group_missed and chosen:
        groups = context.verbalizer.names(context.parsed.asked_groups(context.facts))
        pieces.append((verbalizer.verbalize("o_group_missed", group=groups), ()))
    if choice.loosened and (context.parsed.ailments or context.parsed.constitutions):
        pieces.append((verbalizer.verbalize("o_loosened"), ()))
    spaced = [(text + verbalizer.space, facts) for text, facts in pieces]
    checked = context.parsed.groups and context.parsed.meets_anything()  # with its own verdict
    nothing = [] if checked else [(verbalizer.verbalize("o_nothing"), ())]
    results = [*spaced, *(_choices(context, "o_recommend", reasons) if chosen else nothing)]
    if results:
        part.opening.item(*results)


def _plainest_reservation(
    context: AnswerContext, choice: Candidates, branch: str
) -> tuple[Finding, ...]:
    """Return why one candidate has to wait: the one with most against it, of fewest ingredients."""
    waiting = [c for c in choice.waiting if c.branch == branch and c.reservations]

    def place(candidate: Candidate) -> tuple[int, int, str]:
        grave = sum(f.severity == "contraindicated" for f in candidate.reservations)
        parts = context.facts.of(candidate.iri, SHIYI.hasIngredient)
        return -grave, len(parts), candidate.iri

    return min(waiting, key=place).reservations[:1] if waiting else ()


def _choices(context: AnswerContext, key: str, reasons: Iterable[tuple[str, Piece]]) -> list[Piece]:
    """Write the choices in one sentence, those of one reason together with it."""
    verbalizer = context.verbalizer
    alike: dict[str, list[tuple[str, tuple[Fact, ...]]]] = {}
    for name, (why, facts) in reasons:
        alike.setdefault(why, []).append((name, facts))
    before, _, after = verbalizer.verbalize(key, items="\0").partition("\0")
    pieces = [(before, tuple[Fact, ...]())]
    for n, (why, named) in enumerate(alike.items()):
        names = verbalizer.join((name for name, _ in named), "or")
        rest = verbalizer.verbalize("o_choice", x=names, why=why)
        rest = verbalizer.verbalize("v_clause") + rest if n else rest
        for name, facts in named[:-1]:  # each is cited
            head, _, rest = rest.partition(name)
            pieces.append((head + name, facts))
        pieces.append((rest, named[-1][1]))
    return [*pieces, (after, ())]


def path_facts(path: Path) -> tuple[Fact, ...]:
    """Return the claims of a path."""
    return tuple(
        Fact(h.subject, NamedNode(h.predicate), h.object, h.claim, h.confidence) for h in path.hops
    )


def _recommend(
    context: AnswerContext, candidate: Candidate, part: Contribution
) -> tuple[str, Piece]:
    """Add a recommendation; return its name with the reason for it."""
    verbalizer = context.verbalizer
    facts = (*(f for p in candidate.reason() for f in path_facts(p)), *candidate.fits)
    name, kind = verbalizer.name(candidate.iri), context.kind(candidate.iri)
    claims = tuple(dict.fromkeys(f.claim for f in facts))
    part.recommendations.append(Recommendation(candidate.iri, name, kind, claims))
    return name, _reason(context, candidate)


def _reason(context: AnswerContext, candidate: Candidate) -> Piece:
    """State the best way from the question to the candidate in plain words."""
    verbalizer, ways = context.verbalizer, candidate.reason()
    if not ways:
        fits = verbalizer.names(f.object for f in candidate.fits)
        return verbalizer.verbalize("r_fit", fits=fits), candidate.fits
    facts = tuple(f for path in ways for f in path_facts(path))
    signs = verbalizer.names(path.entities[0] for path in ways)
    middles = ways[0].entities[1:-1]
    values = {"signs": signs}
    if not middles:
        mine = context.facts.is_a(ways[0].entities[0], SHIYI.Constitution, SHIYI.Syndrome)
        values["signs"] = verbalizer.inline_names(path.entities[0] for path in ways)
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
    if context.facts.is_a(ways[0].entities[0], SHIYI.Therapy):
        return verbalizer.verbalize(
            "r_principle", state=verbalizer.inline_name(state), **values
        ), facts
    if context.facts.is_a(ways[0].entities[0], SHIYI.Symptom):
        return verbalizer.verbalize("r_state", state=verbalizer.inline_name(state), **values), facts
    return verbalizer.verbalize("r_known", state=verbalizer.inline_name(state), **values), facts


def _labels(context: AnswerContext, chosen: Collection[Candidate], part: Contribution) -> None:
    """State to read labels, where somebody does not eat or may not eat something."""
    person = context.parsed.person
    diets = (s for s in person.states if context.facts.of(s, SHIYI.excludesFoodGroup))
    if chosen and (person.allergies or person.left_out or any(diets)):
        part.section("h_caution").add(context.verbalizer.verbalize("s_labels"))


def _ask(context: AnswerContext, chosen: Collection[Candidate], part: Contribution) -> None:
    patterns: Iterable[Pattern] = (
        context.differential.patterns if context.differential.is_undecided else ()
    )
    question_texts(
        context, (*context.parsed.ailments[:2], *(p.iri for p in list(patterns)[:1])), part
    )
    section = part.section("h_ask")
    del part.follow_up[1:]
    section.lines.clear()
    if context.differential.is_undecided and not part.follow_up:
        part.follow_up.append(context.verbalizer.verbalize("q_cold_heat"))
    if key := _unknown_of_person(context, bool(chosen)):
        part.follow_up.append(context.verbalizer.verbalize(key))
    if part.follow_up:  # one question is asked: what decides, else what is not known of who eats
        decides = context.differential.is_undecided
        section.add(part.follow_up[0 if decides else -1])


def _unknown_of_person(context: AnswerContext, is_advised: bool) -> str:
    """Return the key of the question for medicines and pregnancy, empty where both are known."""
    question = context.parsed
    if question.person.drugs:
        return ""
    pregnant = any(s.endswith("population-pregnant") for s in question.person.states)
    may_be = is_advised and not (question.is_of_child() or pregnant)
    may_be = may_be and question.profile.sex != "male" and question.profile.pregnant is None
    if question.frame.has_cue("no-medicines"):
        return "q_pregnant" if may_be else ""
    return "q_drugs_pregnant" if may_be else "q_drugs"
