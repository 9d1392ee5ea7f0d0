"""Search over text units: by words with tantivy (BM25), by meaning with vectors.

The index of a build lies in one file, which is never changed: it is unpacked into a
temporary folder of the process, where it follows the claims that change.
"""

import itertools
import os
import shutil
import tempfile
import threading
import weakref
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Self

import numpy as np
from numpy.typing import NDArray
from tantivy import Document, Index, Occur, Query, Schema, SchemaBuilder, Searcher

from shiyi.answering.knowledge.facts import Fact, Facts
from shiyi.answering.retrieval.passages import (
    CLAIM,
    DEFINITION,
    PAIR,
    PASSAGE,
    SUMMARY,
    Unit,
    unit_of,
)
from shiyi.columnar.mapped_file import Memmap, write
from shiyi.errors import IndexMismatchError
from shiyi.linking.embedding.embedder import Embedder, Vectors
from shiyi.linking.embedding.index import Near, search_nearest
from shiyi.linking.normalization import STOP_WORDS, words
from shiyi.sparql.store.port import QuadStore

FILE: Final = "texts.safetensors"
_FORMAT: Final = "6"
_PACKED: Final = "tantivy/"  # before the name of a file of the index
_VECTORS: Final = "vectors"
_KINDS: Final = (CLAIM, DEFINITION, PASSAGE, SUMMARY, PAIR)
_GONE: Final = 255  # instead of the place of a kind
_LAST: Final = "\U0010ffff"  # after every IRI
_BATCH: Final = 4_096  # texts embedded at a time
_HEAP: Final = 32_000_000  # bytes that the writer may fill before it writes a segment
_MOST_WORDS: Final = 96  # of a question; more only slow it down
_SINGLY: Final = 1_024  # values looked up one by one; a set of 250 takes four times as long
_COMMON: Final = 0.25  # Shiyi's: words of more than this share of the units are not searched for
_FEWEST: Final = 200  # units below which no word is too common


def _schema() -> Schema:
    """Return the fields of a unit; ``number`` is the row of its vector."""
    schema = SchemaBuilder()
    schema.add_text_field("words", tokenizer_name="whitespace", index_option="freq")
    for name in ("iri", "kind", "claims"):
        schema.add_text_field(name, stored=True, tokenizer_name="raw", index_option="basic")
    for name in ("text", "section"):
        schema.add_bytes_field(name, stored=True)
    schema.add_unsigned_field("number", stored=True, indexed=True)
    return schema.build()


_SCHEMA: Final = _schema()


@dataclass(frozen=True, slots=True)
class Hit:
    """A unit that was recalled: ``score`` is BM25 or a cosine, larger is better."""

    unit: Unit
    score: float


@dataclass(frozen=True, slots=True)
class State:
    """The units of a moment: a snapshot of the index, and kind and vector of each row."""

    searcher: Searcher
    kinds: NDArray[np.uint8]
    vectors: tuple[Vectors, ...]  # of the build, and of what came since; none without a model

    def select(self, query: Query) -> dict[int, Unit]:
        """Return the units that a query matches, by their rows, in order."""
        hits = self.searcher.search(query, max(1, self.searcher.num_docs)).hits
        results = (self.read(address) for _, address in hits)
        return dict(sorted(results, key=lambda row: row[0]))

    def read(self, address: object) -> tuple[int, Unit]:
        """Return the row and the unit of a search result."""
        stored = self.searcher.doc(address).to_dict()  # type: ignore[arg-type]
        (number,), (iri,), (kind,) = stored["number"], stored["iri"], stored["kind"]
        (text,), (section,) = stored["text"], stored["section"]
        claims = tuple(stored.get("claims", ()))
        return number, Unit(iri, kind, bytes(text).decode(), claims, bytes(section).decode())


class _Folder:
    """A temporary folder, removed when nothing refers to it or the process that made it ends."""

    def __init__(self) -> None:
        self.path = Path(tempfile.mkdtemp(prefix="shiyi-texts-"))
        weakref.finalize(self, _remove, self.path, os.getpid())


def _remove(path: Path, process: int) -> None:
    if os.getpid() == process:  # and not a process forked from it
        shutil.rmtree(path, ignore_errors=True)


@dataclass(slots=True)
class Library:
    """Units searched by their words (BM25) and as vectors; safe between threads."""

    state: State
    embedder: Embedder | None
    _index: Index
    _folder: _Folder
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @classmethod
    def build(
        cls,
        units: Iterable[Unit],
        release: str,
        embedder: Embedder | None,
        folder: Path | None = None,
    ) -> Self:
        """Index ``units``, and write them below ``folder`` where one is given."""
        place = _Folder()
        index = Index(_SCHEMA, path=str(place.path))
        kinds, rows = _write(index, units, embedder)
        if folder is not None:
            arrays: dict[str, NDArray[np.generic]] = {
                _PACKED + path.name: np.frombuffer(path.read_bytes(), np.uint8)
                for path in sorted(place.path.iterdir())
                if path.stat().st_size
            }
            arrays |= {"kinds": kinds} | ({} if rows is None else {_VECTORS: rows})
            model = embedder.identity if embedder else ""
            write(folder / FILE, arrays, format=_FORMAT, release=release, model=model)
        vectors = () if rows is None else (rows,)
        return cls(State(index.searcher(), kinds, vectors), embedder, index, place)

    @classmethod
    def open(cls, folder: Path, release: str, embedder: Embedder | None) -> Self:
        """Open what :meth:`build` wrote.

        Raise ``IndexMismatchError`` where there is none, or one of another release or format.
        """
        if not (folder / FILE).is_file():
            raise IndexMismatchError(f"{folder} has no index of texts: run `shiyi index`")
        memmap = Memmap.open(folder / FILE, format=_FORMAT, release=release)
        place = _Folder()
        for name, content in memmap.arrays.items():
            if name.startswith(_PACKED):
                (place.path / Path(name).name).write_bytes(content.tobytes())
        kinds = memmap["kinds"]
        is_same = embedder is not None and memmap.about.get("model") == embedder.identity
        vectors = (memmap[_VECTORS],) if is_same else ()
        try:
            index = Index.open(str(place.path))
            searcher = index.searcher()
        except ValueError as fault:
            raise IndexMismatchError(
                f"{memmap.path} is damaged ({fault}): run `shiyi index`"
            ) from fault
        if any(len(vector) != len(kinds) for vector in vectors) or searcher.num_docs != len(kinds):
            raise IndexMismatchError(f"{memmap.path} is damaged: run `shiyi index`")
        return cls(State(searcher, kinds, vectors), embedder, index, place)

    def __len__(self) -> int:
        """Count the units."""
        return self.state.searcher.num_docs

    def claims(self) -> frozenset[str]:
        """List the claims that have a text of their own."""
        listed = self.state.searcher.terms_with_prefix("iri", "", _term("kind", CLAIM))
        return frozenset(claim for claim, _ in listed)

    def change(
        self, gone: Collection[str], come: Sequence[Unit], read_in: Mapping[str, Collection[str]]
    ) -> None:
        """Remove the texts of the claims ``gone`` and put ``come`` in instead.

        ``read_in`` lists for each claim that came the passages it was read in.
        """
        with self._lock:
            state = self.state
            touched = {*gone, *(unit.iri for unit in come)}
            read = defaultdict[str, list[str]](list)
            for claim, passages in read_in.items():
                for passage in passages:
                    read[passage].append(claim)
            units = state.select(_join_queries(_terms("claims", touched), _terms("iri", [*read])))
            kinds, writer = state.kinds.copy(), self._index.writer(_HEAP, num_threads=1)
            for number, unit in units.items():
                if unit.kind == CLAIM:
                    if unit.iri not in touched:
                        continue
                    kinds[number] = _GONE
                writer.delete_documents_by_query(_term("number", number))
                if unit.kind != CLAIM:
                    others = (iri for iri in unit.claims if iri not in touched)
                    writer.add_document(_document(unit, number, (*others, *read[unit.iri])))
            first = len(kinds)
            for number, unit in enumerate(come, first):
                writer.add_document(_document(unit, number, unit.claims))
            writer.commit()
            writer.wait_merging_threads()
            self._index.reload()
            vectors = state.vectors
            if vectors and self.embedder is not None and come:
                rows = self.embedder.encode([unit.text for unit in come])
                vectors = (vectors[0], np.concatenate([*vectors[1:], rows]))
            kinds = np.concatenate([kinds, _places(come)])
            self.state = State(self._index.searcher(), kinds, vectors)

    def by_words(
        self, text: str, k: int, kinds: Collection[str] = (), claims: Collection[str] = ()
    ) -> tuple[Hit, ...]:
        """Return the ``k`` units that share the rarest words with a text, best first (BM25).

        ``kinds`` and ``claims`` leave only units of these kinds, or that bear one of these claims.
        """
        state, tokens = self.state, dict.fromkeys(words(text))
        asked = [token for token in tokens if token not in STOP_WORDS][:_MOST_WORDS] or list(tokens)
        count = state.searcher.num_docs
        if count >= _FEWEST:
            rare = [
                word for word in asked if state.searcher.doc_freq("words", word) <= _COMMON * count
            ]
            asked = rare or asked
        if not asked or k < 1:
            return ()
        query = _join_queries(*(_term("words", word) for word in asked))
        hits = state.searcher.search(_narrow_query(query, kinds, claims), k).hits
        return tuple(Hit(state.read(address)[1], score) for score, address in hits)

    def by_meaning(self, text: str, k: int, kinds: Collection[str] = ()) -> tuple[Hit, ...]:
        """Return the ``k`` units nearest to a text by cosine; none where there are no vectors."""
        return self.nearest([text], k, kinds)[0]

    def nearest(
        self, texts: Sequence[str], k: int, kinds: Collection[str] = ()
    ) -> tuple[tuple[Hit, ...], ...]:
        """Return for each text the ``k`` nearest units, nearest first."""
        state = self.state
        if self.embedder is None or not state.vectors or not texts or k < 1:
            return tuple(() for _ in texts)
        vectors = self.embedder.encode(texts)
        wanted = state.kinds != _GONE
        if kinds:
            wanted &= np.isin(state.kinds, [_KINDS.index(kind) for kind in kinds])
        results: list[Near] = [[] for _ in texts]
        first = 0
        for rows in state.vectors:
            there = wanted[first : first + len(rows)]
            for near, some in zip(results, search_nearest(rows, vectors, k, there), strict=True):
                near += [(first + place, cosine) for place, cosine in some if cosine > 0]
            first += len(rows)
        best = [sorted(group, key=lambda row: (-row[1], row[0]))[:k] for group in results]
        units = state.select(_terms("number", {place for group in best for place, _ in group}))
        return tuple(tuple(Hit(units[place], cosine) for place, cosine in group) for group in best)

    def texts_of(self, claims: Collection[str], kinds: Collection[str]) -> tuple[Unit, ...]:
        """Return the texts of some kinds that bear any of these claims."""
        return tuple(self.state.select(_narrow_query(Query.all_query(), kinds, claims)).values())


def _write(
    index: Index, units: Iterable[Unit], embedder: Embedder | None
) -> tuple[NDArray[np.uint8], Vectors | None]:
    """Write units into an empty index; return the kind and, with a model, the vector of each."""
    units = sorted(
        units, key=lambda unit: unit.iri if unit.kind == CLAIM else _LAST
    )  # equals come in order
    writer = index.writer(_HEAP, num_threads=1)
    kinds, rows, number = [np.zeros(0, np.uint8)], list[Vectors](), 0
    for batch in _batches(units):
        for unit in batch:
            writer.add_document(_document(unit, number, unit.claims))
            number += 1
        kinds.append(_places(batch))
        if embedder is not None:
            rows.append(embedder.encode([unit.text for unit in batch]))
    writer.commit()
    writer.wait_merging_threads()
    index.reload()
    if embedder is None:
        return np.concatenate(kinds), None
    return np.concatenate(kinds), np.concatenate([embedder.encode([]), *rows])


def _batches(units: Iterable[Unit]) -> Iterator[list[Unit]]:
    rest = iter(units)
    while batch := list(itertools.islice(rest, _BATCH)):
        yield batch


def _places(units: Iterable[Unit]) -> NDArray[np.uint8]:
    return np.array([_KINDS.index(unit.kind) for unit in units], np.uint8)


def _document(unit: Unit, number: int, claims: Sequence[str]) -> Document:
    made = Document()
    made.add_unsigned("number", number)
    made.add_text("iri", unit.iri)
    made.add_text("kind", unit.kind)
    for claim in claims:
        made.add_text("claims", claim)
    made.add_text("words", " ".join(words(unit.text)))
    made.add_bytes("text", unit.text.encode("utf-8", "replace"))
    made.add_bytes("section", unit.section.encode("utf-8", "replace"))
    return made


def _term(name: str, value: str | int) -> Query:
    return Query.term_query(_SCHEMA, name, value, "freq" if name == "words" else "basic")


def _terms(name: str, values: Collection[str] | Collection[int]) -> Query:
    if 0 < len(values) <= _SINGLY:
        return _join_queries(*(_term(name, value) for value in values))
    return Query.term_set_query(_SCHEMA, name, list(values))


def _join_queries(*queries: Query) -> Query:
    return Query.boolean_query([(Occur.Should, query) for query in queries])


def _narrow_query(query: Query, kinds: Collection[str], claims: Collection[str]) -> Query:
    """Return a query that matches less and scores the same."""
    parts = [(Occur.Must, query)]
    for name, values in (("kind", kinds), ("claims", claims)):
        if values:
            parts.append((Occur.Must, Query.const_score_query(_terms(name, values), 0.0)))
    return Query.boolean_query(parts) if len(parts) > 1 else query


def level_texts(library: Library, store: QuadStore, facts: Facts) -> None:
    """Bring a library that was written at the build to the claims as they are since."""
    known_facts = {f.claim: f for row in facts.by_subject.values() for f in row if not f.derived}
    indexed = library.claims()
    if indexed != known_facts.keys():
        new_facts = [known_facts[each] for each in sorted(known_facts.keys() - indexed)]
        change_texts(library, store, facts, indexed - known_facts.keys(), new_facts)


def change_texts(
    library: Library, store: QuadStore, facts: Facts, touched: Collection[str], now: Iterable[Fact]
) -> None:
    """Remove the texts of the claims ``touched`` and put in those of the claims stored ``now``."""
    made = {f.claim: unit_of(store, facts, f) for f in now if not f.derived}
    library.change(
        touched,
        [unit for unit, _ in made.values()],
        {claim: read for claim, (_, read) in made.items() if read},
    )
