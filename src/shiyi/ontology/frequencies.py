"""How ordinary words are: their frequency in Chinese and English, and Chinese cut into words."""

import re
from collections.abc import Iterator, Mapping
from functools import cache, lru_cache
from itertools import pairwise
from typing import Final

from shiyi.ontology.lexicon import rows

ORDINARY: Final = 3.0  # on the Zipf scale, as in the table: once in a million words
_ALONE: Final = 4.0  # from which one Chinese character is an ordinary word
_COST: Final = 9.0  # of a word: its probability is 10 to the power of its frequency less this
_LONGEST: Final = 4  # characters of a Chinese word
_WORD: Final = re.compile("[a-z0-9]+(?:'[a-z]+)?")
_ENDING: Final = re.compile("(?:'[a-z]+|s)$")


@cache
def frequencies() -> Mapping[str, float]:
    """Return the frequency of each word of ``ontology/lexicon/frequencies.tsv``.

    >>> frequencies()["table"] >= 5, frequencies().get("foxglove")
    (True, None)
    """
    return {word: float(zipf) for _, zipf, words in rows("frequencies") for word in words.split()}


def frequency(word: str) -> float:
    """Return the frequency of one folded word, in English also of its stem; 0 of a rare one.

    >>> frequency("mushroom's") == frequency("mushroom")
    True
    """
    known = frequencies()
    return max(known.get(word, 0.0), known.get(_ENDING.sub("", word), 0.0))


def is_word(text: str, minimum: float = ORDINARY) -> bool:
    """Return whether folded text is one word that is written often.

    >>> is_word("table"), is_word("table salt"), is_word("velmora"), is_word("三期")
    (True, False, False, True)
    """
    return frequency(text) >= minimum


def is_ordinary(text: str) -> bool:
    """Return whether folded text is made of ordinary words.

    >>> is_ordinary("balcony table"), is_ordinary("velmora root")
    (True, False)
    >>> is_ordinary("篮子里"), is_ordinary("雪魄草")
    (True, False)
    """
    if text.isascii():
        words = _WORD.findall(text)
        return bool(words) and all(map(is_word, words))
    return all(
        is_word(text[a:b], ORDINARY if b - a > 1 else _ALONE) for a, b in chinese_words(text)
    )


def chinese_words(text: str) -> Iterator[tuple[int, int]]:
    """Yield the words of Chinese text, cut where they are likeliest together.

    >>> [text[a:b] for text in ["吃完虾马上吃"] for a, b in chinese_words(text)]
    ['吃', '完', '虾', '马上', '吃']
    """
    yield from pairwise(_cut(text))


@lru_cache(4096)
def _cut(text: str) -> tuple[int, ...]:
    known, best = frequencies(), [(0.0, 0)]
    for end in range(1, len(text) + 1):
        best.append(
            max(
                (best[start][0] + known.get(text[start:end], 0.0) - _COST, start)
                for start in range(max(0, end - _LONGEST), end)
                if end - start == 1 or text[start:end] in known
            )
        )
    ends = [len(text)]
    while ends[-1]:
        ends.append(best[ends[-1]][1])
    return tuple(reversed(ends))
