"""One ingestion run, batch by batch."""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from shiyi.errors import ShiyiError
from shiyi.ingest.batches import Batch, Content, ImportRun, Report, propose_claim
from shiyi.ingest.datasets.dataset import AdmissionPolicy, Dataset
from shiyi.ingest.documents.books import book_quads, books
from shiyi.ingest.documents.document import (
    Document,
    Passage,
    Section,
    Tree,
    build_tree,
    passage_quads,
    section_quads,
)
from shiyi.ingest.extraction.extractor import Extractor
from shiyi.ingest.extraction.feedback import count_tries, load_parked, parked_quads
from shiyi.ingest.gate import Gate, GateResult, Votes, build_change
from shiyi.ingest.tables.conflicts import missing_conflicts
from shiyi.model.iris import content_hash
from shiyi.model.rdf import Quad
from shiyi.ontology.serialization import source_quads
from shiyi.settings import Settings
from shiyi.shapes.partitioning import suspend_collection
from shiyi.sparql.base.journal import Journal
from shiyi.sparql.base.writer import Writer
from shiyi.sparql.store.port import QuadStore


def forget_key(name: str, version: str, times: int) -> str:
    """Name the change that ends the ``times``-th forgetting of a release."""
    return f"forgot {name}@{version} {times}"


def sweep_key(name: str, times: int) -> str:
    """Name the change that begins the ``times``-th sweep of a source in any version."""
    return f"sweep {name} {times}"


def count_retractions(journal: Journal, name: str, version: str) -> int:
    """Count forgettings and sweeps; a batch of what came later has this number in its key."""
    return _count(journal, lambda times: forget_key(name, version, times)) + count_sweeps(
        journal, name
    )


def count_sweeps(journal: Journal, name: str) -> int:
    """Count the sweeps of a source."""
    return _count(journal, lambda times: sweep_key(name, times))


def _count(journal: Journal, key: Callable[[int], str]) -> int:
    times = 0
    while journal.find(key(times + 1)) is not None:
        times += 1
    return times


WHO = "shiyi ingest"
_CACHED_VOTES = 100_000  # claims with cached votes, besides those of a batch


@dataclass(frozen=True, slots=True)
class Options:
    """Options of a run: ``limit`` counts passages or rows, 0 for all; ``watch`` sees each batch."""

    limit: int = 0
    resume: bool = False
    progress: Callable[[Report], None] = lambda report: None
    watch: Callable[["Content", list[GateResult]], None] = lambda content, group: None
    entry: AdmissionPolicy | None = None  # the policy of the dataset; without it all are candidates


def ingest(
    dataset: Dataset,
    batches: Iterable[Batch],
    report: Report,
    gate: Gate,
    writer: Writer | None,
    options: Options,
) -> Report:
    """Validate and write every batch, or only count without a ``writer``; return the report.

    A batch that was written before changes nothing; with ``resume`` it is not even remade.
    """
    started = time.perf_counter()
    report.dataset = f"{dataset.name}@{dataset.version}"
    votes = Votes(writer.store) if writer else None
    again = count_retractions(writer.journal, dataset.name, dataset.version) if writer else 0
    for batch in batches:
        policy = " accepted" if options.entry and options.entry.accepts else ""
        key = f"ingest {report.dataset} {batch.key}{policy}" + (f" {again}" if again else "")
        if writer and options.resume and writer.journal.find(key) is not None:
            report.skipped += 1
            continue
        with suspend_collection():
            content = batch.make()
            gate.know(content.classes)
            if options.entry:
                content.proposed = options.entry.of(content.proposed, report.held_back)
            results = gate.judge(content.proposed)
            options.watch(content, results)
        report.count(results)
        report.unlinked += content.unlinked
        report.refused += content.refused
        report.park(content.parked, content.again)
        report.passages += content.passages
        report.rows += content.rows
        if writer and votes is not None:
            if writer.journal.find(key) is None:
                quads = dict.fromkeys((*dataset.quads(), *content.quads))
                with suspend_collection():
                    _write(writer, key, quads, results, votes, content)
            else:
                report.skipped += 1
        options.progress(report)
    if writer:
        writer.wait()
        if report.asserted and (links := missing_conflicts(writer.store)):
            reason = f"conflicts of {report.dataset}"
            writer.write(links, key=f"{reason} {writer.sequence}", agent=WHO, reason=reason)
    report.seconds += time.perf_counter() - started
    return report


def _write(
    writer: Writer,
    key: str,
    quads: Iterable[Quad],
    judged: list[GateResult],
    votes: Votes,
    content: Content,
) -> None:
    """Write what is new, then the confidences that change; the last change has the batch's key.

    Two changes, since one that only adds is many times faster. A run that was killed between them
    may have parked other passages than the next one does: what is new then has another key.
    """
    parked = content_hash(*sorted(content.parked)) if content.parked else ""
    with writer.turn():
        if len(votes) > _CACHED_VOTES:
            writer.wait()
            votes.clear()
        change, reason = build_change(judged, votes), key.split()[1]
        if not (change.replacing or content.gone):
            writer.load(quads, lines=change.added, key=key, agent=WHO, reason=reason)
            if content.parked:
                writer.wait()  # they are looked for in the store next
            return
        writer.load(quads, lines=change.added, key=f"{key} text{parked}", agent=WHO, reason=reason)
        old_quads = (*change.replaced, *content.gone)
        writer.write(change.replacing, old_quads, key=key, agent=WHO, reason=reason)


def text_batches(
    run: ImportRun,
    documents: Iterable[Document | ShiyiError],
    extractor: Extractor,
    store: QuadStore | None = None,
) -> Iterator[Batch]:
    """Yield the batches of texts, one document in memory at a time.

    Passages that ``store`` holds as parked once their batch is written are retried.
    """
    dataset, settings, report, left = run.dataset, run.settings, run.report, run.limit or -1
    for document in documents:
        if isinstance(document, ShiyiError):
            report.failures.append(str(document))
            continue
        tree = build_tree(document, settings.ingest.passage_least, settings.ingest.passage_most)
        report.documents += 1
        report.sections += len(tree.sections)
        report.repaired += tree.repaired
        size = settings.ingest.batch
        passages = tree.passages if left < 0 else tree.passages[:left]
        for at in range(0, len(passages), size):
            batch = _batch(tree, passages[at : at + size], dataset, extractor, settings)
            yield batch
            if store is not None and (
                waiting := load_parked(store, passages[at : at + size], dataset.graph)
            ):
                yield _retry_parked(batch, waiting, tree, dataset, extractor, settings)
        if left >= 0:
            left -= len(passages)
            if left <= 0:
                return


def _batch(
    tree: Tree, passages: list[Passage], dataset: Dataset, extractor: Extractor, settings: Settings
) -> Batch:
    places = (f"{passage.iri} {passage.start}" for passage in passages)
    digest = content_hash(tree.document.name, *places)
    key = f"{digest} {extractor.name} {extractor.version}"
    return Batch(key, lambda: _content(tree, passages, dataset, extractor, settings))


def _retry_parked(
    batch: Batch,
    waiting: dict[str, list[Quad]],
    tree: Tree,
    dataset: Dataset,
    extractor: Extractor,
    settings: Settings,
) -> Batch:
    """Read parked passages once more; their parked state is removed in the same change."""
    passages = [passage for passage in tree.passages if passage.iri in waiting]
    old_quads = [quad for quads in waiting.values() for quad in quads]
    tries = {iri: count_tries(quads) for iri, quads in waiting.items()}

    def make() -> Content:
        content = _content(tree, passages, dataset, extractor, settings, tries)
        remaining = set(content.quads)
        content.gone = [quad for quad in old_quads if quad not in remaining]
        content.again, content.passages = tuple(waiting), 0
        return content

    return Batch(f"{batch.key} again {content_hash(*sorted(map(str, old_quads)))}", make)


def _content(
    tree: Tree,
    passages: list[Passage],
    dataset: Dataset,
    extractor: Extractor,
    settings: Settings,
    tries: Mapping[str, int] = MappingProxyType({}),
) -> Content:
    document, place = tree.document, dataset.graph
    content = Content(passages=len(passages))
    content.quads += source_quads(document.source, place)
    if book := books().get(document.name):
        content.quads += book_quads(book, document.source.iri, place)
    for section in _with_parents(tree, passages):
        content.quads += section_quads(section, document, place)
    extractions = extractor.read(passages, document, place)
    for passage, extraction in zip(passages, extractions, strict=True):
        content.quads += passage_quads(passage, document, place)
        content.quads += extraction.quads
        content.unlinked += extraction.unlinked
        content.refused += extraction.refused
        content.classes.update(extraction.classes)
        if extraction.parked:
            content.parked[passage.iri] = extraction.parked
            number = tries.get(passage.iri, 0) + 1
            content.quads += parked_quads(passage, extraction.parked, place, number)
        for result in extraction.found:
            content.proposed.append(propose_claim(result, passage, document, extractor, settings))
    return content


def _with_parents(tree: Tree, passages: list[Passage]) -> list[Section]:
    by_iri = {each.iri: each for each in tree.sections}
    results: dict[str, Section] = {}
    for passage in passages:
        section: Section | None = passage.section
        while section and section.iri not in results:
            results[section.iri] = section
            section = by_iri.get(section.parent)
    return list(results.values())
