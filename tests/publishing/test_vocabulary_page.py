"""The reference of the vocabulary is whole, linked and self-contained."""

import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from typing_extensions import override

from shiyi.errors import FormatError
from shiyi.ingest.tables.concepts import KINDS
from shiyi.ingest.tables.starter import Starter, vocabulary_quads
from shiyi.model.rdf import DefaultGraph, Literal, NamedNode, local_name, text
from shiyi.ontology.schema import Schema
from shiyi.ontology.terms import DCTERMS, RDF, RDFS, SHIYI, SKOS
from shiyi.publishing.vocabulary_page import ARROWS, BOXES, diagram, reference_html
from shiyi.shapes.validation import shape_names
from shiyi.sparql.base.knowledge_base import KnowledgeBase
from tests.support.places import ROOT

DOCS = ROOT / "docs/reference/vocabulary"
REPLACES = NamedNode("http://purl.org/dc/terms/replaces")
EMPTY = {"meta", "link", "img", "br"}


class Seen(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.ids: set[str] = set()
        self.links: set[str] = set()
        self.tags: list[str] = []
        self.open: list[str] = []

    @override
    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        if tag not in EMPTY:
            self.open.append(tag)
        given = dict(attrs)
        if "id" in given:
            assert given["id"] not in self.ids, f"{given['id']} stands twice"
            self.ids.add(str(given["id"]))
        if "href" in given:
            self.links.add(str(given["href"]))

    @override
    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in EMPTY:
            self.open.pop()

    @override
    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


@pytest.fixture(params=["zh", "en"])
def page(request: pytest.FixtureRequest) -> Seen:
    seen = Seen()
    seen.feed(reference_html(request.param))
    assert seen.open == []
    return seen


def test_every_class_property_scheme_and_shape_has_place(page: Seen) -> None:
    schema = Schema.load()
    parents = {*schema.parents, *schema.properties, *(f"shape-{n}" for n in shape_names())}
    assert len(parents) > 150
    assert parents <= page.ids
    assert {f"scheme-{kind}" for kind in KINDS.values()} <= page.ids


def test_page_links_resolve_and_nothing_is_loaded(page: Seen) -> None:
    assert len(page.links) > 150
    assert {link.removeprefix("#") for link in page.links} <= page.ids
    assert not {"script", "link", "img", "iframe"} & set(page.tags)


def test_the_page_speaks_its_language_and_escapes() -> None:
    zh, en = reference_html("zh"), reference_html("en")
    assert "归经" in zh
    assert "has meridian tropism" in en
    assert "枸杞子" in zh
    assert "goji" in en
    drawn = diagram("<script>", lambda name: f"<i>{name}</i>")
    assert "<script>" not in drawn
    assert "<i>" not in drawn
    assert not re.search(r"url\((?!#)|@import|src=", zh + en)
    with pytest.raises(FormatError):
        reference_html("fr")


def test_the_diagram_draws_what_the_vocabulary_allows() -> None:
    schema = Schema.load()
    assert set(BOXES) <= set(schema.parents)
    for start, name, end in ARROWS:
        if ":" not in name:
            each = schema.property(name)
            assert schema.fits(start, each.domain), (start, name)
            assert any(
                schema.fits(end, frozenset({r})) or schema.fits(r, frozenset({end}))
                for r in each.range
            ), (name, end)


def test_pages_in_docs_are_those_of_vocabulary() -> None:
    for language in ("zh", "en"):
        content = (DOCS / f"{language}.html").read_text("utf-8")
        assert content == reference_html(language), "run make docs"


def test_every_scheme_has_bilingual_title_and_definition() -> None:
    facts: dict[str, dict[str, set[str | None]]] = {}
    for quad in vocabulary_quads():
        result = facts.setdefault(text(quad.subject), {})
        language = quad.object.language if isinstance(quad.object, Literal) else ""
        result.setdefault(quad.predicate.value, set()).add(language)
    schemes = {f"scheme-{kind}" for kind in KINDS.values()}
    results = {
        local_name(s) for s, result in facts.items() if RDF.type.value in result and "scheme-" in s
    }
    assert schemes <= results
    for subject, result in facts.items():
        if local_name(subject).startswith("scheme-"):
            for predicate in (RDFS.label, DCTERMS.title, SKOS.definition):
                assert result[predicate.value] == {"zh", "en"}, subject
            assert DCTERMS.source.value in result, subject


def test_every_example_of_property_is_claim_of_base(starter: Starter) -> None:
    schema = Schema.load()
    zh = {concept.id: concept.zh for concept in starter.concepts.by_id.values()}
    claimed = {
        f"{zh[local_name(c.subject.value)]} — "
        f"{schema.property(local_name(c.predicate.value)).label_zh} — "
        f"{zh.get(local_name(text(c.object)), '')}"
        for c in starter.claims
    }
    examples = [
        quad.object.value
        for quad in vocabulary_quads()
        if quad.predicate.value.endswith("#example")
        and isinstance(quad.object, Literal)
        and quad.object.language == "zh"
        and " — " in quad.object.value
    ]
    assert len(examples) > 30
    assert [example for example in examples if example not in claimed] == []


def test_constitution_standard_names_its_predecessor(starter_kb: Path) -> None:
    with KnowledgeBase.open(starter_kb) as base:
        replacing = list(base.store.match(None, REPLACES, graph=DefaultGraph()))
        sources = {text(q.subject) for q in base.store.match(None, RDF.type, SHIYI.Source)}
        tops = {text(q.object) for q in base.store.match(None, SKOS.hasTopConcept)}
        below = {text(q.subject) for q in base.store.match(None, SKOS.broader)}
    replaced = {(local_name(text(q.subject)), local_name(text(q.object))) for q in replacing}
    assert replaced == {("source-gbt-46939-2025", "source-zyyxh-t157-2009")}
    assert {f"https://w3id.org/shiyi/id/{each}" for pair in replaced for each in pair} <= sources
    assert len(tops) > 2000
    assert tops & below == set()
