"""From a request to a report."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Final

from shiyi.errors import FormatError, UsageError
from shiyi.evaluation.bench import Bench, Request, Shared
from shiyi.evaluation.confidences import run_confidence
from shiyi.evaluation.ranking_tasks import run_recommend
from shiyi.evaluation.results import Report, Run
from shiyi.evaluation.switches import SWEPT, Sweep
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
WITH_MODEL: Final = frozenset({"mcq", "truefalse", "safety", "dialogue", "retrieval"})
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

    With ``with_model`` the model is asked for a word first: ``OutsideError`` where it does not reply.
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
    bench = Bench(base, settings, request, known)
    if request.with_model and bench.model is None:
        raise UsageError("no model is configured")
    return TASKS[request.task](bench, request, progress)


def swept(
    base: KnowledgeBase,
    settings: Settings,
    request: Request,
    sweep: Sweep,
    progress: Progress = silent,
) -> Report:
    """Measure a request at each value of one parameter, in one report; every run says its value.

    Raises what :func:`evaluate` raises, ``UsageError`` where a value does not fit.
    """
    shared: Shared | None = None
    reports = list[Report]()
    runs = list[Run]()
    for value in sweep.values:
        asked, chosen = at(request, settings, sweep.name, value)
        same = chosen.linking == settings.linking  # else mentions are linked anew
        if same and shared is None:
            shared = Shared.over(base, settings)
        reports.append(evaluate(base, chosen, asked, progress, shared if same else None))
        runs += [replace(run, at={sweep.name: value}) for run in reports[-1].runs]
    return replace(reports[-1], runs=tuple(runs))


def at(request: Request, settings: Settings, name: str, value: float) -> tuple[Request, Settings]:
    """Give request and settings with one parameter set; ``UsageError`` for a fraction of a count."""
    section, key = SWEPT[name]
    where: Any = getattr(settings, section) if section else request
    whole = isinstance(getattr(where, key), int)
    if whole and value != int(value):
        raise UsageError(f"{name} is a whole number, not {value:g}")
    changed: Any = replace(where, **{key: int(value) if whole else value})
    if not section:
        return changed, settings
    return request, replace(settings, **{section: changed})
