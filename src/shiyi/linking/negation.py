"""Negation: what a text states to be absent."""

import re
from collections.abc import Sequence
from typing import Final

from shiyi.linking.normalization import is_latin
from shiyi.ontology.lexicon import Cues

_CUES: Final = Cues("negation")
_ADVICE = frozenset(
    {"MFHSubstance", "Food", "Herb", "Dish", "Formula", "DSIngredient", "DSProduct"}
)


def find_negated(text: str, spans: Sequence[tuple[int, int, str]]) -> list[bool]:
    """Return for each span (start, end, kind) of a folded text whether it is negated.

    A negated item negates the rest of its list. "Not eating ginger" is about advice, so a food
    or herb counts as absent only where it is left out (without ginger).
    """
    results: list[bool] = []
    for place, (start, end, kind) in enumerate(spans):
        before, after = text[max(0, start - 40) : start], text[end : end + 12]
        absent = bool(kind) and (
            _is_denied(before.rstrip(), kind)
            or bool(_CUES["after-zh"].match(after) or _CUES["after-en"].match(after))
        )
        if not absent and place and results[place - 1]:
            between = text[spans[place - 1][1] : start]
            pattern = (
                _CUES["list-en"] if is_latin(text[start]) else _CUES["list-zh"]
            )  # a comma ends 没有…
            absent = pattern.fullmatch(between) is not None
        results.append(absent)
    return results


def is_contrary(quote: str, name: str) -> bool:
    """Return whether a folded quote states the contrary of a relation to ``name`` anywhere.

    >>> is_contrary("不治咳嗽", "咳嗽"), is_contrary("治咳嗽,不入肾经", "咳嗽")
    (True, False)
    """
    places = [match.start() for match in re.finditer(re.escape(name), quote)]
    return bool(places) and all(
        _CUES["contrary-before"].search(quote[:start])
        or _CUES["contrary-after"].match(quote[start + len(name) :])
        for start in places
    )


def _is_denied(before: str, kind: str) -> bool:
    if (chinese := _CUES["denied-zh"].search(before)) and not _CUES["asked-zh"].search(before):
        if kind not in _ADVICE:
            return True
        return _CUES["left-out-zh"].match(chinese.group()) is not None
    english = _CUES["denied-en"].search(before)
    if english is None or _CUES["asked-en"].search(before):
        return False
    return kind not in _ADVICE or english.group().startswith(("without", "no", "free", "never"))
