"""Requests run, cached and parallelised."""

import hashlib
import json
import os
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass, replace
from multiprocessing import get_context
from pathlib import Path
from typing import Any, Final

from shiyi.errors import FormatError, UsageError
from shiyi.evaluation.ablations import SWEPT, Sweep, of_method
from shiyi.evaluation.bench import Bench, Request, Shared
from shiyi.evaluation.items import Skips
from shiyi.evaluation.report import Report, Run
from shiyi.evaluation.tasks.answers import run_dialogue, run_linking, run_retrieval, run_safety
from shiyi.evaluation.tasks.choice import (
    GENERATED,
    Progress,
    run_mcq,
    run_syndrome,
    run_truefalse,
    silent,
)
from shiyi.evaluation.tasks.confidence import run_confidence
from shiyi.evaluation.tasks.ranking import run_recommend
from shiyi.settings import Settings
from shiyi.sparql.base.knowledge_base import KnowledgeBase

Task = Callable[[Bench, Request, Progress], Report]
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
    progress: Progress = silent,
    known: Shared | None = None,
    bench: type[Bench] = Bench,
) -> Report:
    """Measure every method of a request on its file.

    ``known`` carries over what earlier runs on the same base have read; ``bench`` makes the
    scorers.

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
    opened = bench(base, settings, request, known)
    if request.with_model and opened.model is None:
        raise UsageError("no model is configured")
    return TASKS[request.task](opened, request, progress)


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
        changed, chosen = at(request, settings, sweep.name, value)
        same = chosen.linking == settings.linking  # else mentions are linked again
        if same and shared is None:
            shared = Shared.over(base, settings)
        reports.append(evaluate(base, chosen, changed, progress, shared if same else None))
        runs += [replace(run, at={sweep.name: value}) for run in reports[-1].runs]
    return replace(reports[-1], runs=tuple(runs))


def at(request: Request, settings: Settings, name: str, value: float) -> tuple[Request, Settings]:
    """Return request and settings with one parameter set.

    Raises ``UsageError`` for a fraction of a count.
    """
    section, key = SWEPT[name]
    where: Any = getattr(settings, section) if section else request
    whole = isinstance(getattr(where, key), int)
    if whole and value != int(value):
        raise UsageError(f"{name} is a whole number, not {value:g}")
    changed: Any = replace(where, **{key: int(value) if whole else value})
    if not section:
        return changed, settings
    return request, replace(settings, **{section: changed})


FORM = 3  # raised where readers or the form of a stored run change, so that old ones are not taken


@dataclass(frozen=True, slots=True)
class ReportStore:
    """A folder of reports; each is named by release, settings, request and question files."""

    folder: Path
    release: str
    settings: Settings

    def place(self, request: Request) -> Path:
        """Return where the report of a request lies, or would lie."""
        files = [Path(request.file), *request.train]
        fields = asdict(request)
        if not request.with_model:
            del fields["with_model"]  # runs without a model were stored before there was the choice
        identity = {
            "form": FORM,
            "release": self.release,
            "request": fields,
            "settings": {k: v for k, v in asdict(self.settings).items() if k not in _OUTSIDE},
            "files": [_digest(each) for each in files],
        }
        text = json.dumps(identity, sort_keys=True, default=str)
        return self.folder / f"{hashlib.sha256(text.encode()).hexdigest()[:24]}.json"

    def get(self, request: Request) -> Report | None:
        """Return the report of a request; None where it was not measured yet, or not to its end."""
        try:
            return _read(self.place(request).read_text("utf-8"))
        except (FileNotFoundError, ValueError, KeyError):
            return None

    def put(self, request: Request, report: Report) -> None:
        """Keep a report; it is whole or not there."""
        place = self.place(request)
        place.parent.mkdir(parents=True, exist_ok=True)
        half = place.with_suffix(f".{os.getpid()}")
        half.write_text(_written(report), "utf-8")
        half.replace(place)


def state_of(base: KnowledgeBase) -> str:
    """Name what a base holds: its release, and how much was written since."""
    journal = base.path / "journal.nq"
    written = journal.stat().st_size if journal.is_file() else 0
    return f"{base.release}+{written}" if written else base.release


_OUTSIDE = frozenset({"kb", "base", "server", "curation"})  # what no figure depends on


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else str(path)


def _written(report: Report) -> str:
    skips = {"counts": dict(report.skips.counts), "first": report.skips.first}
    runs = [
        {
            "method": run.method,
            "values": {k: list(v) for k, v in run.values.items()},
            "seconds": run.seconds,
            "at": dict(run.at),
        }
        for run in report.runs
    ]
    return json.dumps(
        {
            "task": report.task,
            "file": report.file,
            "ablate": list(report.ablate),
            "n": report.n,
            "skips": skips,
            "runs": runs,
            "release": report.release,
            "settings": dict(report.settings),
            "notes": list(report.notes),
            "failures": list(report.failures),
        },
        ensure_ascii=False,
    )


def _read(text: str) -> Report:
    stored = json.loads(text)
    skips = Skips()
    skips.counts.update(stored["skips"]["counts"])
    skips.first.update(stored["skips"]["first"])
    runs = tuple(Run(r["method"], r["values"], r["seconds"], r["at"]) for r in stored["runs"])
    return Report(
        stored["task"],
        stored["file"],
        tuple(stored["ablate"]),
        stored["n"],
        skips,
        runs,
        stored["release"],
        stored["settings"],
        tuple(stored["notes"]),
        tuple(stored["failures"]),
    )


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
    store = ReportStore(keep, state_of(base), settings) if keep else None
    requests = list(_by_method(request))
    done = {each: store.get(each) for each in requests} if store else {}
    todo = [each for each in requests if done.get(each) is None]
    if jobs == 1:
        known = Shared.over(base, settings) if todo else None
        for each in todo:
            done[each] = evaluate(base, settings, each, progress, known)
            _put(store, each, done[each])
        return _merged(request, [done[each] for each in requests])
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        running = {pool.submit(_evaluate_in_process, settings, each): each for each in todo}
        for number, future in enumerate(as_completed(running), 1):
            done[running[future]] = future.result()
            _put(store, running[future], done[running[future]])
            progress("methods", number, len(todo))
    return _merged(request, [done[each] for each in requests])


def _by_method(request: Request) -> Iterator[Request]:
    """Yield the request for each method, with the switches that change it."""
    for method in request.methods:
        mine = of_method(request.ablate, method)
        ablate = tuple(each for each in request.ablate if each in mine)
        yield replace(request, methods=(method,), ablate=ablate)


def _evaluate_in_process(settings: Settings, request: Request) -> Report:
    with KnowledgeBase.of(settings) as base:
        return evaluate(base, settings, request)


def _put(store: ReportStore | None, request: Request, report: Report | None) -> None:
    if store is not None and report is not None:
        store.put(request, report)


def _merged(request: Request, reports: list[Report | None]) -> Report:
    whole = [each for each in reports if each is not None]
    first = whole[0]
    notes = tuple(dict.fromkeys(note for each in whole for note in each.notes))
    return replace(
        first,
        ablate=request.ablate,
        notes=notes,
        runs=tuple(run for each in whole for run in each.runs),
        failures=tuple(failure for each in whole for failure in each.failures),
    )
