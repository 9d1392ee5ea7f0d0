"""The protocol's ``using-graph-uri`` and ``using-named-graph-uri``, written into an update."""

import re
from collections.abc import Sequence
from typing import Final

from shiyi.errors import QueryError
from shiyi.model.rdf import NamedNode

_CLAUSE: Final = re.compile(r"\b(?:USING|WITH)\b", re.IGNORECASE)
_WHERE: Final = re.compile(r"\bWHERE\b", re.IGNORECASE)
_GROUP: Final = re.compile(r"\{[^{}]*\}")
_NAMES: Final = re.compile(r"[?$]\w+|[\w.-]*:[\w.:%-]*")
_SHORT: Final = re.compile(r"\bDELETE\s*$", re.IGNORECASE)


def with_graphs(text: str, bare: str, default: Sequence[str], named: Sequence[str]) -> str:
    """Give the update with the data set of the request in each of its WHERE clauses.

    ``bare`` is the same text with blanks for what stands in comments, texts and IRIs. QueryError
    where the update names a data set itself (SPARQL 1.1 Protocol section 2.2.3).

    >>> update = "DELETE { ?s ?p 1 } WHERE { ?s ?p 2 }"
    >>> with_graphs(update, update, ["https://e.org/g"], [])
    'DELETE { ?s ?p 1 } USING <https://e.org/g> WHERE { ?s ?p 2 }'
    """
    if not default and not named:
        return text
    outside = _outside(bare)
    if _CLAUSE.search(outside):
        raise QueryError(
            "the update names its graphs with USING or WITH, so using-graph-uri and "
            "using-named-graph-uri must not"
        )
    clauses = [f"USING {_node(iri)} " for iri in default]
    clauses += [f"USING NAMED {_node(iri)} " for iri in named]
    written, end = [], 0
    for found in _WHERE.finditer(outside):
        if _SHORT.search(outside, 0, found.start()):
            raise QueryError("with using-graph-uri, write DELETE { … } WHERE { … } in full")
        written += [text[end : found.start()], *clauses]
        end = found.start()
    return "".join([*written, text[end:]])


def _outside(bare: str) -> str:
    """Blank what stands in braces, and names, which may hold such words."""
    outside, count = bare, 1
    while count:
        outside, count = _GROUP.subn(lambda found: "." * len(found[0]), outside)
    return _NAMES.sub(lambda found: "." * len(found[0]), outside)


def _node(iri: str) -> NamedNode:
    try:
        return NamedNode(iri)
    except ValueError as fault:
        raise QueryError(f"a graph is named by an absolute IRI, not {iri[:80]!r}") from fault
