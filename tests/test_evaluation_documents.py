"""Questions with their own documents, as RGB brings them."""

import json
from pathlib import Path

import pytest

from shiyi.cli import main
from shiyi.evaluation.documents import Documented, _figures, is_documented, load_documented
from shiyi.sparql.generations import build_generation
from tests import kitchen

GOOD = {
    "id": 1, "query": "百合归哪几经", "answer": [["心肺", "心、肺"], "肺经"],
    "positive": ["百合味甘，归心、肺经"], "negative": ["绿豆汤怎么煮", "明天天气", "火车时刻"],
}  # fmt: skip


def written(path: Path, *rows: object) -> Path:
    path.write_text("\n".join(json.dumps(r, ensure_ascii=False) for r in rows), "utf-8")
    return path


def test_rows_are_read_and_each_fault_is_counted(tmp_path: Path) -> None:
    path = written(
        tmp_path / "rgb.jsonl", GOOD, GOOD, GOOD | {"id": 2, "query": ""},
        GOOD | {"id": 3, "query": "甲", "answer": []},
        GOOD | {"id": 4, "query": "乙", "positive": []},
        GOOD | {"id": 5, "query": "丙", "negative": GOOD["positive"]},
    )  # fmt: skip
    with path.open("ab") as more:
        more.write('\n{"query": "丁"}'.encode("gbk"))
    asked, skips = load_documented(path)
    assert [each.answers for each in asked] == [(("心肺", "心、肺"), ("肺经",))]
    assert skips.counts == {
        "the same question again": 1, "no question": 1, "no answer given": 1,
        "no document that holds the answer": 1,
        "a document that is called both right and wrong": 1, "not UTF-8": 1,
    }  # fmt: skip
    assert is_documented(path)


def test_the_figures_are_those_counted_by_hand() -> None:
    item = Documented("1", "q", (("x",), ("y", "z")), ("has x", "has w"), ("n1", "n2", "n3", "n4"))
    found = _figures(item, ["n1", "has x", "n2", "n3", "n4", "has w"])
    assert found == {
        "context_precision": 0.5, "context_recall": 0.5, "noise@5": 0.8, "answer@5": 0.5,
    }  # fmt: skip


def test_the_command_ranks_the_documents_of_each_question(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    build_generation(tmp_path / "kb", tuple(kitchen.quads()), {})
    many = GOOD | {"negative": [f"与此无关的第{i}句" for i in range(12)]}
    file = written(tmp_path / "rgb.jsonl", many)
    words = ["retrieval", str(file), "--method", "bm25,tfidf,none", "--json"]
    assert main(["--kb", str(tmp_path / "kb"), "evaluate", *words]) == 0
    bm25, tfidf, none = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    for each in (bm25, tfidf):
        assert each["metrics"]["context_precision"]["value"] == 1
        assert each["metrics"]["answer@5"]["value"] == 1
    assert none["method"] == "none"
