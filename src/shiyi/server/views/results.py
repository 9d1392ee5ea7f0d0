"""Query results as tables, graphs, charts."""

import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Self

from shiyi.errors import ShiyiError
from shiyi.model.claim import confidence_value
from shiyi.model.iris import ID, VOCAB
from shiyi.model.rdf import NamedNode, Quad, Triple, local_name, parse_turtle
from shiyi.ontology.terms import PREFIXES, RDF, SHIYI
from shiyi.server.views.graph import Drawing
from shiyi.server.views.links import href
from shiyi.server.views.reader import Reader
from shiyi.sparql.queries.results import StreamedResult

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
    """A value: its text, link and kind."""

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
        """Return the value of a numeric cell."""
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
        """Return the table of a result in JSON or Turtle, and close it."""
        with result.body as body:
            if body.is_short:
                whole = body.read()
                return cls.of_turtle(whole) if result.kind == "graph" else cls.of_json(whole)
            first = _first(body.parts())
        if result.kind == "graph":
            return cls.of_turtle(first)
        columns, bindings = _read_beginning(first.decode("utf-8", "ignore"))
        return cls(columns, _rows(columns, bindings), result.rows)

    @classmethod
    def of_json(cls, body: bytes) -> Self:
        """Read SPARQL results in JSON."""
        parsed = json.loads(body)
        if "boolean" in parsed:
            return cls(truth=bool(parsed["boolean"]))
        columns = tuple(parsed["head"].get("vars", ()))
        bindings = parsed["results"]["bindings"]
        return cls(columns, _rows(columns, bindings[:ROWS]), len(bindings))

    @classmethod
    def of_turtle(cls, body: bytes) -> Self:
        """Return a table of Turtle, or of its beginning."""
        return cls(turtle=body.decode("utf-8", "ignore"))


def _first(parts: Iterable[bytes]) -> bytes:
    """Return the beginning of a long result; parsing all takes ten times its size."""
    buffer = bytearray()
    for part in parts:
        buffer += part
        if len(buffer) >= _READ:
            break
    return bytes(buffer)


def _read_beginning(text: str) -> tuple[tuple[str, ...], list[Mapping[str, Any]]]:
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
        return Cell(shorten_iri(value), href(value), value, "iri", iri=value)
    if kind == "triple":
        parts = tuple(_cell(value[part]) for part in ("subject", "predicate", "object"))
        joined = " ".join(cell.text for cell in parts)
        return Cell(f"<<( {joined} )>>", kind="triple", parts=parts)
    if kind == "bnode":
        return Cell(f"_:{str(value)[:_DIGITS]}", title=str(value), kind="blank")
    return _literal(str(value), term, sure)


def _literal(value: str, term: Mapping[str, Any], sure: bool) -> Cell:
    datatype = shorten_iri(str(term.get("datatype", "")))
    number = _number(value) if datatype in _NUMBERS else None
    return Cell(
        value,
        "",
        datatype,
        "text" if number is None else "number",
        str(term.get("xml:lang", "")),
        confidence=number if sure and number is not None and 0 <= number <= 1 else None,
    )


def _number(value: str) -> float | None:
    """Return a number; None where the text is not a finite number."""
    try:
        number = float(value)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def shorten_iri(iri: str) -> str:
    """Return an IRI as a CURIE where its prefix is known.

    >>> shorten_iri("https://w3id.org/shiyi/vocab#hasNature")
    'shiyi:hasNature'
    """
    for prefix, base in PREFIXES.items():
        if iri.startswith(base) and len(iri) > len(base):
            return f"{prefix}:{iri[len(base) :]}"
    return iri


NODES: Final = 300  # drawn; more is slow on a phone
BARS: Final = 40
_TURTLE: Final = 2_000_000  # characters of RDF that are drawn


@dataclass(frozen=True, slots=True)
class Bar:
    """One row of a chart; ``share`` is of the longest bar, in percent."""

    label: str
    text: str
    share: float
    href: str = ""


@dataclass(frozen=True, slots=True)
class Chart:
    """Bars for one numeric column, in the order of the rows."""

    column: str
    bars: tuple[Bar, ...]
    more: int


@dataclass(frozen=True, slots=True)
class Edge:
    """An edge between two nodes; its confidence is negative where it has none."""

    start: str
    end: str
    label: str
    claim: str
    confidence: float


def chart(table: ResultsTable) -> Chart | None:
    """Return a chart of the first numeric column that varies, labelled by the first text column."""
    numeric = [
        place
        for place in range(len(table.columns))
        if (results := {row[place].text for row in table.rows if row[place].text})
        and len(results) > 1
        and all(row[place].number is not None for row in table.rows if row[place].text)
    ]
    plain = [place for place in numeric if all(row[place].confidence is None for row in table.rows)]
    named = _label_column(table, numeric)
    if not numeric or named is None:
        return None
    place = (plain or numeric)[0]
    rows = [(row[named], row[place], row[place].number or 0.0) for row in table.rows]
    longest = max((abs(value) for _, _, value in rows), default=0.0) or 1.0
    bars = tuple(
        Bar(name.text or "–", cell.text, max(value, 0.0) / longest * 100, name.href)
        for name, cell, value in rows[:BARS]
        if cell.text
    )
    return Chart(table.columns[place], bars, max(len(rows) - BARS, 0))


def _label_column(table: ResultsTable, numeric: list[int]) -> int | None:
    """Return the column that labels a row: texts before IRIs."""
    for kinds in ({"text"}, {"iri"}, {"claim", "triple"}):
        for place in range(len(table.columns)):
            if place not in numeric and any(row[place].kind in kinds for row in table.rows):
                return place
    return None


def graph(table: ResultsTable, reader: Reader) -> Drawing:
    """Return the graph of the rows or the RDF; empty without edges."""
    edges = _in_turtle(table.turtle) if table.turtle else _in_rows(table)
    return _draw(edges, reader)


def _in_rows(table: ResultsTable) -> Iterator[Edge]:
    for row in table.rows:
        sure = next((cell.confidence for cell in row if cell.confidence is not None), -1.0)
        claim = next((cell.iri for cell in row if cell.kind == "claim"), "")
        if spo := next((cell.parts for cell in row if cell.kind == "triple"), ()):
            start, label, end = spo
        else:
            links = [cell for cell in row if cell.kind == "iri"]
            things = [cell for cell in links if not cell.iri.startswith(VOCAB)]
            if len(things) < 2:
                continue
            start, end = things[0], things[1]
            label = next((cell for cell in links if cell.iri.startswith(VOCAB)), Cell(""))
        if start.iri and end.iri:
            yield Edge(start.iri, end.iri, label.iri or label.text, claim, sure)


def _in_turtle(turtle: str) -> Iterator[Edge]:
    """Read the triples between things, and the triples that claims are about."""
    if len(turtle) > _TURTLE:
        return
    try:
        quads = list(parse_turtle(turtle))
    except ShiyiError:  # cut by a limit: it is shown as text all the same
        return
    sure = {
        quad.subject: value
        for quad in quads
        if quad.predicate == SHIYI.confidence
        and (value := confidence_value(quad.object)) is not None
    }
    for quad in quads:
        statement = quad.object if quad.predicate == RDF.reifies else quad
        if not isinstance(statement, Quad | Triple) or not isinstance(statement.object, NamedNode):
            continue
        if not isinstance(statement.subject, NamedNode) or statement.predicate == RDF.type:
            continue
        about = quad.subject if statement is not quad else None
        claim = about.value if isinstance(about, NamedNode) else ""
        yield Edge(
            statement.subject.value,
            statement.object.value,
            statement.predicate.value,
            claim,
            sure.get(quad.subject, -1.0) if about else -1.0,
        )


def _draw(edges: Iterable[Edge], reader: Reader) -> Drawing:
    drawing = Drawing()
    for edge in edges:
        ends = {edge.start, edge.end}
        if len(drawing.nodes) + len(ends - drawing.nodes.keys()) > NODES:
            continue
        for iri in (edge.start, edge.end):
            drawing.node(reader.thing(NamedNode(iri)))
        known = ":" in edge.label
        label = reader.thing(NamedNode(edge.label)).label if known else edge.label
        key = edge.claim or f"{edge.start} {edge.label} {edge.end}"
        drawing.edge(key, edge.start, edge.end, label or local_name(edge.label), edge.confidence)
        if not edge.claim.startswith(CLAIM):
            drawing.edges[key]["href"] = ""
    return drawing
