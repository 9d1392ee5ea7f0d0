"""Export and pages of a base: `python bench/publishing.py [KB] [--size starter|yaoshi|idisk]`.

The base, grown to a size with made-up claims, is exported in every form, and pages and data of concepts
and claims are asked for over HTTP, each once and cold. What may leave is gathered and sorted once, as a
release does it; an export in one form takes that and its own time, `gather_s` + `FORM_s`.
"""

import argparse
import json
import random
import resource
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from ask import WHERE
from grown import SIZES, grow
from serving import ask, start_server

from shiyi.model.iris import ID
from shiyi.model.rdf import DefaultGraph, text
from shiyi.ontology.terms import RDF, SHIYI, SKOS
from shiyi.publishing import tables
from shiyi.publishing.dumps import write_dump, write_lines
from shiyi.sparql.base.knowledge_base import KnowledgeBase

PAGES = 200
FORMS = (
    ("rdf12", "ttl"), ("rdf12", "trig"), ("rdf11", "nq"), ("rdf11", "jsonld"), ("nanopub", "trig"),
)  # fmt: skip


def export(kb: Path, folder: Path) -> dict[str, float]:
    """Time the exports, each with everything that may leave, by the clock and the processor."""
    took: dict[str, float] = {}

    def timed(name: str, work: Callable[[], object]) -> None:
        started, used = time.perf_counter(), time.process_time()
        work()
        took[f"{name}_s"] = round(time.perf_counter() - started, 1)
        took[f"{name}_cpu_s"] = round(time.process_time() - used, 1)

    whole = folder / "all.nq"
    with KnowledgeBase.open(kb) as base:
        took["quads"] = len(base.store)
        with whole.open("wb") as file:
            timed("gather", lambda: write_dump(base.store, file, "nq"))
        for profile, form in FORMS:
            with (folder / "part").open("wb") as file:
                timed(f"{profile}_{form}", partial(write_lines, _lines(whole), file, form, profile))
        # those for Neo4j and KGX read the same claims in the same way as CSV, and take as long
        for name, make in (("csv", tables.csv_tables), ("sssom", tables.sssom_tables)):
            timed(name, partial(tables.write_tables, make(base.store), folder / "csv"))
    took["export_peak_mib"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    return took


def _lines(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        for line in file:
            yield line[:-1]


def ask_pages(kb: Path) -> dict[str, float]:
    """Time pages and data of concepts and of claims."""
    with KnowledgeBase.open(kb) as base:
        names = {
            kind: sorted(
                text(quad.subject).removeprefix(ID)
                for quad in base.store.match(None, RDF.type, of, DefaultGraph())
            )
            for kind, of in (("concept", SKOS.Concept), ("claim", SHIYI.Claim))
        }
    draw, took = random.Random(1), dict[str, float]()  # noqa: S311 - the same each time
    server, port, _ = start_server(str(kb))
    try:
        for kind, known in names.items():
            for form, ending in (("page", ""), ("data", ".ttl")):
                chosen = draw.sample(known, PAGES)
                times = [ask(port, f"/{form}/{name}{ending}")[0] for name in chosen]
                took[f"{kind}_{form}_p50_ms"] = round(statistics.median(times), 1)
                took[f"{kind}_{form}_p95_ms"] = round(statistics.quantiles(times, n=20)[-1], 1)
    finally:
        server.terminate()
        server.wait(30)
    return took


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kb", nargs="?", type=Path, default=Path("kb"))
    parser.add_argument("--size", choices=("starter", *SIZES), default="starter")
    parser.add_argument("--where", type=Path, default=WHERE)
    args = parser.parse_args()
    kb = args.kb if args.size == "starter" else grow(args.kb, *SIZES[args.size], args.where)
    with tempfile.TemporaryDirectory() as folder:
        print(json.dumps({"size": args.size, **export(kb, Path(folder)), **ask_pages(kb)}))


if __name__ == "__main__":
    main()
