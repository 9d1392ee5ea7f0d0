"""The SPARQL protocol and the API for programs, over a small real store."""

import json
import re
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from flask.testing import FlaskClient
from pyoxigraph import RdfFormat, parse

from shiyi.model.rdf import NamedNode
from shiyi.ontology.terms import SHIYI
from shiyi.server.app import create_app
from shiyi.server.sparql.protocol import examples
from shiyi.server.views.results import NODES, ResultsTable, chart, graph
from shiyi.sparql.queries.results import Spool, StreamedResult
from tests.support.sites import DENIED, GOJI, HOSTILE, INTERACTION, SCRIPT, WARFARIN, open_test_site
from tests.tables import from_table

HTML = {"Accept": "text/html"}


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FlaskClient]:
    site = open_test_site(tmp_path_factory.mktemp("site"))
    yield create_app(site).test_client()
    site.close()


SELECT = "SELECT ?o { <https://w3id.org/shiyi/id/substance-goji> a ?o } ORDER BY ?o"


@from_table
def test_results_come_in_the_form_the_client_prefers(
    client: FlaskClient, accept: str, kind: str
) -> None:
    headers = {"Accept": accept} if accept else {}
    reply = client.get("/sparql", query_string={"query": SELECT}, headers=headers)
    assert reply.status_code == 200
    assert reply.mimetype == kind
    assert "MFHSubstance" in reply.text


def test_three_forms_of_protocol_give_same(client: FlaskClient) -> None:
    got = client.get("/sparql", query_string={"query": SELECT})
    form = client.post("/sparql", data={"query": SELECT})
    direct = client.post("/sparql", data=SELECT, content_type="application/sparql-query")
    assert json.loads(got.data) == json.loads(form.data) == json.loads(direct.data)
    assert len(json.loads(got.data)["results"]["bindings"]) == 2


@pytest.mark.parametrize("content", [b"ASK {\xff}", "ASK {}" + " " * 70_000])
def test_malformed_or_long_query_is_refused(client: FlaskClient, content: bytes | str) -> None:
    reply = client.post("/sparql", data=content, content_type="application/sparql-query")
    assert reply.status_code == (400 if isinstance(content, bytes) else 413)
    assert reply.content_type == "application/problem+json"


@from_table
def test_a_wrong_request_to_the_endpoint_is_refused(
    client: FlaskClient, method: str, request_of: dict[str, Any], status: int
) -> None:
    reply = client.open("/sparql", method=method, **request_of)
    assert reply.status_code == status, reply.text
    assert reply.content_type == "application/problem+json"


def test_malformed_query_error_has_line_and_column(client: FlaskClient) -> None:
    text = json.loads(
        client.get("/sparql", query_string={"query": "SELECT *\nWHERE { ?s ?p }"}).data
    )
    assert (text["line"], text["column"] > 0) == (2, True)


def test_result_that_would_be_cut_is_never_200(client: FlaskClient) -> None:
    query = "SELECT (1 AS ?x) { ?a ?b ?c . ?d ?e ?f } LIMIT 5000"
    for headers in ({}, HTML):
        reply = client.get("/sparql", query_string={"query": query}, headers=headers)
        assert reply.status_code == 422
        assert "LIMIT" in reply.text


def test_query_past_time_504_and_next_answered(client: FlaskClient) -> None:
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


HEAD = (
    "PREFIX shiyi: <https://w3id.org/shiyi/vocab#> "
    "PREFIX rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#> "
)
CLAIMS = (
    HEAD
    + "SELECT ?claim ?said ?confidence { ?claim rdf:reifies ?said ; shiyi:confidence ?confidence }"
)


@pytest.fixture(scope="module")
def query_client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FlaskClient]:
    site = open_test_site(Path(tmp_path_factory.mktemp("site")))
    yield create_app(site).test_client()
    site.close()


def page(client: FlaskClient, query: str, status: int = 200) -> str:
    reply = client.get(f"/sparql?lang=en&query={quote(query)}", headers={"Accept": "text/html"})
    assert reply.status_code == status
    return reply.get_data(as_text=True)


def drawn(html: str) -> dict[str, list[dict[str, object]]]:
    match = re.search(r'<script type="application/json">(.*?)</script>\s*</figure>', html)
    assert match
    return dict(json.loads(match[1]))


def test_claims_shown_with_confidence_and_drawn_as_graph(query_client: FlaskClient) -> None:
    html = page(query_client, CLAIMS)
    assert f'href="/page/claim/{INTERACTION.iri.value.rpartition("/")[2]}"' in html
    assert 'class="sure-number">0.80' in html
    assert 'class="triple"' in html
    edges = drawn(html)["edges"]
    assert {"source": GOJI.value, "target": WARFARIN.value, "confidence": 0.8}.items() <= {
        key: value
        for edge in edges
        if edge["target"] == WARFARIN.value
        for key, value in edge.items()
    }.items()


def test_rdf_is_drawn_with_confidence_of_its_reifiers(query_client: FlaskClient) -> None:
    construct = CLAIMS.replace(
        "SELECT ?claim ?said ?confidence",
        "CONSTRUCT { ?claim rdf:reifies ?said ; shiyi:confidence ?confidence }",
    )
    html = page(query_client, construct + " LIMIT 2")
    assert {edge["confidence"] for edge in drawn(html)["edges"]} <= {0.8}
    assert "format=ttl" in html


def test_counts_become_bars_of_their_share(query_client: FlaskClient) -> None:
    html = page(
        query_client, "SELECT ?p (COUNT(*) AS ?n) { ?s ?p ?o } GROUP BY ?p ORDER BY DESC(?n)"
    )
    assert '<dl class="bars">' in html
    assert 'class="bar-value" width="100.0"' in html
    assert re.search(r"\d (ms|sec)</p>", html)


def test_hostile_labels_and_numbers_are_text(query_client: FlaskClient) -> None:
    label = "<http://www.w3.org/2004/02/skos/core#prefLabel>"
    html = page(query_client, f"SELECT ?s ?l {{ ?s {label} ?l }}")
    assert SCRIPT not in html
    infinite = page(query_client, 'SELECT ?x ?n { VALUES (?x ?n) { ("a" 1e999) ("b" 2) } }')
    assert '<dl class="bars">' not in infinite


def test_a_fault_keeps_the_query_and_says_where(query_client: FlaskClient) -> None:
    html = page(query_client, "SELECT * { ?s ?p", 400)
    assert "SELECT * { ?s ?p</textarea>" in html
    assert 'role="alert"' in html


def test_claims_of_concept_open_as_table(query_client: FlaskClient) -> None:
    data = query_client.get("/page/substance-goji?lang=en").get_data(as_text=True)
    address = unescape(re.findall(r'href="(/sparql\?query=[^"]*)"', data)[0])
    table = query_client.get(address, headers={"Accept": "text/csv"}).get_data(as_text=True)
    assert table.splitlines()[0] == "from,relation,to,confidence,tiers,claim"
    assert "goji berry,interacts with,warfarin,0.8" in table
    assert INTERACTION.iri.value in table
    assert DENIED.iri.value in table  # what a source denies is a claim too


def test_the_cited_claims_are_taken_as_turtle(query_client: FlaskClient) -> None:
    data = query_client.get("/ask?q=goji&lang=en").get_data(as_text=True)
    query = unescape(re.findall(r'name="query" value="([^"]*)"', data)[0])
    turtle = query_client.post("/sparql", data={"query": query, "format": "ttl"}).text
    assert INTERACTION.iri.value.rpartition("/")[2] in turtle
    assert "extractionConfidence" in turtle


def test_every_example_stands_in_group_that_has_name(query_client: FlaskClient) -> None:
    html = query_client.get("/sparql?lang=zh", headers={"Accept": "text/html"}).get_data(
        as_text=True
    )
    offered = set(re.findall(r'<option value="([\w-]+)"', html))
    assert offered == {example.name for example in examples()}
    assert html.count("<optgroup") == len({example.group for example in examples()})


def test_a_graph_of_too_many_things_is_cut(query_client: FlaskClient) -> None:
    rows = [
        {
            "a": {"type": "uri", "value": f"https://w3id.org/shiyi/id/a{n}"},
            "b": {"type": "uri", "value": f"https://w3id.org/shiyi/id/b{n}"},
        }
        for n in range(400)
    ]
    body = json.dumps({"head": {"vars": ["a", "b"]}, "results": {"bindings": rows}}).encode()
    table = ResultsTable.of_json(body)

    class Plain:
        def thing(self, node: NamedNode) -> object:
            from shiyi.server.views.reader import Thing

            return Thing(node.value, node.value)

    assert len(graph(table, Plain()).nodes) == NODES  # type: ignore[arg-type]
    assert chart(table) is None


def long_result(kind: str, body: bytes, rows: int) -> StreamedResult:
    spool = Spool()
    spool.add(body)
    return StreamedResult("", spool, kind, rows)


def test_of_long_result_page_reads_beginning() -> None:
    row = {
        "食": {"type": "literal", "value": "枸杞 {[" * 30},
        "n": {"type": "uri", "value": "urn:n"},
    }
    values = {"head": {"vars": ["食", "n"]}, "results": {"bindings": [row] * 20_000}}
    body = json.dumps(values, ensure_ascii=False).encode()
    whole, table = (
        ResultsTable.of_json(body),
        ResultsTable.of(long_result("solutions", body, 20_000)),
    )
    assert (table.columns, table.rows, table.total) == (whole.columns, whole.rows, 20_000)
    large = {"a": {"type": "literal", "value": "x" * 1_000_000}}
    cut = json.dumps({"head": {"vars": ["a"]}, "results": {"bindings": [large] * 5}}, indent=1)
    table = ResultsTable.of(long_result("solutions", cut.encode(), 5))
    assert (len(table.rows), table.total) == (2, 5)


def test_of_long_rdf_the_page_reads_the_beginning() -> None:
    body = "# 枸杞\n<urn:a> <urn:p> <urn:b> .\n".encode() * 200_000
    table = ResultsTable.of(long_result("graph", body, 200_000))
    assert body.startswith(table.turtle.encode()[:-8])
    assert 2_500_000 > len(table.turtle) > 60_000


@from_table
def test_formats_have_the_names_that_clients_give_them(
    client: FlaskClient, query: str, name: str, kind: str
) -> None:
    for parameter in ("format", "output", "results"):
        reply = client.get("/sparql", query_string={"query": query, parameter: name})
        assert reply.mimetype == kind


def test_plain_query_has_headers_of_any_other(client: FlaskClient) -> None:
    """The first goes past Flask, the second through it."""
    query = quote("SELECT ?o { ?s ?p ?o } LIMIT 1")
    plain = client.get(f"/sparql?query={query}", headers={"Accept": "text/csv"})
    routed = client.get(f"/sparql?timeout=5&query={query}", headers={"Accept": "text/csv"})
    assert plain.data == routed.data
    differ = {"Server-Timing"}
    assert {k: v for k, v in plain.headers if k not in differ} == {
        k: v for k, v in routed.headers if k not in differ
    }
    wrong = client.get("/sparql?query=SELECT", headers={"Accept": "text/csv"})
    assert (wrong.status_code, wrong.mimetype) == (400, "application/problem+json")
