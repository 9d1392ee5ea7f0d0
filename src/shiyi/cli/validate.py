"""``shiyi validate``."""

import argparse
from dataclasses import asdict

from shiyi.cli import emit
from shiyi.settings import Settings


def configure(parser: argparse.ArgumentParser) -> None:
    """Say what ``shiyi validate`` takes."""
    parser.add_argument(
        "files", nargs="*", metavar="FILE", help="ttl, nt, nq or trig; none: the base"
    )
    parser.add_argument("--json", action="store_true", help="print the report as JSON")


def run(args: argparse.Namespace, settings: Settings) -> int:
    """Print the SHACL report; status 1 where something is violated."""
    from shiyi.cli.making import conform
    from shiyi.cli.query import read_text
    from shiyi.model.rdf import DefaultGraph, parse
    from shiyi.shapes.validation import lowered, shapes_graph, validate
    from shiyi.sparql.knowledge_base import KnowledgeBase

    if args.files:
        parsed = (quad for name in args.files for quad in parse(read_text(name), name))
        data = lowered(parsed)
        count, results = len(data), validate(data, shapes_graph())
    else:
        with KnowledgeBase.of(settings) as base:
            held = list(base.store.match(graph=DefaultGraph()))
        count, results = len(held), conform(held)
    violations = sum(each.severity == "Violation" for each in results)
    if args.json:
        emit({"conforms": not violations, "triples": count, "violations": violations,
              "results": [asdict(each) for each in results]})  # fmt: skip
    else:
        for each in results:
            print(each)
        print(f"{count:,} triples checked: {violations} violations, "
              f"{len(results) - violations} warnings")  # fmt: skip
    return 1 if violations else 0
