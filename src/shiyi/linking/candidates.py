"""Approximate candidates: spelling, sound, meaning."""

import re
from array import array
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from string import ascii_lowercase

import numpy as np

from shiyi.columnar.mapped_file import Memmap
from shiyi.columnar.strings import Array, Trie
from shiyi.linking.dictionary import Dictionary, GroupBuilder, Groups, Hit, Sense
from shiyi.linking.disambiguation import (
    AMBIGUOUS,
    BODIES,
    GENERIC,
    NEVER_GUESSED,
    QUALITIES,
    read_words,
)
from shiyi.linking.embedding.index import VectorSearch
from shiyi.linking.labels import PREFERRED, LabelIndex
from shiyi.linking.normalization import (
    distance,
    finals,
    fold,
    has_cjk,
    is_cjk,
    is_word,
    join_latin,
    merge_similar_sounds,
    syllables,
)
from shiyi.settings import LinkingSettings

_EN_STOP = read_words("questions-en") | GENERIC
_ZH_STOP = read_words("questions-zh")
_NUMBER = "[0-9一二三四五六七八九十两几半多]+(?:毫克|公斤|千克|[克个次天年月周岁片粒杯碗颗])"
_ZH_PATTERN = re.compile(
    _NUMBER + "|" + "|".join(sorted(map(re.escape, _ZH_STOP), key=len, reverse=True))
)
_ZH_RUN = re.compile(
    "[\u3400-\u9fff\U00020000-\U0003ffff][\u3400-\u9fff\U00020000-\U0003ffffa-z0-9]*"
)
_EN_WORD = re.compile(r"[a-z0-9][a-z0-9'+]*")
_EN_GAP = re.compile(r"[ ]*")


def uncovered_spans(text: str, covered: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Yield the spans between ``covered`` ones, in order."""
    reached = 0
    for start, end in covered:
        if start > reached:
            yield reached, start
        reached = max(reached, end)
    if reached < len(text):
        yield reached, len(text)


def chinese_runs(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield the runs of Chinese characters in ``[start, end)``, words of grammar and all."""
    for run in _ZH_RUN.finditer(text, start, end):
        yield run.span()


def chinese_words(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield what stays of a run of Chinese when the words of questions are cut out."""
    reached = start
    for stop in _ZH_PATTERN.finditer(text, start, end):
        if stop.start() > reached:
            yield reached, stop.start()
        reached = stop.end()
    if end > reached:
        yield reached, end


def latin_words(text: str, start: int, end: int) -> Iterator[list[tuple[int, int]]]:
    """Yield groups of neighbouring Latin content words, as the spans of their words."""
    group: list[tuple[int, int]] = []
    for word in _EN_WORD.finditer(text, start, end):
        stop = word.group() in _EN_STOP or word.group().isdigit() or len(word.group()) < 2
        apart = group and not _EN_GAP.fullmatch(text, group[-1][1], word.start())
        if (stop or apart) and group:
            yield group
            group = []
        if not stop:
            group.append(word.span())
    if group:
        yield group


def is_grammar(text: str) -> bool:
    """Return whether Chinese text is made of words of questions alone."""
    return not any(True for _ in chinese_words(text, 0, len(text)))


def cuts_grammar(text: str, start: int, end: int) -> bool:
    """Return whether ``[start, end)`` lies between the halves of two words of questions."""
    return text[max(start - 1, 0) : start + 1] in _ZH_STOP and text[end - 1 : end + 1] in _ZH_STOP


def is_content(text: str) -> bool:
    """Return whether a left-over chunk is worth telling that it is unknown."""
    if text in GENERIC:
        return False
    return len(text) >= 2 if is_cjk(text[0]) else len(text) >= 3


MIN_SPELT = 6  # letters; shorter words have too many neighbours
MIN_CHANGED = 8  # letters from which a wrong or extra letter is forgiven: station is no statin
MIN_RARE, _BEGUN = 7, 2  # letters of what is no ordinary word, the first of them right
LONG = 12  # letters from which two errors are forgiven; prednisone is not prednisolone
_COMPARED = 200  # forms with common grams that a mistyped name is compared with
_SHORT_PINYIN = 5  # letters; from shorter ones too many names are one error away
_GRAM = 3
_POINT = 21  # bits of a character
_AT_ONCE = 1 << 15  # forms with grams sorted together
_SPOKEN = ("spoken", "sound", "rhyme")
_COMMON = frozenset("子头儿花草叶根皮仁水汤药大小食用品性气")


class NearNames:
    """Finds the forms of a dictionary that a mention was probably meant to be."""

    def __init__(self, dictionary: Dictionary, arrays: Memmap | None = None) -> None:
        """Read the keys of the forms from an open file, else compute them."""
        self._dictionary = dictionary
        if arrays is None:
            self._make()
        else:
            self._sizes = arrays["near.size"]
            self._spoken, self._sounds, self._rhymes = (
                Groups.over(arrays, f"near.{name}") for name in _SPOKEN
            )
            self._grams = Groups.over(arrays, "near.gram")

    def _make(self) -> None:
        self._grams, self._sizes = _spelt(self._dictionary)
        self._spoken, self._sounds, self._rhymes = _by_pinyin(self._dictionary.index)

    def arrays(self) -> dict[str, Array]:
        """Return the keys as arrays to write."""
        spoken = zip(_SPOKEN, (self._spoken, self._sounds, self._rhymes), strict=True)
        arrays = {"near.size": self._sizes} | self._grams.arrays("near.gram")
        for name, groups in spoken:
            arrays |= groups.arrays(f"near.{name}")
        return arrays

    def match_pinyin(self, text: str) -> tuple[Sense, ...]:
        """Return what folded Latin letters mean as pinyin of at least two syllables."""
        return self._senses(self._spoken.under(join_latin(text)))

    def match_sound(self, text: str) -> tuple[Sense, ...]:
        """Return the Chinese names that sound like ``text`` and share characters with it.

        From three characters on, one may also merely rhyme with the right one.
        """
        if len(text) < 2 or not all(map(is_cjk, text)):
            return ()
        labels, pinyin = self._dictionary.index.labels, syllables(text)
        places = {
            place
            for place in self._sounds.under(" ".join(merge_similar_sounds(pinyin)))
            if _share_character(labels[place].text, text)
        }
        if not places and len(text) > 2:
            places = {
                place
                for place in self._rhymes.under(" ".join(finals(pinyin)))
                if _count_shared(labels[place].text, text) == len(text) - 1
            }
        return self._senses(places)

    def _senses(self, places: Iterable[int]) -> tuple[Sense, ...]:
        labels = self._dictionary.index.labels
        return tuple(
            sorted(
                Sense(int(labels[place].role != PREFERRED), labels[place].concept, place)
                for place in places
            )
        )

    def spelt(self, text: str) -> tuple[tuple[str, float], ...]:
        """Return the forms within one letter of ``text`` (two from 12 letters on), and how near.

        Two errors apart are forgiven from 7 letters on in what is no ordinary word.
        """
        if len(text) < MIN_SPELT or has_cjk(text):
            return ()
        results = []
        for form, _ in self.similar(text, 20):
            shorter = min(len(form), len(text))
            same, behind = (_prefix_length(text, form), _prefix_length(text[::-1], form[::-1]))
            rare = same >= _BEGUN and 0 < behind < len(form) - 2 - same and not is_word(text)
            allowed = 2 if shorter >= (MIN_RARE if rare else LONG) else 1
            if shorter < MIN_CHANGED and len(text) >= len(form) and sorted(text) != sorted(form):
                continue
            if shorter >= MIN_SPELT and (errors := distance(text, form, allowed)) <= allowed:
                results.append((form, 1 - errors / max(len(form), len(text))))
        return tuple(sorted(results, key=lambda row: (-row[1], row[0])))

    def match_mistyped(self, text: str) -> tuple[tuple[Sense, int], ...]:
        """Return what a whole name was meant to be, with the errors in it, the fewest first.

        Of equally many errors, later ones are likelier. This is for a person who chooses;
        :meth:`spelt` is stricter, since nobody sees its choice. Chinese names are found by their
        sound alone, and by pinyin with one error.
        """
        results: dict[Sense, tuple[int, int]] = {}
        if has_cjk(text):
            spoken = "".join(syllables(text)) if all(map(is_cjk, text)) and len(text) > 1 else ""
            results = dict.fromkeys(self.match_pinyin(spoken), (1, 0))
        else:
            word, allowed = join_latin(text), min(2, len(text) // 3)
            for form, _ in self.similar(text, _COMPARED):
                if (errors := distance(text, form, allowed)) <= allowed:
                    right = -_prefix_length(word, join_latin(form))
                    results |= dict.fromkeys(self._dictionary.exact(form), (errors, right))
            if len(word) >= _SHORT_PINYIN:
                for other in _one_error(word):
                    right = -_prefix_length(word, other)
                    for sense in self.match_pinyin(other):
                        results.setdefault(sense, (1, right))
        ranked = sorted(results.items(), key=lambda row: (row[1], row[0]))
        return tuple((sense, errors) for sense, (errors, _) in ranked)

    def similar(self, text: str, k: int) -> tuple[tuple[str, float], ...]:
        """Return the ``k`` forms most alike by the Jaccard similarity of their 3-grams."""
        own, forms = _grams(text), self._dictionary.forms
        known = [self._grams.array(each) for each in own]
        if not any(map(len, known)):
            return ()
        shared = np.bincount(np.concatenate(known), minlength=len(forms)).astype(np.float32)
        alike = shared / (len(own) - shared + self._sizes)
        best = np.argpartition(-alike, min(k, len(alike) - 1))[:k]
        results = [(forms[place], float(alike[place])) for place in best.tolist() if shared[place]]
        return tuple(sorted(results, key=lambda row: (-row[1], row[0])))


def _spelt(dictionary: Dictionary) -> tuple[Groups, Array]:
    """Return the forms of each gram, and how many grams each form has; 0: it is not sought."""
    forms, sizes = dictionary.forms, np.zeros(len(dictionary.forms), np.uint16)
    grams: dict[int, array[int]] = defaultdict(lambda: array("i"))
    for at in range(0, len(forms), _AT_ONCE):
        some = range(at, min(at + _AT_ONCE, len(forms)))
        codes, places = _gram_arrays(
            {n: form for n in some if dictionary.names(n) and len(form := forms[n]) > 1}
        )
        sizes[some.start : some.stop] = np.bincount(places - at, minlength=len(some))
        starts = np.flatnonzero(np.diff(codes, prepend=-1))
        runs = np.split(places, starts[1:])
        for code, run in zip(codes[starts].tolist(), runs, strict=False):  # no codes leave one run
            grams[code].frombytes(run.tobytes())
    arrays = {_decode_grams(code): places for code, places in grams.items()}
    keys = Trie.of(arrays)
    bounds = np.cumsum([0, *(len(arrays[key]) for key in keys)])
    every = [np.zeros(0, np.int32), *(np.frombuffer(arrays[key], np.int32) for key in keys)]
    return Groups(keys, bounds, np.concatenate(every)), sizes


def _gram_arrays(forms: Mapping[int, str]) -> tuple[Array, Array]:
    """Return the grams of forms as ascending numbers, each with its places, ascending.

    A gram is up to three characters of 21 bits, one more than each is; 0 is none.
    """
    results = [(np.zeros(0, np.int64), np.zeros(0, np.int32))]
    chinese = {place: form for place, form in forms.items() if has_cjk(form)}
    latin = {place: f"\x02{form}\x03" for place, form in forms.items() if place not in chinese}
    for some, sizes in ((chinese, (1, 2)), (latin, (_GRAM,))):
        text = "".join(some.values()).encode("utf-32-le")
        points = np.frombuffer(text, np.uint32).astype(np.int64) + 1
        place = np.repeat(np.array([*some], np.int32), [*map(len, some.values())])
        for size in sizes:
            count = max(0, len(points) - size + 1)
            code = np.zeros(count, np.int64)
            for n in range(size):
                code |= points[n : n + count] << _POINT * (_GRAM - 1 - n)
            whole = place[:count] == place[size - 1 :]
            results.append((code[whole], place[:count][whole]))
    code, place = (np.concatenate(item) for item in zip(*results, strict=True))
    order = np.lexsort((place, code))
    code, place = code[order], place[order]
    fresh = (np.diff(code, prepend=-1) != 0) | (np.diff(place, prepend=-1) != 0)
    return code[fresh], place[fresh]


def _decode_grams(code: int) -> str:
    every = (code >> _POINT * n & (1 << _POINT) - 1 for n in reversed(range(_GRAM)))
    return "".join(chr(number - 1) for number in every if number)


def _by_pinyin(index: LabelIndex) -> tuple[Groups, Groups, Groups]:
    """Return the labels by their pinyin, by what is known it, and by its rhyme."""
    builder, sounds, rhymes = GroupBuilder(), GroupBuilder(), GroupBuilder()
    for place, label in enumerate(index.labels):
        pinyin = label.pinyin
        if len(pinyin) < 2 or index.kinds[label.concept] in NEVER_GUESSED:
            continue
        for key in {"".join(pinyin), "".join(pinyin).replace("v", "u")}:
            builder.add(key, place)
        if len(pinyin) == len(label.text):
            sounds.add(" ".join(merge_similar_sounds(pinyin)), place)
            if len(pinyin) > 2:
                rhymes.add(" ".join(finals(pinyin)), place)
    return builder.groups(), sounds.groups(), rhymes.groups()


def _prefix_length(one: str, other: str) -> int:
    """Count the letters before the first that differs."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((at for at, (left, right) in pairs if left != right), min(len(one), len(other)))


def _one_error(word: str) -> Iterator[str]:
    """Yield what differs from a word by one letter left out, added, changed or swapped."""
    for at in range(len(word) + 1):
        before, after = word[:at], word[at:]
        yield before + after[1:]
        yield before + after[1:2] + after[:1] + after[2:]
        for letter in ascii_lowercase:
            yield before + letter + after
            yield before + letter + after[1:]


def _grams(form: str) -> set[str]:
    """Return character 3-grams of a Latin form, 1- and 2-grams of a Chinese one."""
    if has_cjk(form):
        return set(form) | {form[i : i + 2] for i in range(len(form) - 1)}
    padded = f"\x02{form}\x03"
    return {padded[i : i + _GRAM] for i in range(len(padded) - _GRAM + 1)}


def _count_shared(one: str, other: str) -> int:
    # a label may hold marks without a sound, so that equal rhymes differ in length
    return sum(left == right for left, right in zip(one, other, strict=False))


def _share_character(one: str, other: str) -> bool:
    """Return whether two homophones share a character that tells something."""
    shared = {left for left, right in zip(one, other, strict=False) if left == right}
    return bool(shared) if len(other) > 2 else bool(shared - _COMMON)


LEXICAL = "semapv:LexicalMatching"
SIMILAR = "semapv:LexicalSimilarityThresholdMatching"
SEMANTIC = "semapv:SemanticSimilarityThresholdMatching"

# kinds of what is taken: never guessed at by the meaning of ordinary words
_TAKEN = frozenset({
    "MFHSubstance", "Food", "Herb", "Dish", "Formula", "DSIngredient", "Drug", "Organism",
    "FoodGroup", "ChemicalEntity", "Efficacy", "Therapy", "CausalFactor",
})  # fmt: skip
_SURE, _SOUND = 3.5, 0.9  # frequency of what is no misspelling; score of a homophone (Shiyi's)
_ZH_WINDOW = 6  # characters
_EN_WINDOW = 5  # words, after QuickUMLS
_CLAUSE = 12  # characters of a Chinese clause that may be one mention
_PART = 0.7  # similarity of a phrase to the concept of its part (on held-out names, Shiyi's)
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
        self,
        dictionary: Dictionary,
        vectors: VectorSearch | None,
        settings: LinkingSettings,
        arrays: Memmap | None = None,
    ) -> None:
        self._made = arrays
        self._dictionary, self._vectors, self._settings = dictionary, vectors, settings
        self._near: NearNames | None = None

    @property
    def near(self) -> NearNames:
        """Return the index of spellings and sounds; it is made when first needed."""
        if self._near is None:
            self._near = NearNames(self._dictionary, self._made)
        return self._near

    def guess(self, text: str, covered: Sequence[Span]) -> list[Guess]:
        """Link what lies between the ``covered`` spans of a folded text, or say it is unknown."""
        guesses: list[Guess] = []
        left: list[Span] = []
        for start, end in uncovered_spans(text, covered):
            for run in chinese_runs(text, start, end):
                left += self._sounds(text, run, guesses)
            for words in latin_words(text, start, end):
                left += self._spellings(text, words, guesses)
            if len(left) > _GUESSED:
                break
        return guesses + self._meanings(text, left[:_GUESSED])

    def medicines(self, text: str, start: int, end: int) -> Guess | None:
        """Return the class of medicines that ``[start, end)`` of a folded text means, if any."""
        concepts = self._dictionary.index.concepts
        for sense, score in self._nearest([text[start:end]])[0]:
            if concepts[sense.concept].kind in {"DrugClass", "TherapeuticClass"}:
                return Guess(Hit(start, end, (sense,)), score, SEMANTIC)
        return None

    def _sounds(self, text: str, run: Span, guesses: list[Guess]) -> list[Span]:
        """Find names by their sound in a run of Chinese; return what is left of it."""
        start, end = run
        place, left, begun = start, [], start
        while place < min(end, start + _RUN):
            guess = self._sound_at(text, start, place, end)
            if guess is None:
                place += 1
                continue
            guesses.append(guess)
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
                continue  # two characters among others are seldom one word
            if is_word(window) or is_grammar(window) or is_grammar(window[0]):
                continue
            if senses := self.near.match_sound(window):
                return Guess(Hit(place, place + width, senses), _SOUND, SIMILAR)
        return None

    def _spellings(self, text: str, words: Sequence[Span], guesses: list[Guess]) -> list[Span]:
        """Find names by pinyin and spelling in neighbouring words; return what is left of them."""
        left: list[list[Span]] = [[]]
        place = 0
        while place < len(words):
            guess = None
            if place < _RUN and len(guesses) <= _GUESSED:
                guess = self._spelling_at(text, words[place : place + _EN_WINDOW])
            if guess is None:
                left[-1].append(words[place])
                place += 1
                continue
            guesses.append(guess)
            left.append([])
            while place < len(words) and words[place][0] < guess.hit.end:
                place += 1
        return [(group[0][0], group[-1][1]) for group in left if group]

    def _spelling_at(self, text: str, words: Sequence[Span]) -> Guess | None:
        start = words[0][0]
        for _, end in reversed(words):
            window = text[start:end]
            if is_word(window, _SURE):
                continue
            if senses := self.near.match_pinyin(window):
                return Guess(Hit(start, end, senses), _SOUND, SIMILAR)
            for form, score in self.near.spelt(window)[:1]:
                senses = self._guessable(self._dictionary.exact(form, text))
                if senses:
                    return Guess(Hit(start, end, senses), score, SIMILAR)
        return None

    def _guessable(self, senses: tuple[Sense, ...]) -> tuple[Sense, ...]:
        concepts = self._dictionary.index.concepts
        return tuple(sense for sense in senses if concepts[sense.concept].kind not in NEVER_GUESSED)

    def _meanings(self, text: str, left: Sequence[Span]) -> list[Guess]:
        """Link by meaning what can be; what cannot is reported as unknown."""
        tried = [
            (span, whole)
            for whole in left
            for span in _windows(text, whole)
            if not self._is_refused(text[slice(*span)])
        ]
        tried += [(span, span) for span in _bridge_chunks(text, left)]
        tried = tried[:_WINDOWS]
        near = self._nearest([text[slice(*span)] for span, _ in tried])
        close = [(*spans, senses) for spans, senses in zip(tried, near, strict=True) if senses]
        meant = self._wholes(text, {whole for span, whole, _ in close if span != whole})
        sure = []
        for span, whole, senses in close:
            if span != whole and whole in meant:
                senses = [item for item in senses if item[0].concept in meant[whole]]
            if senses:
                sure.append((senses, span))
        guesses: list[Guess] = []
        for senses, (start, end) in sorted(sure, key=lambda item: (-item[0][0][1], item[1])):
            if all(end <= item.hit.start or start >= item.hit.end for item in guesses):
                best = senses[0][1]
                listed = tuple(sense for sense, score in senses if score >= best - 0.02)
                guesses.append(Guess(Hit(start, end, listed), best, SEMANTIC))
        taken = sorted((item.hit.start, item.hit.end) for item in guesses)
        for whole in left:
            inside = [span for span in taken if whole[0] <= span[0] and span[1] <= whole[1]]
            guesses += [Guess(Hit(*span, ())) for span in _unknown(text, whole, inside)]
        return guesses

    def _is_refused(self, window: str) -> bool:
        """Return whether the context refused this name, or it needs a context."""
        bare = window in AMBIGUOUS or window in BODIES or _DENIED.search(window) is not None
        return bare or bool(self._dictionary.senses(window))

    def _wholes(self, text: str, left: Iterable[Span]) -> dict[Span, set[int]]:
        """Return the concepts each phrase in Latin script is near to: red cedar is no red bean."""
        latin = sorted(whole for whole in left if not is_cjk(text[whole[0]]))
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
        known_shares = self._vectors.embedder.known_shares(texts)
        return [
            [
                (Sense(2, self._dictionary.index.labels[place].concept, place), score * share)
                for place, score in places
                if score * share >= least and self._likely(text, place)
            ]
            for text, places, share in zip(texts, ranked, known_shares, strict=True)
        ]

    def _likely(self, text: str, place: int) -> bool:
        """Return whether a text may mean this label, at any cosine."""
        label = self._dictionary.index.labels[place]
        kind = self._dictionary.index.concepts[label.concept].kind
        return not (kind in NEVER_GUESSED or kind in _TAKEN) and _is_related(text, label.text)


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


def _bridge_chunks(text: str, left: Sequence[Span]) -> Iterator[Span]:
    """Yield neighbouring chunks with one or two small words between: stomach is upset."""
    for (start, end), (following, last) in pairwise(left):
        if _BRIDGE.fullmatch(text, end, following) and last - start < 40:
            yield start, last


def _is_related(text: str, label: str) -> bool:
    """Return whether a short text shares letters with a label; one token decides its vector."""
    if len(text) > 3 if is_cjk(text[0]) else " " in text:
        return True
    width = 1 if is_cjk(text[0]) else 3
    folded = fold(label)
    return any(text[i : i + width] in folded for i in range(len(text) - width + 1))


def _unknown(text: str, whole: Span, known: Sequence[Span]) -> Iterator[Span]:
    for start, end in uncovered_spans(text[: whole[1]], [(0, whole[0]), *known]):
        if is_cjk(text[start]):
            spans = list(chinese_words(text, start, end))
        else:
            spans = [(word[0][0], word[-1][1]) for word in latin_words(text, start, end)]
        yield from (span for span in spans if is_content(text[slice(*span)]))
