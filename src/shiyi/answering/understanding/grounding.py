"""The words of a question as concepts: linked, described, measured, listed or prepared."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Final

from shiyi.answering.knowledge.facts import MATERIAL, Facts
from shiyi.answering.understanding.attribution import allergens as allergens_of
from shiyi.answering.understanding.attribution import (
    is_allergy_word,
    resolve_denials,
    resolve_time,
    states_of_asker,
    states_of_others,
)
from shiyi.answering.understanding.intents import is_alarm, outside_names
from shiyi.answering.understanding.text import QuestionText
from shiyi.linking.disambiguation import read_lines
from shiyi.linking.linker import Linker
from shiyi.linking.normalization import fold, is_cjk
from shiyi.model.iris import resource
from shiyi.model.mention import Mention
from shiyi.ontology.lexicon import Cues, cue_texts, cues, word_list
from shiyi.ontology.terms import SHIYI

_CUES: Final = Cues("mentions")

TAKEN: Final = (SHIYI.Drug, *MATERIAL, SHIYI.Organism, SHIYI.FoodGroup)
_PARTS: Final = frozenset({"Food", "MFHSubstance", "Meridian", "OrganismPart"})
_CLAUSE: Final = re.compile(r"[，,。.;；!！?？、]")
_APART, _NEAR, _TURNED = 24, 4, 0.8


@dataclass(frozen=True, slots=True)
class GroundedQuestion:
    """The words of a question as concepts.

    ``linked`` are those that the question is about or that count for who is to eat; of them
    ``allergens`` are what somebody is allergic to; ``theirs`` and ``mine`` are of other people.
    """

    mentions: tuple[Mention, ...]  # all, with words that are no concept of Shiyi's
    linked: tuple[Mention, ...]
    allergens: tuple[Mention, ...]
    theirs: tuple[Mention, ...]
    mine: tuple[Mention, ...]
    forms: tuple[str, ...]  # ways of preparing that are asked for
    made: tuple[tuple[str, str], ...]  # words such as 人参汤, and what they are read as


def ground_question(question: QuestionText, linker: Linker, facts: Facts) -> GroundedQuestion:
    """Link the words, take what is stated of them into account, and set apart what is of others."""
    mentions = _mentions(question, linker, facts)
    linked = [_as_medicine(m, facts) for m in mentions if m.iri]
    allergens = list(allergens_of(question, [m for m in linked if facts.is_a(m.iri, *TAKEN)]))
    linked = [m for m in linked if m in allergens or not _is_allergy(m, allergens)]
    theirs = states_of_others(linked, question, facts, allergens)
    mine = states_of_asker(linked, question, facts, allergens)
    linked = [m for m in linked if m not in (*theirs, *mine)]
    allergens = [m for m in allergens if m in linked]
    forms, spans = forms_asked(question, linked, facts)
    linked = [m for m in linked if (m.start, m.end) not in spans]
    made = prepared_things(question, linked, facts)
    return GroundedQuestion(
        mentions, tuple(linked), tuple(allergens), theirs, mine, tuple(forms), made
    )


def _mentions(question: QuestionText, linker: Linker, facts: Facts) -> tuple[Mention, ...]:
    raw = question.raw
    linked = (m for m in linker.link(raw, question.language) if not is_alarm(m.text))
    whole = outside_names(_relinked(tuple(linked), raw, linker), raw)
    expanded = expand_collective(expand_lists(whole, question, linker.link), question, linker.link)
    described = read_measured_values(
        add_described_signs(expanded, question, facts), question, facts
    )
    return resolve_time(resolve_denials(described, question), question, facts)


def _as_medicine(mention: Mention, facts: Facts) -> Mention:
    """Accept a constituent for the medicine of that name, where it is no food or supplement."""
    if facts.is_a(mention.iri, SHIYI.Drug, *MATERIAL):
        return mention
    if not facts.is_a(mention.iri, SHIYI.ChemicalEntity):
        return mention
    if any(facts.is_a(iri, *MATERIAL) for iri in mention.alternatives):
        return mention
    drug = next((iri for iri in mention.alternatives if facts.is_a(iri, SHIYI.Drug)), "")
    return replace(mention, iri=drug) if drug else mention


def _relinked(mentions: tuple[Mention, ...], question: str, linker: Linker) -> tuple[Mention, ...]:
    """Link two words that stand apart or turned round: "my stomach is upset"."""
    found, skip = list[Mention](), set[int]()
    for place, mention in enumerate(mentions):
        if place in skip:
            continue
        partner = next(
            (i for i in range(place + 1, len(mentions)) if not mentions[i].iri), len(mentions)
        )
        joined = None
        apart = not mention.iri or mention.kind in _PARTS  # "stomach" alone is linked to a food
        if apart and partner < len(mentions):
            joined = _joined(mention, mentions[partner], question, linker)
        if joined:
            skip.add(partner)
        found.append(joined or mention)
    return tuple(found)


def _joined(one: Mention, other: Mention, question: str, linker: Linker) -> Mention | None:
    if other.start - one.end > _APART or _CLAUSE.search(question, one.end, other.start):
        return None
    gap = "" if is_cjk(one.text[0]) else " "
    for phrase in (f"{other.text}{gap}{one.text}", f"{one.text}{gap}{other.text}"):
        hits = linker.link(phrase)
        exact = len(hits) == 1 and "Threshold" not in hits[0].justification
        if exact and hits[0].iri and hits[0].text == phrase:
            span = question[one.start : other.end]
            return replace(hits[0], text=span, start=one.start, end=other.end, score=_TURNED)
    return None


def _is_allergy(mention: Mention, allergens: list[Mention]) -> bool:
    """Return whether a mention is only the word "allergic" beside what it is about."""
    word = is_allergy_word(mention.text)
    return word and any(
        abs(mention.start - each.end) <= _NEAR or abs(each.start - mention.end) <= _NEAR
        for each in allergens
    )


_TEA: Final = resource("substance-cha").value
_RICE: Final = resource("dish-plain-congee").value
_PAIR: Final = 2


def material_groups(
    question: QuestionText,
    unnamed: QuestionText,
    grounded: GroundedQuestion,
    asked_about: Iterable[Mention],
    sold_as: Mapping[str, Sequence[str]],
    facts: Facts,
) -> tuple[tuple[str, ...], ...]:
    """List the materials named, those that one name may mean together, each once.

    ``unnamed`` is the question without names of materials (:func:`without_names`); ``sold_as``
    says what preparations are made of (:func:`preparations`).
    """
    groups = [sold_as.get(m.iri) or _materials(m, facts) for m in asked_about]
    themselves = (
        (_TEA, _names_tea(_without_drinks(question, grounded.linked, facts))),
        (WINE, any(is_wine(word) for word, _ in grounded.made)),
        (_RICE, bool(_CUES["congee"].search(unnamed.folded))),
    )
    groups += [[iri] for iri, is_named in themselves if is_named and iri in facts.labels]
    return _each_once(groups)


def preparations(drugs: Sequence[Mention], linker: Linker, facts: Facts) -> dict[str, list[str]]:
    """Return what a preparation taken beside a medicine is made of: "iron pills" are iron."""
    found: dict[str, list[str]] = {}
    if len({m.iri for m in drugs}) < _PAIR:
        return found
    for mention in drugs:
        bare = _CUES["dosage-form"].sub("", fold(mention.text)).strip()
        hits = linker.link(bare) if bare and bare != fold(mention.text) else ()
        whole = [m.iri for m in hits if len(m.text) == len(bare)]
        if len(whole) == 1 and facts.is_a(whole[0], *MATERIAL):
            found[mention.iri] = whole
    return found


def without_names(question: QuestionText, linked: Sequence[Mention], facts: Facts) -> QuestionText:
    """Blank out dishes and materials: a dish's name is no wish for one."""
    return question.without((m.start, m.end) for m in linked if facts.is_a(m.iri, *MATERIAL))


def _without_drinks(
    question: QuestionText, linked: Sequence[Mention], facts: Facts
) -> QuestionText:
    """Blank out drinks made of what is named before: "liquorice tea" is no tea."""
    materials = [m for m in linked if facts.is_a(m.iri, *MATERIAL)]
    drinks = [(m.start, m.end) for m in materials if m.iri != _TEA and " tea" in m.text.lower()]
    behind = [
        (m.end + 1, m.end + len(" tea"))
        for m in materials
        if question.raw[m.end :].lower().startswith(" tea")
    ]
    return question.without((*drinks, *behind))


def _names_tea(question: QuestionText) -> bool:
    """Return whether tea itself is asked about; the word alone is only the form of a drink.

    >>> (
    ...     _names_tea(QuestionText.of("Can I mix ginseng and tea?")),
    ...     _names_tea(QuestionText.of("Which tea is for insomnia?")),
    ... )
    (True, False)
    """
    return _CUES["tea-itself"].search(question.folded) is not None


def _materials(mention: Mention, facts: Facts) -> list[str]:
    """List the materials a mention may mean: several where it names a species or is ambiguous.

    "Ginkgo biloba" is the seed, the leaf and the extract; each is checked.
    """
    also = [iri for iri in mention.alternatives if facts.is_a(iri, *MATERIAL)]
    if facts.is_a(mention.iri, SHIYI.ChemicalEntity) and not facts.is_a(mention.iri, SHIYI.Drug):
        return also[:4]  # what is sold under the name of its constituent
    if not facts.is_a(mention.iri, *MATERIAL, SHIYI.Organism):
        return []
    species = [f.object for f in facts.of(mention.iri, SHIYI.derivedFromOrganism)]
    species += [mention.iri] if facts.is_a(mention.iri, SHIYI.Organism) else []
    called = fold(mention.text)
    named = [s for s in species if called in map(fold, facts.labels.get(s, {}).values())]
    parts = [f.subject for s in named for f in facts.into(s, SHIYI.derivedFromOrganism)]
    own = [mention.iri] if facts.is_a(mention.iri, *MATERIAL) else []
    return list(dict.fromkeys([*own, *also, *parts]))[:4]


def _each_once(found: Iterable[Iterable[str]]) -> tuple[tuple[str, ...], ...]:
    """Keep each material once, with those that the same name may mean."""
    seen: set[str] = set()
    groups = []
    for meant in found:
        new = tuple(iri for iri in meant if iri not in seen)
        seen.update(new)
        if new:
            groups.append(new)
    return tuple(groups)


_SHORT: Final = 2  # Chinese characters; a shorter word says too little to be an emergency


def add_described_signs(
    mentions: Iterable[Mention], question: QuestionText, facts: Facts
) -> tuple[Mention, ...]:
    """Replace by signs that a sentence tells of: the words they were reported in.

    A short word that is only *like* the name of an emergency sign (*stools*, *black stools*) names
    nothing; emergencies that are reported in other words are found by rule (``alarms``).
    """
    whole = (m for m in mentions if not _is_piece(m, question.raw))
    found = [
        replace(m, iri="", score=0.0, alternatives=()) if _is_slight(m, facts) else m for m in whole
    ]
    beside = any(facts.is_a(m.iri, *MATERIAL) for m in found if m.iri)
    text = question.aligned
    organs = cues("organs").items() if beside else ()
    for name, words in (*cues("signs").items(), *organs):
        iri = resource(name).value
        hit = words.search(text)
        if hit is None or iri not in facts.labels:
            continue
        if any(m.iri and m.start <= hit.start() and m.end > hit.end() for m in found):
            continue  # a longer name stands there: 伤肝的药
        found = [m for m in found if m.end <= hit.start() or m.start >= hit.end()]
        labels = facts.labels[iri]
        found.append(
            Mention(
                question.raw[hit.start() : hit.end()],
                hit.start(),
                hit.end(),
                iri,
                labels.get("zh", ""),
                labels.get("en", ""),
                facts.cuis.get(iri, ""),
                facts.classes.get(iri, ""),
                1.0,
                "semapv:ManualMappingCuration",
            )
        )
    return tuple(sorted(found, key=lambda m: (m.start, m.end)))


def _is_piece(mention: Mention, question: str) -> bool:
    """Return whether a mention is the end of a word with the mark of a question, or of "I've"."""
    text = mention.text.strip()
    if question[max(0, mention.start - 1) : mention.start] in {"'", "’"} and len(text) <= _SHORT:
        return True
    return len(text) <= _SHORT and bool(_CUES["particle"].search(text))


def _is_slight(mention: Mention, facts: Facts) -> bool:
    if not mention.iri or not facts.is_a(mention.iri, SHIYI.EmergencySign):
        return False
    like = "Similarity" in mention.justification
    text = mention.text.strip()
    short = len(text) <= _SHORT if text and is_cjk(text[0]) else len(text.split()) == 1
    return like and short


def read_measured_values(
    mentions: Iterable[Mention], question: QuestionText, facts: Facts
) -> tuple[Mention, ...]:
    """Read a bare value as low where it is instructed to be, and as no trouble where it is normal.

    What is only asked (*is my blood pressure high?*), what a medicine keeps normal: as linked.
    """
    text = question.aligned
    read = [_measured(m, text, facts) for m in mentions]
    whole = [m for m in read if m.end - m.start > len(fold(m.text))]
    read = [replace(m, text=question.raw[m.start : m.end]) if m in whole else m for m in read]
    return tuple(
        m for m in read if m.iri or not any(w.start <= m.start and m.end <= w.end for w in whole)
    )


@cache
def _low_states() -> Mapping[str, str]:
    """Map words for a value, linked to its being high, to the state of its being low."""
    return {
        word: state
        for state in cue_texts("low-values")
        for words in word_list("low-values", state)
        for word in words
    }


def _measured(mention: Mention, text: str, facts: Facts) -> Mention:
    state = _low_states().get(fold(mention.text))
    if state is None or not mention.iri:
        return mention
    after, low = text[mention.end :], resource(state).value
    if low_words := _CUES["low"].match(after):
        if low not in facts.labels:
            return replace(mention, negated=True)
        labels = facts.labels[low]
        return replace(
            mention,
            iri=low,
            label_zh=labels.get("zh", ""),
            label_en=labels.get("en", ""),
            cui=facts.cuis.get(low, ""),
            kind=facts.classes.get(low, ""),
            alternatives=(),
            end=mention.end + low_words.end(),
        )
    if _CUES["normal"].match(after) and not _CUES["kept-down"].search(text):
        return replace(mention, negated=True)
    return mention


_MOST: Final = 6
Link = Callable[[str], tuple[Mention, ...]]


def expand_lists(
    mentions: Sequence[Mention], question: QuestionText, link: Link
) -> tuple[Mention, ...]:
    """Add the names of a list that stand without their head."""
    text, found = question.aligned, list(mentions)
    for mention in mentions:
        head = _CUES["vitamin"].search(text[: mention.end])
        if head is None or head.start() < mention.start:
            continue
        end = mention.end
        for _ in range(_MOST):
            following = _CUES["next-vitamin"].match(text, end)
            if following is None:
                break
            start, end = following.span(1)
            hits = link(f"{head[1]}{'' if '维' in head[1] else ' '}{following[1]}")
            if len(hits) == 1 and hits[0].iri:
                found = [m for m in found if m.end <= start or m.start >= end]
                found.append(replace(hits[0], text=question.raw[start:end], start=start, end=end))
    return tuple(sorted(found, key=lambda m: (m.start, m.end)))


def expand_collective(
    mentions: Iterable[Mention], question: QuestionText, link: Link
) -> tuple[Mention, ...]:
    """Replace by several states: one word for all of them: "the three highs"."""
    text, found = question.aligned, list(mentions)
    for word, states in _collective():
        for hit in word.finditer(text):
            start, end = hit.span()
            found = [m for m in found if m.end <= start or m.start >= end]
            for state in states:
                found += [
                    replace(m, text=question.raw[start:end], start=start, end=end)
                    for m in link(state)[:1]
                    if m.iri
                ]
    return tuple(sorted(found, key=lambda m: (m.start, m.end)))


@cache
def _collective() -> tuple[tuple[re.Pattern[str], list[str]], ...]:
    rows = (line.split("\t") for line in read_lines("collective"))
    return tuple((re.compile(row[0]), row[1].split("|")) for row in rows)


WINE: Final = resource("substance-jiu").value


def forms_asked(
    question: QuestionText, mentions: Iterable[Mention], facts: Facts
) -> tuple[tuple[str, ...], tuple[tuple[int, int], ...]]:
    """Return the methods of the forms asked for, and where their words stand.

    A tea that is asked for (*which tea is cooling?*) is a form; tea that somebody drinks is a food.
    """
    text = question.aligned
    ends = [m.end for m in mentions if m.iri and facts.is_a(m.iri, *_SOUGHT)]
    found: dict[str, None] = {}
    spans: list[tuple[int, int]] = []
    for methods, words in cues("forms").items():
        for hit in words.finditer(text):
            if _is_asked(text, hit, ends):
                found |= dict.fromkeys(resource(f"method-{name}").value for name in methods.split())
                spans.append(hit.span())
    return tuple(found), tuple(spans)


def _is_asked(text: str, hit: re.Match[str], ends: Iterable[int]) -> bool:
    before, after, word = text[: hit.start()], text[hit.end() :], hit[0]
    if word.isascii():
        listed = word.endswith("s") and _CUES["form-listed"].match(after)
        return bool(_CUES["which-form"].search(before) or listed)
    if any(e <= hit.start() and _CUES["of-form"].fullmatch(text[e : hit.start()]) for e in ends):
        return True
    if len(word) == 1 and is_wine(word):  # names more than a form: alcohol
        return False
    which = "which-tea" if _CUES["tea-word"].search(word) else "which-form"
    return bool(_CUES[which].search(before) or _CUES["form-listed"].match(after))


def prepared_things(
    question: QuestionText, mentions: Iterable[Mention], facts: Facts
) -> tuple[tuple[str, str], ...]:
    """List prepared things as word and material, where nothing has that very name."""
    text, found = question.aligned, []
    for m in mentions:
        hit = _CUES["in-form"].match(text, m.end) if m.iri else None
        if (
            hit
            and facts.is_a(m.iri, *MATERIAL)
            and not facts.is_a(m.iri, SHIYI.Dish, SHIYI.Formula)
        ):
            found.append((question.raw[m.start : hit.end()], m.iri))
    return tuple(found)


def is_wine(word: str) -> bool:
    """Return whether a thing is named as steeped in alcohol.

    >>> is_wine("goji tea")
    False
    """
    return _CUES["wine-word"].search(word) is not None


_SOUGHT: Final = (
    SHIYI.Therapy, SHIYI.Efficacy, SHIYI.Disease, SHIYI.TCMDisease, SHIYI.Symptom, SHIYI.Syndrome,
    SHIYI.Constitution, SHIYI.Season, SHIYI.Population,
)  # fmt: skip
