"""GB/T 15657 classes."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from shiyi.linking.case_terms import find_class_codes
from shiyi.linking.embedding.embedder import Embedder, Vectors
from shiyi.linking.labels import LabelIndex
from shiyi.model.iris import ID
from shiyi.model.rdf import NamedNode

_START = f"{ID}disease-gbt-"
_ENDINGS = ("病类术语", "类术语", "术语", "类病", "（中医病名）")


@dataclass(frozen=True)
class Classes:
    """The first two levels of the scheme, and their nearness to words.

    MLKG-RAG descends greedily from the root by the sum of distances (1 − cosine) between the words
    of a case and a class; here ``beam`` classes of the first level are stored, so that one bad step
    is not final, and the sum runs along the path.
    """

    index: LabelIndex
    embedder: Embedder | None
    beam: int = 3
    most: float = 1.0  # mean distance above which nothing is filed

    @cached_property
    def names(self) -> dict[str, str]:
        """Return the name of each class, by IRI, without words that all of them share."""
        return {
            concept.iri: _bare(concept.zh)
            for concept in self.index.concepts
            if concept.iri.startswith(_START) and len(concept.iri.removeprefix(_START)) in {3, 6}
        }

    def level(self, iri: str) -> int:
        """Return the level of a concept of the scheme, 0 where it is none."""
        return (iri.removeprefix(_START).count("-") + 1) if iri.startswith(_START) else 0

    def above(self, iri: str) -> tuple[NamedNode, ...]:
        """Return the class of a concept of the scheme at both levels, the higher first."""
        parts = iri.removeprefix(_START).split("-")
        result = [f"{_START}{parts[0]}", f"{_START}{'-'.join(parts[:2])}"][: len(parts)]
        return tuple(NamedNode(each) for each in result if each in self.names)

    def of_codes(self, codes: Iterable[str]) -> tuple[NamedNode, ...]:
        """Return the classes of codes such as ``A04.02``; unknown codes name nothing."""
        for code in codes:
            iri = _START + code.strip().lower().replace(".", "-")
            if iri in self.names:
                return self.above(iri)
        return ()

    def file(
        self,
        words: Sequence[str],
        concepts: Iterable[NamedNode],
        patient: tuple[str, str] = ("", ""),
        stated: Sequence[str] = (),
        text: str = "",
    ) -> tuple[tuple[NamedNode, ...], str]:
        """Return the classes of a case and how they were found: ``named``, ``near`` or ``none``.

        Names come first: of the ``stated`` diseases, of a concept, then in the ``text``.
        Where nothing is named the nearest class is taken, unless its mean distance is above
        ``most``: a case that is near to nothing is filed under nothing.

        ``patient`` is age group and sex: children's classes are no adult's, nor a woman's a man's.
        """
        if by_name := self._classes_with_words(*stated):
            return by_name, "named"
        named = [node for node in concepts if self.level(node.value)]
        if named:
            deepest = max(named, key=lambda node: self.level(node.value))
            return self.above(deepest.value), "named"
        if by_name := self._classes_with_words(text):
            return by_name, "named"
        if not words or self.embedder is None:
            return (), "none"
        iris = list(self.names)
        cosines = self.embedder.encode(list(words)) @ self._rows.T
        total = dict(zip(iris, (1 - cosines).sum(axis=0).tolist(), strict=True))
        first = sorted((each for each in iris if self.level(each) == 1), key=total.__getitem__)
        ways = [
            (total[top] + total[below], below)
            for top in first[: self.beam]
            for below in iris
            if below.startswith(f"{top}-") and _suits(self.names[below] + self.names[top], patient)
        ]
        if not ways or min(ways)[0] / (2 * len(words)) > self.most:
            return (), "none"
        return self.above(min(ways)[1]), "near"

    def _classes_with_words(self, *texts: str) -> tuple[NamedNode, ...]:
        codes = (code for text in texts for code in find_class_codes(text))
        return next(filter(None, (self.above(_START + code) for code in codes)), ())

    @cached_property
    def _rows(self) -> Vectors:
        return (
            self.embedder.encode(list(self.names.values()))
            if self.embedder
            else np.zeros((0, 0), np.float32)
        )


_CHILD, _FEMALE, _MALE = ("小儿", "新生儿"), ("妇", "女", "经", "带下", "妊娠", "产", "胎"), ("男",)


def _suits(name: str, patient: tuple[str, str]) -> bool:
    group, sex = patient
    barred = (
        *(_CHILD if group in {"adolescent", "adult", "elder"} else ()),
        *(_FEMALE if sex == "male" else _MALE if sex == "female" else ()),
    )
    return not any(item in name for item in barred)


def _bare(name: str) -> str:
    for ending in _ENDINGS:
        name = name.removesuffix(ending)
    return name
