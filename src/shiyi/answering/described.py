"""Signs that are told in a sentence rather than named, and names that mean less than they were read as."""

import re
from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from shiyi.answering.clauses import in_place
from shiyi.answering.facts import Facts
from shiyi.answering.roles import MATERIAL
from shiyi.linking.normalise import is_cjk
from shiyi.model.mention import Mention
from shiyi.model.names import resource
from shiyi.ontology.terms import SHIYI

_COUNT: Final = r"(?:好几|几|两|三|四|五|六|七|多|\d{1,2})"
_SIGNS: Final = (
    ((rf"{_COUNT}天(?:都|才|也)?(?:没有?|不|未|一次)?(?:大便|排便|解大便|拉大便|拉屎|上大号)"
     rf"|(?:大便|排便|上大号)[^,，。？?]{{0,2}}{_COUNT}天(?:都|才|也)?(?:一次|没|不|未)[解排拉]?"),
     "symptom-constipation"),
    ((r"\b(?:no|not had a|have(?: not|n't) had a|without a) (?:bowel movement|poop|stool)\b[^.?!]{0,12}\bdays\b"
     r"|\b(?:bowel movement|poop|stool)s? (?:only )?(?:once )?every (?:few|three|four|five|\d) days\b"
     r"|\bhave(?: not|n't) (?:pooped|been to the toilet) (?:for|in) [^.?!]{0,12}\bdays\b"),
     "symptom-constipation"),
    ((r"\b(?:my |the )?stomach (?:is|feels|gets|runs|always feels|is always) (?:so |very |always |a bit )?cold\b"
     r"|胃(?:里|部)?(?:总是?|老是?|经常)?(?:发凉|发冷|冰凉|凉凉的)"),
     "symptom-cold-pain-in-the-stomach"),
    (r"(?:大便|便便)(?:总是?|老是?|有点儿?|比较|很|挺|特别|非常|发|又)?[黏粘](?!液|膜)", "symptom-sticky-stools"),
)  # fmt: skip
_STATES: Final = (
    (r"(?:还没有?|没|尚未|还未)(?:给[他她宝娃][^，。]{0,2})?断奶|还在(?:吃|喂)(?:母乳|奶)|亲喂|喂着奶", "population-lactating"),
    ((r"(?:怕|担心|害怕|避免|防止?|预防)(?:会|要|再)?(?:流产|小产|滑胎)"
      r"|\b(?:afraid|scared|worried|fear|fearing) (?:of |about )?(?:having )?(?:a |another )?miscarr\w+"),
     "disease-threatened-miscarriage"),
    ((r"(?:心脏|冠脉|心血管)?(?:放|装|植入?|做)(?:了|过|完|的)?(?:[一二两三四五\d]+[个根])?(?:心脏|冠脉)?支架|支架(?:手术|术后|植入)|心脏搭桥|搭过桥|冠脉搭桥"
      r"|\b(?:coronary |heart |cardiac )?stents?\b|\b(?:heart|coronary) bypass\b"), "disease-coronary-artery-disorder"),
    (r"怀上|有喜了|有身孕|有了身孕|肚子里有(?:宝宝|孩子|娃)", "population-pregnant"),
    (r"孕\d{1,2}\+?周|孕[一二三四五六七八九十]{1,3}个?[周月]|怀了?[一二三四五六七八九十\d]{1,2}个月", "population-pregnant"),
    (r"(?:没有?|缺乏|毫无)(?:什么)?(?:食欲|胃口)|(?:不|不爱|不肯|不好好|不想|不愿)吃饭", "symptom-poor-appetite"),
)  # fmt: skip
_ORGANS: Final = (  # said loosely of an organ: enough to warn of a thing, not to advise for a disease
    ((r"肾(?:脏|功能)?(?:一直|有点|都|太)?(?:不好|不太好|很差|较差|差|有问题|有毛病|弱|一般|减退|下降|受损|偏低)"
     r"|\b(?:bad|poor|weak|failing|damaged) kidneys?\b|\bkidney (?:disease|problems?|trouble|issues?|damage|function)\b"
     r"|\b(?:damage|hurt|harm|bad for|strain)s? (?:the |my |your |our )?kidneys?\b|伤肾|肾损伤"
     r"|\bkidneys? (?:is|are) (?:not good|bad|weak|poor|failing|damaged)\b"),
     "disease-chronic-kidney-disease"),
    ((r"\b(?:damage|hurt|harm|bad for)s? (?:the |my |your |our )?liver\b|伤肝|肝损伤|"
      r"\b(?:bad|poor|weak|damaged) liver\b|\bliver (?:problems?|trouble|issues?|damage)\b"),
     "disease-hepatic-disease"),
)  # fmt: skip
_PARTICLE: Final = re.compile("[吗呢么吧啊]$")
_SHORT: Final = 2  # Chinese characters; a shorter word says too little to be an emergency


def as_described(mentions: Iterable[Mention], question: str, facts: Facts) -> tuple[Mention, ...]:
    """Put signs that a sentence tells of in the place of the words they were told in.

    A short word that is only *like* the name of an emergency sign, as 大便 is like 黑便, names
    nothing; emergencies that are told in other words are found by rule (``alarms``).
    """
    whole = (m for m in mentions if not _is_piece(m, question))
    found = [replace(m, iri="", score=0.0, alternatives=()) if _is_slight(m, facts) else m
             for m in whole]  # fmt: skip
    beside = any(facts.is_a(m.iri, *MATERIAL) for m in found if m.iri)
    text = in_place(question)
    for words, name in (*_SIGNS, *_STATES, *(_ORGANS if beside else ())):
        iri = resource(name).value
        hit = re.search(words, text)
        if hit is None or iri not in facts.labels:
            continue
        if any(m.iri and m.start <= hit.start() and m.end > hit.end() for m in found):
            continue  # a longer name stands there: 伤肝的药
        found = [m for m in found if m.end <= hit.start() or m.start >= hit.end()]
        said = facts.labels[iri]
        found.append(Mention(
            question[hit.start() : hit.end()], hit.start(), hit.end(), iri, said.get("zh", ""),
            said.get("en", ""), facts.cuis.get(iri, ""), facts.classes.get(iri, ""), 1.0,
            "semapv:ManualMappingCuration",
        ))  # fmt: skip
    return tuple(sorted(found, key=lambda m: (m.start, m.end)))


def _is_piece(mention: Mention, question: str) -> bool:
    """Tell whether a mention is the end of a word with the mark of a question, or of "I've"."""
    text = mention.text.strip()
    if question[max(0, mention.start - 1) : mention.start] in {"'", "’"} and len(text) <= _SHORT:
        return True
    return len(text) <= _SHORT and bool(_PARTICLE.search(text))


def _is_slight(mention: Mention, facts: Facts) -> bool:
    if not mention.iri or not facts.is_a(mention.iri, SHIYI.EmergencySign):
        return False
    like = "Similarity" in mention.justification
    text = mention.text.strip()
    short = len(text) <= _SHORT if text and is_cjk(text[0]) else len(text.split()) == 1
    return like and short
