"""Tables, JSON and SVG."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Any

from shiyi.evaluation.items import Skips
from shiyi.evaluation.metrics import Measured, measured, paired

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

    def metrics(self, run: Run) -> dict[str, Measured]:
        """Return each metric of a method with its interval."""
        seed = int(self.settings["seed"])
        return {name: measured(values, seed) for name, values in run.values.items()}

    def to_json(self) -> list[dict[str, Any]]:
        """Return one object a method, the first one compared with each of the others."""
        entries = []
        for run in self.runs:
            said: dict[str, Any] = {
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
                said["sweep"] = dict(run.at)
                said["settings"] |= run.at
            if run is not self.runs[0]:
                said["against"] = {"method": self.runs[0].title} | self._compared(run)
            if self.notes:
                said["notes"] = list(self.notes)
            if self.failures:
                said["failures"] = list(self.failures)
            entries.append(said)
        return entries

    def _compared(self, run: Run) -> dict[str, Any]:
        first = self.runs[0]
        name = first.primary
        if name not in run.values or len(run.values[name]) != len(first.values[name]):
            return {}
        seed = int(self.settings["seed"])
        return {"metric": name} | paired(first.values[name], run.values[name], seed)

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
        said = [f"{self.task} {self.file}: {self.n:,} items, release {self.release}"]
        if self.ablate:
            said.append(f"ablated: {', '.join(self.ablate)}")
        for reason, n in sorted(self.skips.counts.items()):
            said.append(f"left out: {n:,} {reason} (first: {self.skips.first[reason]})")
        return "\n".join([*said, *self.notes, "", *(line.rstrip() for line in lines)])


def _cell(m: Measured) -> str:
    return f"{m.value:.3f} [{m.low:.3f}, {m.high:.3f}]"


WIDTH, ROW, LEFT, RIGHT = 400, 26, 116, 48
SMALL, LARGE = 13, 14  # of letters
WIDER = 1.4  # where there is room
INK, FILL, LINE = "#26221c", "#b9552f", "#e4ddd2"
COLOURS = ("#b9552f", "#3f6b4f", "#31598a", "#8a6d1f", "#6b4a7e")


def bars(title: str, rows: Sequence[tuple[str, float, float, float]], maximum: float = 1.0) -> str:
    """Draw one bar a row: name, value, and the ends of its interval, from 0 to ``most``."""
    height = 40 + ROW * len(rows) + 12
    span = WIDTH - LEFT - RIGHT
    parts = [_text(8, 22, title, "start", LARGE)]
    for place, (name, value, low, high) in enumerate(rows):
        top = 38 + place * ROW
        middle = top + ROW / 2 - 2
        end = LEFT + span * value / maximum
        parts += [
            _text(LEFT - 8, middle + 4, name, "end"),
            (
                f'<rect x="{LEFT}" y="{top}" width="{max(0.0, end - LEFT):.1f}" height="{ROW - 6}" '
                f'fill="{FILL}" fill-opacity=".75"/>'
            ),
            (
                f'<line x1="{LEFT + span * low / maximum:.1f}" '
                f'x2="{LEFT + span * high / maximum:.1f}" '
                f'y1="{middle:.1f}" y2="{middle:.1f}" stroke="{INK}" stroke-width="1.5"/>'
            ),
            _text(LEFT + span * high / maximum + 6, middle + 4, f"{value:.3f}", "start"),
        ]
    return _svg(height, parts)


def curves(
    title: str, xs: Sequence[float], lines: Mapping[str, Sequence[float]], maximum: float = 1.0
) -> str:
    """Draw one line per name over ``xs``, evenly spaced, from 0 to ``most``."""
    top, bottom, left = 40, 220, 44
    height = bottom + 34 + 20 * len(lines)
    span = WIDTH - left - 24
    step = span / max(1, len(xs) - 1)
    parts = [_text(8, 22, title, "start", LARGE)]
    for share in (0.0, 0.25, 0.5, 0.75, 1.0):
        y = bottom - (bottom - top) * share
        parts.append(f'<line x1="{left}" x2="{left + span}" y1="{y}" y2="{y}" stroke="{LINE}"/>')
        parts.append(_text(left - 8, y + 4, f"{share * maximum:.2f}", "end"))
    parts += [_text(left + i * step, bottom + 18, f"{x:g}", "middle") for i, x in enumerate(xs)]
    for place, (name, values) in enumerate(lines.items()):
        colour = COLOURS[place % len(COLOURS)]
        points = " ".join(
            f"{left + i * step:.1f},{bottom - (bottom - top) * value / maximum:.1f}"
            for i, value in enumerate(values)
        )
        parts.append(
            f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2"/>'
        )
        parts.append(_text(left, bottom + 42 + 20 * place, f"— {name}", "start", SMALL, colour))
    return _svg(height, parts)


def _svg(height: float, parts: Sequence[str]) -> str:
    body = "\n".join(parts)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height:g}" '
        f'width="{WIDTH * WIDER:g}" height="{height * WIDER:g}" '
        'font-family="system-ui, sans-serif">\n'
        f'<rect width="100%" height="100%" fill="#fff"/>\n{body}\n</svg>\n'
    )


def _text(x: float, y: float, words: str, anchor: str, size: int = SMALL, colour: str = INK) -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}" '
        f'fill="{colour}">{escape(words)}</text>'
    )
