"""What docs/sparql.md says of the endpoint is what the endpoint has."""

from pathlib import Path

import pytest

from shiyi.settings import Settings
from shiyi.sparql.guard import MAX_DEPTH
from shiyi.sparql.queries import query_names
from shiyi.sparql.results import GRAPH_TYPES, SOLUTION_TYPES

PAGE = (Path(__file__).parents[1] / "docs" / "sparql.md").read_text(encoding="utf-8")
NAMES = [name for name in query_names() if not name.startswith("qc/")]


def test_there_are_queries_to_document() -> None:
    assert len(NAMES) > 10


@pytest.mark.parametrize("name", NAMES)
def test_each_named_query_is_worked_out(name: str) -> None:
    assert f"\n### {name}\n" in PAGE, "run python docs/make_sparql.py"


def test_each_format_and_limit_is_told() -> None:
    written = PAGE.replace("\\|", "|")
    for name in (*SOLUTION_TYPES, *GRAPH_TYPES):
        assert f"|{name}" in written or f"={name}|" in written
    limits = Settings().query
    assert f"{limits.rows:,} rows, {limits.bytes // 1_000_000} MB" in PAGE
    assert f"{limits.timeout:g} s, " in PAGE
    assert f"{MAX_DEPTH} levels" in PAGE
    assert f"seconds, up to {limits.timeout_cap:g}" in PAGE
