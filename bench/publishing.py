"""Export and pages at the size of iDISK 2.0: `python bench/publishing.py [--claims 334265] [--keep DIR]`.

A made-up base with that many claims, one to three pieces of evidence each, is exported in every form,
and its concepts' pages and data are asked for over HTTP, each once and cold. What may leave is gathered and
sorted once, as a release does it; an export in one form takes that and its own time, `gather_s` + `FORM_s`.
"""

import argparse
import json
import os
import random
import resource
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from http.client import HTTPConnection
from pathlib import Path

from shiyi.model.claim import Claim, Evidence, Source, Tier
from shiyi.model.confidence import Confidence
from shiyi.model.names import resource as named
from shiyi.model.rdf import DefaultGraph, Literal, Quad
from shiyi.ontology.statements import claim_quads, source_quads
from shiyi.ontology.terms import RDF, SHIYI, SKOS
from shiyi.settings import Settings
from shiyi.sparql.generations import build_generation
from shiyi.sparql.knowledge_base import KnowledgeBase

CLAIMS = 334_265  # relations of iDISK 2.0
CONCEPTS = {"DSIngredient": 7_000, "Drug": 2_000, "Disease": 4_000, "Symptom": 2_000, "Food": 2_000}
RELATIONS = (
    ("DSIngredient", SHIYI.interactsWith, "Drug"), ("DSIngredient", SHIYI.isEffectiveFor, "Disease"),
    ("Food", SHIYI.relieves, "Symptom"), ("DSIngredient", SHIYI.hasAdverseReaction, "Symptom"),
    ("DSIngredient", SHIYI.contraindicatedIn, "Disease"),
)  # fmt: skip
PAGES = 200
FORMS = (
    ("rdf12", "ttl"),
    ("rdf12", "trig"),
    ("rdf11", "nq"),
    ("rdf11", "jsonld"),
    ("nanopub", "trig"),
)


def base(claims: int, seed: int = 0) -> Iterator[Quad]:
    """Yield a base in which few concepts have many claims, as in real ones."""
    draw = random.Random(seed)  # noqa: S311 # the same each time
    sources = [
        Source(f"s{i}", f"来源{i}", f"Source {i}", draw.choice(list(Tier))) for i in range(200)
    ]
    for source in sources:
        yield from source_quads(source)
    for kind, count in CONCEPTS.items():
        for i in range(count):
            node = named(f"{kind.lower()}-{i}")
            yield Quad(node, RDF.type, SKOS.Concept, DefaultGraph())
            yield Quad(node, RDF.type, getattr(SHIYI, kind), DefaultGraph())
            yield Quad(node, SKOS.prefLabel, Literal(f"{kind} {i}", language="en"), DefaultGraph())
            yield Quad(
                node, SKOS.prefLabel, Literal(f"概念{kind}{i}", language="zh"), DefaultGraph()
            )
    seen = set[str]()
    while len(seen) < claims:
        start, predicate, end = draw.choice(RELATIONS)
        ends = [int(CONCEPTS[kind] * draw.random() ** 2) for kind in (start, end)]
        evidence = tuple(
            Evidence(
                source, Confidence(round(draw.uniform(0.3, 0.95), 3)), f"p. {draw.randrange(900)}"
            )
            for source in draw.sample(sources, draw.choice((1, 1, 1, 2, 3)))
        )
        claim = Claim(
            named(f"{start.lower()}-{ends[0]}"),
            predicate,
            named(f"{end.lower()}-{ends[1]}"),
            evidence,
        )
        if claim.iri.value not in seen:
            seen.add(claim.iri.value)
            yield from claim_quads(claim)


def exported(kb: Path, folder: Path) -> dict[str, float]:
    """Time the exports, each with everything that may leave, by the clock and the processor."""
    from shiyi.publishing import tables
    from shiyi.publishing.dumps import write_dump, write_lines

    took: dict[str, float] = {}

    def timed(name: str, work: Callable[[], object]) -> None:
        started, used = time.perf_counter(), time.process_time()
        work()
        took[f"{name}_s"] = time.perf_counter() - started
        took[f"{name}_cpu_s"] = time.process_time() - used
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        took["export_peak_mib"] = peak / 1024
        print(f"{name}: {took[f'{name}_s']:.1f} s", file=sys.stderr, flush=True)

    whole = folder / "all.nq"
    with KnowledgeBase.open(kb) as opened:
        with whole.open("wb") as file:
            timed("gather", lambda: write_dump(opened.store, file, "nq"))
        for profile, form in FORMS:
            with (folder / "part").open("wb") as file:
                timed(f"{profile}_{form}", partial(write_lines, _lines(whole), file, form, profile))
        # those for Neo4j and KGX read the same claims in the same way as CSV, and take as long
        for name, made in (("csv", tables.csv_tables), ("sssom", tables.sssom_tables)):
            timed(name, lambda made=made: tables.write_tables(made(opened.store), folder / "csv"))  # type: ignore[misc]
    return took


def _lines(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        for line in file:
            yield line[:-1]


def served(kb: Path, claims: int) -> dict[str, float]:
    """Time pages and data of concepts drawn by how often claims name them, and of claims."""
    from waitress.server import create_server

    from shiyi.server.app import create_app
    from shiyi.server.opening import open_site

    site = open_site(kb, replace(Settings(), kb=kb), read_only=True)
    server = create_server(create_app(site), host="127.0.0.1", port=0, threads=4)
    threading.Thread(target=server.run, daemon=True).start()
    connection = HTTPConnection("127.0.0.1", server.effective_port)
    draw, took = random.Random(1), dict[str, float]()  # noqa: S311 # the same each time
    names = [quad.subject.value for quad in site.store.match(None, RDF.type, SHIYI.Claim)]  # type: ignore[union-attr]  # claims have IRIs
    chosen = {
        "concept": [f"dsingredient-{int(7_000 * draw.random() ** 2)}" for _ in range(PAGES)],
        "claim": [each.rpartition("/id/")[2] for each in draw.sample(sorted(names), PAGES)],
    }
    for kind, paths in chosen.items():
        for form, ending in (("page", ""), ("data", ".ttl")):
            times = []
            for path in dict.fromkeys(paths):
                started = time.perf_counter()
                connection.request("GET", f"/{form}/{path}{ending}")
                reply = connection.getresponse()
                reply.read()
                if reply.status not in (200, 404):
                    raise SystemExit(f"{path}: {reply.status}")
                times.append((time.perf_counter() - started) * 1000)
            took[f"{kind}_{form}_p50_ms"] = statistics.median(times)
            took[f"{kind}_{form}_p95_ms"] = statistics.quantiles(times, n=20)[-1]
    server.close()
    site.close()
    return took


def main() -> None:
    """Print every figure, and keep them as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--claims", type=int, default=CLAIMS)
    parser.add_argument("--keep", type=Path, help="where the base is made, or is already")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        kb = args.keep or Path(folder) / "kb"
        took: dict[str, float] = {"claims": args.claims, "load_before": os.getloadavg()[0]}
        if not (kb / "CURRENT").is_file():
            started = time.perf_counter()
            build_generation(kb, base(args.claims), {"claims": args.claims})
            took["build_s"] = time.perf_counter() - started
        with KnowledgeBase.open(kb) as opened:
            took["quads"] = len(opened.store)
        took |= exported(kb, Path(folder))
        took |= served(kb, args.claims)
    for name, value in took.items():
        print(f"{name:<28} {value:>14,.1f}")
    results = Path(__file__).parent / "results"
    results.mkdir(exist_ok=True)
    (results / "publishing.json").write_text(json.dumps(took, indent=1) + "\n")


if __name__ == "__main__":
    main()
