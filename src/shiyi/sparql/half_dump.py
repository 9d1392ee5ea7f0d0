"""One half of a store that nobody writes to, as N-Quads on the standard output.

A program of its own, since one process writes out some 150,000 quads a second and there are more
cores. Imports pyoxigraph and the standard library only.
"""

import re
import sys
from typing import IO, Final, cast

from pyoxigraph import QueryResultsFormat, QuerySolutions, RdfFormat, Store

_BLOCK: Final = 1 << 20  # bytes
_XSD: Final = b"http://www.w3.org/2001/XMLSchema#"
# where TSV writes a literal without its type (SPARQL 1.1 CSV/TSV, section 4.2): bare, or in a triple term
_NUMBER: Final = rb"([0-9+\-.][0-9+\-.eE]*|true|false)"
_BARE: Final = re.compile(rb"(\t)" + _NUMBER + rb"()\n")
_WITHIN: Final = re.compile(rb"( )" + _NUMBER + rb"((?: \)>>)+)\n")
_CONTROLS: Final = bytes({*range(0x20), 0x7F} - {0x09, 0x0A})
_NO_CHARACTERS: Final = (b"\xef\xbf\xbe", b"\xef\xbf\xbf")
_UNWRITTEN: Final = re.compile(rb"[\x00-\x08\x0b-\x1f\x7f]|\xef\xbf[\xbe\xbf]")
_SHORT: Final = {b"\b": rb"\b", b"\f": rb"\f"}


def n_triples(rows: bytes, ending: bytes = b" .\n") -> bytes:
    r"""Write whole rows ``s p o`` of a TSV result as canonical N-Triples.

    >>> n_triples(b"<urn:s>\t<urn:p>\t0.5\n")
    b'<urn:s> <urn:p> "0.5"^^<http://www.w3.org/2001/XMLSchema#decimal> .\n'
    """
    rows = _BARE.sub(_typed, rows)
    # to count is faster by far than to look for them where there are none, which is nearly always
    if rows.count(b" )>>\n") > rows.count(b"> )>>\n") or b")>> )>>" in rows:
        rows = _WITHIN.sub(_typed, rows)
    if len(rows.translate(None, _CONTROLS)) < len(rows) or any(c in rows for c in _NO_CHARACTERS):
        rows = _UNWRITTEN.sub(_escaped, rows)
    return rows.replace(b"\t", b" ").replace(b"\n", ending)


def _typed(found: re.Match[bytes]) -> bytes:
    before, value, after = found.groups()
    if value in {b"true", b"false"}:
        kind = b"boolean"
    elif b"e" in value.lower():
        kind = b"double"
    else:
        kind = b"decimal" if b"." in value else b"integer"
    return b'%b"%b"^^<%b%b>%b\n' % (before, value, _XSD, kind, after)


def _escaped(found: re.Match[bytes]) -> bytes:
    said = found[0]
    return _SHORT.get(said) or b"\\u%04X" % ord(said.decode())


class _Blocks:
    """Takes what the store writes, and passes on whole lines, written another way."""

    def __init__(self, file: IO[bytes], ending: bytes = b"", header: bool = False) -> None:
        self._file, self._ending, self._header = file, ending, header
        self._held = bytearray()

    def write(self, part: bytes) -> int:
        self._held += part
        if len(self._held) >= _BLOCK:
            self.flush()
        return len(part)

    def flush(self) -> None:
        """Pass on the whole lines that are held."""
        whole = bytes(self._held[: self._held.rfind(b"\n") + 1])
        del self._held[: len(whole)]
        if self._header and whole:
            whole, self._header = whole.partition(b"\n")[2], False
        if self._ending:  # N-Triples of a named graph
            self._file.write(whole.replace(b" .\n", self._ending))
        else:
            self._file.write(n_triples(whole))


def main(path: str, half: str, middle: str) -> None:
    """Write the default graph up to quad number ``middle``, or what follows and the named graphs."""
    store = Store.read_only(path)
    part = f"LIMIT {int(middle)}" if half == "first" else f"OFFSET {int(middle)}"
    # nosemgrep: query-joined-from-pieces - a word of ours and a whole number, which no term can stand for
    found = store.query(f"SELECT ?s ?p ?o {{ ?s ?p ?o }} {part}")
    sink = _Blocks(sys.stdout.buffer, header=True)
    cast("QuerySolutions", found).serialize(cast("IO[bytes]", sink), format=QueryResultsFormat.TSV)
    sink.flush()
    if half != "first":
        for graph in store.named_graphs():
            sink = _Blocks(sys.stdout.buffer, ending=f" {graph} .\n".encode())
            store.dump(cast("IO[bytes]", sink), RdfFormat.N_TRIPLES, from_graph=graph)
            sink.flush()
    sys.stdout.buffer.flush()
