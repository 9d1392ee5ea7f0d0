"""How two or three things differ: what is recorded of each, side by side."""

from collections.abc import Iterable, Sequence
from typing import Final

from shiyi.answering.knowledge.facts import PROFILE, Fact
from shiyi.answering.sections.queries import describe_query
from shiyi.answering.sections.records import list_things, write_record, write_toxic
from shiyi.answering.sections.verdicts import benefits, distinguish
from shiyi.answering.understanding.patient import Person
from shiyi.answering.wording.draft import AnswerContext, Contribution, Line, Piece, Section
from shiyi.model.rdf import local_name
from shiyi.ontology.terms import SHIYI

_MOST_NAMED: Final = 3


def compare(context: AnswerContext) -> Contribution:
    """Write how two or three things differ: what is recorded of each, side by side."""
    part, verbalizer = Contribution(), context.verbalizer
    things = [group[0] for group in context.parsed.groups][:_MOST_NAMED]
    if not things or (len(things) == 1 and not context.parsed.unknown):
        things = list(list_things(context.parsed))
    if len(things) < 2:
        _write_one_entry(context, things, part)
        part.extend(write_record(context, things) if things else Contribution())
        return part
    distinguish(context, part)
    rated = (SHIYI.isEffectiveFor, SHIYI.studiedFor)
    predicates = (*PROFILE, SHIYI.indicatedFor, SHIYI.relieves, *rated, SHIYI.hasManifestation)
    part.queries.append(describe_query(things, predicates))
    question, safety, none = context.parsed, context.safety, Person()
    if any(f.against in question.materials for m in things for f in safety.check(m, none, things)):
        return part  # it is asked how they go together, which the check has answered
    table = part.section("h_table")
    table.columns = ("", *(verbalizer.name(thing) for thing in things))
    sought = [x for x in (*question.ailments, *question.aims) if x not in things]
    for predicate in () if sought or question.person.drugs else predicates:
        results = [context.facts.of(thing, predicate)[:3] for thing in things]
        if len({frozenset(f.object for f in facts) for facts in results}) > 1:  # all else is alike
            label = context.facts.property_label(predicate, verbalizer.language)
            cells = [(verbalizer.names(f.object for f in facts) or "–", facts) for facts in results]
            table.lines.append(Line(((label, ()), *cells), 1))
    for thing in things:
        write_toxic(context, thing, part)
    _differ(context, things, part, natures=not (sought or question.person.drugs))
    return part


def _write_one_entry(context: AnswerContext, things: Sequence[str], part: Contribution) -> None:
    """Write that what is compared is one thing by two names."""
    focus, verbalizer = context.parsed.frame.focus, context.verbalizer
    names = dict.fromkeys(f.text for f in focus if f.iri in things)
    if len(names) > 1:
        quoted = verbalizer.quote(tuple(names))
        text = verbalizer.verbalize("c_one", names=quoted, x=verbalizer.name(things[0]))
        part.opening.add(text)


_SCALE: Final = (  # from cold to hot
    "very-cold", "cold", "cool", "slightly-cold", "neutral", "slightly-warm", "warm", "hot",
    "very-hot",
)  # fmt: skip


def _differ(
    context: AnswerContext, things: Sequence[str], part: Contribution, *, natures: bool
) -> None:
    """Write first which suits what was named, then the difference that was asked for."""
    verbalizer, section = context.verbalizer, Section("")
    _write_suitability(context, things, section)
    asked = context.parsed.frame.has_cue("which-colder", "which-warmer")
    if natures and not (asked and _write_colder(context, things, section)):
        _write_sides(context, things, section)
    if not section.lines:
        section.add(verbalizer.verbalize("c_none", items=verbalizer.names(things)))
    place = sum(any(f.predicate == SHIYI.confusedWith for f in x.facts) for x in part.opening.lines)
    part.opening.lines[place:place] = section.lines


def _write_colder(context: AnswerContext, things: Sequence[str], section: Section) -> bool:
    """Write which is the colder, or the warmer, by the natures recorded; return whether so."""
    verbalizer, warmer = context.verbalizer, context.parsed.frame.has_cue("which-warmer")
    found = {thing: context.facts.of(thing, SHIYI.hasNature)[:2] for thing in things}
    if not all(found.values()):
        return False
    places = {
        thing: [_SCALE.index(f.object.rpartition("/nature-")[2]) for f in facts]
        for thing, facts in found.items()
    }
    ranked = sorted(things, key=lambda thing: sum(places[thing]) / len(places[thing]))
    ranked = ranked[::-1] if warmer else ranked
    first, second = (sum(places[t]) / len(places[t]) for t in ranked[:2])
    items = [
        verbalizer.verbalize(
            "c_nature", x=verbalizer.name(thing), o=_name_things(context, found[thing])
        )
        for thing in ranked
    ]
    key = "c_no_nature" if first == second else "c_warmer" if warmer else "c_colder"
    values = {"x": verbalizer.name(ranked[0]), "items": verbalizer.join(items)}
    section.add(verbalizer.verbalize(key, **values), *(f for thing in ranked for f in found[thing]))
    return True


def _write_sides(context: AnswerContext, things: Sequence[str], section: Section) -> None:
    """Write the natures and effects of each that not all others share."""
    verbalizer, pieces = context.verbalizer, list[Piece]()
    comma = verbalizer.verbalize("v_comma")
    shared = {p: [context.facts.of(t, p) for t in things] for p in _SHARED}
    differing = [
        p
        for p, sides in shared.items()
        if len({frozenset(f.object for f in side) for side in sides}) > 1
    ]
    for n, thing in enumerate(things):
        sides = {p: shared[p][n][:2] for p in differing}
        keys = {p: f"property_{local_name(p.value)}" for p in sides}
        results = [
            verbalizer.verbalize(keys[p], o=_name_things(context, f)) for p, f in sides.items() if f
        ]
        if results:
            mark = verbalizer.verbalize("v_clause") if pieces else ""
            values = {"x": verbalizer.name(thing), "text": comma.join(results)}
            facts = tuple(f for side in sides.values() for f in side)
            pieces.append((mark + verbalizer.verbalize("c_side", **values), facts))
    if pieces:
        section.item(*pieces, (verbalizer.stop, ()))
    elif any(any(sides) for sides in shared.values()):
        facts = tuple(f for sides in shared.values() for side in sides for f in side[:1])
        section.add(verbalizer.verbalize("c_alike", items=verbalizer.names(things)), *facts)


_SHARED: Final = (SHIYI.hasNature, SHIYI.hasEfficacy)


def _write_suitability(context: AnswerContext, things: Sequence[str], section: Section) -> None:
    """Write of each trouble or aim that the comparison is about for which things it is recorded."""
    question, verbalizer = context.parsed, context.verbalizer
    uses = {
        t: {x: _uses(context, x, t) for x in things}
        for t in (*question.ailments, *question.constitutions, *question.aims)
    }
    targets = [t for t in uses if t not in things]
    targets = [t for t in targets if any(uses[t].values())] or targets[:1]
    for target in targets[:1]:
        suited = [thing for thing, facts in uses[target].items() if facts]
        key = "c_suited_some" if suited else "c_suited_none"
        values = {"target": verbalizer.name(target), "items": verbalizer.names(suited or things)}
        facts = [fact for use in uses[target].values() for fact in use[:1]]
        section.add(verbalizer.verbalize(key, **values), *facts)


def _uses(context: AnswerContext, thing: str, target: str) -> list[Fact]:
    """List what is recorded of a thing for a target: uses, and effects that its name is part of."""
    facts = context.facts
    meant = facts.labels.get(target, {}).get("zh", "")
    found_facts = list(benefits(context, thing, target))
    if meant and facts.is_a(target, SHIYI.Efficacy, SHIYI.Therapy):
        for fact in facts.of(thing, SHIYI.hasEfficacy):
            rest = iter(facts.labels.get(fact.object, {}).get("zh", ""))
            if all(iri in rest for iri in meant):
                found_facts.append(fact)
    return found_facts


def _name_things(context: AnswerContext, facts: Iterable[Fact]) -> str:
    return context.verbalizer.names(f.object for f in facts)
