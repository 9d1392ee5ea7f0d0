"""Exact and HNSW nearest-neighbour search."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from shiyi.columnar.mapped_file import Memmap, write
from shiyi.errors import IndexMismatchError, MissingExtraError
from shiyi.linking.embedding.embedder import Embedder, Vectors
from shiyi.linking.labels import LabelIndex

if TYPE_CHECKING:
    from usearch.index import Index


FILE: Final = "vectors.safetensors"
FORMAT: Final = "3"
_BATCH: Final = 16_384
_AT_ONCE: Final = 4  # vectors sought at a time: nearly as quick as one
_UNCOPIED: Final = 800_000  # multiplications up to which OpenBLAS copies no matrix before it begins
Near = list[tuple[int, float]]


def search_nearest(
    rows: Vectors, queries: Vectors, k: int, mask: NDArray[np.bool_] | None = None
) -> list[Near]:
    """Return for each vector asked the places and cosines of the ``k`` nearest rows, nearest first.

    All are of length 1, or of zeros. ``mask`` marks the rows that count, where not all do.

    >>> search_nearest(np.eye(3, dtype=np.float32), np.eye(3, dtype=np.float32)[1:2], 2)
    [[(1, 1.0), (0, 0.0)]]
    """
    return (
        [_best(cosine, k) for cosine in _cosines(rows, queries, mask)]
        if len(rows)
        else [[]] * len(queries)
    )


def _cosines(
    rows: Vectors, queries: Vectors, mask: NDArray[np.bool_] | None = None
) -> Iterator[Vectors]:
    for at in range(0, len(queries), _AT_ONCE):
        found = np.clip(_products(rows, queries[at : at + _AT_ONCE]), -1, 1).round(6)
        if mask is not None:
            found[:, ~mask] = -np.inf
        yield from found


def _products(rows: Vectors, queries: Vectors) -> Vectors:
    """Return the scalar products of what is asked with all rows, in blocks: a fifth of the time."""
    step, found = max(1, _UNCOPIED // queries.size), np.empty((len(queries), len(rows)), rows.dtype)
    for at in range(0, len(rows), step):
        found[:, at : at + step] = (rows[at : at + step] @ queries.T).T
    return found


def _best(cosines: Vectors, k: int) -> Near:
    least = np.partition(cosines, -k)[-k] if 0 < k < len(cosines) else -1.0
    places = np.flatnonzero(cosines >= max(least, -1.0))
    order = places[np.lexsort((places, -cosines[places]))][: max(k, 0)]
    return list(zip(order.tolist(), cosines[order].tolist(), strict=True))


class VectorSearch(Protocol):
    """Vectors of labels that can be searched: all of them, or a graph over them."""

    @property
    def embedder(self) -> Embedder:
        """Return the model they are of."""

    def search(self, texts: Sequence[str], k: int) -> list[list[tuple[int, float]]]:
        """Return for each text the ``k`` nearest labels and their cosines, nearest first."""

    def above(self, texts: Sequence[str], minimum: float) -> list[list[tuple[int, float]]]:
        """Return for each text the labels with a cosine of at least ``minimum``, nearest first."""


@dataclass(frozen=True, slots=True)
class LabelVectors:
    """The vectors of the labels of an index, in its order."""

    rows: Vectors
    embedder: Embedder
    release: str

    @classmethod
    def of(cls, index: LabelIndex, embedder: Embedder) -> Self:
        """Embed every label."""
        labels = index.labels
        rows = [
            embedder.encode([label.text for label in labels[at : at + _BATCH]])
            for at in range(0, len(labels), _BATCH)
        ]
        return cls(np.concatenate([embedder.encode([]), *rows]), embedder, index.release)

    def search(self, texts: Sequence[str], k: int) -> list[list[tuple[int, float]]]:
        """Return for each text the ``k`` nearest labels and their cosines, nearest first."""
        return _positive(search_nearest(self.rows, self.embedder.encode(texts), max(k, 1)))

    def nearest(self, row: Vectors, k: int) -> list[tuple[int, float]]:
        """Return the ``k`` nearest labels to one vector of length 1, nearest first."""
        return _positive(search_nearest(self.rows, row[None], max(k, 1)))[0]

    def above(self, texts: Sequence[str], minimum: float) -> list[list[tuple[int, float]]]:
        """Return for each text every label with a cosine of at least ``minimum``, nearest first."""
        results = []
        for cosines in _cosines(self.rows, self.embedder.encode(texts)):
            count = int((cosines >= minimum).sum())
            results.append(_best(cosines, count) if count else [])
        return _positive(results)

    def save(self, folder: Path) -> Path:
        """Write the vectors, whole or not at all."""
        about = {"format": FORMAT, "model": self.embedder.identity, "release": self.release}
        return write(folder / FILE, {"label": self.rows}, **about)

    @classmethod
    def load(cls, folder: Path, index: LabelIndex, embedder: Embedder) -> Self:
        """Open what :meth:`save` wrote.

        Raise :class:`IndexMismatchError` where it is damaged, or is of another model or release.
        """
        memmap = Memmap.open(
            folder / FILE, format=FORMAT, model=embedder.identity, release=index.release
        )
        rows = memmap["label"]
        if len(rows) != len(index.labels):
            raise IndexMismatchError(
                f"{memmap.path} has {len(rows)} vectors and not {len(index.labels)}: "
                "run `shiyi index`"
            )
        return cls(rows, embedder, index.release)


def _positive(neighbours: list[Near]) -> list[Near]:
    return [[(place, max(0.0, cosine)) for place, cosine in neighbour] for neighbour in neighbours]


GRAPH_FILE: Final = "vectors.usearch"
MANY: Final = 2_000_000  # labels from which a base has a graph
_CONNECTIONS, _BUILDING, _SEARCHING = 32, 160, 192  # Shiyi's, for recall@10 of 0.98 and more
_ADDED = 65_536
_ABOVE = 50  # neighbours among which those above a threshold are sought


@dataclass(frozen=True, slots=True)
class ApproximateVectors:
    """Label vectors behind a graph of neighbours; searched as :class:`LabelVectors`."""

    vectors: LabelVectors
    graph: "Index"

    @property
    def embedder(self) -> Embedder:
        """Return the model the vectors are of."""
        return self.vectors.embedder

    @classmethod
    def of(cls, vectors: LabelVectors, threads: int = 1) -> Self:
        """Make the graph; on one thread the same vectors give the same graph."""
        rows, graph = vectors.rows, _empty(vectors.rows.shape[1])
        for at in range(0, len(rows), _ADDED):
            places = np.arange(at, min(at + _ADDED, len(rows)))
            graph.add(places, rows[places], threads=threads)
        return cls(vectors, graph)

    def search(self, texts: Sequence[str], k: int) -> list[list[tuple[int, float]]]:
        """Return for each text about the ``k`` nearest labels and their true cosines."""
        if not texts:
            return []
        return [self.nearest(row, k) for row in self.embedder.encode(texts)]

    def above(self, texts: Sequence[str], minimum: float) -> list[list[tuple[int, float]]]:
        """Return for each text those of about the 50 nearest with a cosine of ``minimum``."""
        return [
            [(place, cosine) for place, cosine in group if cosine >= minimum]
            for group in self.search(texts, _ABOVE)
        ]

    def nearest(self, row: Vectors, k: int) -> list[tuple[int, float]]:
        """Return about the ``k`` nearest labels to one vector, nearest first."""
        keys = self.graph.search(row, k, threads=1).keys.astype(np.int64)
        cosines = np.clip(self.vectors.rows[keys] @ row, 0, 1)
        return sorted(
            zip(keys.tolist(), cosines.tolist(), strict=True), key=lambda each: (-each[1], each[0])
        )

    def save(self, folder: Path) -> Path:
        """Write the graph beside the vectors it is of, whole or not at all."""
        path, partial = folder / GRAPH_FILE, folder / (GRAPH_FILE + ".part")
        self.graph.save(str(partial))
        stamp = _stamp(self.vectors) | {"bytes": partial.stat().st_size}
        path.with_suffix(".json").write_text(json.dumps(stamp), encoding="utf-8")
        return partial.replace(path)

    @classmethod
    def load(cls, folder: Path, vectors: LabelVectors) -> Self:
        """Read what :meth:`save` wrote.

        Raise :class:`IndexMismatchError` where it is damaged, or is of other vectors.
        """
        path = folder / GRAPH_FILE
        graph = _empty(vectors.rows.shape[1])
        try:
            stamp = json.loads(path.with_suffix(".json").read_text("utf-8"))
            if stamp == _stamp(vectors) | {"bytes": path.stat().st_size}:
                graph.view(str(path))  # as it lies in the file
                if len(graph) == len(vectors.rows):
                    return cls(vectors, graph)
            why = "is cut short, or of another model or release"
        except (OSError, ValueError, RuntimeError) as fault:
            why = f"is damaged ({fault})"
        raise IndexMismatchError(f"{path} {why}: run `shiyi index`")


def _empty(dimensions: int) -> "Index":
    try:
        from usearch.index import Index
    except ImportError as fault:
        raise MissingExtraError("approximate search", "hnsw") from fault
    return Index(
        ndim=dimensions,
        metric="cos",
        dtype="bf16",
        connectivity=_CONNECTIONS,
        expansion_add=_BUILDING,
        expansion_search=_SEARCHING,
    )


def _stamp(vectors: LabelVectors) -> dict[str, str | int]:
    return {
        "model": vectors.embedder.identity,
        "release": vectors.release,
        "vectors": len(vectors.rows),
    }
