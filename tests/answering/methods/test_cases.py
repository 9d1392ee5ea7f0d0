"""The sample of made-up cases is found, filed and told apart by the people it is about."""

import csv
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from shiyi.answering.methods.mlkg_rag import Descent, _sure
from shiyi.answering.pipeline import AskRequest, ask
from shiyi.answering.retrieval.casebook import worded
from shiyi.answering.runtime import Runtime
from shiyi.artefacts import artefact
from shiyi.cli import main
from shiyi.linking.case_terms import classes_named
from shiyi.settings import Settings
from shiyi.sparql.base.knowledge_base import KnowledgeBase
from tests.support.copies import copy_base

QUESTIONS = Path(__file__).parents[2] / "data" / "case-questions.tsv"
SAMPLE = artefact("ingest") / "cases-sample" / "cases.csv"
with SAMPLE.open(encoding="utf-8") as file:
    CASES = [row["case"] for row in csv.DictReader(file)]
with QUESTIONS.open(encoding="utf-8") as file:
    ROWS = list(csv.DictReader(file, delimiter="\t"))


@dataclass(frozen=True)
class Told:
    """What the trace tells of a question: cases, class reached or none, facets given way."""

    cases: tuple[str, ...]
    kept: str
    relaxed: tuple[str, ...]


@pytest.fixture(scope="module")
def sampled(starter_kb: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Runtime]:
    kb = copy_base(starter_kb, tmp_path_factory.mktemp("cases") / "kb")
    assert main(["--kb", str(kb), "ingest", "cases", str(SAMPLE)]) == 0
    with KnowledgeBase.open(kb) as base:
        yield Runtime.open(base, Settings())


def told(runtime: Runtime, question: str) -> Told:
    trace: dict[str, Any] = {}
    for step in ask(runtime, AskRequest(question, "therapy")).trace.steps:
        trace[str(step["step"])] = step
    found = trace.get("cases", {})
    kept = trace.get("descent", {}).get("kept", []) if "abstained" not in trace else []
    reached = str(kept[0][0]).rpartition("gbt-")[2] if kept else ""
    return Told(tuple(found.get("cases", ())), reached, tuple(found.get("relaxed", ())))


def test_the_sample_is_found_by_paraphrase_and_filed_right(sampled: Runtime) -> None:
    assert len(CASES) == len(sampled.casebook.cases) == 60
    by_text = {case.text: case for case in sampled.casebook.cases}
    for part, least in (("known", 60), ("held", 30)):
        rows = [row for row in ROWS if row["set"] == part]
        assert len(rows) == least
        found = right = 0
        for row in rows:
            case = by_text[CASES[int(row["case"]) - 1]]
            seen = told(sampled, row["question"])
            found += case.iri in seen.cases
            right += not seen.kept or any(seen.kept.startswith(c) for c in row["classes"].split())
            filed = [each.rpartition("gbt-")[2] for each in case.filed]
            assert set(row["classes"].split()) & set(filed), row["case"]
        assert found / len(rows) >= 0.8, part
        assert right / len(rows) >= 0.9, part


def test_every_case_is_found_by_its_own_words(sampled: Runtime) -> None:
    for case in sampled.casebook.cases:
        likeness = worded(sampled.casebook, case.text)
        assert max(likeness, key=likeness.__getitem__) == case.iri


def test_an_unlike_question_finds_no_case_by_words(sampled: Runtime) -> None:
    scores = worded(sampled.casebook, "a swelling on the tip of one finger")
    assert max(scores.values(), default=0.0) < 0.3


def test_the_example_of_the_paper_reaches_tumours(sampled: Runtime) -> None:
    seen = told(sampled, "A 42-year-old has a small red swelling on a finger, what may it be?")
    assert seen.kept.startswith("a16")


def test_an_adult_is_given_no_case_of_a_child(sampled: Runtime) -> None:
    by_iri = {case.iri: case for case in sampled.casebook.cases}
    child = told(sampled, "6岁男孩，咳嗽发热，痰黄稠")
    adult = told(sampled, "66岁，咳嗽痰多色白")
    assert {by_iri[each].age_group for each in child.cases} == {"child"}
    assert {by_iri[each].age_group for each in adult.cases} == {"elder"}


def test_one_level_and_two_reach_other_classes(sampled: Runtime) -> None:
    coarse = replace(sampled.settings, terms=replace(sampled.settings.terms, levels=1))
    runtime = replace(sampled, settings=coarse)
    assert told(sampled, "咳嗽吃什么").kept == "a04-04"
    assert told(runtime, "咳嗽吃什么").kept == "a04"


def test_what_is_near_to_nothing_is_filed_under_nothing() -> None:
    way = Descent((("x", 1.4), ("y", 1.5)), ({"step": "descent"}, {"step": "descent"}))
    assert _sure(way, entities=1, most=0.8) is way
    far = _sure(way, entities=1, most=0.6)
    assert far.leaves == ()
    assert far.steps[-1]["step"] == "abstained"


def test_a_sign_of_many_complaints_gives_way_to_a_complaint() -> None:
    assert classes_named("疲劳，出汗")[0] == "a06-01"
    assert classes_named("出汗多，人很累，咳嗽")[0] == "a04-04"
    assert classes_named("枸杞的性味") == ()
