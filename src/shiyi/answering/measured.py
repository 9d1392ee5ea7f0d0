"""Values that are told to be low or normal: 血压有点低 is no high blood pressure."""

import re
from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from shiyi.answering.clauses import in_place
from shiyi.answering.facts import Facts
from shiyi.linking.normalise import fold
from shiyi.model.mention import Mention
from shiyi.model.names import resource

# what a bare value is linked to is its being high; here the state of its being low, if there is one
_LOW_OF: Final = {
    "血压": "disease-hypotensive-disorder", "blood pressure": "disease-hypotensive-disorder",
    "bp": "disease-hypotensive-disorder", "血糖": "disease-hypoglycemia",
    "blood sugar": "disease-hypoglycemia", "blood glucose": "disease-hypoglycemia",
    "血脂": "", "blood lipids": "", "cholesterol levels": "", "尿酸": "", "胆固醇": "",
}  # fmt: skip
_LITTLE_ZH: Final = (
    r"(?:值|水平|一直|总是|老是|总|老|经常|常常|常年|平时|有点儿?|有些|稍微|略微?|偏|比较|太|很"
    r"|特别|容易|有时候?|会|又|都|也|的|是){0,5}"
)
_LITTLE_EN: Final = (
    r"(?:is|'s|runs?|running|are|was|has been|gets?|goes|keeps|tends to be|feels|seems|reads?|a bit|a little|quite"
    r"|rather|too|very|always|often|sometimes|slightly|on the|usually|really|so| )*"
)
_LOW: Final = re.compile(
    rf"{_LITTLE_ZH}(?:低|往下掉|降得太|上不来|升不上)|\s*{_LITTLE_EN}\b(?:low|lower than normal|drop(?:s|ping)?\b(?! with))"
)
_NORMAL: Final = re.compile(
    rf"{_LITTLE_ZH}(?:不算?高|不偏高|正常|没问题)|\s*{_LITTLE_EN}\b(?:normal|not high|fine|ok|okay)\b"
)
# a value that a medicine keeps down is that of somebody who has the disease
_KEPT_DOWN: Final = re.compile(
    r"药|胰岛素|控制|治疗|降下来|\b(?:medic\w+|meds|pills?|tablets?|drugs?|insulin|controlled|treated|thanks to)\b"
)


def as_measured(mentions: Iterable[Mention], question: str, facts: Facts) -> tuple[Mention, ...]:
    """Read a bare value as low where it is told to be, and as no trouble where it is normal.

    What is only asked (血压高不高), and what a medicine keeps normal, stays as it was linked.
    """
    text = in_place(question)
    read = [_measured(m, text, facts) for m in mentions]
    whole = [m for m in read if m.end - m.start > len(fold(m.text))]
    read = [replace(m, text=question[m.start : m.end]) if m in whole else m for m in read]
    return tuple(
        m for m in read
        if m.iri or not any(w.start <= m.start and m.end <= w.end for w in whole)
    )  # fmt: skip


def _measured(mention: Mention, text: str, facts: Facts) -> Mention:
    word = fold(mention.text)
    if word not in _LOW_OF or not mention.iri:
        return mention
    after = text[mention.end :]
    low = resource(_LOW_OF[word]).value if _LOW_OF[word] else ""
    if low_words := _LOW.match(after):
        if low not in facts.labels:
            return replace(mention, negated=True)
        said = facts.labels[low]
        return replace(
            mention, iri=low, label_zh=said.get("zh", ""), label_en=said.get("en", ""),
            cui=facts.cuis.get(low, ""), kind=facts.classes.get(low, ""), alternatives=(),
            end=mention.end + low_words.end(),
        )  # fmt: skip
    if _NORMAL.match(after) and not _KEPT_DOWN.search(text):
        return replace(mention, negated=True)
    return mention
