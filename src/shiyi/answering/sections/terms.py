"""Forms of answers that explain: terms, rules, constitutions, patterns, signs for a doctor."""

import re
from collections.abc import Sequence
from typing import Final

from shiyi.answering.knowledge.facts import AILMENT, MATERIAL, Fact
from shiyi.answering.sections.records import describe, relation_lines
from shiyi.answering.understanding.conditions import YEAR
from shiyi.answering.understanding.differentiation import Pattern
from shiyi.answering.understanding.frame import Focus, Frame
from shiyi.answering.understanding.question import Question, sanitize_words
from shiyi.answering.wording.draft import (
    AnswerContext,
    Contribution,
    checks,
    question_texts,
    write_red_flags,
)
from shiyi.answering.wording.verbalization import capital, finish, join_names, kind_words, verbalize
from shiyi.errors import UsageError
from shiyi.linking.normalization import is_traditional
from shiyi.model.answer import SafetyWarning
from shiyi.model.claim import EvidenceKind
from shiyi.model.iris import resource
from shiyi.ontology.lexicon import rows
from shiyi.ontology.terms import SHIYI

_DESCRIBING: Final = (
    SHIYI.hasManifestation, SHIYI.hasCause, SHIYI.hasTreatmentPrinciple, SHIYI.relatedConstitution,
)  # fmt: skip
_DEFINING: Final = (SHIYI.ruleText, SHIYI.background, SHIYI.primaryEffect)
_MOST_NAMED, _MOST_LISTED, _MOST_LINES, _MOST_RULES = 3, 6, 4, 3
_CLAIMS: Final = resource("rule-mfh-label-claims").value
_CATALOGUE: Final = resource("status-mfh").value
_QUESTIONNAIRE: Final = resource("rule-constitution").value  # with what its name goes on with


def write_meaning(context: AnswerContext) -> Contribution:
    """Write what a term means: the text that defines it, else what a thing of its kind shows."""
    part, verbalizer, question = Contribution(), context.verbalizer, context.parsed
    named = [f.iri for f in question.frame.focus if f.iri and f.role != "other_person"]
    for iri in dict.fromkeys(named):
        lines = [line for p in _DEFINING for line in relation_lines(context, iri, p, named=False)]
        if lines and not context.facts.is_a(iri, *MATERIAL):
            text = lines[0].pieces[0][0].partition("：" if verbalizer.language == "zh" else ": ")
            body = verbalizer.verbalize("p_text", label=verbalizer.name(iri), text=text[2])
            part.opening.add(body, *lines[0].facts)
        elif context.facts.is_a(iri, *AILMENT, SHIYI.Constitution, SHIYI.Therapy, SHIYI.Efficacy):
            _write_term(context, iri, part)
        elif context.facts.is_a(iri, *MATERIAL):
            describe(context, iri, part)
            if not part.opening.lines:
                _write_term(context, iri, part)
        if len(part.opening.lines) >= _MOST_LINES:
            break
    if not part.opening.lines and _rules_named(context):
        return write_law(context)
    if not part.opening.lines:
        longest = sorted(question.unknown, key=len, reverse=True)[:1]  # the term, of what is quoted
        words = verbalizer.quote(longest)
        part.shown |= {verbalizer.verbalize("m_unlinked", word=w) for w in question.unknown[:3]}
        part.opening.add(
            verbalizer.verbalize("n_none", words=words) if words else verbalizer.verbalize("o_what")
        )
    return part


def _write_term(context: AnswerContext, iri: str, part: Contribution) -> None:
    """Write what kind of term it is, and what is recorded of its signs and causes."""
    verbalizer, facts = context.verbalizer, context.facts
    kind = verbalizer.class_name(facts.classes.get(iri, ""))
    lines = [
        line
        for p in (*_DESCRIBING, SHIYI.directedAt)
        for line in relation_lines(context, iri, p, named=False)
    ]
    shown = facts.inverse(iri, SHIYI.hasManifestation)[:_MOST_LISTED]
    first = verbalizer.verbalize("n_kind", x=verbalizer.name(iri), kind=kind)
    if lines:
        text, found = lines[0].pieces[0]
        first += verbalizer.space + capital(finish(text, verbalizer.stop), verbalizer.language)
        part.opening.add(first, *found)
    elif shown:
        text = verbalizer.verbalize("n_sign_of", items=verbalizer.names(f.subject for f in shown))
        part.opening.add(first + verbalizer.space + text, *shown)
    else:
        part.opening.add(first + verbalizer.space + verbalizer.verbalize("n_no_text"))
    part.section("h_facts").lines += lines[1:_MOST_LINES]
    write_red_flags(context, [iri], part)


def write_law(context: AnswerContext) -> Contribution:
    """Write the legal status of the things named, and the rules that a question is about."""
    part, verbalizer, question = Contribution(), context.verbalizer, context.parsed
    rules = _rules_named(context)
    rules += (_CLAIMS,) * (not question.groups and question.frame.has_cue("claims"))
    rules += (_CATALOGUE,) * any(c.property == YEAR for c in question.frame.conditions)
    for group in question.groups[:_MOST_NAMED]:
        rules += _status(context, group, part)
    listed = any(context.facts.is_a(r, SHIYI.RegulatoryStatus) for r in rules)
    proof = question.frame.has_cue("proof", "cure") or question.wants("evidence")
    texts = [f for rule in rules for f in _rule_texts(context, rule)]
    if listed and proof and not (question.groups or question.wants("meaning")):
        part.opening.add(verbalizer.verbalize("o_list_no"), *texts[:1])
    for fact in texts[:_MOST_RULES]:
        label = verbalizer.name(fact.subject)
        words = verbalizer.words(fact)
        if question.frame.wanted.measure == "count":  # only what states a number
            words = "".join(filter(_NUMBER.search, _SENTENCE.findall(words))).strip() or words
        text = verbalizer.verbalize("p_text", label=label, text=words)
        section = part.section("h_rules") if part.opening.lines else part.opening
        section.add(text + verbalizer.sources([fact]), fact)
    if not part.opening.lines:
        part.opening.add(verbalizer.verbalize("r_no_rule"))
    return part


_SENTENCE: Final = re.compile(r".+?(?:[。！？]|[.!?](?:\s|$)|$)")
_NUMBER: Final = re.compile(r"\d")


def _rules_named(context: AnswerContext) -> tuple[str, ...]:
    """List the rules and statuses that are named, or that a condition is about."""
    question = context.parsed
    named = question.of_kind(context.facts, SHIYI.Rule, SHIYI.RegulatoryStatus)
    conditions = (c for c in question.frame.conditions if c.property == "regulatoryStatus")
    return (*named, *(c.value for c in conditions if c.value))


def _status(context: AnswerContext, group: Sequence[str], part: Contribution) -> tuple[str, ...]:
    """Write the legal status of a thing, else of a relative of one species; return its rule."""
    verbalizer, facts = context.verbalizer, context.facts
    near = (*group[:2], *(kin for iri in group[:2] for kin in facts.siblings(iri)))
    thing = next((x for x in near if facts.of(x, SHIYI.regulatoryStatus)), group[0])
    found_facts = facts.of(thing, SHIYI.regulatoryStatus)
    if not found_facts or thing not in group:
        part.opening.add(verbalizer.verbalize("r_none", x=verbalizer.name(group[0])))
    if found_facts:
        items = verbalizer.names(f.object for f in found_facts)
        key = "r_status" if thing in group else "r_status_kin"
        text = verbalizer.verbalize(key, x=verbalizer.name(thing), o=items)
        part.opening.add(text + verbalizer.sources(found_facts[:1]), *found_facts)
    lines = relation_lines(context, thing, SHIYI.useRestriction, named=False)
    part.section("h_rules").lines += lines
    return tuple(f.object for f in found_facts[:1])


def _rule_texts(context: AnswerContext, rule: str) -> tuple[Fact, ...]:
    language = context.verbalizer.language
    facts = [
        f for broader in context.facts.above(rule) for f in _texts_of(context, broader, language)
    ]
    if facts:
        return tuple(facts)
    return tuple(
        f
        for narrower in context.facts.below(rule)[1:]
        for f in _texts_of(context, narrower, language)
    )


def _texts_of(context: AnswerContext, iri: str, language: str) -> tuple[Fact, ...]:
    return context.facts.texts(iri, SHIYI.ruleText, language)


def write_constitution(context: AnswerContext) -> Contribution:
    """Write how a constitution is determined, and the candidates the signs point to."""
    part, verbalizer, parsed = Contribution(), context.verbalizer, context.parsed
    ranked = _candidates(context)
    if ranked:
        state, facts = ranked[0]
        signs = verbalizer.names(f.other(state) for f in facts)
        text = verbalizer.verbalize("c_likely", state=verbalizer.name(state), signs=signs)
        part.opening.add(text, *facts)
    part.opening.add(verbalizer.verbalize("o_constitution"))
    for state, facts in ranked[1:4]:
        signs = verbalizer.names(f.other(state) for f in facts)
        sentence = verbalizer.verbalize("c_candidate", state=verbalizer.name(state), signs=signs)
        part.section("h_candidates").add(sentence, *facts)
    part.paths += [f.path(f.other(state)) for state, found in ranked[:4] for f in found[:1]]
    for iri in parsed.constitutions[:2]:
        lines = [
            line
            for p in (SHIYI.ruleText, SHIYI.hasManifestation)
            for line in relation_lines(context, iri, p)
        ]
        part.section("h_facts").lines += lines
    rules = [r for r in context.facts.members(SHIYI.Rule) if r.startswith(_QUESTIONNAIRE)]
    for fact in [f for r in rules for f in _texts_of(context, r, verbalizer.language)][:1]:
        text = verbalizer.verbalize(
            "p_text", label=verbalizer.name(fact.subject), text=verbalizer.words(fact)
        )
        part.section("h_rules").add(text + verbalizer.sources([fact]), fact)
    states = [state for state, _ in ranked[:2]]
    checks(context, parsed.ailments or states, part)
    write_red_flags(context, parsed.ailments, part)
    question_texts(context, parsed.ailments, part)
    return part


def _candidates(context: AnswerContext) -> list[tuple[str, list[Fact]]]:
    """Return the constitutions that the signs point to, those of most signs first."""
    facts: dict[str, list[Fact]] = {}
    for ailment in context.parsed.ailments:
        for broader in context.facts.above(ailment):
            for fact in context.facts.of(broader, SHIYI.relatedConstitution):
                facts.setdefault(fact.object, []).append(fact)
            for fact in context.facts.inverse(broader, SHIYI.hasManifestation):
                if context.facts.is_a(fact.subject, SHIYI.Constitution):
                    facts.setdefault(fact.subject, []).append(fact)

    def place(item: tuple[str, list[Fact]]) -> tuple[object, ...]:
        signs = {f.other(item[0]) for f in item[1]}
        return -len(signs), -max(f.confidence for f in item[1]), item[0]

    return sorted(facts.items(), key=place)


def write_referral(context: AnswerContext) -> Contribution:
    """Write only what a doctor should look into."""
    part = Contribution()
    checks(context, (*context.parsed.emergencies, *context.parsed.ailments), part)
    write_red_flags(context, context.parsed.ailments, part)
    return part


_SUICIDAL: Final = resource("symptom-suicidal-thoughts").value
_COMMON: Final = {  # where no country is set
    "zh": ("CN",), "zh-Hant": ("CN", "HK", "TW"), "en": ("US", "GB", "EU", "CN"),
}  # fmt: skip


def emergency_numbers(language: str, country: str, question: str = "") -> dict[str, str]:
    """Return the emergency number and the crisis line of a country, or of some by language.

    Without a country, traditional characters add the numbers of Hong Kong and Taiwan.

    Raise ``UsageError`` where the table has no such country.
    """
    table = {code: cells for code, *cells in rows("emergency-numbers")}
    if country and country not in table:
        raise UsageError(f"answer.country {country!r} is none of {', '.join(table)}")
    mark, results = verbalize(language, "v_comma"), dict[str, list[str]]()
    script = "zh-Hant" if language == "zh" and is_traditional(question) else language
    for code in (country,) if country else _COMMON[script]:
        zh, en, number, line, *_ = table[code]
        for name, each in (("number", number), ("line", line)):
            named = zh if language == "zh" else en
            results.setdefault(name, []).append(
                verbalize(language, "n_in", country=named, number=each)
            )
    return {name: mark.join(texts) for name, texts in results.items()}


def write_alarms(context: AnswerContext, part: Contribution, country: str) -> None:
    """Warn of an emergency and of self-harm, with the numbers to call."""
    question, verbalizer = context.parsed, context.verbalizer
    numbers = emergency_numbers(verbalizer.language, country, question.question)
    harm = question.alarm == "self_harm" or _SUICIDAL in question.emergencies
    if harm:
        other = "harm-other" in question.slots
        text = verbalizer.verbalize("s_harm_other_read" if other else "s_self_harm_read", **numbers)
        part.warnings.append(SafetyWarning("emergency", text))
    results = [e for e in question.emergencies if not (harm and e == _SUICIDAL)]
    if results:
        signs, number = verbalizer.names(results), numbers["number"]
        text = verbalizer.verbalize("s_emergency", signs=signs, number=number)
        text = capital(text, verbalizer.language)
        flags = [f for e in results for f in context.facts.inverse(e, SHIYI.hasRedFlag)][:3]
        part.note(*flags)
        part.warnings.append(SafetyWarning("emergency", text, tuple(f.claim for f in flags)))
    if not any(warning.severity == "emergency" for warning in part.warnings):
        text = verbalizer.verbalize("s_emergency_read", number=numbers["number"])
        part.warnings.append(SafetyWarning("emergency", text))
    if not harm and _SWELLING in results:
        known = kind_words(verbalizer.language, [EvidenceKind.RECALLED])
        part.opening.add(verbalizer.annotate(verbalizer.verbalize("s_adrenaline"), known))
    if not harm and "taken" in question.frame.slots:
        _write_taken(context, part)
    elif results and not harm:
        last = [group[0] for group in question.groups[-1:]]  # after what caused it
        asked = question.frame.has_cue("asking", "permission", "yes-no")
        asked |= not {"may", "avoid"}.isdisjoint(question.frame.slots)
        if asked and (named := last or question.drugs):
            items = verbalizer.names(named[:_MOST_NAMED])
            part.opening.add(verbalizer.verbalize("s_meanwhile", items=items))


def _write_taken(context: AnswerContext, part: Contribution) -> None:
    """Write what to take along, and that what is asked about as a remedy is not to be given."""
    question, verbalizer = context.parsed, context.verbalizer
    taken = _list_taken(question.frame)
    words = [verbalizer.name(f.iri) if f.iri else sanitize_words(f.text) for f in taken]
    swallowed = {f.iri for f in taken}
    rest = [g[0] for g in question.groups if swallowed.isdisjoint(g)][:_MOST_NAMED]
    if rest:
        part.opening.add(verbalizer.verbalize("s_no_remedy", items=verbalizer.names(rest)))
    if words or rest:
        items = join_names(verbalizer.language, words[:_MOST_NAMED])
        part.opening.add(verbalizer.verbalize("s_bring" if words else "s_bring_any", items=items))


def _list_taken(frame: Frame) -> tuple[Focus, ...]:
    """List what was swallowed: what is stated as eaten, else what is named before a remedy."""
    if eaten := frame.of_role("eaten"):
        return eaten
    remedies = [f.start for f in frame.of_role("asked_about")]
    first = min(remedies, default=len(frame.text))
    before = tuple(f for f in frame.of_role("medicine", "topic") if f.start < first)
    return before or (() if "may" in frame.slots else frame.of_role("asked_about"))


_FEVER: Final = resource("symptom-fever").value
_SWELLING: Final = resource("symptom-swelling-of-the-face-or-throat").value


def refer(context: AnswerContext) -> Contribution:
    """Send a feverish child and any infant to a doctor; no food or herb is listed for them."""
    part = write_referral(context)
    ailments = context.parsed.ailments
    losing = context.parsed.is_feverish_child()
    key = "s_child_fever" if _FEVER in ailments else "s_infant_water" if losing else "s_infant"
    text = context.verbalizer.verbalize(key)
    part.warnings.append(SafetyWarning("caution", text))
    part.shown.add(text)
    part.opening.add(text)
    question_texts(context, ailments, part)
    return part


def child_first(parsed: Question) -> str:
    """Return the key of what is stated first where something is to be given to such a child."""
    return "v_child_fever" if _FEVER in parsed.ailments else "v_infant_water"


def write_patterns(context: AnswerContext) -> Contribution:
    """Write which patterns the signs may belong to, as possibilities only."""
    part, verbalizer = Contribution(), context.verbalizer
    part.opening.add(verbalizer.verbalize("s_diagnosis"))
    patterns: dict[tuple[str, ...], list[Pattern]] = {}
    for pattern in context.differential.patterns[:5]:
        signs = tuple(dict.fromkeys(f.other(pattern.iri) for f in pattern.signs))
        patterns.setdefault(tuple(sorted(signs)), []).append(pattern)
    for key, found_patterns in patterns.items():
        text = verbalizer.verbalize(
            "d_possible",
            sign=verbalizer.names(key),
            states=verbalizer.inline_names((p.iri for p in found_patterns), "or"),
        )
        part.section("h_facts").add(text, *(f for p in found_patterns for f in p.signs))
    checks(context, context.parsed.ailments, part)
    write_red_flags(context, context.parsed.ailments, part)
    question_texts(context, context.parsed.ailments, part)
    return part


_MOST_DRUGS = 4


def ask_which(context: AnswerContext) -> str:
    """Return what has to be known first: which of the things that a loose word may mean."""
    verbalizer, parsed = context.verbalizer, context.parsed
    loose = [cue for cue in parsed.frame.wanted.cues if cue.startswith("vague-")]
    if loose or not parsed.wants("may", "emergency", "clarification"):
        return verbalizer.verbalize(f"o_{loose[0]}" if loose else "o_what")
    text = verbalizer.verbalize("o_what_for_whom")
    if names := verbalizer.names(parsed.person.drugs[:_MOST_DRUGS]):
        text += verbalizer.space + verbalizer.verbalize("o_unheard_with", drugs=names)
    return text
