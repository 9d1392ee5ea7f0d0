"""What a model may say of the vocabulary: relations with their classes, told as text."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from shiyi.model.rdf import NamedNode
from shiyi.ontology.terms import SHIYI
from shiyi.ontology.vocabulary import Property, Schema

# classes of what is recorded, not of what a text speaks of
_RECORDS = frozenset({
    "Claim", "Evidence", "Source", "Passage", "Section", "School", "PatientCase", "CaseMention",
    "Review", "Rule", "RegulatoryStatus", "PassageSummary", "QuestionAnswer", "EntityDescription",
    "RelationDescription", "ParkedPassage", "RefusedStatement", "ReasoningChain", "ReasoningText",
})  # fmt: skip
# what a rule derives, and what only a curator says
_NEVER = frozenset({
    "derivedCaution", "potentiallyInteractsWith", "questionText", "confusedWith", "warrantsCheckFor",
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
        """Take every property of the vocabulary that joins things a text speaks of."""
        schema = schema or Schema.load()
        names = tuple(sorted(
            name for name, each in schema.properties.items()
            if each.domain and (each.is_text or (each.is_object and each.range))
            and name not in _NEVER and not _RECORDS & (each.domain | each.range)
            and hasattr(SHIYI, name)
        ))  # fmt: skip
        return cls(schema, names)

    def known(self, names: Iterable[str]) -> tuple[str, ...]:
        """Keep the names that are relations, each once, in their own order."""
        return tuple(name for name in dict.fromkeys(names) if name in self.names)

    def node(self, name: str) -> NamedNode:
        """Give the IRI of a relation."""
        found: NamedNode = getattr(SHIYI, name)
        return found

    def kinds(self, classes: frozenset[str]) -> tuple[str, ...]:
        """List the classes a concept may have where ``classes`` are asked for."""
        return tuple(sorted({each for name in classes for each in self.schema.subclasses(name)}))

    def told(self, names: Iterable[str] = ()) -> str:
        """Tell relations as lines of a prompt: name, labels, classes of both ends."""
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
        found = {
            each for name in self.names
            for each in (*self.schema.property(name).domain, *self.schema.property(name).range)
        }  # fmt: skip
        return ", ".join(self.kinds(frozenset(found)))


def _range(each: Property) -> str:
    return "text" if each.is_text else " | ".join(sorted(each.range))
