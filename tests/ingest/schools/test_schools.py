"""Schools: chains, reasoning texts and claims in a graph of their own; the general graph stays."""

import json
from copy import copy
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from shiyi.answering.knowledge.overlay import overlay_of_school, schools
from shiyi.answering.knowledge.updates import open_state
from shiyi.answering.retrieval.casebook import Casebook, chains, training_lines
from shiyi.answering.retrieval.passages import PAIR
from shiyi.cli import main
from shiyi.ingest.datasets.dataset import load_dataset
from shiyi.ingest.schools.context import GeneralKnowledge
from shiyi.ingest.schools.overlay import School
from shiyi.model.iris import ID, resource
from shiyi.model.rdf import DefaultGraph, NamedNode, Quad, Term, local_name
from shiyi.ontology.schema import Schema
from shiyi.ontology.terms import RDF, SHIYI
from shiyi.settings import IngestSettings, Settings
from shiyi.sparql.store.port import QuadStore
from tests.support.bases import Desk, desk, stored
from tests.support.model_endpoints import serving

__all__ = ["desk"]  # the fixture
SCHOOL = School("孟河医派")
PAIRS = [
    {"question": "男，42岁。失眠，心悸，健忘，食欲不振。何证何治？", "answer": "心脾两虚证，治以健脾养心。"},
    {"question": "女，30岁。今日天气如何？", "answer": "不知。"},
    {"question": "女，28岁。恶寒，咳嗽。何证？", "answer": "风寒袭肺证。", "split": "test"},
]  # fmt: skip


@pytest.fixture
def pairs(tmp_path: Path) -> Path:
    path = tmp_path / "pairs.jsonl"
    path.write_text("\n".join(json.dumps(pair, ensure_ascii=False) for pair in PAIRS), "utf-8")
    return path


def count(store: QuadStore) -> Term:
    """Return how many statements are accepted."""
    [row] = store.select("SELECT (COUNT(*) AS ?n) { ?s ?p ?o }")
    return row["n"]


def test_a_school_is_named_in_ascii() -> None:
    assert SCHOOL.iri == NamedNode(f"{ID}school-meng-he-yi-pai")


def test_answered_question_becomes_chain_text_and_claims(desk: Desk, pairs: Path) -> None:
    before, term = desk.quads(), count(desk.base.store)
    report = desk.take(pairs, school=SCHOOL.name)
    store = desk.base.store
    assert schools(store) == {SCHOOL.iri.value: SCHOOL.name}
    assert count(store) == term
    [chain] = chains(store, SCHOOL.iri.value)
    assert chain.question == PAIRS[0]["question"]
    assert ("心脾两虚证", "hasManifestation", "失眠") in chain.triples
    assert chain.reasoning.endswith("故答：心脾两虚证，治以健脾养心。")
    facts = open_state(desk.base, Schema.load(), store).facts
    overlay = overlay_of_school(store, SCHOOL.iri.value, facts)
    claims = {fact.claim: fact for fact in overlay.facts}
    assert {local_name(fact.predicate.value) for fact in claims.values()} >= {"hasManifestation"}
    assert claims.keys() | overlay.taught == set(chain.steps)
    assert all(fact.confidence <= 0.4 for fact in claims.values())  # machine text counts as little
    [text] = [unit for unit in overlay.texts if unit.kind == PAIR]
    assert set(chain.steps) < set(text.claims)  # what was recalled of the general graph too
    recalled = set(text.claims) - set(chain.steps)
    assert all(
        list(store.match(NamedNode(each), RDF.type, SHIYI.Claim, DefaultGraph()))
        for each in recalled
    )
    assert any("test split" in failure for failure in report.failures)
    assert "恶寒" not in str(desk.quads() - before)
    lines = [json.loads(line) for line in training_lines(chains(store))]
    assert [[item["role"] for item in line["messages"]] for line in lines] == [
        ["system", "user", "assistant"]
    ] * 2
    assert lines[0]["messages"][2]["content"] == chain.reasoning
    assert lines[1]["messages"][2]["content"].splitlines()[0].count("\t") == 2
    path = pairs.with_name("sft.jsonl")
    content = ["--kb", str(desk.base.path), "export", "sft", "--school", SCHOOL.name]
    assert main([*content, "-o", str(path)]) == 0
    assert [json.loads(line) for line in path.read_text("utf-8").splitlines()] == lines
    assert desk.forget(report)["quads"] > 0
    assert desk.quads() == before


def _model(name: str, title: str, passage: str) -> Any:
    if name == "read-case":
        return {"mentions": [], "steps": [], "classes": []}
    if name == "decompose-chain":
        return {
            "triples": [
                {"subject": "心脾两虚证", "relation": "hasManifestation", "object": "心悸"},
                {"subject": "心脾两虚证", "relation": "hasManifestation", "object": "不在问答中"},
                {"subject": "心脾两虚证", "relation": "madeUp", "object": "失眠"},
                {
                    "subject": "心脾两虚证",
                    "relation": "hasTreatmentPrinciple",
                    "object": "健脾养心",
                },
            ]
        }
    return {"reasoning": "心悸失眠，为心脾两虚，故治以健脾养心。"}


def test_invented_statements_of_model_are_dropped(
    desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "one.jsonl"
    path.write_text(json.dumps(PAIRS[0], ensure_ascii=False), "utf-8")
    with serving(_model) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        extracting = desk.with_model()
        report = desk.take(path, extracting, SCHOOL.name)
        extracting.close()
    [chain] = chains(desk.base.store, SCHOOL.iri.value)
    assert chain.reasoning == "心悸失眠，为心脾两虚，故治以健脾养心。"
    assert {triple[2] for triple in chain.triples} == {"心悸", "健脾养心"}
    gone = desk.forget(report)
    assert gone["replies"] == 3
    assert not list(chains(desk.base.store))
    assert not Casebook.read(desk.base.store).cases


@pytest.mark.parametrize("number", [1, 3])
def test_options_of_chain_limit_what_is_recalled(desk: Desk, number: int) -> None:
    own = replace(Settings(), ingest=IngestSettings(chain_triples=number, chain_passages=number))
    copied = copy(desk.extracting)
    copied.settings = own
    store, places = stored(), [resource(f"passage-{n}") for n in range(4)]
    store.change(add=[Quad(place, RDF.type, SHIYI.Passage, DefaultGraph()) for place in places])
    whole = copied.overlay(SCHOOL, load_dataset("chp"), desk.base).general
    general = GeneralKnowledge(store, whole.embedder, whole.triples, whole.passages)
    assert len(general.recall(["枸杞 药性 平"])) == len(general.passages_of((), "失眠")) == number
