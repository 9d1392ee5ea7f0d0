"""What a question asks about: which relations, which kind of thing, and whether for the odd one out."""

import re
from collections.abc import Iterable
from functools import cache
from typing import Final

from shiyi.model.mention import Mention
from shiyi.ontology.vocabulary import Property, Schema

_INVERSE: Final = "（逆）"
_LEAST: Final = 2  # characters of a Chinese name; of an English one, five letters
_EVERYDAY: Final = (  # what people call a relation beside the names that the vocabulary gives it
    ("功效|功用|作用是|efficacy", ("hasEfficacy", "primaryEffect")),
    ("归经|入.经|tropism|channel entry", ("hasMeridianTropism",)),
    ("药性|四气|性味|性寒|性热|性温|nature", ("hasNature",)),
    ("五味|药味|味道|性味|flavou?r", ("hasFlavour",)),
    ("主治|适用于|治疗|宜用|首选|indicated", ("indicatedFor", "realisedBy", "relieves", "hasSyndrome")),
    ("治法|治则|treatment principle", ("hasTreatmentPrinciple", "realisedBy")),
    ("组成|君药|含有|ingredient", ("hasIngredient", "hasPart")),
    ("症状|表现|临床特征|见证|manifest|sign of", ("hasManifestation",)),
    ("证候|证型|辨证|辨为|pattern", ("hasManifestation", "hasSyndrome")),
    ("病因|cause", ("hasCause",)), ("病位|located", ("hasDiseaseLocation",)),
    ("effective for|works for|有效", ("isEffectiveFor",)),
    ("interact|相互作用", ("interactsWith",)),
    ("adverse reaction|side effect|不良反应|副作用", ("hasAdverseReaction", "hasAdverseEffectOn")),
    ("purported|used for|traditional(ly)? use|用于", ("indicatedFor", "relieves")),
    ("禁用|禁忌|忌用|忌食|contraindicat", ("contraindicatedIn", "unsuitableFood", "cautionIn")),
    ("慎用|caution", ("cautionIn", "contraindicatedIn")),
    ("相反|十八反|反什么|反哪|oppose", ("opposes",)), ("相畏|十九畏|畏什么|fear", ("fears",)),
    ("适宜|宜食|宜吃|suitable|suits", ("suitableFood", "suitableSeason")),
    ("不宜|忌口|unsuitable", ("unsuitableFood", "cautionIn")),
    ("有毒|毒性|toxic", ("hasToxicity",)),
    ("营养|富含|维生素|矿物质|nutrient", ("hasNutrient", "hasActiveConstituent")),
)  # fmt: skip
_KINDS: Final = (
    ("药物|药材|中药|herb", ("Herb", "MFHSubstance")), ("方剂|代表方|选方|用方|formula", ("Formula",)),
    ("证候|证型|辨证|pattern", ("Syndrome",)), ("治法|治则", ("Therapy",)), ("drug", ("Drug", "DrugClass")),
    ("supplement", ("DSIngredient",)), ("诊断|疾病|disease", ("Disease", "TCMDisease")),
)  # fmt: skip
_ODD: Final = re.compile(
    r"不包括|不属于|不是|不应|不会|不宜选|不适用|不正确|不恰当|不具有|不含|无关|错误|有误|除外|除.{0,12}外"
    r"|哪项不|何项不|哪种不|没有|\bexcept\b|\bnot\b|\bleast\b|\bincorrect\b|\bfalse\b"
)


def asked_predicates(question: str) -> frozenset[str]:
    """Give the relations a question names, by everyday words or as the vocabulary does; maybe none.

    >>> sorted(asked_predicates("当归的归经是"))
    ['hasMeridianTropism']
    >>> sorted(asked_predicates("金银花的活性成分是什么？"))
    ['hasActiveConstituent']
    """
    low = question.lower()
    everyday = {name for pattern, names in _EVERYDAY if re.search(pattern, low) for name in names}
    return frozenset(everyday | {name for name, _, _ in named_in(question)})


def named_in(question: str) -> tuple[tuple[str, int, int], ...]:
    """List relations with the spans of the names that the vocabulary gives them, as 活性成分."""
    return tuple(
        (name, found.start(), found.end())
        for name, pattern in _names()
        for found in pattern.finditer(question)
    )


def outside_names(mentions: Iterable[Mention], question: str) -> tuple[Mention, ...]:
    """Leave out mentions that are but a piece of a relation's name, as 活性 of 活性成分."""
    spans = [(start, end) for _, start, end in named_in(question)]
    return tuple(
        m for m in mentions
        if not any(start <= m.start and m.end <= end and m.end - m.start < end - start
                   for start, end in spans)
    )  # fmt: skip


def asked_kinds(stem: str) -> frozenset[str]:
    """Give the kinds of concept whose words stand in a question."""
    low = stem.lower()
    return frozenset(name for pattern, names in _KINDS if re.search(pattern, low) for name in names)


def odd_one_out(stem: str) -> bool:
    """Tell whether the option is wanted that does *not* fit.

    >>> odd_one_out("下列哪项不属于温里药"), odd_one_out("下列属于温里药的是")
    (True, False)
    """
    tail = stem.lower()[-60:]
    return bool(_ODD.search(tail))


@cache
def _names() -> tuple[tuple[str, re.Pattern[str]], ...]:
    return tuple(
        (name, re.compile("|".join(found), re.IGNORECASE))
        for name, known in Schema.load().properties.items()
        if (found := _patterns(known))
    )


def _patterns(known: Property) -> list[str]:
    if not (known.is_object and known.domain) or known.label_zh.endswith(_INVERSE):
        return []
    chinese = re.sub(r"\(.*?\)", "", known.label_zh).split("/")
    english = known.label_en.removeprefix("has ").removeprefix("is ")
    return [
        *(re.escape(each) for each in chinese if len(each) >= _LEAST),
        *([rf"\b{re.escape(english)}s?\b"] if len(english) >= _LEAST + 3 else []),
    ]
