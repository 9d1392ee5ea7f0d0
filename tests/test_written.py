"""Literals as they were written: kept beside their quads, given back where it is certain which form."""

import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
import rdflib
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyoxigraph import RdfFormat, Store, parse

from shiyi.errors import QueryLimitError, QueryRefusedError
from shiyi.model.rdf import Literal, NamedNode, Quad, text
from shiyi.publishing.dumps import dump
from shiyi.settings import QuerySettings
from shiyi.sparql.backups import back_up, restore
from shiyi.sparql.free_query import FreeQuery
from shiyi.sparql.generations import build_generation
from shiyi.sparql.knowledge_base import KnowledgeBase
from shiyi.sparql.results import ResultFormat
from shiyi.sparql.updates import Updater
from shiyi.sparql.workers import QueryPool
from shiyi.sparql.written import WRITTEN, any_form, by_value, folded, kept, written_lines
from tests.updating import HEAD, NUMBERS, XSD, author, kb, pool, put, rows

__all__ = ["kb", "pool"]  # the fixtures
A, P = NamedNode("https://e.org/a"), NamedNode("https://e.org/p")
BY_VALUE = (
    "boolean", "integer", "decimal", "double", "float", "byte", "short", "int", "long",
    "unsignedByte", "unsignedShort", "unsignedInt", "unsignedLong", "positiveInteger",
    "negativeInteger", "nonPositiveInteger", "nonNegativeInteger", "date", "time", "dateTime",
    "dateTimeStamp", "gYear", "gYearMonth", "gMonth", "gMonthDay", "gDay", "duration",
    "dayTimeDuration", "yearMonthDuration",
)  # fmt: skip
BY_FORM = (
    "string", "normalizedString", "token", "language", "Name", "NCName", "NMTOKEN", "anyURI",
    "hexBinary", "base64Binary", "QName", "NOTATION", "anySimpleType", "precisionDecimal",
)  # fmt: skip


def literals() -> st.SearchStrategy[Literal]:
    """Literals of every type, most of them well-formed, many not as the engine writes them."""
    digits = st.from_regex(
        r"[+-]?[0-9]{0,22}(\.[0-9]{0,22})?([eE][+-]?[0-9]{1,3})?", fullmatch=True
    )
    day = st.from_regex(r"-?[0-9]{4}-[01][0-9]-[0-3][0-9]", fullmatch=True)
    hour = st.from_regex(r"[0-2][0-9]:[0-5][0-9]:[0-5][0-9](\.[0-9]{1,9})?", fullmatch=True)
    zone = st.sampled_from(["", "Z", "+00:00", "-00:00", "+08:00", "-05:30", "+14:00"])
    forms = st.one_of(
        digits, st.sampled_from(["true", "false", "1", "0", "INF", "-INF", "NaN", "-0", " 1 ", "", "١"]),
        st.builds(str.__add__, st.one_of(day, hour, st.builds("{}T{}".format, day, hour)), zone),
        st.sampled_from(["P1Y13M", "P30D", "PT36H", "-PT90M", "P0D", "2020", "02020-01", "--02-03",
                         "--1", "---09Z", "24:00:00", "2020-01-01T24:00:00Z"]),
    )  # fmt: skip
    types = st.sampled_from([NamedNode(XSD + name) for name in (*BY_VALUE, *BY_FORM)])
    return st.builds(lambda form, kind: Literal(form, datatype=kind), forms, types)


def given_back(term: Literal) -> object:
    memory = Store()
    memory.add(Quad(A, P, term))
    return next(iter(memory)).object


@given(literals())
@settings(max_examples=700, deadline=None)
def test_what_is_said_to_come_back_as_it_is_does(term: Literal) -> None:
    back = given_back(term)
    assert folded(term) == back
    if kept(term):
        assert back == term
    if back != term:
        assert by_value(back)


@pytest.mark.parametrize(
    ("kind", "form"),
    [("integer", "17"), ("integer", "-3"), ("decimal", "0.75"), ("double", "1.5"), ("boolean", "true"),
     ("date", "2026-11-22"), ("dateTime", "2026-11-22T13:00:00Z"), ("string", "01")],
)  # fmt: skip
def test_what_shiyi_itself_writes_costs_no_question_to_the_engine(kind: str, form: str) -> None:
    assert kept(Literal(form, datatype=NamedNode(XSD + kind)))


@pytest.fixture
def updater(kb: KnowledgeBase, pool: QueryPool) -> Iterator[Updater]:
    made = Updater(kb, QuerySettings(timeout=20), pool.expire)
    pool.seen.shortcut = made.snapshot
    yield made
    made.close()


def told(pool: QueryPool, graph: str = "") -> list[str]:
    """Give what Graph Store GET gives, as sorted lines."""
    made = pool.dump(graph, "nt")
    assert made
    with made.body as body:
        return sorted(body.read().decode().splitlines())


@given(st.lists(literals(), min_size=1, max_size=40))
@settings(
    max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_what_is_put_comes_back_as_it_was_written(
    updater: Updater, pool: QueryPool, terms: list[Literal]
) -> None:
    lines = [f"<https://e.org/{n}> <https://e.org/p> {each} ." for n, each in enumerate(terms)]
    put(updater, "https://e.org/g", "\n".join(lines))
    assert told(pool, "https://e.org/g") == sorted(lines)
    made = pool.query(
        FreeQuery("SELECT ?s ?o { GRAPH ?g { ?s ?p ?o } }", accept=ResultFormat.of("json"))
    )
    found = {each["s"]["value"]: each["o"] for each in json.loads(made.body)["results"]["bindings"]}
    for n, term in enumerate(terms):
        said = found[f"https://e.org/{n}"]
        assert (said["value"], said.get("datatype", f"{XSD}string")) == (
            term.value,
            term.datatype.value,
        )
    assert rows(pool, "CONSTRUCT { ?s ?p ?o } { GRAPH ?g { ?s ?p ?o } }") == sorted(lines)


# what a row says must be what a store that keeps every form would say of the same data
QUERIES = (
    "SELECT * { ?s ?p ?o }", "SELECT ?s ?o { ?s ?p ?o }", "SELECT DISTINCT ?o { ?s ?p ?o }",
    "SELECT ?o { :a :p ?o }", "SELECT ?o { ?s :p ?o } ORDER BY ?o LIMIT 2",
    "SELECT ?s ?o { ?s :p ?o . ?s :q ?o }", "SELECT ?s ?t ?o { ?s :p ?o . ?t :q ?o }",
    "SELECT ?s ?o { { ?s :p ?o } UNION { ?s :q ?o } }",
    "SELECT ?s ?o ?x { ?s :p ?o OPTIONAL { ?s :q ?x } }", "SELECT ?o ?x { ?s :p ?o OPTIONAL { ?s :q ?x } }",
    "SELECT ?s ?o { { SELECT ?s ?o { ?s :p ?o } } }", 
    "SELECT ?s ?o { ?s :p ?o MINUS { ?s :q :no } }", "SELECT ?g ?s ?o { GRAPH ?g { ?s :p ?o } }",
    "SELECT ?s ?o { GRAPH :g { ?s :p ?o } }", "SELECT ?s ?o ?x { ?s :p ?o GRAPH ?g { ?s :p ?x } }",
    "SELECT ?s ?o { ?s :p|:q ?o }", "SELECT ?s ?o { ?o ^:p ?s }", "SELECT ?s (?o AS ?x) { ?s :p ?o }",
    "SELECT ?s ?o { ?s :p ?o VALUES ?s { :a } }", "SELECT ?s ?o { ?s :p ?x BIND(?x AS ?o) }",
    "SELECT ?s ?o { VALUES ?o { 1 1.5 } ?s :p ?o }", "SELECT ?o (COUNT(*) AS ?n) { ?s :p ?o } GROUP BY ?o",
    "SELECT ?x { ?s :p ?o . ?t :q ?x }",
    "SELECT ?s { { ?s :p ?o } UNION { ?o :p ?s } }",
)  # fmt: skip
QUADS = st.lists(
    st.tuples(
        st.sampled_from(["", ":g", ":h"]), st.sampled_from([":a", ":b", ":c"]), st.sampled_from([":p", ":q"]),
        st.sampled_from(["1", "01", '"1"^^xsd:int', "1.5", "1.50", "1e0", '"2"', "true", '"1"^^xsd:boolean', ":a"]),
    ), max_size=14,
)  # fmt: skip


def as_written(quads: Iterable[Quad]) -> rdflib.Dataset:
    exact = rdflib.Dataset()
    for quad in quads:
        place = quad.graph_name
        graph = exact.graph(place.value) if isinstance(place, NamedNode) else exact.default_graph
        subject, predicate, end = (
            rdflib.Literal(each.value, datatype=each.datatype.value, normalize=False)
            if isinstance(each, Literal) else rdflib.URIRef(text(each))
            for each in (quad.subject, quad.predicate, quad.object)
        )  # fmt: skip
        graph.add((subject, predicate, end))
    return exact


@pytest.mark.filterwarnings("ignore::DeprecationWarning:rdflib")  # of its own names
@given(QUADS)
@settings(
    max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_no_form_is_given_that_the_data_do_not_have_there(
    updater: Updater, pool: QueryPool, quads: list[tuple[str, str, str, str]]
) -> None:
    said = [f"GRAPH {g} {{ {s} {p} {o} }}" if g else f"{s} {p} {o} ." for g, s, p, o in quads]
    updater.update(f"{HEAD} DROP ALL ; INSERT DATA {{ {' '.join(said)} }}", author())
    exact = as_written(parse(f"{HEAD} {' '.join(said)}", format=RdfFormat.TRIG))
    for query in QUERIES:
        made = pool.query(FreeQuery(HEAD + query, accept=ResultFormat.of("json")))
        answer = json.loads(made.body)
        found = exact.query(HEAD + re.sub("ORDER BY.*", "", query)).serialize(format="json")
        theirs = [_terms(row) for row in json.loads(found or b"")["results"]["bindings"]]
        for row in map(_terms, answer["results"]["bindings"]):
            assert any(_says(row, each) for each in theirs) or not _restored(row), (query, row)


def _terms(row: dict[str, dict[str, str]]) -> dict[str, NamedNode | Literal]:
    return {
        name: NamedNode(said["value"]) if said["type"] == "uri" else
        Literal(said["value"], datatype=NamedNode(said.get("datatype", f"{XSD}string")))
        for name, said in row.items()
    }  # fmt: skip


def _restored(row: dict[str, NamedNode | Literal]) -> set[str]:
    return {name for name, term in row.items() if folded(term) != term}


def _says(row: dict[str, NamedNode | Literal], exact: dict[str, NamedNode | Literal]) -> bool:
    """Tell whether a row is an exact one, but for forms that it leaves open."""
    return row.keys() == exact.keys() and all(
        term == (exact[name] if name in _restored(row) else folded(exact[name]))
        for name, term in row.items()
    )


def test_long_results_stream_and_end_at_the_limit_of_rows(
    updater: Updater, pool: QueryPool
) -> None:
    put(updater, "", "".join(f"<urn:{n}> <urn:p> {n}.0 .\n" for n in range(4000)))
    made = pool.query(FreeQuery("SELECT ?s ?o { ?s <urn:p> ?o }", accept=ResultFormat.of("csv")))
    assert made.rows == 4000
    lines = made.body.decode().split()[1:]
    assert all(line.endswith(".0") for line in lines)
    with pytest.raises(QueryLimitError):
        pool.query(FreeQuery("SELECT ?s ?o { ?s <urn:p> ?o }", rows=100))


def test_a_form_of_one_graph_is_not_given_of_another(updater: Updater, pool: QueryPool) -> None:
    put(updater, "", "<urn:a> <urn:p> 01 .")
    put(updater, "urn:g", "<urn:a> <urn:p> 1 .")
    asked = "SELECT ?o { <urn:a> <urn:p> ?o }"
    assert rows(pool, asked) == ["01"]
    assert rows(pool, "SELECT ?o FROM <urn:g> { <urn:a> <urn:p> ?o }") == ["1"]
    assert rows(pool, "SELECT ?o { GRAPH <urn:g> { <urn:a> <urn:p> ?o } }") == ["1"]
    made = pool.query(FreeQuery(asked, accept=ResultFormat("tsv", "nt"), default_graphs=("urn:g",)))
    assert made.body.split() == [b"?o", b"1"]


def test_a_form_is_that_of_its_value_and_the_first(
    updater: Updater, pool: QueryPool, kb: KnowledgeBase
) -> None:
    put(updater, "urn:g", "<urn:a> <urn:p> 01 , 002 , 0001 .")
    updater.update("COPY <urn:g> TO <urn:h>", author())
    assert rows(pool, "SELECT ?o { GRAPH <urn:h> { <urn:a> <urn:p> ?o } }") == ["002", "01"]
    updater.update("DROP GRAPH <urn:g>", author())
    put(updater, "urn:h", "<urn:a> <urn:p> 1 , 2 .")  # as they come back anyhow
    assert not any_form(kb.store.match)


def test_what_many_quads_say_otherwise_is_given_by_its_value(
    updater: Updater, pool: QueryPool
) -> None:
    put(updater, "", "<urn:a> <urn:p> 01 ; <urn:q> 001 .")
    twice = "CONSTRUCT { ?s <urn:r> ?x . ?s <urn:r> ?y } { ?s <urn:p> ?x ; <urn:q> ?y }"
    assert set(rows(pool, twice)) == {f'<urn:a> <urn:r> "1"^^<{XSD}integer> .'}
    put(updater, "", "".join(f"<urn:{n}> <urn:p> 01 .\n" for n in range(150)))
    assert rows(pool, "SELECT ?o { ?s <urn:p> ?o }") == ["1"] * 150
    assert rows(pool, "SELECT ?o { <urn:7> <urn:p> ?o }") == ["01"]


def test_updates_compare_by_value_and_a_form_goes_with_its_quad(
    updater: Updater, pool: QueryPool, kb: KnowledgeBase
) -> None:
    put(updater, "", NUMBERS)
    done = updater.update(f"{HEAD} DELETE DATA {{ :a :p 1 . :b :q 1.500 }}", author())
    assert (done.removed, done.added) == (2, 0)
    assert rows(pool, "SELECT ?o { ?s :q ?o }") == ["1"]
    updater.update(f"{HEAD} INSERT DATA {{ :a :p 1 }}", author())
    assert rows(pool, "SELECT ?o { :a :p ?o }") == ["1"]  # and not as it once was
    updater.update(
        f"{HEAD} DELETE {{ ?s :p ?o }} INSERT {{ ?s :p 001 ; :r +7 }} WHERE {{ ?s :p ?o }}",
        author(),
    )
    assert rows(pool, "SELECT DISTINCT ?o { ?s :p ?o }") == ["001"]
    assert rows(pool, "SELECT ?o { :c :r ?o }") == ["+7"]
    updater.update(f"{HEAD} INSERT DATA {{ :c :p 1.0 , 01 }}", author())  # 01 is there, as 001
    assert rows(pool, "SELECT ?o { :c :p ?o }") == ["001", "1.0"]
    kb.writer.write(
        [], list(kb.store.match(NamedNode("https://e.org/c"))), key="k", who="w", why="y"
    )
    pool.refresh()
    assert rows(pool, "SELECT DISTINCT ?o { ?s :p ?o }") == ["001"]
    updater.update("DROP ALL", author())
    assert not any_form(kb.store.match)


def test_a_graph_that_is_copied_moved_or_replaced_has_the_forms_of_what_it_holds(
    updater: Updater, pool: QueryPool
) -> None:
    put(updater, "https://e.org/g", NUMBERS)
    put(updater, "https://e.org/h", "<https://e.org/a> <https://e.org/p> 1 .")
    updater.update(f"{HEAD} COPY :g TO :h ; ADD :g TO :k ; MOVE :g TO DEFAULT", author())
    for where in (":h", ":k"):
        assert rows(pool, f"SELECT ?o {{ GRAPH {where} {{ :a :p ?o }} }}") == ["01"]
    assert told(pool) == told(pool, "https://e.org/k")
    put(updater, "", "<https://e.org/a> <https://e.org/p> 1 , 2.50 .")
    assert rows(pool, "SELECT ?o { :a :p ?o }") == ["1", "2.50"]
    put(updater, "", "<https://e.org/a> <https://e.org/p> +1 , 2.50 .")  # the same values
    assert rows(pool, "SELECT ?o { :a :p ?o }") == ["+1", "2.50"]


def test_nobody_sees_where_the_forms_lie(
    updater: Updater, pool: QueryPool, kb: KnowledgeBase
) -> None:
    put(updater, "https://e.org/g", NUMBERS)
    count = "SELECT (COUNT(*) AS ?n) { { ?s ?p ?o } UNION { GRAPH ?g { ?s ?p ?o } } }"
    assert rows(pool, count) == ["6"]
    assert rows(pool, "SELECT ?g { GRAPH ?g { } }") == ["<https://e.org/g>"]
    assert rows(pool, "SELECT * FROM <https://w3id.org/shiyi/graph/written> { ?s ?p ?o }") == []
    assert pool.query(FreeQuery(count, whole=True)).body.count(b'"6"') == 1
    assert pool.dump(WRITTEN.value, "nt") is None
    plain = pool.query(
        FreeQuery("SELECT ?p ?o { GRAPH ?g { <https://e.org/a> ?p ?o } }", profile="rdf11")
    )
    assert b'"01"' in plain.body
    updater.update(
        "DELETE { GRAPH ?g { ?s ?p ?o } } INSERT { ?s ?p ?o } WHERE { GRAPH ?g { ?s ?p ?o } }",
        author(),
    )
    assert rows(pool, count) == ["6"]
    with pytest.raises(QueryRefusedError):
        updater.update(f"INSERT DATA {{ GRAPH {WRITTEN} {{ <urn:a> <urn:a> 1 }} }}", author())
    with pytest.raises(QueryRefusedError):
        put(updater, WRITTEN.value, NUMBERS)


def test_dumps_are_as_written_and_hold_no_more(updater: Updater, kb: KnowledgeBase) -> None:
    put(updater, "", NUMBERS)
    lines = dump(kb.store, "nq").decode()
    assert f'"01"^^<{XSD}integer> .' in lines
    assert f'dose> "1.50"^^<{XSD}decimal> )>> .' in lines
    assert len(lines.splitlines()) == 6
    assert "-3" in dump(kb.store, "ttl").decode()
    assert "urn:shiyi" not in lines


def test_a_journal_repeated_and_a_backup_restored_have_the_same_forms(
    updater: Updater, kb: KnowledgeBase, tmp_path: Path
) -> None:
    put(updater, "", NUMBERS)
    updater.update(
        f"{HEAD} DELETE DATA {{ :b :p -3 }} ; INSERT DATA {{ :d :p 0.10, _:b . _:b :p 0.20 }}",
        author(),
    )
    forms = written_lines(kb.store.match)
    assert len(forms) == 5
    back_up(kb.path, tmp_path / "backup")
    updater.close()
    kb.close()
    restore(tmp_path / "backup", tmp_path / "again")
    with KnowledgeBase.open(tmp_path / "again") as again:
        assert written_lines(again.store.match) == forms
    build_generation(kb.path, [], {})  # a new base repeats the journal
    with KnowledgeBase.open(kb.path) as again:
        assert written_lines(again.store.match) == forms
