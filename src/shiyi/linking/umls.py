"""From a mention to a CUI after QuickUMLS and iDISK's rule; "no CUI" is an answer."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from shiyi.linking.context import GENERIC
from shiyi.linking.near import LONG, distance
from shiyi.linking.normalise import fold, normalise
from shiyi.linking.surfaces import inflections
from shiyi.linking.umls_names import FoundName, UmlsNames
from shiyi.linking.umls_types import accepts
from shiyi.linking.words import phrases

WINDOW = 5  # tokens, QuickUMLS
SHORTEST = 3  # characters of a match in running text, QuickUMLS
_FORGIVEN = 5  # letters from which a word may have one wrong letter, ours
_MAX_TOKENS = 2000  # of one text
_WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)?")
EXACT, CLOSE, BROAD = "skos:exactMatch", "skos:closeMatch", "skos:broadMatch"


@dataclass(frozen=True, slots=True)
class UmlsMatch:
    """A CUI for ``[start, end)`` of a text; a broad match names only a part of what is said."""

    start: int
    end: int
    cui: str
    name: str
    similarity: float
    preferred: bool
    predicate: str


class UmlsLinker:
    """Gives a mention its CUI where a name covers the whole of it."""

    def __init__(self, names: UmlsNames, retired: Mapping[str, str] | None = None) -> None:
        """Take ``retired`` from MRCUI; the CUIs of the names are brought up to date by it."""
        self._names, self._retired = names, retired or {}

    def link(self, mention: str, kind: str = "") -> UmlsMatch | None:
        """Give the CUI of a whole mention that may be of class ``kind``, or nothing.

        After iDISK: a preferred name that is the same; a name that is the same; the most alike
        of the preferred names. Ours: no word of the mention may be left over.
        """
        for predicates in ((EXACT,), (EXACT, CLOSE)):
            covering = [
                each for each in self.candidates(mention, kind) if each.predicate in predicates
            ]
            if best := _chosen(covering):
                return best
        return None

    def candidates(self, mention: str, kind: str = "") -> tuple[UmlsMatch, ...]:
        """Give every name at least 0.7 like the mention or its class synonym, most alike first."""
        folded = fold(mention)
        folded = _class_synonyms().get(folded, folded)
        if _generic(folded):
            return ()
        return tuple(
            self._match(mention, folded, each, cui)
            for each in self._names.similar(folded)
            if accepts(kind, each.types)
            and not _generic(each.text)
            and (cui := self.current(each.cui))
            and not _refused(folded, each.text, cui)
        )

    def current(self, cui: str) -> str:
        """Give the CUI that stands today for ``cui``, "" where it was deleted."""
        return self._retired.get(cui, cui)

    def find(self, text: str, kind: str = "") -> tuple[UmlsMatch, ...]:
        """Link running text: windows of up to five words, the most alike and longest first."""
        folded = normalise(text)
        words = [each.span() for each in _WORD.finditer(folded.text)][:_MAX_TOKENS]
        tried = {
            (words[first][0], words[last][1])
            for first in range(len(words))
            for last in range(first, min(first + WINDOW, len(words)))
            if words[last][1] - words[first][0] >= SHORTEST
        }
        known: dict[str, UmlsMatch | None] = {}
        found = []
        for start, end in sorted(tried):
            window = folded.text[start:end]
            if window not in known:
                known[window] = self.link(window, kind)
            if (match := known[window]) is not None:
                found.append((start, end, match))
        found.sort(key=lambda each: (-each[2].similarity, each[0] - each[1], each[0]))
        kept: list[tuple[int, int, UmlsMatch]] = []
        for start, end, match in found:
            if all(end <= one or start >= other for one, other, _ in kept):
                kept.append((start, end, match))
        return tuple(
            UmlsMatch(*folded.span(start, end), match.cui, match.name, match.similarity,
                      match.preferred, match.predicate)
            for start, end, match in sorted(kept, key=lambda each: each[0])
        )  # fmt: skip

    def _match(self, mention: str, folded: str, name: FoundName, cui: str) -> UmlsMatch:
        predicate = EXACT
        if name.similarity < 1 or folded != name.text:
            predicate = CLOSE if covers(folded, name.text) else BROAD
        return UmlsMatch(
            0, len(mention), cui, name.text, name.similarity, name.preferred, predicate
        )


def covers(mention: str, name: str) -> bool:
    """Say whether each word of either text has its counterpart in the other.

    Words of five letters on may differ by one letter (two from twelve on), or by number;
    shorter ones and figures may not: vitamin D is not vitamin B.

    >>> covers("goji berries", "goji berry"), covers("vitamin d", "vitamin b")
    (True, False)
    """
    one, other = _WORD.findall(mention), _WORD.findall(name)
    if len(one) != len(other):
        return "".join(one) == "".join(other)
    for word in one:
        match = next((each for each in other if _same(word, each)), None)
        if match is None:
            return False
        other.remove(match)
    return True


def _same(one: str, other: str) -> bool:
    if one == other or other in inflections(one) or one in inflections(other):
        return True
    shorter = min(len(one), len(other))
    if shorter < _FORGIVEN or not (one.isalpha() and other.isalpha()):
        return False
    allowed = 2 if shorter >= LONG else 1
    return distance(one, other, allowed) <= allowed


def _chosen(matches: Sequence[UmlsMatch]) -> UmlsMatch | None:
    """Choose by iDISK's rule; names of several CUIs that are as good decide nothing."""
    for wanted in (
        [each for each in matches if each.similarity == 1 and each.preferred],
        [each for each in matches if each.similarity == 1],
        [each for each in matches if each.preferred],
    ):
        if wanted:
            most = max(each.similarity for each in wanted)
            best = [each for each in wanted if each.similarity == most]
            return best[0] if len({each.cui for each in best}) == 1 else None
    return None


def _generic(folded: str) -> bool:
    words = _WORD.findall(folded)
    return all(word in GENERIC or word.isdigit() or len(word) == 1 for word in words)


@cache
def _class_synonyms() -> dict[str, str]:
    """Map what people call a class of medicines to the name it has in UMLS."""
    rows = (line.split("\t") for line in phrases("medicine-classes"))
    return {fold(said): fold(name) for said, name in rows}


@cache
def _wrong() -> frozenset[tuple[str, str]]:
    return frozenset(
        (fold(name), cui) for name, cui, *_ in (row.split("\t") for row in phrases("wrong-cuis"))
    )


def _refused(mention: str, name: str, cui: str) -> bool:
    wrong = _wrong()
    return not {("*", cui), (mention, cui), (name, cui)}.isdisjoint(wrong)
