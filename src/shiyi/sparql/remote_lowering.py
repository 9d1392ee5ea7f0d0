"""Our own queries for a store without triple terms: the same questions in SPARQL 1.1."""

import re
from collections.abc import Callable
from typing import Final

from shiyi.errors import QueryError
from shiyi.ontology.terms import RDF
from shiyi.sparql.guard import bare_text
from shiyi.sparql.remote_terms import TRIPLE

_PART: Final = r"(?:<\s*>|[?$]\w+|[^\s{}()<>'\"]*:[^\s{}()<>'\"]*|\"\s*\"(?:@[\w-]+|\^\^\S+)?)"
_TERM: Final = re.compile(rf"<<\(\s*({_PART})\s+({_PART}|a)\s+({_PART})\s*\)>>")
_TEST: Final = re.compile(r"\bFILTER\s*\(\s*ISTRIPLE\s*\(\s*([?$]\w+)\s*\)\s*\)", re.IGNORECASE)
_BIND: Final = re.compile(
    r"\bBIND\s*\(\s*(SUBJECT|PREDICATE|OBJECT)\s*\(\s*([?$]\w+)\s*\)\s+AS\s+([?$]\w+)\s*\)",
    re.IGNORECASE,
)
_LEFT: Final = re.compile(
    r"<<|\b(?:ISTRIPLE|TRIPLE|SUBJECT|PREDICATE|OBJECT)\s*\(|\{\||~", re.IGNORECASE
)
_PROLOGUE: Final = re.compile(
    r"(?:\s*(?:#[^\n]*\n|(?:PREFIX\s+[^\s:]*:|BASE)\s*<[^>]*>))*", re.IGNORECASE
)
_NAMES: Final = {"SUBJECT": RDF.subject, "PREDICATE": RDF.predicate, "OBJECT": RDF.object}


def lowered_query(query: str) -> str:
    """Write a query without triple terms.

    A triple term in a pattern becomes a node with three properties, and so do the tests and parts
    of one. QueryError where it stands anywhere else.

    >>> lowered_query("ASK { ?c <a:r> <<( ?s ?p <a:o> )>> }").count("rdf-syntax-ns#subject> ?s")
    1
    """
    for pattern, write in ((_TERM, _node), (_TEST, _test), (_BIND, _bind)):
        query = _replaced(query, pattern, write)
    if found := _LEFT.search(bare_text(query)):
        raise QueryError(
            f"this query uses {found[0]!r} where a store of profile rdf11 has no equal; write "
            "<<( s p o )>> as an object in a pattern, or BIND(SUBJECT(?t) AS ?s)"
        )
    return query


def _replaced(query: str, pattern: re.Pattern[str], write: Callable[..., str]) -> str:
    bare, parts, end = bare_text(query), [], 0
    for found in pattern.finditer(bare):
        groups = [query[found.start(i) : found.end(i)] for i in range(1, pattern.groups + 1)]
        parts += [query[end : found.start()], write(*groups)]
        end = found.end()
    return "".join([*parts, query[end:]])


def _node(subject: str, predicate: str, object_: str) -> str:
    return (
        f"[ {RDF.subject} {subject} ; {RDF.predicate} "
        f"{RDF.type if predicate == 'a' else predicate} ; {RDF.object} {object_} ]"
    )


def _test(variable: str) -> str:
    return f'FILTER(STRSTARTS(STR({variable}), "{TRIPLE}"))'


def _bind(function: str, term: str, variable: str) -> str:
    return f" {term} {_NAMES[function.upper()]} {variable} . "


def hoisted(query: str, around: str) -> str:
    """Put the prologue of a query before another that holds the query as its part."""
    found = _PROLOGUE.match(query)
    prologue = found[0] if found else ""
    return f"{prologue}\n{around.replace(query, query[len(prologue) :], 1)}"
