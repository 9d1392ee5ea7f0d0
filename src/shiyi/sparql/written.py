"""Literals as they were written, where the store would give back their value alone.

Oxigraph keeps numbers, booleans, dates and durations by value. A quad that would come back written
otherwise has one beside it, in a graph of its own that only the writer touches and nobody sees:
where the quad is, its object as it was written, and the value by which the store finds it.

    <urn:shiyi:at:SUBJECT PREDICATE GRAPH> <urn:shiyi:as:OBJECT AS WRITTEN> VALUE

Imports pyoxigraph and the standard library only, since workers do.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any, Final
from urllib.parse import quote, unquote

from pyoxigraph import Literal, NamedNode, Quad, RdfFormat, Store, Triple, parse

WRITTEN: Final = NamedNode("https://w3id.org/shiyi/graph/written")
ASIDE: Final = "written"  # the folder in a snapshot that holds what was in this graph
_AT, _AS = "urn:shiyi:at:", "urn:shiyi:as:"
_XSD: Final = "http://www.w3.org/2001/XMLSchema#"
_NEVER: Final = r"(?!)"
_DAY, _HOUR = (
    "[0-9]{4}-[0-9]{2}-[0-9]{2}",
    r"(?!24)[0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]{0,7}[1-9])?",
)
_ZONE: Final = "(?:Z|[+-](?!00:00)[0-9]{2}:[0-9]{2})?"
_SHORT: Final = r"-?(?:0|[1-9][0-9]{0,2})(?:\.[0-9]{0,2}[1-9])?"
# of each type that is kept by value, forms that certainly come back as they are; the engine is
# asked about all others, and every other type comes back as it is
_KEPT: Final[Mapping[str, re.Pattern[str]]] = {
    f"{_XSD}{name}": re.compile(form) for name, form in {
        "integer": "0|-?[1-9][0-9]*",
        "decimal": r"(?!-0$)-?(?:0|[1-9][0-9]{0,17})(?:\.[0-9]{0,16}[1-9])?",
        "double": _SHORT, "float": _SHORT, "boolean": "true|false",
        "date": _DAY + _ZONE, "time": _HOUR + _ZONE, "dateTime": f"{_DAY}T{_HOUR}{_ZONE}",
        **dict.fromkeys((
            "byte", "short", "int", "long", "unsignedByte", "unsignedShort", "unsignedInt",
            "unsignedLong", "positiveInteger", "negativeInteger", "nonPositiveInteger",
            "nonNegativeInteger", "dateTimeStamp", "gYear", "gYearMonth", "gMonth", "gMonthDay",
            "gDay", "duration", "dayTimeDuration", "yearMonthDuration",
        ), _NEVER),
    }.items()
}  # fmt: skip

Match = Callable[[Any, Any, Any, Any], Iterator[Quad]]  # of a store, by the parts of a quad
# of quads as the store has them: the object as it was written, or a quad that had it before
Said = dict[Quad, Any]


def by_value(term: Any) -> bool:
    """Tell whether the store keeps a term by its value, so that its form may get lost."""
    if isinstance(term, Triple):
        return by_value(term.object)
    return isinstance(term, Literal) and term.datatype.value in _KEPT


def kept(term: Any) -> bool:
    """Tell whether a term certainly comes back as it is; this costs next to nothing.

    >>> integer = NamedNode("http://www.w3.org/2001/XMLSchema#integer")
    >>> [kept(Literal(form, datatype=integer)) for form in ("1", "01")]
    [True, False]
    """
    if isinstance(term, Triple):
        return kept(term.object)
    form = _KEPT.get(term.datatype.value) if isinstance(term, Literal) else None
    return form is None or bool(form.fullmatch(term.value))


@lru_cache(maxsize=4096)
def folded(term: Any) -> Any:
    """Give a term as the store gives it back, by asking the engine."""
    memory = Store()
    memory.add(Quad(WRITTEN, WRITTEN, term))
    return next(iter(memory)).object


def note(said: Said, quad: Quad, all_of_them: bool) -> None:
    """Note how the object of a quad is written, where the store would not say so.

    ``all_of_them`` notes also what comes back as it is: what the store knew else is then replaced.
    Of several forms of one value the first stays.
    """
    value = quad.object if kept(quad.object) else folded(quad.object)
    if value != quad.object or (all_of_them and by_value(value)):
        there = Quad(quad.subject, quad.predicate, value, quad.graph_name)
        if said.get(there, value) == value:
            said[there] = quad.object


def forms(said: Said) -> list[Quad]:
    """Write what was noted as quads; where another quad is named, its place is the predicate."""
    return [
        Quad(_at(there), _at(how) if isinstance(how, Quad) else _as(how), there.object, WRITTEN)
        for there, how in said.items()
    ]


def any_form(match: Match) -> bool:
    """Tell whether a store has anything in another form than it gives back."""
    return next(match(None, None, None, WRITTEN), None) is not None


def forms_moved(match: Match, noted: Iterable[Quad]) -> tuple[list[Quad], list[Quad]]:
    """Give the forms that go and that come, of what :func:`forms` gave, by those there are."""
    gone: list[Quad] = []
    come: list[Quad] = []
    for each in noted:
        place, how, value = each.subject, each.predicate, each.object
        old = set(match(place, None, value, WRITTEN))
        if how.value.startswith(_AT):
            new = {
                Quad(place, f.predicate, value, WRITTEN) for f in match(how, None, value, WRITTEN)
            }
        else:
            new = {each} if _term(how) != value else set()
        gone += old - new
        come += new - old
    return gone, come


def of_quads(match: Match, quads: Iterable[Quad]) -> list[Quad]:
    """Give the forms kept beside some quads, which go when these go."""
    return [
        form for quad in quads if by_value(quad.object)
        for form in match(_at(quad), None, quad.object, WRITTEN)
    ]  # fmt: skip


def as_written(match: Match, quad: Quad) -> Any:
    """Give the object of a quad as it was written."""
    found = of_quads(match, [quad])
    return _term(found[0].predicate) if found else quad.object


def written_lines(match: Match) -> dict[bytes, bytes]:
    """Give, by the canonical N-Quads line the store writes of a quad, the line as it was written."""
    lines: dict[bytes, bytes] = {}
    for form in match(None, None, None, WRITTEN):
        where = str(form.subject).removeprefix(f"<{_AT}").removesuffix(">")
        subject, predicate, place = unquote(where).split(" ")
        ending = " ." if place == "DEFAULT" else f" {place} ."
        how = unquote(form.predicate.value.removeprefix(_AS))
        lines[f"{subject} {predicate} {n_triples(form.object)}{ending}".encode()] = (
            f"{subject} {predicate} {how}{ending}".encode()
        )
    return lines


def n_triples(term: Any) -> str:
    """Write a term as N-Triples 1.2; ``str`` leaves out the brackets of a triple term."""
    return f"<<( {term} )>>" if isinstance(term, Triple) else str(term)


def _at(quad: Quad) -> NamedNode:
    return NamedNode(_AT + quote(f"{quad.subject} {quad.predicate} {quad.graph_name}", safe=""))


def _as(term: Any) -> NamedNode:
    return NamedNode(_AS + quote(n_triples(term), safe=""))


def _term(form: NamedNode) -> Any:
    line = f"<a:a> <a:a> {unquote(form.value.removeprefix(_AS))} ."
    return next(parse(line, format=RdfFormat.N_TRIPLES)).object
