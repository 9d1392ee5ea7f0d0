"""What somebody does not eat: allergies and foods left out, one by one or in a list."""

import re
from collections.abc import Iterable, Sequence
from typing import Final

from shiyi.answering.clauses import CLAUSE_END, in_place
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
# what is said of anybody (孕妇不能吃…, "never eat … with") is no word about the asker's own table
_BARRED: Final = re.compile(
    r"(?:不能吃|不能喝|不能碰|忌)(?:任何|各种|所有)?$"
    r"|\b(?:can(?: ?not|'t)|could ?n't|never|without|avoid|no)\b[^,.;!?]{0,24}$"
)
_REPORTED: Final = re.compile(
    r"听说|据说|都说|说是|说的|人家|网上|传言|老话|为什么|为啥|为何|如果|要是|假如|孕妇|的人|患者|病人|人群"
    r"|\b(?:why|they say|people|patients?|heard|should|if|supposed to)\b"
)
_ASKER: Final = re.compile(r"[我咱俺]|\b(?:i|i'm|i've|my|me|we)\b")
_BECAUSE: Final = re.compile(
    r"[^,.;!?，。；！？]{0,24}(?:是真的?|是不是|对不对|真的假的|什么道理)|\s*(?:with|while|when|on|if|during)\b"
)
_CLAUSE_END: Final = re.compile(CLAUSE_END)
_NOT_ALLERGIC: Final = re.compile(
    r"(?:没有?|不是|并不是?|并没有?|从来?不|从未|不)(?:会)?对$"
    r"|\b(?:not|n't|never|no|no known)(?: \w+)? allerg(?:ic|y|ies) (?:to|of) (?:all |any |the )?$"
)
_NOT_ONLY: Final = re.compile(r"不(?:只|仅|光|但)|\bnot (?:only|just)\b")
_FREE: Final = re.compile(r"[ -]free\b")
_ASKED: Final = re.compile(r"\s*(?:都|也)?(?:吗|么|行吗|行不行|可以吗|好吗|会怎|有什么)")


def allergens(question: str, mentions: Iterable[Mention]) -> tuple[Mention, ...]:
    """List the mentions that the words around them say to bring on an allergy."""
    text = in_place(question)
    every = [m for m in mentions if not fold(m.text).startswith(("过敏", "allerg"))]
    first = [
        m for m in every
        if (_ALLERGIC_AFTER.match(text[m.end :].lstrip())
            or _ALLERGIC_BEFORE.search(text[max(0, m.start - 40) : m.start]))
        and not _is_denied(text, m)
    ]  # fmt: skip
    return _listed(text, every, first)


def not_eaten(question: str, mentions: Iterable[Mention]) -> tuple[Mention, ...]:
    """List the mentions of what the words say is not eaten, where this is stated and not asked."""
    text, every = in_place(question), list(mentions)
    first = [
        m for m in every
        if (_NOT_EATEN.search(text[: m.start]) or _FREE.match(text[m.end :]))
        and not _ASKED.match(text[m.end :]) and _is_own(text, m)
    ]  # fmt: skip
    return _listed(text, every, first)


def _clause_before(text: str, mention: Mention) -> str:
    return _CLAUSE_END.split(text[: mention.start])[-1]


def _is_own(text: str, mention: Mention) -> bool:
    """Tell whether it is the asker who leaves it out, and not what is said of anybody."""
    before, after = _clause_before(text, mention), text[mention.end :]
    if _BECAUSE.match(after):
        return False
    if _ASKER.search(before):
        return True
    return not (_BARRED.search(before) or _REPORTED.search(before))


def _is_denied(text: str, mention: Mention) -> bool:
    """Tell whether an allergy is said to be none; a rhetorical "am I not" is one."""
    before = _clause_before(text, mention)
    after = _CLAUSE_END.split(text[mention.end :])[0]
    denied = _NOT_ALLERGIC.search(before) and not _NOT_ONLY.search(before)
    return bool(denied) and "吗" not in after


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
