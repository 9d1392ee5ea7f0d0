"""Whether a text says that something is absent: 没有发热, no fever, denies chest pain."""

import re
from collections.abc import Sequence

from shiyi.linking.normalise import is_latin

# 有没有, 是不是 ask; 没有…但 ends the scope; 不舒服 and 不宜 say something else
_ZH = re.compile(
    r"(?<!有)(?:并没有|没有|并无|未见|未诉|未出现|否认有?|不伴有?|不是|不属于|不含|不加|不放|没在吃|没吃"
    r"|没服用|未服用|不吃|从不|从未|排除|无|没|未|不|非)"
    r"(?:明显的?|任何|患有?|得过?|服用|有过?|出现过?|使用|怀孕或|什么|曾|过|再|在|用)*$"
)
_ZH_ASKS = re.compile(r"(有没有?|是不是|会不会|能不能|可不可以|要不要|是否)[^，。]{0,3}$")
_ZH_AFTER = re.compile(
    r"\s*(?:[:：]?\s*(?:无|阴性|否认|未见)(?![力热汗法])|[（(]\s*[-－—]\s*[)）])"
)
_EN = re.compile(
    r"\b(?:no|not|without|denie[sd]|deny|denying|never|negative for|absence of|free of|free from"
    r"|neither|nor|ruled out|rules out|don't|doesn't|didn't|isn't|aren't|am not|haven't|hasn't"
    r"|never had|non)"
    r"(?: (?:a|an|any|the|had|have|has|having|is|are|be|been|being|sign|signs|evidence|history|of"
    r"|symptoms|known|significant|current|currently|taking|take|takes|on|using|use|or|yet|really"
    r"|obvious|marked|suffer|suffering|from|with))*$"
)
_EN_ASKS = re.compile(r"\b(?:is|are|was|does|do|can|could|should|why|if|whether) (?:there )?no$")
_EN_AFTER = re.compile(r"\s*(?:[:=]\s*(?:no|none|absent|negative)\b| (?:is|are|was) absent\b)")
_LIST_ZH = re.compile(r"\s*(?:[、和或及与]|或者|以及)\s*(?:有)?\s*")
_LIST_EN = re.compile(r"(?:,| or| nor| and|, (?:or|nor|and)) (?:any |a )?")
_ADVICE = frozenset(
    {"MFHSubstance", "Food", "Herb", "Dish", "Formula", "DSIngredient", "DSProduct"}
)


def negated(text: str, spans: Sequence[tuple[int, int, str]]) -> list[bool]:
    """Say of each span (start, end, kind) of a folded text whether it is said to be absent.

    A negated item negates the rest of its list. "Not eating ginger" is about advice, so a food
    or herb counts as absent only where it is left out (不加姜, without ginger).
    """
    said: list[bool] = []
    for place, (start, end, kind) in enumerate(spans):
        before, after = text[max(0, start - 40) : start], text[end : end + 12]
        absent = bool(kind) and (
            _denied(before.rstrip(), kind) or bool(_ZH_AFTER.match(after) or _EN_AFTER.match(after))
        )
        if not absent and place and said[place - 1]:
            between = text[spans[place - 1][1] : start]
            listed = _LIST_EN if is_latin(text[start]) else _LIST_ZH  # a comma ends 没有…
            absent = listed.fullmatch(between) is not None
        said.append(absent)
    return said


def _denied(before: str, kind: str) -> bool:
    if (chinese := _ZH.search(before)) and not _ZH_ASKS.search(before):
        if kind not in _ADVICE:
            return True
        return chinese.group().startswith(("不加", "不放", "不含", "没有", "没吃", "没在吃", "无"))
    english = _EN.search(before)
    if english is None or _EN_ASKS.search(before):
        return False
    return kind not in _ADVICE or english.group().startswith(("without", "no", "free", "never"))
