"""``shiyi query``."""

import argparse
import sys
from pathlib import Path

from shiyi.errors import UsageError
from shiyi.settings import Settings

FORMATS = ("json", "xml", "csv", "tsv", "ttl", "nt", "nq", "trig", "rdf")


def configure(parser: argparse.ArgumentParser) -> None:
    """Say what ``shiyi query`` takes."""
    parser.add_argument("file", metavar="FILE", help="a file with one SPARQL query, or - for stdin")
    parser.add_argument("--format", choices=FORMATS, help="default: tsv for rows, ttl for graphs")
    parser.add_argument("--timeout", type=float, metavar="S", help="seconds, up to the cap")


def read_text(name: str) -> str:
    """Read a file, or standard input for ``-``; complain by name."""
    try:
        data = sys.stdin.buffer.read() if name == "-" else Path(name).read_bytes()
        return data.decode("utf-8")
    except OSError as fault:
        raise UsageError(f"{name} cannot be read: {fault.strerror}") from fault
    except UnicodeDecodeError as fault:
        raise UsageError(f"{name} is not UTF-8 text: save it as UTF-8") from fault


def run(args: argparse.Namespace, settings: Settings) -> int:
    """Run the query in a contained worker and print its result."""
    from shiyi.sparql.free_query import FreeQuery
    from shiyi.sparql.knowledge_base import KnowledgeBase
    from shiyi.sparql.results import ResultFormat
    from shiyi.sparql.workers import pool_of

    text = read_text(args.file)
    accepted = ResultFormat.of(args.format) if args.format else ResultFormat("tsv", "ttl")
    with KnowledgeBase.of(settings) as base, pool_of(base, settings.query) as pool:
        # who may read the folder may read all of it
        result = pool.stream(FreeQuery(text, accepted, args.timeout, whole=True))
    last = b""
    with result.body as body:
        for last in body.parts():
            sys.stdout.buffer.write(last)
    if not last.endswith(b"\n"):
        sys.stdout.buffer.write(b"\n")
    return 0
