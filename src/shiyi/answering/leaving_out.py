"""What somebody does not eat: allergies and foods left out, one by one or in a list."""

import re
from collections.abc import Iterable, Sequence
from typing import Final

from shiyi.linking.normalise import fold
from shiyi.model.mention import Mention

_AND: Final = re.compile(r"\s*(?:[、和与及或跟]|以及|还有|,? ?\b(?:and|or|nor)\b(?: any)?|/|&)\s*")
_COMMA: Final = re.compile(r"\s*,\s*")
_ALLERGIC_BEFORE: Final = re.compile(
    r"(?:allerg(?:ic|y|ies)|intoleran(?:t|ce)|sensitive|reacts? badly) (?:to|of) (?:all |any |the )?$"
)
_ALLERGIC_AFTER: Final = re.compile(
    r"(?:都|也|会|很|严重|轻度|有点|有)*(?:过敏|不耐受)|(?:allerg|intoleran)"
)
_NOT_EATEN: Final = re.compile(
    r"(?<![能可要该否])(?:不吃|不沾|不碰|不喝|不食|吃不了|喝不了|不能吃|不能喝|不能碰|不爱吃|不喜欢吃|忌)(?:任何|各种|所有)?$"
    r"|\b(?:(?:do|does|can|could|will|would|am) ?(?:not|n't)|don't|doesn't|can't|cannot|won't|never)"
    r" (?:eat|have|drink|consume|touch|tolerate|like)(?:ing)? (?:any |much )?$"
    r"|(?<!should )\bi(?: have to| must)? avoid (?:all |any )?$|\b(?:without|free of|free from|no) (?:any )?$"
)
_FREE: Final = re.compile(r"[ -]free\b")
_ASKED: Final = re.compile(r"\s*(?:都|也)?(?:吗|么|行吗|行不行|可以吗|好吗|会怎|有什么)")


def allergens(question: str, mentions: Iterable[Mention]) -> tuple[Mention, ...]:
    """List the mentions that the words around them say to bring on an allergy."""
    text = fold(question)
    every = [m for m in mentions if not fold(m.text).startswith(("过敏", "allerg"))]
    if len(text) != len(question):
        text = question.lower()
    first = [
        m for m in every
        if _ALLERGIC_AFTER.match(text[m.end :].lstrip())
        or _ALLERGIC_BEFORE.search(text[max(0, m.start - 40) : m.start])
    ]  # fmt: skip
    return _listed(text, every, first)


def not_eaten(question: str, mentions: Iterable[Mention]) -> tuple[Mention, ...]:
    """List the mentions of what the words say is not eaten, where this is stated and not asked."""
    text, every = fold(question), list(mentions)
    if len(text) != len(question):
        text = question.lower()
    first = [
        m for m in every
        if (_NOT_EATEN.search(text[: m.start]) or _FREE.match(text[m.end :]))
        and not _ASKED.match(text[m.end :])
    ]  # fmt: skip
    return _listed(text, every, first)


def _listed(text: str, every: Sequence[Mention], first: Iterable[Mention]) -> tuple[Mention, ...]:
    """Add what stands in one list with the first: "nuts, dairy and eggs", 牛奶和鸡蛋."""
    found = list(first)
    for here in list(found):
        chain, rest = [here], [m for m in every if m not in found]
        for step in (1, -1):
            end = here
            while nxt := next((m for m in rest if _joined(text, end, m, step)), None):
                rest.remove(nxt)
                chain.append(nxt)
                end = nxt
        found += [m for m in chain if m not in found]
    return tuple(sorted(found, key=lambda m: m.start))


def _joined(text: str, one: Mention, other: Mention, step: int) -> bool:
    before, after = (one, other) if step > 0 else (other, one)
    if before.end > after.start:
        return False
    between = text[before.end : after.start]
    if _AND.fullmatch(between):
        return True
    # a comma joins where the list goes on to an "and"
    tail = re.split(r"[.;?!。；？！]", text[after.end :])[0]
    return bool(_COMMA.fullmatch(between)) and bool(re.match(r"(?:,? \w+)*?,? (?:and|or) \w", tail))
