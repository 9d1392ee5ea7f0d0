"""Exact names in running text: Aho-Corasick over characters, leftmost-longest, whole words."""

from array import array
from bisect import bisect_left
from dataclasses import dataclass
from typing import NamedTuple

import daachorse

from shiyi.linking.context import GENERIC, favoured, fits, needs_context, order
from shiyi.linking.labels import LabelIndex
from shiyi.linking.normalise import fold, is_cjk, is_latin
from shiyi.linking.surfaces import SPOKEN, at_boundary, surfaces
from shiyi.linking.words import phrases

# kinds whose pinyin is looked for in running text; that of others is tried on what is left
_TYPED = frozenset({"MFHSubstance", "Food", "Herb", "Dish", "Formula", "Syndrome"})


_BITS = 26  # of a place, so that a sense is one small number: millions of forms are held
_MASK = (1 << _BITS) - 1


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

    def __init__(self, index: LabelIndex) -> None:
        self.index = index
        packed = _collected(index)
        self.forms = sorted(packed)
        # a number a form, and not an object: millions of forms are held
        self._first = array("q", (_first(packed[form]) for form in self.forms))
        self._several = {
            place: senses
            for place, form in enumerate(self.forms)
            if isinstance(senses := packed[form], tuple) and senses
        }
        del packed
        self._gated = bytes(
            bool(kinds := self._kinds(place)) and needs_context(form, kinds)
            for place, form in enumerate(self.forms)
        )
        self._edged = bytes(is_latin(form[0]) or is_latin(form[-1]) for form in self.forms)
        # by characters: over bytes, Chinese costs three times the steps and wide states
        self._automaton = daachorse.CharwiseDoubleArrayAhoCorasick(self.forms)

    def senses(self, form: str) -> tuple[Sense, ...]:
        """Give what a folded form means in any text, as the labels come; none: nothing known."""
        place = bisect_left(self.forms, form)
        if place == len(self.forms) or self.forms[place] != form:
            return ()
        return self._senses(place)

    def _senses(self, place: int) -> tuple[Sense, ...]:
        first = self._first[place]
        if first < 0:
            return ()
        several = self._several.get(place)
        return (_sense(first),) if several is None else tuple(map(_sense, several))

    def exact(self, form: str, text: str = "") -> tuple[Sense, ...]:
        """Give what a whole folded form means, best first, in the light of ``text``."""
        return self._sorted(self.senses(form), favoured(text))

    def find(self, text: str) -> list[Hit]:
        """Find the leftmost-longest names in a folded text; they do not overlap."""
        best: dict[int, tuple[int, int]] = {}
        for start, end, form in self._automaton.find_overlapping(text):
            if start in best and best[start][0] >= end:
                continue
            if self._edged[form] and not at_boundary(text, start, end):
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
        return [self.index.concepts[sense.concept].kind for sense in self._senses(place)]

    def _sorted(self, senses: tuple[Sense, ...], turned: frozenset[str]) -> tuple[Sense, ...]:
        if len(senses) < 2:
            return senses
        concepts = self.index.concepts
        return tuple(
            sorted(
                senses,
                key=lambda each: (*order(concepts[each.concept].kind, each.rank, turned), each),
            )
        )


def _sense(packed: int) -> Sense:
    return Sense(packed >> 2 * _BITS, packed >> _BITS & _MASK, packed & _MASK)


_Packed = int | tuple[int, ...]  # the senses of a form; none: it is known to name nothing


def _collected(index: LabelIndex) -> dict[str, _Packed]:
    packed: dict[str, _Packed] = {}
    for place, label in enumerate(index.labels):
        for form, rank in surfaces(label):
            if rank == SPOKEN and index.concepts[label.concept].kind not in _TYPED:
                continue
            if form not in GENERIC and _is_a_name(form):
                kept = label.text if form == label.text else form  # one string, not two
                _add(packed, kept, rank << 2 * _BITS | label.concept << _BITS | place)
    for phrase in phrases("not-names"):
        packed.setdefault(fold(phrase), ())
    return packed


def _add(packed: dict[str, _Packed], form: str, sense: int) -> None:
    """Keep one sense a concept, the most direct."""
    known = packed.get(form)
    if known is None:
        packed[form] = sense
        return
    listed = (known,) if isinstance(known, int) else known
    concept = sense >> _BITS & _MASK
    same = next((each for each in listed if each >> _BITS & _MASK == concept), None)
    if same is None:
        packed[form] = (*listed, sense)
    elif sense < same:
        kept = tuple(sense if each == same else each for each in listed)
        packed[form] = kept if len(kept) > 1 else sense


def _first(packed: _Packed) -> int:
    if isinstance(packed, int):
        return packed
    return packed[0] if packed else -1


def _is_a_name(form: str) -> bool:
    """Drop what iDISK2.0 drops: digits, punctuation, single letters; 姜 and 藕 are names."""
    return any(map(is_cjk, form)) or (len(form) > 1 and any(map(str.isalpha, form)))
