"""Whose state a question speaks of, and when: an operation that is over, a family member's illness."""

import re
from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from shiyi.answering.clauses import clause_at, clauses, in_place
from shiyi.answering.facts import Facts
from shiyi.model.mention import Mention
from shiyi.model.names import resource
from shiyi.ontology.terms import SHIYI

_SURGERY: Final = resource("population-preoperative").value
_AFTER_SURGERY: Final = resource("population-postoperative").value
_NURSING: Final = resource("population-lactating").value
_PREGNANT: Final = resource("population-pregnant").value
_PASSING: Final = frozenset({
    _SURGERY, _AFTER_SURGERY, _NURSING, _PREGNANT,
    resource("population-postpartum").value, resource("population-menstruating").value,
})  # fmt: skip
_LONG_AGO: Final = re.compile(
    r"去年|前年|以前|从前|曾经|当年|当时|那时候?|小时候|年轻时|早年|上一?胎|头胎"
    r"|(?:[多几两一二三四五六七八九十\d]|半)+年(?:多)?(?:以|之)?前|[几两三四五六七八九十\d]+个月(?:以|之)?前"
    r"|\blast (?:year|spring|summer|autumn|fall|winter)\b|\b(?:years?|decades?|ages|months) (?:ago|back)\b"
    r"|\bin (?:19|20)\d\d\b|\bused to\b|\bwhen i was (?!pregnant)|\bin the past\b|\bas a (?:child|kid)\b|\bthe year before\b"
    r"|\bwas (?:last )?pregnant\b|\bwere pregnant\b"
)
_STILL: Final = re.compile(  # what began long ago and goes on
    r"快要?生了|待产|临产|预产期|还怀着|还在|至今|一直|孕?[\d一二三四五六七八九十]+个?[月周]了"
    r"|又怀|再怀|现在(?:又|还|也|已经|正)?(?:有|是|怀|在)|还[要得会](?:再)?做|再做|又要做|要做第[二三四]次"
    r"|\bdue (?:in|next|soon|this|on|date)|\b\d+ (?:weeks|months) (?:now|along|pregnant)|\bstill\b|\bever since\b"
    r"|\bnow (?:i|she|we) (?:am|have|is|are|do)\b|\b(?:am|is|are|now|pregnant|expecting|nursing) again\b|\banother\b"
)
# what is denied of the past and said of now, denied twice, or only not yet over, is so
_NOW: Final = re.compile(
    r"(?:现在|如今|最近|这次|后来)(?:却|又|也|已经|都|才|刚)?(?:有|得|是|查出|确诊|怀|患|变)"
    r"|\b(?:but )?now (?:i|she|he|we) (?:do|am|have|is|has|are)\b|\b(?:am|is|have|has) now\b"
)
_BEFORE_NOW: Final = re.compile(
    r"以前|从前|原来|原先|本来|过去|之前|早先|一直|\b(?:used to|previously|before|until|in the past|never)\b"
)
_DENIED_TWICE: Final = re.compile(
    r"(?:不是|并非|不可能|不能|不得|没有哪天|没有一天|从来没有?|从不|不会)[^，。,.；;]{0,4}(?:没有?|不是?|未)[^，。,.；;]{0,2}$"
    r"|\b(?:not|n't) (?:that |true that |as if )?(?:i'?m |i am |i |she'?s |she is |we're )?(?:not|never|n't|don't|haven't|isn't)"
    r"[^,.;!?]{0,12}$"
)
_NOT_OVER: Final = re.compile(
    r"(?:没有?|还未|尚未|未|不想|不打算|舍不得|不能|不敢)(?:完全|真正)?(?:断|停)[^，。,.；;]{0,3}$"
    r"|\b(?:haven't|have not|hasn't|has not|not|never|isn't|aren't|can't|won't|yet to)(?: \w+){0,2} ?"
    r"(?:stopp?(?:ed|ing)?|finish(?:ed)?|quit|done|through)(?: with)? ?$"
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
KIN_ZH: Final = (
    r"(?:爸|妈|父亲|母亲|爷爷|奶奶|外公|外婆|姥姥|姥爷|妻子|老婆|太太|老公|丈夫|爱人|儿子|女儿|孩子|宝宝"
    r"|朋友|同事|哥|弟|姐|妹|叔|姑|舅|姨|邻居|同学|男友|女友|婆婆|公公|岳父|岳母|室友|老伴|媳妇|闺女|孙子|孙女|外孙|侄)"
)
KIN_EN: Final = (
    r"(?:mother|mum|mom|father|dad|wife|husband|partner|son|daughter|child|kid|baby|friend|gran\w*|aunt|uncle"
    r"|sister|brother|boyfriend|girlfriend|roommate|colleague|neighbou?r|cousin|niece|nephew|grandchild|boss|parents?)(?:'s)?\b"
)
_KIN: Final = re.compile(rf"{KIN_ZH}|\bmy {KIN_EN}")
# a clause without 我爸 and "my mother" that still speaks of the asker is of both, or tells who says it
_OWN_KIN: Final = re.compile(rf"(?:我们|我家|我|咱)?的?(?:{_KIN.pattern})")
_ALSO_MINE: Final = re.compile(r"[我咱俺]|都有|\b(?:i|i'm|i've|me|mine|we|us|our|both|myself)\b")
_SO_HAVE_I: Final = re.compile(
    r"我也(?:有|是|得|患|在|吃|查)|我同样|遗传给了?我|传给了?我|我也遗传|\b(?:inherited|passed (?:it )?(?:down |on )?to me)\b|\b(?:so (?:do|have|am) i|me too|i (?:do|have|am) too|i also (?:have|take))\b"
)
_MAY_ZH: Final = r"(?:现在|也|还|平时)?(?:能不能|可不可以|能|可以|该|是否|适合)"
_EAT_EN: Final = r"(?:still |also )?(?:eat|drink|have|take|use|try)\b"
_MYSELF: Final = re.compile(
    rf"我(?:自己|本人)?{_MAY_ZH}(?!给|让|帮|喂|为)|\b(?:can|may|could|should) i {_EAT_EN}"
)
_KIN_WITH: Final = re.compile(rf"[^，。,.;；]{{0,4}}的(?:{_KIN.pattern})")
_THEY_EAT: Final = re.compile(
    rf"{KIN_ZH}{_MAY_ZH}(?:吃|喝|用|服|进补)|\b(?:can|may|could|should) (?:my {KIN_EN}|she|he) {_EAT_EN}"
)
_CHILD: Final = re.compile(
    r"孩子|宝宝|儿子|女儿|娃|胎儿|\b(?:baby|child|kid|son|daughter|she|he)\b"
)
_FOR_THEM: Final = re.compile(
    r"[她他]|给|让|喂|帮|陪|我们|一起|\b(?:her|him|them|she|he|they|we|us|give|feed|cook)\b"
)


def affirmed(mentions: Iterable[Mention], question: str) -> tuple[Mention, ...]:
    """Take back a denial that was none: of the past alone, made twice, or of its having ended.

    >>> said = "以前没有高血压，现在有了"
    >>> [m.negated for m in affirmed([Mention("高血压", 4, 7, negated=True)], said)]
    [False]
    """
    text = in_place(question)
    return tuple(
        replace(m, negated=False) if m.negated and _is_so(m, text) else m for m in mentions
    )


def _is_so(mention: Mention, text: str) -> bool:
    start, end = clause_at(text, mention.start)
    before = text[start : mention.start]
    if _DENIED_TWICE.search(before) or _NOT_OVER.search(before):
        return True
    return bool(_BEFORE_NOW.search(before)) and bool(_NOW.search(text, end - 1))


def in_time(mentions: Iterable[Mention], question: str, facts: Facts) -> tuple[Mention, ...]:
    """Deny passing states that were over long ago, and tell an operation done from one to come.

    A disease somebody had stays; so does what was lately: safety is judged for the present.
    """
    text = in_place(question)
    return tuple(
        _timed(m, text, facts) if m.iri in _PASSING and not m.negated else m for m in mentions
    )


def _timed(mention: Mention, text: str, facts: Facts) -> Mention:
    start, end = clause_at(text, mention.start)
    before, after = text[start : mention.start], text[mention.end : end]
    clause = text[start:end]
    over = mention.iri == _NURSING and _WEANED.search(before) and not _NOT_OVER.search(before)
    coming = _COMING.search(before[-_NEAR:]) or _COMING.search(after) or _BEFORE.match(after)
    past = _LONG_AGO.search(clause) and not _STILL.search(text)
    if over or (past and not coming):
        return replace(mention, negated=True)
    done = _DONE_BEFORE.search(before) or _DONE_AFTER.match(after)
    again = _LONG_AGO.search(clause) and _STILL.search(text)
    if (
        mention.iri == _SURGERY
        and done
        and not (coming or again)
        and _AFTER_SURGERY in facts.labels
    ):
        said = facts.labels[_AFTER_SURGERY]
        zh, en = said.get("zh", ""), said.get("en", "")
        return replace(mention, iri=_AFTER_SURGERY, label_zh=zh, label_en=en, cui="")
    return mention


def of_others(
    mentions: Iterable[Mention], question: str, facts: Facts, allergens: Iterable[Mention] = ()
) -> tuple[Mention, ...]:
    """List the states, medicines and allergens of somebody else, where the asker asks for themselves.

    Nothing is left to others where the asker breastfeeds: what they eat reaches the child.
    """
    text, every, allergens = in_place(question), list(mentions), list(allergens)
    asked = next((c for c in clauses(text) if _MYSELF.search(text[c[0] : c[1]])), None)
    if asked is None or any(m.iri == _NURSING for m in every):
        return ()
    said = text[asked[0] : asked[1]]
    if _KIN.search(said) or _FOR_THEM.search(said) or _SO_HAVE_I.search(text):
        return ()
    return tuple(
        m for m in every
        if (m in allergens or facts.is_a(m.iri, SHIYI.Condition, SHIYI.Drug))
        and (clause := clause_at(text, m.start)) != asked and _is_theirs(text, m, clause)
        and not facts.is_a(m.iri, SHIYI.EmergencySign)
    )  # fmt: skip


def _is_theirs(text: str, mention: Mention, clause: tuple[int, int]) -> bool:
    """Tell whether a clause tells something of one person who is not the asker."""
    if _KIN_WITH.match(text[mention.end : clause[1]]):
        return True  # 我对花生过敏的妈妈: the allergy is hers
    said = text[clause[0] : clause[1]]
    kin = _KIN.search(said)
    before = kin is not None and clause[0] + kin.start() < mention.start
    return before and not _ALSO_MINE.search(_OWN_KIN.sub("", said))


def of_asker(
    mentions: Iterable[Mention], question: str, facts: Facts, allergens: Iterable[Mention] = ()
) -> tuple[Mention, ...]:
    """List the asker's own states, medicines and allergens, where somebody else alone is to eat.

    Nothing is left out of who is pregnant or breastfeeds and asks for the child.
    """
    text, every, allergens = in_place(question), list(mentions), list(allergens)
    asked = next((c for c in clauses(text) if _THEY_EAT.search(text[c[0] : c[1]])), None)
    if asked is None:
        return ()
    if any(m.iri in (_NURSING, _PREGNANT) for m in every) and _CHILD.search(text, *asked):
        return ()
    if _ALSO_MINE.search(_OWN_KIN.sub("", text[asked[0] : asked[1]])):
        return ()
    return tuple(
        m for m in every
        if (m in allergens or facts.is_a(m.iri, SHIYI.Condition, SHIYI.Drug))
        and (clause := clause_at(text, m.start)) != asked
        and (said := text[clause[0] : clause[1]])
        and _ALSO_MINE.search(said) and not _KIN.search(said)
        and not facts.is_a(m.iri, SHIYI.EmergencySign)
    )  # fmt: skip


def told_of_others(mentions: Iterable[Mention], text: str) -> tuple[Mention, ...]:
    """List the mentions that stand where the words are of somebody else; a clause without a subject goes on.

    >>> said = "我妈妈七十了，有糖尿病，我睡不好"
    >>> [
    ...     m.text
    ...     for m in told_of_others([Mention("糖尿病", 7, 10), Mention("睡不好", 12, 15)], said)
    ... ]
    ['糖尿病']
    """
    text, mine, theirs = in_place(text), False, list[tuple[int, int]]()
    for start, end in clauses(text):
        said = text[start:end]
        if _ALSO_MINE.search(_OWN_KIN.sub("", said)):
            mine = True
        elif _KIN.search(said):
            mine = False
        if not mine:
            theirs.append((start, end))
    return tuple(m for m in mentions if any(a <= m.start < b for a, b in theirs))
