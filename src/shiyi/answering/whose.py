"""Whose state a question speaks of, and when: an operation that is over, a family member's illness."""

import itertools
import re
from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from shiyi.answering.facts import Facts
from shiyi.linking.normalise import fold
from shiyi.model.mention import Mention
from shiyi.model.names import resource
from shiyi.ontology.terms import SHIYI

_SURGERY: Final = resource("population-preoperative").value
_AFTER_SURGERY: Final = resource("population-postoperative").value
_NURSING: Final = resource("population-lactating").value
_PASSING: Final = frozenset({
    _SURGERY, _AFTER_SURGERY, _NURSING, resource("population-pregnant").value,
    resource("population-postpartum").value, resource("population-menstruating").value,
})  # fmt: skip
_ENDS: Final = re.compile(r"[。！？；，,.?!;\n]")
_LONG_AGO: Final = re.compile(
    r"去年|前年|以前|从前|曾经|当年|当时|那时候?|小时候|年轻时|早年|上一?胎|头胎"
    r"|(?:[多几两一二三四五六七八九十\d]|半)+年(?:多)?(?:以|之)?前|[几两三四五六七八九十\d]+个月(?:以|之)?前"
    r"|\blast (?:year|spring|summer|autumn|fall|winter)\b|\b(?:years?|decades?|ages|months) (?:ago|back)\b"
    r"|\bin (?:19|20)\d\d\b|\bused to\b|\bwhen i was (?!pregnant)|\bin the past\b|\bas a (?:child|kid)\b|\bthe year before\b"
    r"|\bwas (?:last )?pregnant\b|\bwere pregnant\b"
)
_STILL: Final = re.compile(  # what began long ago and goes on
    r"快要?生了|待产|临产|预产期|还怀着|还在|至今|一直|孕?[\d一二三四五六七八九十]+个?[月周]了"
    r"|\bdue (?:in|next|soon|this|on|date)|\b\d+ (?:weeks|months) (?:now|along|pregnant)|\bstill\b|\bever since\b"
)
_COMING: Final = re.compile(
    r"要|准备|打算|预约|安排|即将|马上|下[周个月星]|明天|后天"
    r"|\b(?:scheduled|planned|upcoming|coming|next|tomorrow|soon|will|going to|due|before|booked)\b"
)
_BEFORE: Final = re.compile(r"之?前")
_DONE_BEFORE: Final = re.compile(
    r"(?:做完|做过|做了|动过|动了|开过|开了|刚做|经历了?)[^，。,.]{0,8}$"
    r"|\b(?:had|underwent|after|since|following|recover\w* from|post)\b[^,.?!;]{0,30}$"
)
_DONE_AFTER: Final = re.compile(
    r"(?:完|以后|之后|后|都?已经|恢复|刚过)|\W{0,2}(?:was|is over|went)\b"
)
_NEAR: Final = 12  # characters
_WEANED: Final = re.compile(
    r"(?:断奶|断母乳|不喂奶|不再喂|停止?喂|停止?哺乳|停了?母乳)"
    r"|\b(?:stopped|finished|quit|done with|no longer|not)\b[^,.?!;]{0,16}$"
)
_KIN_ZH: Final = (
    r"(?:爸|妈|父亲|母亲|爷爷|奶奶|外公|外婆|姥姥|姥爷|妻子|老婆|太太|老公|丈夫|爱人|儿子|女儿|孩子|宝宝"
    r"|朋友|同事|哥|弟|姐|妹|叔|姑|舅|姨|邻居|同学|男友|女友|婆婆|公公|岳父|岳母|室友)"
)
_KIN: Final = re.compile(
    rf"{_KIN_ZH}|\bmy (?:mother|mum|mom|father|dad|wife|husband|partner|son|daughter|child|kid|baby|friend|gran\w*|aunt|uncle"
    r"|sister|brother|boyfriend|girlfriend|roommate|colleague|neighbou?r|cousin|parents?)(?:'s)?\b"
)
# a clause without 我爸 and "my mother" that still speaks of the asker is of both, or tells who says it
_OWN_KIN: Final = re.compile(rf"(?:我们|我家|我|咱)?的?(?:{_KIN.pattern})")
_ALSO_MINE: Final = re.compile(r"[我咱俺]|都有|\b(?:i|i'm|i've|me|mine|we|us|our|both|myself)\b")
_SO_HAVE_I: Final = re.compile(
    r"我也(?:有|是|得|患|在|吃|查)|我同样|\b(?:so (?:do|have|am) i|me too|i (?:do|have|am) too|i also (?:have|take))\b"
)
_MYSELF: Final = re.compile(
    r"我(?:自己|本人)?(?:现在|也|还|平时)?(?:能不能|可不可以|能|可以|该|是否|适合)(?!给|让|帮|喂|为)"
    r"|\b(?:can|may|could|should) i (?:still |also )?(?:eat|drink|have|take|use|try)\b"
)
_FOR_THEM: Final = re.compile(
    r"[她他]|给|让|喂|帮|陪|我们|一起|\b(?:her|him|them|she|he|they|we|us|give|feed|cook)\b"
)


def in_time(mentions: Iterable[Mention], question: str, facts: Facts) -> tuple[Mention, ...]:
    """Deny passing states that were over long ago, and tell an operation done from one to come.

    A disease somebody had stays; so does what was lately: safety is judged for the present.
    """
    text = _same_length(question)
    return tuple(
        _timed(m, text, facts) if m.iri in _PASSING and not m.negated else m for m in mentions
    )


def _timed(mention: Mention, text: str, facts: Facts) -> Mention:
    start, end = _clause(text, mention)
    before, after = text[start : mention.start], text[mention.end : end]
    clause = text[start:end]
    over = mention.iri == _NURSING and _WEANED.search(before)
    coming = _COMING.search(before[-_NEAR:]) or _COMING.search(after) or _BEFORE.match(after)
    past = _LONG_AGO.search(clause) and not _STILL.search(text)
    if over or (past and not coming):
        return replace(mention, negated=True)
    done = _DONE_BEFORE.search(before) or _DONE_AFTER.match(after)
    if mention.iri == _SURGERY and done and not coming and _AFTER_SURGERY in facts.labels:
        said = facts.labels[_AFTER_SURGERY]
        zh, en = said.get("zh", ""), said.get("en", "")
        return replace(mention, iri=_AFTER_SURGERY, label_zh=zh, label_en=en, cui="")
    return mention


def of_others(mentions: Iterable[Mention], question: str, facts: Facts) -> tuple[Mention, ...]:
    """List the states and medicines of somebody else, where the asker asks for themselves.

    Nothing is left to others where the asker breastfeeds: what they eat reaches the child.
    """
    text, every = _same_length(question), list(mentions)
    asked = next((c for c in _clauses(text) if _MYSELF.search(text[c[0] : c[1]])), None)
    if asked is None or any(m.iri == _NURSING for m in every):
        return ()
    said = text[asked[0] : asked[1]]
    if _KIN.search(said) or _FOR_THEM.search(said) or _SO_HAVE_I.search(text):
        return ()
    return tuple(
        m for m in every
        if facts.is_a(m.iri, SHIYI.Condition, SHIYI.Drug)
        and (clause := _clause(text, m)) != asked
        and (kin := _KIN.search(text[clause[0] : clause[1]]))
        and clause[0] + kin.start() < m.start
        and not _ALSO_MINE.search(_OWN_KIN.sub("", text[clause[0] : clause[1]]))
        and not facts.is_a(m.iri, SHIYI.EmergencySign)
    )  # fmt: skip


def _same_length(question: str) -> str:
    text = fold(question).replace("’", "'")
    return text if len(text) == len(question) else question.lower()


def _clauses(text: str) -> list[tuple[int, int]]:
    marks = [0, *(m.end() for m in _ENDS.finditer(text)), len(text)]
    return list(itertools.pairwise(marks))


def _clause(text: str, mention: Mention) -> tuple[int, int]:
    return next(c for c in reversed(_clauses(text)) if c[0] <= mention.start)
