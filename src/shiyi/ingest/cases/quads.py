"""Cases as validated quads."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path

from shiyi.ingest.batches import Batch, Content, ImportRun
from shiyi.ingest.cases.reading import Importer
from shiyi.ingest.cases.records import Case, Record, read_records
from shiyi.ingest.cases.term_matches import Terms
from shiyi.ingest.datasets.dataset import Dataset, find_description
from shiyi.model.claim import Source, Tier
from shiyi.model.iris import content_hash, graph
from shiyi.model.rdf import Literal, NamedNode, Quad
from shiyi.ontology.terms import PROV, RDF, RDFS, SHIYI
from shiyi.shapes.validation import Result, shapes_graph, to_graph, validate
from shiyi.sparql.base.digests import file_digest


def cases_graph(release: str) -> NamedNode:
    """Name the graph of the cases of one release of a source."""
    return graph("cases", release)


def case_quads(case: Case, source: NamedNode, place: NamedNode) -> Iterator[Quad]:
    """Yield a case: text, facets, classes, words and the reasoning between them."""
    node = case.iri
    yield Quad(node, RDF.type, SHIYI.PatientCase, place)
    yield Quad(node, RDF.value, Literal(case.text, language=case.language), place)
    yield Quad(node, PROV.wasDerivedFrom, source, place)
    for predicate, values in ((SHIYI.ageGroup, case.age_group), (SHIYI.sex, case.sex)):
        if values:
            yield Quad(node, predicate, Literal(values), place)
    for predicate, things in (
        (SHIYI.medicalHistory, case.history),
        (SHIYI.recordedIn, case.classes),
    ):
        for thing in things:
            yield Quad(node, predicate, thing, place)
    for mention in case.mentions:
        iri = mention.iri(node)
        yield Quad(iri, RDF.type, SHIYI.CaseMention, place)
        yield Quad(iri, RDFS.label, Literal(mention.words, language=case.language), place)
        yield Quad(iri, SHIYI.mentionKind, Literal(mention.kind), place)
        yield Quad(iri, SHIYI.mentionedIn, node, place)
    for before, after in case.steps:
        yield Quad(before.iri(node), SHIYI.leadsTo, after.iri(node), place)


def find_case_faults(cases: Iterable[Case], source: NamedNode) -> dict[NamedNode, Result]:
    """Return the first violation of the shape of cases by each case, its classes taken as given."""
    place, results = cases_graph("checked"), dict[NamedNode, Result]()
    quads: list[Quad] = []
    for case in cases:
        quads += (quad for quad in case_quads(case, source, place) if quad.subject == case.iri)
        quads += (Quad(node, RDF.type, SHIYI.TCMDisease, place) for node in case.classes)
    for result in validate(to_graph(quads), shapes_graph("case")) if quads else ():
        if result.severity == "Violation":
            results.setdefault(NamedNode(result.focus), result)
    return results


Also = Callable[[Sequence[Case]], Iterable[Quad]]
_TEST = frozenset({"test", "测试", "测试集"})
_TOGETHER = 40  # cases that are linked and written as one change (Shiyi's)


def cases_dataset(path: Path, school: str = "") -> Dataset:
    """Describe a file of cases by its bytes alone: its name may hold a person's.

    Where a ``source.ttl`` lies beside it, that describes it.
    """
    if dataset := find_description(path):
        return replace(dataset, name=f"{dataset.name}-{school}") if school else dataset
    digest = file_digest(path)
    name = f"cases-{school}-{digest[:8]}" if school else f"cases-{digest[:8]}"
    note = "de-identified when it was read; examples, never evidence of a benefit"
    source = Source(
        name, "临床病例", "Clinical cases", Tier.CASE_REPORT, licence="not stated", note=note
    )
    return Dataset(name, digest[8:20], source)


def case_batches(
    run: ImportRun, path: Path, reading: Importer, terms: Terms, extra: Also | None = None
) -> Iterator[Batch]:
    """Yield the cases of a file; one that no class can be found for is reported and left out.

    ``extra`` derives more of all cases: the overlay of a school. No test case is read.
    """
    records = read_records(path, run.settings.ingest.max_text_bytes, run.report.removed)
    for at, part in enumerate(_parts(records, run.limit)):
        run.report.documents += len(part)
        key = content_hash(str(at), str(len(part)), reading.digest)

        def make(part: Sequence[Record] = part) -> Content:
            return _content(run, part, reading, terms, extra)

        yield Batch(f"{key} {reading.reader.name} {reading.reader.version}", make)


def _parts(records: Iterator[Record], limit: int) -> Iterator[Sequence[Record]]:
    taken = (each for number, each in enumerate(records, 1) if not limit or number <= limit)
    while part := list(islice(taken, _TOGETHER)):
        yield part


def _content(
    run: ImportRun, records: Sequence[Record], reading: Importer, terms: Terms, extra: Also | None
) -> Content:
    dataset, report, content = run.dataset, run.report, Content()
    place = cases_graph(f"{dataset.name}@{dataset.version}")
    tests = [each.number for each in records if each.fields.get("split", "").lower() in _TEST]
    report.failures += (f"case {number} is of a test split and was left out" for number in tests)
    cases = [(each.number, reading.case(each)) for each in records if each.number not in set(tests)]
    faults = find_case_faults((case for _, case in cases), dataset.source.iri)
    remaining: list[Case] = []
    for number, case in cases:
        if fault := faults.get(case.iri):
            report.failures.append(f"case {number}: {fault.message_en}")
            continue
        report.filed[case.chosen_by] += 1
        content.rows += 1
        content.quads += case_quads(case, dataset.source.iri, place)
        remaining.append(case)
    content.quads += terms.link(remaining, place)
    if extra:
        content.quads += extra([case for _, case in cases])
    report.removed.update(reading.removed)
    reading.removed.clear()
    return content
