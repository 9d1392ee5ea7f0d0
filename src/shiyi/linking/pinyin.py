"""Chinese names as they are typed in Latin letters."""

import re

from shiyi.linking.normalise import is_cjk

_LETTERS = re.compile("[a-z]+")


def syllables(text: str) -> tuple[str, ...]:
    """Give the toneless pinyin of the Chinese characters, ``ü`` as ``v``; others are left out.

    >>> syllables("枸杞子")
    ('gou', 'qi', 'zi')
    """
    chinese = "".join(filter(is_cjk, text))
    if not chinese:
        return ()
    from pypinyin import lazy_pinyin

    return tuple(lazy_pinyin(chinese, errors="ignore", v_to_u=False))


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
    return tuple(
        re.sub("^l", "n", re.sub("^([zcs])h", r"\1", re.sub("ng$", "n", each))) for each in spoken
    )


def finals(spoken: tuple[str, ...]) -> tuple[str, ...]:
    """Drop the initial of each syllable.

    >>> finals(("gou", "qi", "zi"))
    ('ou', 'i', 'i')
    """
    return tuple(each.lstrip("bpmfdtnlgkhjqxzcsryw") for each in spoken)
