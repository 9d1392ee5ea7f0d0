"""A page is sent as it is made: the head before the answer, each event when it happens."""

import http.client
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from shiyi.answering.pipeline import AskRequest
from shiyi.model.answer import Answer
from shiyi.server.app import create_app
from shiyi.server.http.page_cache import PageCache
from tests.support import sites
from tests.support.processes import running
from tests.tables import from_table

GO = threading.Event()


def waiting(request: AskRequest) -> Answer:
    """Answer when the test says so."""
    assert GO.wait(20)
    return sites.ask(request)


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    site = sites.open_test_site(Path(tmp_path_factory.mktemp("site")))
    with running(create_app(replace(site, ask=waiting))) as address:
        yield address.removeprefix("http://")
    site.close()


@from_table
def test_what_is_known_sent_before_answer_there(
    host: str, path: str, first: str, last: str
) -> None:
    GO.clear()
    connection = http.client.HTTPConnection(host, timeout=20)
    connection.request("GET", path, headers={"Accept": "text/html"})
    reply = connection.getresponse()
    seen = b""
    try:
        while first.encode() not in seen:
            part = reply.read1()
            assert part
            seen += part
        assert last.encode() not in seen
    finally:
        GO.set()
    seen += reply.read()
    assert last.encode() in seen
    connection.close()


def test_fault_after_head_is_stated_in_page(host: str) -> None:
    GO.set()
    connection = http.client.HTTPConnection(host, timeout=20)
    connection.request("GET", "/ask?lang=zh&q=outside", headers={"Accept": "text/html"})
    page = connection.getresponse().read().decode()
    connection.close()
    assert 'role="alert"' in page
    assert "外部服务没有应答" in page
    assert page.rstrip().endswith("</html>")


def test_old_counts_stand_until_new_ones_exist(tmp_path: Path) -> None:
    version, event, go = [1], threading.Event(), threading.Event()
    site = sites.open_test_site(tmp_path)
    cache = PageCache(replace(site, version=lambda: version[0]))

    def count() -> int:
        if version[0] > 1:
            assert go.wait(20)
            event.set()
        return version[0] * 10

    assert cache.figures("n", count) == 10
    version[0] = 2
    threading.Event().wait(0.1)  # more than nine times what counting took
    assert cache.figures("n", count) == 10
    go.set()
    assert event.wait(20)
    for _ in range(200):
        if cache.figures("n", count) == 20:
            break
        threading.Event().wait(0.01)
    assert cache.figures("n", count) == 20
    assert cache.value("m", lambda: "once") == cache.value("m", lambda: "twice") == "once"
    site.close()
