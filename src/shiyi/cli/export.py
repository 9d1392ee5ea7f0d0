"""``shiyi export``."""

import argparse
import sys
from pathlib import Path

from shiyi.errors import UsageError
from shiyi.settings import Settings

RDF_FORMATS = ("nq", "trig", "ttl", "nt", "jsonld", "rdfxml")
TABLE_FORMATS = ("csv", "neo4j", "kgx", "sssom")


def configure(parser: argparse.ArgumentParser) -> None:
    """Say what ``shiyi export`` takes."""
    parser.add_argument("--profile", choices=("rdf12", "rdf11"), default="rdf12")
    parser.add_argument("--format", choices=(*RDF_FORMATS, *TABLE_FORMATS), default="nq")
    parser.add_argument("--licence", metavar="L", help="only what sources under this licence say")
    parser.add_argument("-o", "--output", metavar="PATH", required=True, type=Path,
                        help="a file, a folder for tables, or - for stdout")  # fmt: skip


def run(args: argparse.Namespace, settings: Settings) -> int:
    """Write the knowledge base; say how much was written."""
    from shiyi.publishing import dumps, tables
    from shiyi.sparql.knowledge_base import KnowledgeBase

    with KnowledgeBase.open(settings.kb) as base:
        if args.format in RDF_FORMATS:
            data = dumps.dump(base.store, args.format, args.profile, args.licence)
            if str(args.output) == "-":
                sys.stdout.buffer.write(data)
            else:
                _write(args.output, data)
            said = f"{len(data):,} bytes of {args.format}"
        else:
            if str(args.output) == "-":
                raise UsageError(f"{args.format} is several files: name a folder with -o")
            made = {
                "csv": lambda: tables.csv_tables(base.store, args.licence),
                "neo4j": lambda: tables.neo4j_tables(base.store, args.licence),
                "kgx": lambda: tables.kgx_tables(base.store, args.licence),
                "sssom": lambda: iter((tables.sssom_table(base.store),)),
            }[args.format]()
            said = f"{tables.write_tables(made, args.output):,} rows of {args.format}"
    print(f"wrote {said} to {args.output}", file=sys.stderr)
    return 0


def _write(path: Path, data: bytes) -> None:
    """Write beside the target and rename, so that a failed export leaves the old file."""
    part = path.with_name(path.name + ".part")
    try:
        part.write_bytes(data)
        part.replace(path)
    except OSError as fault:
        part.unlink(missing_ok=True)
        raise UsageError(f"{path} cannot be written: {fault.strerror}") from fault
