"""A condition before the word "medicine" names no condition: the whole mention decides."""

import re
from collections.abc import Callable, Sequence

from shiyi.linking.dictionary import Hit
from shiyi.linking.guess import Guess

CONDITIONS = frozenset({"Disease", "TCMDisease", "Symptom", "Syndrome"})
_HEAD = re.compile(
    r"(?:的)?(?:药物|药片|药)(?![膳食材方])| (?:lowering )?(?:drugs?|medicines?|medications?|meds|pills?"
    r"|tablets?)\b"
)


def widen(
    text: str,
    hits: Sequence[Hit],
    kind: Callable[[Hit], str],
    medicines: Callable[[str, int, int], Guess | None],
) -> list[tuple[Hit, Guess | None]]:
    """Pair each hit with what the wider mention means, where a head makes it a class of medicines.

    "Blood pressure-lowering drugs" is neither "Drug" nor "blood pressure" (iDISK2.0's failure).
    """
    found: list[tuple[Hit, Guess | None]] = []
    for place, hit in enumerate(hits):
        head = _HEAD.match(text, hit.end) if kind(hit) in CONDITIONS else None
        following = hits[place + 1].start if place + 1 < len(hits) else len(text)
        fits = head is not None and head.end() <= following
        found.append((hit, medicines(text, hit.start, head.end()) if head and fits else None))
    return found
