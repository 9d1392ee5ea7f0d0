"""When a word that means little alone may be taken for a concept, and which one it is."""

import re
from collections.abc import Sequence

from shiyi.linking.labels import KINDS
from shiyi.linking.normalise import is_cjk, is_latin
from shiyi.linking.words import words

STOPS = words("questions-en")

# heads that name no concept by themselves
GENERIC = words("generic")
BODIES = words("bodies")
QUALITIES = words("qualities")  # the "red" of red wine is no red bean

# kinds whose short names are parts of other words (肺热, heart attack)
SCHEMES = frozenset(
    {"Nature", "Flavour", "Meridian", "ToxicityLevel", "SystemOrganClass", "OrganismPart"}
)
# kinds too general to be guessed at; they are linked by their names alone
NEVER_GUESSED = SCHEMES | {"Season", "Method", "RegulatoryStatus"}
# everyday words that are names in some surroundings only
AMBIGUOUS = frozenset({"spring", "fall", "period", "date", "dates", "sage", "may", "lead", "cold"})
# what may follow a cold one has; before any other noun the word is an adjective
_AILING = re.compile(
    r" (?:symptoms?|sores?|virus|viruses|remed(?:y|ies)|medicines?|medications?)\b"
)
_NOUN = re.compile(r" ([a-z]+)")
_ENDINGS = frozenset({"单抗", "替尼"})  # of names of medicines, most of which are unknown here
_SCHEME_TALK = re.compile(
    r"性味|归经|[归入].{1,12}经|药性|四气|五味|食性|[性味][寒热温凉平辛甘酸苦咸淡涩]"
    r"|natures?\b|flavou?rs?\b|tastes?\b|meridians?\b|channels?\b|tropism"
)
_NEAR = 200  # characters before and behind a name in which natures are spoken of
_SCHEME_NEIGHBOURS = frozenset("性味归入经微大小有偏而寒热温凉平辛甘酸苦咸淡涩肝心脾肺肾胃胆")
_BEFORE = frozenset("那对吃喝用加放煮泡炒炖熬服食买和与跟或及配同把拿是有要点些补含说了合患得")
_AFTER = frozenset(
    "过吗么呢吧啊能可以和与跟或及同会是有对的泡煮炖炒汤水茶粥好行还都要一放做时怎适不换代停"
)

# words of a question that turn an ambiguous name towards one kind
_TURNS = (
    (re.compile(r"supplement|capsule|tablet|pill|extract|补充剂|胶囊|片剂|提取物|保健品"), "DSIngredient"),
    (re.compile(r"体质|constitution"), "Constitution"),
    (re.compile(r"证型|证候|辨证|辨为|属于.{0,6}证|pattern|syndrome"), "Syndrome"),
    (re.compile(r"功效|efficacy|actions? of"), "Efficacy"),
    (re.compile(r"学名|物种|species|organism|botanical"), "Organism"),
    *((re.compile(r"\b(?:soups?|stews?|congee|porridge|recipes?|cook(?:ed|ing)?)\b|[煲炖煮熬炒蒸]"), kind)
      for kind in ("MFHSubstance", "Food")),
)  # fmt: skip


def needs_context(surface: str, scheme: bool) -> bool:
    """Say whether a written form is linked in some surroundings only; ``scheme``: it means a scheme's."""
    if len(surface) == 1 or surface in AMBIGUOUS or surface in _ENDINGS:
        return True
    return scheme and (len(surface) <= 2 if is_cjk(surface[0]) else " " not in surface)


def fits(text: str, start: int, end: int, kinds: Sequence[str]) -> bool:
    """Say whether the surroundings let ``[start, end)`` of a folded text mean a concept."""
    if _alone(text, start, end):
        return True
    before, after = text[start - 1 : start], text[end : end + 1]
    if not is_cjk(text[start]):
        return _english_fits(text, start, end, kinds)
    if SCHEMES.issuperset(kinds):
        if _scheme_talk(text, start, end):
            return _open(before, _SCHEME_NEIGHBOURS) and _open(after, _SCHEME_NEIGHBOURS)
        return _open(before, frozenset()) and _open(after, frozenset())
    return _open(before, _BEFORE) and _open(after, _AFTER)


def _english_fits(text: str, start: int, end: int, kinds: Sequence[str]) -> bool:
    word, before = text[start:end], text[max(0, start - 40) : start].rstrip().rpartition(" ")[2]
    if SCHEMES.issuperset(kinds):
        return _scheme_talk(text, start, end)
    if word in {"spring", "fall"}:
        return before in {"in", "this", "during", "for", "every", "late", "early"}
    if word == "cold":
        following = _NOUN.match(text, end)
        return following is None or following[1] in STOPS or bool(_AILING.match(text, end))
    if word == "period":
        return before in {"my", "her", "your", "during"}
    return word not in {"may", "lead"} and len(word) > 1


def _alone(text: str, start: int, end: int) -> bool:
    """Say whether nothing else stands in a folded text, whose spaces are single."""
    if start > 1 or len(text) - end > 20:
        return False
    return not text[:start].strip() and not text[end:].strip(" ?？。.!！")


def _scheme_talk(text: str, start: int, end: int) -> bool:
    # in the neighbourhood, so that each of many names costs the same in a text of any length
    return _SCHEME_TALK.search(text, max(0, start - _NEAR), end + _NEAR) is not None


def _open(neighbour: str, friends: frozenset[str]) -> bool:
    return not neighbour or neighbour in friends or not (is_cjk(neighbour) or is_latin(neighbour))


def favoured(text: str) -> frozenset[str]:
    """Give the kinds that the words around a mention point to.

    >>> favoured("阴虚体质吃什么")
    frozenset({'Constitution'})
    """
    return frozenset(kind for pattern, kind in _TURNS if pattern.search(text))


def order(kind: str, rank: int, favoured_kinds: frozenset[str]) -> tuple[int, int, int]:
    """Give the key that sorts the senses of one name: written form, context, usual kind."""
    return (
        0 if kind in favoured_kinds else 1,
        rank + (2 if kind in SCHEMES else 0),
        KINDS.index(kind),
    )
