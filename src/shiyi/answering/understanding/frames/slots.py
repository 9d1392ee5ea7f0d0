"""The slots that the words of a question fill, and the alarms that slots raise together."""

import re
from collections.abc import Collection
from functools import cache
from typing import Final

from shiyi.answering.understanding.frames.frame import ALARMS
from shiyi.errors import TableError
from shiyi.ontology.lexicon import cue_texts, rows

_LATIN: Final = re.compile(r"[a-z]")


def slots_in(text: str) -> tuple[str, ...]:
    """Return the names of the slots of ``cues/slots.tsv`` that a folded text fills.

    >>> slots_in("he drank bleach")
    ('chemical', 'taken')
    """
    chinese, english = not text.isascii(), _LATIN.search(text) is not None
    return tuple(
        name
        for name, (zh, en) in _patterns().items()
        if (chinese and zh and zh.search(text)) or (english and en and en.search(text))
    )


@cache
def _patterns() -> dict[str, tuple[re.Pattern[str] | None, re.Pattern[str] | None]]:
    compiled = {}
    for name, texts in cue_texts("slots").items():
        if name.startswith("_"):
            continue
        try:
            zh, en = (re.compile(text) if text else None for text in texts)
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
            for alarm, every, none in _rules()
            if every.issubset(slots) and none.isdisjoint(slots)
        ),
        "",
    )


@cache
def _rules() -> tuple[tuple[str, frozenset[str], frozenset[str]], ...]:
    found, known = [], _patterns().keys()
    for alarm, every, none in rows("alarms"):
        rule = (alarm, frozenset(every.split()), frozenset(none.split()))
        if alarm not in ALARMS or not rule[1] or not (rule[1] | rule[2]) <= known:
            raise TableError([f"alarms.tsv: {alarm} {every!r} {none!r} names no alarm or no slot"])
        found.append(rule)
    return tuple(found)
