"""What a person who types may be about to write: Chinese, pinyin, initials, English."""

from dataclasses import dataclass

import numpy as np

from shiyi.linking.context import SCHEMES
from shiyi.linking.labels import KINDS, PREFERRED, LabelIndex
from shiyi.linking.normalise import fold, is_cjk
from shiyi.linking.pinyin import joined
from shiyi.model.mapped import Mapped
from shiyi.model.strings import Array, Strings

_SCANNED = 400  # keys with one prefix that are looked at


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
            found = sorted(_keys(index))
            self._keys = Strings.of(key for key, _, _ in found)
            self._ways = np.array([way for _, way, _ in found], np.uint8)
            self._places = np.array([place for _, _, place in found], np.int32)
        else:
            self._keys = made.strings("key")
            self._ways, self._places = made["key.way"], made["key.label"]

    def arrays(self) -> dict[str, Array]:
        """Give the keys as arrays to write."""
        return self._keys.arrays("key") | {"key.way": self._ways, "key.label": self._places}

    def complete(self, prefix: str, k: int = 10) -> tuple[Completion, ...]:
        """Give up to ``k`` concepts, one entry each, the likeliest first."""
        folded = fold(prefix)
        if not folded or k < 1:
            return ()
        asked = {folded}
        if not any(map(is_cjk, folded)):
            asked.add(joined(folded))
        best: dict[int, tuple[tuple[int, ...], int]] = {}
        for each in asked - {""}:
            self._collect(each, best)
        ranked = sorted(best.items(), key=lambda item: item[1])
        return tuple(self._completion(label) for _, (_, label) in ranked[:k])

    def _collect(self, prefix: str, best: dict[int, tuple[tuple[int, ...], int]]) -> None:
        index = self._index
        start = self._keys.first_from(prefix)
        end = min(start + _SCANNED, len(self._keys))
        for at in range(start, end):
            key, way, place = self._keys[at], int(self._ways[at]), int(self._places[at])
            if not key.startswith(prefix):
                break
            label = index.labels[place]
            kind = index.concepts[label.concept].kind
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


def _keys(index: LabelIndex) -> set[tuple[str, int, int]]:
    keys: set[tuple[str, int, int]] = set()
    for place, label in enumerate(index.labels):
        folded = fold(label.text)
        keys.add((folded, 0, place))
        if label.language != "zh":
            keys |= {(folded[at + 1 :], 2, place) for at in _starts(folded)}
        elif label.pinyin:
            spoken = "".join(label.pinyin)
            keys |= {(each, 1, place) for each in (spoken, spoken.replace("v", "u"))}
            keys.add(("".join(each[0] for each in label.pinyin), 3, place))
    return keys


def _starts(text: str) -> list[int]:
    return [at for at, character in enumerate(text) if character == " "]
