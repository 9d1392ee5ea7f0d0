"""`shiyi evaluate` as a person runs it, the baselines it compares with, and what it draws."""

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest
from tables import bars, curves

from shiyi.answering.retrieval.bm25 import TextIndex, neighbourhoods
from shiyi.cli import main
from shiyi.evaluation.questions.prescriptions import load_prescriptions
from shiyi.evaluation.tasks.choice import load_cases, load_choices
from tests.support.places import SHARED
from tests.tables import from_table

DATA = SHARED / "data" / "benchmarks"
QUESTIONS = (
    '{"question": "阴虚质适宜食用", "options": "A. 藜芦 B. 百合", "answer": "B"}\n'
    '{"question": "心电图的P波", "options": "A. 窦性 B. 房性", "answer": "A"}\n'
    '{"question": "没有答案", "options": "A. 窦性 B. 房性", "answer": ""}\n'
)


def test_several_methods_print_one_object_a_line(
    kitchen_kb: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "q.jsonl").write_text(QUESTIONS, "utf-8")
    words = ["mcq", str(tmp_path / "q.jsonl"), "--method", "paths,none", "--seed", "5", "--json"]
    assert main(["--kb", str(kitchen_kb), "evaluate", *words]) == 0
    first, second = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert (first["method"], second["method"]) == ("paths", "none")
    assert first["n"] == 2
    assert first["metrics"]["accuracy"]["value"] == 0.5
    assert first["metrics"]["abstained"]["value"] == 0.5
    assert first["metrics"]["accuracy_if_guessed"]["value"] == 0.75
    assert first["skipped"]["reasons"]["no answer given"] == {"count": 1, "first": "q.jsonl:3"}
    assert first["settings"]["seed"] == 5
    assert second["against"]["test"] == "McNemar, exact"


def test_a_table_says_what_was_left_out(
    kitchen_kb: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "q.jsonl").write_text(QUESTIONS, "utf-8")
    assert main(["--kb", str(kitchen_kb), "evaluate", "mcq", str(tmp_path / "q.jsonl")]) == 0
    output = capsys.readouterr().out
    assert "left out: 1 no answer given (first: q.jsonl:3)" in output
    assert "accuracy" in output


@from_table
def test_bad_input_is_one_clear_line(
    kitchen_kb: Path, capsys: pytest.CaptureFixture[str], words: list[str], text: str
) -> None:
    assert main(["--kb", str(kitchen_kb), "evaluate", *words]) == 2
    fault = capsys.readouterr().err
    assert text in fault
    assert "Traceback" not in fault


def test_bm25_prefers_rare_words_and_short_sentences() -> None:
    index = TextIndex.bm25(["百合 润肺 安神", "百合 安神", "山药 健脾 安神 和胃 补肾 涩精", "安神"])
    assert [i for i, _ in index.top("百合", 4)] == [1, 0]
    assert index.top("无此词语乎", 4) == []
    assert index.top("山药安神", 1)[0][0] == 2


def test_tfidf_scores_a_document_against_itself_highest() -> None:
    texts = ["失眠多梦心烦", "胃痛喜温便溏", "咳嗽痰多"]
    index = TextIndex.tfidf(texts)
    assert [index.top(text, 1)[0][0] for text in texts] == [0, 1, 2]


def test_subgraph_is_text_of_all_claims_at_concept() -> None:
    text = neighbourhoods([("a", "b", "a joins b"), ("a", "", "a is a note")])
    assert text == {"a": "a joins b a is a note", "b": "a joins b"}


def test_plots_are_well_formed_and_escape_names() -> None:
    drawn = bars("accuracy <dev> & more", [("a<b", 0.5, 0.4, 0.6), ("zero", 0.0, 0.0, 0.0)])
    assert len(ElementTree.fromstring(drawn)) > 5  # noqa: S314 - our own text
    lines = curves("k", [1, 3, 10], {"top1": [0.1, 0.2, 0.3], "top5": [0.4, 0.5, 0.6]})
    tree = ElementTree.fromstring(lines)  # noqa: S314 - our own text
    assert sum(element.tag.endswith("polyline") for element in tree) == 2


@pytest.mark.skipif(not DATA.is_dir(), reason=f"the public benchmark files are not in {DATA}")
def test_the_public_files_are_read_as_they_stand() -> None:
    for path, least in (
        (DATA / "mtcmb-dev" / "TCM-ED-A.jsonl", 230),
        (DATA / "mtcmb-dev" / "TCM-ED-B.jsonl", 900),
        (DATA / "mtcmb-dev" / "TCM-SE-B.jsonl", 9),
        (DATA / "cmmlu-dev" / "nutrition_test.csv", 140),
    ):
        assert len(load_choices(path).items) >= least, path.name
    cases = load_cases(DATA / "tcmeval_sdt" / "Validation_TCM_Data_v1.json")
    assert len(cases.items) + sum(cases.skips.counts.values()) == 100
    assert len(cases.items) >= 95
    assert len(load_prescriptions(DATA / "smgcn" / "train.txt").items) >= 22_000
