"""The starter knowledge base."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from shiyi.artefacts import artefact
from shiyi.ingest.documents.books import book_of, book_quads
from shiyi.ingest.tables import mappings as sssom
from shiyi.ingest.tables.claims import ClaimTableReader
from shiyi.ingest.tables.concepts import (
    KINDS,
    Concepts,
    RetiredConcept,
    check_acyclic,
    concept_pinyin,
    concept_quads,
    read_concepts,
    read_retired,
    resolve_broader,
    retired_quads,
)
from shiyi.ingest.tables.conflicts import conflict_quads
from shiyi.ingest.tables.evidence import attach_evidence
from shiyi.ingest.tables.tsv import Faults, Row, check_columns, read_tables
from shiyi.model.claim import UNOPENED, Claim, Source, Status, Tier
from shiyi.model.iris import graph, resource
from shiyi.model.rdf import DefaultGraph, Quad, Term, parse_turtle
from shiyi.ontology.schema import Schema
from shiyi.ontology.serialization import claim_quads, source_quads
from shiyi.ontology.terms import SKOS
from shiyi.settings import ConfidenceSettings

COLUMNS = (
    "id", "title_zh", "title_en", "tier", "year", "identifier", "licence", "lineage", "note",
)  # fmt: skip


def read_sources(folder: Path, faults: Faults) -> dict[str, Source]:
    """Read every source table of ``folder``, by id."""
    results = {source.id: source for source in UNOPENED.values()}
    for header, rows in read_tables(folder, faults):
        check_columns(header, ("id", "title_zh", "title_en", "tier"), COLUMNS, rows, faults)
        for row in rows:
            if row.get("id") in results:
                faults.add(row.at("id"), f"source {row.get('id')} is defined twice")
            elif source := _source(row, faults):
                results[source.id] = source
    return results


def _source(row: Row, faults: Faults) -> Source | None:
    if row.get("tier") not in set(Tier):
        faults.unknown(row.at("tier"), "tier", row.get("tier"), Tier)
        return None
    for column in ("id", "title_zh", "title_en"):
        if not row.get(column):
            faults.add(row.at(column), "is empty")
    return Source(
        id=row.get("id"),
        title_zh=row.get("title_zh"),
        title_en=row.get("title_en"),
        tier=Tier(row.get("tier")),
        year=row.get("year"),
        identifier=row.get("identifier"),
        licence=row.get("licence"),
        lineage=row.get("lineage"),
        note=row.get("note"),
    )


CANDIDATES = graph("candidates")


@dataclass(frozen=True, slots=True)
class Starter:
    """The contents of the tables, every reference resolved."""

    concepts: Concepts
    broader: dict[str, list[str]]
    sources: dict[str, Source]
    claims: list[Claim]
    mappings: list[sssom.Mapping]
    retired: tuple[RetiredConcept, ...] = ()
    mapping_rows: tuple[Quad, ...] = ()  # the mapping tables as they stand, ruled-out rows too

    def counts(self) -> dict[str, int]:
        """Count concepts by class, and claims, evidence, sources and mappings."""
        by_class = Counter(concept.class_name for concept in self.concepts.by_id.values())
        return dict(sorted(by_class.items())) | {
            "concepts": len(self.concepts),
            "claims": len(self.claims),
            "evidence": sum(len(claim.evidence) for claim in self.claims),
            "sources": len(self.sources),
            "mappings": len(self.mappings),
        }

    def quads(self) -> Iterator[Quad]:
        """Yield the accepted view: vocabulary, concepts, mappings, sources, claims, conflicts."""
        yield from vocabulary_quads()
        for concept in self.concepts.by_id.values():
            yield from concept_quads(concept, self.broader[concept.id], concept_pinyin(concept))
        yield from top_quads(self.concepts, self.broader)
        yield from sssom.mapping_quads(self.mappings)
        yield from self.mapping_rows
        for gone in self.retired:
            yield from retired_quads(gone)
        for source in self.sources.values():
            yield from source_quads(source)
            if book := book_of(source.id):
                yield from book_quads(book, source.iri, DefaultGraph())
        waiting = set[Term]()  # candidates: what contradicts a claim is not in the accepted view
        for claim in self.claims:
            if claim.status is Status.ACCEPTED:
                yield from claim_quads(claim)
            else:
                waiting.add(claim.iri)
                yield from claim_quads(claim, CANDIDATES)
        for quad in conflict_quads(self.claims, self.broader):
            place = CANDIDATES if quad.subject in waiting else quad.graph_name
            yield Quad(quad.subject, quad.predicate, quad.object, place)


def load_starter(
    folder: Path | None = None, weights: ConfidenceSettings | None = None, pointers: bool = True
) -> Starter:
    """Read ``ontology/`` whole; raise :class:`TableError` with every fault of every file.

    With ``pointers`` the project's own tables have the evidence of ``ingest/evidence`` too.
    """
    own = pointers and (folder is None or folder.resolve() == artefact("ontology").resolve())
    folder, schema, faults = folder or artefact("ontology"), Schema.load(), Faults()
    sources = read_sources(folder / "sources", faults)
    concepts = read_concepts(folder / "concepts", schema, faults)
    broader = {each.id: resolve_broader(each, concepts, faults) for each in concepts.by_id.values()}
    check_acyclic(broader, concepts, faults)
    reader = ClaimTableReader(schema, concepts, sources, weights or ConfidenceSettings(), faults)
    claims = reader.read(folder / "claims")
    if own:
        claims = attach_evidence(claims, sources, reader.weights, faults)
        sources |= {each.source.id: each.source for claim in claims for each in claim.evidence}
    mappings = sssom.read_mappings(folder / "mappings", concepts, faults)
    retired = tuple(read_retired(folder / "retired", concepts, faults))
    faults.raise_if_any()
    rows = tuple(sssom.table_quads(folder / "mappings"))
    return Starter(concepts, broader, sources, claims, mappings, retired, rows)


def vocabulary_quads() -> Iterator[Quad]:
    """Yield the OWL vocabulary, and the schemes with the concepts that come with them."""
    for name in ("shiyi", "schemes"):
        yield from parse_turtle(artefact(f"ontology/{name}.ttl").read_text(encoding="utf-8"))


def top_quads(concepts: Concepts, broader: Mapping[str, list[str]]) -> Iterator[Quad]:
    """Yield the top concepts of each scheme: those of its kind with nothing broader."""
    for concept in concepts.by_id.values():
        if not broader[concept.id]:
            scheme = resource(f"scheme-{KINDS[concept.class_name]}")
            yield Quad(scheme, SKOS.hasTopConcept, concept.iri, DefaultGraph())
