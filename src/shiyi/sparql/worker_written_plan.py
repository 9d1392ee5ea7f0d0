"""Which triple patterns bind the variables of a query, by rdflib's algebra.

Read where the store has literals in other forms than it gives back; the engine has read the query
before. Imports rdflib only then, since every worker would pay for it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Final, NamedTuple

from pyoxigraph import DefaultGraph, NamedNode

_LONGEST: Final = 20_000  # characters of a query that is read a second time
# of each node of the algebra, the parts whose variables come out of it; what comes out of a group
# is computed
_BELOW: Final[Mapping[str, tuple[str, ...]]] = {
    "BGP": (), "values": (), "AggregateJoin": (), "Minus": ("p1",),
    **dict.fromkeys(("Join", "LeftJoin", "Union"), ("p1", "p2")),
    **dict.fromkeys((
        "SelectQuery", "Project", "Extend", "Filter", "Graph", "Distinct", "Reduced", "OrderBy",
        "Slice", "ToMultiSet",
    ), ("p",)),
}  # fmt: skip


class Place(NamedTuple):
    """A triple pattern by the parts beside its object: terms, names of variables, None for any."""

    subject: Any
    predicate: Any
    graph: Any


@dataclass(slots=True)
class Plan:
    """The patterns that bind each variable, but for ``computed`` ones; the template of CONSTRUCT."""

    places: dict[str, list[Place]] = field(default_factory=dict)
    computed: set[str] = field(default_factory=set)
    template: Sequence[tuple[Any, Any, Any]] | None = None
    describes: bool = False

    def of(self, name: str) -> Sequence[Place]:
        """Give the patterns of a variable that nothing else binds."""
        return () if name in self.computed else self.places.get(name, ())


class _UnknownError(Exception):
    """The algebra has something whose meaning for forms is not known here."""


class _Reading:
    """Ends where rdflib cannot read a query, which it says by many faults, bare ones among them."""

    def __enter__(self) -> None:
        """Begin."""

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> bool:
        from pyparsing import ParseBaseException
        from rdflib.plugins.sparql.sparql import SPARQLError

        known = (
            ParseBaseException, SPARQLError, _UnknownError, RecursionError, NotImplementedError,
            ValueError, TypeError, LookupError, AttributeError, AssertionError, ArithmeticError,
        )  # fmt: skip
        return kind is Exception or (kind is not None and issubclass(kind, known))


@lru_cache(maxsize=256)
def plan_of(text: str, base: str, own_graphs: bool = False) -> Plan:
    """Read which patterns bind the variables of a query that the engine has read before.

    An empty plan where rdflib cannot read it, or only slowly. With ``own_graphs`` its data set is
    not the store's.
    """
    # rdflib takes escapes for what they stand for, even quotes
    if "\\u" in text or "\\U" in text or len(text) > _LONGEST:
        return Plan()
    with _Reading():
        return _read(text, base, own_graphs)
    return Plan()


def _read(text: str, base: str, own_graphs: bool) -> Plan:
    from rdflib.plugins.sparql.algebra import translateQuery
    from rdflib.plugins.sparql.parser import parseQuery

    plan = Plan()
    algebra = translateQuery(parseQuery(text), base=base or None).algebra
    plan.describes = algebra.name == "DescribeQuery"
    if plan.describes:
        return plan
    own = own_graphs or bool(algebra.datasetClause)
    _walk(algebra.p, plan, None if own else DefaultGraph(), None)
    if algebra.name == "ConstructQuery":
        plan.template = [
            (_term(subject, None), _term(predicate, None), _term(end, None))
            for subject, predicate, end in algebra.template or _triples(algebra.p)
        ]
    return plan


def _triples(node: Any) -> list[tuple[Any, Any, Any]]:
    """Give the patterns of CONSTRUCT WHERE, which are its template."""
    while node.name != "BGP":
        node = node.p
    return list(node.triples)


def _walk(node: Any, plan: Plan, graph: Any, seen: frozenset[str] | None) -> None:
    """Note the patterns below a node; ``seen`` are the variables that come out of it, None all."""
    name = node.name
    if name not in _BELOW:
        raise _UnknownError(name)
    if name == "BGP":
        for triple in node.triples:
            _note(plan, triple, graph, seen)
    elif name == "Graph":
        graph = _term(node.term, seen)
    elif name == "Project":
        out = frozenset(str(each) for each in node.PV)
        seen = out if seen is None else out & seen
    elif name == "Extend":
        plan.computed.add(str(node.var))
    elif name == "values":
        plan.computed |= {str(each) for row in node.res for each in row}
    for part in _BELOW[name]:
        _walk(node[part], plan, graph, seen)


def _note(plan: Plan, pattern: Sequence[Any], graph: Any, seen: frozenset[str] | None) -> None:
    from rdflib.paths import Path as PropertyPath

    subject, predicate, end = (
        part if isinstance(part, PropertyPath) else _term(part, seen) for part in pattern
    )
    if isinstance(predicate, PropertyPath):
        plan.computed |= {each for each in (subject, end) if isinstance(each, str)}
    elif isinstance(end, str):
        plan.places.setdefault(end, []).append(Place(subject, predicate, graph))


def _term(term: Any, seen: frozenset[str] | None) -> Any:
    """Give an IRI, the name of a variable that is seen, or None for what may be anything."""
    from rdflib.term import URIRef, Variable

    if isinstance(term, Variable):
        return str(term) if seen is None or str(term) in seen else None
    return NamedNode(str(term)) if isinstance(term, URIRef) else None
