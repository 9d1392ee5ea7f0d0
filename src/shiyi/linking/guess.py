"""What the words that no name covered may mean: by sound, by spelling, by meaning, or nothing."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from shiyi.linking.chunks import (
    chinese_runs,
    chinese_words,
    cuts_grammar,
    is_content,
    is_grammar,
    latin_words,
    uncovered,
)
from shiyi.linking.context import AMBIGUOUS, BODIES, GENERIC, NEVER_GUESSED, QUALITIES
from shiyi.linking.dictionary import Dictionary, Hit, Sense
from shiyi.linking.near import NearNames
from shiyi.linking.normalise import fold, is_cjk
from shiyi.linking.vectors import Searching
from shiyi.model.mapped import Mapped
from shiyi.settings import LinkingSettings

LEXICAL = "semapv:LexicalMatching"
SIMILAR = "semapv:LexicalSimilarityThresholdMatching"
SEMANTIC = "semapv:SemanticSimilarityThresholdMatching"

_SOUND = 0.9  # the score of a homophone, ours
_ZH_WINDOW = 6  # characters
_EN_WINDOW = 5  # words, after QuickUMLS
_CLAUSE = 12  # characters of a Chinese clause that may be one mention
_PART = 0.7  # how near the whole phrase must be to what a part of it is taken for (held out, ours)
_RUN = 200  # characters of Chinese, and words in Latin script, that are tried in one stretch
_WINDOWS = 600  # windows of one text that are compared by meaning
_GUESSED = 60  # windows looked at in one text, so that a book costs no more than a page

_DENIED = re.compile("不[高低痛疼痒咳喘肿渴吐泻烧晕胀酸]$")  # 尿酸不高 is not 尿酸高
_BRIDGE = re.compile(" [a-z']+(?: [a-z']+)? ")

Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Guess:
    """A span, what it may mean (nothing: it is unknown), how sure, and how it was found."""

    hit: Hit
    score: float = 0.0
    justification: str = ""


class Guesser:
    """Tries sound and spelling, then meaning; every guess covers its whole mention."""

    def __init__(
        self, dictionary: Dictionary, vectors: Searching | None, settings: LinkingSettings,
        made: Mapped | None = None,
    ) -> None:  # fmt: skip
        self._made = made
        self._dictionary, self._vectors, self._settings = dictionary, vectors, settings
        self._near: NearNames | None = None

    @property
    def near(self) -> NearNames:
        """Give the index of spellings and sounds; it is made when first needed."""
        if self._near is None:
            self._near = NearNames(self._dictionary, self._made)
        return self._near

    def guess(self, text: str, covered: Sequence[Span]) -> list[Guess]:
        """Link what lies between the ``covered`` spans of a folded text, or say it is unknown."""
        found: list[Guess] = []
        left: list[Span] = []
        for start, end in uncovered(text, covered):
            for run in chinese_runs(text, start, end):
                left += self._sounds(text, run, found)
            for words in latin_words(text, start, end):
                left += self._spellings(text, words, found)
            if len(left) > _GUESSED:
                break
        return found + self._meanings(text, left[:_GUESSED])

    def medicines(self, text: str, start: int, end: int) -> Guess | None:
        """Give the class of medicines that ``[start, end)`` of a folded text means, if any."""
        concepts = self._dictionary.index.concepts
        for sense, score in self._nearest([text[start:end]])[0]:
            if concepts[sense.concept].kind in {"DrugClass", "TherapeuticClass"}:
                return Guess(Hit(start, end, (sense,)), score, SEMANTIC)
        return None

    def _sounds(self, text: str, run: Span, found: list[Guess]) -> list[Span]:
        """Find names by their sound in a run of Chinese; give what is left of it."""
        start, end = run
        place, left, begun = start, [], start
        while place < min(end, start + _RUN):
            guess = self._sound_at(text, start, place, end)
            if guess is None:
                place += 1
                continue
            found.append(guess)
            left.append((begun, place))
            place = begun = guess.hit.end
        left.append((begun, end))
        return [span for span in left if span[1] > span[0]]

    def _sound_at(self, text: str, start: int, place: int, end: int) -> Guess | None:
        for width in range(min(_ZH_WINDOW, end - place), 1, -1):
            window = text[place : place + width]
            if width == 2 and (
                end - start > _RUN
                or cuts_grammar(text, place, place + width)
                or not (is_grammar(text[start:place]) and is_grammar(text[place + width : end]))
            ):
                continue  # two characters amid others are seldom one word
            if not is_grammar(window) and (senses := self.near.sounding(window)):
                return Guess(Hit(place, place + width, senses), _SOUND, SIMILAR)
        return None

    def _spellings(self, text: str, words: Sequence[Span], found: list[Guess]) -> list[Span]:
        """Find names by pinyin and spelling in neighbouring words; give what is left of them."""
        left: list[list[Span]] = [[]]
        place = 0
        while place < len(words):
            guess = None
            if place < _RUN and len(found) <= _GUESSED:
                guess = self._spelling_at(text, words[place : place + _EN_WINDOW])
            if guess is None:
                left[-1].append(words[place])
                place += 1
                continue
            found.append(guess)
            left.append([])
            while place < len(words) and words[place][0] < guess.hit.end:
                place += 1
        return [(group[0][0], group[-1][1]) for group in left if group]

    def _spelling_at(self, text: str, words: Sequence[Span]) -> Guess | None:
        start = words[0][0]
        for _, end in reversed(words):
            window = text[start:end]
            if senses := self.near.spoken(window):
                return Guess(Hit(start, end, senses), _SOUND, SIMILAR)
            for form, score in self.near.spelt(window)[:1]:
                senses = self._guessable(self._dictionary.exact(form, text))
                if senses:
                    return Guess(Hit(start, end, senses), score, SIMILAR)
        return None

    def _guessable(self, senses: tuple[Sense, ...]) -> tuple[Sense, ...]:
        concepts = self._dictionary.index.concepts
        return tuple(each for each in senses if concepts[each.concept].kind not in NEVER_GUESSED)

    def _meanings(self, text: str, left: Sequence[Span]) -> list[Guess]:
        """Link by meaning what can be; what cannot is told as unknown."""
        tried = [
            (span, whole)
            for whole in left
            for span in _windows(text, whole)
            if not self._refused(text[slice(*span)])
        ]
        tried += [(span, span) for span in _bridged(text, left)]
        tried = tried[:_WINDOWS]
        near = self._nearest([text[slice(*span)] for span, _ in tried])
        meant = self._wholes(text, left)
        sure = []
        for (span, whole), senses in zip(tried, near, strict=True):
            if span != whole and whole in meant:
                senses = [each for each in senses if each[0].concept in meant[whole]]
            if senses:
                sure.append((senses, span))
        found: list[Guess] = []
        for senses, (start, end) in sorted(sure, key=lambda each: (-each[0][0][1], each[1])):
            if all(end <= known.hit.start or start >= known.hit.end for known in found):
                best = senses[0][1]
                kept = tuple(sense for sense, score in senses if score >= best - 0.02)
                found.append(Guess(Hit(start, end, kept), best, SEMANTIC))
        taken = sorted((known.hit.start, known.hit.end) for known in found)
        for whole in left:
            inside = [span for span in taken if whole[0] <= span[0] and span[1] <= whole[1]]
            found += [Guess(Hit(*span, ())) for span in _unknown(text, whole, inside)]
        return found

    def _refused(self, window: str) -> bool:
        """Say whether this is a name that the context has refused, or one that needs a context."""
        bare = window in AMBIGUOUS or window in BODIES or _DENIED.search(window) is not None
        return bare or bool(self._dictionary.senses(window))

    def _wholes(self, text: str, left: Sequence[Span]) -> dict[Span, set[int]]:
        """Give the concepts each phrase in Latin script is near to: red cedar is no red bean."""
        latin = [whole for whole in left if not is_cjk(text[whole[0]])]
        if self._vectors is None or not latin:
            return {}
        labels = self._dictionary.index.labels
        ranked = self._vectors.above([text[slice(*whole)] for whole in latin], _PART)
        return {
            whole: {labels[place].concept for place, _ in places}
            for whole, places in zip(latin, ranked, strict=True)
        }

    def _nearest(self, texts: Sequence[str]) -> list[list[tuple[Sense, float]]]:
        if self._vectors is None or not texts:
            return [[] for _ in texts]
        least = self._settings.min_cosine
        ranked = self._vectors.above(texts, least)
        known = self._vectors.embedder.known(texts)
        return [
            [
                (Sense(2, self._dictionary.index.labels[place].concept, place), score * share)
                for place, score in places
                if score * share >= least and self._likely(text, place)
            ]
            for text, places, share in zip(texts, ranked, known, strict=True)
        ]

    def _likely(self, text: str, place: int) -> bool:
        """Say whether a text may mean this label at all, whatever their cosine."""
        index = self._dictionary.index
        label = index.labels[place]
        return index.concepts[label.concept].kind not in NEVER_GUESSED and _related(
            text, label.text
        )


def _windows(text: str, whole: Span) -> Iterator[Span]:
    """Yield the whole, its content words, and in Latin script every shorter run of words."""
    start, end = whole
    if is_cjk(text[start]):
        if 2 <= end - start <= _CLAUSE and not is_grammar(text[start:end]):
            yield whole
        for span in chinese_words(text, start, end):
            if span != whole and is_content(text[slice(*span)]):
                yield span
        return
    for words in latin_words(text, start, end):
        for first in range(len(words)):
            for last in range(first, min(first + _EN_WINDOW, len(words))):
                window = text[words[first][0] : words[last][1]]
                if window not in GENERIC and window not in QUALITIES and len(window) > 2:
                    yield words[first][0], words[last][1]


def _bridged(text: str, left: Sequence[Span]) -> Iterator[Span]:
    """Yield neighbouring chunks with one or two small words between: stomach is upset."""
    for (start, end), (following, last) in pairwise(left):
        if _BRIDGE.fullmatch(text, end, following) and last - start < 40:
            yield start, last


def _related(text: str, label: str) -> bool:
    """Say whether a short text shares letters with a label, since one token decides its vector."""
    if len(text) > 3 if is_cjk(text[0]) else " " in text:
        return True
    width = 1 if is_cjk(text[0]) else 3
    folded = fold(label)
    return any(text[i : i + width] in folded for i in range(len(text) - width + 1))


def _unknown(text: str, whole: Span, known: Sequence[Span]) -> Iterator[Span]:
    for start, end in uncovered(text[: whole[1]], [(0, whole[0]), *known]):
        if is_cjk(text[start]):
            spans = list(chinese_words(text, start, end))
        else:
            spans = [(each[0][0], each[-1][1]) for each in latin_words(text, start, end)]
        yield from (span for span in spans if is_content(text[slice(*span)]))
