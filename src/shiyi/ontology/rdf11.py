"""RDF 1.2 triple terms as RDF 1.1 reification.

Imports pyoxigraph alone, since a query worker imports it and is replaced while a client waits.
"""

from collections.abc import Iterable, Iterator

from pyoxigraph import BlankNode, NamedNode, Quad, Triple

Subject = NamedNode | BlankNode | Triple  # as the types of pyoxigraph have it
_RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
_REIFIES = NamedNode(f"{_RDF}reifies")
_SUBJECT, _PREDICATE, _OBJECT = (
    NamedNode(_RDF + part) for part in ("subject", "predicate", "object")
)


def to_rdf11(quads: Iterable[Quad]) -> Iterator[Quad]:
    """Yield the same statements without triple terms, in the same graphs.

    A reifier gets ``rdf:subject``, ``rdf:predicate`` and ``rdf:object`` in the place of
    ``rdf:reifies``. A triple term that stands elsewhere becomes a blank node that has them, named
    by its content, so that equal terms are one node.
    """
    for quad in quads:
        if not isinstance(quad.object, Triple):
            yield quad
        elif quad.predicate == _REIFIES:
            yield from _reification(quad.subject, quad.object, quad)
        else:
            yield from _with_node(quad.subject, quad.predicate, quad.object, quad)


def _reification(node: Subject, term: Triple, quad: Quad) -> Iterator[Quad]:
    yield Quad(node, _SUBJECT, term.subject, quad.graph_name)
    yield Quad(node, _PREDICATE, term.predicate, quad.graph_name)
    if isinstance(term.object, Triple):
        yield from _with_node(node, _OBJECT, term.object, quad)
    else:
        yield Quad(node, _OBJECT, term.object, quad.graph_name)


def _with_node(subject: Subject, predicate: NamedNode, term: Triple, quad: Quad) -> Iterator[Quad]:
    from hashlib import sha256

    node = BlankNode(f"t{sha256(str(term).encode()).hexdigest()[:32]}")
    yield Quad(subject, predicate, node, quad.graph_name)
    yield from _reification(node, term, quad)
