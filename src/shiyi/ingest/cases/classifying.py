"""Under which two levels of GB/T 15657 a case is filed, by the distance of its words to the classes."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from shiyi.linking.embedder import Embedder, Vectors
from shiyi.linking.labels import LabelIndex
from shiyi.model.names import ID
from shiyi.model.rdf import NamedNode

_START = f"{ID}disease-gbt-"
_ENDINGS = ("病类术语", "类术语", "术语", "类病", "（中医病名）")


@dataclass(frozen=True)
class Classes:
    """The first two levels of the scheme, and their nearness to words.

    MLKG-RAG descends greedily from the root by the sum of distances (1 − cosine) between the words
    of a case and a class; here ``beam`` classes of the first level are kept, so that one bad step
    is not the end, and the sum runs along the way.
    """

    index: LabelIndex
    embedder: Embedder | None
    beam: int = 3

    @cached_property
    def names(self) -> dict[str, str]:
        """Give the name of each class, by IRI, without words that all of them share."""
        return {
            each.iri: _bare(each.zh) for each in self.index.concepts
            if each.iri.startswith(_START) and len(each.iri.removeprefix(_START)) in {3, 6}
        }  # fmt: skip

    def level(self, iri: str) -> int:
        """Tell the level of a concept of the scheme, 0 where it is none."""
        return (iri.removeprefix(_START).count("-") + 1) if iri.startswith(_START) else 0

    def above(self, iri: str) -> tuple[NamedNode, ...]:
        """Give the class of a concept of the scheme at both levels, the first before the second."""
        parts = iri.removeprefix(_START).split("-")
        found = [f"{_START}{parts[0]}", f"{_START}{'-'.join(parts[:2])}"][: len(parts)]
        return tuple(NamedNode(each) for each in found if each in self.names)

    def of_codes(self, codes: Iterable[str]) -> tuple[NamedNode, ...]:
        """Give the classes of codes such as ``A04.02``; unknown codes name nothing."""
        for code in codes:
            iri = _START + code.strip().lower().replace(".", "-")
            if iri in self.names:
                return self.above(iri)
        return ()

    def file(
        self,
        words: Sequence[str],
        concepts: Iterable[NamedNode],
        who: tuple[str, str] = ("", ""),
    ) -> tuple[tuple[NamedNode, ...], str]:
        """Give the classes of a case and how they were found: named, near, or not at all.

        ``who`` is age group and sex: children's classes are no adult's, nor a woman's a man's.
        """
        named = [each for each in concepts if self.level(each.value)]
        if named:
            deepest = max(named, key=lambda each: self.level(each.value))
            return self.above(deepest.value), "named"
        if not words or self.embedder is None:
            return (), "none"
        iris = list(self.names)
        cosines = self.embedder.encode(list(words)) @ self._rows.T
        total = dict(zip(iris, (1 - cosines).sum(axis=0).tolist(), strict=True))
        first = sorted((each for each in iris if self.level(each) == 1), key=total.__getitem__)
        ways = [
            (total[top] + total[below], below)
            for top in first[: self.beam] for below in iris
            if below.startswith(f"{top}-") and _suits(self.names[below] + self.names[top], who)
        ]  # fmt: skip
        if not ways:
            return (), "none"
        return self.above(min(ways)[1]), "near"

    @cached_property
    def _rows(self) -> Vectors:
        return (
            self.embedder.encode(list(self.names.values()))
            if self.embedder
            else np.zeros((0, 0), np.float32)
        )


_CHILD, _FEMALE, _MALE = ("小儿", "新生儿"), ("妇", "女", "经", "带下", "妊娠", "产", "胎"), ("男",)


def _suits(name: str, who: tuple[str, str]) -> bool:
    group, sex = who
    barred = (
        *(_CHILD if group in {"adolescent", "adult", "elder"} else ()),
        *(_FEMALE if sex == "male" else _MALE if sex == "female" else ()),
    )
    return not any(each in name for each in barred)


def _bare(name: str) -> str:
    for ending in _ENDINGS:
        name = name.removesuffix(ending)
    return name
