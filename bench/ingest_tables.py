"""How fast a wide table becomes validated claims in a store: `python bench/ingest_tables.py [--rows N]`.

Makes products and ingredients in the form of iDISK 2.0, reads them by its mapping, and writes
claims with evidence and journal into a base of its own; each stage is timed by itself, the stages
in the store's own thread beside the others.
"""

import argparse
import json
import resource
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from shiyi.artefacts import artefact
from shiyi.ingest import run as running
from shiyi.ingest.batches import Batch, ImportRun, Report
from shiyi.ingest.datasets.dataset import load_dataset
from shiyi.ingest.datasets.lexicon import Lexicon
from shiyi.ingest.datasets.mapped_tables import table_batches
from shiyi.ingest.gate import Gate
from shiyi.ingest.retraction import SeenNodes, sweep
from shiyi.ingest.run import Options, ingest
from shiyi.ingest.tables.concepts import concept_quads, read_concepts
from shiyi.ingest.tables.starter import vocabulary_quads
from shiyi.ingest.tables.tsv import Faults
from shiyi.linking.labels import LabelIndex
from shiyi.ontology.schema import Schema
from shiyi.settings import Settings
from shiyi.sparql.base.journal import Journal
from shiyi.sparql.base.knowledge_base import KnowledgeBase, build_generation
from shiyi.sparql.store.oxigraph import OxigraphStore


def write_tables(folder: Path, rows: int) -> None:
    (folder / "dsp_dsi.csv").write_text(
        "DSP,Relation,DSI,Source\n"
        + "".join(
            f"DSP{n // 2:06d},has_ingredient,DSI{n * 7919 % 8000:06d},{('DSLD', 'LNHPD')[n % 2]}\n"
            for n in range(rows)
        ),
        "utf-8",
    )


def base(kb: Path) -> None:
    quads = [*vocabulary_quads()]
    concepts = read_concepts(artefact("ontology/concepts"), Schema.load(), Faults())
    for concept in concepts.by_id.values():
        quads += concept_quads(concept, [], "")
    build_generation(kb, quads, {})


def time_function(owner: Any, name: str, spent: Counter[str]) -> None:
    """Count the seconds that a function takes on its own thread's processor."""
    plain: Callable[..., Any] = getattr(owner, name)

    def measured(*given: Any, **named: Any) -> Any:
        started, cpu = time.perf_counter(), time.thread_time()
        try:
            return plain(*given, **named)
        finally:
            spent[f"{name} wall"] += int((time.perf_counter() - started) * 1e6)
            spent[f"{name} cpu"] += int((time.thread_time() - cpu) * 1e6)

    setattr(owner, name, measured)


def measure(folder: Path, rows: int) -> dict[str, Any]:
    write_tables(folder, rows)
    base(folder / "kb")
    settings, dataset, report = Settings(), load_dataset("idisk2"), Report()
    index = LabelIndex.from_tables(artefact("ontology/concepts"))
    lexicons = {"zh": Lexicon(index), "en": Lexicon(index, "en")}
    gate, spent = Gate(index), Counter[str]()
    time_function(running, "build_change", spent)
    time_function(Gate, "judge", spent)
    time_function(Journal, "append", spent)
    time_function(OxigraphStore, "load_n_quads", spent)

    def watched(batch: Batch) -> Batch:
        def make() -> Any:
            started = time.thread_time()
            content = batch.make()
            spent["rows to claims cpu"] += int((time.thread_time() - started) * 1e6)
            return content

        return Batch(batch.key, make)

    with KnowledgeBase.open(folder / "kb", write=True) as opened:
        started, cpu, own = time.perf_counter(), time.process_time(), time.thread_time()
        batches = table_batches(ImportRun(dataset, settings, report), folder, lexicons)
        nodes = SeenNodes()
        ingest(
            dataset, map(watched, batches), report, gate, opened.writer, Options(watch=nodes.add)
        )
        sweep(opened.writer, dataset, nodes)
        wall, used = time.perf_counter() - started, time.process_time() - cpu
        own = time.thread_time() - own
    claims = sum(report.claims.values())
    return {
        "rows": rows,
        "claims": claims,
        "quarantined": sum(report.quarantined.values()),
        "wall_seconds": round(wall, 1),
        "cpu_seconds": round(used, 1),
        "claims_per_second": round(claims / wall),
        "claims_per_cpu_second": round(claims / used),
        "claims_per_cpu_second_of_the_main_thread": round(claims / own),
        "stages": {name: round(number / 1e6, 2) for name, number in sorted(spent.items())},
        "peak_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
        "journal_mib": (folder / "kb" / "journal.nq").stat().st_size >> 20,
    }


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=300_000)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        results = measure(Path(folder), args.rows)
    print(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
