"""Lists: what to avoid, and what a method retrieved."""

from collections.abc import Collection, Iterable
from typing import Final

from shiyi.answering.knowledge.facts import CAUTION, COMPOSITION, MATERIAL, PROFILE, Fact
from shiyi.answering.methods.method import is_benefit, neighbours
from shiyi.answering.recommendation.cautions import objections, precedence
from shiyi.answering.retrieval.passages import PASSAGE
from shiyi.answering.retrieval.paths import Retrieval
from shiyi.answering.sections.records import (
    relation_lines,
    write_cautions,
    write_grave_note,
    write_toxic,
)
from shiyi.answering.sections.verdicts import distinguish, write_toxic_verdict
from shiyi.answering.wording.draft import AnswerContext, Contribution, Line, Piece, write_red_flags
from shiyi.answering.wording.verbalization import finish, verbalize
from shiyi.model.answer import SafetyWarning
from shiyi.model.iris import resource
from shiyi.model.rdf import NamedNode, local_name
from shiyi.ontology.terms import SHIYI

_ADULT: Final = 18  # years
_WIDE: Final = frozenset(
    resource(f"foodgroup-{name}").value for name in ("fruit", "vegetable", "animal")
)
_MOST_STATES, _MOST_AVOIDED, _MOST_MEETING = 5, 8, 12


def write_avoid_list(context: AnswerContext) -> Contribution:
    """Write what is recorded against in the states, and with the medicines, that were named.

    Where a group of foods is named (seafood, nuts), only its members are listed, if any.
    """
    part, verbalizer = Contribution(), context.verbalizer
    named = context.parsed.hazards[:_MOST_STATES]
    groups = {low for g in find_groups(context) for low in context.facts.below(g)}
    members = _members(context, named, groups)
    hazards = dict.fromkeys((*named, *_judged_as(context, named), *members))
    for state in hazards:
        drug = context.facts.is_a(state, SHIYI.Drug, SHIYI.DrugClass)
        found = _list_recorded(context, state, groups)
        if not drug and (medicines := [f for f in found if _is_medicine(context, f.other(state))]):
            found = [f for f in found if f not in medicines]
            names = verbalizer.names(f.other(state) for f in medicines[:_MOST_AVOIDED])
            text = verbalizer.verbalize(
                "a_medicines", sign=verbalizer.inline_name(state), items=names
            )
            if context.parsed.frame.has_cue("medicine"):
                part.section("h_caution").add(text, *medicines[:_MOST_AVOIDED])
        if not found:
            known = any(objections(context, s) for s in _judged_as(context, [state]))
            if state in named and not (groups or known or members):
                part.missing.append(verbalizer.verbalize("m_avoid", x=verbalizer.name(state)))
            continue
        facts = found[: _MOST_MEETING if drug else _MOST_AVOIDED]
        people = context.facts.is_a(state, SHIYI.Population)
        key = "a_avoid_with" if drug else "a_avoid_person" if people else "a_avoid"
        named_facts = [(f.other(state), f) for f in facts]
        pieces = cite_each(context, key, verbalizer.inline_name(state), named_facts)
        rest = len(found) - len(facts)
        end = verbalizer.verbalize("a_rest", n=str(rest)) if rest else ""
        part.opening.item(*pieces, (end + verbalizer.stop, ()))
        part.paths += [f.path(state) for f in facts[:2]]
    if part.opening.lines:
        part.section("h_caution").add(verbalizer.verbalize("s_avoid_rest"))
    else:
        part.opening.add(verbalizer.verbalize("o_none_against", x=verbalizer.names(named)))
        part.missing.clear()
    return part


def _is_medicine(context: AnswerContext, thing: str) -> bool:
    facts = context.facts
    return facts.is_a(thing, SHIYI.Drug, SHIYI.DrugClass) and not facts.is_a(thing, *MATERIAL)


def _list_recorded(context: AnswerContext, state: str, groups: Collection[str]) -> list[Fact]:
    """List what is recorded against with a medicine or in a state, of some groups if given."""
    drug = context.facts.is_a(state, SHIYI.Drug, SHIYI.DrugClass)
    facts = _interactions(context, state) if drug else _rank(context, objections(context, state))
    return [f for f in facts if _is_of(context, f.other(state), groups)] if groups else facts


def _members(
    context: AnswerContext, states: Iterable[str], groups: Collection[str]
) -> tuple[str, ...]:
    """List the medicines of a class that have a record, where the class has none itself."""
    silent = [
        state
        for state in states
        if context.facts.is_a(state, SHIYI.DrugClass) and not _list_recorded(context, state, groups)
    ]
    below = dict.fromkeys(low for iri in silent for low in context.facts.below(iri)[1:])
    return tuple(low for low in below if _list_recorded(context, low, groups))[:_MOST_STATES]


def _judged_as(context: AnswerContext, states: Iterable[str]) -> list[str]:
    """List what some states are judged as for safety: lupus as an autoimmune disease."""
    return [
        fact.object
        for state in states
        if not context.facts.is_a(state, SHIYI.Drug)
        for neighbours in context.facts.above(state)
        for fact in context.facts.of(neighbours, SHIYI.judgedAs)
    ]


def write_group(context: AnswerContext) -> Contribution:
    """Write what is recorded against among the members of a group of foods that is asked about."""
    part, verbalizer = write_avoid_list(context), context.verbalizer
    facts = [f for line in part.opening.lines for f in line.facts][:_MOST_AVOIDED]
    names = {
        "group": verbalizer.names(find_groups(context)),
        "y": verbalizer.names(context.parsed.hazards),
    }
    text = verbalizer.verbalize("o_group" if facts else "o_group_none", **names)
    if facts:
        part.opening.add(text)
    else:
        part.opening.lines[:] = [Line(((text, ()),), 1)]
    for fact in facts:
        thing = fact.object if fact.predicate == SHIYI.unsuitableFood else fact.subject
        if context.facts.is_a(thing, *MATERIAL):
            for finding in context.safety.against_states(thing, context.parsed.hazards)[:1]:
                part.warn(context, finding, is_stated=True)
    return part


def write_unsuited(context: AnswerContext) -> Contribution:
    """Write whom the things named do not suit, and what they are not taken with."""
    part, general = Contribution(), False
    leave = context.parsed.wants("may") and not context.parsed.frame.has_cue("who-may-not")
    groups = {a for m in context.parsed.materials for a in context.facts.above(m)[1:]}
    things = [x for g in context.parsed.groups for x in g[:2] if x not in groups or len(g) == 1]
    for thing in things[:_MOST_NAMED]:
        general |= _write_leave(context, thing, part) if leave else False
        if not leave:
            _write_against(context, thing, part)
    distinguish(context, part)
    if part.warnings and not general:
        part.section("h_caution").add(context.verbalizer.verbalize("s_avoid_rest"))
    return part


def _write_leave(context: AnswerContext, thing: str, part: Contribution) -> bool:
    """Write that no ban for everybody is recorded, then for whom one is; return whether so."""
    before = len(part.opening.lines)
    for poison in context.safety.poisons(thing):
        part.warn(context, poison, is_stated=True)
        part.opening.add(write_toxic_verdict(context, poison), *poison.stated_claims)
    grave = write_grave_note(context, thing, part)
    general = not grave and _is_conditional(context, thing)
    if general:
        part.opening.add(_open_leave(context, thing))
    write_cautions(context, thing, part, limit=_MOST_OTHERS, first=True)
    for link in context.facts.of(thing, SHIYI.hasIngredient)[:_MOST_LINES] if not general else ():
        write_cautions(context, link.object, part, limit=_MOST_OTHERS, first=True)
    if len(part.opening.lines) == before:
        _write_nobody(context, thing, part)
    return general


def _open_leave(context: AnswerContext, thing: str) -> str:
    """Return that no ban is recorded, for people in general or of the age that is given."""
    frame, verbalizer = context.parsed.frame, context.verbalizer
    age, x = frame.patient.age, verbalizer.name(thing)
    if frame.has_cue("teen") or (age is not None and age < _ADULT):
        return verbalizer.verbalize("v_general_teen", x=x)
    if age is not None:
        return verbalizer.verbalize("v_general_age", x=x, age=f"{age:g}")
    return verbalizer.verbalize("v_general", x=x)


def _write_against(context: AnswerContext, thing: str, part: Contribution) -> None:
    """Write all that is recorded against a thing and what it is made of."""
    before = len(part.opening.lines)
    write_toxic(context, thing, part)
    write_cautions(context, thing, part, limit=6, first=True)
    for link in context.facts.of(thing, SHIYI.hasIngredient)[:_MOST_LINES]:
        write_cautions(context, link.object, part, limit=6, first=True)
    _harms(context, thing, part)
    if len(part.opening.lines) == before and not _is_warned_of(context, thing):
        _write_nobody(context, thing, part)


def _write_nobody(context: AnswerContext, thing: str, part: Contribution) -> None:
    absent = [f.against for f in context.safety.conditional(thing)]
    y = context.verbalizer.names(i for i in dict.fromkeys(absent) if i in context.parsed.absent)
    key = "v_nobody_else" if y else "v_nobody"
    part.opening.add(context.verbalizer.verbalize(key, x=context.verbalizer.name(thing), y=y))


_MOST_OTHERS: Final = 3  # states of others that may be named where nothing is of the asker
_MOST_NAMED, _MOST_LINES = 3, 4
_HARMS: Final = (SHIYI.hasAdverseReaction, SHIYI.hasAdverseEffectOn, SHIYI.useRestriction)


def _is_conditional(context: AnswerContext, thing: str) -> bool:
    """Return whether what is recorded against a thing is against it for some people alone."""
    found = [f for f in context.safety.conditional(thing) if f.against not in context.parsed.absent]
    return not context.safety.poisons(thing) and bool(found)


def _harms(context: AnswerContext, thing: str, part: Contribution) -> None:
    """Write the adverse reactions to a thing, what it harms, and the limits of its use."""
    for predicate in _HARMS:
        lines = relation_lines(context, thing, predicate, named=len(context.parsed.groups) > 1)
        part.section("h_caution").lines += [x for x in lines if x.facts[0].subject == thing]


def _is_warned_of(context: AnswerContext, thing: str) -> bool:
    """Return whether anything is recorded against what a thing is made of."""
    parts = context.facts.of(thing, SHIYI.hasIngredient)
    return any(context.safety.conditional(link.object) for link in parts)


def write_allergy(context: AnswerContext) -> Contribution:
    """Write what a named allergy excludes, where no complaint is asked about."""
    part, verbalizer = Contribution(), context.verbalizer
    allergens = context.parsed.person.allergies
    text = verbalizer.verbalize("o_allergy", y=verbalizer.names(allergens))
    part.opening.add(text)
    part.shown.add(text)
    part.warnings.append(SafetyWarning("contraindicated", text))
    things = [t for t in context.facts.members(*MATERIAL) if t not in allergens]
    for allergen in allergens[:_MOST_STATES]:
        groups = {f.object for f in context.facts.of(allergen, SHIYI.hasFoodGroup)} or {allergen}
        members = {low for g in groups for low in context.facts.below(g)} - _WIDE | {allergen}
        of, bears = context.facts.of, (SHIYI.hasFoodGroup, SHIYI.hasIngredient)
        results = [(t, f) for t in things for p in bears for f in of(t, p) if f.object in members]
        if results:
            group = list({t: (t, f) for t, f in reversed(results)}.values())[::-1][:_MOST_AVOIDED]
            part.section("h_held").item(
                *cite_each(context, "a_allergy", verbalizer.name(allergen), group)
            )
    part.section("h_caution").add(verbalizer.verbalize("s_labels"))
    write_red_flags(context, [resource("disease-food-allergy").value], part)
    return part


def find_groups(context: AnswerContext) -> tuple[str, ...]:
    """List the groups of foods a question names."""
    return context.parsed.of_kind(context.facts, SHIYI.FoodGroup)


def _is_of(context: AnswerContext, thing: str, groups: Collection[str]) -> bool:
    kinds = context.facts.above(thing)
    return any(f.object in groups for k in kinds for f in context.facts.of(k, SHIYI.hasFoodGroup))


def cite_each(
    context: AnswerContext, key: str, sign: str, items: Iterable[tuple[str, Fact]]
) -> list[Piece]:
    """Write a list of things that harm, each with the claim that says so."""
    verbalizer = context.verbalizer
    before, _, after = verbalizer.verbalize(key, sign=sign, items="\0").partition("\0")
    mark = "、" if verbalizer.language == "zh" else ", "
    named = [(verbalizer.name(iri), fact) for iri, fact in items]
    pieces: list[Piece] = [
        ((mark if n else before) + name, (fact,)) for n, (name, fact) in enumerate(named)
    ]
    return [*pieces, (after, ())]


def _rank(context: AnswerContext, facts: Iterable[Fact]) -> list[Fact]:
    """Keep each thing once: what people eat first, then by :func:`precedence`."""

    def thing(fact: Fact) -> str:
        return fact.object if fact.predicate == SHIYI.unsuitableFood else fact.subject

    facts = tuple(facts)
    context.evidences.load(fact.claim for fact in facts)
    rank = precedence(context, map(thing, facts))

    def place(fact: Fact) -> tuple[object, ...]:
        return not context.facts.is_a(thing(fact), SHIYI.Food), *rank(thing(fact), fact)

    best: dict[str, Fact] = {}
    for fact in sorted(facts, key=place):
        best.setdefault(thing(fact), fact)
    return list(best.values())


def _interactions(context: AnswerContext, drug: str) -> list[Fact]:
    """List what interacts with a medicine or its classes, the gravest first."""
    facts = [f for d in context.facts.above(drug) for f in _ends(context, d)]

    def weight(fact: Fact) -> tuple[int, float, str]:
        return context.evidences.gravity(fact.claim), -fact.confidence, fact.claim

    gravest: dict[str, Fact] = {}
    for fact in sorted(facts, key=weight):
        thing = next(e for e in (fact.subject, fact.object) if context.facts.is_a(e, *MATERIAL))
        if not any(
            k in gravest for k in context.facts.siblings(thing)
        ):  # the herb, or what is sold of it
            gravest.setdefault(thing, fact)
    return list(gravest.values())


def _ends(context: AnswerContext, drug: str) -> list[Fact]:
    facts = (
        *context.facts.of(drug, SHIYI.interactsWith),
        *context.facts.inverse(drug, SHIYI.interactsWith),
    )
    return [f for f in facts if context.facts.is_a(f.other(drug), *MATERIAL)]


_GROUPS: Final = 8
_MOST_OF_SCHOOL: Final = 8
_OTHERS: Final = 3  # groups of other relations beside those asked for
_TOGETHER: Final = 5
_LOOKED_AT: Final = 60
_BESIDE: Final = frozenset({SHIYI.confusedWith, SHIYI.derivedFromOrganism, SHIYI.usesPart})
# shown only where it is asked for
_GROUPING: Final = (SHIYI.hasFoodGroup, SHIYI.excludesFoodGroup, SHIYI.judgedAs)
_DESCRIBING: Final = (
    "hasManifestation",
    "hasCause",
    "relatedConstitution",
    "hasTreatmentPrinciple",
)
# the end that is named, the relation, the side, the polarity, and the origin
Key = tuple[str, str, str, bool, str]
Group = tuple[Key, list[Fact]]


def write_none(language: str) -> str:
    """State plainly that nothing was retrieved (iDISK2.0-RAG)."""
    return verbalize(language, "t_nothing")


def report(
    context: AnswerContext,
    retrieved: Retrieval,
    minimum: float,
    written: Collection[str] = (),
    *,
    opened: bool,
) -> Contribution:
    """Write the best claims that a method found, but for those that are ``written`` already.

    The first line answers, unless it is ``opened`` already.

    A benefit is left out where it is stored with less than ``minimum``, where a source rates it as
    insufficient, where cold or heat is not decided, and where the safety check speaks against the
    thing for this person; what was asked about is then warned of.
    """
    part, verbalizer = Contribution(), context.verbalizer
    wanted = _wanted_relations(context)
    found_facts = [
        f
        for f in (claim.fact for claim in retrieved.claims)
        if _bears(context, f)
        and (f.predicate not in _GROUPING or local_name(f.predicate.value) in wanted)
    ][:_LOOKED_AT]
    usable = [
        fact
        for fact in found_facts
        if fact.claim not in written
        and (not is_benefit(fact) or not fact.positive or _may_help(context, fact, minimum, part))
    ]
    profile = _profile(context, usable)
    shown = {f.claim for f in profile.facts} if profile else set[str]()
    asked, others = _choose(context, [f for f in usable if f.claim not in shown])
    if profile and _wanted_relations(context) & {
        local_name(f.predicate.value) for f in profile.facts
    }:
        asked, others = [], [*asked, *others][:_OTHERS]
    if context.parsed.wants("meaning", "property") and context.parsed.ailments:
        others.sort(key=lambda group: _place(group[0]))  # what a pattern is, before what it wants
    lines = [_line(context, key, facts) for key, facts in asked]
    lines += [profile] if profile else []
    lines += [_line(context, key, facts) for key, facts in others]
    if lines and not opened:
        first = lines.pop(0)
        end = "。" if verbalizer.language == "zh" else "."
        part.opening.item(*((finish(t, end), f) for t, f in first.pieces))
    part.section("h_facts").lines += lines
    named = _asked_relations(context)
    for fact in usable[:_GROUPS]:
        if not fact.language and fact.positive:
            part.paths.append(fact.path(fact.object if fact.object in named else fact.subject))
    write_red_flags(context, context.parsed.ailments, part)
    _unread(context, retrieved, part)
    return part


def _place(key: Key) -> int:
    name = local_name(key[1])
    return _DESCRIBING.index(name) if key[2] == "of" and name in _DESCRIBING else len(_DESCRIBING)


def write_school(
    context: AnswerContext, retrieved: Retrieval, school: str, written: Collection[str]
) -> Contribution:
    """Write the claims of a school that a method found, best first, each as one line."""
    part = Contribution()
    facts = [f for f in (claim.fact for claim in retrieved.claims) if f.origin == school]
    for fact in facts if not context.parsed.urgent else ():
        good = is_benefit(fact) and fact.positive
        if fact.claim not in written and (not good or _may_help(context, fact, 0.0, part)):
            key = (fact.subject, fact.predicate.value, "of", fact.positive, fact.origin)
            part.section("h_school").lines.append(_line(context, key, [fact]))
    for section in part.sections:
        del section.lines[_MOST_OF_SCHOOL:]
    return part


def write_texts(
    context: AnswerContext, retrieved: Retrieval, minimum: float, part: Contribution
) -> list[Line]:
    """Return what texts hold of words that no concept was found for, with their notes."""
    lines, verbalizer, question = list[Line](), context.verbalizer, context.parsed
    states = {*question.person.states, *question.states}
    end, space = ("。", "") if verbalizer.language == "zh" else (".", " ")
    for fact in (each.fact for each in retrieved.beside):
        if fact.predicate in CAUTION and fact.object not in states:
            continue  # whom else it does not suit is not asked
        if fact.language or (is_benefit(fact) and not _may_help(context, fact, minimum, part)):
            continue
        key = (fact.subject, fact.predicate.value, "of", fact.positive, fact.origin)
        text = finish(_line(context, key, [fact]).text, end)
        if note := verbalizer.note(fact):
            lines.append(Line(((f"{text}{space}{finish(note, end)}", (fact,)),), 1))
    return lines


def write_composition(context: AnswerContext, things: Iterable[str], other: str) -> list[Line]:
    """Return what is recorded of one thing being in another, or made from it."""
    meant = {a for m in context.parsed.mentions if m.iri == other for a in m.alternatives}
    ends = (other, *sorted(meant))
    facts = (f for thing in things for end in ends for f in context.facts.between(thing, end))
    results = dict.fromkeys(
        f for f in facts if f.predicate in COMPOSITION and f.positive and not f.derived
    )
    groups = (((f.subject, f.predicate.value, "of", True, f.origin), [f]) for f in results)
    return _sentences(context, groups)


def _sentences(context: AnswerContext, groups: Iterable[Group]) -> list[Line]:
    end = "。" if context.verbalizer.language == "zh" else "."
    return [
        Line(((finish(_line(context, key, facts).text, end), tuple(facts)),), 1)
        for key, facts in groups
    ]


def _asked_relations(context: AnswerContext) -> frozenset[str]:
    named = [m.iri for m in context.parsed.mentions if m.iri]
    return frozenset((*named, *context.parsed.materials, *context.parsed.ailments))


def _bears(context: AnswerContext, fact: Fact) -> bool:
    """Return whether a claim is of the things asked about, not only of a state they meet."""
    things = neighbours(context.facts, context.parsed.materials)
    return not things or fact.subject in things or fact.object in things


def _may_help(context: AnswerContext, fact: Fact, minimum: float, part: Contribution) -> bool:
    """Return whether this person may be given a benefit; warn where the asked thing is unsafe."""
    if context.differential.is_undecided or fact.confidence < minimum:
        return False
    if not context.evidences.supports(fact.claim):
        return False
    asked, clear = _asked_relations(context), True
    for thing in (fact.subject, fact.object):
        if context.facts.is_a(thing, *MATERIAL):
            reasons = context.safety.check(thing, context.parsed.person)
            clear = clear and not reasons
            for finding in reasons[:1] if thing in asked else ():
                part.warn(context, finding)
    return clear


def _profile(context: AnswerContext, facts: Iterable[Fact]) -> Line | None:
    """State nature, flavour, channels and efficacy of the first material in one sentence."""
    recorded_facts: dict[str, dict[NamedNode, list[Fact]]] = {}
    for fact in facts:
        if fact.predicate in PROFILE and fact.positive:
            recorded_facts.setdefault(fact.subject, {}).setdefault(fact.predicate, []).append(fact)
    asked = _asked_relations(context)
    subject = next((iri for iri in recorded_facts if iri in asked), "")
    if len(recorded_facts.get(subject, ())) < 2:
        return None
    verbalizer, parts, used_facts = context.verbalizer, list[str](), list[Fact]()
    for predicate in PROFILE:
        # what else is recorded of the relation stands beside it: sources may differ
        found_facts = context.facts.of(subject, predicate)[: _TOGETHER + 1]
        if predicate in recorded_facts[subject]:
            disputed = predicate == SHIYI.hasNature and len(found_facts) > 1
            names = verbalizer.names(f.object for f in found_facts)
            names += verbalizer.verbalize("p_conflict") if disputed else ""
            parts.append(verbalizer.verbalize(f"property_{local_name(predicate.value)}", o=names))
            used_facts += found_facts
    joined = ("，" if verbalizer.language == "zh" else "; ").join(parts)
    text = verbalizer.verbalize("p_recorded", s=verbalizer.name(subject), parts=joined)
    return Line(((text, tuple(used_facts)),), 1)


def _wanted_relations(context: AnswerContext) -> frozenset[str]:
    """Return the relations the words name."""
    return frozenset(context.parsed.frame.wanted.relations)


def _choose(context: AnswerContext, facts: Iterable[Fact]) -> tuple[list[Group], list[Group]]:
    """Return the groups of the relation asked for, and others: a few where there are any such."""
    groups = list(_group_facts(context, facts).items())
    wanted, named = _wanted_relations(context), _asked_relations(context)
    asked = [g for g in groups if local_name(g[0][1]) in wanted and g[0][0] in named][:_GROUPS]
    others = [g for g in groups if g not in asked]
    return asked, others[: _OTHERS if asked else _GROUPS]


def _group_facts(context: AnswerContext, facts: Iterable[Fact]) -> dict[Key, list[Fact]]:
    asked, wanted, found_facts = (
        _asked_relations(context),
        _wanted_relations(context),
        dict[Key, list[Fact]](),
    )
    for fact in facts:
        aside = fact.predicate in _BESIDE and local_name(fact.predicate.value) not in wanted
        if aside:
            continue
        into = fact.object in asked and fact.subject not in asked
        end, side = (fact.object, "into") if into else (fact.subject, "of")
        key = (end, fact.predicate.value, side, fact.positive, fact.origin)
        found_facts.setdefault(key, []).append(fact)
    return found_facts


def _line(context: AnswerContext, key: Key, facts: list[Fact]) -> Line:
    verbalizer, (end, _, side, positive, _) = context.verbalizer, key
    predicate = facts[0].predicate
    shown_facts = facts[:_TOGETHER]
    if facts[0].language:
        texts = context.facts.texts(end, predicate, verbalizer.language)
        shown_facts = [next((fact for fact in texts if fact in facts), facts[0])]
        other = verbalizer.words(shown_facts[0]).rstrip("。.；; ")
    else:
        other = verbalizer.names(f.object if side == "of" else f.subject for f in shown_facts)
    relation = context.facts.property_label(predicate, verbalizer.language)
    text = verbalize(verbalizer.language, f"t_{side}", x=verbalizer.name(end), p=relation, o=other)
    if not positive:
        text = verbalize(verbalizer.language, "t_denied", text=text)
    return Line(((text + verbalizer.sources(shown_facts[:1]), tuple(shown_facts)),), 1)


def _unread(context: AnswerContext, retrieved: Retrieval, part: Contribution) -> None:
    unread = [u for u in retrieved.texts if u.kind == PASSAGE and not u.claims]
    if unread and not retrieved.claims:
        part.missing.append(verbalize(context.verbalizer.language, "t_unread", n=str(len(unread))))
