import json
from pathlib import Path

import pytest

from shiyi.errors import UsageError
from shiyi.linking.labels import Concept, Label, LabelIndex
from shiyi.linking.linker import Linker, link_passages

TEXTS = ["吃枸杞子", "goji berries and 枸杞子", "没有关系", "", "🙂", "枸杞子" * 3, "no goji berry"]


def small() -> Linker:
    concepts = (Concept("https://example.org/id/goji", "Food", "枸杞子", "goji berry"),)
    labels = (Label("枸杞子", "zh", 0, "preferred"), Label("goji berry", "en", 0, "preferred"))
    return Linker(LabelIndex("test", concepts, labels))


def dying() -> Linker:
    linker = small()
    link, calls = linker.link, []

    def mortal(text: str, language: str | None = None) -> object:
        calls.append(text)
        if len(calls) > 12:
            raise KeyboardInterrupt
        return link(text, language)

    linker.link = mortal  # type: ignore[method-assign,assignment]
    return linker


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "in.jsonl"
    lines = [{"id": f"p{n}", "text": TEXTS[n % len(TEXTS)]} for n in range(50)]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


def test_several_processes_write_what_one_writes(source: Path, tmp_path: Path) -> None:
    one, two = tmp_path / "one.jsonl", tmp_path / "two.jsonl"
    assert link_passages(source, one, small, piece=7) == 50
    assert link_passages(source, two, small, processes=2, piece=3) == 50
    assert two.read_bytes() == one.read_bytes()
    rows = [json.loads(line) for line in one.read_text("utf-8").splitlines()]
    assert [row["id"] for row in rows] == [f"p{n}" for n in range(50)]
    (mention,) = rows[0]["mentions"]
    assert (mention["text"], mention["iri"]) == ("枸杞子", "https://example.org/id/goji")
    assert rows[3]["mentions"] == []


def test_stopped_run_resumes(source: Path, tmp_path: Path) -> None:
    whole, out = tmp_path / "whole.jsonl", tmp_path / "out.jsonl"
    link_passages(source, whole, small)
    with pytest.raises(KeyboardInterrupt):
        link_passages(source, out, dying, piece=5)
    assert len(out.read_bytes().splitlines()) == 10
    with out.open("ab") as half:
        half.write(b'{"id": "p10", "ment')
    assert link_passages(source, out, small, piece=5) == 40
    assert out.read_bytes() == whole.read_bytes()
    assert link_passages(source, out, small) == 0
    assert out.read_bytes() == whole.read_bytes()


def test_line_that_is_no_passage_reported_with_number(source: Path, tmp_path: Path) -> None:
    with source.open("a", encoding="utf-8") as more:
        more.write('{"id": "x"}\n')
    with pytest.raises(UsageError, match=r"in.jsonl:51 is no passage"):
        link_passages(source, tmp_path / "out.jsonl", small)


def test_output_that_lost_lines_not_gone_on_with(source: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    link_passages(source, out, small)
    out.write_bytes(out.read_bytes()[:-5])
    with pytest.raises(UsageError, match="shorter than"):
        link_passages(source, out, small)
    (tmp_path / "out.jsonl.done").write_text("{", encoding="utf-8")
    with pytest.raises(UsageError, match="is damaged"):
        link_passages(source, out, small)
    with pytest.raises(UsageError, match="at least one process"):
        link_passages(source, out, small, processes=0)
