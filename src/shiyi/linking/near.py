"""Names that are nearly spelt or that sound like it: typing errors, homophones, pinyin."""

from collections import defaultdict

import numpy as np

from shiyi.linking.context import NEVER_GUESSED
from shiyi.linking.dictionary import Dictionary, Sense
from shiyi.linking.labels import PREFERRED
from shiyi.linking.normalise import is_cjk
from shiyi.linking.pinyin import blurred, finals, joined, syllables

MIN_SPELT = 6  # letters; shorter words have too many neighbours
MIN_CHANGED = 8  # letters from which a wrong or extra letter is forgiven: station is no statin
LONG = 12  # letters from which two errors are forgiven; prednisone is not prednisolone
_GRAM = 3
_COMMON = frozenset("子头儿花草叶根皮仁水汤药大小食用品性气")


class NearNames:
    """Finds the forms of a dictionary that a mention was probably meant to be."""

    def __init__(self, dictionary: Dictionary) -> None:
        self._dictionary = dictionary
        self.forms = [
            form for form in dictionary.forms if len(form) > 1 and dictionary.senses(form)
        ]
        grams: dict[str, list[int]] = defaultdict(list)
        sizes = []
        for place, form in enumerate(self.forms):
            own = _grams(form)
            sizes.append(len(own))
            for gram in own:
                grams[gram].append(place)
        self._sizes = np.array(sizes, np.float32)
        self._grams = {gram: np.array(places, np.int32) for gram, places in grams.items()}
        self._spoken: dict[str, set[Sense]] = defaultdict(set)
        self._rhymes: dict[tuple[str, ...], set[int]] = defaultdict(set)
        self._sounds: dict[tuple[str, ...], set[int]] = defaultdict(set)
        index = dictionary.index
        for place, label in enumerate(index.labels):
            if len(label.pinyin) < 2 or index.concepts[label.concept].kind in NEVER_GUESSED:
                continue
            sense = Sense(1 if label.role != PREFERRED else 0, label.concept, place)
            for key in {"".join(label.pinyin), "".join(label.pinyin).replace("v", "u")}:
                self._spoken[key].add(sense)
            if len(label.pinyin) == len(label.text):
                self._sounds[blurred(label.pinyin)].add(place)
                if len(label.text) > 2:
                    self._rhymes[finals(label.pinyin)].add(place)

    def spoken(self, text: str) -> tuple[Sense, ...]:
        """Give what folded Latin letters mean as pinyin of at least two syllables."""
        return tuple(sorted(self._spoken.get(joined(text), ())))

    def sounding(self, text: str) -> tuple[Sense, ...]:
        """Give the Chinese names that sound like ``text`` and share characters with it.

        From three characters on, one may also merely rhyme with the right one (枸纪子).
        """
        if len(text) < 2 or not all(map(is_cjk, text)):
            return ()
        labels, said = self._dictionary.index.labels, syllables(text)
        places = {
            place
            for place in self._sounds.get(blurred(said), ())
            if _alike(labels[place].text, text)
        }
        if not places and len(text) > 2:
            places = {
                place
                for place in self._rhymes.get(finals(said), ())
                if _shared(labels[place].text, text) == len(text) - 1
            }
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
        known = [self._grams[gram] for gram in own if gram in self._grams]
        if not known:
            return ()
        shared = np.bincount(np.concatenate(known), minlength=len(self.forms))
        alike = shared / (len(own) + self._sizes - shared)
        best = np.argpartition(-alike, min(k, len(alike) - 1))[:k]
        ranked = sorted(best.tolist(), key=lambda place: (-alike[place], self.forms[place]))
        return tuple((self.forms[place], float(alike[place])) for place in ranked if shared[place])


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
