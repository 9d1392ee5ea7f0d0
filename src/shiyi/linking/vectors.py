"""One vector a label, searched exactly; tied to its model and release."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Protocol, Self

import numpy as np
from numpy.typing import NDArray

from shiyi.errors import IndexMismatchError
from shiyi.linking.embedder import Embedder, Vectors
from shiyi.linking.labels import LabelIndex
from shiyi.linking.rounded import MANY, Rounded
from shiyi.model.mapped import Mapped, write

FILE = "vectors.safetensors"


class Searching(Protocol):
    """Vectors of labels that can be searched: all of them, or a graph over them."""

    @property
    def embedder(self) -> Embedder:
        """Give the model they are of."""

    def search(self, texts: Sequence[str], k: int) -> list[list[tuple[int, float]]]:
        """Give for each text the ``k`` nearest labels and their cosines, nearest first."""

    def above(self, texts: Sequence[str], least: float) -> list[list[tuple[int, float]]]:
        """Give for each text the labels whose cosine is at least ``least``, nearest first."""


@dataclass(frozen=True)
class LabelVectors:
    """The vectors of the labels of an index, in its order; in half precision where they lie in a file."""

    rows: Vectors | NDArray[np.float16]
    embedder: Embedder
    release: str

    @cached_property
    def _rounded(self) -> Rounded | None:
        return Rounded.of(self.every) if len(self.rows) >= MANY else None

    @cached_property
    def every(self) -> Vectors:
        """Give all of them in single precision, in memory."""
        return self.rows.astype(np.float32, copy=False)

    def some(self, places: NDArray[np.integer]) -> Vectors:
        """Give those at some places in single precision."""
        chosen: Vectors = self.rows[places].astype(np.float32, copy=False)
        return chosen

    @classmethod
    def of(cls, index: LabelIndex, embedder: Embedder) -> Self:
        """Embed every label."""
        rows = embedder.encode([label.text for label in index.labels])
        return cls(rows, embedder, index.release)

    def search(self, texts: Sequence[str], k: int) -> list[list[tuple[int, float]]]:
        """Give for each text the ``k`` nearest labels and their cosines, nearest first."""
        if not texts or not len(self.rows):
            return [[] for _ in texts]
        return [self.nearest(row, k) for row in self.embedder.encode(texts)]

    def nearest(self, row: Vectors, k: int) -> list[tuple[int, float]]:
        """Give the ``k`` nearest labels to one vector of length 1, nearest first."""
        k = min(k, len(self.rows))
        if self._rounded is None:
            places, cosines = np.arange(len(self.rows)), self.every @ row
        else:
            places = self._rounded.near(row, k)
            cosines = self.some(places) @ row
        best = np.argpartition(cosines, -k)[-k:].tolist()
        ranked = sorted((-float(cosines[each]), int(places[each])) for each in best)
        return [(place, float(np.clip(-less, 0, 1))) for less, place in ranked]

    def above(self, texts: Sequence[str], least: float) -> list[list[tuple[int, float]]]:
        """Give for each text every label whose cosine is at least ``least``, nearest first."""
        if not texts or not len(self.rows):
            return [[] for _ in texts]
        found = []
        for row in self.embedder.encode(texts) @ self.every.T:
            places = np.flatnonzero(row >= least).tolist()
            ranked = sorted(places, key=lambda place: (-row[place], place))
            found.append([(place, float(np.clip(row[place], 0, 1))) for place in ranked])
        return found

    def save(self, folder: Path) -> Path:
        """Write the vectors in half precision, whole or not at all."""
        rows = {"rows": self.rows.astype(np.float16)}
        return write(folder / FILE, rows, model=self.embedder.identity, release=self.release)

    @classmethod
    def load(cls, folder: Path, index: LabelIndex, embedder: Embedder) -> Self:
        """Open what :meth:`save` wrote.

        Raises :class:`IndexMismatchError` where it is damaged, or is of another model or release.
        """
        said = Mapped.open(folder / FILE, model=embedder.identity, release=index.release)
        rows = said["rows"]
        if len(rows) != len(index.labels):
            raise IndexMismatchError(
                f"{said.path} has {len(rows)} vectors and not {len(index.labels)}: "
                "run `shiyi build` again"
            )
        return cls(rows, embedder, index.release)
