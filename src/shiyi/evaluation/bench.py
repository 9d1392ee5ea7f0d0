"""The opened base and scorers under one configuration."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Final, Self

from shiyi.answering.retrieval.bm25 import TextIndex, neighbourhoods
from shiyi.answering.retrieval.neighbourhood import Neighbourhood
from shiyi.answering.runtime import Runtime
from shiyi.errors import FormatError, UsageError
from shiyi.evaluation.ablations import CHUNK, ablate_runtime, check_switches, switches_of_method
from shiyi.evaluation.items import Choice
from shiyi.evaluation.scorers.baselines import CaseScorer, HerbScorer, PrescriptionTable
from shiyi.evaluation.scorers.graph import PathStrength, StrengthSettings, View
from shiyi.evaluation.scorers.model import check_model
from shiyi.evaluation.scorers.retrieval import READERS, MethodReader
from shiyi.evaluation.scorers.scorer import (
    CachingLinker,
    DirectClaimScorer,
    FusedScorer,
    MeaningIndex,
    NeighbourhoodScorer,
    PathScorer,
    RandomScorer,
    RelationScorer,
    Scorer,
    TextScorer,
)
from shiyi.linking.linker import Linker
from shiyi.prompts.chat import ChatModel
from shiyi.settings import Settings
from shiyi.sparql.base.knowledge_base import KnowledgeBase

METHODS: Final = (
    "fused", "paths", *READERS, "neighbourhood", "bm25", "tfidf", "random-paths", "none",
)  # fmt: skip
VIEWED: Final = frozenset({"deterministic", "spo-without-text"})  # switches that change the view

WITHOUT_DIRECT: Final = frozenset(  # switches under which no single claim settles a question
    {"keyword-only", "vector-only", "random-paths", "no-ranking"}
)


@dataclass(frozen=True, slots=True)
class Request:
    """What is to be measured."""

    task: str
    file: str
    train: tuple[Path, ...] = ()
    methods: tuple[str, ...] = ("fused",)
    ablate: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    limit: int | None = None
    seed: int = 0
    k: int = 10
    damping: float = 0.8
    hops: int = 2
    scorer: str = "specific"
    holdout: float = 0.0
    limit_seconds: float = 900.0  # of training, for the tasks that train
    chunk: int = CHUNK
    with_model: bool = False  # whether the configured model reads what is retrieved
    known: tuple[Path, ...] = ()  # facts that are left out of rankings, never learnt from

    def __post_init__(self) -> None:
        check_switches(self.ablate, self.methods)
        if self.scorer not in {"specific", "mean_entities"}:
            raise FormatError("scorer", self.scorer, ("specific", "mean_entities"))
        if not 0.0 < self.damping < 1.0 or not 1 <= self.k <= 1000 or not 1 <= self.hops <= 3:
            raise UsageError("k is 1 to 1000, d lies in (0, 1), and hops is 1 to 3")
        if self.limit is not None and self.limit < 1:
            raise UsageError("--limit is a number of questions from 1")
        if not 0.0 <= self.holdout < 1.0:
            raise UsageError("--holdout is a share in [0, 1)")
        if not self.limit_seconds > 0:
            raise UsageError("--limit-seconds is a number above 0")

    def settings(self) -> dict[str, Any]:
        """Return what a reader needs to repeat the run."""
        chosen = ("seed", "k", "damping", "hops", "scorer", "limit", "holdout", "limit_seconds")
        return {name: getattr(self, name) for name in chosen} | {
            "chunk": self.chunk,
            "train": [path.name for path in self.train],
            "known": [path.name for path in self.known],
            "without_source": list(self.without),
            "with_model": self.with_model,
            "model": None,
        }


Key = tuple[frozenset[str], frozenset[str], frozenset[str]]


@dataclass(slots=True)
class SharedResources:
    """What runs over one base share: texts that were linked, views and indexes that were read."""

    linking: CachingLinker
    views: dict[Key, View] = field(default_factory=dict)
    indexes: dict[tuple[Key, str], TextIndex] = field(default_factory=dict)
    opened: tuple[Settings, Runtime] | None = None

    @classmethod
    def over(cls, base: KnowledgeBase, settings: Settings) -> Self:
        """Open the linker of a base."""
        linker = Linker.open(base.folder, base.store, base.release, settings.linking)
        return cls(CachingLinker(linker))


@dataclass
class EvaluationContext:
    """Opens what a method needs when it is first asked for."""

    base: KnowledgeBase
    settings: Settings
    request: Request
    known: SharedResources | None = None  # what another run over the same base has read already
    withheld: frozenset[str] = frozenset()  # claims withheld because questions were made from them
    methods: ClassVar[tuple[str, ...]] = METHODS

    @cached_property
    def model(self) -> ChatModel | None:
        """Return the model, where the request has one; ``OutsideError`` where it does not reply."""
        return check_model(self.settings) if self.request.with_model else None

    @property
    def release(self) -> str:
        """Return the digest of the base."""
        return self.base.release

    @cached_property
    def resources(self) -> SharedResources:
        """Return what was read already, or begin."""
        return self.known or SharedResources.over(self.base, self.settings)

    @property
    def linking(self) -> CachingLinker:
        """Return a linker that remembers."""
        return self.resources.linking

    @property
    def linker(self) -> Linker:
        """Return the linker of the base."""
        return self.resources.linking.linker

    @property
    def _key(self) -> Key:
        request = self.request
        return frozenset(request.without), frozenset(request.ablate) & VIEWED, self.withheld

    @cached_property
    def view(self) -> View:
        """Return the claims this run may see."""
        views = self.resources.views
        if self._key not in views:
            views[self._key] = View.read(
                self.base.store, self.linker.index, self.release, *self._key
            )
        return views[self._key]

    @cached_property
    def joins(self) -> PathStrength:
        """Return the paths, as the switches distort them."""
        request = self.request
        settings = StrengthSettings(
            hops=request.hops,
            k=request.k,
            damping=request.damping,
            scorer=request.scorer,
            ranked="no-ranking" not in request.ablate,
            random_paths="random-paths" in request.ablate,
            seed=request.seed,
        )
        return self._joins(settings)

    @cached_property
    def joins_by_chance(self) -> PathStrength:
        """Return paths of three claims a concept that are drawn by chance."""
        return self._joins(replace(self.joins.settings, random_paths=True))

    def _joins(self, chosen: StrengthSettings) -> PathStrength:
        if chosen.scorer != "mean_entities":
            return PathStrength(self.view, chosen)
        ranking = replace(self.settings.pagerank, damping=chosen.damping)
        return PathStrength(self.view, chosen, self.view.projection.importance(ranking))

    @cached_property
    def sentences(self) -> tuple[tuple[str, str, str], ...]:
        """Return every claim as a sentence."""
        return tuple(self.view.sentences())

    @property
    def bm25(self) -> TextIndex:
        """Return the sentences, weighed as BM25 does."""
        return self._index("bm25")

    @property
    def tfidf(self) -> TextIndex:
        """Return the sentences, weighed as TF-IDF."""
        return self._index("tfidf")

    @cached_property
    def meaning(self) -> MeaningIndex:
        """Return the sentences as vectors; ``IndexMismatchError`` without an embedder."""
        return MeaningIndex.of(self.linker, [sentence for _, _, sentence in self.sentences])

    def _index(self, name: str) -> TextIndex:
        indexes, key = self.resources.indexes, (self._key, name)
        if key not in indexes:
            make = TextIndex.bm25 if name == "bm25" else TextIndex.tfidf
            indexes[key] = make([sentence for _, _, sentence in self.sentences])
        return indexes[key]

    @cached_property
    def subgraphs(self) -> dict[str, str]:
        """Return the 1-hop subgraph of each concept as text."""
        return neighbourhoods(self.sentences)

    @cached_property
    def runtime(self) -> Runtime:
        """Return what answers questions over the base."""
        known = self.resources.opened
        if known is None or known[0] != self.settings:
            known = self.resources.opened = (self.settings, Runtime.open(self.base, self.settings))
        return known[1]

    def runtime_for(self, method: str) -> Runtime:
        """Return what a method answers from, under the switches that change it."""
        return ablate_runtime(
            self.runtime, switches_of_method(self.request.ablate, method), self.request.chunk
        )

    def reader_for(self, method: str) -> MethodReader:
        """Return a method of answering as a reader; withheld sources bear nothing for it either."""
        request = self.request
        withheld = request.without or self.withheld
        seen = frozenset(self.view.projection.claims) if withheld else frozenset[str]()
        ranked = "no-ranking" not in request.ablate
        return MethodReader(method, self.runtime_for(method), self.linking, request.k, seen, ranked)

    def recalls(self) -> list[Scorer]:
        """Return what ``fused`` adds up, as the switches leave it."""
        if "vector-only" in self.request.ablate:
            return [TextScorer(self.meaning)]
        by_words = TextScorer(self.bm25)
        if "keyword-only" in self.request.ablate:
            return [by_words]
        return [PathScorer(self.joins, self.linking), by_words]

    def case_scorer(self, method: str, training: Sequence[Choice]) -> Scorer:
        """Return the scorer of a method for cases, some of which may be learnt from."""
        if training and method == "tfidf":
            return CaseScorer.of(training, nearest=1)
        if training and method == "fused":
            return self.scorer(method, [CaseScorer.of(training)])
        return self.scorer(method)

    def herb_scorers(self, table: PrescriptionTable) -> list[HerbScorer]:
        """Return what ``fused`` learns from prescriptions."""
        return [table.nearest]

    def scorer(self, method: str, learnt: Sequence[Scorer] = ()) -> Scorer:
        """Make the scorer of a method; raise ``FormatError`` for one that does not exist."""
        ranked = not set(self.request.ablate) & WITHOUT_DIRECT
        if method == "fused":
            together = FusedScorer([*self.recalls(), *learnt])
            direct = RelationScorer(self.view, self.linking)
            return DirectClaimScorer(direct, together) if ranked and not learnt else together
        if method == "paths":
            return PathScorer(self.joins, self.linking)
        if method == "random-paths":
            return PathScorer(self.joins_by_chance, self.linking)
        if method == "neighbourhood":
            around = Neighbourhood(
                self.view.links, self.view.ratings, self.linker, self.settings.linking.min_cosine
            )
            return NeighbourhoodScorer(around, self.linking)
        if method == "bm25":
            return TextScorer(self.bm25)
        if method == "tfidf":
            return TextScorer(self.tfidf)
        if method == "none":
            return RandomScorer(self.request.seed)
        if method in READERS:
            return self.reader_for(method)
        raise FormatError("method", method, self.methods)
