"""The overlay graphs of schools, read: chains, their claims, and the texts they stand in."""

from collections.abc import Iterator
from dataclasses import dataclass

from shiyi.model.names import GRAPH
from shiyi.model.rdf import NamedNode, text
from shiyi.ontology.terms import PROV, RDF, RDFS, SHIYI
from shiyi.sparql.store import QuadStore
from shiyi.sparql.words import word_of, words_of

_SCHOOLS = f"{GRAPH}schools/"


@dataclass(frozen=True, slots=True)
class SchoolClaim:
    """A claim of a school: never asserted, and never evidence for advice on its own."""

    iri: str
    subject: str
    predicate: str
    object: str
    confidence: float
    texts: tuple[str, ...]  # reasoning texts that go through it (M2)


@dataclass(frozen=True, slots=True)
class Chain:
    """One question of a school: its answer, the triples between, in order, and the reasoning."""

    iri: str
    question: str
    answer: str
    triples: tuple[tuple[str, str, str], ...]  # in words
    claims: tuple[str, ...]
    reasoning: str
    passages: tuple[str, ...]


def schools(store: QuadStore) -> dict[str, str]:
    """Give the names of the schools that have an overlay, by IRI."""
    found = {}
    for place in _graphs(store, None):
        for quad in store.match(None, RDF.type, SHIYI.School, place):
            if isinstance(quad.subject, NamedNode):
                found[quad.subject.value] = word_of(store, quad.subject, RDFS.label, place)
    return found


def claims_of(store: QuadStore, school: str) -> Iterator[SchoolClaim]:
    """Yield the claims of a school, named by IRI; one that stands in two files comes twice."""
    for place in _graphs(store, school):
        for quad in store.match(None, RDF.type, SHIYI.Claim, place):
            if isinstance(quad.subject, NamedNode):
                node = quad.subject
                said = [
                    word_of(store, node, p, place) for p in (RDF.subject, RDF.predicate, RDF.object)
                ]
                confidence = float(word_of(store, node, SHIYI.confidence, place) or 0)
                texts = words_of(store, node, SHIYI.reasonedIn, place)
                yield SchoolClaim(node.value, said[0], said[1], said[2], confidence, texts)


def claims_in(store: QuadStore, reasoning: str) -> tuple[str, ...]:
    """List the claims that a reasoning text goes through (M2, the other way)."""
    found = store.match(None, SHIYI.reasonedIn, NamedNode(reasoning))
    return tuple(sorted({text(quad.subject) for quad in found}))


def chains(store: QuadStore, school: str = "") -> Iterator[Chain]:
    """Yield the chains of a school, or of all, in a lasting order."""
    for place in _graphs(store, school or None):
        nodes = [
            quad.subject for quad in store.match(None, RDF.type, SHIYI.ReasoningChain, place)
            if isinstance(quad.subject, NamedNode)
        ]  # fmt: skip
        for node in sorted(nodes, key=lambda each: each.value):
            yield _chain(store, node, place)


def _chain(store: QuadStore, node: NamedNode, place: NamedNode) -> Chain:
    reasoning, passages = "", tuple[str, ...]()
    for quad in store.match(None, PROV.wasDerivedFrom, node, place):
        if isinstance(quad.subject, NamedNode):
            reasoning = word_of(store, quad.subject, RDF.value, place)
            passages = tuple(
                each for each in words_of(store, quad.subject, PROV.wasDerivedFrom, place)
                if each != node.value
            )  # fmt: skip
    triples = []
    for line in word_of(store, node, RDF.value, place).splitlines():
        subject, predicate, said = line.split("\t")
        triples.append((subject, predicate, said))
    return Chain(
        node.value, word_of(store, node, RDFS.label, place),
        word_of(store, node, SHIYI.answerText, place), tuple(triples),
        words_of(store, node, SHIYI.hasStep, place), reasoning, passages,
    )  # fmt: skip


def _graphs(store: QuadStore, school: str | None) -> list[NamedNode]:
    node = NamedNode(school) if school else None
    found = {
        quad.graph_name for quad in store.match(node, RDF.type, SHIYI.School)
        if isinstance(quad.graph_name, NamedNode) and quad.graph_name.value.startswith(_SCHOOLS)
    }  # fmt: skip
    return sorted(found, key=lambda each: each.value)
