"""The words of a question as concepts: linked, described, measured, listed or prepared."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Final

from shiyi.answering.knowledge.facts import MATERIAL, Facts
from shiyi.answering.understanding.conditions import drop_names
from shiyi.answering.understanding.reader.alarms import is_alarm
from shiyi.linking.disambiguation import read_lines
from shiyi.linking.linker import Linker
from shiyi.linking.normalization import (
    QuestionText,
    fold,
    frequency,
    has_cjk,
    is_cjk,
    is_ordinary,
    is_word,
)
from shiyi.model.answer import Mention
from shiyi.model.iris import ID, resource
from shiyi.ontology.lexicon import Cues, cue_texts, cues, word_list
from shiyi.ontology.terms import SHIYI

_CUES: Final = Cues("mentions")

TAKEN: Final = (SHIYI.Drug, *MATERIAL, SHIYI.Organism, SHIYI.FoodGroup)
_PARTS: Final = frozenset({"Food", "MFHSubstance", "Meridian", "OrganismPart"})
_CLAUSE: Final = re.compile(r"[，,。.;；!！?？、]")
_APART, _NEAR, _TURNED = 24, 4, 0.8


def link_question(question: QuestionText, linker: Linker, facts: Facts) -> tuple[Mention, ...]:
    """Link the words of a question; what names nothing known stays without an IRI."""
    linked = tuple(m for m in linker.link(question.raw, question.language) if not is_alarm(m.text))
    whole = drop_names(_relink(linked, question.raw, linker), question.raw)
    whole = tuple(_nutrient(m, linker, facts) for m in whole)
    mentions = expand_collective(expand_lists(whole, question, linker.link), question, linker.link)
    described = add_described_signs(mentions, question, facts)
    read = read_measured_values(described, question, facts)
    named = [m for m in read if m.iri and not _is_homograph(m, question, facts)]
    things = [m for m in named if not facts.is_a(m.iri, SHIYI.Season, SHIYI.Population)]
    found = [*named, *(m for m in read if not m.iri and _is_thing(m, question, things))]
    found = _join_products(found, question)
    return tuple(_as_medicine(m, facts) if m.iri else m for m in found)


def _join_products(mentions: Iterable[Mention], question: QuestionText) -> list[Mention]:
    """Replace parts of the name of a product that is not known by the whole name: 九宝灵芝膏."""
    found_mentions = sorted(mentions, key=lambda m: (m.start, m.end))
    for hit in _CUES["product"].finditer(question.aligned):
        parts = [m for m in found_mentions if m.start < hit.end() and hit.start() < m.end]
        named = {i for m in parts if m.iri for i in range(m.start, m.end)}
        rest = "".join(question.aligned[i] for i in range(*hit.span(1)) if i not in named)
        whole = any(m.iri and m.end >= hit.end() for m in parts)
        if parts and not whole and len(_CUES["of-any-product"].sub("", rest)) >= _PAIR:
            start, end = min(hit.start(), parts[0].start), hit.end()
            mention = replace(parts[0], text=question.raw[start:end], start=start, end=end)
            found_mentions = [m for m in found_mentions if m not in parts]
            found_mentions.append(replace(mention, iri="", score=0.0, alternatives=()))
    return sorted(found_mentions, key=lambda m: (m.start, m.end))


def _is_homograph(mention: Mention, question: QuestionText, facts: Facts) -> bool:
    """Return whether an ordinary word is no name where it stands: "cheers mate", tire, 将军."""
    word = fold(mention.text)
    if not is_word(word, _HOMOGRAPH) or not facts.is_a(mention.iri, SHIYI.DSIngredient, SHIYI.Herb):
        return False
    if word in (fold(mention.label_en), mention.label_zh) or mention.text.isupper():
        return False  # by its first name: iron
    return not _is_taken_place(mention, question) and fold(question.raw).strip("?？ ") != word


def _is_thing(mention: Mention, question: QuestionText, mentions: Sequence[Mention]) -> bool:
    """Return whether words that nothing known is named by stand for a thing that is asked about."""
    word = fold(mention.text)
    if _CUES["no-thing"].search(word):
        return False
    ordinary = is_ordinary(word)
    if ordinary and not has_cjk(word) and any(frequency(w) >= _COMMONEST for w in word.split()):
        return False
    if _is_taken_place(mention, question) or _CUES["goal-before"].match(
        question.aligned[mention.end :]
    ):
        return True
    alone = question.aligned[: mention.start].strip() + question.aligned[mention.end :].strip()
    return not alone.strip("?？吗呢") or not (ordinary or mentions)


def _is_taken_place(mention: Mention, question: QuestionText) -> bool:
    """Return whether a word stands where something is named that is eaten, taken or asked about."""
    start, _ = question.clause_at(mention.start)
    before, after = question.aligned[start : mention.start], question.aligned[mention.end :]
    first = not before.strip() or _CUES["asks-thing"].search(before) is not None
    return bool(_CUES["takes-thing"].search(before) or (first and _CUES["thing-is"].match(after)))


_HOMOGRAPH, _COMMONEST = 3.9, 4.9  # on the Zipf scale


def _nutrient(mention: Mention, linker: Linker, facts: Facts) -> Mention:
    """Return the nutrient named in words for what is rich in it, where they name nothing surely."""
    if mention.iri and "Threshold" not in mention.justification:
        return mention
    bare = mention.text
    for _ in range(2):
        bare = _CUES["rich-around"].sub("", bare).strip()
    hits = linker.link(bare) if bare and bare != mention.text else ()
    whole = [m for m in hits if m.iri and len(m.text) == len(bare)]
    if len(whole) != 1 or not any(
        facts.is_a(iri, SHIYI.ChemicalEntity) for iri in (whole[0].iri, *whole[0].alternatives)
    ):
        return mention
    start = mention.start + mention.text.index(bare)
    return replace(whole[0], start=start, end=start + len(bare))


def _as_medicine(mention: Mention, facts: Facts) -> Mention:
    """Resolve a constituent to the medicine of that name, unless it is a food or supplement."""
    if facts.is_a(mention.iri, SHIYI.Drug, *MATERIAL):
        return mention
    if not facts.is_a(mention.iri, SHIYI.ChemicalEntity):
        return mention
    if any(facts.is_a(iri, *MATERIAL) for iri in mention.alternatives):
        return mention
    drug = next((iri for iri in mention.alternatives if facts.is_a(iri, SHIYI.Drug)), "")
    return replace(mention, iri=drug) if drug else mention


def _relink(mentions: tuple[Mention, ...], question: str, linker: Linker) -> tuple[Mention, ...]:
    """Link two words that stand apart or turned round: "my stomach is upset"."""
    found_mentions, skip = list[Mention](), set[int]()
    for place, mention in enumerate(mentions):
        if place in skip:
            continue
        partner = next(
            (i for i in range(place + 1, len(mentions)) if not mentions[i].iri), len(mentions)
        )
        joined = None
        apart = not mention.iri or mention.kind in _PARTS  # "stomach" alone is linked to a food
        if apart and partner < len(mentions):
            joined = _join_mentions(mention, mentions[partner], question, linker)
        if joined:
            skip.add(partner)
        found_mentions.append(joined or mention)
    return tuple(found_mentions)


def _join_mentions(one: Mention, other: Mention, question: str, linker: Linker) -> Mention | None:
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


_TEA: Final = resource("substance-cha").value
_RICE: Final = resource("dish-plain-congee").value
_PAIR: Final = 2


def find_drinks(
    question: QuestionText, linked: Sequence[Mention], facts: Facts
) -> tuple[tuple[str, str, int], ...]:
    """List tea, wine and congee that are asked about by words that also name a form.

    Each with its word and where it stands: "ginseng and tea", 人参泡酒, 喝粥.
    """
    unnamed = blank_names(question, linked, facts)
    made = next((hit for hit in find_prepared(question, linked, facts) if is_wine(hit[0])), None)
    results = []
    tea = _CUES["tea-itself"].search(_without_drinks(question, linked, facts).aligned)
    for iri, hit in ((_TEA, tea), (_RICE, _CUES["congee"].search(unnamed.aligned))):
        if hit and iri in facts.labels:
            results.append((iri, hit.group(), hit.start()))
    if made and WINE in facts.labels:
        results.append((WINE, made[0], made[2]))
    return tuple(results)


def preparations(drugs: Sequence[Mention], linker: Linker, facts: Facts) -> dict[str, list[str]]:
    """Return what a preparation taken beside a medicine is made of: "iron pills" are iron."""
    results: dict[str, list[str]] = {}
    if len({m.iri for m in drugs}) < _PAIR:
        return results
    for mention in drugs:
        bare = _CUES["dosage-form"].sub("", fold(mention.text)).strip()
        hits = linker.link(bare) if bare and bare != fold(mention.text) else ()
        whole = [m.iri for m in hits if len(m.text) == len(bare)]
        if len(whole) == 1 and facts.is_a(whole[0], *MATERIAL):
            results[mention.iri] = whole
    return results


def blank_names(question: QuestionText, linked: Sequence[Mention], facts: Facts) -> QuestionText:
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


def find_materials(mention: Mention, facts: Facts) -> list[str]:
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
    parts = [f.subject for s in named for f in facts.inverse(s, SHIYI.derivedFromOrganism)]
    own = [mention.iri] if facts.is_a(mention.iri, *MATERIAL) else []
    return list(dict.fromkeys([*own, *also, *parts]))[:4]


_SHORT: Final = 2  # Chinese characters; a shorter word says too little to be an emergency


def add_described_signs(
    mentions: Iterable[Mention], question: QuestionText, facts: Facts
) -> tuple[Mention, ...]:
    """Replace descriptions of a sign ("my stool is black") by the sign they describe.

    A short word that is only *like* the name of an emergency sign (*stools*, *black stools*) names
    nothing; emergencies that are reported in other words are found by rule (``alarms``).
    """
    whole = (m for m in mentions if not _is_piece(m, question.raw))
    found_mentions = [
        replace(m, iri="", score=0.0, alternatives=()) if _is_slight(m, facts) else m for m in whole
    ]
    beside = any(facts.is_a(m.iri, *MATERIAL) for m in found_mentions if m.iri)
    text = question.aligned
    organs = cues("organs").items() if beside else ()
    for name, words in (*cues("signs").items(), *organs):
        if (hit := words.search(text)) is None:
            continue
        iri = ID + name
        if iri not in facts.labels:
            continue
        if any(m.iri and m.start <= hit.start() and m.end > hit.end() for m in found_mentions):
            continue  # a longer name stands there: 伤肝的药
        found_mentions = [m for m in found_mentions if m.end <= hit.start() or m.start >= hit.end()]
        labels = facts.labels[iri]
        found_mentions.append(
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
    return tuple(sorted(found_mentions, key=lambda m: (m.start, m.end)))


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
    """Link a measured value to its low state where the text says low; drop it where normal.

    What is only asked (*is my blood pressure high?*), what a medicine keeps normal: as linked.
    """
    text = question.aligned
    read = [_link_measured_value(m, text, facts) for m in mentions]
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


def _link_measured_value(mention: Mention, text: str, facts: Facts) -> Mention:
    state = _low_states().get(fold(mention.text))
    if state is None or not mention.iri:
        return mention
    after, low = text[mention.end :], ID + state
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
    text, found_mentions = question.aligned, list(mentions)
    for word, states in _collective():
        for hit in word.finditer(text):
            start, end = hit.span()
            found_mentions = [m for m in found_mentions if m.end <= start or m.start >= end]
            for state in states:
                found_mentions += [
                    replace(m, text=question.raw[start:end], start=start, end=end)
                    for m in link(state)[:1]
                    if m.iri
                ]
    return tuple(sorted(found_mentions, key=lambda m: (m.start, m.end)))


@cache
def _collective() -> tuple[tuple[re.Pattern[str], list[str]], ...]:
    rows = (line.split("\t") for line in read_lines("collective"))
    return tuple((re.compile(row[0]), row[1].split("|")) for row in rows)


WINE: Final = resource("substance-jiu").value


def find_asked_forms(
    question: QuestionText, mentions: Iterable[Mention], facts: Facts
) -> tuple[tuple[str, ...], tuple[tuple[int, int], ...]]:
    """Return the methods of the forms asked for, and where their words stand.

    A tea that is asked for (*which tea is cooling?*) is a form; tea that somebody drinks is a food.
    """
    text = question.aligned
    ends = [m.end for m in mentions if m.iri and facts.is_a(m.iri, *_SOUGHT)]
    results: dict[str, None] = {}
    spans: list[tuple[int, int]] = []
    for methods, words in cues("forms").items():
        for hit in words.finditer(text):
            if _is_asked(text, hit, ends):
                results |= dict.fromkeys(f"{ID}method-{name}" for name in methods.split())
                spans.append(hit.span())
    return tuple(results), tuple(spans)


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


def find_prepared(
    question: QuestionText, mentions: Iterable[Mention], facts: Facts
) -> tuple[tuple[str, str, int], ...]:
    """List prepared things as word, material and place, where nothing has that very name."""
    text, results = question.aligned, []
    for m in mentions:
        hit = _CUES["in-form"].match(text, m.end) if m.iri else None
        if (
            hit
            and facts.is_a(m.iri, *MATERIAL)
            and not facts.is_a(m.iri, SHIYI.Dish, SHIYI.Formula)
        ):
            results.append((question.raw[m.start : hit.end()], m.iri, m.start))
    return tuple(results)


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
