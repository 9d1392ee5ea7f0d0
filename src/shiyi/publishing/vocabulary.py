"""The ontology as the store holds it, and as a LinkML schema for tools such as OntoGPT."""

import json
from collections.abc import Mapping
from typing import Any, Final

from shiyi.model.iris import ID, VOCAB
from shiyi.model.rdf import BlankNode, DefaultGraph, Literal, NamedNode, Quad, local_name, text
from shiyi.ontology.schema import Property, Schema
from shiyi.ontology.terms import PREFIXES, RDF, RDFS, SKOS
from shiyi.sparql.store.port import QuadStore

_OWL: Final = (
    "Class", "ObjectProperty", "DatatypeProperty", "AnnotationProperty", "AllDisjointClasses",
    "AllDisjointProperties", "AllDifferent", "Axiom",
)  # fmt: skip


def vocabulary_quads(store: QuadStore) -> list[Quad]:
    """List the whole ontology: its header, its terms, and the blank nodes of their axioms."""
    default = DefaultGraph()
    starts: list[NamedNode | BlankNode] = [NamedNode(VOCAB.rstrip("#"))]
    for name in _OWL:
        kind = NamedNode(PREFIXES["owl"] + name)
        starts += [subject_of(quad) for quad in store.match(None, RDF.type, kind, default)]
    for predicate in (RDFS.label, SKOS.definition):  # terms of other kinds, such as statuses
        starts += [
            subject_of(quad)
            for quad in store.match(None, predicate, None, default)
            if isinstance(quad.subject, NamedNode) and quad.subject.value.startswith(VOCAB)
        ]
    results: dict[Quad, None] = {}
    terms, next_terms = set(starts), list(dict.fromkeys(starts))
    while next_terms:
        for quad in store.match(next_terms.pop(), None, None, default):
            results[quad] = None
            if isinstance(quad.object, BlankNode) and quad.object not in terms:
                terms.add(quad.object)
                next_terms.append(quad.object)
    return list(results)


def definitions(store: QuadStore) -> dict[str, str]:
    """Return the English definition of each term by its local name."""
    return {
        local_name(text(quad.subject)): quad.object.value
        for quad in store.match(None, SKOS.definition, None, DefaultGraph())
        if isinstance(quad.object, Literal)
        and quad.object.language == "en"
        and text(quad.subject).startswith(VOCAB)
    }


def subject_of(quad: Quad) -> NamedNode | BlankNode:
    """Return the subject of a quad: triple terms stand in object position only."""
    if isinstance(quad.subject, NamedNode | BlankNode):
        return quad.subject
    raise TypeError(f"a subject that is no node: {quad}")


_LINKML: Final = "https://w3id.org/linkml/"
_ROOT: Final = "Concept"  # every class that has no other is below it


def linkml_schema(schema: Schema, definitions: Mapping[str, str], version: str) -> str:
    """Return the schema as JSON, which every reader of YAML takes.

    Slots are the properties, of each class of their domain; ``definitions`` are by local name.
    """
    classes: dict[str, dict[str, Any]] = {
        _ROOT: {"class_uri": "skos:Concept", "slots": ["id", "label"]}
    }
    for name, parents in sorted(schema.parents.items()):
        first, *others = [parent for parent in parents if parent in schema.parents] or [_ROOT]
        made: dict[str, Any] = {"is_a": first, "class_uri": f"shiyi:{name}"}
        if others:
            made["mixins"] = others
        classes[name] = made | _definition_texts(definitions, name)
    slots: dict[str, dict[str, Any]] = {
        "id": {"identifier": True, "range": "uriorcurie"},
        "label": {"slot_uri": "rdfs:label", "range": "string"},
    }
    for name, each in sorted(schema.properties.items()):
        slots[name] = _slot(each) | _definition_texts(definitions, name)
        for owner in sorted(each.domain & classes.keys()) or [_ROOT]:
            classes[owner].setdefault("slots", []).append(name)
    whole = {
        "id": VOCAB.rstrip("#"),
        "name": "shiyi",
        "version": version,
        "license": "CC-BY-4.0",
        "prefixes": {
            "linkml": _LINKML,
            "shiyi": VOCAB,
            "shiyi.id": ID,
            **{name: PREFIXES[name] for name in ("rdfs", "skos")},
        },
        "default_prefix": "shiyi",
        "default_range": "string",
        "imports": ["linkml:types"],
        "classes": classes,
        "slots": slots,
    }
    return json.dumps(whole, ensure_ascii=False, indent=1) + "\n"


def _slot(property_: Property) -> dict[str, Any]:
    """Return a slot; several classes of a range are alternatives."""
    made: dict[str, Any] = {"slot_uri": f"shiyi:{property_.name}", "multivalued": True}
    ranges = sorted(property_.range - {"Text"})
    if property_.is_object:
        made["range"] = ranges[0] if len(ranges) == 1 else _ROOT
        if len(ranges) > 1:
            made["any_of"] = [{"range": name} for name in ranges]
    return made | ({"title": property_.label_en} if property_.label_en else {})


def _definition_texts(definitions: Mapping[str, str], name: str) -> dict[str, str]:
    return {"description": definitions[name]} if name in definitions else {}
