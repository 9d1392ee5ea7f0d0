"""Extractors are measured against what a person read."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from shiyi.artefacts import artefact
from shiyi.errors import FormatError, UsageError
from shiyi.evaluation.bench import Request
from shiyi.evaluation.tasks.extraction import measure_extraction
from shiyi.ingest.datasets.lexicon import Lexicon
from shiyi.ingest.extraction.books.extractor import EntryExtractor
from shiyi.ingest.extraction.llm import LlmExtractor
from shiyi.ingest.gate import Gate
from shiyi.linking.labels import LabelIndex
from shiyi.prompts.caching import ReplyStore
from shiyi.prompts.openai import OpenAIChatModel
from shiyi.prompts.resilience import Retrier
from shiyi.settings import ModelSettings, Settings
from tests.support.model_endpoints import serving

INDEX = LabelIndex.from_tables(artefact("ontology/concepts"))
GOLD: list[dict[str, object]] = [
    {"id": "1", "title": "山楂", "text": "味甘，性平。治头痛。", "claims": [
        {"subject": "山楂", "relation": "hasFlavour", "object": "甘"},
        {"subject": "山楂", "relation": "hasNature", "object": "平"},
        {"subject": "山楂", "relation": "indicatedFor", "object": "头痛"},
        {"subject": "山楂", "relation": "hasMeridianTropism", "object": "脾"},
    ]},
    {"id": "2", "title": "当归", "text": "味辛，性温。", "claims": [
        {"subject": "当归", "relation": "hasFlavour", "object": "辛"},
        {"subject": "当归", "relation": "hasNature", "object": "温"},
        {"subject": "当归", "relation": "hasNature", "object": "无此物"},
    ]},
]  # fmt: skip


@pytest.fixture
def gold(tmp_path: Path) -> Callable[[list[dict[str, object]]], str]:
    def write(rows: list[dict[str, object]]) -> str:
        path = tmp_path / "gold.jsonl"
        lines = (json.dumps(row, ensure_ascii=False) for row in rows)
        path.write_text("\n".join(lines), "utf-8")
        return str(path)

    return write


def test_rules_and_model_are_compared_on_same_passages(
    gold: Callable[[list[dict[str, object]]], str],
) -> None:
    models = ModelSettings(extract="scripted")
    with serving() as server:
        chat = OpenAIChatModel("scripted", server.url, "", models)
        asker = Retrier(chat, ReplyStore.in_memory(), models, "held@1")
        request = Request("extraction", gold(GOLD), methods=("rules", "llm"))
        report = measure_extraction(
            INDEX,
            "r",
            request,
            {
                "rules": lambda: EntryExtractor(Lexicon(INDEX)),
                "llm": lambda: LlmExtractor(asker, INDEX, Gate(INDEX), Settings()),
            },
            lambda method, number, of: None,
        )
    assert report.n == 2
    assert report.skips.counts["claim that names nothing known"] == 1
    for run in report.runs:
        assert sum(run.values["precision"]) == len(run.values["precision"]) == 5
        assert sum(run.values["recall"]) == 5
        assert len(run.values["recall"]) == 6
        assert [round(value, 3) for value in run.values["f1"]] == [0.857, 1.0]
        assert run.values["parked"] == [0.0, 0.0]
    assert report.notes[0] == "rules: F1 over all claims 0.909"


def test_unknown_extractor_and_file_of_nothing_are_refused(
    gold: Callable[[list[dict[str, object]]], str],
) -> None:
    request = Request("extraction", gold(GOLD), methods=("guess",))
    with pytest.raises(FormatError, match="guess"):
        measure_extraction(INDEX, "r", request, {}, lambda method, number, of: None)
    request = Request("extraction", gold([{"title": "x"}]), methods=())
    with pytest.raises(UsageError, match="no passage"):
        measure_extraction(INDEX, "r", request, {}, lambda method, number, of: None)
