"""Rows of published tables, by column: one row in memory at a time, and nothing guessed."""

import csv
import fnmatch
from collections.abc import Iterator
from pathlib import Path

from shiyi.errors import TableError
from shiyi.ingest.mapping import Row, Table
from shiyi.ingest.text.bytes import decode, lines
from shiyi.model.rdf import parse_n_quads_lines, text
from shiyi.settings import Settings

_CELL = 1 << 20  # characters of one cell at most (ours)


def files_of(path: Path, pattern: str) -> list[Path]:
    """List the files of a folder that ``pattern`` names, in any case, packed or not, by name.

    ``path`` may also be one such file.
    """
    wanted = pattern.lower()
    names = (wanted, *(f"{wanted}{ending}" for ending in (".gz", ".xz")))
    known = [path] if path.is_file() else sorted(path.iterdir() if path.is_dir() else ())
    return [
        each for each in known
        if each.is_file() and any(fnmatch.fnmatchcase(each.name.lower(), name) for name in names)
    ]  # fmt: skip


def rows_of(path: Path, table: Table, settings: Settings) -> Iterator[dict[str, str]]:
    """Yield rows by column; raise :class:`TableError` for columns or cells that do not fit."""
    return _rows(path, table, table.columns, table.optional, settings)


def joined_rows(path: Path, table: Table, settings: Settings) -> dict[str, Row]:
    """Give the rows of the table that ``table`` is joined to, by their key."""
    if not table.join_file:
        return {}
    folder = path if path.is_dir() else path.parent
    found = files_of(folder, table.join_file)
    if not found:
        raise TableError([f"{folder} lacks {table.join_file}, which {table.file} is joined to"])
    rows = _rows(found[0], table, table.join_columns, (), settings)
    return {row[table.key]: row for row in rows}


def _rows(
    path: Path, table: Table, columns: tuple[str, ...], optional: tuple[str, ...],
    settings: Settings,
) -> Iterator[dict[str, str]]:  # fmt: skip
    read = (_decoded(each, path.name, table.encoding)
            for each in lines(path, settings.ingest.max_text_bytes))  # fmt: skip
    kept = (line for line in read if not line.startswith("#"))
    delimiter = table.delimiter or ("," if ".csv" in path.name.lower() else "\t")
    csv.field_size_limit(_CELL)
    try:
        reader = (
            csv.reader(kept, delimiter=delimiter, strict=True) if table.quoted
            else csv.reader(kept, delimiter=delimiter, quoting=csv.QUOTE_NONE)
        )  # fmt: skip
        header = [cell.strip() for cell in next(reader, [])] if table.header else [*columns]
        _check(path, header, columns, optional)
        empty = dict.fromkeys((each for each in optional if each not in header), "")
        for cells in reader:
            if len(cells) != len(header):
                raise TableError(
                    [f"{path.name}:{reader.line_num} has {len(cells)} cells, not {len(header)}"]
                )
            values = map(_value, cells) if table.terms else map(str.strip, cells)
            yield empty | dict(zip(header, values, strict=True))
    except csv.Error as fault:
        raise TableError([f"{path.name}: {fault}"]) from fault


def _value(cell: str) -> str:
    r"""Give the IRI or the text of a term of RDF; TableError where it is none.

    >>> _value('"mung bean \\"raw\\""@en'), _value("<urn:a>"), _value("")
    ('mung bean "raw"', 'urn:a', '')
    """
    if not cell.strip():
        return ""
    try:
        [quad] = parse_n_quads_lines([f"<urn:s> <urn:p> {cell} .".encode()])
    except (SyntaxError, ValueError) as fault:
        raise TableError([f"{cell[:40]!r} is no term of RDF"]) from fault
    return text(quad.object).strip()


def _decoded(line: bytes, name: str, encoding: str) -> str:
    if encoding:
        try:
            return line.decode("utf-8")
        except UnicodeDecodeError:
            return line.decode(encoding)
    return decode(line, name)


def _check(
    path: Path, header: list[str], columns: tuple[str, ...], optional: tuple[str, ...]
) -> None:
    known = {*columns, *optional}
    unknown = [f"{path.name} has the unknown column {c!r}" for c in header if c not in known]
    missing = [f"{path.name} lacks the column {c!r}" for c in columns if c not in header]
    if unknown or missing:
        raise TableError([*unknown, *missing])
