"""An update request parsed into operations.

Imports the standard library only, since a killed worker is replaced while a client waits.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

_IRI: Final = r"(?:<\s*>|(?:\\.|[^\s{}()<>;'\"?$])*:(?:\\.|[^\s{}()<>;'\"])*)"
_PROLOGUE: Final = re.compile(
    r"(?:\s*(?:PREFIX\s+[^\s:]*:\s*<\s*>|BASE\s*<\s*>|VERSION\s*(?:'\s*'|\"\s*\")))+", re.IGNORECASE
)
_DATA: Final = re.compile(r"\s*(INSERT|DELETE)\s+DATA\s*(?=\{)", re.IGNORECASE)
_SHORT: Final = re.compile(r"\s*DELETE\s+WHERE\s*(?=\{)", re.IGNORECASE)
_WITH: Final = re.compile(rf"\s*WITH\s*({_IRI})(?=[\s{{])", re.IGNORECASE)
_DELETE: Final = re.compile(r"\s*DELETE\s*(?=\{)", re.IGNORECASE)
_INSERT: Final = re.compile(r"\s*INSERT\s*(?=\{)", re.IGNORECASE)
_USING: Final = re.compile(rf"\s*\b(USING)\s*(?:NAMED\b\s*)?{_IRI}(?=[\s{{])", re.IGNORECASE)
_WHERE: Final = re.compile(r"\s*WHERE\s*(?=\{)", re.IGNORECASE)
_WHOLE: Final = re.compile(
    rf"\s*(?P<verb>CLEAR|DROP|CREATE)\s+(?:SILENT\b\s*)?(?:(?P<set>DEFAULT|NAMED|ALL)\b"
    rf"|GRAPH\s*(?P<graph>{_IRI}))",
    re.IGNORECASE,
)
_GRAPH: Final = rf"(?:DEFAULT\b|GRAPH\s*{_IRI}|{_IRI})"
_MOVED: Final = re.compile(
    rf"\s*(?P<verb>COPY|MOVE|ADD)\s*(?:\bSILENT\b\s*)?(?P<source>{_GRAPH})\s*\bTO\b\s*"
    rf"(?P<target>{_GRAPH})",
    re.IGNORECASE,
)
_LOAD: Final = re.compile(
    rf"\s*LOAD\s+SILENT\b\s*{_IRI}(?:\s*INTO\s+GRAPH\s*{_IRI})?", re.IGNORECASE
)
_GRAPH_WORD: Final = re.compile(r"GRAPH\s*(?=<|[^\s{}]*:)", re.IGNORECASE)
_LABEL: Final = re.compile(r"(?<![\w:.-])_:[\w.-]+")
_BRACE: Final = re.compile(r"[{}]")

Block = tuple[str, str]  # text and bare text


class OperationSplitError(ValueError):
    """The operations of an update could not be distinguished; its parser says what is wrong."""


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation: its ``verb``, all prologues before it, and the pieces of its text.

    ``bare`` texts have blanks for what stands in comments, texts and IRIs. ``graphs`` are the
    graphs a management operation names, as it writes them: source and target, or the one.
    """

    verb: str
    prologue: str
    text: str
    delete: Block = ("", "")  # a template, with its braces
    insert: Block = ("", "")
    where: str = ""
    within: str = ""  # the graph of WITH
    using: str = ""  # the data set, in the words of a query
    graphs: tuple[str, ...] = ()
    labels: frozenset[str] = frozenset()  # of blank nodes of INSERT DATA

    @property
    def whole(self) -> str:
        """Return the operation as a request of its own."""
        return f"{self.prologue}\n{self.text}"


def prologue(text: str, bare: str) -> str:
    """Return the prologue of a query or an update."""
    match = _PROLOGUE.match(bare)
    return text[: match.end()] if match else ""


def operations(text: str, bare: str) -> tuple[Operation, ...]:
    """Split an update; ``bare`` is the same text with blanks for what braces may hide in.

    >>> update = "PREFIX e: <   > DELETE { ?s e:p 1 } WHERE { ?s e:p ?o } ; DROP ALL"
    >>> [(each.verb, each.where) for each in operations(update, update)]
    [('MODIFY', '{ ?s e:p ?o }'), ('DROP', '')]
    """
    return tuple(_split(text, bare))


def _split(text: str, bare: str) -> Iterator[Operation]:
    at, prologue = 0, ""
    while True:
        if match := _PROLOGUE.match(bare, at):
            prologue += text[at : match.end()] + "\n"
            at = match.end()
        if not bare[at:].strip():
            return
        operation, at = _parse_operation(text, bare, at, prologue)
        yield operation
        rest = bare[at:].lstrip()
        if rest and not rest.startswith(";"):
            raise OperationSplitError(f"an operation does not end at character {at}")
        at = bare.index(";", at) + 1 if rest else len(bare)


def _parse_operation(text: str, bare: str, start: int, prologue: str) -> tuple[Operation, int]:
    def parse(verb: str, end: int) -> Operation:
        data = verb == "INSERT DATA"  # SPARQL 1.1 section 19.6
        labels = frozenset(_LABEL.findall(bare[start:end]) if data else ())
        return Operation(verb, prologue, text[start:end], labels=labels)

    if match := _DATA.match(bare, start):
        block, end = _block(text, bare, match.end())
        plain = parse(f"{match[1].upper()} DATA", end)
        insert = match[1].upper() == "INSERT"
        return replace(plain, insert=block) if insert else replace(plain, delete=block), end
    if match := _SHORT.match(bare, start):
        block, end = _block(text, bare, match.end())
        short = parse("MODIFY", end)
        return replace(short, delete=block, where=block[0]), end
    if match := _WHOLE.match(bare, start):
        graph = text[match.start("graph") : match.end("graph")] if match["graph"] else match["set"]
        return replace(parse(match["verb"].upper(), match.end()), graphs=(graph,)), match.end()
    if match := _MOVED.match(bare, start):
        names = tuple(
            _read_name(text[match.start(part) : match.end(part)], match[part])
            for part in ("source", "target")
        )
        return replace(parse(match["verb"].upper(), match.end()), graphs=names), match.end()
    if match := _LOAD.match(bare, start):
        return parse("LOAD", match.end()), match.end()
    within, delete, insert, using, where, end = _modify(text, bare, start)
    modify = parse("MODIFY", end)
    return replace(
        modify, within=within, delete=delete, insert=insert, using=using, where=where[0]
    ), end


def _modify(text: str, bare: str, start: int) -> tuple[str, Block, Block, str, Block, int]:
    """Read ``WITH``, the two templates, ``USING`` and ``WHERE``, and say where they end."""
    at, within, using = start, "", ""
    if match := _WITH.match(bare, at):
        within, at = text[match.start(1) : match.end(1)], match.end()
    delete, at = _optional(_DELETE, text, bare, at)
    insert, at = _optional(_INSERT, text, bare, at)
    while match := _USING.match(bare, at):
        using += "FROM" + text[match.end(1) : match.end()] + "\n"
        at = match.end()
    match = _WHERE.match(bare, at)
    if not (delete[0] or insert[0]) or not match:
        raise OperationSplitError(f"no operation begins at character {start}")
    where, end = _block(text, bare, match.end())
    return within, delete, insert, using, where, end


def _optional(opening: re.Pattern[str], text: str, bare: str, at: int) -> tuple[Block, int]:
    match = opening.match(bare, at)
    return _block(text, bare, match.end()) if match else (("", ""), at)


def _block(text: str, bare: str, opening: int) -> tuple[Block, int]:
    """Return what stands in braces, with them, and the place after."""
    end = find_closing_brace(bare, opening)
    return (text[opening:end], bare[opening:end]), end


def find_closing_brace(bare: str, opening: int) -> int:
    """Return the place after the brace that closes the one at ``opening``."""
    depth = 0
    for match in _BRACE.finditer(bare, opening):
        depth += 1 if match[0] == "{" else -1
        if not depth:
            return match.end()
    raise OperationSplitError(f"the brace at character {opening} is not closed")


def _read_name(written: str, bare: str) -> str:
    match = _GRAPH_WORD.match(bare)
    return written[match.end() :] if match else written
