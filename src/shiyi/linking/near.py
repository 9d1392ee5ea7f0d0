"""Names that are nearly spelt or that sound like it: typing errors, homophones, pinyin."""

from array import array
from collections import defaultdict
from collections.abc import Iterable

import numpy as np

from shiyi.linking.context import NEVER_GUESSED
from shiyi.linking.dictionary import Dictionary, Sense
from shiyi.linking.groups import Groups
from shiyi.linking.labels import PREFERRED, LabelIndex
from shiyi.linking.normalise import is_cjk
from shiyi.linking.pinyin import blurred, finals, joined, syllables
from shiyi.model.mapped import Mapped
from shiyi.model.steps import Steps
from shiyi.model.strings import Array, least
from shiyi.model.trie import Trie

MIN_SPELT = 6  # letters; shorter words have too many neighbours
MIN_CHANGED = 8  # letters from which a wrong or extra letter is forgiven: station is no statin
LONG = 12  # letters from which two errors are forgiven; prednisone is not prednisolone
_GRAM = 3
_SPOKEN = ("spoken", "sound", "rhyme")
_COMMON = frozenset("子头儿花草叶根皮仁水汤药大小食用品性气")


class NearNames:
    """Finds the forms of a dictionary that a mention was probably meant to be."""

    def __init__(self, dictionary: Dictionary, made: Mapped | None = None) -> None:
        """Take the keys of the forms from what was ``made``, else make them."""
        self._dictionary = dictionary
        if made is None:
            self._make()
        else:
            self._sizes = made["near.size"]
            self._spoken, self._sounds, self._rhymes = (
                Groups.over(made, f"near.{name}") for name in _SPOKEN
            )
            self._grams = made.trie("near.gram"), Steps.over(made.arrays, "near.gram")

    def _make(self) -> None:
        self._grams, self._sizes = _spelt(self._dictionary)
        self._spoken, self._sounds, self._rhymes = map(Groups.of, _said(self._dictionary.index))

    def arrays(self) -> dict[str, Array]:
        """Give the keys as arrays to write."""
        said = zip(_SPOKEN, (self._spoken, self._sounds, self._rhymes), strict=True)
        arrays = {"near.size": self._sizes}
        for each in self._grams:
            arrays |= each.arrays("near.gram")
        for name, groups in said:
            arrays |= groups.arrays(f"near.{name}")
        return arrays

    def spoken(self, text: str) -> tuple[Sense, ...]:
        """Give what folded Latin letters mean as pinyin of at least two syllables."""
        return self._senses(self._spoken.under(joined(text)))

    def sounding(self, text: str) -> tuple[Sense, ...]:
        """Give the Chinese names that sound like ``text`` and share characters with it.

        From three characters on, one may also merely rhyme with the right one (枸纪子).
        """
        if len(text) < 2 or not all(map(is_cjk, text)):
            return ()
        labels, said = self._dictionary.index.labels, syllables(text)
        places = {
            place
            for place in self._sounds.under(" ".join(blurred(said)))
            if _alike(labels[place].text, text)
        }
        if not places and len(text) > 2:
            places = {
                place
                for place in self._rhymes.under(" ".join(finals(said)))
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
        own, forms = _grams(text), self._dictionary.forms
        grams, held = self._grams
        known = [held.under(gram) for each in own if (gram := grams.place(each)) is not None]
        if not known:
            return ()
        shared = np.bincount(np.concatenate(known), minlength=len(forms)).astype(np.float32)
        alike = shared / (len(own) - shared + self._sizes)
        best = np.argpartition(-alike, min(k, len(alike) - 1))[:k]
        found = [(forms[place], float(alike[place])) for place in best.tolist() if shared[place]]
        return tuple(sorted(found, key=lambda each: (-each[1], each[0])))


def _spelt(dictionary: Dictionary) -> tuple[tuple[Trie, Steps], Array]:
    """Give the forms that have each gram, and how many grams each form has; none: it is not sought."""
    sizes = np.zeros(len(dictionary.forms), np.uint16)
    grams: dict[str, array[int]] = defaultdict(lambda: array("i"))
    for place, form in enumerate(dictionary.forms):
        if len(form) > 1 and dictionary.names(place):
            own = _grams(form)
            for gram in own:
                grams[gram].append(place)
            sizes[place] = len(own)
    keys = Trie.of(grams)
    held = Steps.of(grams[each] for each in keys)
    return (keys, held), sizes.astype(least(int(sizes.max(initial=0))))


def _said(index: LabelIndex) -> tuple[dict[str, set[int]], ...]:
    """Give the labels by their pinyin, by what is heard of it, and by its rhyme."""
    spoken: dict[str, set[int]] = defaultdict(set)
    sounds: dict[str, set[int]] = defaultdict(set)
    rhymes: dict[str, set[int]] = defaultdict(set)
    for place, label in enumerate(index.labels):
        if len(label.pinyin) < 2 or index.concepts[label.concept].kind in NEVER_GUESSED:
            continue
        for key in {"".join(label.pinyin), "".join(label.pinyin).replace("v", "u")}:
            spoken[key].add(place)
        if len(label.pinyin) == len(label.text):
            sounds[" ".join(blurred(label.pinyin))].add(place)
            if len(label.text) > 2:
                rhymes[" ".join(finals(label.pinyin))].add(place)
    return spoken, sounds, rhymes


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
