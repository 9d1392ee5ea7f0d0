"""What is refused before a free query reaches a worker: cheap to see, and better said early.

This saves workers; it is not the defence, which is the worker's lack of sockets, its limits and
its deadline.
"""

import re

from shiyi.errors import QueryError, QueryRefusedError, TooLargeError

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


def check_query(text: str, max_bytes: int, network_blocked: bool = True) -> None:
    """Refuse what no worker should try: too long, too deeply nested, SERVICE, updates.

    Where the platform cannot take sockets from a worker, the bare word SERVICE is enough.

    >>> check_query("SELECT * { SERVICE <https://e.org/sparql> { ?s ?p ?o } }", 1000)
    Traceback (most recent call last):
        ...
    shiyi.errors.QueryRefusedError: SERVICE is not offered: a query here asks this knowledge base only
    """
    bare = _checked("query", text, max_bytes, network_blocked)
    begin = _PROLOGUE.match(bare)
    body = bare[begin.end() :] if begin else bare
    if _UPDATE.match(body) and not _FORM.match(body):
        raise QueryError("this is an update; only SELECT, ASK, CONSTRUCT and DESCRIBE are taken")


def check_update(text: str, max_bytes: int, network_blocked: bool = True) -> str:
    """Refuse what no worker should try, as ``check_query`` does, and LOAD; give the bare text.

    In the bare text comments, texts and IRIs are blanks of the same length, so that places agree.

    >>> check_update("INSERT DATA { <a:a> <a:b> 'LOAD' }", 1000)
    "INSERT DATA { <   > <   > '    ' }"
    """
    _checked("update", text, max_bytes, network_blocked)
    bare = bare_text(text)
    # LOAD SILENT may fail and nothing happens, which is what it does where there are no sockets
    if any(not (found["silent"] and network_blocked) for found in _LOAD.finditer(bare)):
        raise QueryRefusedError("LOAD is not offered: send the data itself, for example by POST")
    return bare


def bare_text(text: str) -> str:
    """Give the text with blanks for what stands in comments, texts and IRIs, places kept."""
    return _TOKENS.sub(_blank, text)


def _checked(what: str, text: str, max_bytes: int, network_blocked: bool) -> str:
    try:
        size = len(text.encode())
    except UnicodeEncodeError as fault:
        raise QueryError(f"the {what} is not Unicode text: {fault.reason}") from fault
    if size > max_bytes:
        raise TooLargeError(f"the {what}", size, max_bytes, "bytes")
    bare = _TOKENS.sub(_hole, text)
    if (deepest := _depth(bare)) > MAX_DEPTH:
        raise QueryError(f"the {what} nests {deepest} levels deep; at most {MAX_DEPTH} are taken")
    if (_SERVICE if network_blocked else _SERVICE_WORD).search(bare):
        raise QueryRefusedError(
            "SERVICE is not offered: a query here asks this knowledge base only"
        )
    return bare


def _blank(token: re.Match[str]) -> str:
    found = token[0]
    if token["comment"] is not None:
        return " " * len(found)
    return found[0] + " " * (len(found) - 2) + found[-1]


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
