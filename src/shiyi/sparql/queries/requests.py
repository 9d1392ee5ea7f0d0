"""A user's query, and the static checks before it runs.

This saves workers; the defence is the worker: no sockets, limits, a deadline.
"""

import re
import sys
from collections import Counter
from dataclasses import dataclass, field

from shiyi.errors import QueryError, QueryRefusedError, TooLargeError
from shiyi.sparql.queries.results import ResultFormat


@dataclass(frozen=True, slots=True)
class FreeQuery:
    """One SELECT, ASK, CONSTRUCT or DESCRIBE; those that are equal have the same result.

    ``timeout`` is in seconds above 0, up to the cap of the settings; None is their default.
    ``default_graphs`` and ``named_graphs`` are the IRIs of the protocol and replace what the text
    says (SPARQL 1.1 Protocol, section 2.1.4); relative IRIs are resolved against ``base``.

    The ``profile`` ``rdf11`` asks the base as RDF 1.1 says it (:mod:`shiyi.sparql.sandbox.views`),
    but for queries that themselves speak RDF 1.2: of those only graphs are written so, as graphs
    are of any query that ``lowers_graphs``. ``rows``
    lowers the limit of the settings. A ``live`` query may give its long result while it is made.
    A ``whole`` query also sees restricted data. The ``asker`` is
    any text that names a client, for fair shares (:mod:`shiyi.sparql.sandbox.scheduling`).
    """

    text: str
    accept: ResultFormat = field(default_factory=ResultFormat)
    timeout: float | None = field(default=None, compare=False)
    default_graphs: tuple[str, ...] = ()
    named_graphs: tuple[str, ...] = ()
    base: str = ""
    profile: str = ""
    lowers_graphs: bool = False
    live: bool = field(default=False, compare=False)
    rows: int | None = None
    whole: bool = False
    asker: str = field(default="", compare=False)

    @property
    def size(self) -> int:
        """Return the bytes of memory that its texts take, as much as anybody may send."""
        texts = (self.text, self.base, self.asker, *self.default_graphs, *self.named_graphs)
        return sum(map(sys.getsizeof, texts))


# a query that itself names triple terms or their reifiers is asked of the base as it is
SPEAKS_12 = re.compile(r"<<|\breifies\b")
MAX_DEPTH = 128  # Oxigraph's stack ends at 864 nested EXISTS, the least of all constructs

_TOKENS = re.compile(
    r"""(?P<text>'''(?:[^'\\]|\\.|'(?!''))*'''|\"\"\"(?:[^"\\]|\\.|"(?!""))*\"\"\"
        |'(?:[^'\\\n\r]|\\.)*'|"(?:[^"\\\n\r]|\\.)*")
      |(?P<iri><[^<>"{}|^`\x00-\x20]*>)
      |(?P<comment>\#[^\n\r]*)""",
    re.VERBOSE | re.DOTALL,
)
_PROLOGUE = re.compile(
    r"\s*(?:(?:PREFIX\s+[^\s:]*:\s*<>|BASE\s*<>|VERSION\s*''|@prefix\s+[^\s:]*:\s*<>\s*\.)\s*)*",
    re.IGNORECASE,
)
_FORM = re.compile(r"SELECT|ASK|CONSTRUCT|DESCRIBE", re.IGNORECASE)
_UPDATE = re.compile(r"(INSERT|DELETE|LOAD|CLEAR|DROP|CREATE|ADD|MOVE|COPY|WITH)\b", re.IGNORECASE)
# names are matched by their own characters alone, so that no two matches look at the same text
_NAME = r"\w\u00b7\u0300-\u036f\u203f\u2040.-"
_SERVICE = re.compile(
    rf"(?<![{_NAME}:?$@])(?<!\\.)SERVICE\s*(?:SILENT\s*)?"
    rf"(?:<>|[?$]\w+|[{_NAME}]*:(?:[{_NAME}:%]|\\.)*)\s*\{{",
    re.IGNORECASE,
)
_LOAD = re.compile(
    r"(?<![\w:?$@.-])LOAD\s*(?P<silent>SILENT\s*)?(?:<|[^\s{}()<>]*:)", re.IGNORECASE
)
_SERVICE_WORD = re.compile(r"(?<![\w:?$@.-])SERVICE(?![\w-])", re.IGNORECASE)
_EXISTS = re.compile(rf"(?<![{_NAME}:?$@])EXISTS\s*\{{(?P<body>[^{{}}]*)\}}", re.IGNORECASE)
_EXISTS_WORD = re.compile("EXISTS", re.IGNORECASE)
_TERM = r"(?:[?$]\w+|<[^<>]*>|[\w-]*:(?:[\w:%-]|\.(?=[\w:%-]))*)"
_TRIPLE = re.compile(rf"\s*({_TERM}\s+(?:{_TERM}|a)\s+{_TERM})(?:\s*(\.))?")
_FILTERS = re.compile(r"\s*(?:FILTER\s*\((?:[^()]|\([^()]*\))*\)\s*(?:\.\s*)?)*", re.IGNORECASE)
_VARIABLE = re.compile(r"[?$](\w+)")
_MAX_CHAIN = 8  # triples of one EXISTS that are written into one another


def check_query(text: str, max_bytes: int, network_blocked: bool = True) -> None:
    """Refuse what no worker should try: too long, too deeply nested, SERVICE, updates.

    Where the platform cannot take sockets from a worker, the bare word SERVICE is enough.

    >>> from shiyi.errors import QueryRefusedError
    >>> try:
    ...     check_query("SELECT * { SERVICE <https://e.org/sparql> { ?s ?p ?o } }", 1000)
    ... except QueryRefusedError as load_rejected:
    ...     print(str(load_rejected).partition(":")[0])
    SERVICE is not offered
    """
    bare = _check_text("query", text, max_bytes, network_blocked)
    begin = _PROLOGUE.match(bare)
    body = bare[begin.end() :] if begin else bare
    if _UPDATE.match(body) and not _FORM.match(body):
        raise QueryError("this is an update; only SELECT, ASK, CONSTRUCT and DESCRIBE are taken")


def check_update(text: str, max_bytes: int) -> str:
    """Refuse what no worker should try, as ``check_query`` does, and LOAD; return the bare text.

    In the bare text comments, texts and IRIs are blanks of the same length, so that places agree.

    >>> check_update("INSERT DATA { <a:a> <a:b> 'LOAD' }", 1000)
    "INSERT DATA { <   > <   > '    ' }"
    """
    _check_text("update", text, max_bytes, network_blocked=True)
    bare = blank_text(text)
    # LOAD SILENT may fail and nothing happens, which is what it does where there are no sockets
    if any(not match["silent"] for match in _LOAD.finditer(bare)):
        raise QueryRefusedError("LOAD is not offered: send the data itself, for example by POST")
    return bare


def nest(text: str) -> str:
    """Write each EXISTS of several triples as one EXISTS within another, which says the same.

    Oxigraph joins the triples of an EXISTS without regard to what is bound outside, for each
    solution again. Written so, each triple is looked up from what is bound. What is not a plain
    list of triples and filters stays as it is.

    >>> nest("ASK { ?a a ?b FILTER EXISTS { ?b <p:p> ?c . ?c <p:q> ?d FILTER(?d > 1) } }")
    'ASK { ?a a ?b FILTER EXISTS { ?b <p:p> ?c FILTER EXISTS { ?c <p:q> ?d FILTER(?d > 1) } } }'
    """
    if not _EXISTS_WORD.search(text):
        return text
    bare, parts, place = blank_text(text), list[str](), 0
    everywhere = Counter(_VARIABLE.findall(bare))
    for match in _EXISTS.finditer(bare):
        start, end = match.span("body")
        within = Counter(_VARIABLE.findall(match["body"]))
        outside = {name for name, count in within.items() if everywhere[name] > count}
        if nested := _nest_triples(match["body"], text[start:end], outside):
            parts += (text[place:start], nested)
            place = end
    return "".join((*parts, text[place:]))


def _nest_triples(bare: str, text: str, bound: set[str]) -> str:
    """Return the triples of one EXISTS nested; empty where they are not plain or not linked."""
    triples, place = list[tuple[int, int]](), 0
    while match := _TRIPLE.match(bare, place):
        triples.append(match.span(1))
        place = match.end()
        if not match[2]:
            break
    plain = 2 <= len(triples) <= _MAX_CHAIN and _FILTERS.fullmatch(bare, place)
    if not plain or "_:" in bare:
        return ""
    order = list[tuple[int, int]]()
    unbound = {triple: set(_VARIABLE.findall(bare[slice(*triple)])) for triple in triples}
    while unbound:
        linked = [row for row, names in unbound.items() if names & bound]
        if not linked:
            return ""
        order.append(min(linked, key=lambda row: len(unbound[row] - bound)))
        bound |= unbound.pop(order[-1])
    head = " FILTER EXISTS { ".join(text[slice(*row)] for row in order)
    return f" {head}{text[place:].rstrip(' ')}{' }' * (len(order) - 1)} "


def blank_text(text: str) -> str:
    """Return the text with comments, strings and IRIs blanked out; offsets stay the same."""
    return _TOKENS.sub(_blank, text)


def _check_text(name: str, text: str, max_bytes: int, network_blocked: bool) -> str:
    try:
        size = len(text.encode())
    except UnicodeEncodeError as fault:
        raise QueryError(f"the {name} is not Unicode text: {fault.reason}") from fault
    if size > max_bytes:
        raise TooLargeError(f"the {name}", size, max_bytes, "bytes")
    bare = _TOKENS.sub(_hole, text)
    if (deepest := _depth(bare)) > MAX_DEPTH:
        raise QueryError(f"the {name} nests {deepest} levels deep; at most {MAX_DEPTH} are taken")
    if (_SERVICE if network_blocked else _SERVICE_WORD).search(bare):
        raise QueryRefusedError(
            "SERVICE is not offered: a query here asks this knowledge base only"
        )
    return bare


def _blank(token: re.Match[str]) -> str:
    result = token[0]
    if token["comment"] is not None:
        return " " * len(result)
    return result[0] + " " * (len(result) - 2) + result[-1]


def _hole(token: re.Match[str]) -> str:
    if token["text"] is not None:
        return "''"
    return "<>" if token["iri"] is not None else " "


def _depth(bare: str) -> int:
    depth = deepest = 0
    for bracket in re.findall(r"[(){}\[\]]", bare):
        depth += 1 if bracket in "({[" else -1
        deepest = max(deepest, depth)
    return deepest
