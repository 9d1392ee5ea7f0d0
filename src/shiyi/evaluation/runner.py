"""From a request to a report."""

from collections.abc import Callable, Mapping
from typing import Final

from shiyi.errors import FormatError, UsageError
from shiyi.evaluation.bench import Bench, Request, Shared
from shiyi.evaluation.confidences import run_confidence
from shiyi.evaluation.ranking_tasks import run_recommend
from shiyi.evaluation.results import Report
from shiyi.evaluation.tasks import (
    GENERATED,
    Progress,
    run_mcq,
    run_syndrome,
    run_truefalse,
    silent,
)
from shiyi.evaluation.whole_answers import run_dialogue, run_linking, run_retrieval, run_safety
from shiyi.settings import Settings
from shiyi.sparql.knowledge_base import KnowledgeBase

Task = Callable[[Bench, Request, Progress], Report]
TASKS: Final[Mapping[str, Task]] = {
    "mcq": run_mcq, "truefalse": run_truefalse, "recommend": run_recommend,
    "syndrome": run_syndrome, "linking": run_linking, "confidence": run_confidence,
    "retrieval": run_retrieval, "safety": run_safety, "dialogue": run_dialogue,
}  # fmt: skip
LATER: Final = {"extraction": "is measured by shiyi.evaluation.extraction, with extractors at hand"}


def evaluate(
    base: KnowledgeBase,
    settings: Settings,
    request: Request,
    progress: Progress = silent,
    known: Shared | None = None,
) -> Report:
    """Measure every method of a request on its file.

    ``known`` carries over what earlier runs on the same base have read.

    Raises ``FormatError`` for an unknown task, method or switch, and ``UsageError`` for a file
    that cannot be read or holds nothing to ask.
    """
    if request.task in LATER:
        raise UsageError(f"the task {request.task} {LATER[request.task]}")
    if request.task not in TASKS:
        raise FormatError("task", request.task, sorted(TASKS))
    if request.file.startswith(GENERATED) and request.task not in {"mcq", "truefalse"}:
        raise UsageError("questions are made from a source for mcq and truefalse only")
    if "general-kg-only" in request.ablate and not (request.train or request.holdout):
        raise UsageError("general-kg-only leaves out what was learnt: give --train or --holdout")
    return TASKS[request.task](Bench(base, settings, request, known), request, progress)
