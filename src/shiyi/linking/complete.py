"""What a person who types may be about to write: Chinese, pinyin, initials, English."""

from dataclasses import dataclass
from itertools import islice

from shiyi.linking.context import SCHEMES
from shiyi.linking.groups import Gathered, Groups
from shiyi.linking.labels import KINDS, PREFERRED, LabelIndex
from shiyi.linking.normalise import fold, has_cjk
from shiyi.linking.pinyin import joined
from shiyi.model.mapped import Mapped
from shiyi.model.strings import Array

_SCANNED = 400  # keys with one prefix that are looked at
_PLACES = (
    30  # bits of a label's place, below the way a key finds it by: itself, pinyin, words, initials
)


@dataclass(frozen=True, slots=True)
class Completion:
    """A concept, and the label by which it was found."""

    iri: str
    label: str
    label_zh: str
    label_en: str
    kind: str
    cui: str = ""


class Completer:
    """Sorted keys of every label: itself, its words, its pinyin, its initials."""

    def __init__(self, index: LabelIndex, made: Mapped | None = None) -> None:
        """Take the keys of the names of ``index`` from what was ``made``, else make them."""
        self._index = index
        if made is None:
            self._keys = _keys(index)
        else:
            self._keys = Groups.over(made, "key")

    def arrays(self) -> dict[str, Array]:
        """Give the keys as arrays to write."""
        return self._keys.arrays("key")

    def complete(self, prefix: str, k: int = 10) -> tuple[Completion, ...]:
        """Give up to ``k`` concepts, one entry each, the likeliest first."""
        folded = fold(prefix)
        if not folded or k < 1:
            return ()
        asked = {folded}
        if not has_cjk(folded):
            asked.add(joined(folded))
        best: dict[int, tuple[tuple[int, ...], int]] = {}
        for each in asked - {""}:
            self._collect(each, best)
        ranked = sorted(best.items(), key=lambda item: item[1])
        return tuple(self._completion(label) for _, (_, label) in ranked[:k])

    def _collect(self, prefix: str, best: dict[int, tuple[tuple[int, ...], int]]) -> None:
        index = self._index
        for key, packed in islice(self._keys.starting(prefix), _SCANNED):
            way, place = packed >> _PLACES, packed & (1 << _PLACES) - 1
            label = index.labels[place]
            kind = index.kinds[label.concept]
            rank = (
                key != prefix, way, kind in SCHEMES, label.role != PREFERRED,
                len(key), KINDS.index(kind),
            )  # fmt: skip
            if label.concept not in best or (rank, place) < best[label.concept]:
                best[label.concept] = rank, place

    def _completion(self, place: int) -> Completion:
        label = self._index.labels[place]
        concept = self._index.concepts[label.concept]
        return Completion(
            concept.iri, label.text, concept.zh, concept.en, concept.kind, concept.cui
        )


def _keys(index: LabelIndex) -> Groups:
    """Give the places of labels by key, each with the way it is found by."""
    keys = Gathered()
    for place, label in enumerate(index.labels):
        folded = fold(label.text)
        keys.add(folded, place)
        if label.language != "zh":
            for at in _starts(folded):
                keys.add(folded[at + 1 :], 2 << _PLACES | place)
        elif said := label.pinyin:
            spoken = "".join(said)
            for each in {spoken, spoken.replace("v", "u")}:
                keys.add(each, 1 << _PLACES | place)
            keys.add("".join(each[0] for each in said), 3 << _PLACES | place)
    return keys.groups()


def _starts(text: str) -> list[int]:
    return [at for at, character in enumerate(text) if character == " "]
