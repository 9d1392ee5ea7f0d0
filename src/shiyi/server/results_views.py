"""Other views of a query's results: a graph of what is joined, a chart of what is counted."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from shiyi.errors import ShiyiError
from shiyi.model.names import VOCAB
from shiyi.model.rdf import NamedNode, Quad, Triple, local_name, parse_turtle, text
from shiyi.ontology.terms import RDF, SHIYI
from shiyi.server.drawing import Drawing
from shiyi.server.reading import Reader
from shiyi.server.results_table import CLAIM, Cell, ResultsTable

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
    """What joins two things, and how sure that is; negative confidence where none is said."""

    start: str
    end: str
    label: str
    claim: str
    confidence: float


def chart(table: ResultsTable) -> Chart | None:
    """Draw the first numeric column that varies, named by the first column of words."""
    numeric = [
        place for place in range(len(table.columns))
        if (found := {row[place].text for row in table.rows if row[place].text})
        and len(found) > 1
        and all(row[place].number is not None for row in table.rows if row[place].text)
    ]  # fmt: skip
    plain = [place for place in numeric if all(row[place].confidence is None for row in table.rows)]
    named = _named(table, numeric)
    if not numeric or named is None:
        return None
    place = (plain or numeric)[0]
    rows = [(row[named], row[place], row[place].number or 0.0) for row in table.rows]
    longest = max((abs(value) for _, _, value in rows), default=0.0) or 1.0
    bars = tuple(
        Bar(name.text or "–", shown.text, max(value, 0.0) / longest * 100, name.href)
        for name, shown, value in rows[:BARS] if shown.text
    )  # fmt: skip
    return Chart(table.columns[place], bars, max(len(rows) - BARS, 0))


def _named(table: ResultsTable, numeric: list[int]) -> int | None:
    """Choose the column that names a row: words before names of things."""
    for kinds in ({"text"}, {"iri"}, {"claim", "triple"}):
        for place in range(len(table.columns)):
            if place not in numeric and any(row[place].kind in kinds for row in table.rows):
                return place
    return None


def graph(table: ResultsTable, reader: Reader) -> Drawing:
    """Draw what the rows, or the RDF, join; empty where they join nothing."""
    edges = _in_turtle(table.turtle) if table.turtle else _in_rows(table)
    return _drawn(edges, reader)


def _in_rows(table: ResultsTable) -> Iterator[Edge]:
    for row in table.rows:
        sure = next((each.confidence for each in row if each.confidence is not None), -1.0)
        claim = next((each.iri for each in row if each.kind == "claim"), "")
        if spo := next((each.parts for each in row if each.kind == "triple"), ()):
            start, label, end = spo
        else:
            links = [each for each in row if each.kind == "iri"]
            things = [each for each in links if not each.iri.startswith(VOCAB)]
            if len(things) < 2:
                continue
            start, end = things[0], things[1]
            label = next((each for each in links if each.iri.startswith(VOCAB)), Cell(""))
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
        quad.subject: float(text(quad.object)) for quad in quads
        if quad.predicate == SHIYI.confidence
    }  # fmt: skip
    for quad in quads:
        stated = quad.object if quad.predicate == RDF.reifies else quad
        if not isinstance(stated, Quad | Triple) or not isinstance(stated.object, NamedNode):
            continue
        if not isinstance(stated.subject, NamedNode) or stated.predicate == RDF.type:
            continue
        about = quad.subject if stated is not quad else None
        claim = about.value if isinstance(about, NamedNode) else ""
        yield Edge(
            stated.subject.value, stated.object.value, stated.predicate.value, claim,
            sure.get(quad.subject, -1.0) if about else -1.0,
        )  # fmt: skip


def _drawn(edges: Iterable[Edge], reader: Reader) -> Drawing:
    made = Drawing()
    for each in edges:
        ends = {each.start, each.end}
        if len(made.nodes) + len(ends - made.nodes.keys()) > NODES:
            continue
        for iri in (each.start, each.end):
            made.node(reader.thing(NamedNode(iri)))
        known = ":" in each.label
        label = reader.thing(NamedNode(each.label)).label if known else each.label
        key = each.claim or f"{each.start} {each.label} {each.end}"
        made.edge(key, each.start, each.end, label or local_name(each.label), each.confidence)
        if not each.claim.startswith(CLAIM):
            made.edges[key]["href"] = ""
    return made
