"""The timeline: who states what of a thing, and when; where books and sources of today differ."""

import csv
import json
import lzma
import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest
from flask.testing import FlaskClient

from shiyi.answering.knowledge.overlay import overlay_of_books
from shiyi.ingest.documents.books import book_of, book_quads, books, source_of
from shiyi.model.claim import (
    Claim,
    Confidence,
    Evidence,
    EvidenceKind,
    Polarity,
    Source,
    Status,
    Tier,
)
from shiyi.model.iris import graph, resource
from shiyi.model.rdf import DefaultGraph, Literal, NamedNode, Quad, text
from shiyi.ontology.serialization import claim_quads, source_quads
from shiyi.ontology.terms import SHIYI, SKOS
from shiyi.server.app import create_app
from shiyi.server.pages.timeline import choose_lanes, position
from shiyi.server.views.reader import Reader
from shiyi.server.views.timeline import Timeline, timeline
from shiyi.settings import Settings
from shiyi.sparql.base.knowledge_base import KnowledgeBase
from shiyi.sparql.queries.named import Query
from shiyi.sparql.store.oxigraph import OxigraphStore
from shiyi.verification import rows as packed
from shiyi.verification.corpora import Registry, catalogue, text_digest
from shiyi.verification.pointers import open_words
from shiyi.verification.rows import unpack
from tests.tables import from_table

GINGER = "/timeline/substance-shengjiang"
COLLECTION = Source("a-collection", "集", "A collection", Tier.CLASSIC)
STANDARD = Source("a-standard", "标准", "A standard", Tier.STANDARD, "2023")
HOT, WARM, COLD, COUGH = (resource(f"value-{term}") for term in ("hot", "warm", "cold", "cough"))
THING = resource("substance-thing")


@pytest.fixture(scope="module")
def client(starter_kb: Path) -> Iterator[FlaskClient]:
    app = create_app(starter_kb, Settings())
    yield app.test_client()
    app.extensions["shiyi"].close()


def get(client: FlaskClient, path: str, status: int = 200) -> str:
    reply = client.get(path, headers={"Accept": "text/html", "Accept-Language": "en"})
    assert reply.status_code == status, reply.text[:200]
    return reply.text


def titles(client: FlaskClient, query: str = "") -> list[str]:
    rows = csv.DictReader(get(client, f"{GINGER}.csv?lang=zh{query}").splitlines())
    return [row["title"] for row in rows]


@from_table
def test_each_filter_changes_what_is_listed(client: FlaskClient, query: str, book: str) -> None:
    every, left = titles(client), titles(client, query)
    assert book in left
    assert 0 < len(left) < len(every)
    assert "理法方药数据（国家标准与药典用语）" in every
    assert "理法方药数据（国家标准与药典用语）" not in left


@pytest.mark.parametrize(("language", "word"), [("zh", "四性"), ("en", "Nature")])
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_picture_is_drawn_in_both_languages_and_schemes(
    client: FlaskClient, language: str, word: str, theme: str
) -> None:
    written = get(client, f"{GINGER}.svg?lang={language}&theme={theme}")
    element = ElementTree.fromstring(written)  # noqa: S314 - of this server
    texts = [each.text for each in element.iter("{http://www.w3.org/2000/svg}text")]
    assert word in texts
    assert len(list(element.iter("{http://www.w3.org/2000/svg}circle"))) > 5
    assert ("#191713" in written) == (theme == "dark")
    assert word in get(client, f"{GINGER}?lang={language}")


def test_json_has_works_values_and_what_today_states(client: FlaskClient) -> None:
    shown = json.loads(get(client, "/api/timeline?concept=https://w3id.org/shiyi/id/substance-jiu"))
    nature = next(item for item in shown["properties"] if item["property"] == "nature")
    assert {item["value"]["label_en"] for item in nature["values"]} >= {"warm", "very hot"}
    dated = [item["to"] for item in shown["works"] if not item["modern"]]
    assert dated == sorted(dated)
    written = {(item["author"], item["place"], item["place_basis"]) for item in shown["works"]}
    assert written >= {("忽思慧", "大都", "recalled"), ("卢之颐", "钱唐", "header")}
    assert shown["facets"]["dynasty"]


@from_table
def test_what_is_unknown_is_named(client: FlaskClient, path: str, status: int, words: str) -> None:
    assert words in get(client, path, status)


def test_concept_page_links_its_timeline(client: FlaskClient) -> None:
    assert client.get("/timeline/生姜").headers["Location"] == GINGER
    assert f'href="{GINGER}"' in get(client, "/page/substance-shengjiang?lang=en")


def test_the_shipped_query_lists_the_oldest_first(starter_kb: Path) -> None:
    with KnowledgeBase.open(starter_kb) as base:
        rows = list(base.store.select(Query.named("timeline").text))
    years = [int(text(row["year"])) for row in rows if "year" in row]
    assert years == sorted(years)
    assert years[0] < 800
    assert years[-1] > 2000


def test_sources_of_tables_that_are_books_have_dates() -> None:
    book = book_of("yinshan-zhengyao")
    assert book is not None
    assert (book.author, book.start, book.school) == ("忽思慧", 1330, "shiliao")
    assert book_of("common-knowledge") is None
    assert source_of(book, COLLECTION).lineage == "shiliao" or book.lineage == ""
    assert position(713) < position(1330) < position(1578)


def shown_of(*claims: Claim) -> Timeline:
    """Return the timeline of a thing of which works state values."""
    store = OxigraphStore.in_memory()
    for node in (THING, HOT, WARM, COLD, COUGH):
        label = Literal(node.value.rpartition("-")[2], language="en")
        store.change(add=[Quad(node, SKOS.prefLabel, label, DefaultGraph())])
    store.change(add=[Quad(HOT, SKOS.broader, WARM, DefaultGraph())])
    for claim in claims:
        place = DefaultGraph() if claim.status is Status.ACCEPTED else graph("candidates")
        source = claim.evidence[0].source
        store.change(add=[*claim_quads(claim, place), *source_quads(source)])
        if book := book_of(source.id):
            store.change(add=list(book_quads(book, source.iri, DefaultGraph())))
    return timeline(Reader(store, "en"), THING, {})


def of_book(number: str) -> Source:
    book = next(each for each in books().values() if each.file.startswith(number))
    return source_of(book, COLLECTION)


def states(
    relation: str, value: NamedNode, source: Source, kind: EvidenceKind = EvidenceKind.READ
) -> Claim:
    evidence = Evidence(source, Confidence(0.8), "here", kind)
    return Claim(THING, getattr(SHIYI, relation), value, (evidence,))


def denies(relation: str, value: NamedNode, source: Source) -> Claim:
    claim = states(relation, value, source)
    return replace(claim, polarity=Polarity.NEGATIVE, status=Status.CANDIDATE)


OLD = of_book("009")
NATURE, USE, HARM = "hasNature", "relieves", "cautionIn"


@pytest.mark.parametrize(
    ("today", "more"),
    [
        ("silent", []),
        ("agrees", [states(NATURE, WARM, STANDARD)]),
        ("degree", [states(NATURE, HOT, STANDARD)]),
        ("differs", [states(NATURE, COLD, STANDARD)]),
        ("contradicts", [denies(NATURE, WARM, STANDARD)]),
        ("silent", [states(NATURE, WARM, STANDARD, EvidenceKind.RECALLED)]),
    ],
)
def test_what_sources_of_today_state_is_compared(today: str, more: list[Claim]) -> None:
    shown = shown_of(states(NATURE, WARM, OLD), *more)
    values = {
        value.thing.iri: value.today
        for _, found_values in shown.properties
        for value in found_values
    }
    assert values[WARM.value] == today
    assert all(state in {today, "new"} for state in values.values())


def test_harm_stated_today_contradicts_an_old_use() -> None:
    shown = shown_of(states(USE, COUGH, OLD), states(HARM, COUGH, STANDARD))
    assert [value.today for name, values in shown.properties for value in values][:1] == [
        "contradicts"
    ]


@pytest.mark.parametrize(
    ("kind", "claims"),
    [
        ("value", [states(NATURE, WARM, OLD), states(NATURE, COLD, of_book("013"))]),
        ("school", [states("hasFlavour", WARM, OLD), states("hasFlavour", COLD, of_book("008"))]),
        ("denied", [states(USE, COUGH, OLD), denies(USE, COUGH, OLD)]),
        ("opposed", [states(USE, COUGH, OLD), states(HARM, COUGH, of_book("013"))]),
    ],
)
def test_where_old_books_differ_is_found(kind: str, claims: list[Claim]) -> None:
    assert [difference.kind for difference in shown_of(*claims).differences] == [kind]
    assert shown_of(claims[0]).differences == ()


def test_a_degree_of_a_nature_is_no_difference() -> None:
    found = shown_of(states(NATURE, WARM, OLD), states(NATURE, HOT, of_book("013")))
    assert [difference.kind for difference in found.differences] == []


def test_books_of_school_are_overlay_of_their_own(client: FlaskClient) -> None:
    site = client.application.extensions["shiyi"]
    diet, warm = (
        overlay_of_books(site.base.store, resource(f"school-{term}"), site.runtime.facts).taught
        for term in ("shiliao", "wenbing")
    )
    assert len(diet) > 500
    assert 0 < len(diet & warm) + len(warm - diet) < len(diet)


def test_words_of_pointer_read_where_corpus_installed(tmp_path: Path) -> None:
    corpus = catalogue()["ancient-books"]
    file = corpus.tables[0].file
    with lzma.open(tmp_path / file, "wt", encoding="utf-8") as books_file:
        books_file.write(
            json.dumps({"file": "009-a.txt", "title": "a", "text": "之味辛微温无毒"}) + "\n"
        )
    registry = Registry(tmp_path / "kb")
    place = f"{file} 009-a.txt [text] 1–3 #{text_digest('味辛')}"
    assert open_words(registry, place) is None
    registry._write({"ancient-books": tmp_path})
    assert open_words(registry, place) == ("之", "味辛", "微温无毒")
    assert open_words(registry, place.replace("1–3", "2–4")) is None


def test_an_unpacked_book_is_read_without_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    corpus = catalogue()["ancient-books"]
    file = corpus.tables[0].file
    with lzma.open(tmp_path / file, "wt", encoding="utf-8") as books_file:
        books_file.write(json.dumps({"file": "009-a.txt", "title": "a", "text": "味辛"}) + "\n")
    registry = Registry(tmp_path / "kb")
    registry._write({"ancient-books": tmp_path})
    place = f"{file} 009-a.txt [text] 0–2 #{text_digest('味辛')}"
    assert unpack(corpus, tmp_path, registry.folder) == 1
    monkeypatch.setattr(packed, "read_records", lambda *_: iter(()))
    assert open_words(registry, place) == ("", "味辛", "")
    os.utime(tmp_path / file, (0, 0))  # another version is read itself
    assert open_words(registry, place) is None


def test_a_row_that_lists_other_values_denies_nothing() -> None:
    row = replace(denies(NATURE, COLD, STANDARD).evidence[0], kind=EvidenceKind.ROW)
    claim = replace(denies(NATURE, COLD, STANDARD), evidence=(row,))
    shown = shown_of(states(NATURE, COLD, OLD), states(NATURE, WARM, STANDARD), claim)
    values = {
        value.thing.iri: value.today
        for _, found_values in shown.properties
        for value in found_values
    }
    assert values[COLD.value] == "differs"


def test_timeline_shows_most_stated_values() -> None:
    shown = shown_of(
        states(NATURE, WARM, OLD), states(NATURE, COLD, OLD), states(NATURE, COLD, STANDARD)
    )
    assert {lane.label for lane in choose_lanes(shown)} == {"warm", "cold"}
    assert [lane.label for lane in choose_lanes(shown, limit=1)] == ["cold"]
