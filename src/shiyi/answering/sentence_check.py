"""Whether a sentence of a language model may stand: held against the claims that it cites."""

import re
from collections.abc import Iterable
from typing import Final, Protocol

from shiyi.linking.normalise import fold
from shiyi.model.answer import Answer, Citation, Named
from shiyi.model.mention import Mention
from shiyi.ontology.terms import SHIYI
from shiyi.ontology.vocabulary import Schema

_MAX_CHARS: Final = 400
_ENGLISH_FROM: Final = 6  # words; shorter sentences may be names alone
_NUMBER: Final = re.compile(r"\d+(?:\.\d+)?")
_WRITTEN_NUMBER: Final = re.compile(
    r"[一二两三四五六七八九十百半]+\s*(?:克|毫克|片|粒|颗|勺|杯|碗|次|天|周|个月|倍)"
    r"|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|half|several|twice|double|triple|dozen)\b"
    r"(?: (?:a|an|of))? (?:grams?|tablets?|capsules?|spoon\w*|cups?|bowls?|times|days?|weeks?|months?|doses?)",
    re.IGNORECASE,
)
_CJK: Final = re.compile(r"[\u3400-\u9fff]")
_LATIN: Final = re.compile(r"[A-Za-z]")
_OTHER_SCRIPT: Final = re.compile(
    r"[\u0400-\u05ff\u0600-\u06ff\u0900-\u0dff\u0e00-\u0e7f\u3040-\u30ff\uac00-\ud7af]"
)
_ENGLISH: Final = re.compile(
    r"\b(?:the|is|are|and|of|with|may|for|in|to|a|an|on|not|can|be|as|by|or|it|has|have|from|if)\b",
    re.IGNORECASE,
)
_MARKUP: Final = re.compile(r"https?:|www\.|[<>\[\]{}|`]|!\[|\*\*|^#")
_NEVER: Final = re.compile(
    r"安全|放心|无风险|没有风险|停药|停用|停服|减量|加量|换药|确诊|诊断为|你得了|你患有|治愈|根治|包治"
    r"|(?:不用|不必|无需|别)(?:再)?(?:吃|服|用|打)(?:药|胰岛素)|代替(?:药|治疗)|不用看医生|无需就医"
    r"|\b(?:safe|safely|risk-free|harmless|diagnos\w*|you have|cure[sd]?)\b"
    r"|\b(?:stop|start|reduce|increase|change|skip|halve|double|replace)\b[^.]{0,30}"
    r"\b(?:medicine|medication|dose|drug|tablet|pill|warfarin|insulin|metformin|treatment)"
    r"|\bno need (?:for|to see) (?:a |your )?(?:doctor|medicine|treatment)",
    re.IGNORECASE,
)
_CARE: Final = re.compile(
    r"忌|慎|不宜|避免|不要|禁|相互作用|风险|加重|先问|注意"
    r"|\b(?:avoid|caution\w*|not|contraindicat\w*|interact\w*|risk\w*|worsen\w*|careful\w*|before)\b",
    re.IGNORECASE,
)
_GOOD: Final = re.compile(
    r"改善|缓解|减轻|适合|适宜|有助|帮助|有益|有利|调理|治疗|能治|可治|主治|用于|对.{1,12}有?好"
    r"|\b(?:help\w*|reliev\w*|suit\w*|treat\w*|good for|beneficial|improv\w*|eases?|used for|recommended)\b",
    re.IGNORECASE,
)
_UNSUITED: Final = re.compile(
    r"不(?:太)?(?:适合|适宜|宜)|不建议|\bnot? (?:be )?(?:suit\w*|recommended)|\bunsuit\w*",
    re.IGNORECASE,
)
_MEETING: Final = re.compile(r"相互作用|\binteract\w*", re.IGNORECASE)
_DENIED: Final = re.compile(r"没有|未|不|无|\b(?:no|not|never|without)\b", re.IGNORECASE)
_FREE_KINDS: Final = frozenset(
    {"Nature", "Flavour", "Meridian", "Efficacy", "OrganismPart", "Season"}
)
_BENEFITS: Final = frozenset({
    "suitableFood", "relieves", "indicatedFor", "isEffectiveFor", "realisedBy", "hasEfficacy",
    "primaryEffect", "dietaryBenefit", "relatedConstitution", "hasTreatmentPrinciple",
    "suitableSeason", "mechanismOfAction", "background", "ruleText",
})  # fmt: skip


class Linker(Protocol):
    """Finds the concepts a sentence mentions."""

    def link(self, text: str, language: str | None = None) -> tuple[Mention, ...]:
        """Give mentions in order."""


def check(text: str, cited: Iterable[Citation], answer: Answer, linker: Linker) -> str:
    """Say why a sentence may not stand, or nothing where it may."""
    cited = tuple(cited)
    if not text or len(text) > _MAX_CHARS or "\n" in text:
        return "is empty, too long or of several lines"
    if _MARKUP.search(text):
        return "holds markup or an address"
    if not _is_spoken(text, answer.language):
        return "is in another language"
    if _NEVER.search(unhidden(text)):
        return "promises safety, diagnoses or changes a medicine"
    return _unstated(unhidden(text), cited) or _uncovered(text, cited, answer, linker)


def unhidden(text: str) -> str:
    """Give a text, and again as it is folded: no script, width or mark hides a word from a pattern.

    >>> "停药" in unhidden("可以停藥"), "safe" in unhidden("ｓａ\u200bｆｅ")
    (True, True)
    """
    return f"{text} .\n{fold(text)}"  # no pattern goes on past the full stop


def _is_spoken(text: str, language: str) -> bool:
    """Tell whether a text is in the answer's language, names in Latin letters allowed."""
    if _OTHER_SCRIPT.search(text):
        return False
    han, latin = len(_CJK.findall(text)), len(_LATIN.findall(text))
    if language == "zh":
        return 2 * han >= latin and han > 0
    words = text.split()
    return han == 0 and (len(words) < _ENGLISH_FROM or _ENGLISH.search(text) is not None)


def _unstated(text: str, cited: tuple[Citation, ...]) -> str:
    """Say what kind of thing a sentence says that none of its claims does."""
    kinds = {c.predicate.iri.rpartition("#")[2] for c in cited}
    if kinds & _harms() and not _CARE.search(text):
        return "cites a caution without saying it"
    if any(c.polarity == "negative" for c in cited) and not _DENIED.search(text):
        return "affirms what its claim denies"
    if _GOOD.search(_UNSUITED.sub("", text)) and not kinds & _BENEFITS:
        return "says a benefit that no cited claim does"
    if _MEETING.search(text) and not any("nteracts" in kind for kind in kinds):
        return "says an interaction that no cited claim does"
    if foreign := _foreign_numbers(text, cited):
        return f"states {foreign}, which no cited claim does"
    return ""


def _harms() -> frozenset[str]:
    properties = Schema.load().properties.values()
    return frozenset(each.name for each in properties if each.is_safety)


def _foreign_numbers(text: str, cited: tuple[Citation, ...]) -> str:
    allowed = " ".join(
        (f"{c.confidence:.2f} {_text(c.object)} {c.subject.label} "
         + " ".join(value for e in c.evidence for _, value in e.qualifiers))
        for c in cited
    )  # fmt: skip
    known = set(_NUMBER.findall(unhidden(allowed)))
    written = {hit[0] for hit in _WRITTEN_NUMBER.finditer(text) if hit[0] not in allowed}
    return ", ".join(sorted((set(_NUMBER.findall(text)) - known) | written))


def _text(thing: Named) -> str:
    """Give the whole text that a claim states, else the name of a concept: an IRI states no number."""
    return thing.iri if thing.iri.startswith(thing.label) else thing.label


def _uncovered(text: str, cited: tuple[Citation, ...], answer: Answer, linker: Linker) -> str:
    """Say what a sentence names that its claims do not.

    What was asked about may be named beside them, unless the sentence says a use or a harm of it.
    """
    if _GOOD.search(text):  # what an effect is for by its name is no use of what has it
        cited = tuple(c for c in cited if c.predicate.iri != SHIYI.directedAt.value)
    ends = {iri for c in cited for iri in (c.subject.iri, c.object.iri)}
    labels = [label for c in cited for label in (c.subject.label, c.object.label)]
    mentions = [m for m in linker.link(text, answer.language) if m.iri]
    named = {m.iri for m in mentions}
    if not named & ends and not any(label.lower() in text.lower() for label in labels):
        return "names nothing its claims speak of"
    said = unhidden(text)
    asserts = bool(_GOOD.search(said) or _MEETING.search(said) or _CARE.search(said))
    asked = set() if asserts else {m.iri for m in answer.linked if m.iri}
    told = " ".join(value for c in cited for e in c.evidence for _, value in e.qualifiers).lower()
    for mention in mentions:
        words = mention.text.lower()
        inside = any(words in label.lower() for label in labels) or words in told
        meant = {mention.iri, *mention.alternatives} & (ends | asked)
        if not meant and mention.kind not in _FREE_KINDS and not inside:
            return f"speaks of {mention.text}, which no cited claim does"
    return ""
