"""SSSOM import and export."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from shiyi.errors import TooLargeError, UsageError
from shiyi.ingest.tables.mappings import PREFIXES, mapping_node
from shiyi.model.rdf import NamedNode

NEEDED = ("subject_id", "predicate_id", "object_id", "mapping_justification")
ORDER = (
    "subject_id", "subject_label", "predicate_modifier", "predicate_id", "object_id",
    "object_label", "mapping_justification", "confidence", "subject_source", "object_source",
    "mapping_tool", "mapping_date", "author_id", "reviewer_id", "comment", "license",
)  # fmt: skip
LARGEST = 5_000_000  # characters of a file
MOST = 20_000  # rows of a file
_SLOT = re.compile(r"[a-z][a-z0-9_]{0,60}")
_CURIE = re.compile(r"[A-Za-z][\w.-]*:\S+")
_PREFIX = re.compile(r"^#\s+([A-Za-z][\w.-]*):\s*(\S+)\s*$")
_HEAD = {"license": "https://creativecommons.org/licenses/by/4.0/"}


@dataclass(frozen=True, slots=True)
class Row:
    """One mapping: its filled cells by slot, ordered."""

    cells: tuple[tuple[str, str], ...]

    @classmethod
    def of(cls, cells: Mapping[str, str]) -> "Row":
        """Make a row of its cells; empty ones say nothing."""
        remaining = {k: v for k, v in cells.items() if v}
        return cls(tuple(sorted(remaining.items(), key=lambda kv: (_place(kv[0]), kv[0]))))

    def get(self, slot: str) -> str:
        """Return one cell, or nothing."""
        return dict(self.cells).get(slot, "")

    @property
    def node(self) -> NamedNode:
        """Name the mapping by what it maps, how, and on what ground."""
        return mapping_node(dict(self.cells))


@dataclass(frozen=True, slots=True)
class MappingSet:
    """The rows of one table, and its head: the lines that begin with ``#``, as they stand."""

    rows: tuple[Row, ...]
    head: tuple[str, ...] = ()
    prefixes: Mapping[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """Return the set's identifier, or nothing."""
        match = (re.match(r"#\s*mapping_set_id:\s*(\S+)", line) for line in self.head)
        return next((each[1] for each in match if each), "")

    def iri(self, curie: str) -> str:
        """Write a CURIE out; nothing where its prefix is not known."""
        prefix, _, local = curie.partition(":")
        base = self.prefixes.get(prefix) or PREFIXES.get(prefix, "")
        return base + local if base and local else ""


def parse_sssom(text: str) -> MappingSet:
    """Read a table; ``UsageError`` names the line and column of the first fault."""
    if len(text) > LARGEST:
        raise TooLargeError("the mapping table", len(text), LARGEST)
    head: list[str] = []
    columns: list[str] = []
    rows: list[Row] = []
    prefixes: dict[str, str] = {}
    for number, line in enumerate(text.removeprefix("\ufeff").splitlines(), 1):
        if line.startswith("#"):
            head.append(line.rstrip())
            if match := _PREFIX.match(line):
                prefixes[match[1]] = match[2].strip("'\"")
        elif not line.strip():
            continue
        elif not columns:
            columns = _columns(line, number)
        else:
            rows.append(_row(line, columns, number))
            if len(rows) > MOST:
                raise TooLargeError("the mapping table", len(rows), MOST, "rows")
    if not rows:
        raise UsageError("the table has no mappings: a header row and rows below it are needed")
    return MappingSet(tuple(rows), tuple(head), prefixes)


def _columns(line: str, number: int) -> list[str]:
    columns = [part.strip() for part in line.split("\t")]
    wrong = [column for column in columns if not _SLOT.fullmatch(column)]
    if wrong:
        raise UsageError(f"line {number}: {wrong[0][:60]!r} is no SSSOM slot")
    missing = [each for each in NEEDED if each not in columns]
    if missing:
        raise UsageError(f"line {number}: the column {missing[0]} is missing")
    return columns


def _row(line: str, columns: list[str], number: int) -> Row:
    cells = [part.strip() for part in line.split("\t")]
    if len(cells) > len(columns):
        raise UsageError(f"line {number}: {len(cells)} cells for {len(columns)} columns")
    row = Row.of(dict(zip(columns, cells, strict=False)))
    for slot in NEEDED:
        if not _CURIE.fullmatch(row.get(slot)):
            raise UsageError(f"line {number}, {slot}: {row.get(slot)[:60]!r} is no CURIE")
    if row.get("predicate_modifier") not in {"", "Not"}:
        raise UsageError(f"line {number}, predicate_modifier: only Not is known")
    try:
        stored = float(row.get("confidence") or 1)
    except ValueError:
        stored = -1.0
    if not 0.0 <= stored <= 1.0:
        raise UsageError(f"line {number}, confidence: a number from 0 to 1 is needed")
    return row


def serialize_sssom(results: MappingSet) -> str:
    """Write a table; what ``parse`` makes of it is the same set.

    >>> one = Row.of(
    ...     {
    ...         "subject_id": "shiyi:a",
    ...         "predicate_id": "skos:exactMatch",
    ...         "object_id": "UMLS:C0000001",
    ...         "mapping_justification": "semapv:ManualMappingCuration",
    ...         "other": "x",
    ...     }
    ... )
    >>> parse_sssom(serialize_sssom(MappingSet((one,)))).rows == (one,)
    True
    """
    used = {slot for row in results.rows for slot, _ in row.cells} | set(NEEDED)
    columns = sorted(used, key=lambda slot: (_place(slot), slot))
    lines = [*(results.head or default_head(results.rows)), "\t".join(columns)]
    for row in results.rows:
        cells = dict(row.cells)
        lines.append("\t".join(cells.get(column, "") for column in columns))
    return "\n".join(lines) + "\n"


def default_head(rows: Iterable[Row]) -> list[str]:
    """Write a head for rows that came without one: the prefixes they use, and the licence."""
    used = {
        value.partition(":")[0]
        for row in rows
        for slot, value in row.cells
        if slot in (*NEEDED, "subject_source", "object_source")
    } & PREFIXES.keys()
    lines = ["#curie_map:", *(f"#  {name}: {PREFIXES[name]}" for name in sorted(used))]
    lines.append("#mapping_set_id: https://w3id.org/shiyi/mappings/desk")
    return [*lines, *(f"#{key}: {value}" for key, value in _HEAD.items())]


def _place(slot: str) -> int:
    return ORDER.index(slot) if slot in ORDER else len(ORDER)
