"""Reading with a language model: a real endpoint, a real base, every statement checked."""

import json
import re
from collections.abc import Callable
from contextlib import redirect_stdout
from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from shiyi.artefacts import artefact
from shiyi.cli import main
from shiyi.ingest.batches import ImportRun, Report
from shiyi.ingest.cases.reading import CaseForm
from shiyi.ingest.documents.files import read_text
from shiyi.ingest.extraction import replies as llm_forms
from shiyi.ingest.extraction.extractor import ATTRIBUTES, Relations
from shiyi.ingest.gate import CANDIDATES, QUARANTINE, Gate
from shiyi.ingest.retraction import forget
from shiyi.ingest.run import Options, ingest, text_batches
from shiyi.ingest.schools.chain import ChainForm
from shiyi.ingest.schools.overlay import ReasoningForm
from shiyi.ingest.sources import ExtractorFactory
from shiyi.linking.labels import LabelIndex
from shiyi.model.iris import graph
from shiyi.model.rdf import NamedNode, Quad, text
from shiyi.ontology.terms import PROV, RDF, RDFS, SHIYI
from shiyi.prompts.caching import ReplyStore
from shiyi.prompts.chat import Completion
from shiyi.prompts.templates import Prompt
from shiyi.settings import IngestSettings, ModelSettings, Settings
from shiyi.sparql.base.knowledge_base import KnowledgeBase
from tests.support.bases import stored_quads
from tests.support.copies import copy_base
from tests.support.model_endpoints import ModelServer, good, serving
from tests.tables import from_table

INDEX = LabelIndex.from_tables(artefact("ontology/concepts"))
GATE = Gate(INDEX)  # remembers what the shapes say, so that the tests share it
JOURNAL = graph("journal")
KEY = "sk-a-secret-for-tests"
PAGE = "# 本草\n\n## 山楂\n\n味甘，性平。治头痛。\n\n## 山药\n\n味甘，性平。煮粥食。\n\n## 当归\n\n味辛，性温。治咳嗽。\n"


@pytest.fixture
def copied(built: Path, tmp_path: Path) -> Callable[[str], Path]:
    def copy(name: str) -> Path:
        return copy_base(built, tmp_path / name)

    return copy


@pytest.fixture
def page(tmp_path: Path) -> Path:
    path = tmp_path / "notes.md"
    path.write_text(PAGE, "utf-8")
    return path


def settings(ingest: IngestSettings | None = None, **model: Any) -> Settings:
    chosen: dict[str, Any] = {
        "extract": "scripted",
        "attempts": 3,
        "wait": 0.01,
        "timeout": 10.0,
    } | model
    return replace(
        Settings(), models=ModelSettings(**chosen), ingest=ingest or IngestSettings(batch=2)
    )


def read(
    kb: Path, page: Path, server: ModelServer, monkeypatch: pytest.MonkeyPatch, **model: Any
) -> Report:
    monkeypatch.setenv("OPENAI_BASE_URL", server.url)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    chosen_settings = settings(**model)
    with KnowledgeBase.open(kb, write=True) as base:
        extracting = ExtractorFactory("llm", INDEX, GATE, chosen_settings, base.path)
        dataset, document = read_text(page, 1_000_000)
        report = Report()
        run = ImportRun(dataset, chosen_settings, report)
        batches = text_batches(run, [document], extracting.extractor(dataset), base.store)
        ingest(dataset, batches, report, GATE, base.writer, Options())
        extracting.report_usage(report, dataset)
        extracting.close()
    return report


def of_type(quads: set[Quad], kind: NamedNode) -> list[NamedNode]:
    return [
        quad.subject
        for quad in quads
        if quad.predicate == RDF.type
        and quad.object == kind
        and isinstance(quad.subject, NamedNode)
    ]


def value(quads: set[Quad], node: NamedNode, predicate: NamedNode) -> str:
    [result] = [text(q.object) for q in quads if q.subject == node and q.predicate == predicate]
    return result


def test_text_is_read_into_claims_notes_and_records(
    copied: Callable[[str], Path], page: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kb = copied("kb")
    with serving() as server:
        report = read(kb, page, server, monkeypatch)
    assert report.claims == {
        "hasNature": 3,
        "hasFlavour": 3,
        "indicatedFor": 2,
        "consumptionMethod": 1,
    }
    assert (report.passages, report.parked, report.refused) == (3, {}, {})
    assert report.model["prompt tokens 输入词元"] == 100 * sum(server.asked.values())
    assert server.keys == {f"Bearer {KEY}"}
    quads = stored_quads(kb)
    claims = of_type(quads, SHIYI.Claim)
    assert len(claims) == 9
    for claim in claims:
        evidence = NamedNode(value(quads, claim, SHIYI.evidence))
        passage = NamedNode(value(quads, claim, SHIYI.supportedByText))
        start, end = (int(value(quads, evidence, p)) for p in (SHIYI.quoteStart, SHIYI.quoteEnd))
        assert value(quads, passage, RDF.value)[start:end] == value(quads, evidence, SHIYI.quote)
    for kind, number in (
        (SHIYI.PassageSummary, 3),
        (SHIYI.QuestionAnswer, 3),
        (SHIYI.EntityDescription, 3),
        (SHIYI.RelationDescription, 9),
    ):
        assert len(of_type(quads, kind)) == number
        for node in of_type(quads, kind):
            derived = value(quads, node, PROV.wasDerivedFrom)
            assert "/passage/" in derived


def test_a_rebuild_is_identical_and_asks_nobody(
    copied: Callable[[str], Path], page: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kb, path = copied("kb"), copied("again")
    with serving() as server:
        read(kb, page, server, monkeypatch)
    (path / "replies.sqlite").write_bytes((kb / "replies.sqlite").read_bytes())
    report = read(path, page, server, monkeypatch)  # the endpoint is gone
    assert report.model["model calls 模型调用"] == 0
    assert stored_quads(path) == stored_quads(kb)


def test_another_model_is_asked_without_cache(
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


@from_table
def test_unsupported_statement_is_refused_with_reason(
    copied: Callable[[str], Path],
    page: Path,
    monkeypatch: pytest.MonkeyPatch,
    statement: dict[str, Any],
    kind: str,
) -> None:
    kb = copied("kb")
    with serving(_saying(statement)) as server:
        report = read(kb, page, server, monkeypatch)
    assert [each for each in report.refused if each.startswith(kind)], report.refused
    assert server.asked["repair-claims"] == 1  # the same reply again is in the cache
    quads = stored_quads(kb)
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
    assert of_type(stored_quads(kb), SHIYI.RefusedStatement) == []


def test_unrepaired_claim_is_quarantined_with_report(
    copied: Callable[[str], Path], page: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kb = copied("kb")
    wrong = {"relation": "hasNature", "object": "辛", "quote": "味辛"}
    with serving(_saying(wrong)) as server:
        report = read(kb, page, server, monkeypatch)
    assert server.asked["repair-claims"] == 1  # the second round finds the same words
    assert [each for each in report.quarantined if each.startswith("hasNature: What")]
    quads = {quad for quad in stored_quads(kb) if quad.graph_name == QUARANTINE}
    [claim] = of_type(quads, SHIYI.Claim)
    assert "/passage/" in value(quads, claim, SHIYI.supportedByText)
    comments = [q for q in quads if q.subject == claim and q.predicate == RDFS.comment]
    assert len(comments) == 2  # the shape's message in both languages


def test_claims_of_model_count_by_its_factor(
    copied: Callable[[str], Path], page: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    counted = []
    for factor in (0.6, 0.3):
        kb, chosen = copied(f"kb-{factor}"), IngestSettings(batch=2, model=factor)
        with serving(good) as server:
            read(kb, page, server, monkeypatch, ingest=chosen)
        quads = (q for q in stored_quads(kb) if q.predicate == SHIYI.confidence)
        counted.append(max(float(text(q.object)) for q in quads))
    assert counted[0] == pytest.approx(2 * counted[1], abs=0.02)


@pytest.mark.parametrize("limit", [0, 2])
def test_a_model_gets_no_more_rounds_than_set(
    copied: Callable[[str], Path], page: Path, monkeypatch: pytest.MonkeyPatch, limit: int
) -> None:
    chosen = IngestSettings(batch=2, repair_rounds=limit)
    rounds = iter(range(9))

    def stubborn(name: str, title: str, passage: str) -> Any:
        wrong = {"relation": "hasNature", "object": "辛", "quote": "味辛"}
        if name == "repair-claims":
            again = wrong | {"subject": "当归", "confidence": next(rounds) / 10}
            return {"repairs": [{"number": 1, "statement": again}]}
        return _saying(wrong)(name, title, passage)

    with serving(stubborn) as server:
        report = read(copied("kb"), page, server, monkeypatch, ingest=chosen)
    assert server.asked["repair-claims"] == limit
    assert sum(report.quarantined.values()) == 1


def test_forgetting_takes_the_replies_with_it(
    copied: Callable[[str], Path], page: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kb = copied("kb")
    before = stored_quads(kb)
    with serving() as server:
        read(kb, page, server, monkeypatch)
    with KnowledgeBase.open(kb, write=True) as base:
        replies = ReplyStore.open(kb)
        assert len(replies) == 15  # three passages, five prompts each
        replies.keep("m", "p@1", "x", Completion("性味如何"), "text-notes@replaced")
        replies.keep("m", "p@1", "y", Completion("{}"), "text-notes-2@1")
        replies.close()
        gone = forget(base.writer, "text-notes")
    assert gone["replies"] == 16
    assert stored_quads(kb) == before
    assert "性味如何".encode() not in (kb / "replies.sqlite").read_bytes()
    assert CANDIDATES not in {quad.graph_name for quad in stored_quads(kb)}


def test_newer_file_takes_replies_about_older_with_it(
    copied: Callable[[str], Path], page: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kb = copied("kb")
    words = ["--kb", str(kb), "ingest", "text", str(page), "--extractor", "llm"]
    with serving() as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        monkeypatch.setenv("OPENAI_API_KEY", KEY)
        monkeypatch.setenv("SHIYI_MODELS_EXTRACT", "scripted")
        for text_ in (PAGE, "# 本草\n\n## 山药\n\n味甘，性平。煮粥食。\n"):
            page.write_text(text_, "utf-8")
            with redirect_stdout(StringIO()):
                assert main(words) == 0
    replies = ReplyStore.open(kb)
    assert len(replies.releases("text-notes")) == 1
    assert 0 < len(replies) < 15
    replies.close()


FORMS: dict[str, type[BaseModel]] = {
    "propose-relations": llm_forms.Relations, "filter-relations": llm_forms.Relations,
    "extract-claims": llm_forms.Statements, "extract-attributes": llm_forms.Attributes,
    "describe-passage": llm_forms.Notes, "repair-claims": llm_forms.Repairs,
    "read-case": CaseForm, "decompose-chain": ChainForm, "write-reasoning": ReasoningForm,
}  # fmt: skip
RELATIONS = Relations.of()


@pytest.mark.parametrize("name", FORMS)
def test_worked_cases_have_form_in_chinese_and_english(name: str) -> None:
    worked = Prompt.named(name).text.partition("## Worked cases")[2]
    replies = [line for line in worked.splitlines() if line.startswith("{")]
    assert len(replies) >= 2
    for reply in replies:
        FORMS[name].model_validate(json.loads(reply))
    asked = "".join(line for line in worked.splitlines() if not line.startswith("{"))
    assert re.search(r"[\u4e00-\u9fff]", asked)
    assert any(not re.search(r"[\u4e00-\u9fff]", line) for line in replies)


@pytest.mark.parametrize("name", ["extract-claims", "extract-attributes", "repair-claims"])
def test_every_worked_statement_would_be_taken(name: str) -> None:
    worked = Prompt.named(name).text.partition("## Worked cases")[2]
    for asked, reply in re.findall(r"^([^{\n].*)\n(\{.*)$", worked, re.MULTILINE):
        for statement in _statements(json.loads(reply)):
            assert statement["relation"] in RELATIONS.names
            assert statement["quote"] in asked
            assert statement["object"] in statement["quote"]
            assert statement["subject"].lower() in asked.lower()
            if name == "extract-attributes":
                assert statement["relation"] in ATTRIBUTES


def _statements(fields: dict[str, list[dict[str, dict[str, str]]]]) -> list[dict[str, str]]:
    [results] = fields.values()
    return [
        record["statement"] if "number" in record else record  # type: ignore[misc]
        for record in results
        if not record.get("withdraw")
    ]


def test_internal_properties_are_no_relations_of_texts() -> None:
    assert {"hasNature", "indicatedFor", "interactsWith"} <= set(RELATIONS.names)
    assert not {"status", "leadsTo", "belongsToSchool", "derivedCaution"} & set(RELATIONS.names)
    assert (
        "hasNature (性(四气), has nature): DietaryMaterial | Dish → Nature"
        in RELATIONS.prompt_lines()
    )


@from_table
def test_hostile_replies_have_not_the_form(message: str) -> None:
    with pytest.raises(ValueError, match=r"validation error|unicode"):
        llm_forms.Statements.model_validate(json.loads(message))
