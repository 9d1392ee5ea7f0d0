"""A question read once into its frame; everything after this reads the frame alone."""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Final, Literal

from shiyi.answering.knowledge.facts import AILMENT, MATERIAL, Facts
from shiyi.answering.understanding import patient as people
from shiyi.answering.understanding.conditions import (
    add_classes,
    find_beside,
    find_conditions,
    find_kinds,
    find_predicates,
    is_list,
    unread_exclusions,
)
from shiyi.answering.understanding.frame import (
    AskType,
    Assertion,
    Focus,
    Frame,
    Intent,
    Patient,
    Role,
    State,
    WantedKinds,
)
from shiyi.answering.understanding.mentions import (
    TAKEN,
    blank_names,
    find_asked_forms,
    find_drinks,
    find_materials,
    find_prepared,
    link_question,
    preparations,
)
from shiyi.answering.understanding.patient import parse_age, parse_sex, parse_states
from shiyi.answering.understanding.question import Question, resolve
from shiyi.answering.understanding.reader.alarms import emergency_signs
from shiyi.answering.understanding.reader.model import Reader, Span, shipped_reader
from shiyi.linking.linker import Linker
from shiyi.linking.normalization import QuestionText, blank_spans, fold, space_words
from shiyi.model.answer import Mention
from shiyi.model.iris import resource
from shiyi.model.profile import Profile
from shiyi.ontology.lexicon import Cues, cue_texts, cues, word_list
from shiyi.ontology.terms import SHIYI
from shiyi.settings import UnderstandingSettings

_CUES: Final = Cues("wanted")
_STATES: Final = {
    resource(f"population-{name}").value: label
    for name, label in (
        ("pregnant", "pregnant"), ("lactating", "breastfeeding"), ("menstruating", "menstruating"),
        ("preoperative", "surgery"), ("postoperative", "surgery"),
        ("preconception", "trying-to-conceive"),
    )
}  # fmt: skip
_SHORT: Final = 4  # characters of a clause that may ask something of its own
_SECOND: Final = 0.8  # probability of what another clause asks
_MOST: Final = 4  # clauses
_PAIRS: Final = frozenset({
    ("property", "may"), ("how", "dose"), ("advice", "avoid"), ("avoid", "advice"), ("may", "why"),
    ("may", "advice"), ("may", "dose"), ("may", "how"), ("property", "dose"), ("evidence", "dose"),
    ("list", "why"), ("stop_medicine", "advice"),
    ("property", "how"), ("constitution", "advice"), ("compare", "may"), ("meaning", "advice"),
})  # fmt: skip
_NAMED: Final = frozenset({  # asks in which a medicine or a state is what is asked about
    "compare", "property", "list", "evidence", "how", "dose", "why", "meaning", "regulation",
})  # fmt: skip


def parse_question(
    text: QuestionText,
    profile: Profile,
    linker: Linker,
    facts: Facts,
    settings: UnderstandingSettings,
) -> Question:
    """Read a question by the shipped reader, and resolve its frame."""
    pregnant = bool(profile.pregnant)
    frame, mentions = read_question(text, linker, facts, shipped_reader(), pregnant=pregnant)
    return resolve(frame, mentions, profile, linker, facts, settings)


def read_question(
    text: QuestionText,
    linker: Linker,
    facts: Facts,
    reader: Reader,
    *,
    pregnant: bool = False,
    language: str | None = None,
) -> tuple[Frame, tuple[Mention, ...]]:
    """Return the frame of a question with its mentions, those that name nothing known with them.

    ``pregnant`` is what a profile says: it decides which signs are those of an emergency.
    ``language`` is that of the answer, by default that of the text.
    """
    language = language or text.language
    mentions = people.resolve_denials(link_question(text, linker, facts), text)
    mentions = people.resolve_time(mentions, text, facts)
    frame = reader.read(text, tuple(_spans(mentions, facts))).in_language(language)
    second = _second_ask(text, frame, reader)
    asking = sum(bool(_CUES["asking"].search(text.raw[a:b])) for a, b in text.clauses)
    if frame.ask == "avoid" and second == ("advice",) and asking == 1:
        frame, second = _with_first(frame, "advice"), ()  # what is not eaten is a condition
    forms, spans = find_asked_forms(text, mentions, facts)
    linked_mentions = [m for m in mentions if m.iri and (m.start, m.end) not in spans]
    named_signs = (m for m in linked_mentions if not (m.negated or "Threshold" in m.justification))
    signs = emergency_signs(
        text,
        frame.slots,
        (
            i
            for m in named_signs
            for i in (m.iri, *m.alternatives)
            if facts.is_a(i, SHIYI.EmergencySign)
        ),
        pregnant=pregnant,
    )
    leaning = _read_lean(text)
    focus = tuple(
        f
        for f in _focus(text, linked_mentions, frame, linker, facts)
        if f.role != "asked_about" or not any(fold(f.text) in words for words in leaning[1:])
    )
    focus += tuple(_unknown(text, mentions, spans))
    age = parse_age(text.folded)
    theirs = {f.iri for f in focus if f.role == "other_person"}
    states = _states(text, [m for m in linked_mentions if m.iri not in theirs], facts, age)
    states += tuple(s for s in parse_states(text.folded) if _is_new(s, linked_mentions, states))
    own = theirs and people.asks_for_themselves(text)
    patient = Patient("self" if own else frame.patient.who, age, parse_sex(text.aligned), states)
    kinds = add_classes(_read_wanted(text, linked_mentions, forms, facts), text)
    whole = replace(
        frame,
        patient=patient,
        wanted=kinds,
        focus=tuple(sorted(focus, key=lambda f: f.start)),
        signs=tuple(i for i in signs if i in facts.labels),
        leaning=leaning,
        topics=find_foreign_topics(text),
        second=second,
    )
    whole = replace(whole, conditions=find_conditions(text, whole, facts))
    of_catalogue = all(c.property == "regulatoryStatus" for c in whole.conditions)
    of_rule = whole.ask == "meaning" or (whole.ask in _OF_RULES and of_catalogue)
    if not of_rule and is_list(text, whole):
        whole = _with_first(whole, "list")
    if whole.ask == "list" and whole.conditions:
        left = find_beside(text, whole)
        named = tuple(f for f in whole.focus if f.iri or f in left)
        whole = replace(whole, focus=(*named, *unread_exclusions(text, whole)))
    return whole, mentions


_OF_RULES: Final = frozenset({"regulation", "why", "how", "dose", "evidence"})


def _spans(mentions: Iterable[Mention], facts: Facts) -> Iterator[Span]:
    for m in mentions:
        if m.iri:
            yield m.start, m.end, facts.classes.get(m.iri, "")


def _second_ask(text: QuestionText, frame: Frame, reader: Reader) -> tuple[AskType, ...]:
    """Return what another clause asks surely, where the two go together."""
    clauses = [text.raw[a:b].strip() for a, b in text.clauses if b - a >= _SHORT]
    if len(clauses) < 2:
        return ()
    read = (
        reader.classify_clause(QuestionText.of(clause, text.language)) for clause in clauses[:_MOST]
    )
    sure = (intent.type for intent in read if intent.p >= _SECOND)
    return tuple(ask for ask in sure if (frame.ask, ask) in _PAIRS)[:1]


def _with_first(frame: Frame, ask: AskType) -> Frame:
    """Return a frame with another first ask, and the probability of the first."""
    intents = tuple(intent for intent in frame.asks[1:] if intent.type != ask)
    sure = max(frame.confidence, _SECOND) if ask == "list" else frame.confidence
    return replace(frame, asks=(Intent(ask, sure), *intents), polarity="positive")


def _focus(
    text: QuestionText, linked: Sequence[Mention], frame: Frame, linker: Linker, facts: Facts
) -> Iterator[Focus]:
    """Yield what a question names, each with its role and whether it is so."""
    foods = [m for m in linked if facts.is_a(m.iri, *TAKEN)]
    allergens = people.allergens(text, foods)
    linked = [m for m in linked if m in allergens or not _is_allergy(m, allergens)]
    mentions = people.list_conditions_of_others(linked, text, facts, allergens)
    other_mentions = [m for m in foods if m not in allergens]
    left_out = people.find_not_eaten(text, other_mentions)
    within = {start: word for word, _, start in find_prepared(text, linked, facts)}
    if len(left_out) == len(other_mentions) and frame.ask not in {"advice", "list"}:
        left_out = ()  # what is not eaten is what is asked about
    sold_as = preparations([m for m in linked if facts.is_a(m.iri, SHIYI.Drug)], linker, facts)
    for m in linked:
        if m in mentions:
            label = facts.label(m.iri, frame.language)
            assertion = _assertion(m, text)
            yield Focus(m.text, m.start, m.end, m.iri, label, "other_person", assertion)
        if m in mentions or facts.is_a(m.iri, SHIYI.Population):
            continue
        meant = sold_as.get(m.iri) or find_materials(m, facts)
        role = _role(m, text, frame.ask, facts, is_material=bool(meant))
        if m in allergens:
            role = "allergy"
        assertion = _assertion(m, text)
        if m in left_out:
            role, assertion = "asked_about", "denied"
        elif meant and assertion == "denied":
            assertion = "affirmed"  # a thing is asked about by 能不能吃 too
        senses = (a for a in m.alternatives if not meant or facts.is_a(a, SHIYI.ChemicalEntity))
        iri, *also = [*(meant or [m.iri]), *senses]
        label = facts.label(iri, frame.language)
        longer = within.get(m.start, "")
        yield Focus(m.text, m.start, m.end, iri, label, role, assertion, tuple(also), longer)
    named = {m.iri for m in linked}
    for iri, word, start in find_drinks(text, linked, facts):
        if iri not in named:
            label = facts.label(iri, frame.language)
            yield Focus(word, start, start + len(word), iri, label, "asked_about")


def _is_allergy(mention: Mention, allergens: Sequence[Mention]) -> bool:
    """Return whether a mention is only the word "allergic" beside what it is about."""
    near = any(
        abs(mention.start - a.end) <= _SHORT or abs(a.start - mention.end) <= _SHORT
        for a in allergens
    )
    return near and people.is_allergy_word(mention.text)


def _role(
    mention: Mention, text: QuestionText, ask: str, facts: Facts, *, is_material: bool
) -> Role:
    if is_material and _is_product(text, mention):
        return "topic"  # of a tale: 虾和维C变成砒霜
    if is_material:
        return "eaten" if _is_eaten(text, mention) else "asked_about"
    if facts.is_a(mention.iri, SHIYI.Drug, SHIYI.DrugClass):
        return "asked_about" if ask in _NAMED and not _is_taken(text, mention) else "medicine"
    if facts.is_a(mention.iri, SHIYI.Efficacy, SHIYI.Therapy):
        return "aim"
    if ask == "meaning":
        return "asked_about"
    if facts.is_a(mention.iri, SHIYI.Symptom):
        return "complaint"
    if facts.is_a(mention.iri, *AILMENT, SHIYI.Constitution):
        return "condition"
    about = (SHIYI.Rule, SHIYI.RegulatoryStatus, SHIYI.ChemicalEntity, *MATERIAL)
    return "asked_about" if facts.is_a(mention.iri, *about) else "topic"


def _is_eaten(text: QuestionText, mention: Mention) -> bool:
    start, _ = text.clause_at(mention.start)
    return _CUES["just-eaten"].search(text.aligned[start : mention.start]) is not None


def _is_product(text: QuestionText, mention: Mention) -> bool:
    start, _ = text.clause_at(mention.start)
    return _CUES["turned-into"].search(text.aligned[start : mention.start]) is not None


def _is_taken(text: QuestionText, mention: Mention) -> bool:
    start, _ = text.clause_at(mention.start)
    return _CUES["being-taken"].search(text.aligned[start : mention.start]) is not None


def _assertion(mention: Mention, text: QuestionText) -> Assertion:
    """Return how a mention is asserted; whether it is denied was decided when it was linked."""
    before, after = text.aligned[: mention.start], text.aligned[mention.end :]
    assertion = people.assertion_of(before, after)
    if mention.negated:
        return assertion if assertion in {"past", "planned"} else "denied"
    return "affirmed" if assertion == "denied" else assertion


def _unknown(
    text: QuestionText, mentions: Iterable[Mention], spans: Sequence[tuple[int, int]]
) -> Iterator[Focus]:
    """Yield the words that name something, but nothing that is known."""
    for m in mentions:
        if not m.iri and (m.start, m.end) not in spans and not is_cue(m.text):
            yield Focus(m.text, m.start, m.end, "", m.text, "topic")


def _states(
    text: QuestionText, linked: Iterable[Mention], facts: Facts, age: float | None
) -> tuple[State, ...]:
    """List the groups of people that the person belongs to; a loose word gives way to an age."""
    states: dict[str, State] = {}
    for m in linked:
        loose = age is not None and _CUES["loosely-a-child"].fullmatch(fold(m.text))
        reporter = _CUES["reports"].match(text.aligned, m.end)
        if not facts.is_a(m.iri, SHIYI.Population) or loose or reporter:
            continue
        label = _STATES.get(m.iri) or facts.label(m.iri, "en")
        assertion = _assertion(m, text)
        if assertion == "past" and not m.negated:
            assertion = "affirmed"  # what is over was denied when the time was read
        if label not in states or assertion not in ("denied", "past"):
            states[label] = State(label, assertion, m.iri)
    return tuple(states.values())


def _is_new(state: State, linked: Iterable[Mention], states: Iterable[State]) -> bool:
    """Return whether a state of ``cues/states.tsv`` is named by no mention that is linked."""
    known = {s.label for s in states} | {_STATES.get(m.iri, "") for m in linked}
    return state.label not in known


def _read_wanted(
    text: QuestionText, linked: Sequence[Mention], forms: Sequence[str], facts: Facts
) -> WantedKinds:
    names = [(m.start, m.end) for m in linked if facts.is_a(m.iri, SHIYI.Drug, *MATERIAL)]
    unnamed = blank_names(text, linked, facts)
    shown = tuple(c for c in cue_texts("wanted") if c[0] != "_" and _CUES[c].search(unnamed.folded))
    if "long-term" in shown and not _is_long_term(text, linked, facts):
        shown = tuple(c for c in shown if c != "long-term")
    topics = (f"of-{name}" for name, cue in cues("guidance").items() if cue.search(text.folded))
    methods = (m.iri for m in linked if facts.is_a(m.iri, SHIYI.Method) and not m.negated)
    relations = find_predicates(blank_spans(text.aligned, names))
    place = next((n for n, cue in enumerate(_ORDINALS, 1) if cue in shown), 0)
    return WantedKinds(
        kinds=tuple(sorted(find_kinds(text.aligned))),
        form=tuple(dict.fromkeys((*forms, *methods))),
        season=tuple(dict.fromkeys(m.iri for m in linked if facts.is_a(m.iri, SHIYI.Season))),
        relations=tuple(sorted(relations)),
        measure=_measure(shown),
        ordinal=-1 if "last-one" in shown else place,
        cues=(*shown, *topics),
    )


def _measure(shown: Collection[str]) -> Literal["", "count", "most"]:
    if "count" in shown:
        return "count"
    return "most" if "most" in shown or "least" in shown else ""


def _is_long_term(text: QuestionText, linked: Sequence[Mention], facts: Facts) -> bool:
    """Return whether it is asked if something may be taken every day or for long."""
    for match in _CUES["long-term"].finditer(text.aligned):
        first, last = text.clause_at(match.start())
        clause = [m for m in linked if first <= m.start < max(last, match.end())]
        before = [m for m in reversed(clause) if m.start < match.start()]
        after = [m for m in clause if m.start >= match.start()]
        mentions = [*before, *after] if text.language == "en" else [*after, *before]
        if not mentions or not facts.is_a(mentions[0].iri, SHIYI.Drug, *AILMENT):
            return True
    return False


_ORDINALS: Final = ("first-one", "second-one", "third-one")


def _read_lean(text: QuestionText) -> tuple[str, ...]:
    """Return ``cold`` or ``hot`` with the words that say so; both sides together decide nothing."""
    results = {side: tuple(_cue_words(text.folded, side)) for side in ("cold", "hot")}
    sides = [side for side, words in results.items() if words]
    return (sides[0], *results[sides[0]]) if len(sides) == 1 else ()


def _cue_words(text: str, side: str) -> Iterator[str]:
    signs = cues("differentiation")
    for match in signs[side].finditer(text):
        before = text[max(0, match.start() - 10) : match.start()]
        asked = signs["asked-after"].match(text, match.end())
        if not (signs["denied"].search(before) or signs["asked-before"].search(before) or asked):
            yield match.group()


def find_foreign_topics(text: QuestionText) -> tuple[str, ...]:
    """Return the topics of a question that are no matter of food.

    >>> find_foreign_topics(QuestionText.of("Is it contagious?"))
    ('contagion',)
    """
    english = text.folded.isascii()
    words = text.spaced if english else text.folded
    match = _CUES["miscarriage-wanted"].search(text.folded)
    feared = _CUES["miscarriage-feared"].search(text.folded) and not match
    return tuple(
        topic
        for topic, cue in _topics(english).items()
        if cue.search(words) and not (topic == "abortion" and feared)
    )


@cache
def _topics(english: bool) -> Mapping[str, re.Pattern[str]]:
    """Return the patterns of topics in one language; English words stand whole between spaces."""
    shape = " (?:{})(?= )" if english else "{}"
    return {
        topic: re.compile(shape.format(texts[english]))
        for topic, texts in cue_texts("topics").items()
        if not topic.startswith("_")
    }


def is_cue(text: str) -> bool:
    """Return whether words only show what is asked, and name nothing.

    >>> is_cue("drinks"), is_cue("hawthorn")
    (True, False)
    """
    folded = fold(text)
    words = space_words(folded)
    if _CUES["meal"].fullmatch(folded):
        return True
    chinese, english = _asking_words()
    return any(folded in cue or cue in folded for cue in chinese) or any(
        words in f" {cue} " or f" {cue} " in words for cue in english
    )


@cache
def _asking_words() -> tuple[frozenset[str], frozenset[str]]:
    lists = [word_list("intent-words", cue) for cue in cue_texts("intent-words")]
    return frozenset().union(*(zh for zh, _ in lists)), frozenset().union(*(en for _, en in lists))
