"""Comunica asks us, directly and by its SERVICE; rdflib does in test_server_clients."""

import json
import os
import shutil
import subprocess
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from shiyi.errors import OutsideError, QueryLimitError, QueryRefusedError
from shiyi.model.rdf import Literal, NamedNode, Quad
from shiyi.settings import QuerySettings
from shiyi.sparql.base.knowledge_base import KnowledgeBase, build_generation
from shiyi.sparql.queries.requests import FreeQuery
from shiyi.sparql.queries.results import ResultFormat
from shiyi.sparql.sandbox.pool import ROWS, QueryPool
from shiyi.sparql.sandbox.pool import solutions as read_answer
from tests.support.places import ROOT
from tests.support.sites import endpoint
from tests.tables import from_table

NOBODY = "http://127.0.0.1:9/sparql"
REIFIES = "http://www.w3.org/1999/02/22-rdf-syntax-ns#reifies"
A, P = "https://example.org/a", "https://example.org/p"
HOME = Path(os.environ.get("COMUNICA_HOME", ROOT))
INSTALLED = HOME / "node_modules" / "@comunica" / "query-sparql"


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with endpoint(tmp_path_factory.mktemp("federation")) as (base, secret):
        request = urllib.request.Request(  # noqa: S310 - loopback
            f"{base}/sparql",
            f'INSERT DATA {{ <{A}> <{P}> "甘"@zh, 3 . '
            f"<urn:claim> <{REIFIES}> <<( <{A}> <{P}> 3 )>> }}".encode(),
            {"Authorization": f"Bearer {secret}", "Content-Type": "application/sparql-update"},
        )
        urllib.request.urlopen(request).close()  # noqa: S310 - loopback
        yield f"{base}/sparql"


def ask(sources: str, query: str) -> list[dict[str, str]]:
    """Ask Comunica; skip the test where it is not installed."""
    node = shutil.which("node")
    if not node or not INSTALLED.is_dir():
        pytest.skip(
            "Comunica is not here: npm install @comunica/query-sparql in a folder, "
            "and name it in COMUNICA_HOME"
        )
    process = subprocess.run(  # noqa: S603 - node, found above, with our own script
        [node, str(ROOT / "tests/support/comunica.mjs"), sources, query],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env={**os.environ, "COMUNICA_HOME": str(HOME)},
    )
    assert process.returncode == 0, process.stderr[-600:]
    results: list[dict[str, str]] = json.loads(process.stdout)
    return results


def test_comunica_asks_us_directly(served: str) -> None:
    results = ask(f"sparql@{served}", f"SELECT ?o {{ <{A}> <{P}> ?o }}")
    assert {row["o"] for row in results} == {"甘", "3"}


def test_comunica_knows_us_for_endpoint_by_our_description(served: str) -> None:
    results = ask(served, f"SELECT ?o {{ <{A}> <{P}> ?o FILTER(isNumeric(?o)) }}")
    assert [row["o"] for row in results] == ["3"]


def test_comunica_joins_own_data_by_service(served: str) -> None:
    query = f"SELECT ?o {{ ?s <urn:mine> 1 SERVICE <{served}> {{ ?s <{P}> ?o }} }}"
    assert {row["o"] for row in ask(f"data:<{A}> <urn:mine> 1 .", query)} == {"甘", "3"}


def test_comunica_asks_for_claims_in_rdf_11(served: str) -> None:
    reified = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#{}>"
    subject, value = reified.format("subject"), reified.format("object")
    query = f"SELECT ?o {{ <urn:claim> {subject} <{A}> ; {value} ?o }}"
    assert [row["o"] for row in ask(f"sparql@{served}/rdf11", query)] == ["3"]
    assert ask(f"sparql@{served}", query) == []


@pytest.fixture(scope="module")
def asking(served: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[QueryPool]:
    """A base of its own whose queries may ask the other server, and an address where nobody is."""
    kb = tmp_path_factory.mktemp("asking") / "kb"
    build_generation(kb, [Quad(NamedNode(A), NamedNode("urn:mine"), Literal("1"))], {})
    allowed = f"{served} {NOBODY}"
    with (
        KnowledgeBase.open(kb) as base,
        QueryPool(base, QuerySettings(workers=1, timeout=10, services=allowed)) as pool,
    ):
        yield pool


def rows(pool: QueryPool, query: str) -> list[str]:
    return sorted(
        pool.query(FreeQuery(query, accept=ResultFormat.of("csv"))).body.decode().split()[1:]
    )


def test_our_service_asks_endpoints_that_are_allowed(asking: QueryPool, served: str) -> None:
    block = f"SERVICE <{served}> {{ ?s <{P}> ?o }}"
    assert rows(asking, f"SELECT ?o {{ ?s <urn:mine> '1' . {block} }}") == ["3", "甘"]
    assert rows(asking, f"SELECT ?o {{ ?s <urn:other> '1' . {block} }}") == []
    prefixed = (
        f"PREFIX e: <https://example.org/> SELECT ?o {{ service <{served}> {{ e:a e:p ?o }} }}"
    )
    assert rows(asking, prefixed) == ["3", "甘"]
    nothing = f"SELECT ?s {{ ?s <urn:mine> ?x . SERVICE <{served}> {{ <urn:none> ?p ?o }} }}"
    assert rows(asking, nothing) == []
    claim = f"SELECT ?x {{ SERVICE <{served}> {{ ?c <{REIFIES}> ?t }} BIND(OBJECT(?t) AS ?x) }}"
    assert rows(asking, claim) == ["3"]
    again = f"SERVICE <{served}> {{ ?s <{P}> ?o }}"
    twice = f"SELECT * {{ SERVICE <{served}> {{ <{A}> <{P}> ?o }} {again} }}"
    assert len(rows(asking, twice)) == 2


def test_no_other_address_is_asked(asking: QueryPool, served: str) -> None:
    inner = f"SERVICE <{served}> {{ ?s ?p ?o }}"
    for query in (
        "SELECT * { SERVICE <http://127.0.0.1:1/> { ?s ?p ?o } }",
        f"SELECT * {{ {inner} SERVICE <http://127.0.0.1:1/> {{ ?s ?p ?o }} }}",
        f"SELECT * {{ VALUES ?x {{ <{served}> }} SERVICE ?x {{ ?s ?p ?o }} }}",
        f"PREFIX x: <{served}> SELECT * {{ SERVICE x: {{ ?s ?p ?o }} }}",
        f"SELECT * {{ SERVICE <{served}> {{ {inner} }} }}",
        f"SELECT * {{ SERVICE <{served}/> {{ ?s ?p ?o }} }}",
    ):
        with pytest.raises(QueryRefusedError):
            asking.query(FreeQuery(query))


def test_service_that_fails_error_unless_query_says_silent(asking: QueryPool) -> None:
    with pytest.raises(OutsideError):
        asking.query(FreeQuery(f"SELECT * {{ SERVICE <{NOBODY}> {{ ?s ?p ?o }} }}"))
    silent = f"SELECT ?x {{ ?x <urn:mine> ?y . SERVICE SILENT <{NOBODY}> {{ ?s ?p ?o }} }}"
    assert rows(asking, silent) == [A]


def test_what_service_answers_never_becomes_part_of_query(asking: QueryPool, served: str) -> None:
    """Texts that look like syntax stay texts."""
    text = '"} } DROP ALL # \\\\ \\"x" AS ?o'
    block = f"SERVICE <{served}> {{ BIND({text.replace(' AS ?o', '')} AS ?o) }}"
    assert b"DROP ALL" in asking.query(FreeQuery(f"SELECT ?o {{ {block} }}")).body


@pytest.mark.parametrize("name", ["o) { } #", "", "o o", "?o"])
def test_a_service_names_nothing_but_variables(name: str) -> None:
    body = {"head": {"vars": [name]}, "results": {"bindings": []}}
    with pytest.raises(OutsideError):
        read_answer("http://x.org/", json.dumps(body).encode())


@from_table
def test_a_service_answers_with_nothing_but_terms(term: object) -> None:
    body = {"head": {"vars": ["o"]}, "results": {"bindings": [{"o": term}]}}
    with pytest.raises(OutsideError):
        read_answer("http://x.org/", json.dumps(body).encode())


def test_a_service_that_answers_without_end_is_refused() -> None:
    row = {"o": {"type": "literal", "value": "a"}}
    body = {"head": {"vars": ["o"]}, "results": {"bindings": [row] * (ROWS + 1)}}
    with pytest.raises(QueryLimitError):
        read_answer("http://x.org/", json.dumps(body).encode())
    with pytest.raises(OutsideError):
        read_answer("http://x.org/", b'{"head":' * 100_000)
