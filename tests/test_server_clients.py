"""Other people's clients work with the endpoint as they are."""

from pathlib import Path

from rdflib import Graph, URIRef, Variable
from rdflib.plugins.stores.sparqlstore import SPARQLStore, SPARQLUpdateStore

from tests.endpoint import endpoint


def test_rdflib_reads_writes_and_asks_us_by_service(tmp_path: Path) -> None:
    with endpoint(tmp_path) as (base, token):
        address = f"{base}/sparql"
        headers = {"Authorization": f"Bearer {token}"}
        writing = SPARQLUpdateStore(address, address, method="POST", headers=headers)
        writing.update("INSERT DATA { <urn:a> <urn:p> '甘'@zh }")
        reading = Graph(SPARQLStore(address))
        rows = reading.query("SELECT ?o { ?s <urn:p> ?o }").bindings
        assert [str(row[Variable("o")]) for row in rows] == ["甘"]
        assert (URIRef("urn:a"), URIRef("urn:p"), None) in reading
        found = Graph().query(f"SELECT * {{ SERVICE <{address}> {{ ?s <urn:p> ?o }} }}")
        assert [str(row[Variable("s")]) for row in found.bindings] == ["urn:a"]
