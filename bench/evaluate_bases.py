"""Opened bases that requests are measured over, and what is kept of each."""

import sys
import time
from dataclasses import dataclass, replace
from pathlib import Path

from shiyi.evaluation.bench import Request, Shared
from shiyi.evaluation.kept import Kept, state_of
from shiyi.evaluation.results import Report
from shiyi.evaluation.runner import at, evaluate
from shiyi.settings import Settings
from shiyi.sparql.knowledge_base import KnowledgeBase


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
        return cls(base, settings, Shared.over(base, settings), runs)

    def kept(self, asked: "Asked") -> Report | None:
        """Give the kept report of a request; None where it was not measured yet."""
        request, settings = self._at(asked)
        return self._store(settings).get(request)

    def measure(self, asked: "Asked") -> Report:
        """Give the kept report of a request, or measure and keep it."""
        report = self.kept(asked)
        if report is None:
            request, settings = self._at(asked)
            started = time.perf_counter()
            same = settings.linking == self.settings.linking  # else mentions are linked anew
            report = evaluate(self.base, settings, request, known=self.known if same else None)
            self._store(settings).put(request, report)
            said = f"{request.task} {Path(request.file).name} {','.join(request.methods)}"
            told = f"{time.perf_counter() - started:6.1f} s  {said} {','.join(request.ablate)}"
            print(told, *asked[1:], file=sys.stderr, flush=True)
        return report

    def _store(self, settings: Settings) -> Kept:
        return Kept(self.runs, state_of(self.base), settings)

    def _at(self, asked: "Asked") -> tuple[Request, Settings]:
        request, name, value = asked
        return at(request, self.settings, name, value) if name else (request, self.settings)


Asked = tuple[Request, str, float]  # a request, and where one is swept a parameter and its value


def measured_apart(kb: Path, runs: Path, asked: Asked) -> None:
    """Measure one request in a process of its own, which keeps its base for the next one."""
    if kb not in _HERE:
        _HERE[kb] = Bases.open(kb, runs)
    _HERE[kb].measure(asked)


_HERE: dict[Path, Bases] = {}
