"""Long results: whole or an error, at constant memory in the server and in its workers."""

import hashlib
import http.client
import json
import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from urllib.parse import quote

import psutil
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shiyi.errors import QueryLimitError
from shiyi.settings import QuerySettings
from shiyi.sparql.base.knowledge_base import KnowledgeBase
from shiyi.sparql.queries.requests import FreeQuery
from shiyi.sparql.queries.results import SOLUTION_TYPES, LiveSpool, ResultFormat, Spool
from shiyi.sparql.sandbox.framing import RowCounter
from shiyi.sparql.sandbox.pool import QueryPool
from tests.support.sites import endpoint

LONG = "SELECT ?a ?b { ?a <https://example.org/p> ?x . ?b <https://example.org/p> ?y } LIMIT 150000"
SETTINGS = QuerySettings(workers=1, timeout=30.0)
CUT = {"rows": replace(SETTINGS, rows=149_999), "bytes": replace(SETTINGS, bytes=3_000_000)}


def row_count(form: str, body: bytes) -> int:
    counter = RowCounter(form)
    counter.feed(body)
    return max(0, counter.rows)


@pytest.fixture(scope="module")
def pool(shared_kb: Path) -> Iterator[QueryPool]:
    with KnowledgeBase.open(shared_kb) as kb, QueryPool(kb, SETTINGS) as made:
        yield made


@pytest.mark.parametrize("form", SOLUTION_TYPES)
def test_a_long_result_is_whole(pool: QueryPool, form: str) -> None:
    result = pool.stream(FreeQuery(LONG, accept=ResultFormat.of(form)))
    with result.body as body:
        assert result.rows == 150_000
        assert not body.is_short
        whole = body.read()
        assert len(whole) == body.size == sum(map(len, body.parts()))
        assert row_count(form, whole) == 150_000
        assert hashlib.blake2b(whole, digest_size=16).hexdigest() == body.digest


def test_a_longer_result_needs_no_more_memory(pool: QueryPool) -> None:
    worker = psutil.Process(pool._workers[0].process.pid)

    def after(rows: int) -> tuple[int, int]:
        text = LONG.replace("150000", str(rows))
        with pool.stream(FreeQuery(text, accept=ResultFormat.of("json"))).body as body:
            assert body.size > 100 * rows
            for _ in body.parts():
                pass
        return worker.memory_info().rss, psutil.Process(os.getpid()).memory_info().rss

    before, longer = after(20_000), after(400_000)  # 60 MB of JSON
    assert longer[0] - before[0] < 8 << 20
    assert longer[1] - before[1] < 8 << 20


@pytest.mark.parametrize("limit", ["rows", "bytes"])
def test_streamed_result_past_limit_ends_in_error(shared_kb: Path, limit: str) -> None:
    with KnowledgeBase.open(shared_kb) as kb, QueryPool(kb, CUT[limit]) as pool:
        with pytest.raises(QueryLimitError) as caught:
            pool.stream(FreeQuery(LONG))
        assert caught.value.limit == limit
        assert pool.query(FreeQuery("ASK { ?s ?p ?o }")).rows == 1


def test_request_may_lower_rows_and_not_raise_them(pool: QueryPool) -> None:
    with pytest.raises(QueryLimitError, match="more than 10 rows"):
        pool.query(FreeQuery(LONG, rows=10))
    assert pool.query(FreeQuery("SELECT * { ?s ?p ?o }", rows=10_000_000)).rows == 2000


@given(st.binary(max_size=60).map(lambda tail: b'a\r\n"x\r\n' + tail), st.integers(1, 7))
def test_rows_counted_in_parts_those_counted_at_once(body: bytes, step: int) -> None:
    for form in ("csv", "tsv", "xml", "json"):
        counter = RowCounter(form)
        for start in range(0, len(body), step):
            counter.feed(body[start : start + step])
        assert max(0, counter.rows) == row_count(form, body)


@given(st.lists(st.text(alphabet='[{,"\\}]x', max_size=6), max_size=6), st.integers(1, 9))
def test_rows_of_json_are_counted_with_any_texts(texts: list[str], step: int) -> None:
    rows = [{"a": {"type": "literal", "value": text}} for text in texts]
    body = json.dumps(
        {"head": {"vars": ["a"]}, "results": {"bindings": rows}}, separators=(",", ":")
    )
    counter = RowCounter("json")
    for start in range(0, len(body), step):
        counter.feed(body[start : start + step].encode())
    assert counter.rows == len(rows)


def test_spool_returns_content_from_memory_and_disk() -> None:
    for term in (100, 3):
        with Spool(term) as spool:
            spool.add(b"one")
            spool.add(b"two")
            assert spool.is_short == (term == 100)
            assert [spool.read(), spool.read()] == [b"onetwo"] * 2


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, int]]:
    with endpoint(tmp_path_factory.mktemp("streaming")) as (base, secret):
        host, _, port = base.removeprefix("http://").partition(":")
        data = " ".join(f"<urn:s{i}> <urn:p> {i} ." for i in range(500))
        _ask(
            (host, int(port)),
            "POST",
            "/sparql",
            f"INSERT DATA {{ {data} }}".encode(),
            {"Content-Type": "application/sparql-update", "Authorization": f"Bearer {secret}"},
        )
        yield host, int(port)


def _ask(
    address: tuple[str, int],
    method: str,
    path: str,
    body: bytes | None = None,
    headers: dict[str, str] | None = None,
) -> tuple[int, http.client.HTTPMessage, bytes]:
    connection = http.client.HTTPConnection(*address, timeout=60)
    try:
        connection.request(method, path, body, headers or {})
        reply = connection.getresponse()
        return reply.status, reply.headers, reply.read()
    finally:
        connection.close()


LONG_PATH = "/sparql?query=" + quote("SELECT ?a ?b { ?a <urn:p> ?x . ?b <urn:p> ?y }")
SHORT_PATH = "/sparql?query=" + quote("SELECT ?a { ?a <urn:p> ?x }")


@pytest.mark.parametrize("path", [LONG_PATH, SHORT_PATH])
def test_what_a_client_has_is_not_sent_again(address: tuple[str, int], path: str) -> None:
    etag = _ask(address, "HEAD", path)[1]["ETag"]
    for name in (etag, f"W/{etag}"):  # a proxy that compresses makes it weak
        status, message, body = _ask(address, "GET", path, None, {"If-None-Match": name})
        assert (status, body, message["ETag"]) == (304, b"", etag)
    assert _ask(address, "GET", path, None, {"If-None-Match": '"other"'})[0] == 200


def test_head_says_what_get_would_and_sends_nothing(address: tuple[str, int]) -> None:
    for path in (LONG_PATH, SHORT_PATH):
        head, got = _ask(address, "HEAD", path), _ask(address, "GET", path)
        assert head[2] == b""
        # a long result is sent before its length is known
        names = ("Content-Length", "ETag") if path == SHORT_PATH else ()
        for name in ("Content-Type", "Vary", *names):
            assert head[1][name] == got[1][name]


def test_long_result_streams_before_it_is_complete(pool: QueryPool) -> None:
    whole = pool.query(FreeQuery(LONG, accept=ResultFormat.of("csv"))).body
    query = FreeQuery(LONG, accept=ResultFormat.of("csv"), live=True)
    with pool.stream(query).body as body:
        assert isinstance(body, LiveSpool)
        parts = body.parts()
        first = next(parts)
        assert first + b"".join(parts) == whole
    short = replace(query, text="SELECT * { ?s ?p ?o } LIMIT 3")
    assert pool.stream(short).body.is_short


@pytest.mark.parametrize("limit", ["rows", "bytes"])
def test_limit_behind_first_part_breaks_result_off(shared_kb: Path, limit: str) -> None:
    with KnowledgeBase.open(shared_kb) as kb, QueryPool(kb, CUT[limit]) as pool:
        query = FreeQuery(LONG, accept=ResultFormat.of("csv"), live=True)
        with pool.stream(query).body as body, pytest.raises(QueryLimitError) as caught:
            body.read()
        assert caught.value.limit == limit
        assert pool.query(FreeQuery("ASK { ?s ?p ?o }")).rows == 1


def test_a_reader_who_leaves_frees_the_worker(shared_kb: Path) -> None:
    with KnowledgeBase.open(shared_kb) as kb, QueryPool(kb, SETTINGS) as pool:
        text = LONG.replace("150000", "900000")
        pool.stream(FreeQuery(text, accept=ResultFormat.of("csv"), live=True)).body.close()
        assert pool.query(FreeQuery("ASK { ?s ?p ?o }")).rows == 1


def test_a_transfer_that_breaks_off_has_no_end(address: tuple[str, int]) -> None:
    query = quote("SELECT * { ?a <urn:p> ?x . ?b <urn:p> ?y . ?c <urn:p> ?z }")
    with pytest.raises(http.client.IncompleteRead):
        _ask(address, "GET", f"/sparql?timeout=1&query={query}", None, {"Accept": "text/csv"})


def test_another_site_may_ask_and_write_with_token(address: tuple[str, int]) -> None:
    for path, method in (("/sparql", "POST"), ("/rdf-graph-store?default", "PUT")):
        status, text, _ = _ask(
            address,
            "OPTIONS",
            path,
            None,
            {
                "Origin": "https://elsewhere.example",
                "Access-Control-Request-Method": method,
                "Access-Control-Request-Headers": "authorization, content-type",
            },
        )
        assert status in {200, 204}
        assert text["Access-Control-Allow-Origin"] == "*"
        assert method in text["Access-Control-Allow-Methods"]
        assert method in text["Allow"]
        assert "Authorization" in text["Access-Control-Allow-Headers"]
