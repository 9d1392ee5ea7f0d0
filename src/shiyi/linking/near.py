"""Names that are nearly spelt or that sound like it: typing errors, homophones, pinyin."""

from array import array
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from shiyi.linking.context import NEVER_GUESSED
from shiyi.linking.dictionary import Dictionary, Sense
from shiyi.linking.labels import PREFERRED
from shiyi.linking.normalise import is_cjk
from shiyi.linking.pinyin import blurred, finals, joined, syllables
from shiyi.model.mapped import Mapped
from shiyi.model.strings import Array, Picked, Strings

MIN_SPELT = 6  # letters; shorter words have too many neighbours
MIN_CHANGED = 8  # letters from which a wrong or extra letter is forgiven: station is no statin
LONG = 12  # letters from which two errors are forgiven; prednisone is not prednisolone
_GRAM = 3
_LOW = 16  # bits of a place that are kept with each, under the three letters it has
_COMMON = frozenset("子头儿花草叶根皮仁水汤药大小食用品性气")


class NearNames:
    """Finds the forms of a dictionary that a mention was probably meant to be."""

    def __init__(self, dictionary: Dictionary, made: Mapped | None = None) -> None:
        """Take the keys of the forms from what was ``made``, else make them."""
        self._dictionary = dictionary
        self._keys = _made(dictionary) if made is None else made.arrays
        self.forms = Picked(dictionary.forms, self._keys["near.form"])
        self._sizes = self._keys["near.size"]
        self._spoken, self._sounds, self._rhymes = (
            Groups.over(self._keys, f"near.{name}") for name in ("spoken", "sound", "rhyme")
        )
        self._grams = Blocks.over(self._keys, "near.gram")

    def arrays(self) -> dict[str, Array]:
        """Give the keys as arrays to write."""
        return {name: held for name, held in self._keys.items() if name.startswith("near.")}

    def spoken(self, text: str) -> tuple[Sense, ...]:
        """Give what folded Latin letters mean as pinyin of at least two syllables."""
        return self._senses(self._spoken.of(joined(text)))

    def sounding(self, text: str) -> tuple[Sense, ...]:
        """Give the Chinese names that sound like ``text`` and share characters with it.

        From three characters on, one may also merely rhyme with the right one (枸纪子).
        """
        if len(text) < 2 or not all(map(is_cjk, text)):
            return ()
        labels, said = self._dictionary.index.labels, syllables(text)
        places = {
            place
            for place in self._sounds.of(" ".join(blurred(said)))
            if _alike(labels[place].text, text)
        }
        if not places and len(text) > 2:
            places = {
                place
                for place in self._rhymes.of(" ".join(finals(said)))
                if _shared(labels[place].text, text) == len(text) - 1
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
        """Give the forms within one letter of ``text`` (two from 12 letters on), and how near."""
        if len(text) < MIN_SPELT or any(map(is_cjk, text)):
            return ()
        found = []
        for form, _ in self.similar(text, 20):
            shorter = min(len(form), len(text))
            allowed = 2 if shorter >= LONG else 1
            if shorter < MIN_CHANGED and len(text) >= len(form) and sorted(text) != sorted(form):
                continue
            if shorter >= MIN_SPELT and (errors := distance(text, form, allowed)) <= allowed:
                found.append((form, 1 - errors / max(len(form), len(text))))
        return tuple(sorted(found, key=lambda each: (-each[1], each[0])))

    def similar(self, text: str, k: int) -> tuple[tuple[str, float], ...]:
        """Give the ``k`` forms most alike by the Jaccard similarity of their 3-grams."""
        own = _grams(text)
        known = [places for gram in own if len(places := self._grams.places(gram))]
        if not known:
            return ()
        shared = np.bincount(np.concatenate(known), minlength=len(self.forms))
        alike = shared / (len(own) + self._sizes - shared)
        best = np.argpartition(-alike, min(k, len(alike) - 1))[:k]
        ranked = sorted(best.tolist(), key=lambda place: (-alike[place], self.forms[place]))
        return tuple((self.forms[place], float(alike[place])) for place in ranked if shared[place])


@dataclass(frozen=True, slots=True)
class Groups:
    """Places by key, in arrays."""

    keys: Strings
    bounds: Array
    held: Array

    @classmethod
    def over(cls, arrays: Mapping[str, Array], name: str) -> Self:
        """Take them from arrays of that name."""
        keys = Strings.over(arrays, name)
        return cls(keys, arrays[f"{name}.first"], arrays[f"{name}.place"])

    def places(self, key: str) -> Array:
        """Give the places under a key, none where it is unknown."""
        at = self.keys.place(key)
        return self.held[:0] if at is None else self.held[self.bounds[at] : self.bounds[at + 1]]

    def of(self, key: str) -> list[int]:
        """List the places under a key."""
        found: list[int] = self.places(key).tolist()
        return found


@dataclass(frozen=True, slots=True)
class Blocks:
    """Places by key where keys have many: the low half of each, by blocks of so many places."""

    keys: Strings
    bounds: Array  # of each key, where each block begins
    held: Array

    @classmethod
    def over(cls, arrays: Mapping[str, Array], name: str) -> Self:
        """Take them from arrays of that name."""
        keys = Strings.over(arrays, name)
        return cls(keys, arrays[f"{name}.first"], arrays[f"{name}.low"])

    def places(self, key: str) -> Array:
        """Give the places under a key, none where it is unknown."""
        at = self.keys.place(key)
        if at is None:
            return np.zeros(0, np.int32)
        blocks = len(self.bounds) // max(1, len(self.keys))
        bounds = self.bounds[at * blocks : (at + 1) * blocks + 1]
        found = self.held[bounds[0] : bounds[-1]].astype(np.int32)
        return found + np.repeat(np.arange(blocks, dtype=np.int32) << _LOW, np.diff(bounds))


def blocked(name: str, held: Mapping[str, Sequence[int]]) -> dict[str, Array]:
    """Write places under keys as :class:`Blocks` reads them; those of a key come in order."""
    keys = sorted(held)
    blocks = 1 + (max((held[key][-1] for key in keys), default=0) >> _LOW)
    counts = [np.zeros(1, np.int64)]
    counts += [np.bincount(np.array(held[key]) >> _LOW, minlength=blocks) for key in keys]
    every = np.concatenate([np.zeros(0, np.int64), *(np.array(held[key]) for key in keys)])
    return Strings.of(keys).arrays(name) | {
        f"{name}.first": np.cumsum(np.concatenate(counts)).astype(np.int32),
        f"{name}.low": (every & ((1 << _LOW) - 1)).astype(np.uint16),
    }


def _grouped(name: str, held: Mapping[str, Collection[int]]) -> dict[str, Array]:
    keys = sorted(held)
    counts = [0, *(len(held[key]) for key in keys)]
    return Strings.of(keys).arrays(name) | {
        f"{name}.first": np.cumsum(counts, dtype=np.int64).astype(np.int32),
        f"{name}.place": np.fromiter((p for key in keys for p in sorted(held[key])), np.int32),
    }


def _made(dictionary: Dictionary) -> dict[str, Array]:
    kept, sizes = list[int](), list[int]()
    grams: dict[str, array[int]] = defaultdict(lambda: array("i"))
    for place, form in enumerate(dictionary.forms):
        if len(form) > 1 and dictionary.senses(form):
            own = _grams(form)
            for gram in own:
                grams[gram].append(len(kept))
            kept.append(place)
            sizes.append(len(own))
    spoken: dict[str, set[int]] = defaultdict(set)
    sounds: dict[str, set[int]] = defaultdict(set)
    rhymes: dict[str, set[int]] = defaultdict(set)
    index = dictionary.index
    for place, label in enumerate(index.labels):
        if len(label.pinyin) < 2 or index.concepts[label.concept].kind in NEVER_GUESSED:
            continue
        for key in {"".join(label.pinyin), "".join(label.pinyin).replace("v", "u")}:
            spoken[key].add(place)
        if len(label.pinyin) == len(label.text):
            sounds[" ".join(blurred(label.pinyin))].add(place)
            if len(label.text) > 2:
                rhymes[" ".join(finals(label.pinyin))].add(place)
    return (
        {"near.form": np.array(kept, np.int32), "near.size": np.array(sizes, np.float32)}
        | blocked("near.gram", grams) | _grouped("near.spoken", spoken)
        | _grouped("near.sound", sounds) | _grouped("near.rhyme", rhymes)
    )  # fmt: skip


def distance(one: str, other: str, most: int) -> int:
    """Count insertions, deletions, substitutions and swaps of neighbours, up to ``most`` + 1.

    >>> distance("gingko", "ginkgo", 1), distance("prednisone", "prednisolone", 1)
    (1, 2)
    """
    if abs(len(one) - len(other)) > most:
        return most + 1
    before: list[int] = []
    row = list(range(len(other) + 1))
    for i, left in enumerate(one, 1):
        earlier, before, row = before, row, [i]
        for j, right in enumerate(other, 1):
            cost = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (left != right))
            if i > 1 and j > 1 and left == other[j - 2] and one[i - 2] == right:
                cost = min(cost, earlier[j - 2] + 1)
            row.append(cost)
        if min(row) > most:
            return most + 1
    return row[-1]


def _grams(form: str) -> set[str]:
    """Give character 3-grams of a Latin form, 1- and 2-grams of a Chinese one."""
    if any(map(is_cjk, form)):
        return set(form) | {form[i : i + 2] for i in range(len(form) - 1)}
    padded = f"\x02{form}\x03"
    return {padded[i : i + _GRAM] for i in range(len(padded) - _GRAM + 1)}


def _shared(one: str, other: str) -> int:
    # a label may hold marks without a sound, so that equal rhymes differ in length
    return sum(left == right for left, right in zip(one, other, strict=False))


def _alike(one: str, other: str) -> bool:
    """Say whether two homophones share a character that tells something."""
    shared = {left for left, right in zip(one, other, strict=False) if left == right}
    return bool(shared) if len(other) > 2 else bool(shared - _COMMON)
