"""Exact and approximate search among many label vectors: `python bench/vectors.py [--vectors N]`."""

import argparse
import json
import random
import resource
import statistics
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from shiyi.artefacts import artefact
from shiyi.linking.approximate import ApproximateVectors
from shiyi.linking.embedder import Embedder, Vectors, shipped
from shiyi.linking.labels import LabelIndex
from shiyi.linking.vectors import LabelVectors

HERE = Path(__file__).parent
_SAME = 1e-3  # of cosine: half precision tells no finer, so such neighbours are as good
_K = 10

Search = Callable[[Vectors, int], list[tuple[int, float]]]


def made_up(count: int) -> list[str]:
    """Join real labels by twos and threes into ``count`` different texts, as long names are."""
    chance = random.Random(11)  # noqa: S311
    real = [label.text for label in LabelIndex.from_tables(artefact("ontology/concepts")).labels]
    texts = dict.fromkeys(real)
    while len(texts) < count:
        texts[" ".join(chance.sample(real, chance.randint(2, 3)))] = None
    return list(texts)[:count]


def milliseconds(search: Search, queries: Sequence[Vectors]) -> dict[str, float]:
    """Time one query after the other."""
    taken = []
    for row in queries:
        started = time.perf_counter()
        search(row, _K)
        taken.append((time.perf_counter() - started) * 1e3)
    return {"p50 ms": round(statistics.median(taken), 2),
            "p95 ms": round(sorted(taken)[int(len(taken) * 0.95)], 2)}  # fmt: skip


def recall(exact: Search, near: Search, queries: Sequence[Vectors]) -> float:
    """Give the share of the ten found that are as near as the ten nearest."""
    shares = []
    for row in queries:
        least = exact(row, _K)[-1][1] - _SAME
        shares.append(sum(cosine >= least for _, cosine in near(row, _K)) / _K)
    return round(statistics.mean(shares), 4)


def measured(embedder: Embedder, vectors: int, exact_at: int, queries: int) -> dict[str, object]:
    """Search exactly among ``exact_at`` vectors, and by HNSW among ``vectors``."""
    texts = made_up(vectors + queries)
    random.Random(5).shuffle(texts)  # noqa: S311
    asked = list(embedder.encode(texts[:queries]))
    rows = np.concatenate([embedder.encode(texts[at : at + 20_000])
                           for at in range(queries, len(texts), 20_000)])  # fmt: skip
    whole, part = LabelVectors(rows, embedder, ""), LabelVectors(rows[:exact_at], embedder, "")
    started = time.perf_counter()
    graph = ApproximateVectors.of(whole)
    building = time.perf_counter() - started
    return {
        "dimensions": rows.shape[1],
        f"exact among {exact_at:,}": milliseconds(part.nearest, asked),
        f"HNSW among {vectors:,}": milliseconds(graph.nearest, asked),
        "recall@10": recall(whole.nearest, graph.nearest, asked[:300]),
        "build s": round(building),
        "graph MB": round(graph.graph.memory_usage / 1e6),
        "peak MB": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--vectors", type=int, default=50_000)
    parser.add_argument("--exact", type=int, default=175_000)
    parser.add_argument("--queries", type=int, default=1_000)
    asked = parser.parse_args()
    model = shipped()
    if model is None:
        parser.error("no model is shipped; run `shiyi train embeddings`")
    found = measured(model, asked.vectors, min(asked.exact, asked.vectors), asked.queries)
    text = json.dumps(found, ensure_ascii=False, indent=1)
    print(text)
    (HERE / "results").mkdir(exist_ok=True)
    (HERE / "results" / "vectors.json").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
