"""Slots that the words of a question fill, and the alarms and emergency signs they raise."""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cache
from typing import Final

from shiyi.answering.knowledge.severity import WARNINGS
from shiyi.answering.understanding.frame import ALARMS
from shiyi.errors import TableError
from shiyi.linking.normalization import QuestionText, fold
from shiyi.model.iris import resource
from shiyi.ontology.lexicon import Cues, cue_texts, cues, rows, word_list

_CUES: Final = Cues("emergencies")
_LATIN: Final = re.compile(r"[a-z]")
_CALM: Final = "calm"  # rows of alarms.tsv by which the trained reader alone raises no alarm
_PASSED: Final = "passed"  # rows of alarms.tsv by which a sign that is described raises none
_COMPLAINTS: Final = frozenset({"signs", "symptom"})  # slots that a denial empties
_BEFORE: Final = 30  # characters that a denial may begin before what it denies


def find_slots(text: str) -> tuple[str, ...]:
    """Return the names of the slots of ``cues/slots.tsv`` that a folded text fills.

    A complaint that is denied fills none.

    >>> find_slots("he drank bleach"), "symptom" in find_slots("no vomiting")
    (('chemical', 'taken'), False)
    """
    chinese, english = not text.isascii(), _LATIN.search(text) is not None
    return tuple(
        name
        for name, (zh, en) in _patterns().items()
        if (chinese and zh and _is_filled(name, zh, text))
        or (english and en and _is_filled(name, en, text))
    )


def _is_filled(name: str, cue: re.Pattern[str], text: str) -> bool:
    if name not in _COMPLAINTS:
        return cue.search(text) is not None
    return any(not _is_denied(text, hit.start()) for hit in cue.finditer(text))


def _is_denied(text: str, start: int) -> bool:
    before = text[max(0, start - _BEFORE) : start]
    return bool(_CUES["denial"].search(before) or _CUES["negated"].search(before))


@cache
def _patterns() -> dict[str, tuple[re.Pattern[str] | None, re.Pattern[str] | None]]:
    compiled = {}
    for name, texts in cue_texts("slots").items():
        if name.startswith("_"):
            continue
        try:
            pairs = zip(texts, (re.NOFLAG, re.ASCII), strict=True)  # an English word among Chinese
            zh, en = (re.compile(text, flag) if text else None for text, flag in pairs)
        except re.error as fault:
            raise TableError([f"cues/slots.tsv: {name} is no pattern: {fault}"]) from fault
        compiled[name] = (zh, en)
    return compiled


def alarm_of(slots: Collection[str]) -> str:
    """Return the alarm that slots raise together by ``alarms.tsv``; nothing where none is.

    >>> alarm_of({"chemical", "taken"}), alarm_of({"chemical", "taken", "fiction"})
    ('emergency', '')
    """
    return next(
        (
            alarm
            for [alarm], every, none in _rules("alarms")
            if alarm in ALARMS and every.issubset(slots) and none.isdisjoint(slots)
        ),
        "",
    )


def is_calm(slots: Collection[str], rule: str = _CALM) -> bool:
    """Return whether slots tell of no danger, so that a probability alone raises no alarm.

    >>> is_calm({"sickness", "pregnancy"}), is_calm({"sickness", "pregnancy", "chemical"})
    (True, False)
    """
    return any(
        alarm == rule and every.issubset(slots) and none.isdisjoint(slots)
        for [alarm], every, none in _rules("alarms")
    )


def precautions(slots: Collection[str]) -> Mapping[str, tuple[str, bool]]:
    """Return the sentences that slots call for, each with its severity and if it stands alone.

    >>> precautions({"animal", "pet-poison", "taken"})
    {'s_animal': ('emergency', False)}
    """
    results: dict[str, tuple[str, bool]] = {}
    for (severity, sentence, alone), every, none in _rules("precautions"):
        if every.issubset(slots) and none.isdisjoint(slots):
            results.setdefault(sentence, (severity, bool(alone)))
    return results


@cache
def _rules(table: str) -> tuple[tuple[Sequence[str], frozenset[str], frozenset[str]], ...]:
    """Return the rules of a table; raise ``TableError`` where one names no alarm or no slot."""
    results, keys = [], _patterns().keys()
    for *result, filled, empty in rows(table):
        every, none = frozenset(filled.split()), frozenset(empty.split())
        named = result[0] in (*ALARMS, *WARNINGS, _CALM, _PASSED) and every | none <= keys
        if not (named and every):
            raise TableError([f"{table}.tsv: {result} {filled!r} {empty!r}: no alarm or no slot"])
        results.append((result, every, none))
    return tuple(results)


def emergency_signs(
    text: QuestionText, slots: Collection[str], linked: Iterable[str], *, pregnant: bool = False
) -> tuple[str, ...]:
    """List the emergency signs that a question describes, or that are ``linked``.

    A sign that the words deny is left out; so are all where the slots say that they are read of or
    past. ``pregnant`` is what a profile says.

    >>> emergency_signs(QuestionText.of("I blacked out at work"), (), ())
    ('https://w3id.org/shiyi/id/symptom-fainting',)
    >>> emergency_signs(QuestionText.of("I never blacked out"), (), ())
    ()
    """
    if is_calm(slots, _PASSED):
        return ()
    words = text.folded
    if pregnant:
        words = f"{' '.join(cue_texts('words')['pregnant'])}: {words}"
    feared = bool(_CUES["feared"].search(words))
    named = (sign for sign in linked if not (feared and sign.endswith("suspected-poisoning")))
    described = (
        resource(name).value
        for name, cue in cues("emergency-signs").items()
        if any(not _is_denied(words, hit.start()) for hit in cue.finditer(words))
    )
    return tuple(dict.fromkeys((*named, *described)))


def is_alarm(text: str) -> bool:
    """Return whether words only say that it is urgent, and so name no thing.

    >>> is_alarm("emergency"), is_alarm("emergency contraceptive")
    (True, False)
    """
    word = fold(text)
    return any(word in words for words in word_list("words", "alarm"))
