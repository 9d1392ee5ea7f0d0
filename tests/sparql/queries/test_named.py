"""Each named query answers its question on the starter base, also for clients of SPARQL 1.1."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyoxigraph import Store
from rdflib.plugins.sparql import prepareQuery

from shiyi.errors import FormatError, UsageError
from shiyi.model.rdf import DefaultGraph, Literal, Quad, parse
from shiyi.settings import QuerySettings
from shiyi.sparql.base.knowledge_base import KnowledgeBase
from shiyi.sparql.queries.named import Query, quality_faults, quality_queries, query_names
from shiyi.sparql.queries.requests import FreeQuery
from shiyi.sparql.queries.results import ResultFormat
from shiyi.sparql.sandbox.pool import QueryPool
from shiyi.sparql.store.functions import FUNCTIONS
from shiyi.sparql.store.oxigraph import OxigraphStore
from tests.contracts import A, P
from tests.tables import cases

PREFIXES = """
PREFIX : <https://example.org/> PREFIX s: <https://w3id.org/shiyi/vocab#>
PREFIX id: <https://w3id.org/shiyi/id/> PREFIX dc: <http://purl.org/dc/terms/>
PREFIX rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#>
PREFIX skos: <http://www.w3.org/2004/02/skos/core#>
PREFIX umls: <http://identifiers.org/umls/>
PREFIX prov: <http://www.w3.org/ns/prov#>
"""
SUPPORT = ":c s:evidence :e . :e dc:source :b . :b s:sourceTier :t ."
PLANTED: dict[str, str] = dict(cases("sparql", "quality_faults"))


def planted(text: str) -> OxigraphStore:
    store = OxigraphStore.in_memory()
    quads: list[Quad] = list(parse(PREFIXES + text, "x.trig"))
    assert quads
    store.change(add=quads)
    return store


def test_every_quality_query_has_a_planted_fault() -> None:
    assert set(quality_queries()) == set(PLANTED)


@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_fault_is_found_by_its_query(name: str) -> None:
    results = [fault.partition(":")[0] for fault in quality_faults(planted(PLANTED[name]))]
    assert name in results


def test_degree_of_nature_is_no_conflict() -> None:
    degree = PLANTED["nature-conflict"] + " :hot skos:broader :cold ."
    recorded = (
        PLANTED["nature-conflict"] + " :one s:conflictsWith :two . :two s:conflictsWith :one ."
    )
    for text in (degree, recorded):
        assert not any(f.startswith("nature-conflict") for f in quality_faults(planted(text)))


def test_a_sound_base_has_no_faults() -> None:
    sound = ":a s:hasNature :n . :c a s:Claim ; s:status s:accepted ; s:polarity s:positive ; "
    store = planted(sound + "rdf:reifies <<( :a s:hasNature :n )>> . " + SUPPORT)
    assert len(list(store.match(graph=DefaultGraph()))) > 0
    assert list(quality_faults(store)) == []


def test_there_are_named_queries() -> None:
    assert "about" in query_names()


@pytest.mark.parametrize("name", query_names())
def test_each_query_opens_with_its_question_and_parses(name: str) -> None:
    query = Query.named(name)
    assert "?" in query.question_en
    assert "？" in query.question_zh
    rows = Store().query(query.text, custom_functions=FUNCTIONS)
    assert len(list(rows)) <= 1  # type: ignore[arg-type]  # a count has a row even of nothing


def test_the_input_of_a_query_is_bound() -> None:
    store = OxigraphStore.in_memory()
    store.change([Quad(A, P, Literal("甘", language="zh"))])
    rows = list(store.select(Query.named("about").text, resource=A))
    assert [row["value"] for row in rows] == [Literal("甘", language="zh")]


def test_unknown_query_is_answered_with_known_ones() -> None:
    with pytest.raises(FormatError, match="about"):
        Query.named("../pyproject")


@pytest.mark.parametrize("first", ["SELECT * {}", "# only English?", "# 只有中文？", "# no / mark"])
def test_a_query_without_its_question_is_refused(first: str) -> None:
    with pytest.raises(UsageError, match="question"):
        Query.parse("x", first + "\nSELECT * {}")


NAMES = [name for name in query_names() if not name.startswith("qc/")]
VOCAB = "PREFIX shiyi: <https://w3id.org/shiyi/vocab#> PREFIX id: <https://w3id.org/shiyi/id/> "
RDF = "PREFIX rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#> "


@pytest.fixture(scope="module")
def pool(starter_kb: Path) -> Iterator[QueryPool]:
    settings = QuerySettings(timeout=60.0)  # other work may share the machine
    with KnowledgeBase.open(starter_kb) as kb, QueryPool(kb, settings) as made:
        yield made


def test_there_are_thirty_examples() -> None:
    assert len(NAMES) >= 30


@pytest.mark.parametrize("name", NAMES)
def test_each_example_has_rows(pool: QueryPool, name: str) -> None:
    text = Query.named(name).text
    few = text if "LIMIT" in text.rpartition("}")[2] else f"{text}\nLIMIT 5"
    result = pool.stream(FreeQuery(few, accept=ResultFormat("csv", "nt")))
    with result.body:
        assert result.rows > 0


def test_example_returns_facts_above_its_confidence(pool: QueryPool) -> None:
    result = pool.query(FreeQuery(Query.named("facts-of-goji").text)).body
    rows = json.loads(result)["results"]["bindings"]
    assert len(rows) > 10
    assert all(float(row["confidence"]["value"]) >= 0.85 for row in rows)
    assert {row["standing"]["value"] for row in rows} >= {"asserted"}


def test_pages_of_claims_fit_together(pool: QueryPool) -> None:
    page = Query.named("claims-a-page-at-a-time").text
    pages = [
        pool.query(
            FreeQuery(page.replace("OFFSET 0", f"OFFSET {at}"), accept=ResultFormat.of("csv"))
        )
        for at in (0, 1000)
    ]
    listed = {line for result in pages for line in result.body.splitlines()[1:]}
    with pool.stream(
        FreeQuery(Query.named("claims").text, accept=ResultFormat.of("csv"))
    ).body as spool:
        every = set(b"".join(spool.parts()).splitlines())
    assert len(listed) == 2000
    assert listed <= every


def test_claim_found_by_statement_it_is_asked_for(pool: QueryPool) -> None:
    made = Query.named("statements-for-rdf11-clients").text
    opened = (
        f"{RDF}{VOCAB}SELECT ?p ?o ?confidence ?claim {{ ?claim rdf:reifies ?t ; "
        "shiyi:confidence ?confidence . FILTER(SUBJECT(?t) = id:substance-shengjiang) "
        "BIND(PREDICATE(?t) AS ?p) BIND(OBJECT(?t) AS ?o) }"
    )
    rows = [
        sorted(pool.query(FreeQuery(text, accept=ResultFormat.of("csv"))).body.splitlines())
        for text in (made, opened)
    ]
    assert rows[0] == rows[1]


def test_functions_give_what_syntax_of_rdf_12_gives(pool: QueryPool) -> None:
    where = "?c rdf:reifies ?t ; shiyi:status shiyi:accepted . FILTER({} = id:substance-gouqizi)"
    asked = (
        RDF
        + VOCAB
        + "SELECT ?c ?p ?o {{ "
        + where
        + " BIND({} AS ?p) BIND({} AS ?o) }} ORDER BY ?c"
    )
    new = pool.query(FreeQuery(asked.format("SUBJECT(?t)", "PREDICATE(?t)", "OBJECT(?t)")))
    old = pool.query(
        FreeQuery(asked.format("shiyi:subject(?t)", "shiyi:predicate(?t)", "shiyi:object(?t)"))
    )
    assert new.rows > 10
    assert new.body == old.body
    known = "id:substance-gouqizi shiyi:hasNature ?n"
    made = "BIND(shiyi:triple(id:substance-gouqizi, shiyi:hasNature, ?n) AS ?t)"
    assert (
        b"true"
        in pool.query(FreeQuery(f"{RDF}{VOCAB}ASK {{ {known} {made} ?c rdf:reifies ?t }}")).body
    )


def test_statement_functions_are_unbound_for_others(pool: QueryPool) -> None:
    for wrong in ("shiyi:subject(1)", 'shiyi:triple("x", <a:b>, 1)', "shiyi:object()"):
        rows = json.loads(pool.query(FreeQuery(f"{VOCAB}SELECT ?x {{ BIND({wrong} AS ?x) }}")).body)
        assert rows["results"]["bindings"] == [{}]


def test_client_queries_parse_as_sparql_11() -> None:
    prepareQuery(Query.named("statements-for-rdf11-clients").text)
    with pytest.raises(Exception, match="Expected"):
        prepareQuery(Query.named("facts-of-goji").text)
