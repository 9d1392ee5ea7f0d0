"""The made-up samples of a fresh clone: cases, the school that answered them, products."""

import csv
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import urlparse

import pytest

from shiyi.answering.methods.mlkg_rag import ClassDescent, _sure
from shiyi.answering.pipeline import AskRequest, ask
from shiyi.answering.retrieval.casebook import count_cases, score_by_words
from shiyi.answering.runtime import Runtime
from shiyi.artefacts import artefact
from shiyi.cli import main
from shiyi.linking.case_terms import find_class_codes
from shiyi.model.iris import resource
from shiyi.server.app import create_app
from shiyi.server.site.opening import open_site
from shiyi.settings import Settings
from shiyi.sparql.base.knowledge_base import KnowledgeBase
from tests.support.copies import copy_base
from tests.tables import from_table

SCHOOL = "示例学派"
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
def sample_kb(starter_kb: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a base after the commands of the documentation."""
    kb = copy_base(starter_kb, tmp_path_factory.mktemp("cases") / "kb")
    products = artefact("ingest") / "dsld" / "sample"
    assert main(["--kb", str(kb), "ingest", "cases", str(SAMPLE), "--school", SCHOOL]) == 0
    assert main(["--kb", str(kb), "ingest", "dsld", str(products)]) == 0
    return kb


@pytest.fixture(scope="module")
def sampled(sample_kb: Path) -> Iterator[Runtime]:
    with KnowledgeBase.open(sample_kb) as base:
        yield Runtime.open(base, Settings())


def reported(runtime: Runtime, question: str) -> Told:
    trace: dict[str, Any] = {}
    for step in ask(runtime, AskRequest(question, "therapy")).trace.steps:
        trace[str(step["step"])] = step
    found = trace.get("cases", {})
    retained = trace.get("descent", {}).get("kept", []) if "abstained" not in trace else []
    reached = str(retained[0][0]).rpartition("gbt-")[2] if retained else ""
    return Told(tuple(found.get("cases", ())), reached, tuple(found.get("relaxed", ())))


def test_sample_is_found_by_paraphrase_and_filed_right(sampled: Runtime) -> None:
    assert len(CASES) == len(sampled.casebook.cases) == 60
    by_text = {case.text: case for case in sampled.casebook.cases}
    for part, least in (("known", 60), ("held", 30)):
        rows = [row for row in ROWS if row["set"] == part]
        assert len(rows) == least
        result = right = 0
        for row in rows:
            case = by_text[CASES[int(row["case"]) - 1]]
            seen = reported(sampled, row["question"])
            result += case.iri in seen.cases
            right += not seen.kept or any(seen.kept.startswith(c) for c in row["classes"].split())
            filed = [each.rpartition("gbt-")[2] for each in case.filed]
            assert set(row["classes"].split()) & set(filed), row["case"]
        assert result / len(rows) >= 0.8, part
        assert right / len(rows) >= 0.9, part


def test_every_case_is_found_by_its_own_words(sampled: Runtime) -> None:
    for case in sampled.casebook.cases:
        likeness = score_by_words(sampled.casebook, case.text)
        assert max(likeness, key=likeness.__getitem__) == case.iri


def test_an_unlike_question_finds_no_case_by_words(sampled: Runtime) -> None:
    scores = score_by_words(sampled.casebook, "a swelling on the tip of one finger")
    assert max(scores.values(), default=0.0) < 0.3


def test_the_example_of_the_paper_reaches_tumours(sampled: Runtime) -> None:
    seen = reported(sampled, "A 42-year-old has a small red swelling on a finger, what may it be?")
    assert seen.kept.startswith("a16")


def test_adult_is_given_no_case_of_child(sampled: Runtime) -> None:
    by_iri = {case.iri: case for case in sampled.casebook.cases}
    child = reported(sampled, "6岁男孩，咳嗽发热，痰黄稠")
    adult = reported(sampled, "66岁，咳嗽痰多色白")
    assert {by_iri[each].age_group for each in child.cases} == {"child"}
    assert {by_iri[each].age_group for each in adult.cases} == {"elder"}


def test_one_level_and_two_reach_other_classes(sampled: Runtime) -> None:
    coarse = replace(sampled.settings, terms=replace(sampled.settings.terms, levels=1))
    runtime = replace(sampled, settings=coarse)
    assert reported(sampled, "咳嗽吃什么").kept == "a04-04"
    assert reported(runtime, "咳嗽吃什么").kept == "a04"


def test_so_many_cases_are_shown_as_setting_says(sampled: Runtime) -> None:
    one = replace(sampled.settings, terms=replace(sampled.settings.terms, cases=1))
    question = "老寒腿，膝盖一冷就疼"
    assert len(reported(sampled, question).cases) > 1
    assert len(reported(replace(sampled, settings=one), question).cases) == 1


def test_what_is_near_to_nothing_filed_under_nothing() -> None:
    way = ClassDescent((("x", 1.4), ("y", 1.5)), ({"step": "descent"}, {"step": "descent"}))
    assert _sure(way, entities=1, limit=0.8) is way
    descent = _sure(way, entities=1, limit=0.6)
    assert descent.leaves == ()
    assert descent.steps[-1]["step"] == "abstained"


def test_sign_of_many_complaints_gives_way_to_complaint() -> None:
    assert find_class_codes("疲劳，出汗")[0] == "a06-01"
    assert find_class_codes("出汗多，人很累，咳嗽")[0] == "a04-04"
    assert find_class_codes("枸杞的性味") == ()


def test_made_up_cases_are_called_so(sampled: Runtime) -> None:
    answer = ask(sampled, AskRequest("老寒腿，膝盖一冷就疼", "therapy"))
    assert any("编写的示例" in each for each in answer.missing)
    cold = count_cases(sampled.store, resource("symptom-insomnia").value)
    assert cold.cases == cold.made_up > 0


@from_table
def test_contents_of_a_product_are_stated_first(
    sampled: Runtime, question: str, words: list[str]
) -> None:
    answer = ask(sampled, AskRequest(question, "fused"))
    first = answer.sentences[0].text
    assert all((word.lstrip("!") in first) is (word[0] != "!") for word in words)
    assert answer.sentences[0].claims


def test_page_and_api_offer_schools_and_products(sample_kb: Path) -> None:
    site = open_site(sample_kb, Settings(), read_only=True)
    try:
        client = create_app(site).test_client()
        question = {"question": "失眠的证型是什么？", "school": SCHOOL, "overlay": "school"}
        reply = client.post("/api/ask", json=question).get_json()
        assert reply["method"] == "chain"
        mine = [each for each in reply["citations"] if each["origin"] == SCHOOL]
        assert mine
        for iri in (mine[0]["claim"], mine[0]["evidence"][0]["passage"]):
            address = urlparse(iri).path.removeprefix("/shiyi")
            assert client.get(address, follow_redirects=True).status_code == 200, iri
        assert client.post("/api/ask", json=question | {"school": "none"}).status_code == 400
        assert client.get("/healthz").get_json()["schools"] == [SCHOOL]
        page = client.get("/ask?q=失眠&lang=zh", headers={"Accept": "text/html"}).text
        assert f"<option>{SCHOOL}</option>" in page
        text = client.post("/ask", data={"q": "失眠的证型是什么？", "school": SCHOOL}).text
        assert f"{SCHOOL}之说，未经审核" in text
        asked = {"question": "Can I take Sample Turmeric Complex with warfarin?"}
        product = client.post("/api/ask", json=asked).get_json()
        assert product["verdict"]["kind"] == "ask_first"
        for item in product["linked"]:
            address = urlparse(item["iri"]).path.removeprefix("/shiyi")
            assert client.get(address, follow_redirects=True).status_code == 200, item
    finally:
        site.close()


def test_two_schools_are_compared_claim_by_claim(
    sample_kb: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["--kb", str(sample_kb), "diff", f"school:{SCHOOL}", f"school:{SCHOOL}"]
    assert main(words) == 0
    assert main([*words[:-1], "school:none"]) == 2
    assert SCHOOL in capsys.readouterr().err
