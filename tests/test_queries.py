import pytest

from shiyi.errors import FormatError, UsageError
from shiyi.model.rdf import Literal, Quad
from shiyi.sparql.oxigraph import OxigraphStore
from shiyi.sparql.queries import Query, query_names
from tests.contracts import A, P


def test_there_are_named_queries() -> None:
    assert "about" in query_names()


@pytest.mark.parametrize("name", query_names())
def test_each_query_opens_with_its_question_and_parses(name: str) -> None:
    query = Query.named(name)
    assert "?" in query.question_en
    assert "？" in query.question_zh
    store = OxigraphStore.in_memory()
    ask = store.construct if "CONSTRUCT" in query.text else store.select
    assert len(list(ask(query.text))) <= 1  # a count has a row even of nothing


def test_the_input_of_a_query_is_bound() -> None:
    store = OxigraphStore.in_memory()
    store.change([Quad(A, P, Literal("甘", language="zh"))])
    rows = list(store.select(Query.named("about").text, resource=A))
    assert [row["value"] for row in rows] == [Literal("甘", language="zh")]


def test_an_unknown_query_is_answered_with_the_known_ones() -> None:
    with pytest.raises(FormatError, match="about"):
        Query.named("../pyproject")


@pytest.mark.parametrize("first", ["SELECT * {}", "# only English?", "# 只有中文？", "# no / mark"])
def test_a_query_without_its_question_is_refused(first: str) -> None:
    with pytest.raises(UsageError, match="question"):
        Query.parse("x", first + "\nSELECT * {}")
