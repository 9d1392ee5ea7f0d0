"""A file of cases as batches to be written once."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path

from shiyi.ingest.cases.case import Case
from shiyi.ingest.cases.layers import Terms
from shiyi.ingest.cases.reading import Reading
from shiyi.ingest.cases.records import Record, read_records
from shiyi.ingest.cases.writing import case_quads, cases_graph, faults_of, layer_quads
from shiyi.ingest.datasets import Dataset, file_digest
from shiyi.ingest.report import Report
from shiyi.ingest.run import Batch, Content
from shiyi.model.claim import Source, Tier
from shiyi.model.names import content_hash
from shiyi.model.rdf import Quad
from shiyi.settings import Settings

Also = Callable[[Sequence[Case]], Iterable[Quad]]
_TEST = frozenset({"test", "测试", "测试集"})
_TOGETHER = 40  # cases that are linked and written as one change (ours)


def cases_dataset(path: Path, school: str = "") -> Dataset:
    """Describe a file of cases by its bytes alone: its name may hold a person's."""
    digest = file_digest(path)
    name = f"cases-{school}-{digest[:8]}" if school else f"cases-{digest[:8]}"
    note = "de-identified when it was read; examples, never evidence of a benefit"
    source = Source(
        name, "临床病例", "Clinical cases", Tier.CASE_REPORT, licence="not stated", note=note
    )
    return Dataset(name, digest[8:20], source)


def case_batches(
    dataset: Dataset, path: Path, reading: Reading, terms: Terms, settings: Settings,
    report: Report, limit: int = 0, also: Also | None = None,
) -> Iterator[Batch]:  # fmt: skip
    """Yield the cases of a file; one that no class can be found for is reported and left out.

    ``also`` makes more of the cases, whether filed or not: the overlay of a school. Cases of a
    test split are never taken in.
    """
    records = read_records(path, settings.ingest.max_text_bytes, report.removed)
    for at, part in enumerate(_parts(records, limit)):
        report.documents += len(part)
        key = content_hash(str(at), str(len(part)), reading.digest)

        def make(part: Sequence[Record] = part) -> Content:
            return _content(dataset, part, reading, terms, report, also)

        yield Batch(f"{key} {reading.reader.name} {reading.reader.version}", make)


def _parts(records: Iterator[Record], limit: int) -> Iterator[Sequence[Record]]:
    taken = (each for number, each in enumerate(records, 1) if not limit or number <= limit)
    while part := list(islice(taken, _TOGETHER)):
        yield part


def _content(
    dataset: Dataset, records: Sequence[Record], reading: Reading, terms: Terms, report: Report,
    also: Also | None,
) -> Content:  # fmt: skip
    content, place = Content(), cases_graph(f"{dataset.name}@{dataset.version}")
    tests = [each.number for each in records if each.fields.get("split", "").lower() in _TEST]
    report.failures += (f"case {number} is of a test split and was left out" for number in tests)
    cases = [(each.number, reading.case(each)) for each in records if each.number not in set(tests)]
    faults = faults_of((case for _, case in cases), dataset.source.iri)
    kept: list[Case] = []
    for number, case in cases:
        if fault := faults.get(case.iri):
            report.failures.append(f"case {number}: {fault.message_en}")
            continue
        report.filed[case.chosen_by] += 1
        content.rows += 1
        content.quads += case_quads(case, dataset.source.iri, place)
        kept.append(case)
    content.quads += layer_quads(kept, terms, place)
    if also:
        content.quads += also([case for _, case in cases])
    report.removed.update(reading.removed)
    reading.removed.clear()
    return content
