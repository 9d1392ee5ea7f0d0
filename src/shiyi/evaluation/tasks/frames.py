"""The reader of questions, measured on annotated utterances."""

import csv
from collections import Counter
from pathlib import Path
from time import perf_counter
from typing import Final

from shiyi.answering.understanding.frames.frame import ALARMS, ASKS, WHO, Frame
from shiyi.answering.understanding.frames.reader import open_reader
from shiyi.errors import UsageError
from shiyi.evaluation.items import Skips
from shiyi.evaluation.report import Report, Run
from shiyi.settings import Settings

COLUMNS: Final = ("id", "utterance", "previous_turn", "ask", "ask2", "who")
_OTHER_NAMES: Final = {"followup_clarify": "clarification"}
_ANYBODY: Final = frozenset({"self", "general"})  # hardly to be told apart where nobody is named


def read_utterances(path: Path) -> list[dict[str, str]]:
    """Read a table of annotated utterances.

    Raise :class:`UsageError` where a column is missing, a value is unknown or no row is there.
    """
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    if not rows:
        raise UsageError(f"{path} holds no utterance")
    if missing := [name for name in COLUMNS if rows[0].get(name) is None]:
        raise UsageError(f"{path} lacks the columns {', '.join(missing)}")
    for row in rows:
        for column in ("ask", "ask2"):
            name = row[column].replace("-", "_")
            row[column] = _OTHER_NAMES.get(name, name)
            if row[column] not in ASKS and (column == "ask" or row[column]):
                raise UsageError(f"{path}, {row['id']}: {row[column]!r} is no ask")
        if row["who"] not in WHO:
            raise UsageError(f"{path}, {row['id']}: {row['who']!r} is nobody")
    return rows


def measure_frames(path: Path, settings: Settings) -> Report:
    """Return how well the asks, the person and the alarms of utterances are read.

    ``ask_f1`` is the mean over the asks; ``alarm_recall`` and ``false_alarm`` are of the threshold
    at which an answer raises the alarm. Roles and assertions of what is named are not read yet, and
    not measured. Each failure names the utterance and what it was read as.
    """
    rows, reader, started = read_utterances(path), open_reader(settings), perf_counter()
    values: dict[str, list[float]] = {}
    failures, pairs = [], []
    for row in rows:
        before = reader.read(row["previous_turn"]) if row["previous_turn"] else None
        frame = reader.read(row["utterance"], before)
        for name, value in _measure(row, frame, settings).items():
            values.setdefault(name, []).append(value)
        pairs.append((row["ask"], frame.ask))
        if frame.ask != row["ask"]:
            fault = f"{row['ask']} read as {frame.ask} ({frame.confidence:.2f})"
            failures.append({"id": row["id"], "method": "reader", "faults": [fault]})
    values["ask_f1"] = list(_f1(pairs).values())
    run = Run("reader", values, perf_counter() - started)
    return Report(
        "frames",
        str(path),
        (),
        len(rows),
        Skips(),
        (run,),
        "",
        {"seed": 0},
        failures=tuple(failures),
    )


def _measure(row: dict[str, str], frame: Frame, settings: Settings) -> dict[str, float]:
    who = frame.patient.who
    same = who == row["who"] or {who, row["who"]} <= _ANYBODY
    found = {"ask_accuracy": float(frame.ask == row["ask"]), "patient_accuracy": float(same)}
    if row["ask"] == "avoid":
        found["avoid_as_advice"] = float(frame.ask == "advice")
    raised = bool(frame.alarm_from(settings.understanding.alarm_from))
    found["alarm_recall" if row["ask"] in ALARMS else "false_alarm"] = float(raised)
    return found


def _f1(pairs: list[tuple[str, str]]) -> dict[str, float]:
    """Return the F1 of each ask that is annotated."""
    gold, read = Counter(g for g, _ in pairs), Counter(r for _, r in pairs)
    right = Counter(g for g, r in pairs if g == r)
    return {ask: 2 * right[ask] / (gold[ask] + read[ask]) for ask in gold}
