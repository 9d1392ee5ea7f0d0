"""Passages that could not be read yet: said so in the graph of their source, and found again."""

from collections.abc import Iterable, Iterator, Sequence

from shiyi.ingest.text.document import Passage
from shiyi.model.names import content_hash, resource
from shiyi.model.rdf import XSD_INTEGER, Literal, NamedNode, Quad
from shiyi.ontology.terms import PROV, RDF, RDFS, SHIYI
from shiyi.sparql.store import QuadStore

_REASON = 300  # characters of a reason that are kept


def parked_quads(passage: Passage, reason: str, place: NamedNode, tries: int) -> Iterator[Quad]:
    """Yield that a passage waits, why, and how often it was tried."""
    node = _node(passage)
    yield Quad(node, RDF.type, SHIYI.ParkedPassage, place)
    yield Quad(node, PROV.wasDerivedFrom, NamedNode(passage.iri), place)
    yield Quad(node, RDFS.comment, Literal(reason[:_REASON]), place)
    yield Quad(node, RDF.value, Literal(str(tries), datatype=XSD_INTEGER), place)


def parked_in(
    store: QuadStore, passages: Iterable[Passage], place: NamedNode
) -> dict[str, list[Quad]]:
    """Give what a store holds of those passages that wait, by the passage's IRI."""
    found = {each.iri: list(store.match(_node(each), None, None, place)) for each in passages}
    return {iri: quads for iri, quads in found.items() if quads}


def tries_of(quads: Sequence[Quad]) -> int:
    """Tell how often a parked passage was tried."""
    said = [q.object.value for q in quads if q.predicate == RDF.value and isinstance(q.object, Literal)]  # fmt: skip
    return max(map(int, said), default=0)


def _node(passage: Passage) -> NamedNode:
    return resource(f"parked/{content_hash(passage.iri)}")
