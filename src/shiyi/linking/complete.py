"""What a person who types may be about to write: Chinese, pinyin, initials, English."""

from bisect import bisect_left
from dataclasses import dataclass

from shiyi.linking.context import SCHEMES
from shiyi.linking.labels import KINDS, PREFERRED, LabelIndex
from shiyi.linking.normalise import fold, is_cjk
from shiyi.linking.pinyin import joined

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

    def __init__(self, index: LabelIndex) -> None:
        self._index = index
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
        self._keys = sorted(keys)

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
        start = bisect_left(self._keys, (prefix,))
        for key, way, place in self._keys[start : start + _SCANNED]:
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


def _starts(text: str) -> list[int]:
    return [at for at, character in enumerate(text) if character == " "]
