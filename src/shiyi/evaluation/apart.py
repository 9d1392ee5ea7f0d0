"""Each method of a request by itself: kept on disk as it is done, in several processes if wanted."""

from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path

from shiyi.errors import UsageError
from shiyi.evaluation.bench import Request, Shared
from shiyi.evaluation.kept import Kept, state_of
from shiyi.evaluation.results import Report
from shiyi.evaluation.runner import evaluate
from shiyi.evaluation.switches import of_method
from shiyi.evaluation.tasks import Progress, silent
from shiyi.settings import Settings
from shiyi.sparql.knowledge_base import KnowledgeBase


def evaluate_apart(
    base: KnowledgeBase,
    settings: Settings,
    request: Request,
    keep: Path | None = None,
    jobs: int = 1,
    progress: Progress = silent,
) -> Report:
    """Measure what :func:`evaluate` measures, method by method.

    With ``keep``, a folder, the run of each method stays there once it is done, and the same
    request goes on after those: what was measured over another release, with other settings or from
    another file is not taken. ``jobs`` processes measure at a time, each with a base of its own.

    Raises what :func:`evaluate` raises, and ``UsageError`` for fewer than one job.
    """
    if jobs < 1:
        raise UsageError("--jobs is a number of processes from 1")
    kept = Kept(keep, state_of(base), settings) if keep else None
    asked = list(_apart(request))
    done = {each: kept.get(each) for each in asked} if kept else {}
    todo = [each for each in asked if done.get(each) is None]
    if jobs == 1:
        known = Shared.over(base, settings) if todo else None
        for each in todo:
            done[each] = evaluate(base, settings, each, progress, known)
            _keep(kept, each, done[each])
        return _together(request, [done[each] for each in asked])
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        running = {pool.submit(_elsewhere, settings, each): each for each in todo}
        for number, future in enumerate(as_completed(running), 1):
            done[running[future]] = future.result()
            _keep(kept, running[future], done[running[future]])
            progress("methods", number, len(todo))
    return _together(request, [done[each] for each in asked])


def _apart(request: Request) -> Iterator[Request]:
    """Yield the request for each method, with the switches that change it."""
    for method in request.methods:
        mine = of_method(request.ablate, method)
        ablate = tuple(each for each in request.ablate if each in mine)
        yield replace(request, methods=(method,), ablate=ablate)


def _elsewhere(settings: Settings, request: Request) -> Report:
    with KnowledgeBase.of(settings) as base:
        return evaluate(base, settings, request)


def _keep(kept: Kept | None, request: Request, report: Report | None) -> None:
    if kept is not None and report is not None:
        kept.put(request, report)


def _together(request: Request, reports: list[Report | None]) -> Report:
    whole = [each for each in reports if each is not None]
    first = whole[0]
    notes = tuple(dict.fromkeys(note for each in whole for note in each.notes))
    return replace(
        first, ablate=request.ablate, notes=notes,
        runs=tuple(run for each in whole for run in each.runs),
        failures=tuple(failure for each in whole for failure in each.failures),
    )  # fmt: skip
