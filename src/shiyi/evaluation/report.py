"""Tables, JSON and SVG."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from shiyi.evaluation.items import Skips
from shiyi.evaluation.metrics import MetricEstimate, compare_paired, estimate_mean

PRIMARY = ("accuracy", "hits@1", "top1", "p@5", "mse", "bleu4", "context_recall", "unsafe")


@dataclass(frozen=True, slots=True)
class Run:
    """One method on one file: per metric the figure of each item."""

    method: str
    values: Mapping[str, Sequence[float]]
    seconds: float
    at: Mapping[str, float] = field(default_factory=dict)  # of a sweep: the value measured at

    @property
    def title(self) -> str:
        """Name the method, with the value it was measured at."""
        return " ".join([self.method, *(f"{name}={value:g}" for name, value in self.at.items())])

    @property
    def primary(self) -> str:
        """Name the metric by which methods are compared."""
        return next((name for name in PRIMARY if name in self.values), next(iter(self.values)))


@dataclass(frozen=True, slots=True)
class Report:
    """All methods of one request."""

    task: str
    file: str
    ablate: tuple[str, ...]
    n: int
    skips: Skips
    runs: tuple[Run, ...]
    release: str
    settings: Mapping[str, Any]
    notes: tuple[str, ...] = ()
    failures: tuple[Mapping[str, Any], ...] = ()

    def metrics(self, run: Run) -> dict[str, MetricEstimate]:
        """Return each metric of a method with its interval."""
        seed = int(self.settings["seed"])
        return {name: estimate_mean(values, seed) for name, values in run.values.items()}

    def to_json(self) -> list[dict[str, Any]]:
        """Return one object a method, the first one compared with each of the others."""
        entries = []
        for run in self.runs:
            values: dict[str, Any] = {
                "task": self.task,
                "file": self.file,
                "method": run.method,
                "ablate": list(self.ablate),
                "n": self.n,
                "skipped": self.skips.to_json(),
                "metrics": {name: m.to_json() for name, m in self.metrics(run).items()},
                "seconds": round(run.seconds, 2),
                "release": self.release,
                "settings": dict(self.settings),
            }
            if run.at:
                values["sweep"] = dict(run.at)
                values["settings"] |= run.at
            if run is not self.runs[0]:
                values["against"] = {"method": self.runs[0].title} | self._compare_run(run)
            if self.notes:
                values["notes"] = list(self.notes)
            if self.failures:
                values["failures"] = list(self.failures)
            entries.append(values)
        return entries

    def _compare_run(self, run: Run) -> dict[str, Any]:
        first = self.runs[0]
        name = first.primary
        if name not in run.values or len(run.values[name]) != len(first.values[name]):
            return {}
        seed = int(self.settings["seed"])
        return {"metric": name} | compare_paired(first.values[name], run.values[name], seed)

    def table(self) -> str:
        """Return a table for a terminal, with what was left out and why."""
        names = list(dict.fromkeys(name for run in self.runs for name in run.values))
        every = [self.metrics(run) for run in self.runs]
        rows = [["", *(run.title for run in self.runs)]]
        rows += [
            [name, *(_cell(each[name]) if name in each else "" for each in every)] for name in names
        ]
        rows.append(["seconds", *(f"{run.seconds:.1f}" for run in self.runs)])
        widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
        lines = ["  ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)) for row in rows]
        found = [f"{self.task} {self.file}: {self.n:,} items, release {self.release}"]
        if self.ablate:
            found.append(f"ablated: {', '.join(self.ablate)}")
        for reason, n in sorted(self.skips.counts.items()):
            found.append(f"left out: {n:,} {reason} (first: {self.skips.first[reason]})")
        return "\n".join([*found, *self.notes, "", *(line.rstrip() for line in lines)])


def _cell(m: MetricEstimate) -> str:
    return f"{m.value:.3f} [{m.low:.3f}, {m.high:.3f}]"
