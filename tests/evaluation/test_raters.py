"""Sheets and pages for people who rate answers, and what the filled ones say."""

import csv
import io
import json
import shutil
import subprocess
from pathlib import Path

import pytest
from ratings import DIMENSIONS, SHEET, main, page

from shiyi.errors import UsageError

QUESTIONS = (
    '{"id": "a", "question": "枸杞和华法林能一起吃吗"}\n'
    '{"id": "b", "question": "胃不适宜吃什么", "profile": {"age": 30}}\n'
    '{"id": "b", "question": "again"}\n{"id": "c"}\n'
)
CASES = {(m, q): 5 if m == "fused" else 2 for m in ("fused", "none") for q in "ab"}


@pytest.fixture(scope="module")
def kit(tmp_path_factory: pytest.TempPathFactory, kitchen_kb: Path) -> Path:
    home = tmp_path_factory.mktemp("people")
    (home / "q.jsonl").write_text(QUESTIONS, "utf-8")
    words = [
        "kit",
        str(home / "q.jsonl"),
        *["--method", "fused,none", "--seed", "3", "--raters", "3", "-o"],
    ]
    assert main([*words, str(home / "kit"), "--kb", str(kitchen_kb)]) == 0
    return home / "kit"


def sheet(path: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(path.read_text("utf-8-sig"))))


def test_sheets_are_blinded_and_ordered_by_rater(kit: Path) -> None:
    one, two = sheet(kit / "sheet-1.csv"), sheet(kit / "sheet-2.csv")
    assert len(one) == 4
    assert tuple(one[0]) == SHEET
    assert {row["item"] for row in one} == {row["item"] for row in two}
    assert [row["item"] for row in one] != [row["item"] for row in two]
    for name in ("sheet-1.csv", "rate-1.html"):
        text = (kit / name).read_text("utf-8-sig")
        assert "fused" not in text
        assert "none" not in text.replace("'none'", "")  # of the page's own security policy
    key = json.loads((kit / "key.json").read_text("utf-8"))
    assert {(e["method"], e["question"]) for e in key["items"].values()} == set(CASES)


def test_the_dimensions_are_those_of_the_papers() -> None:
    names = "rationality explainability acceptability personalisation consistency safety"
    assert {each.id for each in DIMENSIONS} == {*names.split(), "compliance", "coherence"}
    assert [each.scale for each in DIMENSIONS if each.binary] == [(0, 5)]


def test_page_whole_and_keeps_hostile_text_as_data() -> None:
    text = page([{"item": "x", "question": "</script><b>", "answer": "<img src=x>"}], DIMENSIONS, 1)
    assert text.count("</script>") == 1
    assert "<img" not in text
    assert "http://" not in text
    assert "https://" not in text


@pytest.mark.skipif(shutil.which("node") is None, reason="node checks the page's program")
def test_the_pages_program_is_well_formed(kit: Path, tmp_path: Path) -> None:
    text = (kit / "rate-1.html").read_text("utf-8")
    program = text.partition("<script>")[2].partition("</script>")[0]
    (tmp_path / "page.js").write_text(program, "utf-8")
    subprocess.run(["node", "--check", str(tmp_path / "page.js")], check=True)  # noqa: S603, S607


def filled(kit: Path, folder: Path, rater: int, shift: int = 0) -> Path:
    key = json.loads((kit / "key.json").read_text("utf-8"))["items"]
    rows = sheet(kit / f"sheet-{rater}.csv")
    for row in rows:
        value = CASES[key[row["item"]]["method"], key[row["item"]]["question"]]
        for each in DIMENSIONS:
            row[each.id] = str(5 * (value > 3)) if each.binary else str(value - shift)
    out = folder / f"li-{rater}.csv"
    with out.open("w", encoding="utf-8-sig", newline="") as file:
        writer = csv.DictWriter(file, SHEET)
        writer.writeheader()
        writer.writerows(rows)
    return out


def read(kit: Path, *words: str) -> list[str]:
    return ["agreement", str(kit), *words]


def test_filled_sheets_give_means_alpha_and_ratings(
    kit: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sheets = [filled(kit, tmp_path, 1), filled(kit, tmp_path, 2)]
    words = [word for path in sheets for word in ("--sheet", str(path))]
    out = tmp_path / "all.csv"
    assert main(read(kit, *words, "-o", str(out), "--json")) == 0
    fused, none = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert fused["metrics"]["rationality"]["value"] == 5
    assert none["metrics"]["rationality"]["value"] == 2
    assert none["metrics"]["consistency"]["value"] == 0
    assert fused["settings"]["alpha"]["rationality"] == 1.0
    assert none["against"]["metric"] == "rationality"
    ratings = list(csv.DictReader(io.StringIO(out.read_text("utf-8"))))
    assert len(ratings) == 2 * 4 * len(DIMENSIONS)
    assert {row["rater"] for row in ratings} == {"li-1", "li-2"}


def test_raters_who_differ_agree_less(
    kit: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sheets = [filled(kit, tmp_path, 1), filled(kit, tmp_path, 2, shift=1)]
    words = [word for path in sheets for word in ("--sheet", str(path))]
    assert main(read(kit, *words, "--json")) == 0
    output = json.loads(capsys.readouterr().out.splitlines()[0])
    assert output["settings"]["alpha"]["rationality"] < 1.0
    assert output["metrics"]["rationality"]["value"] == 4.5


def test_ratings_off_scale_and_unknown_items_are_counted(
    kit: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    good = filled(kit, tmp_path, 1)
    bad = tmp_path / "bad.csv"
    item = sheet(good)[0]["item"]
    bad.write_text(f"item,rationality\n{item},9\nnobody,3\n{item},4\n{item},4\n", "utf-8")
    assert main(read(kit, "--sheet", str(good), "--sheet", str(bad))) == 0
    output = capsys.readouterr().out
    assert "1 rationality off its scale (first: bad.csv:2)" in output
    assert "1 an item that the key does not know (first: bad.csv:3)" in output
    assert "1 an item rated twice by one person (first: bad.csv:5)" in output


def test_empty_sheets_or_missing_key_give_one_line(kit: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="holds a rating yet"):
        main(read(kit))
    with pytest.raises(UsageError, match=r"key\.json"):
        main(read(tmp_path))
