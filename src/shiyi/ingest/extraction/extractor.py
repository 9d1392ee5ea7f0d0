"""The extractor port and the relations it may use."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from shiyi.ingest.documents.document import Document, Passage
from shiyi.model.claim import Polarity
from shiyi.model.rdf import NamedNode, Object, Quad
from shiyi.ontology.schema import Property, Schema
from shiyi.ontology.terms import SHIYI
from shiyi.settings import IngestSettings


@dataclass(frozen=True, slots=True)
class ExtractedStatement:
    """A statement read in a passage; its quote is ``text[start:end]`` of that passage.

    ``sure`` is how sure the extractor is of having read it right, a factor of its weight;
    ``qualifiers`` are those of its evidence, such as the amount of an ingredient; ``place`` is
    where the quote stands in the document, if that is known.
    """

    subject: NamedNode
    predicate: NamedNode
    object: Object
    start: int
    end: int
    polarity: Polarity = Polarity.POSITIVE
    sure: float = 1.0
    qualifiers: tuple[tuple[str, str], ...] = ()
    place: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class Extraction:
    """The result for one passage; ``unlinked`` counts by relation the words that name no concept.

    ``quads`` are for the graph of the source, ``classes`` are those of concepts they bring.
    ``refused`` counts by reason the statements that no claim could be made of. ``parked`` is the
    reason for which the passage is to be retried.
    """

    found: tuple[ExtractedStatement, ...] = ()
    unlinked: Counter[str] = field(default_factory=Counter)
    quads: tuple[Quad, ...] = ()
    refused: Counter[str] = field(default_factory=Counter)
    parked: str = ""
    classes: Mapping[str, str] = field(default_factory=dict)


class Extractor(Protocol):
    """Reads passages; the same passage always gives the same statements."""

    name: str
    version: str
    by_model: bool  # whether a model reads; a model alone never asserts anything

    def trust(self, settings: IngestSettings) -> float:
        """Return the factor by which a source's weight counts where this extractor read it."""

    def read(
        self, passages: Sequence[Passage], document: Document, place: NamedNode
    ) -> Sequence[Extraction]:
        """Return the statements of each passage with their spans; ``place`` is its graph."""


# classes of what is recorded, not of what a text speaks of
_RECORDS = frozenset({
    "Claim", "Evidence", "Source", "Passage", "Section", "School", "PatientCase", "CaseMention",
    "Review", "Rule", "RegulatoryStatus", "PassageSummary", "QuestionAnswer", "EntityDescription",
    "RelationDescription", "ParkedPassage", "RefusedStatement", "ReasoningChain", "ReasoningText",
})  # fmt: skip
# what a rule derives, and what only a curator says
_NEVER = frozenset({
    "derivedCaution", "potentiallyInteractsWith", "questionText", "confusedWith",
    "warrantsCheckFor",
})  # fmt: skip
ATTRIBUTES = (
    "primaryEffect", "consumptionMethod", "indicatedFor", "contraindicatedIn", "hasIngredient",
    "cookingMethod", "dietaryBenefit",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Relations:
    """The relations that texts may state, and the classes of the things they join."""

    schema: Schema
    names: tuple[str, ...]

    @classmethod
    def of(cls, schema: Schema | None = None) -> "Relations":
        """Select every property of the vocabulary that joins things a text speaks of."""
        schema = schema or Schema.load()
        names = tuple(
            sorted(
                name
                for name, each in schema.properties.items()
                if each.domain
                and (each.is_text or (each.is_object and each.range))
                and name not in _NEVER
                and not _RECORDS & (each.domain | each.range)
                and hasattr(SHIYI, name)
            )
        )
        return cls(schema, names)

    def filter_names(self, names: Iterable[str]) -> tuple[str, ...]:
        """Keep the names that are relations, each once, in their own order."""
        return tuple(name for name in dict.fromkeys(names) if name in self.names)

    def node(self, name: str) -> NamedNode:
        """Return the IRI of a relation."""
        result: NamedNode = getattr(SHIYI, name)
        return result

    def kinds(self, classes: frozenset[str]) -> tuple[str, ...]:
        """List the classes a concept may have where ``classes`` are asked for."""
        return tuple(sorted({each for name in classes for each in self.schema.subclasses(name)}))

    def prompt_lines(self, names: Iterable[str] = ()) -> str:
        """Return relations as lines of a prompt: name, labels, classes of both ends."""
        return "\n".join(self._lines(tuple(names) or self.names))

    def _lines(self, names: Iterable[str]) -> Iterator[str]:
        for name in names:
            each = self.schema.property(name)
            yield (
                f"- {name} ({each.label_zh}, {each.label_en}): "
                f"{' | '.join(sorted(each.domain))} → {_range(each)}"
            )

    @property
    def classes(self) -> str:
        """List the classes that relations join."""
        results = {
            each
            for name in self.names
            for each in (*self.schema.property(name).domain, *self.schema.property(name).range)
        }
        return ", ".join(self.kinds(frozenset(results)))


def _range(property_: Property) -> str:
    return "text" if property_.is_text else " | ".join(sorted(property_.range))
