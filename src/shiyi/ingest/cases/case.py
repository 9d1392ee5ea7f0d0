"""A case as it is kept: nobody's name, facets, words with what they mean, class, reasoning."""

from dataclasses import dataclass, field

from shiyi.model.names import content_hash, resource
from shiyi.model.rdf import NamedNode

KINDS = ("symptom", "pathogenesis", "pattern", "disease", "treatment")


@dataclass(frozen=True, slots=True)
class Mention:
    """Words of a case and what they speak of; ``concept`` is what bears these very words."""

    words: str
    kind: str
    concept: NamedNode | None = None

    def iri(self, case: NamedNode) -> NamedNode:
        """Name the mention within its case."""
        return resource(f"case-mention/{content_hash(case.value, self.kind, self.words)}")


@dataclass(frozen=True, slots=True)
class Case:
    """One de-identified case; ``classes`` are GB/T 15657 diseases, the first level before the second."""

    iri: NamedNode
    text: str
    language: str
    age_group: str = ""
    sex: str = ""
    history: tuple[NamedNode, ...] = ()
    mentions: tuple[Mention, ...] = ()
    steps: tuple[tuple[Mention, Mention], ...] = ()
    classes: tuple[NamedNode, ...] = ()
    answer: str = ""
    chosen_by: str = field(default="", compare=False)  # how the class was found, for the report
