"""The web face over a small real store: errors, negotiation, protocol, and what never leaks."""

import http.client
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

import pytest
from flask.testing import FlaskClient
from pyoxigraph import RdfFormat, parse

from shiyi import errors
from shiyi.errors import Fault, KnowledgeBaseError, SettingError, ShiyiError
from shiyi.model.rdf import NamedNode, Triple
from shiyi.ontology.terms import RDF, SHIYI
from shiyi.server.app import create_app, run_server
from shiyi.server.http.channel import Channel
from shiyi.server.http.problems import STATUSES, status_of
from shiyi.server.site.opening import open_site
from shiyi.server.views.concept import THEMES
from shiyi.settings import Settings
from shiyi.sparql.base.knowledge_base import build_generation
from tests.support import bases
from tests.support.processes import running
from tests.support.sites import (
    DENIED,
    DERIVED,
    GOJI,
    HOSTILE,
    INTERACTION,
    RETRACTED,
    WARFARIN,
    open_test_site,
)
from tests.tables import from_table


def has_ipv6() -> bool:
    """Return whether this machine has a loopback address of IPv6."""
    try:
        with socket.create_server(("::1", 0), family=socket.AF_INET6):
            return True
    except OSError:
        return False


WITH_IPV6 = pytest.mark.skipif(not has_ipv6(), reason="this machine has no IPv6")


@pytest.fixture(scope="module")
def kb(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made, quads = tmp_path_factory.mktemp("port") / "kb", list(bases.kitchen_quads())
    build_generation(made, quads, {"quads": len(quads)})
    return made


@contextmanager
def texts(kb: Path, *more: str, **env: str) -> Iterator[str]:
    """Start the command; return the line that says where it listens."""
    process = subprocess.Popen(  # noqa: S603 - our own interpreter
        [sys.executable, "-m", "shiyi", "--kb", str(kb), "serve", *more],
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | env,
    )
    assert process.stderr
    try:
        yield next(line for line in process.stderr if "http://" in line)
    finally:
        process.terminate()
        process.communicate(timeout=30)


@pytest.mark.parametrize(
    ("more", "env"),
    [
        (["--port", "0"], {}), (["--port", "0"], {"SHIYI_SERVER_LOG": "json"}),
        ([], {"SHIYI_SERVER_PORT": "0"}), (["--port", "0"], {"SHIYI_SERVER_PORT": "1"}),
        pytest.param(["--port", "0", "--host", "::1"], {}, marks=WITH_IPV6),
    ],
)  # fmt: skip
def test_port_0_is_free_one_that_log_says(
    kb: Path, more: list[str], env: Mapping[str, str]
) -> None:
    with texts(kb, *more, **env) as line:
        if env.get("SHIYI_SERVER_LOG"):
            line = json.loads(line)["message"]
        match = re.search(r"http://(\[::1\]|127\.0\.0\.1):([0-9]+)$", line.strip())
        assert match
        assert int(match[2]) not in {0, 8000}
        with urllib.request.urlopen(f"{match[0]}/healthz", timeout=20) as reply:  # noqa: S310 - it is http
            assert reply.status == 200


def test_invalid_port_is_reported(kb: Path) -> None:
    process = subprocess.run(  # noqa: S603 - our own interpreter
        [sys.executable, "-m", "shiyi", "--kb", str(kb), "serve", "--port", "70000"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert process.returncode == 2
    assert "server.port" in process.stderr
    assert "Traceback" not in process.stderr


HTML = {"Accept": "text/html"}


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FlaskClient]:
    site = open_test_site(tmp_path_factory.mktemp("site"))
    yield create_app(site).test_client()
    site.close()


def path_of(iri: NamedNode, kind: str = "page") -> str:
    return iri.value.replace("https://w3id.org/shiyi/id/", f"/{kind}/")


# errors


@pytest.mark.parametrize(
    ("body", "status", "text"),
    [
        ({"question": ""}, 400, "empty"),
        ({"question": "   "}, 400, "empty"),
        ({}, 400, "question"),
        ({"question": 7}, 400, "question"),
        ({"question": "枸" * 100_000}, 413, "100,000"),
        ({"question": "a\x00b"}, 400, "U+0000"),
        ({"question": "goji", "method": "magic"}, 400, "fused, paths"),
        ({"question": "goji", "lang": "fr"}, 400, "zh, en"),
        ({"question": "goji", "k": 0}, 400, "k is"),
        ({"question": "goji", "k": True}, 400, "k is"),
        ({"question": "goji", "profile": {"age": "old"}}, 400, "profile.age"),
        ({"question": "goji", "profile": {"weight": 3}}, 400, "weight"),
        ({"question": "goji", "profile": []}, 400, "profile"),
        ({"question": "goji", "more": 1}, 400, "more"),
        ({"question": "outside"}, 502, "model endpoint"),
    ],
)
def test_a_bad_question_gets_one_clear_problem(
    client: FlaskClient, body: dict[str, object], status: int, text: str
) -> None:
    reply = client.post("/api/ask", json=body)
    assert reply.status_code == status
    assert reply.content_type == "application/problem+json"
    assert text in json.loads(reply.data)["detail"]
    assert json.loads(reply.data)["status"] == status


@pytest.mark.parametrize("body", [b"{", b"[1]", b"[" * 100_000, b'{"question": "\xff"}'])
def test_body_that_is_no_json_object_is_refused(client: FlaskClient, body: bytes) -> None:
    reply = client.post("/api/ask", data=body, content_type="application/json")
    assert reply.status_code == 400
    assert "Traceback" not in reply.text


def test_a_body_over_the_limit_is_413(client: FlaskClient) -> None:
    body = b'{"question": "' + b"a" * 2_000_000 + b'"}'
    assert client.post("/api/ask", data=body, content_type="application/json").status_code == 413


def test_a_form_is_not_taken_for_json(client: FlaskClient) -> None:
    assert client.post("/api/ask", data={"question": "goji"}).status_code == 415


def test_browser_gets_friendly_page_for_each_fault(client: FlaskClient) -> None:
    for address, status in (("/nowhere", 404), ("/ask?q=", 400), ("/browse?class=Ghost", 400)):
        reply = client.get(address, headers=HTML)
        assert reply.status_code == status
        assert "<main" in reply.text
        assert str(status) in reply.text


def test_an_unforeseen_fault_shows_nothing_of_the_inside(
    client: FlaskClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError("secret path /srv/x")

    monkeypatch.setattr("shiyi.server.pages.browse.examples", broken)
    monkeypatch.setitem(client.application.config, "PROPAGATE_EXCEPTIONS", False)
    reply = client.get("/", headers=HTML)
    assert reply.status_code == 500
    assert "secret" not in reply.text
    assert "ZeroDivision" not in reply.text


def test_every_error_of_shiyi_has_a_status() -> None:
    assert STATUSES[-1][0] is ShiyiError
    needed: dict[type[ShiyiError], tuple[Any, ...]] = {
        errors.FormError: ([Fault("a", "b", "c")],),
        errors.FormatError: ("method", "x", ("y",)),
        errors.TooLargeError: ("x", 1, 2),
        errors.KeyReuseError: ("then",),
    }
    for error, code, _ in STATUSES[1:]:
        assert status_of(error(*needed.get(error, ("x", 1))))[0] == code


def test_missing_or_partial_base_is_reported_at_start(tmp_path: Path) -> None:
    with pytest.raises(KnowledgeBaseError, match="shiyi build"):
        create_app(tmp_path / "none", Settings())
    (tmp_path / "CURRENT").write_text("gone\n")
    with pytest.raises(KnowledgeBaseError, match="shiyi build"):
        create_app(tmp_path, Settings())


# linked data


@from_table
def test_iri_redirects_to_page_or_data(client: FlaskClient, accept: str, ending: str) -> None:
    reply = client.get("/id/substance-goji", headers={"Accept": accept})
    assert reply.status_code == 303
    assert reply.location == ending
    assert "Accept" in reply.headers["Vary"]
    assert 'rel="alternate"; type="text/turtle"' in reply.headers["Link"]


def test_nothing_acceptable_is_406_and_the_unknown_404(client: FlaskClient) -> None:
    assert client.get("/id/substance-goji", headers={"Accept": "image/png"}).status_code == 406
    assert client.get("/id/substance-none").status_code == 404
    assert client.get("/data/substance-goji.exe").status_code in {404, 406}


def test_what_was_retracted_is_gone(client: FlaskClient) -> None:
    for kind in ("id", "page", "data"):
        assert client.get(path_of(RETRACTED.iri, kind)).status_code == 410


@from_table
def test_no_crafted_name_redirects_to_another_host(client: FlaskClient, name: str) -> None:
    for accept in ("text/html", "text/turtle"):
        reply = client.get(f"/id/{name}", headers={"Accept": accept})
        location = reply.headers.get("Location", "/")
        assert location.startswith(("/", "http://localhost/"))
        assert not location.startswith("//")
        assert reply.status_code in {303, 308, 404}


@pytest.mark.parametrize("extension", ["ttl", "nt", "nq", "trig"])
def test_data_holds_claims_about_it_as_named_reifiers(client: FlaskClient, extension: str) -> None:
    form = RdfFormat.from_extension(extension)
    assert form
    accept = {"Accept": f"{form.media_type}; version=1.2"}
    reply = client.get(f"/data/substance-goji.{extension}", headers=accept)
    asked = client.get(f"/data/substance-goji.{extension}?profile=rdf12")
    assert (reply.data, reply.content_type) == (asked.data, asked.content_type)
    assert "version=1.2" in reply.content_type
    quads = list(parse(reply.data, format=RdfFormat.from_extension(extension)))
    triple = Triple(GOJI, SHIYI.interactsWith, WARFARIN)
    reifiers = [q.subject for q in quads if q.predicate == RDF.reifies and q.object == triple]
    assert reifiers == [INTERACTION.iri]
    labelled = {q.subject for q in quads if q.object == q.object and "Label" in q.predicate.value}
    assert WARFARIN in labelled  # what is referred to has its labels


@pytest.mark.parametrize("extension", ["jsonld", "rdf", "ttl", "nt", "nq", "trig"])
def test_claims_are_reified_without_triple_terms(client: FlaskClient, extension: str) -> None:
    reply = client.get(f"/data/substance-goji.{extension}")
    assert "version" not in reply.content_type
    form = RdfFormat.from_extension(extension)
    quads = list(parse(reply.data, format=form or RdfFormat.JSON_LD))
    assert not [q for q in quads if isinstance(q.object, Triple)]
    assert [
        q.object for q in quads if (q.subject, q.predicate) == (INTERACTION.iri, RDF.object)
    ] == [WARFARIN]


def test_derived_caution_described_but_asserted_only_in_graph(client: FlaskClient) -> None:
    turtle = client.get(path_of(HOSTILE, "data") + ".ttl?profile=rdf12")
    triples = list(parse(turtle.data, format=RdfFormat.TURTLE))
    assert not [q for q in triples if q.predicate == SHIYI.derivedCaution]
    assert [q for q in triples if q.predicate == RDF.reifies and q.subject == DERIVED.iri]
    quads = parse(client.get(path_of(HOSTILE, "data") + ".nq").data, format=RdfFormat.N_QUADS)
    homes = {q.graph_name.value for q in quads if q.predicate == SHIYI.derivedCaution}
    assert homes == {"https://w3id.org/shiyi/graph/derived"}


def test_data_that_has_not_changed_not_sent_again(client: FlaskClient) -> None:
    first = client.get("/data/substance-goji.ttl")
    again = client.get("/data/substance-goji.ttl", headers={"If-None-Match": first.headers["ETag"]})
    assert (again.status_code, again.data) == (304, b"")


# pages


def test_a_claim_page_says_how_sure_and_why(client: FlaskClient) -> None:
    page = client.get(path_of(INTERACTION.iri) + "?lang=en", headers=HTML).text
    for result in (
        "goji berry",
        "interacts with",
        "warfarin",
        "0.80",
        "confident",
        "Materia Medica",
        "textbook",
        "2020",
        "枸杞子条",
        "Watch the INR.",
        "row of an open table",
    ):
        assert result in page
    assert "留意INR" not in page
    assert "not hold" in client.get(path_of(DENIED.iri) + "?lang=en", headers=HTML).text


def test_a_concept_page_puts_safety_before_all_else(client: FlaskClient) -> None:
    page = client.get("/page/substance-goji?lang=zh", headers=HTML).text
    assert page.index("theme-safety") < page.index("theme-benefit")
    assert "华法林" in page
    assert 'href="/page/drug-warfarin"' in page
    assert 'href="https://w3id.org/shiyi/id' not in page.replace('rel="canonical"', "")


def test_evidence_and_sources_have_pages(client: FlaskClient) -> None:
    evidence = INTERACTION.evidence[0].iri(INTERACTION.iri)
    assert "interacts with" in client.get(path_of(evidence) + "?lang=en", headers=HTML).text
    assert "https://doi.org/10.1000/x" in client.get("/page/source-book", headers=HTML).text


def test_hostile_labels_are_text_and_links_refused(client: FlaskClient) -> None:
    for address in (path_of(HOSTILE), path_of(DERIVED.iri), "/browse?class=Food"):
        page = client.get(address, headers=HTML).text
        assert "<script>alert" not in page
        assert "&lt;script&gt;alert(1)" in page
        assert 'href="javascript:' not in page


def test_answer_page_cleans_markdown_and_links_its_citations(client: FlaskClient) -> None:
    page = client.get("/ask?q=goji+and+warfarin&lang=en", headers=HTML).text
    assert "<script>alert" not in page
    assert 'href="javascript:' not in page
    assert 'href="#citation-1"' in page
    assert "[9]" in page  # a mark without a citation stays text
    assert "May raise the INR." in page
    assert "no model" in page


def test_no_page_needs_inline_script_or_style(client: FlaskClient) -> None:
    addresses = [
        "/",
        "/ask?q=goji",
        "/page/substance-goji",
        path_of(INTERACTION.iri),
        "/browse",
        "/vocab",
        "/sparql",
        "/concept-search?q=goji",
    ]
    for address in addresses:
        reply = client.get(address, headers=HTML)
        assert reply.status_code == 200, address
        assert " style=" not in reply.text
        assert " onclick=" not in reply.text
        policy = reply.headers["Content-Security-Policy"]
        assert "unsafe" not in policy
        assert "frame-ancestors 'none'" in policy
        assert reply.headers["X-Content-Type-Options"] == "nosniff"


def test_language_chosen_by_address_then_cookie_then_browser(client: FlaskClient) -> None:
    fresh = client.application.test_client()
    assert 'lang="zh-Hans"' in fresh.get("/", headers={"Accept-Language": "zh-CN"}).text
    assert 'lang="en"' in fresh.get("/?lang=en", headers={"Accept-Language": "zh-CN"}).text
    assert 'lang="en"' in fresh.get("/", headers={"Accept-Language": "zh-CN"}).text


def test_every_property_of_themes_is_in_vocabulary() -> None:
    for name in (name for names in THEMES.values() for name in names):
        assert hasattr(SHIYI, name), name


def test_page_lists_guidance_by_topic(starter_kb: Path) -> None:
    site = open_site(starter_kb, Settings(), read_only=True)
    try:
        page = create_app(site).test_client().get("/page/substance-yiner?lang=en").text
        section = page.partition('id="theme-guidance"')[2].partition("</section>")[0]
        assert "<dt>storage</dt>" in section
        assert "<dt>preparation</dt>" in section
        assert "fridge" in section
    finally:
        site.close()


def test_a_port_in_use_is_reported(tmp_path: Path) -> None:
    app = create_app(open_test_site(tmp_path))
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(SettingError, match="cannot listen"):
            run_server(app, "127.0.0.1", port, 1)


@pytest.mark.filterwarnings("ignore:send_bytes:DeprecationWarning")
def test_stopped_server_closes_its_connections_before_its_base(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A proxy must not wait with what it sent while the base is closed."""
    opened = list[bool]()

    class Watched(Channel):
        def __init__(self, *arguments: Any, **more: Any) -> None:
            opened.append(True)
            super().__init__(*arguments, **more)

    monkeypatch.setattr("shiyi.server.http.channel.Channel", Watched)
    listener, before = socket.create_server(("127.0.0.1", 0)), signal.getsignal(signal.SIGTERM)
    there, event, seen = listener.getsockname(), threading.Event(), list[bool]()

    def ask() -> None:
        with socket.create_connection(there, 20) as line:
            line.sendall(b"GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n")
            line.recv(9)
            os.kill(os.getpid(), signal.SIGTERM)
            while line.recv(9_000):
                pass
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(there, 20)
        event.set()

    site, asking = open_test_site(tmp_path), threading.Thread(target=ask)
    app = create_app(replace(site, close=lambda: seen.append(event.wait(20))))
    monkeypatch.setattr("shiyi.server.app._listen", lambda host, port: listener)
    monkeypatch.setattr("shiyi.server.app.warm_up", lambda app, last: asking.start())
    try:
        run_server(app, "127.0.0.1", 0, 2)
    finally:
        signal.signal(signal.SIGTERM, before)
        site.close()
    asking.join(30)
    assert seen == [True]
    assert opened == [True]  # through our channel, not the stock one


@pytest.fixture(scope="module")
def address(starter_kb: Path) -> Iterator[str]:
    app = create_app(starter_kb, Settings())
    with running(app) as result:
        yield result.removeprefix("http://")
    app.extensions["shiyi"].close()


def fetched(
    address: str, path: str, accept: str = "", body: object = None
) -> tuple[int, dict[str, str], bytes]:
    connection = http.client.HTTPConnection(address, timeout=60)
    headers = {"Accept": accept} if accept else {}
    sent = None
    if body is not None:
        sent, headers["Content-Type"] = json.dumps(body).encode(), "application/json"
    connection.request("GET" if body is None else "POST", path, sent, headers)
    reply = connection.getresponse()
    read = reply.read()
    connection.close()
    return reply.status, {name.lower(): value for name, value in reply.getheaders()}, read


def test_every_citation_has_page_and_turtle(address: str) -> None:
    status, _, body = fetched(
        address, "/api/ask", body={"question": "失眠多梦、手脚心热，吃点什么好？", "lang": "zh"}
    )
    answer = json.loads(body)
    assert status == 200
    assert answer["citations"]
    for item in answer["citations"]:
        path = urlsplit(item["claim"]).path.removeprefix("/shiyi")
        for accept, kind in (("text/html", "text/html"), ("text/turtle", "text/turtle")):
            status, headers, _ = fetched(address, path, accept)
            assert status == 303
            status, headers, shown = fetched(address, headers["location"], accept)
            assert (status, headers["content-type"].split(";")[0]) == (200, kind)
            if kind == "text/turtle":
                message = parse(shown, format=RdfFormat.TURTLE)
                assert any(
                    (q.subject, q.predicate) == (NamedNode(item["claim"]), RDF.object)
                    for q in message
                )
            else:
                assert item["claim"].encode() in shown


def test_each_form_of_page_opens_in_both_languages(address: str) -> None:
    question = quote("Can I take ginkgo biloba with warfarin?")
    for path in (
        "/?",
        f"/ask?q={question}&",
        "/browse?class=Dish&",
        "/page/constitution-yin-deficiency?",
        "/sparql?",
        "/vocab?",
        "/concept-search?q=gouqi&",
    ):
        for language, mark in (("zh", 'lang="zh-Hans"'), ("en", 'lang="en"')):
            status, _, body = fetched(address, f"{path}lang={language}", "text/html")
            if status == 404:
                assert path.startswith("/page/")
                continue
            assert status == 200, path
            assert mark.encode() in body


def test_pinyin_completes_to_a_chinese_name(address: str) -> None:
    _, _, body = fetched(address, "/api/complete?q=gouqi")
    assert any("枸杞" in item["label_zh"] for item in json.loads(body)["completions"])


def test_question_of_hundred_thousand_characters_is_413(address: str) -> None:
    status, _, _ = fetched(address, "/ask?q=" + "a" * 100_000, "text/html")
    assert status == 413
    assert fetched(address, "/healthz")[0] == 200


def test_the_endpoint_answers_over_http(address: str) -> None:
    query = quote("SELECT (COUNT(*) AS ?n) { ?c a <https://w3id.org/shiyi/vocab#Claim> }")
    _, _, body = fetched(address, f"/sparql?query={query}", "text/csv")
    assert int(body.split()[1]) > 1000
