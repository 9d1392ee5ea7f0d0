"""Seconds for confidences and importance over synthetic claims, sizes of the papers' graphs and beyond."""

import argparse
import json
import time

import numpy as np

from shiyi.columnar.strings import Selection, Strings
from shiyi.reasoning.adjacency import Edge, Projection, pagerank, update_edges
from shiyi.reasoning.confidence.fusion import weigh
from shiyi.settings import PageRankSettings

# claims, entities, relations: Yaoshi-RAG's graph; iDISK 2.0's
SIZES = ((29_292, 24_984, 22), (334_265, 174_317, 30))
LARGE = (5_000_000, 1_000_000)  # edges and nodes, for importance alone


def synthetic(claims: int, entities: int, relations: int, seed: int = 0) -> Projection:
    """Draw claims whose heads are even and whose tails have hubs, as constitutions are."""
    random = np.random.default_rng(seed)
    source = random.integers(0, entities, claims)
    target = np.minimum((entities * random.random(claims) ** 4).astype(np.int64), entities - 1)
    kind = random.integers(0, relations, claims)
    order = np.lexsort((target, kind, source))
    return Projection(
        "synthetic",
        Strings.of(f"urn:e{i:08}" for i in range(entities)),
        tuple(f"urn:r{i}" for i in range(relations)),
        Selection.of([f"urn:c{i}" for i in range(claims)]),
        source=source[order].astype(np.int32),
        target=target[order].astype(np.int32),
        kind=kind[order].astype(np.int32),
        confidence=random.uniform(0.3, 0.99, claims),
    )


def measure(claims: int, entities: int, relations: int) -> dict[str, float]:
    """Weigh and rank one graph, each from the adjacency on."""
    graph = synthetic(claims, entities, relations)
    started, used = time.perf_counter(), time.process_time()
    weigh(graph)
    weighed = time.perf_counter()
    rank = graph.importance(PageRankSettings())
    ended, cpu = time.perf_counter(), time.process_time() - used
    apply_review(graph, claims // 2).importance(PageRankSettings(), rank)
    return {
        "claims": claims,
        "confidence_seconds": weighed - started,
        "pagerank_seconds": ended - weighed,
        "cpu_seconds": cpu,
        "review_seconds": time.perf_counter() - ended,
    }


def apply_review(graph: Projection, place: int) -> Projection:
    """Return a graph whose claim at a place was stored with another confidence by a reviewer."""
    ends = graph.nodes[graph.source[place]], graph.nodes[graph.target[place]]
    kind, claim = graph.predicates[graph.kind[place]], graph.claims[place]
    return update_edges(graph, [], [Edge(ends[0], kind, ends[1], claim, 0.99)])


def rank_large(edges: int, nodes: int, seed: int = 0) -> dict[str, float]:
    """Rank a graph of millions, hubs among its nodes; the edges lie in no order."""
    random = np.random.default_rng(seed)
    source = random.integers(0, nodes, edges).astype(np.int32)
    target = np.minimum((nodes * random.random(edges) ** 4).astype(np.int32), nodes - 1)
    weight = random.uniform(0.3, 0.99, edges)
    started = time.perf_counter()
    rank = pagerank(nodes, source, target, weight, PageRankSettings())
    seconds = time.perf_counter() - started
    return {
        "claims": edges,
        "nodes": nodes,
        "pagerank_seconds": seconds,
        "mean": float(rank.mean()),
    }


def main() -> None:
    """Measure once; print a table, and each row as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.parse_args()
    figures = [*(measure(*size) for size in SIZES), rank_large(*LARGE)]
    for row in figures:
        print("  ".join(f"{name} {value:,.2f}" for name, value in row.items()))
    print("\n".join(map(json.dumps, figures)))


if __name__ == "__main__":
    main()
