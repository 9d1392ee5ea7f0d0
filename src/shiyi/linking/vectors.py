"""One vector a label, searched exactly; tied to its model and release."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol, Self

from shiyi.errors import IndexMismatchError
from shiyi.linking.embedder import Embedder, Vectors
from shiyi.linking.labels import LabelIndex
from shiyi.linking.summed import Near, Summed
from shiyi.model.mapped import Mapped, write

FILE: Final = "vectors.safetensors"
FORMAT: Final = "2"
_BATCH: Final = 16_384


class Searching(Protocol):
    """Vectors of labels that can be searched: all of them, or a graph over them."""

    @property
    def embedder(self) -> Embedder:
        """Give the model they are of."""

    def search(self, texts: Sequence[str], k: int) -> list[list[tuple[int, float]]]:
        """Give for each text the ``k`` nearest labels and their cosines, nearest first."""

    def above(self, texts: Sequence[str], least: float) -> list[list[tuple[int, float]]]:
        """Give for each text the labels whose cosine is at least ``least``, nearest first."""


@dataclass(frozen=True, slots=True)
class LabelVectors:
    """The vectors of the labels of an index, in its order."""

    rows: Summed
    embedder: Embedder
    release: str

    @classmethod
    def of(cls, index: LabelIndex, embedder: Embedder) -> Self:
        """Embed every label."""
        labels = index.labels
        batches = (
            [label.text for label in labels[at : at + _BATCH]]
            for at in range(0, len(labels), _BATCH)
        )
        return cls(Summed.of(embedder, batches), embedder, index.release)

    def search(self, texts: Sequence[str], k: int) -> list[list[tuple[int, float]]]:
        """Give for each text the ``k`` nearest labels and their cosines, nearest first."""
        return _positive(self.rows.nearest(self.embedder.encode(texts), k))

    def nearest(self, row: Vectors, k: int) -> list[tuple[int, float]]:
        """Give the ``k`` nearest labels to one vector of length 1, nearest first."""
        return _positive(self.rows.nearest(row[None], k))[0]

    def above(self, texts: Sequence[str], least: float) -> list[list[tuple[int, float]]]:
        """Give for each text every label whose cosine is at least ``least``, nearest first."""
        return _positive(self.rows.above(self.embedder.encode(texts), least))

    def save(self, folder: Path) -> Path:
        """Write the vectors, whole or not at all."""
        about = {"format": FORMAT, "model": self.embedder.identity, "release": self.release}
        return write(folder / FILE, self.rows.arrays("label"), **about)

    @classmethod
    def load(cls, folder: Path, index: LabelIndex, embedder: Embedder) -> Self:
        """Open what :meth:`save` wrote.

        Raises :class:`IndexMismatchError` where it is damaged, or is of another model or release.
        """
        said = Mapped.open(
            folder / FILE, format=FORMAT, model=embedder.identity, release=index.release
        )
        rows = Summed.over(said, "label", embedder)
        if len(rows) != len(index.labels):
            raise IndexMismatchError(
                f"{said.path} has {len(rows)} vectors and not {len(index.labels)}: "
                "run `shiyi build` again"
            )
        return cls(rows, embedder, index.release)


def _positive(found: list[Near]) -> list[Near]:
    return [[(place, max(0.0, cosine)) for place, cosine in near] for near in found]
