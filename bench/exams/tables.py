"""Tables of the pages of bench/tables/: figures by method, and what a switch changes."""

from collections.abc import Sequence

from runs import is_exam

from shiyi.evaluation.metrics import paired
from shiyi.evaluation.questions.safety import FROM_CLAIMS as CLAIMS
from shiyi.evaluation.report import Report


def command(report: Report, file: str) -> str:
    said = report.settings
    program = "python bench/exams/measure.py" if is_exam(report.task, file) else "shiyi evaluate"
    words = [program, report.task, "--generated" if file == CLAIMS else file]
    words += [f"--train {name}" for name in said["train"]]
    words += [f"--method {','.join(run.method for run in report.runs)}"]
    words += [f"--ablate {','.join(report.ablate)}"] if report.ablate else []
    words += [f"--holdout {said['holdout']}"] if said["holdout"] else []
    words += [f"--limit {said['limit']}"] if said["limit"] else []
    if said["scorer"] != "specific":
        words += [f"--scorer {said['scorer']} --k {said['k']} --damping {said['damping']}"]
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
        for each in objects:
            m = each["metrics"].get(name)
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
    told = f"| {name} | {m.value:.3f} [{m.low:.3f}, {m.high:.3f}] | "
    if left is not whole:
        gap = paired(left.runs[0].values[metric], whole.runs[0].values[metric], 0)
        told += f"{gap['difference']:+.3f} [{gap['low']:+.3f}, {gap['high']:+.3f}] | {gap['p']:.4f}"
    else:
        told += " | "
    return f"{told} | {gone.value:.3f} | {left.runs[0].seconds:.1f} |"
