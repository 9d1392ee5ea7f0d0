"""`make evaluate` goes on where it stopped, and writes its pages from what it kept."""

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from shiyi.evaluation.bench import Request
from shiyi.evaluation.kept import Kept
from shiyi.evaluation.runner import evaluate
from shiyi.settings import Settings
from shiyi.sparql.generations import build_generation
from shiyi.sparql.knowledge_base import KnowledgeBase
from tests import kitchen

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("kept")
    build_generation(folder / "kb", tuple(kitchen.quads()), {})
    (folder / "mtcmb-dev").mkdir()
    row = {"question": "阴虚质宜吃", "options": {"A": "百合", "B": "藜芦"}, "answer": "A"}
    file = folder / "mtcmb-dev" / "TCM-SE-B.jsonl"
    file.write_text(f"{json.dumps(row, ensure_ascii=False)}\nbroken\n", "utf-8")
    return folder


def test_a_kept_report_is_the_one_that_was_measured(home: Path) -> None:
    request = Request("mcq", str(home / "mtcmb-dev" / "TCM-SE-B.jsonl"), methods=("paths", "none"))
    with KnowledgeBase.open(home / "kb") as base:
        kept = Kept(home / "runs", base.release, Settings())
        assert kept.get(request) is None
        report = evaluate(base, Settings(), request)
        kept.put(request, report)
    again = kept.get(request)
    assert again is not None
    assert json.dumps(again.to_json()) == json.dumps(report.to_json())


def test_another_release_setting_switch_or_file_is_another_run(home: Path) -> None:
    file = home / "mtcmb-dev" / "TCM-SE-B.jsonl"
    request = Request("mcq", str(file), methods=("paths",))
    kept = Kept(home / "runs", "sha256:1", Settings())
    places = {
        kept.place(request), kept.place(replace(request, ablate=("no-ranking",))),
        kept.place(replace(request, seed=1)), kept.place(replace(request, with_model=True)),
        replace(kept, release="sha256:2").place(request),
        replace(kept, settings=replace(Settings(), paths=replace(Settings().paths, top_k=3))).place(request),
    }  # fmt: skip
    text = file.read_text("utf-8")
    file.write_text(text + "\n{}", "utf-8")
    places.add(kept.place(request))
    file.write_text(text, "utf-8")
    assert len(places) == 7


def test_a_run_that_was_cut_off_is_measured_again(home: Path) -> None:
    request = Request("mcq", str(home / "mtcmb-dev" / "TCM-SE-B.jsonl"), methods=("bm25",))
    kept = Kept(home / "runs", "sha256:1", Settings())
    kept.place(request).parent.mkdir(exist_ok=True)
    kept.place(request).write_text('{"task": "mcq", "fi', "utf-8")
    assert kept.get(request) is None


def test_the_pages_are_written_and_a_second_call_measures_nothing(home: Path) -> None:
    words = [sys.executable, str(ROOT / "bench" / "evaluate.py"), "--kb", str(home / "kb"), "--data",
             str(home), "--out", str(home / "out"), "--quick", "--only", "choices",
             "--runs", str(home / "runs")]  # fmt: skip
    one, two = (
        subprocess.run(words, check=True, capture_output=True, text=True)  # noqa: S603
        for _ in range(2)
    )
    assert "1 runs, 1 to measure" in one.stderr
    assert "1 runs, 0 to measure" in two.stderr
    page = (home / "out" / "choices.md").read_text("utf-8")
    assert "| accuracy | 1.000 [1.000, 1.000] |" in page
    assert "Left out: 1 not a JSON object." in page
    assert "--limit 10" in page
