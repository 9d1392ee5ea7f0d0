"""Reading with a language model: a real endpoint, a real base, every statement checked."""

import subprocess
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from shiyi.artefacts import artefact
from shiyi.cli.extracting import Extracting
from shiyi.ingest.concepts import concept_quads, read_concepts
from shiyi.ingest.forget import forget
from shiyi.ingest.gate import CANDIDATES, QUARANTINE, Gate
from shiyi.ingest.report import Report
from shiyi.ingest.run import Options, ingest, text_batches
from shiyi.ingest.starter import vocabulary_quads
from shiyi.ingest.tables import Faults
from shiyi.ingest.text.reading import read_text
from shiyi.linking.labels import LabelIndex
from shiyi.model.names import graph
from shiyi.model.rdf import DefaultGraph, NamedNode, Quad, text
from shiyi.ontology.terms import PROV, RDF, RDFS, SHIYI
from shiyi.ontology.vocabulary import Schema
from shiyi.prompts.replies import Replies
from shiyi.settings import IngestSettings, ModelSettings, Settings
from shiyi.sparql.generations import build_generation
from shiyi.sparql.knowledge_base import KnowledgeBase
from shiyi.sparql.records import record_of
from tests.model_server import ModelServer, good, serving

INDEX = LabelIndex.from_tables(artefact("ontology/concepts"))
GATE = Gate(INDEX)  # remembers what the shapes say, so that the tests share it
JOURNAL = graph("journal")
KEY = "sk-a-secret-for-tests"
PAGE = "# 本草\n\n## 山楂\n\n味甘，性平。治头痛。\n\n## 山药\n\n味甘，性平。煮粥食。\n\n## 当归\n\n味辛，性温。治咳嗽。\n"


def _quads() -> Iterator[Quad]:
    yield from vocabulary_quads()
    tables = read_concepts(artefact("ontology/concepts"), Schema.load(), Faults())
    for concept in tables.by_id.values():
        yield from concept_quads(concept, [], "")


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    kb = tmp_path_factory.mktemp("llm") / "kb"
    build_generation(kb, _quads(), {})
    return kb


@pytest.fixture
def copied(built: Path, tmp_path: Path) -> Callable[[str], Path]:
    def copy(name: str) -> Path:
        subprocess.run(["cp", "-r", str(built), str(tmp_path / name)], check=True)  # noqa: S603, S607
        return tmp_path / name

    return copy


@pytest.fixture
def page(tmp_path: Path) -> Path:
    path = tmp_path / "notes.md"
    path.write_text(PAGE, "utf-8")
    return path


def settings(**model: Any) -> Settings:
    chosen: dict[str, Any] = {
        "extract": "scripted",
        "attempts": 3,
        "wait": 0.01,
        "timeout": 10.0,
    } | model
    return replace(Settings(), models=ModelSettings(**chosen), ingest=IngestSettings(batch=2))


def read(
    kb: Path, page: Path, server: ModelServer, monkeypatch: pytest.MonkeyPatch, **model: Any
) -> Report:
    monkeypatch.setenv("OPENAI_BASE_URL", server.url)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    chosen = settings(**model)
    with KnowledgeBase.open(kb, write=True) as base:
        extracting = Extracting("llm", INDEX, GATE, chosen, base.path)
        dataset, document = read_text(page, 1_000_000)
        report = Report()
        batches = text_batches(
            dataset, [document], extracting.extractor(dataset), chosen, report, store=base.store
        )
        ingest(dataset, batches, report, GATE, base.writer, Options())
        extracting.tell(report, dataset)
        extracting.close()
    return report


def held(kb: Path) -> set[Quad]:
    with KnowledgeBase.open(kb) as base:
        return {
            quad for quad in base.store.match() if quad.graph_name not in (JOURNAL, DefaultGraph())
        }


def of_type(quads: set[Quad], kind: NamedNode) -> list[NamedNode]:
    return [
        quad.subject for quad in quads
        if quad.predicate == RDF.type and quad.object == kind and isinstance(quad.subject, NamedNode)
    ]  # fmt: skip


def value(quads: set[Quad], node: NamedNode, predicate: NamedNode) -> str:
    [found] = [text(q.object) for q in quads if q.subject == node and q.predicate == predicate]
    return found


def test_a_text_is_read_into_claims_notes_and_records(
    copied: Callable[[str], Path], page: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kb = copied("kb")
    with serving() as server:
        report = read(kb, page, server, monkeypatch)
    assert report.claims == {
        "hasNature": 3, "hasFlavour": 3, "indicatedFor": 2, "consumptionMethod": 1
    }  # fmt: skip
    assert (report.passages, report.parked, report.refused) == (3, {}, {})
    assert report.model["prompt tokens 输入词元"] == 100 * sum(server.asked.values())
    assert server.keys == {f"Bearer {KEY}"}
    quads = held(kb)
    claims = of_type(quads, SHIYI.Claim)
    assert len(claims) == 9
    for claim in claims:
        evidence = NamedNode(value(quads, claim, SHIYI.evidence))
        passage = NamedNode(value(quads, claim, SHIYI.supportedByText))
        start, end = (int(value(quads, evidence, p)) for p in (SHIYI.quoteStart, SHIYI.quoteEnd))
        assert value(quads, passage, RDF.value)[start:end] == value(quads, evidence, SHIYI.quote)
    for kind, number in (
        (SHIYI.PassageSummary, 3), (SHIYI.QuestionAnswer, 3), (SHIYI.EntityDescription, 3),
        (SHIYI.RelationDescription, 9),
    ):  # fmt: skip
        assert len(of_type(quads, kind)) == number
        for node in of_type(quads, kind):
            derived = value(quads, node, PROV.wasDerivedFrom)
            assert "/passage/" in derived


def test_a_rebuild_is_identical_and_asks_nobody(
    copied: Callable[[str], Path], page: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kb, again = copied("kb"), copied("again")
    with serving() as server:
        read(kb, page, server, monkeypatch)
    (again / "replies.sqlite").write_bytes((kb / "replies.sqlite").read_bytes())
    report = read(again, page, server, monkeypatch)  # the endpoint is gone
    assert report.model["model calls 模型调用"] == 0
    assert held(again) == held(kb)


def test_another_model_is_asked_anew(
    copied: Callable[[str], Path], page: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kb = copied("kb")
    with serving() as server:
        read(kb, page, server, monkeypatch)
        first = sum(server.asked.values())
        report = read(kb, page, server, monkeypatch, extract="other")
    assert sum(server.asked.values()) == 2 * first
    assert report.skipped == 0


def _saying(*statements: dict[str, Any]) -> Callable[[str, str, str], Any]:
    def script(name: str, title: str, passage: str) -> Any:
        if name == "extract-claims" and "当归" in title:
            return {"statements": [{"subject": "当归", "confidence": 0.9} | s for s in statements]}
        return good(name, title, passage)

    return script


@pytest.mark.parametrize(
    ("statement", "kind"),
    [
        ({"relation": "hasNature", "object": "温", "quote": "性大温"}, "the quote is not in the passage"),
        ({"relation": "cures", "object": "咳嗽", "quote": "治咳嗽"}, "no relation of this graph"),
        ({"relation": "suitableSeason", "object": "温", "quote": "性温"}, "not among the relations"),
        ({"subject": "咳嗽", "relation": "hasNature", "object": "温", "quote": "性温。治咳嗽"}, "of a class"),
        ({"relation": "hasNature", "object": "寒", "quote": "性温"}, "the name is not in the passage"),
        ({"subject": "人参", "relation": "hasNature", "object": "温", "quote": "性温"}, "the name is not"),
    ],
)  # fmt: skip
def test_what_the_passage_does_not_say_is_refused_and_kept_with_its_reason(
    copied: Callable[[str], Path], page: Path, monkeypatch: pytest.MonkeyPatch,
    statement: dict[str, Any], kind: str,
) -> None:  # fmt: skip
    kb = copied("kb")
    with serving(_saying(statement)) as server:
        report = read(kb, page, server, monkeypatch)
    assert [each for each in report.refused if each.startswith(kind)], report.refused
    assert server.asked["repair-claims"] == 1  # the same reply again is in the cache
    quads = held(kb)
    [node] = of_type(quads, SHIYI.RefusedStatement)
    assert statement["quote"] in value(quads, node, RDF.value)
    assert value(quads, node, RDFS.comment)
    assert sum(report.claims.values()) == 6


def _mending(name: str, title: str, passage: str) -> Any:
    wrong = {"subject": "当归", "relation": "hasNature", "object": "辛", "quote": "味辛"}
    if name == "repair-claims":
        assert "takes Nature" in title or passage  # the reason stands in the prompt
        return {"repairs": [{"number": 1, "statement": wrong | {"relation": "hasFlavour"}}]}
    return _saying(wrong)(name, title, passage)


def test_a_refused_statement_is_mended_by_the_model(
    copied: Callable[[str], Path], page: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kb = copied("kb")
    with serving(_mending) as server:
        report = read(kb, page, server, monkeypatch)
    assert report.refused == {}
    assert report.claims["hasFlavour"] == 3
    assert of_type(held(kb), SHIYI.RefusedStatement) == []


def test_what_breaks_a_shape_after_every_repair_is_in_quarantine_with_passage_and_report(
    copied: Callable[[str], Path], page: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kb = copied("kb")
    wrong = {"relation": "hasNature", "object": "辛", "quote": "味辛"}
    with serving(_saying(wrong)) as server:
        report = read(kb, page, server, monkeypatch)
    assert server.asked["repair-claims"] == 1  # the second round finds the same words
    assert [each for each in report.quarantined if each.startswith("hasNature: What")]
    quads = {quad for quad in held(kb) if quad.graph_name == QUARANTINE}
    [claim] = of_type(quads, SHIYI.Claim)
    assert "/passage/" in value(quads, claim, SHIYI.supportedByText)
    comments = [q for q in quads if q.subject == claim and q.predicate == RDFS.comment]
    assert len(comments) == 2  # the shape's message in both languages


def test_a_model_gets_no_more_than_two_rounds(
    copied: Callable[[str], Path], page: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rounds = iter(range(9))

    def stubborn(name: str, title: str, passage: str) -> Any:
        wrong = {"relation": "hasNature", "object": "辛", "quote": "味辛"}
        if name == "repair-claims":
            again = wrong | {"subject": "当归", "confidence": next(rounds) / 10}
            return {"repairs": [{"number": 1, "statement": again}]}
        return _saying(wrong)(name, title, passage)

    with serving(stubborn) as server:
        report = read(copied("kb"), page, server, monkeypatch)
    assert server.asked["repair-claims"] == 2
    assert sum(report.quarantined.values()) == 1


def test_attributes_of_two_passages_are_one_record_with_both_sources(
    copied: Callable[[str], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def script(name: str, title: str, passage: str) -> Any:
        if name == "extract-attributes":
            said = passage.strip().rstrip("。")
            return {"attributes": [{"subject": "山药", "relation": "consumptionMethod", "object": said,
                                    "quote": said, "confidence": 0.9}]}  # fmt: skip
        return good(name, title, passage)

    kb = copied("kb")
    with serving(script) as server:
        for name, said in (("one", "煮粥食。"), ("two", "煮粥食，可加莲子。")):
            path = tmp_path / f"{name}.md"
            path.write_text(f"# {name}\n\n## 山药\n\n{said}\n", "utf-8")
            read(kb, path, server, monkeypatch)
    [yam] = [
        each.iri for each in INDEX.concepts if each.zh == "山药" and each.kind == "MFHSubstance"
    ]
    with KnowledgeBase.open(kb) as base:
        [method] = record_of(base.store, yam, candidates=True)
    assert method.value == "煮粥食，可加莲子"
    assert (len(method.claims), len(method.sources)) == (2, 2)


def test_forgetting_takes_the_replies_with_it(
    copied: Callable[[str], Path], page: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kb = copied("kb")
    before = held(kb)
    with serving() as server:
        read(kb, page, server, monkeypatch)
    with KnowledgeBase.open(kb, write=True) as base:
        replies = Replies.open(kb)
        assert len(replies) == 15  # three passages, five prompts each
        replies.close()
        gone = forget(base.writer, "text-notes")
    assert gone["replies"] == 15
    assert held(kb) == before
    assert "性味如何".encode() not in (kb / "replies.sqlite").read_bytes()
    assert CANDIDATES not in {quad.graph_name for quad in held(kb)}
