"""Which scorer of paths ranks best: ``python bench/ranking.py [KB] [--limit N] [--seed S]``.

Each state with at least three foods on record is asked about in both languages, in two ways: as
the base stands (*stated*: what is on record at once has to come first), and with the claims that
answer at once withheld (*withheld*: only paths over other claims lead to the foods). Prints a row
for each scorer with hits@1, precision@4, MRR and nDCG@10, and the probability, by a paired
bootstrap over states, that it is no better than the published ``mean_entities``.
"""

import argparse
import random
from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from math import log2
from pathlib import Path as File

import numpy as np
from numpy.typing import NDArray

from shiyi.answering.knowledge.facts import BENEFIT, EDIBLE, Facts
from shiyi.answering.pipeline import Runtime
from shiyi.answering.recommendation.candidates import Candidate
from shiyi.answering.retrieval.planning import SCORERS
from shiyi.model.path import Path, score_paths
from shiyi.ontology.terms import SHIYI
from shiyi.settings import Settings
from shiyi.sparql.base.knowledge_base import KnowledgeBase

Floats = NDArray[np.float64]
ASKED = {"zh": "{}吃什么好？", "en": "What foods are good for {}?"}
LEAST, SHOWN, DEEP, DRAWS = 3, 4, 10, 2_000
PUBLISHED, UNRANKED = "mean_entities", "unranked"
MEASURES = ("hits@1", f"p@{SHOWN}", "mrr", f"ndcg@{DEEP}")


@dataclass(frozen=True)
class RankingCase:
    """A question, its paths, the foods that are right, and the claims that say so."""

    state: str
    kind: str
    paths: tuple[Path, ...]
    right: frozenset[str]


def load_good_foods(facts: Facts) -> dict[str, dict[str, set[str]]]:
    """Return the foods on record as good for each state, with their claims."""
    results: dict[str, dict[str, set[str]]] = {}
    names = {node.value for node in BENEFIT}
    for kind in (SHIYI.Symptom, SHIYI.Disease, SHIYI.Syndrome, SHIYI.Constitution):
        for state in facts.members(kind):
            foods: dict[str, set[str]] = defaultdict(set)
            for fact in (*facts.by_subject.get(state, ()), *facts.by_object.get(state, ())):
                plain = fact.positive and not fact.derived and not fact.language
                plain &= fact.predicate.value in names
                if plain and facts.is_a(fact.other(state), *EDIBLE):
                    foods[fact.other(state)].add(fact.claim)
            if len(foods) >= LEAST:
                results[state] = dict(foods)
    return results


def questions(runtime: Runtime, limit: int | None, seed: int) -> list[RankingCase]:
    """Return the questions, each linked as it is asked."""
    good, cases = load_good_foods(runtime.facts), list[RankingCase]()
    states = sorted(good)
    random.Random(seed).shuffle(states)  # noqa: S311 - a draw, no secret
    least = runtime.settings.answer.recommend_from
    for state in states[:limit]:
        withheld = {claim for claims in good[state].values() for claim in claims}
        for language, text in ASKED.items():
            asked = text.format(runtime.facts.label(state, language))
            seeds = [m.iri for m in runtime.linker.link(asked, language) if m.iri]
            if state not in seeds:
                continue  # the linker's fault, not the ranking's
            paths = runtime.retriever.retrieve((state,), EDIBLE, DEEP, least).paths
            right = frozenset(good[state])
            cases.append(RankingCase(state, "stated", paths, right))
            other_paths = tuple(p for p in paths if not withheld & {hop.claim for hop in p.hops})
            if right & {path.hops[-1].end for path in other_paths}:
                cases.append(RankingCase(state, "withheld", other_paths, right))
    return cases


def ranking(paths: Collection[Path], scorer: str, rank: Mapping[str, float]) -> list[str]:
    """Return what the paths lead to, as answers rank it before the safety check.

    ``unranked`` is any order: that of the names.
    """
    if scorer == UNRANKED:
        return sorted({path.hops[-1].end for path in paths})
    reached_paths: dict[str, list[Path]] = defaultdict(list)
    for path in score_paths(paths, rank, SCORERS[scorer]):
        reached_paths[path.hops[-1].end].append(path)
    worth = {
        iri: Candidate(iri, tuple(found_paths)).support
        for iri, found_paths in reached_paths.items()
    }
    return sorted(worth, key=lambda iri: (-worth[iri], iri))


def rank_metrics(found: list[str], right: Collection[str]) -> tuple[float, ...]:
    """Return the measures of one ranking."""
    hits = [each in right for each in found]
    gain = sum(hit / log2(place + 2) for place, hit in enumerate(hits[:DEEP]))
    ideal = sum(1 / log2(place + 2) for place in range(min(DEEP, len(right))))
    first = next((1 / (place + 1) for place, hit in enumerate(hits) if hit), 0.0)
    return float(hits[0]), sum(hits[:SHOWN]) / min(SHOWN, len(right)), first, gain / ideal


def of_states(
    scorer: str, asked: list[RankingCase], states: list[str], rank: Mapping[str, float]
) -> Floats:
    """Return the measures of a scorer, a row for each state, over the languages it is asked in."""
    results: dict[str, list[tuple[float, ...]]] = defaultdict(list)
    for case in asked:
        results[case.state].append(rank_metrics(ranking(case.paths, scorer, rank), case.right))
    return np.array([np.mean(results[state], axis=0) for state in states])


def main(kb: File, limit: int | None, seed: int) -> None:
    with KnowledgeBase.open(kb) as base:
        runtime = Runtime.open(base, replace(Settings(), kb=kb))
        cases = questions(runtime, limit, seed)
        draw = np.random.default_rng(seed)
        for kind in ("stated", "withheld"):
            own_cases = [case for case in cases if case.kind == kind]
            states = sorted({case.state for case in own_cases})
            print(f"{kind}: {len(own_cases)} questions about {len(states)} states")
            print(f"| scorer | {' | '.join(MEASURES)} | p |")
            figures = {
                name: of_states(name, own_cases, states, runtime.rank)
                for name in (UNRANKED, *SCORERS)
                if name != "mean"
            }
            rows = draw.integers(0, len(states), (DRAWS, len(states)))
            for name, values in figures.items():
                better = (values - figures[PUBLISHED])[:, 3][rows].mean(axis=1)
                p = "" if name == PUBLISHED else f"{(better <= 0).mean():.3f}"
                print(f"| {name} | {' | '.join(f'{v:.3f}' for v in values.mean(axis=0))} | {p} |")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kb", type=File, nargs="?", default=File("kb"))
    parser.add_argument("--limit", type=int, default=None)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    main(options.kb, options.limit, options.seed)
