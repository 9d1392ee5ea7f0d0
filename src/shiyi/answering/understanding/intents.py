"""What is asked for, what of it is no matter of food, and red-flag wording."""

import re
from collections.abc import Iterable, Mapping
from enum import StrEnum
from functools import cache
from typing import Final

from shiyi.answering.understanding.text import QuestionText, spaced
from shiyi.linking.normalization import fold
from shiyi.model.mention import Mention
from shiyi.ontology.lexicon import Cues, cue_texts, cues, word_list
from shiyi.ontology.schema import Property, Schema

_CUES: Final = Cues("intents")
_EMERGENCIES: Final = Cues("emergencies")
_PREGNANT: Final = "怀孕 pregnant"


class Intent(StrEnum):
    """What a question may want; it may want several things."""

    ADVICE = "advice"
    MAY = "may"
    PROPERTY = "property"
    CONSTITUTION = "constitution"
    MEANING = "meaning"
    STOP = "stop"
    DOSE = "dose"
    DIAGNOSIS = "diagnosis"
    METHOD = "method"
    DRINK = "drink"
    CURE = "cure"
    SUPPLEMENT = "supplement"
    PROOF = "proof"
    AVOID = "avoid"


def intents_of(text: QuestionText) -> frozenset[Intent]:
    """List what the words of a question show.

    >>> sorted(intents_of(QuestionText.of("Any drinks?")))
    [<Intent.ADVICE: 'advice'>, <Intent.DRINK: 'drink'>]
    """
    folded, spaced = text.folded, text.spaced
    shown = (cue for cue in cue_texts("intent-words") if _has_word(text, "intent-words", cue))
    found = {Intent(cue) for cue in shown}
    if _CUES["whom"].search(folded):
        found.discard(Intent.CONSTITUTION)
    if _CUES["suits"].search(folded):
        found.add(Intent.ADVICE)
    if _CUES["eases"].search(folded) or (
        _CUES["good-for"].search(spaced) and not _CUES["which"].search(spaced)
    ):
        found = (found | {Intent.MAY}) - {Intent.ADVICE}
    here = spaced if folded.isascii() else f" {folded} "  # Chinese clauses end at their marks
    if _CUES["avoid-cue"].search(here):
        rest = _CUES["avoid-cue"].sub(" ", here)
        found = (
            (found - {Intent.ADVICE, Intent.MAY})
            | {Intent.AVOID}
            | intents_of(QuestionText.of(rest))
        )
    return frozenset(found)


def _has_word(text: QuestionText, table: str, cue: str) -> bool:
    """Return whether a word of a list stands in a text; an English one as a whole word."""
    chinese, english = word_list(table, cue)
    return any(word in text.folded for word in chinese) or any(
        f" {word} " in text.spaced for word in english
    )


@cache
def _every_word() -> tuple[frozenset[str], frozenset[str]]:
    lists = [word_list("intent-words", cue) for cue in cue_texts("intent-words")]
    return frozenset().union(*(zh for zh, _ in lists)), frozenset().union(*(en for _, en in lists))


def is_cue(text: str) -> bool:
    """Return whether words only show what is asked, and name nothing.

    >>> is_cue("drinks"), is_cue("hawthorn")
    (True, False)
    """
    folded = fold(text)
    words = spaced(folded)
    chinese, english = _every_word()
    return any(folded in cue or cue in folded for cue in chinese) or any(
        words in f" {cue} " or f" {cue} " in words for cue in english
    )


def is_meal(text: str) -> bool:
    """Return whether words only say at which meal, how often or for whom something is eaten.

    >>> is_meal("breakfast"), is_meal("growth")
    (True, False)
    """
    return _CUES["meal"].fullmatch(fold(text).strip()) is not None


def names_medicine(text: QuestionText) -> bool:
    """Return whether the question speaks of medicines in general words."""
    return _has_word(text, "words", "medicine")


def names_prescription(text: QuestionText) -> bool:
    """Return whether the question speaks of a prescription of Chinese medicine.

    >>> names_prescription(QuestionText.of("I take a herbal formula"))
    True
    """
    return any(cue in text.folded for cues in word_list("words", "prescription") for cue in cues)


def asks_difference(text: QuestionText) -> bool:
    """Return whether two things are to be distinguished rather than taken together.

    >>> asks_difference(QuestionText.of("Is anise the same as star anise?"))
    True
    """
    return _CUES["difference"].search(text.folded) is not None


def asks_to_take(text: QuestionText) -> bool:
    """Return whether something is to be eaten, drunk or taken.

    >>> asks_to_take(QuestionText.of("Is diabetes hereditary?"))
    False
    """
    return _CUES["taking"].search(text.folded) is not None


def asks_of_one(text: QuestionText) -> bool:
    """Return whether an English question is about what it names: "fennel tea for colic" may be had.

    >>> asks_of_one(QuestionText.of("Can I have fennel tea for colic?"))
    True
    """
    return _CUES["may-one"].search(text.spaced) is not None and not _CUES["which"].search(
        text.spaced
    )


def refuses(text: QuestionText, mention: str) -> bool:
    """Return whether the words say that the medicine ``mention`` is to be left out.

    >>> refuses(QuestionText.of("Can I stop metformin?"), "metformin")
    True
    """
    folded, name = text.folded, fold(mention)
    place = folded.find(name)
    if place < 0:
        return False
    before = folded[max(0, place - 6) : place].rstrip(" 了掉用吃服")
    chinese, english = word_list("words", "taking-denied")
    if before.endswith(tuple(chinese)):
        return True
    near = spaced(folded[max(0, place - 24) : place])
    return any(f" {cue} " in near for cue in english)


_INVERSE: Final = "（逆）"
_LEAST: Final = 2  # characters of a Chinese name; of an English one, five letters


def asked_predicates(question: str) -> frozenset[str]:
    """Return the relations a question names, by everyday words or as the vocabulary does.

    >>> sorted(asked_predicates("What is the active constituent of honeysuckle?"))
    ['hasActiveConstituent']
    """
    low = question.lower()
    everyday = {
        name
        for names, cue in cues("relations").items()
        if cue.search(low)
        for name in names.split()
    }
    return frozenset(everyday | {name for name, _, _ in named_in(question)})


def named_in(question: str) -> tuple[tuple[str, int, int], ...]:
    """List relations with the spans of the names that the vocabulary gives them."""
    return tuple(
        (name, found.start(), found.end())
        for name, pattern in _names()
        for found in pattern.finditer(question)
    )


def outside_names(mentions: Iterable[Mention], question: str) -> tuple[Mention, ...]:
    """Leave out mentions that are but a piece of a relation's name."""
    spans = [(start, end) for _, start, end in named_in(question)]
    return tuple(
        m
        for m in mentions
        if not any(
            start <= m.start and m.end <= end and m.end - m.start < end - start
            for start, end in spans
        )
    )


def asked_kinds(stem: str) -> frozenset[str]:
    """Return the kinds of concept that the words of a question name."""
    low = stem.lower()
    return frozenset(
        name for names, cue in cues("kinds").items() if cue.search(low) for name in names.split()
    )


def odd_one_out(stem: str) -> bool:
    """Return whether the option is wanted that does *not* fit.

    >>> odd_one_out("Which is not warming?"), odd_one_out("Which is warming?")
    (True, False)
    """
    tail = stem.lower()[-60:]
    return bool(_CUES["odd"].search(tail))


@cache
def _names() -> tuple[tuple[str, re.Pattern[str]], ...]:
    return tuple(
        (name, re.compile("|".join(found), re.IGNORECASE))
        for name, known in Schema.load().properties.items()
        if (found := _patterns(known))
    )


def _patterns(known: Property) -> list[str]:
    if not (known.is_object and known.domain) or known.label_zh.endswith(_INVERSE):
        return []
    chinese = re.sub(r"\(.*?\)", "", known.label_zh).split("/")
    english = known.label_en.removeprefix("has ").removeprefix("is ")
    return [
        *(re.escape(each) for each in chinese if len(each) >= _LEAST),
        *([rf"\b{re.escape(english)}s?\b"] if len(english) >= _LEAST + 3 else []),
    ]


MEDICAL: Final = frozenset({  # topics that a doctor can be asked about
    "heredity", "contagion", "department", "outlook", "tests", "fertility", "abortion", "activity",
})  # fmt: skip


def fears_miscarriage(text: QuestionText) -> bool:
    """Return whether somebody asks in fear of a miscarriage, and none is wanted.

    >>> fears_miscarriage(QuestionText.of("I am pregnant and afraid of a miscarriage"))
    True
    """
    feared = _CUES["miscarriage-feared"].search(text.folded)
    return bool(feared) and not _CUES["miscarriage-wanted"].search(text.folded)


def topics_beyond_food(question: QuestionText) -> tuple[tuple[str, ...], QuestionText]:
    """Return the topics that are no matter of food, and the question without their words.

    >>> topics_beyond_food(QuestionText.of("Is it contagious?"))[0]
    ('contagion',)
    """
    feared, found = fears_miscarriage(question), list[str]()
    english = question.folded.isascii()
    text = question.spaced if english else question.folded
    for topic, cue in _topics(english).items():
        if cue.search(text) and not (topic == "abortion" and feared):
            found.append(topic)
            text = cue.sub(" ", text)
    return tuple(found), QuestionText.of(text, question.language) if found else question


@cache
def _topics(english: bool) -> Mapping[str, re.Pattern[str]]:
    shape = " (?:{})(?= )" if english else "{}"
    return {
        topic: re.compile(shape.format(texts[english]))
        for topic, texts in cue_texts("topics").items()
        if not topic.startswith("_")
    }


def emergency_signs(text: QuestionText, *, pregnant: bool = False) -> tuple[str, ...]:
    """List the names of the emergency signs that the words of a question describe.

    These stand beside the signs that are linked by their labels; ``pregnant`` is what a profile
    says. A sign that the words deny is left out.

    >>> emergency_signs(QuestionText.of("I blacked out at work"))
    ('symptom-fainting',)
    >>> emergency_signs(QuestionText.of("I never blacked out"))
    ()
    """
    words = f"{_PREGNANT}: {text.folded}" if pregnant else text.folded
    return tuple(
        name
        for name, cue in cues("emergency-signs").items()
        if any(not _denied(words[: hit.start()]) for hit in cue.finditer(words))
    )


def is_alarm(text: str) -> bool:
    """Return whether words only say that it is urgent, and so name no thing.

    >>> is_alarm("emergency"), is_alarm("emergency contraceptive")
    (True, False)
    """
    word = fold(text)
    return any(word in words for words in word_list("words", "alarm"))


def is_only_feared(text: QuestionText, sign: str) -> bool:
    """Return whether poisoning is only asked about: "is it poisonous together".

    >>> text = QuestionText.of("Can vitamin C and seafood cause poisoning?")
    >>> is_only_feared(text, "symptom-suspected-poisoning")
    True
    """
    return sign.endswith("suspected-poisoning") and bool(_EMERGENCIES["feared"].search(text.folded))


def _denied(before: str) -> bool:
    return bool(_EMERGENCIES["denial"].search(before))
