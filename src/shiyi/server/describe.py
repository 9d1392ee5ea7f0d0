"""The bounded description of a resource: what is said of it, by which claims, with all labels."""

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Final

from shiyi.model.names import GRAPH, ID, VOCAB, graph
from shiyi.model.rdf import BlankNode, DefaultGraph, NamedNode, Quad, Term, Triple
from shiyi.ontology.terms import DCTERMS, PROV, RDF, RDFS, SHIYI, SKOS
from shiyi.sparql.store import QuadStore

INCOMING: Final = (
    300  # statements of each direction whose claims are told; hubs have more, and say so
)
_DERIVED: Final = graph("derived")
_LABELS: Final = (SKOS.prefLabel, RDFS.label)
# most of what a description names, and none of it has a label of its own
_UNNAMED: Final = (f"{ID}claim/", f"{ID}evidence/")
_TRIPLE_FORMATS: Final = frozenset({"ttl", "nt", "rdf", "jsonld"})


def description(store: QuadStore, node: NamedNode) -> list[Quad]:
    """List the quads that describe ``node``; nothing where the store does not know it.

    Names, codes and notes are all there, statements about other things up to ``INCOMING``.
    """
    own = list(_bounded(store.match(node, None, None, None)))
    quads = dict.fromkeys(own)
    pointing = islice(store.match(None, None, node, DefaultGraph()), INCOMING)
    about = [*own[:INCOMING], *pointing, *islice(store.match(None, None, node, _DERIVED), INCOMING)]
    for quad in about:
        if quad.predicate == RDF.reifies:
            continue
        triple = Triple(quad.subject, quad.predicate, quad.object)
        for found in store.match(None, RDF.reifies, triple, graph_of(quad)):
            quads[quad] = None
            quads.update(dict.fromkeys(_claim(store, found)))
    for quad in own:
        if quad.predicate in (SHIYI.evidence, DCTERMS.source):
            quads.update(dict.fromkeys(_node(store, quad.object, quad)))
    if not own:  # all that is known of it is what others say
        quads.update(dict.fromkeys(islice(store.match(None, None, node), INCOMING)))
    if not quads:
        return []
    quads.update(dict.fromkeys(_labels(store, list(quads))))
    return list(quads)


def _bounded(own: Iterable[Quad]) -> Iterator[Quad]:
    linked = 0
    for quad in own:
        if isinstance(quad.object, NamedNode) and quad.object.value.startswith(ID):
            linked += 1
            if linked > INCOMING:
                continue
        yield quad


def is_cut(store: QuadStore, node: NamedNode) -> bool:
    """Tell whether there is more about ``node`` than the claims its description gives."""
    ways = (
        store.match(node), store.match(None, None, node, DefaultGraph()),
        store.match(None, None, node, _DERIVED),
    )  # fmt: skip
    return any(sum(1 for _ in islice(found, INCOMING + 1)) > INCOMING for found in ways)


def graph_of(quad: Quad) -> NamedNode | DefaultGraph:
    """Give the graph of a quad we stored: never a blank node."""
    if isinstance(quad.graph_name, NamedNode | DefaultGraph):
        return quad.graph_name
    raise TypeError(f"a graph without a name: {quad}")


def subject_of(quad: Quad) -> NamedNode | BlankNode:
    """Give the subject of a quad: triple terms stand in object position only."""
    if isinstance(quad.subject, NamedNode | BlankNode):
        return quad.subject
    raise TypeError(f"a subject that is no node: {quad}")


def _claim(store: QuadStore, reifies: Quad) -> Iterator[Quad]:
    yield from store.match(subject_of(reifies), None, None, graph_of(reifies))


def _node(store: QuadStore, node: Term, seen: Quad) -> Iterator[Quad]:
    if isinstance(node, NamedNode):
        for quad in store.match(node, None, None, graph_of(seen)):
            yield quad
            if quad.predicate == DCTERMS.source:
                yield from _node(store, quad.object, quad)


def _labels(store: QuadStore, quads: Iterable[Quad]) -> Iterator[Quad]:
    terms: set[NamedNode] = set()
    for quad in quads:
        for term in (quad.subject, quad.predicate, quad.object):
            if isinstance(term, Triple):
                terms.update(t for t in (term.subject, term.object) if isinstance(t, NamedNode))
                terms.add(term.predicate)
            elif isinstance(term, NamedNode):
                terms.add(term)
    for term in terms:
        if not term.value.startswith(_UNNAMED):
            yield from _labels_of(store, term)


def _labels_of(store: QuadStore, term: NamedNode) -> list[Quad]:
    for predicate in _LABELS:
        if found := list(store.match(term, predicate, None, DefaultGraph())):
            return found
    if term.value.startswith(ID):  # a section, or a source of an ingested text
        return list(store.match(term, RDFS.label))
    return []


def lowered(quads: Iterable[Quad]) -> Iterator[Quad]:
    """Yield the same claims without triple terms, for formats and clients of RDF 1.1."""
    for quad in quads:
        if isinstance(quad.object, Triple):
            inner, where = quad.object, quad.graph_name
            yield Quad(quad.subject, RDF.subject, inner.subject, where)
            yield Quad(quad.subject, RDF.predicate, inner.predicate, where)
            yield Quad(quad.subject, RDF.object, inner.object, where)
        else:
            yield quad


def flattened(quads: Iterable[Quad]) -> Iterator[Quad]:
    """Yield the quads as one graph: what only a named graph asserts stays a claim, not a fact."""
    for quad in quads:
        if quad.graph_name == DefaultGraph() or not _asserted_elsewhere(quad):
            yield Quad(quad.subject, quad.predicate, quad.object, DefaultGraph())


def _asserted_elsewhere(quad: Quad) -> bool:
    about_claim = isinstance(quad.subject, NamedNode) and "/id/claim/" in quad.subject.value
    meta = quad.predicate in (SHIYI.pageRank, PROV.wasDerivedFrom, RDF.type)
    ours = quad.predicate.value.startswith(VOCAB)
    in_graph = isinstance(quad.graph_name, NamedNode) and quad.graph_name.value.startswith(GRAPH)
    return in_graph and ours and not about_claim and not meta and isinstance(quad.object, NamedNode)


def for_format(quads: Iterable[Quad], extension: str, profile: str = "") -> Iterator[Quad]:
    """Fit quads to a format: one graph where it has no others, lowered where no triple terms."""
    flat = flattened(quads) if extension in _TRIPLE_FORMATS else iter(quads)
    return lowered(flat) if extension in {"rdf", "jsonld"} or profile == "rdf11" else flat
