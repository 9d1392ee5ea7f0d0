"""A body of text cut into spans of a wanted length, between sentences and never in a table."""

import re
from collections.abc import Iterator

_ZH_END = re.compile(r"[。！？；…]+[”’」』）)】〕》]*[ \t\u3000]*(?:\r*\n)*")
_EN_END = re.compile(r"[.!?]+[\"'”’)\]]*(?:\s+(?=[\"'“‘(\[]?[A-Z0-9])|\s*\Z)")
_ABBREVIATED = re.compile(
    r"(?:\b(?:e\.g|i\.e|cf|etc|vs|Dr|Mr|Mrs|Prof|Fig|No|approx|ca|St)|\b[A-Z])\.\s*$"
)
_PARAGRAPH = re.compile(r"[ \t]*\r*\n(?:[ \t]*\r*\n)+")
_TABLE = re.compile(r"(?:^[ \t]*\|.*(?:\r?\n|\Z)){2,}", re.MULTILINE)
_BLANK = re.compile(r"\s+")
_WORD = re.compile(r"[A-Za-z0-9][\w'’-]*|[\u3400-\u9fff]")


def length(text: str, language: str) -> int:
    """Count what a reader counts: characters but no blanks in Chinese, words in English.

    >>> length("甘， 平。", "zh"), length("It is sweet.", "en")
    (4, 3)
    """
    if language == "zh":
        return len(text) - sum(map(len, _BLANK.findall(text)))
    return sum(1 for _ in _WORD.finditer(text))


def split(text: str, language: str, least: int, most: int) -> Iterator[tuple[int, int]]:
    """Yield spans that follow one another and cover ``text``, each of ``least`` to ``most``.

    A sentence or table longer than ``most`` is a span of its own; the last span may be short.
    """
    start = end = size = 0
    for unit in _units(text, language):
        more = length(text[end:unit], language)
        if size and size + more > most and (size >= least or more > most):
            yield start, end
            start, size = end, 0
        end, size = unit, size + more
        if size >= least and _ends_paragraph(text, start, end):
            yield start, end
            start, size = end, 0
    if start < end:
        yield start, end


def _ends_paragraph(text: str, start: int, end: int) -> bool:
    return text[start:end].rstrip(" \t").endswith("\n\n")


def _units(text: str, language: str) -> Iterator[int]:
    """Yield where each sentence, table or paragraph ends, the end of the text last."""
    tables = [each.span() for each in _TABLE.finditer(text)] if "|" in text else []
    ends = {each.end() for each in _PARAGRAPH.finditer(text)}
    if language == "zh":
        ends.update(each.end() for each in _ZH_END.finditer(text))
    else:
        ends.update(
            each.end()
            for each in _EN_END.finditer(text)
            if not _ABBREVIATED.search(text, max(0, each.start() - 12), each.end())
        )
    for start, stop in tables:
        ends = {end for end in ends if not start < end < stop} | {start, stop}
    ends.discard(0)
    ends.add(len(text))
    yield from sorted(ends)
