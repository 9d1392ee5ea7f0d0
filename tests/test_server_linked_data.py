"""Linked data: every IRI leads to a page and to data, also what was derived, merged or taken back."""

import json
from collections.abc import Iterator

import pytest
from flask.testing import FlaskClient
from pyoxigraph import RdfFormat, parse

from shiyi.model.names import graph, resource
from shiyi.ontology.terms import DCTERMS, RDF, SHIYI
from shiyi.server import describe
from shiyi.server.app import create_app
from shiyi.sparql.updates import Author
from tests.endpoint import writable_site
from tests.server_site import DERIVED, GOJI, INTERACTION, RETRACTED, YIN

OLD = resource("substance-old")


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FlaskClient]:
    with writable_site(tmp_path_factory.mktemp("linked"), filled=True) as (site, _):
        assert site.writing
        assert site.writing.updater
        merged = f"INSERT DATA {{ {OLD} {DCTERMS.isReplacedBy} {GOJI} }}"
        site.writing.updater.update(merged, Author("merge", "curator", "the same thing"))
        yield create_app(site).test_client()


def path(iri: str) -> str:
    return iri.removeprefix("https://w3id.org/shiyi")


def test_a_derived_claim_is_a_claim_with_a_page_and_data(client: FlaskClient) -> None:
    iri = DERIVED.iri.value
    found = client.get(path(iri), headers={"Accept": "text/html"})
    assert found.status_code == 303
    page = client.get(found.headers["Location"])
    assert page.status_code == 200
    assert "rule-x" in page.text
    quads = list(
        parse(client.get(path(iri).replace("/id/", "/data/") + ".nq").data, RdfFormat.N_QUADS)
    )
    said = [quad for quad in quads if quad.predicate == RDF.reifies]
    assert [quad.graph_name for quad in said] == [graph("derived")]
    triples = parse(client.get(path(iri).replace("/id/", "/data/") + ".ttl").data, RdfFormat.TURTLE)
    stated = {quad.predicate for quad in triples}
    assert RDF.reifies in stated
    assert SHIYI.derivedCaution not in stated  # mentioned, not asserted


@pytest.mark.parametrize("form", ["id", "page", "data"])
def test_what_was_merged_leads_on_and_what_was_retracted_is_gone(
    client: FlaskClient, form: str
) -> None:
    moved = client.get(f"/{form}/substance-old")
    assert moved.status_code == 301
    assert moved.headers["Location"] == f"/{form}/substance-goji"
    assert client.get("/data/substance-old.nt").headers["Location"] == "/data/substance-goji.nt"
    gone = client.get(path(RETRACTED.iri.value).replace("/id/", f"/{form}/"))
    assert gone.status_code == 410


def test_data_points_to_its_licence_name_and_other_forms(client: FlaskClient) -> None:
    reply = client.get("/data/substance-goji.ttl")
    links = ", ".join(reply.headers.get_all("Link"))
    for relation in ("canonical", "cite-as", "license", "describedby", "alternate"):
        assert f'rel="{relation}"' in links
    again = client.get("/data/substance-goji.ttl", headers={"If-None-Match": reply.headers["ETag"]})
    assert again.status_code == 304
    head = client.head("/data/substance-goji.ttl")
    assert (head.status_code, head.data) == (200, b"")


def test_old_clients_get_claims_without_triple_terms(client: FlaskClient) -> None:
    new = client.get("/data/substance-goji.nt")
    old = client.get("/data/substance-goji.nt?profile=rdf11")
    assert b"<<(" in new.data
    assert b"<<(" not in old.data
    assert b"rdf-syntax-ns#subject" in old.data
    assert client.get("/data/substance-goji.nt?profile=rdf10").status_code == 400


def test_a_hub_is_described_in_part_and_says_so(
    client: FlaskClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = client.get("/data/constitution-yin.nt")
    assert "X-Shiyi-Description" not in whole.headers
    monkeypatch.setattr(describe, "INCOMING", 0)
    cut = client.get("/data/constitution-yin.nt?fresh=1")
    assert cut.headers["X-Shiyi-Description"].startswith("cut")
    assert 'rel="related"' in ", ".join(cut.headers.get_all("Link"))
    assert len(cut.data) < len(whole.data)
    assert str(YIN).encode() in cut.data


@pytest.mark.parametrize("kind", ["application/ld+json", "application/rdf+xml"])
def test_constructed_claims_are_lowered_where_the_form_has_no_triple_terms(
    client: FlaskClient, kind: str
) -> None:
    query = f"CONSTRUCT {{ ?c {RDF.reifies} ?t }} WHERE {{ ?c {RDF.reifies} ?t }}"
    reply = client.get("/sparql", query_string={"query": query}, headers={"Accept": kind})
    assert reply.status_code == 200
    assert reply.mimetype == kind
    form = RdfFormat.JSON_LD if "json" in kind else RdfFormat.RDF_XML
    claims = {quad.subject for quad in parse(reply.data, form) if quad.predicate == RDF.subject}
    assert INTERACTION.iri in claims
    plain = client.get("/sparql", query_string={"query": query, "profile": "rdf11"})
    assert b"<<(" not in plain.data


def test_reads_are_open_to_other_origins_and_heads_and_options_work(client: FlaskClient) -> None:
    asked = client.head("/sparql", query_string={"query": "ASK {}"})
    assert (asked.status_code, asked.data) == (200, b"")
    for address in ("/sparql", "/rdf-graph-store", "/data/substance-goji.ttl"):
        options = client.options(address)
        assert options.status_code == 200
        assert options.headers["Access-Control-Allow-Origin"] == "*"
        assert (
            "Authorization" in options.headers["Access-Control-Allow-Headers"]
        )  # tokens, no cookies
    got = client.get("/rdf-graph-store?default", headers={"Accept": "text/turtle; charset=utf-8"})
    assert got.status_code == 200
    assert client.get("/rdf-graph-store").status_code == 400
    assert client.get("/rdf-graph-store?graph=urn:none").status_code == 404
    assert (
        client.get("/rdf-graph-store?default", headers={"Accept": "image/png"}).status_code == 406
    )


def test_a_function_nobody_knows_is_refused_not_called_a_mistake(client: FlaskClient) -> None:
    query = "SELECT (<urn:f>(1) AS ?x) {}"
    reply = client.get("/sparql", query_string={"query": query})
    assert reply.status_code == 422
    assert "urn:f" in json.loads(reply.data)["detail"]


def test_quads_of_the_journal_are_nobodys_business(client: FlaskClient) -> None:
    query = "ASK { GRAPH <https://w3id.org/shiyi/graph/journal> { ?s ?p ?o } }"
    assert json.loads(client.get("/sparql", query_string={"query": query}).data)["boolean"] is False


def test_one_address_gives_each_client_the_form_it_asked_for(client: FlaskClient) -> None:
    for _ in range(2):
        for kind in ("text/turtle", "application/ld+json", "application/n-triples"):
            reply = client.get("/data/substance-goji", headers={"Accept": kind})
            assert reply.mimetype == kind
            assert list(parse(reply.data, RdfFormat.from_media_type(kind)))
