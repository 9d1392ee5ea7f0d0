"""The query page: cells say what they are, results are drawn and counted, examples are grouped."""

import json
import re
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from urllib.parse import quote

import pytest
from flask.testing import FlaskClient

from shiyi.model.rdf import NamedNode
from shiyi.server.app import create_app
from shiyi.server.results_table import ResultsTable
from shiyi.server.results_views import NODES, chart, graph
from shiyi.server.sparql_examples import examples
from shiyi.sparql.results import StreamedResult
from shiyi.sparql.spool import Spool
from tests.server_site import DENIED, GOJI, INTERACTION, SCRIPT, WARFARIN, open_test_site

HEAD = (
    "PREFIX shiyi: <https://w3id.org/shiyi/vocab#> "
    "PREFIX rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#> "
)
CLAIMS = (
    HEAD
    + "SELECT ?claim ?said ?confidence { ?claim rdf:reifies ?said ; shiyi:confidence ?confidence }"
)


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FlaskClient]:
    site = open_test_site(Path(tmp_path_factory.mktemp("site")))
    yield create_app(site).test_client()
    site.close()


def page(client: FlaskClient, query: str, status: int = 200) -> str:
    reply = client.get(f"/sparql?lang=en&query={quote(query)}", headers={"Accept": "text/html"})
    assert reply.status_code == status
    return reply.get_data(as_text=True)


def drawn(html: str) -> dict[str, list[dict[str, object]]]:
    found = re.search(r'<script type="application/json">(.*?)</script>\s*</figure>', html)
    assert found
    return dict(json.loads(found[1]))


def test_claims_are_shown_with_their_confidence_and_drawn_as_a_graph(client: FlaskClient) -> None:
    html = page(client, CLAIMS)
    assert f'href="/page/claim/{INTERACTION.iri.value.rpartition("/")[2]}"' in html
    assert 'class="sure-number">0.80' in html
    assert 'class="triple"' in html
    edges = drawn(html)["edges"]
    assert {"source": GOJI.value, "target": WARFARIN.value, "confidence": 0.8}.items() <= {
        key: value for edge in edges if edge["target"] == WARFARIN.value
        for key, value in edge.items()
    }.items()  # fmt: skip


def test_rdf_is_drawn_with_the_confidence_of_its_reifiers(client: FlaskClient) -> None:
    construct = CLAIMS.replace(
        "SELECT ?claim ?said ?confidence",
        "CONSTRUCT { ?claim rdf:reifies ?said ; shiyi:confidence ?confidence }",
    )
    html = page(client, construct + " LIMIT 2")
    assert {edge["confidence"] for edge in drawn(html)["edges"]} <= {0.8}
    assert "format=ttl" in html


def test_counts_become_bars_of_their_share(client: FlaskClient) -> None:
    html = page(client, "SELECT ?p (COUNT(*) AS ?n) { ?s ?p ?o } GROUP BY ?p ORDER BY DESC(?n)")
    assert '<dl class="bars">' in html
    assert 'class="bar-value" width="100.0"' in html
    assert re.search(r"\d (ms|sec)</p>", html)


def test_hostile_labels_and_numbers_that_are_none_are_only_text(client: FlaskClient) -> None:
    label = "<http://www.w3.org/2004/02/skos/core#prefLabel>"
    html = page(client, f"SELECT ?s ?l {{ ?s {label} ?l }}")
    assert SCRIPT not in html
    infinite = page(client, 'SELECT ?x ?n { VALUES (?x ?n) { ("a" 1e999) ("b" 2) } }')
    assert '<dl class="bars">' not in infinite


def test_a_fault_keeps_the_query_and_says_where(client: FlaskClient) -> None:
    html = page(client, "SELECT * { ?s ?p", 400)
    assert "SELECT * { ?s ?p</textarea>" in html
    assert 'role="alert"' in html


def test_the_claims_of_a_concept_open_as_a_table(client: FlaskClient) -> None:
    shown = client.get("/page/substance-goji?lang=en").get_data(as_text=True)
    address = unescape(re.findall(r'href="(/sparql\?query=[^"]*)"', shown)[0])
    table = client.get(address, headers={"Accept": "text/csv"}).get_data(as_text=True)
    assert table.splitlines()[0] == "from,relation,to,confidence,tiers,claim"
    assert "goji berry,interacts with,warfarin,0.8" in table
    assert INTERACTION.iri.value in table
    assert DENIED.iri.value in table  # what a source denies is a claim too


def test_the_cited_claims_are_taken_as_turtle(client: FlaskClient) -> None:
    shown = client.get("/ask?q=goji&lang=en").get_data(as_text=True)
    address = unescape(re.findall(r'href="(/sparql\?[^"]*format=ttl)"', shown)[0])
    turtle = client.get(address).get_data(as_text=True)
    assert INTERACTION.iri.value.rpartition("/")[2] in turtle
    assert "extractionConfidence" in turtle


def test_every_example_stands_in_a_group_that_has_a_name(client: FlaskClient) -> None:
    html = client.get("/sparql?lang=zh", headers={"Accept": "text/html"}).get_data(as_text=True)
    offered = set(re.findall(r'<option value="([\w-]+)"', html))
    assert offered == {each.name for each in examples()}
    assert html.count("<optgroup") == len({each.group for each in examples()})


def test_a_graph_of_too_many_things_is_cut(client: FlaskClient) -> None:
    rows = [
        {"a": {"type": "uri", "value": f"https://w3id.org/shiyi/id/a{n}"},
         "b": {"type": "uri", "value": f"https://w3id.org/shiyi/id/b{n}"}}
        for n in range(400)
    ]  # fmt: skip
    body = json.dumps({"head": {"vars": ["a", "b"]}, "results": {"bindings": rows}}).encode()
    table = ResultsTable.of_json(body)

    class Plain:
        def thing(self, node: NamedNode) -> object:
            from shiyi.server.reading import Thing

            return Thing(node.value, node.value)

    assert len(graph(table, Plain()).nodes) == NODES  # type: ignore[arg-type]
    assert chart(table) is None


def long_result(kind: str, body: bytes, rows: int) -> StreamedResult:
    spool = Spool()
    spool.add(body)
    return StreamedResult("", spool, kind, rows)


def test_of_a_long_result_the_page_reads_the_beginning() -> None:
    row = {
        "食": {"type": "literal", "value": "枸杞 {[" * 30},
        "n": {"type": "uri", "value": "urn:n"},
    }
    said = {"head": {"vars": ["食", "n"]}, "results": {"bindings": [row] * 20_000}}
    body = json.dumps(said, ensure_ascii=False).encode()
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
