"""What a statement costs, measured here, and what 10⁷, 10⁸ and 10⁹ of them would take, simulated.

python bench/scaling.py [--kb kb] [--copies 1,2,4] [--seed 0]

Measured: the starter base written so many times under other names (with its evidence, passages and
sources) goes through Oxigraph's bulk loader; adjacency, vectors and the keyword index are weighed.
Simulated with those unit costs: what each part needs, how many machines of 64 GiB hold it, how long
the slowest of many shards keeps an answer waiting, and how long a corpus takes on many workers when
its documents are of very unequal length and one process writes. Nothing is asked of a cluster here.
"""

import argparse
import heapq
import io
import json
import math
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import numpy as np
import pyoxigraph
from hubs import array_retrieval, make_graph, ordinary, time_retrieval
from numpy.typing import NDArray

from shiyi.model.iris import ID
from shiyi.settings import PageRankSettings

SIZES: Final = (10**7, 10**8, 10**9)
MACHINE_BYTES: Final = 48 * 2**30  # of 64 GiB, what an index may take beside the page cache
VECTOR_BYTES = 768  # a label: 192 numbers in single precision
GRAPH_BYTES = 883  # a label with HNSW, as bench/vectors.py weighs it
CONCEPTS_PER_CLAIM: Final = 174_317 / 334_265  # iDISK 2.0
HOP_MS: Final = (0.5, 0.35)  # round trip in a data centre: median, and spread of its logarithm
WORKERS: Final = (1, 2, 8, 32, 128)
DOCUMENTS, SPREAD = 20_000, 1.2  # of the corpus, and the spread of the logarithm of their lengths


def store_costs(base: Path, copies: Sequence[int]) -> list[dict[str, float]]:
    """Load the base so many times over; return the quads, bytes on disk and seconds of each."""
    quads = _quads(base)
    rows = []
    for times in copies:
        with tempfile.TemporaryDirectory() as folder:
            data = Path(folder) / "data.nq"
            with data.open("wb") as out:
                for copy in range(times):
                    out.write(quads.replace(ID.encode(), f"{ID}copy-{copy}-".encode()))
            store = pyoxigraph.Store(str(Path(folder) / "store"))
            started = time.perf_counter()
            store.bulk_load(path=data, format=pyoxigraph.RdfFormat.N_QUADS)
            store.optimize()
            seconds = time.perf_counter() - started
            count = sum(file.stat().st_size for file in (Path(folder) / "store").rglob("*"))
            rows.append({"quads": len(store), "disk_bytes": count, "seconds": round(seconds, 2)})
            del store
    return rows


def _quads(base: Path) -> bytes:
    store = pyoxigraph.Store.read_only(str(_generation(base) / "store"))
    out = io.BytesIO()
    store.dump(out, pyoxigraph.RdfFormat.N_QUADS)
    return out.getvalue()


def adjacency_cost(relations: int) -> tuple[float, list[float]]:
    """Return the bytes of one claim in the adjacency, and milliseconds of ordinary retrievals."""
    graph = make_graph(relations, relations // 2)
    arrays = sum(each.nbytes for each in (graph.source, graph.target, graph.kind, graph.confidence))
    names = sum(sys.getsizeof(node) for node in (*graph.nodes, *graph.claims))
    rank = dict(graph.importance(PageRankSettings()))
    spent, _ = time_retrieval(array_retrieval(graph, rank), ordinary(graph))
    return (2 * arrays + names) / relations, spent


def fan_out(spent: Sequence[float], shards: int, draw: np.random.Generator) -> float:
    """Return the p95 in milliseconds of waiting for the slowest of so many shards."""
    own = draw.choice(np.array(spent), (2000, shards))
    trip = draw.lognormal(math.log(HOP_MS[0]), HOP_MS[1], (2000, shards)) if shards > 1 else 0.0
    return float(np.quantile((own + trip).max(axis=1), 0.95))


def merged_recall(shards: int, number: int, wanted: int, draw: np.random.Generator) -> float:
    """Return the share of the true ``wanted`` that are there when each shard returns its ``kept`` best."""
    homes = draw.integers(0, shards, (2000, wanted))
    results = [np.minimum(np.bincount(row, minlength=shards), number).sum() for row in homes]
    return float(np.mean(results)) / wanted


def makespan(lengths: NDArray[np.float64], workers: int, writing: float) -> float:
    """Return the hours until the last document is read and written, given out as workers come free."""
    free = [0.0] * workers
    written = 0.0
    for length in lengths.tolist():
        read = heapq.heappop(free) + length
        heapq.heappush(free, read)
        written = max(written, read) + length * writing
    return max(written, max(free)) / 3600


def needs(claims: int, quads: float, disk: float, load: float, edge: float) -> dict[str, float]:
    """Return what so many claims need: quads, disk, hours of loading, bytes of memory by part."""
    labels = 2 * claims * CONCEPTS_PER_CLAIM
    return {
        "claims": claims,
        "quads": claims * quads,
        "disk_gib": claims * quads * disk / 2**30,
        "load_hours": claims * quads / load / 3600,
        "adjacency_gib": claims * edge / 2**30,
        "vectors_gib": labels * VECTOR_BYTES / 2**30,
        "hnsw_gib": labels * GRAPH_BYTES / 2**30,
        "adjacency_shards": math.ceil(claims * edge / MACHINE_BYTES),
        "vector_shards": math.ceil(labels * GRAPH_BYTES / MACHINE_BYTES),
    }


def main() -> None:
    """Measure, simulate, print; the same seed gives the same simulation."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kb", type=Path, default=Path("kb"))
    parser.add_argument("--copies", default="1,2,4")
    parser.add_argument("--relations", type=int, default=334_265)
    parser.add_argument(
        "--write-share",
        type=float,
        default=0.02,
        help="seconds the one writer spends for a second of reading",
    )
    parser.add_argument("--seed", type=int, default=0)
    text = parser.parse_args()
    loaded = store_costs(text.kb, [int(part) for part in text.copies.split(",")])
    manifest = json.loads((_generation(text.kb) / "manifest.json").read_text("utf-8"))
    claims = int(manifest["counts"]["claims"])
    edge, spent = adjacency_cost(text.relations)
    last = loaded[-1]
    quads, disk = loaded[0]["quads"] / claims, last["disk_bytes"] / last["quads"]
    draw = np.random.default_rng(text.seed)
    print(
        json.dumps(
            {
                "loaded": loaded,
                "quads_per_claim": round(quads, 1),
                "bytes_per_quad": round(disk, 1),
                "quads_per_s": round(last["quads"] / last["seconds"]),
                "adjacency_bytes": round(edge),
                "retrieval_p50_ms": round(statistics.median(spent), 2),
            }
        )
    )
    for size in SIZES:
        need = needs(size, quads, disk, last["quads"] / last["seconds"], edge)
        shards = int(need["adjacency_shards"])
        need["retrieval_p95_ms"] = fan_out(spent, shards, draw)
        need["recall_30_of_each"] = merged_recall(int(need["vector_shards"]), 30, 10, draw)
        print(json.dumps({name: round(value, 2) for name, value in need.items()}))
    lengths = draw.lognormal(0, SPREAD, DOCUMENTS)
    lengths = np.sort(lengths)[::-1]  # the longest first, else the last one keeps all waiting
    alone = makespan(lengths, 1, text.write_share)
    for workers in WORKERS:
        hours = makespan(lengths, workers, text.write_share)
        print(
            json.dumps(
                {
                    "workers": workers,
                    "times_faster": round(alone / hours, 1),
                    "of_ideal": round(alone / hours / workers, 2),
                }
            )
        )


def _generation(base: Path) -> Path:
    return base / "generations" / (base / "CURRENT").read_text("utf-8").strip()


if __name__ == "__main__":
    main()
