"""Question files as they are found: three ways to write options, and everything that can be wrong."""

import gzip
import json
from pathlib import Path

import pytest

from shiyi.errors import UsageError
from shiyi.evaluation.questions.prescriptions import load_prescriptions, load_triples
from shiyi.evaluation.tasks.choice import load_cases, load_choices, load_statements, parse_options


def written(path: Path, *rows: object) -> Path:
    path.write_text("\n".join(json.dumps(row, ensure_ascii=False) for row in rows), "utf-8")
    return path


def test_options_read_as_object_list_and_one_string() -> None:
    read = (("A", "甘"), ("B", "苦"), ("C", "辛"))
    assert parse_options({"A": "甘", "B": "苦", "C": "辛"}) == read
    assert parse_options(["A.甘", "B.苦", "C.辛"]) == read
    assert parse_options("A. 甘 B. 苦 C. 辛") == read


@pytest.mark.parametrize("text", [None, "", [], {"A": "甘"}, {"A": "甘", "Z": "苦"}, "甘或苦", 3])
def test_options_that_cannot_be_distinguished_are_none(text: object) -> None:
    assert parse_options(text) == ()


def test_everything_left_out_counted_with_reason_and_place(tmp_path: Path) -> None:
    good = {"id": 1, "question": "1.甲是", "options": ["A.一", "B.二"], "answer": "A"}
    path = written(
        tmp_path / "q.jsonl",
        good,
        good | {"id": 2},
        good | {"question": ""},
        good | {"question": "乙是", "options": "甘或苦"},
        good | {"question": "丙是", "answer": ""},
        good | {"question": "丁是", "answer": "E"},
        ["not an object"],
    )
    with path.open("ab") as more:
        more.write('\n{"question": "戊"'.encode("gbk") + b"\n{broken")
    asked = load_choices(path)
    assert [(item.stem, item.gold) for item in asked.items] == [("甲是", frozenset("A"))]
    assert asked.skips.counts == {
        "the same question again": 1,
        "no question": 1,
        "options cannot be read": 1,
        "no answer given": 1,
        "the answer names no option": 1,
        "not a JSON object": 2,
        "not UTF-8": 1,
    }
    assert asked.skips.first["not UTF-8"] == "q.jsonl:8"


def test_csv_with_blank_first_heading_is_read(tmp_path: Path) -> None:
    path = tmp_path / "q.csv"
    path.write_text(
        ',Question,A,B,C,D,Answer\n0,"甲，乙",一,二,三,四,D\n1,丙,一,二,三,四,\n', "utf-8"
    )
    asked = load_choices(path)
    assert [(i.id, i.stem, i.letters, i.gold) for i in asked.items] == [
        ("0", "甲，乙", ("A", "B", "C", "D"), frozenset("D"))
    ]
    assert asked.skips.counts == {"no answer given": 1}


def test_statements_need_true_or_false(tmp_path: Path) -> None:
    path = written(
        tmp_path / "s.jsonl",
        {"statement": "A treats B.", "answer": True},
        {"statement": "B treats A.", "answer": "错"},
        {"statement": "C treats A.", "answer": "perhaps"},
    )
    asked = load_statements(path)
    assert [set(item.gold) for item in asked.items] == [{"true"}, {"false"}]
    assert asked.skips.counts == {"the answer names no option": 1}


def test_a_missing_or_damaged_file_says_so(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="does not exist"):
        load_choices(tmp_path / "none.jsonl")
    (tmp_path / "x.tsv.gz").write_bytes(b"no gzip")
    with pytest.raises(UsageError, match="cannot be read"):
        load_triples(tmp_path / "x.tsv.gz")
    (tmp_path / "x.json").write_text("{}", "utf-8")
    with pytest.raises(UsageError, match="array"):
        load_cases(tmp_path / "x.json")


def case(name: str, **more: str) -> dict[str, str]:
    return {
        "Medical Record ID": name,
        "Clinical Data": f"胃痛{name}",
        "Options of TCM Pathogenesis": "A:肝郁;B:脾虚",
        "Answers of TCM Pathogenesis": "A;B",
        "Options of TCM Syndrome": "A:肝郁证;B:脾虚证",
        "Answers of TCM Syndrome": "B",
    } | more


def test_a_case_asks_for_mechanism_and_pattern(tmp_path: Path) -> None:
    path = tmp_path / "Train.json"
    rows = [case("一"), case("一"), case("二", **{"Answers of TCM Syndrome": ""})]
    path.write_text(json.dumps(rows, ensure_ascii=False), "utf-8")
    asked = load_cases(path)
    assert [(i.id, sorted(i.gold)) for i in asked.items] == [
        ("一 Pathogenesis", ["A", "B"]),
        ("一 Syndrome", ["B"]),
        ("二 Pathogenesis", ["A", "B"]),
    ]
    assert asked.skips.counts == {"the same question again": 1, "syndrome: no answer given": 1}


def test_answers_published_beside_the_validation_cases_are_used(tmp_path: Path) -> None:
    row = case("三") | {"Answers of TCM Pathogenesis": "", "Answers of TCM Syndrome": ""}
    path = tmp_path / "Validation_v1.json"
    path.write_text(json.dumps([row], ensure_ascii=False), "utf-8")
    beside = tmp_path / "Validation_data_result.txt"
    beside.write_text("\ufeff三@胃痛@A@B@说明", "utf-8")
    assert [sorted(i.gold) for i in load_cases(path).items] == [["A"], ["B"]]


def test_prescriptions_are_named_by_the_mappings_beside_them(tmp_path: Path) -> None:
    (tmp_path / "sym_mapping.txt").write_text("胃 痛 0\n咳嗽 1\n", "utf-8")
    (tmp_path / "herb_mapping.txt").write_text("甘草 0\n白术 1\nbroken\n", "utf-8")
    (tmp_path / "train.txt").write_text("0 1\t1\n1\t0 9\nno tab\n\t\n", "utf-8")
    prescriptions = load_prescriptions(tmp_path / "train.txt")
    assert [(p.symptoms, p.herbs) for p in prescriptions.items] == [
        (("胃 痛", "咳嗽"), frozenset({"白术"}))
    ]
    assert prescriptions.skips.counts == {
        "an id without a name": 1,
        "no symptoms and herbs": 1,
        "a mapping without name and id": 1,
    }


def test_a_held_out_share_is_never_learnt_from(tmp_path: Path) -> None:
    (tmp_path / "t.txt").write_text("\n".join(f"{i}\t{i}" for i in range(20)), "utf-8")
    prescriptions, asked_prescriptions = load_prescriptions(tmp_path / "t.txt").held_out(
        0.25, seed=3
    )
    assert (len(prescriptions.items), len(asked_prescriptions.items)) == (15, 5)
    assert not {p.id for p in prescriptions.items} & {p.id for p in asked_prescriptions.items}
    repeated_prescriptions = load_prescriptions(tmp_path / "t.txt").held_out(0.25, seed=3)[1]
    assert asked_prescriptions.items == repeated_prescriptions.items


def test_confidences_outside_their_range_and_repeats_are_counted(tmp_path: Path) -> None:
    with gzip.open(tmp_path / "w.tsv.gz", "wt") as lines:
        lines.write(
            "1\t0\t2\t0.5\n1\t0\t2\t0.50\n1\t0\t2\t0.9\n1\t0\t3\t1.5\n1\t0\t4\n1\t0\t5\tnan\n"
        )
    triples, skips = load_triples(tmp_path / "w.tsv.gz")
    assert [triple.confidence for triple in triples] == [0.5, 0.9]
    assert skips.counts == {
        "the same triple again": 1,
        "no confidence in [0, 1]": 2,
        "not four columns": 1,
    }
