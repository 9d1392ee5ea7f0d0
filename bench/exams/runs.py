"""Requests measured over an opened base, with their stored reports, and sweeps of a parameter."""

import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from readers import ExamContext, ExamResources
from store import ReportStore, state_of

from shiyi.errors import UsageError
from shiyi.evaluation.bench import EvaluationContext, Request, SharedResources
from shiyi.evaluation.questions.safety import FROM_CLAIMS
from shiyi.evaluation.report import Report, Run
from shiyi.evaluation.runner import evaluate
from shiyi.settings import Settings
from shiyi.sparql.base.knowledge_base import KnowledgeBase


@dataclass
class SharedBase:
    """An opened base and what runs over it share; one a process."""

    base: KnowledgeBase
    settings: Settings
    known: SharedResources
    runs: Path

    @classmethod
    def open(cls, kb: Path, runs: Path) -> "SharedBase":
        """Open a base to read."""
        settings = replace(Settings(), kb=kb)
        base = KnowledgeBase.open(kb)
        return cls(base, settings, ExamResources.over(base, settings), runs)

    def stored(self, swept_request: "Asked") -> Report | None:
        """Return the stored report of a request; None where it was not measured yet."""
        request, settings = self._at(swept_request)
        return self._store(settings).get(request)

    def measure(self, swept_request: "Asked") -> Report:
        """Return the stored report of a request, or measure and keep it."""
        report = self.stored(swept_request)
        if report is None:
            request, settings = self._at(swept_request)
            started = time.perf_counter()
            same = settings.linking == self.settings.linking  # else mentions are linked again
            report = evaluate(
                self.base,
                settings,
                request,
                known=self.known if same else None,
                bench=ExamContext if is_exam(request.task, request.file) else EvaluationContext,
            )
            self._store(settings).put(request, report)
            label = f"{request.task} {Path(request.file).name} {','.join(request.methods)}"
            line = f"{time.perf_counter() - started:6.1f} s  {label} {','.join(request.ablate)}"
            print(line, *swept_request[1:], file=sys.stderr, flush=True)
        return report

    def _store(self, settings: Settings) -> ReportStore:
        return ReportStore(self.runs, state_of(self.base), settings)

    def _at(self, swept_request: "Asked") -> tuple[Request, Settings]:
        request, name, value = swept_request
        return (
            set_parameter(request, self.settings, name, value) if name else (request, self.settings)
        )


Asked = tuple[Request, str, float]  # a request, and where one is swept a parameter and its value


def is_exam(task: str, file: str) -> bool:
    """Return whether a file is an exam, which the readers of ``readers.py`` measure."""
    generated = file == FROM_CLAIMS or file.startswith("source:")
    return task in {"mcq", "syndrome", "recommend"} and not generated


def measure_in_process(kb: Path, runs: Path, swept_request: Asked) -> None:
    """Measure one request in a process of its own, which keeps its base for the next one."""
    if kb not in _HERE:
        _HERE[kb] = SharedBase.open(kb, runs)
    _HERE[kb].measure(swept_request)


_HERE: dict[Path, SharedBase] = {}


@dataclass(frozen=True, slots=True)
class Sweep:
    """One parameter and the values it takes; ``section.key`` of the settings, or of a request."""

    name: str
    values: tuple[float, ...]

    @classmethod
    def read(cls, option: str) -> "Sweep":
        """Read ``k=1,3,5``; ``UsageError`` where it is none.

        >>> Sweep.read("k=1,3")
        Sweep(name='k', values=(1.0, 3.0))
        """
        name, _, listed = option.partition("=")
        try:
            values = tuple(float(part) for part in listed.split(",") if part.strip())
        except ValueError:
            values = ()
        if name not in SWEPT or not values:
            raise UsageError(
                f"--sweep is NAME=VALUE,VALUE… with NAME one of {', '.join(SWEPT)}, not {option!r}"
            )
        return cls(name, tuple(dict.fromkeys(values)))


SWEPT: Final[Mapping[str, tuple[str, str]]] = {  # section ("" for the request) and key
    "k": ("", "k"),  # Yaoshi-RAG: 1, 3, 5, 10, 20, 30
    "damping": ("", "damping"),  # Yaoshi-RAG: 0.1 to 0.9
    "hops": ("", "hops"),
    "chunk": ("", "chunk"),  # tokens of fixed-chunks
    "rounds": ("reflection", "max_rounds"),  # TOSRR: depth of reflection
    "beam": ("terms", "beam"),  # MLKG-RAG
    "delta": ("linking", "layer_distance"),  # MLKG-RAG: distance between layers
    "threshold": ("linking", "min_cosine"),  # iDISK2.0-RAG: 0.75
    "keyword-k": ("recall", "keyword_k"),  # TOSRR: 5
    "vector-k": ("recall", "vector_k"),  # TOSRR: 10
}  # fmt: skip


def run_sweep(
    base: KnowledgeBase,
    settings: Settings,
    request: Request,
    sweep: Sweep | None,
    bench: type[EvaluationContext] = EvaluationContext,
) -> Report:
    """Measure a request, at each value of a swept parameter, in one report; runs say their value.

    Raises what :func:`evaluate` raises, ``UsageError`` where a value does not fit.
    """
    if sweep is None:
        return evaluate(base, settings, request, bench=bench)
    resources: SharedResources | None = None
    reports = list[Report]()
    runs = list[Run]()
    for value in sweep.values:
        changed, chosen_settings = set_parameter(request, settings, sweep.name, value)
        same = chosen_settings.linking == settings.linking  # else mentions are linked again
        if same and resources is None:
            resources = SharedResources.over(base, settings)
        known_resources = resources if same else None
        reports.append(evaluate(base, chosen_settings, changed, known=known_resources, bench=bench))
        runs += [replace(run, at={sweep.name: value}) for run in reports[-1].runs]
    return replace(reports[-1], runs=tuple(runs))


def set_parameter(
    request: Request, settings: Settings, name: str, value: float
) -> tuple[Request, Settings]:
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
