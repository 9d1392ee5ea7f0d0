"""An opened knowledge base under one set of switches, and the scorers made over it."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Final

from shiyi.answering.baselines import TextIndex, neighbourhoods
from shiyi.answering.neighbourhood import Neighbourhood
from shiyi.errors import FormatError, UsageError
from shiyi.evaluation.joins import Joins, JoinSettings
from shiyi.evaluation.scorers import (
    Fused,
    Linking,
    NeighbourhoodScorer,
    PathScorer,
    RandomScorer,
    Scorer,
    TextScorer,
)
from shiyi.evaluation.view import View
from shiyi.linking.linker import Linker
from shiyi.settings import Settings
from shiyi.sparql.knowledge_base import KnowledgeBase

METHODS: Final = ("fused", "paths", "neighbourhood", "bm25", "tfidf", "random-paths", "none")
ABLATIONS: Final = (
    "deterministic", "no-ranking", "random-paths", "spo-without-text", "keyword-only",
    "general-kg-only",
)  # fmt: skip


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

    def __post_init__(self) -> None:
        for name in self.ablate:
            if name not in ABLATIONS:
                raise FormatError("ablation", name, ABLATIONS)
        if self.scorer not in {"specific", "mean_entities"}:
            raise FormatError("scorer", self.scorer, ("specific", "mean_entities"))
        if not 0.0 < self.damping < 1.0 or not 1 <= self.k <= 1000 or not 1 <= self.hops <= 3:
            raise UsageError("k is 1 to 1000, d lies in (0, 1), and hops is 1 to 3")
        if self.limit is not None and self.limit < 1:
            raise UsageError("--limit is a number of questions from 1")
        if not 0.0 <= self.holdout < 1.0:
            raise UsageError("--holdout is a share in [0, 1)")

    def settings(self) -> dict[str, Any]:
        """Give what a reader needs to run the same again."""
        return {
            "seed": self.seed, "k": self.k, "damping": self.damping, "hops": self.hops,
            "scorer": self.scorer, "limit": self.limit, "holdout": self.holdout,
            "train": [each.name for each in self.train], "without_source": list(self.without),
            "model": None,
        }  # fmt: skip


@dataclass
class Bench:
    """Opens what a method needs when it is first asked for."""

    base: KnowledgeBase
    settings: Settings
    request: Request
    _linking: Linking | None = field(default=None)

    @property
    def release(self) -> str:
        """Give the digest of the base."""
        return self.base.release

    @cached_property
    def linker(self) -> Linker:
        """Give the linker of the base."""
        base = self.base
        return Linker.open(base.folder, base.store, base.release, self.settings.linking)

    @cached_property
    def linking(self) -> Linking:
        """Give a linker that remembers."""
        return self._linking or Linking(self.linker)

    @cached_property
    def view(self) -> View:
        """Give the claims this run may see."""
        asked = self.request
        return View.read(
            self.base.store, self.linker.index, self.release, asked.without, asked.ablate
        )

    @cached_property
    def joins(self) -> Joins:
        """Give the paths, as the switches distort them."""
        asked = self.request
        chosen = JoinSettings(
            hops=asked.hops, k=asked.k, damping=asked.damping, scorer=asked.scorer,
            ranked="no-ranking" not in asked.ablate,
            random_paths="random-paths" in asked.ablate, seed=asked.seed,
        )  # fmt: skip
        return self._joins(chosen)

    def _joins(self, chosen: JoinSettings) -> Joins:
        if chosen.scorer != "mean_entities":
            return Joins(self.view, chosen)
        ranking = replace(self.settings.pagerank, damping=chosen.damping)
        return Joins(self.view, chosen, self.view.projection.importance(ranking))

    @cached_property
    def sentences(self) -> tuple[tuple[str, str, str], ...]:
        """Give every claim as a sentence."""
        return tuple(self.view.sentences())

    @cached_property
    def bm25(self) -> TextIndex:
        """Give the sentences, searchable."""
        return TextIndex.bm25([said for _, _, said in self.sentences])

    @cached_property
    def subgraphs(self) -> dict[str, str]:
        """Give the 1-hop subgraph of each concept as text."""
        return neighbourhoods(self.sentences)

    def scorer(self, method: str, learnt: Sequence[Scorer] = ()) -> Scorer:
        """Make the scorer of a method; raise ``FormatError`` for one that does not exist."""
        keyword_only = "keyword-only" in self.request.ablate
        if method == "fused":
            found: list[Scorer] = [] if keyword_only else [PathScorer(self.joins, self.linking)]
            return Fused([*found, TextScorer(self.bm25), *learnt])
        if method == "paths":
            return PathScorer(self.joins, self.linking)
        if method == "random-paths":
            drawn = replace(self.joins.settings, random_paths=True)
            return PathScorer(self._joins(drawn), self.linking)
        if method == "neighbourhood":
            near = Neighbourhood(
                self.view.links, self.view.ratings, self.linker, self.settings.linking.min_cosine
            )
            return NeighbourhoodScorer(near, self.linking)
        if method == "bm25":
            return TextScorer(self.bm25)
        if method == "tfidf":
            return TextScorer(TextIndex.tfidf([said for _, _, said in self.sentences]))
        if method == "none":
            return RandomScorer(self.request.seed)
        raise FormatError("method", method, METHODS)
