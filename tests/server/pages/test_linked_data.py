"""Linked data over a client: tombstones, forms of RDF, other origins, cases, quotes."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from flask.testing import FlaskClient
from pyoxigraph import RdfFormat, parse

from shiyi.answering.retrieval.casebook import count_cases as counted_cases
from shiyi.model.iris import graph, resource
from shiyi.model.rdf import Literal, Quad
from shiyi.ontology.serialization import claim_quads
from shiyi.ontology.terms import DCTERMS, RDF, RDFS, SHIYI
from shiyi.publishing import description as describing
from shiyi.server.app import create_app
from shiyi.server.site.opening import open_site
from shiyi.settings import Settings
from shiyi.sparql.base.knowledge_base import KnowledgeBase, build_generation
from shiyi.sparql.updates.update import Author
from tests.support.sites import BOOK as SITE_BOOK
from tests.support.sites import (
    DERIVED,
    GOJI,
    INTERACTION,
    RETRACTED,
    YIN,
    claim,
    quads,
    writable_site,
)
from tests.tables import from_table

RETIRED = resource("substance-old")


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FlaskClient]:
    with writable_site(tmp_path_factory.mktemp("linked"), filled=True) as (site, _):
        assert site.writing
        assert site.writing.updater
        version = "<https://w3id.org/shiyi/vocab> owl:versionIRI <https://w3id.org/shiyi/vocab/9.9>"
        merged = (
            "PREFIX owl: <http://www.w3.org/2002/07/owl#> "
            f"INSERT DATA {{ {RETIRED} {DCTERMS.isReplacedBy} {GOJI} . {version} }}"
        )
        site.writing.updater.update(merged, Author("merge", "curator", "the same thing"))
        yield create_app(site).test_client()


def path(iri: str) -> str:
    return iri.removeprefix("https://w3id.org/shiyi")


def test_the_version_of_the_vocabulary_leads_to_it(client: FlaskClient) -> None:
    turtle = {"Accept": "text/turtle"}
    assert (
        client.get("/vocab/9.9", headers=turtle).data == client.get("/vocab", headers=turtle).data
    )
    assert client.get("/vocab/0.0.9", headers=turtle).status_code == 404


def test_derived_claim_is_claim_with_page_and_data(client: FlaskClient) -> None:
    iri = DERIVED.iri.value
    found = client.get(path(iri), headers={"Accept": "text/html"})
    assert found.status_code == 303
    page = client.get(found.headers["Location"])
    assert page.status_code == 200
    assert "rule-x" in page.text
    data = path(iri).replace("/id/", "/data/")
    quads = list(parse(client.get(f"{data}.nq?profile=rdf12").data, RdfFormat.N_QUADS))
    listed = [quad for quad in quads if quad.predicate == RDF.reifies]
    assert [quad.graph_name for quad in listed] == [graph("derived")]
    triples = parse(client.get(f"{data}.ttl?profile=rdf12").data, RdfFormat.TURTLE)
    stated = {quad.predicate for quad in triples}
    assert RDF.reifies in stated
    assert SHIYI.derivedCaution not in stated  # mentioned, not asserted


@pytest.mark.parametrize("form", ["id", "page", "data"])
def test_merged_iri_redirects_and_retracted_is_gone(client: FlaskClient, form: str) -> None:
    moved = client.get(f"/{form}/substance-old")
    assert moved.status_code == 301
    assert moved.headers["Location"] == f"/{form}/substance-goji"
    assert client.get("/data/substance-old.nt").headers["Location"] == "/data/substance-goji.nt"
    gone = client.get(path(RETRACTED.iri.value).replace("/id/", f"/{form}/"))
    assert gone.status_code == 410


def test_data_points_to_licence_name_and_other_forms(client: FlaskClient) -> None:
    reply = client.get("/data/substance-goji.ttl")
    links = ", ".join(reply.headers.get_all("Link"))
    for relation in ("canonical", "cite-as", "license", "describedby", "alternate"):
        assert f'rel="{relation}"' in links
    again = client.get("/data/substance-goji.ttl", headers={"If-None-Match": reply.headers["ETag"]})
    assert again.status_code == 304
    head = client.head("/data/substance-goji.ttl")
    assert (head.status_code, head.data) == (200, b"")


def test_old_clients_get_claims_without_triple_terms(client: FlaskClient) -> None:
    old = client.get("/data/substance-goji.nt")
    assert b"<<(" not in old.data
    assert b"rdf-syntax-ns#subject" in old.data
    assert old.headers["Content-Type"] == "application/n-triples"
    assert client.get("/data/substance-goji.nt?profile=rdf10").status_code == 400


@from_table
def test_rdf_12_clients_get_triple_terms(
    client: FlaskClient, query: str, headers: dict[str, str]
) -> None:
    for _ in range(2):  # also out of the cache
        new = client.get(f"/data/substance-goji.nt{query}", headers=headers)
        assert b"<<(" in new.data
        assert new.headers["Content-Type"] == "application/n-triples; version=1.2"
        assert "rdf12-concepts" in ", ".join(new.headers.get_all("Link"))
        assert b"<<(" not in client.get("/data/substance-goji.nt").data


def test_constructed_graph_is_rdf_11_unless_asked_otherwise(client: FlaskClient) -> None:
    query = f"CONSTRUCT {{ ?c {RDF.reifies} ?t }} WHERE {{ ?c {RDF.reifies} ?t }}"
    turtle = {"Accept": "text/turtle"}
    old = client.get("/sparql", query_string={"query": query}, headers=turtle)
    assert b"<<(" not in old.data
    new = client.get(
        "/sparql", query_string={"query": query}, headers={"Accept": "text/turtle;version=1.2"}
    )
    assert b"<<(" in new.data
    assert "version=1.2" in new.headers["Content-Type"]
    written = f"CONSTRUCT {{ ?c {RDF.reifies} <<( ?s ?p ?o )>> }} WHERE {{ ?c {RDF.reifies} <<( ?s ?p ?o )>> }}"
    same = client.get("/sparql", query_string={"query": written}, headers=turtle)
    assert b"<<(" in same.data
    assert "version=1.2" in same.headers["Content-Type"]


def test_hub_is_described_in_part_and_says_so(
    client: FlaskClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = client.get("/data/constitution-yin.nt")
    assert "X-Shiyi-Description" not in whole.headers
    monkeypatch.setattr(describing, "INCOMING", 0)
    cut = client.get("/data/constitution-yin.nt?fresh=1")
    assert cut.headers["X-Shiyi-Description"].startswith("cut")
    assert 'rel="related"' in ", ".join(cut.headers.get_all("Link"))
    assert len(cut.data) < len(whole.data)
    assert str(YIN).encode() in cut.data


@pytest.mark.parametrize("kind", ["application/ld+json", "application/rdf+xml"])
def test_constructed_claims_are_reified_in_rdf_11(client: FlaskClient, kind: str) -> None:
    query = f"CONSTRUCT {{ ?c {RDF.reifies} ?t }} WHERE {{ ?c {RDF.reifies} ?t }}"
    reply = client.get("/sparql", query_string={"query": query}, headers={"Accept": kind})
    assert reply.status_code == 200
    assert reply.mimetype == kind
    form = RdfFormat.JSON_LD if "json" in kind else RdfFormat.RDF_XML
    claims = {quad.subject for quad in parse(reply.data, form) if quad.predicate == RDF.subject}
    assert INTERACTION.iri in claims
    plain = client.get("/sparql", query_string={"query": query, "profile": "rdf11"})
    assert b"<<(" not in plain.data


def test_reads_allow_cors_head_and_options(client: FlaskClient) -> None:
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


def test_function_nobody_knows_is_refused_not_called_mistake(client: FlaskClient) -> None:
    query = "SELECT (<urn:f>(1) AS ?x) {}"
    reply = client.get("/sparql", query_string={"query": query})
    assert reply.status_code == 422
    assert "urn:f" in json.loads(reply.data)["detail"]


def test_quads_of_the_journal_are_nobodys_business(client: FlaskClient) -> None:
    query = "ASK { GRAPH <https://w3id.org/shiyi/graph/journal> { ?s ?p ?o } }"
    assert json.loads(client.get("/sparql", query_string={"query": query}).data)["boolean"] is False


def test_content_negotiation_serves_each_format(client: FlaskClient) -> None:
    for _ in range(2):
        for kind in ("text/turtle", "application/ld+json", "application/n-triples"):
            reply = client.get("/data/substance-goji", headers={"Accept": kind})
            assert reply.mimetype == kind
            assert list(parse(reply.data, RdfFormat.from_media_type(kind)))


PLACE = graph("cases", "ward")
TOLD = "口干咽燥已三年，夜间尤甚"


def case_quads() -> Iterator[Quad]:
    for number, (age, sex) in enumerate((("elder", "female"), ("elder", "male"), ("adult", ""))):
        case = resource(f"case/{number}")
        words = resource(f"mention/{number}")
        yield Quad(case, RDF.type, SHIYI.PatientCase, PLACE)
        yield Quad(case, RDF.value, Literal(TOLD, language="zh"), PLACE)
        yield Quad(case, SHIYI.ageGroup, Literal(age), PLACE)
        if sex:
            yield Quad(case, SHIYI.sex, Literal(sex), PLACE)
        yield Quad(words, SHIYI.mentionedIn, case, PLACE)
        yield Quad(words, RDFS.label, Literal("口干咽燥", language="zh"), PLACE)
        yield Quad(words, SHIYI.theReferenceOf, YIN, PLACE)


@pytest.fixture(scope="module")
def kb(tmp_path_factory: pytest.TempPathFactory) -> Path:
    kb = tmp_path_factory.mktemp("cases") / "kb"
    build_generation(kb, [*quads(), *case_quads()], {})
    return kb


@pytest.fixture(scope="module")
def case_client(kb: Path) -> Iterator[FlaskClient]:
    site = open_site(kb, replace(Settings(), kb=kb))
    yield create_app(site).test_client()
    site.close()


def test_cases_are_counted_by_age_sex_and_words(kb: Path) -> None:
    with KnowledgeBase.open(kb) as base:
        count = counted_cases(base.store, YIN.value)
        assert counted_cases(base.store, GOJI.value).cases == 0
    assert count.cases == 3
    assert count.age_groups == (("elder", 2), ("adult", 1))
    assert count.sexes == (("female", 1), ("male", 1))
    assert count.words == (("口干咽燥", 3),)


@pytest.mark.parametrize(("language", "heading"), [("zh", "病例"), ("en", "Cases")])
def test_the_page_shows_the_counts_and_no_case(
    case_client: FlaskClient, language: str, heading: str
) -> None:
    path = "/page/" + YIN.value.rpartition("/")[2]
    page = case_client.get(path, headers={"Accept-Language": language}).text
    assert f">{heading} <span" in page
    assert "口干咽燥" in page
    assert TOLD not in page


def test_concept_without_cases_has_no_case_section(case_client: FlaskClient) -> None:
    page = case_client.get("/page/" + GOJI.value.rpartition("/")[2]).text
    assert 'id="cases"' not in page


PASSAGE = resource("passage/materia-1")
QUOTE = "枸杞子<b>补</b>肝肾"
WORDS = "论曰：" + "前" * 600 + QUOTE + "，明目。"


@pytest.fixture(scope="module")
def quoted_claim(
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[tuple[FlaskClient, str, str]]:
    evidence = replace(
        claim(GOJI, SHIYI.relieves, YIN).evidence[0], source=SITE_BOOK, quote=QUOTE, passage=PASSAGE
    )
    quoted = claim(GOJI, SHIYI.relieves, YIN, evidence=(evidence,))
    kb = tmp_path_factory.mktemp("quotes") / "kb"
    made_quads = [*quads(), *claim_quads(quoted), Quad(PASSAGE, RDF.value, Literal(WORDS))]
    build_generation(kb, made_quads, {"quads": len(made_quads)})
    site = open_site(kb, replace(Settings(), kb=kb))
    app = create_app(site)
    yield app.test_client(), quoted.iri.value, evidence.iri(quoted.iri).value
    site.close()


@pytest.mark.parametrize("which", [1, 2])
def test_a_quote_stands_marked_in_its_passage(
    quoted_claim: tuple[FlaskClient, str, str], which: int
) -> None:
    client = quoted_claim[0]
    address = "/page/" + str(quoted_claim[which]).partition("/id/")[2]
    page = client.get(address + "?lang=zh", headers={"Accept": "text/html"}).text
    assert "<mark>枸杞子&lt;b&gt;补&lt;/b&gt;肝肾</mark>，明目。</blockquote>" in page
    assert '<blockquote class="passage">…前前' in page
    assert "论曰" not in page  # far from the quote
