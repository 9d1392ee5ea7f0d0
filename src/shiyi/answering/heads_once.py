"""Names of one list whose head is said once: vitamin C and E, 维生素B6和B12; and words for several states."""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Final

from shiyi.answering.clauses import in_place
from shiyi.linking.words import phrases
from shiyi.model.mention import Mention

_HEAD: Final = re.compile(r"(维生素|维他命|\bvitamins?|\bvit\.?)\s*([a-k]\d{0,2})$")
_NEXT: Final = re.compile(
    r"\s*(?:,\s*(?:and\b)?|、|/|\+|&|和|与|及|跟|还有|\band\b|\bor\b|\bplus\b)\s*(?:vitamins? )?([a-k]\d{0,2})(?![a-z0-9])"
)
_MOST: Final = 6
Link = Callable[[str], tuple[Mention, ...]]


def in_lists(mentions: Sequence[Mention], question: str, link: Link) -> tuple[Mention, ...]:
    """Add the names of a list that stand without their head."""
    text, found = in_place(question), list(mentions)
    for mention in mentions:
        head = _HEAD.search(text[: mention.end])
        if head is None or head.start() < mention.start:
            continue
        end = mention.end
        for _ in range(_MOST):
            following = _NEXT.match(text, end)
            if following is None:
                break
            start, end = following.span(1)
            hits = link(f"{head[1]}{'' if '维' in head[1] else ' '}{following[1]}")
            if len(hits) == 1 and hits[0].iri:
                found = [m for m in found if m.end <= start or m.start >= end]
                found.append(replace(hits[0], text=question[start:end], start=start, end=end))
    return tuple(sorted(found, key=lambda m: (m.start, m.end)))


def collective(mentions: Iterable[Mention], question: str, link: Link) -> tuple[Mention, ...]:
    """Put several states in the place of one word for all of them: 三高, "the three highs"."""
    text, found = in_place(question), list(mentions)
    for word, states in _collective():
        for hit in re.finditer(word, text):
            start, end = hit.span()
            found = [m for m in found if m.end <= start or m.start >= end]
            for state in states:
                found += [
                    replace(m, text=question[start:end], start=start, end=end)
                    for m in link(state)[:1] if m.iri
                ]  # fmt: skip
    return tuple(sorted(found, key=lambda m: (m.start, m.end)))


def _collective() -> list[tuple[str, list[str]]]:
    rows = (line.split("\t") for line in phrases("collective"))
    return [(row[0], row[1].split("|")) for row in rows]
