"""The person a condition, an allergy or a food not eaten belongs to, and when."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Final

from shiyi.answering.knowledge.facts import Facts
from shiyi.answering.understanding.text import CLAUSE_END, QuestionText
from shiyi.linking.normalization import fold
from shiyi.model.iris import resource
from shiyi.model.mention import Mention
from shiyi.ontology.lexicon import Cues, word_list
from shiyi.ontology.terms import SHIYI

_CUES: Final = Cues("people")
_COMMA: Final = re.compile(r"\s*,\s*")
_CLAUSE_END: Final = re.compile(CLAUSE_END)
_FREE: Final = re.compile(r"[ -]free\b")


_SURGERY: Final = resource("population-preoperative").value
_AFTER_SURGERY: Final = resource("population-postoperative").value
_NURSING: Final = resource("population-lactating").value
_PREGNANT: Final = resource("population-pregnant").value
_PASSING: Final = frozenset({
    _SURGERY, _AFTER_SURGERY, _NURSING, _PREGNANT,
    resource("population-postpartum").value, resource("population-menstruating").value,
})  # fmt: skip
_NEAR: Final = 12  # characters


def resolve_denials(mentions: Iterable[Mention], text: QuestionText) -> tuple[Mention, ...]:
    """Withdraw a denial that was none: of the past alone, made twice, or of its having ended.

    >>> text = QuestionText.of("I never had gout before, but now I do")
    >>> [m.negated for m in resolve_denials([Mention("gout", 12, 16, negated=True)], text)]
    [False]
    """
    return tuple(
        replace(m, negated=False) if m.negated and _is_so(m, text) else m for m in mentions
    )


def _is_so(mention: Mention, text: QuestionText) -> bool:
    start, end = text.clause_at(mention.start)
    before = text.aligned[start : mention.start]
    if _CUES["denied-twice"].search(before) or _CUES["not-over"].search(before):
        return True
    return bool(_CUES["before-now"].search(before)) and bool(
        _CUES["now"].search(text.aligned, end - 1)
    )


def resolve_time(
    mentions: Iterable[Mention], text: QuestionText, facts: Facts
) -> tuple[Mention, ...]:
    """Deny passing states that were over long ago, and tell an operation done from one to come.

    A disease somebody had stays; so does what was lately: safety is judged for the present.
    """
    return tuple(
        _timed(m, text, facts) if m.iri in _PASSING and not m.negated else m for m in mentions
    )


def _timed(mention: Mention, whole: QuestionText, facts: Facts) -> Mention:
    start, end = whole.clause_at(mention.start)
    text = whole.aligned
    before, after = text[start : mention.start], text[mention.end : end]
    clause = text[start:end]
    over = (
        mention.iri == _NURSING
        and _CUES["weaned"].search(before)
        and not _CUES["not-over"].search(before)
    )
    coming = (
        _CUES["coming"].search(before[-_NEAR:])
        or _CUES["coming"].search(after)
        or _CUES["before"].match(after)
    )
    past = _CUES["long-ago"].search(clause) and not _CUES["still"].search(text)
    if over or (past and not coming):
        return replace(mention, negated=True)
    done = _CUES["done-before"].search(before) or _CUES["done-after"].match(after)
    again = _CUES["long-ago"].search(clause) and _CUES["still"].search(text)
    if (
        mention.iri == _SURGERY
        and done
        and not (coming or again)
        and _AFTER_SURGERY in facts.labels
    ):
        labels = facts.labels[_AFTER_SURGERY]
        zh, en = labels.get("zh", ""), labels.get("en", "")
        return replace(mention, iri=_AFTER_SURGERY, label_zh=zh, label_en=en, cui="")
    return mention


def states_of_others(
    mentions: Iterable[Mention],
    question: QuestionText,
    facts: Facts,
    allergens: Iterable[Mention] = (),
) -> tuple[Mention, ...]:
    """List the states, medicines and allergens of others, where the asker asks for themselves.

    Nothing is left to others where the asker breastfeeds: what they eat reaches the child.
    """
    text, every, allergens = question.aligned, list(mentions), list(allergens)
    asked = next((c for c in question.clauses if _CUES["myself"].search(text[c[0] : c[1]])), None)
    if asked is None or any(m.iri == _NURSING for m in every):
        return ()
    clause_text = text[asked[0] : asked[1]]
    if (
        _CUES["kin"].search(clause_text)
        or _CUES["for-them"].search(clause_text)
        or _CUES["so-have-i"].search(text)
    ):
        return ()
    return tuple(
        m
        for m in every
        if (m in allergens or facts.is_a(m.iri, SHIYI.Condition, SHIYI.Drug))
        and (clause := question.clause_at(m.start)) != asked
        and _is_theirs(text, m, clause)
        and not facts.is_a(m.iri, SHIYI.EmergencySign)
    )


def _is_theirs(text: str, mention: Mention, clause: tuple[int, int]) -> bool:
    """Return whether a clause tells something of one person who is not the asker."""
    if _CUES["kin-with"].match(text[mention.end : clause[1]]):
        return True  # 我对花生过敏的妈妈: the allergy is the mother's
    clause_text = text[clause[0] : clause[1]]
    kin = _CUES["kin"].search(clause_text)
    before = kin is not None and clause[0] + kin.start() < mention.start
    return before and not _CUES["also-mine"].search(_CUES["own-kin"].sub("", clause_text))


def states_of_asker(
    mentions: Iterable[Mention],
    question: QuestionText,
    facts: Facts,
    allergens: Iterable[Mention] = (),
) -> tuple[Mention, ...]:
    """List the asker's own states, medicines and allergens, where somebody else alone is to eat.

    Nothing is left out of who is pregnant or breastfeeds and asks for the child.
    """
    text, every, allergens = question.aligned, list(mentions), list(allergens)
    asked = next((c for c in question.clauses if _CUES["they-eat"].search(text[c[0] : c[1]])), None)
    if asked is None:
        return ()
    if any(m.iri in (_NURSING, _PREGNANT) for m in every) and _CUES["child"].search(text, *asked):
        return ()
    if _CUES["also-mine"].search(_CUES["own-kin"].sub("", text[asked[0] : asked[1]])):
        return ()
    return tuple(
        m
        for m in every
        if (m in allergens or facts.is_a(m.iri, SHIYI.Condition, SHIYI.Drug))
        and (clause := question.clause_at(m.start)) != asked
        and (clause_text := text[clause[0] : clause[1]])
        and _CUES["also-mine"].search(clause_text)
        and not _CUES["kin"].search(clause_text)
        and not facts.is_a(m.iri, SHIYI.EmergencySign)
    )


def mentions_of_others(mentions: Iterable[Mention], text: QuestionText) -> tuple[Mention, ...]:
    """List the mentions in clauses about somebody else; a clause without a subject goes on.

    >>> mentions = [Mention("gout", 14, 18), Mention("insomnia", 27, 35)]
    >>> text = QuestionText.of("My mother has gout, I have insomnia")
    >>> [m.text for m in mentions_of_others(mentions, text)]
    ['gout']
    """
    mine, theirs = False, list[tuple[int, int]]()
    for start, end in text.clauses:
        clause_text = text.aligned[start:end]
        if _CUES["also-mine"].search(_CUES["own-kin"].sub("", clause_text)):
            mine = True
        elif _CUES["kin"].search(clause_text):
            mine = False
        if not mine:
            theirs.append((start, end))
    return tuple(m for m in mentions if any(a <= m.start < b for a, b in theirs))


def is_allergy_word(text: str) -> bool:
    """Return whether a word only says that somebody is allergic.

    >>> is_allergy_word("allergic"), is_allergy_word("peanut")
    (True, False)
    """
    return fold(text).startswith(tuple(frozenset().union(*word_list("words", "allergic"))))


def allergens(question: QuestionText, mentions: Iterable[Mention]) -> tuple[Mention, ...]:
    """List the mentions that the words around them say to bring on an allergy."""
    text = question.aligned
    every = [m for m in mentions if not is_allergy_word(m.text)]
    first = [
        m
        for m in every
        if (
            _CUES["allergic-after"].match(text[m.end :].lstrip())
            or _CUES["allergic-before"].search(text[max(0, m.start - 40) : m.start])
        )
        and not _is_denied(text, m)
    ]
    return _listed(text, every, first)


def foods_not_eaten(question: QuestionText, mentions: Iterable[Mention]) -> tuple[Mention, ...]:
    """List the mentions of what the words say is not eaten, where this is stated and not asked."""
    text, every = question.aligned, list(mentions)
    first = [
        m
        for m in every
        if (_CUES["not-eaten"].search(text[: m.start]) or _FREE.match(text[m.end :]))
        and not _CUES["asked-beside"].match(text[m.end :])
        and _is_own(text, m)
    ]
    return _listed(text, every, first)


def _clause_before(text: str, mention: Mention) -> str:
    return _CLAUSE_END.split(text[: mention.start])[-1]


def _is_own(text: str, mention: Mention) -> bool:
    """Return whether it is the asker who leaves it out, and not what is stated of anybody."""
    before, after = _clause_before(text, mention), text[mention.end :]
    if _CUES["because"].match(after):
        return False
    if _CUES["asker"].search(before):
        return True
    return not (_CUES["barred"].search(before) or _CUES["reported"].search(before))


def _is_denied(text: str, mention: Mention) -> bool:
    """Return whether an allergy is stated to be none; a rhetorical "am I not" is one."""
    before = _clause_before(text, mention)
    after = _CLAUSE_END.split(text[mention.end :])[0]
    denied = _CUES["not-allergic"].search(before) and not _CUES["not-only"].search(before)
    return bool(denied) and "吗" not in after


def _listed(text: str, every: Sequence[Mention], first: Iterable[Mention]) -> tuple[Mention, ...]:
    """Add what stands in one list with the first: "nuts, dairy and eggs"."""
    found = list(first)
    for here in list(found):
        chain, rest = [here], [m for m in every if m not in found]
        for step in (1, -1):
            end = here
            while nxt := next((m for m in rest if _joined(text, end, m, step)), None):
                rest.remove(nxt)
                chain.append(nxt)
                end = nxt
        found += [m for m in chain if m not in found]
    return tuple(sorted(found, key=lambda m: m.start))


def _joined(text: str, one: Mention, other: Mention, step: int) -> bool:
    before, after = (one, other) if step > 0 else (other, one)
    if before.end > after.start:
        return False
    between = text[before.end : after.start]
    if _CUES["list-and"].fullmatch(between):
        return True
    # a comma joins where the list goes on to an "and"
    tail = re.split(r"[.;?!。；？！]", text[after.end :])[0]
    return bool(_COMMA.fullmatch(between)) and bool(re.match(r"(?:,? \w+)*?,? (?:and|or) \w", tail))
