"""Build a knowledge base: tables, shapes, store, derived graph and indexes, in that order."""

import gc
import os
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from shiyi.errors import ConformanceError, OutsideError
from shiyi.settings import Settings
from shiyi.sparql.sandbox.background import open_process_pool

if TYPE_CHECKING:
    from shiyi.model.rdf import Quad
    from shiyi.shapes.validation import Result
    from shiyi.sparql.base.knowledge_base import KnowledgeBase
    from shiyi.sparql.store.oxigraph import OxigraphStore


class Steps:
    """Prints each step with the seconds so far; silent where the stream is no terminal."""

    def __init__(self, stream: TextIO) -> None:
        self._stream, self._started = stream, time.perf_counter()

    def begin(self, step: str) -> None:
        """Print that a step begins."""
        if self._stream.isatty():
            seconds = time.perf_counter() - self._started
            self._stream.write(f"[{seconds:5.1f} s] {step}\n")
            self._stream.flush()


def check_tables(tables: Path | None, settings: Settings) -> dict[str, int]:
    """Parse and validate every table; return how much they hold.

    Raise :class:`TableError` for faulty tables and :class:`ConformanceError` for violations.
    """
    from shiyi.ingest.tables.starter import load_starter

    starter = load_starter(tables, settings.confidence)
    _count_warnings(validate_quads(starter.quads()))
    return starter.counts()


def _count_warnings(results: tuple["Result", ...]) -> int:
    if violations := [str(result) for result in results if result.severity == "Violation"]:
        raise ConformanceError(violations)
    return len(results)


def validate_n_quads(data: bytes) -> tuple["Result", ...]:
    """Validate quads that another process wrote: lines are sent faster than terms."""
    from shiyi.sparql.store.oxigraph import parse_n_quads

    return validate_quads(parse_n_quads(data))


def validate_quads(quads: Iterable["Quad"]) -> tuple["Result", ...]:
    """Validate quads against every shape; an empty tuple means that they conform."""
    from shiyi.shapes.partitioning import class_statements, sort_by_subject, validate_parts
    from shiyi.shapes.validation import shapes_graph

    grouped_quads = sort_by_subject(quads)
    return validate_parts(lambda: grouped_quads, class_statements(grouped_quads), shapes_graph())


def make_base(
    tables: Path | None, settings: Settings, steps: Steps, lose_changes: bool = False
) -> dict[str, Any]:
    """Build a new generation beside the old one and switch to it when it is whole.

    Raise :class:`KnowledgeBaseError` for lost acknowledged changes, unless ``lose_changes``.
    """
    from shiyi.ingest.tables.starter import load_starter
    from shiyi.shapes.partitioning import suspend_collection
    from shiyi.sparql.base.knowledge_base import build_generation, check_changes
    from shiyi.sparql.store.oxigraph import n_quads

    if not lose_changes:
        check_changes(settings.kb)
        check_remote_changes(settings)
    with _second_process() as executor, ThreadPoolExecutor(1) as thread, suspend_collection():
        steps.begin("reading tables")
        executor.submit(validate_n_quads, b"")  # loads what validates
        starter = load_starter(tables, settings.confidence)
        quads, counts = list(starter.quads()), starter.counts()
        steps.begin("validating with SHACL, loading the store")
        future = executor.submit(validate_n_quads, n_quads(quads))

        def finish(store: "OxigraphStore", folder: Path) -> None:
            counts["warnings"] = _count_warnings(future.result())
            steps.begin("checking with queries, inheriting cautions, ranking concepts")
            checked = thread.submit(check_quality, store)
            derive(store, settings, checked.result)

        whole = add_description(quads)
        release = build_generation(settings.kb, whole, counts, finish, lose_changes)
        steps.begin("indexing labels and graph")
        index_base(settings, executor)
    if settings.store:
        steps.begin(f"putting the release into {settings.store}")
        load_remote(settings)
    return {"release": release, "counts": counts}


@contextmanager
def _second_process() -> Iterator[Executor]:
    """Yield what runs functions in another process; OutsideError where something ended that."""
    try:
        with open_process_pool(1, gc.disable) as executor:
            yield executor
    except BrokenProcessPool as fault:
        raise OutsideError("the second process of the build ended; is memory short?") from fault


def add_description(quads: Iterable["Quad"]) -> list["Quad"]:
    """Return quads with what lets agents find out what can be asked of them.

    Prefixes, named queries, and which classes have which properties (VoID).
    """
    from shiyi.model.rdf import DefaultGraph, Quad
    from shiyi.publishing.void import schema_triples
    from shiyi.sparql.queries.named import discovery_quads

    whole = list(dict.fromkeys((*quads, *discovery_quads())))  # rows may state the same
    graph = DefaultGraph()
    return whole + [Quad(t.subject, t.predicate, t.object, graph) for t in schema_triples(whole)]


def check_remote_changes(settings: Settings) -> None:
    """Raise :class:`KnowledgeBaseError` where the remote store has changes the journal lacks."""
    from shiyi.errors import KnowledgeBaseError
    from shiyi.sparql.base.journal import last_number
    from shiyi.sparql.base.writer import JOURNAL_FILE, last_applied
    from shiyi.sparql.remote.store import RemoteStore

    if not settings.store:
        return
    store = RemoteStore(settings.store, settings.remote)
    try:
        changes, known = last_applied(store), last_number(settings.kb / JOURNAL_FILE)
    finally:
        store.close()
    if changes > known:
        raise KnowledgeBaseError(
            f"{settings.store} has {changes} acknowledged changes, of which the journal has "
            f"{known}; nothing was built. Restore {settings.kb / JOURNAL_FILE} from a backup, or "
            "run `shiyi build --lose-changes` to replace them"
        )


def load_remote(settings: Settings) -> bool:
    """Place the current generation into the remote store; False where it is there already."""
    from shiyi.sparql.base.knowledge_base import KnowledgeBase, push
    from shiyi.sparql.remote.store import RemoteStore
    from shiyi.sparql.store.visibility import FORMER_NOTES

    with KnowledgeBase.open(settings.kb) as base:
        store = RemoteStore(settings.store, settings.remote)
        try:
            quads = (quad for quad in base.store.match() if quad.graph_name != FORMER_NOTES)
            return push(store, quads, base.release)
        finally:
            store.close()


def check_quality(store: "OxigraphStore") -> None:
    """Run every ``sparql/qc/*-violation.rq``; raise :class:`ConformanceError` on any row."""
    from shiyi.sparql.queries.named import quality_faults

    if faults := list(quality_faults(store)):
        raise ConformanceError(faults)


def derive(
    store: "OxigraphStore", settings: Settings, check: Callable[[], None] = lambda: None
) -> None:
    """Recompute the derived graph; ``check`` is called before it is written.

    Where there was one it is changed in one transaction; for a store without readers.
    """
    from shiyi.model.iris import graph
    from shiyi.reasoning.classification import stored_classifications
    from shiyi.reasoning.derivation import derive_quads

    quads = list(derive_quads(store, settings))
    current = set(quads)
    found_quads = (*store.match(graph=graph("derived")), *stored_classifications(store))
    old = [quad for quad in found_quads if quad not in current]
    check()
    if old:
        store.change(add=quads, remove=old)
    else:
        store.load_quads(quads)


def rederive(base: "KnowledgeBase", settings: Settings) -> None:
    """Recompute inherited cautions, importance and classes, after the accepted view changed.

    Where much changed, the indexes are rebuilt.
    """
    from shiyi.answering.knowledge.updates import refresh_files
    from shiyi.ontology.schema import Schema
    from shiyi.reasoning.derivation import derive_quads, replace_derived

    replace_derived(
        base.store, derive_quads(base.store, settings), ("rules", "pagerank", "classes")
    )
    refresh_files(base, Schema.load())


def index_base(
    settings: Settings, beside: Executor | None = None, *, with_names: bool = True
) -> None:
    """Write the indexes of the current generation, and its counts.

    Names and counts are written by ``beside``, where there is one, at the same time.
    """
    from shiyi.answering.runtime import write_claims
    from shiyi.sparql.base.digests import note_digests
    from shiyi.sparql.base.knowledge_base import KnowledgeBase

    with KnowledgeBase.open(settings.kb) as base, ExitStack() as waiting:
        if beside:
            waiting.callback(beside.submit(index_names, settings).result)
        elif with_names:
            index_names(settings)
        write_claims(base, settings)
    note_digests(base.folder)


def index_names(settings: Settings) -> None:
    """Write the label index of the current generation, and its counts."""
    from shiyi.answering.runtime import write_names
    from shiyi.server.site.counts import store_counts
    from shiyi.sparql.base.knowledge_base import KnowledgeBase

    with KnowledgeBase.open(settings.kb) as base:
        write_names(base, settings)
        store_counts(base)


def renew_base(settings: Settings) -> None:
    """Rewrite the store and what is indexed of claims and texts, without what was removed.

    Names of concepts come from no source that can be forgotten, trained models hold IRIs.
    """
    from shiyi.reasoning.embeddings.baselines import KINDS
    from shiyi.sparql.base.digests import has_digest
    from shiyi.sparql.base.knowledge_base import current_generation, renew_generation

    indexes = current_generation(settings.kb) / "index"
    is_indexed = any(has_digest(path) for path in indexes.iterdir())
    files = [f"{kind}{ending}" for kind in KINDS for ending in (".json", ".safetensors")]
    if not (with_names := bool(settings.linking.embedder)):
        files = [*files, *(f"{name}.safetensors" for name in ("labels", "names", "vectors"))]
    renew_generation(settings.kb, files)
    if is_indexed:
        index_base(settings, with_names=with_names)


def rebuild_indexes(settings: Settings, steps: Steps) -> int:
    """Rebuild the indexes of the current generation; return the bytes of them.

    For a base with indexes of an older Shiyi, with damaged indexes, or after a large ingest:
    else each server makes its own at its start. Raise :class:`KnowledgeBaseError` where another
    process, such as a server, writes to the base.
    """
    from shiyi.answering.runtime import write_indexes
    from shiyi.server.site.counts import store_counts
    from shiyi.sparql.base.digests import has_digest, update_digests
    from shiyi.sparql.base.knowledge_base import KnowledgeBase
    from shiyi.sparql.base.writer import acquire_lock

    with KnowledgeBase.open(settings.kb) as base:
        lock = acquire_lock(settings.kb)
        try:
            write_indexes(base, settings, steps.begin)
            files = [p for p in (base.folder / "index").iterdir() if has_digest(p)]
            update_digests(base.folder, [path.name for path in files])
            steps.begin("counting")
            store_counts(base)
        finally:
            os.close(lock)
        return sum(path.stat().st_size for path in files)
