"""From the words of a text to the concepts they mean, or honestly to none."""

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Self

from shiyi.errors import MissingExtraError
from shiyi.linking import approximate, embedder, labels, vectors
from shiyi.linking.approximate import ApproximateVectors
from shiyi.linking.context import STOPS, favoured
from shiyi.linking.dictionary import Dictionary, Hit, Sense
from shiyi.linking.embedder import Embedder
from shiyi.linking.guess import LEXICAL, SEMANTIC, SIMILAR, Guess, Guesser
from shiyi.linking.heads import widen
from shiyi.linking.labels import LabelIndex
from shiyi.linking.names import open_names, write_names
from shiyi.linking.negation import negated
from shiyi.linking.normalise import Normalised, fold, is_cjk, language_of, normalise
from shiyi.linking.vectors import LabelVectors, Searching
from shiyi.model.mapped import Mapped, is_of_form
from shiyi.model.mention import Mention
from shiyi.model.remaking import made_anew
from shiyi.settings import LinkingSettings
from shiyi.sparql.store import QuadStore

__all__ = ["LEXICAL", "SEMANTIC", "SIMILAR", "Linker", "language_of", "write_index"]

_FITS = 0.05  # of likeness: how far a class that is spoken of goes before others; twice, one asked for (ours)


class Linker:
    """Links mentions: names first, then near spellings and sounds, then near meanings."""

    def __init__(
        self,
        index: LabelIndex,
        vectors: Searching | None = None,
        settings: LinkingSettings | None = None,
        made: Mapped | None = None,
    ) -> None:
        """Link to the names of ``index``; ``made`` are its forms, where they were written."""
        self.index, self.vectors, self.made = index, vectors, made
        self._settings = settings or LinkingSettings()
        self.dictionary = Dictionary(index, made)
        self._guesser = Guesser(self.dictionary, vectors, self._settings, made)

    @classmethod
    def open(
        cls,
        folder: Path,
        store: QuadStore,
        release: str,
        settings: LinkingSettings | None = None,
        model: Embedder | None = None,
    ) -> Self:
        """Load the index in a generation's folder; read ``store`` where none was made, or by an older Shiyi.

        ``model`` defaults to the shipped one. Raises :class:`IndexMismatchError` where the index
        was made for another release or by another model.
        """
        folder, model = _index_folder(folder), model or embedder.shipped()
        if is_of_form(folder / labels.FILE, labels.FORMAT):
            index = LabelIndex.load(folder, release)
        else:
            with made_anew("the index of labels"):
                index = LabelIndex.from_store(store, release)
        vectors = _vectors(folder, index, model)
        if made := open_names(folder, index):
            return cls(index, vectors, settings, made)
        with made_anew("the forms of names"):
            return cls(index, vectors, settings)

    def link(self, text: str, language: str | None = None) -> tuple[Mention, ...]:
        """Give the mentions of ``text`` in order; those that name nothing known have no IRI.

        ``language`` is taken for compatibility; both languages are always looked up.
        """
        folded = normalise(text)
        found = [each for each in self._names(folded.text) if self._written(each, text, folded)]
        covered = [(each.hit.start, each.hit.end) for each in found]
        found += self._guesser.guess(folded.text, covered)
        found = [each for each in found if not _chance(each, folded.text)]
        found.sort(key=lambda each: each.hit.start)
        return self._mentions(text, folded, found[: self._settings.max_mentions])

    def _names(self, text: str) -> list[Guess]:
        """Find the names in a folded text; before "medicine" a condition gives way to a class."""
        concepts = self.index.concepts
        widened = widen(
            text,
            self.dictionary.find(text),
            lambda hit: concepts[hit.senses[0].concept].kind if hit.senses else "",
            self._guesser.medicines,
        )
        return [Guess(hit, 1.0, LEXICAL) if wider is None else wider for hit, wider in widened]

    def _written(self, guess: Guess, text: str, folded: Normalised) -> bool:
        """Say whether a name that is also a small word is written as a name: AS, SAMe, Mg."""
        hit = guess.hit
        if guess.justification != LEXICAL or folded.text[hit.start : hit.end] not in STOPS:
            return True
        said = text[slice(*folded.span(hit.start, hit.end))]
        names = {self.index.labels[sense.label].text for sense in hit.senses}
        capitals = said[1:] != said[1:].lower()  # the first letter may begin a sentence
        return capitals or said in names or any(name == name.lower() for name in names)

    def candidates(
        self, mention: str, k: int | None = None, context: str = "", kind: str = ""
    ) -> tuple[Mention, ...]:
        """Give the ``k`` concepts (setting ``candidates``) a whole mention may mean, best first.

        The classes that ``context`` points to, and class ``kind``, go before others as alike.
        """
        k = k or self._settings.candidates
        folded, around = fold(mention), fold(context) or fold(mention)
        turned = favoured(around)
        best: dict[int, tuple[float, int, str, float]] = {}
        for place, (sense, score, why) in enumerate(self._ranked(folded, around, 4 * k)):
            own = self.index.concepts[sense.concept].kind
            key = score + _FITS * (own in turned) + 2 * _FITS * (own == kind)
            if sense.concept not in best or key > best[sense.concept][0]:
                best[sense.concept] = key, -place, why, score
        ranked = sorted(best.items(), key=lambda item: item[1][:2], reverse=True)[:k]
        whole = Hit(0, len(mention), ())
        return tuple(
            self._mention(mention, whole, (concept,), Guess(whole, score, why), no=False)
            for concept, (_, _, why, score) in ranked
        )

    def _ranked(self, folded: str, around: str, k: int) -> list[tuple[Sense, float, str]]:
        dictionary, near = self.dictionary, self._guesser.near
        found = [(sense, 1.0, LEXICAL) for sense in dictionary.exact(folded, around)]
        found += [(sense, 0.9, SIMILAR) for sense in (*near.spoken(folded), *near.sounding(folded))]
        for form, score in (*near.spelt(folded), *near.similar(folded, k)):
            found += [(sense, min(score, 0.99), SIMILAR) for sense in dictionary.exact(form)]
        if self.vectors is not None:
            (share,) = self.vectors.embedder.known([folded])
            for place, score in self.vectors.search([folded], k)[0]:
                sense = Sense(2, self.index.labels[place].concept, place)
                found.append((sense, min(score * share, 0.99), SEMANTIC))
        return found

    def _mentions(
        self, text: str, folded: Normalised, found: Sequence[Guess]
    ) -> tuple[Mention, ...]:
        concepts = self.index.concepts
        spans = [
            (each.hit.start, each.hit.end,
             concepts[each.hit.senses[0].concept].kind if each.hit.senses else "")
            for each in found
        ]  # fmt: skip
        made = []
        for each, no in zip(found, negated(folded.text, spans), strict=True):
            span = Hit(*folded.span(each.hit.start, each.hit.end), ())
            meant = tuple(dict.fromkeys(sense.concept for sense in each.hit.senses))
            made.append(self._mention(text, span, meant, each, no))
        return tuple(made)

    def _mention(
        self, text: str, span: Hit, meant: Sequence[int], guess: Guess, no: bool
    ) -> Mention:
        words, start, end = text[span.start : span.end], span.start, span.end
        if not meant:
            return Mention(words, start, end, negated=no)
        best, *others = (self.index.concepts[each] for each in meant)
        return Mention(
            words, start, end, best.iri, best.zh, best.en, best.cui, best.kind,
            guess.score, guess.justification, no, tuple(each.iri for each in others),
        )  # fmt: skip


def write_index(
    folder: Path, store: QuadStore, release: str, model: Embedder | None = None
) -> LabelIndex:
    """Write the label index and its vectors below a generation's folder; give the index."""
    folder = _index_folder(folder)
    LabelIndex.from_store(store, release).save(folder)
    index = LabelIndex.load(folder, release)  # of millions of labels none lies in memory then
    write_names(index, folder)
    if (chosen := model or embedder.shipped()) is not None:
        made = LabelVectors.of(index, chosen)
        made.save(folder)
        if len(index.labels) >= approximate.MANY:
            with suppress(MissingExtraError):  # every vector is searched instead
                ApproximateVectors.of(made).save(folder)
    return index


def _chance(guess: Guess, text: str) -> bool:
    """Say whether a Chinese name stood there by chance: 人参加 is no mention, known or unknown."""
    return not guess.hit.senses and guess.justification == LEXICAL and is_cjk(text[guess.hit.start])


def _vectors(folder: Path, index: LabelIndex, model: Embedder | None) -> Searching | None:
    if model is None:
        return None
    if not is_of_form(folder / vectors.FILE, vectors.FORMAT):
        with made_anew("the vectors of names"):
            return LabelVectors.of(index, model)
    exact = LabelVectors.load(folder, index, model)
    if (folder / approximate.FILE).is_file():
        with suppress(MissingExtraError):  # every vector is searched instead
            return ApproximateVectors.load(folder, exact)
    return exact


def _index_folder(folder: Path) -> Path:
    """Give ``index/`` of a generation, or of the current generation of a knowledge base."""
    if (current := folder / "CURRENT").is_file():
        folder = folder / "generations" / current.read_text("utf-8").strip()
    return folder / "index"
