"""The evaluation table of a release, from what ``shiyi evaluate --json`` printed."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from shiyi.errors import UsageError
from shiyi.publishing.release_files import Files


def evaluation_files(paths: Sequence[Path], release: str, files: Files) -> None:
    """Put measured figures into the release: JSON lines become one table, pages stay as they are.

    Raises :class:`UsageError` for a file that is neither. A figure that was measured on another
    base is kept, and marked.
    """
    rows: list[dict[str, Any]] = []
    for path in paths:
        try:
            content = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as fault:
            raise UsageError(f"evaluation {path} cannot be read: {fault}") from fault
        if path.suffix == ".md":
            files.write(f"evaluation/{path.name}", f"evaluation: {path.stem}", content)
        else:
            rows += _rows(path, content)
    if rows:
        kept = [{key: value for key, value in row.items() if key != "seconds"} for row in rows]
        lines = "".join(json.dumps(row, ensure_ascii=False, sort_keys=True) + "\n" for row in kept)
        files.write("evaluation/results.jsonl", "evaluation: figures for programs", lines)
        files.write("evaluation/table.md", "evaluation: the table", _table(rows, release))


def _rows(path: Path, content: str) -> list[dict[str, Any]]:
    try:
        rows = [json.loads(line) for line in content.splitlines() if line.strip()]
    except (ValueError, RecursionError) as fault:
        raise UsageError(f"evaluation {path} is not JSON lines: {fault}") from fault
    if not all(
        isinstance(row, dict) and {"task", "method", "metrics"} <= row.keys() for row in rows
    ):
        raise UsageError(f"evaluation {path} is not what `shiyi evaluate --json` prints")
    return rows


def _table(rows: Sequence[dict[str, Any]], release: str) -> str:
    lines = ["# Evaluation", "", "| task | file | method | n | metric | value | 95 % | base |",
             "|---|---|---|---|---|---|---|---|"]  # fmt: skip
    for row in rows:
        same = "this" if row.get("release") == release else f"other: {row.get('release')}"
        for name, each in row["metrics"].items():
            span = f"{each['low']:.3f}–{each['high']:.3f}" if each.get("low") is not None else ""
            lines.append(
                f"| {row['task']} | {row.get('file', '')} | {row['method']} | {row.get('n', '')} "
                f"| {name} | {each['value']:.3f} | {span} | {same} |"
            )
    return "\n".join(lines) + "\n"
