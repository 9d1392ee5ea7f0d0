"""How strongly the graph joins two concepts: the best paths of a few hops, scored and added up."""

import math
import random
from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace

from shiyi.answering.neighbourhood import Link
from shiyi.evaluation.view import View

BEAM = 400  # ours: branches followed from one concept, best first


@dataclass(frozen=True, slots=True)
class JoinSettings:
    """How paths are followed and scored.

    ``scorer`` is ``specific`` (product of confidences, each middle concept divided by the
    logarithm of its degree; ours) or ``mean_entities`` (Yaoshi-RAG: confidence times PageRank,
    over the entities of the path).
    """

    hops: int = 2
    k: int = 10  # Yaoshi-RAG
    damping: float = 0.8  # Yaoshi-RAG
    scorer: str = "specific"
    ranked: bool = True
    random_paths: bool = False
    seed: int = 0


@dataclass(slots=True)
class Joins:
    """Remembers what each concept reaches, so that a thousand questions share the work."""

    view: View
    settings: JoinSettings = JoinSettings()
    rank: Mapping[str, float] = field(default_factory=dict)
    _reached: dict[tuple[str, frozenset[str]], dict[str, float]] = field(default_factory=dict)

    def reach(self, seed: str, wanted: frozenset[str] = frozenset()) -> Mapping[str, float]:
        """Give every concept within the hops its strength in (0, 1]; ``wanted`` predicates weigh more.

        The strength of a concept is the sum of its ``k`` best paths from ``seed``.
        """
        key = seed, wanted
        known = self._reached.get(key)
        if known is None:
            known = self._reached[key] = self._walk(seed, wanted)
        return known

    def thinned(self) -> View:
        """Give the view with the links alone that paths follow."""
        return replace(self.view, links={node: self._leaving(node) for node in self.view.links})

    def _walk(self, seed: str, wanted: frozenset[str]) -> dict[str, float]:
        found: dict[str, list[float]] = defaultdict(list)
        front: list[tuple[str, float, float, Collection[str]]] = [(seed, 1.0, 0.0, (seed,))]
        for hop in range(1, self.settings.hops + 1):
            front = self._step(front, hop, wanted, found)
        for seen in found.values():
            seen.sort(reverse=True)
        k = self.settings.k
        if not self.settings.ranked:
            return {node: float(min(len(seen), k)) for node, seen in found.items()}
        return {node: sum(seen[:k]) for node, seen in found.items()}

    def _step(
        self,
        front: list[tuple[str, float, float, Collection[str]]],
        hop: int,
        wanted: frozenset[str],
        found: dict[str, list[float]],
    ) -> list[tuple[str, float, float, Collection[str]]]:
        following: list[tuple[str, float, float, Collection[str]]] = []
        for node, product, total, seen in front:
            links = self._leaving(node)
            damp = 1.0 if hop == 1 else 1 / math.log2(2 + len(links))
            for link in links:
                if link.other in seen:
                    continue
                boost = 1.0 if not wanted or link.predicate in wanted else 0.5
                through = product * link.confidence * damp
                gained = total + link.confidence * self.rank.get(link.other, 1.0)
                mean = self.settings.scorer == "mean_entities"
                found[link.other].append((gained / (hop + 1) if mean else through) * boost)
                following.append((link.other, through, gained, (*seen, link.other)))
        if self.settings.random_paths:
            return following
        following.sort(key=lambda each: (-each[1], each[0]))
        return following[:BEAM]

    def _leaving(self, node: str) -> tuple[Link, ...]:
        links = self.view.links.get(node, ())
        if not self.settings.random_paths:
            return links
        pick = random.Random(f"{self.settings.seed} {node}")  # noqa: S311 - a draw, no secret
        return tuple(pick.sample(links, min(3, len(links))))
