"""The verdict on each pair, and the one that an answer comes down to."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, islice
from typing import Final

from shiyi.answering.knowledge.evidence import Evidences
from shiyi.answering.knowledge.facts import (
    ADVERSE,
    AILMENT,
    BENEFIT,
    CAUTION,
    COMPOSITION,
    INCOMPATIBLE,
    INTERACTION,
    TOXIC,
    Fact,
)
from shiyi.answering.knowledge.severity import RATINGS
from shiyi.answering.recommendation.cautions import caution_pieces
from shiyi.answering.safety import Finding
from shiyi.answering.understanding.patient import Person
from shiyi.answering.understanding.question import Question
from shiyi.answering.wording.draft import (
    AnswerContext,
    ComposedAnswer,
    Contribution,
    Line,
    Piece,
    sort_gravest,
)
from shiyi.answering.wording.verbalization import capital, finish, join_names, rating_text
from shiyi.model.answer import SafetyWarning, Verdict
from shiyi.model.iris import resource
from shiyi.ontology.terms import SHIYI

_MOST: Final = 12  # things that a material is checked with


@dataclass(frozen=True, slots=True)
class Case:
    """What one name of the question may mean, what it is to meet, and what was found."""

    materials: tuple[str, ...]
    targets: tuple[str, ...]
    found: tuple[Finding, ...]
    kin: tuple[str, ...] = ()  # relatives among the materials, which nobody named

    @property
    def senses(self) -> tuple[str, ...]:
        """List the materials that the name may mean, without their relatives."""
        return tuple(m for m in self.materials if m not in self.kin)

    @property
    def is_barred(self) -> bool:
        """Return whether it is not to be taken, which says enough."""
        return any(f.severity == "contraindicated" for f in self.found)

    def findings_against(self, target: str) -> tuple[Finding, ...]:
        """List what was found against one target."""
        return tuple(f for f in self.found if f.against == target)


def assess_case(context: AnswerContext, group: tuple[str, ...]) -> Case:
    """Check a material, or the few a word may mean, against all that is named beside it."""
    question = context.parsed
    place = question.groups.index(group)
    beside = [m for m in question.materials if m not in group]
    findings = [f for m in group for f in context.safety.check(m, question.person, beside)]
    states = (*question.ailments, *question.constitutions, *question.populations)
    states = states or _of_profile(context)
    warned = {f.against for f in findings}
    findings += [
        f for m in group for f in context.safety.reactions(m, states) if f.against not in warned
    ]
    named = (*question.drugs, *states)
    others = [m for later in question.groups[place + 1 :] for m in later]
    kin = _of_kin(context, group, beside, others).besides(context, findings)
    findings, group = [*findings, *kin.found], (*group, *kin.materials)
    others = [kin.instead.get(o, o) for o in others]
    if (
        named or question.person.allergies
    ):  # two foods of one question are compared where a source speaks of them
        others = [o for o in others if any(context.safety.check(m, Person(), [o]) for m in group)]
    earlier = {m for g in question.groups[:place] for m in g}  # stated from the other side
    targets = tuple(dict.fromkeys(t for t in (*named, *others) if t not in group))[:_MOST]
    new = tuple(f for f in findings if f.against not in earlier)
    return Case(group, targets, new, kin.materials)


def _of_profile(context: AnswerContext) -> tuple[str, ...]:
    """List what a profile alone states that a thing is judged by: constitution, illness, stage."""
    person, facts = context.parsed.person, context.facts
    classes = (SHIYI.Constitution,) if person.drugs else (SHIYI.Constitution, *AILMENT)
    return tuple(s for s in person.states if s in _STAGES or facts.is_a(s, *classes))


_OF_STAGE: Final = ("pregnant", "lactating", "infant", "young-child", "child", "adolescent")
_STAGES: Final = frozenset(resource(f"population-{name}").value for name in _OF_STAGE)


@dataclass(frozen=True, slots=True)
class _Relatives:
    """What is recorded of the herb for a supplement of one organism, or the other way round."""

    materials: tuple[str, ...]
    found: tuple[Finding, ...]
    instead: Mapping[str, str]  # the relative that a thing beside was checked as

    def besides(self, context: AnswerContext, findings: Sequence[Finding]) -> "_Relatives":
        """Keep what ``findings`` of the thing itself lack, and what is rated graver.

        So the herb and what is sold of it, which two languages name by one word, are judged alike.
        """
        known: dict[str, int] = {}
        for finding in findings:
            rank = _gravity(context, finding)
            known[finding.against] = min(rank, known.get(finding.against, rank))
        found = self.found
        new = (
            f for f in found if f.against not in known or _gravity(context, f) < known[f.against]
        )
        findings = tuple(new)
        found_materials = {f.material for f in findings}
        return _Relatives(
            tuple(m for m in self.materials if m in found_materials), findings, self.instead
        )


def _gravity(context: AnswerContext, finding: Finding) -> int:
    """Order findings of interactions by their ratings; any other comes first."""
    rated = bool(finding.facts) and finding.fact.predicate in INTERACTION
    return context.evidences.gravity(finding.fact.claim) if rated else -1


def _of_kin(
    context: AnswerContext, group: tuple[str, ...], beside: list[str], later: list[str]
) -> _Relatives:
    """Check the relatives of a material, then the material against those of what comes later."""
    person, named = context.parsed.person, context.parsed.materials
    siblings, findings = context.facts.siblings, dict[str, tuple[Finding, ...]]()
    for iri in dict.fromkeys(o for m in group for o in siblings(m) if o not in named):
        if reasons := context.safety.check(iri, person, beside):
            findings[iri] = reasons
    if findings:
        return _Relatives(tuple(findings), tuple(f for row in findings.values() for f in row), {})
    near = {o: other for other in later for o in siblings(other) if o not in named}
    clashes = [f for m in group for f in context.safety.check(m, Person(), near)]
    return _Relatives((), tuple(clashes), {near[f.against]: f.against for f in clashes})


_MOST_COMPARED, _MOST_CONFUSED, _MOST_CAUTIONED = 12, 1, 4
_MOST_PAIRS = 16  # of a material and an ailment, to look up the rating
RATED: Final = (SHIYI.isEffectiveFor, SHIYI.studiedFor)


def benefits(context: AnswerContext, material: str, target: str) -> tuple[Fact, ...]:
    """List the uses of a material for a target that a source supports."""
    return tuple(
        f
        for f in context.facts.between(material, target)
        if f.predicate in BENEFIT
        and f.positive
        and not f.derived
        and context.evidences.supports(f.claim)
    )


def list_rated(context: AnswerContext, material: str, ailment: str) -> tuple[tuple[Fact, str], ...]:
    """List what is rated of a material for an ailment, ineffective too, each with its rating."""
    return tuple(
        (fact, rating)
        for fact in context.facts.between(material, ailment)
        if fact.predicate in RATED and (rating := context.evidences.rating(fact.claim))
    )


def write_ratings(context: AnswerContext, part: Contribution) -> None:
    """State the rating of each named effect that no line states yet."""
    verbalizer = context.verbalizer
    lines = [line for section in (part.opening, *part.sections) for line in section.lines]
    pairs = ((m, a) for m in context.parsed.materials for a in context.parsed.ailments)
    for material, ailment in islice(pairs, _MOST_PAIRS):
        for fact, rating in list_rated(context, material, ailment)[:1]:
            result = rating_text(verbalizer.language, rating)
            if any(fact in line.facts and result in line.text for line in lines):
                continue
            values = {"x": verbalizer.name(material), "y": verbalizer.name(ailment)}
            text = verbalizer.verbalize("v_rating_only", rating=result, **values)
            message = capital(verbalizer.add_kind(text, [fact.claim]), verbalizer.language)
            part.opening.add(verbalizer.add_note(message, fact), fact)


def name_of(context: AnswerContext, materials: Iterable[str]) -> str:
    """Name the materials that one name may mean, without groups above another of them."""
    every = list(materials)
    groups = {above for iri in every for above in context.facts.above(iri)[1:]}
    return context.verbalizer.names([iri for iri in every if iri not in groups] or every)


def write_use(
    context: AnswerContext, good: tuple[Fact, ...], target: str, part: Contribution, level: str
) -> None:
    """State that a use is recorded: as the verdict, or in few words beside a milder warning."""
    verbalizer, y = context.verbalizer, context.verbalizer.name(target)
    x = verbalizer.names(f.other(target) for f in good)
    part.paths += [f.path(f.subject) for f in good]
    if not level:
        part.opening.add(_use_of(context, good, x, y), *good[:2])
    elif level not in BARRING:
        part.opening.add(verbalizer.verbalize("v_mixed", x=x, y=y), *good[:2])


def aims(context: AnswerContext, case: Case) -> dict[str, list[Fact]]:
    """List for each symptom the efficacies that are for it, or for a broader one, and what says so.

    There is none where a use of the thing or a harm is recorded, or the thing is not to be taken.
    """
    found_facts: dict[str, list[Fact]] = {}
    if case.is_barred or context.parsed.is_feverish_child():
        return found_facts
    for target in case.targets:
        near = context.facts.above(target)
        if not case.findings_against(target) and not any(
            benefits(context, m, target) for m in case.materials
        ):
            pairs = (
                (has, aim)
                for m in case.materials
                for has in context.facts.of(m, SHIYI.hasEfficacy)
                for aim in context.facts.of(has.object, SHIYI.directedAt)
                if aim.object in near
            )
            if facts := [fact for pair in pairs for fact in pair]:
                found_facts[target] = facts
    return found_facts


def write_symptoms(
    context: AnswerContext,
    case: Case,
    aimed: Mapping[str, list[Fact]],
    part: Contribution,
    beside: bool,
) -> None:
    """State that efficacies are for some symptoms, and no more; ``beside`` it is no headline."""
    verbalizer, facts = context.verbalizer, [f for group in aimed.values() for f in group]
    has = [f for f in facts if f.predicate == SHIYI.hasEfficacy]
    text = verbalizer.verbalize(
        "v_effect",
        x=verbalizer.names(f.subject for f in has),
        y=verbalizer.names(aimed),
        effects=verbalizer.quote(dict.fromkeys(verbalizer.name(f.object) for f in has)),
        signs=verbalizer.names(f.object for f in facts if f not in has),
    )
    place = part.section("h_compare") if beside else part.opening
    place.add(text, *facts)
    if not beside:
        patterns_behind(context, case.materials, aimed, part)


def _use_of(context: AnswerContext, facts: tuple[Fact, ...], x: str, y: str) -> str:
    """State that a use is recorded, and how far a source trusts it."""
    verbalizer = context.verbalizer
    ratings = (context.evidences.rating(f.claim) for f in facts if f.predicate in RATED)
    if rating := next((r for r in ratings if r), ""):
        return verbalizer.verbalize(
            "v_rated", x=x, y=y, rating=rating_text(verbalizer.language, rating)
        )
    sold = all(context.facts.is_a(f.subject, SHIYI.DSIngredient) for f in facts)
    return verbalizer.verbalize("v_listed" if sold else "v_good", x=x, y=y)


def patterns_behind(
    context: AnswerContext, materials: tuple[str, ...], targets: Iterable[str], part: Contribution
) -> None:
    """Write that a thing is recorded for the pattern behind a disease."""
    verbalizer = context.verbalizer
    for disease in targets:
        for link in context.facts.of(disease, SHIYI.hasSyndrome):
            fits = [f for m in materials for f in benefits(context, m, link.object)]
            against = [
                f for m in materials for f in context.safety.against_states(m, [link.object])
            ]
            if fits and not against:
                values = {"x": name_of(context, materials), "y": verbalizer.inline_name(disease)}
                sentence = verbalizer.verbalize(
                    "v_via", state=verbalizer.inline_name(link.object), **values
                )
                part.section("h_compare").add(capital(sentence, verbalizer.language), link, fits[0])
                break


def write_others(context: AnswerContext, part: Contribution) -> None:
    """Write the gravest cautions of things that nothing is recorded of for the asker."""
    pieces = list[Piece]()
    for group in context.parsed.groups[:_MOST_CAUTIONED]:
        findings = context.safety.conditional(group[0])
        findings = tuple(f for f in findings if context.facts.is_a(f.against, SHIYI.Population))
        if own := caution_pieces(context, findings, 1):
            name = context.verbalizer.verbalize("w_name", x=context.verbalizer.name(group[0]))
            mark = context.verbalizer.verbalize("v_clause") if pieces else ""
            pieces += [(mark + name, ()), own[0]]
    if pieces:
        part.section("h_caution").item(*pieces, (context.verbalizer.stop, ()))


def distinguish(context: AnswerContext, part: Contribution) -> None:
    """Name what is mistaken for what; first, where they are compared."""
    first = context.parsed.wants("compare")
    place = part.opening if first else part.section("h_caution")
    lines: list[Line] = []
    for one, other in combinations(context.parsed.materials[:_MOST_COMPARED], 2):
        for fact in context.facts.between(one, other):
            if fact.predicate == SHIYI.confusedWith and fact.positive:
                x, y = map(context.verbalizer.name, (fact.subject, fact.object))
                text = context.verbalizer.verbalize("f_confused", x=x, y=y)
                text = context.verbalizer.add_note(text, fact)
                lines.append(Line(((text, (fact,)),), 1))
    place.lines[:0] = lines[:_MOST_CONFUSED]


_VERDICT: Final = {"contraindicated": "v_contra", "interaction": "v_inter", "caution": "v_caution"}
_VERDICTS: Final = (
    "v_allergy", "v_diet", "v_avoided", "v_pair", "v_contra", "v_inter", "v_unfit", "v_limited",
    "v_caution", "v_adverse",
)  # fmt: skip
NOT_EATEN: Final = frozenset({"v_allergy", "v_diet", "v_avoided"})
BARRING: Final = ("no", "custom", "unfit")  # levels of what is not to be taken
LEVELS: Final = (*BARRING, "ask", "care", "minor")  # the gravest first
_GRADES: Final = {"g_unfit": "v_unfit", "g_discouraged": "v_unfit", "g_limited": "v_limited"}
_MOST_NOTES: Final = 3  # of one line


def write_verdicts(context: AnswerContext, findings: Iterable[Finding], part: Contribution) -> str:
    """Write a line for each level of gravity that is met, the gravest first; return that level.

    A line opens with the verdict; the notes of its claims follow as the reasons.
    """
    levels: dict[str, list[Finding]] = {}
    for finding in findings:
        levels.setdefault(level_of(context, finding), []).append(finding)
    if len(levels) > 1:  # a graver one of the same, or of a relative, decides
        levels.pop("minor", None)
    for level in (each for each in LEVELS if each in levels):
        part.opening.item(*compose_verdict(context, level, levels[level]))
    return next((each for each in LEVELS if each in levels), "")


def level_of(context: AnswerContext, finding: Finding) -> str:
    """Return how grave a finding is, from its rating or its source's own grade."""
    key = _phrase_of(context, finding)
    if key == "v_inter":
        rating = context.evidences.rating(finding.fact.claim)
        return {"major": "no", "minor": "minor"}.get(rating, "ask")
    if key == "v_contra" and context.facts.is_a(
        finding.against, SHIYI.Syndrome, SHIYI.Constitution
    ):
        return "custom"
    return _LEVEL_OF.get(key, "no")


_LEVEL_OF: Final = {
    "v_unfit": "unfit", "v_limited": "care", "v_caution": "care", "v_adverse": "care",
}  # fmt: skip


def _phrase_of(context: AnswerContext, finding: Finding) -> str:
    key = verdict_key(finding)
    own = _GRADES.get(context.verbalizer.grade_key(finding.fact)) if key == "v_caution" else None
    return own or key


def lead(context: AnswerContext, level: str) -> str:
    """Return the words that a verdict opens with; "no" only where leave is asked for."""
    frame = context.parsed.frame
    leave = context.parsed.wants("may") and frame.has_cue("permission")
    plain_no = leave and frame.polarity == "positive" and not frame.has_cue("harm-asked")
    key = "not" if level == "no" and not plain_no else level
    return context.verbalizer.verbalize(f"lead_{key}")


def write_toxic_verdict(context: AnswerContext, poison: Finding) -> str:
    """Return the verdict on a thing that is itself toxic."""
    grave = poison.severity == "contraindicated"
    x, y = map(context.verbalizer.name, (poison.material, poison.against))
    text = context.verbalizer.verbalize("v_toxic" if grave else "v_toxic_food", x=x, y=y)
    return lead(context, "no" if grave else "care") + text


def compose_verdict(context: AnswerContext, level: str, findings: Sequence[Finding]) -> list[Piece]:
    """Return what opens with the words of a level, and its reasons."""
    verbalizer = context.verbalizer
    mark, pieces = verbalizer.verbalize("v_clause"), list[Piece]()
    phrases = _phrases(context, findings)
    for n, (text, same) in enumerate(phrases):
        facts = tuple({f.claim: f for x in same for f in x.stated_claims}.values())
        before = mark if n else lead(context, level)
        pieces.append((before + text + _remark(context, same, alone=len(phrases) == 1), facts))
    pieces.append((verbalizer.stop, ()))
    texts = _reasons(context, findings)
    if findings[0].facts and verbalizer.mostly_cases(findings[0].fact):
        texts.append(verbalizer.verbalize("f_case_report"))
    pieces += [(verbalizer.space + each, ()) for each in texts]
    return pieces


def _reasons(context: AnswerContext, findings: Iterable[Finding]) -> list[str]:
    """Return the notes of some findings, without one that repeats what stands before it."""
    verbalizer, written, texts = context.verbalizer, set[str](), list[str]()
    for found in findings:
        note = verbalizer.note(found.fact) if found.facts else ""
        clauses = {part.strip().lower() for part in _CLAUSE.split(note)} - {""}
        if clauses and 2 * len(clauses & written) < len(clauses) and len(texts) < _MOST_NOTES:
            texts.append(capital(finish(note, verbalizer.stop), verbalizer.language))
            written |= clauses
        if context.facts.is_a(found.against, SHIYI.Population) or verdict_key(found) in NOT_EATEN:
            texts += [each for each in verbalizer.judgement_reasons(found) if each not in texts]
    return texts


_CLAUSE: Final = re.compile("[，。；：,.;:]")


def _phrases(context: AnswerContext, items: Iterable[Finding]) -> list[tuple[str, list[Finding]]]:
    """Return what is recorded in few phrases: things and states that share a grade together."""
    verbalizer = context.verbalizer
    graded: dict[tuple[str, str], dict[str, list[Finding]]] = {}
    for finding in items:
        key = _phrase_of(context, finding)
        rating = context.evidences.rating(finding.fact.claim) if key == "v_inter" else ""
        graded.setdefault((key, rating), {}).setdefault(finding.material, []).append(finding)
    phrases = list[tuple[str, list[Finding]]]()
    for key, rating in sorted(graded, key=lambda k: (_VERDICTS.index(k[0]), k[1])):
        findings: dict[tuple[str, ...], list[Finding]] = {}
        for group in graded[key, rating].values():
            findings.setdefault(tuple(dict.fromkeys(f.against for f in group)), []).extend(group)
        for against, group in findings.items():
            if key in NOT_EATEN:
                own = {f.material: f for f in group}.values()
                phrases += [(verbalizer.state_exclusion(each), [each]) for each in own]
                continue
            values = {"x": _name_things(context, group), "y": verbalizer.inline_names(against)}
            phrases.append((verbalizer.verbalize(key, **values), group))
    return phrases


def _remark(context: AnswerContext, findings: Sequence[Finding], *, alone: bool) -> str:
    """Write in brackets the rating, of what else it is recorded, and how that is known."""
    verbalizer, facts = context.verbalizer, [f.fact for f in findings if f.facts]
    parts = [_grade(context, facts)]
    meant = {iri for finding in findings for iri in (finding.material, finding.against)}
    meant |= {f.through for f in findings if f.through in context.facts.below(f.material)}
    ends = (end for fact in facts for end in (fact.subject, fact.object))
    if others := [end for end in dict.fromkeys(ends) if end not in meant]:
        parts.append(verbalizer.verbalize("v_recorded_of", z=verbalizer.inline_names(others)))
    parts.append(verbalizer.name_kinds(f.claim for f in facts) if alone and facts else "")
    mark = verbalizer.verbalize("v_clause")
    text = mark.join(filter(None, parts))
    return verbalizer.verbalize("f_source", sources=text) if text else ""


def _name_things(context: AnswerContext, findings: Iterable[Finding]) -> str:
    """Name the things, or the only kind of one that is recorded: vitamin D (cod liver oil)."""
    verbalizer, kinds = context.verbalizer, dict[str, set[str]]()
    findings = list(findings)
    groups = {above for f in findings for above in context.facts.above(f.material)[1:]}
    own = [f for f in findings if f.material not in groups]
    for each in own or findings:
        below = context.facts.below(each.material)[1:]
        kinds.setdefault(each.material, set()).add(each.through if each.through in below else "")
    named = [
        verbalizer.name(m)
        if "" in of
        else verbalizer.verbalize("v_kind", x=verbalizer.name(m), y=verbalizer.names(sorted(of)))
        for m, of in kinds.items()
    ]
    return join_names(verbalizer.language, named)


def verdict_key(finding: Finding) -> str:
    """Return the key of the phrase that says how grave a finding is."""
    if finding.facts and finding.fact.predicate in ADVERSE:
        return "v_adverse"
    rule = any(f.predicate == SHIYI.excludesFoodGroup for f in finding.facts)
    if finding.left_out:
        return "v_diet" if rule else "v_avoided"
    if rule:
        return "v_contra"
    if not finding.facts or finding.fact.predicate not in (
        *CAUTION,
        *INTERACTION,
        *INCOMPATIBLE,
        SHIYI.unsuitableFood,
    ):
        return "v_allergy"
    if finding.fact.predicate in INCOMPATIBLE:
        return "v_pair"
    return _VERDICT[finding.severity]


def _grade(context: AnswerContext, facts: Iterable[Fact]) -> str:
    """Return the gravest rating of some interactions, or nothing."""
    ratings = {context.evidences.rating(f.claim) for f in facts if f.predicate in INTERACTION}
    worst = next((r for r in RATINGS if r in ratings), "")
    text = rating_text(context.verbalizer.language, worst)
    return context.verbalizer.verbalize("v_rating", rating=text) if worst else ""


def conclude(
    parsed: Question, part: Contribution, composed: ComposedAnswer, evidences: Evidences
) -> Verdict:
    """Return the verdict of an answer; its text is a sentence of the answer."""
    first = composed.sentences[0].text if composed.sentences else ""
    warnings = sort_gravest(part.warnings)
    if warnings and warnings[0].severity == "emergency":
        return Verdict("emergency", warnings[0].text, "emergency")
    if parsed.wants("stop_medicine"):
        return Verdict("ask_first", first, "caution")
    if part.recommendations:
        return Verdict("may_be_considered", first)
    if parsed.asks_of_unknown() and not parsed.wants("regulation", "constitution"):
        return Verdict("not_on_record", first)
    met = parsed.meets_anything()
    toxic = [
        w
        for w in warnings
        if {part.facts[c].predicate for c in w.claims if c in part.facts} & {*TOXIC}
    ]
    if toxic and parsed.wants("may", "how", "dose", "record") and not met:
        return _verdict_on_taking(toxic, part, composed, evidences)
    may = parsed.wants("may") and not parsed.frame.has_cue("related")
    if parsed.groups and ((met and warnings) or (may and (met or not warnings))):
        return _verdict_on_taking(warnings, part, composed, evidences)
    return Verdict("record" if composed.citations else "not_on_record", first)


def _verdict_on_taking(
    warnings: Sequence[SafetyWarning],
    part: Contribution,
    composed: ComposedAnswer,
    evidences: Evidences,
) -> Verdict:
    first = composed.sentences[0].text if composed.sentences else ""
    if not warnings:
        rests = {f.predicate for line in part.opening.lines for f in line.facts}
        if rests <= {*COMPOSITION}:  # which permits nothing
            return Verdict("record" if rests else "not_on_record", first)
        used = not rests.isdisjoint((*BENEFIT, SHIYI.studiedFor, SHIYI.hasEfficacy))
        return Verdict("may_be_considered" if used else "ask_first", first)
    worst = warnings[0]
    alike_warnings = (warning for warning in warnings if warning.severity == worst.severity)
    rated = {evidences.rating(claim) for warning in alike_warnings for claim in warning.claims}
    rating = next((r for r in RATINGS if r in rated), "unrated")
    severity = rating if worst.severity == "interaction" else worst.severity
    grave = severity in {"contraindicated", "major"}
    cited = {claim for warning in warnings for claim in warning.claims}
    opening = composed.sentences[: len(part.opening.lines)]
    text = next((s.text for s in opening if cited & {*s.claims}), first) or worst.text
    return Verdict("do_not_combine" if grave else "ask_first", text, severity)
