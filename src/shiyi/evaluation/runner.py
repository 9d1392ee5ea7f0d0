"""A request measured by its task."""

from collections.abc import Callable, Mapping
from typing import Final

from shiyi.errors import FormatError, UsageError
from shiyi.evaluation.bench import EvaluationContext, Request, SharedResources
from shiyi.evaluation.report import Report
from shiyi.evaluation.tasks.answers import run_dialogue, run_linking, run_retrieval, run_safety
from shiyi.evaluation.tasks.choice import (
    GENERATED,
    Progress,
    ignore_progress,
    run_mcq,
    run_syndrome,
    run_truefalse,
)
from shiyi.evaluation.tasks.confidence import run_confidence
from shiyi.evaluation.tasks.ranking import run_recommend
from shiyi.settings import Settings
from shiyi.sparql.base.knowledge_base import KnowledgeBase

Task = Callable[[EvaluationContext, Request, Progress], Report]
TASKS: Final[Mapping[str, Task]] = {
    "mcq": run_mcq, "truefalse": run_truefalse, "recommend": run_recommend,
    "syndrome": run_syndrome, "linking": run_linking, "confidence": run_confidence,
    "retrieval": run_retrieval, "safety": run_safety, "dialogue": run_dialogue,
}  # fmt: skip
WITH_MODEL: Final = frozenset({"mcq", "truefalse", "safety", "dialogue", "retrieval"})
LATER: Final = {
    "extraction": "is measured by shiyi.evaluation.tasks.extraction, with extractors at hand"
}


def evaluate(
    base: KnowledgeBase,
    settings: Settings,
    request: Request,
    progress: Progress = ignore_progress,
    known: SharedResources | None = None,
    bench: type[EvaluationContext] = EvaluationContext,
) -> Report:
    """Measure every method of a request on its file.

    ``known`` holds what earlier runs on the base read; ``bench`` makes the scorers.

    With ``with_model`` the model is asked for a word first: ``OutsideError`` where it does not
    reply.
    Raises ``FormatError`` for an unknown task, method or switch, and ``UsageError`` for a file
    that cannot be read or holds nothing to ask.
    """
    if request.task in LATER:
        raise UsageError(f"the task {request.task} {LATER[request.task]}")
    if request.task not in TASKS:
        raise FormatError("task", request.task, sorted(TASKS))
    if request.file.startswith(GENERATED) and request.task not in {"mcq", "truefalse"}:
        raise UsageError("questions are made from a source for mcq and truefalse only")
    learnt = request.train or request.holdout or "chain" in request.methods
    if "general-kg-only" in request.ablate and not learnt:
        raise UsageError("general-kg-only leaves out what was learnt: give --train or --holdout")
    if request.with_model and request.task not in WITH_MODEL:
        raise UsageError(f"--with-model is for {', '.join(sorted(WITH_MODEL))}")
    context = bench(base, settings, request, known)
    if request.with_model and context.model is None:
        raise UsageError("no model is configured")
    return TASKS[request.task](context, request, progress)
