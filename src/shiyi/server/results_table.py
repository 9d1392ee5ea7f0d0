"""Query results as a page shows them: typed cells, our IRIs as local links."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Self

from shiyi.ontology.terms import PREFIXES
from shiyi.server.links import href

ROWS: Final = 500  # rows shown; the download has all


@dataclass(frozen=True, slots=True)
class Cell:
    """One value: its text, where it leads, and what it is."""

    text: str
    href: str = ""
    title: str = ""
    kind: str = ""
    language: str = ""


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
        rows = tuple(tuple(_cell(row.get(column)) for column in columns) for row in bindings[:ROWS])
        return cls(columns, rows, len(bindings))

    @classmethod
    def of_turtle(cls, body: bytes) -> Self:
        """Take Turtle as it is, its first part shown."""
        return cls(turtle=body.decode("utf-8"))


def _cell(term: Mapping[str, Any] | None) -> Cell:
    if term is None:
        return Cell("", kind="unbound")
    kind, value = term["type"], term["value"]
    if kind == "uri":
        return Cell(shortened(value), href(value), value, "iri")
    if kind == "triple":
        inner = [_cell(value[part]).text for part in ("subject", "predicate", "object")]
        return Cell("<<( " + " ".join(inner) + " )>>", kind="triple")
    datatype = shortened(str(term.get("datatype", "")))
    number = datatype in {"xsd:integer", "xsd:decimal", "xsd:double", "xsd:float"}
    language = str(term.get("xml:lang", ""))
    return Cell(str(value), "", datatype, "number" if number else "text", language)


def shortened(iri: str) -> str:
    """Write an IRI with its prefix where we know one.

    >>> shortened("https://w3id.org/shiyi/vocab#hasNature")
    'shiyi:hasNature'
    """
    for prefix, base in PREFIXES.items():
        if iri.startswith(base) and len(iri) > len(base):
            return f"{prefix}:{iri[len(base) :]}"
    return iri
