"""The SPARQL protocol and the API for programs, over a small real store."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from flask.testing import FlaskClient
from pyoxigraph import RdfFormat, parse

from shiyi.ontology.terms import SHIYI
from shiyi.server.app import create_app
from tests.server_site import GOJI, HOSTILE, open_test_site

HTML = {"Accept": "text/html"}


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FlaskClient]:
    site = open_test_site(tmp_path_factory.mktemp("site"))
    yield create_app(site).test_client()
    site.close()


SELECT = "SELECT ?o { <https://w3id.org/shiyi/id/substance-goji> a ?o } ORDER BY ?o"


@pytest.mark.parametrize(
    ("accept", "kind"),
    [
        ("", "application/sparql-results+json"),
        ("*/*", "application/sparql-results+json"),
        ("application/json", "application/sparql-results+json"),
        ("application/sparql-results+xml", "application/sparql-results+xml"),
        ("text/csv;q=0.9, text/tab-separated-values", "text/tab-separated-values"),
        ("text/html", "text/html"),
    ],
)
def test_results_come_in_the_form_the_client_prefers(
    client: FlaskClient, accept: str, kind: str
) -> None:
    headers = {"Accept": accept} if accept else {}
    reply = client.get("/sparql", query_string={"query": SELECT}, headers=headers)
    assert reply.status_code == 200
    assert reply.mimetype == kind
    assert "MFHSubstance" in reply.text


def test_the_three_forms_of_the_protocol_give_the_same(client: FlaskClient) -> None:
    got = client.get("/sparql", query_string={"query": SELECT})
    form = client.post("/sparql", data={"query": SELECT})
    direct = client.post("/sparql", data=SELECT, content_type="application/sparql-query")
    assert json.loads(got.data) == json.loads(form.data) == json.loads(direct.data)
    assert len(json.loads(got.data)["results"]["bindings"]) == 2


@pytest.mark.parametrize(
    ("method", "request_of", "status"),
    [
        ("GET", {"query_string": {"query": "SELEC"}}, 400),
        ("GET", {"query_string": {"query": ""}}, 400),
        ("GET", {"query_string": [("query", "ASK {}"), ("query", "ASK {}")]}, 400),
        ("GET", {"query_string": {"update": "CLEAR ALL"}}, 400),
        ("GET", {"query_string": {"query": "ASK {}", "timeout": "soon"}}, 400),
        ("GET", {"query_string": {"query": "ASK {}", "format": "png"}}, 400),
        ("POST", {"data": {"query": "ASK {}", "update": "CLEAR ALL"}}, 400),
        ("POST", {"data": {"update": "CLEAR ALL"}}, 401),
        ("POST", {"data": {"other": "x"}}, 400),
        ("POST", {"data": "CLEAR ALL", "content_type": "application/sparql-update"}, 401),
        ("POST", {"data": "ASK {}", "content_type": "text/plain"}, 415),
        ("POST", {"data": b"ASK {\xff}", "content_type": "application/sparql-query"}, 400),
        (
            "POST",
            {"data": "ASK {}" + " " * 70_000, "content_type": "application/sparql-query"},
            413,
        ),
        ("PUT", {}, 405),
        ("DELETE", {}, 405),
        ("GET", {"query_string": {"query": "CLEAR ALL"}}, 400),
        ("GET", {"query_string": {"query": "SELECT * { SERVICE <http://127.0.0.1:1/> {} }"}}, 422),
    ],
)
def test_a_wrong_request_to_the_endpoint_is_refused(
    client: FlaskClient, method: str, request_of: dict[str, Any], status: int
) -> None:
    reply = client.open("/sparql", method=method, **request_of)
    assert reply.status_code == status, reply.text
    assert reply.content_type == "application/problem+json"


def test_a_malformed_query_is_told_its_line_and_column(client: FlaskClient) -> None:
    said = json.loads(
        client.get("/sparql", query_string={"query": "SELECT *\nWHERE { ?s ?p }"}).data
    )
    assert (said["line"], said["column"] > 0) == (2, True)


def test_a_result_that_would_be_cut_is_never_a_200(client: FlaskClient) -> None:
    query = "SELECT * { ?a ?b ?c . ?d ?e ?f } LIMIT 5000"
    for headers in ({}, HTML):
        reply = client.get("/sparql", query_string={"query": query}, headers=headers)
        assert reply.status_code == 422
        assert "LIMIT" in reply.text


def test_a_query_past_its_time_is_504_and_the_next_is_answered(client: FlaskClient) -> None:
    bomb = "SELECT (COUNT(*) AS ?n) { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i . ?j ?k ?l . ?m ?o ?p }"
    reply = client.get("/sparql", query_string={"query": bomb, "timeout": "0.3"})
    assert reply.status_code == 504
    assert (
        json.loads(client.get("/sparql", query_string={"query": "ASK {}"}).data)["boolean"] is True
    )


def test_the_dataset_of_the_protocol_is_honoured(client: FlaskClient) -> None:
    ask = f"ASK {{ <{HOSTILE.value}> <{SHIYI.derivedCaution.value}> ?o }}"
    derived = "https://w3id.org/shiyi/graph/derived"
    plain = client.get("/sparql", query_string={"query": ask})
    chosen = client.get("/sparql", query_string={"query": ask, "default-graph-uri": derived})
    assert (json.loads(plain.data)["boolean"], json.loads(chosen.data)["boolean"]) == (False, True)


def test_without_a_query_programs_get_the_service_description(client: FlaskClient) -> None:
    reply = client.get("/sparql", headers={"Accept": "text/turtle"})
    triples = list(parse(reply.data, format=RdfFormat.TURTLE))
    assert any(t.predicate.value.endswith("#endpoint") for t in triples)
    assert "<textarea" in client.get("/sparql", headers=HTML).text


def test_a_graph_is_offered_as_a_download(client: FlaskClient) -> None:
    query = f"DESCRIBE <{GOJI.value}>"
    reply = client.get("/sparql", query_string={"query": query, "format": "nt"})
    assert reply.mimetype == "application/n-triples"
    assert "attachment" in reply.headers["Content-Disposition"]


def test_the_stream_ends_with_the_whole_answer(client: FlaskClient) -> None:
    lines = client.get("/api/ask/stream?q=goji").text.strip().split("\n\n")
    events = [block.split("\n")[0].removeprefix("event: ") for block in lines]
    assert events == ["linked", "path", "warning", "token", "answer"]
    assert json.loads(lines[-1].split("data: ")[1])["question"] == "goji"
    faulty = client.get("/api/ask/stream?q=outside").text
    assert "event: error" in faulty
    assert client.get("/api/ask/stream?q=").status_code == 400


def test_linking_and_completion_answer_in_json(client: FlaskClient) -> None:
    found = json.loads(client.post("/api/link", json={"text": "eat goji"}).data)["mentions"]
    assert (found[0]["iri"], found[0]["start"], found[0]["end"]) == (GOJI.value, 4, 8)
    assert json.loads(client.get("/api/complete?q=go").data)["completions"][0]["iri"] == GOJI.value
    assert json.loads(client.get("/api/complete?q=").data)["completions"] == []


def test_machines_find_health_metrics_and_descriptions(client: FlaskClient) -> None:
    health = json.loads(client.get("/healthz").data)
    assert health["status"] == "ok"
    assert health["counts"]["claims"] == 3
    assert "shiyi_requests_total{" in client.get("/metrics").text
    assert json.loads(client.get("/api/openapi.json").data)["openapi"].startswith("3.1")
    assert "void:Dataset" in client.get("/.well-known/void").text
    assert "Disallow" in client.get("/robots.txt").text
    assert client.get("/favicon.ico").mimetype == "image/svg+xml"


def test_the_vocabulary_dereferences_for_people_and_machines(client: FlaskClient) -> None:
    assert 'id="interactsWith"' in client.get("/vocab", headers=HTML).text
    turtle = client.get("/vocab", headers={"Accept": "text/turtle"})
    assert "interactsWith" in turtle.text
    assert client.get("/vocab", headers={"Accept": "image/png"}).status_code == 406


def test_long_texts_are_packed_for_those_who_take_it(client: FlaskClient) -> None:
    packed = client.get("/", headers={"Accept-Encoding": "gzip", **HTML})
    assert packed.headers["Content-Encoding"] == "gzip"
    assert len(packed.data) < len(client.get("/", headers=HTML).data)
