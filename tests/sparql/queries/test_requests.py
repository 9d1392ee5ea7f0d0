import pytest
from pyoxigraph import QuerySolutions, Store

from shiyi.errors import QueryError, TooLargeError
from shiyi.sparql.queries.requests import MAX_DEPTH, check_query, nest
from tests.tables import cases, from_table

SERVICE = [text for (text,) in cases("sparql", "service_forms")]


@pytest.mark.parametrize("text", SERVICE)
def test_service_is_refused_in_every_disguise(text: str) -> None:
    with pytest.raises(QueryError, match="SERVICE is not offered"):
        check_query(text, 10_000)


@pytest.mark.parametrize("text", SERVICE[:-1])
def test_service_keyword_is_refused_without_isolation(text: str) -> None:
    with pytest.raises(QueryError, match="SERVICE is not offered"):
        check_query(text, 10_000, network_blocked=False)


@from_table
def test_keywords_inside_literals_and_comments_are_allowed(text: str) -> None:
    check_query(text, 10_000)


@from_table
def test_an_update_is_named_as_one(text: str) -> None:
    with pytest.raises(QueryError, match="update"):
        check_query(text, 10_000)


@pytest.mark.parametrize(("begin", "end"), [("{", "}"), ("(", ")"), ("[", "]"), ("{(", ")}")])
def test_nesting_stops_at_its_bound(begin: str, end: str) -> None:
    depth = (MAX_DEPTH - 1) // len(begin)
    check_query("ASK {" + begin * depth + end * depth + "}", 10_000)
    with pytest.raises(QueryError, match="nests"):
        check_query("ASK {" + begin * 200 + end * 200 + "}", 10_000)


def test_a_query_is_measured_in_bytes() -> None:
    check_query("ASK { ?s ?p '甘' }", 19)
    with pytest.raises(TooLargeError, match="19 bytes; at most 18"):
        check_query("ASK { ?s ?p '甘' }", 18)


def test_a_lone_surrogate_is_no_text() -> None:
    with pytest.raises(QueryError, match="Unicode"):
        check_query("ASK { ?s ?p '\ud800' }", 1000)


@pytest.mark.parametrize("negation", ["", "NOT "])
@from_table
def test_exists_written_for_engine_says_same(exists: str, nested: bool, negation: str) -> None:
    store = Store()
    store.update(
        "PREFIX e: <urn:e:> INSERT DATA { e:a e:p e:b . e:b e:p e:c . e:c e:p e:d , e:a . e:b a e:T }"
    )
    query = f"SELECT * {{ ?a <urn:e:p> ?y FILTER {negation}EXISTS {exists} }} ORDER BY ?a ?y"
    text = f"PREFIX e: <urn:e:> {query}"
    assert (nest(text) != text) == nested
    results = [store.query(name) for name in (text, nest(text))]
    first, second = (
        list(map(str, result)) for result in results if isinstance(result, QuerySolutions)
    )
    assert first == second


def test_exists_is_looked_up_from_what_is_bound() -> None:
    text = "SELECT ?a { ?a ?p 1 FILTER EXISTS { ?x ?q ?y . ?a ?q ?x FILTER(?y > 2) } }"
    expected = (
        "SELECT ?a { ?a ?p 1 FILTER EXISTS { ?a ?q ?x FILTER EXISTS { ?x ?q ?y FILTER(?y > 2) } } }"
    )
    assert nest(text) == expected
