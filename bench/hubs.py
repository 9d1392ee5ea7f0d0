"""Ten relation paths of two hops from the largest hub, scored and cut to ten: `python bench/hubs.py`."""

import json
import random
import statistics
import time

from grown import SAID, SKEW, hub_paths, largest_hub

from shiyi.answering.ranking import diverse
from shiyi.reasoning.hub_walk import best_paths, importance_of
from shiyi.reasoning.projection import Edge, Projection
from shiyi.settings import PageRankSettings

SIZES = ((29_292, 24_984), (334_265, 174_317))  # relations and concepts of Yaoshi and iDISK 2.0
ROUNDS, KEPT = 15, 500


def made(relations: int, concepts: int) -> Projection:
    """Give a graph in which few concepts have many claims."""
    draw = random.Random(0)  # noqa: S311 - made-up claims, no secret
    kinds = {kind for said in SAID for kind in (said[0], said[2])}
    each = concepts // len(kinds)
    ways = [said[:3] for said in SAID for _ in range(said[3])]
    joined: dict[tuple[str, str, str], float] = {}
    while len(joined) < relations:
        one, predicate, other = draw.choice(ways)
        ends = [int(each * draw.random() ** SKEW) for _ in range(2)]
        joined[f"{one}{ends[0]}", predicate, f"{other}{ends[1]}"] = round(
            draw.uniform(0.4, 0.95), 3
        )
    edges = [Edge(s, p, o, f"c{n}", held) for n, ((s, p, o), held) in enumerate(joined.items())]
    return Projection.from_edges(edges, "made")


def main() -> None:
    for relations, concepts in SIZES:
        projection = made(relations, concepts)
        rank, hub = projection.importance(PageRankSettings()), largest_hub(projection)
        plans, importance = hub_paths(projection, hub), importance_of(projection, rank)
        spent, found, kept = list[float](), 0, 0
        for _ in range(ROUNDS):
            started = time.process_time()
            walks = [best_paths(projection, plan, (hub,), importance, KEPT) for plan in plans]
            every = sorted((p for w in walks for p in w.paths), key=lambda path: -path.score)
            kept = len(diverse(every, 10))
            spent.append((time.process_time() - started) * 1000)
            found = sum(walk.found for walk in walks)
        print(json.dumps({
            "relations": relations, "concepts": len(projection.nodes), "paths": found, "kept": kept,
            "cpu_p50_ms": round(statistics.median(spent), 1), "cpu_max_ms": round(max(spent), 1),
        }))  # fmt: skip


if __name__ == "__main__":
    main()
