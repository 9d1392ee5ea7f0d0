"""Query results as a page shows them: typed cells, our IRIs as local links, confidence as a bar."""

import json
import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Self

from shiyi.model.names import ID
from shiyi.ontology.terms import PREFIXES
from shiyi.server.links import href
from shiyi.sparql.results import StreamedResult

ROWS: Final = 500  # rows shown; the download has all
CLAIM: Final = ID + "claim/"
_SURE: Final = re.compile(r"confidence|certainty|sure|把握", re.IGNORECASE)
_NUMBERS: Final = frozenset(
    {"xsd:integer", "xsd:decimal", "xsd:double", "xsd:float", "xsd:int", "xsd:long"}
)
_DIGITS: Final = 8  # of a claim's name that are shown
_READ: Final = 2_100_000  # bytes of a long result that are read for the page
_HEAD: Final = re.compile(r'"vars"\s*:\s*(\[[^\[\]]*\])')
_BINDINGS: Final = re.compile(r'"bindings"\s*:\s*\[')


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
    def of(cls, result: StreamedResult) -> Self:
        """Read what is shown of a result, in JSON or Turtle, and let go of it."""
        with result.body as body:
            if body.is_short:
                whole = body.read()
                return cls.of_turtle(whole) if result.kind == "graph" else cls.of_json(whole)
            first = _first(body.parts())
        if result.kind == "graph":
            return cls.of_turtle(first)
        columns, bindings = _beginning(first.decode("utf-8", "ignore"))
        return cls(columns, _rows(columns, bindings), result.rows)

    @classmethod
    def of_json(cls, body: bytes) -> Self:
        """Read SPARQL results in JSON."""
        said = json.loads(body)
        if "boolean" in said:
            return cls(truth=bool(said["boolean"]))
        columns = tuple(said["head"].get("vars", ()))
        bindings = said["results"]["bindings"]
        return cls(columns, _rows(columns, bindings[:ROWS]), len(bindings))

    @classmethod
    def of_turtle(cls, body: bytes) -> Self:
        """Take Turtle, or its beginning, as it is."""
        return cls(turtle=body.decode("utf-8", "ignore"))


def _first(parts: Iterable[bytes]) -> bytes:
    """Give the beginning of a long result; all of one would take ten times its size to read."""
    held = bytearray()
    for part in parts:
        held += part
        if len(held) >= _READ:
            break
    return bytes(held)


def _beginning(text: str) -> tuple[tuple[str, ...], list[Mapping[str, Any]]]:
    """Read the columns and the rows that stand whole in the beginning of a result in JSON."""
    head, bindings = _HEAD.search(text), _BINDINGS.search(text)
    columns: list[str] = json.loads(head[1]) if head else []
    rows: list[Mapping[str, Any]] = []
    at, read = bindings.end() if bindings else len(text), json.JSONDecoder().raw_decode
    while len(rows) < ROWS and (begin := text.find("{", at)) >= 0:
        try:
            row, at = read(text, begin)
        except json.JSONDecodeError:  # it is cut here
            break
        rows.append(row)
    return tuple(columns), rows


def _rows(
    columns: tuple[str, ...], bindings: Iterable[Mapping[str, Any]]
) -> tuple[tuple[Cell, ...], ...]:
    return tuple(
        tuple(_cell(row.get(column), bool(_SURE.search(column))) for column in columns)
        for row in bindings
    )


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
