"""Form fields derived from the shapes.

The same ``shapes/*.ttl`` validate extracted claims, with the same messages.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any, Self

from shiyi.model.iris import VOCAB
from shiyi.model.rdf import local_name
from shiyi.ontology.schema import Schema
from shiyi.ontology.serialization import QUALIFIERS
from shiyi.shapes.validation import shapes_graph

if TYPE_CHECKING:
    from rdflib import Graph
    from rdflib.term import Node

DERIVED = frozenset({"derivedCaution", "potentiallyInteractsWith"})  # rules alone say these
CONDITIONS = ("population", "dose", "duration")


@dataclass(frozen=True, slots=True)
class Constraint:
    """The constraint of one shape on one path: its message, and the values it allows."""

    shape: str  # local name of the node shape
    target: str  # its target class, or the property that its targets are subjects of
    path: str  # local name where it is Shiyi's, else the IRI
    message_zh: str
    message_en: str
    severity: str
    datatype: str = ""
    classes: frozenset[str] = frozenset()  # any of these, the empty set takes all
    allowed: tuple[str, ...] = ()
    pattern: str = ""
    low: str = ""
    high: str = ""
    least: int = 0
    most: int | None = None

    def takes_text(self, value: str) -> bool:
        """Return whether a literal of this form may stand here."""
        if self.allowed and value not in self.allowed:
            return False
        if self.pattern and not re.search(self.pattern, value):
            return False
        return not (self.low or self.high) or self._in_range(value)

    def _in_range(self, value: str) -> bool:
        try:
            number = float(value)
        except ValueError:
            return False
        return float(self.low or "-inf") <= number <= float(self.high or "inf")


@dataclass(frozen=True, slots=True)
class Field:
    """One field of a form: its names, its kind, and every constraint that holds for it.

    ``kind`` is ``concept`` (IRI of ``kinds``), ``choice``, ``number``, ``text`` or ``line``.
    """

    name: str
    kind: str
    label_zh: str
    label_en: str
    constraints: tuple[Constraint, ...] = ()
    kinds: tuple[str, ...] = ()

    @property
    def allowed_values(self) -> tuple[str, ...]:
        """List the values that every constraint takes; nothing where any will do."""
        lists = [constraint.allowed for constraint in self.constraints if constraint.allowed]
        return tuple(v for v in lists[0] if all(v in other for other in lists)) if lists else ()

    @property
    def pattern(self) -> str:
        """Return the regular expression a value is to hold, or nothing."""
        return next((each.pattern for each in self.constraints if each.pattern), "")

    @property
    def low(self) -> str:
        """Return the least number taken."""
        return next((constraint.low for constraint in self.constraints if constraint.low), "")

    @property
    def high(self) -> str:
        """Return the greatest number taken."""
        return next((constraint.high for constraint in self.constraints if constraint.high), "")

    @property
    def is_required(self) -> bool:
        """Return whether the field may not stay empty."""
        return any(constraint.least > 0 for constraint in self.constraints)

    def label(self, language: str) -> str:
        """Return the field's name in ``zh`` or ``en``."""
        return self.label_zh if language == "zh" else self.label_en

    def message(self, language: str) -> str:
        """Return the messages of the shapes about this field, in ``zh`` or ``en``."""
        values = (e.message_zh if language == "zh" else e.message_en for e in self.constraints)
        return " ".join(dict.fromkeys(values))

    def against(self, value: str) -> tuple[Constraint, ...]:
        """List the constraints that a literal breaks."""
        return tuple(each for each in self.constraints if not each.takes_text(value))


@dataclass(frozen=True, slots=True)
class ShapeForms:
    """Every constraint of the shipped shapes, by the class or property it is aimed at.

    >>> forms = ShapeForms.load()
    >>> forms.object_field("hasNature", ["MFHSubstance"]).kinds
    ('Nature',)
    >>> forms.evidence_field("severity").allowed_values
    ('contraindicated', 'caution', 'monitor')
    """

    constraints: Mapping[str, tuple[Constraint, ...]]
    schema: Schema = field(repr=False)

    @classmethod
    @cache
    def load(cls) -> Self:
        """Read the shapes once."""
        return cls.of(shapes_graph(), Schema.load())

    @classmethod
    def of(cls, shapes: "Graph", schema: Schema) -> Self:
        """Read the constraints of a graph of shapes."""
        results: dict[str, list[Constraint]] = {}
        for constraint in _constraints(shapes):
            results.setdefault(constraint.target, []).append(constraint)
        return cls({target: tuple(group) for target, group in sorted(results.items())}, schema)

    def relations(self, classes: Iterable[str]) -> tuple[str, ...]:
        """List the relations that a thing of these classes may have, by local name."""
        above = self._superclasses(classes)
        by_shape = {e.path for target in above for e in self.constraints.get(target, ())}
        by_domain = {n for n, p in self.schema.properties.items() if p.domain & above}
        known = (by_shape | by_domain) & self.schema.properties.keys()
        claimed = (n for n in known if self._is_claimed(n))
        return tuple(sorted(claimed))

    def object_field(self, relation: str, classes: Iterable[str]) -> Field:
        """Return the field of the object of ``relation`` for a subject of these classes."""
        prop = self.schema.property(relation)
        above = self._superclasses(classes)
        values = tuple(
            constraint
            for target in sorted(above)
            for constraint in self.constraints.get(target, ())
            if constraint.path == relation
        )
        kind = "text" if prop.is_text else "concept"
        kinds = () if prop.is_text else self._kinds((*(e.classes for e in values), prop.range))
        return Field("object", kind, prop.label_zh, prop.label_en, values, kinds)

    def evidence_field(self, name: str) -> Field:
        """Return the field of a qualifier or of another property of evidence."""
        path = local_name(QUALIFIERS[name][0].value) if name in QUALIFIERS else name
        values = tuple(
            constraint
            for target in ("Evidence", path)
            for constraint in self.constraints.get(target, ())
            if constraint.path == path
        )
        prop = self.schema.property(path)
        kind = "choice" if any(e.allowed for e in values) else "line"
        if any(e.low or e.high for e in values):
            kind = "number"
        return Field(name, kind, prop.label_zh, prop.label_en, values)

    def evidence_fields(self) -> tuple[Field, ...]:
        """List the fields of a piece of evidence: conditions first, then the other qualifiers."""
        names = (*CONDITIONS, *(name for name in QUALIFIERS if name not in CONDITIONS))
        return tuple(self.evidence_field(name) for name in names)

    def shape_of(self, path: str, message: str, classes: Iterable[str] = ()) -> str:
        """Name the shape that says ``message`` of ``path``; nearest to ``classes`` first."""
        above = self._superclasses(classes)
        fitting = [
            each
            for value in self.constraints.values()
            for each in value
            if each.path == local_name(path) and message in (each.message_en, each.message_zh)
        ]
        fitting.sort(key=lambda each: each.target not in above)
        return fitting[0].shape if fitting else ""

    def _is_claimed(self, name: str) -> bool:
        prop = self.schema.property(name)
        if name in DERIVED or not (prop.is_text or prop.is_object):
            return False
        return not prop.domain & {"Claim", "Evidence", "Passage", "Section", "PatientCase"}

    def _superclasses(self, classes: Iterable[str]) -> frozenset[str]:
        return frozenset(above for name in classes for above in self.schema.superclasses(name))

    def _kinds(self, groups: Iterable[frozenset[str]]) -> tuple[str, ...]:
        wanted_kinds = [group for group in groups if group]
        if not wanted_kinds:
            return ()
        return tuple(
            name
            for name in self.schema.parents
            if all(self.schema.superclasses(name) & kind for kind in wanted_kinds)
        )


def _constraints(shapes: "Graph") -> Iterator[Constraint]:
    from rdflib import SH, URIRef

    for shape in sorted(set(shapes.subjects(SH.property, None)), key=str):
        aims = [*shapes.objects(shape, SH.targetClass), *shapes.objects(shape, SH.targetSubjectsOf)]
        for node in shapes.objects(shape, SH.property):
            path = shapes.value(node, SH.path)
            if not isinstance(path, URIRef):  # a path of several steps is no field
                continue
            for aim in aims:
                yield _constraint(shapes, shape, aim, node, path)


def _constraint(shapes: "Graph", shape: "Node", aim: "Node", node: "Node", path: str) -> Constraint:
    from rdflib import SH, URIRef
    from rdflib import Literal as RdflibLiteral

    def one(name: str) -> str:
        result = shapes.value(node, SH[name])
        return "" if result is None else str(result)

    def list_items(name: str) -> tuple[str, ...]:
        head = shapes.value(node, SH[name])
        values = shapes.items(head) if head else ()
        return tuple(_short(str(e)).lower() if isinstance(e, URIRef) else str(e) for e in values)

    values = {
        item.language: str(item)
        for item in shapes.objects(node, SH.message)
        if isinstance(item, RdflibLiteral)
    }
    bounds: dict[str, Any] = {
        "low": one("minInclusive"),
        "high": one("maxInclusive"),
        "least": int(one("minCount") or 0),
        "most": int(one("maxCount")) if one("maxCount") else None,
    }
    return Constraint(
        local_name(str(shape)),
        local_name(str(aim)),
        _short(str(path)),
        values.get("zh", ""),
        values.get("en", ""),
        local_name(one("severity")),
        one("datatype"),
        _classes(shapes, node),
        list_items("in"),
        one("pattern"),
        **bounds,
    )


def _classes(shapes: "Graph", node: "Node") -> frozenset[str]:
    """Return the classes of ``sh:class``, or of an ``sh:or`` of them."""
    from rdflib import SH

    results = [shapes.value(node, SH["class"])]
    if (choice := shapes.value(node, SH["or"])) is not None:
        results += [shapes.value(shape, SH["class"]) for shape in shapes.items(choice)]
    return frozenset(local_name(str(result)) for result in results if result is not None)


def _short(iri: str) -> str:
    return local_name(iri) if iri.startswith((VOCAB, "http")) and "#" in iri else iri
