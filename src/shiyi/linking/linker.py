"""From text to grounded mentions; its files; many passages at once; SSSOM output."""

import csv
import hashlib
import json
import logging
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import asdict, replace
from functools import cache
from importlib import resources
from itertools import islice
from pathlib import Path
from typing import Final, Self, TextIO

from typing_extensions import override

from shiyi.artefacts import artefact
from shiyi.columnar.mapped_file import Memmap, is_of_form, log_rebuild, write
from shiyi.errors import IndexMismatchError, MissingExtraError, UsageError
from shiyi.linking import labels
from shiyi.linking.candidates import LEXICAL, SEMANTIC, SIMILAR, Guess, Guesser, NearNames
from shiyi.linking.completion import AmendedCompleter, Completer
from shiyi.linking.dictionary import Dictionary, Hit, Sense, find_favoured_kinds
from shiyi.linking.disambiguation import STOPS
from shiyi.linking.embedding import embedder
from shiyi.linking.embedding import index as approximate
from shiyi.linking.embedding import index as vectors
from shiyi.linking.embedding.embedder import Embedder
from shiyi.linking.embedding.index import ApproximateVectors, LabelVectors, VectorSearch
from shiyi.linking.labels import LabelIndex
from shiyi.linking.negation import find_negated
from shiyi.linking.normalization import NormalizedText, fold, is_cjk, language_of, normalise
from shiyi.model.answer import Mention
from shiyi.model.iris import ID
from shiyi.model.rdf import local_name
from shiyi.settings import LinkingSettings
from shiyi.sparql.sandbox.background import open_process_pool
from shiyi.sparql.store.port import QuadStore

__all__ = ["LEXICAL", "SEMANTIC", "SIMILAR", "Linker", "language_of", "write_index"]


CONDITIONS = frozenset({"Disease", "TCMDisease", "Symptom", "Syndrome"})
_HEAD = re.compile(
    r"(?:的)?(?:药物|药片|药)(?![膳食材方])| (?:lowering )?"
    r"(?:drugs?|medicines?|medications?|meds|pills?|tablets?)\b"
)


def widen(
    text: str,
    hits: Sequence[Hit],
    kind: Callable[[Hit], str],
    medicines: Callable[[str, int, int], Guess | None],
) -> list[tuple[Hit, Guess | None]]:
    """Pair each hit with what the wider mention means, where a head makes it a class of medicines.

    "Blood pressure-lowering drugs" is neither "Drug" nor "blood pressure" (iDISK2.0's failure).
    """
    results: list[tuple[Hit, Guess | None]] = []
    for place, hit in enumerate(hits):
        head = _HEAD.match(text, hit.end) if kind(hit) in CONDITIONS else None
        following = hits[place + 1].start if place + 1 < len(hits) else len(text)
        fits = head is not None and head.end() <= following
        results.append((hit, medicines(text, hit.start, head.end()) if head and fits else None))
    return results


FILE: Final = "names.safetensors"
_FORMAT: Final = "3"
# what the forms are made by; a change of one rebuilds them
_MAKERS: Final = (
    "candidates", "completion", "dictionary", "disambiguation", "labels", "normalization",
)  # fmt: skip


def write_names(index: LabelIndex, folder: Path) -> Path:
    """Write what :func:`open_names` opens."""
    dictionary = Dictionary(index)
    arrays = dictionary.arrays() | NearNames(dictionary).arrays()
    del dictionary
    arrays |= Completer(index).arrays()
    return write(folder / FILE, arrays, format=_FORMAT, release=index.release, makers=_makers())


def open_names(folder: Path, index: LabelIndex) -> Memmap | None:
    """Open what was written for an index; None where there is none, or of other making."""
    try:
        memmap = Memmap.open(folder / FILE, format=_FORMAT, release=index.release, makers=_makers())
    except IndexMismatchError:
        return None
    return memmap


@cache
def _makers() -> str:
    """Return the digest of the code and word lists that say which forms a name has."""
    home = resources.files("shiyi.linking")
    digest = hashlib.sha256()
    for name in _MAKERS:
        digest.update(home.joinpath(f"{name}.py").read_bytes())
    lexicon = artefact("ontology/lexicon")
    for path in (*sorted(lexicon.glob("*.txt")), lexicon / "cues/senses.tsv"):
        digest.update(path.read_bytes())
    return digest.hexdigest()


_AMENDED: Final = 5000  # concepts that are linked apart from the index; reading them takes 2 s
_LOG: Final = logging.getLogger(__name__)
# of likeness: how far a class that is spoken of goes before others; twice, one asked for (Shiyi's)
_FITS = 0.05


class Linker:
    """Links mentions: names first, then near spellings and sounds, then near meanings."""

    def __init__(
        self,
        index: LabelIndex,
        vectors: VectorSearch | None = None,
        settings: LinkingSettings | None = None,
        arrays: Memmap | None = None,
    ) -> None:
        """Link to the names of ``index``; ``arrays`` are its forms, where they were written."""
        self.index, self.vectors, self.made = index, vectors, arrays
        self._settings = settings or LinkingSettings()
        self.dictionary = Dictionary(index, arrays)
        self._guesser = Guesser(self.dictionary, vectors, self._settings, arrays)
        self._completer: Completer | None = None

    @classmethod
    def open(
        cls,
        folder: Path,
        store: QuadStore,
        release: str,
        settings: LinkingSettings | None = None,
        model: Embedder | None = None,
    ) -> Self:
        """Load the index of a generation's folder; read ``store`` where it is missing or old.

        ``model`` defaults to the one that the settings name. Raise :class:`IndexMismatchError`
        where the index was made for another release or by another model.
        """
        name = settings.embedder if settings else ""
        folder, model = _index_folder(folder), model or embedder.open_embedder(name)
        if is_of_form(folder / labels.FILE, labels.FORMAT):
            index = LabelIndex.load(folder, release)
        else:
            with log_rebuild("the index of labels"):
                index = LabelIndex.from_store(store, release)
        vectors = _vectors(folder, index, model)
        if memmap := open_names(folder, index):
            return cls(index, vectors, settings, memmap)
        with log_rebuild("the forms of names"):
            return cls(index, vectors, settings)

    def completer(self) -> Completer:
        """Return what completes the names, made when it is first asked for."""
        if self._completer is None:
            self._completer = Completer(self.index, self.made)
        return self._completer

    def amend(self, store: QuadStore, concepts: Collection[str]) -> "Linker":
        """Return a linker to the names that some concepts have by now in ``store``."""
        if not concepts:
            return self
        if len(concepts) > _AMENDED:
            _LOG.warning("%d concepts changed; run `shiyi index` to link to them", len(concepts))
            return self
        index = LabelIndex.from_store(store, self.index.release, sorted(concepts))
        return AmendedLinker(self, frozenset(concepts), Linker(index, None, self._settings))

    def link(
        self, text: str, language: str | None = None, *, guess: bool = True
    ) -> tuple[Mention, ...]:
        """Return the mentions of ``text`` in order; those that name nothing known have no IRI.

        ``language`` is taken for compatibility; both languages are always looked up. Without
        ``guess`` only names are found, no near spelling, sound or meaning.
        """
        folded = normalise(text)
        guesses = [name for name in self._names(folded.text) if self._is_name(name, text, folded)]
        if guess:
            covered = [(each.hit.start, each.hit.end) for each in guesses]
            guesses += self._guesser.guess(folded.text, covered)
        guesses = [each for each in guesses if not _chance(each, folded.text)]
        guesses.sort(key=lambda each: each.hit.start)
        return self._mentions(text, folded, guesses[: self._settings.max_mentions])

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

    def _is_name(self, guess: Guess, text: str, folded: NormalizedText) -> bool:
        """Return whether a name that is also a small word is written as a name: AS, SAMe, Mg."""
        hit = guess.hit
        if guess.justification != LEXICAL or folded.text[hit.start : hit.end] not in STOPS:
            return True
        written = text[slice(*folded.span(hit.start, hit.end))]
        names = {self.index.labels[sense.label].text for sense in hit.senses}
        capitals = written[1:] != written[1:].lower()  # the first letter may begin a sentence
        return capitals or written in names or any(name == name.lower() for name in names)

    def candidates(
        self, mention: str, k: int | None = None, context: str = "", kind: str = ""
    ) -> tuple[Mention, ...]:
        """Return the ``k`` concepts (setting ``candidates``) a whole mention may mean, best first.

        The classes that ``context`` points to, and class ``kind``, go before others as alike.
        """
        k = k or self._settings.candidates
        folded, around = fold(mention), fold(context) or fold(mention)
        favoured_kinds = find_favoured_kinds(around)
        best: dict[int, tuple[float, int, str, float]] = {}
        for place, (sense, score, why) in enumerate(self._rank_senses(folded, around, 4 * k)):
            own = self.index.concepts[sense.concept].kind
            key = score + _FITS * (own in favoured_kinds) + 2 * _FITS * (own == kind)
            if sense.concept not in best or key > best[sense.concept][0]:
                best[sense.concept] = key, -place, why, score
        ranked = sorted(best.items(), key=lambda item: item[1][:2], reverse=True)[:k]
        whole = Hit(0, len(mention), ())
        return tuple(
            self._mention(mention, whole, (concept,), Guess(whole, score, why), no=False)
            for concept, (_, _, why, score) in ranked
        )

    def corrections(self, mention: str) -> tuple[tuple[Mention, int], ...]:
        """Return what a whole mention was probably meant to be, with the errors in it."""
        whole, best = Hit(0, len(mention), ()), dict[int, int]()
        for sense, errors in self._guesser.near.match_mistyped(fold(mention)):
            best.setdefault(sense.concept, errors)
        return tuple(
            (self._mention(mention, whole, (concept,), Guess(whole, 0.9, SIMILAR), no=False), n)
            for concept, n in best.items()
        )

    def _rank_senses(self, folded: str, around: str, k: int) -> list[tuple[Sense, float, str]]:
        dictionary, names = self.dictionary, self._guesser.near
        senses = [(sense, 1.0, LEXICAL) for sense in dictionary.exact(folded, around)]
        alike = (*names.match_pinyin(folded), *names.match_sound(folded))
        senses += [(sense, 0.9, SIMILAR) for sense in alike]
        for form, score in (*names.spelt(folded), *names.similar(folded, k)):
            senses += [(sense, min(score, 0.99), SIMILAR) for sense in dictionary.exact(form)]
        if self.vectors is not None:
            (share,) = self.vectors.embedder.known_shares([folded])
            for place, score in self.vectors.search([folded], k)[0]:
                sense = Sense(2, self.index.labels[place].concept, place)
                senses.append((sense, min(score * share, 0.99), SEMANTIC))
        return senses

    def _mentions(
        self, text: str, folded: NormalizedText, guesses: Sequence[Guess]
    ) -> tuple[Mention, ...]:
        concepts = self.index.concepts
        spans = [
            (
                each.hit.start,
                each.hit.end,
                concepts[each.hit.senses[0].concept].kind if each.hit.senses else "",
            )
            for each in guesses
        ]
        mentions = []
        for guess, no in zip(guesses, find_negated(folded.text, spans), strict=True):
            span = Hit(*folded.span(guess.hit.start, guess.hit.end), ())
            meant = tuple(dict.fromkeys(sense.concept for sense in guess.hit.senses))
            mentions.append(self._mention(text, span, meant, guess, no))
        return tuple(mentions)

    def _mention(
        self, text: str, span: Hit, meant: Sequence[int], guess: Guess, no: bool
    ) -> Mention:
        words, start, end = text[span.start : span.end], span.start, span.end
        if not meant:
            return Mention(words, start, end, negated=no)
        best, *concepts = (self.index.concepts[number] for number in meant)
        return Mention(
            words,
            start,
            end,
            best.iri,
            best.zh,
            best.en,
            best.cui,
            best.kind,
            guess.score,
            guess.justification,
            no,
            tuple(concept.iri for concept in concepts),
        )


class AmendedLinker(Linker):
    """Links to the names that some concepts have by now, beside those of all others.

    Meanings of longer texts are sought among the names of the index alone.
    """

    def __init__(self, before: Linker, concepts: frozenset[str], own: Linker) -> None:
        """Use ``own`` for ``concepts``, which have changed since ``before`` was indexed."""
        self.__dict__.update(before.__dict__)
        self._before, self._concepts, self._own = before, concepts, own
        self._places = {concept.iri: place for place, concept in enumerate(own.index.concepts)}
        self._completer = None

    @override
    def completer(self) -> Completer:
        if self._completer is None:
            before, index = self._before.completer(), self._own.index
            self._completer = AmendedCompleter(before, self._concepts, index)
        return self._completer

    @override
    def amend(self, store: QuadStore, concepts: Collection[str]) -> Linker:
        return self._before.amend(store, self._concepts.union(concepts))

    @override
    def link(
        self, text: str, language: str | None = None, *, guess: bool = True
    ) -> tuple[Mention, ...]:
        mentions = [self._update(each) for each in self._before.link(text, language, guess=guess)]
        for name in self._own.link(text, language, guess=False):
            size = name.end - name.start
            around = [m for m in mentions if m.start < name.end and name.start < m.end]
            if any(m.iri and m.score == 1 and m.end - m.start > size for m in around):
                continue
            same = [m for m in around if m.iri and m.score == 1 and m.end - m.start == size]
            if same and same[0].start == name.start:
                meant = (*same[0].alternatives, name.iri, *name.alternatives)
                others = tuple(each for each in dict.fromkeys(meant) if each != same[0].iri)
                name = replace(same[0], alternatives=others)
            mentions = [each for each in mentions if each not in around] + [name]
        return tuple(sorted(mentions, key=lambda each: each.start))

    @override
    def candidates(
        self, mention: str, k: int | None = None, context: str = "", kind: str = ""
    ) -> tuple[Mention, ...]:
        before = self._before.candidates(mention, k, context, kind)
        mentions = [each for each in before if self._stands(each, each.iri)]
        mentions += self._own.candidates(mention, k, context, kind)
        best: dict[str, Mention] = {}
        for each in sorted(mentions, key=lambda each: -each.score):
            best.setdefault(each.iri, each)
        return tuple(best.values())[: k or self._settings.candidates]

    @override
    def corrections(self, mention: str) -> tuple[tuple[Mention, int], ...]:
        before = self._before.corrections(mention)
        results = [row for row in before if row[0].iri not in self._concepts]
        return tuple(sorted((*results, *self._own.corrections(mention)), key=lambda row: row[1]))

    def _update(self, mention: Mention) -> Mention:
        """Return a mention without the concepts that have lost its name."""
        meant = (mention.iri, *mention.alternatives)
        stands = tuple(each for each in meant if self._stands(mention, each))
        if mention.iri in stands:
            return replace(mention, alternatives=stands[1:])
        concepts = self._before.index.concepts
        senses = self._before.dictionary.exact(fold(mention.text)) if stands else ()
        places = [sense.concept for sense in senses if concepts[sense.concept].iri in stands]
        whole, guess = Hit(mention.start, mention.end, ()), Guess(Hit(0, 0, ()), 1.0, LEXICAL)
        made = self._mention("", whole, places, guess, mention.negated)
        return replace(made, text=mention.text)

    def _stands(self, mention: Mention, iri: str) -> bool:
        """Return whether a concept may still be meant: it has a name like this, or this one."""
        if iri not in self._concepts:
            return True
        place = self._places.get(iri)
        if place is None or mention.score < 1:
            return place is not None
        return any(e.concept == place for e in self._own.dictionary.senses(fold(mention.text)))


def write_index(
    folder: Path, store: QuadStore, release: str, model: Embedder | None = None
) -> LabelIndex:
    """Write the label index and its vectors below a generation's folder; return the index."""
    folder = _index_folder(folder)
    LabelIndex.from_store(store, release).save(folder)
    index = LabelIndex.load(folder, release)  # of millions of labels none lies in memory then
    write_names(index, folder)
    if (chosen := model or embedder.open_shipped()) is not None:
        made_vectors = LabelVectors.of(index, chosen)
        made_vectors.save(embedder.vectors_folder(folder, chosen))
        if len(index.labels) >= approximate.MANY:
            with suppress(MissingExtraError):  # every vector is searched instead
                ApproximateVectors.of(made_vectors).save(folder)
    return index


def _chance(guess: Guess, text: str) -> bool:
    """Return whether a Chinese name stands there by chance, as ginseng in “people join”."""
    return not guess.hit.senses and guess.justification == LEXICAL and is_cjk(text[guess.hit.start])


def _vectors(folder: Path, index: LabelIndex, model: Embedder | None) -> VectorSearch | None:
    if model is None:
        return None
    shipped, folder = folder, embedder.vectors_folder(folder, model)
    if not is_of_form(folder / vectors.FILE, vectors.FORMAT):
        with log_rebuild("the vectors of names"):
            made_vectors = LabelVectors.of(index, model)
        if folder != shipped:
            with suppress(OSError):  # a base that one may only read
                folder.mkdir(exist_ok=True)
                made_vectors.save(folder)
        return made_vectors
    exact = LabelVectors.load(folder, index, model)
    if (folder / approximate.GRAPH_FILE).is_file():
        with suppress(MissingExtraError):  # every vector is searched instead
            return ApproximateVectors.load(folder, exact)
    return exact


def _index_folder(folder: Path) -> Path:
    """Return ``index/`` of a generation, or of the current generation of a knowledge base."""
    if (current := folder / "CURRENT").is_file():
        folder = folder / "generations" / current.read_text("utf-8").strip()
    return folder / "index"


PIECE = 200  # passages linked, written and marked as done together
_linker: Linker | None = None  # of this worker process


def link_passages(
    source: Path, out: Path, make: Callable[[], Linker], processes: int = 1, piece: int = PIECE
) -> int:
    """Link the passages of ``source`` into ``out``; count those that were linked now.

    A line of ``source`` is ``{"id": …, "text": …}``, one of ``out`` ``{"id", "mentions"}``, in the
    same order for any number of processes. ``OUT.done`` says how many lines of ``source`` are
    done and how long ``out`` then was: a run that was stopped goes on from there, and what it had
    half written is cut off. ``make`` opens the linker, once in each process, so it is a function
    of a module. Raise :class:`UsageError` at a line that is no passage.
    """
    if processes < 1 or piece < 1:
        raise UsageError("linking passages takes at least one process, and one passage a piece")
    path = out.with_name(out.name + ".done")
    finished, length = _resume_point(path, out)
    linked = finished
    with source.open(encoding="utf-8") as lines, _workers(make, processes) as linking:
        rest = enumerate(islice(lines, finished, None), finished + 1)
        with out.open("r+b" if out.exists() else "wb") as file:
            file.truncate(length)
            file.seek(length)
            for answers in linking(_pieces(rest, piece, source)):
                file.writelines(f"{line}\n".encode() for line in answers)
                file.flush()
                linked += len(answers)
                _mark(path, linked, file.tell())
    return linked - finished


Piece = list[tuple[str, str]]


def _pieces(lines: Iterator[tuple[int, str]], size: int, source: Path) -> Iterator[Piece]:
    while piece := [_passage(line, number, source) for number, line in islice(lines, size)]:
        yield piece


def _passage(line: str, number: int, source: Path) -> tuple[str, str]:
    try:
        row = json.loads(line)
        passage = row["id"], row["text"]
    except (ValueError, KeyError, TypeError, RecursionError) as fault:
        raise UsageError(f"{source}:{number} is no passage with id and text ({fault!r})") from fault
    if not all(isinstance(item, str) for item in passage):
        raise UsageError(f"{source}:{number} has an id or a text that is no string")
    return passage


def _answers(linker: Linker, piece: Piece) -> list[str]:
    return [
        json.dumps(
            {"id": name, "mentions": [asdict(mention) for mention in linker.link(text)]},
            ensure_ascii=False,
        )
        for name, text in piece
    ]


@contextmanager
def _workers(
    make: Callable[[], Linker], processes: int
) -> Iterator[Callable[[Iterator[Piece]], Iterable[list[str]]]]:
    if processes == 1:
        linker = _cache_linker(make)
        yield lambda pieces: (_answers(linker, piece) for piece in pieces)
        return
    with open_process_pool(processes, _open, make) as pool:
        yield lambda pieces: _in_order(pool, pieces, 2 * processes)


def _in_order(
    pool: ProcessPoolExecutor, pieces: Iterator[Piece], ahead: int
) -> Iterator[list[str]]:
    """Yield the answers in the order of the pieces; no more than ``ahead`` are in memory."""
    waiting = [pool.submit(_work, piece) for piece in islice(pieces, ahead)]
    while waiting:
        yield waiting.pop(0).result()
        waiting += [pool.submit(_work, piece) for piece in islice(pieces, 1)]


def _open(make: Callable[[], Linker]) -> None:
    global _linker
    _linker = _cache_linker(make)


def _cache_linker(make: Callable[[], Linker]) -> Linker:
    linker = make()
    linker.dictionary.build_automaton()
    return linker


def _work(piece: Piece) -> list[str]:
    if _linker is None:
        raise RuntimeError("a worker was not opened")
    return _answers(_linker, piece)


def _resume_point(done: Path, out: Path) -> tuple[int, int]:
    """Return how many lines are done and how long the output then was, in bytes."""
    if not done.exists():
        return 0, 0
    try:
        progress = json.loads(done.read_text("utf-8"))
        finished, length = int(progress["lines"]), int(progress["bytes"])
    except (ValueError, KeyError, TypeError) as fault:
        raise UsageError(f"{done} is damaged ({fault!r}): remove it to begin again") from fault
    if not out.exists() or out.stat().st_size < length:
        raise UsageError(f"{out} is shorter than {done} says: remove {done.name} to begin again")
    return finished, length


def _mark(done: Path, lines: int, length: int) -> None:
    partial = done.with_name(done.name + ".part")
    partial.write_text(json.dumps({"lines": lines, "bytes": length}), encoding="utf-8")
    partial.replace(done)


COLUMNS: Final = (
    "subject_label", "subject_type", "predicate_id", "object_id", "object_label", "object_category",
    "mapping_justification", "confidence",
)  # fmt: skip
_SSSOM_HEAD: Final = (
    "#mapping_set_id: https://w3id.org/shiyi/mappings/mentions\n"
    "#license: https://creativecommons.org/licenses/by/4.0/\n#mapping_tool: shiyi\n#curie_map:\n"
    f"#  shiyi: {ID}\n#  skos: http://www.w3.org/2004/02/skos/core#\n"
    "#  semapv: https://w3id.org/semapv/vocab/\n"
)


def write_mentions(mentions: Iterable[Mention], out: TextIO) -> int:
    """Write one row for each linked mention, its words as a literal subject; count them.

    A name that means one thing is an ``exactMatch``, a likeness or one of several meanings a
    ``closeMatch``. Unlinkable mentions have no row.
    """
    out.write(_SSSOM_HEAD)
    writer = csv.writer(out, delimiter="\t", lineterminator="\n")
    writer.writerow(COLUMNS)
    count = 0
    for mention in mentions:
        if mention.iri:
            certain = mention.score == 1 and not mention.alternatives
            writer.writerow(
                [
                    mention.text,
                    "rdfs literal",
                    f"skos:{'exact' if certain else 'close'}Match",
                    f"shiyi:{local_name(mention.iri)}",
                    mention.label_en,
                    mention.kind,
                    mention.justification,
                    f"{mention.score:.4f}",
                ]
            )
            count += 1
    return count
