"""Reading question files line by line: what cannot be read is counted, never dropped in silence."""

import csv
import gzip
import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from shiyi.errors import UsageError
from shiyi.evaluation.items import Skips

NOT_UTF8, NOT_JSON = "not UTF-8", "not a JSON object"
MAX_BYTES = 500_000_000


def read_bytes(path: Path) -> bytes:
    """Give a file's bytes, unpacked where its name ends in ``.gz``; raise ``UsageError``."""
    try:
        if path.suffix == ".gz":
            with gzip.open(path) as packed:
                data = packed.read(MAX_BYTES + 1)
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
            said = json.loads(text)
        except (ValueError, RecursionError):
            skips.note(NOT_JSON, place)
            continue
        if isinstance(said, dict):
            yield place, said
        else:
            skips.note(NOT_JSON, place)


def table(path: Path, skips: Skips, delimiter: str = ",") -> Iterator[tuple[str, dict[str, str]]]:
    """Yield place and row of a delimited file whose first line names its columns."""
    kept = [text for _, text in lines(path, skips) if not text.startswith("# ")]
    reader = csv.DictReader(io.StringIO("\n".join(kept)), delimiter=delimiter)
    for number, row in enumerate(reader, 2):
        yield (
            f"{path.name}:{number}",
            {str(k): (v or "").strip() if isinstance(v, str) else "" for k, v in row.items()},
        )


def json_array(path: Path) -> list[dict[str, Any]]:
    """Give the objects of a JSON array; raise ``UsageError`` where it is none."""
    try:
        said = json.loads(read_bytes(path).decode("utf-8-sig"))
    except (ValueError, RecursionError) as fault:
        raise UsageError(f"{path} is not a JSON array in UTF-8: {fault}") from fault
    if not isinstance(said, list) or not all(isinstance(each, dict) for each in said):
        raise UsageError(f"{path} is not a JSON array of objects")
    return said
