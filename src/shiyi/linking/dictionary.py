"""Longest-match dictionary over all surface forms."""

import re
from array import array
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, NamedTuple, Self

import daachorse
import numpy as np

from shiyi.columnar.mapped_file import Memmap
from shiyi.columnar.strings import Array, Trie
from shiyi.linking.disambiguation import GENERIC, SCHEMES, fits, needs_context, read_lines
from shiyi.linking.labels import KINDS, LATIN, PREFERRED, Label, LabelIndex
from shiyi.linking.normalization import STOP_WORDS, fold, has_cjk, is_cjk, is_latin, words
from shiyi.ontology.lexicon import cues

_BRACKETS = re.compile(r"\s*[(（\[][^()（）\[\]]*[)）\]]")
_HYPHEN = re.compile(r"(?<=[a-z])[-‐‑](?=[a-z])", re.IGNORECASE)
_STOPS = re.compile(r"[.']")
_BINOMIAL = re.compile(r"\b[A-Z][a-z]{2,} (?:× ?)?[a-z]{3,}(?: (?:var|subsp|f)\. [a-z]{3,})?")
_HEAD = re.compile(r"(?<=.{2})证$| pattern$")  # 肝郁气滞 says as much as 肝郁气滞证
_TELLS = re.compile(r"[\u3400-\u9fff]{2}|.+ ")
_UNINFLECTED = re.compile(r"(?:ss|us|is|ics|ea|sis)$")

# ranks of a written form among the forms of other concepts, best first
# (a Latin name is that of the organism, which several materials share)
OWN, OTHER, BOTANICAL, SHORTENED, SPOKEN = range(5)


def surfaces(label: Label) -> Iterator[tuple[str, int]]:
    """Yield folded forms and how directly each names the concept; the label itself first.

    >>> [form for form, _ in surfaces(Label("goji berry (dried)", "en", 0, "preferred"))]
    ['goji berry (dried)', 'goji berry (dried)', 'goji berry', 'goji berry', 'goji berries']
    """
    rank = {PREFERRED: OWN, LATIN: BOTANICAL}.get(label.role, OTHER)
    yield from _forms(label.text, label.language, rank)
    if (short := _BRACKETS.sub("", label.text).strip()) != label.text:
        yield from _forms(short, label.language, SHORTENED)
    if (bare := _HEAD.sub("", label.text)) != label.text and _TELLS.match(bare):
        yield from _forms(bare, label.language, SHORTENED)
        if label.language == "en":
            yield from _forms(f"{bare} syndrome", "en", SHORTENED)
    if len(pinyin := label.pinyin) > 1:
        for between in (" ", ""):
            spoken = between.join(pinyin)
            yield from ((name, SPOKEN) for name in {spoken, spoken.replace("v", "u")})
    if label.role == LATIN:
        for binomial in _BINOMIAL.findall(label.text):
            yield fold(binomial), rank


def _forms(text: str, language: str, rank: int) -> Iterator[tuple[str, int]]:
    folded = fold(text)
    if not folded:
        return
    yield folded, rank
    if language == "zh" and has_cjk(folded):
        return
    plain = {folded}
    if (joined := _HYPHEN.sub("", text)) != text:
        plain.add(fold(joined))
    plain |= {" ".join(_STOPS.sub("", form).split()) for form in plain}
    for form in sorted(plain):
        yield form, rank
        if language == "en":
            for inflected in inflections(form):
                yield inflected, rank


def inflections(form: str) -> Iterator[str]:
    """Yield the regular plurals and singulars of a phrase by its last word.

    >>> list(inflections("goji berry")), list(inflections("dates"))
    (['goji berries'], ['date'])
    """
    if len(form) < 4 or not form.isascii() or not form[-3:].isalpha():
        return
    if form.endswith("ies"):
        yield form[:-3] + "y"
    elif form.endswith(("ches", "shes", "xes", "oes", "sses")):
        yield form[:-2]
    elif form.endswith("s") and not _UNINFLECTED.search(form):
        yield form[:-1]
    elif form.endswith("y") and form[-2] not in "aeiou":
        yield form[:-1] + "ies"
    elif form.endswith(("ch", "sh", "x", "o")):
        yield form + "es"
        yield form + "s"
    elif not form.endswith("s"):
        yield form + "s"


def singular(word: str) -> str:
    """Return one form for a word and its regular plural.

    >>> singular("berries"), singular("berry"), singular("ginkgo")
    ('berry', 'berry', 'ginkgo')
    """
    return min((word, *inflections(word)), key=lambda each: (len(each), each))


@lru_cache(maxsize=1 << 12)
def content_words(text: str) -> frozenset[str]:
    """Return the content words of a text; an English plural counts as singular.

    >>> sorted(content_words("How do I store the eggs?"))
    ['egg', 'store']
    """
    tokens = (word for word in words(text) if word not in STOP_WORDS)
    return frozenset(singular(word) if word.isascii() else word for word in tokens)


def is_at_boundary(text: str, start: int, end: int) -> bool:
    """Return whether ``[start, end)`` begins and ends no Latin word or number in its middle.

    >>> (
    ...     is_at_boundary("gingerbread", 0, 6),
    ...     is_at_boundary("吃vc片", 1, 3),
    ...     is_at_boundary("b12", 0, 2),
    ... )
    (False, True, False)
    """
    if start and is_latin(text[start]) and is_latin(text[start - 1]) and text[start - 1] != "'":
        return False
    if end == len(text) or not (is_latin(text[end - 1]) and is_latin(text[end])):
        return True
    return text[end] == "'"


_WIDE: Final = np.uint64(32)  # bits of a number


class GroupBuilder:
    """Keys with a number each, as they come; a key is stored once, and no object for a number."""

    __slots__ = ("_keys", "_numbers", "_of")

    def __init__(self) -> None:
        self._keys: dict[str, int] = {}
        self._of, self._numbers = array("I"), array("I")

    def know(self, key: str) -> int:
        """Add a key that may have no number; return its place among those added."""
        return self._keys.setdefault(key, len(self._keys))

    def add(self, key: str, number: int) -> None:
        """Add a number, below 2³², to a key."""
        self._of.append(self.know(key))
        self._numbers.append(number)

    def groups(self) -> "Groups":
        """Return the sorted groups and clear the builder."""
        keys = Trie.of(self._keys)
        places = np.fromiter(map(keys.place, self._keys), np.uint64, len(self._keys))
        self._keys.clear()
        pairs = places[np.asarray(self._of)] << _WIDE | np.asarray(self._numbers)
        del self._of[:], self._numbers[:]
        pairs = np.unique(pairs)
        bounds = np.searchsorted(pairs, np.arange(len(keys) + 1, dtype=np.uint64) << _WIDE)
        return Groups(keys, bounds, pairs.astype(np.uint32))


@dataclass(frozen=True, slots=True)
class Groups:
    """Numbers by key.

    >>> some = GroupBuilder()
    >>> for key, number in (("goji", 3), ("maté", 2), ("goji", 1), ("goji", 3)):
    ...     some.add(key, number)
    >>> some = some.groups()
    >>> some.under("goji"), some.under("kava"), list(some.items_with_prefix("g"))
    ([1, 3], [], [('goji', 1), ('goji', 3)])
    """

    keys: Trie
    bounds: Array
    numbers: Array

    @classmethod
    def over(cls, arrays: Memmap, name: str) -> Self:
        """Read them from an open file."""
        return cls(arrays.trie(name), arrays[f"{name}.bounds"], arrays[f"{name}.numbers"])

    def arrays(self, name: str) -> dict[str, Array]:
        """Return them as arrays to write."""
        return self.keys.arrays(name) | {
            f"{name}.bounds": self.bounds,
            f"{name}.numbers": self.numbers,
        }

    def under(self, key: str) -> list[int]:
        """List the numbers under a key."""
        place = self.keys.place(key)
        return [] if place is None else self._at(place)

    def items_with_prefix(self, prefix: str) -> Iterator[tuple[str, int]]:
        """Yield the keys that begin with ``prefix``, in order, each with every number under it."""
        return (
            (key, number)
            for key, place in self.keys.items_with_prefix(prefix)
            for number in self._at(place)
        )

    def array(self, key: str) -> Array:
        """Return the numbers under a key as they lie in the file."""
        place = self.keys.place(key)
        return (
            self.numbers[:0]
            if place is None
            else self.numbers[self.bounds[place] : self.bounds[place + 1]]
        )

    def _at(self, place: int) -> list[int]:
        results: list[int] = self.numbers[self.bounds[place] : self.bounds[place + 1]].tolist()
        return results


# kinds with pinyin looked for in running text; that of others is tried on the rest
_TYPED = frozenset({"MFHSubstance", "Food", "Herb", "Dish", "Formula", "Syndrome"})

_RANKS = 3  # bits of a rank, below the place of a label
_BITS = 29  # of a place, so that a sense is one small number: millions of forms are stored


class Sense(NamedTuple):
    """One thing a written form may mean: how directly, the concept, and the label it is from."""

    rank: int
    concept: int
    label: int


@dataclass(frozen=True, slots=True)
class Hit:
    """A span of a folded text and what it may mean, best sense first; none: no concept."""

    start: int
    end: int
    senses: tuple[Sense, ...]


class Dictionary:
    """Every written form of every label of an index."""

    def __init__(self, index: LabelIndex, arrays: Memmap | None = None) -> None:
        """Read the forms of the names of ``index`` from an open file, else compute them."""
        self.index = index
        self._automaton: daachorse.CharwiseDoubleArrayAhoCorasick | None = None
        self._edged = b""
        if arrays is None:
            self._make()
        else:
            self.forms = arrays.trie("form")
            self._bounds, self._packed = arrays["sense.bounds"], arrays["sense"]
            self._gated = np.unpackbits(arrays["form.gated"], count=len(self.forms)).data
            self._longest = int(arrays["form.longest"][0])

    def _make(self) -> None:
        groups, concepts = _build_groups(self.index)
        self.forms = groups.keys
        self._bounds, self._packed = _most_direct(groups, concepts)
        schemes = np.fromiter(
            (kind in SCHEMES for kind in self.index.kinds), bool, len(self.index.kinds)
        )
        among = np.concatenate([[0], np.cumsum(schemes[concepts[self._packed >> _RANKS]])])
        named = np.diff(self._bounds)
        scheme = (np.diff(among[self._bounds]) == named).data
        gated = np.zeros(len(self.forms), np.uint8)
        self._longest = 0
        for place, form in enumerate(self.forms):
            gated[place] = needs_context(form, scheme[place])
            self._longest = max(self._longest, len(form))
        self._gated = (gated * (named > 0)).data

    def arrays(self) -> dict[str, Array]:
        """Return the forms as arrays to write."""
        return self.forms.arrays("form") | {
            "sense.bounds": self._bounds,
            "sense": self._packed,
            "form.gated": np.packbits(np.asarray(self._gated)),
            "form.longest": np.array([self._longest], np.int32),
        }

    def senses(self, form: str) -> tuple[Sense, ...]:
        """Return what a folded form means in any text, as the labels come; none: nothing known."""
        place = self.forms.place(form)
        return () if place is None else self._senses(place)

    def _senses(self, place: int) -> tuple[Sense, ...]:
        first, last = self._bounds[place : place + 2].tolist()
        return tuple(map(self._sense, self._packed[first:last].tolist()))

    def _sense(self, packed: int) -> Sense:
        label = packed >> _RANKS
        return Sense(packed & (1 << _RANKS) - 1, self.index.labels[label].concept, label)

    def names(self, place: int) -> bool:
        """Return whether the form at a place means anything."""
        return bool(self._bounds[place] < self._bounds[place + 1])

    def exact(self, form: str, text: str = "") -> tuple[Sense, ...]:
        """Return what a whole folded form means, best first, in the light of ``text``."""
        return self._sort_senses(self.senses(form), find_favoured_kinds(text))

    def find(self, text: str) -> list[Hit]:
        """Find the leftmost-longest names in a folded text; they do not overlap."""
        best: dict[int, tuple[int, int]] = {}
        for start, end, form in self._find_forms(text):
            if start in best and best[start][0] >= end:
                continue
            if not self._gated[form] or fits(text, start, end, self._kinds(form)):
                best[start] = end, form
        hits: list[Hit] = []
        reached = 0
        turned: frozenset[str] | None = None
        starts = sorted(best)
        for place, start in enumerate(starts):
            if start < reached:
                continue
            end, form = best[start]
            follows = place + 1 < len(starts) and starts[place + 1] < end
            if not follows or not self._cuts(text, best, starts, place):
                reached = end
                senses = self._senses(form)
                if len(senses) > 1:
                    turned = find_favoured_kinds(text) if turned is None else turned
                    senses = self._sort_senses(senses, turned)
                hits.append(Hit(start, reached, senses))
        return hits

    def _find_forms(self, text: str) -> Iterator[tuple[int, int, int]]:
        """Yield where forms stand as whole words: start, end and form."""
        if self._automaton is not None:
            for start, end, form in self._automaton.find_overlapping(text):
                if not self._edged[form] or is_at_boundary(text, start, end):
                    yield start, end, form
            return
        for start, character in enumerate(text):
            latin = is_latin(character)
            if latin and not is_at_boundary(text, start, len(text)):
                continue
            for name, form in self.forms.prefixes(text[start : start + self._longest]):
                end = start + len(name)
                if not (latin or is_latin(name[-1])) or is_at_boundary(text, start, end):
                    yield start, end, form

    def build_automaton(self) -> None:
        """Make an automaton of the forms, some seconds for a million, for very many texts.

        Then all forms in a text are found in one pass, in a tenth of the time; it lies in memory.
        """
        if self._automaton is None:
            forms = [*self.forms]
            self._edged = bytes(is_latin(form[0]) or is_latin(form[-1]) for form in forms)
            # by characters: over bytes, Chinese costs three times the steps and wide states
            self._automaton = daachorse.CharwiseDoubleArrayAhoCorasick(forms)

    def _cuts(
        self, text: str, best: dict[int, tuple[int, int]], starts: list[int], place: int
    ) -> bool:
        """Return whether a Chinese name cuts a longer one that begins in it."""
        start = starts[place]
        end = best[start][0]
        if not is_cjk(text[start]):
            return False
        for following in range(place + 1, len(starts)):
            other = starts[following]
            if other >= end:
                return False
            if best[other][0] > end and best[other][0] - other > end - start:
                return True
        return False

    def _kinds(self, place: int) -> list[str]:
        return [self.index.kinds[sense.concept] for sense in self._senses(place)]

    def _sort_senses(self, senses: tuple[Sense, ...], turned: frozenset[str]) -> tuple[Sense, ...]:
        if len(senses) < 2:
            return senses
        kinds = self.index.kinds
        return tuple(
            sorted(senses, key=lambda row: (*order(kinds[row.concept], row.rank, turned), row))
        )


def _build_groups(index: LabelIndex) -> tuple[Groups, Array]:
    """Return the labels and ranks of each form, as one number, and the concept of each label."""
    forms, concepts = GroupBuilder(), array("I")
    for place, label in enumerate(index.labels):
        concepts.append(label.concept)
        typed = index.kinds[label.concept] in _TYPED
        for form, rank in surfaces(label):
            if (typed or rank != SPOKEN) and form not in GENERIC and _is_a_name(form):
                forms.add(form, place << _RANKS | rank)
    for phrase in read_lines("not-names"):
        forms.know(fold(phrase))
    return forms.groups(), np.asarray(concepts)


def _most_direct(groups: Groups, concepts: Array) -> tuple[Array, Array]:
    """Return the most direct label of each concept of each form: bounds, and ranked labels."""
    label, rank = groups.numbers >> _RANKS, groups.numbers & (1 << _RANKS) - 1
    form = np.repeat(np.arange(len(groups.keys)), np.diff(groups.bounds))
    meant = form << _BITS | concepts[label]
    starts = np.flatnonzero(np.diff(meant, prepend=-1))
    best = np.minimum.reduceat(rank << _BITS | label, starts) if len(starts) else label
    bounds = np.searchsorted(form[starts], np.arange(len(groups.keys) + 1)).astype(np.int32)
    return bounds, (best & (1 << _BITS) - 1) << _RANKS | best >> _BITS


def _is_a_name(form: str) -> bool:
    """Drop what iDISK2.0 drops: digits, punctuation, single letters (not characters)."""
    return has_cjk(form) or (len(form) > 1 and any(map(str.isalpha, form)))


def find_favoured_kinds(text: str) -> frozenset[str]:
    """Return the kinds that the words around a mention point to.

    >>> find_favoured_kinds("阴虚体质吃什么")
    frozenset({'Constitution'})
    """
    return frozenset(kind for kind, pattern in cues("senses").items() if pattern.search(text))


def order(kind: str, rank: int, favoured_kinds: frozenset[str]) -> tuple[int, int, int]:
    """Return the key that sorts the senses of one name: written form, context, usual kind."""
    return (
        0 if kind in favoured_kinds else 1,
        rank + (2 if kind in SCHEMES else 0),
        KINDS.index(kind),
    )
