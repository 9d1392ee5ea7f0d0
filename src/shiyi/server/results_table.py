"""Query results as a page shows them: typed cells, our IRIs as local links, confidence as a bar."""

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Self

from shiyi.model.names import ID
from shiyi.ontology.terms import PREFIXES
from shiyi.server.links import href

ROWS: Final = 500  # rows shown; the download has all
CLAIM: Final = ID + "claim/"
_SURE: Final = re.compile(r"confidence|certainty|sure|把握", re.IGNORECASE)
_NUMBERS: Final = frozenset(
    {"xsd:integer", "xsd:decimal", "xsd:double", "xsd:float", "xsd:int", "xsd:long"}
)
_DIGITS: Final = 8  # of a claim's name that are shown


@dataclass(frozen=True, slots=True)
class Cell:
    """One value: its text, where it leads, and what it is."""

    text: str
    href: str = ""
    title: str = ""
    kind: str = ""
    language: str = ""
    iri: str = ""
    confidence: float | None = None
    parts: tuple["Cell", ...] = ()  # of a triple term: subject, predicate, object

    @property
    def number(self) -> float | None:
        """Give the value of a numeric cell."""
        return float(self.text) if self.kind == "number" else None


@dataclass(frozen=True, slots=True)
class ResultsTable:
    """A result: a truth value, a table, or RDF as text."""

    columns: tuple[str, ...] = ()
    rows: tuple[tuple[Cell, ...], ...] = ()
    total: int = 0
    truth: bool | None = None
    turtle: str = ""

    @classmethod
    def of_json(cls, body: bytes) -> Self:
        """Read SPARQL results in JSON."""
        said = json.loads(body)
        if "boolean" in said:
            return cls(truth=bool(said["boolean"]))
        columns = tuple(said["head"].get("vars", ()))
        bindings = said["results"]["bindings"]
        rows = tuple(
            tuple(_cell(row.get(column), bool(_SURE.search(column))) for column in columns)
            for row in bindings[:ROWS]
        )
        return cls(columns, rows, len(bindings))

    @classmethod
    def of_turtle(cls, body: bytes) -> Self:
        """Take Turtle as it is, its first part shown."""
        return cls(turtle=body.decode("utf-8"))


def _cell(term: Mapping[str, Any] | None, sure: bool = False) -> Cell:
    if term is None:
        return Cell("", kind="unbound")
    kind, value = term["type"], term["value"]
    if kind == "uri":
        if value.startswith(CLAIM):
            name = value[len(CLAIM) :]
            return Cell(name[:_DIGITS], href(value), value, "claim", iri=value)
        return Cell(shortened(value), href(value), value, "iri", iri=value)
    if kind == "triple":
        parts = tuple(_cell(value[part]) for part in ("subject", "predicate", "object"))
        said = " ".join(each.text for each in parts)
        return Cell(f"<<( {said} )>>", kind="triple", parts=parts)
    if kind == "bnode":
        return Cell(f"_:{str(value)[:_DIGITS]}", title=str(value), kind="blank")
    return _literal(str(value), term, sure)


def _literal(value: str, term: Mapping[str, Any], sure: bool) -> Cell:
    datatype = shortened(str(term.get("datatype", "")))
    number = _number(value) if datatype in _NUMBERS else None
    return Cell(
        value, "", datatype, "text" if number is None else "number", str(term.get("xml:lang", "")),
        confidence=number if sure and number is not None and 0 <= number <= 1 else None,
    )  # fmt: skip


def _number(value: str) -> float | None:
    """Read a number; nothing where the text is none, or none that can be drawn."""
    try:
        number = float(value)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def shortened(iri: str) -> str:
    """Write an IRI with its prefix where we know one.

    >>> shortened("https://w3id.org/shiyi/vocab#hasNature")
    'shiyi:hasNature'
    """
    for prefix, base in PREFIXES.items():
        if iri.startswith(base) and len(iri) > len(base):
            return f"{prefix}:{iri[len(base) :]}"
    return iri
