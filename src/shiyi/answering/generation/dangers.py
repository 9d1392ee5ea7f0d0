"""Phrases of advice that may harm a reader, from ``ontology/lexicon/dangers.tsv``."""

import re
from collections.abc import Iterable
from functools import cache
from typing import Final

from shiyi.answering.generation.vocabulary import STOPS, Units, Vocabulary, split_units
from shiyi.ontology.lexicon import rows

_GAP: Final = r"(?: [^ ,.;。?!]+){0,12} "  # what "…" stands for: up to 12 units of one clause
_MEDICINE: Final = "medicin"  # the stem of the word
_YAO: Final = "\u836f"  # the same in Chinese
_BEFORE: Final = 4  # units before a phrase in which a word denies it


def _line(units: Units) -> str:
    """Return units between spaces, with one word for all that are medicines."""
    medicines = Vocabulary.load().words("class:medicine")
    return f" {' '.join(_MEDICINE if unit in medicines else unit for unit in units)} "


@cache
def _patterns() -> tuple[tuple[str, re.Pattern[str]], ...]:
    found: dict[str, list[str]] = {}
    for reason, zh, en in rows("dangers"):
        for phrase in filter(str.strip, f"{zh}|{en}".split("|")):
            parts = (re.escape(_line(split_units(part)).strip()) for part in phrase.split("…"))
            found.setdefault(reason, []).append(_GAP.join(parts))
    return tuple(
        (reason, re.compile(f"(?<= )(?:{'|'.join(group)})(?= )")) for reason, group in found.items()
    )


def dangers(text: str | Units, medicines: Iterable[str] = ()) -> tuple[str, ...]:
    """Return why following a sentence may harm; empty where nothing speaks for that.

    The names of ``medicines`` are read as the word medicine.

    >>> dangers("You can stop warfarin if you take ginkgo.")
    ('advises to stop or change a medicine',)
    >>> dangers("Do not stop warfarin without asking your doctor.")
    ()
    >>> dangers("You may leave the Luvox at home.", ["Luvox"])
    ('advises to stop or change a medicine',)
    """
    line = _line(split_units(text) if isinstance(text, str) else text)
    for name in sorted(map(split_units, medicines), key=len, reverse=True):
        if name:
            word = _MEDICINE if name[0].isascii() else _YAO
            line = line.replace(f" {' '.join(name)} ", f" {word} ")
    return tuple(
        reason
        for reason, pattern in _patterns()
        if any(
            not _is_denied(line[: hit.start()], line[hit.end() :]) for hit in pattern.finditer(line)
        )
    )


def _is_denied(before: str, after: str) -> bool:
    """Return whether what stands before a phrase denies it, or what follows makes it a time."""
    words = Vocabulary.load().words
    if words("class:aftermath").intersection(after.split(maxsplit=1)[:1]):
        return True
    for unit in reversed(before.split()[-_BEFORE:]):
        if unit in STOPS:
            return False
        if unit in words("class:denial"):
            return True
    return False
