"""Extraction precision and recall."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

from shiyi.errors import FormatError, UsageError
from shiyi.evaluation.bench import Request
from shiyi.evaluation.items import Skips, json_lines
from shiyi.evaluation.report import Report, Run
from shiyi.evaluation.tasks.choice import Progress
from shiyi.ingest.documents.document import Document, Passage, Section
from shiyi.ingest.extraction.extractor import Extractor, Relations
from shiyi.ingest.extraction.statements import StatementReader
from shiyi.linking.labels import LabelIndex
from shiyi.linking.normalization import language_of
from shiyi.model.claim import Polarity, Source, Tier
from shiyi.model.iris import graph, resource
from shiyi.model.rdf import NamedNode, text

Triple = tuple[str, str, str, Polarity]
Makers = Mapping[str, Callable[[], Extractor]]


@dataclass(frozen=True, slots=True)
class Item:
    """A passage under its title, and the claims a person read in it, by IRI."""

    id: str
    document: Document
    passage: Passage
    gold: frozenset[Triple]


def load_items(path: Path, index: LabelIndex, limit: int | None) -> tuple[list[Item], Skips]:
    """Read JSON Lines: ``{"title", "text", "claims": [{"subject", "relation", "object"}]}``.

    Subject and object are names or ids of concepts, or the words of a text; ``"negated": true``
    says that the passage denies the claim, ``"tier"`` what kind of work it is from.
    """
    skips, reader, items = Skips(), StatementReader(index, Relations.of()), list[Item]()
    for place, row in json_lines(path, skips):
        title, body, claims = row.get("title"), row.get("text"), row.get("claims")
        if not (isinstance(body, str) and body and isinstance(claims, list)):
            skips.note("no text or no claims", place)
            continue
        gold = set[Triple]()
        for claim in claims:
            if triple := _triple(claim, reader):
                gold.add(triple)
            else:
                skips.note("claim that names nothing known", place)
        name = str(row.get("id", place))
        if any(name == item.id for item in items):
            skips.note("the same id again", place)
            continue
        source = Source(f"test-{name}", name, name, Tier(str(row.get("tier", "classic"))))
        document = Document(name, source, language_of(body), body)
        section = Section(resource(f"section/{name}").value, (str(title or ""),))
        passage = Passage(resource(f"passage/{name}").value, section, 0, len(body), body, True)
        items.append(Item(name, document, passage, frozenset(gold)))
    return items[:limit], skips


def _triple(claim: Any, reader: StatementReader) -> Triple | None:
    try:
        relation, polarity = claim["relation"], _POLARITY[bool(claim.get("negated", False))]
        prop = reader.relations.schema.property(relation)
        subject = _find_concept(claim["subject"], prop.domain, reader)
        value = (
            claim["object"] if prop.is_text else _find_concept(claim["object"], prop.range, reader)
        )
    except (KeyError, TypeError, AttributeError, FormatError):
        return None
    return (
        (subject, reader.relations.node(relation).value, value, polarity)
        if subject and value
        else None
    )


_POLARITY = {False: Polarity.POSITIVE, True: Polarity.NEGATIVE}


def _find_concept(name: str, classes: frozenset[str], reader: StatementReader) -> str:
    node = resource(name) if name.isascii() and "-" in name else None
    if node and reader.is_a(node, classes):
        return node.value
    found: NamedNode | None = reader.find(name, reader.relations.kinds(classes))
    return found.value if found else ""


def measure_extraction(
    index: LabelIndex, release: str, request: Request, makers: Makers, progress: Progress
) -> Report:
    """Measure extractors: precision over claims read, recall over claims on file, F1 by passage."""
    for method in request.methods:
        if method not in makers:
            raise FormatError("method of extraction", method, tuple(makers))
    items, skips = load_items(Path(request.file), index, request.limit)
    if not items:
        raise UsageError(f"{request.file} holds no passage with claims")
    runs = tuple(_run(method, makers[method](), items, progress) for method in request.methods)
    notes = tuple(f"{run.method}: F1 over all claims {_micro(run):.3f}" for run in runs)
    return Report(
        request.task,
        request.file,
        request.ablate,
        len(items),
        skips,
        runs,
        release,
        request.settings(),
        notes,
    )


def _run(method: str, extractor: Extractor, items: list[Item], progress: Progress) -> Run:
    started, place = perf_counter(), graph("source", "test")
    precision, recall, f1, parked = list[float](), list[float](), list[float](), list[float]()
    for number, item in enumerate(items, 1):
        [extraction] = extractor.read([item.passage], item.document, place)
        read = {
            (e.subject.value, e.predicate.value, text(e.object), e.polarity)
            for e in extraction.found
        }
        right = read & item.gold
        precision += (float(row in item.gold) for row in sorted(read))
        recall += (float(row in read) for row in sorted(item.gold))
        both = len(read) + len(item.gold)
        f1.append(2 * len(right) / both if both else 1.0)
        parked.append(float(bool(extraction.parked)))
        progress(method, number, len(items))
    values = {
        "f1": f1,
        "precision": precision or [0.0],
        "recall": recall or [0.0],
        "parked": parked,
    }
    return Run(method, values, perf_counter() - started)


def _micro(run: Run) -> float:
    precision, recall = (sum(run.values[n]) / len(run.values[n]) for n in ("precision", "recall"))
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0
