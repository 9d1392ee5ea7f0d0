"""Declarative mapping of columns."""

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from shiyi.artefacts import artefact
from shiyi.errors import UsageError
from shiyi.linking.normalization import fold
from shiyi.model.iris import content_hash
from shiyi.model.rdf import NamedNode
from shiyi.ontology.schema import Schema
from shiyi.ontology.terms import SHIYI, SKOS

_UNTIDY = re.compile(r"(?:,\s*)+,|\s+")
_PLACE = re.compile(r"\{([^{}|]+)(\|hash)?\}")
Row = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class EntityRule:
    """The rule by which a row becomes a concept of the source, in the source's graph.

    ``id`` is a template of its local name, such as ``idisk2-{iDISK_ID}``; ``alt`` names columns of
    further names, parted by ``alt_separator``. A name that says nothing is dropped after iDISK 2.0.
    """

    id: str
    class_name: str
    label: str
    language: str = "en"
    alt: tuple[str, ...] = ()
    alt_separator: str = "|"
    same_kinds: tuple[
        str, ...
    ] = ()  # classes among which the concept of this name is a close match
    cui: str = ""  # the column of a CUI
    cui_kind: str = ""  # where that is empty: the class a name of the UMLS index must fit


@dataclass(frozen=True, slots=True)
class ClaimRule:
    """The rule by which a row becomes a claim: columns of subject and object, and their kinds.

    A subject or object is the one concept of a name among kinds, or, by a template, a concept of
    the source itself; the object may also be a text.
    """

    predicate: str
    subject: str = ""
    subject_kinds: tuple[str, ...] = ()
    subject_id: str = ""
    subject_class: str = ""
    object: str = ""
    object_kinds: tuple[str, ...] = ()
    object_id: str = ""
    object_class: str = ""
    object_text: str = ""  # a template
    object_language: str = ""  # of a text; a text without one is plain
    language: str = "zh"
    where: Mapping[str, str] = field(default_factory=dict)
    given: tuple[str, ...] = ()  # columns that must hold something
    absent: tuple[str, ...] = ()  # columns that must hold nothing
    values: Mapping[str, str] = field(default_factory=dict)
    qualifiers: Mapping[str, str] = field(default_factory=dict)  # name to template
    qualifier_values: Mapping[str, str] = field(default_factory=dict)  # of ``rating``, folded
    quote: str = ""  # a column of the source's own words
    pattern: str = ""  # of the object's cell; its first group fills ``iri``
    iri: str = ""

    @property
    def node(self) -> NamedNode:
        """Return the property; ``skos:`` names a mapping relation, anything else one of Shiyi's."""
        return _property(self.predicate)


@dataclass(frozen=True, slots=True)
class Table:
    """One file, or several of one form: columns as published, and the column that names a row.

    ``file`` may be a pattern such as ``ProductOverview_*.csv``; ``optional`` columns may be
    missing. A table without a header has its columns in order.
    """

    file: str
    columns: tuple[str, ...]
    key: str
    claims: tuple[ClaimRule, ...] = ()
    entity: EntityRule | None = None
    optional: tuple[str, ...] = ()
    header: bool = True
    delimiter: str = ""
    encoding: str = ""  # of files that are not UTF-8
    quoted: bool = False
    terms: bool = False  # cells are terms of RDF, as in results of SPARQL 1.1 in TSV
    join_file: str = ""
    join_columns: tuple[str, ...] = ()
    source_column: str = ""  # works that a row's claims cite, separated, parted by commas


@cache
def _property(predicate: str) -> NamedNode:
    if predicate.startswith("skos:"):
        return NamedNode(getattr(SKOS, predicate.removeprefix("skos:")).value)
    return NamedNode(getattr(SHIYI, Schema.load().property(predicate).name).value)


def load_mapping(name: str) -> tuple[Table, ...]:
    """Read the mapping of a source."""
    return read_mapping(artefact(f"ingest/{name}/mapping.toml"))


def read_mapping(path: Path) -> tuple[Table, ...]:
    """Read a mapping file; UsageError where it is none."""
    try:
        return parse_mapping(path.read_text(encoding="utf-8"))
    except (OSError, KeyError, TypeError, ValueError, RecursionError) as fault:
        raise UsageError(f"{path} is no mapping: {fault}") from fault


def parse_mapping(text: str) -> tuple[Table, ...]:
    """Read a mapping from TOML; KeyError or TypeError where it is none."""
    return tuple(_table(item) for item in tomllib.loads(text)["tables"])


def _table(values: dict[str, Any]) -> Table:
    rules = tuple(ClaimRule(**_freeze(rule)) for rule in values.pop("claims", ()))
    for rule in rules:
        _ = rule.node  # an unknown relation is a fault of the mapping, not of a row
    entity = values.pop("entity", None)
    return Table(
        claims=rules, entity=EntityRule(**_freeze(entity)) if entity else None, **_freeze(values)
    )


def _freeze(values: dict[str, Any]) -> dict[str, Any]:
    return {key: tuple(item) if isinstance(item, list) else item for key, item in values.items()}


def fill(template: str, row: Row) -> str:
    """Fill a template's places with a row's cells; nothing where every cell is empty.

    >>> fill("{City}, {State} {ZIP}", {"City": "Reno", "State": "", "ZIP": "1"})
    'Reno, 1'
    >>> fill("{a}-{b}", {"a": "", "b": ""})
    ''
    """
    values, filled, parts = "", False, _parts(template)
    for words, column, hashed in parts:
        cell = row.get(column, "") if column else ""
        filled = filled or bool(cell)
        values += words + (content_hash(fold(cell)) if cell and hashed else cell)
    if not filled or template[1:-1] == parts[0][1]:  # one cell alone is left as it is
        return values if filled else ""
    return _UNTIDY.sub(_tidy, values).strip(" ,")


@cache
def _parts(template: str) -> tuple[tuple[str, str, bool], ...]:
    """Parse a template: words, the column that follows them, and whether it is hashed."""
    parts, at = list[tuple[str, str, bool]](), 0
    for place in _PLACE.finditer(template):
        parts.append((template[at : place.start()], place[1], bool(place[2])))
        at = place.end()
    return (*parts, (template[at:], "", False)) if at < len(template) else tuple(parts)


def _tidy(result: re.Match[str]) -> str:
    return "," if "," in result[0] else " "


def is_name(name: str) -> bool:
    """Return whether a name names anything: two characters or more, not digits or marks alone.

    After iDISK 2.0, which drops "8" and "%".

    >>> [is_name(name) for name in ("8", "%", "12", "--", "B6", "锌")]
    [False, False, False, False, True, False]
    """
    bare = name.strip()
    return len(bare) >= 2 and any(each.isalpha() for each in bare)
