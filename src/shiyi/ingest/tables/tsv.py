"""Knowledge tables on disk."""

import difflib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn

from typing_extensions import override

from shiyi.errors import TableError


@dataclass(frozen=True, slots=True)
class Place:
    """The place of a cell; lines count from 1, and the header is the first that is no comment."""

    file: str
    line: int
    column: str = ""

    @override
    def __str__(self) -> str:
        return f"{self.file}:{self.line}" + (f" [{self.column}]" if self.column else "")


@dataclass(slots=True)
class Faults:
    """All faults of the tables, so that they are reported in one run."""

    found: list[str] = field(default_factory=list)

    def add(self, place: Place, message: str) -> None:
        """Record one fault."""
        self.found.append(f"{place} {message}")

    def unknown(self, place: Place, name: str, given: str, known: Iterable[str]) -> None:
        """Record a name that is not known, with the nearest names that are."""
        candidates = difflib.get_close_matches(given, list(known), n=3, cutoff=0.6)
        hint = f"; nearest: {', '.join(candidates)}" if candidates else ""
        self.add(place, f"unknown {name} {given!r}{hint}")

    def raise_if_any(self) -> None:
        """Raise :class:`TableError` with every fault, or do nothing."""
        if self.found:
            self._raise()

    def _raise(self) -> NoReturn:
        raise TableError(self.found)


@dataclass(frozen=True, slots=True)
class Row:
    """One row: its cells by column, blanks trimmed, and where it stands."""

    place: Place
    cells: Mapping[str, str]

    def at(self, column: str) -> Place:
        """Return the place of one cell."""
        return Place(self.place.file, self.place.line, column)

    def get(self, column: str) -> str:
        """Return one cell; empty where the column or the value is missing."""
        return self.cells.get(column, "")

    def values(self, column: str) -> tuple[str, ...]:
        """Split a cell at its bars."""
        return split(self.get(column))


def split(cell: str) -> tuple[str, ...]:
    """Split a cell at its bars, dropping empty parts.

    >>> split("spleen| stomach|")
    ('spleen', 'stomach')
    """
    return tuple(part for part in (each.strip() for each in cell.split("|")) if part)


def read_tables(folder: Path, faults: Faults) -> Iterator[tuple[tuple[str, ...], list[Row]]]:
    """Yield header and rows of each ``*.tsv`` in ``folder``, in the order of their names."""
    for path in sorted(folder.glob("*.tsv")):
        yield _read(path, faults)


def _read(path: Path, faults: Faults) -> tuple[tuple[str, ...], list[Row]]:
    name = f"{path.parent.name}/{path.name}"
    try:
        lines = path.read_text(encoding="utf-8").split("\n")
    except UnicodeDecodeError as fault:
        faults.add(Place(name, 1), f"is not UTF-8: {fault.reason} at byte {fault.start}")
        return (), []
    header: tuple[str, ...] = ()
    rows: list[Row] = []
    for number, line in enumerate(lines, start=1):
        if not line.strip() or line.startswith("#"):
            continue
        cells = [cell.strip() for cell in line.rstrip("\r").split("\t")]
        place = Place(name, number)
        if not header:
            header = tuple(cells)
            continue
        if len(cells) > len(header) and any(cells[len(header) :]):
            faults.add(place, f"has {len(cells)} cells for {len(header)} columns")
        rows.append(Row(place, dict(zip(header, cells, strict=False))))
    return header, rows


def check_columns(
    header: tuple[str, ...],
    required: Iterable[str],
    known: Iterable[str],
    rows: list[Row],
    faults: Faults,
) -> None:
    """Record missing and unknown columns at the header's place."""
    if not rows:
        return
    place = Place(rows[0].place.file, 1)
    known = (*known,)
    for column in required:
        if column not in header:
            faults.add(place, f"lacks the column {column!r}")
    for column in header:
        if column and column not in known:
            faults.unknown(place, "column", column, known)
