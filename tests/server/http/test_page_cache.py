"""Pages and answers are made once for each version of the store, in bounded memory."""

import gzip
import random
import re
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from flask import Flask, template_rendered

from shiyi.answering.knowledge.facts import Facts
from shiyi.answering.pipeline import AskRequest
from shiyi.model.iris import ID
from shiyi.model.rdf import DefaultGraph, NamedNode
from shiyi.ontology.schema import Schema
from shiyi.ontology.terms import RDF, SHIYI, SKOS
from shiyi.server.app import create_app
from shiyi.server.http import headers
from shiyi.server.http.page_cache import PageCache
from shiyi.server.site.opening import open_site
from shiyi.server.site.site import Site
from shiyi.server.site.tokens import Tokens
from shiyi.server.site.visibility import Claims
from shiyi.server.views.reader import MOST, Reader, Statement
from shiyi.settings import QuerySettings, Settings
from shiyi.sparql.base.knowledge_base import KnowledgeBase, build_generation
from tests.support.sites import GOJI, INTERACTION, WARFARIN, YIN, open_test_site, quads
from tests.tables import from_table


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

    def _ask(self, request: AskRequest) -> Any:
        self.asked.append(request.question)
        return self._site.ask(request)


def page(cache: PageCache, address: str, text: str) -> str:
    app = Flask(__name__)
    app.extensions["shiyi"] = SimpleNamespace(settings=Settings())
    with app.test_request_context(address):
        return cache.page(lambda: text)


def test_page_made_once_for_each_state_of_base(site: Site) -> None:
    counted = Counted(site)
    count = PageCache(counted.site)
    assert page(count, "/a?lang=en", "枸杞 1") == "枸杞 1"
    assert page(count, "/a?lang=en", "枸杞 2") == "枸杞 1"
    assert page(count, "/a?lang=zh", "枸杞 3") == "枸杞 3"
    counted.version = 2
    assert page(count, "/a?lang=en", "枸杞 4") == "枸杞 4"


def test_an_answer_depends_on_the_address_alone(site: Site) -> None:
    """In the language of the question, whichever a browser prefers; so it is made once."""
    counted = Counted(site)
    client = create_app(counted.site).test_client()
    questions = ("Can I take goji berry with warfarin?", "枸杞子可以和华法林一起吃吗？")
    for number, question in enumerate(questions, 1):
        replies = [
            client.get("/api/ask", query_string={"q": question}, headers={"Accept-Language": term})
            for term in ("zh", "en")
        ]
        posted = [
            client.post("/api/ask", json={"question": question}, headers={"Accept-Language": term})
            for term in ("zh", "en")
        ]
        texts = {reply.get_json()["answer"] for reply in (*replies, *posted)}
        assert len(texts) == 1
        assert len(counted.asked) == number


def test_the_pages_asked_for_least_lately_make_room(site: Site) -> None:
    cache = PageCache(site, max_bytes=3000)
    for number in range(6):
        page(cache, f"/{number}", f"made {number}")
        assert page(cache, "/0", "again") == "made 0"
    assert page(cache, "/5", "again") == "made 5"
    assert page(cache, "/1", "again") == "again"


def test_page_larger_than_cache_is_sent_all_same(site: Site) -> None:
    cache = PageCache(site, max_bytes=10)
    assert page(cache, "/a", "first") == "first"
    assert page(cache, "/a", "second") == "second"


@from_table
def test_a_client_with_the_current_etag_gets_304(site: Site, path: str) -> None:
    client = create_app(site).test_client()
    first, second = (client.get(path) for _ in range(2))
    assert (first.status_code, first.data, first.headers["ETag"]) == (
        200,
        second.data,
        second.headers["ETag"],
    )
    again = client.get(path, headers={"If-None-Match": first.headers["ETag"]})
    assert (again.status_code, again.data) == (304, b"")
    assert client.get(path, headers={"If-Match": '"x"'}).status_code == 412


def test_scripts_have_another_nonce_in_each_response(site: Site) -> None:
    client = create_app(site).test_client()
    policies = [
        client.get("/page/substance-goji").headers["Content-Security-Policy"] for _ in range(3)
    ]
    assert (
        len({word for policy in policies for word in re.findall(r"'nonce-([^']{20,})'", policy)})
        == 3
    )


def test_full_queue_answered_503_with_time_to_wait(site: Site) -> None:
    app, limit = create_app(site), site.settings.server.queue
    client = app.test_client()
    headers.limit_queue(app, lambda: limit + 1)
    refused = client.get("/page/drug-warfarin")
    assert (refused.status_code, refused.headers["Retry-After"]) == (503, "5")
    assert client.get("/healthz").status_code == 200
    assert 'shiyi_shed_total{kind="queue"}' in client.get("/metrics").text
    headers.limit_queue(app, lambda: limit)
    assert client.get("/page/drug-warfarin").status_code == 200


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


_ASKED = {"q": "goji", "age": "", "medicines": ""}  # as a browser sends a form without a person
_WAYS: dict[str, dict[str, Any]] = {
    "/ask?q=goji": {"method": "GET"},
    "/ask": {"data": _ASKED},
    "/api/ask/stream?page=1": {"data": _ASKED},
    "/api/ask": {"json": {"question": "goji"}},
}


@pytest.mark.parametrize("address", _WAYS)
def test_question_answered_once_for_each_state_of_base(site: Site, address: str) -> None:
    counted = Counted(site)
    client = create_app(counted.site).test_client()
    sent = {"method": "POST"} | _WAYS[address]
    first, second = (client.open(address, **sent).text for _ in range(2))
    assert first == second
    assert counted.asked == ["goji"]
    counted.version = 2
    client.open(address, **sent).get_data()
    assert counted.asked == ["goji"] * 2


@pytest.mark.parametrize(
    "more",
    [("age", "34"), ("reply", "yes"), ("drop", "avoids:pork"), ("context", '{"questions": ["a"]}')],
)
@pytest.mark.parametrize("address", ["/ask", "/api/ask/stream?page=1"])
def test_personal_answers_are_not_cached(site: Site, address: str, more: tuple[str, str]) -> None:
    counted = Counted(site)
    client = create_app(counted.site).test_client()
    client.post(address, data=_ASKED).get_data()
    for _ in range(2):
        client.post(address, data=_ASKED | dict([more])).get_data()
    assert len(counted.asked) == 3


def test_answer_asked_for_with_token_is_not_stored(site: Site) -> None:
    counted = Counted(site)
    client = create_app(counted.site).test_client()
    for address, sent in _WAYS.items():
        token = {"Authorization": "Bearer x"}
        client.open(address, **{"method": "POST", "headers": token} | sent).get_data()
    assert len(counted.asked) == len(_WAYS)


def test_each_reader_gets_page_of_answer_in_language(site: Site) -> None:
    client = create_app(site).test_client()
    asked = ("/ask?q=goji&lang=zh", "/ask?q=goji&lang=en") * 2
    chinese, english, *again = (client.get(each).text for each in asked)
    assert again == [chinese, english]
    assert 'lang="zh-Hans"' in chinese
    assert '<html lang="en"' in english


@pytest.mark.parametrize("path", ["/", "/ask", "/check", "/statistics", "/concept-search?q=goji"])
def test_a_page_is_rendered_once_and_sent_compressed(site: Site, path: str) -> None:
    app, rendered = create_app(site), list[str]()

    def note(_: Flask, template: Any, **__: Any) -> None:
        rendered.append(template.name)

    with template_rendered.connected_to(note, app):
        client = app.test_client()
        plain = client.get(path)
        packed = [client.get(path, headers={"Accept-Encoding": "gzip"}) for _ in range(2)]
    assert len(rendered) == 1
    for item in packed:
        assert gzip.decompress(item.data) == plain.data
        assert item.headers["Content-Encoding"] == "gzip"
        assert "Accept-Encoding" in item.headers["Vary"]


@pytest.mark.parametrize("more", ["age=34", "medicines=warfarin", "context=%7B%7D"])
def test_answer_to_a_profile_is_not_cached(site: Site, more: str) -> None:
    counted = Counted(site)
    client = create_app(counted.site).test_client()
    for _ in range(2):
        client.get(f"/api/ask?q=goji&{more}")
    assert counted.asked == ["goji"] * 2


def test_answer_that_model_may_have_written_not_cached(site: Site) -> None:
    counted = Counted(site, research=lambda question, language: question)
    client = create_app(counted.site).test_client()
    for _ in range(2):
        client.get("/api/ask?q=goji")
    assert counted.asked == ["goji"] * 2


def test_counts_are_renewed_with_bounded_effort(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    counted, now = Counted(site), [0.0]
    number = PageCache(counted.site)
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
        return number.figures("n", count)

    assert number.figures("n", count) == 1
    assert number.is_current("n")
    counted.version = 2
    now[0] += 17.0  # too soon
    assert settled() == settled() == 1
    assert not number.is_current("n")
    now[0] += 2.0
    number.figures("n", count)  # the earlier while the new is made beside
    assert settled() == 2
    assert made == [1, 2]
    assert number.figures("left", count, lambda: 0) == 0  # by an earlier process; none waits


def test_slow_page_is_made_once_for_all(site: Site) -> None:
    cache, made, go = PageCache(site), list[int](), threading.Event()

    def slowly() -> int:
        go.wait(10)
        made.append(1)
        return len(made)

    with ThreadPoolExecutor(4) as pool:
        futures = [pool.submit(cache.figures, "n", slowly) for _ in range(4)]
        go.set()
        assert {future.result(10) for future in futures} == {1}


SAMPLE = 150


@pytest.fixture(scope="module")
def readers(starter_kb: Path) -> Iterator[tuple[Reader, Reader]]:
    with KnowledgeBase.open(starter_kb) as base:
        facts = Facts.read(base.store, Schema.load())
        yield Reader(base.store, "zh"), Reader(base.store, "zh", Claims(lambda: facts))


def shown(found: Iterator[Statement]) -> set[tuple[object, ...]]:
    """Return what statements say, those past the surest of a relation left out."""
    return {
        (
            statement.claim,
            statement.predicate,
            statement.subject.iri,
            statement.object.iri,
            statement.object.label,
            statement.object.language,
            statement.subject.label,
            statement.other.other,
            statement.confidence,
            statement.forward,
            statement.derived,
            statement.negative,
        )
        for statement in found
        if not statement.of
    }


def test_memory_says_of_concept_what_store_says(readers: tuple[Reader, Reader]) -> None:
    store, memory = readers
    concepts = {
        quad.subject for quad in store.store.match(None, SKOS.prefLabel, None, DefaultGraph())
    }
    named = sorted(term.value for term in concepts if isinstance(term, NamedNode))
    draw = random.Random(7)  # noqa: S311 # the same each time
    message = 0
    for iri in draw.sample(named, SAMPLE):
        node = NamedNode(iri)
        group = shown(memory.statements(node))
        assert group == shown(store.statements(node)), iri
        message += len(group)
    assert message > SAMPLE


def test_of_hub_both_tell_how_many_and_surest(readers: tuple[Reader, Reader]) -> None:
    node = NamedNode(f"{ID}flavour-sweet")
    for reader in readers:
        cut = [statement for statement in reader.statements(node) if statement.of]
        by_relation = {statement.predicate: statement.of for statement in cut}
        assert all(count > MOST for count in by_relation.values())
        assert by_relation["hasFlavour"] > MOST
        assert len([statement for statement in cut if statement.predicate == "hasFlavour"]) == MOST


def test_update_is_visible_in_next_page(tmp_path: Path) -> None:
    kb = tmp_path / "kb"
    build_generation(kb, quads(), {})
    token = Tokens(kb).add("ada", "maintain", 1)
    site = open_site(kb, replace(Settings(), kb=kb, query=QuerySettings(workers=1)))
    try:
        client = create_app(site).test_client()
        page = f"/page/{WARFARIN.value.removeprefix(ID)}?lang=en"
        claim, fact = INTERACTION.iri, f"<<( {YIN} {SHIYI.fears} {WARFARIN} )>>"
        assert "yin deficiency" not in client.get(page).text
        assert claim.value.removeprefix(ID) in client.get(page).text
        asked = {"question": "Can I take goji berry with warfarin?"}
        assert claim.value in client.post("/api/ask", json=asked).text
        assert claim.value in client.post("/ask", data={"q": asked["question"]}).text
        update = f"""
            PREFIX s: <https://w3id.org/shiyi/vocab#>
            INSERT DATA {{ {YIN} s:fears {WARFARIN} . <{ID}claim/new> <{RDF.reifies.value}> {fact} ;
              a s:Claim ; s:status s:accepted ; s:polarity s:positive ; s:confidence 0.7 }} ;
            DELETE WHERE {{ {claim} ?p ?o }} ;
            DELETE WHERE {{ {GOJI} s:interactsWith {WARFARIN} }}"""
        sent = client.post(
            "/sparql", data={"update": update}, headers={"Authorization": f"Bearer {token}"}
        )
        assert sent.status_code == 204, sent.text
        after = client.get(page).text
        assert "yin deficiency" in after
        assert claim.value.removeprefix(ID) not in after
        assert claim.value not in client.post("/api/ask", json=asked).text
        assert claim.value not in client.post("/ask", data={"q": asked["question"]}).text
    finally:
        site.close()
