"""From the words of a text to the concepts they mean, or honestly to none."""

from collections.abc import Sequence
from pathlib import Path
from typing import Self

from shiyi.linking.chunks import (
    chinese_runs,
    chinese_words,
    is_content,
    latin_words,
    uncovered,
)
from shiyi.linking.dictionary import Dictionary, Hit
from shiyi.linking.labels import FILE, LabelIndex
from shiyi.linking.negation import negated
from shiyi.linking.normalise import Normalised, normalise
from shiyi.model.mention import Mention
from shiyi.settings import LinkingSettings
from shiyi.sparql.store import QuadStore

LEXICAL = "semapv:LexicalMatching"
SIMILAR = "semapv:LexicalSimilarityThresholdMatching"
SEMANTIC = "semapv:SemanticSimilarityThresholdMatching"


class Linker:
    """Links mentions: names first, then near spellings, then near meanings."""

    def __init__(self, index: LabelIndex, settings: LinkingSettings | None = None) -> None:
        self.index = index
        self.dictionary = Dictionary(index)
        self._settings = settings or LinkingSettings()

    @classmethod
    def open(
        cls,
        kb: Path,
        store: QuadStore,
        release: str,
        settings: LinkingSettings | None = None,
    ) -> Self:
        """Load the index of the current generation of ``kb``, or read the store if it has none.

        Raises :class:`IndexMismatchError` where the index was made for another release.
        """
        folder = index_folder(kb)
        if (folder / FILE).is_file():
            return cls(LabelIndex.load(folder, release), settings)
        return cls(LabelIndex.from_store(store, release), settings)

    def link(self, text: str, language: str | None = None) -> tuple[Mention, ...]:
        """Give the mentions of ``text`` in order; those that name nothing known have no IRI."""
        folded = normalise(text)
        hits = [(hit, 1.0, LEXICAL) for hit in self.dictionary.find(folded.text)]
        hits += self._unknown(folded.text, [(hit.start, hit.end) for hit, _, _ in hits])
        hits.sort(key=lambda each: each[0].start)
        return self._mentions(text, folded, hits[: self._settings.max_mentions])

    def _unknown(
        self, text: str, covered: Sequence[tuple[int, int]]
    ) -> list[tuple[Hit, float, str]]:
        spans: list[tuple[int, int]] = []
        for start, end in uncovered(text, covered):
            for run in chinese_runs(text, start, end):
                spans += chinese_words(text, *run)
            spans += [(group[0][0], group[-1][1]) for group in latin_words(text, start, end)]
        return [(Hit(s, e, ()), 0.0, "") for s, e in spans if is_content(text[s:e])]

    def _mentions(
        self, text: str, folded: Normalised, hits: Sequence[tuple[Hit, float, str]]
    ) -> tuple[Mention, ...]:
        concepts = self.index.concepts
        kinds = [concepts[hit.senses[0].concept].kind if hit.senses else "" for hit, _, _ in hits]
        absent = negated(
            folded.text,
            [(hit.start, hit.end, kind) for (hit, _, _), kind in zip(hits, kinds, strict=True)],
        )
        made = []
        for (hit, score, why), no in zip(hits, absent, strict=True):
            start, end = folded.span(hit.start, hit.end)
            if not hit.senses:
                made.append(Mention(text[start:end], start, end, negated=no))
                continue
            best, *others = (concepts[sense.concept] for sense in hit.senses)
            made.append(
                Mention(
                    text[start:end],
                    start,
                    end,
                    best.iri,
                    best.zh,
                    best.en,
                    best.cui,
                    best.kind,
                    score,
                    why,
                    no,
                    tuple(dict.fromkeys(other.iri for other in others)),
                )
            )
        return tuple(made)


def index_folder(kb: Path) -> Path:
    """Give where the derived files of the current generation lie."""
    current = kb / "CURRENT"
    name = current.read_text("utf-8").strip() if current.is_file() else ""
    return kb / "generations" / name / "index"
