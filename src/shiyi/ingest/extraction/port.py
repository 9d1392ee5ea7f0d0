"""What an extractor is: a passage in, statements with their quotes out."""

from collections import Counter
from dataclasses import dataclass, field
from typing import Protocol

from shiyi.ingest.text.document import Passage
from shiyi.model.claim import Polarity, Source
from shiyi.model.rdf import NamedNode, Object


@dataclass(frozen=True, slots=True)
class Extracted:
    """A statement read in a passage; its quote is ``text[start:end]`` of that passage."""

    subject: NamedNode
    predicate: NamedNode
    object: Object
    start: int
    end: int
    polarity: Polarity = Polarity.POSITIVE


@dataclass(frozen=True, slots=True)
class Extraction:
    """What was read in one passage; ``unlinked`` counts by relation what names nothing known."""

    found: tuple[Extracted, ...] = ()
    unlinked: Counter[str] = field(default_factory=Counter)


class Extractor(Protocol):
    """Reads passages; the same passage always gives the same statements."""

    name: str
    version: str

    def extract(self, passage: Passage, source: Source) -> Extraction:
        """Give what the passage states, each with the span that states it."""
