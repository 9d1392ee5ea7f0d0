"""The words of a text that no name covered and that still say something."""

import re
from collections.abc import Iterator, Sequence

from shiyi.linking.context import GENERIC
from shiyi.linking.normalise import is_cjk
from shiyi.linking.words import words

_EN_STOP = words("questions-en") | GENERIC
_ZH_STOP = words("questions-zh")
_NUMBER = "[0-9一二三四五六七八九十两几半多]+(?:毫克|公斤|千克|[克个次天年月周岁片粒杯碗颗])"
_ZH_PATTERN = re.compile(
    _NUMBER + "|" + "|".join(sorted(map(re.escape, _ZH_STOP), key=len, reverse=True))
)
_ZH_RUN = re.compile(
    "[\u3400-\u9fff\U00020000-\U0003ffff][\u3400-\u9fff\U00020000-\U0003ffffa-z0-9]*"
)
_EN_WORD = re.compile(r"[a-z0-9][a-z0-9'+]*")
_EN_GAP = re.compile(r"[ ]*")


def uncovered(text: str, covered: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Yield the spans between ``covered`` ones, in order."""
    reached = 0
    for start, end in covered:
        if start > reached:
            yield reached, start
        reached = max(reached, end)
    if reached < len(text):
        yield reached, len(text)


def chinese_runs(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield the runs of Chinese characters in ``[start, end)``, words of grammar and all."""
    for run in _ZH_RUN.finditer(text, start, end):
        yield run.span()


def chinese_words(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield what stays of a run of Chinese when the words of questions are cut out."""
    reached = start
    for stop in _ZH_PATTERN.finditer(text, start, end):
        if stop.start() > reached:
            yield reached, stop.start()
        reached = stop.end()
    if end > reached:
        yield reached, end


def latin_words(text: str, start: int, end: int) -> Iterator[list[tuple[int, int]]]:
    """Yield groups of neighbouring Latin content words, as the spans of their words."""
    group: list[tuple[int, int]] = []
    for word in _EN_WORD.finditer(text, start, end):
        stop = word.group() in _EN_STOP or word.group().isdigit() or len(word.group()) < 2
        apart = group and not _EN_GAP.fullmatch(text, group[-1][1], word.start())
        if (stop or apart) and group:
            yield group
            group = []
        if not stop:
            group.append(word.span())
    if group:
        yield group


def is_grammar(text: str) -> bool:
    """Say whether Chinese text is made of words of questions alone.

    >>> is_grammar("可以吃吗"), is_grammar("睡不踏实")
    (True, False)
    """
    return not any(True for _ in chinese_words(text, 0, len(text)))


def cuts_grammar(text: str, start: int, end: int) -> bool:
    """Say whether ``[start, end)`` lies between the halves of two words of questions.

    >>> cuts_grammar("多久可以吃", 1, 3), cuts_grammar("久壳可以吃", 0, 2)
    (True, False)
    """
    return text[max(start - 1, 0) : start + 1] in _ZH_STOP and text[end - 1 : end + 1] in _ZH_STOP


def is_content(text: str) -> bool:
    """Say whether a left-over chunk is worth telling that it is unknown.

    >>> is_content("奥司他韦"), is_content("的"), is_content("药物")
    (True, False, False)
    """
    if text in GENERIC:
        return False
    return len(text) >= 2 if is_cjk(text[0]) else len(text) >= 3
