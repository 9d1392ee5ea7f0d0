"""RDF 1.2 claims as RDF 1.1 reification, and back, for tools without triple terms."""

from collections.abc import Iterable, Iterator

from shiyi.model.rdf import BlankNode, NamedNode, Quad, Term, Triple
from shiyi.ontology.terms import RDF, SHIYI


def lower(quads: Iterable[Quad]) -> Iterator[Quad]:
    """Write each ``rdf:reifies`` as ``rdf:subject``, ``rdf:predicate`` and ``rdf:object``.

    Everything else stays; a claim that carried the three already yields each once.
    """
    seen: set[Quad] = set()
    for quad in quads:
        for lowered in _lowered(quad):
            if lowered.predicate in (RDF.subject, RDF.predicate, RDF.object):
                if lowered in seen:
                    continue
                seen.add(lowered)
            yield lowered


def _lowered(quad: Quad) -> Iterator[Quad]:
    term = quad.object
    if isinstance(term, Triple):
        parts: tuple[tuple[NamedNode, Term], ...] = (
            (RDF.subject, term.subject), (RDF.predicate, term.predicate), (RDF.object, term.object),
        )  # fmt: skip
        for predicate, part in parts:
            yield Quad(quad.subject, predicate, part, quad.graph_name)
    else:
        yield quad


def raise_claims(quads: Iterable[Quad]) -> Iterator[Quad]:
    """Undo :func:`lower`: give claims their triple term again.

    An accepted, positive claim loses the three helper triples, as it is written in RDF 1.2.
    """
    kept = list(quads)
    parts: dict[tuple[Term, object], dict[str, Term]] = {}
    asserted: set[tuple[Term, object]] = set()
    negative: set[tuple[Term, object]] = set()
    for quad in kept:
        if quad.predicate in (RDF.subject, RDF.predicate, RDF.object):
            name = quad.predicate.value.rpartition("#")[2]
            parts.setdefault((quad.subject, quad.graph_name), {})[name] = quad.object
        elif quad.predicate == SHIYI.status and quad.object == SHIYI.accepted:
            asserted.add((quad.subject, quad.graph_name))
        elif quad.predicate == SHIYI.polarity and quad.object == SHIYI.negative:
            negative.add((quad.subject, quad.graph_name))
    plain = asserted - negative
    for quad in kept:
        helper = quad.predicate in (RDF.subject, RDF.predicate, RDF.object)
        if not (helper and (quad.subject, quad.graph_name) in plain):
            yield quad
    for (node, graph), part in parts.items():
        subject, predicate = part["subject"], part["predicate"]
        if isinstance(subject, NamedNode | BlankNode) and isinstance(predicate, NamedNode):
            triple = Triple(subject, predicate, part["object"])
            yield Quad(node, RDF.reifies, triple, graph)  # type: ignore[arg-type] # same graph term
