"""The ontology as the store holds it."""

from typing import Final

from shiyi.model.iris import VOCAB
from shiyi.model.rdf import BlankNode, DefaultGraph, NamedNode, Quad
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
    found: dict[Quad, None] = {}
    seen, ahead = set(starts), list(dict.fromkeys(starts))
    while ahead:
        for quad in store.match(ahead.pop(), None, None, default):
            found[quad] = None
            if isinstance(quad.object, BlankNode) and quad.object not in seen:
                seen.add(quad.object)
                ahead.append(quad.object)
    return list(found)


def subject_of(quad: Quad) -> NamedNode | BlankNode:
    """Return the subject of a quad: triple terms stand in object position only."""
    if isinstance(quad.subject, NamedNode | BlankNode):
        return quad.subject
    raise TypeError(f"a subject that is no node: {quad}")
