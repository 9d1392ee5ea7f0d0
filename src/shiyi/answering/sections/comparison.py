"""How two or three things differ: what is recorded of each, side by side."""

from collections.abc import Iterable, Sequence
from typing import Final

from shiyi.answering.knowledge.facts import PROFILE, Fact
from shiyi.answering.sections.queries import describe_query
from shiyi.answering.sections.records import list_things, write_cautions, write_record, write_toxic
from shiyi.answering.sections.verdicts import benefits, distinguish
from shiyi.answering.wording.draft import AnswerContext, Contribution, Line, Piece, Section
from shiyi.ontology.terms import SHIYI

_MOST_NAMED: Final = 3


def compare(context: AnswerContext) -> Contribution:
    """Write how two or three things differ: what is recorded of each, side by side."""
    part, verbalizer = Contribution(), context.verbalizer
    things = [group[0] for group in context.parsed.groups][:_MOST_NAMED]
    if not things or (len(things) == 1 and not context.parsed.unknown):
        things = list(list_things(context.parsed))
    if len(things) < 2:
        return write_record(context, things) if things else part
    distinguish(context, part)
    rated = (SHIYI.isEffectiveFor, SHIYI.studiedFor)
    predicates = (*PROFILE, SHIYI.indicatedFor, SHIYI.relieves, *rated, SHIYI.hasManifestation)
    part.queries.append(describe_query(things, predicates))
    table = part.section("h_table")
    table.columns = ("", *(verbalizer.name(thing) for thing in things))
    parsed = context.parsed
    sought = [x for x in (*parsed.ailments, *parsed.aims) if x not in things]
    for predicate in () if sought or parsed.person.drugs else predicates:
        found = [context.facts.of(thing, predicate)[:3] for thing in things]
        if any(found):
            label = context.facts.property_label(predicate, verbalizer.language)
            cells = [(verbalizer.names(f.object for f in each) or "–", each) for each in found]
            table.lines.append(Line(((label, ()), *cells), 1))
    for thing in things:
        write_toxic(context, thing, part)
        if not context.safety.check(thing, parsed.person):
            write_cautions(context, thing, part)
    _differ(context, things, part, natures=bool(table.lines))
    return part


def _differ(
    context: AnswerContext, things: Sequence[str], part: Contribution, *, natures: bool
) -> None:
    """Write first which suits what was named, then how the natures differ."""
    verbalizer = context.verbalizer
    shown = things if natures else ()
    natures_of = [context.facts.of(thing, SHIYI.hasNature)[:2] for thing in shown]
    effects = [context.facts.of(thing, SHIYI.hasEfficacy)[:2] for thing in shown]
    pieces, comma = list[Piece](), verbalizer.verbalize("v_comma")
    for thing, nature, effect in zip(shown, natures_of, effects, strict=True):
        sides = {"property_hasNature": nature, "property_hasEfficacy": effect}
        found = [verbalizer.verbalize(k, o=_name_things(context, f)) for k, f in sides.items() if f]
        if found:
            mark = verbalizer.verbalize("v_clause") if pieces else ""
            values = {"x": verbalizer.name(thing), "text": comma.join(found)}
            pieces.append((mark + verbalizer.verbalize("c_side", **values), (*nature, *effect)))
    section = Section("")
    _write_suitability(context, things, section)
    if pieces:
        section.item(*pieces, (verbalizer.stop, ()))
    elif not section.lines:
        section.add(verbalizer.verbalize("c_none", items=verbalizer.names(things)))
    place = sum(any(f.predicate == SHIYI.confusedWith for f in x.facts) for x in part.opening.lines)
    part.opening.lines[place:place] = section.lines


def _write_suitability(context: AnswerContext, things: Sequence[str], section: Section) -> None:
    """Write of each trouble or aim that the comparison is about for which things it is recorded."""
    parsed, verbalizer = context.parsed, context.verbalizer
    uses = {
        t: {x: _uses(context, x, t) for x in things}
        for t in (*parsed.ailments, *parsed.constitutions, *parsed.aims)
    }
    targets = [t for t in uses if t not in things]
    targets = [t for t in targets if any(uses[t].values())] or targets[:1]
    for target in targets[:1]:
        suited = [thing for thing, facts in uses[target].items() if facts]
        key = "c_suited_some" if suited else "c_suited_none"
        values = {"target": verbalizer.name(target), "items": verbalizer.names(suited or things)}
        facts = [fact for each in uses[target].values() for fact in each[:1]]
        section.add(verbalizer.verbalize(key, **values), *facts)


def _uses(context: AnswerContext, thing: str, target: str) -> list[Fact]:
    """List what is recorded of a thing for a target: uses, and effects that its name is part of."""
    facts = context.facts
    meant = facts.labels.get(target, {}).get("zh", "")
    found = list(benefits(context, thing, target))
    if meant and facts.is_a(target, SHIYI.Efficacy, SHIYI.Therapy):
        for fact in facts.of(thing, SHIYI.hasEfficacy):
            rest = iter(facts.labels.get(fact.object, {}).get("zh", ""))
            if all(each in rest for each in meant):
                found.append(fact)
    return found


def _name_things(context: AnswerContext, found: Iterable[Fact]) -> str:
    return context.verbalizer.names(f.object for f in found)
