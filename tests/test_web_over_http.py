"""The whole server over real HTTP on a loopback port, with the real starter base."""

import http.client
import json
import threading
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote, urlsplit

import pytest
from waitress.server import create_server

from shiyi.server.app import create_app
from shiyi.settings import Settings
from tests.stopping import stop


@pytest.fixture(scope="module")
def address(starter_kb: Path) -> Iterator[str]:
    app = create_app(starter_kb, Settings())
    server = create_server(app, map={}, host="127.0.0.1", port=0, threads=4)
    thread = threading.Thread(target=server.run)
    thread.start()
    yield f"127.0.0.1:{server.effective_port}"
    stop(server)
    thread.join(timeout=10)
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


def test_every_citation_of_an_answer_opens_as_a_page_and_as_turtle(address: str) -> None:
    status, _, body = fetched(
        address, "/api/ask", body={"question": "失眠多梦、手脚心热，吃点什么好？", "lang": "zh"}
    )
    answer = json.loads(body)
    assert status == 200
    assert answer["citations"]
    for cited in answer["citations"]:
        path = urlsplit(cited["claim"]).path.removeprefix("/shiyi")
        for accept, kind in (("text/html", "text/html"), ("text/turtle", "text/turtle")):
            status, headers, _ = fetched(address, path, accept)
            assert status == 303
            status, headers, shown = fetched(address, headers["location"], accept)
            assert (status, headers["content-type"].split(";")[0]) == (200, kind)
            assert cited["claim"].encode() in shown or b"reifies" in shown


def test_each_form_of_page_opens_in_both_languages(address: str) -> None:
    question = quote("Can I take ginkgo biloba with warfarin?")
    for path in ("/?", f"/ask?q={question}&", "/browse?class=Dish&", "/page/constitution-yin-deficiency?",
                 "/sparql?", "/vocab?", "/concept-search?q=gouqi&"):  # fmt: skip
        for language, mark in (("zh", 'lang="zh-Hans"'), ("en", 'lang="en"')):
            status, _, body = fetched(address, f"{path}lang={language}", "text/html")
            if status == 404:
                assert path.startswith("/page/")
                continue
            assert status == 200, path
            assert mark.encode() in body


def test_pinyin_completes_to_a_chinese_name(address: str) -> None:
    _, _, body = fetched(address, "/api/complete?q=gouqi")
    assert any("枸杞" in each["label_zh"] for each in json.loads(body)["completions"])


def test_a_question_of_a_hundred_thousand_characters_is_413_in_the_address_too(
    address: str,
) -> None:
    status, _, _ = fetched(address, "/ask?q=" + "a" * 100_000, "text/html")
    assert status == 413
    assert fetched(address, "/healthz")[0] == 200


def test_the_endpoint_answers_over_http(address: str) -> None:
    query = quote("SELECT (COUNT(*) AS ?n) { ?c a <https://w3id.org/shiyi/vocab#Claim> }")
    _, _, body = fetched(address, f"/sparql?query={query}", "text/csv")
    assert int(body.split()[1]) > 1000
