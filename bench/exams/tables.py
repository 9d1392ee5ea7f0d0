"""Tables and plots of the pages of bench/tables/: figures by method, and what a switch changes."""

from collections.abc import Mapping, Sequence
from html import escape

from runs import is_exam

from shiyi.evaluation.metrics import compare_paired
from shiyi.evaluation.questions.safety import FROM_CLAIMS as CLAIMS
from shiyi.evaluation.report import Report


def command(report: Report, file: str) -> str:
    text = report.settings
    program = "python bench/exams/measure.py" if is_exam(report.task, file) else "shiyi evaluate"
    words = [program, report.task, "--generated" if file == CLAIMS else file]
    words += [f"--train {name}" for name in text["train"]]
    words += [f"--method {','.join(run.method for run in report.runs)}"]
    words += [f"--ablate {','.join(report.ablate)}"] if report.ablate else []
    words += [f"--holdout {text['holdout']}"] if text["holdout"] else []
    words += [f"--limit {text['limit']}"] if text["limit"] else []
    if text["scorer"] != "specific":
        words += [f"--scorer {text['scorer']} --k {text['k']} --damping {text['damping']}"]
    return f"`{' '.join(words)}`"


def section(file: str, report: Report, only: Sequence[str] = ()) -> str:
    """Return a table: metrics by methods, with the command and what was left out."""
    objects = report.to_json()
    names = list(dict.fromkeys(name for each in objects for name in each["metrics"]))
    names = [n for n in names if not only or n in only or n.partition(":")[0] in only]
    rows = ["| | " + " | ".join(each["method"] for each in objects) + " |"]
    rows.append("|---|" + "---|" * len(objects))
    for name in names:
        cells = []
        for record in objects:
            m = record["metrics"].get(name)
            cells.append(f"{m['value']:.3f} [{m['low']:.3f}, {m['high']:.3f}]" if m else "")
        rows.append(f"| {name} | " + " | ".join(cells) + " |")
    if len(objects) > 1:
        ps = [each.get("against", {}) for each in objects]
        cells = [f"{p['p']:.4f}" if "p" in p else "" for p in ps]
        rows.append(
            f"| p ({objects[1].get('against', {}).get('metric', '')}) | " + " | ".join(cells) + " |"
        )
    rows.append("| seconds | " + " | ".join(f"{each['seconds']:.1f}" for each in objects) + " |")
    left = "; ".join(f"{n:,} {reason}" for reason, n in sorted(report.skips.counts.items()))
    note = f"\nLeft out: {left}.\n" if left else ""
    return (
        f"## {report.task}: {named(file)}\n\n{report.n:,} items. {command(report, file)}\n{note}\n"
        + "\n".join(rows)
        + "\n"
    )


def named(file: str) -> str:
    return "questions made from claims" if file == CLAIMS else file


def switched(whole: Report, left: Report, metric: str, name: str) -> str:
    """Return the row of one switch: its figure, and how far it lies from that of the whole method."""
    m, gone = (left.metrics(left.runs[0])[each] for each in (metric, "abstained"))
    text = f"| {name} | {m.value:.3f} [{m.low:.3f}, {m.high:.3f}] | "
    if left is not whole:
        gap = compare_paired(left.runs[0].values[metric], whole.runs[0].values[metric], 0)
        text += f"{gap['difference']:+.3f} [{gap['low']:+.3f}, {gap['high']:+.3f}] | {gap['p']:.4f}"
    else:
        text += " | "
    return f"{text} | {gone.value:.3f} | {left.runs[0].seconds:.1f} |"


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
