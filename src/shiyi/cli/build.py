"""``shiyi build``, ``index`` and ``validate``."""

import sys
import time
from collections.abc import Iterator
from itertools import chain
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Context, Option

from shiyi.cli.terminal import Json, Tables, emit, read_text, settings_of, warn

if TYPE_CHECKING:
    from shiyi.model.rdf import Quad
    from shiyi.shapes.validation import Result
    from shiyi.sparql.base.knowledge_base import KnowledgeBase


def build(
    ctx: Context,
    check: Annotated[bool, Option("--check", help="Read and validate, build nothing.")] = False,
    tables: Tables = None,
    if_missing: Annotated[bool, Option("--if-missing", help="Keep a base that exists.")] = False,
    lose_changes: Annotated[
        bool, Option("--lose-changes", help="Build, and drop changes that are not in the journal.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Build the base, or only check the tables; print the counts."""
    from shiyi.build import Steps, check_tables, make_base

    settings, started = settings_of(ctx), time.perf_counter()
    if if_missing and (settings.kb / "CURRENT").is_file():
        return
    if check:
        report: dict[str, Any] = {"release": None, "counts": check_tables(tables, settings)}
    else:
        report = make_base(tables, settings, Steps(sys.stderr), lose_changes)
    report["seconds"] = round(time.perf_counter() - started, 2)
    if as_json:
        emit(report)
        return
    counts = report["counts"]
    print(
        f"{'checked' if check else f'built {settings.kb}'}: {counts['claims']:,} claims with "
        f"{counts['evidence']:,} pieces of evidence on {counts['concepts']:,} concepts "
        f"from {counts['sources']} sources in {report['seconds']} s"
    )


def index(ctx: Context, as_json: Json = False) -> None:
    """Rebuild the indexes of the base."""
    from shiyi.build import Steps, rebuild_indexes

    started = time.perf_counter()
    if not as_json:
        warn("indexing names, claims and texts; minutes for a large base")
    size = rebuild_indexes(settings_of(ctx), Steps(sys.stderr))
    seconds = round(time.perf_counter() - started, 1)
    if as_json:
        emit({"bytes": size, "seconds": seconds})
    else:
        print(f"indexes of {size / 1e6:.1f} MB in {seconds} s")


def validate(
    ctx: Context,
    files: Annotated[
        list[str] | None, Argument(metavar="FILE...", help="ttl, nt, nq or trig; none: the base.")
    ] = None,
    as_json: Json = False,
) -> int:
    """Print the SHACL report; status 1 where a shape is violated."""
    from dataclasses import asdict

    from shiyi.build import validate_quads
    from shiyi.model.rdf import parse
    from shiyi.sparql.base.knowledge_base import KnowledgeBase

    if files:
        parsed_quads = (quad for name in files for quad in parse(read_text(name), name))
        quads = list(dict.fromkeys(parsed_quads))
        count, results = len(quads), validate_quads(quads)
    else:
        with KnowledgeBase.of(settings_of(ctx)) as base:
            count, results = conform_base(base)
    violations = sum(each.severity == "Violation" for each in results)
    if as_json:
        emit(
            {
                "conforms": not violations,
                "triples": count,
                "violations": violations,
                "results": [asdict(each) for each in results],
            }
        )
    else:
        for result in results:
            print(result)
        print(
            f"{count:,} triples checked: {violations} violations, "
            f"{len(results) - violations} warnings"
        )
    return 1 if violations else 0


def conform_base(base: "KnowledgeBase") -> tuple[int, tuple["Result", ...]]:
    """Count the triples of the accepted view, and list what the shapes report on them."""
    from shiyi.build import validate_quads
    from shiyi.model.rdf import DefaultGraph
    from shiyi.ontology.terms import RDF, RDFS
    from shiyi.shapes.partitioning import validate_parts
    from shiyi.shapes.validation import shapes_graph
    from shiyi.sparql.store.oxigraph import OxigraphStore

    store, graph = base.store, DefaultGraph()
    if not isinstance(store, OxigraphStore):  # its quads do not come subject by subject
        quads = list(store.match(graph=graph))
        return len(quads), validate_quads(quads)
    count = 0

    def count_quads() -> Iterator["Quad"]:
        nonlocal count
        count = 0
        for quad in store.match(graph=graph):
            count += 1
            yield quad

    types = chain.from_iterable(
        store.match(None, node, None, graph) for node in (RDF.type, RDFS.subClassOf)
    )
    results = validate_parts(count_quads, types, shapes_graph())
    return count, results
