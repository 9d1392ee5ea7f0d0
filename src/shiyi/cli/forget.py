"""``shiyi forget``."""

import argparse

from shiyi.cli import emit
from shiyi.settings import Settings


def configure(parser: argparse.ArgumentParser) -> None:
    """Say what ``shiyi forget`` takes."""
    parser.add_argument("source", metavar="SOURCE[@VERSION]", help="what `shiyi ingest` named it")
    parser.add_argument("--json", action="store_true", help="print the counts as JSON")


def run(args: argparse.Namespace, settings: Settings) -> int:
    """Remove the source; print what went."""
    from shiyi.cli.making import infer_anew
    from shiyi.ingest.forget import forget
    from shiyi.sparql.knowledge_base import KnowledgeBase

    name, _, version = args.source.partition("@")
    with KnowledgeBase.of(settings, write=True) as base:
        gone = forget(base.writer, "tcm-ancient-books" if name == "books" else name, version)
        if gone["asserted"]:
            infer_anew(base, settings)
    if args.json:
        emit(gone)
    else:
        print(f"forgot {args.source}: {gone['quads']:,} quads, {gone['evidence']:,} pieces of "
              f"evidence, {gone['claims']:,} claims that stood on them alone")  # fmt: skip
    return 0
