"""What rows of queries say of literals that a base holds in another form than their value's."""

import re
from collections.abc import Iterator

import pytest

from shiyi.settings import QuerySettings
from shiyi.sparql.free_query import FreeQuery
from shiyi.sparql.generations import build_generation
from shiyi.sparql.knowledge_base import KnowledgeBase
from shiyi.sparql.results import ResultFormat
from shiyi.sparql.updates import Updater
from shiyi.sparql.workers import QueryPool
from tests.updating import HEAD, NUMBERS, XSD, put, rows


@pytest.fixture(scope="module")
def numbers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[QueryPool]:
    """A base that holds ``NUMBERS``, for tests that only ask."""
    folder = tmp_path_factory.mktemp("numbers") / "kb"
    build_generation(folder, [], {})
    with KnowledgeBase.open(folder, write=True) as base:
        updater = Updater(base, QuerySettings(timeout=20), lambda: None)
        put(updater, "", NUMBERS)
        updater.close()
        with QueryPool(base, QuerySettings(workers=1)) as opened:
            yield opened


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("SELECT ?o { :a :p ?o }", ["01"]),
        ("SELECT ?o { :b :p ?o }", [f'"-3"^^<{XSD}negativeInteger>']),
        ("SELECT ?o { ?s :q ?o FILTER(?o > 1) }", ["1.50"]),  # as many as are compared, as written
        ("SELECT DISTINCT ?o { ?s :p ?o }", [f'"-3"^^<{XSD}negativeInteger>', "1"]),  # 1 and 01 are one
        ("SELECT (?o + 0 AS ?x) { :a :p ?o }", ["1"]),
        ("SELECT ?s ?o { ?s :q 1 { SELECT ?o { ?s :p ?o FILTER(?o < 0) } } }",  # of another ?s
         [f'<https://e.org/a>\t"-3"^^<{XSD}negativeInteger>']),
        ("SELECT ?o { :a :p ?x BIND(?x AS ?o) }", ["1"]),
        ("SELECT ?s ?o { ?s :p ?o } ORDER BY ?o ?s LIMIT 2",
         [f'<https://e.org/b>\t"-3"^^<{XSD}negativeInteger>', "<https://e.org/a>\t01"]),
        ("SELECT ?t { ?c ?reifies ?t FILTER(isTRIPLE(?t)) }", ["<<( <https://e.org/a> <https://e.org/dose> 1.5 )>>"]),
        ("SELECT ?t { :claim ?reifies ?t }", ["<<( <https://e.org/a> <https://e.org/dose> 1.50 )>>"]),
        ("CONSTRUCT { ?s :said ?o } { ?s :p ?o FILTER(?s = :a) }",
         [f'<https://e.org/a> <https://e.org/said> "01"^^<{XSD}integer> .']),
        ("CONSTRUCT WHERE { :b ?p ?o }",
         [f'<https://e.org/b> <https://e.org/p> "-3"^^<{XSD}negativeInteger> .',
          f'<https://e.org/b> <https://e.org/q> "1.50"^^<{XSD}decimal> .']),
        ("CONSTRUCT { :x :y ?o } { ?s :p ?o }",  # of two quads, which need not agree
         [f'<https://e.org/x> <https://e.org/y> "-3"^^<{XSD}negativeInteger> .',
          f'<https://e.org/x> <https://e.org/y> "1"^^<{XSD}integer> .']),
        # rdflib takes the escape for a quote, and the rest of the line for a comment
        ("SELECT ?o { { :a :p ?o FILTER('\\u0027 != \"\") } #' != '') } UNION { :c :p ?o } \n}", ["1", "1"]),
        ("PREFIX same: <https://e.org/> SELECT ?o { :a :p ?o }", ["1"]),  # rdflib forgets the other
        ("CONSTRUCT { ?s :said ?x } { ?s :p ?o FILTER(?s = :a) BIND(?o AS ?x) }",  # of no pattern
         [f'<https://e.org/a> <https://e.org/said> "1"^^<{XSD}integer> .']),
        ("CONSTRUCT { ?s :said ?o , ?x } { ?s :p ?o FILTER(?s = :a) BIND(?o AS ?x) }",
         [f'<https://e.org/a> <https://e.org/said> "1"^^<{XSD}integer> .']),
        ("SELECT ?o { { :a :p ?o } UNION { BIND(1 AS ?o) } }", ["1", "1"]),
        ("SELECT ?o { { :a :p ?o } UNION { VALUES ?o { 1 } } }", ["1", "1"]),
        ("SELECT ?o { { :a :p ?o } UNION { :a :q|:none ?o } }", ["1", "1"]),
        ("SELECT ?o { :a :p ?o MINUS { :c :p ?o ; :none ?x } }", ["01"]),  # what is taken away gives nothing
        ("SELECT ?o FROM <urn:none> { { :a :p ?o } UNION { VALUES ?o { 1 } } }", ["1"]),
        ("SELECT ?s ?o { { :b :p ?s ; :q ?o } UNION { ?s :none ?o } }",  # a literal is no subject
         [f'"-3"^^<{XSD}negativeInteger>\t1.50']),
        ("DESCRIBE :a", [f'<https://e.org/a> <https://e.org/p> "01"^^<{XSD}integer> .',
                         f'<https://e.org/a> <https://e.org/q> "1"^^<{XSD}integer> .']),
    ],
)  # fmt: skip
def test_a_form_is_given_back_where_it_is_certain(
    numbers: QueryPool, query: str, expected: list[str]
) -> None:
    assert rows(numbers, query) == sorted(expected)


@pytest.mark.parametrize("form", ["json", "xml", "csv", "tsv"])
def test_every_format_of_results_says_it(numbers: QueryPool, form: str) -> None:
    asked = f"{HEAD} SELECT ?o {{ :b :q ?o }}"
    body = numbers.query(FreeQuery(asked, accept=ResultFormat.of(form))).body.decode()
    assert re.search(r"\b1\.50\b", body)
