"""Everything opened once; replaced after each change."""

import os
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Final, Self

from shiyi.answering.knowledge import updates
from shiyi.answering.knowledge.evidence import Evidences
from shiyi.answering.knowledge.fact_file import open_facts
from shiyi.answering.knowledge.facts import AssertedClaims, Fact, Facts
from shiyi.answering.knowledge.names import Names
from shiyi.answering.knowledge.overlay import (
    Overlay,
    ReleaseLinker,
    find_school,
    overlay_of_releases,
    overlay_of_school,
    release_matches,
    release_names,
    windows,
)
from shiyi.answering.retrieval.casebook import Casebook
from shiyi.answering.retrieval.library import Library, change_texts, level_texts
from shiyi.answering.retrieval.passages import units
from shiyi.answering.retrieval.paths import (
    ENGINES,
    SPARQL,
    PathFinder,
    ProjectionFinder,
    Retriever,
    SparqlFinder,
)
from shiyi.answering.retrieval.planning import Planner
from shiyi.answering.safety import Safety
from shiyi.columnar.mapped_file import log_rebuild
from shiyi.errors import FormatError, IndexMismatchError
from shiyi.linking.embedding.embedder import Embedder, open_embedder, open_shipped, vectors_folder
from shiyi.linking.embedding.index import LabelVectors
from shiyi.linking.labels import LabelIndex
from shiyi.linking.linker import Linker
from shiyi.linking.reranking import Reranker, open_reranker
from shiyi.model.iris import VOCAB
from shiyi.ontology.schema import Schema
from shiyi.reasoning.adjacency import Edge, Projection, update_edges
from shiyi.reasoning.derivation import DerivedClaim
from shiyi.reasoning.embeddings.baselines import Translation, train_translation
from shiyi.settings import Settings
from shiyi.sparql.base.knowledge_base import KnowledgeBase
from shiyi.sparql.store.port import QuadStore


@dataclass(slots=True)
class LibraryHandle:
    """Where the library lies; it is opened when it is first asked for.

    Where none was written for this release it is built in a temporary file. What was accepted
    or withdrawn since the build is applied when it is opened, and from then on at once.
    """

    store: QuadStore
    facts: Facts
    release: str
    embedder: Embedder | None = None
    folder: Path | None = None
    _opened: Library | None = None
    changed: Collection[str] | None = None  # claims since the library was written, where known
    _translations: dict[str, Translation] = field(default_factory=dict)
    _rerankers: dict[str, Reranker | None] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _training: threading.Lock = field(default_factory=threading.Lock)

    def library(self) -> Library:
        """Open the library, once."""
        with self._lock:
            if self._opened is None:
                self._opened = self._open_library()
            return self._opened

    def follow(self, facts: Facts, touched: Collection[str], now: Iterable[Fact]) -> None:
        """Remove the texts of claims that changed, and add those of the claims stored ``now``."""
        with self._lock:
            self.facts = facts
            if self._opened is not None:
                change_texts(self._opened, self.store, facts, touched, now)
            elif self.changed is not None:  # it is levelled when it is opened
                self.changed = {*self.changed, *touched, *(fact.claim for fact in now)}

    def reranker(self, name: str) -> Reranker | None:
        """Open what ``recall.reranker`` names, once."""
        with self._lock:
            if name not in self._rerankers:
                self._rerankers[name] = open_reranker(name, self.embedder)
            return self._rerankers[name]

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
                for facts in self.facts.by_subject.values()
                for fact in facts
                if fact.positive and not fact.derived and not fact.language
            )
        trained = train_translation(rows, kind, release=self.release)
        if self.folder is not None:
            with suppress(PermissionError):  # a base one may only read
                trained.save(self.folder)
        return trained

    def _open_library(self) -> Library:
        place, apart = self.folder, False
        if self.folder is not None:
            place = vectors_folder(self.folder, self.embedder)
            apart = place != self.folder and os.access(self.folder, os.W_OK)
            try:
                library = Library.open(place, self.release, self.embedder)
                self._level(library)
                return library
            except IndexMismatchError:  # the same texts, read from the store instead
                pass
        with log_rebuild("the index of texts"):
            texts = units(self.store, self.facts)
            return Library.build(texts, self.release, self.embedder, place if apart else None)

    def _level(self, library: Library) -> None:
        if self.changed is None:
            level_texts(library, self.store, self.facts)
        elif self.changed:
            now = [f for iri in self.changed for f in self.facts.by_claim.get(iri, ())]
            change_texts(library, self.store, self.facts, self.changed, now)


_OF_STORE: Final = ("names", "casebook", "release_names")  # cached for any facts


@dataclass(frozen=True, slots=True)
class School:
    """A school by its IRI, with its claims and a library of its texts."""

    iri: str
    overlay: Overlay
    library: Library
    claims: frozenset[str]  # that it teaches, accepted ones among them


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
    shelf: LibraryHandle
    school: "School | None" = None  # its claims are laid over the facts

    @property
    def library(self) -> Library:
        """Return what the base says as texts."""
        return self.shelf.library()

    @cached_property
    def claims(self) -> Mapping[str, Fact]:
        """Return every claim that was read, by its IRI."""
        return AssertedClaims(self.facts.by_claim)

    @cached_property
    def names(self) -> Names:
        """Return the names of concepts, with abbreviations."""
        return Names(self.store)

    def with_changes(self, gone: Collection[str], come: Collection[Fact]) -> "Runtime":
        """Return one without some claims and with others, as if they were accepted.

        Its paths are walked, not queried, since the store is as before.
        """
        old = [fact for iri in gone for fact in self.facts.by_claim.get(iri, ())]
        facts = updates.swap_claims(self.facts, old, come)
        edges = [updates.edge_of(fact) for fact in come if updates.is_edge(fact)]
        assumed = frozenset(fact.claim for fact in come)
        runtime = _over(self, facts, update_edges(self.projection, gone, edges), (), assumed)
        finder = runtime.retriever.finder
        if isinstance(finder, SparqlFinder):
            finder = finder.adjacency
        runtime = replace(runtime, retriever=replace(runtime.retriever, finder=finder))
        runtime.__dict__.update((name, getattr(self, name)) for name in _OF_STORE)
        return runtime

    @cached_property
    def casebook(self) -> Casebook:
        """Return the cases and reasoning chains of the base."""
        return Casebook.read(self.store)

    @cached_property
    def release_names(self) -> Mapping[str, tuple[str, ...]]:
        """Return the concepts of loaded releases of products by their names; often none."""
        return release_names(self.store)

    @cached_property
    def _schools(self) -> dict[str, School]:
        return {}

    def with_releases(self, question: str) -> Self:
        """Return this with what loaded releases say of what a question names, by any name."""
        names = self.release_names
        nodes = {iri for _, _, iris in windows(question, names) for iri in iris}
        linked = {mention.iri for mention in self.linker.link(question)}
        nodes.update(release_matches(self.store, linked - {""}, self.facts))
        if not nodes:
            return self
        made = self._under(overlay_of_releases(self.store, nodes, self.facts))
        return replace(made, linker=ReleaseLinker(self.linker, names, made.facts))

    def with_school(self, name: str) -> Self:
        """Return this with the claims of a school; raise ``FormatError`` for an unknown one."""
        iri = find_school(self.store, name)
        if iri not in self._schools:
            overlay = overlay_of_school(self.store, iri, self.facts)
            library = Library.build(overlay.texts, self.release, self.shelf.embedder)
            claims = overlay.taught | {fact.claim for fact in overlay.facts}
            self._schools[iri] = School(iri, overlay, library, claims)
        school = self._schools[iri]
        return replace(self._under(school.overlay), school=school)

    def _under(self, overlay: Overlay) -> Self:
        facts = overlay.over(self.facts)
        evidences = Evidences(self.store, facts, self.evidences.assumed, overlay.graphs)
        made = replace(self, facts=facts, evidences=evidences, safety=Safety(facts, evidences))
        made.__dict__.update((name, getattr(self, name)) for name in (*_OF_STORE, "_schools"))
        return made

    @classmethod
    def open(
        cls,
        base: KnowledgeBase,
        settings: Settings,
        shown: QuadStore | None = None,
        hidden: Collection[str] = (),
    ) -> Self:
        """Open for a knowledge base; ``base`` must stay open as long as this is used.

        ``shown`` is the part of it that answers may rest on, where that is not all: without the
        claims, evidence and passages ``hidden``.
        """
        from shiyi.linking.linker import Linker as LabelLinker

        linker = LabelLinker.open(base.folder, base.store, base.release, settings.linking)
        store = base.store if shown is None else shown
        linker = linker.amend(store, updates.concepts_since(base, linker.index.through))
        standing_facts = updates.open_state(base, Schema.load(), store, hidden)
        embedder = linker.vectors.embedder if linker.vectors else None
        # the texts that were written are of the whole
        folder = base.folder / "index" if shown is None else None
        facts, projection = standing_facts.facts, standing_facts.projection
        shelf = LibraryHandle(store, facts, projection.release, embedder, folder)
        shelf.changed = standing_facts.changed
        return cls._of(store, linker, facts, projection, settings, shelf)

    @classmethod
    def over(
        cls,
        store: QuadStore,
        linker: Linker,
        projection: Projection,
        settings: Settings,
        embedder: Embedder | None = None,
    ) -> Self:
        """Assemble one from its parts."""
        facts = Facts.read(store, Schema.load())
        shelf = LibraryHandle(store, facts, projection.release, embedder)
        return cls._of(store, linker, facts, updates.level(projection, facts), settings, shelf)

    @classmethod
    def _of(
        cls,
        store: QuadStore,
        linker: Linker,
        facts: Facts,
        projection: Projection,
        settings: Settings,
        shelf: LibraryHandle,
    ) -> Self:
        schema = facts.schema
        evidences = Evidences(store, facts)
        known = frozenset(VOCAB + p.name for p in schema.properties.values() if p.is_object)
        rank = projection.importance(settings.pagerank)
        paths, planner = settings.paths, Planner.over(facts)
        if paths.engine not in ENGINES:
            raise FormatError("path engine", paths.engine, ENGINES)
        adjacency = ProjectionFinder(projection, facts, planner, rank)
        finder: PathFinder = adjacency
        if paths.engine == SPARQL:
            finder = SparqlFinder(store, known, paths.max_hops, adjacency, paths.sparql_hops)
        ranking = settings.pagerank
        retriever = Retriever(facts, planner, finder, rank, paths, known, ranking)
        return cls(
            store,
            facts,
            evidences,
            Safety(facts, evidences),
            linker,
            projection,
            rank,
            retriever,
            projection.release,
            settings,
            shelf,
        )


def write_indexes(
    base: KnowledgeBase, settings: Settings, step: Callable[[str], None] = lambda _: None
) -> None:
    """Write the label index, the adjacency and the library that :meth:`Runtime.open` reads.

    ``step`` is called with the name of each step as it begins.
    """
    step("indexing names")
    write_names(base, settings)
    write_claims(base, settings, step)


def write_names(base: KnowledgeBase, settings: Settings) -> None:
    """Write the label index; by the chosen embedder too, where one is."""
    from shiyi.linking.linker import write_index

    folder = base.folder / "index"
    write_index(base.folder, base.store, base.release, open_shipped())
    if settings.linking.embedder and (other := open_embedder(settings.linking.embedder)):
        place = vectors_folder(folder, other)
        place.mkdir(exist_ok=True)
        LabelVectors.of(LabelIndex.load(folder, base.release), other).save(place)


def write_claims(
    base: KnowledgeBase, settings: Settings, step: Callable[[str], None] = lambda _: None
) -> None:
    """Write the facts, the adjacency and the library."""
    folder, schema = base.folder / "index", Schema.load()
    step("indexing claims")
    updates.write_state(base, schema, settings.pagerank)
    step("indexing texts")
    facts = open_facts(folder, base.release, schema).facts  # as they lie in the file
    Library.build(units(base.store, facts), base.release, open_shipped(), folder)
    if settings.linking.embedder:
        step(f"indexing by {settings.linking.embedder}")
        other = open_embedder(settings.linking.embedder)
        place = vectors_folder(folder, other)
        place.mkdir(exist_ok=True)
        Library.build(units(base.store, facts), base.release, other, place)


class RuntimeHolder:
    """The runtime of this moment; a question keeps the one it began with to its end."""

    def __init__(self, runtime: Runtime) -> None:
        self.current = runtime
        self._turn = threading.Lock()
        self.refreshed = 0  # how often; it changes after ``current``

    def refresh(self, claims: Iterable[str], concepts: Iterable[str] = ()) -> None:
        """Reload some claims and concepts; after that every new question sees them."""
        with self._turn:
            runtime, named = self.current, tuple(dict.fromkeys(claims))
            concepts = tuple(concepts)
            facts, projection = updates.apply_changes(
                runtime.facts, runtime.projection, runtime.store, named, concepts
            )
            new = [fact for iri in named for fact in facts.by_claim.get(iri, ())]
            runtime.shelf.follow(facts, named, (*new, *_claims_naming(facts, concepts)))
            self.current = _over(runtime, facts, projection, concepts)
            self.refreshed += 1

    def edges(self) -> list[Edge]:
        """List what the accepted view joins, as the rules of inheritance read it."""
        return updates.edges_of(self.current.facts)

    def derived_claims(self) -> dict[str, DerivedClaim]:
        """Return what the derived graph holds, as this moment's facts have it."""
        facts = self.current.facts
        return {
            f.claim: DerivedClaim(
                f.subject,
                f.predicate.value,
                f.object,
                f.confidence,
                frozenset(facts.premises.get(f.claim, ())),
            )
            for row in facts.by_subject.values()
            for f in row
            if f.derived
        }


def _claims_naming(facts: Facts, concepts: Iterable[str]) -> Iterator[Fact]:
    """Yield the claims with a text that names some concepts."""
    for iri in concepts:
        for side in (facts.by_subject, facts.by_object):
            yield from side.get(iri, ())


def _over(
    runtime: Runtime,
    facts: Facts,
    projection: Projection,
    concepts: Collection[str],
    assumed: frozenset[str] = frozenset(),
) -> Runtime:
    old, rank = runtime.retriever, runtime.rank
    if projection is not runtime.projection:
        rank = projection.importance(runtime.settings.pagerank, rank)
    same = facts.joins.keys() == old.planner.joins.keys()
    planner = old.planner if same else Planner.over(facts)
    finder = old.finder.after(projection, facts, planner, rank, concepts)
    evidences = Evidences(runtime.store, facts, assumed)
    return replace(
        runtime,
        linker=runtime.linker.amend(runtime.store, concepts),
        facts=facts,
        evidences=evidences,
        safety=Safety(facts, evidences),
        projection=projection,
        rank=rank,
        retriever=replace(old, facts=facts, planner=planner, finder=finder, rank=rank),
    )
