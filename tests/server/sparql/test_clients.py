"""Other people's clients work with the endpoint as they are."""

from pathlib import Path

from rdflib import RDF, XSD, Graph, Literal, Namespace, URIRef, Variable
from rdflib.plugins.stores.sparqlstore import SPARQLStore, SPARQLUpdateStore

from shiyi.server.app import create_app
from tests.support.sites import endpoint, writable_site


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


def test_rdflib_asks_for_claims_without_knowing_triple_terms(tmp_path: Path) -> None:
    """By select, construct, pattern and SERVICE; also over what was just written."""
    shiyi, claim = Namespace("https://w3id.org/shiyi/vocab#"), URIRef("urn:claim")
    stated = (URIRef("urn:goji"), shiyi.interactsWith, URIRef("urn:warfarin"))
    fact = "<urn:goji> <https://w3id.org/shiyi/vocab#interactsWith> <urn:warfarin>"
    asked = "SELECT ?s ?p ?o { ?claim rdf:subject ?s ; rdf:predicate ?p ; rdf:object ?o }"
    with endpoint(tmp_path) as (base, token):
        writing = SPARQLUpdateStore(
            f"{base}/sparql",
            f"{base}/sparql",
            method="POST",
            headers={"Authorization": f"Bearer {token}"},
        )
        address = f"{base}/sparql/rdf11"
        graph = Graph(SPARQLStore(address))
        assert list(graph.query(asked, initNs={"rdf": RDF})) == []
        writing.update(
            f"PREFIX rdf: <{RDF}> INSERT DATA {{ {fact} . "
            f"<urn:claim> rdf:reifies <<( {fact} )>> ; <{shiyi.confidence}> 0.9 }}"
        )
        assert list(graph.query(asked, initNs={"rdf": RDF})) == [stated]
        assert (claim, RDF.subject, stated[0]) in graph
        assert stated in graph
        assert list(graph.objects(claim, shiyi.confidence)) == [
            Literal("0.9", datatype=XSD.decimal)
        ]
        assert set(graph.predicates(claim)) == {
            RDF.subject,
            RDF.predicate,
            RDF.object,
            shiyi.confidence,
        }
        made = graph.query(
            "CONSTRUCT { ?c ?p ?o } WHERE { ?c rdf:subject ?s ; ?p ?o }", initNs={"rdf": RDF}
        ).graph
        assert made is not None
        assert (claim, RDF.object, stated[2]) in made
        joined = Graph().query(
            f"SELECT ?n {{ SERVICE <{address}> {{ ?c <{RDF.subject}> <urn:goji> ; <{shiyi.confidence}> ?n }} }}"
        )
        assert [str(row[Variable("n")]) for row in joined.bindings] == ["0.9"]


def test_form_may_have_profile_and_format_in_address(tmp_path: Path) -> None:
    """Without the profile no claim has ``rdf:predicate``."""
    fact = "<urn:goji> <urn:p> <urn:warfarin>"
    asked = {"query": f"SELECT ?claim {{ ?claim <{RDF.predicate}> <urn:p> }}"}
    with writable_site(tmp_path) as (site, secret):
        client = create_app(site).test_client()
        update = {"update": f"INSERT DATA {{ <urn:claim> <{RDF}reifies> <<( {fact} )>> }}"}
        headers = {"Authorization": f"Bearer {secret}"}
        assert client.post("/sparql", data=update, headers=headers).status_code == 204
        assert client.post("/sparql?format=csv", data=asked).text == "claim\r\n"
        for address in ("/sparql?profile=rdf11&format=csv", "/sparql?profile=rdf11"):
            found = client.post(address, data=asked | {"format": "csv"})
            assert found.text == "claim\r\nurn:claim\r\n"
        both = client.post(
            "/sparql?profile=rdf11", data=asked | {"profile": "rdf12"} | {"format": "csv"}
        )
        assert both.text == "claim\r\n"  # the form counts first
