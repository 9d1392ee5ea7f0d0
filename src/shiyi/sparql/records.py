"""The record of a food or dish: its attributes merged across passages, each with all its sources."""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from shiyi.model.claim import Polarity
from shiyi.model.names import content_hash, graph, resource
from shiyi.model.rdf import DefaultGraph, Literal, NamedNode, canonical, text
from shiyi.ontology.terms import DCTERMS, RDF, SHIYI
from shiyi.sparql.store import QuadStore

ATTRIBUTES = (
    SHIYI.primaryEffect, SHIYI.consumptionMethod, SHIYI.cookingMethod, SHIYI.dietaryBenefit,
    SHIYI.hasIngredient, SHIYI.indicatedFor, SHIYI.contraindicatedIn,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Attribute:
    """One value of a record: the claims that say it, and the sources they were read in."""

    property: str
    value: str
    claims: tuple[str, ...]
    sources: tuple[str, ...]


def record_of(store: QuadStore, thing: str, candidates: bool = False) -> tuple[Attribute, ...]:
    """Give the attributes of a food or dish, accepted ones, on request with ``candidates``.

    Yaoshi-RAG lets a later passage update a record. Here no order matters: a text that another
    one contains goes into it, with its sources, and what differs stands side by side.
    """
    found: dict[tuple[str, str], tuple[set[str], set[str]]] = defaultdict(lambda: (set(), set()))
    for predicate, value, claim, place in _said(store, NamedNode(thing), candidates):
        claims, sources = found[predicate.value, value]
        claims.add(claim.value)
        for evidence in store.match(claim, SHIYI.evidence, None, place):
            if isinstance(evidence.object, NamedNode):
                works = store.match(evidence.object, DCTERMS.source, None, place)
                sources.update(text(work.object) for work in works)
    for name, value in sorted(found, key=lambda each: len(each[1])):
        fuller = [
            other for other in found
            if other[0] == name and other[1] != value and value in other[1]
            and not value.startswith("http")
        ]  # fmt: skip
        if fuller:
            best = max(fuller, key=lambda each: (len(each[1]), each[1]))
            for kept, moved in zip(found[best], found.pop((name, value)), strict=True):
                kept |= moved
    return tuple(
        Attribute(name, value, tuple(sorted(claims)), tuple(sorted(sources)))
        for (name, value), (claims, sources) in sorted(found.items())
    )


def _said(
    store: QuadStore, thing: NamedNode, candidates: bool
) -> Iterator[tuple[NamedNode, str, NamedNode, NamedNode | DefaultGraph]]:
    default = DefaultGraph()
    if candidates:
        place = graph("candidates")
        for quad in store.match(None, RDF.subject, thing, place):
            claim = quad.subject
            if not isinstance(claim, NamedNode):
                continue
            for said in store.match(claim, RDF.predicate, None, place):
                if isinstance(said.object, NamedNode) and said.object in ATTRIBUTES:
                    for value in store.match(claim, RDF.object, None, place):
                        yield said.object, text(value.object), claim, place
    for predicate in ATTRIBUTES:
        for quad in store.match(thing, predicate, None, default):
            if isinstance(quad.object, NamedNode | Literal):
                claim = _claim(thing, predicate, quad.object)
                yield predicate, text(quad.object), claim, default


def _claim(thing: NamedNode, predicate: NamedNode, value: NamedNode | Literal) -> NamedNode:
    parts = (canonical(thing), canonical(predicate), canonical(value), Polarity.POSITIVE)
    return resource(f"claim/{content_hash(*parts)}")
