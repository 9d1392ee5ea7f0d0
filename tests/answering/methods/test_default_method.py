"""The default method against its parts and baselines, on questions made from the starter base."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from shiyi.evaluation.bench import Request
from shiyi.evaluation.questions.safety import FROM_CLAIMS
from shiyi.evaluation.report import Report
from shiyi.evaluation.runner import evaluate
from shiyi.settings import Settings
from shiyi.sparql.base.knowledge_base import KnowledgeBase

OTHERS = ("bm25", "layers", "neighbourhood", "spot")


@pytest.fixture(scope="module")
def report(starter_kb: Path) -> Iterator[Report]:
    request = Request("retrieval", FROM_CLAIMS, methods=("fused", *OTHERS), limit=60)
    with KnowledgeBase.open(starter_kb) as base:
        yield evaluate(base, replace(Settings(), kb=starter_kb), request)


@pytest.mark.parametrize("other", OTHERS)
def test_no_part_or_baseline_recalls_more_than_default(report: Report, other: str) -> None:
    recall = {run.method: report.metrics(run)["context_recall"].value for run in report.runs}
    assert recall["fused"] >= recall[other]
