"""Multiple-choice and true-or-false files: MTCMB's JSON Lines, CMMLU's CSV, and our own sets."""

import html
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from shiyi.evaluation.files import json_lines, table
from shiyi.evaluation.items import Choice, QuestionSet, Skips

NO_STEM, NO_OPTIONS, NO_GOLD, UNKNOWN_GOLD, DUPLICATE = (
    "no question", "options cannot be read", "no answer given",
    "the answer names no option", "the same question again",
)  # fmt: skip
_LETTERED = re.compile(r"^\s*([A-J])\s*[.．、:：)）]\s*(.*)$", re.DOTALL)
_INLINE = re.compile(r"(?:^|(?<=\s))([A-J])\s*[.．、:：)）]\s*")
_NUMBER = re.compile(r"^\s*\d+\s*[.．、]\s*")
_LETTERS = "ABCDEFGHIJ"
_TRUE, _FALSE = (
    {"true", "t", "yes", "对", "正确", "是", "1"},
    {"false", "f", "no", "错", "错误", "否", "0"},
)


def load_choices(path: Path, limit: int | None = None) -> QuestionSet:
    """Read a multiple-choice file; JSON Lines or, where its name says so, CSV."""
    skips = Skips()
    rows: Iterable[tuple[str, dict[str, Any]]]
    if path.suffix.lower() == ".csv":
        rows = ((place, _from_csv(row)) for place, row in table(path, skips))
    else:
        rows = json_lines(path, skips)
    return _kept(rows, skips, limit, true_false=False)


def load_statements(path: Path, limit: int | None = None) -> QuestionSet:
    """Read true-or-false statements; JSON Lines or a tab-separated table."""
    skips = Skips()
    rows: Iterable[tuple[str, dict[str, Any]]]
    rows = table(path, skips, "\t") if path.suffix.lower() == ".tsv" else json_lines(path, skips)
    return _kept(rows, skips, limit, true_false=True)


def parse_options(said: object) -> tuple[tuple[str, str], ...]:
    """Read options written as an object, as a list "A.…" or as one string; none where unreadable.

    >>> parse_options("A. 甲 B. 乙")
    (('A', '甲'), ('B', '乙'))
    >>> parse_options(["A.甲", "B、乙"]) == parse_options({"A": "甲", "B": "乙"})
    True
    """
    if isinstance(said, dict):
        pairs = [(str(k).strip().upper(), str(v)) for k, v in said.items() if v is not None]
    elif isinstance(said, list):
        pairs = [_lettered(str(each), place) for place, each in enumerate(said)]
    elif isinstance(said, str):
        pairs = list(_inline(said))
    else:
        return ()
    cleaned = tuple((letter, _plain(text)) for letter, text in pairs if _plain(text))
    known = {letter for letter, _ in cleaned}
    whole = len(known) == len(cleaned) and known <= set(_LETTERS)
    return cleaned if whole and len(cleaned) > 1 else ()


def _lettered(text: str, place: int) -> tuple[str, str]:
    found = _LETTERED.match(text)
    return (found[1], found[2]) if found else (_LETTERS[place : place + 1] or "?", text)


def _inline(text: str) -> Iterator[tuple[str, str]]:
    parts = _INLINE.split(text)
    yield from zip(parts[1::2], parts[2::2], strict=True)


def _plain(text: str) -> str:
    return html.unescape(text).strip()


def _from_csv(row: dict[str, str]) -> dict[str, Any]:
    options = {letter: row[letter] for letter in _LETTERS if row.get(letter)}
    return {
        "id": row.get("", "") or row.get("id", ""),
        "question": row.get("Question", "") or row.get("question", ""),
        "options": options,
        "answer": row.get("Answer", "") or row.get("answer", ""),
    }


def _kept(
    rows: Iterable[tuple[str, dict[str, Any]]], skips: Skips, limit: int | None, true_false: bool
) -> QuestionSet:
    kept: list[Choice] = []
    seen: set[tuple[str, tuple[str, ...]]] = set()
    for place, row in rows:
        read = _statement(place, row) if true_false else _choice(place, row)
        if isinstance(read, str):
            skips.note(read, place)
            continue
        key = re.sub(r"\s+", "", read.stem), tuple(sorted(read.texts))
        if key in seen:
            skips.note(DUPLICATE, place)
            continue
        seen.add(key)
        kept.append(read)
    return QuestionSet(tuple(kept[:limit]), skips)


def _choice(place: str, row: dict[str, Any]) -> Choice | str:
    stem = _NUMBER.sub("", _plain(str(row.get("question") or "")))
    if not stem:
        return NO_STEM
    options = parse_options(row.get("options"))
    if not options:
        return NO_OPTIONS
    said = row.get("answer")
    given = "".join(map(str, said)) if isinstance(said, list) else str(said or "")
    gold = frozenset(re.findall("[A-Z]", given.upper()))
    if not gold:
        return NO_GOLD
    if not gold <= {letter for letter, _ in options}:
        return UNKNOWN_GOLD
    return Choice(str(row.get("id", place)), stem, options, gold, str(row.get("stratum", "")))


def _statement(place: str, row: dict[str, Any]) -> Choice | str:
    text = _plain(str(row.get("statement") or row.get("question") or ""))
    if not text:
        return NO_STEM
    given = str(row.get("answer", "")).strip().lower()
    if not given:
        return NO_GOLD
    if given not in _TRUE | _FALSE:
        return UNKNOWN_GOLD
    gold = frozenset({"true" if given in _TRUE else "false"})
    return Choice(str(row.get("id", place)), text, (), gold, str(row.get("stratum", "")))
