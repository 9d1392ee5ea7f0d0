"""Ten relation paths of two hops from the largest hub and from ordinary nodes, scored, cut to ten.

python bench/hubs.py [--sizes 29292,334265,3500000] [--rounds 9] [--networkx 334265]

Beside Shiyi's, up to the size of `--networkx`, the same retrieval over a networkx.MultiDiGraph: the same
claims, the same score, the same ten paths. Three hops from the hub, both ways, show the bound.
"""

import argparse
import json
import resource
import statistics
import time
from collections.abc import Callable, Iterable, Iterator
from importlib import import_module

import numpy as np
from grown import hub_paths, largest_hub
from made_up import SKEW, STATEMENTS

from shiyi.answering.retrieval.planning import whole_scores
from shiyi.columnar.strings import Selection, Strings
from shiyi.model.path import Hop, Path, RelationPath, Step, diverse
from shiyi.reasoning.adjacency import Projection
from shiyi.reasoning.path_search import best_rows, importance_vector, ways_along
from shiyi.settings import PageRankSettings

SIZES = {29_292: 24_984, 334_265: 174_317, 3_500_000: 1_200_000}  # relations: concepts drawn from
ROUNDS, SHOWN_PATHS, THROUGH, SHOWN, ORDINARY = 9, 300, 12, 10, 50


def make_graph(relations: int, concepts: int) -> Projection:
    """Return a graph in which few concepts have many claims."""
    draw = np.random.default_rng(0)
    kinds = sorted({kind for text in STATEMENTS for kind in (text[0], text[2])})
    names = sorted({text[1] for text in STATEMENTS})
    number = concepts // len(kinds)
    text = np.array(
        [
            (kinds.index(a), names.index(p), kinds.index(b))
            for a, p, b, n in STATEMENTS
            for _ in range(n)
        ]
    )
    rows = np.empty((0, 3), dtype=np.int64)
    while len(rows) < relations:
        drawn = text[draw.integers(0, len(text), relations)]
        one, other = (
            drawn[:, place] * number + (number * draw.random(relations) ** SKEW).astype(np.int64)
            for place in (0, 2)
        )
        new = np.stack((one, drawn[:, 1], other), axis=1)[one != other]
        rows = np.unique(np.concatenate((rows, new)), axis=0)
    rows = rows[np.sort(draw.permutation(len(rows))[:relations])]
    used, ends = np.unique(rows[:, (0, 2)], return_inverse=True)
    ends = ends.reshape(-1, 2).astype(np.int32)
    order = np.lexsort((ends[:, 1], rows[:, 1], ends[:, 0]))
    return Projection(
        "made",
        Strings.of(f"n{node:08}" for node in used.tolist()),
        tuple(names),
        Selection.of([f"c{n}" for n in range(len(rows))]),
        source=ends[order, 0],
        target=ends[order, 1],
        kind=rows[order, 1].astype(np.int32),
        confidence=np.round(draw.uniform(0.4, 0.95, len(rows)), 3),
    )


Retrieve = Callable[[list[RelationPath], str], Iterable[Path]]  # best first


def array_retrieval(projection: Projection, rank: dict[str, float]) -> Retrieve:
    """Score every path over arrays; make values of those that are looked at for the ten."""
    importance = importance_vector(projection, rank)

    def retrieve(plans: list[RelationPath], start: str) -> Iterator[Path]:
        results = [ways_along(projection, plan, (start,)) for plan in plans]
        score = np.concatenate(
            [
                whole_scores(
                    "mean_entities",
                    ways.confidences(),
                    tuple(importance[c] for c in ways.nodes[1:]),
                )
                for ways in results
            ]
        )
        middle = np.concatenate([ways.nodes[-2] for ways in results])
        best = best_rows(middle, score, THROUGH, SHOWN_PATHS).tolist()
        first = np.cumsum([0, *map(len, results)])
        of = (np.searchsorted(first, best, side="right") - 1).tolist()
        for i, row in zip(of, best, strict=True):
            yield from results[i].paths([row - int(first[i])], [float(score[row])])

    return retrieve


def with_networkx(projection: Projection, rank: dict[str, float]) -> Retrieve:
    """Walk a MultiDiGraph, its claims by property beside each node, as one would write it."""
    graph = import_module("networkx").MultiDiGraph()  # without types of its own
    rows = zip(
        projection.source.tolist(),
        projection.target.tolist(),
        projection.kind.tolist(),
        projection.confidence.tolist(),
        projection.claims,
        strict=True,
    )
    for one, other, kind, stored, claim in rows:
        graph.add_edge(
            projection.nodes[one],
            projection.nodes[other],
            key=claim,
            predicate=projection.predicates[kind],
            confidence=stored,
        )

    def hops(node: str, step: Step) -> list[Hop]:
        edges = graph.out_edges if step.forward else graph.in_edges
        return [
            Hop(s, step.predicate, o, claim, text["confidence"], step.forward)
            for s, o, claim, text in edges(node, keys=True, data=True)
            if text["predicate"] == step.predicate
        ]

    def walk(
        plan: RelationPath, taken: tuple[Hop, ...], seen: tuple[str, ...], score: float
    ) -> list[Path]:
        if len(taken) == len(plan):
            return [Path(taken, score / len(seen))]
        return [
            path
            for hop in hops(seen[-1], plan[len(taken)])
            if hop.end not in seen
            for path in walk(
                plan, (*taken, hop), (*seen, hop.end), score + hop.confidence * rank[hop.end]
            )
        ]

    def retrieve(plans: list[RelationPath], start: str) -> list[Path]:
        paths = [path for plan in plans for path in walk(plan, (), (start,), 0.0)]
        return sorted(paths, key=lambda path: -path.score)

    return retrieve


def time_retrieval(
    retrieve: Retrieve, asked: list[tuple[str, list[RelationPath]]]
) -> tuple[list[float], list[list[float]]]:
    """Return milliseconds of processor time, and the scores of the paths that were shown."""
    spent, scores = list[float](), list[list[float]]()
    for start, plans in asked:
        started = time.process_time()
        paths = diverse(retrieve(plans, start), SHOWN)
        spent.append((time.process_time() - started) * 1000)
        scores.append([round(path.score, 9) for path in paths])
    return spent, scores


def ordinary(projection: Projection) -> list[tuple[str, list[RelationPath]]]:
    """Draw nodes of the middle of the degrees, with the relation paths that leave them."""
    degree = np.bincount(np.concatenate((projection.source, projection.target)))
    middle = np.argsort(degree, kind="stable")[len(degree) // 2 :][
        :: max(1, len(degree) // 2 // ORDINARY)
    ]
    asked = [
        (projection.nodes[i], hub_paths(projection, projection.nodes[i]))
        for i in middle[: ORDINARY - 1]
    ]
    return [(node, plans) for node, plans in asked if plans]


def three_hops(projection: Projection, hub: str) -> dict[str, float | int | bool]:
    """Follow ten relation paths of three hops, each step either way, to where they are bounded."""
    plans = [
        (*plan, Step(plan[-1].predicate, not plan[-1].forward))
        for plan in hub_paths(projection, hub)
    ]
    started = time.process_time()
    ways = [ways_along(projection, plan, (hub,)) for plan in plans]
    spent = (time.process_time() - started) * 1000
    return {
        "three_hop_paths": sum(map(len, ways)),
        "three_hop_cut": any(w.cut for w in ways),
        "three_hop_cpu_ms": round(spent, 1),
    }


def measure(relations: int, rounds: int, compare: bool) -> dict[str, object]:
    projection = make_graph(relations, SIZES.get(relations, relations // 2))
    rank, hub = dict(projection.importance(PageRankSettings())), largest_hub(projection)
    plans, retrieve = hub_paths(projection, hub), array_retrieval(projection, rank)
    time_retrieval(retrieve, [(hub, plans)])
    spent, scores = time_retrieval(retrieve, [(hub, plans)] * rounds)
    common = ordinary(projection)
    plain, _ = time_retrieval(retrieve, common)
    steps = [Step(name, forward) for name in projection.predicates for forward in (True, False)]
    results: dict[str, object] = {
        "relations": relations,
        "concepts": len(projection.nodes),
        "hub_claims": sum(1 for step in steps for _ in projection.hops(hub, step)),
        "paths": sum(len(ways_along(projection, plan, (hub,))) for plan in plans),
        "cpu_p50_ms": round(statistics.median(spent), 1),
        "cpu_max_ms": round(max(spent), 1),
        "ordinary_p50_ms": round(statistics.median(plain), 2),
        "ordinary_p95_ms": round(sorted(plain)[int(len(plain) * 0.95)], 2),
        **three_hops(projection, hub),
        "peak_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
    }
    if compare:
        theirs, same = time_retrieval(with_networkx(projection, rank), [(hub, plans)] * 3)
        results |= {
            "networkx_p50_ms": round(statistics.median(theirs), 1),
            "times_faster": round(statistics.median(theirs) / statistics.median(spent), 1),
            "same_scores": scores[0] == same[0],
        }
    return results


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", default="29292,334265")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--networkx", type=int, default=334_265)
    text = parser.parse_args()
    for size in map(int, text.sizes.split(",")):
        print(json.dumps(measure(size, text.rounds, size <= text.networkx)), flush=True)


if __name__ == "__main__":
    main()
