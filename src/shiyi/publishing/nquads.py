"""Canonical, externally sorted N-Quads.

Lines are four times as fast as terms written one by one.
"""

import os
import re
import threading
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from heapq import merge
from itertools import groupby, islice
from tempfile import TemporaryFile
from typing import IO, Final

from shiyi.errors import KnowledgeBaseError
from shiyi.model.rdf import canonical_blank_nodes, parse_n_quads_lines, serialize
from shiyi.ontology.rdf11 import to_rdf11
from shiyi.ontology.terms import SHIYI
from shiyi.sparql.store.oxigraph import OxigraphStore
from shiyi.sparql.store.port import QuadStore
from shiyi.sparql.store.visibility import PRIVATE, RestrictedContent

_RUN: Final = 1_000_000  # lines sorted at once; some two hundred megabytes


def sort_unique(blocks: Iterable[list[bytes]], run: int = _RUN) -> Iterator[bytes]:
    r"""Yield the lines of all blocks in the order of their bytes, each once.

    Memory is bounded by ``run`` lines; the rest is in temporary files.

    >>> list(sort_unique([[b"b", b"a"], [b"c", b"a"]], run=2))
    [b'a', b'b', b'c']
    """
    pending: list[bytes] = []
    with ExitStack() as files:
        runs: list[Iterable[bytes]] = []
        for block in blocks:
            pending += block
            if len(pending) >= run:
                runs.append(_sorted_run(files.enter_context(TemporaryFile()), pending))
                pending = []
        pending.sort()
        for line, _ in groupby(merge(*runs, pending)):
            yield line


def _sorted_run(file: IO[bytes], lines: list[bytes]) -> Iterator[bytes]:
    lines.sort()
    file.writelines(line + b"\n" for line in lines)
    file.seek(0)
    return (line[:-1] for line in file)


_PIPED: Final = 1 << 20  # bytes read at once
_BATCH: Final = 50_000  # quads written at once
_LINE: Final = re.compile(
    rb'(\S+) (\S+) (<<\( .* \)>>|<[^>]*>|_:\S+|"(?:[^"\\]|\\.)*"(?:@\S+|\^\^<[^>]*>)?) '
    rb"(?:(\S+) )?\."
)
# what stands in a line that no reader may see
_PRIVATE: Final = tuple(f" <{name}".encode() for name in (SHIYI.appliedThrough.value, *PRIVATE))


def published_lines(store: QuadStore, hidden: RestrictedContent) -> Iterator[bytes]:
    """Yield the lines of RDF 1.2 that may leave, sorted as RDFC-1.0 sorts, each once."""
    named: list[bytes] = []

    def filter_lines() -> Iterator[list[bytes]]:
        for block in _stored_lines(store):
            lines = block.splitlines()
            if hidden.nodes or any(each in block for each in _PRIVATE):
                quads = zip(lines, parse_n_quads_lines(lines), strict=True)
                lines = [line for line, quad in quads if not hidden.hides(quad)]
            if b"_:" in block:
                blank = {line for line in lines if b"_:" in line and _has_blank(line)}
                named.extend(blank)
                lines = [line for line in lines if line not in blank]
            yield lines
        yield list(dict.fromkeys(canonical_blank_nodes(named)))

    return sort_unique(filter_lines())


def lowered_lines(lines: Iterable[bytes]) -> Iterator[bytes]:
    """Yield sorted lines without triple terms, sorted, each line once."""
    last: set[bytes] = set()  # of blank nodes, which are sorted behind all IRIs
    for subject, about in groupby(lines, key=subject_of):
        own = list(about)
        if any(b"<<(" in line for line in own):
            own = sorted({term for line in own for term in _without_terms(line)})
        if subject.startswith(b"_:"):
            last.update(own)
        else:
            last.update(line for line in own if line.startswith(b"_:"))
            yield from (line for line in own if not line.startswith(b"_:"))
    yield from sorted(last)


def subject_of(line: bytes) -> bytes:
    """Return the subject of a line.

    >>> subject_of(b'<urn:s> <urn:p> "a" .')
    b'<urn:s>'
    """
    return line.partition(b" ")[0]


def split_line(line: bytes) -> tuple[bytes, bytes, bytes, bytes]:
    """Return subject, predicate, object and graph (empty for the default graph) of a line.

    >>> split_line(b'<urn:s> <urn:p> "a . b"@en <urn:g> .')
    (b'<urn:s>', b'<urn:p>', b'"a . b"@en', b'<urn:g>')
    """
    match = _LINE.match(line)
    if not match:
        raise ValueError(f"not a line of N-Quads: {line[:80]!r}")
    return match[1], match[2], match[3], match[4] or b""


def graph_of(line: bytes) -> bytes:
    """Return the graph of a line, empty for the default graph.

    >>> graph_of(b'<urn:s> <urn:p> "a . b"@en <urn:g> .'), graph_of(b"<urn:s> <urn:p> <urn:o> .")
    (b'<urn:g>', b'')
    """
    # most lines are distinguished by these alone: three spaces, or a text at the end
    if line.count(b" ") == 3 or line.endswith((b'" .', b")>> .")):
        return b""
    return split_line(line)[3]


def default_graph_lines(lines: Iterable[bytes]) -> Iterator[bytes]:
    """Keep the accepted view."""
    return (line for line in lines if not graph_of(line))


def group_by_graph(lines: Iterable[bytes]) -> Iterator[bytes]:
    """Assemble the default graph first and every named graph, for TriG."""
    behind: dict[bytes, list[bytes]] = {}
    for line in lines:
        place = graph_of(line)
        if place:
            behind.setdefault(place, []).append(line)
        else:
            yield line
    for _, result in sorted(behind.items()):
        yield from result


def _stored_lines(store: QuadStore) -> Iterator[bytes]:
    """Yield every quad as a line, in the store's own order, very many lines at once."""
    if isinstance(store, OxigraphStore):
        yield from _pipe_dump(store)
        return
    quads = iter(store.match())
    while batch := list(islice(quads, _BATCH)):
        yield serialize(batch, "nq", {})


def _pipe_dump(store: OxigraphStore) -> Iterator[bytes]:
    """Yield the dump of a store through a pipe, which takes no room on the disk."""
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
            rest_of_block = b""
            while read := file.read(_PIPED):
                whole, mark, rest = read.rpartition(b"\n")
                if mark:
                    yield rest_of_block + whole
                    rest_of_block = rest
                else:  # a line longer than a block
                    rest_of_block += rest
    finally:
        filler.join()  # closing our end ends it, also where nobody reads on
    if faults:
        raise faults[0]


def _has_blank(line: bytes) -> bool:
    subject, _, value, place = split_line(line)
    return any(block.startswith(b"_:") for block in (subject, value, place)) or (
        value.startswith(b"<<(") and (value.startswith(b"<<( _:") or b" _:" in value)
    )


def _without_terms(line: bytes) -> Iterator[bytes]:
    if b"<<(" not in line:
        yield line
        return
    for quad in to_rdf11(parse_n_quads_lines([line])):
        yield f"{quad} .".encode()
