"""What comes before the answer: emergencies, medicines, whom it is for, what is left out."""

from collections.abc import Iterable
from typing import Final

from shiyi.answering.knowledge.facts import MATERIAL
from shiyi.answering.recommendation.additive_effects import write_duplicates
from shiyi.answering.sections.terms import emergency_numbers, write_alarms
from shiyi.answering.understanding.question import sanitize_words
from shiyi.answering.understanding.reader.alarms import precautions
from shiyi.answering.wording.draft import AnswerContext, Contribution
from shiyi.answering.wording.verbalization import capital, join_names, kind_words
from shiyi.model.answer import SafetyWarning
from shiyi.model.claim import EvidenceKind
from shiyi.model.iris import resource
from shiyi.ontology.terms import SHIYI

_MOST_MADE, _MOST_NAMED = 2, 8
MEDICAL: Final = frozenset({  # topics that a doctor can be asked about
    "heredity", "contagion", "department", "outlook", "tests", "fertility", "abortion", "activity",
    "pictures", "procedures",
})  # fmt: skip
_REACTION: Final = resource("symptom-allergic-reaction").value

_SIGNS: Final = "black-tarry-stools vomiting-blood coughing-up-blood bleeding-that-does-not-stop"
# in which the next dose may harm: it waits for the emergency service
_BLEEDING: Final = {resource(f"symptom-{name}").value for name in _SIGNS.split()}


def _allergic(context: AnswerContext, part: Contribution) -> None:
    """Warn of a medicine of a class that somebody is allergic to, or to another member of it."""
    allergies, verbalizer = context.parsed.person.allergies, context.verbalizer
    theirs = {broader: a for a in reversed(allergies) for broader in context.facts.above(a)[1:]}
    for drug in context.parsed.drugs:
        above = context.facts.above(drug)
        own = next((broader for broader in above if broader in allergies), "")
        reacts = {
            f.subject: f
            for broader in above
            if broader in theirs
            for f in context.facts.of(broader, SHIYI.hasAdverseReaction)
            if f.object == _REACTION
        }
        shared = next(iter(reacts), "")
        if not (own or shared):
            continue
        names = {"x": verbalizer.name(drug), "y": verbalizer.name(own or shared)}
        names |= {} if own else {"z": verbalizer.name(theirs[shared])}
        text = verbalizer.verbalize("v_allergic_drug" if own else "v_allergic_kin", **names)
        text = capital(text, verbalizer.language)
        facts = () if own else (reacts[shared],)
        part.warnings.append(SafetyWarning("contraindicated", text, tuple(f.claim for f in facts)))
        part.note(*facts)
        part.shown.add(text)
        part.opening.add(text, *facts)


def write_opening(
    context: AnswerContext, part: Contribution, country: str, *, answered: bool = False
) -> bool:
    """Write what must come before everything: emergencies, medicines, what is left out.

    ``answered`` is whether guidance answers what seems to be no question of food. Return whether
    what is written is the answer, beside what is recorded against.
    """
    question, verbalizer, settled = context.parsed, context.verbalizer, False
    if not question.urgent:
        settled = _write_lookalikes(context, part, country)
    if question.alarm != "self_harm":
        settled |= _beware(context, part, country)
    if question.urgent:
        write_alarms(context, part, country)
        if question.alarm == "self_harm":
            return False
        if question.frame.ask == "stop_medicine" and _BLEEDING.isdisjoint(question.emergencies):
            _stop(context, part)
        return False
    _allergic(context, part)
    if len({*question.materials, *question.drugs, *question.person.drugs}) > 1:
        write_duplicates(context, part)
    if question.wants("stop_medicine"):
        _stop(context, part)
    beyond = question.frame.topics or question.is_only_beyond_food()
    if beyond and not (answered or settled):
        _write_outside(context, part)
    _of_whom(context, part)
    _of_turn(context, part)
    if question.frame.has_cue("cure"):
        part.opening.add(verbalizer.verbalize("s_cure"))
    return settled


def _write_lookalikes(context: AnswerContext, part: Contribution, country: str) -> bool:
    """Write which poisonous things are mistaken for what is gathered or to be distinguished."""
    question, verbalizer, facts = context.parsed, context.verbalizer, context.facts
    frame, things, confused = question.frame, question.materials[:_MOST_NAMED], SHIYI.confusedWith
    pairs = [f for x in things for f in (*facts.of(x, confused), *facts.inverse(x, confused))]
    pairs = [f for f in pairs if {f.subject, f.object} <= {*things}] or pairs
    asked = frame.has_cue("of-identity", "of-difference") or "gathered" in question.slots
    asked = asked or question.wants("compare")
    place = len(part.opening.lines)
    for fact in dict.fromkeys(pairs if "resolved" not in question.slots else ()):
        ends = (fact.subject, fact.object)
        grades = {end: {p.severity for p in context.safety.poisons(end)} for end in ends}
        poison = next((end for end in ends if "contraindicated" in grades[end]), "")
        named = poison in things and not question.wants("may", "dose")
        if poison and (asked or named or {*ends} <= {*things}):
            names = {"y": verbalizer.name(poison), "x": verbalizer.name(fact.other(poison))}
            text = capital(verbalizer.verbalize("o_lookalike", **names), verbalizer.language)
            text = verbalizer.add_note(text + verbalizer.stop, fact)
            part.warnings.append(SafetyWarning("contraindicated", text, (fact.claim,)))
            part.note(fact)
            part.shown.add(text)
            part.opening.add(text, fact)
    part.opening.lines[place + _MOST_MADE :] = []
    if written := len(part.opening.lines) > place:
        part.opening.add(_state(context, "s_gathered", country))
    return written


def write_reading(context: AnswerContext, part: Contribution) -> None:
    """Write as what a name is read that is recorded only in part."""
    question, verbalizer = context.parsed, context.verbalizer
    made = [f for f in question.frame.focus if f.within and f.iri in question.materials]
    for focus in made[:_MOST_MADE] if not question.urgent else ():
        values = {"word": sanitize_words(focus.within), "x": verbalizer.name(focus.iri)}
        part.opening.add(verbalizer.verbalize("o_made", **values))


def _of_whom(context: AnswerContext, part: Contribution) -> None:
    """Write for whom it is answered, where states of somebody else are named."""
    question, verbalizer = context.parsed, context.verbalizer
    if question.theirs:
        key = "o_theirs" if question.frame.patient.who in {"self", "general"} else "o_mine"
        part.opening.add(verbalizer.verbalize(key, states=_states(context, question.theirs)))


def _stop(context: AnswerContext, part: Contribution) -> None:
    verbalizer = context.verbalizer
    drugs = verbalizer.names(context.parsed.person.drugs) or verbalizer.verbalize("s_stop_any")
    text = verbalizer.verbalize("s_stop", drugs=drugs)
    part.warnings.append(SafetyWarning("caution", text))
    part.shown.add(text)
    first = context.parsed.asks[0] == "stop_medicine" or context.parsed.urgent
    (part.opening if first else part.section("h_doctor")).add(text)


def _of_turn(context: AnswerContext, part: Contribution) -> None:
    """Write what a follow-up takes back, and that what it asks of is not recorded."""
    frame, verbalizer = context.parsed.frame, context.verbalizer
    gone = [f.iri for f in frame.focus if f.assertion == "denied" and f.role in _RETRACTED]
    if gone and frame.has_cue("retracts", "correction"):
        part.opening.add(verbalizer.verbalize("o_without", states=_states(context, gone)))
    if frame.has_cue("eaten-now"):
        _write_eaten(context, part)
    if frame.has_cue("unanswered"):
        words = sanitize_words(frame.text).rstrip("?.!\uff1f\u3002\uff01")
        part.opening.add(verbalizer.verbalize("o_point", words=words))


def _write_eaten(context: AnswerContext, part: Contribution) -> None:
    """Write whether one portion that was had is a matter for alarm, as far as it is recorded."""
    parsed, verbalizer = context.parsed, context.verbalizer
    grave = parsed.person.drugs or parsed.person.allergies or parsed.is_of_child(under_one=True)
    grave = grave or any(_harms_ill(context, iri) for iri in parsed.materials)
    name = verbalizer.names(group[0] for group in parsed.groups)
    texts = [verbalizer.verbalize("o_eaten_ask" if grave else "o_eaten", x=name)]
    if _PREGNANT in (*parsed.populations, *parsed.person.states):
        texts.append(verbalizer.verbalize("o_eaten_pregnant"))
    texts.append(verbalizer.verbalize("o_eaten_on"))
    known = kind_words(verbalizer.language, [EvidenceKind.RECALLED])
    part.opening.add(verbalizer.annotate(verbalizer.space.join(texts), known))


def _harms_ill(context: AnswerContext, material: str) -> bool:
    """Return whether something is toxic, or contraindicated in a disease of the person."""
    safety, question = context.safety, context.parsed
    findings = safety.against_states(material, (*question.states, *question.person.states))
    return bool(safety.poisons(material)) or any(
        f.severity == "contraindicated" and context.facts.is_a(f.against, SHIYI.Disease)
        for f in findings
    )


_PREGNANT: Final = resource("population-pregnant").value
_RETRACTED: Final = frozenset({"medicine", "condition", "complaint"})


def _write_outside(context: AnswerContext, part: Contribution) -> None:
    """Add that a question is none of food, and whom to ask instead."""
    question, verbalizer = context.parsed, context.verbalizer
    if question.wants("chitchat"):
        closes = question.frame.has_cue("closes")
        part.opening.add(verbalizer.verbalize("o_closing" if closes else "o_chat"))
        return
    topics = question.frame.topics
    if not topics:
        part.opening.add(verbalizer.verbalize("o_scope"))
        return
    named = [verbalizer.verbalize(f"topic_{topic}") for topic in topics]
    names = join_names(verbalizer.language, named)
    medical = MEDICAL.intersection(topics)
    ask = verbalizer.space + verbalizer.verbalize("o_beyond_doctor") if medical else ""
    part.opening.add(verbalizer.verbalize("o_beyond", topics=names) + ask)


def _states(context: AnswerContext, left: Iterable[str]) -> str:
    """Name states and medicines; a food among them is what somebody is allergic to."""
    verbalizer = context.verbalizer
    named = [
        verbalizer.verbalize("v_allergic_to", x=verbalizer.name(iri))
        if context.facts.is_a(iri, *MATERIAL, SHIYI.FoodGroup, SHIYI.Organism)
        else verbalizer.name(iri)
        for iri in left
    ]
    return join_names(verbalizer.language, named)


def _beware(context: AnswerContext, part: Contribution, country: str) -> bool:
    """State first what the slots call for: choking, raw beans; return whether it is the answer."""
    called = precautions(context.parsed.slots)
    for sentence, (severity, _) in called.items():
        text = _state(context, sentence, country)
        if all(line.text != text for line in part.opening.lines):
            part.warnings.append(SafetyWarning(severity, text))
            part.opening.add(text)
    return any(alone for _, alone in called.values())


def _state(context: AnswerContext, sentence: str, country: str) -> str:
    """Return a sentence that is common knowledge, with the numbers to call."""
    verbalizer = context.verbalizer
    numbers = emergency_numbers(verbalizer.language, country, context.parsed.question)
    known = kind_words(verbalizer.language, [EvidenceKind.RECALLED])
    return verbalizer.annotate(verbalizer.verbalize(sentence, **numbers), known)


def write_unknown(context: AnswerContext) -> Contribution:
    """State that nothing is known of the thing, and what that means for who takes medicines."""
    verbalizer, part = context.verbalizer, Contribution()
    words = context.parsed.unknown[:3]
    part.opening.add(verbalizer.verbalize("o_unheard", words=verbalizer.quote(words)))
    if drugs := context.parsed.person.drugs:
        names = verbalizer.names(drugs[:_MOST_NAMED])
        part.opening.add(verbalizer.verbalize("o_unheard_with", drugs=names))
    part.shown |= {verbalizer.verbalize("m_unlinked", word=word) for word in words}
    return part
