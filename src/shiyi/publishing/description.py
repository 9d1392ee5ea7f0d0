"""What a base says of a node, also as a graph of RDFLib; the explanation of a confidence."""

import gzip
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from shiyi.errors import UsageError
from shiyi.model.claim import CEILING
from shiyi.model.iris import GRAPH, ID, VOCAB, graph
from shiyi.model.rdf import DefaultGraph, NamedNode, Quad, Term, Triple, local_name, text
from shiyi.ontology.rdf11 import to_rdf11
from shiyi.ontology.terms import DCTERMS, PROV, RDF, RDFS, SHIYI, SKOS
from shiyi.publishing.vocabulary import subject_of
from shiyi.reasoning.confidence.reviews import Review, agreement, list_reviews
from shiyi.shapes.validation import to_graph
from shiyi.sparql.store.oxigraph import OxigraphStore
from shiyi.sparql.store.port import QuadStore
from shiyi.sparql.store.visibility import find_restricted

if TYPE_CHECKING:
    from rdflib import Graph

_DEPTH = 6  # premises of premises; deeper derivations do not occur


def explain_claim(store: QuadStore, claim: str, depth: int = 0) -> dict[str, Any] | None:
    """Return a claim with evidence, arithmetic and premises as plain values; None if unknown."""
    node = NamedNode(claim)
    triple = next(
        (q.object for q in store.match(node, RDF.reifies) if isinstance(q.object, Triple)), None
    )
    if triple is None:
        return None
    evidence = [_evidence(store, term) for term in _values(store, node, SHIYI.evidence)]
    premises = [
        words
        for term in _values(store, node, PROV.wasDerivedFrom)
        if depth < _DEPTH and (words := explain_claim(store, text(term), depth + 1))
    ]
    reviews = list_reviews(store, claim)
    return {
        "claim": claim,
        "subject": _label(store, triple.subject),
        "predicate": _label(store, triple.predicate),
        "object": _label(store, triple.object),
        "status": local_name(text(_value(store, node, SHIYI.status))),
        "polarity": local_name(text(_value(store, node, SHIYI.polarity))),
        "confidence": float(text(_value(store, node, SHIYI.confidence)) or 0),
        "why": _confidence_arithmetic(evidence, bool(premises)) + _review_arithmetic(reviews),
        "evidence": evidence,
        "reviews": [{"who": e.reviewer, "agreement": e.agreement} for e in reviews],
        "rule": local_name(text(_value(store, node, SHIYI.derivedBy))),
        "rules": [local_name(text(term)) for term in _values(store, node, SHIYI.derivedBy)],
        "premises": premises,
        "parts": _parts(store, node),
    }


def _evidence(store: QuadStore, node: Term) -> dict[str, Any]:
    assert_named = node if isinstance(node, NamedNode) else NamedNode(text(node))
    source = _value(store, assert_named, DCTERMS.source)
    lineage = _value(store, source, SHIYI.lineage) if isinstance(source, NamedNode) else None
    return {
        "evidence": text(node),
        "source": _label(store, source) if source else "",
        "lineage": text(lineage),
        "tier": local_name(text(_value(store, assert_named, SHIYI.sourceTier))),
        "kind": local_name(text(_value(store, assert_named, SHIYI.evidenceKind))).lower(),
        "locator": text(_value(store, assert_named, SHIYI.sourceLocator)),
        "confidence": float(text(_value(store, assert_named, SHIYI.extractionConfidence)) or 0),
    }


def _parts(store: QuadStore, node: NamedNode) -> dict[str, float]:
    """Return text, entity, relation and path parts and their fusion, where they were computed."""
    named = {
        "text": SHIYI.textPart, "entity": SHIYI.entityPart, "relation": SHIYI.relationPart,
        "path": SHIYI.pathPart, "fused": SHIYI.fusedConfidence,
    }  # fmt: skip
    results = {name: _value(store, node, predicate) for name, predicate in named.items()}
    return {name: float(text(value)) for name, value in results.items() if value is not None}


def _confidence_arithmetic(evidence: list[dict[str, Any]], derived: bool) -> str:
    if derived:
        return "the smallest confidence among its premises"
    if not evidence:
        return "what a model expects; no source states it"
    votes: dict[str, float] = {}
    for record in evidence:
        votes[record["lineage"]] = max(votes.get(record["lineage"], 0.0), record["confidence"])
    if len(votes) < 2:
        return "the confidence of its one independent source"
    factors = " × ".join(f"(1 − {vote:g})" for vote in votes.values())
    return f"1 − {factors}, one vote an independent source, at most {CEILING}"


def _review_arithmetic(reviews: Sequence[Review]) -> str:
    if not reviews:
        return ""
    mean = agreement(reviews)
    return (
        f"; reviewed by {len(reviews)} with a mean agreement of r = {mean:+g}, which moves it to "
        "(1 − w) · c + w · (r + 1) / 2, w = |r| · (1 − 1/2ⁿ), once as many agree as the claim needs"
    )


def _values(store: QuadStore, node: NamedNode, predicate: NamedNode) -> list[Term]:
    return sorted((quad.object for quad in store.match(node, predicate)), key=str)


def _value(store: QuadStore, node: NamedNode, predicate: NamedNode) -> Term | None:
    return next(iter(_values(store, node, predicate)), None)


def _label(store: QuadStore, term: Term) -> str:
    if not isinstance(term, NamedNode):
        return text(term)
    for predicate in (SKOS.prefLabel, RDFS.label):
        labels = sorted(text(value) for value in _values(store, term, predicate))
        if labels:
            return " / ".join(dict.fromkeys(labels))
    return local_name(term.value)


INCOMING: Final = 300  # statements of each direction; hubs have more, and say so
_DERIVED: Final = graph("derived")
_CANDIDATES: Final = graph("candidates")
_LABELS: Final = (SKOS.prefLabel, RDFS.label)
# most of what a description names, and none of it has a label of its own
_UNNAMED: Final = (f"{ID}claim/", f"{ID}evidence/")
_TRIPLE_FORMATS: Final = frozenset({"ttl", "nt", "rdf", "jsonld"})


def description(store: QuadStore, node: NamedNode) -> list[Quad]:
    """List the quads that describe ``node``; empty where it is unknown.

    Names, codes and notes are all there, statements about other things up to ``INCOMING``.
    """
    own = list(_bound_quads(_accepted_quads(list(store.match(node, None, None, None)))))
    quads = dict.fromkeys(own)
    pointing = islice(store.match(None, None, node, DefaultGraph()), INCOMING)
    about = [*own[:INCOMING], *pointing, *islice(store.match(None, None, node, _DERIVED), INCOMING)]
    for place in dict.fromkeys(map(graph_of, about)):
        here = (q.triple for q in about if graph_of(q) == place and q.predicate != RDF.reifies)
        claims = list(store.match_each((), RDF.reifies, place, here))
        stated = [claim.object for claim in claims if isinstance(claim.object, Triple)]
        quads.update((Quad(t.subject, t.predicate, t.object, place), None) for t in stated)
        quads.update(dict.fromkeys(store.match_each(map(subject_of, claims), None, place)))
    for quad in own:
        if quad.predicate in (SHIYI.evidence, DCTERMS.source):
            quads.update(dict.fromkeys(_node(store, quad.object, quad)))
    if not own:  # all that is known of it is what others say
        quads.update(dict.fromkeys(islice(store.match(None, None, node), INCOMING)))
    if not quads:
        return []
    quads.update(dict.fromkeys(_labels(store, list(quads))))
    return list(quads)


def _accepted_quads(own: list[Quad]) -> list[Quad]:
    """Leave out what waits for review beside what is accepted."""
    accepted = any(q.predicate == SHIYI.status and q.graph_name == DefaultGraph() for q in own)
    return [q for q in own if q.graph_name != _CANDIDATES] if accepted else own


def _bound_quads(own: Iterable[Quad]) -> Iterator[Quad]:
    linked = 0
    for quad in own:
        if isinstance(quad.object, NamedNode) and quad.object.value.startswith(ID):
            linked += 1
            if linked > INCOMING:
                continue
        yield quad


def is_cut(store: QuadStore, node: NamedNode) -> bool:
    """Return whether the description of ``node`` leaves claims out."""
    ways = (
        store.match(node),
        store.match(None, None, node, DefaultGraph()),
        store.match(None, None, node, _DERIVED),
    )
    return any(sum(1 for _ in islice(way, INCOMING + 1)) > INCOMING for way in ways)


def graph_of(quad: Quad) -> NamedNode | DefaultGraph:
    """Return the graph of a stored quad: never a blank node."""
    if isinstance(quad.graph_name, NamedNode | DefaultGraph):
        return quad.graph_name
    raise TypeError(f"a graph without a name: {quad}")


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
                parts = (term.subject, term.predicate, term.object)
                terms.update(part for part in parts if isinstance(part, NamedNode))
            elif isinstance(term, NamedNode):
                terms.add(term)
    left = [term for term in terms if not term.value.startswith(_UNNAMED)]
    for predicate in _LABELS:
        names = list(store.match_each(left, predicate, DefaultGraph()))
        yield from names
        named = {quad.subject for quad in names}
        left = [term for term in left if term not in named]
    # a section, or a source of an ingested text
    yield from store.match_each([term for term in left if term.value.startswith(ID)], RDFS.label)


def flatten_quads(quads: Iterable[Quad]) -> Iterator[Quad]:
    """Yield the quads as one graph; what only a named graph asserts stays a claim."""
    for quad in quads:
        if quad.graph_name == DefaultGraph() or not _asserted_elsewhere(quad):
            yield Quad(quad.subject, quad.predicate, quad.object, DefaultGraph())


def _asserted_elsewhere(quad: Quad) -> bool:
    about_claim = isinstance(quad.subject, NamedNode) and "/id/claim/" in quad.subject.value
    meta = quad.predicate in (SHIYI.pageRank, PROV.wasDerivedFrom, RDF.type)
    is_term = quad.predicate.value.startswith(VOCAB)
    in_graph = isinstance(quad.graph_name, NamedNode) and quad.graph_name.value.startswith(GRAPH)
    return (
        in_graph and is_term and not about_claim and not meta and isinstance(quad.object, NamedNode)
    )


def adapt_quads(quads: Iterable[Quad], extension: str, profile: str = "") -> Iterator[Quad]:
    """Yield quads for a format: without named graphs or triple terms where it has none."""
    flat = flatten_quads(quads) if extension in _TRIPLE_FORMATS else iter(quads)
    return to_rdf11(flat) if extension in {"rdf", "jsonld"} or profile == "rdf11" else flat


def node_graph(store: QuadStore, iri: str) -> "Graph":
    """Return what a base says of a concept, claim or source, as an RDF 1.1 graph of RDFLib.

    A claim is a node with ``rdf:subject``, ``rdf:predicate``, ``rdf:object`` and
    ``shiyi:confidence``. What only a named graph asserts is not asserted. Restricted sources are
    left out. Raise :class:`UsageError` for no statement.
    """
    content = find_restricted(store)
    quads = [quad for quad in description(store, NamedNode(iri)) if not content.hides(quad)]
    if not quads:
        raise UsageError(f"the base says nothing of {iri}")
    return to_graph(flatten_quads(quads))


def query_graph(store: OxigraphStore, query: str) -> "Graph":
    """Return the result of a CONSTRUCT or DESCRIBE as an RDF 1.1 graph of RDFLib.

    The query sees restricted sources too. Raise :class:`QueryError` for any other query.
    """
    return to_graph(store.construct(query))


def release_graph(folder: Path) -> "Graph":
    """Return the accepted view of a release, ``shiyi.ttl.gz``, as a graph of RDFLib."""
    from rdflib import Graph

    return Graph().parse(data=gzip.decompress((folder / "shiyi.ttl.gz").read_bytes()))
