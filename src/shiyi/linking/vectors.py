"""One vector a label, searched exactly; tied to its model and release."""

import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Protocol, Self

import numpy as np

from shiyi.errors import IndexMismatchError
from shiyi.linking.embedder import Embedder, Vectors
from shiyi.linking.labels import LabelIndex
from shiyi.linking.rounded import MANY, Rounded

FILE = "vectors.npz"


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
    """The vectors of the labels of an index, in its order."""

    rows: Vectors
    embedder: Embedder
    release: str

    @cached_property
    def _rounded(self) -> Rounded | None:
        return Rounded.of(self.rows) if len(self.rows) >= MANY else None

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
            places, cosines = np.arange(len(self.rows)), self.rows @ row
        else:
            places = self._rounded.near(row, k)
            cosines = self.rows[places] @ row
        best = np.argpartition(cosines, -k)[-k:].tolist()
        ranked = sorted((-float(cosines[each]), int(places[each])) for each in best)
        return [(place, float(np.clip(-less, 0, 1))) for less, place in ranked]

    def above(self, texts: Sequence[str], least: float) -> list[list[tuple[int, float]]]:
        """Give for each text every label whose cosine is at least ``least``, nearest first."""
        if not texts or not len(self.rows):
            return [[] for _ in texts]
        found = []
        for row in self.embedder.encode(texts) @ self.rows.T:
            places = np.flatnonzero(row >= least).tolist()
            ranked = sorted(places, key=lambda place: (-row[place], place))
            found.append([(place, float(np.clip(row[place], 0, 1))) for place in ranked])
        return found

    def save(self, folder: Path) -> Path:
        """Write ``vectors.npz`` in half precision, whole or not at all."""
        folder.mkdir(parents=True, exist_ok=True)
        path, partial = folder / FILE, folder / (FILE + ".part")
        with partial.open("wb") as out:
            np.savez(
                out,
                rows=self.rows.astype(np.float16),
                model=np.array(self.embedder.identity),
                release=np.array(self.release),
            )
        return partial.replace(path)

    @classmethod
    def load(cls, folder: Path, index: LabelIndex, embedder: Embedder) -> Self:
        """Read what :meth:`save` wrote.

        Raises :class:`IndexMismatchError` where it is damaged, or is of another model or release.
        """
        path = folder / FILE
        try:
            with path.open("rb") as file, np.load(file, allow_pickle=False) as said:
                rows = said["rows"].astype(np.float32)
                made = str(said["model"]), str(said["release"])
        except (OSError, EOFError, ValueError, KeyError, zipfile.BadZipFile) as fault:
            raise IndexMismatchError(
                f"{path} is damaged ({fault}): run `shiyi build` again"
            ) from fault
        if made != (embedder.identity, index.release) or len(rows) != len(index.labels):
            raise IndexMismatchError(
                f"{path} has {len(rows)} vectors of model {made[0]} for release {made[1]}, not "
                f"{len(index.labels)} of {embedder.identity} for {index.release}: "
                "run `shiyi build` again"
            )
        return cls(rows, embedder, index.release)
