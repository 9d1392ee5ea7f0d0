"""Pages and answers are made once for each state of the base, in bounded memory."""

import gzip
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest
from flask import Flask

from shiyi.server.app import create_app
from shiyi.server.kept import Kept
from shiyi.server.kept_pages import KeptPages
from shiyi.server.site import Site
from tests.server_site import open_test_site

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

UNPACK: dict[str, Callable[[bytes], bytes]] = {
    "zstd": zstd.decompress,
    "gzip": gzip.decompress,
    "identity": bytes,
}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    made = open_test_site(tmp_path_factory.mktemp("kept"))
    yield made
    made.close()


class Counted:
    """A site that counts what it is asked, and whose version is set by hand."""

    def __init__(self, site: Site, **more: Any) -> None:
        self.version, self.asked, self._site = 1, list[str](), site
        self.site = replace(
            site, version=lambda: self.version, ask=self._ask, converse=None, **more
        )

    def _ask(self, question: str, **more: Any) -> Any:
        self.asked.append(question)
        return self._site.ask(question, **more)


def page(kept: Kept, address: str, text: str) -> str:
    with Flask(__name__).test_request_context(address):
        return kept.page(lambda: text)


def test_a_page_is_made_once_for_each_state_of_the_base(site: Site) -> None:
    counted = Counted(site)
    kept = Kept(counted.site)
    assert page(kept, "/a?lang=en", "枸杞 1") == "枸杞 1"
    assert page(kept, "/a?lang=en", "枸杞 2") == "枸杞 1"
    assert page(kept, "/a?lang=zh", "枸杞 3") == "枸杞 3"
    counted.version = 2
    assert page(kept, "/a?lang=en", "枸杞 4") == "枸杞 4"


def test_the_pages_asked_for_least_lately_make_room(site: Site) -> None:
    kept = Kept(site, most=1000)
    for number in range(6):
        page(kept, f"/{number}", f"made {number}")
        assert page(kept, "/0", "anew") == "made 0"
    assert page(kept, "/5", "anew") == "made 5"
    assert page(kept, "/1", "anew") == "anew"
    assert 0 < kept._pages.held <= 1000


def test_a_page_larger_than_all_that_is_kept_is_given_and_not_kept(site: Site) -> None:
    kept = Kept(site, most=10)
    assert page(kept, "/a", "first") == "first"
    assert page(kept, "/a", "second") == "second"
    assert kept._pages.held == 0


def test_pages_that_are_alike_take_little_room() -> None:
    said = [f"<p>{number} {' '.join(map(str, range(2000)))}</p>".encode() for number in range(20)]
    kept, kind = KeptPages(), "resources.page"
    for number, body in enumerate(said):
        kept.keep((str(number), "zh"), kind, kept.made(kind, body))
    found = [kept.find((str(number), "zh")) for number in range(20)]
    assert [page.body() for page in found if page] == said
    sizes = [len(page.packed) for page in found if page]
    assert max(sizes[2:]) * 10 < min(sizes[:2])
    assert len({page.digest for page in found if page}) == 20
    assert kept.made("another", said[0]).like is None
    kept.clear()
    assert kept.find(("0", "zh")) is None
    assert kept.made(kind, said[0]).body() == said[0]


@pytest.mark.parametrize("accepts", ["zstd", "gzip", "identity"])
def test_a_kept_page_is_sent_in_the_coding_of_each_client(site: Site, accepts: str) -> None:
    client, seen = create_app(site).test_client(), list[bytes]()
    for coding in (accepts, "identity", accepts):
        reply = client.get("/page/substance-goji", headers={"Accept-Encoding": coding})
        seen.append(UNPACK[reply.headers.get("Content-Encoding", "identity")](reply.data))
        again = client.get("/page/substance-goji", headers={
            "Accept-Encoding": coding, "If-None-Match": reply.headers["ETag"],
        })  # fmt: skip
        assert (again.status_code, again.data) == (304, b"")
    assert len(set(seen)) == 1
    assert b"</html>" in seen[0]


def test_an_answer_by_its_address_is_made_once(site: Site) -> None:
    counted = Counted(site)
    client = create_app(counted.site).test_client()
    replies = [client.get("/api/ask?q=goji&lang=en") for _ in range(3)]
    assert counted.asked == ["goji"]
    assert len({reply.data for reply in replies}) == 1
    assert replies[0].content_type == "application/json"
    counted.version = 2
    client.get("/api/ask?q=goji&lang=en")
    assert counted.asked == ["goji"] * 2


@pytest.mark.parametrize("more", ["age=34", "medicines=warfarin", "context=%7B%7D", "x=1"])
def test_an_answer_to_somebody_in_particular_is_not_kept(site: Site, more: str) -> None:
    counted = Counted(site)
    client = create_app(counted.site).test_client()
    for _ in range(2):
        client.get(f"/api/ask?q=goji&{more}")
    assert counted.asked == ["goji"] * 2


def test_an_answer_that_a_model_may_have_written_is_not_kept(site: Site) -> None:
    counted = Counted(site, research=lambda question, language: question)
    client = create_app(counted.site).test_client()
    for _ in range(2):
        client.get("/api/ask?q=goji")
    assert counted.asked == ["goji"] * 2


def test_figures_are_counted_again_after_a_change_but_a_tenth_of_the_time_at_most(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    counted, now = Counted(site), [0.0]
    kept = Kept(counted.site)
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    made = list[int]()

    def count() -> int:
        now[0] += 2.0
        made.append(counted.version)
        return counted.version

    def settled() -> int:
        for thread in threading.enumerate():
            if "_made" in thread.name:
                thread.join()
        return kept.figures("n", count)

    assert kept.figures("n", count) == 1
    assert kept.is_current("n")
    counted.version = 2
    now[0] += 17.0  # too soon
    assert settled() == settled() == 1
    assert not kept.is_current("n")
    now[0] += 2.0
    kept.figures("n", count)  # the earlier while the new is made beside
    assert settled() == 2
    assert made == [1, 2]


def test_what_takes_long_is_made_once_for_all_who_wait(site: Site) -> None:
    kept, made, go = Kept(site), list[int](), threading.Event()

    def slowly() -> int:
        go.wait(10)
        made.append(1)
        return len(made)

    with ThreadPoolExecutor(4) as pool:
        found = [pool.submit(kept.figures, "n", slowly) for _ in range(4)]
        go.set()
        assert {each.result(10) for each in found} == {1}
