"""Nobody's request changes what another is answered, however pages and answers are kept."""

import io
import itertools
import random
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from flask import Flask
from werkzeug.test import EnvironBuilder, run_wsgi_app

from shiyi.model.names import ID
from shiyi.model.rdf import Literal, NamedNode, Quad
from shiyi.ontology.terms import RDFS
from shiyi.server.app import create_app
from shiyi.server.site import Site
from tests import server_site

REQUESTS = 1500
PAGE = "/page/substance-goji"
PATHS = (
    PAGE, PAGE, f"{PAGE}?lang=zh", f"{PAGE}?", f"{PAGE}/", f"{PAGE}\n", "/Page/substance-goji",
    "/page//substance-goji", "/page/substance%2Dgoji", "/page/drug-warfarin", "/page/none", "/vocab",
    "/vocab.ttl", "/data/substance-goji", "/data/substance-goji.ttl", "/data/substance-goji.jsonld",
    "/id/substance-goji", "/api/complete", "/api/complete?q=go", "/api/ask", "/browse", "/graph",
    "/statistics", "/compare", "/ask", "/",
)  # fmt: skip
QUERIES = (
    "", "?", "&", "#", "a=a=a", "%ff", "lang=zh", "lang=zh?", "lang=en", "lang=en&lang=zh", "lang=xx",
    "q=go", "Q=go", "q=%67o", "q=g%6F", "q=go%00", "q=go&limit=1", "q=goji", "q=goji&lang=en",
    "lang=en&q=goji", "q=goji&q=x", "q=x&q=goji", "q=goji&age=3", "profile=rdf11", "class=Drug",
    "class=Drug&format=csv",
)  # fmt: skip
# of each header, how often it is sent, and what it says
SAID: dict[str, tuple[float, tuple[str, ...]]] = {
    "HTTP_ACCEPT": (0.5, ("text/html", "TEXT/HTML", "*/*", "text/turtle", "application/json", "",
                          "text/html;q=0.1, text/turtle", "x/y")),
    "HTTP_ACCEPT_LANGUAGE": (0.5, ("zh", "ZH", "en", "zh-CN,en", "de", "")),
    "HTTP_ACCEPT_ENCODING": (0.5, ("gzip", "GZIP", "zstd", "identity", "gzip;q=0", "*", "", "br")),
    "HTTP_COOKIE": (0.2, ("lang=zh", "lang=en", "lang=xx", "", "lang=zh; lang=en", "lang=en; x=y",
                          "shiyi_session=x")),
    "HTTP_HOST": (0.1, ("evil.example", "localhost:80", "", '"><script>', "a, b")),
    "SCRIPT_NAME": (0.1, ("/x", "//evil.example")),
    "wsgi.url_scheme": (0.1, ("https",)),
    "REMOTE_ADDR": (0.1, ("192.0.2.1", "::1")),
    "CONTENT_TYPE": (0.05, ("application/json", "application/x-www-form-urlencoded")),
    **{f"HTTP_{name}": (0.03, values) for name, values in {
        "AUTHORIZATION": ("Bearer x", "Basic x", ""), "IF_NONE_MATCH": ('"x"', "*", ""),
        "IF_MATCH": ('"x"', "*", ""), "IF_MODIFIED_SINCE": ("Thu, 01 Jan 2037 00:00:00 GMT",),
        "IF_UNMODIFIED_SINCE": ("Thu, 01 Jan 1970 00:00:00 GMT",), "IF_RANGE": ('"x"',),
        "RANGE": ("bytes=0-1",), "FORWARDED": ("host=evil.example",), "ORIGIN": ("null",),
        "X_FORWARDED_FOR": ("192.0.2.9",), "X_FORWARDED_HOST": ("evil.example",),
        "X_FORWARDED_PREFIX": ("/evil",), "X_FORWARDED_PROTO": ("https",), "PREFER": ("x",),
        "X_HTTP_METHOD_OVERRIDE": ("DELETE",), "X_ORIGINAL_URL": ("/curate",), "EXPECT": ("x",),
        "X_REQUESTED_WITH": ("XMLHttpRequest",), "ACCEPT_CHARSET": ("utf-7",),
        "CACHE_CONTROL": ("no-cache",), "USER_AGENT": ("bot",),
    }.items()},
}  # fmt: skip
_OF_EACH = {"Server-Timing", "Date"}


@pytest.fixture(scope="module")
def site(
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Site]:
    more = Quad(NamedNode(f"{ID}substance-goji?x"), RDFS.label, Literal("another"))
    with pytest.MonkeyPatch.context() as patch:
        before = server_site.quads()
        patch.setattr(server_site, "quads", lambda: [*before, more])
        made = server_site.open_test_site(tmp_path_factory.mktemp("apart"))
    yield made
    made.close()


def keeping(site: Site) -> Flask:
    return create_app(site)


def forgetting(site: Site) -> Flask:
    """Give an application that thinks the base another at every request."""
    versions = itertools.count()
    return create_app(replace(site, version=lambda: next(versions)))


def asked(path: str = PAGE, query: str = "", method: str = "GET", **said: str) -> dict[str, Any]:
    environ = EnvironBuilder(path="/", method=method).get_environ()
    return environ | {"PATH_INFO": path, "QUERY_STRING": query} | said


def answered(app: Flask, environ: dict[str, Any]) -> tuple[str, list[tuple[str, str]], bytes]:
    """Give status, head and body, without what is another each time."""
    sent = environ.get("body", b"")
    parts, status, headers = run_wsgi_app(
        app, {**environ, "wsgi.input": io.BytesIO(sent)}, buffered=True
    )
    word = re.search(r"'nonce-([^']+)'", headers.get("Content-Security-Policy", ""))
    body, found = b"".join(parts), []
    for name, value in headers:
        if name not in _OF_EACH:
            value = re.sub(r"Expires=[^;]*;", "", value)
            found.append((name, value.replace(word[1], "word") if word else value))
    return status, sorted(found), body.replace(word[1].encode(), b"word") if word else body


def any_request(chance: random.Random) -> dict[str, Any]:
    method = chance.choices(("GET", "HEAD", "OPTIONS", "POST"), (20, 3, 1, 1))[0]
    made = asked(chance.choice(PATHS), chance.choice(QUERIES), method)
    for name, (often, values) in SAID.items():
        if chance.random() < often:
            made[name] = chance.choice(values)
    if chance.random() < 0.05:
        sent = b"q=other&lang=zh"
        made |= {"body": sent, "CONTENT_LENGTH": str(len(sent)),
                 "CONTENT_TYPE": "application/x-www-form-urlencoded"}  # fmt: skip
    return made


def test_each_is_answered_as_if_nobody_had_asked_before(site: Site) -> None:
    chance, kept, anew = random.Random(20261122), keeping(site), forgetting(site)  # noqa: S311 - inputs, not secrets
    for _ in range(REQUESTS):
        request = any_request(chance)
        assert answered(kept, request) == answered(anew, request), request
    assert len(kept.extensions["shiyi.again"]._answers) > REQUESTS // 10


@pytest.mark.parametrize("path", [PAGE, "/vocab", "/browse", "/compare"])
def test_the_head_of_a_page_is_that_of_the_page(site: Site, path: str) -> None:
    kept = keeping(site)
    head = answered(kept, asked(path, method="HEAD"))[1]
    assert answered(kept, asked(path))[1] == head
    assert answered(kept, asked(path)) == answered(forgetting(site), asked(path))


def test_a_question_mark_in_a_name_is_not_that_before_a_query(site: Site) -> None:
    kept = keeping(site)
    assert answered(kept, asked(PAGE, "x?"))[0] == "200 OK"
    other = answered(kept, asked(f"{PAGE}?x"))
    assert b"another" in other[2]
    assert other == answered(forgetting(site), asked(f"{PAGE}?x"))


def test_where_pages_lie_is_for_who_asks_there_alone(site: Site) -> None:
    kept = keeping(site)
    assert b"evil.example" in answered(kept, asked("/browse", SCRIPT_NAME="//evil.example"))[2]
    assert b"evil.example" not in answered(kept, asked("/browse"))[2]


def test_who_wants_another_state_of_a_page_does_not_get_it(site: Site) -> None:
    kept = keeping(site)
    assert answered(kept, asked())[0] == "200 OK"
    assert answered(kept, asked(HTTP_IF_MATCH='"x"'))[0].startswith("412")
