"""The pipe protocol; counting rows as they stream.

A long body comes in parts: all but the last have no header.

Imports nothing but the standard library, since each worker pays for it at its start.
"""

import json
import os
import struct
import sys
from typing import Any

FRAME = struct.Struct(">II")


def pack(header: dict[str, Any], body: bytes) -> bytes:
    r"""Write one message.

    >>> pack({}, b"x")
    b'\x00\x00\x00\x02\x00\x00\x00\x01{}x'
    """
    text = json.dumps(header).encode()
    return FRAME.pack(len(text), len(body)) + text + body


def pack_part(body: bytes) -> bytes:
    r"""Write one part of a body that goes on.

    >>> pack_part(b"x")
    b'\x00\x00\x00\x00\x00\x00\x00\x01x'
    """
    return FRAME.pack(0, len(body)) + body


def receive() -> tuple[dict[str, Any], bytes] | None:
    """Read the next message from standard input; None at its end."""
    head = _read(FRAME.size)
    if head is None:
        return None
    length, following = FRAME.unpack(head)
    text, body = _read(length), _read(following)
    return None if text is None or body is None else (json.loads(text), body)


def _read(size: int) -> bytes | None:
    read = sys.stdin.buffer.read(size)
    return read if len(read) == size else None


def send(header: dict[str, Any], body: bytes) -> None:
    """Write one message to standard output."""
    write(pack(header, body))


def write(message: bytes) -> None:
    """Write bytes to standard output, whole."""
    left = memoryview(message)
    while len(left):
        left = left[os.write(1, left) :]


class RowCounter:
    r"""A counter of the rows of one result; ``form`` is that of the solutions, or ``none``.

    >>> counter = RowCounter("json")
    >>> for part in (
    ...     b'{"head":{},"results":{"bindings":[{},',
    ...     b'{"a":{"value":"x,{\\',
    ...     b'"{"}}]}}',
    ... ):
    ...     counter.feed(part)
    >>> counter.rows
    2
    """

    def __init__(self, form: str) -> None:
        self.rows = -1 if form in {"csv", "tsv"} else 0  # their first line holds the names
        self._form, self._left = form, b""
        self._quoted, self._edge = False, b""  # how the last part ended

    def feed(self, part: bytes) -> None:
        """Count in one more part."""
        if self._form == "xml":
            text = self._left + part
            self.rows += text.count(b"<result>")
            self._left = text[-7:]  # one byte too short to be counted twice
        elif self._form == "tsv":
            self.rows += part.count(b"\n")  # its literals escape the line feed
        elif self._form == "csv":
            self.rows += self._outside(part).count(b"\n")  # with a return before it or not
        elif self._form == "json":
            self._json(part)

    def _json(self, part: bytes) -> None:
        """Count the braces that follow a comma or open a list; a term follows a colon."""
        text = self._left + part
        whole = text.rstrip(b"\\")
        self._left = text[len(whole) :]
        bare = whole.replace(b"\\\\", b"").replace(b'\\"', b"")
        skeleton = self._edge + self._outside(bare).translate(None, b" \t\r\n")
        self._edge = skeleton[-1:]
        self.rows += skeleton.count(b"[{") + skeleton.count(b",{")

    def _outside(self, bare: bytes) -> bytes:
        """Return what stands outside quotes."""
        pieces = bare.split(b'"')
        outside = b"".join(pieces[1 if self._quoted else 0 :: 2])
        self._quoted ^= len(pieces) % 2 == 0
        return outside
