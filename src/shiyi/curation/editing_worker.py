"""A worker that checks unsaved statements with the shapes, confined: what others wrote is hostile."""

import json
import os
import signal
import sys
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from shiyi.errors import ShiyiError
from shiyi.ingest.gate import pruned
from shiyi.shapes.validation import lowered, shape_names, shapes_graph, validate
from shiyi.sparql.confinement import confine
from shiyi.sparql.oxigraph import parse_n_quads
from shiyi.sparql.worker_frames import FRAME, packed

if TYPE_CHECKING:
    from rdflib import Graph

_GRACE = 1.0  # seconds after the deadline until a worker whose parent died ends itself


def main(memory_mib: str, rows: str, size: str) -> None:
    """Read the shapes, give up sockets and memory, then answer until standard input ends."""
    shapes = shapes_graph()
    names = {name: shapes_graph(name) for name in shape_names()}
    validate(lowered(parse_n_quads(_FIRST)), names["review"])  # so that the first asker waits less
    blocked = confine(int(memory_mib))
    _send({"outcome": "ready", "network_blocked": blocked})
    kept: dict[frozenset[str], Graph] = {}
    while (received := _receive()) is not None:
        request, body = received
        signal.setitimer(signal.ITIMER_REAL, request["seconds"] + _GRACE)
        relations = frozenset(request["relations"])
        if request["shape"]:
            chosen = names[request["shape"]]
        else:
            if relations not in kept:
                kept[relations] = pruned(_copy(shapes), relations)
            chosen = kept[relations]
        _send(_checked(body, chosen))
        signal.setitimer(signal.ITIMER_REAL, 0)


_FIRST = b"<https://e.org/a> <https://e.org/p> <https://e.org/b> .\n"


def _checked(body: bytes, shapes: "Graph") -> dict[str, Any]:
    try:
        results = validate(lowered(parse_n_quads(body)), shapes)
    except MemoryError:
        return {"outcome": "limit", "limit": "memory"}
    except (ShiyiError, ValueError) as fault:
        return {"outcome": "refused", "message": str(fault)[:400]}
    return {"outcome": "whole", "results": [asdict(each) for each in results]}


def _copy(graph: "Graph") -> "Graph":
    from rdflib import Graph

    return Graph() + graph


def _receive() -> tuple[dict[str, Any], bytes] | None:
    head = sys.stdin.buffer.read(FRAME.size)
    if len(head) != FRAME.size:
        return None
    length, following = FRAME.unpack(head)
    text, body = sys.stdin.buffer.read(length), sys.stdin.buffer.read(following)
    return (json.loads(text), body) if len(body) == following else None


def _send(header: dict[str, Any]) -> None:
    left = memoryview(packed(header, b""))
    while len(left):
        left = left[os.write(1, left) :]
