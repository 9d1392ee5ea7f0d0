"""Readers' reports."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice
from typing import Final

from shiyi.curation.changes import Changes, Edit
from shiyi.curation.editing.form import fault
from shiyi.errors import FormatError, FormError, UsageError
from shiyi.model.iris import content_hash, graph, resource
from shiyi.model.rdf import Literal, NamedNode, Quad, text
from shiyi.ontology.terms import DCTERMS, OA, PROV, RDF, RDFS, SHIYI
from shiyi.sparql.store.port import QuadStore

FEEDBACK: Final = graph("feedback")
KINDS: Final = ("wrong", "source", "unclear", "missing", "other")
LONGEST: Final = 2000  # characters of a report
_TIME = NamedNode("http://www.w3.org/2001/XMLSchema#dateTime")
_OPEN, _TAKEN, _CLOSED = SHIYI.candidate, SHIYI.accepted, SHIYI.rejected


@dataclass(frozen=True, slots=True)
class Report:
    """A report: its subject, the kind of mistake, the reader's words; open until answered."""

    iri: str
    about: str
    kind: str
    words: str
    when: str
    status: str
    answer: str = ""

    @property
    def is_open(self) -> bool:
        """Return whether nobody has answered yet."""
        return self.status == "candidate"


def file_report(
    changes: Changes, about: str, kind: str, words: str, now: datetime | None = None
) -> Report:
    """Store a report, once: the same words about the same thing are one report.

    Raise ``UsageError`` for an unknown subject.
    """
    words = words.strip()
    if kind not in KINDS:
        raise FormatError("kind of mistake", kind, KINDS)
    if not 3 <= len(words) <= LONGEST:
        raise UsageError(f"a report says in 3 to {LONGEST} characters what is wrong")
    if not is_known(changes.store, about):
        raise UsageError("there is nothing of that name to report on")
    node = resource(f"report/{content_hash(about, kind, words)}")
    when = (now or datetime.now(UTC)).isoformat(timespec="seconds")
    quads = [
        Quad(node, RDF.type, OA.Annotation, FEEDBACK),
        Quad(node, OA.motivatedBy, OA.moderating, FEEDBACK),
        Quad(node, OA.hasTarget, NamedNode(about), FEEDBACK),
        Quad(node, OA.bodyValue, Literal(words), FEEDBACK),
        Quad(node, DCTERMS.type, Literal(kind), FEEDBACK),
        Quad(node, PROV.generatedAtTime, Literal(when, datatype=_TIME), FEEDBACK),
        Quad(node, SHIYI.status, _OPEN, FEEDBACK),
    ]
    if read_report(changes.store, node.value) is None:
        changes.writer.write(
            quads, key=f"report {node.value}", agent="a reader", reason=f"report: {kind}"
        )
    result = read_report(changes.store, node.value)
    if result is None:
        raise UsageError("this report was made and settled before")
    return result


def read_report(store: QuadStore, iri: str) -> Report | None:
    """Read one report; None where there is none of that name."""
    values = {
        quad.predicate: text(quad.object)
        for quad in store.match(NamedNode(iri), None, None, FEEDBACK)
    }
    if OA.hasTarget not in values:
        return None
    return Report(
        iri,
        values[OA.hasTarget],
        values.get(DCTERMS.type, "other"),
        values.get(OA.bodyValue, ""),
        values.get(PROV.generatedAtTime, ""),
        values.get(SHIYI.status, "").rpartition("#")[2],
        values.get(RDFS.comment, ""),
    )


def reports(store: QuadStore, *, everything: bool = False, limit: int = 200) -> list[Report]:
    """List the open reports, or all, the newest first."""
    status = None if everything else _OPEN
    nodes = (q.subject for q in store.match(None, SHIYI.status, status, FEEDBACK))
    results = (read_report(store, node.value) for node in nodes if isinstance(node, NamedNode))
    listed = sorted((each for each in results if each), key=lambda each: each.when, reverse=True)
    return listed[:limit]


def reported_claims(store: QuadStore) -> Iterator[str]:
    """Yield the claims that open reports are about, themselves or by their evidence."""
    for report in reports(store, limit=100_000):
        yield report.about
        for quad in store.match(None, SHIYI.evidence, NamedNode(report.about), None):
            yield text(quad.subject)


def answer_report(store: QuadStore, iri: str, is_accepted: bool, reason: str) -> Edit:
    """Close a report as right or as not right, with the answer; the report itself is stored."""
    result = read_report(store, iri)
    if result is None:
        raise FormError([fault("report", "no_report")])
    node = NamedNode(iri)
    quads = [
        *store.match(node, SHIYI.status, None, FEEDBACK),
        *store.match(node, RDFS.comment, None, FEEDBACK),
    ]
    come = (
        Quad(node, SHIYI.status, _TAKEN if is_accepted else _CLOSED, FEEDBACK),
        Quad(node, RDFS.comment, Literal(reason), FEEDBACK),
    )
    return Edit("answer-report", (iri, result.about), reason, tuple(quads), come)


def is_known(store: QuadStore, iri: str) -> bool:
    """Return whether the base says anything of a thing."""
    return bool(iri) and next(iter(islice(store.match(NamedNode(iri)), 1)), None) is not None
