"""Everything an answer needs, opened once and shared between threads."""

import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Self

from typing_extensions import override

from shiyi.answering.casebook import Casebook
from shiyi.answering.changed_facts import level
from shiyi.answering.evidence import Evidences
from shiyi.answering.fact_file import open_facts
from shiyi.answering.facts import Fact, Facts
from shiyi.answering.finders import ENGINES, PathFinder, ProjectionFinder, SparqlFinder
from shiyi.answering.heard import Linker
from shiyi.answering.library import Library
from shiyi.answering.library_changes import change_texts, level_texts
from shiyi.answering.paths import Retriever
from shiyi.answering.planning import Planner
from shiyi.answering.safety import Safety
from shiyi.answering.standing import standing, write_standing
from shiyi.answering.texts import units
from shiyi.errors import FormatError, IndexMismatchError
from shiyi.linking.embedder import Embedder
from shiyi.model.names import VOCAB
from shiyi.model.remaking import made_anew
from shiyi.ontology.vocabulary import Schema
from shiyi.reasoning.projection import Projection
from shiyi.reasoning.translation import Translation, train_translation
from shiyi.settings import Settings
from shiyi.sparql.knowledge_base import KnowledgeBase
from shiyi.sparql.store import QuadStore


@dataclass(slots=True)
class Shelf:
    """Where the library lies; it is opened when it is first asked for.

    Where none was written for this release it is made again, in a temporary file. What was accepted
    or withdrawn since the build is put in and taken out when it is opened, and from then on at once.
    """

    store: QuadStore
    facts: Facts
    release: str
    embedder: Embedder | None = None
    folder: Path | None = None
    _opened: Library | None = None
    changed: Collection[str] | None = None  # claims since the library was written, where known
    _translations: dict[str, Translation] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _training: threading.Lock = field(default_factory=threading.Lock)

    def library(self) -> Library:
        """Open the library, once."""
        with self._lock:
            if self._opened is None:
                self._opened = self._open()
            return self._opened

    def follow(self, facts: Facts, touched: Collection[str], now: Iterable[Fact]) -> None:
        """Take the texts of claims that changed out of the library, put those held ``now`` in."""
        with self._lock:
            self.facts = facts
            if self._opened is not None:
                change_texts(self._opened, self.store, facts, touched, now)
            elif self.changed is not None:  # it is levelled when it is opened
                self.changed = {*self.changed, *touched, *(fact.claim for fact in now)}

    def translation(self, kind: str) -> Translation:
        """Open the TransE or RotatE of this release; where none was trained yet, train it (20 s).

        Raises ``MissingExtraError`` where it would have to be trained and torch is not there.
        """
        with self._training:  # its own: a training of 20 s must not keep the library shut
            if kind not in self._translations:
                self._translations[kind] = self._translation(kind)
            return self._translations[kind]

    def _translation(self, kind: str) -> Translation:
        try:
            return Translation.load(self.folder or Path(), kind, self.release)
        except IndexMismatchError:
            rows = sorted(
                (fact.subject, fact.predicate.value, fact.object, fact.confidence)
                for found in self.facts.by_subject.values()
                for fact in found
                if fact.positive and not fact.derived and not fact.language
            )
        trained = train_translation(rows, kind, release=self.release)
        if self.folder is not None:
            with suppress(PermissionError):  # a base one may only read
                trained.save(self.folder)
        return trained

    def _open(self) -> Library:
        if self.folder is not None:
            try:
                library = Library.open(self.folder, self.release, self.embedder)
                self._level(library)
                return library
            except IndexMismatchError:  # the same texts, read from the store instead
                pass
        with made_anew("the index of texts"):
            return Library.build(units(self.store, self.facts), self.release, self.embedder)

    def _level(self, library: Library) -> None:
        if self.changed is None:
            level_texts(library, self.store, self.facts)
        elif self.changed:
            now = [f for each in self.changed for f in self.facts.by_claim.get(each, ())]
            change_texts(library, self.store, self.facts, self.changed, now)


@dataclass(frozen=True)
class Runtime:
    """A store to read, the facts in memory, a linker, the adjacency and the settings."""

    store: QuadStore
    facts: Facts
    evidences: Evidences
    safety: Safety
    linker: Linker
    projection: Projection
    rank: Mapping[str, float]
    retriever: Retriever
    release: str
    settings: Settings
    shelf: Shelf

    @property
    def library(self) -> Library:
        """Give what the base says as texts."""
        return self.shelf.library()

    @cached_property
    def claims(self) -> Mapping[str, Fact]:
        """Give every claim that was read, by its IRI."""
        return Asserted(self.facts.by_claim)

    @cached_property
    def casebook(self) -> Casebook:
        """Give the cases and reasoning chains of the base."""
        return Casebook.read(self.store)

    @classmethod
    def open(
        cls, base: KnowledgeBase, settings: Settings, shown: QuadStore | None = None,
        hidden: Collection[str] = (),
    ) -> Self:  # fmt: skip
        """Open for a knowledge base; ``base`` must stay open as long as this is used.

        ``shown`` is the part of it that answers may rest on, where that is not all: without the
        claims, evidence and passages ``hidden``.
        """
        from shiyi.linking.linker import Linker as LabelLinker

        linker = LabelLinker.open(base.folder, base.store, base.release, settings.linking)
        store = base.store if shown is None else shown
        held = standing(base, Schema.load(), store, hidden)
        embedder = linker.vectors.embedder if linker.vectors else None
        # the texts that were written are of the whole
        folder = base.folder / "index" if shown is None else None
        runtime = cls._of(store, linker, held.facts, held.projection, settings, embedder, folder)
        runtime.shelf.changed = held.changed
        return runtime

    @classmethod
    def over(
        cls,
        store: QuadStore,
        linker: Linker,
        projection: Projection,
        settings: Settings,
        embedder: Embedder | None = None,
        folder: Path | None = None,
    ) -> Self:
        """Put one together from its parts; ``folder`` may hold a library that was written."""
        facts = Facts.read(store, Schema.load())
        return cls._of(store, linker, facts, level(projection, facts), settings, embedder, folder)

    @classmethod
    def _of(
        cls,
        store: QuadStore,
        linker: Linker,
        facts: Facts,
        projection: Projection,
        settings: Settings,
        embedder: Embedder | None,
        folder: Path | None,
    ) -> Self:
        schema = facts.schema
        evidences = Evidences(store, facts)
        known = frozenset(VOCAB + p.name for p in schema.properties.values() if p.is_object)
        rank = projection.importance(settings.pagerank)
        paths, planner = settings.paths, Planner.over(facts)
        engines: Mapping[str, PathFinder] = {
            "projection": ProjectionFinder(projection, facts, planner, rank),
            "sparql": SparqlFinder(store, known, paths.max_hops),
        }
        if paths.engine not in engines:
            raise FormatError("path engine", paths.engine, ENGINES)
        ranking = settings.pagerank
        retriever = Retriever(facts, planner, engines[paths.engine], rank, paths, known, ranking)
        return cls(
            store, facts, evidences, Safety(facts, evidences), linker, projection, rank, retriever,
            projection.release, settings,
            Shelf(store, facts, projection.release, embedder, folder),
        )  # fmt: skip


def write_indexes(
    base: KnowledgeBase, settings: Settings, step: Callable[[str], None] = lambda _: None
) -> None:
    """Write the label index, the adjacency and the library that :meth:`Runtime.open` reads.

    ``step`` is told what begins.
    """
    from shiyi.linking import embedder
    from shiyi.linking.linker import write_index

    folder, model = base.folder / "index", embedder.shipped()
    step("indexing names")
    write_index(base.folder, base.store, base.release, model)
    step("indexing claims")
    schema = Schema.load()
    write_standing(base, schema, settings.pagerank)
    step("indexing texts")
    facts = open_facts(folder, base.release, schema).facts  # as they lie in the file
    Library.build(units(base.store, facts), base.release, model, folder)


class Asserted(Mapping[str, Fact]):
    """The claims that were read, by their IRI, without those derived from them."""

    def __init__(self, by_claim: Mapping[str, tuple[Fact, ...]]) -> None:
        """Look claims up in ``by_claim``."""
        self._by_claim = by_claim

    @override
    def __getitem__(self, claim: str) -> Fact:
        if (found := _asserted(self._by_claim.get(claim, ()))) is None:
            raise KeyError(claim)
        return found

    @override
    def __iter__(self) -> Iterator[str]:
        return (claim for claim, found in self._by_claim.items() if _asserted(found))

    @override
    def __len__(self) -> int:
        return sum(1 for _ in self)


def _asserted(found: Iterable[Fact]) -> Fact | None:
    return next((fact for fact in found if not fact.derived), None)
