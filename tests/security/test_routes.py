"""Nobody is sent elsewhere, no form of another site counts, and every answer carries its policy."""

import itertools
import re
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from urllib.parse import quote

import pytest

from shiyi.curation.accounts import Role
from shiyi.server.http.headers import limit_queue
from shiyi.settings import ServerSettings
from tests.support.sites import HTML, Desks, open_desks
from tests.tables import from_table

ELSEWHERE = (
    "//evil.example", "/\\evil.example", "\\\\evil.example", "https://evil.example",
    "https:evil.example",
    "///evil.example", "/%2f/evil.example", "%2f%2fevil.example", "/%5cevil.example",
    "javascript:alert(1)",
    "data:text/html,x", "http://localhost@evil.example", "http://localhost.evil.example",
    "/\t/evil.example",
    "/\r\nLocation: https://evil.example", "\x00//evil.example", " //evil.example",
    "/.//evil.example",
    "/curate/../..//evil.example", "@evil.example", "?next=//evil.example",
    "//evil.example/curate/account",
    "https://evil.example/id/substance-goji", "urn:x", "/id//evil.example", "//[::1]/", "////evil",
    "〱evil.example",
)  # fmt: skip
PLACES = (
    "/id/{}", "/page/{}", "/data/{}", "/releases/latest/{}", "/vocab/{}", "/{}",
    "/curate/sign-in?next={}", "/?lang=en&next={}",
)  # fmt: skip

DESCRIBED = (
    "/",
    "/robots.txt",
    "/sitemap.xml",
    "/sitemap-pages.0.xml",
    "/.well-known/void",
    "/sparql",
    "/api/reconcile",
)


@pytest.fixture(scope="module")
def desks(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desks]:
    with open_desks(tmp_path_factory.mktemp("doors")) as opened_desks:
        yield opened_desks


def stays(location: str) -> bool:
    return bool(re.match(r"(?:http://localhost)?/(?![/\\])[^\r\n\t\x00]*$", location))


def test_no_address_sends_anybody_elsewhere(desks: Desks) -> None:
    client, asked, moved = desks.app.test_client(), 0, 0
    for place, path, accept in itertools.product(PLACES, ELSEWHERE, ("text/html", "text/turtle")):
        for name in (path, quote(path, safe="")):
            address = place.format(name)
            if any(ord(letter) < 33 for letter in address) or address.startswith("//"):
                continue  # no client sends it so; the other writing stands for it
            reply = client.get(address, headers={"Accept": accept})
            asked += 1
            assert reply.status_code < 500, address
            if location := reply.headers.get("Location"):
                moved += 1
                assert stays(location), (address, location)
    assert asked > 800
    assert moved > 50


@from_table
def test_no_address_is_made_of_a_foreign_host(
    desks: Desks, monkeypatch: pytest.MonkeyPatch, url: str, host: str, root: str
) -> None:
    settings = replace(desks.site.settings, server=ServerSettings(url=url))
    monkeypatch.setitem(desks.app.extensions, "shiyi", replace(desks.site, settings=settings))
    client = desks.app.test_client()
    for address in DESCRIBED:
        reply = client.get(address, headers={"Host": host, "Accept": "text/turtle, */*;q=0.5"})
        assert reply.status_code == 200, address
        assert root in reply.text, address
        assert "evil" not in f"{reply.headers}{reply.text}", address


def test_signing_in_redirects_to_no_other_site(desks: Desks) -> None:
    seen = 0
    for path in ELSEWHERE[::4]:  # checking a password takes its time
        reply = desks.sign_in(desks.app.test_client(), Role.READER, next=path)
        assert reply.status_code in {302, 303}, path
        assert stays(reply.headers["Location"]), (path, reply.headers["Location"])
        seen += 1
    assert seen == 7


# forms posted so that a profile stays out of addresses; they write nothing
ASKING = {"/ask", "/constitution", "/check"}


def test_no_form_of_another_site_writes(desks: Desks) -> None:
    """Every route that takes POST, PUT or DELETE, from a browser that is signed in."""
    answered = set[str]()
    changes, refused = desks.curation.writable_changes, 0
    before = changes.writer.sequence, len(changes.store)
    cookie = desks.cookie(Role.ADMINISTRATOR)
    foreign: tuple[dict[str, str], ...] = (
        {"Origin": "https://evil.example"},
        {"Referer": "https://evil.example/x"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Origin": "null"},
        {},
    )
    for rule in desks.app.url_map.iter_rules():
        for method in sorted((rule.methods or set()) & {"POST", "PUT", "DELETE", "PATCH"}):
            path = re.sub(r"<[^>]+>", "1", rule.rule)
            for more, token in itertools.product(foreign, ("", "wrong")):
                reply = desks.app.test_client(use_cookies=False).open(
                    path,
                    method=method,
                    data={"csrf": token, "update": "DROP ALL"},
                    headers={"Cookie": cookie, **HTML, **more},
                )
                sent = (method, path, more, reply.status_code)
                if path in ASKING and reply.status_code == 200:
                    answered.add(path)
                    continue
                assert reply.status_code in {400, 401, 403, 404, 405, 415, 422, 429}, sent
                refused += 1
    assert refused > 250
    assert answered == ASKING
    assert (changes.writer.sequence, len(changes.store)) == before


def test_every_answer_carries_its_policy(desks: Desks) -> None:
    client, looked = desks.client(Role.ADMINISTRATOR), 0
    for rule in desks.app.url_map.iter_rules():
        if "GET" not in (rule.methods or set()) or "<" in rule.rule:
            continue
        reply = client.get(rule.rule, headers=HTML)
        policy = reply.headers["Content-Security-Policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert reply.headers["X-Content-Type-Options"] == "nosniff"
        assert reply.headers["X-Frame-Options"] == "DENY"
        if reply.mimetype == "text/html":
            [word] = re.findall(r"'nonce-([^']+)'", policy)
            assert len(word) >= 20
            scripts = re.findall(r"<script\b[^>]*>", reply.text)
            assert all(
                "src=" in script or word in script or "application/" in script for script in scripts
            ), rule
            assert not re.search(r"\son\w+=\"", reply.text), rule
        looked += 1
    assert looked > 30


def test_requests_past_the_queue_are_refused(desks: Desks) -> None:
    client, most = desks.app.test_client(), desks.site.settings.server.queue
    try:
        for waiting, status in ((0, 200), (most, 200), (most + 1, 503), (10 * most, 503), (0, 200)):
            limit_queue(desks.app, partial(int, waiting))
            reply = client.get("/sparql?query=ASK%7B%7D")
            assert reply.status_code == status
            assert ("Retry-After" in reply.headers) == (status == 503)
            assert client.get("/metrics").status_code == 200
            assert client.get("/healthz").status_code == 200
        assert 'shiyi_shed_total{kind="queue"}' in client.get("/metrics").text
    finally:
        limit_queue(desks.app, lambda: 0)
