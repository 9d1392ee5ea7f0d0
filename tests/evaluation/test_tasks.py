"""`shiyi evaluate confidence`: embeddings beside simple guesses, errors and ranked tails."""

import json
from pathlib import Path

import numpy as np
import pytest

from shiyi.cli import main
from shiyi.evaluation.tasks.answers import (
    DocumentQuestion,
    _figures,
    is_documented,
    load_document_questions,
)
from shiyi.evaluation.tasks.confidence import (
    Split,
    gaps,
    rank_tails,
    symmetric_relations,
    train_model,
)
from shiyi.reasoning.embeddings.triples import Floats, Names, Row
from shiyi.settings import ReasoningSettings

QUICK = ReasoningSettings(embedding_dim=16, epochs=30, batch=64, learning_rate=0.05, negatives=1)

RANKED = [
    name + end
    for end in ("", ":raw", ":both_ways", ":oracle")
    for name in ("hits@1", "hits@10", "mrr")
]


def both_ways() -> list[Row]:
    """Two groups: triples within one have confidence 0.9, between them 0.2; each row twice."""
    random = np.random.default_rng(0)
    pairs = {(int(a), int(b)) for a, b in random.integers(0, 24, (200, 2)) if a != b}
    pairs |= {(b, a) for a, b in pairs}
    return [(f"e{a}", "r", f"e{b}", 0.9 if a % 2 == b % 2 else 0.2) for a, b in sorted(pairs)]


def written(path: Path, rows: list[Row]) -> str:
    path.write_text("".join("\t".join(map(str, row)) + "\n" for row in rows), "utf-8")
    return str(path)


@pytest.mark.neural
def test_command_gives_errors_and_ranked_tails_with_intervals(
    kitchen_kb: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = both_ways()
    test = written(tmp_path / "test.tsv", rows[::9])
    train = written(tmp_path / "train.tsv", [r for i, r in enumerate(rows) if i % 9])
    known = written(tmp_path / "known.tsv", rows[1::9])
    more = ["--method", "fused,links,additive,none", "--limit-seconds", "20", "--json"]
    files = [test, "--train", train, "--known", known]
    assert main(["--kb", str(kitchen_kb), "evaluate", "confidence", *files, *more]) == 0
    fused, links, additive, none = [
        json.loads(line) for line in capsys.readouterr().out.splitlines()
    ]
    assert fused["n"] == len(rows[::9])
    for name in ("mse", "mae", *RANKED):
        m = fused["metrics"][name]
        assert 0 <= m["low"] <= m["value"] <= m["high"] <= 1, name
    assert fused["metrics"]["mse"]["value"] < none["metrics"]["mse"]["value"]
    assert "hits@1" not in additive["metrics"]
    assert set(RANKED) <= set(links["metrics"])
    assert "mse" not in links["metrics"]
    assert "leave out the facts" in fused["notes"][0]
    assert fused["settings"]["known"] == ["known.tsv"]
    assert fused["settings"]["limit_seconds"] == 20


@pytest.mark.neural
def test_lookup_uses_symmetric_relations_from_other_end() -> None:
    rows = both_ways()
    training, test = rows[50:], rows[:50]
    model = train_model(training, "ukge_logi", 1, 30.0, QUICK)
    (plain, _), (looked, _) = (gaps(model, training, test, term) for term in (False, True))
    assert looked.mean() < plain.mean()
    split = Split(model.names, training, test)
    ranks = [rank_tails(model, split, lookup=term) for term in (False, True)]
    assert ranks[1][""].reciprocal.mean() >= ranks[0][""].reciprocal.mean()


class Alphabet:
    """Ranks a before b before c, whatever is asked."""

    def tails(self, head: int, relation: int, /) -> Floats:
        return np.array([3.0, 2.0, 1.0, 0.0], np.float32)


def test_entries_left_out_of_ranking_are_counted() -> None:
    names = Names(("a", "b", "c", "d"), ("r",))
    training: list[Row] = [
        ("d", "r", "a", 1.0),
        ("a", "r", "d", 1.0),
        ("b", "r", "d", 0.5),
        ("a", "r", "b", 0.5),
        ("b", "r", "a", 0.5),
    ]
    asked: list[Row] = [("d", "r", "c", 0.1)]
    places = {
        name: 1 / metrics.reciprocal[0]
        for name, metrics in rank_tails(Alphabet(), Split(names, training, asked)).items()
    }
    assert places["raw"] == 3  # after a and b
    assert places[""] == 2  # d r a is known; d r b only from the other end
    assert places["both_ways"] == 1
    assert 1 / places["oracle"] == pytest.approx((1 + 1 / 2) / 2)  # c or b, nobody can say
    tails = rank_tails(Alphabet(), Split(names, training, asked, [("d", "r", "b", 0.5)]))
    assert tails[""].reciprocal[0] == 1
    looked = rank_tails(Alphabet(), Split(names, [*training, *asked], asked), lookup=True)
    assert looked["raw"].reciprocal[0] == 1 / 2  # what training states comes first, a before c


def test_oracle_is_given_only_where_relation_is_symmetric() -> None:
    names, one = Names(("a", "b", "c", "d"), ("r",)), [("a", "r", "b", 1.0), ("a", "r", "c", 1.0)]
    assert set(rank_tails(Alphabet(), Split(names, one[:1], one[1:]))) == {"", "raw"}
    assert rank_tails(Alphabet(), Split(names, one, [("z", "r", "a", 1.0)])) == {}


def test_relation_is_symmetric_where_mostly_stated_twice() -> None:
    one: list[Row] = [("a", "with", "b", 1.0), ("b", "with", "a", 1.0), ("a", "has", "b", 1.0)]
    assert symmetric_relations(one) == {"with"}


def test_too_few_triples_are_guessed_by_means(
    kitchen_kb: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    few: list[Row] = [("a", "r", "b", 0.5), ("b", "r", "c", 0.7)]
    file = written(tmp_path / "test.tsv", few)
    words = ["--kb", str(kitchen_kb), "evaluate", "confidence", file, "--train", file]
    assert main(words) == 0
    assert "too few for an embedding; additive instead" in capsys.readouterr().out


def test_without_training_material_command_says_what_to_give(
    kitchen_kb: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = written(tmp_path / "test.tsv", [("a", "r", "b", 0.5)])
    assert main(["--kb", str(kitchen_kb), "evaluate", "confidence", file]) == 2
    assert "--train" in capsys.readouterr().err


GOOD = {
    "id": 1, "query": "百合归哪几经", "answer": [["心肺", "心、肺"], "肺经"],
    "positive": ["百合味甘，归心、肺经"], "negative": ["绿豆汤怎么煮", "明天天气", "火车时刻"],
}  # fmt: skip


def written_documents(path: Path, *rows: object) -> Path:
    path.write_text("\n".join(json.dumps(r, ensure_ascii=False) for r in rows), "utf-8")
    return path


def test_rows_are_read_and_each_fault_is_counted(tmp_path: Path) -> None:
    path = written_documents(
        tmp_path / "rgb.jsonl",
        GOOD,
        GOOD,
        GOOD | {"id": 2, "query": ""},
        GOOD | {"id": 3, "query": "甲", "answer": []},
        GOOD | {"id": 4, "query": "乙", "positive": []},
        GOOD | {"id": 5, "query": "丙", "negative": GOOD["positive"]},
    )
    with path.open("ab") as more:
        more.write('\n{"query": "丁"}'.encode("gbk"))
    questions, skips = load_document_questions(path)
    assert [question.answers for question in questions] == [(("心肺", "心、肺"), ("肺经",))]
    assert skips.counts == {
        "the same question again": 1,
        "no question": 1,
        "no answer given": 1,
        "no document that holds the answer": 1,
        "a document that is called both right and wrong": 1,
        "not UTF-8": 1,
    }
    assert is_documented(path)


def test_the_figures_are_those_counted_by_hand() -> None:
    item = DocumentQuestion(
        "1", "q", (("x",), ("y", "z")), ("has x", "has w"), ("n1", "n2", "n3", "n4")
    )
    results = _figures(item, ["n1", "has x", "n2", "n3", "n4", "has w"])
    assert results == {
        "context_precision": 0.5,
        "context_recall": 0.5,
        "noise@5": 0.8,
        "answer@5": 0.5,
    }


def test_the_command_ranks_the_documents_of_each_question(
    kitchen_kb: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    many = GOOD | {"negative": [f"与此无关的第{i}句" for i in range(12)]}
    file = written_documents(tmp_path / "rgb.jsonl", many)
    words = ["retrieval", str(file), "--method", "bm25,tfidf,none", "--json"]
    assert main(["--kb", str(kitchen_kb), "evaluate", *words]) == 0
    bm25, tfidf, none = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    for item in (bm25, tfidf):
        assert item["metrics"]["context_precision"]["value"] == 1
        assert item["metrics"]["answer@5"]["value"] == 1
    assert none["method"] == "none"
