"""Words of the asker that lean to cold or to heat: a clue, never a diagnosis."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from shiyi.linking.normalise import fold

# one of these alone leans; folded text, so simplified characters and lower case
_COLD: Final = (
    r"偏寒|偏凉性体|属寒|寒性体|体寒|胃寒|宫寒|虚寒|喜温|喜热|喜暖|爱喝热|想喝热|喝(?:热|温)(?:的|水|汤|茶)?(?:就|会|比较|更)?(?:舒服|好|缓解)"
    r"|热敷.{0,4}(?:舒服|好|缓解)|怕冷|畏寒|怕凉|不能吃凉|受凉.{0,4}(?:加重|就|痛|疼)|着凉"
    r"|(?:喝|吃|碰)?(?:冷饮|冰的|冰水|凉的|冷的|生冷|凉水|冷水|凉|冷)(?:的|食|东西)?(?:后|了|就|会|更|都|之后|以后|时|便|则|反而|[,，]){0,4}"
    r"(?:加重|难受|不舒服|更痛|更疼|痛|疼|拉肚子|腹泻|不适|严重)|手脚(?:冰凉|发凉|冷)|四肢(?:冰凉|不温)|得温则"
    r"|worse (?:with|after|from) (?:cold|iced|ice)\b|cold (?:food|drinks?|things?|food and drinks?|drinks? or food) "
    r"(?:make|makes|made)(?: \w+){0,3} worse|(?:warmth|heat|warm (?:drinks?|food|water|things?)) "
    r"(?:helps?|feels? (?:better|good)|relieves?|soothes?|is better)|better (?:with|after|from) (?:warmth|warm|hot|heat)\b"
    r"|prefer(?:s|ring)? (?:warm|hot)\b|(?:leans?|leaning|more) (?:to|towards?)? ?cold|of (?:the )?cold (?:type|kind|pattern)"
    r"|cold type|(?:feel|am|feeling|always) (?:so |very |always )?cold\b|sensitive to cold|cold hands"
)  # fmt: skip
_HOT: Final = (
    r"偏热|属热|热性体|体热|胃热|胃火|上火|喜凉|喜冷|爱喝冰|想喝冰|想喝冷|爱喝冷|怕热|喝(?:凉|冰|冷)的?(?:就|会|比较|更)?(?:舒服|好些|缓解)"
    r"|口苦|口臭|烧灼|灼热|灼痛|烧心|口渴喜冷|口干喜冷|吃辣.{0,4}(?:加重|难受|痛|疼)|吃热.{0,4}(?:加重|难受)|大便(?:干结|干燥|很干|干硬)"
    r"|worse (?:with|after|from) (?:hot|heat|warm|spicy)\b|better (?:with|after|from) (?:cold|cool|iced|ice)\b"
    r"|(?:cold|cool|iced) (?:drinks?|food|water|things?) (?:helps?|feels? (?:better|good)|relieves?|soothes?)"
    r"|prefer(?:s|ring)? (?:cold|cool|iced)\b|(?:leans?|leaning|more) (?:to|towards?)? ?heat|heat type|burning"
    r"|bitter taste|bad breath|feel(?:ing)? (?:so |very |always )?hot\b|of (?:the )?(?:heat|hot) (?:type|kind|pattern)"
)  # fmt: skip
_NO: Final = re.compile(
    r"(?:不|没有?|無|无|并非|不是|不会|未|not|no|never|don't|doesn't|isn't|without|nor)\s*(?:太|很|是|any|a|to|feel)?\s*$"
)
_ASKED: Final = re.compile(
    r"(?:是|会|要)?不$|是否$|有没有?$|还是$|or $|whether $|if (?:it )?(?:is )?$"
)
_SIDES: Final = (("cold", re.compile(_COLD)), ("hot", re.compile(_HOT)))


@dataclass(frozen=True, slots=True)
class Leaning:
    """``cold`` or ``hot``, empty where the words do not decide, and the words that say so."""

    nature: str = ""
    words: tuple[str, ...] = ()


def leaning_of(text: str) -> Leaning:
    """Read what makes the trouble better or worse; both sides together decide nothing.

    >>> leaning_of("胃不舒服，喝冷饮加重")
    Leaning(nature='cold', words=('喝冷饮加重',))
    >>> leaning_of("不怕冷，也没有口苦").nature, leaning_of("怕冷，又口苦").nature
    ('', '')
    """
    folded = fold(text)
    said = {side: tuple(_said(folded, found.finditer(folded))) for side, found in _SIDES}
    sides = [side for side, found in said.items() if found]
    return Leaning(sides[0], said[sides[0]]) if len(sides) == 1 else Leaning()


def _said(text: str, found: Iterable[re.Match[str]]) -> Iterable[str]:
    for each in found:
        before = text[max(0, each.start() - 10) : each.start()]
        asked = text[each.end() : each.end() + 3].startswith(("还是", "吗", "?", "or "))
        if not (_NO.search(before) or _ASKED.search(before) or asked):
            yield each.group()
