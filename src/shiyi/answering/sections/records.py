"""Forms of answers that show what is recorded: facts, evidence, how, how much, why, meaning, rules.

Each returns what answers in its first line; where nothing is recorded the first line says so.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations, islice, product
from typing import Final

from shiyi.answering.knowledge.facts import (
    BENEFIT,
    CAUTION,
    INCOMPATIBLE,
    INTERACTION,
    PROFILE,
    Fact,
)
from shiyi.answering.recommendation.advice import HOW
from shiyi.answering.recommendation.cautions import caution_pieces
from shiyi.answering.sections.queries import describe_query
from shiyi.answering.sections.verdicts import (
    BARRING,
    RATED,
    aims,
    assess_case,
    benefits,
    distinguish,
    list_rated,
    write_symptoms,
    write_toxic_verdict,
    write_verdicts,
)
from shiyi.answering.understanding.question import Question
from shiyi.answering.wording.draft import (
    AnswerContext,
    Contribution,
    Line,
    Piece,
    Section,
    join_pieces,
)
from shiyi.answering.wording.verbalization import capital, finish, rating_text
from shiyi.model.iris import VOCAB
from shiyi.model.rdf import NamedNode, local_name
from shiyi.ontology.lexicon import Cues
from shiyi.ontology.terms import SHIYI

_CUES: Final = Cues("wanted")
_USES: Final = (SHIYI.indicatedFor, SHIYI.relieves, SHIYI.isEffectiveFor)
_HARMS: Final = (SHIYI.hasToxicity, SHIYI.hasAdverseReaction, SHIYI.hasAdverseEffectOn)
_DESCRIBING: Final = (
    SHIYI.hasManifestation, SHIYI.hasCause, SHIYI.hasTreatmentPrinciple, SHIYI.relatedConstitution,
)  # fmt: skip
_RECORDED: Final = (
    *_USES, *_DESCRIBING, SHIYI.hasIngredient, SHIYI.regulatoryStatus, SHIYI.hasActiveConstituent,
    SHIYI.hasNutrient,
)  # fmt: skip
_TEXTS: Final = (
    SHIYI.primaryEffect, SHIYI.dietaryBenefit, SHIYI.productPurpose, SHIYI.productRisk,
)  # fmt: skip
_AMOUNTS: Final = (SHIYI.useRestriction, SHIYI.safetyNote, SHIYI.consumptionMethod)
_JOINING: Final = (*CAUTION, *INTERACTION, *INCOMPATIBLE, SHIYI.unsuitableFood, *BENEFIT)
_MOST_ENDS: Final = 4  # things named that are looked at in pairs
_MOST_NAMED, _MOST_LISTED, _MOST_LINES, _MOST_PAIRS = 3, 6, 4, 40
_MOST_NOTED, _MOST_MET, _MOST_RECORDED = 2, 12, 3
_MOST_CONTAINED: Final = 30  # ingredients of a product: a label is read whole


def list_things(parsed: Question) -> tuple[str, ...]:
    """List one meaning of each thing that a question names, what is no thing after them."""
    named = [group[0] for group in parsed.groups]
    drugs = (*parsed.drugs, *parsed.constitutions, *parsed.ailments, *parsed.others)
    return tuple(dict.fromkeys((*named, *drugs)))[:_MOST_NAMED] if named or drugs else ()


def write_properties(context: AnswerContext) -> Contribution:
    """Write the relations that a question names, of each thing; without any, what it is."""
    part, verbalizer = Contribution(), context.verbalizer
    groups = context.parsed.groups[:_MOST_NAMED]
    predicates = _list_wanted(context)
    things = [_of_relations(context, group, predicates) for group in groups]
    things = things or list(list_things(context.parsed))[:1]
    if not things:
        return part
    if context.parsed.frame.has_cue("names"):
        for thing in things:
            _write_names(context, thing, part)
        return part
    if not predicates:
        return write_record(context, things)
    part.queries.append(describe_query(things, predicates))
    for thing in things:
        write_toxic(context, thing, part)
        profile = [p for p in PROFILE if p in predicates]
        rest = [p for p in predicates if p not in profile]
        text, facts = verbalizer.profile(thing, only=profile) if profile else ("", ())
        if text:
            part.opening.add(finish(text, verbalizer.stop), *facts)
        lines = [line for p in rest for line in relation_lines(context, thing, p)]
        part.opening.lines += lines[:_MOST_LINES]
        if not (text or lines):
            labels = (context.facts.property_label(p, verbalizer.language) for p in predicates[:2])
            names = verbalizer.join(dict.fromkeys(label.removeprefix("has ") for label in labels))
            part.opening.add(verbalizer.verbalize("p_none", x=verbalizer.name(thing), p=names))
            describe(context, thing, part)
        if set(predicates) & {*_HARMS, *CAUTION}:
            write_cautions(context, thing, part)
    distinguish(context, part)
    if context.facts.is_a(things[0], SHIYI.Formula):
        part.section("h_doctor").add(verbalizer.verbalize("s_formula"))
    part.paths += [f.path(f.subject) for line in part.opening.lines for f in line.facts[:1]]
    return part


def _list_wanted(context: AnswerContext) -> list[NamedNode]:
    """List the relations that a question names; of a product, a label says no constituents."""
    properties, wanted = context.facts.schema.properties, context.parsed.frame.wanted.relations
    named = [NamedNode(VOCAB + name) for name in wanted if name in properties]
    label = any(_is_product(context, group[0]) for group in context.parsed.groups)
    return [SHIYI.hasIngredient] if label and SHIYI.hasActiveConstituent in named else named


def _is_product(context: AnswerContext, thing: str) -> bool:
    return context.facts.is_a(thing, SHIYI.DSProduct)


def _of_relations(
    context: AnswerContext, group: Sequence[str], predicates: Sequence[NamedNode]
) -> str:
    """Return which of the things that one name may mean has such a relation, else the first."""
    facts = context.facts
    has = (x for x in group if facts.of(x, *predicates) or facts.inverse(x, *predicates))
    return next(has, group[0]) if predicates else group[0]


def write_relations(context: AnswerContext, *, harms: bool = False) -> Contribution:
    """Write what is recorded between two of the things named; warnings only with ``harms``."""
    part, facts, schema = Contribution(), context.facts, context.facts.schema.properties
    ends = [(f.iri, *f.also) for f in context.parsed.frame.focus if f.iri][:_MOST_ENDS]
    relations = context.parsed.frame.wanted.relations if context.parsed.wants("property") else ()
    results = dict.fromkeys(
        fact
        for one, other in combinations(ends, 2)
        for a, b in product(one, other)
        for fact in facts.between(a, b)
        if fact.positive and not (fact.derived or fact.predicate == SHIYI.confusedWith)
    )
    for fact in results:
        known = schema.get(local_name(fact.predicate.value))
        if local_name(fact.predicate.value) in relations:
            continue
        if len(part.opening.lines) < _MOST_LINES and (harms or not (known and known.is_safety)):
            relation = facts.property_label(fact.predicate, context.verbalizer.language)
            values = {"x": context.verbalizer.name(fact.subject), "p": relation}
            name = context.verbalizer.name(fact.object)
            text = context.verbalizer.verbalize("p_of", o=name, **values)
            part.opening.add(finish(text, context.verbalizer.stop), fact)
            part.paths.append(fact.path(fact.subject))
    return part


def write_related_pairs(context: AnswerContext) -> Contribution:
    """Write which things are joined by a relation that is asked for, where nothing is named."""
    part, verbalizer, facts = Contribution(), context.verbalizer, context.facts
    wanted = {VOCAB + name for name in context.parsed.frame.wanted.relations}
    pairs: dict[frozenset[str], Fact] = {}
    for fact in facts.incompatible:
        if fact.predicate.value in wanted:
            pairs.setdefault(frozenset((fact.subject, fact.object)), fact)
    for fact in sorted(pairs.values(), key=lambda f: f.claim)[:_MOST_PAIRS]:
        text = verbalizer.verbalize(
            "p_of",
            x=verbalizer.name(fact.subject),
            p=facts.property_label(fact.predicate, verbalizer.language),
            o=verbalizer.name(fact.object),
        )
        section = part.section("h_facts") if part.opening.lines else part.opening
        section.add(text, fact)
    if not pairs:
        part.opening.add(verbalizer.verbalize("o_what"))
    return part


def _write_names(context: AnswerContext, thing: str, part: Contribution) -> None:
    """Write how a thing is called in both languages, and the organism that it comes from."""
    verbalizer, labels = context.verbalizer, context.facts.labels.get(thing, {})
    organisms = context.facts.of(thing, SHIYI.derivedFromOrganism)[:_MOST_NAMED]
    latin = (context.facts.label(f.object, "en") for f in organisms)
    content = verbalizer.verbalize("p_latin", o=verbalizer.join(latin)) if organisms else ""
    values = {"zh": labels.get("zh", "–"), "en": labels.get("en", "–"), "latin": content}
    text = verbalizer.verbalize("p_names", x=verbalizer.name(thing), **values)
    part.opening.add(text, *organisms)


def write_identity(context: AnswerContext) -> Contribution:
    """Write which of the names in a question stand for one thing here."""
    part, verbalizer = Contribution(), context.verbalizer
    words: dict[str, dict[str, None]] = {}
    for focus in context.parsed.frame.focus:
        if focus.iri in context.parsed.materials:
            words.setdefault(focus.iri, {})[focus.text] = None
    for iri, named in words.items():
        if len(named) > 1:
            values = {"words": verbalizer.quote(named), "x": verbalizer.name(iri)}
            part.opening.add(verbalizer.verbalize("n_same", **values))
    return part


def write_joins(context: AnswerContext, part: Contribution) -> None:
    """Write what joins the things named, else their record, where the form asked for has none."""
    related = context.parsed.frame.has_cue("related")
    joins = write_relations(context, harms=True)
    things = list_things(context.parsed) if related else ()
    if things and not (joins.has_claims() or context.parsed.meets_anything()):
        joins = write_record(context, things)
    if joins.has_claims():
        lines, part.opening.lines = part.opening.lines, []
        part.extend(joins)
        part.opening.lines += [] if related else lines


def write_record(context: AnswerContext, things: Sequence[str]) -> Contribution:
    """Write in short what is recorded of some things: profile and uses, or the harms noted.

    A question for a property that is not known by name is answered by the profile alone.
    """
    part, verbalizer = Contribution(), context.verbalizer
    product = _is_product(context, things[0])  # its label is what is asked for
    asked = context.parsed.wants("compare") or context.parsed.frame.has_cue("asking")
    brief = asked and context.parsed.wants("property", "compare") and not product
    most = 1 if brief else _MOST_RECORDED
    for thing in things:
        write_toxic(context, thing, part)
        describe(context, thing, part)
        several = len(things) > 1
        nodes = {fact.predicate for line in part.opening.lines for fact in line.facts}
        rest = [p for p in (*_RECORDED, *(_TEXTS if product else ())) if p not in nodes]
        for predicate in rest if not (part.opening.lines and most == 1) else ():
            section = part.section("h_facts")
            named = several or not (part.opening.lines or section.lines)
            section.lines += list(relation_lines(context, thing, predicate, named=named))[:1]
        del part.section("h_facts").lines[most:]
        if most > 1 or context.parsed.frame.has_cue("permission"):
            write_cautions(context, thing, part, limit=2, notes=False)
    if not context.parsed.wants("compare"):
        distinguish(context, part)
    if context.facts.is_a(things[0], SHIYI.Formula):
        part.section("h_doctor").add(verbalizer.verbalize("s_formula"))
    written = [*part.opening.lines, *part.section("h_facts").lines]
    part.paths += [f.path(f.subject) for line in written for f in line.facts[:1] if not f.language]
    if not part.opening.lines:
        lines = part.section("h_facts").lines or part.section("h_caution").lines
        if lines:
            first = lines.pop(0)
            part.opening.lines.append(_end_line(first, verbalizer.stop))
        else:
            names = verbalizer.names(things)
            part.opening.add(verbalizer.verbalize("o_no_record", items=names))
    return part


def write_signs(context: AnswerContext) -> Contribution:
    """Write what is recorded of the signs and causes of each disease and pattern named."""
    part = Contribution()
    for ailment in context.parsed.ailments[:_MOST_NAMED]:
        for predicate in _DESCRIBING:
            part.opening.lines += list(relation_lines(context, ailment, predicate))[:1]
    if not part.opening.lines:
        return write_record(context, context.parsed.ailments[:_MOST_NAMED])
    return part


def _end_line(line: Line, stop: str) -> Line:
    *before, (last, facts) = line.pieces
    return Line((*before, (finish(last, stop), facts)), 1)


def write_toxic(context: AnswerContext, thing: str, part: Contribution) -> None:
    """Write that a thing is toxic, and warn of it."""
    for poison in context.safety.poisons(thing):
        part.warn(context, poison, is_stated=True)
        part.opening.add(context.verbalizer.state_finding(poison), *poison.stated_claims)


def describe(context: AnswerContext, thing: str, part: Contribution) -> None:
    """Write what a thing is in one line: its profile, or its herb's, or a text of its effect."""
    for name in (thing, *context.facts.siblings(thing)):
        text, facts = context.verbalizer.profile(name)
        if text:
            part.opening.add(finish(text, context.verbalizer.stop), *facts)
            return
    contained = (SHIYI.hasIngredient,) if _is_product(context, thing) else ()
    for predicate in (*contained, *_TEXTS):
        for line in relation_lines(context, thing, predicate):
            part.opening.lines.append(line)
            return


def relation_lines(
    context: AnswerContext, thing: str, predicate: NamedNode, *, named: bool = True
) -> Iterator[Line]:
    """Yield a line for the values of a relation of a thing, and one for those that point to it."""
    verbalizer, facts = context.verbalizer, context.facts
    name = facts.property_label(predicate, verbalizer.language)
    known = facts.schema.properties.get(local_name(predicate.value))
    if known is not None and known.is_text:
        for fact in facts.texts(thing, predicate, verbalizer.language)[:1]:
            text = finish(verbalizer.words(fact), verbalizer.stop)
            label = f"{verbalizer.name(thing)} · {name}" if named else name
            yield Line(((verbalizer.verbalize("p_text", label=label, text=text), (fact,)),), 1)
        return
    whole = predicate == SHIYI.hasIngredient and _is_product(context, thing)
    most = _MOST_CONTAINED if whole else _MOST_MET if predicate in INTERACTION else _MOST_LISTED
    all_facts = facts.of(thing, predicate)
    if predicate in INTERACTION:
        all_facts = tuple(sorted(all_facts, key=lambda f: context.evidences.gravity(f.claim)))
    if found_facts := all_facts[:most]:
        values = verbalizer.names(f.object for f in found_facts)
        key = "p_of" if named else "p_list"
        text = verbalizer.verbalize(key, x=verbalizer.name(thing), p=name, o=values)
        rest = len(all_facts) - len(found_facts)
        end = verbalizer.verbalize("a_rest", n=str(rest)) if rest and named else ""
        yield Line(((text + end, found_facts),), 1)
    elif into := facts.inverse(thing, predicate)[:_MOST_LISTED]:
        values = verbalizer.names(f.subject for f in into)
        text = verbalizer.verbalize("p_into", x=verbalizer.name(thing), p=name, o=values)
        yield Line(((text, into),), 1)


def write_cautions(
    context: AnswerContext,
    thing: str,
    part: Contribution,
    *,
    limit: int = 4,
    first: bool = False,
    notes: bool = True,
) -> None:
    """Write whom a thing does not suit, what it does not go with, and what is noted of its safety.

    With ``first`` all but the notes go into the opening and the warnings.
    """
    verbalizer, section = context.verbalizer, part.section("h_caution")
    findings = context.safety.conditional(thing)
    against = [f for f in findings if f.against not in context.parsed.absent]
    if pieces := caution_pieces(context, against, limit, rest=not first or limit > _MOST_LINES):
        name: Piece = (verbalizer.verbalize("w_name", x=verbalizer.name(thing)), ())
        place = part.opening if first else section
        place.item(*join_pieces(verbalizer.language, [name, *pieces]), (verbalizer.stop, ()))
    stated = {f.claim for _, facts in pieces for f in facts}
    for finding in against if first else ():
        if finding.severity != "interaction" and finding.fact.claim in stated:
            part.warn(context, finding, is_stated=True)
    for link in context.facts.of(thing, SHIYI.hasIngredient)[:_MOST_LINES] if not first else ():
        if pieces := caution_pieces(context, context.safety.conditional(link.object), 2):
            values = {"x": verbalizer.name(thing), "part": verbalizer.name(link.object)}
            name = (verbalizer.verbalize("w_name", x=verbalizer.verbalize("l_has", **values)), ())
            section.item(*join_pieces(verbalizer.language, [name, *pieces]), (verbalizer.stop, ()))
    alone = first and not part.opening.lines  # the note is all that is recorded
    if notes and (alone or not context.parsed.wants("may")):
        write_safety_notes(context, thing, part, part.opening if alone else section)


def write_safety_notes(
    context: AnswerContext, thing: str, part: Contribution, section: Section | None = None
) -> None:
    """Write what is noted of the safety of a thing, unless it is written already."""
    verbalizer, facts = context.verbalizer, set(_facts_of(part))
    for fact in context.facts.texts(thing, SHIYI.safetyNote, verbalizer.language)[:_MOST_NOTED]:
        if fact not in facts:
            text = finish(verbalizer.words(fact), verbalizer.stop)
            text = verbalizer.verbalize("p_text", label=verbalizer.name(thing), text=text)
            (section or part.section("h_caution")).add(text, fact)


def write_grave_note(context: AnswerContext, thing: str, part: Contribution) -> bool:
    """Write the note on a thing that tells of grave harm to anybody; return whether there is."""
    for fact in context.facts.texts(thing, SHIYI.safetyNote, context.verbalizer.language):
        words = context.verbalizer.words(fact)
        if _CUES["grave-note"].search(words):
            label = context.verbalizer.name(thing)
            text = context.verbalizer.verbalize("p_text", label=label, text=words)
            part.opening.add(finish(text, context.verbalizer.stop), fact)
            return True
    return False


def write_evidence(context: AnswerContext) -> Contribution:
    """Write how the sources rate an effect, with what was studied; else that none is rated."""
    part, verbalizer, question = Contribution(), context.verbalizer, context.parsed
    ailments = (*question.ailments, *question.aims)
    for group in question.groups[:_MOST_NAMED]:
        known = (*group, *(k for each in group for k in context.facts.siblings(each)))
        thing, lines = group[0], list[Line]()
        case = assess_case(context, group)
        joined_by = aims(context, case)
        for aim in ailments:
            lines += list(islice(_rating_lines(context, known, aim), 2))
        if joined_by and not lines:
            write_symptoms(context, case, joined_by, part, beside=False)
        if not ailments:
            facts = (f for each in known for f in context.facts.of(each, *RATED))
            lines += [
                _rated_line(context, f, r)
                for f in facts
                if (r := context.evidences.rating(f.claim))
            ][:5]
        if not (lines or joined_by):
            values = {"x": verbalizer.name(thing), "y": verbalizer.names(ailments)}
            part.opening.add(verbalizer.verbalize("e_none" if ailments else "e_none_any", **values))
        part.opening.lines += lines
        silent = [p for p in question.populations if not case.findings_against(p)]
        if silent and case.senses:
            values = {"x": verbalizer.name(thing), "y": verbalizer.names(silent)}
            pair = verbalizer.verbalize("v_with", **values)
            part.opening.add(verbalizer.verbalize("v_none", pairs=pair))
        write_grave_note(context, thing, part)
    return part


def _rating_lines(context: AnswerContext, things: Iterable[str], aim: str) -> Iterator[Line]:
    """Yield what is rated of some things for an aim, else what is only recorded as a use."""
    things = tuple(things)
    results = [row for thing in things for row in list_rated(context, thing, aim)]
    for fact, rating in results:
        yield _rated_line(context, fact, rating)
    if results:
        return
    uses = [f for thing in things for f in benefits(context, thing, aim)]
    uses += [f for thing in things for f in context.facts.between(thing, aim) if _is_use(f)]
    if facts := tuple(uses):
        verbalizer = context.verbalizer
        values = {"x": verbalizer.name(facts[0].subject), "y": verbalizer.name(aim)}
        if aim in (f.subject for f in facts):
            values["x"] = verbalizer.names(f.other(aim) for f in facts[:1])
        yield Line(((verbalizer.verbalize("e_traditional", **values), facts[:2]),), 1)


def _is_use(fact: Fact) -> bool:
    return fact.predicate in (*BENEFIT, SHIYI.hasEfficacy) and fact.positive and not fact.derived


def _rated_line(context: AnswerContext, fact: Fact, rating: str) -> Line:
    verbalizer = context.verbalizer
    values = {"x": verbalizer.name(fact.subject), "y": verbalizer.name(fact.object)}
    result = rating_text(verbalizer.language, rating)
    text = verbalizer.verbalize("v_rating_only", rating=result, **values)
    text = capital(verbalizer.add_kind(text, [fact.claim]), verbalizer.language)
    return Line(((verbalizer.add_note(text, fact), (fact,)),), 1)


def write_preparation(context: AnswerContext) -> Contribution:
    """Write how the things named are made and taken, with what a dish is made of."""
    part, verbalizer = Contribution(), context.verbalizer
    for group in context.parsed.groups[:_MOST_NAMED]:
        thing = group[0]
        if barred := [p for p in context.safety.poisons(thing) if p.severity == "contraindicated"]:
            part.warn(context, barred[0], is_stated=True)
            part.opening.add(write_toxic_verdict(context, barred[0]), *barred[0].stated_claims)
            continue
        write_toxic(context, thing, part)
        lines = [x for each in group[:2] for p in HOW for x in relation_lines(context, each, p)]
        part.opening.lines += lines
        _made_of(context, thing, part, with_dishes=not lines)
        if not lines:
            part.opening.add(verbalizer.verbalize("h_none", x=verbalizer.name(thing)))
        write_grave_note(context, thing, part)
    return part


def _made_of(context: AnswerContext, thing: str, part: Contribution, *, with_dishes: bool) -> None:
    """Write what a dish is made of, or which dishes are made with a thing."""
    verbalizer, facts = context.verbalizer, context.facts
    parts = facts.of(thing, SHIYI.hasIngredient)[:_MOST_PARTS]
    found = facts.inverse(thing, SHIYI.hasIngredient) if with_dishes else ()
    dishes = [f for f in found if facts.is_a(f.subject, SHIYI.Dish)][:_MOST_DISHES]
    made = ("h_made_of", parts, [f.object for f in parts])
    for key, results, ends in (made, ("h_made_with", dishes, [f.subject for f in dishes])):
        if results:
            values = {"x": verbalizer.name(thing), "items": verbalizer.names(ends)}
            part.opening.add(verbalizer.verbalize(key, **values), *results)


_MOST_PARTS, _MOST_DISHES = 12, 4


def write_dose(context: AnswerContext) -> Contribution:
    """Write the amounts that sources state, or that none is recorded, first."""
    part, verbalizer, question = Contribution(), context.verbalizer, context.parsed
    lines = list[Line]()
    for group in question.groups[:_MOST_NAMED]:
        write_toxic(context, group[0], part)
        for thing in group:
            lines += list(_amounts(context, thing))
        write_grave_note(context, group[0], part)
    things = [m for group in question.groups[:_MOST_NAMED] for m in group]
    findings = [f for m in things for f in context.safety.check(m, question.person)]
    for finding in findings:
        part.warn(context, finding, is_stated=True)
    verdict = Contribution()
    barred = write_verdicts(context, findings, verdict) in BARRING
    doses = Section("", lines[:_MOST_LINES])
    if not lines:
        doses.add(verbalizer.verbalize("s_child" if question.is_of_child() else "s_dose"))
    part.opening.lines += [*(() if barred else doses.lines), *verdict.opening.lines]
    if question.groups and lines and not barred:
        part.section("h_doctor").add(verbalizer.verbalize("s_dose_ask"))
    return part


def _amounts(context: AnswerContext, thing: str) -> Iterator[Line]:
    """Yield what sources state of an amount: texts with a number, and doses on evidence."""
    verbalizer = context.verbalizer
    for predicate in _AMOUNTS:
        for fact in context.facts.texts(thing, predicate, verbalizer.language):
            if _CUES["amount"].search(verbalizer.words(fact)):
                label = verbalizer.name(thing)
                text = finish(verbalizer.words(fact), verbalizer.stop)
                yield Line(((verbalizer.verbalize("p_text", label=label, text=text), (fact,)),), 1)
    for fact in context.facts.of(thing, *RATED)[:_MOST_LISTED]:
        if dose := context.evidences.qualifier(fact.claim, "dose"):
            values = {"x": verbalizer.name(thing), "y": verbalizer.name(fact.object)}
            yield Line(((verbalizer.verbalize("d_studied", dose=dose, **values), (fact,)),), 1)


def write_reasons(context: AnswerContext) -> Contribution:
    """Write what sources say of the relation between the things named, or of their effects."""
    part, verbalizer, question = Contribution(), context.verbalizer, context.parsed
    text = _reasons(context)
    for fact in text[:2]:
        part.opening.lines.append(_reason_line(context, fact))
    for group in question.groups[:2] if not text else ():
        texts = (SHIYI.mechanismOfAction, *_TEXTS)
        lines = [x for each in group for p in texts for x in relation_lines(context, each, p)]
        part.opening.lines += lines[:1]
    explained = any(f.predicate == SHIYI.mechanismOfAction for f in _facts_of(part))
    if not text and not explained:
        named = (*(g[0] for g in question.groups), *question.states, *question.aims)
        words = verbalizer.names(named) or verbalizer.quote(question.unknown[:2])
        section = Section("")
        section.add(verbalizer.verbalize("w_none" if words else "o_what", items=words))
        part.opening.lines[:0] = section.lines
        for group in question.groups[:2] if question.states and not question.frame.root else ():
            write_cautions(context, group[0], part, limit=2, notes=False)
    part.paths += [f.path(f.subject) for f in text[:2]]
    return part


def _reasons(context: AnswerContext) -> list[Fact]:
    """List the claims that join two of the things named, those with a note first."""
    question, facts = context.parsed, context.facts
    named = [(f.iri,) for f in question.frame.focus if f.iri and f.role != "other_person"]
    ends = list(dict.fromkeys((*question.groups, *((s,) for s in question.states), *named)))
    found_facts: dict[str, Fact] = {}
    for one, other in combinations(ends, 2):
        for a, b in product(one, (b for low in other for b in facts.above(low))):
            found_facts |= {f.claim: f for f in facts.between(a, b) if _explains(f)}
    note, meant = context.verbalizer.note, {iri for end in ends for iri in end}
    exact = {c: f for c, f in found_facts.items() if f.subject in meant and f.object in meant}
    found_facts = exact or found_facts
    return sorted(found_facts.values(), key=lambda f: (not note(f), -f.confidence, f.claim))


def _explains(fact: Fact) -> bool:
    joins = fact.predicate in (*_JOINING, SHIYI.hasEfficacy, SHIYI.hasAdverseReaction)
    return joins and not fact.derived and not fact.language


def _reason_line(context: AnswerContext, fact: Fact) -> Line:
    """Write one claim with its note, which is the reason that a source gives."""
    verbalizer = context.verbalizer
    relation = context.facts.property_label(fact.predicate, verbalizer.language)
    values = {"x": verbalizer.name(fact.subject), "o": verbalizer.name(fact.object)}
    text = verbalizer.verbalize("p_of", p=relation, **values)
    if not fact.positive:
        text = verbalizer.verbalize("t_denied", text=text)
    text = finish(text, verbalizer.stop)
    if not verbalizer.note(fact):
        text += verbalizer.space + verbalizer.verbalize("w_no_reason")
    text = verbalizer.add_note(text, fact)
    return Line(((text, (fact,)),), 1)


def _facts_of(part: Contribution) -> Iterator[Fact]:
    yield from (f for line in part.opening.lines for f in line.facts)
