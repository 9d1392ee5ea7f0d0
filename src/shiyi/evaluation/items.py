"""Question values and file reading."""

import csv
import gzip
import io
import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from shiyi.errors import UsageError


@dataclass(frozen=True, slots=True)
class Choice:
    """A question with options; ``gold`` names the options that are right.

    A true-or-false statement is a choice without options; its gold is ``true`` or ``false``;
    a question with an open answer has no options and ``wanted`` as the words of the answer.
    """

    id: str
    stem: str
    options: tuple[tuple[str, str], ...]
    gold: frozenset[str]
    stratum: str = ""
    wanted: str = ""

    @property
    def letters(self) -> tuple[str, ...]:
        """Name the options."""
        return tuple(letter for letter, _ in self.options)

    @property
    def texts(self) -> tuple[str, ...]:
        """Return the words of the options."""
        return tuple(text for _, text in self.options)


@dataclass(frozen=True, slots=True)
class Prescription:
    """Symptoms and the herbs that were prescribed for them."""

    id: str
    symptoms: tuple[str, ...]
    herbs: frozenset[str]
    stratum: str = ""


@dataclass(frozen=True, slots=True)
class WeightedTriple:
    """A triple and the confidence that is right for it, in [0, 1]."""

    head: str
    relation: str
    tail: str
    confidence: float


class Skips:
    """Counts what was left out, by reason, with the first place of each."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.first: dict[str, str] = {}

    def note(self, reason: str, place: str) -> None:
        """Count one record that was left out at ``place``."""
        self.counts[reason] += 1
        self.first.setdefault(reason, place)

    def to_json(self) -> dict[str, object]:
        """Return the total, and per reason how many and where first."""
        return {
            "total": sum(self.counts.values()),
            "reasons": {
                reason: {"count": n, "first": self.first[reason]}
                for reason, n in sorted(self.counts.items())
            },
        }


@dataclass(frozen=True, slots=True)
class QuestionSet:
    """The choices of one file, and what was left out of it."""

    items: tuple[Choice, ...]
    skips: Skips = field(default_factory=Skips)


@dataclass(frozen=True, slots=True)
class Prediction:
    """What a reader chose: options best first, those it commits to, or an abstention."""

    ranking: tuple[str, ...] = ()
    chosen: frozenset[str] = frozenset()
    abstained: bool = False
    scores: Mapping[str, float] = field(default_factory=dict)


NOT_UTF8, NOT_JSON = "not UTF-8", "not a JSON object"
MAX_BYTES = 500_000_000


def read_bytes(path: Path) -> bytes:
    """Return a file's bytes, unpacked where its name ends in ``.gz``; raise ``UsageError``."""
    try:
        if path.suffix == ".gz":
            with gzip.open(path) as file:
                data = file.read(MAX_BYTES + 1)
        else:
            with path.open("rb") as plain:
                data = plain.read(MAX_BYTES + 1)
    except FileNotFoundError:
        raise UsageError(f"{path} does not exist") from None
    except (OSError, EOFError) as fault:
        raise UsageError(f"{path} cannot be read: {fault}") from fault
    if len(data) > MAX_BYTES:
        raise UsageError(f"{path} is larger than {MAX_BYTES:,} bytes; split it")
    return data


def lines(path: Path, skips: Skips) -> Iterator[tuple[str, str]]:
    """Yield place and text of each line that is not blank; count those that are not UTF-8."""
    for number, raw in enumerate(read_bytes(path).split(b"\n"), 1):
        place = f"{path.name}:{number}"
        try:
            text = raw.decode("utf-8").lstrip("\ufeff").rstrip("\r")
        except UnicodeDecodeError:
            skips.note(NOT_UTF8, place)
            continue
        if text.strip():
            yield place, text


def json_lines(path: Path, skips: Skips) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield place and object of each line of a JSON Lines file."""
    for place, text in lines(path, skips):
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            skips.note(NOT_JSON, place)
            continue
        if isinstance(value, dict):
            yield place, value
        else:
            skips.note(NOT_JSON, place)


def table(path: Path, skips: Skips, delimiter: str = ",") -> Iterator[tuple[str, dict[str, str]]]:
    """Yield place and row of a delimited file; its first line names the columns."""
    rows = [text for _, text in lines(path, skips) if not text.startswith("# ")]
    reader = csv.DictReader(io.StringIO("\n".join(rows)), delimiter=delimiter)
    for number, row in enumerate(reader, 2):
        yield (
            f"{path.name}:{number}",
            {str(k): (v or "").strip() if isinstance(v, str) else "" for k, v in row.items()},
        )


def json_array(path: Path) -> list[dict[str, Any]]:
    """Return the objects of a JSON array; raise ``UsageError`` where it is none."""
    try:
        value = json.loads(read_bytes(path).decode("utf-8-sig"))
    except (ValueError, RecursionError) as fault:
        raise UsageError(f"{path} is not a JSON array in UTF-8: {fault}") from fault
    if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
        raise UsageError(f"{path} is not a JSON array of objects")
    return value
