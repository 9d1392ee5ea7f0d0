"""Mention to CUI (QuickUMLS, iDISK rule)."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from shiyi.linking.candidates import LONG
from shiyi.linking.dictionary import inflections
from shiyi.linking.disambiguation import GENERIC, read_lines
from shiyi.linking.normalization import distance, fold, normalise
from shiyi.linking.umls.index import FORGIVEN, WORD, UmlsNameMatch, UmlsNames, split_words
from shiyi.linking.umls.semantic_types import accepts

WINDOW = 5  # tokens, QuickUMLS
SHORTEST = 3  # characters of a match in running text, QuickUMLS
_MAX_TOKENS = 2000  # of one text
EXACT, CLOSE, BROAD = "skos:exactMatch", "skos:closeMatch", "skos:broadMatch"


@dataclass(frozen=True, slots=True)
class UmlsMatch:
    """A CUI for ``[start, end)`` of a text; a broad match names only a part of what is stated."""

    start: int
    end: int
    cui: str
    name: str
    similarity: float
    preferred: bool
    predicate: str


class UmlsLinker:
    """Links a mention to its CUI where a name covers the whole of it."""

    def __init__(self, names: UmlsNames, retired: Mapping[str, str] | None = None) -> None:
        """Replace the CUIs of the names that are ``retired`` in MRCUI."""
        self._names, self._retired = names, retired or {}

    def link(self, mention: str, kind: str = "") -> UmlsMatch | None:
        """Return the CUI of a whole mention that may be of class ``kind``, or nothing.

        After iDISK: a preferred name that is the same; a name that is the same; the most alike
        of the preferred names. Shiyi's: no word of the mention may be left over.
        """
        return self._best(self.candidates(mention, kind))

    def candidates(self, mention: str, kind: str = "") -> tuple[UmlsMatch, ...]:
        """Return the names at least 0.7 like the mention or its class synonym, best first."""
        folded = fold(mention)
        folded = _class_synonyms().get(folded, folded)
        return self._usable(folded, kind, self._names.similar(folded), len(mention))

    def current(self, cui: str) -> str:
        """Return the CUI that stands today for ``cui``, "" where it was deleted."""
        return self._retired.get(cui, cui)

    def find(self, text: str, kind: str = "") -> tuple[UmlsMatch, ...]:
        """Link running text: windows of up to five words, the most alike and longest first.

        Looked for by its words, in any number and order, and where a word is unknown and one
        letter from a known one, by likeness.
        """
        folded = normalise(text)
        results = self._in_known_words(folded.text, kind)
        exact = [(start, end) for start, end, match in results if match.similarity == 1]
        results += self._misspelt(folded.text, kind, exact)
        results.sort(key=lambda row: (-row[2].similarity, row[0] - row[1], row[0]))
        chosen: list[tuple[int, int, UmlsMatch]] = []
        for start, end, match in results:
            if all(end <= one or start >= other for one, other, _ in chosen):
                chosen.append((start, end, match))
        return tuple(
            UmlsMatch(
                *folded.span(start, end),
                match.cui,
                match.name,
                match.similarity,
                match.preferred,
                match.predicate,
            )
            for start, end, match in sorted(chosen, key=lambda row: row[0])
        )

    def _best(self, candidates: Sequence[UmlsMatch]) -> UmlsMatch | None:
        for predicates in ((EXACT,), (EXACT, CLOSE)):
            if best := _choose_match(
                [match for match in candidates if match.predicate in predicates]
            ):
                return best
        return None

    def _usable(
        self, folded: str, kind: str, names: Iterable[UmlsNameMatch], length: int = 0
    ) -> tuple[UmlsMatch, ...]:
        """Return the matches of a fitting semantic type that no list refuses."""
        if _generic(folded):
            return ()
        return tuple(
            _match(length, folded, match, cui)
            for match in names
            if accepts(kind, match.types)
            and not _generic(match.text)
            and (cui := self.current(match.cui))
            and not _is_refused(folded, match.text, cui)
        )

    def _in_known_words(self, text: str, kind: str) -> list[tuple[int, int, UmlsMatch]]:
        results = []
        for start, end in _windows(text, self._names.words.knows):
            folded = _class_synonyms().get(text[start:end], text[start:end])
            if match := self._best(self._usable(folded, kind, self._names.of_words(folded))):
                results.append((start, end, match))
        return results

    def _misspelt(
        self, text: str, kind: str, spans: Sequence[tuple[int, int]]
    ) -> list[tuple[int, int, UmlsMatch]]:
        words = self._names.words
        odd: dict[str, bool] = {
            word: not words.knows(word) and words.resembles(word) for word in split_words(text)
        }
        results = []
        for start, end in _windows(text, lambda word: odd[word] or words.knows(word)):
            free = all(end <= one or start >= other for one, other in spans)
            if free and any(odd[word] for word in split_words(text[start:end])):
                match = self.link(text[start:end], kind)
                if match is not None:
                    results.append((start, end, match))
        return results


def _match(length: int, folded: str, name: UmlsNameMatch, cui: str) -> UmlsMatch:
    predicate = EXACT
    if name.similarity < 1 or folded != name.text:
        predicate = CLOSE if covers(folded, name.text) else BROAD
    return UmlsMatch(0, length, cui, name.text, name.similarity, name.preferred, predicate)


def _windows(text: str, allowed: Callable[[str], bool]) -> Iterator[tuple[int, int]]:
    """Yield the spans of one to five words running, all of them allowed."""
    words = [(match.start(), match.end()) for match in WORD.finditer(text)][:_MAX_TOKENS]
    fits = [allowed(text[start:end]) for start, end in words]
    for first in range(len(words)):
        for last in range(first, min(first + WINDOW, len(words))):
            if not fits[last]:
                break
            if words[last][1] - words[first][0] >= SHORTEST:
                yield words[first][0], words[last][1]


def covers(mention: str, name: str) -> bool:
    """Return whether each word of either text has its counterpart in the other.

    Words of five letters on may differ by one letter (two from twelve on), or by number;
    shorter ones and figures may not: vitamin D is not vitamin B.

    >>> covers("goji berries", "goji berry"), covers("vitamin d", "vitamin b")
    (True, False)
    """
    one, other = split_words(mention), split_words(name)
    if len(one) != len(other):
        return "".join(one) == "".join(other)
    for word in one:
        match = next((each for each in other if _is_same_word(word, each)), None)
        if match is None:
            return False
        other.remove(match)
    return True


def _is_same_word(one: str, other: str) -> bool:
    if one == other or other in inflections(one) or one in inflections(other):
        return True
    shorter = min(len(one), len(other))
    if shorter < FORGIVEN or not (one.isalpha() and other.isalpha()):
        return False
    allowed = 2 if shorter >= LONG else 1
    return distance(one, other, allowed) <= allowed


def _choose_match(matches: Sequence[UmlsMatch]) -> UmlsMatch | None:
    """Choose by iDISK's rule; names of several CUIs that are as good decide nothing."""
    for group in (
        [match for match in matches if match.similarity == 1 and match.preferred],
        [match for match in matches if match.similarity == 1],
        [match for match in matches if match.preferred],
    ):
        if group:
            most = max(match.similarity for match in group)
            best = [match for match in group if match.similarity == most]
            return best[0] if len({match.cui for match in best}) == 1 else None
    return None


def _generic(folded: str) -> bool:
    words = split_words(folded)
    return all(word in GENERIC or word.isdigit() or len(word) == 1 for word in words)


@cache
def _class_synonyms() -> dict[str, str]:
    """Map what people call a class of medicines to the name it has in UMLS."""
    rows = (line.split("\t") for line in read_lines("medicine-classes"))
    return {fold(word): fold(name) for word, name in rows}


@cache
def _wrong() -> frozenset[tuple[str, str]]:
    return frozenset(
        (fold(name), cui) for name, cui, *_ in (row.split("\t") for row in read_lines("wrong-cuis"))
    )


def _is_refused(mention: str, name: str, cui: str) -> bool:
    wrong = _wrong()
    return not {("*", cui), (mention, cui), (name, cui)}.isdisjoint(wrong)
