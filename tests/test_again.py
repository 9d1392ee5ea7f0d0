"""What was answered is answered again as it would be anew: let in, counted, dressed, and bounded."""

import re
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest
from flask import Flask, Response
from flask.testing import FlaskClient

from shiyi.server import again as module
from shiyi.server import guard
from shiyi.server.app import create_app
from shiyi.server.site import Site
from tests.server_site import open_test_site

PAGE = "/page/substance-goji?lang=en"
LASTS = (
    PAGE,
    "/data/substance-goji.ttl",
    "/api/complete?q=go",
    "/api/ask?q=goji&lang=en",
    "/vocab",
)
HTML = {"Accept": "text/html"}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    made = open_test_site(tmp_path_factory.mktemp("again"))
    yield made
    made.close()


class Asked:
    """An application whose own answers are counted, over a base whose version is set by hand."""

    def __init__(self, site: Site) -> None:
        self.version, self.times = 1, 0
        self.serve(site)

    def serve(self, site: Site) -> None:
        """Begin anew with another site."""
        self.app: Flask = create_app(replace(site, version=lambda: self.version))
        self.app.before_request(self._count)
        self.client: FlaskClient = self.app.test_client(use_cookies=False)

    def _count(self) -> None:
        self.times += 1

    def get(self, path: str = PAGE, **headers: str) -> Any:
        said = {name.replace("_", "-"): value for name, value in headers.items()}
        return self.client.get(path, headers=HTML | said)


@pytest.mark.parametrize("path", LASTS)
def test_who_asks_alike_gets_the_same_until_the_base_changes(site: Site, path: str) -> None:
    asked = Asked(site)
    first, second = asked.get(path), asked.get(path)
    assert asked.times == 1
    assert (first.status_code, first.data) == (second.status_code, second.data)
    assert first.status_code == 200
    apart = {"Content-Security-Policy", "Server-Timing", "Date", "Set-Cookie"}
    policies = [each.headers["Content-Security-Policy"] for each in (first, second)]
    assert len({re.sub("nonce-[^']*", "nonce", each) for each in policies}) == 1
    for name in {*first.headers.keys(), *second.headers.keys()} - apart:
        assert first.headers.getlist(name) == second.headers.getlist(name)
    assert [each.partition(";")[0] for each in first.headers.getlist("Set-Cookie")] == [
        each.partition(";")[0] for each in second.headers.getlist("Set-Cookie")
    ]
    asked.version = 2
    asked.get(path)
    assert asked.times == 2


def test_the_word_for_scripts_is_another_each_time(site: Site) -> None:
    asked = Asked(site)
    policies = [asked.get().headers["Content-Security-Policy"] for _ in range(4)]
    words = {word for each in policies for word in re.findall(r"'nonce-([^']{20,})'", each)}
    assert len(words) == 4
    assert len({re.sub("nonce-[^']*", "", each) for each in policies}) == 1
    assert asked.times == 1
    assert not any(word in asked.get().text for word in words)


@pytest.mark.parametrize(
    "headers",
    [
        {"Accept_Language": "zh"}, {"Accept_Encoding": "gzip"}, {"Cookie": "lang=zh"},
        {"Accept": "text/turtle"}, {"Host": "elsewhere.example"},
    ],
)  # fmt: skip
def test_who_asks_otherwise_is_answered_apart(site: Site, headers: dict[str, str]) -> None:
    asked = Asked(site)
    for times in (1, 2):
        asked.get()
        asked.get(**headers)
        assert asked.times == 2, times


@pytest.mark.parametrize(
    "headers",
    [
        {"Authorization": "Bearer x"}, {"Cookie": "shiyi_session=x"}, {"If_None_Match": '"x"'},
        {"Range": "bytes=0-1"}, {"If_Modified_Since": "Thu, 01 Jan 2037 00:00:00 GMT"},
    ],
)  # fmt: skip
def test_who_is_somebody_or_has_something_is_always_looked_at(
    site: Site, headers: dict[str, str]
) -> None:
    asked = Asked(site)
    for times in (1, 2, 3):
        asked.get(**headers)
        assert asked.times == times


@pytest.mark.parametrize(
    "path", ["/sparql?query=ASK%7B%7D", "/api/ask?q=goji&age=3", "/page/none", "/"]
)
def test_what_may_be_another_next_time_is_made_anew(site: Site, path: str) -> None:
    asked = Asked(site)
    asked.get(path)
    asked.get(path)
    assert asked.times == 2


@pytest.mark.parametrize("said", [{"wsgi.url_scheme": "https"}, {"SCRIPT_NAME": "/elsewhere"}])
def test_who_comes_another_way_is_answered_apart(site: Site, said: dict[str, str]) -> None:
    asked = Asked(site)
    for times in (1, 2):
        asked.get()
        asked.client.get(PAGE, headers=HTML, environ_overrides=said)
        assert asked.times == 2, times


@pytest.mark.parametrize(
    ("path", "meanwhile"),
    [
        ("/api/complete?q=go", None), ("/api/ask?q=goji&lang=en", None),
        ("/api/ask?q=goji&lang=en", "/vocab"),  # which has all that is older forgotten
    ],
)  # fmt: skip
def test_what_was_made_while_the_base_changed_is_made_anew(
    site: Site, path: str, meanwhile: str | None
) -> None:
    asked, calls = Asked(site), list[str]()

    def changing(make: Callable[..., Any]) -> Callable[..., Any]:
        def made(*words: Any, **more: Any) -> Any:
            calls.append(path)
            found = make(*words, **more)
            if asked.version == 1:
                asked.version = 2
                if meanwhile:  # another's, so in another thread
                    other = threading.Thread(target=asked.get, args=(meanwhile,))
                    other.start()
                    other.join()
            return found

        return made

    asked.serve(replace(site, ask=changing(site.ask), complete=changing(site.complete)))
    for count in (1, 2, 2):
        asked.get(path)
        assert len(calls) == count


def test_a_refusal_and_what_comes_in_parts_are_made_anew(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = Asked(site)

    @asked.app.get("/parts")
    def parts() -> Response:
        module.lasts(1)
        return Response(iter([b"one", b"two"]))

    for times in (1, 2):
        assert asked.get("/parts").data == b"onetwo"
        assert asked.times == times
    for times in (3, 4):
        assert asked.get("/api/complete?limit=x").status_code == 400
        assert asked.times == times
    monkeypatch.setattr(module, "_LARGEST", 100)
    for times in (5, 6):
        assert asked.get().status_code == 200
        assert asked.times == times


def test_head_and_post_are_the_applications(site: Site) -> None:
    asked = Asked(site)
    asked.get()
    assert asked.client.head(PAGE, headers=HTML).data == b""
    assert asked.client.post("/api/ask", json={"question": "goji"}).status_code == 200
    assert asked.times == 3


def test_answers_given_again_are_counted_and_given_however_many_wait(site: Site) -> None:
    asked = Asked(site)
    for _ in range(5):
        asked.get()
    counted = f'route="/page/<path:name>",method="GET",status="200"}} {5}'
    assert counted in asked.get("/metrics").text
    most = site.settings.server.queue
    for waiting, waited, status in ((most + 1, 0.0, 503), (0, 5.1, 503), (most, 4.9, 200)):
        guard.admit(asked.app, lambda now=waiting: now, lambda now=waited: now)  # type: ignore[misc] # bound now
        reply = asked.get("/page/drug-warfarin?lang=en&x=1")
        assert reply.status_code == status
        assert ("Retry-After" in reply.headers) == (status == 503)
        assert asked.get().status_code == 200
        assert asked.get("/healthz").status_code == 200
    said = asked.get("/metrics").text
    assert 'shiyi_shed_total{kind="queue"} 1' in said
    assert 'shiyi_shed_total{kind="late"} 1' in said


def test_what_is_kept_has_a_bound(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST", 60_000)
    asked = Asked(site)
    kept = asked.app.extensions["shiyi.again"]
    for number in range(60):
        asked.get(f"/api/complete?q=go&limit={1 + number % 50}&x={number}")
        assert kept.held <= 60_000
        assert kept.held == sum(module._size(*each) for each in kept._answers.items())
    assert 5 < len(kept._answers) < 60
    asked.times = 0
    asked.get("/api/complete?q=go&limit=10&x=59")
    assert asked.times == 0
    asked.get("/api/complete?q=go&limit=1&x=0")
    assert asked.times == 1
