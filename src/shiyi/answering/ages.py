"""How old somebody is: told in years or months, by a profile or in the words of a question."""

import re
from typing import Final

from shiyi.answering.facts import Facts
from shiyi.linking.normalise import fold
from shiyi.model.names import resource
from shiyi.model.profile import Profile

_STAGES: Final = (
    ("infant", 0, 1), ("young-child", 0, 3), ("child", 0, 14), ("elderly", 65, 131),
)  # fmt: skip
_NUMBER: Final = (
    r"(\d{1,3}|半|[一二两三四五六七八九十]{1,2}"
    r"|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve))"
)
_AGE: Final = re.compile(
    _NUMBER + r"[多来几]?[\s-]*(个半?月|周?岁|months?|weeks?|years?[ -]old|yo\b|mo\b|m/o\b|y/o\b)"
)
# a time that something lasts, and no age
_SPAN_BEFORE: Final = re.compile(
    r"(?:怀孕|孕|怀了?|术后|手术后?|产后|生完|吃了?|服了?|喝了?|用了?|病了?|持续|坚持|已经|近|每|连续|第|隔|后|出院)\s*$"
    r"|\b(?:for|pregnant|about|past|last|every|after|within|in|since|over|next)\s+(?:the |last |past )?$"
)
_SPAN_AFTER: Final = re.compile(
    r"了|前|后|以来|内|一次|没|不|的?身孕|\s+(?:ago|pregnant|along|later|now|of\b|after|before)"
)
_NOT_YET: Final = re.compile(
    r"(?:不到|未满|不满|没满|还没到?|不足|没到|快|将近|差点)\s*$|\b(?:under|below|less than|not yet|almost|nearly|younger than)\s+(?:the age of )?$"
)
_WITHIN: Final = re.compile(r"以内|以下|之内|不到|\s+(?:or younger|or under|and under)")
_OLD: Final = re.compile(r"[ -]olds?\b|大")
_CHILD: Final = re.compile(
    r"宝宝|[大小二三]宝|老[大二三]|婴|娃|孩|小儿|儿子|女儿|幼|新生|\b(?:baby|babies|infants?|newborn|child|children|toddler|kids?|sons?|daughters?|boys?|girls?|twins?|eldest|youngest|little one|grand(?:son|daughter|child))\b"
)
_BARE: Final = re.compile(  # "my grandma is 82", 奶奶今年82了
    r"(?:is|'s|was|turned|turning|aged?|now|just) (\d{1,3})(?=\s*(?:[,.;!?]|$|and\b|but\b|now\b|with\b|who\b|so\b))"
    r"|(?:今年|已经|快|都|年近|[爸妈爷奶公婆姥])(\d{2,3})(?=了|[，,。.？?]|$)"
)
_KIN: Final = re.compile(
    r"爸|妈|爷|奶|公|婆|姥|老人|大爷|大妈|我|她|他"
    r"|\b(?:i|he|she|my|mother|father|mum|mom|dad|gran\w*|aunt\w*|uncle|husband|wife|son|daughter)\b"
)
_DIGITS: Final = dict(zip("一二两三四五六七八九", (1, 2, 2, 3, 4, 5, 6, 7, 8, 9), strict=True)) | {
    "十": 10, "半": 0.5,
} | {
    name: n for n, name in enumerate(
        ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven",
         "twelve"), 1,
    )
}  # fmt: skip


def life_stages(profile: Profile) -> list[str]:
    """Name the groups of people that a profile puts somebody in."""
    stages = []
    if profile.pregnant:
        stages.append("population-pregnant")
    if profile.lactating:
        stages.append("population-lactating")
    if profile.allergies:
        stages.append("population-allergic")
    if profile.age is not None:
        stages += [f"population-{n}" for n, low, high in _STAGES if low <= profile.age < high]
    return stages


def stages_told(question: str, facts: Facts) -> list[str]:
    """Read an age from the words, the narrowest group first: "8个月大", "2 years old", "宝宝".

    How long something lasts is no age: 怀孕三个月, "for three months".
    """
    text = fold(question)
    ages = [age for hit in _AGE.finditer(text) if (age := _age(hit, text)) is not None]
    if not ages and _KIN.search(text):
        ages += [float(hit[1] or hit[2]) for hit in _BARE.finditer(text)]
    if not ages and any(word in text for word in ("宝宝", "婴儿", "半岁", "不满一岁", "未满一岁")):
        ages.append(0.5)
    if not ages and ("toddler" in text or "幼儿" in text):
        ages.append(2.0)
    names = [name for age in ages for name in life_stages(Profile(age=min(age, 130.0)))]
    iris = (resource(name).value for name in names)
    return [iri for iri in dict.fromkeys(iris) if iri in facts.labels]


def _age(hit: re.Match[str], text: str) -> float | None:
    before, after = text[: hit.start()], text[hit.end() :]
    unit, count = hit[2], _number(hit[1])
    if "岁" in unit or unit.startswith("year") or unit in {"yo", "y/o"}:
        count += 0.5 if after.startswith("半") else 0.0
        # "not yet one", and "one" itself, which may be said of the first year
        younger = _NOT_YET.search(before) or _WITHIN.match(after) or count == 1
        return count - 0.1 if younger else count
    said = _OLD.match(after) or _CHILD.search(text)
    lasting = _SPAN_BEFORE.search(before) or _SPAN_AFTER.match(after)
    if not said or (lasting and not _OLD.match(after)):
        return None
    return count / (52 if unit.startswith("week") else 12)


def _number(said: str) -> float:
    if said in _DIGITS:
        return float(_DIGITS[said])
    if said.isdigit():
        return float(said)
    tens, _, ones = said.partition("十")
    return 10.0 * _DIGITS.get(tens, 1) + _DIGITS.get(ones, 0)
