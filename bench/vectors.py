"""Exact and approximate search among many label vectors: `python bench/vectors.py [--vectors N] [--keep DIR]`."""

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
from shiyi.linking.embedding.embedder import Embedder, Vectors, open_shipped
from shiyi.linking.embedding.index import ApproximateVectors, LabelVectors
from shiyi.linking.labels import LabelIndex

_SAME = 1e-3  # of cosine: half precision tells no finer, so such neighbours are as good
_K = 10

Search = Callable[[Vectors, int], list[tuple[int, float]]]


def make_texts(count: int) -> list[str]:
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
    return {
        "p50 ms": round(statistics.median(taken), 2),
        "p95 ms": round(sorted(taken)[int(len(taken) * 0.95)], 2),
    }


def recall(exact: Search, near: Search, queries: Sequence[Vectors]) -> float:
    """Return the share of the ten found that are as near as the ten nearest."""
    shares = []
    for row in queries:
        least = exact(row, _K)[-1][1] - _SAME
        shares.append(sum(cosine >= least for _, cosine in near(row, _K)) / _K)
    return round(statistics.mean(shares), 4)


def misspell(texts: Sequence[str]) -> list[str]:
    """Leave one letter or character out of each text, as a hasty writer does."""
    chance = random.Random(17)  # noqa: S311
    places = [chance.randrange(len(text)) for text in texts]
    return [text[:at] + text[at + 1 :] for text, at in zip(texts, places, strict=True)]


def load_graph(
    vectors: LabelVectors, threads: int, keep: Path | None
) -> tuple[ApproximateVectors, dict[str, float]]:
    """Make the graph, or read the one an earlier run stored, and say what making it took."""
    note = keep / "building.json" if keep else None
    if keep and note and note.is_file():
        return ApproximateVectors.load(keep, vectors), json.loads(note.read_text("utf-8"))
    started = time.perf_counter()
    graph = ApproximateVectors.of(vectors, threads)
    building: dict[str, float] = {
        "build s": round(time.perf_counter() - started),
        "build threads": threads,
    }
    if keep and note:
        graph.save(keep)
        note.write_text(json.dumps(building), encoding="utf-8")
    return graph, building


def measure(asked: argparse.Namespace, embedder: Embedder) -> dict[str, object]:
    """Search exactly among ``asked.exact`` vectors, and by HNSW among ``asked.vectors``."""
    texts = make_texts(asked.vectors + asked.queries)
    random.Random(5).shuffle(texts)  # noqa: S311
    queries = {
        "other names": list(embedder.encode(texts[: asked.queries])),
        "the names, misspelt": list(
            embedder.encode(misspell(texts[asked.queries : 2 * asked.queries]))
        ),
    }
    texts = texts[asked.queries :]
    whole, part = (
        LabelVectors(
            np.concatenate(
                [
                    embedder.encode(texts[at : min(at + 20_000, most)])
                    for at in range(0, most, 20_000)
                ]
            ),
            embedder,
            "",
        )
        for most in (asked.vectors, min(asked.exact, asked.vectors))
    )
    rounds = {
        f"exact among {len(part.rows):,}, {name}": milliseconds(part.nearest, each)
        for name, each in queries.items()
    }
    graph, building = load_graph(whole, asked.threads, asked.keep)
    results = {}
    for expansion in asked.expansions or [graph.graph.expansion_search]:
        graph.graph.expansion_search = expansion  # type: ignore[misc]  # its stub lacks the setter
        for name, group in queries.items():
            graph.nearest(group[0], _K)
            results[f"{name}, {expansion} candidates"] = {
                **milliseconds(graph.nearest, group),
                "recall@10": recall(whole.nearest, graph.nearest, group[:300]),
            }
    return {
        "dimensions": whole.rows.shape[1],
        **rounds,
        f"HNSW among {asked.vectors:,}": results,
        **building,
        "graph MB": round(graph.graph.memory_usage / 1e6),
        "peak MB": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--vectors", type=int, default=50_000)
    parser.add_argument("--exact", type=int, default=175_000)
    parser.add_argument("--queries", type=int, default=1_000)
    parser.add_argument("--threads", type=int, default=1, help="of building the graph")
    parser.add_argument(
        "--expansions",
        type=lambda text: [int(part) for part in text.split(",")],
        default=[],
        metavar="N,…",
        help="how widely the graph is searched",
    )
    parser.add_argument("--keep", type=Path, metavar="DIR", help="keep the graph there")
    options = parser.parse_args()
    model = open_shipped()
    if model is None:
        parser.error("no model is shipped; run `shiyi train embeddings`")
    print(json.dumps(measure(options, model), ensure_ascii=False, indent=1))


if __name__ == "__main__":
    main()
