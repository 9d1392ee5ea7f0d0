"""Everything an answer needs, opened once and shared between threads."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

from shiyi.answering.evidence import Evidences
from shiyi.answering.facts import Facts
from shiyi.answering.paths import ENGINES, PathFinder, ProjectionFinder, Retriever, SparqlFinder
from shiyi.answering.planning import Planner
from shiyi.answering.reading import Linker
from shiyi.answering.safety import Safety
from shiyi.errors import FormatError, IndexMismatchError
from shiyi.model.names import VOCAB
from shiyi.ontology.vocabulary import Schema
from shiyi.reasoning.projection import Projection
from shiyi.settings import Settings
from shiyi.sparql.knowledge_base import KnowledgeBase
from shiyi.sparql.store import QuadStore


@dataclass(frozen=True, slots=True)
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

    @classmethod
    def open(cls, base: KnowledgeBase, settings: Settings) -> Self:
        """Open for a knowledge base; ``base`` must stay open as long as this is used."""
        from shiyi.linking.linker import Linker as LabelLinker

        linker = LabelLinker.open(base.folder, base.store, base.release, settings.linking)
        try:
            projection = Projection.load(base.folder / "index", base.release)
        except IndexMismatchError:  # made from the store instead, the same edges
            projection = Projection.from_store(base.store, base.release)
        return cls.over(base.store, linker, projection, settings)

    @classmethod
    def over(
        cls, store: QuadStore, linker: Linker, projection: Projection, settings: Settings
    ) -> Self:
        """Put one together from its parts."""
        schema = Schema.load()
        facts = Facts.read(store, schema)
        facts.prepare()
        evidences = Evidences(store, facts)
        known = frozenset(VOCAB + p.name for p in schema.properties.values() if p.is_object)
        rank = projection.importance(settings.pagerank)
        paths = settings.paths
        engines: Mapping[str, PathFinder] = {
            "projection": ProjectionFinder(projection),
            "sparql": SparqlFinder(store, known, paths.max_hops),
        }
        if paths.engine not in engines:
            raise FormatError("path engine", paths.engine, ENGINES)
        retriever = Retriever(facts, Planner.over(facts), engines[paths.engine], rank, paths, known)
        return cls(
            store, facts, evidences, Safety(facts, evidences), linker, projection, rank, retriever,
            projection.release, settings,
        )  # fmt: skip


def write_indexes(base: KnowledgeBase, settings: Settings) -> None:
    """Write the label index and the adjacency that :meth:`Runtime.open` reads."""
    from shiyi.linking.linker import write_index

    write_index(base.folder, base.store, base.release)
    Projection.from_store(base.store, base.release).save(base.folder / "index")
