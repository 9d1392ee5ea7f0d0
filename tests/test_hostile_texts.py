"""Hostile texts through every field, form, label, literal, name and IRI: they stay text."""

import json
import os
from collections.abc import Iterator
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import quote, urlencode

import pytest

from shiyi.errors import UsageError
from shiyi.model.names import graph
from shiyi.model.rdf import Literal, NamedNode, Quad
from shiyi.sparql.knowledge_base import KnowledgeBase
from shiyi.sparql.oxigraph import OxigraphStore
from tests.contracts import A, B, P
from tests.desk_site import Desks, served
from tests.hostile_texts import sample, texts

NIGHTLY = bool(os.environ.get("SHIYI_NIGHTLY"))
EACH = int(os.environ.get("SHIYI_HOSTILE", len(texts()) if NIGHTLY else 4))  # for each field
READ = {
    "/": ("lang",), "/ask": ("q", "lang", "method", "k", "age", "sex", "medicines", "allergies",
    "conditions", "constitution", "pregnant", "lactating", "context"), "/api/ask": ("q", "lang", "method", "k"),
    "/api/ask/stream": ("q", "lang", "context"), "/api/complete": ("q", "lang", "limit"),
    "/browse": ("class", "page", "q", "letter"), "/compare": ("ids",), "/concept-search": ("q", "class", "page"),
    "/constitution": ("q1", "lang"), "/dishes": ("with", "without", "season", "for"), "/statistics": ("lang",),
    "/sparql": ("query", "default-graph-uri", "named-graph-uri", "timeout", "format", "profile"),
    "/rdf-graph-store": ("graph", "default"), "/vocab": ("lang", "q"), "/healthz": ("x",),
    "/curate/claim": ("iri", "claim"), "/curate/history": ("iri", "claim", "thing"), "/curate/queue": ("kind", "page", "sort", "source"),
    "/curate/thing": ("iri", "at"), "/curate/quarantine": ("page", "q"), "/curate/mappings": ("q", "page", "predicate"),
    "/curate/feedback": ("kind", "page"), "/curate/vocabulary": ("q", "class"), "/curate/vocabulary/concept": ("iri", "id"),
    "/curate/report": ("about", "claim"), "/curate/sign-in": ("next", "name"), "/curate/audit": ("page",),
    "/curate/edit": ("claim", "iri"), "/curate/reviews.jsonl": ("since",), "/curate/proposals": ("kind",),
}  # fmt: skip
SEGMENTS = (
    "/id/{}", "/page/{}", "/data/{}.ttl", "/data/{}", "/graph/{}", "/releases/{}/", "/releases/latest/{}",
    "/static/{}", "/vocab.{}", "/curate/change/{}", "/rdf-graph-store/{}", "/sitemap-{}.1.xml", "/{}",
)  # fmt: skip
FORMS = {
    "/curate/review": ("claim", "kind", "reason", "agreement", "expected", "key", "next"),
    "/curate/comment": ("claim", "text", "reason", "next"), "/curate/undo": ("change", "reason"),
    "/curate/assign": ("claim", "who"), "/curate/batch": ("claim", "kind", "reason"),
    "/curate/edit": ("claim", "subject", "predicate", "object", "reason", "quote"),
    "/curate/edit/check": ("claim", "object", "predicate"), "/curate/quarantine": ("claim", "what", "reason"),
    "/curate/mappings": ("subject", "object", "predicate", "what", "reason"), "/curate/feedback": ("item", "what", "reply"),
    "/curate/report": ("about", "text", "kind", "website"), "/curate/proposals": ("kind", "label_zh", "label_en", "reason"),
    "/curate/proposals/settle": ("proposal", "what"), "/curate/vocabulary/concept": ("iri", "label_zh", "alt_en"),
    "/curate/vocabulary/move": ("from", "to", "what"), "/curate/people": ("name", "role", "password"),
    "/curate/people/nobody": ("role", "what"), "/curate/account/password": ("old", "new"),
    "/curate/sign-in": ("name", "password", "next"), "/curate/import": ("bundle",),
}  # fmt: skip
BODIES = {
    "/api/ask": ("question", "lang", "method", "k", "profile", "context"), "/api/link": ("text",),
    "/api/ask/replay": ("trace", "answer"), "/api/ask/sparql": ("question", "lang"),
}  # fmt: skip


@pytest.fixture(scope="module")
def desks(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desks]:
    with served(tmp_path_factory.mktemp("hostile")) as opened:
        yield opened


class Line:
    """A kept connection to the server, as somebody."""

    def __init__(self, desks: Desks, who: str = "") -> None:
        self._connection = HTTPConnection(desks.address.removeprefix("http://"), timeout=60)
        jar = desks.visitor(who).cookies if who else ()
        self.cookie = "; ".join(f"{each.name}={each.value}" for each in jar)

    def ask(
        self, method: str, path: str, body: bytes | None = None, kind: str = ""
    ) -> tuple[int, str]:
        headers = {"Accept": "text/html", "Cookie": self.cookie} | (
            {"Content-Type": kind} if kind else {}
        )
        self._connection.request(method, path, body, headers)
        reply = self._connection.getresponse()
        location = reply.getheader("Location", "/") or "/"
        assert not location.startswith("//"), (path, location)
        said = reply.read().decode("utf-8", "replace")
        page = "html" in (reply.getheader("Content-Type") or "")
        return reply.status, said if page else ""  # no browser takes the others for a page

    def close(self) -> None:
        self._connection.close()


def check(status: int, body: str, text: str, place: object) -> None:
    assert status < 500 or status in {501, 503, 504, 507}, (status, place, text[:80])
    if "<" in text and any(
        word in text for word in ("script", "onerror", "onload", "ontoggle", "href=")
    ):
        assert text not in body, (place, text)


def state(desks: Desks) -> tuple[int, int]:
    assert desks.site.curation
    # what readers report stands in the journal, nothing else may
    return len(list(desks.site.store.match())), desks.site.version()


def test_there_are_more_than_a_thousand_texts() -> None:
    assert len(texts()) == len(set(texts())) > 1000
    assert len(set(sample(1, 500))) == 500


def test_every_text_is_the_same_literal_in_store_journal_and_after_a_restart(
    small_kb: Path,
) -> None:
    place = graph("hostile")
    quads = [Quad(A, P, Literal(text), place) for text in texts() if "\x00" not in text]
    with KnowledgeBase.open(small_kb, write=True) as kb:
        before = len(kb.store)
        kb.writer.write(quads[::2], key="k1", who="me", why="hostile")
        kb.writer.write(quads[1::2], [Quad(A, P, B)], key="k2", who=quads[5].object.value, why="x")  # type: ignore[union-attr] # a literal
    with KnowledgeBase.open(small_kb, write=True) as kb:
        held = {quad.object for quad in kb.store.match(A, P, None, place)}
        assert held == {quad.object for quad in quads}
        assert len(kb.store) == before + len(quads) + 1  # and the writer's note


def test_every_text_is_bound_into_a_query_as_itself() -> None:
    store, seen = OxigraphStore.in_memory(), 0
    every = [Literal(text) for text in texts()]
    store.change([Quad(A, P, each) for each in every])
    for each in every:
        [row] = store.select("SELECT ?s ?o { ?s ?p ?o }", o=each)
        assert row["o"] == each
        seen += 1
    assert (seen, len(store)) == (len(texts()), len(texts()))


def test_no_text_becomes_an_iri_that_says_more_than_one_term(writable_kb: KnowledgeBase) -> None:
    refused = 0
    before = len(writable_kb.store)
    for number, text in enumerate(texts()):
        try:
            writable_kb.writer.write([Quad(NamedNode(f"urn:x:{text}"), P, B, graph("iri"))],
                                     [Quad(B, P, B)], key=f"i{number}", who="me", why="x")  # fmt: skip
        except (UsageError, ValueError):
            refused += 1
    held = list(writable_kb.store.match(None, None, None, graph("iri")))
    assert refused > 500
    assert len(held) == len(texts()) - refused
    assert len(writable_kb.store) == before + len(held) + 1


@pytest.mark.parametrize("who", ["", "admin"])
def test_every_parameter_and_segment_takes_any_text(desks: Desks, who: str) -> None:
    line, before, asked = Line(desks, who), state(desks), 0
    for at, (path, names) in enumerate(READ.items()):
        if (
            who == ""
            and path.startswith("/curate")
            and path not in {"/curate/report", "/curate/sign-in"}
        ):
            continue
        if who and not path.startswith("/curate"):
            continue
        for text in sample(at, EACH):
            for name in names:
                said = urlencode({name: text}, errors="replace")
                check(*line.ask("GET", f"{path}?{said}"), text, (path, name))
                asked += 1
    for at, path in enumerate(SEGMENTS):
        for text in sample(at + 50, EACH):
            check(*line.ask("GET", path.format(quote(text, safe="", errors="replace"))), text, path)
            asked += 1
    assert asked > 150
    assert state(desks) == before
    line.close()


def test_every_form_takes_any_text_and_no_form_writes_by_it(desks: Desks) -> None:
    line, before, asked = Line(desks, "admin"), state(desks), 0
    for at, (path, names) in enumerate(FORMS.items()):
        for text in sample(at + 7, EACH):
            said = urlencode(dict.fromkeys(names, text) | {"csrf": text}, errors="replace")
            kind = "application/x-www-form-urlencoded"
            status, body = line.ask("POST", path, said.encode(), kind)
            check(status, body, text, path)
            assert status >= 400, (path, status)  # the token against forged forms does not fit
            asked += 1
    for at, (path, names) in enumerate(BODIES.items()):
        for text in sample(at + 9, EACH):
            for name in names:
                made = json.dumps({"question": "枸杞", name: text}).encode()
                check(*line.ask("POST", path, made, "application/json"), text, (path, name))
                asked += 1
    assert asked > 100
    assert state(desks) == before
    line.close()


def test_with_a_true_token_hostile_fields_are_refused_or_kept_as_text(desks: Desks) -> None:
    visitor, faults = desks.visitor("admin"), 0
    page = visitor.get("/curate/account").body
    from tests.desk_site import csrf_in

    csrf = csrf_in(page)
    assert csrf
    for at, (path, names) in enumerate(FORMS.items()):
        if "account" in path or "sign" in path:
            continue
        for text in sample(at + 31, EACH if NIGHTLY else 2):
            found = visitor.post(path, dict.fromkeys(names, text) | {"csrf": csrf})
            check(found.status, found.body, text, path)
            faults += found.status >= 400
    assert faults > 20
    line = Line(desks)
    assert line.ask("GET", "/healthz")[0] == 200
    line.close()
