"""The base as canonical N-Quads lines: what may leave, sorted, blank nodes named by content."""

import os
import re
import threading
from collections.abc import Iterable, Iterator
from itertools import groupby, islice
from typing import Final

from shiyi.errors import KnowledgeBaseError
from shiyi.model.rdf import canonical_blank_nodes, serialize
from shiyi.ontology.terms import RDF, SHIYI
from shiyi.publishing.sorting import sorted_once
from shiyi.sparql.halves import lines_of_halves
from shiyi.sparql.oxigraph import OxigraphStore
from shiyi.sparql.store import QuadStore
from shiyi.sparql.withheld import PRIVATE, Withheld
from shiyi.sparql.written import written_lines

_PIPED: Final = 1 << 20  # bytes read at once
_BATCH: Final = 50_000  # quads written at once
_LARGE: Final = 1_000_000  # quads from which two processes write them, at seconds each (ours)
_LINE: Final = re.compile(
    rb'(\S+) (\S+) (<<\( .* \)>>|<[^>]*>|_:\S+|"(?:[^"\\]|\\.)*"(?:@\S+|\^\^<[^>]*>)?) (?:(\S+) )?\.'
)
_BOOKKEEPING: Final = str(SHIYI.appliedThrough).encode()
_REIFIES: Final = str(RDF.reifies).encode()
_PARTS: Final = tuple(str(each).encode() for each in (RDF.subject, RDF.predicate, RDF.object))


def allowed_lines(store: QuadStore, held: Withheld) -> Iterator[bytes]:
    """Yield the lines of RDF 1.2 that may leave, sorted as RDFC-1.0 sorts, each once.

    Literals are as they were written, and so is then the hash of a release.
    """
    named: list[bytes] = []

    def kept() -> Iterator[list[bytes]]:
        gate = _Gate(held)
        forms = written_lines(store.match) if isinstance(store, OxigraphStore) else {}
        for block in _stored(store):
            lines = block.splitlines()
            if gate.watches(block):
                lines = [line for line in lines if not gate.hides(line)]
            if forms:
                lines = [forms.get(line, line) for line in lines]
            if b"_:" in block:
                blank = {line for line in lines if b"_:" in line and _has_blank(line)}
                named.extend(blank)
                lines = [line for line in lines if line not in blank]
            yield lines
        yield list(dict.fromkeys(canonical_blank_nodes(named)))

    # as many as were counted and none twice: then none is missing, whoever read them
    return sorted_once(kept(), distinct=isinstance(store, OxigraphStore))


def lowered_lines(lines: Iterable[bytes]) -> Iterator[bytes]:
    """Yield sorted lines without triple terms, sorted again, each line once."""
    for _, about in groupby(lines, key=subject_of):
        own = list(about)
        if any(b"<<(" in line for line in own):  # what it becomes has the same subject
            own = sorted({each for line in own for each in _lowered(line)})
        yield from own


def subject_of(line: bytes) -> bytes:
    """Give the subject of a line.

    >>> subject_of(b'<urn:s> <urn:p> "a" .')
    b'<urn:s>'
    """
    return line.partition(b" ")[0]


def split_line(line: bytes) -> tuple[bytes, bytes, bytes, bytes]:
    """Give subject, predicate, object and graph (empty for the default graph) of a line.

    >>> split_line(b'<urn:s> <urn:p> "a . b"@en <urn:g> .')
    (b'<urn:s>', b'<urn:p>', b'"a . b"@en', b'<urn:g>')
    """
    found = _LINE.match(line)
    if not found:
        raise ValueError(f"not a line of N-Quads: {line[:80]!r}")
    return found[1], found[2], found[3], found[4] or b""


def graph_of(line: bytes) -> bytes:
    """Give the graph of a line, empty for the default graph.

    >>> graph_of(b'<urn:s> <urn:p> "a . b"@en <urn:g> .'), graph_of(b"<urn:s> <urn:p> <urn:o> .")
    (b'<urn:g>', b'')
    """
    # most lines are told apart by these alone: three spaces, or a text at the end
    if line.count(b" ") == 3 or line.endswith((b'" .', b")>> .")):
        return b""
    return split_line(line)[3]


def in_default_graph(lines: Iterable[bytes]) -> Iterator[bytes]:
    """Keep the accepted view."""
    return (line for line in lines if not graph_of(line))


def by_graph(lines: Iterable[bytes]) -> Iterator[bytes]:
    """Put the default graph first and every named graph together, for TriG."""
    behind: dict[bytes, list[bytes]] = {}
    for line in lines:
        place = graph_of(line)
        if place:
            behind.setdefault(place, []).append(line)
        else:
            yield line
    for _, found in sorted(behind.items()):
        yield from found


def _stored(store: QuadStore) -> Iterator[bytes]:
    """Yield every quad as a line, in the store's own order, very many lines at once."""
    if isinstance(store, OxigraphStore):
        large = store.still and (os.cpu_count() or 1) > 1 and len(store) >= _LARGE
        yield from (
            lines_of_halves(store.still, len(store)) if store.still and large else _piped(store)
        )
        return
    quads = iter(store.match())
    while batch := list(islice(quads, _BATCH)):
        yield serialize(batch, "nq", {})


def _piped(store: OxigraphStore) -> Iterator[bytes]:
    """Let the store write while we read: two cores, and nothing on the disk."""
    reading, writing = os.pipe()
    faults: list[KnowledgeBaseError] = []

    def fill() -> None:
        try:
            with open(writing, "wb", _PIPED) as file:  # noqa: PTH123 # a descriptor has no path
                store.dump(file)
        except KnowledgeBaseError as fault:
            faults.append(fault)
        except BrokenPipeError:  # what was written last found no reader
            pass

    filler = threading.Thread(target=fill, daemon=True)
    filler.start()
    try:
        with open(reading, "rb", _PIPED) as file:  # noqa: PTH123 # a descriptor has no path
            held = b""
            while read := file.read(_PIPED):
                whole, mark, rest = read.rpartition(b"\n")
                if mark:
                    yield held + whole
                    held = rest
                else:  # a line longer than a block
                    held += rest
    finally:
        filler.join()  # closing our end ends it, also where nobody reads on
    if faults:
        raise faults[0]


def _has_blank(line: bytes) -> bool:
    subject, _, said, place = split_line(line)
    return any(each.startswith(b"_:") for each in (subject, said, place)) or (
        said.startswith(b"<<(") and (said.startswith(b"<<( _:") or b" _:" in said)
    )


def _lowered(line: bytes) -> Iterator[bytes]:
    subject, predicate, said, place = split_line(line)
    if predicate != _REIFIES or not said.startswith(b"<<("):
        yield line
        return
    ending = b" " + place + b" ." if place else b" ."
    for name, part in zip(_PARTS, said[4:-4].split(b" ", 2), strict=True):
        yield b" ".join((subject, name, part)) + ending


class _Gate:
    """Tells which lines stay inside."""

    def __init__(self, held: Withheld) -> None:
        self._nodes = {f"<{each}>".encode() for each in held.nodes}
        self._asserted: dict[bytes, list[bytes]] = {}
        for subject, predicate, said in held.triples:
            self._asserted.setdefault(f"{subject} {predicate}".encode(), []).append(said.encode())
        self._journal, self._written, self._cases = (f" <{each}".encode() for each in PRIVATE)

    def watches(self, block: bytes) -> bool:
        """Tell whether a line of a block may stay inside; mostly none does."""
        return bool(self._nodes) or any(
            each in block for each in (_BOOKKEEPING, self._journal, self._written, self._cases)
        )

    def hides(self, line: bytes) -> bool:
        # spelt out, since it is asked of every line of a base that holds anything back
        if _BOOKKEEPING in line or self._journal in line:
            return True
        if self._written in line or self._cases in line:
            return True
        if not self._nodes:
            return False
        subject, predicate, rest = line.split(b" ", 2)
        if subject in self._nodes:
            return True
        if rest.startswith(b"<<("):
            return not self._nodes.isdisjoint(rest[4:].split(b" "))
        if rest.startswith(b"<") and rest.partition(b" ")[0] in self._nodes:
            return True
        said = self._asserted.get(subject + b" " + predicate, ())
        return any(rest.startswith(each + b" ") for each in said)
