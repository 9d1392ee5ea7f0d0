"""The form that is asked for: a tea, a soup, congee; and a thing that is named prepared so."""

import re
from collections.abc import Iterable
from typing import Final

from shiyi.answering.clauses import in_place
from shiyi.answering.facts import Facts
from shiyi.answering.roles import MATERIAL
from shiyi.model.mention import Mention
from shiyi.model.names import resource
from shiyi.ontology.terms import SHIYI

_FORMS: Final = (  # the methods, Chinese and English words
    (("infusion", "decoction-tea"), "代茶饮|茶饮|花茶|凉茶|茶", "teas?|tisanes?|infusions?"),
    (("stew",), "汤水|靓汤|煲汤|炖汤|汤", "soups?|broths?"),
    (("congee",), "粥", "congees?|porridges?"),
    (("wine",), "药酒|酒", "medicinal wines?"),
    (("juice",), "果蔬汁|果汁", "juices?"),
    (("paste",), "膏方|膏滋", "pastes?"),
)  # fmt: skip
_WHICH_ZH: Final = "什么|哪些|哪种|哪[几两]?[种款道个]|[几两一][种款道个些碗]|啥|有没有|推荐"
_SOME_ZH: Final = "[点些]|个"  # 喝点汤; but 喝点酒 is alcohol, 喝点茶 is tea
_LISTED_ZH: Final = "(?:都)?有哪些|有什么|有啥|推荐|怎么选|哪[种个款]"
_LISTED_EN: Final = "for|that|to|which|against|good|help"
_OF_ZH: Final = re.compile("(?:体质|的人|人群)?(?:功效|作用|效果)?(?:的|类|养生|食疗)?")
_IN_FORM: Final = re.compile(
    r"(?:汤|粥|酒)(?![匙勺碗杯精类])|\s(?:soup|congee|porridge|wine|decoction)\b"  # a tea is what it is of
)
_NOT_SOUP: Final = frozenset("酒")  # names more than a form: alcohol
WINE: Final = resource("substance-jiu").value


def forms_asked(
    question: str, mentions: Iterable[Mention], facts: Facts
) -> tuple[tuple[str, ...], tuple[tuple[int, int], ...]]:
    """Give the methods of the forms asked for, and where their words stand.

    A tea that is asked for (清热的茶有哪些) is a form; tea that somebody drinks is a food.
    """
    text = in_place(question)
    ends = [m.end for m in mentions if m.iri and facts.is_a(m.iri, *_SOUGHT)]
    found: dict[str, None] = {}
    spans: list[tuple[int, int]] = []
    for methods, zh, en in _FORMS:
        for hit in re.finditer(f"(?:{zh})(?![叶匙勺杯精油碱垢])|\\b(?:{en})\\b", text):
            if _is_asked(text, hit, ends):
                found |= dict.fromkeys(resource(f"method-{name}").value for name in methods)
                spans.append(hit.span())
    return tuple(found), tuple(spans)


def _is_asked(text: str, hit: re.Match[str], ends: Iterable[int]) -> bool:
    before, after, word = text[: hit.start()], text[hit.end() :], hit[0]
    if word.isascii():
        which = re.search(
            r"\b(?:what|which|any|some|a|an|good|best|herbal|recommend|suggest)(?: (?!with|of|and)\w+){0,2} $",
            before,
        )
        listed = word.endswith("s") and re.match(rf"\s(?:{_LISTED_EN})\b", after)
        return bool(which or listed)
    alcohol = word in _NOT_SOUP
    if any(e <= hit.start() and _OF_ZH.fullmatch(text[e : hit.start()]) for e in ends):
        return True
    if alcohol:
        return False
    some = f"|{_SOME_ZH}" if "茶" not in word else ""
    return bool(
        re.search(f"(?:{_WHICH_ZH}{some})(?:样的|养生|家常)?$", before)
        or re.match(_LISTED_ZH, after)
    )


def prepared(
    question: str, mentions: Iterable[Mention], facts: Facts
) -> tuple[tuple[str, str], ...]:
    """List things named as prepared (人参汤), as word and thing, where nothing has that very name."""
    text, found = in_place(question), []
    for m in mentions:
        hit = _IN_FORM.match(text, m.end) if m.iri else None
        if (
            hit
            and facts.is_a(m.iri, *MATERIAL)
            and not facts.is_a(m.iri, SHIYI.Dish, SHIYI.Formula)
        ):
            found.append((question[m.start : hit.end()], m.iri))
    return tuple(found)


def is_wine(word: str) -> bool:
    """Tell whether a thing is named as steeped in alcohol.

    >>> is_wine("枸杞酒"), is_wine("枸杞茶")
    (True, False)
    """
    return word.endswith("酒")


_SOUGHT: Final = (
    SHIYI.Therapy, SHIYI.Efficacy, SHIYI.Disease, SHIYI.TCMDisease, SHIYI.Symptom, SHIYI.Syndrome,
    SHIYI.Constitution, SHIYI.Season, SHIYI.Population,
)  # fmt: skip
