"""Width, script, case folding and pinyin of a text; its clauses and its words."""

import itertools
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any, Final, Self

from shiyi.ontology.lexicon import cues, rows

_SLOW = "\ue000"  # private use: stands for a character that folds to none or to several
_UNKNOWN = "\ufffd"
_REMEMBERED = 1 << 16  # characters, of the million that somebody may send
_GREEK = [
    "alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta", "iota", "kappa", "lambda",
    "mu", "nu", "xi", "omicron", "pi", "rho", "sigma", "sigma", "tau", "upsilon", "phi", "chi",
    "psi", "omega",
]  # fmt: skip
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
class NormalizedText:
    """A folded text and, for each of its characters, the place it came from.

    ``origin`` has one more entry than ``text``, the length of the original; it is ``None``
    where the two texts agree place by place.
    """

    text: str
    origin: tuple[int, ...] | None = None

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Return the span of the original that ``[start, end)`` of the folded text came from."""
        if self.origin is None:
            return start, end
        if end <= start:
            return self.origin[start], self.origin[start]
        return self.origin[start], self.origin[end - 1] + 1


def normalise(text: str) -> NormalizedText:
    """Fold width, script, case, accents, Greek letters, hyphens and spaces; in linear time.

    >>> normalise("Ａloë").text
    'aloe'
    """
    quick = text.translate(_table())
    if _SLOW not in quick and "  " not in quick:
        return NormalizedText(quick)
    return _normalise_slowly(text)


def fold(text: str) -> str:
    """Return the folded text alone, without spaces at its ends.

    >>> fold(" Omega‑3 ")
    'omega 3'
    """
    return normalise(text).text.strip()


def is_cjk(character: str) -> bool:
    """Return whether this is a Chinese character."""
    return "\u3400" <= character <= "\u9fff" or "\U00020000" <= character <= "\U0003ffff"


def has_cjk(text: str) -> bool:
    """Return whether a Chinese character is in a text."""
    return not text.isascii() and any(map(is_cjk, text))


def is_latin(character: str) -> bool:
    """Return whether this folded character belongs to a word in Latin script, or a number."""
    return character.isascii() and (character.isalnum() or character == "'")


_PINYIN: Final = re.compile(  # words of questions that are no English
    r"\b(?:shen ?me|zen ?me(?:yang|ban)?|ke ?yi (?:chi|he)|neng (?:bu neng )?(?:chi|he)"
    r"|ke bu ke yi|chi dian|you shen)\b"
)


def language_of(text: str) -> str:
    """Return ``zh`` or ``en`` by counting characters; a Chinese one counts as three letters.

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


def is_traditional(text: str) -> bool:
    """Return whether a Chinese text is written in traditional characters.

    >>> is_traditional("食緊華法林可唔可以食杞子"), is_traditional("吃华法林能吃枸杞吗")
    (True, False)
    """
    return sum(c in _simplified_characters() for c in text) > sum(
        c in _only_simplified() for c in text
    )


def to_traditional(text: str) -> str:
    """Return a Chinese text in traditional characters, after OpenCC.

    >>> to_traditional("孕妇忌用干姜")
    '孕婦忌用乾薑'
    """
    return cues("marks")["dry"].sub("\u4e7e", str(_converter("s2hk").convert(text)))


@cache
def _converter(name: str) -> Any:
    from opencc import OpenCC

    return OpenCC(name)


@cache
def _only_simplified() -> frozenset[str]:
    """List the simplified characters that no text in traditional ones is written with."""
    characters = dict.fromkeys(_simplified_characters().values())
    return frozenset(each for each in characters if to_traditional(each) != each)


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
def _simplified_characters() -> dict[str, str]:
    """Map each traditional character to its usual simplified one, after OpenCC."""
    characters = [chr(point) for point in (*range(0x3400, 0xA000), *range(0x20000, 0x32000))]
    lines = _converter("t2s").convert("\n".join(characters)).split("\n")  # no word spans a line
    return {one: other for one, other in zip(characters, lines, strict=True) if one != other}


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
        _SPECIAL.get(part) or _simplified_characters().get(part, part)
        for part in unicodedata.normalize("NFKD", character).casefold()
        if unicodedata.category(part) not in {"Mn", "Me", "Cf"}
    )
    folded = "".join(parts)
    return " " if folded.isspace() else folded


def _normalise_slowly(text: str) -> NormalizedText:
    characters: list[str] = []
    origin: list[int] = []
    for place, character in enumerate(text):
        for folded in _fold_character(character):
            if folded == " " and characters and characters[-1] == " ":
                continue
            characters.append(folded)
            origin.append(place)
    origin.append(len(text))
    return NormalizedText("".join(characters), tuple(origin))


_LETTERS = re.compile("[a-z]+")


def syllables(text: str) -> tuple[str, ...]:
    """Return the toneless pinyin of the Chinese characters, ``ü`` as ``v``; others are left out."""
    if not has_cjk(text):
        return ()
    chinese = "".join(filter(is_cjk, text))
    from pypinyin.contrib.mmseg import seg

    return tuple(itertools.chain.from_iterable(map(_pinyin_of, seg.cut(chinese))))


@cache
def _pinyin_of(word: str) -> list[str]:
    """Return the pinyin of a character, or of a word as the dictionary of pypinyin has it."""
    from pypinyin import lazy_pinyin

    results: list[str] = lazy_pinyin([word], errors="ignore", v_to_u=False)
    return results


def join_latin(text: str) -> str:
    """Return folded Latin letters as one word, so that spacing does not matter.

    >>> join_latin("gou qi")
    'gouqi'
    """
    return "".join(_LETTERS.findall(text))


def merge_similar_sounds(spoken: tuple[str, ...]) -> tuple[str, ...]:
    """Drop what many speakers do not tell apart: zh/z, ch/c, sh/s, l/n, -ng/-n.

    >>> merge_similar_sounds(("shan", "zheng"))
    ('san', 'zen')
    """
    return tuple(map(_merge_syllable, spoken))


@cache
def _merge_syllable(syllable: str) -> str:
    return re.sub("^l", "n", re.sub("^([zcs])h", r"\1", re.sub("ng$", "n", syllable)))


def finals(spoken: tuple[str, ...]) -> tuple[str, ...]:
    """Drop the initial of each syllable.

    >>> finals(("gou", "qi", "zi"))
    ('ou', 'i', 'i')
    """
    return tuple(each.lstrip("bpmfdtnlgkhjqxzcsryw") for each in spoken)


CLAUSE_END: Final = r"[。！？；，,.?!;\n]"
_ENDS: Final = re.compile(rf"{CLAUSE_END}|\b(?:and|but) (?=i(?:'m|'ve)? )")
_BLANK: Final = "□"


@dataclass(frozen=True, slots=True)
class QuestionText:
    """The words of a question, folded once for all that read them.

    >>> text = QuestionText.of(" Β-carotene, OK? ")
    >>> text.folded, text.aligned, text.spaced
    ('beta carotene, ok?', ' b carotene, ok? ', ' beta carotene ok ')
    """

    raw: str
    language: str
    folded: str  # as labels are, without spaces at the ends
    aligned: str  # folded, each character where it was: what stands beside a mention is read here
    spaced: str  # folded words between single spaces, for matching whole English words
    clauses: tuple[tuple[int, int], ...]  # of ``aligned``, their marks with them

    @classmethod
    def of(cls, raw: str, language: str = "") -> Self:
        """Fold a text; its language is read from the characters where none is given."""
        normalised = normalise(raw)
        folded, aligned = normalised.text.strip(), _align(raw, normalised)
        ends = (m.end() for m in _ENDS.finditer(aligned))
        clauses = tuple(itertools.pairwise([0, *ends, len(aligned)]))
        return cls(raw, language or language_of(raw), folded, aligned, space_words(folded), clauses)

    def clause_at(self, place: int) -> tuple[int, int]:
        """Return where the clause that holds a place begins and ends.

        >>> QuestionText.of("My mother has gout, I do not").clause_at(20)
        (19, 28)
        """
        return next(clause for clause in reversed(self.clauses) if clause[0] <= place)

    def without(self, spans: Iterable[tuple[int, int]]) -> "QuestionText":
        """Return the text with some spans blanked out, so that no cue is read in them.

        >>> QuestionText.of("green tea?").without([(0, 5)]).raw
        '□□□□□ tea?'
        """
        raw = blank_spans(self.raw, spans)
        return self if raw == self.raw else QuestionText.of(raw, self.language)


def blank_spans(text: str, spans: Iterable[tuple[int, int]]) -> str:
    """Blank out some spans of a text."""
    for start, end in spans:
        text = text[:start] + _BLANK * (end - start) + text[end:]
    return text


def space_words(folded: str) -> str:
    """Return folded English words between single spaces, with one at either end.

    >>> space_words("can i, please?")
    ' can i please '
    """
    letters = "".join(c if c.isalnum() or c == "'" else " " for c in folded)
    return f" {' '.join(letters.split())} "


def _align(text: str, normalised: NormalizedText) -> str:
    """Keep the length: a character that folds to none is a space, to several the first of them."""
    if normalised.origin is None:
        return normalised.text
    characters = [" "] * len(text)
    pairs = zip(reversed(normalised.origin[:-1]), reversed(normalised.text), strict=True)
    for place, character in pairs:
        characters[place] = character
    return "".join(characters)


def distance(one: str, other: str, limit: int) -> int:
    """Count insertions, deletions, substitutions and swaps of neighbours, up to ``limit`` + 1.

    >>> distance("gingko", "ginkgo", 1), distance("prednisone", "prednisolone", 1)
    (1, 2)
    """
    if abs(len(one) - len(other)) > limit:
        return limit + 1
    before: list[int] = []
    row = list(range(len(other) + 1))
    for i, left in enumerate(one, 1):
        earlier, before, row = before, row, [i]
        for j, right in enumerate(other, 1):
            cost = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (left != right))
            if i > 1 and j > 1 and left == other[j - 2] and one[i - 2] == right:
                cost = min(cost, earlier[j - 2] + 1)
            row.append(cost)
        if min(row) > limit:
            return limit + 1
    return row[-1]


STOP_WORDS: Final = frozenset((  # words that ask, and tell nothing apart
    "a", "an", "the", "and", "or", "of", "for", "in", "on", "to", "with", "is", "are", "was",
    "be", "do", "does", "did", "can", "may", "should", "could", "would", "i", "my", "me", "you",
    "it", "what", "which", "how", "when", "why", "who", "that", "this", "there", "have", "has",
    "if", "as", "at", "by", "from", "not", "any", "some", "about", "tell", "eat", "take", "get",
    "什么", "是什", "可以", "怎么", "哪些", "如何",
    "能不", "不能", "以吗", "么好", "吗", "的", "了", "呢", "吃什", "喝什", "请问", "我的",
    "能吃", "能喝", "吃吗", "喝吗",
))  # fmt: skip


def words(text: str) -> list[str]:
    """Return the words of a text; Chinese runs become pairs, a lone character stays as it is.

    >>> words("枸杞子, 姜 goji-berry")
    ['枸杞', '杞子', '姜', 'goji', 'berry']
    """
    tokens: list[str] = []
    for kind, run in itertools.groupby(fold(text), _script):
        letters = "".join(run)
        if kind == "cjk":
            tokens += [a + b for a, b in itertools.pairwise(letters)] or [letters]
        elif kind == "word":
            tokens.append(letters)
    return tokens


@lru_cache(maxsize=1 << 16)
def _script(character: str) -> str:
    if is_cjk(character):
        return "cjk"
    return "word" if character.isalnum() else ""


ORDINARY: Final = 3.0  # on the Zipf scale, as in the table: once in a million words
_ALONE: Final = 4.0  # from which one Chinese character is an ordinary word
_COST: Final = 9.0  # of a word: its probability is 10 to the power of its frequency less this
_LONGEST: Final = 4  # characters of a Chinese word
_LATIN_WORD: Final = re.compile("[a-z0-9]+(?:'[a-z]+)?")
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
        words = _LATIN_WORD.findall(text)
        return bool(words) and all(map(is_word, words))
    return all(
        is_word(text[a:b], ORDINARY if b - a > 1 else _ALONE) for a, b in chinese_words(text)
    )


def chinese_words(text: str) -> Iterator[tuple[int, int]]:
    """Yield the words of Chinese text, cut where they are likeliest together.

    >>> [text[a:b] for text in ["吃完虾马上吃"] for a, b in chinese_words(text)]
    ['吃', '完', '虾', '马上', '吃']
    """
    yield from itertools.pairwise(_cut(text))


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
