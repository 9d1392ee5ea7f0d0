"""How parent and worker speak: a JSON header and a body, each with its length before it.

A long body comes in parts: all but the last have no header.
"""

import json
import struct
from typing import Any

FRAME = struct.Struct(">II")


def packed(header: dict[str, Any], body: bytes) -> bytes:
    r"""Write one message.

    >>> packed({}, b"x")
    b'\x00\x00\x00\x02\x00\x00\x00\x01{}x'
    """
    text = json.dumps(header).encode()
    return FRAME.pack(len(text), len(body)) + text + body


def part(body: bytes) -> bytes:
    r"""Write one part of a body that goes on.

    >>> part(b"x")
    b'\x00\x00\x00\x00\x00\x00\x00\x01x'
    """
    return FRAME.pack(0, len(body)) + body
