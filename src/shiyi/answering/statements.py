"""What a person says about themselves in passing: "怀孕了", "I take warfarin", "65岁"."""

import re
from collections.abc import Iterable
from typing import Final

from shiyi.answering.clauses import in_place
from shiyi.answering.facts import Facts
from shiyi.answering.heads_once import collective
from shiyi.answering.heard import Linker
from shiyi.answering.leaving_out import allergens as allergens_of
from shiyi.answering.leaving_out import not_eaten
from shiyi.answering.measured import as_measured
from shiyi.answering.roles import MATERIAL
from shiyi.answering.whose import KIN_EN, KIN_ZH, affirmed, in_time
from shiyi.linking.normalise import fold, language_of
from shiyi.model.mention import Mention
from shiyi.model.names import resource
from shiyi.model.profile import Profile
from shiyi.ontology.terms import SHIYI

_QUESTION: Final = re.compile(
    r"[?？]|[吗呢]\s*$|什么|怎么|哪[些种个]|多少|能不能|可不可以|是否|如何|推荐"
    r"|^\s*(?:what|which|how|can|could|may|should|is|are|does|do|will|would|why|when|who)\b"
    r"|\b(?:recommend|suggest)\b",
    re.IGNORECASE,
)
_KIN: Final = rf"{KIN_ZH}|[爷奶妻家父母]"
_MINE: Final = re.compile(
    rf"我(?!们|的?(?:{_KIN}))|本人|自己|\bi(?:'m|'ve| am| have| take| use| was)\b|\bmy\b(?! (?:{KIN_EN}))",
    re.IGNORECASE,
)
_OTHERS: Final = re.compile(
    rf"我的?(?:{_KIN})|我[^，。,.;；]{{1,12}}的{KIN_ZH}|\bmy (?:{KIN_EN})\b|\bmy (?:\d+|one|two|three|four|five|six|seven|eight|nine|ten)"
    r"[- ](?:year|month|week)s?[- ]?olds?\b",
    re.IGNORECASE,
)
_PREGNANT: Final = re.compile(
    r"怀孕|怀着|有孕|孕妇|孕期|孕[一二三四五六七八九十\d]|\bpregnan\w*|\bexpecting\b", re.IGNORECASE
)
_LACTATING: Final = re.compile(
    r"哺乳|喂奶|母乳|\bbreast-?feeding\b|\bnursing\b|\blactating\b", re.IGNORECASE
)
_NO: Final = re.compile(
    r"(?:没有?|未|不是|不在|并非|无|不)[^，。,.]{0,3}$|\b(?:not|no|neither|nor|never|n't|without)\b[^,.]{0,14}$",
    re.IGNORECASE,
)
_AGE: Final = re.compile(r"(\d{1,3})\s*(?:周?岁|years? old|-year-old|y/o|yo\b)", re.IGNORECASE)
_SEX: Final = (
    ("male", re.compile(r"我是(?:个|一[个名位])?(?:男|先生)|\bi(?:'m| am) (?:a )?(?:man|male)\b", re.IGNORECASE)),
    ("female", re.compile(r"我是(?:个|一[个名位])?(?:女|妇女)|\bi(?:'m| am) (?:a )?(?:woman|female)\b", re.IGNORECASE)),
)  # fmt: skip
_ALLERGY: Final = re.compile(
    r"对([^，。,.；;]{1,20}?)(?:都|也|会)?过敏|allergic to ([^,.;?!]{1,40})", re.IGNORECASE
)
_ALLERGEN_END: Final = re.compile(r"\s+(?:and|but|so|can|may|what|which|who)\b.*$", re.IGNORECASE)


def is_question(text: str) -> bool:
    """Tell whether words ask; a reply to a question states.

    >>> is_question("怕冷，大便稀"), is_question("那绿豆呢？"), is_question("yes, pregnant")
    (False, True, False)
    """
    return _QUESTION.search(in_place(text)) is not None


def stated(text: str, linker: Linker, facts: Facts, *, reply: bool = False) -> Profile:
    """Read what the words say of the person who asks; nothing where they speak of others.

    ``reply`` takes words without "I" for the asker's own, as in a reply to what was asked back.
    """
    folded = in_place(text)
    if _OTHERS.search(folded) or not (reply or _MINE.search(folded)):
        return Profile()
    said = affirmed(_as_read(text, linker, facts), text)
    every = in_time(said, text, facts)
    mentions = [m for m in every if m.iri and not m.negated]
    past = {m.iri for m, was in zip(every, said, strict=True) if m.negated and not was.negated}
    over = past - {m.iri for m in mentions}
    foods = [
        m for m in linker.link(text) if m.iri and facts.is_a(m.iri, *MATERIAL, SHIYI.FoodGroup)
    ]  # with the denied ones: 不吃 denies
    bring_on = allergens_of(text, foods)
    allergens = _allergens(text, folded, bring_on)
    avoids = [m.text for m in not_eaten(text, foods) if m not in bring_on]
    age = next((float(hit[1]) for hit in _AGE.finditer(folded) if float(hit[1]) <= _OLDEST), None)
    return Profile(
        age=age,
        sex=next((sex for sex, said in _SEX if said.search(folded)), ""),
        pregnant=None if _WITH_CHILD in over else _said(_PREGNANT, folded),
        lactating=_said(_LACTATING, folded),
        medicines=_those(text, mentions, facts, allergens),
        allergies=tuple(a for a in dict.fromkeys(allergens) if a)[:5],
        conditions=tuple(
            _name(m, text, linker) for m in mentions
            if (facts.is_a(m.iri, SHIYI.Disease) and not facts.is_a(m.iri, SHIYI.EmergencySign))
            or facts.of(m.iri, SHIYI.excludesFoodGroup)
        )[:5],
        constitution=next((m.text for m in mentions if facts.is_a(m.iri, SHIYI.Constitution)), ""),
        avoids=tuple(dict.fromkeys(avoids))[:_MOST],
    )  # fmt: skip


def _allergens(text: str, folded: str, linked: Iterable[Mention]) -> list[str]:
    """List the words for what brings on an allergy: as told, and those linked that are no part of these."""
    told = [
        _ALLERGEN_END.sub("", text[slice(*hit.span(hit.lastindex or 0))]).strip()
        for hit in _ALLERGY.finditer(folded) if not _NO.search(folded[: hit.start()])
    ]  # fmt: skip
    named = [m.text for m in linked if not any(t in m.text or m.text in t for t in told)]
    return list(dict.fromkeys((*told, *named)))


def _as_read(text: str, linker: Linker, facts: Facts) -> tuple[Mention, ...]:
    """Link words as a question is read: values that are low, several states in one word."""
    return as_measured(collective(linker.link(text), text, linker.link), text, facts)


def _name(mention: Mention, text: str, linker: Linker) -> str:
    """Give the word, or the name of what it was read as, where the word alone says otherwise."""
    alone = [m.iri for m in linker.link(mention.text)]
    label = mention.label_zh if language_of(text) == "zh" else mention.label_en
    return mention.text if alone == [mention.iri] else label or mention.text


def _said(cue: re.Pattern[str], text: str) -> bool | None:
    """Tell whether the words affirm or deny; None where they do neither."""
    hits = list(cue.finditer(text))
    if not hits:
        return None
    return not all(_NO.search(text[: hit.start()]) for hit in hits)


def _those(
    text: str, mentions: list[Mention], facts: Facts, allergens: list[str]
) -> tuple[str, ...]:
    """List the medicines that the words say are taken; supplements are not told apart here."""
    found = [
        m for m in mentions if facts.is_a(m.iri, SHIYI.Drug, SHIYI.DrugClass) and m.iri != _ALCOHOL
    ]
    allergic = fold(" ".join(allergens))
    return tuple(
        dict.fromkeys(m.text for m in found if fold(m.text) not in allergic)
    )[:_MOST]  # fmt: skip


_WITH_CHILD: Final = resource("population-pregnant").value
_ALCOHOL: Final = resource("drug-ethanol").value  # no medicine that somebody takes
_MOST, _OLDEST = 10, 130
