"""Plain look-ups: fact sheets, rules and regulations, constitutions, possible patterns."""

import itertools
from collections.abc import Iterable
from functools import lru_cache
from typing import Final

from shiyi.answering.advice import joined
from shiyi.answering.cautions import caution_pieces
from shiyi.answering.cues import Intent
from shiyi.answering.draft import Line, Piece
from shiyi.answering.facts import Fact
from shiyi.answering.parts import Desk, Part, checks, question_texts, red_flags
from shiyi.answering.phrases import degree
from shiyi.answering.reading import Reading
from shiyi.answering.roles import MATERIAL
from shiyi.answering.thermal import Pattern
from shiyi.answering.voice import closed
from shiyi.linking.normalise import fold, is_cjk
from shiyi.model.names import resource
from shiyi.ontology.terms import SHIYI

_TEXTS: Final = (
    SHIYI.primaryEffect, SHIYI.dietaryBenefit, SHIYI.cookingMethod, SHIYI.consumptionMethod,
    SHIYI.useRestriction, SHIYI.safetyNote,
)  # fmt: skip
_MORE_TEXTS: Final = (SHIYI.background, SHIYI.mechanismOfAction, SHIYI.sourceMaterial)
_LISTS: Final = (
    SHIYI.hasToxicity, SHIYI.regulatoryStatus, SHIYI.hasIngredient, SHIYI.indicatedFor,
    SHIYI.relieves, SHIYI.isEffectiveFor, SHIYI.hasAdverseReaction, SHIYI.hasManifestation,
    SHIYI.relatedConstitution,
)  # fmt: skip
_HARMS: Final = frozenset({SHIYI.hasAdverseReaction, SHIYI.hasAdverseEffectOn, SHIYI.safetyNote})
_MOST_NAMED, _MOST_LISTED, _MOST_TEXTS, _MOST_RULES, _MOST_PARTS = 3, 5, 4, 4, 3


def sheet(desk: Desk, concepts: Iterable[str], *, first: bool = True) -> Part:
    """Write what is recorded about some concepts, disagreements included.

    Where it is asked whether one may, what is recorded against them comes ``first``.
    """
    part, voice = Part(), desk.voice
    named = list(concepts)[:_MOST_NAMED]
    told = False
    for concept in named:
        text, facts = voice.profile(concept)
        if text:
            part.opening.add(closed(text, "。" if voice.language == "zh" else "."), *facts)
        listed = _listed(desk, concept, part, len(named) > 1)
        told = told or bool(text) or listed
    poisons = [p for concept in named for p in desk.safety.poisons(concept)]
    cautions = part.section("h_caution").lines
    if first and (part.warnings or cautions) and desk.reading.wants(Intent.MAY):
        end = "。" if voice.language == "zh" else "."
        lead = [Line((*line.pieces, (end, ())), 1) for line in cautions]
        harms = _harms(part, end)
        rest = [] if poisons or harms else [Line(((voice.say("v_others"), ()),), 1)]
        part.opening.lines[:0] = [*lead, *harms, *rest]
        cautions.clear()
    elif first and desk.reading.wants(Intent.MAY) and desk.reading.materials:
        said = voice.say("v_nobody", x=voice.names(named))
        part.opening.lines.insert(0, Line(((said, ()),), 1))
    for poison in reversed(poisons):
        part.warn(desk, poison, told=first)
        if first:
            part.opening.lines.insert(0, Line(((voice.finding(poison), poison.stated),), 1))
    if not part.opening.lines:
        key = "o_sheet" if told else "o_not_known"
        part.opening.add(voice.say(key, items=voice.names(named)))
    lines = (*part.opening.lines, *part.section("h_facts").lines)
    part.paths += [f.path(f.subject) for line in lines for f in line.facts[:2] if not f.language]
    if any(desk.facts.is_a(concept, SHIYI.Formula) for concept in named):
        part.section("h_doctor").add(voice.say("s_formula"))
    if desk.reading.wants(Intent.DOSE):
        part.section("h_caution").add(voice.say("s_dose"))
    return part


def _harms(part: Part, end: str) -> list[Line]:
    """Take unwanted reactions and notes on safety out of what is recorded: they come first."""
    lines = part.section("h_facts").lines
    found = [line for line in lines if any(f.predicate in _HARMS for f in line.facts)]
    lines[:] = [line for line in lines if line not in found]
    return [
        Line(tuple((closed(text, end) if n == 0 else text, facts)
                   for n, (text, facts) in enumerate(reversed(line.pieces)))[::-1], 1)
        for line in found
    ]  # fmt: skip


def _listed(desk: Desk, concept: str, part: Part, several: bool) -> bool:
    """Write lists, texts and cautions of one concept; tell whether there were any."""
    voice, section = desk.voice, part.section("h_facts")
    before = len(section.lines)
    label = f"{voice.name(concept)} · " if several else ""
    for predicate in _LISTS:
        found = desk.facts.of(concept, predicate)[:_MOST_LISTED]
        if found:
            name = label + desk.facts.property_label(predicate, voice.language)
            said = voice.say("p_list", p=name, o=voice.names(f.object for f in found))
            section.add(said + voice.sources(found[:1]), *found)
    if realises := desk.facts.into(concept, SHIYI.realisedBy)[:_MOST_LISTED]:
        said = voice.say("p_realises", o=voice.these(f.subject for f in realises))
        section.add(label + said + voice.sources(realises[:1]), *realises)
    texts = [each for p in _TEXTS for each in desk.facts.told(concept, p, voice.language)[:1]]
    if not texts:
        texts = [e for p in _MORE_TEXTS for e in desk.facts.told(concept, p, voice.language)[:1]]
    for told in texts[:_MOST_TEXTS]:
        name = label + desk.facts.property_label(told[0].predicate, voice.language)
        section.add(voice.say("p_text", label=name, text=told[0].object), *told)
    against = desk.safety.conditional(concept)
    pieces = caution_pieces(desk, against, 4)
    if pieces:
        if desk.reading.wants(Intent.MAY, Intent.DOSE) and desk.facts.is_a(concept, *MATERIAL):
            stated = {f.claim for _, facts in pieces for f in facts}
            for each in against:  # whoever asks whether they may is warned of what is written here
                if each.severity != "interaction" and each.fact.claim in stated:
                    part.warn(desk, each, told=True)
        name_piece: Piece = (voice.say("w_name", x=voice.name(concept)), ())
        part.section("h_caution").item(*joined(desk, [name_piece, *pieces]))
    made = _of_parts(desk, concept, part)
    return len(section.lines) > before or bool(pieces) or made


def _of_parts(desk: Desk, concept: str, part: Part) -> bool:
    """Write what is recorded against what a formula or a dish is made of; tell whether anything is."""
    told = 0
    for link in desk.facts.of(concept, SHIYI.hasIngredient):
        against = desk.safety.conditional(link.object)
        pieces = caution_pieces(desk, against, 6)
        if pieces and told < _MOST_PARTS:
            name = desk.voice.say(
                "l_has", x=desk.voice.name(concept), part=desk.voice.name(link.object)
            )
            first: Piece = (desk.voice.say("w_name", x=name), (link,))
            part.section("h_caution").item(*joined(desk, [first, *pieces]))
            told += 1
    return told > 0


def rules(desk: Desk) -> Part:
    """Write the regulations and general rules that the question is about."""
    part, voice = Part(), desk.voice
    found = _linked_rules(desk) or _searched_rules(desk)
    if not found and desk.reading.ailments:
        return sheet(desk, desk.reading.ailments)  # what a pattern or a sign means
    listed = any(desk.facts.is_a(r, SHIYI.RegulatoryStatus) for r in desk.reading.rules)
    if listed and desk.reading.wants(Intent.PROOF, Intent.CURE):
        part.opening.add(voice.say("o_list_no"), *_twins(desk, found[0]) if found else ())
    elif found:
        part.opening.add(voice.say("o_rules"))
    for fact in found[:_MOST_RULES]:
        label = voice.name(fact.subject)
        part.told |= {
            voice.say("m_unlinked", word=m.text)
            for m in desk.reading.mentions if not m.iri and m.text in label
        }  # fmt: skip
        text = voice.say("p_text", label=label, text=fact.object) + voice.sources([fact])
        part.section("h_rules").add(text, *_twins(desk, fact))
    if not found and desk.reading.wants(Intent.MEANING):
        part.missing.append(voice.say("m_rule"))
    return part


def _twins(desk: Desk, fact: Fact) -> tuple[Fact, ...]:
    """Give a text with its twin in the other language."""
    every = desk.facts.told(fact.subject, fact.predicate, desk.voice.language)
    return next((told for told in every if told[0] == fact), (fact,))


def constitution(desk: Desk, settled: bool = False) -> Part:
    """Write how a constitution is determined, and the candidates the signs point to."""
    part, voice, reading = Part(), desk.voice, desk.reading
    part.opening.add(voice.say("o_constitution"))
    own = [f for c in reading.constitutions
           for f in desk.facts.texts(c, SHIYI.ruleText, voice.language)]  # fmt: skip
    for fact in (*_searched_rules(desk, _QUESTIONNAIRE)[:1], *own):
        label = voice.name(fact.subject)
        text = voice.say("p_text", label=label, text=fact.object) + voice.sources([fact])
        part.section("h_rules").add(text, *_twins(desk, fact))
    met: dict[str, list[Fact]] = {}
    for ailment in reading.ailments:
        for near in desk.facts.above(ailment):
            for fact in desk.facts.of(near, SHIYI.relatedConstitution):
                met.setdefault(fact.object, []).append(fact)
            for fact in desk.facts.into(near, SHIYI.hasManifestation):
                if desk.facts.is_a(fact.subject, SHIYI.Constitution):
                    met.setdefault(fact.subject, []).append(fact)
    ranked = sorted(
        met.items(), key=lambda item: (-len({f.other(item[0]) for f in item[1]}),
                                       -max(f.confidence for f in item[1]), item[0])
    )  # fmt: skip
    for state, facts in ranked[:4]:
        signs = voice.names(f.other(state) for f in facts)
        said = voice.say("c_candidate", state=voice.name(state), signs=signs)
        part.section("h_candidates").add(said + _sureness(desk, facts), *facts)
        part.paths += [f.path(f.other(state)) for f in facts[:1]]
    states = [state for state, _ in ranked[:2]]
    checks(desk, reading.ailments or states, part)
    red_flags(desk, reading.ailments, part)
    question_texts(desk, reading.ailments, part)
    if not settled and not met:
        part.missing.append(voice.say("m_any"))
    return part


def doctor(desk: Desk) -> Part:
    """Write only what a doctor should look into."""
    part = Part()
    checks(desk, (*desk.reading.emergencies, *desk.reading.ailments), part)
    red_flags(desk, desk.reading.ailments, part)
    return part


_CHILDREN: Final = frozenset(
    resource(f"population-{name}").value for name in ("infant", "young-child", "child")
)
_FEVER: Final = resource("symptom-fever").value
_INFANT: Final = resource("population-infant").value
_LOSING_WATER: Final = frozenset(
    resource(f"symptom-{name}").value for name in ("diarrhoea", "vomiting", "loose-stools")
)


def is_feverish_child(reading: Reading) -> bool:
    """Tell whether it is a child's fever, or an infant that loses water, that something is sought for."""
    states = {*reading.populations, *reading.person.states}
    infant = _INFANT in states and _LOSING_WATER.intersection(reading.ailments)
    return bool(infant) or (bool(_CHILDREN & states) and _FEVER in reading.ailments)


def feverish_child(desk: Desk) -> Part:
    """Send a child with a fever, or an infant that loses water, to a doctor, ask what a doctor will ask, and suggest nothing."""
    part = doctor(desk)
    fever = _FEVER in desk.reading.ailments
    part.opening.add(desk.voice.say("s_child_fever" if fever else "s_infant_water"))
    question_texts(desk, desk.reading.ailments, part)
    return part


def child_first(reading: Reading) -> str:
    """Give the key of what is said first where something is to be given to such a child."""
    return "v_child_fever" if _FEVER in reading.ailments else "v_infant_water"


def patterns(desk: Desk) -> Part:
    """Write which patterns the signs may belong to, as possibilities only."""
    part, voice = Part(), desk.voice
    part.opening.add(voice.say("s_diagnosis"))
    met: dict[tuple[str, ...], list[Pattern]] = {}
    for pattern in desk.differential.patterns[:5]:
        signs = tuple(dict.fromkeys(f.other(pattern.iri) for f in pattern.signs))
        met.setdefault(tuple(sorted(signs)), []).append(pattern)
    for key, found in met.items():
        text = voice.say(
            "d_possible", sign=voice.names(key), states=voice.these((p.iri for p in found), "or")
        )
        part.section("h_facts").add(text, *(f for p in found for f in p.signs))
    checks(desk, desk.reading.ailments, part)
    red_flags(desk, desk.reading.ailments, part)
    question_texts(desk, desk.reading.ailments, part)
    return part


_QUESTIONNAIRE: Final = "体质 判定 问卷 转化分 九种体质 constitution questionnaire score scoring"


def _sureness(desk: Desk, facts: list[Fact]) -> str:
    return degree(desk.voice.language, max(f.confidence for f in facts))


def _linked_rules(desk: Desk) -> list[Fact]:
    """List what the named rules say, then what like rules say, then their parts."""

    def texts(rules: Iterable[str]) -> list[Fact]:
        return [f for r in rules for f in desk.facts.texts(r, SHIYI.ruleText, desk.voice.language)]

    own = texts(near for rule in desk.reading.rules for near in desk.facts.above(rule))
    below = texts(each for rule in desk.reading.rules for each in desk.facts.below(rule)[1:])
    if not (own or below):
        return []
    searched = _searched_rules(desk)
    asked = desk.reading.wants(Intent.PROOF)
    every = (*own, *searched[:1], *below) if asked else (*searched, *own, *below)
    return list({f.claim: f for f in every}.values())


def _searched_rules(desk: Desk, also: str = "") -> list[Fact]:
    """Rank the rules by how many words (or Chinese pairs of characters) they share."""
    question = desk.reading.question
    for word in sorted(_ASKING, key=len, reverse=True):
        question = question.replace(word, " ")  # what every question says is shared by chance
    asked = _grams(question) | _grams(also)
    scored = []
    for rule in desk.facts.members(SHIYI.Rule, SHIYI.RegulatoryStatus):
        for fact in desk.facts.texts(rule, SHIYI.ruleText, desk.voice.language):
            both = "".join(desk.facts.labels.get(rule, {}).values())
            title = len(asked & _grams(" ".join(desk.facts.labels.get(rule, {}).values())))
            shared = len(asked & _grams(fact.object))
            if both and (title or shared > 1):
                scored.append((2 * title + shared, fact))
    ranked = sorted(scored, key=lambda each: (-each[0], each[1].subject, each[1].claim))
    return [fact for score, fact in ranked if score >= 0.6 * ranked[0][0]][:4]


_COMMON: Final = frozenset(
    [
        "the",
        "and",
        "for",
        "are",
        "with",
        "what",
        "that",
        "this",
        "does",
        "can",
        "not",
        "you",
        "your",
        "from",
        "have",
        "has",
        "mean",
        "means",
        "it",
        "is",
        "on",
        "of",
        "in",
        "to",
        "a",
        "an",
        "i",
        "my",
        "me",
        "do",
        "be",
        "or",
        "by",
        "at",
        "as",
        "if",
        "so",
        "will",
        "would",
        "should",
        "could",
        "am",
    ]
)


_ASKING: Final = (
    "食物", "食材", "东西", "有哪些", "哪些", "有什么", "什么", "怎么", "人群", "适合", "吃", "喝", "可以", "能不能", "推荐",
)  # fmt: skip
_COMMON_ZH: Final = frozenset({"等于", "什么", "怎么", "可以", "多少", "说明", "代表"})


@lru_cache(maxsize=1024)
def _grams(text: str) -> frozenset[str]:
    folded = fold(text)
    pairs = {
        a + b for a, b in itertools.pairwise(folded)
        if is_cjk(a) and is_cjk(b) and a + b not in _COMMON_ZH
    }  # fmt: skip
    kept = "".join(c if c.isascii() and c.isalnum() else " " for c in folded)
    return frozenset(
        pairs | {w for w in kept.split() if len(w) > 2 and w not in _COMMON and not w.isdigit()}
    )
