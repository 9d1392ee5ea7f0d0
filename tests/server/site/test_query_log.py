"""The log of free queries tells what was asked and how it went, and nothing of who asked."""

import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from flask.testing import FlaskClient

from shiyi.server.app import create_app
from shiyi.server.site import query_log
from shiyi.server.site.opening import open_site
from shiyi.server.site.query_log import FILE, QueryLog, log_query, shape
from shiyi.settings import QuerySettings, Settings
from shiyi.sparql.base.knowledge_base import build_generation
from tests.support.sites import quads
from tests.tables import from_table

NAME = "张三丰"


@pytest.fixture
def asked(tmp_path: Path) -> Iterator[tuple[FlaskClient, Path]]:
    build_generation(tmp_path / "kb", quads(), {})
    site = open_site(tmp_path / "kb", replace(Settings(), query=QuerySettings(workers=1)))
    try:
        yield create_app(site).test_client(), tmp_path / "kb" / FILE
    finally:
        site.close()


def lines(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


def test_each_query_noted_once_with_how_it_went(asked: tuple[FlaskClient, Path]) -> None:
    client, file = asked
    assert not file.exists()
    text = f"SELECT ?s {{ ?s ?p ?o FILTER(STR(?o) != '{NAME}') }} # {NAME}"
    for query, accept in (
        (text, "text/csv"),
        (text, "text/html"),
        (f"SELECT {NAME}", "text/csv"),
        ("SELECT * { SERVICE <urn:x> { ?s ?p ?o } }", "text/csv"),
        ("DESCRIBE <mailto:li@example.org>", "text/turtle"),
    ):
        client.get(
            "/sparql",
            query_string={"query": query},
            headers={
                "Accept": accept,
                "User-Agent": NAME.encode("utf-8").decode("latin-1"),
                "Authorization": "Basic eDp5",
                "Cookie": f"lang=en; me={'x' * 9}",
            },
        )
    client.application.extensions["shiyi"].log.flush()
    log_query = lines(file)
    assert [record["outcome"] for record in log_query] == [
        "whole",
        "whole",
        "QueryError",
        "QueryRefusedError",
        "whole",
    ]
    assert [record["form"] for record in log_query] == ["SELECT"] * 4 + ["DESCRIBE"]
    assert log_query[0]["query"] == "SELECT ?s { ?s ?p ?o FILTER(STR(?o) != '') }"
    assert log_query[2]["query"] == ""
    assert log_query[0]["bytes"] > 0
    written = file.read_text(encoding="utf-8")
    for message in (NAME, "127.0.0.1", "eDp5", "li@example.org", "xxxxxxxxx"):
        assert message not in written
    assert set(log_query[0]) == {"hour", "form", "outcome", "ms", "bytes", "query"}


@from_table
def test_shape_holds_no_text_number_or_foreign_name(text: str, left: str) -> None:
    assert shape(text) == left


def test_full_log_restarts_and_unwritable_log_is_off(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(query_log, "LARGEST", 1000)
    log = QueryLog(tmp_path, lambda: datetime(2026, 11, 22, 3, 59, tzinfo=UTC))
    for _ in range(40):
        log.note("ASK {}", "ASK", "whole", 0.001)
    log.close()
    assert sorted(path.name for path in tmp_path.iterdir()) == [FILE, f"{FILE}.1"]
    assert lines(tmp_path / FILE)[-1]["hour"] == "2026-11-22T03Z"
    assert sum(path.stat().st_size for path in tmp_path.iterdir()) < 2100
    nowhere = QueryLog(tmp_path / "none")
    nowhere.note("ASK {}", "ASK", "whole", 0.001)
    nowhere.close()


def test_no_log_is_written_where_settings_forbid(tmp_path: Path) -> None:
    build_generation(tmp_path / "kb", quads(), {})
    site = open_site(
        tmp_path / "kb", replace(Settings(), query=QuerySettings(workers=1, log=False))
    )
    try:
        client = create_app(site).test_client()
        assert client.get("/sparql?query=ASK {}", headers={"Accept": "text/csv"}).status_code == 200
        assert not (tmp_path / "kb" / FILE).exists()
    finally:
        site.close()


def test_internal_error_is_logged_without_query(tmp_path: Path) -> None:
    log = QueryLog(tmp_path)
    with pytest.raises(ZeroDivisionError), log_query(log, f"SELECT {NAME}", "SELECT"):
        _ = 1 / 0
    with log_query(log, "ASK {}", "ASK") as message:
        message(5)
    log.close()
    assert [(line["outcome"], line["query"]) for line in lines(tmp_path / FILE)] == [
        ("fault", ""),
        ("whole", "ASK {}"),
    ]
