"""Type-ahead completion, and what a mistyped name was probably meant to be."""

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Final

from typing_extensions import override

from shiyi.columnar.mapped_file import Memmap
from shiyi.columnar.strings import Array
from shiyi.linking.candidates import SIMILAR
from shiyi.linking.dictionary import GroupBuilder, Groups
from shiyi.linking.disambiguation import SCHEMES
from shiyi.linking.labels import KINDS, PREFERRED, LabelIndex
from shiyi.linking.normalization import finals, fold, has_cjk, is_cjk, join_latin, syllables
from shiyi.model.answer import Mention

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
    approximate: bool = False  # only like what was typed


class Completer:
    """Sorted keys of every label: itself, its words, its pinyin, its initials."""

    def __init__(self, index: LabelIndex, arrays: Memmap | None = None) -> None:
        """Read the keys of the names of ``index`` from an open file, else compute them."""
        self._index = index
        if arrays is None:
            self._keys = _keys(index)
        else:
            self._keys = Groups.over(arrays, "key")

    def arrays(self) -> dict[str, Array]:
        """Return the keys as arrays to write."""
        return self._keys.arrays("key")

    def complete(self, prefix: str, k: int = 10) -> tuple[Completion, ...]:
        """Return up to ``k`` concepts, one entry each, the likeliest first."""
        return tuple(completion for _, completion in self.rank_all(prefix, k))

    def rank_all(self, prefix: str, k: int) -> tuple[tuple[tuple[int, ...], Completion], ...]:
        """Return what :meth:`complete` does, each with its rank, the lowest first."""
        folded = fold(prefix)
        if not folded or k < 1:
            return ()
        asked = {folded}
        if not has_cjk(folded):
            asked.add(join_latin(folded))
        best: dict[int, tuple[tuple[int, ...], int]] = {}
        for each in asked - {""}:
            self._collect(each, best)
        ranked = sorted(best.items(), key=lambda item: item[1])
        return tuple((rank, self._completion(label)) for _, (rank, label) in ranked[:k])

    def _collect(self, prefix: str, best: dict[int, tuple[tuple[int, ...], int]]) -> None:
        index = self._index
        for key, packed in islice(self._keys.items_with_prefix(prefix), _SCANNED):
            way, place = packed >> _PLACES, packed & (1 << _PLACES) - 1
            label = index.labels[place]
            kind = index.kinds[label.concept]
            rank = (
                key != prefix,
                way,
                kind in SCHEMES,
                label.role != PREFERRED,
                len(key),
                KINDS.index(kind),
            )
            if label.concept not in best or (rank, place) < best[label.concept]:
                best[label.concept] = rank, place

    def _completion(self, place: int) -> Completion:
        label = self._index.labels[place]
        concept = self._index.concepts[label.concept]
        return Completion(
            concept.iri, label.text, concept.zh, concept.en, concept.kind, concept.cui
        )


class AmendedCompleter(Completer):
    """Completes the names that some concepts have by now, beside those of all others."""

    def __init__(self, before: Completer, concepts: Collection[str], index: LabelIndex) -> None:
        """Use ``index`` for ``concepts``, which have changed since ``before`` was made."""
        super().__init__(index)
        self._before, self._concepts = before, concepts

    @override
    def rank_all(self, prefix: str, k: int) -> tuple[tuple[tuple[int, ...], Completion], ...]:
        others = self._before.rank_all(prefix, k + len(self._concepts))
        results = [row for row in others if row[1].iri not in self._concepts]
        results += super().rank_all(prefix, k)
        return tuple(sorted(results, key=lambda row: row[0])[:k])


_NEAR: Final = 0.8  # score of a candidate that is one letter away, or sounds the same
_LIKE: Final = 0.4  # of one that is spelt alike
_MEANT: Final = 0.6  # of one that means something alike
_FEW: Final = 3  # exact completions, below which a mistyped name may be meant as well
_SHORTEST: Final = 4  # letters of a beginning that still means something
_CUT: Final = 4  # letters cut off the end at most
_TONES: Final = re.compile(r"(?<=[a-zü])[1-5](?![0-9])")


class ForgivingCompleter:
    """Completes names, and offers the likeliest ones where what was typed begins none."""

    def __init__(
        self,
        completer: Completer,
        candidates: Callable[[str, int], Sequence[Mention]],
        corrections: Callable[[str], Sequence[tuple[Mention, int]]],
    ) -> None:
        """Use those of a linker: ``corrections`` by errors come before ``candidates``."""
        self._completer, self._candidates = completer, candidates
        self._corrections = corrections

    def complete(self, text: str, k: int = 10) -> tuple[Completion, ...]:
        """Return up to ``k`` concepts; those that are only alike are marked ``approximate``."""
        exact = self._completer.complete(text, k)
        if len(exact) >= min(k, _FEW) or not any(map(str.isalpha, text)) or k < 1:
            return exact
        completions = {each.iri: each for each in exact}
        for completion in self._one_error(text) if exact else self._approximate(text, k):
            completions.setdefault(completion.iri, replace(completion, approximate=True))
            if len(completions) == k:
                break
        return tuple(completions.values())

    def _one_error(self, text: str) -> Iterator[Completion]:
        """Yield what is one error away from a text that also begins a few names."""
        if len(text) > _SHORTEST:
            yield from (_completion(mention) for mention, n in self._corrections(text) if n == 1)

    def _approximate(self, text: str, k: int) -> Iterator[Completion]:
        yield from self._completer.complete(_TONES.sub("", text), k)
        mentions = self._candidates(text, k)
        near_mentions = [m for m in mentions if m.score >= _NEAR]
        corrected = self._corrections(text)
        yield from map(_completion, near_mentions)
        yield from (_completion(each) for each, _ in corrected)
        if near_mentions or any(errors == 1 for _, errors in corrected):
            return
        yield from self._names_by_rhyme(text)
        yield from self._names_beginning(text, k)
        for mention in mentions:
            if mention.score >= (_LIKE if mention.justification == SIMILAR else _MEANT):
                yield _completion(mention)

    def _names_by_rhyme(self, text: str) -> Iterator[Completion]:
        """Yield Chinese names that begin with the first character and rhyme: 山查 for 山楂."""
        folded = fold(text)
        if len(folded) < 2 or not all(map(is_cjk, folded)):
            return
        rhymes = finals(syllables(folded))
        for completion in self._completer.complete(folded[0], _SCANNED):
            if finals(syllables(completion.label_zh)) == rhymes:
                yield completion

    def _names_beginning(self, text: str, k: int) -> Iterator[Completion]:
        """Yield the names that begin like the longest beginning of ``text`` that has any."""
        folded = fold(text)
        shortest = 1 if has_cjk(folded) else _SHORTEST
        words = folded.rsplit(" ", 1)[0]
        cut = [folded[:-n] for n in range(1, _CUT + 1) if len(folded) - n >= shortest]
        for name in (*cut, *([words] if len(words) >= shortest else [])):
            if completions := self._completer.complete(name, k):
                yield from completions
                return


def _completion(mention: Mention) -> Completion:
    label = mention.label_zh or mention.label_en
    return Completion(mention.iri, label, mention.label_zh, mention.label_en, mention.kind)


def _keys(index: LabelIndex) -> Groups:
    """Return the places of labels by key, each with the way it is found by."""
    keys = GroupBuilder()
    for place, label in enumerate(index.labels):
        folded = fold(label.text)
        keys.add(folded, place)
        if label.language != "zh":
            for at in [at for at, character in enumerate(folded) if character == " "]:
                keys.add(folded[at + 1 :], 2 << _PLACES | place)
        elif pinyin := label.pinyin:
            spoken = "".join(pinyin)
            for name in {spoken, spoken.replace("v", "u")}:
                keys.add(name, 1 << _PLACES | place)
            keys.add("".join(each[0] for each in pinyin), 3 << _PLACES | place)
    return keys.groups()
