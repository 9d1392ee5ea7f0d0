"""Methods measured one by one: kept when done, gone on with, and in processes of their own."""

import json
from pathlib import Path

import pytest

from shiyi.cli import main
from shiyi.evaluation import apart
from shiyi.evaluation.bench import Request
from shiyi.evaluation.runner import evaluate
from shiyi.settings import Settings
from shiyi.sparql.generations import build_generation
from shiyi.sparql.knowledge_base import KnowledgeBase
from tests import kitchen

ROWS = (
    '{"question": "阴虚质适宜食用", "options": "A. 藜芦 B. 百合", "answer": "B"}\n'
    '{"question": "脾胃虚寒证宜食", "options": "A. 藜芦 B. 姜茶", "answer": "B"}\n'
    "no json\n"
)


@pytest.fixture(scope="module")
def kb(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("apart") / "kb"
    build_generation(folder, tuple(kitchen.quads()), {})
    (folder.parent / "q.jsonl").write_text(ROWS, "utf-8")
    return folder


def said(kb: Path, capsys: pytest.CaptureFixture[str], *words: str) -> list[dict[str, object]]:
    file = str(kb.parent / "q.jsonl")
    assert main(["--kb", str(kb), "evaluate", "mcq", file, "--json", *words]) == 0
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_methods_one_by_one_are_measured_as_they_are_together(kb: Path) -> None:
    request = Request("mcq", str(kb.parent / "q.jsonl"), methods=("paths", "bm25", "none"))
    with KnowledgeBase.open(kb) as base:
        whole = evaluate(base, Settings(), request)
        parts = apart.evaluate_apart(base, Settings(), request)
    assert [run.values for run in parts.runs] == [run.values for run in whole.runs]
    assert parts.skips.counts == whole.skips.counts == {"not a JSON object": 1}


def test_a_run_that_stopped_goes_on_after_the_methods_it_had_done(
    kb: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    first = said(kb, capsys, "--method", "paths", "--keep", str(tmp_path))
    measured: list[tuple[str, ...]] = []

    def counted(base: KnowledgeBase, settings: Settings, request: Request, *more: object) -> object:
        measured.append(request.methods)
        return evaluate(base, settings, request, *more)  # type: ignore[arg-type]

    monkeypatch.setattr(apart, "evaluate", counted)
    again = said(kb, capsys, "--method", "paths,none", "--keep", str(tmp_path))
    assert measured == [("none",)]
    assert again[0]["metrics"] == first[0]["metrics"]
    assert again[0]["seconds"] == first[0]["seconds"]


def test_two_processes_measure_what_one_does(kb: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ("--method", "paths,none", "--ablate", "random-paths")
    one, two = (said(kb, capsys, *words, "--jobs", jobs) for jobs in ("1", "2"))
    assert [each["metrics"] for each in one] == [each["metrics"] for each in two]
    assert two[0]["ablate"] == ["random-paths"]


def test_no_process_is_refused(kb: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = str(kb.parent / "q.jsonl")
    assert main(["--kb", str(kb), "evaluate", "mcq", file, "--jobs", "0"]) == 2
    assert "from 1" in capsys.readouterr().err
