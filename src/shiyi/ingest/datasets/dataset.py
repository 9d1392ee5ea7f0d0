"""A described dataset and its admission policy."""

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from shiyi.artefacts import artefact
from shiyi.errors import ConformanceError, FormatError, UsageError
from shiyi.ingest.documents.document import Repair
from shiyi.ingest.gate import ProposedClaim
from shiyi.model.claim import Source, Status, Tier
from shiyi.model.iris import VOCAB, graph, resource
from shiyi.model.rdf import (
    XSD_BOOLEAN,
    DefaultGraph,
    Literal,
    NamedNode,
    Object,
    Quad,
    Term,
    local_name,
    parse_turtle,
    text,
)
from shiyi.ontology.serialization import STATUSES, source_quads
from shiyi.ontology.terms import DCAT, DCTERMS, RDF, RDFS, SHIYI, SKOS
from shiyi.sparql.base.digests import file_digest
from shiyi.sparql.store.port import QuadStore

_TIER = re.compile(r"tier-([a-z-]+)$")


@dataclass(frozen=True, slots=True)
class Dataset:
    """One release of a source; ``digests`` give the SHA-256 its files had when described.

    ``entry`` is its policy: the status of its claims once they conform, candidate or accepted.
    ``made_up`` says that it is a sample: nobody and nothing in it is real.
    """

    name: str
    version: str
    source: Source
    page: str = ""
    digests: Mapping[str, str] = field(default_factory=dict)
    entry: Status = Status.CANDIDATE
    made_up: bool = False

    @property
    def graph(self) -> NamedNode:
        """Name the graph of its passages, records and sources."""
        return graph("source", f"{self.name}@{self.version}")

    def quads(self) -> Iterable[Quad]:
        """Yield its own description, for its graph."""
        node = resource(f"dataset-{self.name}-{self.version}")
        yield Quad(node, RDF.type, DCAT.Dataset, self.graph)
        yield Quad(node, DCAT.version, Literal(self.version), self.graph)
        yield Quad(node, DCTERMS.source, self.source.iri, self.graph)
        if self.page:
            yield Quad(node, DCAT.landingPage, NamedNode(self.page), self.graph)
        if self.entry is not Status.CANDIDATE:
            yield Quad(node, SHIYI.statusOnEntry, STATUSES[self.entry], self.graph)
        if self.made_up:
            true = Literal("true", datatype=XSD_BOOLEAN)
            yield Quad(self.source.iri, SHIYI.madeUp, true, self.graph)
        yield from source_quads(self.source, self.graph)

    def differs(self, path: Path) -> bool:
        """Return whether ``path`` is known by name but holds other bytes than were described."""
        known = self.digests.get(path.name)
        return known is not None and known != file_digest(path)


def load_dataset(name: str) -> Dataset:
    """Read ``ingest/<name>/source.ttl``."""
    path = artefact(f"ingest/{name}/source.ttl")
    if not path.is_file():
        known = ("books", "text", "cases", "table", "sssom", "skos", "owl", *dataset_names())
        raise FormatError("source", name, known)
    return read_dataset(path)


def read_dataset(path: Path) -> Dataset:
    """Read a ``source.ttl``; its dataset is named ``id:dataset-<name>``.

    Raises :class:`ConformanceError` for one that breaks the shape of datasets.
    """
    if not path.is_file():
        raise UsageError(f"{path} is missing: it names title, licence, version and tier")
    facts = _Facts(parse_turtle(path.read_text(encoding="utf-8")))
    _check(facts, path)
    [node] = facts.subjects(RDF.type, DCAT.Dataset)
    name = local_name(text(node)).removeprefix("dataset-")
    tier = _TIER.search(facts.one(node, SHIYI.sourceTier))
    if tier is None:
        raise UsageError(f"{path}: shiyi:sourceTier names one of the tiers, id:tier-…")
    source = Source(
        name,
        facts.one(node, DCTERMS.title, "zh"),
        facts.one(node, DCTERMS.title, "en"),
        Tier(tier[1]),
        facts.one(node, DCTERMS.date),
        facts.one(node, DCTERMS.identifier),
        facts.one(node, DCTERMS.license),
        facts.one(node, SHIYI.lineage),
        facts.one(node, RDFS.comment),
    )
    files = {
        facts.one(term, DCTERMS.title): facts.one(term, DCTERMS.identifier).removeprefix("sha256:")
        for term in facts.objects(node, DCAT.distribution)
    }
    value = facts.one(node, SHIYI.statusOnEntry)
    entry = Status(local_name(value)) if value else Status.CANDIDATE
    page, made_up = facts.one(node, DCAT.landingPage), facts.one(node, SHIYI.madeUp) == "true"
    return Dataset(name, facts.one(node, DCAT.version), source, page, files, entry, made_up)


def find_description(path: Path) -> Dataset | None:
    """Read the ``source.ttl`` that lies beside some files, if one does: it describes them."""
    beside = (path if path.is_dir() else path.parent) / "source.ttl"
    return read_dataset(beside) if beside.is_file() else None


def _check(facts: "_Facts", path: Path) -> None:
    from shiyi.shapes.validation import shapes_graph, to_graph, validate

    results = validate(to_graph(facts.quads), shapes_graph("dataset"))
    if faults := [f"{path}: {each.message_en}" for each in results if each.severity == "Violation"]:
        raise ConformanceError(faults)


def dataset_names() -> tuple[str, ...]:
    """List the folders of ``ingest/`` that describe a source."""
    folders = (path.parent.name for path in artefact("ingest").glob("*/source.ttl"))
    return tuple(sorted(name for name in folders if not name.endswith("-sample")))


def load_repairs(name: str) -> tuple[Repair, ...]:
    """Read ``ingest/<name>/repairs.tsv``: name, what is wrong, what is right; longest first."""
    path = artefact(f"ingest/{name}/repairs.tsv")
    if not path.is_file():
        return ()
    rows = [line.split("\t") for line in path.read_text(encoding="utf-8").splitlines()[1:]]
    results = [Repair(*row) for row in rows if len(row) == 3]
    return tuple(sorted(results, key=lambda repair: -len(repair.wrong)))


def describe_text(path: Path, title: str) -> Dataset:
    """Describe a user's own text: named after its file, with the digest of its bytes as version."""
    stem = re.sub(r"[^a-z0-9]+", "-", path.stem.lower()).strip("-")
    digest = file_digest(path)
    name = f"text-{stem or hashlib.sha256(path.stem.encode()).hexdigest()[:8]}"
    source = Source(
        name, title, title, Tier.WEBPAGE, licence="not stated", note=f"ingested from {path.name}"
    )
    return Dataset(name, digest[:12], source, digests={path.name: digest})


class _Facts:
    def __init__(self, quads: Iterable[Quad]) -> None:
        self.quads = tuple(quads)

    def subjects(self, predicate: NamedNode, value: Term) -> list[Term]:
        return [q.subject for q in self.quads if q.predicate == predicate and q.object == value]

    def objects(self, subject: Term, predicate: NamedNode) -> list[Term]:
        return [q.object for q in self.quads if q.subject == subject and q.predicate == predicate]

    def one(self, subject: Term, predicate: NamedNode, language: str = "") -> str:
        for term in self.objects(subject, predicate):
            if not language or (isinstance(term, Literal) and term.language == language):
                return text(term)
        return ""


_REVIEWS = graph("reviews")


@dataclass(slots=True)
class AdmissionPolicy:
    """The policy of a dataset over a base: ``shiyi:statusOnEntry`` of its ``source.ttl``.

    Where it says accepted, a claim still enters as a candidate if a model read it, if an expert
    has decided on it, if it gives a name or a match, which all else is linked with, or if the
    accepted view does not hold the concepts it speaks of.
    """

    dataset: Dataset
    store: QuadStore
    _known: dict[NamedNode, bool] = field(default_factory=dict)

    @property
    def accepts(self) -> bool:
        """Return whether any claim may enter accepted."""
        return self.dataset.entry is Status.ACCEPTED

    def of(self, proposed: Iterable[ProposedClaim], withheld: Counter[str]) -> list[ProposedClaim]:
        """Return the claims with their status on entry; count those that stay candidates."""
        if not self.accepts:
            return list(proposed)
        return [self._apply_status(claim, withheld) for claim in proposed]

    def _apply_status(self, proposal: ProposedClaim, withheld: Counter[str]) -> ProposedClaim:
        if reason := next(self._against(proposal), ""):
            withheld[reason] += 1
            return proposal
        return replace(proposal, entry=Status.ACCEPTED)

    def _against(self, proposal: ProposedClaim) -> Iterator[str]:
        claim = proposal.claim
        if proposal.by_model or any(e.source.tier is Tier.MODEL for e in claim.evidence):
            yield "read by a model"
        if not claim.predicate.value.startswith(VOCAB):
            yield "a name or match"
        if not (self._holds(claim.subject) and self._holds(claim.object)):
            yield "of a concept that is not in the accepted view"
        if any(self.store.match(None, DCTERMS.subject, claim.iri, _REVIEWS)):
            yield "an expert has decided"

    def _holds(self, node: Object) -> bool:
        if not isinstance(node, NamedNode):
            return True
        if node not in self._known:
            value = self.store.match(node, SKOS.prefLabel, None, DefaultGraph())
            self._known[node] = any(value)
        return self._known[node]
