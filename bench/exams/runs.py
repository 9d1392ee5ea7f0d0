"""Opened bases that requests are measured over, with the folder of their stored reports."""

import sys
import time
from dataclasses import dataclass, replace
from pathlib import Path

from readers import ExamBench, ExamShared

from shiyi.evaluation.bench import Bench, Request, Shared
from shiyi.evaluation.questions.safety import FROM_CLAIMS
from shiyi.evaluation.report import Report
from shiyi.evaluation.runner import ReportStore, at, evaluate, state_of
from shiyi.settings import Settings
from shiyi.sparql.base.knowledge_base import KnowledgeBase


@dataclass
class Bases:
    """An opened base and what runs over it share; one a process."""

    base: KnowledgeBase
    settings: Settings
    known: Shared
    runs: Path

    @classmethod
    def open(cls, kb: Path, runs: Path) -> "Bases":
        """Open a base to read."""
        settings = replace(Settings(), kb=kb)
        base = KnowledgeBase.open(kb)
        return cls(base, settings, ExamShared.over(base, settings), runs)

    def kept(self, swept_request: "Asked") -> Report | None:
        """Return the stored report of a request; None where it was not measured yet."""
        request, settings = self._at(swept_request)
        return self._store(settings).get(request)

    def measure(self, swept_request: "Asked") -> Report:
        """Return the stored report of a request, or measure and keep it."""
        report = self.kept(swept_request)
        if report is None:
            request, settings = self._at(swept_request)
            started = time.perf_counter()
            same = settings.linking == self.settings.linking  # else mentions are linked again
            report = evaluate(
                self.base,
                settings,
                request,
                known=self.known if same else None,
                bench=ExamBench if is_exam(request.task, request.file) else Bench,
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
        return at(request, self.settings, name, value) if name else (request, self.settings)


Asked = tuple[Request, str, float]  # a request, and where one is swept a parameter and its value


def is_exam(task: str, file: str) -> bool:
    """Return whether a file is an exam, which the readers of ``readers.py`` measure."""
    generated = file == FROM_CLAIMS or file.startswith("source:")
    return task in {"mcq", "syndrome", "recommend"} and not generated


def measured_apart(kb: Path, runs: Path, swept_request: Asked) -> None:
    """Measure one request in a process of its own, which keeps its base for the next one."""
    if kb not in _HERE:
        _HERE[kb] = Bases.open(kb, runs)
    _HERE[kb].measure(swept_request)


_HERE: dict[Path, Bases] = {}
