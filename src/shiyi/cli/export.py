"""``shiyi export``."""

import argparse
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING

from shiyi.errors import UsageError
from shiyi.settings import Settings

if TYPE_CHECKING:
    from shiyi.sparql.store import QuadStore

RDF_FORMATS = ("nq", "trig", "ttl", "nt", "jsonld", "rdfxml")
TABLE_FORMATS = ("csv", "neo4j", "kgx", "sssom", "parquet")
PROFILES = ("rdf12", "rdf11", "singleton", "nanopub", "skos")


def configure(parser: argparse.ArgumentParser) -> None:
    """Say what ``shiyi export`` takes."""
    parser.add_argument("what", nargs="?", choices=("all", "sft"), default="all",
                        help="sft: the fine-tuning set of the schools, in chat format")  # fmt: skip
    parser.add_argument("--school", metavar="NAME", help="sft: of this school alone")
    parser.add_argument("--profile", choices=PROFILES, default="rdf12",
                        help="how claims are written; default: RDF 1.2 triple terms")  # fmt: skip
    parser.add_argument("--format", choices=(*RDF_FORMATS, *TABLE_FORMATS), default="nq")
    parser.add_argument("--licence", metavar="L", help="only what sources under this licence say")
    parser.add_argument("-o", "--output", metavar="PATH", required=True, type=Path,
                        help="a file, a folder for tables, or - for stdout")  # fmt: skip


def run(args: argparse.Namespace, settings: Settings) -> int:
    """Write the knowledge base; say how much was written."""
    from shiyi.sparql.knowledge_base import KnowledgeBase

    with KnowledgeBase.of(settings) as base:
        if args.what == "sft":
            said = _training(base.store, args)
        else:
            written = _rdf if args.format in RDF_FORMATS else _tables
            said = f"{written(base.store, args)} of {args.format}"
    print(f"wrote {said} to {args.output}", file=sys.stderr)
    return 0


def _rdf(store: "QuadStore", args: argparse.Namespace) -> str:
    from shiyi.publishing.dumps import check, write_dump

    check(args.format, args.profile)
    if str(args.output) == "-":
        write_dump(store, sys.stdout.buffer, args.format, args.profile, args.licence)
        return "all"
    with _replaced(args.output) as file:
        write_dump(store, file, args.format, args.profile, args.licence)
        return f"{file.tell():,} bytes"


def _training(store: "QuadStore", args: argparse.Namespace) -> str:
    from shiyi.ingest.schools.training import training_lines
    from shiyi.sparql.school_layer import chains, schools

    known, wanted = schools(store), ""
    if args.school:
        named = [iri for iri, name in known.items() if args.school in {name, iri}]
        if not named:
            held = ", ".join(sorted(known.values())) or "none"
            raise UsageError(f"this base holds no school {args.school}; it holds {held}")
        wanted = named[0]
    lines = [f"{line}\n".encode() for line in training_lines(chains(store, wanted))]
    if str(args.output) == "-":
        sys.stdout.buffer.writelines(lines)
    else:
        with _replaced(args.output) as file:
            file.writelines(lines)
    return f"{len(lines):,} conversations"


def _tables(store: "QuadStore", args: argparse.Namespace) -> str:
    from shiyi.publishing import parquet, tables

    if str(args.output) == "-":
        raise UsageError(f"{args.format} is several files: name a folder with -o")
    made = {
        "csv": tables.csv_tables, "neo4j": tables.neo4j_tables, "kgx": tables.kgx_tables,
        "sssom": tables.sssom_tables, "parquet": tables.csv_tables,
    }[args.format](store, args.licence)  # fmt: skip
    if args.format == "parquet":
        return f"{parquet.write_parquet(made, args.output):,} rows"
    return f"{tables.write_tables(made, args.output):,} rows"


@contextmanager
def _replaced(path: Path) -> Iterator[IO[bytes]]:
    """Write beside the target and rename, so that a failed export leaves the old file."""
    part = path.with_name(path.name + ".part")
    try:
        with part.open("wb") as file:
            yield file
        part.replace(path)
    except OSError as fault:
        raise UsageError(f"{path} cannot be written: {fault.strerror}") from fault
    finally:
        part.unlink(missing_ok=True)
