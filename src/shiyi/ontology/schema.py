"""Classes, properties, domains and ranges."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Self, TypeVar

from shiyi.artefacts import artefact
from shiyi.errors import FormatError
from shiyi.model.iris import VOCAB
from shiyi.model.rdf import Literal, Quad, Term, local_name, parse_turtle, text

_RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
_RDFS = "http://www.w3.org/2000/01/rdf-schema#"
_OWL = "http://www.w3.org/2002/07/owl#"
_TEXTS = frozenset({f"{VOCAB}Text", f"{_RDF}langString"})


@dataclass(frozen=True, slots=True)
class Property:
    """A property of the vocabulary; empty ``domain`` or ``range`` takes any class."""

    name: str
    label_zh: str
    label_en: str
    domain: frozenset[str]
    range: frozenset[str]
    is_text: bool  # its values are texts in one or two languages
    is_object: bool  # its values are concepts
    symmetric: bool
    parents: tuple[str, ...]
    inherits: frozenset[str]  # of narrower, ingredient, member, implication

    @property
    def is_safety(self) -> bool:
        """Return whether its claims may warn: they are inherited by some rule."""
        return bool(self.inherits)


@dataclass(frozen=True, slots=True)
class Schema:
    """Classes with their superclasses, and properties, of ``ontology/shiyi.ttl``.

    Defined classes (``owl:equivalentClass``) are left out: nobody assigns a thing to them.

    >>> "Food" in Schema.load().superclasses("MFHSubstance")
    True
    >>> sorted(Schema.load().property("fears").inherits)
    ['ingredient']
    """

    parents: Mapping[str, tuple[str, ...]]
    properties: Mapping[str, Property]
    above: Mapping[str, frozenset[str]] = field(init=False)

    def __post_init__(self) -> None:
        """List each class with every class above it."""

        def above(name: str) -> frozenset[str]:
            return frozenset((name,)).union(*map(above, self.parents.get(name, ())))

        object.__setattr__(self, "above", {name: above(name) for name in self.parents})

    @classmethod
    @cache
    def load(cls) -> Self:
        """Read the shipped vocabulary, once."""
        return cls.parse(artefact("ontology/shiyi.ttl").read_text(encoding="utf-8"))

    @classmethod
    def parse(cls, turtle: str) -> Self:
        """Read a vocabulary written in Turtle."""
        return _read(cls, _Facts(parse_turtle(turtle)))

    def property(self, name: str) -> Property:
        """Return a property by its local name, or say which exist."""
        if name not in self.properties:
            raise FormatError("property", name, sorted(self.properties))
        return self.properties[name]

    def superclasses(self, name: str) -> frozenset[str]:
        """List ``name`` and every class above it."""
        return self.above.get(name) or frozenset((name,))

    def subclasses(self, name: str) -> frozenset[str]:
        """List ``name`` and every class below it."""
        return frozenset(parent for parent in self.parents if name in self.superclasses(parent))

    def fits(self, class_name: str, classes: frozenset[str]) -> bool:
        """Return whether a concept of ``class_name`` fits where ``keys`` classes are."""
        return not classes or bool(self.superclasses(class_name) & classes)


_S = TypeVar("_S", bound=Schema)


class _Facts:
    """Triples by subject, then by predicate."""

    def __init__(self, quads: Iterable[Quad]) -> None:
        self.by: dict[str, dict[str, list[Term]]] = defaultdict(lambda: defaultdict(list))
        for quad in quads:
            self.by[str(quad.subject)][quad.predicate.value].append(quad.object)

    def values(self, subject: str, predicate: str) -> list[Term]:
        return self.by[subject][predicate] if subject in self.by else []

    def names(self, subject: str, predicate: str) -> frozenset[str]:
        """Return the named classes at ``predicate``, looking into ``owl:unionOf`` lists."""
        results: set[str] = set()
        for term in self.values(subject, predicate):
            union = self.values(str(term), f"{_OWL}unionOf")
            results.update(_shiyi_terms(self._items(union[0])) if union else _shiyi_terms([term]))
        return frozenset(results)

    def _items(self, head: Term) -> list[Term]:
        items, node = [], str(head)
        while first := self.values(node, f"{_RDF}first"):
            items.append(first[0])
            node = str(self.values(node, f"{_RDF}rest")[0])
        return items

    def label(self, subject: str, language: str) -> str:
        for term in self.values(subject, f"{_RDFS}label"):
            if isinstance(term, Literal) and term.language == language:
                return term.value
        return ""


def _shiyi_terms(terms: Iterable[Term]) -> list[str]:
    return [local_name(text(term)) for term in terms if text(term).startswith(VOCAB)]


def _read(cls: type[_S], facts: _Facts) -> _S:
    parents, properties = {}, {}
    for subject in list(facts.by):
        if not subject.startswith(f"<{VOCAB}"):
            continue
        name = subject[len(VOCAB) + 1 : -1]
        types = {local_name(text(term)) for term in facts.values(subject, f"{_RDF}type")}
        if "Class" in types and not facts.values(subject, f"{_OWL}equivalentClass"):
            parents[name] = tuple(sorted(facts.names(subject, f"{_RDFS}subClassOf")))
        elif types & {"ObjectProperty", "DatatypeProperty"}:
            properties[name] = _property(name, subject, types, facts)
    return cls(parents, properties)


_INHERITANCE = {
    "narrower": "inheritsToNarrower", "ingredient": "inheritsFromIngredient",
    "member": "inheritsToMember", "implication": "inheritsAlongImplication",
}  # fmt: skip


def _property(name: str, subject: str, types: set[str], facts: _Facts) -> Property:
    ranges = {text(term) for term in facts.values(subject, f"{_RDFS}range")}
    return Property(
        name=name,
        label_zh=facts.label(subject, "zh"),
        label_en=facts.label(subject, "en"),
        domain=facts.names(subject, f"{_RDFS}domain"),
        range=facts.names(subject, f"{_RDFS}range"),
        is_text=bool(ranges & _TEXTS),
        is_object="ObjectProperty" in types and not ranges & _TEXTS,
        symmetric="SymmetricProperty" in types,
        parents=tuple(sorted(facts.names(subject, f"{_RDFS}subPropertyOf"))),
        inherits=frozenset(
            kind for kind, flag in _INHERITANCE.items() if facts.values(subject, VOCAB + flag)
        ),
    )
