"""Exact names in running text: a trie of all forms, leftmost-longest, whole words."""

from array import array
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import daachorse
import numpy as np

from shiyi.linking.context import GENERIC, SCHEMES, favoured, fits, needs_context, order
from shiyi.linking.groups import Gathered, Groups
from shiyi.linking.labels import LabelIndex
from shiyi.linking.normalise import fold, has_cjk, is_cjk, is_latin
from shiyi.linking.surfaces import SPOKEN, at_boundary, surfaces
from shiyi.linking.words import phrases
from shiyi.model.mapped import Mapped
from shiyi.model.strings import Array, bounds_of, ends

# kinds whose pinyin is looked for in running text; that of others is tried on what is left
_TYPED = frozenset({"MFHSubstance", "Food", "Herb", "Dish", "Formula", "Syndrome"})

_RANKS = 3  # bits of a rank, below the place of a label
_BITS = 29  # of a place, so that a sense is one small number: millions of forms are held


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

    def __init__(self, index: LabelIndex, made: Mapped | None = None) -> None:
        """Take the forms of the names of ``index`` from what was ``made``, else make them."""
        self.index = index
        self._automaton: daachorse.CharwiseDoubleArrayAhoCorasick | None = None
        self._edged = b""
        if made is None:
            self._make()
        else:
            self.forms = made.trie("form")
            self._bounds, self._packed = bounds_of(made["sense.ends"]), made["sense"]
            self._gated = np.unpackbits(made["form.gated"], count=len(self.forms)).data
            self._longest = int(made["form.longest"][0])

    def _make(self) -> None:
        found, concepts = _gathered(self.index)
        self.forms = found.keys
        self._bounds, self._packed = _most_direct(found, concepts)
        schemes = np.fromiter(
            (each in SCHEMES for each in self.index.kinds), bool, len(self.index.kinds)
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
        """Give the forms as arrays to write."""
        return self.forms.arrays("form") | {
            "sense.ends": ends(self._bounds), "sense": self._packed,
            "form.gated": np.packbits(np.asarray(self._gated)),
            "form.longest": np.array([self._longest], np.int32),
        }  # fmt: skip

    def senses(self, form: str) -> tuple[Sense, ...]:
        """Give what a folded form means in any text, as the labels come; none: nothing known."""
        place = self.forms.place(form)
        return () if place is None else self._senses(place)

    def _senses(self, place: int) -> tuple[Sense, ...]:
        first, last = self._bounds[place : place + 2].tolist()
        return tuple(map(self._sense, self._packed[first:last].tolist()))

    def _sense(self, packed: int) -> Sense:
        label = packed >> _RANKS
        return Sense(packed & (1 << _RANKS) - 1, self.index.labels[label].concept, label)

    def names(self, place: int) -> bool:
        """Tell whether the form at a place means anything."""
        return bool(self._bounds[place] < self._bounds[place + 1])

    def exact(self, form: str, text: str = "") -> tuple[Sense, ...]:
        """Give what a whole folded form means, best first, in the light of ``text``."""
        return self._sorted(self.senses(form), favoured(text))

    def find(self, text: str) -> list[Hit]:
        """Find the leftmost-longest names in a folded text; they do not overlap."""
        best: dict[int, tuple[int, int]] = {}
        for start, end, form in self._written(text):
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
                    turned = favoured(text) if turned is None else turned
                    senses = self._sorted(senses, turned)
                hits.append(Hit(start, reached, senses))
        return hits

    def _written(self, text: str) -> Iterator[tuple[int, int, int]]:
        """Yield where forms stand as whole words: start, end and form."""
        if self._automaton is not None:
            for start, end, form in self._automaton.find_overlapping(text):
                if not self._edged[form] or at_boundary(text, start, end):
                    yield start, end, form
            return
        for start, character in enumerate(text):
            latin = is_latin(character)
            if latin and not at_boundary(text, start, len(text)):
                continue
            for name, form in self.forms.prefixes(text[start : start + self._longest]):
                end = start + len(name)
                if not (latin or is_latin(name[-1])) or at_boundary(text, start, end):
                    yield start, end, form

    def hasten(self) -> None:
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
        """Tell whether a Chinese name cuts a longer one that begins in it: 有痰 in 有痰湿证."""
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

    def _sorted(self, senses: tuple[Sense, ...], turned: frozenset[str]) -> tuple[Sense, ...]:
        if len(senses) < 2:
            return senses
        kinds = self.index.kinds
        return tuple(
            sorted(senses, key=lambda each: (*order(kinds[each.concept], each.rank, turned), each))
        )


def _gathered(index: LabelIndex) -> tuple[Groups, Array]:
    """Give the labels and ranks of each form, as one number, and the concept of each label."""
    forms, concepts = Gathered(), array("I")
    for place, label in enumerate(index.labels):
        concepts.append(label.concept)
        typed = index.kinds[label.concept] in _TYPED
        for form, rank in surfaces(label):
            if (typed or rank != SPOKEN) and form not in GENERIC and _is_a_name(form):
                forms.add(form, place << _RANKS | rank)
    for phrase in phrases("not-names"):
        forms.know(fold(phrase))
    return forms.groups(), np.asarray(concepts)


def _most_direct(found: Groups, concepts: Array) -> tuple[Array, Array]:
    """Keep one label a concept of each form, the most direct: bounds, and labels with their ranks."""
    label, rank = found.held >> _RANKS, found.held & (1 << _RANKS) - 1
    form = np.repeat(np.arange(len(found.keys)), np.diff(found.bounds))
    meant = form << _BITS | concepts[label]
    starts = np.flatnonzero(np.diff(meant, prepend=-1))
    best = np.minimum.reduceat(rank << _BITS | label, starts) if len(starts) else label
    bounds = np.searchsorted(form[starts], np.arange(len(found.keys) + 1)).astype(np.int32)
    return bounds, (best & (1 << _BITS) - 1) << _RANKS | best >> _BITS


def _is_a_name(form: str) -> bool:
    """Drop what iDISK2.0 drops: digits, punctuation, single letters; 姜 and 藕 are names."""
    return has_cjk(form) or (len(form) > 1 and any(map(str.isalpha, form)))
