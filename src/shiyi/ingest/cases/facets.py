"""Who the patient is, in facets after MLKG-RAG: age group and sex; never more."""

import re
from typing import Final

_DIGITS: Final = {each: number for number, each in enumerate("〇一二三四五六七八九")} | {
    "零": 0,
    "两": 2,
}
_YEARS = re.compile(
    r"(?P<digits>\d{1,3})\s*(?:周?岁|[- ]?years?[- ]?old|[- ]?y/?o\b|\s+years\s+of\s+age)"
    r"|(?P<words>[一二三四五六七八九十两]{1,3})岁|aged?\s+(?P<aged>\d{1,3})\b"
    r"|(?:man|woman|male|female|boy|girl)\s+of\s+(?P<of>\d{1,3})\b|年龄\s*[:：]?\s*(?P<told>\d{1,3})(?!\d)",
    re.IGNORECASE,
)
_MONTHS = re.compile(r"\d{1,2}\s*(?:个月(?:龄|大)?(?=[，,。、；）)]|\Z)|月龄|[- ]months?[- ]old)|新生儿|婴儿|\bnewborn\b|\binfant\b", re.IGNORECASE)  # fmt: skip
_GROUPS: Final = ((1, "infant"), (13, "child"), (18, "adolescent"), (65, "adult"), (999, "elder"))
_FEMALE = re.compile(r"女性|女[，,。\s、；）)]|女$|妇|产后|妊娠|孕|月经|经期|带下|\b(?:female|woman|girl|she|mother)\b", re.IGNORECASE)  # fmt: skip
_MALE = re.compile(r"男性|男[，,。\s、；）)]|男$|\b(?:male|man|boy|he|father)\b", re.IGNORECASE)


def age_group(text: str, stated: str = "") -> str:
    """Give infant, child, adolescent, adult or elder; nothing where no age is told.

    >>> age_group("男，四十二岁"), age_group("a 70-year-old woman"), age_group("发热")
    ('adult', 'elder', '')
    """
    if stated.isdecimal():
        return _group(int(stated))
    for told in (stated, text):
        if found := _YEARS.search(told):
            number = next(each for each in found.groups() if each)
            return _group(int(number) if number.isdecimal() else _number(number))
        if _MONTHS.search(told[:20]):
            return "infant"
    return ""


def sex(text: str, stated: str = "") -> str:
    """Give female or male; nothing where neither is told first.

    >>> sex("女性，38岁"), sex("A man of 60"), sex("发热")
    ('female', 'male', '')
    """
    for told in (stated, text[:120], text):
        female, male = _FEMALE.search(told), _MALE.search(told)
        if female and (not male or female.start() < male.start()):
            return "female"
        if male:
            return "male"
    return ""


def _group(years: int) -> str:
    return next(name for limit, name in _GROUPS if years < limit)


def _number(words: str) -> int:
    """Read 四十二, 十八, 九."""
    tens, ten, ones = words.rpartition("十")
    return (_DIGITS.get(tens, 1) * 10 if ten else 0) + _DIGITS.get(ones, 0)
