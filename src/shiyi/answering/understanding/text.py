"""The text of a question: as written, folded, in English words and in clauses."""

import itertools
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Self

from shiyi.linking.normalization import Normalised, language_of, normalise

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
        folded, aligned = normalised.text.strip(), _aligned(raw, normalised)
        ends = (m.end() for m in _ENDS.finditer(aligned))
        clauses = tuple(itertools.pairwise([0, *ends, len(aligned)]))
        return cls(raw, language or language_of(raw), folded, aligned, spaced(folded), clauses)

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
        raw = blanked(self.raw, spans)
        return self if raw == self.raw else QuestionText.of(raw, self.language)


def blanked(text: str, spans: Iterable[tuple[int, int]]) -> str:
    """Blank out some spans of a text."""
    for start, end in spans:
        text = text[:start] + _BLANK * (end - start) + text[end:]
    return text


def spaced(folded: str) -> str:
    """Return folded English words between single spaces, with one at either end.

    >>> spaced("can i, please?")
    ' can i please '
    """
    letters = "".join(c if c.isalnum() or c == "'" else " " for c in folded)
    return f" {' '.join(letters.split())} "


def _aligned(text: str, normalised: Normalised) -> str:
    """Keep the length: a character that folds to none is a space, to several the first of them."""
    if normalised.origin is None:
        return normalised.text
    characters = [" "] * len(text)
    pairs = zip(reversed(normalised.origin[:-1]), reversed(normalised.text), strict=True)
    for place, character in pairs:
        characters[place] = character
    return "".join(characters)
