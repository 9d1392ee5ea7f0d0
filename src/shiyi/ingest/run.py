"""One run of ingestion: batches made, judged and written, each once, whatever is killed when."""

import gc
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import MappingProxyType

from shiyi.errors import ShiyiError
from shiyi.ingest.conflicts import missing_conflicts
from shiyi.ingest.datasets import Dataset
from shiyi.ingest.entry import Entry
from shiyi.ingest.extraction.parking import parked_in, parked_quads, tries_of
from shiyi.ingest.extraction.port import Extracted, Extractor
from shiyi.ingest.gate import Gate, Judged, Proposed, change_of
from shiyi.ingest.releases import taken_back
from shiyi.ingest.report import Report
from shiyi.ingest.text.document import Document, Passage, Section, Tree
from shiyi.ingest.text.tree import passage_quads, section_quads, tree_of
from shiyi.ingest.votes import Votes
from shiyi.model.claim import Checked, Claim, Evidence
from shiyi.model.confidence import Confidence
from shiyi.model.names import content_hash
from shiyi.model.rdf import NamedNode, Quad
from shiyi.ontology.statements import source_quads
from shiyi.settings import Settings
from shiyi.sparql.store import QuadStore
from shiyi.sparql.writer import Writer

WHO = "shiyi ingest"
_REMEMBERED = 50_000  # claims whose votes are in memory, beyond those of a batch (ours)


@dataclass(slots=True)
class Content:
    """What one batch holds: quads of the source graph, claims to be judged, and counts."""

    quads: list[Quad] = field(default_factory=list)
    proposed: list[Proposed] = field(default_factory=list)
    classes: dict[str, str] = field(default_factory=dict)  # of concepts that the batch brings
    unlinked: Counter[str] = field(default_factory=Counter)
    passages: int = 0
    rows: int = 0
    gone: list[Quad] = field(default_factory=list)  # of earlier runs, which this replaces
    refused: Counter[str] = field(default_factory=Counter)
    parked: dict[str, str] = field(default_factory=dict)  # passage and why it was not read
    again: tuple[str, ...] = ()  # passages that were parked before


@dataclass(frozen=True, slots=True)
class Batch:
    """A change to be written once: its key, and how its content is made when it is needed."""

    key: str
    make: Callable[[], Content]


@dataclass(frozen=True, slots=True)
class Options:
    """How a run is made: ``limit`` counts passages or rows, 0 for all; ``watch`` sees each batch."""

    limit: int = 0
    resume: bool = False
    progress: Callable[[Report], None] = lambda report: None
    watch: Callable[["Content", list[Judged]], None] = lambda content, judged: None
    entry: Entry | None = None  # the policy of the dataset; without it all are candidates


def ingest(
    dataset: Dataset, batches: Iterable[Batch], report: Report, gate: Gate,
    writer: Writer | None, options: Options,
) -> Report:  # fmt: skip
    """Judge and write every batch; without a ``writer`` only count. Gives the report, filled.

    A batch that was written before changes nothing; with ``resume`` it is not even made again.
    """
    started = time.perf_counter()
    report.dataset = f"{dataset.name}@{dataset.version}"
    votes = Votes(writer.store) if writer else None
    again = taken_back(writer.journal, dataset.name, dataset.version) if writer else 0
    for batch in batches:
        policy = " accepted" if options.entry and options.entry.accepts else ""
        key = f"ingest {report.dataset} {batch.key}{policy}" + (f" {again}" if again else "")
        if writer and options.resume and writer.journal.find(key) is not None:
            report.skipped += 1
            continue
        with _uncollected():
            content = batch.make()
            gate.know(content.classes)
            if options.entry:
                content.proposed = options.entry.of(content.proposed, report.held_back)
            judged = gate.judge(content.proposed)
            options.watch(content, judged)
        report.count(judged)
        report.unlinked += content.unlinked
        report.refused += content.refused
        report.park(content.parked, content.again)
        report.passages += content.passages
        report.rows += content.rows
        if writer and votes is not None:
            if writer.journal.find(key) is None:
                quads = dict.fromkeys((*dataset.quads(), *content.quads))
                with _uncollected():
                    _write(writer, key, quads, judged, votes, content)
            else:
                report.skipped += 1
        options.progress(report)
    if writer:
        writer.settle()
        if report.asserted and (links := missing_conflicts(writer.store)):
            why = f"conflicts of {report.dataset}"
            writer.write(links, key=f"{why} {writer.sequence}", who=WHO, why=why)
    report.seconds += time.perf_counter() - started
    return report


@contextmanager
def _uncollected() -> Iterator[None]:
    """Put the search for cycles off: of a batch's many values none is in one (a fifth of the time)."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


def _write(
    writer: Writer, key: str, quads: Iterable[Quad], judged: list[Judged], votes: Votes,
    content: Content,
) -> None:  # fmt: skip
    """Write what is new, then the confidences that change; the last change has the batch's key.

    Two changes, since one that only adds is many times faster. A run that was killed between them
    may have parked other passages than the next one does: what is new then has another key.
    """
    parked = content_hash(*sorted(content.parked)) if content.parked else ""
    with writer.turn():
        if len(votes) > _REMEMBERED:
            writer.settle(through=votes.turn(writer.journal.sequence))
        change, why = change_of(judged, votes), key.split()[1]
        if not (change.replacing or content.gone):
            writer.load(quads, lines=change.added, key=key, who=WHO, why=why)
            if content.parked:
                writer.settle()  # they are looked for in the store next
            return
        writer.load(quads, lines=change.added, key=f"{key} text{parked}", who=WHO, why=why)
        gone = (*change.replaced, *content.gone)
        writer.write(change.replacing, gone, key=key, who=WHO, why=why)


def text_batches(
    dataset: Dataset, documents: Iterable[Document | ShiyiError], extractor: Extractor,
    settings: Settings, report: Report, limit: int = 0, store: QuadStore | None = None,
) -> Iterator[Batch]:  # fmt: skip
    """Yield the batches of texts, one document in memory at a time.

    Passages that ``store`` holds as parked once their batch is written are read again.
    """
    left = limit or -1
    for document in documents:
        if isinstance(document, ShiyiError):
            report.failures.append(str(document))
            continue
        tree = tree_of(document, settings.ingest.passage_least, settings.ingest.passage_most)
        report.documents += 1
        report.sections += len(tree.sections)
        report.repaired += tree.repaired
        size = settings.ingest.batch
        passages = tree.passages if left < 0 else tree.passages[:left]
        for at in range(0, len(passages), size):
            batch = _batch(tree, passages[at : at + size], dataset, extractor, settings)
            yield batch
            if store is not None and (
                waiting := parked_in(store, passages[at : at + size], dataset.graph)
            ):
                yield _again(batch, waiting, tree, dataset, extractor, settings)
        if left >= 0:
            left -= len(passages)
            if left <= 0:
                return


def _batch(
    tree: Tree, passages: list[Passage], dataset: Dataset, extractor: Extractor, settings: Settings
) -> Batch:
    places = (f"{each.iri} {each.start}" for each in passages)
    digest = content_hash(tree.document.name, *places)
    key = f"{digest} {extractor.name} {extractor.version}"
    return Batch(key, lambda: _content(tree, passages, dataset, extractor, settings))


def _again(
    batch: Batch, waiting: dict[str, list[Quad]], tree: Tree, dataset: Dataset,
    extractor: Extractor, settings: Settings,
) -> Batch:  # fmt: skip
    """Read parked passages once more; what was said of them goes as this is written."""
    passages = [each for each in tree.passages if each.iri in waiting]
    gone = [quad for quads in waiting.values() for quad in quads]
    tries = {iri: tries_of(quads) for iri, quads in waiting.items()}

    def make() -> Content:
        content = _content(tree, passages, dataset, extractor, settings, tries)
        kept = set(content.quads)
        content.gone = [quad for quad in gone if quad not in kept]
        content.again, content.passages = tuple(waiting), 0
        return content

    return Batch(f"{batch.key} again {content_hash(*sorted(map(str, gone)))}", make)


def _content(
    tree: Tree, passages: list[Passage], dataset: Dataset, extractor: Extractor, settings: Settings,
    tries: Mapping[str, int] = MappingProxyType({}),
) -> Content:  # fmt: skip
    document, place = tree.document, dataset.graph
    content = Content(passages=len(passages))
    content.quads += source_quads(document.source, place)
    for section in _with_parents(tree, passages):
        content.quads += section_quads(section, document, place)
    extractions = extractor.read(passages, document, place)
    for passage, extraction in zip(passages, extractions, strict=True):
        content.quads += passage_quads(passage, document, place)
        content.quads += extraction.quads
        content.unlinked += extraction.unlinked
        content.refused += extraction.refused
        if extraction.parked:
            content.parked[passage.iri] = extraction.parked
            number = tries.get(passage.iri, 0) + 1
            content.quads += parked_quads(passage, extraction.parked, place, number)
        for found in extraction.found:
            content.proposed.append(proposed_of(found, passage, document, extractor, settings))
    return content


def _with_parents(tree: Tree, passages: list[Passage]) -> list[Section]:
    by_iri = {each.iri: each for each in tree.sections}
    found: dict[str, Section] = {}
    for passage in passages:
        section: Section | None = passage.section
        while section and section.iri not in found:
            found[section.iri] = section
            section = by_iri.get(section.parent)
    return list(found.values())


def proposed_of(
    found: Extracted, passage: Passage, document: Document, extractor: Extractor, settings: Settings
) -> Proposed:
    """Give the claim that a statement makes, on the evidence of its quote."""
    source = document.source
    weight: float = getattr(settings.confidence, source.tier.value.replace("-", "_"))
    weight *= extractor.trust(settings.ingest) * found.sure
    evidence = Evidence(
        source, Confidence(round(weight, 6)), " / ".join(passage.section.path),
        Checked.SOURCE, passage.text[found.start : found.end], NamedNode(passage.iri),
        activity=f"{extractor.name}-{extractor.version}",
    )  # fmt: skip
    claim = Claim(found.subject, found.predicate, found.object, (evidence,), found.polarity)
    return Proposed(claim, found.start, found.end, extractor.by_model)
