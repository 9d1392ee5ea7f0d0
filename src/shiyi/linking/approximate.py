"""The nearest of very many labels, nearly always right: HNSW through usearch."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, Self

import numpy as np

from shiyi.errors import IndexMismatchError, MissingExtraError
from shiyi.linking.embedder import Embedder, Vectors
from shiyi.linking.vectors import LabelVectors

if TYPE_CHECKING:
    from usearch.index import Index

FILE: Final = "vectors.usearch"
MANY: Final = 20_000_000  # labels from which a base keeps a graph
_CONNECTIONS, _BUILDING, _SEARCHING = 32, 160, 192  # ours, for recall@10 of 0.98 and more
_ADDED = 65_536
_ABOVE = 50  # neighbours among which those above a threshold are sought


@dataclass(frozen=True, slots=True)
class ApproximateVectors:
    """Label vectors behind a graph of neighbours; searched as :class:`LabelVectors`."""

    vectors: LabelVectors
    graph: "Index"

    @property
    def embedder(self) -> Embedder:
        """Give the model the vectors are of."""
        return self.vectors.embedder

    @classmethod
    def of(cls, vectors: LabelVectors, threads: int = 1) -> Self:
        """Make the graph; on one thread the same vectors give the same graph."""
        rows, graph = vectors.rows, _empty(vectors.rows.table.shape[1])
        for at in range(0, len(rows), _ADDED):
            places = np.arange(at, min(at + _ADDED, len(rows)))
            graph.add(places, rows.some(places), threads=threads)
        return cls(vectors, graph)

    def search(self, texts: Sequence[str], k: int) -> list[list[tuple[int, float]]]:
        """Give for each text about the ``k`` nearest labels and their true cosines."""
        if not texts:
            return []
        return [self.nearest(row, k) for row in self.embedder.encode(texts)]

    def above(self, texts: Sequence[str], least: float) -> list[list[tuple[int, float]]]:
        """Give for each text those of about the 50 nearest whose cosine is at least ``least``."""
        return [
            [(place, cosine) for place, cosine in found if cosine >= least]
            for found in self.search(texts, _ABOVE)
        ]

    def nearest(self, row: Vectors, k: int) -> list[tuple[int, float]]:
        """Give about the ``k`` nearest labels to one vector, nearest first."""
        keys = self.graph.search(row, k, threads=1).keys.astype(np.int64)
        cosines = np.clip(self.vectors.rows.some(keys) @ row, 0, 1)
        return sorted(zip(keys.tolist(), cosines.tolist(), strict=True),
                        key=lambda each: (-each[1], each[0]))  # fmt: skip

    def save(self, folder: Path) -> Path:
        """Write the graph beside the vectors it is of, whole or not at all."""
        path, partial = folder / FILE, folder / (FILE + ".part")
        self.graph.save(str(partial))
        said = _stamp(self.vectors) | {"bytes": partial.stat().st_size}
        path.with_suffix(".json").write_text(json.dumps(said), encoding="utf-8")
        return partial.replace(path)

    @classmethod
    def load(cls, folder: Path, vectors: LabelVectors) -> Self:
        """Read what :meth:`save` wrote.

        Raises :class:`IndexMismatchError` where it is damaged, or is of other vectors.
        """
        path = folder / FILE
        graph = _empty(vectors.rows.table.shape[1])
        try:
            said = json.loads(path.with_suffix(".json").read_text("utf-8"))
            if said == _stamp(vectors) | {"bytes": path.stat().st_size}:
                graph.view(str(path))  # as it lies in the file
                if len(graph) == len(vectors.rows):
                    return cls(vectors, graph)
            why = "is cut short, or of another model or release"
        except (OSError, ValueError, RuntimeError) as fault:
            why = f"is damaged ({fault})"
        raise IndexMismatchError(f"{path} {why}: run `shiyi build` again")


def _empty(dimensions: int) -> "Index":
    try:
        from usearch.index import Index
    except ImportError as fault:
        raise MissingExtraError("approximate search", "hnsw") from fault
    return Index(
        ndim=dimensions, metric="cos", dtype="bf16", connectivity=_CONNECTIONS,
        expansion_add=_BUILDING, expansion_search=_SEARCHING,
    )  # fmt: skip


def _stamp(vectors: LabelVectors) -> dict[str, str | int]:
    return {"model": vectors.embedder.identity, "release": vectors.release,
            "vectors": len(vectors.rows)}  # fmt: skip
