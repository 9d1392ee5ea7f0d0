"""Fact sheets, rules, constitutions, and daily or prolonged use."""

import itertools
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import islice
from typing import Final

from shiyi.answering.knowledge.facts import MATERIAL, Fact
from shiyi.answering.recommendation.advice import joined
from shiyi.answering.recommendation.cautions import caution_pieces
from shiyi.answering.understanding.differentiation import Pattern
from shiyi.answering.understanding.intents import Intent
from shiyi.answering.understanding.question import ParsedQuestion, wants_advice
from shiyi.answering.wording.draft import (
    AnswerContext,
    Contribution,
    Line,
    Piece,
    Section,
    checks,
    question_texts,
    red_flags,
)
from shiyi.answering.wording.verbalization import closed, degree
from shiyi.linking.normalization import fold, is_cjk
from shiyi.model.answer import SafetyWarning
from shiyi.model.iris import resource
from shiyi.ontology.lexicon import Cues, word_list
from shiyi.ontology.terms import SHIYI

_TEXTS: Final = (
    SHIYI.primaryEffect, SHIYI.dietaryBenefit, SHIYI.cookingMethod, SHIYI.consumptionMethod,
    SHIYI.useRestriction, SHIYI.safetyNote, SHIYI.productPurpose, SHIYI.productRisk,
    SHIYI.manufacturer,
)  # fmt: skip
_MORE_TEXTS: Final = (SHIYI.background, SHIYI.mechanismOfAction, SHIYI.sourceMaterial)
_LISTS: Final = (
    SHIYI.hasToxicity, SHIYI.regulatoryStatus, SHIYI.hasIngredient, SHIYI.indicatedFor,
    SHIYI.relieves, SHIYI.isEffectiveFor, SHIYI.hasAdverseReaction, SHIYI.hasManifestation,
    SHIYI.relatedConstitution,
)  # fmt: skip
_HARMS: Final = frozenset({SHIYI.hasAdverseReaction, SHIYI.hasAdverseEffectOn, SHIYI.safetyNote})
_MOST_NAMED, _MOST_LISTED, _MOST_TEXTS, _MOST_RULES, _MOST_PARTS = 3, 5, 4, 4, 3
_MOST_CONTAINED: Final = 30  # ingredients of a product: a label is read whole


def sheet(context: AnswerContext, concepts: Iterable[str], *, first: bool = True) -> Contribution:
    """Write what is recorded about some concepts, disagreements included.

    Where it is asked whether one may, what is recorded against them comes ``first``.
    """
    part, verbalizer = Contribution(), context.verbalizer
    named = list(concepts)[:_MOST_NAMED]
    written = False
    for concept in named:
        text, facts = verbalizer.profile(concept)
        if text:
            part.opening.add(closed(text, "。" if verbalizer.language == "zh" else "."), *facts)
        listed = _listed(context, concept, part, len(named) > 1)
        written = written or bool(text) or listed
    poisons = [p for concept in named for p in context.safety.poisons(concept)]
    cautions = part.section("h_caution").lines
    if first and (part.warnings or cautions) and context.parsed.wants(Intent.MAY):
        end = "。" if verbalizer.language == "zh" else "."
        lead = [Line((*line.pieces, (end, ())), 1) for line in cautions]
        harms = _harms(part, end)
        rest = [] if poisons or harms else [Line(((verbalizer.verbalize("v_others"), ()),), 1)]
        part.opening.lines[:0] = [*lead, *harms, *rest]
        cautions.clear()
    elif first and context.parsed.wants(Intent.MAY) and context.parsed.materials:
        sentence = verbalizer.verbalize("v_nobody", x=verbalizer.names(named))
        part.opening.lines.insert(0, Line(((sentence, ()),), 1))
    for poison in reversed(poisons):
        part.warn(context, poison, is_stated=first)
        if first:
            part.opening.lines.insert(0, Line(((verbalizer.finding(poison), poison.stated),), 1))
    if not part.opening.lines:
        key = "o_sheet" if written else "o_not_known"
        part.opening.add(verbalizer.verbalize(key, items=verbalizer.names(named)))
    lines = (*part.opening.lines, *part.section("h_facts").lines)
    part.paths += [f.path(f.subject) for line in lines for f in line.facts[:2] if not f.language]
    if any(context.facts.is_a(concept, SHIYI.Formula) for concept in named):
        part.section("h_doctor").add(verbalizer.verbalize("s_formula"))
    return part


def _harms(part: Contribution, end: str) -> list[Line]:
    """Accept unwanted reactions and notes on safety out of what is recorded: they come first."""
    lines = part.section("h_facts").lines
    found = [line for line in lines if any(f.predicate in _HARMS for f in line.facts)]
    lines[:] = [line for line in lines if line not in found]
    return [
        Line(
            tuple(
                (closed(text, end) if n == 0 else text, facts)
                for n, (text, facts) in enumerate(reversed(line.pieces))
            )[::-1],
            1,
        )
        for line in found
    ]


def _listed(context: AnswerContext, concept: str, part: Contribution, several: bool) -> bool:
    """Write lists, texts and cautions of one concept; return whether there were any."""
    verbalizer, section = context.verbalizer, part.section("h_facts")
    before = len(section.lines)
    label = f"{verbalizer.name(concept)} · " if several else ""
    for predicate in _LISTS:
        whole = predicate == SHIYI.hasIngredient and context.facts.is_a(concept, SHIYI.DSProduct)
        found = context.facts.of(concept, predicate)[: _MOST_CONTAINED if whole else _MOST_LISTED]
        if found:
            name = label + context.facts.property_label(predicate, verbalizer.language)
            text = verbalizer.verbalize(
                "p_list", p=name, o=verbalizer.names(f.object for f in found)
            )
            section.add(text + verbalizer.sources(found[:1]), *found)
    if realises := context.facts.into(concept, SHIYI.realisedBy)[:_MOST_LISTED]:
        text = verbalizer.verbalize("p_realises", o=verbalizer.these(f.subject for f in realises))
        section.add(label + text + verbalizer.sources(realises[:1]), *realises)
    texts: list[Fact] = []
    for predicates in (_TEXTS, _MORE_TEXTS):
        texts = texts or [
            each
            for p in predicates
            for each in context.facts.texts(concept, p, verbalizer.language)[:1]
        ]
    for fact in texts[:_MOST_TEXTS]:
        name = label + context.facts.property_label(fact.predicate, verbalizer.language)
        section.add(verbalizer.verbalize("p_text", label=name, text=verbalizer.words(fact)), fact)
    against = context.safety.conditional(concept)
    pieces = caution_pieces(context, against, 4)
    if pieces:
        if context.parsed.wants(Intent.MAY, Intent.DOSE) and context.facts.is_a(concept, *MATERIAL):
            stated = {f.claim for _, facts in pieces for f in facts}
            for (
                each
            ) in against:  # anyone who asks whether they may is warned of what is written here
                if each.severity != "interaction" and each.fact.claim in stated:
                    part.warn(context, each, is_stated=True)
        name_piece: Piece = (verbalizer.verbalize("w_name", x=verbalizer.name(concept)), ())
        part.section("h_caution").item(*joined(context, [name_piece, *pieces]))
    made = _of_parts(context, concept, part)
    return len(section.lines) > before or bool(pieces) or made


def _of_parts(context: AnswerContext, concept: str, part: Contribution) -> bool:
    """Write the cautions of a formula's or dish's ingredients; return whether there are any."""
    count = 0
    for link in context.facts.of(concept, SHIYI.hasIngredient):
        against = context.safety.conditional(link.object)
        pieces = caution_pieces(context, against, 6)
        if pieces and count < _MOST_PARTS:
            name = context.verbalizer.verbalize(
                "l_has",
                x=context.verbalizer.name(concept),
                part=context.verbalizer.name(link.object),
            )
            first: Piece = (context.verbalizer.verbalize("w_name", x=name), (link,))
            part.section("h_caution").item(*joined(context, [first, *pieces]))
            count += 1
    return count > 0


def rules(context: AnswerContext) -> Contribution:
    """Write the regulations and general rules that the question is about."""
    part, verbalizer = Contribution(), context.verbalizer
    found = _linked_rules(context) or _searched_rules(context)
    if not found and context.parsed.ailments:
        return sheet(context, context.parsed.ailments)  # what a pattern or a sign means
    listed = any(context.facts.is_a(r, SHIYI.RegulatoryStatus) for r in context.parsed.rules)
    if listed and context.parsed.wants(Intent.PROOF, Intent.CURE):
        part.opening.add(verbalizer.verbalize("o_list_no"), *found[:1])
    elif found:
        part.opening.add(verbalizer.verbalize("o_rules"))
    for fact in found[:_MOST_RULES]:
        label = verbalizer.name(fact.subject)
        part.told |= {
            verbalizer.verbalize("m_unlinked", word=m.text)
            for m in context.parsed.mentions
            if not m.iri and m.text in label
        }
        text = verbalizer.verbalize("p_text", label=label, text=verbalizer.words(fact))
        text += verbalizer.sources([fact])
        part.section("h_rules").add(text, fact)
    if not found and context.parsed.wants(Intent.MEANING):
        part.missing.append(verbalizer.verbalize("m_rule"))
    return part


def constitution(context: AnswerContext, settled: bool = False) -> Contribution:
    """Write how a constitution is determined, and the candidates the signs point to."""
    part, verbalizer, parsed = Contribution(), context.verbalizer, context.parsed
    part.opening.add(verbalizer.verbalize("o_constitution"))
    own = [
        f
        for c in parsed.constitutions
        for f in context.facts.texts(c, SHIYI.ruleText, verbalizer.language)
    ]
    for fact in (*_searched_rules(context, _QUESTIONNAIRE)[:1], *own):
        label = verbalizer.name(fact.subject)
        text = verbalizer.verbalize("p_text", label=label, text=verbalizer.words(fact))
        text += verbalizer.sources([fact])
        part.section("h_rules").add(text, fact)
    met: dict[str, list[Fact]] = {}
    for ailment in parsed.ailments:
        for near in context.facts.above(ailment):
            for fact in context.facts.of(near, SHIYI.relatedConstitution):
                met.setdefault(fact.object, []).append(fact)
            for fact in context.facts.into(near, SHIYI.hasManifestation):
                if context.facts.is_a(fact.subject, SHIYI.Constitution):
                    met.setdefault(fact.subject, []).append(fact)
    ranked = sorted(
        met.items(),
        key=lambda item: (
            -len({f.other(item[0]) for f in item[1]}),
            -max(f.confidence for f in item[1]),
            item[0],
        ),
    )
    for state, facts in ranked[:4]:
        signs = verbalizer.names(f.other(state) for f in facts)
        sentence = verbalizer.verbalize("c_candidate", state=verbalizer.name(state), signs=signs)
        part.section("h_candidates").add(sentence + _sureness(context, facts), *facts)
        part.paths += [f.path(f.other(state)) for f in facts[:1]]
    states = [state for state, _ in ranked[:2]]
    checks(context, parsed.ailments or states, part)
    red_flags(context, parsed.ailments, part)
    question_texts(context, parsed.ailments, part)
    if not settled and not met:
        part.missing.append(verbalizer.verbalize("m_any"))
    return part


def doctor(context: AnswerContext) -> Contribution:
    """Write only what a doctor should look into."""
    part = Contribution()
    checks(context, (*context.parsed.emergencies, *context.parsed.ailments), part)
    red_flags(context, context.parsed.ailments, part)
    return part


_CHILDREN: Final = frozenset(
    resource(f"population-{name}").value for name in ("infant", "young-child", "child")
)
_FEVER: Final = resource("symptom-fever").value
_INFANT: Final = resource("population-infant").value
_LOSING_WATER: Final = frozenset(
    resource(f"symptom-{name}").value for name in ("diarrhoea", "vomiting", "loose-stools")
)


def is_feverish_child(parsed: ParsedQuestion) -> bool:
    """Return whether something is sought for a child's fever or a dehydrating infant."""
    states = {*parsed.populations, *parsed.person.states}
    infant = _INFANT in states and _LOSING_WATER.intersection(parsed.ailments)
    return bool(infant) or (bool(_CHILDREN & states) and _FEVER in parsed.ailments)


def feverish_child(context: AnswerContext) -> Contribution:
    """Send a child with a fever or a dehydrating infant to a doctor, and suggest nothing."""
    part = doctor(context)
    fever = _FEVER in context.parsed.ailments
    part.opening.add(context.verbalizer.verbalize("s_child_fever" if fever else "s_infant_water"))
    question_texts(context, context.parsed.ailments, part)
    return part


def child_first(parsed: ParsedQuestion) -> str:
    """Return the key of what is stated first where something is to be given to such a child."""
    return "v_child_fever" if _FEVER in parsed.ailments else "v_infant_water"


def patterns(context: AnswerContext) -> Contribution:
    """Write which patterns the signs may belong to, as possibilities only."""
    part, verbalizer = Contribution(), context.verbalizer
    part.opening.add(verbalizer.verbalize("s_diagnosis"))
    met: dict[tuple[str, ...], list[Pattern]] = {}
    for pattern in context.differential.patterns[:5]:
        signs = tuple(dict.fromkeys(f.other(pattern.iri) for f in pattern.signs))
        met.setdefault(tuple(sorted(signs)), []).append(pattern)
    for key, found in met.items():
        text = verbalizer.verbalize(
            "d_possible",
            sign=verbalizer.names(key),
            states=verbalizer.these((p.iri for p in found), "or"),
        )
        part.section("h_facts").add(text, *(f for p in found for f in p.signs))
    checks(context, context.parsed.ailments, part)
    red_flags(context, context.parsed.ailments, part)
    question_texts(context, context.parsed.ailments, part)
    return part


_QUESTIONNAIRE: Final = "体质 判定 问卷 转化分 九种体质 constitution questionnaire score scoring"


def _sureness(context: AnswerContext, facts: list[Fact]) -> str:
    surest = max(facts, key=lambda f: f.confidence)
    known = context.verbalizer.known([surest.claim])
    return degree(context.verbalizer.language, surest.confidence, known)


def _linked_rules(context: AnswerContext) -> list[Fact]:
    """List what the named rules say, then what like rules say, then their parts."""

    def texts(rules: Iterable[str]) -> list[Fact]:
        return [
            f
            for r in rules
            for f in context.facts.texts(r, SHIYI.ruleText, context.verbalizer.language)
        ]

    own = texts(near for rule in context.parsed.rules for near in context.facts.above(rule))
    below = texts(each for rule in context.parsed.rules for each in context.facts.below(rule)[1:])
    if not (own or below):
        return []
    searched = _searched_rules(context)
    asked = context.parsed.wants(Intent.PROOF)
    every = (*own, *searched[:1], *below) if asked else (*searched, *own, *below)
    return list({f.claim: f for f in every}.values())


def _searched_rules(context: AnswerContext, also: str = "") -> list[Fact]:
    """Rank the rules by how many words (or Chinese pairs of characters) they share."""
    question = context.parsed.question
    for word in sorted(word_list("words", "asking")[0], key=lambda word: (-len(word), word)):
        question = question.replace(word, " ")  # what every question says is shared by chance
    asked = _grams(question) | _grams(also)
    scored = []
    for rule in context.facts.members(SHIYI.Rule, SHIYI.RegulatoryStatus):
        for fact in context.facts.texts(rule, SHIYI.ruleText, context.verbalizer.language):
            both = "".join(context.facts.labels.get(rule, {}).values())
            title = len(asked & _grams(" ".join(context.facts.labels.get(rule, {}).values())))
            words = context.verbalizer.words(fact)
            shared = len(asked & _grams(words))
            if both and (title or shared > 1):
                scored.append((2 * title + shared, fact))
    ranked = sorted(scored, key=lambda each: (-each[0], each[1].subject, each[1].claim))
    return [fact for score, fact in ranked if score >= 0.6 * ranked[0][0]][:4]


@lru_cache(maxsize=1024)
def _grams(text: str) -> frozenset[str]:
    folded, (common_zh, common_en) = fold(text), word_list("words", "common")
    pairs = {
        a + b
        for a, b in itertools.pairwise(folded)
        if is_cjk(a) and is_cjk(b) and a + b not in common_zh
    }
    letters = "".join(c if c.isascii() and c.isalnum() else " " for c in folded)
    return frozenset(
        pairs
        | {w for w in letters.split() if len(w) > 2 and w not in common_en and not w.isdigit()}
    )


_CUES: Final = Cues("answers")

_SAID: Final = (
    SHIYI.contraindicatedIn, SHIYI.cautionIn, SHIYI.hasAdverseReaction, SHIYI.hasAdverseEffectOn,
    SHIYI.isEffectiveFor,
)  # fmt: skip
_LONG_TERM_TEXTS: Final = (
    SHIYI.safetyNote, SHIYI.useRestriction, SHIYI.consumptionMethod, SHIYI.dietaryBenefit,
    SHIYI.primaryEffect,
)  # fmt: skip
_MOST_THINGS, _MOST_READ, _MOST_SAID = 4, 256, 3  # Shiyi's


def asks_for_long_term_use(parsed: ParsedQuestion) -> bool:
    """Return whether it is asked if something may be taken every day or for long.

    The word belongs to the next thing, trouble or medicine that its clause names, or to the last
    one before it: "I take warfarin every day" asks nothing of the kind.
    """
    theirs = {*parsed.drugs, *parsed.ailments} - {*parsed.materials}
    named = [m for m in parsed.mentions if m.iri in theirs or m.iri in parsed.materials]
    for found in _CUES["for-long-asked"].finditer(parsed.text.aligned):
        first, last = parsed.text.clause_at(found.start())
        clause = [m for m in named if first <= m.start < max(last, found.end())]
        before = [m for m in reversed(clause) if m.start < found.start()]
        after = [m for m in clause if m.start >= found.start()]
        near = [*before, *after] if parsed.language == "en" else [*after, *before]
        if not near or near[0].iri not in theirs:
            return True
    return False


def write_long_term_use(context: AnswerContext, part: Contribution) -> None:
    """State before the rest what is recorded of taking each thing for long, or that nothing is."""
    parsed, verbalizer = context.parsed, context.verbalizer
    if not parsed.materials or wants_advice(parsed) or not asks_for_long_term_use(parsed):
        return
    section, unsaid = Section(""), list[str]()
    for group in parsed.groups[:_MOST_THINGS]:
        pieces = _pieces(context, group)
        if not pieces:
            unsaid.append(group[0])
            continue
        section.item(
            (verbalizer.verbalize("v_for_long"), ()),
            *pieces,
            ("。" if verbalizer.language == "zh" else ".", ()),
        )
        facts = section.lines[-1].facts
        text = section.lines[-1].text
        part.warnings.append(SafetyWarning("caution", text, tuple(f.claim for f in facts)))
        part.note(*facts)
        part.told.add(text)
    if unsaid:
        section.add(verbalizer.verbalize("v_for_long_none", x=verbalizer.names(unsaid)))
    place = 1 if parsed.person.states or parsed.person.drugs else 0  # after the verdict
    part.opening.lines[place:place] = section.lines


def _pieces(context: AnswerContext, group: Iterable[str]) -> list[Piece]:
    """Write the notes on a thing, on what is sold of it and what it is made of, each once."""
    verbalizer, pieces, named = context.verbalizer, list[Piece](), ""
    notes = _notes(context, group)
    apart = "；" if verbalizer.language == "zh" else "; "
    for note, (thing, facts) in notes.items():
        if any(note != other and note in other for other in notes):
            continue
        if verbalizer.language == "en" and note[1:2].islower():
            note = note[0].lower() + note[1:]
        name = verbalizer.verbalize("w_noted", x=verbalizer.name(thing)) if thing != named else ""
        named = thing
        pieces.append(
            ((apart if pieces else "") + name + note + verbalizer.sources(facts[:1]), facts)
        )
    return pieces[:_MOST_SAID]


def _notes(context: AnswerContext, group: Iterable[str]) -> dict[str, tuple[str, tuple[Fact, ...]]]:
    facts, own = context.facts, tuple(group)
    near = [k for each in own for k in facts.kin(each)]
    made_of = [f.object for each in own for f in facts.of(each, SHIYI.hasIngredient)]
    found: dict[str, tuple[str, tuple[Fact, ...]]] = {}
    for thing in dict.fromkeys((*own, *near, *made_of)):
        if len(found) < _MOST_SAID:
            for note, fact_texts in _noted(context, thing):
                found.setdefault(note.rstrip("。."), (thing, fact_texts))
    return found


def _noted(context: AnswerContext, thing: str) -> Iterator[tuple[str, tuple[Fact, ...]]]:
    facts, verbalizer = context.facts, context.verbalizer
    for fact in islice(facts.of(thing, *_SAID), _MOST_READ):
        note = _CUES["for-long-noted"].search(
            context.evidences.qualifier(fact.claim, "note_zh")
        ) and verbalizer.note(fact)
        if note:
            yield note, (fact,)
    for predicate in _LONG_TERM_TEXTS:
        for fact in facts.texts(thing, predicate, verbalizer.language):
            both = (facts.words(fact, "zh"), facts.words(fact, "en"))
            if any(_CUES["for-long-noted"].search(each) for each in both):
                yield verbalizer.words(fact), (fact,)
