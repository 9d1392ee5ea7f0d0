"""``shiyi validate``."""

import argparse
from collections.abc import Iterator
from dataclasses import asdict
from itertools import chain
from typing import TYPE_CHECKING

from shiyi.cli import emit
from shiyi.settings import Settings

if TYPE_CHECKING:
    from shiyi.model.rdf import Quad
    from shiyi.shapes.validation import Result
    from shiyi.sparql.knowledge_base import KnowledgeBase


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
    from shiyi.model.rdf import parse
    from shiyi.sparql.knowledge_base import KnowledgeBase

    if args.files:
        parsed = (quad for name in args.files for quad in parse(read_text(name), name))
        held = list(dict.fromkeys(parsed))
        count, results = len(held), conform(held)
    else:
        with KnowledgeBase.of(settings) as base:
            count, results = conform_base(base)
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


def conform_base(base: "KnowledgeBase") -> tuple[int, tuple["Result", ...]]:
    """Count the triples of the accepted view, and list what the shapes say against them."""
    from shiyi.cli.making import conform
    from shiyi.model.rdf import DefaultGraph
    from shiyi.ontology.terms import RDF, RDFS
    from shiyi.shapes.parts import validate_parts
    from shiyi.shapes.validation import shapes_graph
    from shiyi.sparql.oxigraph import OxigraphStore

    store, accepted = base.store, DefaultGraph()
    if not isinstance(store, OxigraphStore):  # it gives the quads of a subject here and there
        held = list(store.match(graph=accepted))
        return len(held), conform(held)
    count = 0

    def counted() -> Iterator["Quad"]:
        nonlocal count
        for quad in store.match(graph=accepted):
            count += 1
            yield quad

    types = chain.from_iterable(
        store.match(None, each, None, accepted) for each in (RDF.type, RDFS.subClassOf)
    )
    results = validate_parts(counted(), types, shapes_graph())
    return count, results
