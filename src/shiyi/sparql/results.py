"""How results of free queries are written, and what comes back."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from shiyi.errors import FormatError
from shiyi.sparql.spool import Spool

SOLUTION_TYPES: Final[Mapping[str, str]] = MappingProxyType({
    "json": "application/sparql-results+json",
    "xml": "application/sparql-results+xml",
    "csv": "text/csv",
    "tsv": "text/tab-separated-values",
})  # fmt: skip
GRAPH_TYPES: Final[Mapping[str, str]] = MappingProxyType({
    "ttl": "text/turtle",
    "nt": "application/n-triples",
    "nq": "application/n-quads",
    "trig": "application/trig",
    "rdf": "application/rdf+xml",
    "jsonld": "application/ld+json",
})  # fmt: skip
_NAMES: Final[Mapping[str, str]] = MappingProxyType({
    media_type: name for name, media_type in (*SOLUTION_TYPES.items(), *GRAPH_TYPES.items())
})  # fmt: skip


@dataclass(frozen=True, slots=True)
class ResultFormat:
    """The formats a client takes: one for solutions and booleans, one for graphs.

    An empty name means that the client takes no such result; a query that gives one is then
    refused with a ``FormatError``.

    >>> ResultFormat.of("csv")
    ResultFormat(solutions='csv', graph='')
    """

    solutions: str = "json"
    graph: str = "ttl"

    def __post_init__(self) -> None:
        if self.solutions and self.solutions not in SOLUTION_TYPES:
            raise FormatError("format of solutions", self.solutions, tuple(SOLUTION_TYPES))
        if self.graph and self.graph not in GRAPH_TYPES:
            raise FormatError("format of graphs", self.graph, tuple(GRAPH_TYPES))

    @classmethod
    def of(cls, name: str) -> "ResultFormat":
        """Take results in the one format ``name`` and nothing else."""
        if name in GRAPH_TYPES:
            return cls("", name)
        if name in SOLUTION_TYPES:
            return cls(name, "")
        raise FormatError("format", name, (*SOLUTION_TYPES, *GRAPH_TYPES))

    @classmethod
    def of_type(cls, media_type: str) -> "ResultFormat":
        """Take results of one media type and nothing else.

        >>> ResultFormat.of_type("text/csv")
        ResultFormat(solutions='csv', graph='')
        """
        return cls.of(_NAMES.get(media_type, media_type))


@dataclass(frozen=True, slots=True)
class QueryResult:
    """A whole result: ``kind`` is ``solutions``, ``boolean`` or ``graph``.

    ``rows`` counts solutions or triples, 1 for a boolean. A result that would have to be cut is
    a ``QueryLimitError`` and never a ``QueryResult``, so ``truncated`` is always false.
    """

    media_type: str
    body: bytes
    kind: str
    rows: int
    truncated: bool = False


@dataclass(frozen=True, slots=True)
class StreamedResult:
    """A whole result whose bytes lie in a spool, which its taker closes."""

    media_type: str
    body: Spool
    kind: str
    rows: int
