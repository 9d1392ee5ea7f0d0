"""One form of answer for each ask, what comes before it, and the verdict it comes down to."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Final

from shiyi.answering.recommendation.advice import advise
from shiyi.answering.recommendation.candidates import choose
from shiyi.answering.retrieval.paths import Retrieval
from shiyi.answering.runtime import Runtime
from shiyi.answering.sections.comparison import compare
from shiyi.answering.sections.compatibility import (
    write_compatibility,
    write_long_term_use,
    write_watch,
)
from shiyi.answering.sections.guidance import (
    Guide,
    choose_guidance,
    covers_things,
    is_mild,
    replaces,
    write_guidance,
)
from shiyi.answering.sections.lists import (
    find_groups,
    report,
    write_allergy,
    write_avoid_list,
    write_group,
    write_none,
    write_school,
    write_texts,
    write_unsuited,
)
from shiyi.answering.sections.opening import MEDICAL, write_opening, write_reading, write_unknown
from shiyi.answering.sections.queries import write_query_list
from shiyi.answering.sections.records import (
    list_things,
    write_dose,
    write_evidence,
    write_identity,
    write_joins,
    write_preparation,
    write_properties,
    write_reasons,
    write_record,
    write_related_pairs,
    write_relations,
    write_signs,
)
from shiyi.answering.sections.terms import (
    ask_which,
    refer,
    write_constitution,
    write_law,
    write_meaning,
    write_patterns,
    write_referral,
)
from shiyi.answering.sections.verdicts import BARRING, level_of, write_ratings
from shiyi.answering.understanding.conditions import YEAR
from shiyi.answering.understanding.question import Question
from shiyi.answering.wording.draft import AnswerContext, Contribution, Line, list_unchecked
from shiyi.model.iris import VOCAB
from shiyi.model.rdf import NamedNode
from shiyi.ontology.terms import SHIYI

Form = Callable[[AnswerContext], Contribution]
_MOST_CHECKED: Final = 8
_ASKED_SURELY: Final = 0.9
_MOST_REASONS: Final = 4
_OF_HARM: Final = frozenset({"identity", "difference", "toxicity"})  # topics
_OF_CARE: Final = frozenset({"h_caution", "h_doctor"})
BY_PATHS: Final = frozenset({"fused", "paths"})  # their facts are looked up beside the paths
_OF_RELATIONS: Final = frozenset({"compare", "property", "record", "meaning", "list"})
# where things meet, that comes first
_WARNED_FIRST: Final = frozenset({"compare", "how", "why"})
_OF_THINGS: Final = frozenset({"property", "compare", "how", "dose"})  # need something named
_CHECKED_TOO: Final = frozenset({
    "compare", "evidence", "how", "why", "property", "regulation", "meaning",
})  # fmt: skip


def write(
    context: AnswerContext, retrieved: Retrieval, runtime: Runtime, method: str
) -> Contribution:
    """Write an answer from what a method retrieved; the safety check is the same for all."""
    part, parsed = Contribution(), context.parsed
    if parsed.frame.has_cue("cleared-now", "stopped-now") and parsed.groups and not parsed.urgent:
        return write_watch(context)
    opened = runtime.settings.answer.evidence == "opened"
    guides = choose_guidance(context, opened=opened) if method in BY_PATHS else ()
    answered = replaces(context, guides)
    settled = write_opening(context, part, runtime.settings.answer.country, answered=answered)
    if settled:
        alike = any(line.facts for line in part.opening.lines)
        if alike and (telling := [guide for guide in guides if guide.topic in _OF_HARM]):
            part.extend(write_guidance(context, telling))
        if parsed.groups and parsed.meets_anything():
            part.extend(_keep_warnings(context))
        part.missing += list_unchecked(context)
        return part
    if answered:
        _write_guidance(context, guides, part)
        part.missing += list_unchecked(context)
        return part
    place = len(part.opening.lines)
    _write_forms(context, part, retrieved, runtime, method)
    if covers_things(context, guides) or (guides and parsed.wants("dose")):  # more than "none"
        rest = part.opening.lines[place:]
        part.opening.lines[place:] = [line for line in rest if line.facts]
    if guides and not parsed.is_only_beyond_food():
        warned = part.warnings and is_mild(context, guides)  # which comes first
        place = len(part.opening.lines) if warned else place
        lines, part.opening.lines[place:] = part.opening.lines[place:], []
        part.extend(write_guidance(context, guides))
        part.opening.lines += lines
    return part


def _write_forms(
    context: AnswerContext, part: Contribution, retrieved: Retrieval, runtime: Runtime, method: str
) -> None:
    """Write the forms of what is asked, or what a method found, and what is missing."""
    parsed, verbalizer = context.parsed, context.verbalizer
    beyond = parsed.is_only_beyond_food() and not parsed.urgent
    forms = _forms if method in BY_PATHS else partial(_reporters, method=method)
    for form in forms(context, retrieved, runtime):
        part.extend(form(context))
    if method in BY_PATHS and not (part.has_claims() or parsed.urgent or beyond):
        write_joins(context, part)
    least = runtime.settings.answer.recommend_from
    written = method != "none" and not (parsed.urgent or beyond)
    if written and _reports(context, retrieved, part, method):
        opened = bool(part.opening.lines)
        part.extend(report(context, retrieved, least, _list_stated_claims(part), opened=opened))
    if runtime.school:
        part.extend(write_school(context, retrieved, runtime.school.iri, _list_stated_claims(part)))
    if written:
        _write_texts(context, part, retrieved, least)
    unanswered = parsed.frame.has_cue("unanswered")
    part.sections = [s for s in part.sections if s.heading in _OF_CARE or not unanswered]
    for poison in (p for m in parsed.materials[:_MOST_CHECKED] for p in context.safety.poisons(m)):
        part.warn(context, poison, is_stated=parsed.urgent)  # for any ask; once
    if method == "fused" and not (parsed.urgent or parsed.wants("evidence", "list")):
        write_ratings(context, part)
    write_reading(context, part)
    _write_missing(context, part, retrieved)
    if not (part.has_claims() or beyond or parsed.urgent or part.opening.lines):
        plain_ = verbalizer.verbalize("o_not_known")
        part.opening.add(write_none(verbalizer.language) if method == "neighbourhood" else plain_)


def _rests_on(line: Line, predicate: NamedNode) -> bool:
    return any(fact.predicate == predicate for fact in line.facts)


def _write_guidance(context: AnswerContext, chosen: tuple[Guide, ...], part: Contribution) -> None:
    """Write the guidance that answers, and what the safety check finds; what is grave first."""
    eaten = () if "myth" in context.parsed.slots else context.parsed.materials
    met = eaten and context.parsed.groups and context.parsed.meets_anything()
    checked = _write_warned_verdict(context, chosen) if met else Contribution()
    warned = {claim for each in checked.warnings for claim in each.claims}
    if warned and (_is_barred(context) or not context.parsed.wants("dose")):
        chosen = tuple(g for g in chosen if g.about or g.topic != "amount") or chosen
    checked.opening.lines = [
        line
        for line in checked.opening.lines
        if not (line.facts and warned)
        or _rests_on(line, SHIYI.confusedWith)
        or not warned.isdisjoint(f.claim for f in line.facts)
    ]
    for section in checked.sections:  # why a state is met that nobody named, and what is beside
        section.lines = [
            line
            for line in section.lines
            if _rests_on(line, SHIYI.judgedAs) or not warned.isdisjoint(f.claim for f in line.facts)
        ]
    if not context.parsed.of_kind(context.facts, SHIYI.ChemicalEntity):
        checked.missing.clear()
    if context.parsed.frame.has_cue("long-term"):
        noted = Contribution()
        write_long_term_use(context, noted)
        noted.opening.lines = [line for line in noted.opening.lines if line.facts]
        part.extend(noted)
    written = {f.claim for line in checked.opening.lines for f in line.facts}
    grave = {c for w in checked.warnings if w.severity == "contraindicated" for c in w.claims}
    rated = {context.evidences.rating(claim) for claim in written & warned}
    as_food = context.parsed.frame.has_cue("as-food")  # of which the statements tell first
    apart = is_mild(context, chosen) and not covers_things(context, chosen, drugs=True)
    first = not as_food and (apart or "major" in rated)
    first |= bool(written & grave) or any(not w.claims for w in checked.warnings)
    first |= context.parsed.wants("dose") and bool(written & warned)
    guided = write_guidance(context, chosen, first=not (first and checked.opening.lines))
    for each in (checked, guided) if first else (guided, checked):
        part.extend(each)
    for poison in (p for m in eaten for p in context.safety.poisons(m)):
        part.warn(context, poison)
    if context.parsed.wants("evidence") or context.parsed.frame.has_cue("of-effect", "proof"):
        write_ratings(context, part)


def _write_texts(
    context: AnswerContext, part: Contribution, retrieved: Retrieval, minimum: float
) -> None:
    """Write what texts hold of unknown words, and what is recorded of long use if it is asked."""
    question = context.parsed
    if retrieved.beside:
        warned = part.warnings and question.meets_anything()  # which comes first
        place = len(part.opening.lines) if warned else 0
        part.opening.lines[place:place] = write_texts(context, retrieved, minimum, part)
    asked = question.frame.has_cue("long-term") and not question.wants("how", "advice")
    if question.groups and asked:
        write_long_term_use(context, part)


def _write_missing(context: AnswerContext, part: Contribution, retrieved: Retrieval) -> None:
    """Add what was not recognised, where the answer depends on it."""
    question, verbalizer = context.parsed, context.verbalizer
    part.missing += list_unchecked(context)
    if not (question.urgent or question.is_only_beyond_food()) and _unknown_matters(question):
        words = question.unknown[:3]
        each_one = [verbalizer.verbalize("m_unlinked", word=w) for w in words]
        if len(words) > 1 and not part.shown.issuperset(each_one):
            quoted = verbalizer.quote(words)
            each_one = [verbalizer.verbalize("m_unlinked_several", words=quoted)]
        part.missing += each_one
    part.missing += retrieved.remarks
    if retrieved.notes:
        part.missing.append(verbalizer.verbalize("m_limit"))


def _unknown_matters(parsed: Question) -> bool:
    """Return whether a word that names nothing known may be what is asked about."""
    if parsed.wants("advice"):
        return not (parsed.ailments or parsed.constitutions or parsed.aims)
    if parsed.wants("avoid") and parsed.hazards:
        return False
    return not list_things(parsed) or parsed.wants("may", "record", "regulation", "stop_medicine")


def _reports(context: AnswerContext, retrieved: Retrieval, part: Contribution, method: str) -> bool:
    """Return whether a method's claims are written out; Shiyi's only where all else is thin."""
    if method in BY_PATHS:
        return method == "fused" and not part.has_claims() and not part.opening.lines
    settled = context.parsed.wants("constitution") and part.has_claims()
    advised = context.parsed.wants_advice() and (retrieved.paths or context.parsed.seasons)
    return not (settled or advised)


def _list_stated_claims(part: Contribution) -> frozenset[str]:
    """List the claims that a line rests on."""
    lines = (line for s in (part.opening, *part.sections) for line in s.lines)
    return frozenset(f.claim for line in lines for f in line.facts)


def _forms(context: AnswerContext, retrieved: Retrieval, runtime: Runtime) -> list[Form]:
    """Return the forms of what is asked, after the safety check of the things named."""
    question = context.parsed
    if question.alarm == "self_harm":  # any record may be a means
        return [_write_warned_verdict] if _asks_of_medicine(question) else []
    if question.urgent:
        return [_keep_warnings] if question.groups and question.meets_anything() else []
    if question.frame.has_cue("complains") and not question.groups:
        return [partial(_write_stated_relations, text=context.verbalizer.verbalize("o_sorry"))]
    if question.is_only_beyond_food():
        return [write_referral] if MEDICAL.intersection(question.frame.topics) else []
    results = [form for ask in question.asks for form in _form(ask, context, retrieved, runtime)]
    if question.wants(*_OF_RELATIONS):
        results.insert(bool(results) and results[0] is _write_warned_verdict, write_relations)
    return list(dict.fromkeys(results))


def _asks_of_medicine(parsed: Question) -> bool:
    """Return whether it is surely asked if a thing may be had with a medicine that is taken."""
    asked = parsed.frame.ask == "may" and parsed.frame.confidence >= _ASKED_SURELY
    return asked and bool(parsed.groups and parsed.person.drugs)


def _form(ask: str, context: AnswerContext, retrieved: Retrieval, runtime: Runtime) -> list[Form]:
    question = context.parsed
    if ask in ("advice", "evidence") and question.asks_of_unknown():
        return [write_unknown]
    if ask == "advice":
        return _advice_forms(context, retrieved, runtime)
    if ask == "avoid":
        return _avoidance_forms(context, runtime)
    if ask in ("may", "stop_medicine", "clarification"):
        return _verdict_forms(context, ask)
    if ask == "list" or (ask == "property" and _is_of_contents(question)):
        return _list_forms(context, retrieved, runtime)
    if ask == "constitution" and question.frame.has_cue("diagnosis") and not question.constitutions:
        return [write_constitution]
    if (ask == "evidence" and not question.groups) or _asks_what_listing_means(context):
        return [write_law]
    if ask == "compare" and not question.groups and len(question.ailments) > 1:
        return [write_signs]
    return _of_things(ask, _FORMS[ask], context) if ask in _FORMS else _record_forms(context)


def _write_reasons(context: AnswerContext) -> Contribution:
    """Write the reasons that sources give, else what is recorded against in the states named."""
    part = write_reasons(context)
    if not part.has_claims() and context.parsed.states and not context.parsed.groups:
        avoided = write_group(context) if find_groups(context) else write_avoid_list(context)
        noted = [(w.text, [avoided.facts[c] for c in w.claims]) for w in avoided.warnings]
        part = Contribution() if noted else part  # the notes are the reasons
        part.extend(avoided)
        for text, facts in noted[:_MOST_REASONS]:
            part.section("h_compare").add(text, *facts)
    return part


def _write_further_reasons(context: AnswerContext) -> Contribution:
    """Write the reasons that the safety check has not given."""
    part = _write_reasons(context)
    checked = {f.claim for line in write_compatibility(context).opening.lines for f in line.facts}
    rest = [x for x in part.opening.lines if not checked.issuperset(f.claim for f in x.facts)]
    part.opening.lines = rest or part.opening.lines
    return part


def _dose(context: AnswerContext) -> Contribution:
    """Write the amounts that sources state, and who should leave out a group of foods."""
    part = write_dose(context)
    if find_groups(context) and context.parsed.states and not context.parsed.groups:
        part.extend(write_group(context))
    return part


_FORMS: Final[dict[str, Form]] = {
    "property": write_properties, "compare": compare, "evidence": write_evidence,
    "how": write_preparation, "dose": _dose, "why": _write_reasons, "meaning": write_meaning,
    "regulation": write_law, "constitution": write_constitution,
}  # fmt: skip


def _asks_what_listing_means(context: AnswerContext) -> bool:
    """Return whether it is asked if things work because they are listed."""
    question = context.parsed
    listed = question.of_kind(context.facts, SHIYI.RegulatoryStatus)
    return bool(listed) and question.frame.has_cue("proof", "cure") and not question.groups


def _list_forms(context: AnswerContext, retrieved: Retrieval, runtime: Runtime) -> list[Form]:
    """Return the result of the compiled query, else advice or the record of what is named."""
    question, facts = context.parsed, context.facts
    conditions = {c.property for c in question.frame.conditions}
    if question.frame.has_cue("which-year") and conditions <= {YEAR, "regulatoryStatus"}:
        return [write_law]
    relations = [NamedNode(VOCAB + name) for name in question.frame.wanted.relations]
    if any(facts.of(thing, *relations) for thing in question.materials if relations):
        met = question.groups and question.meets_anything()
        warned: list[Form] = [_write_warned_verdict] if met else []
        return [*warned, write_properties]  # of what a formula is made, not what has it in it
    contribution = write_query_list(context, runtime.store)
    if contribution is not None:
        named = question.groups or len(question.drugs) > 1
        beside = [] if contribution.has_claims() or not named else _record_forms(context)
        counted = question.frame.wanted.measure == "count" and conditions == {"regulatoryStatus"}
        official = [write_law] if counted else []  # a name in the catalogue may be two things here
        results = [*official, lambda _: contribution, *beside]
        return beside if beside and question.meets_anything() else results
    advised = context.parsed.states and context.parsed.wants("list")
    return _advice_forms(context, retrieved, runtime) if advised else _record_forms(context)


def _of_things(ask: str, form: Form, context: AnswerContext) -> list[Form]:
    """Return the form of an ask about things, with what is unknown, and the safety check apart."""
    question = context.parsed
    if ask in _OF_THINGS and not list_things(question):
        return _unrecognized_forms(context)
    lacks = ask == "compare" and bool(question.unknown) and len(question.groups) < 2
    lacks |= ask == "regulation" and _is_of_unknown(context)
    first = _unrecognized_forms(context) if lacks else []
    checked = ask in _CHECKED_TOO and question.groups and question.meets_anything()
    again = ask == "why" and bool(question.frame.root)  # the verdict was given before
    warned = partial(_warnings_of, form=_write_warned_verdict, given=True)
    apart: list[Form] = [warned if again else _write_warned_verdict] if checked else []
    described = ask == "property" and not question.frame.wanted.relations
    form = _write_further_reasons if ask == "why" and apart and not again else form
    before = described or ask in _WARNED_FIRST or (checked and _is_barred(context))
    return [*apart, *first, form] if before else [*first, form, *apart]


def _is_barred(context: AnswerContext) -> bool:
    """Return whether something named is not to be taken by this person."""
    question = context.parsed
    findings = (f for m in question.materials for f in context.safety.check(m, question.person))
    return any(level_of(context, f) in BARRING for f in findings)


def _is_of_unknown(context: AnswerContext) -> bool:
    """Return whether the first thing that is named, asked about by its status, is not known."""
    facts, materials = context.facts, context.parsed.materials
    near = (*materials, *(kin for material in materials for kin in facts.siblings(material)))
    first = next(iter(context.parsed.frame.focus), None)
    listed = any(facts.of(each, SHIYI.regulatoryStatus) for each in near)
    return bool(materials and first and not first.iri) and not listed


def _is_of_contents(parsed: Question) -> bool:
    """Return whether things that contain something are asked for: "foods rich in vitamin C"."""
    named = any(c.property == "hasNutrient" for c in parsed.frame.conditions)
    return named and bool(parsed.frame.wanted.classes or parsed.frame.has_cue("foods-asked"))


def _write_warned_verdict(context: AnswerContext, guides: Sequence[Guide] = ()) -> Contribution:
    """Write the verdict of the safety check beside another form, or beside statements."""
    part = write_compatibility(context, guides)
    if not part.warnings:
        return Contribution()
    if context.parsed.wants("why"):  # the reasons are what is asked for
        part.sections = [each for each in part.sections if each.heading != "h_compare"]
    for section in part.sections:  # the signs of alarm go with advice
        section.lines = [e for e in section.lines if not _rests_on(e, SHIYI.hasRedFlag)]
    part.follow_up.clear()
    return part


def _keep_warnings(context: AnswerContext) -> Contribution:
    """Keep the warnings of the safety check without writing them out."""
    part = _warnings_of(context, form=_write_warned_verdict)
    part.missing.clear()
    part.shown |= {warning.text for warning in part.warnings}
    return part


def _advice_forms(context: AnswerContext, retrieved: Retrieval, runtime: Runtime) -> list[Form]:
    question = context.parsed
    if is_of_allergy_alone(question):
        return [write_allergy]
    if question.is_feverish_child() or question.is_of_child(under_one=True):
        return [refer]
    beside: list[Form] = (
        [_write_warned_verdict] if question.groups and question.meets_anything() else []
    )
    if not retrieved.paths and _is_of_contents(question):
        return [*beside, partial(_ask_back, runtime=runtime)]
    if not question.wants_advice():
        return beside or [partial(_ask_back, runtime=runtime)]
    return [*beside, partial(_advice, retrieved=retrieved, runtime=runtime)]


def _ask_back(context: AnswerContext, runtime: Runtime) -> Contribution:
    """List what meets a wish that names no trouble, or ask for one."""
    listed = write_query_list(context, runtime.store) if context.parsed.frame.conditions else None
    if listed is not None:
        return listed
    part = Contribution()
    unclear = context.verbalizer.verbalize("o_unclear")
    part.opening.add(unclear if context.parsed.unknown else ask_which(context))
    return part


def _advice(context: AnswerContext, *, retrieved: Retrieval, runtime: Runtime) -> Contribution:
    k = retrieved.k or runtime.settings.paths.top_k
    choice = choose(
        context.parsed, retrieved, context.differential, context.facts, context.safety, k
    )
    return advise(context, retrieved, choice, runtime.settings.answer.recommendations)


def _avoidance_forms(context: AnswerContext, runtime: Runtime) -> list[Form]:
    question = context.parsed
    own = question.ailments or question.drugs or question.populations
    if question.groups and _is_of_contents(question):
        return [write_compatibility, partial(_ask_back, runtime=runtime)]
    if question.groups and (question.frame.has_cue("who-may-not") or not own):
        return [write_unsuited]
    if question.groups:
        return [write_compatibility]
    if is_of_allergy_alone(question):
        return [write_allergy]
    if question.hazards:
        return [write_group if find_groups(context) else write_avoid_list]
    return _record_forms(context)


def _verdict_forms(context: AnswerContext, ask: str) -> list[Form]:
    """Return the verdict on the things named, or what is recorded against them for anybody."""
    question = context.parsed
    if question.groups:
        if question.meets_anything() or question.frame.leaning:
            return [write_compatibility]
        relations = question.frame.wanted.relations and question.frame.has_cue("open-question")
        if ask == "clarification":
            return [write_identity, write_properties]
        return [write_properties if relations else write_unsuited]
    if ask == "stop_medicine":
        return []
    if find_groups(context) and question.hazards:
        return [write_group]
    cues, hazards = question.frame, question.hazards
    if ask == "may" and question.unknown:
        return [write_unknown]
    if hazards and cues.has_cue("open-question") and not cues.has_cue("yes-no"):
        return [write_avoid_list]  # "what is off the table for me"
    if is_of_allergy_alone(question):
        return [write_allergy]
    if ask == "may" and question.states:
        unnamed = context.verbalizer.verbalize("o_unnamed")
        form: Form = partial(_write_stated_relations, text=unnamed)
        taken = any(context.facts.is_a(state, SHIYI.Drug) for state in question.states)
        return [form, write_avoid_list] if taken else [form]
    return _record_forms(context)


def _unrecognized_forms(context: AnswerContext) -> list[Form]:
    """Return a form that says which word is not known, or asks what is meant."""
    words = context.parsed.unknown[:3]
    verbalizer = context.verbalizer
    if not words:
        return [partial(_write_stated_relations, text=ask_which(context))]
    text = verbalizer.verbalize("o_not_recognised", words=verbalizer.quote(words))
    values = {verbalizer.verbalize("m_unlinked", word=word) for word in words}
    return [partial(_write_stated_relations, text=text, found=values)]


def _write_stated_relations(
    _: AnswerContext, *, text: str, found: frozenset[str] | set[str] = frozenset()
) -> Contribution:
    part = Contribution(shown=set(found))
    part.opening.add(text)
    return part


def _record_forms(context: AnswerContext) -> list[Form]:
    """Return the record of what is named, where no ask is sure; the safety check comes first."""
    parsed = context.parsed
    checks: list[Form] = [write_compatibility] if parsed.groups and parsed.meets_anything() else []
    if checks:
        return checks
    things = list_things(parsed)
    if parsed.frame.wanted.relations:
        return [write_properties if things else write_related_pairs]
    if parsed.ailments and not parsed.groups and context.differential.patterns:
        return [write_patterns]
    if things:
        return [lambda each: write_record(each, things)]
    return _unrecognized_forms(context)


def is_of_allergy_alone(parsed: Question) -> bool:
    """Return whether an allergy is named and nothing that food is sought for or asked about."""
    allergens = any(f.role == "allergy" for f in parsed.frame.focus)
    ailments = (
        *parsed.ailments, *parsed.constitutions, *parsed.aims, *parsed.seasons, *parsed.materials,
        *parsed.drugs,
    )  # fmt: skip
    return allergens and not ailments and not parsed.wants("constitution")


def _reporters(
    context: AnswerContext, retrieved: Retrieval, runtime: Runtime, method: str
) -> list[Form]:
    """Return what the safety check says anyway beside a method's claims, and its advice."""
    parsed = context.parsed
    if parsed.alarm == "self_harm":
        return []
    if parsed.is_only_beyond_food() and not parsed.urgent:
        return [write_referral]
    checks: list[Form] = []
    if parsed.groups and parsed.meets_anything() and not (parsed.urgent and not parsed.drugs):
        checks = [_write_warned_verdict if parsed.wants_advice() else write_compatibility]
    elif parsed.groups and parsed.wants("may", "dose", "avoid") and not parsed.urgent:
        checks = [write_unsuited]
    if method == "none":
        return [partial(_warnings_of, form=check) for check in checks]
    return [*checks, *_settled_forms(context, retrieved, runtime)]


def _settled_forms(context: AnswerContext, retrieved: Retrieval, runtime: Runtime) -> list[Form]:
    """Return the forms that do not depend on which method is used."""
    question = context.parsed
    if question.urgent:
        return [write_referral]
    results: list[Form] = [write_constitution] if question.wants("constitution") else []
    if is_of_allergy_alone(question):
        results.append(write_allergy)
    elif question.wants("avoid") and not question.groups and question.states:
        results.append(write_avoid_list)
    elif question.wants_advice() and (
        question.is_feverish_child() or question.is_of_child(under_one=True)
    ):
        results.append(refer)
    elif question.wants_advice() and (retrieved.paths or question.seasons):
        results.append(partial(_advice, retrieved=retrieved, runtime=runtime))
    return results


def _warnings_of(context: AnswerContext, *, form: Form, given: bool = False) -> Contribution:
    """Keep the warnings of a check alone, unwritten where the answer before has ``given`` them."""
    part = form(context)
    shown = {warning.text for warning in part.warnings if given}
    return Contribution(warnings=part.warnings, shown=shown, facts=part.facts, missing=part.missing)
