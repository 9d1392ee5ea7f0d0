"""Graphs of RDFLib hold what a base says, with confidence, and nothing that is withheld."""

import gzip
from pathlib import Path

import pytest
from rdflib import RDF, Graph, URIRef
from rdflib import Literal as RdflibLiteral

from shiyi.errors import QueryError, UsageError
from shiyi.ontology.serialization import claim_quads, source_quads
from shiyi.ontology.terms import SHIYI
from shiyi.publishing.description import node_graph, query_graph, release_graph
from shiyi.publishing.dumps import dump
from shiyi.sparql.store.oxigraph import OxigraphStore
from tests.publishing.test_dumps import GOJI, OPEN, OPEN_CLAIM, PEAR, SHUT, SHUT_CLAIM, WARFARIN

CONFIDENCE = URIRef(SHIYI.confidence.value)


@pytest.fixture(scope="module")
def store() -> OxigraphStore:
    store = OxigraphStore.in_memory()
    for quads in (source_quads(OPEN), source_quads(SHUT), claim_quads(OPEN_CLAIM)):
        store.change(add=quads)
    store.change(add=claim_quads(SHUT_CLAIM))
    return store


def test_node_graph_has_claim_and_confidence(store: OxigraphStore) -> None:
    graph = node_graph(store, GOJI.value)
    claim = URIRef(OPEN_CLAIM.iri.value)
    assert graph.value(claim, RDF.object) == URIRef(WARFARIN.value)
    assert isinstance(graph.value(claim, CONFIDENCE), RdflibLiteral)
    assert (URIRef(GOJI.value), URIRef(SHIYI.interactsWith.value), URIRef(WARFARIN.value)) in graph


def test_node_graph_leaves_restricted_out(store: OxigraphStore) -> None:
    assert "shut" not in node_graph(store, WARFARIN.value).serialize(format="nt")
    with pytest.raises(UsageError, match="says nothing of"):
        node_graph(store, PEAR.value)


def test_query_graph_lowers_triple_terms(store: OxigraphStore) -> None:
    graph = query_graph(store, f"CONSTRUCT WHERE {{ ?c {SHIYI.confidence} ?n }}")
    assert len(graph) == 2
    described = query_graph(store, f"DESCRIBE {OPEN_CLAIM.iri}")
    assert described.value(URIRef(OPEN_CLAIM.iri.value), CONFIDENCE)
    with pytest.raises(QueryError, match="neither a CONSTRUCT nor a DESCRIBE"):
        query_graph(store, "SELECT * { ?s ?p ?o }")


def test_release_graph_is_the_accepted_view(store: OxigraphStore, tmp_path: Path) -> None:
    turtle = dump(store, "ttl", "rdf11")
    (tmp_path / "shiyi.ttl.gz").write_bytes(gzip.compress(turtle))
    assert set(release_graph(tmp_path)) == set(Graph().parse(data=turtle, format="turtle"))
