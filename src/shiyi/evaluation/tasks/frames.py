"""The reading of questions, measured on annotated utterances."""

import csv
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from time import perf_counter
from typing import Final

from shiyi.answering.conversation import Context, understand
from shiyi.answering.pipeline import AskRequest
from shiyi.answering.runtime import Runtime
from shiyi.answering.understanding.frame import ALARMS, ASKS, ASSERTIONS, ROLES, WHO, Frame
from shiyi.errors import UsageError
from shiyi.evaluation.items import Skips
from shiyi.evaluation.report import Report, Run
from shiyi.ontology.lexicon import Cues

COLUMNS: Final = ("id", "utterance", "previous_turn", "ask", "ask2", "who", "focus", "states")
_OTHER_NAMES: Final = {
    "followup_clarify": "clarification", "medicine_taken": "medicine",
    "supplement_taken": "supplement", "already_eaten": "eaten", "surgery_planned": "surgery",
}  # fmt: skip
_ANYBODY: Final = frozenset({"self", "general"})  # alike where nobody is named
_CUES: Final = Cues("conversation")
_SPLIT: Final = re.compile(r"\s*;\s*")
_TROUBLE: Final = frozenset({"complaint", "condition", "aim"})  # one may be richer than another


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
            row[column] = _concept_names(row[column])
            if row[column] not in ASKS and (column == "ask" or row[column]):
                raise UsageError(f"{path}, {row['id']}: {row[column]!r} is no ask")
        if row["who"] not in WHO:
            raise UsageError(f"{path}, {row['id']}: {row['who']!r} is nobody")
        for role, text, assertion in _entities(row):
            if role not in ROLES or not text or assertion not in ASSERTIONS:
                raise UsageError(f"{path}, {row['id']}: {role}={text}={assertion} is no focus")
    return rows


def measure_frames(path: Path, runtime: Runtime) -> Report:
    """Return how well asks, things with roles and assertions, persons and alarms are read.

    ``ask_f1`` is the mean over the asks. ``role_f1`` is of what is named, by role and text,
    ``assertion_f1`` of what is found of it and of the states, by how each is asserted.
    ``alarm_recall`` and ``false_alarm`` are of what an answer takes for an alarm. A previous turn
    is read as the context. Each failure names the utterance and what it was read as.
    """
    rows, started = read_utterances(path), perf_counter()
    values: dict[str, list[float]] = {}
    failures, pairs = [], []
    for row in rows:
        frame, ask = _read(row, runtime)
        for name, value in _measure(row, frame, ask, runtime):
            values.setdefault(name, []).append(value)
        pairs.append((row["ask"], ask))
        if ask != row["ask"]:
            fault = f"{row['ask']} read as {ask} ({frame.confidence:.2f})"
            failures.append({"id": row["id"], "method": "reader", "faults": [fault]})
    values["ask_f1"] = list(_f1(pairs).values())
    for name in ("role", "assertion"):
        hits = {side: values.pop(f"{name}_{side}", []) for side in ("found", "right")}
        shares = [sum(hit) / len(hit) if hit else 1.0 for hit in hits.values()]
        values[f"{name}_f1"] = [2 * shares[0] * shares[1] / (sum(shares) or 1.0)]
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


def _read(row: dict[str, str], runtime: Runtime) -> tuple[Frame, str]:
    """Return the frame of an utterance after its previous turn, and what it asks by itself.

    A turn that only refers to the one before asks for clarification.
    """
    context = Context()
    for turn in filter(None, _CUES["speaker"].split(row["previous_turn"])):
        _, before = understand(runtime, AskRequest(turn), context)
        context = Context((turn,), frame=before)
    _, own = understand(runtime, AskRequest(row["utterance"]))
    _, frame = understand(runtime, AskRequest(row["utterance"]), context)
    followed = own.ask != "clarification" or frame.has_cue("what-about-zh", "what-about-en")
    return frame, frame.ask if followed else own.ask


def _measure(
    row: dict[str, str], frame: Frame, ask: str, runtime: Runtime
) -> Iterator[tuple[str, float]]:
    who = frame.patient.who
    yield "ask_accuracy", float(ask == row["ask"])
    yield "patient_accuracy", float(who == row["who"] or {who, row["who"]} <= _ANYBODY)
    if row["ask"] == "avoid":
        yield "avoid_as_advice", float(ask == "advice")
    least = runtime.settings.understanding.alarm_from
    raised = bool(frame.alarm_from(least) or frame.signs)
    yield "alarm_recall" if row["ask"] in ALARMS else "false_alarm", float(raised)
    gold = list(_entities(row))
    read = [(f.role, (f.text, f.label), f.assertion) for f in frame.focus]
    for role, text, assertion in gold:
        same = [each for each in read if _is_text(text, each[1])]
        yield "role_found", float(any(_is_role(role, each[0]) for each in same))
        if same:
            yield "assertion_found", float(any(each[2] == assertion for each in same))
    for role, texts, assertion in read:
        same_gold = [each for each in gold if _is_text(each[1], texts)]
        if role != "topic":
            yield "role_right", float(any(_is_role(each[0], role) for each in same_gold))
        if same_gold:
            yield "assertion_right", float(any(each[2] == assertion for each in same_gold))
    states = {state.label: state.assertion for state in frame.patient.states}
    for part in filter(None, _SPLIT.split(row["states"])):
        name, _, assertion = part.partition("=")
        name = _concept_names(name)
        right = states.get(name.replace("_", "-")) == assertion or (
            name == "surgery" and name in states
        )
        yield "assertion_found", float(right)
        yield "assertion_right", float(right)


def _entities(row: dict[str, str]) -> Iterator[tuple[str, str, str]]:
    for part in filter(None, _SPLIT.split(row["focus"])):
        role, _, rest = part.partition("=")
        text, _, assertion = rest.partition("=")
        yield _concept_names(role), text, assertion


def _concept_names(name: str) -> str:
    name = name.replace("-", "_")
    return _OTHER_NAMES.get(name, name)


def _is_role(gold: str, read: str) -> bool:
    return gold == read or {gold, read} <= _TROUBLE


def _is_text(gold: str, read: tuple[str, str]) -> bool:
    """Return whether one text contains the other, or is the name of what was read."""
    plain, *both = (re.sub(r"[\W_]", "", name.lower()) for name in (gold, *read))
    return any(each and (plain in each or each in plain) for each in both)


def _f1(pairs: list[tuple[str, str]]) -> dict[str, float]:
    """Return the F1 of each ask that is annotated."""
    gold, read = Counter(g for g, _ in pairs), Counter(r for _, r in pairs)
    right = Counter(g for g, r in pairs if g == r)
    return {ask: 2 * right[ask] / (gold[ask] + read[ask]) for ask in gold}
