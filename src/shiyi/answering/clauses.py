"""The words of a question where they stand: folded, cut into clauses, blanked out."""

import itertools
import re
from collections.abc import Iterable
from typing import Final

from shiyi.linking.normalise import normalise

CLAUSE_END: Final = r"[。！？；，,.?!;\n]"
_ENDS: Final = re.compile(rf"{CLAUSE_END}|\b(?:and|but) (?=i(?:'m|'ve)? )")
_BLANK: Final = "□"


def in_place(text: str) -> str:
    """Fold a text as labels are, each character where it was, for what is told beside a mention.

    A character that folds to none is a space, one that folds to several the first of them.

    >>> in_place(" Β-胡蘿蔔素  don’t ")
    " b 胡萝卜素  don't "
    """
    folded = normalise(text)
    if folded.origin is None:
        return folded.text
    kept = [" "] * len(text)
    for place, character in zip(reversed(folded.origin[:-1]), reversed(folded.text), strict=True):
        kept[place] = character
    return "".join(kept)


def clauses(text: str) -> list[tuple[int, int]]:
    """List where the clauses of a folded text begin and end, their marks with them.

    >>> clauses("我妈有糖尿病，我没有")
    [(0, 7), (7, 10)]
    """
    ends = (m.end() for m in _ENDS.finditer(text))
    return list(itertools.pairwise([0, *ends, len(text)]))


def clause_at(text: str, place: int) -> tuple[int, int]:
    """Give where the clause that holds a place of a folded text begins and ends."""
    return next(clause for clause in reversed(clauses(text)) if clause[0] <= place)


def blanked(text: str, spans: Iterable[tuple[int, int]]) -> str:
    """Blank out some spans, so that no cue is read in them.

    >>> blanked("药膳怎么做", [(0, 2)])
    '□□怎么做'
    """
    for start, end in spans:
        text = text[:start] + _BLANK * (end - start) + text[end:]
    return text
