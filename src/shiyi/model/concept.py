"""A concept: a thing claims speak of, with its names in two languages."""

from dataclasses import dataclass

from shiyi.model.names import resource
from shiyi.model.rdf import NamedNode


@dataclass(frozen=True, slots=True)
class Concept:
    """One concept, its class, labels, codes and the ids of what is broader.

    >>> Concept("nature-cold", "Nature", "寒", "cold").iri.value
    'https://w3id.org/shiyi/id/nature-cold'
    """

    id: str
    class_name: str
    zh: str
    en: str
    alt_zh: tuple[str, ...] = ()
    alt_en: tuple[str, ...] = ()
    pinyin: str = ""
    latin: tuple[str, ...] = ()
    notation: tuple[str, ...] = ()
    broader: tuple[str, ...] = ()
    definition_zh: str = ""
    definition_en: str = ""
    scope_zh: str = ""  # for whom, or for what, the name is meant
    scope_en: str = ""

    @property
    def iri(self) -> NamedNode:
        """Name the concept."""
        return resource(self.id)
