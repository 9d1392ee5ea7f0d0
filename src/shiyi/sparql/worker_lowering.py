"""Triple terms as RDF 1.1 reification, in the worker, for clients that know no more."""

from collections.abc import Iterable, Iterator

from pyoxigraph import BlankNode, NamedNode, Triple

_RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
_REIFIES = NamedNode(f"{_RDF}reifies")
_PARTS = tuple(NamedNode(_RDF + part) for part in ("subject", "predicate", "object"))


def lowered(triples: Iterable[Triple]) -> Iterator[Triple]:
    """Yield the same statements without triple terms.

    A reifier gets ``rdf:subject``, ``rdf:predicate`` and ``rdf:object``; a triple term that stands
    elsewhere becomes a blank node that has them.
    """
    for triple in triples:
        if not isinstance(triple.object, Triple):
            yield triple
        elif triple.predicate == _REIFIES:
            yield from _described(triple.subject, triple.object)
        else:
            node = BlankNode()
            yield Triple(triple.subject, triple.predicate, node)
            yield from _described(node, triple.object)


def _described(node: NamedNode | BlankNode | Triple, said: Triple) -> Iterator[Triple]:
    for predicate, part in zip(_PARTS, (said.subject, said.predicate, said.object), strict=True):
        if isinstance(part, Triple):
            inner = BlankNode()
            yield Triple(node, predicate, inner)
            yield from _described(inner, part)
        else:
            yield Triple(node, predicate, part)
