"""What an extractor is: a passage in, statements with their quotes out."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from shiyi.ingest.text.document import Document, Passage
from shiyi.model.claim import Polarity
from shiyi.model.rdf import NamedNode, Object, Quad
from shiyi.settings import IngestSettings


@dataclass(frozen=True, slots=True)
class Extracted:
    """A statement read in a passage; its quote is ``text[start:end]`` of that passage.

    ``sure`` is how sure the extractor is of having read it right, a factor of its weight.
    """

    subject: NamedNode
    predicate: NamedNode
    object: Object
    start: int
    end: int
    polarity: Polarity = Polarity.POSITIVE
    sure: float = 1.0


@dataclass(frozen=True, slots=True)
class Extraction:
    """What was read in one passage; ``unlinked`` counts by relation what names nothing known.

    ``quads`` are for the graph of the source. ``refused`` counts by reason the statements that no
    claim could be made of. ``parked`` says why the passage could not be read, to be tried again.
    """

    found: tuple[Extracted, ...] = ()
    unlinked: Counter[str] = field(default_factory=Counter)
    quads: tuple[Quad, ...] = ()
    refused: Counter[str] = field(default_factory=Counter)
    parked: str = ""


class Extractor(Protocol):
    """Reads passages; the same passage always gives the same statements."""

    name: str
    version: str
    by_model: bool  # whether a model reads, whose word alone never asserts anything

    def trust(self, settings: IngestSettings) -> float:
        """Give the factor by which a source's weight counts where this extractor read it."""

    def read(
        self, passages: Sequence[Passage], document: Document, place: NamedNode
    ) -> Sequence[Extraction]:
        """Give what each passage states, with the span that states it; ``place`` is its graph."""
