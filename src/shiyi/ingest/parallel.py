"""Reading documents in several processes."""

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Any

from shiyi.errors import MissingExtraError, OutsideError, ShiyiError, UsageError
from shiyi.ingest.batches import Batch, Content, ImportRun, Report
from shiyi.ingest.datasets.dataset import Dataset
from shiyi.ingest.datasets.lexicon import Lexicon
from shiyi.ingest.documents.document import Document
from shiyi.ingest.extraction.books.extractor import EntryExtractor
from shiyi.ingest.run import text_batches
from shiyi.linking.labels import LabelIndex
from shiyi.settings import Settings
from shiyi.sparql.sandbox.background import open_process_pool

_POLL_SECONDS = 1.0  # between two looks at the processes
_TRIES = 3  # how often a document of a dead worker is assigned (Shiyi's)
Part = tuple[list[tuple[str, Content]], Report]


@dataclass(frozen=True, slots=True)
class DocumentReader:
    """Reads documents by rules in a worker; opens the index once a process."""

    dataset: Dataset
    index: Path
    release: str
    settings: Settings

    def read(self, document: Document) -> Part:
        """Return the batches of a document, made, and the counts of reading it."""
        report = Report()
        extractor = _extractor(self.index, self.release)
        batches = text_batches(
            ImportRun(self.dataset, self.settings, report), (document,), extractor
        )
        return [(batch.key, batch.make()) for batch in batches], report


@lru_cache(maxsize=1)
def _extractor(index: Path, release: str) -> EntryExtractor:
    return EntryExtractor(Lexicon(LabelIndex.load(index, release)))


def spread_batches(
    reader: DocumentReader, documents: Iterable[Document | ShiyiError], report: Report, workers: str
) -> Iterator[Batch]:
    """Yield the batches of texts in their order, read by ``workers``: a number, or ``ray``.

    A worker that dies is replaced and its document reread, three times at most. Raises
    :class:`MissingExtraError` without Ray, OutsideError where a document kills its workers.
    """
    pool: Processes | Ray = Ray(reader) if workers == "ray" else Processes(reader, _number(workers))
    try:
        for part, counted in _in_order(pool, _read(documents, report)):
            report.documents += counted.documents
            report.sections += counted.sections
            report.repaired += counted.repaired
            for key, content in part:
                yield Batch(key, lambda content=content: content)  # type: ignore[misc]
    finally:
        pool.close()


def _number(workers: str) -> int:
    if not workers.isdecimal() or not 1 <= int(workers) <= 1024:
        raise UsageError("--workers takes a number of processes, or ray")
    return int(workers)


def _read(documents: Iterable[Document | ShiyiError], report: Report) -> Iterator[Document]:
    for document in documents:
        if isinstance(document, ShiyiError):
            report.failures.append(str(document))
        else:
            yield document


def _in_order(pool: "Processes | Ray", documents: Iterator[Document]) -> Iterator[Part]:
    waiting = [(each, pool.submit(each)) for each in islice(documents, pool.ahead)]
    while waiting:
        document, request = waiting.pop(0)
        yield pool.result_of(document, request)
        waiting += [(each, pool.submit(each)) for each in islice(documents, 1)]


@dataclass(slots=True)
class Processes:
    """Processes of this machine."""

    reader: DocumentReader
    number: int
    _pool: ProcessPoolExecutor | None = None

    @property
    def ahead(self) -> int:
        """Return how many documents are given out at a time."""
        return 2 * self.number

    def submit(self, document: Document) -> "Submission":
        """Submit a document."""
        if self._pool is None:
            self._pool = open_process_pool(self.number)
        try:
            return Submission(self._pool, self._pool.submit(self.reader.read, document))
        except BrokenProcessPool as fault:
            broken: Future[Part] = Future()
            broken.set_exception(fault)
            return Submission(self._pool, broken)

    def result_of(self, document: Document, request: "Submission") -> Part:
        """Wait for a document; where a process died, restart with new ones.

        All that was given to the broken pool comes back broken, one after the other: only the
        first to come ends it, or what others wait for in the fresh one would be lost.
        """
        for _ in range(_TRIES):
            try:
                return request.result()
            except BrokenProcessPool:
                if request.pool is self._pool:
                    self._pool = None
                    request.pool.shutdown(wait=False)
                request = self.submit(document)
        raise OutsideError(f"{document.name} ended its process {_TRIES} times; is memory short?")

    def close(self) -> None:
        """End the processes."""
        if self._pool is not None:
            self._pool.shutdown(wait=False, cancel_futures=True)
            self._pool = None


@dataclass(frozen=True, slots=True)
class Submission:
    """A document given to a pool."""

    pool: ProcessPoolExecutor
    read: "Future[Part]"

    def result(self) -> "Part":
        """Wait for the document.

        Raise BrokenProcessPool where a process died, also while sending a result: the pool alone
        would wait for the rest of it without end, since it holds the writing end open itself.
        """
        while True:
            try:
                return self.read.result(timeout=_POLL_SECONDS)
            except TimeoutError:
                if self.read.done():
                    raise
            processes = list((self.pool._processes or {}).values())
            if not all(process.is_alive() for process in processes):
                for process in processes:
                    process.kill()
                writer = self.pool._result_queue._writer  # type: ignore[attr-defined]
                writer.close()  # the pool meets the end, and breaks
                return self.read.result()


@dataclass(slots=True)
class Ray:
    """Workers of a Ray cluster: the one at ``RAY_ADDRESS``, or one of this machine alone."""

    reader: DocumentReader
    ahead: int = 8
    _ray: Any = None
    _task: Callable[..., Any] | None = None
    _started: bool = field(default=False)

    def submit(self, document: Document) -> Any:
        """Submit a document."""
        if self._task is None:
            self._start()
        if self._task is None:
            raise OutsideError("Ray did not start")
        return self._task(self.reader, document)

    def result_of(self, document: Document, request: Any) -> Part:
        """Wait for a document; Ray itself reassigns it where a worker died."""
        try:
            part: Part = self._ray.get(request)
        except self._ray.exceptions.RayError as fault:
            raise OutsideError(f"Ray did not read {document.name}: {fault}") from fault
        return part

    def close(self) -> None:
        """Leave the cluster, and shut it down where it was started here."""
        if self._started:
            self._ray.shutdown()
            self._started = False

    def _start(self) -> None:
        try:
            import ray
        except ImportError as fault:
            raise MissingExtraError("--workers ray", "scale") from fault
        self._ray = ray
        if not ray.is_initialized():
            ray.init(include_dashboard=False, log_to_driver=False, logging_level="ERROR")
            self._started = True
        self._task = ray.remote(max_retries=_TRIES)(_read_document).remote
        self.ahead = max(2, 2 * int(ray.cluster_resources().get("CPU", 1)))


def _read_document(reader: DocumentReader, document: Document) -> Part:
    return reader.read(document)
