"""Text as labels are compared: one width, one script, one case, with the way back."""

import re
import unicodedata
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib import resources
from typing import Final

_SLOW = "\ue000"  # private use: stands for a character that folds to none or to several
_UNKNOWN = "\ufffd"
_REMEMBERED = 1 << 16  # characters, of the million that somebody may send
_GREEK = [
    "alpha",
    "beta",
    "gamma",
    "delta",
    "epsilon",
    "zeta",
    "eta",
    "theta",
    "iota",
    "kappa",
    "lambda",
    "mu",
    "nu",
    "xi",
    "omicron",
    "pi",
    "rho",
    "sigma",
    "sigma",
    "tau",
    "upsilon",
    "phi",
    "chi",
    "psi",
    "omega",
]
_LOOKALIKES = "асеорхуіѕјһԁԛԝɡɢᴏᴀᴇɪɴʀᴛ"  # Cyrillic and small capitals that pass for Latin letters
_SPECIAL = {
    **dict(zip(_LOOKALIKES, "aceopxyisjhdqwggoaeinrt", strict=True)),
    **{chr(0x3B1 + place): name for place, name in enumerate(_GREEK)},
    **dict.fromkeys("-‐‑‒–—―−_·・•/\\\u2043\ufe63", " "),
    **dict.fromkeys("'’‘`´ʼ＇", "'"),
    "µ": "mu",
    "æ": "ae",
    "œ": "oe",
    "ø": "o",
    "ł": "l",
    "đ": "d",
    "×": "x",
    "〇": "零",
}


@dataclass(frozen=True, slots=True)
class Normalised:
    """A folded text and, for each of its characters, the place it came from.

    ``origin`` has one more entry than ``text``, the length of the original; it is ``None``
    where the two texts agree place by place.
    """

    text: str
    origin: tuple[int, ...] | None = None

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Give the span of the original that ``[start, end)`` of the folded text came from.

        >>> normalise("β-胡蘿蔔素").span(5, 9)
        (2, 6)
        """
        if self.origin is None:
            return start, end
        if end <= start:
            return self.origin[start], self.origin[start]
        return self.origin[start], self.origin[end - 1] + 1


def normalise(text: str) -> Normalised:
    """Fold width, script, case, accents, Greek letters, hyphens and spaces; in linear time.

    >>> normalise("Ａloë 枸杞乾").text
    'aloe 枸杞干'
    """
    quick = text.translate(_table())
    if _SLOW not in quick and "  " not in quick:
        return Normalised(quick)
    return _normalise_slowly(text)


def fold(text: str) -> str:
    """Give the folded text alone, without spaces at its ends.

    >>> fold(" Omega‑3 ")
    'omega 3'
    """
    return normalise(text).text.strip()


def is_cjk(character: str) -> bool:
    """Say whether this is a Chinese character.

    >>> is_cjk("枸"), is_cjk("g"), is_cjk("。")
    (True, False, False)
    """
    return "\u3400" <= character <= "\u9fff" or "\U00020000" <= character <= "\U0003ffff"


def has_cjk(text: str) -> bool:
    """Say whether a Chinese character is in a text.

    >>> has_cjk("vc片"), has_cjk("goji")
    (True, False)
    """
    return not text.isascii() and any(map(is_cjk, text))


def is_latin(character: str) -> bool:
    """Say whether this folded character belongs to a word in Latin script, or a number."""
    return character.isascii() and (character.isalnum() or character == "'")


_PINYIN: Final = re.compile(  # words of questions that are no English
    r"\b(?:shen ?me|zen ?me(?:yang|ban)?|ke ?yi (?:chi|he)|neng (?:bu neng )?(?:chi|he)|ke bu ke yi|chi dian|you shen)\b"
)


def language_of(text: str) -> str:
    """Tell ``zh`` from ``en`` by the characters: a Chinese one counts as three letters.

    >>> language_of("吃warfarin可以吃枸杞吗"), language_of("Can I eat goji (枸杞)?")
    ('zh', 'en')
    >>> language_of("🙂")
    'en'
    >>> language_of("wo shi mian chi shen me"), language_of("he has a ma")
    ('zh', 'en')
    """
    if text.isascii() and _PINYIN.search(text.lower()):
        return "zh"
    chinese = sum(map(is_cjk, text[:4000]))
    latin = sum(character.isascii() and character.isalpha() for character in text[:4000])
    return "zh" if chinese * 3 > latin else "en"


class _Table(dict[int, str]):
    """Folds characters one by one, on first sight."""

    def __missing__(self, point: int) -> str:
        folded = _fold_character(chr(point))
        if len(self) >= _REMEMBERED:
            self.clear()
        self[point] = folded if len(folded) == 1 else _SLOW
        return self[point]


@cache
def _table() -> _Table:
    return _Table()


@cache
def _simplified() -> dict[str, str]:
    """Map each traditional character to its usual simplified one, after OpenCC."""
    listed = resources.files("opencc").joinpath("dictionary", "TSCharacters.txt")
    rows = (line.split("\t") for line in listed.read_text("utf-8").splitlines() if "\t" in line)
    return {row[0]: row[1].split(" ")[0] for row in rows}


@lru_cache(_REMEMBERED)
def _fold_character(character: str) -> str:
    category = unicodedata.category(character)
    if category in {"Cs", "Co"}:
        return _UNKNOWN
    if category in {"Cf", "Mn", "Me"}:
        return ""
    if category in {"Zs", "Zl", "Zp", "Cc"}:
        return " "
    if (special := _SPECIAL.get(character)) is not None:
        return special
    parts = (
        _SPECIAL.get(part) or _simplified().get(part, part)
        for part in unicodedata.normalize("NFKD", character).casefold()
        if unicodedata.category(part) not in {"Mn", "Me", "Cf"}
    )
    folded = "".join(parts)
    return " " if folded.isspace() else folded


def _normalise_slowly(text: str) -> Normalised:
    kept: list[str] = []
    origin: list[int] = []
    for place, character in enumerate(text):
        for folded in _fold_character(character):
            if folded == " " and kept and kept[-1] == " ":
                continue
            kept.append(folded)
            origin.append(place)
    origin.append(len(text))
    return Normalised("".join(kept), tuple(origin))
