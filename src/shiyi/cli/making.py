"""How a knowledge base is made: tables, shapes, store, derived graph, indexes, in that order."""

import os
import time
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from shiyi.errors import ConformanceError
from shiyi.settings import Settings

if TYPE_CHECKING:
    from shiyi.ingest.starter import Starter
    from shiyi.model.rdf import Quad
    from shiyi.shapes.validation import Result
    from shiyi.sparql.knowledge_base import KnowledgeBase
    from shiyi.sparql.oxigraph import OxigraphStore


class Steps:
    """Tells a person which step runs; silent where the stream is no terminal."""

    def __init__(self, stream: TextIO) -> None:
        self._stream, self._started = stream, time.perf_counter()

    def begin(self, what: str) -> None:
        """Say that ``what`` begins."""
        if self._stream.isatty():
            seconds = time.perf_counter() - self._started
            self._stream.write(f"[{seconds:5.1f} s] {what}\n")
            self._stream.flush()


def prepared(
    tables: Path | None, settings: Settings, steps: Steps
) -> tuple["Starter", tuple["Result", ...]]:
    """Read every table and validate all of it; give it with what was only a warning.

    Raises :class:`TableError` for faulty tables and :class:`ConformanceError` for violations.
    """
    from shiyi.ingest.starter import load_starter

    steps.begin("reading tables")
    starter = load_starter(tables, settings.confidence)
    steps.begin("validating with SHACL")
    results = conform(starter.quads())
    if violations := [str(each) for each in results if each.severity == "Violation"]:
        raise ConformanceError(violations)
    return starter, results


def conform(quads: Iterable["Quad"]) -> tuple["Result", ...]:
    """Validate quads against every shape; nothing means that they conform."""
    from shiyi.shapes.parts import of_classes, validate_parts
    from shiyi.shapes.validation import shapes_graph

    held = sorted(quads, key=lambda quad: str(quad.subject))
    return validate_parts(held, of_classes(held), shapes_graph())


def make_base(tables: Path | None, settings: Settings, steps: Steps) -> dict[str, Any]:
    """Build a new generation beside the old one and switch to it when it is whole."""
    from shiyi.sparql.generations import build_generation

    starter, warnings = prepared(tables, settings, steps)
    counts = starter.counts() | {"warnings": len(warnings)}

    def finish(store: "OxigraphStore", folder: Path) -> None:
        steps.begin("checking with queries")
        check_quality(store)
        steps.begin("inheriting cautions, ranking concepts")
        derive(store, settings)

    steps.begin("loading the store")
    release = build_generation(settings.kb, starter.quads(), counts, finish)
    steps.begin("indexing labels and graph")
    index_base(settings)
    if settings.store:
        steps.begin(f"putting the release into {settings.store}")
        put_remote(settings)
    return {"release": release, "counts": counts}


def put_remote(settings: Settings) -> bool:
    """Put the current generation into the remote store; False where it is there already."""
    from shiyi.sparql.knowledge_base import KnowledgeBase
    from shiyi.sparql.remote import RemoteStore
    from shiyi.sparql.remote_base import push
    from shiyi.sparql.written import WRITTEN

    with KnowledgeBase.open(settings.kb) as base:
        store = RemoteStore(settings.store, settings.remote)
        try:
            quads = (quad for quad in base.store.match() if quad.graph_name != WRITTEN)
            return push(store, quads, base.release)
        finally:
            store.close()


def check_quality(store: "OxigraphStore") -> None:
    """Run every ``sparql/qc/*-violation.rq``; raise :class:`ConformanceError` on any row."""
    from shiyi.sparql.quality import quality_faults

    if faults := list(quality_faults(store)):
        raise ConformanceError(faults)


def derive(store: "OxigraphStore", settings: Settings) -> int:
    """Write the derived graph anew, in one transaction; give how many quads it has."""
    from shiyi.model.names import graph
    from shiyi.reasoning.derive import derived_quads

    quads = list(derived_quads(store, settings))
    kept = set(quads)
    old = [quad for quad in store.match(graph=graph("derived")) if quad not in kept]
    store.change(add=quads, remove=old)
    return len(quads)


def infer_anew(base: "KnowledgeBase", settings: Settings) -> None:
    """Make inherited cautions and importance anew, after the accepted view changed.

    Where much changed, the files that answers open are written again.
    """
    from shiyi.answering.standing import freshen
    from shiyi.ontology.vocabulary import Schema
    from shiyi.reasoning.derive import rank_quads, rule_quads
    from shiyi.reasoning.swap import swap

    store = base.store
    found = [*rule_quads(store), *rank_quads(store, settings)]
    swap(store, found, ("rules", "pagerank"))
    freshen(base, Schema.load())


def index_base(settings: Settings) -> None:
    """Make the indexes of the current generation, and count what it holds."""
    from shiyi.answering.runtime import write_indexes
    from shiyi.server.counting import keep
    from shiyi.sparql.knowledge_base import KnowledgeBase
    from shiyi.sparql.scrub import note_digests

    with KnowledgeBase.open(settings.kb) as base:
        write_indexes(base, settings)
        note_digests(base.folder)
        keep(base)  # servers may count anew, so these have no digest


def index_again(settings: Settings, steps: Steps) -> int:
    """Write the indexes of the current generation anew, and give their bytes.

    For a base whose indexes an older Shiyi wrote, or that much was ingested into since: without them
    each server makes its own at its start. Nobody may write to the base meanwhile, so a server that
    writes is to be stopped first (``KnowledgeBaseError`` says whose process it is).
    """
    from shiyi.answering.runtime import write_indexes
    from shiyi.server.counting import keep
    from shiyi.sparql.knowledge_base import KnowledgeBase
    from shiyi.sparql.scrub import note_again
    from shiyi.sparql.writer import take_lock

    with KnowledgeBase.open(settings.kb) as base:
        lock = take_lock(settings.kb)
        try:
            write_indexes(base, settings, steps.begin)
            files = [p for p in (base.folder / "index").iterdir() if p.suffix != ".json"]
            note_again(base.folder, [each.name for each in files])
            steps.begin("counting")
            keep(base)
        finally:
            os.close(lock)
        return sum(each.stat().st_size for each in files)
