"""Tables read by a declared mapping, ``ingest/<source>/mapping.toml``: rows to candidate claims."""

import csv
import re
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

from shiyi.artefacts import artefact
from shiyi.errors import TableError, UsageError
from shiyi.ingest.datasets import Dataset, file_digest
from shiyi.ingest.extraction.lexicon import Lexicon
from shiyi.ingest.gate import Proposed
from shiyi.ingest.report import Report
from shiyi.ingest.run import Batch, Content
from shiyi.ingest.text.bytes import decode, lines
from shiyi.model.claim import Checked, Claim, Evidence
from shiyi.model.confidence import Confidence
from shiyi.model.names import content_hash
from shiyi.model.rdf import NamedNode
from shiyi.ontology.terms import SHIYI, SKOS
from shiyi.ontology.vocabulary import Schema
from shiyi.settings import Settings

_VERSION = "1"
Row = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class ClaimRule:
    """How a row becomes a claim: whose columns name subject and object, among which kinds."""

    subject: str
    subject_kinds: tuple[str, ...]
    predicate: str
    object: str
    object_kinds: tuple[str, ...] = ()
    language: str = "zh"
    where: Mapping[str, str] = field(default_factory=dict)
    values: Mapping[str, str] = field(default_factory=dict)
    pattern: str = ""  # of the object's cell; its first group fills ``iri``
    iri: str = ""

    @property
    def node(self) -> NamedNode:
        """Give the property; ``skos:`` names a mapping relation, anything else one of ours."""
        if self.predicate.startswith("skos:"):
            return NamedNode(getattr(SKOS, self.predicate.removeprefix("skos:")).value)
        return NamedNode(getattr(SHIYI, Schema.load().property(self.predicate).name).value)


@dataclass(frozen=True, slots=True)
class Table:
    """One file: its columns as published, the column that names a row, and a table it is joined to."""

    file: str
    columns: tuple[str, ...]
    key: str
    claims: tuple[ClaimRule, ...]
    quoted: bool = False
    join_file: str = ""
    join_columns: tuple[str, ...] = ()


def mapping_of(name: str) -> tuple[Table, ...]:
    """Read the mapping of a source."""
    path = artefact(f"ingest/{name}/mapping.toml")
    try:
        said = tomllib.loads(path.read_text(encoding="utf-8"))
        return tuple(_table(each) for each in said["tables"])
    except (tomllib.TOMLDecodeError, KeyError, TypeError) as fault:
        raise UsageError(f"{path} is no mapping: {fault}") from fault


def _table(said: dict[str, Any]) -> Table:
    rules = tuple(ClaimRule(**_frozen(rule)) for rule in said.pop("claims"))
    return Table(claims=rules, **_frozen(said))


def _frozen(said: dict[str, Any]) -> dict[str, Any]:
    return {key: tuple(each) if isinstance(each, list) else each for key, each in said.items()}


def table_batches(
    dataset: Dataset, path: Path, lexicons: Mapping[str, Lexicon], settings: Settings,
    report: Report, limit: int = 0,
) -> Iterator[Batch]:  # fmt: skip
    """Yield the rows of every table of a mapping that ``path``, a folder or one file, holds."""
    tables = [each for each in mapping_of(dataset.name) if _place(path, each.file).is_file()]
    if not tables:
        known = ", ".join(each.file for each in mapping_of(dataset.name))
        raise UsageError(f"{path} holds none of {known}")
    for table in tables:
        place = _place(path, table.file)
        if dataset.differs(place):
            report.notes.append(f"{place.name} is not the file that source.ttl describes")
        joined = _joined(path, table, settings)
        rows = islice(_rows(place, table.columns, table.quoted, settings), limit or None)
        report.documents += 1
        digest, at = file_digest(place), 0
        while part := list(islice(rows, settings.ingest.batch * 10)):
            yield _batch(dataset, table, part, at, digest, joined, lexicons, settings)
            at += len(part)


def _place(path: Path, file: str) -> Path:
    return path if path.name == file else path / file


def _joined(path: Path, table: Table, settings: Settings) -> dict[str, Row]:
    if not table.join_file:
        return {}
    folder = path if path.is_dir() else path.parent
    rows = _rows(folder / table.join_file, table.join_columns, table.quoted, settings)
    return {row[table.key]: row for row in rows}


def _rows(
    path: Path, columns: Sequence[str], quoted: bool, settings: Settings
) -> Iterator[dict[str, str]]:
    """Yield rows by column; raise :class:`TableError` for columns or cells that do not fit."""
    text = (decode(each, path.name) for each in lines(path, settings.ingest.max_text_bytes))
    kept = (line for line in text if not line.startswith("#"))
    delimiter = "," if ".csv" in path.name else "\t"
    try:
        reader = (
            csv.reader(kept, delimiter=delimiter) if quoted
            else csv.reader(kept, delimiter=delimiter, quoting=csv.QUOTE_NONE)
        )  # fmt: skip
        header = [cell.strip() for cell in next(reader, [])]
        _check(path, header, columns)
        for cells in reader:
            if len(cells) != len(header):
                raise TableError(
                    [f"{path.name}:{reader.line_num} has {len(cells)} cells, not {len(header)}"]
                )
            yield {name: cell.strip() for name, cell in zip(header, cells, strict=True)}
    except csv.Error as fault:
        raise TableError([f"{path.name}: {fault}"]) from fault


def _check(path: Path, header: Sequence[str], columns: Sequence[str]) -> None:
    unknown = [f"{path.name} has the unknown column {c!r}" for c in header if c not in columns]
    missing = [f"{path.name} lacks the column {c!r}" for c in columns if c not in header]
    if unknown or missing:
        raise TableError([*unknown, *missing])


def _batch(
    dataset: Dataset, table: Table, rows: list[dict[str, str]], at: int, digest: str,
    joined: Mapping[str, Row], lexicons: Mapping[str, Lexicon], settings: Settings,
) -> Batch:  # fmt: skip
    said = content_hash(table.file, digest, str(at), str(len(rows)), repr(table))

    def make() -> Content:
        content = Content(rows=len(rows))
        seen: set[tuple[object, ...]] = set()
        for number, row in enumerate(rows, start=at + 1):
            whole = {**joined.get(row[table.key], {}), **row}
            for rule in table.claims:
                if all(whole.get(column) == value for column, value in rule.where.items()):
                    claim = _claim(
                        rule, whole, f"{table.file}: {row[table.key]}, row {number}",
                        dataset, lexicons[rule.language], settings, content.unlinked,
                    )  # fmt: skip
                    if claim and (claim.subject, claim.predicate, claim.object) not in seen:
                        seen.add((claim.subject, claim.predicate, claim.object))
                        content.proposed.append(Proposed(claim))
        return content

    return Batch(f"{said} mapping {_VERSION}", make)


def _claim(
    rule: ClaimRule, row: Row, locator: str, dataset: Dataset, lexicon: Lexicon,
    settings: Settings, unlinked: Counter[str],
) -> Claim | None:  # fmt: skip
    cell = row.get(rule.object, "")
    if not cell:  # no record, which is neither "none" nor "safe"
        return None
    subject = lexicon.find(row.get(rule.subject, ""), rule.subject_kinds)
    said = _object(rule, cell, lexicon)
    if subject is None or said is None:
        missing = "subject" if subject is None else "object"
        unlinked[f"{rule.predicate} ({missing})"] += 1
        return None
    weight: float = getattr(settings.confidence, dataset.source.tier.value.replace("-", "_"))
    evidence = Evidence(
        dataset.source, Confidence(round(weight * settings.confidence.secondary, 6)), locator,
        Checked.SECONDARY, cell, activity=f"mapping-{_VERSION}",
    )  # fmt: skip
    return None if subject == said else Claim(subject, rule.node, said, (evidence,))


def _object(rule: ClaimRule, cell: str, lexicon: Lexicon) -> NamedNode | None:
    if rule.iri:
        found = re.fullmatch(rule.pattern, cell)
        return NamedNode(rule.iri.replace("{}", found[1])) if found else None
    if rule.values and cell not in rule.values:
        return None
    return lexicon.find(rule.values.get(cell, cell), rule.object_kinds)
