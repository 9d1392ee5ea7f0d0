"""How far two texts share words: BLEU-4 and GLEU, by character for Chinese."""

import math
import re
from collections import Counter
from collections.abc import Sequence

_TOKEN = re.compile(r"[\u3400-\u9fff]|[^\W\u3400-\u9fff]+|[^\s\w]")


def tokens(text: str) -> list[str]:
    """Part a text into Chinese characters, words and marks.

    >>> tokens("枸杞 goji, 1")
    ['枸', '杞', 'goji', ',', '1']
    """
    return _TOKEN.findall(text.lower())


def bleu4(said: str, reference: str) -> float:
    """Give sentence BLEU-4 in [0, 100], add-one smoothed above unigrams (Lin and Och 2004).

    >>> bleu4("a b c d e", "a b c d e")
    100.0
    >>> round(bleu4("a b c x", "a b c d"), 2)  # (3/4 * 3/4 * 2/3 * 1/2) ** (1/4)
    65.8
    """
    ours, theirs = tokens(said), tokens(reference)
    if not ours or not theirs:
        return 0.0
    logs = 0.0
    for size in (1, 2, 3, 4):
        shared, total, _ = _shared(ours, theirs, size)
        plus = 0 if size == 1 else 1
        if shared + plus == 0:
            return 0.0
        logs += math.log((shared + plus) / (total + plus)) / 4
    brevity = min(0.0, 1 - len(theirs) / len(ours))
    return 100 * math.exp(brevity + logs)


def gleu(said: str, reference: str) -> float:
    """Give Google's GLEU in [0, 100]: the lesser of precision and recall over 1- to 4-grams.

    >>> gleu("a b", "a b c d")  # 3 shared of 3 ours and 10 theirs
    30.0
    """
    ours, theirs = tokens(said), tokens(reference)
    counts = [_shared(ours, theirs, size) for size in (1, 2, 3, 4)]
    shared, mine, other = (sum(column) for column in zip(*counts, strict=True))
    return 100 * shared / max(mine, other) if max(mine, other) else 0.0


def _shared(ours: Sequence[str], theirs: Sequence[str], size: int) -> tuple[int, int, int]:
    mine, other = _grams(ours, size), _grams(theirs, size)
    return sum((mine & other).values()), sum(mine.values()), sum(other.values())


def _grams(words: Sequence[str], size: int) -> Counter[tuple[str, ...]]:
    return Counter(tuple(words[i : i + size]) for i in range(len(words) - size + 1))
