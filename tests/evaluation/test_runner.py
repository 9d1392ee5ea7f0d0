"""`make evaluate` goes on where it stopped, and writes its pages from what it stored."""

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from store import ReportStore, state_of

from shiyi.evaluation.bench import Request
from shiyi.evaluation.runner import evaluate
from shiyi.settings import Settings
from shiyi.sparql.base.knowledge_base import KnowledgeBase, build_generation
from tests.support import bases
from tests.support.places import ROOT


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory, kitchen_kb: Path) -> Path:
    folder = tmp_path_factory.mktemp("kept")
    (folder / "kb").symlink_to(kitchen_kb)
    (folder / "mtcmb-dev").mkdir()
    row = {"question": "阴虚质宜吃", "options": {"A": "百合", "B": "藜芦"}, "answer": "A"}
    file = folder / "mtcmb-dev" / "TCM-SE-B.jsonl"
    file.write_text(f"{json.dumps(row, ensure_ascii=False)}\nbroken\n", "utf-8")
    return folder


def test_committed_report_is_one_that_was_measured(home: Path) -> None:
    request = Request("mcq", str(home / "mtcmb-dev" / "TCM-SE-B.jsonl"), methods=("paths", "none"))
    with KnowledgeBase.open(home / "kb") as base:
        store = ReportStore(home / "runs", base.release, Settings())
        assert store.get(request) is None
        report = evaluate(base, Settings(), request)
        store.put(request, report)
    again = store.get(request)
    assert again is not None
    assert json.dumps(again.to_json()) == json.dumps(report.to_json())


def test_another_release_setting_switch_or_file_another_run(home: Path) -> None:
    file = home / "mtcmb-dev" / "TCM-SE-B.jsonl"
    request = Request("mcq", str(file), methods=("paths",))
    store = ReportStore(home / "runs", "sha256:1", Settings())
    places = {
        store.place(request),
        store.place(replace(request, ablate=("no-ranking",))),
        store.place(replace(request, seed=1)),
        store.place(replace(request, with_model=True)),
        replace(store, release="sha256:2").place(request),
        replace(
            store, settings=replace(Settings(), paths=replace(Settings().paths, top_k=3))
        ).place(request),
    }
    text = file.read_text("utf-8")
    file.write_text(text + "\n{}", "utf-8")
    places.add(store.place(request))
    file.write_text(text, "utf-8")
    assert len(places) == 7


def test_run_that_was_cut_off_is_measured_again(home: Path) -> None:
    request = Request("mcq", str(home / "mtcmb-dev" / "TCM-SE-B.jsonl"), methods=("bm25",))
    store = ReportStore(home / "runs", "sha256:1", Settings())
    store.place(request).parent.mkdir(exist_ok=True)
    store.place(request).write_text('{"task": "mcq", "fi', "utf-8")
    assert store.get(request) is None


def test_run_key_includes_changes_since_build(tmp_path: Path) -> None:
    build_generation(tmp_path / "kb", tuple(bases.kitchen_quads()), {})
    with KnowledgeBase.open(tmp_path / "kb") as base:
        assert state_of(base) == base.release
        (tmp_path / "kb" / "journal.nq").write_text("x", "utf-8")
        assert state_of(base) != base.release


def test_pages_are_written_and_second_call_measures_nothing(home: Path) -> None:
    folders = {"--kb": "kb", "--data": ".", "--out": "out", "--runs": "runs"}
    words = [sys.executable, str(ROOT / "bench" / "exams" / "pages.py"), "--quick"]
    words += ["--only", "choices", *(w for k, v in folders.items() for w in (k, str(home / v)))]
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
