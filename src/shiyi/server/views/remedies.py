"""What is wrong with a query, where, and a query that would work."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any, Final

from shiyi.ontology.terms import PREFIXES

_OPAQUE: Final = re.compile(r'<[^<>\s{}|^`\\]*>|"""[\s\S]*?"""|"[^"\n]*"|\'[^\'\n]*\'|#[^\n]*')
_DECLARED: Final = re.compile(r"\bPREFIX\s+([\w.-]*):", re.IGNORECASE)
_USED: Final = re.compile(r"(?<![\w:?$])([A-Za-z][\w.-]*):(?=[\w%\\]|\s|$)")
_WORD: Final = re.compile(r"[A-Za-z]+")
_KEYWORDS: Final = (
    "SELECT", "CONSTRUCT", "DESCRIBE", "ASK", "WHERE", "FILTER", "OPTIONAL", "UNION", "GRAPH",
    "PREFIX", "DISTINCT", "LIMIT", "OFFSET", "ORDER", "GROUP", "HAVING", "VALUES", "BIND", "MINUS",
    "SERVICE", "EXISTS", "REDUCED",
)  # fmt: skip
_AROUND: Final = 2  # lines shown before and after the one with the fault
SLOW: Final = 0.5  # seconds from which another form is offered
_REIFIED: Final = re.compile(r"(rdf:reifies\s+)(\?\w+)")
_PARTS: Final = ("SUBJECT", "PREDICATE", "OBJECT")


@dataclass(frozen=True, slots=True)
class Remedy:
    """What to do: the text of the catalogue, its values, the lines around, a query that may run."""

    key: str
    values: Mapping[str, str] = field(default_factory=dict)
    lines: tuple[tuple[int, str], ...] = ()
    query: str = ""


def remedy(query: str, problem: Mapping[str, Any]) -> Remedy:
    """Return the remedy for the fault of a query.

    >>> remedy("SELCT * { ?s ?p ?o }", {"line": 1, "column": 10}).query
    'SELECT * { ?s ?p ?o }'
    >>> remedy("SELECT * { ?s a shiyi:Food ", {"line": 1, "column": 27}).key
    'prefix'
    >>> remedy('SELECT * { ?s ?p ?o FILTER(lang(?o) = "en" }', {"line": 1, "column": 43}).key
    'bracket'
    >>> remedy("SELECT * { ?s ?p ?o }}", {"line": 1, "column": 22}).key
    'extra_brace'
    """
    line, column = int(problem.get("line") or 0), int(problem.get("column") or 1)
    every = query.split("\n")
    first, last = max(line - 1 - _AROUND, 0), line + _AROUND
    shown = tuple((at + 1, each) for at, each in enumerate(every) if line and first <= at < last)
    key, values, better = _find_fault(query, line, column)
    if not line:
        is_slow = int(problem.get("status") or 0) in {408, 503, 504}
        key, values, better = ("slow", {}, faster(query)) if is_slow else ("", {}, "")
    return Remedy(key, values, shown, better)


def _find_fault(query: str, line: int, column: int) -> tuple[str, dict[str, str], str]:
    plain = _OPAQUE.sub(lambda match: " " * len(match[0]), query)
    declared = set(_DECLARED.findall(query))
    missing = sorted({*_USED.findall(_DECLARED.sub("", plain))} - declared)
    if missing:
        unknown = [name for name in missing if name not in PREFIXES]
        key = "prefix" if not unknown else "unknown_prefix"
        return key, {"names": ", ".join(missing)}, "" if unknown else declare_prefixes(query)
    if (fixed := _spelt(query, plain)) is not None:
        return "keyword", {"word": fixed[0], "right": fixed[1]}, fixed[2]
    unclosed = plain.count("{") - plain.count("}")
    if unclosed > 0:
        return "brace", {}, query.rstrip() + "\n" + "}" * unclosed
    if unclosed < 0:
        return "extra_brace", {}, ""
    if plain.count("(") > plain.count(")"):
        return "bracket", {}, ""
    lines = query.split("\n")
    rest = lines[line - 1][column - 1 :].lstrip() if 0 < line <= len(lines) else ""
    return ("triple", {}, "") if rest[:1] in {"}", "."} else ("other", {}, "")


def _spelt(query: str, plain: str) -> tuple[str, str, str] | None:
    """Return a misspelt keyword, the right one, and the query with it."""
    for word in re.finditer(r"(?:(?<=^)|(?<=[\s{}()]))[A-Za-z]{3,}(?=[\s{(*]|$)", plain):
        upper = word[0].upper()
        if upper in _KEYWORDS:
            continue
        near = get_close_matches(upper, _KEYWORDS, 1, 0.8)
        if near:
            return word[0], near[0], query[: word.start()] + near[0] + query[word.end() :]
    return None


def declare_prefixes(query: str) -> str:
    """Return a query with a declaration of each prefix it uses that this site knows.

    >>> declare_prefixes("SELECT * { ?s a skos:Concept }").splitlines()[0]
    'PREFIX skos: <http://www.w3.org/2004/02/skos/core#>'
    """
    plain = _OPAQUE.sub(" ", query)
    texts = set(_USED.findall(_DECLARED.sub("", plain))) - set(_DECLARED.findall(query))
    lines = [f"PREFIX {name}: <{PREFIXES[name]}>\n" for name in sorted(texts & set(PREFIXES))]
    return "".join(lines) + query


def faster(query: str) -> str:
    """Return a query that names a triple term by its parts rather than taking it apart, or "".

    A pattern of parts is found by the index; ``SUBJECT(?t)`` is computed for every claim.

    >>> faster("{ ?c rdf:reifies ?t BIND(SUBJECT(?t) AS ?s) FILTER(?s = id:x) }")
    '{ ?c rdf:reifies <<( ?s ?t_predicate ?t_object )>>  FILTER(?s = id:x) }'
    """
    match = _REIFIED.search(query)
    if match is None:
        return ""
    term, text, parts = match[2], query, []
    for part in _PARTS:
        bind = re.search(rf"BIND\(\s*{part}\(\s*{re.escape(term)}\s*\)\s+AS\s+(\?\w+)\s*\)", text)
        parts.append(bind[1] if bind else f"{term}_{part.lower()}")
        text = text.replace(bind[0], "") if bind else text
    text = _REIFIED.sub(lambda each: f"{each[1]}<<( {' '.join(parts)} )>>", text, count=1)
    used = re.search(rf"{re.escape(term)}(?!\w)", text)
    return "" if used or text == query or "BIND" not in query else text
