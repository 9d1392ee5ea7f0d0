"""What is ingested: a dataset of a name and version, described in ``ingest/<name>/source.ttl``."""

import hashlib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from shiyi.artefacts import artefact
from shiyi.errors import ConformanceError, FormatError, UsageError
from shiyi.ingest.text.document import Repair
from shiyi.model.claim import Source, Status, Tier
from shiyi.model.names import graph, resource
from shiyi.model.rdf import Literal, NamedNode, Quad, Term, local_name, parse_turtle, text
from shiyi.ontology.statements import STATUSES, source_quads
from shiyi.ontology.terms import DCAT, DCTERMS, RDF, RDFS, SHIYI

_TIER = re.compile(r"tier-([a-z-]+)$")
_BLOCK = 1 << 20


@dataclass(frozen=True, slots=True)
class Dataset:
    """One release of a source; ``digests`` give the SHA-256 its files had when described.

    ``entry`` is its policy: the status that a claim of it has once it conforms, candidate or accepted.
    """

    name: str
    version: str
    source: Source
    page: str = ""
    digests: Mapping[str, str] = field(default_factory=dict)
    entry: Status = Status.CANDIDATE

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
        yield from source_quads(self.source, self.graph)

    def differs(self, path: Path) -> bool:
        """Tell whether ``path`` is known by name but holds other bytes than were described."""
        known = self.digests.get(path.name)
        return known is not None and known != file_digest(path)


def described(name: str) -> Dataset:
    """Read ``ingest/<name>/source.ttl``."""
    path = artefact(f"ingest/{name}/source.ttl")
    if not path.is_file():
        known = ("books", "text", "cases", "table", "sssom", "skos", "owl", *dataset_names())
        raise FormatError("source", name, known)
    return described_in(path)


def described_in(path: Path) -> Dataset:
    """Read a ``source.ttl``, whose dataset is named ``id:dataset-<name>``.

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
        name, facts.one(node, DCTERMS.title, "zh"), facts.one(node, DCTERMS.title, "en"),
        Tier(tier[1]), facts.one(node, DCTERMS.date), facts.one(node, DCTERMS.identifier),
        facts.one(node, DCTERMS.license), facts.one(node, SHIYI.lineage),
        facts.one(node, RDFS.comment),
    )  # fmt: skip
    files = {
        facts.one(each, DCTERMS.title): facts.one(each, DCTERMS.identifier).removeprefix("sha256:")
        for each in facts.objects(node, DCAT.distribution)
    }
    said = facts.one(node, SHIYI.statusOnEntry)
    entry = Status(local_name(said)) if said else Status.CANDIDATE
    return Dataset(
        name, facts.one(node, DCAT.version), source, facts.one(node, DCAT.landingPage), files, entry
    )


def _check(facts: "_Facts", path: Path) -> None:
    from shiyi.shapes.validation import lowered, shapes_graph, validate

    results = validate(lowered(facts.quads), shapes_graph("dataset"))
    if faults := [f"{path}: {each.message_en}" for each in results if each.severity == "Violation"]:
        raise ConformanceError(faults)


def dataset_names() -> tuple[str, ...]:
    """List the folders of ``ingest/`` that describe a source."""
    return tuple(sorted(path.parent.name for path in artefact("ingest").glob("*/source.ttl")))


def repairs_of(name: str) -> tuple[Repair, ...]:
    """Read ``ingest/<name>/repairs.tsv``: name, what is wrong, what is right; longest first."""
    path = artefact(f"ingest/{name}/repairs.tsv")
    if not path.is_file():
        return ()
    rows = [line.split("\t") for line in path.read_text(encoding="utf-8").splitlines()[1:]]
    found = [Repair(*row) for row in rows if len(row) == 3]
    return tuple(sorted(found, key=lambda each: -len(each.wrong)))


def own_text(path: Path, title: str) -> Dataset:
    """Describe a person's own text: named after its file, its version the digest of its bytes."""
    stem = re.sub(r"[^a-z0-9]+", "-", path.stem.lower()).strip("-")
    digest = file_digest(path)
    name = f"text-{stem or hashlib.sha256(path.stem.encode()).hexdigest()[:8]}"
    source = Source(name, title, title, Tier.WEBPAGE, licence="not stated",
                    note=f"ingested from {path.name}")  # fmt: skip
    return Dataset(name, digest[:12], source, digests={path.name: digest})


def file_digest(path: Path) -> str:
    """Give the SHA-256 of a file, in hexadecimal digits."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
            digest.update(block)
    return digest.hexdigest()


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
