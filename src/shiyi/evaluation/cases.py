"""Clinical cases: TCMEval-SDT's pattern choices and MTCMB's diagnosis file."""

import re
from pathlib import Path
from typing import Any

from shiyi.evaluation.choices import DUPLICATE, NO_GOLD, NO_OPTIONS, NO_STEM, UNKNOWN_GOLD
from shiyi.evaluation.files import json_array, json_lines, lines
from shiyi.evaluation.items import Choice, QuestionSet, Skips

PARTS = ("Pathogenesis", "Syndrome")
_SPLIT = re.compile(r"[;；]")


def load_cases(path: Path, limit: int | None = None) -> QuestionSet:
    """Read TCMEval-SDT's JSON array, or MTCMB's diagnosis JSON Lines with open pattern names."""
    skips = Skips()
    if path.suffix.lower() == ".jsonl":
        return _diagnoses(path, skips, limit)
    answers = _answers(path, skips)
    kept: list[Choice] = []
    seen: set[str] = set()
    for number, record in enumerate(json_array(path), 1):
        place = f"{path.name}#{number}"
        name = str(record.get("Medical Record ID", "")).strip() or place
        if name in seen:
            skips.note(DUPLICATE, place)
            continue
        seen.add(name)
        for part in PARTS:
            read = _question(name, record, part, answers)
            if isinstance(read, str):
                skips.note(f"{part.lower()}: {read}", place)
            else:
                kept.append(read)
    return QuestionSet(tuple(kept[: limit and 2 * limit]), skips)


def _question(
    name: str, record: dict[str, Any], part: str, answers: dict[tuple[str, str], str]
) -> Choice | str:
    stem = str(record.get("Clinical Data") or "").strip()
    if not stem:
        return NO_STEM
    options = _options(str(record.get(f"Options of TCM {part}") or ""))
    if not options:
        return NO_OPTIONS
    given = str(record.get(f"Answers of TCM {part}") or "") or answers.get((name, part), "")
    gold = frozenset(re.findall("[A-Z]", given))
    if not gold:
        return NO_GOLD
    if not gold <= {letter for letter, _ in options}:
        return UNKNOWN_GOLD
    return Choice(f"{name} {part}", stem, options, gold, part.lower())


def _options(text: str) -> tuple[tuple[str, str], ...]:
    pairs = [each.partition(":") for each in _SPLIT.split(text.replace("：", ":")) if each.strip()]
    found = tuple((a.strip(), c.strip()) for a, _, c in pairs if a.strip() and c.strip())
    return found if len({a for a, _ in found}) == len(found) > 1 else ()


def _answers(path: Path, skips: Skips) -> dict[tuple[str, str], str]:
    """Read the answers published beside the validation cases, where the file is there."""
    beside = path.with_name("Validation_data_result.txt")
    if not (path.name.startswith("Validation") and beside.is_file()):
        return {}
    found: dict[tuple[str, str], str] = {}
    for place, text in lines(beside, skips):
        cells = text.split("@")
        if len(cells) < 4:
            skips.note("answer line without four parts", place)
            continue
        found[cells[0].strip(), "Pathogenesis"] = cells[2]
        found[cells[0].strip(), "Syndrome"] = cells[3]
    return found


def _diagnoses(path: Path, skips: Skips, limit: int | None) -> QuestionSet:
    kept: list[Choice] = []
    seen: set[str] = set()
    for place, row in json_lines(path, skips):
        stem, answer = str(row.get("question") or "").strip(), row.get("answer")
        wanted = str(answer.get("证名") or "").strip() if isinstance(answer, dict) else ""
        if not stem:
            skips.note(NO_STEM, place)
        elif not wanted:
            skips.note(NO_GOLD, place)
        elif stem in seen:
            skips.note(DUPLICATE, place)
        else:
            seen.add(stem)
            kept.append(Choice(str(row.get("id", place)), stem, (), frozenset(), wanted=wanted))
    return QuestionSet(tuple(kept[:limit]), skips)
