"""Long results: whole or an error, at constant memory in the server and in its workers."""

import gzip
import hashlib
import http.client
import json
import os
import sys
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
from shiyi.sparql.free_query import FreeQuery
from shiyi.sparql.knowledge_base import KnowledgeBase
from shiyi.sparql.results import SOLUTION_TYPES, ResultFormat
from shiyi.sparql.spool import Spool
from shiyi.sparql.worker_rows import RowCounter, count_rows
from shiyi.sparql.workers import QueryPool
from tests.endpoint import endpoint

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

LONG = "SELECT ?a ?b { ?a <https://example.org/p> ?x . ?b <https://example.org/p> ?y } LIMIT 150000"
SETTINGS = QuerySettings(workers=1, timeout=30.0)
CUT = {"rows": replace(SETTINGS, rows=149_999), "bytes": replace(SETTINGS, bytes=3_000_000)}


@pytest.fixture(scope="module")
def pool(shared_kb: Path) -> Iterator[QueryPool]:
    with KnowledgeBase.open(shared_kb) as kb, QueryPool(kb, SETTINGS) as made:
        yield made


@pytest.mark.parametrize("form", SOLUTION_TYPES)
def test_a_long_result_is_whole(pool: QueryPool, form: str) -> None:
    made = pool.stream(FreeQuery(LONG, accept=ResultFormat.of(form)))
    with made.body as body:
        assert made.rows == 150_000
        assert not body.is_short
        whole = body.read()
        assert len(whole) == body.size == sum(map(len, body.parts()))
        assert count_rows(form, whole) == 150_000
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
def test_a_long_result_past_its_limit_is_an_error_though_parts_were_passed_on(
    shared_kb: Path, limit: str
) -> None:
    with KnowledgeBase.open(shared_kb) as kb, QueryPool(kb, CUT[limit]) as pool:
        with pytest.raises(QueryLimitError) as caught:
            pool.stream(FreeQuery(LONG))
        assert caught.value.limit == limit
        assert pool.query(FreeQuery("ASK { ?s ?p ?o }")).rows == 1


def test_a_request_may_lower_the_rows_and_not_raise_them(pool: QueryPool) -> None:
    with pytest.raises(QueryLimitError, match="more than 10 rows"):
        pool.query(FreeQuery(LONG, rows=10))
    assert pool.query(FreeQuery("SELECT * { ?s ?p ?o }", rows=10_000_000)).rows == 2000


@given(st.binary(max_size=60).map(lambda tail: b'a\r\n"x\r\n' + tail), st.integers(1, 7))
def test_rows_counted_in_parts_are_those_counted_at_once(body: bytes, step: int) -> None:
    for form in ("csv", "tsv", "xml", "json"):
        counter = RowCounter(form)
        for start in range(0, len(body), step):
            counter.feed(body[start : start + step])
        assert max(0, counter.rows) == count_rows(form, body)


@given(st.lists(st.text(alphabet='[{,"\\}]x', max_size=6), max_size=6), st.integers(1, 9))
def test_rows_of_json_are_counted_whatever_the_texts_hold(texts: list[str], step: int) -> None:
    rows = [{"a": {"type": "literal", "value": text}} for text in texts]
    body = json.dumps(
        {"head": {"vars": ["a"]}, "results": {"bindings": rows}}, separators=(",", ":")
    )
    counter = RowCounter("json")
    for start in range(0, len(body), step):
        counter.feed(body[start : start + step].encode())
    assert counter.rows == len(rows)


def test_a_spool_gives_back_what_it_took_in_memory_and_on_disk() -> None:
    for kept in (100, 3):
        with Spool(kept) as spool:
            spool.add(b"one")
            spool.add(b"two")
            assert spool.is_short == (kept == 100)
            assert [spool.read(), spool.read()] == [b"onetwo"] * 2


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, int]]:
    with endpoint(tmp_path_factory.mktemp("streaming")) as (base, secret):
        host, _, port = base.removeprefix("http://").partition(":")
        data = " ".join(f"<urn:s{i}> <urn:p> {i} ." for i in range(500))
        _ask((host, int(port)), "POST", "/sparql", f"INSERT DATA {{ {data} }}".encode(), {
            "Content-Type": "application/sparql-update", "Authorization": f"Bearer {secret}",
        })  # fmt: skip
        yield host, int(port)


def _ask(
    address: tuple[str, int], method: str, path: str, body: bytes | None = None,
    headers: dict[str, str] | None = None,
) -> tuple[int, http.client.HTTPMessage, bytes]:  # fmt: skip
    connection = http.client.HTTPConnection(*address, timeout=60)
    try:
        connection.request(method, path, body, headers or {})
        reply = connection.getresponse()
        return reply.status, reply.headers, reply.read()
    finally:
        connection.close()


LONG_PATH = "/sparql?query=" + quote("SELECT ?a ?b { ?a <urn:p> ?x . ?b <urn:p> ?y }")
SHORT_PATH = "/sparql?query=" + quote("SELECT ?a { ?a <urn:p> ?x }")
UNPACK = {"gzip": gzip.decompress, "zstd": zstd.decompress}


@pytest.mark.parametrize("path", [LONG_PATH, SHORT_PATH])
@pytest.mark.parametrize(
    ("accepted", "coding"),
    [
        ("gzip", "gzip"), ("zstd", "zstd"), ("gzip, zstd", "zstd"), ("zstd;q=0.5, gzip", "gzip"),
        ("*", "gzip"), ("gzip;q=0, zstd;q=0", None), ("identity, gzip;q=0.5", None), ("br", None),
        (None, None),
    ],
)  # fmt: skip
def test_a_client_gets_the_coding_it_prefers(
    address: tuple[str, int], path: str, accepted: str | None, coding: str | None
) -> None:
    headers = {"Accept": "text/csv"} | ({"Accept-Encoding": accepted} if accepted else {})
    status, said, body = _ask(address, "GET", path, None, headers)
    assert (status, said["Content-Encoding"]) == (200, coding)
    assert "Accept-Encoding" in said["Vary"]
    plain = UNPACK[coding](body) if coding else body
    assert plain.count(b"\r\n") == (250_001 if path == LONG_PATH else 501)


@pytest.mark.parametrize("path", [LONG_PATH, SHORT_PATH])
@pytest.mark.parametrize("coding", ["", "gzip", "zstd"])
def test_what_a_client_has_is_not_sent_again(
    address: tuple[str, int], path: str, coding: str
) -> None:
    headers = {"Accept-Encoding": coding}
    _, said, _ = _ask(address, "HEAD", path, None, headers)
    status, again, body = _ask(
        address, "GET", path, None, headers | {"If-None-Match": said["ETag"]}
    )
    assert (status, body) == (304, b"")
    assert again["ETag"].removeprefix("W/") == said["ETag"].removeprefix("W/")
    assert _ask(address, "GET", path, None, headers | {"If-None-Match": '"other"'})[0] == 200


def test_head_says_what_get_would_and_sends_nothing(address: tuple[str, int]) -> None:
    for path in (LONG_PATH, SHORT_PATH):
        head, got = _ask(address, "HEAD", path), _ask(address, "GET", path)
        assert head[2] == b""
        for name in ("Content-Type", "Content-Length", "ETag", "Vary"):
            assert head[1][name] == got[1][name]


def test_another_site_may_ask_and_write_with_a_token(address: tuple[str, int]) -> None:
    for path, method in (("/sparql", "POST"), ("/rdf-graph-store?default", "PUT")):
        status, said, _ = _ask(address, "OPTIONS", path, None, {
            "Origin": "https://elsewhere.example", "Access-Control-Request-Method": method,
            "Access-Control-Request-Headers": "authorization, content-type",
        })  # fmt: skip
        assert status in {200, 204}
        assert said["Access-Control-Allow-Origin"] == "*"
        assert method in said["Access-Control-Allow-Methods"]
        assert method in said["Allow"]
        assert "Authorization" in said["Access-Control-Allow-Headers"]
