"""Exact names in running text: Aho-Corasick over characters, leftmost-longest, whole words."""

import sys
import zlib
from dataclasses import dataclass
from itertools import chain
from threading import Lock
from typing import NamedTuple

import daachorse
import numpy as np

from shiyi.errors import IndexMismatchError
from shiyi.linking.context import GENERIC, favoured, fits, needs_context, order
from shiyi.linking.labels import LabelIndex
from shiyi.linking.normalise import fold, is_cjk, is_latin
from shiyi.linking.surfaces import SPOKEN, at_boundary, surfaces
from shiyi.linking.words import phrases
from shiyi.model.mapped import Mapped
from shiyi.model.strings import Array, Strings

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

# kinds whose pinyin is looked for in running text; that of others is tried on what is left
_TYPED = frozenset({"MFHSubstance", "Food", "Herb", "Dish", "Formula", "Syndrome"})


_THOROUGH = 9  # of zstd's levels: 0.4 of the size, read 0.1 s later at a million states
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

    def __init__(self, index: LabelIndex, made: Mapped | None = None) -> None:
        """Take the forms of the names of ``index`` from what was ``made``, else make them."""
        self.index = index
        self._sealed, self._unsealing = memoryview(b""), Lock()
        self._made: daachorse.CharwiseDoubleArrayAhoCorasick | None = None
        if made is None:
            self._make()
        else:
            self.forms = made.strings("form")
            self._bounds, self._packed = made["sense.bounds"], made["sense"]
            self._gated, self._edged = made["form.gated"].data, made["form.edged"].data
            self._sealed = _checked(made)

    def _make(self) -> None:
        packed = _collected(self.index)
        forms = sorted(packed)
        # numbers a form, and no object: millions of forms are held
        self.forms = Strings.of(forms)
        held = [_listed(packed[form]) for form in forms]
        del packed
        self._bounds = np.cumsum([0, *map(len, held)], dtype=np.int64).astype(np.int32)
        self._packed = np.fromiter(chain.from_iterable(held), np.int64)
        del held
        gated = (
            bool(kinds := self._kinds(place)) and needs_context(form, kinds)
            for place, form in enumerate(forms)
        )
        self._gated = memoryview(bytes(gated))
        self._edged = memoryview(bytes(is_latin(form[0]) or is_latin(form[-1]) for form in forms))
        # by characters: over bytes, Chinese costs three times the steps and wide states
        self._made = daachorse.CharwiseDoubleArrayAhoCorasick(forms)

    @property
    def _automaton(self) -> daachorse.CharwiseDoubleArrayAhoCorasick:
        """Give the automaton, read when it is first asked for: a page needs none."""
        if self._made is None:
            with self._unsealing:
                if self._made is None:
                    read = daachorse.CharwiseDoubleArrayAhoCorasick.deserialize
                    self._made = read(zstd.decompress(self._sealed))
                    self._sealed = memoryview(b"")
        return self._made

    def arrays(self) -> dict[str, Array]:
        """Give the forms as arrays to write."""
        automaton = zstd.compress(self._automaton.serialize(), _THOROUGH)  # it is read whole
        return self.forms.arrays("form") | {
            "sense.bounds": self._bounds, "sense": self._packed,
            "form.gated": np.frombuffer(self._gated, np.uint8),
            "form.edged": np.frombuffer(self._edged, np.uint8),
            "automaton": np.frombuffer(automaton, np.uint8),
            "automaton.check": np.array([zlib.crc32(automaton)], np.int64),
        }  # fmt: skip

    def senses(self, form: str) -> tuple[Sense, ...]:
        """Give what a folded form means in any text, as the labels come; none: nothing known."""
        place = self.forms.place(form)
        return () if place is None else self._senses(place)

    def _senses(self, place: int) -> tuple[Sense, ...]:
        first, last = self._bounds[place : place + 2].tolist()
        return tuple(map(_sense, self._packed[first:last].tolist()))

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


def _checked(made: Mapped) -> memoryview:
    held = made["automaton"].data
    if zlib.crc32(held) != int(made["automaton.check"][0]):  # reading it trusts every byte
        raise IndexMismatchError(f"{made.path} is damaged: run `shiyi build` again")
    return held


_Packed = int | dict[int, int] | None  # a sense, or some by concept; none: it names nothing


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
        packed.setdefault(fold(phrase), None)
    return packed


def _add(packed: dict[str, _Packed], form: str, sense: int) -> None:
    """Keep one sense a concept, the most direct."""
    known = packed.get(form)
    if known is None:
        packed[form] = sense
        return
    concept = sense >> _BITS & _MASK
    if isinstance(known, int):
        if known >> _BITS & _MASK == concept:
            packed[form] = min(known, sense)
        else:
            packed[form] = {known >> _BITS & _MASK: known, concept: sense}
    elif known.get(concept, sense) >= sense:
        known[concept] = sense


def _listed(packed: _Packed) -> tuple[int, ...]:
    if packed is None:
        return ()
    return (packed,) if isinstance(packed, int) else tuple(packed.values())


def _is_a_name(form: str) -> bool:
    """Drop what iDISK2.0 drops: digits, punctuation, single letters; 姜 and 藕 are names."""
    return any(map(is_cjk, form)) or (len(form) > 1 and any(map(str.isalpha, form)))
