"""The triple patterns of a query, read so that they can be held against the vocabulary."""

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from shiyi.errors import QueryError
from shiyi.ontology.terms import PREFIXES

if TYPE_CHECKING:
    from rdflib.plugins.sparql.parserutils import CompValue

_TERM: Final = (
    r"(?:\?\w+|<[^<>\s]*>|[A-Za-z][\w-]*:[\w.%-]+|\"[^\"\n]*\"(?:@\w+)?|'[^'\n]*'(?:@\w+)?)"
)
_TRIPLE_TERM: Final = re.compile(rf"<<\(\s*({_TERM})\s+({_TERM})\s+({_TERM})\s*\)>>")
_OF_TRIPLES: Final = re.compile(r"\b(?:SUBJECT|PREDICATE|OBJECT|isTRIPLE)\s*\(", re.IGNORECASE)
_PROLOGUE: Final = re.compile(r"\b(?:PREFIX|BASE)\b\s*(\w[\w-]*)?:?\s*<[^<>]*>", re.IGNORECASE)
_TYPE: Final = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"
_DEEP: Final = "the query is nested too deeply; write it flatter"


@dataclass(frozen=True, slots=True)
class Pattern:
    """What a pattern joins: ``?variables``, IRIs, or a text in quotation marks.

    The ends are empty where a path leaves them open (alternatives, repetition, negation).
    """

    subject: str
    predicate: str
    object: str

    @property
    def is_type(self) -> bool:
        """Tell whether it names a class."""
        return self.predicate == _TYPE


def patterns_of(query: str) -> tuple[Pattern, ...]:
    """List the triple patterns of a SELECT or ASK, those of triple terms and subqueries included.

    Prefixes of this project need no declaration. Raises :class:`QueryError` with the place of a
    fault; what the store's own parser thinks of the query stays its own business.

    >>> [p.object for p in patterns_of("SELECT * { ?f a shiyi:Food }")]
    ['https://w3id.org/shiyi/vocab#Food']
    """
    inner: list[str] = []

    def held(found: re.Match[str]) -> str:
        inner.append(" ".join(found.groups()))
        return f"?triple_term_{len(inner)}"

    plain = _OF_TRIPLES.sub("STR(", _TRIPLE_TERM.sub(held, query))
    if "<<" in plain or "{|" in plain:
        raise QueryError("name a claim as: ?claim rdf:reifies <<( ?s ?p ?o )>>")
    head = "".join(each[0] + "\n" for each in _PROLOGUE.finditer(query))
    texts = [plain, *(f"{head}SELECT * {{ {each} }}" for each in inner)]
    return tuple(pattern for each in texts for pattern in _Reader(*_parsed(each)).read())


def _parsed(text: str) -> tuple[Any, Mapping[str, str]]:
    from pyparsing import ParseBaseException
    from rdflib.plugins.sparql.parser import parseQuery

    try:
        prologue, body = parseQuery(text)
    except ParseBaseException as fault:
        said = text.splitlines()[fault.lineno - 1][:80] if text else ""
        raise QueryError(
            f"it cannot be parsed at line {fault.lineno}, column {fault.column}: {said}"
        ) from fault
    except RecursionError as fault:
        raise QueryError(_DEEP) from fault
    if body.name not in {"SelectQuery", "AskQuery"}:
        raise QueryError("write SELECT or ASK; nothing else is taken here")
    own = {str(each.prefix or ""): str(each.iri) for each in prologue if each.name == "PrefixDecl"}
    return body, PREFIXES | own


@dataclass(slots=True)
class _Reader:
    tree: Any
    prefixes: Mapping[str, str]
    fresh: Iterator[int] = field(default_factory=itertools.count)

    def read(self) -> list[Pattern]:
        return [pattern for found in self._blocks(self.tree) for pattern in self._triples(found)]

    def _blocks(self, node: Any) -> Iterator[Sequence[Any]]:
        from pyparsing import ParseResults
        from rdflib.plugins.sparql.parserutils import CompValue

        if isinstance(node, CompValue):
            if node.name == "TriplesBlock":
                yield from node.triples
                return
            for value in node.values():
                yield from self._blocks(value)
        elif isinstance(node, list | ParseResults):
            for each in node:
                yield from self._blocks(each)

    def _triples(self, flat: Sequence[Any]) -> Iterator[Pattern]:
        for subject, path, end in zip(flat[::3], flat[1::3], flat[2::3], strict=True):
            yield from self._path(self._term(subject), path, self._term(end))

    def _path(self, start: str, path: Any, end: str) -> Iterator[Pattern]:
        name = getattr(path, "name", "")
        if name in {"PathAlternative", "PathSequence"}:
            parts = list(path.part)
            if name == "PathAlternative" and len(parts) > 1:
                yield from self._open(path)
                return
            between = [f"?.{next(self.fresh)}" for _ in parts[1:]]
            for part, (here, there) in zip(
                parts, itertools.pairwise([start, *between, end]), strict=True
            ):
                yield from self._path(here, part, there)
        elif name == "PathEltOrInverse":
            yield from self._path(end, path.part, start)
        elif name == "PathElt" and not path.mod:
            yield from self._path(start, path.part, end)
        elif name in {"PathElt", "PathNegatedPropertySet"}:
            yield from self._open(path)
        else:
            yield Pattern(start, self._term(path), end)

    def _open(self, path: Any) -> Iterator[Pattern]:
        """Name the properties of a path whose ends no single one joins."""
        from pyparsing import ParseResults

        if isinstance(path, list | ParseResults):
            for each in path:
                yield from self._open(each)
        elif getattr(path, "name", "") in {"", "pname"}:
            if not isinstance(path, str) or ":" in path:
                yield Pattern("", self._term(path), "")
        else:
            yield from self._open(path.part)

    def _term(self, node: Any) -> str:
        from rdflib.term import BNode, Literal, Variable

        if isinstance(node, Variable):
            return f"?{node}"
        if isinstance(node, BNode):
            return f"?_{node}"
        if isinstance(node, Literal):
            return f'"{node}"'
        name = getattr(node, "name", "")
        if name == "pname":
            return self._full(node)
        if name == "literal":
            return f'"{node.string}"'
        return str(node) if not name else f"?{name}{next(self.fresh)}"

    def _full(self, node: "CompValue") -> str:
        prefix = str(node.prefix or "")
        if prefix not in self.prefixes:
            raise QueryError(f"the prefix {prefix}: is not declared")
        return self.prefixes[prefix] + str(node.localname or "")
