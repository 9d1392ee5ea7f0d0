"""Names that are nearly spelt or that sound like it: typing errors, homophones, pinyin."""

from array import array
from collections import defaultdict
from collections.abc import Iterable, Mapping

import numpy as np

from shiyi.linking.context import NEVER_GUESSED
from shiyi.linking.dictionary import Dictionary, Sense
from shiyi.linking.groups import Gathered, Groups
from shiyi.linking.labels import PREFERRED, LabelIndex
from shiyi.linking.normalise import has_cjk, is_cjk
from shiyi.linking.pinyin import blurred, finals, joined, syllables
from shiyi.model.mapped import Mapped
from shiyi.model.steps import Steps
from shiyi.model.strings import Array, least
from shiyi.model.trie import Trie

MIN_SPELT = 6  # letters; shorter words have too many neighbours
MIN_CHANGED = 8  # letters from which a wrong or extra letter is forgiven: station is no statin
LONG = 12  # letters from which two errors are forgiven; prednisone is not prednisolone
_GRAM = 3
_POINT = 21  # bits of a character
_AT_ONCE = 1 << 15  # forms whose grams are put in order together
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
        self._spoken, self._sounds, self._rhymes = _said(self._dictionary.index)

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
        if len(text) < MIN_SPELT or has_cjk(text):
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
    forms, sizes = dictionary.forms, np.zeros(len(dictionary.forms), np.uint16)
    grams: dict[int, array[int]] = defaultdict(lambda: array("i"))
    for at in range(0, len(forms), _AT_ONCE):
        some = range(at, min(at + _AT_ONCE, len(forms)))
        codes, places = _coded(
            {n: form for n in some if dictionary.names(n) and len(form := forms[n]) > 1}
        )
        sizes[some.start : some.stop] = np.bincount(places - at, minlength=len(some))
        starts = np.flatnonzero(np.diff(codes, prepend=-1))
        runs = np.split(places, starts[1:])
        for code, run in zip(codes[starts].tolist(), runs, strict=False):  # no codes leave one run
            grams[code].frombytes(run.tobytes())
    held = {_written(code): places for code, places in grams.items()}
    keys = Trie.of(held)
    packed = Steps.of(held[each] for each in keys)
    return (keys, packed), sizes.astype(least(int(sizes.max(initial=0))))


def _coded(forms: Mapping[int, str]) -> tuple[Array, Array]:
    """Give the grams of forms as numbers, ascending, each with the places that have it, ascending.

    A gram is up to three characters of 21 bits, one more than each is; 0 is none.
    """
    found = [(np.zeros(0, np.int64), np.zeros(0, np.int32))]
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
            found.append((code[whole], place[:count][whole]))
    code, place = (np.concatenate(each) for each in zip(*found, strict=True))
    order = np.lexsort((place, code))
    code, place = code[order], place[order]
    fresh = (np.diff(code, prepend=-1) != 0) | (np.diff(place, prepend=-1) != 0)
    return code[fresh], place[fresh]


def _written(code: int) -> str:
    every = (code >> _POINT * n & (1 << _POINT) - 1 for n in reversed(range(_GRAM)))
    return "".join(chr(each - 1) for each in every if each)


def _said(index: LabelIndex) -> tuple[Groups, Groups, Groups]:
    """Give the labels by their pinyin, by what is heard of it, and by its rhyme."""
    spoken, sounds, rhymes = Gathered(), Gathered(), Gathered()
    for place, label in enumerate(index.labels):
        said = label.pinyin
        if len(said) < 2 or index.kinds[label.concept] in NEVER_GUESSED:
            continue
        for key in {"".join(said), "".join(said).replace("v", "u")}:
            spoken.add(key, place)
        if len(said) == len(label.text):
            sounds.add(" ".join(blurred(said)), place)
            if len(said) > 2:
                rhymes.add(" ".join(finals(said)), place)
    return spoken.groups(), sounds.groups(), rhymes.groups()


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
    if has_cjk(form):
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
