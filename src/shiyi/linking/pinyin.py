"""Chinese names as they are typed in Latin letters."""

import re
from functools import cache
from itertools import chain

from shiyi.linking.normalise import has_cjk, is_cjk

_LETTERS = re.compile("[a-z]+")


def syllables(text: str) -> tuple[str, ...]:
    """Give the toneless pinyin of the Chinese characters, ``ü`` as ``v``; others are left out.

    >>> syllables("枸杞子")
    ('gou', 'qi', 'zi')
    """
    if not has_cjk(text):
        return ()
    chinese = "".join(filter(is_cjk, text))
    from pypinyin.contrib.mmseg import seg

    return tuple(chain.from_iterable(map(_said, seg.cut(chinese))))


@cache
def _said(word: str) -> list[str]:
    """Give the pinyin of a character, or of a word that is said as its dictionary says."""
    from pypinyin import lazy_pinyin

    found: list[str] = lazy_pinyin([word], errors="ignore", v_to_u=False)
    return found


def joined(text: str) -> str:
    """Give folded Latin letters as one word, so that spacing does not matter.

    >>> joined("gou qi")
    'gouqi'
    """
    return "".join(_LETTERS.findall(text))


def blurred(spoken: tuple[str, ...]) -> tuple[str, ...]:
    """Drop what many speakers do not tell apart: zh/z, ch/c, sh/s, l/n, -ng/-n.

    >>> blurred(("shan", "zheng"))
    ('san', 'zen')
    """
    return tuple(map(_blurred, spoken))


@cache
def _blurred(syllable: str) -> str:
    return re.sub("^l", "n", re.sub("^([zcs])h", r"\1", re.sub("ng$", "n", syllable)))


def finals(spoken: tuple[str, ...]) -> tuple[str, ...]:
    """Drop the initial of each syllable.

    >>> finals(("gou", "qi", "zi"))
    ('ou', 'i', 'i')
    """
    return tuple(each.lstrip("bpmfdtnlgkhjqxzcsryw") for each in spoken)
