"""Validation of a base by parts and all at once: ``python bench/validating.py [KB] [--size idisk]``.

Each way has a process of its own, so that its memory is distinguished; their reports must be the same.
"""

import argparse
import gc
import hashlib
import json
import sys
import time
from pathlib import Path

from ask import WHERE
from grown import SIZES, grow
from loading import ran

from shiyi.cli.build import conform_base
from shiyi.model.rdf import DefaultGraph
from shiyi.shapes.validation import Result, shapes_graph, to_graph, validate
from shiyi.sparql.base.knowledge_base import KnowledgeBase

WAYS = ("parts", "whole")


def main(kb: Path, size: str) -> None:
    """Print what each way took."""
    reports = set[str]()
    for way in WAYS:
        words = [sys.executable, __file__, str(kb), "--one", way]
        message, spent = ran(words)
        reply = json.loads(message)
        reports.add(reply.pop("report"))
        print(
            json.dumps(
                {
                    "size": size,
                    "way": way,
                    **reply,
                    "processor s": round(spent.processor, 1),
                    "MiB at most": round(spent.peak),
                }
            ),
            flush=True,
        )
    if len(reports) > 1:
        raise SystemExit("the reports differ")


def validate_one(kb: Path, way: str) -> None:
    """Validate in this process, and print what was found."""
    begun = time.perf_counter()
    with KnowledgeBase.open(kb) as base:
        count, results = conform_base(base) if way == "parts" else validate_at_once(base)
    report = hashlib.sha256("\n".join(sorted(map(repr, results))).encode()).hexdigest()
    print(
        json.dumps(
            {
                "triples": count,
                "results": len(results),
                "report": report,
                "seconds": round(time.perf_counter() - begun, 1),
            }
        )
    )


def validate_at_once(base: KnowledgeBase) -> tuple[int, tuple[Result, ...]]:
    """Validate everything as one graph."""
    gc.disable()  # as by parts: looking through what stays costs a quarter
    quads = list(base.store.match(graph=DefaultGraph()))
    return len(quads), validate(to_graph(quads), shapes_graph())


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kb", nargs="?", type=Path, default=Path("kb"))
    parser.add_argument("--size", choices=("starter", *SIZES), default="starter")
    parser.add_argument("--where", type=Path, default=WHERE)
    parser.add_argument("--one", choices=WAYS, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        validate_one(options.kb, options.one)
    else:
        if options.size != "starter":
            options.kb = grow(options.kb, *SIZES[options.size], options.where)
        main(options.kb, options.size)
