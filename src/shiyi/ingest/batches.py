"""Batches of an ingestion run, what each holds, and the report of the run."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from shiyi.ingest.datasets.dataset import Dataset
from shiyi.ingest.documents.document import Document, Passage
from shiyi.ingest.extraction.extractor import ExtractedStatement, Extractor
from shiyi.ingest.gate import GateResult, ProposedClaim
from shiyi.model.claim import Claim, Confidence, Evidence, EvidenceKind, Status
from shiyi.model.rdf import NamedNode, Quad, local_name
from shiyi.ontology.lexicon import sentences
from shiyi.settings import Settings

_NUMBERS: Final = ("documents", "sections", "passages", "rows", "skipped")
# counters in the order of the table, and whether one is shown that is empty
_COUNTERS: Final = (
    ("asserted", False), ("held_back", False), ("claims", True), ("quarantined", True),
    ("unlinked", True), ("repaired", True), ("refused", False), ("parked", False),
    ("removed", False), ("filed", False), ("taken_back", False), ("overlay", False),
    ("model_faults", False),
)  # fmt: skip
_JSON_NAMES: Final = {"skipped": "skipped_batches", "model_faults": "read_without_model"}


def figure_title(figure: str) -> str:
    """Return what a figure of a report is called, in both languages."""
    chinese, english = sentences("ingest-report")[figure]
    return f"{english} {chinese}"


@dataclass(frozen=True, slots=True)
class UnlinkedName:
    """A cell of a table that names no concept: the row's number and cells, and what it stands for.

    ``role`` is subject or object.
    """

    number: int
    row: Mapping[str, str]
    role: str
    words: str


@dataclass(slots=True)
class Content:
    """The content of one batch: quads of the source graph, claims for the gate, and counts."""

    quads: list[Quad] = field(default_factory=list)
    proposed: list[ProposedClaim] = field(default_factory=list)
    classes: dict[str, str] = field(default_factory=dict)  # of concepts that the batch brings
    unlinked: Counter[str] = field(default_factory=Counter)
    unlinked_names: list[UnlinkedName] = field(default_factory=list)
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
class ImportRun:
    """What is read, under which settings; ``limit`` counts passages or rows, 0 for all."""

    dataset: Dataset
    settings: Settings
    report: "Report"
    limit: int = 0


@dataclass(slots=True)
class Report:
    """Counts of one run; claims are counted as often as they are read, by relation."""

    dataset: str = ""
    documents: int = 0
    sections: int = 0
    passages: int = 0
    rows: int = 0
    skipped: int = 0  # batches that an earlier run had written
    claims: Counter[str] = field(default_factory=Counter)  # candidates
    asserted: Counter[str] = field(default_factory=Counter)  # by the policy of the source
    held_back: Counter[str] = field(default_factory=Counter)  # candidates in spite of it, and why
    quarantined: Counter[str] = field(default_factory=Counter)
    unlinked: Counter[str] = field(default_factory=Counter)
    repaired: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)  # statements no claim is made of
    waiting: dict[str, str] = field(default_factory=dict)  # passages to be retried, and why
    model: dict[str, float] = field(default_factory=dict)  # calls, tokens and cost of a model
    removed: Counter[str] = field(default_factory=Counter)  # from cases, by kind; never what
    filed: Counter[str] = field(default_factory=Counter)  # cases, by how their class was found
    overlay: Counter[str] = field(default_factory=Counter)  # of a school
    model_faults: Counter[str] = field(default_factory=Counter)  # cases read without the model
    taken_back: Counter[str] = field(default_factory=Counter)  # which the source says no longer
    failures: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    seconds: float = 0.0

    def park(self, parked: Mapping[str, str], tried: Iterable[str]) -> None:
        """Record which passages are parked, after earlier ones were retried."""
        for passage in tried:
            self.waiting.pop(passage, None)
        self.waiting.update(parked)

    @property
    def parked(self) -> Counter[str]:
        """Count the passages that wait by reason."""
        return Counter(self.waiting.values())

    def count(self, judged: Iterable[GateResult]) -> None:
        """Count claims by relation, and those in quarantine by the shape they break."""
        for result in judged:
            relation = local_name(result.proposed.claim.predicate.value)
            accepted = result.status is Status.ACCEPTED
            self.asserted[relation] += accepted
            self.claims[relation] += not (result.faults or accepted)
            for fault in result.faults[:1]:
                self.quarantined[f"{relation}: {fault.message_en or fault.component}"] += 1

    def to_json(self) -> dict[str, Any]:
        """Return the report for programs."""
        counters = {name: dict(getattr(self, name).most_common()) for name, _ in _COUNTERS}
        counters["asserted"] = dict(+self.asserted)
        numbers = {name: getattr(self, name) for name in _NUMBERS}
        named = {_JSON_NAMES.get(name, name): item for name, item in (numbers | counters).items()}
        return {
            "dataset": self.dataset,
            **named,
            "model": self.model,
            "failures": self.failures,
            "notes": self.notes,
            "seconds": round(self.seconds, 2),
        }

    def lines(self) -> Iterable[str]:
        """Yield the report as a table for people."""
        yield f"{self.dataset}"
        for name in _NUMBERS:
            if number := getattr(self, name):
                yield f"  {figure_title(name):<40}{number:>10,}"
        for name, always in _COUNTERS:
            counter: Counter[str] = +getattr(self, name)
            if counter or always:
                yield f"  {figure_title(name):<40}{counter.total():>10,}"
                yield from (f"    {key:<38}{n:>10,}" for key, n in counter.most_common())
        for key, figure in self.model.items():
            yield f"  {key:<40}{figure:>10,g}"
        yield f"  {figure_title('failures'):<40}{len(self.failures):>10,}"
        yield from (f"    {failure}" for failure in (*self.failures[:20], *self.notes))
        yield f"  {figure_title('seconds'):<40}{self.seconds:>10,.1f}"


def propose_claim(
    result: ExtractedStatement,
    passage: Passage,
    document: Document,
    extractor: Extractor,
    settings: Settings,
) -> ProposedClaim:
    """Return the claim that a statement makes, on the evidence of its quote."""
    source = document.source
    weight: float = getattr(settings.confidence, source.tier.value.replace("-", "_"))
    weight *= extractor.trust(settings.ingest) * result.sure
    evidence = Evidence(
        source,
        Confidence(round(weight, 6)),
        " / ".join(passage.section.path),
        EvidenceKind.READ,
        passage.text[result.start : result.end],
        NamedNode(passage.iri),
        result.qualifiers,
        activity=f"{extractor.name}-{extractor.version}",
    )
    claim = Claim.create(
        result.subject, result.predicate, result.object, (evidence,), result.polarity
    )
    after = passage.text[result.end : result.end + _AFTER]
    return ProposedClaim(claim, result.start, result.end, extractor.by_model, after=after)


_AFTER = 16  # characters behind a quote in which a warning of it begins
