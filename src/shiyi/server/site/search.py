"""Search within SPARQL: what the indexes of answers find, in the place of a SERVICE clause.

``SERVICE <https://w3id.org/shiyi/search> { ?claim search:words "gout and seafood" ; search:score
?score }`` becomes a ``VALUES`` block before a worker or a remote engine sees the query.
"""

import re
from collections.abc import Callable, Sequence
from typing import Final

from shiyi.answering.runtime import Runtime
from shiyi.errors import QueryError
from shiyi.model.iris import ROOT
from shiyi.model.rdf import NamedNode
from shiyi.sparql.queries.requests import blank_text
from shiyi.sparql.sandbox.operations import OperationSplitError, find_closing_brace, prologue

SERVICE: Final = f"{ROOT}search"
Search = Callable[[str, str, int], Sequence[tuple[str, float]]]
WAYS: Final = ("names", "words", "meaning")
_USUAL, _MOST, _LONGEST, _CLAUSES = 20, 200, 1000, 2  # Shiyi's; so much fits into a query
_CLAUSE: Final = re.compile(
    r"(?<![\w\u00b7:?$@.-])SERVICE\s*(?:SILENT\s*)?(?P<iri><[ ]*>)\s*(?=\{)", re.IGNORECASE
)
_PREFIX: Final = re.compile(
    rf"PREFIX\s+(?P<prefix>[^\s:]*):\s*<{re.escape(SERVICE)}#>", re.IGNORECASE
)
_ESCAPED: Final = {"n": "\n", "r": "\r", "t": "\t"}
_TEXT: Final = r"\"(?:[^\"\\\n\r]|\\.)*\"|'(?:[^'\\\n\r]|\\.)*'"
_FORM: Final = (
    '{ ?found search:words "text" ; search:score ?score ; search:limit 20 } with the prefix '
    f"search: <{SERVICE}#>; in the place of words: names (concepts that a text mentions) or "
    "meaning (nearest by vector); score and limit may be left out"
)


def searcher(runtime: Callable[[], Runtime]) -> Search:
    """Return a search over the indexes that answers use; best first, each IRI once."""

    def search(way: str, text: str, limit: int) -> Sequence[tuple[str, float]]:
        now, found = runtime(), dict[str, float]()
        if way == "names":
            pairs = [(each.iri, each.score) for each in now.linker.link(text) if each.iri]
        else:
            library = now.library
            recall = library.by_words if way == "words" else library.by_meaning
            pairs = [(hit.unit.iri, float(hit.score)) for hit in recall(text, limit)]
        for iri, score in pairs:
            found[iri] = max(score, found.get(iri, score))
        return sorted(found.items(), key=lambda row: (-row[1], row[0]))[:limit]

    return search


def insert_results(text: str, search: Search) -> str:
    """Return a query with what was found in the place of each search; QueryError for its form.

    >>> query = (
    ...     "PREFIX s: <https://w3id.org/shiyi/search#> SELECT * { "
    ...     'SERVICE <https://w3id.org/shiyi/search> { ?c s:names "goji" ; s:score ?n } }'
    ... )
    >>> insert_results(query, lambda way, text, limit: [("urn:goji", 0.5)]).partition("{ ")[2]
    '{ VALUES (?c ?n) { (<urn:goji> 5.000000e-01) } } }'
    """
    if f"<{SERVICE}>" not in text:
        return text
    bare, parts, end, count = blank_text(text), list[str](), 0, 0
    head = _PREFIX.search(prologue(text, bare))
    shape = _shape(head["prefix"] if head else "search")
    for match in _CLAUSE.finditer(bare):
        if text[match.start("iri") + 1 : match.end("iri") - 1] != SERVICE or match.start() < end:
            continue
        try:
            last = find_closing_brace(bare, match.end())
        except OperationSplitError as fault:
            raise QueryError(f"SERVICE <{SERVICE}>: {fault}") from fault
        asked = shape.fullmatch(text, match.end(), last)
        count += 1
        if asked is None or count > _CLAUSES:
            raise QueryError(f"SERVICE <{SERVICE}> takes {_FORM}; at most {_CLAUSES} in a query")
        parts += [text[end : match.start()], _values(asked, search)]
        end = last
    return "".join((*parts, text[end:]))


def _shape(prefix: str) -> re.Pattern[str]:
    name = f"{re.escape(prefix)}:"
    return re.compile(
        rf"\{{\s*(?P<found>[?$]\w+)\s+{name}(?P<way>{'|'.join(WAYS)})\s+(?P<text>{_TEXT})"
        rf"(?:@[\w-]+)?(?:\s*;\s*{name}score\s+(?P<score>[?$]\w+))?"
        rf"(?:\s*;\s*{name}limit\s+(?P<limit>[0-9]{{1,6}}))?\s*[;.]?\s*\}}"
    )


def _values(match: re.Match[str], search: Search) -> str:
    words = re.sub(r"\\(.)", lambda found: _ESCAPED.get(found[1], found[1]), match["text"][1:-1])
    if len(words) > _LONGEST:
        raise QueryError(f"a search takes at most {_LONGEST} characters, not {len(words)}")
    limit = min(int(match["limit"] or _USUAL), _MOST)
    results = search(match["way"], words, limit)
    names = [match["found"], *([match["score"]] if match["score"] else [])]
    rows = (
        f"({NamedNode(iri)}{f' {score:.6e}' if match['score'] else ''})" for iri, score in results
    )
    return f"{{ VALUES ({' '.join(names)}) {{ {' '.join(rows)} }} }}"
