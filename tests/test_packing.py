"""What is packed comes out as it went in, and what is kept of it is bounded."""

import gzip
import hashlib
import sys
from functools import partial
from pathlib import Path

import pytest
from flask.testing import FlaskClient

from shiyi.server.app import create_app
from shiyi.server.packing import Packed
from tests.server_site import open_test_site

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd


def test_a_kept_page_is_packed_once_and_unpacks_to_itself() -> None:
    packed, body = Packed(), "山药 ".encode() * 9999
    for name, unpack in (("gzip", gzip.decompress), ("zstd", zstd.decompress)):
        first = packed(name, b"1", lambda: body)
        assert unpack(first) == body
        assert packed(name, b"1", lambda: b"") is first
        assert unpack(packed(name, b"2", lambda: b"other")) == b"other"


def test_no_more_is_kept_than_allowed() -> None:
    packed = Packed(100_000)
    for number in range(200):
        body = hashlib.shake_256(b"%d" % number).digest(1000)
        assert gzip.decompress(packed("gzip", b"%d" % number, partial(bytes, body))) == body
    assert packed._size <= 100_000
    assert packed._size >= sum(map(len, packed._kept.values()))
    assert 0 < len(packed._kept) < 200
    large = hashlib.shake_256(b"large").digest(300_000)
    assert packed("gzip", b"l", lambda: large) is not packed("gzip", b"l", lambda: large)


@pytest.mark.parametrize("coding", ["gzip", "zstd"])
def test_pages_are_the_same_packed_and_not(tmp_path: Path, coding: str) -> None:
    site = open_test_site(tmp_path)
    try:
        client: FlaskClient = create_app(site).test_client()
        paths = (
            "/page/substance-goji?lang=zh",
            "/page/substance-goji?lang=en",
            "/page/drug-warfarin?lang=en",
        )
        unpack = {"gzip": gzip.decompress, "zstd": zstd.decompress}[coding]
        for _ in range(2):
            for path in paths:
                plain = client.get(path)
                sent = client.get(path, headers={"Accept-Encoding": coding})
                assert sent.headers["Content-Encoding"] == coding
                assert sent.headers["ETag"].startswith("W/")
                assert unpack(sent.data) == plain.data
    finally:
        site.close()
