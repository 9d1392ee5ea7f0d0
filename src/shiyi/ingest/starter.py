"""The starter knowledge base: every table of ``ontology/``, read, checked and written as quads."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from shiyi.artefacts import artefact
from shiyi.ingest import mappings as sssom
from shiyi.ingest.claims import Reader
from shiyi.ingest.concepts import (
    KINDS,
    Concepts,
    broader_of,
    check_acyclic,
    concept_quads,
    read_concepts,
)  # fmt: skip
from shiyi.ingest.conflicts import conflict_quads
from shiyi.ingest.retired import Retired, read_retired, retired_quads
from shiyi.ingest.sources import read_sources
from shiyi.ingest.tables import Faults
from shiyi.model.claim import Claim, Source
from shiyi.model.names import resource
from shiyi.model.rdf import DefaultGraph, Quad, parse_turtle
from shiyi.ontology.statements import claim_quads, source_quads
from shiyi.ontology.terms import SKOS
from shiyi.ontology.vocabulary import Schema
from shiyi.settings import ConfidenceSettings


@dataclass(frozen=True, slots=True)
class Starter:
    """What the tables hold, every reference resolved."""

    concepts: Concepts
    broader: dict[str, list[str]]
    sources: dict[str, Source]
    claims: list[Claim]
    mappings: list[sssom.Mapping]
    retired: tuple[Retired, ...] = ()
    mapping_rows: tuple[Quad, ...] = ()  # the mapping tables as they stand, ruled-out rows too

    def counts(self) -> dict[str, int]:
        """Count concepts by class, and claims, evidence, sources and mappings."""
        by_class = Counter(each.class_name for each in self.concepts.by_id.values())
        return dict(sorted(by_class.items())) | {
            "concepts": len(self.concepts), "claims": len(self.claims),
            "evidence": sum(len(each.evidence) for each in self.claims),
            "sources": len(self.sources), "mappings": len(self.mappings),
        }  # fmt: skip

    def quads(self) -> Iterator[Quad]:
        """Yield the accepted view: vocabulary, concepts, mappings, sources, claims, conflicts."""
        yield from vocabulary_quads()
        for concept in self.concepts.by_id.values():
            yield from concept_quads(concept, self.broader[concept.id], pinyin_of(concept))
        yield from top_quads(self.concepts, self.broader)
        yield from sssom.mapping_quads(self.mappings)
        yield from self.mapping_rows
        for gone in self.retired:
            yield from retired_quads(gone)
        for source in self.sources.values():
            yield from source_quads(source)
        for claim in self.claims:
            yield from claim_quads(claim)
        yield from conflict_quads(self.claims, self.broader)


def load_starter(folder: Path | None = None, weights: ConfidenceSettings | None = None) -> Starter:
    """Read ``ontology/`` whole; raise :class:`TableError` with every fault of every file."""
    folder, schema, faults = folder or artefact("ontology"), Schema.load(), Faults()
    sources = read_sources(folder / "sources", faults)
    concepts = read_concepts(folder / "concepts", schema, faults)
    broader = {
        each.id: broader_of(each, concepts, faults) for each in concepts.by_id.values()
    }  # fmt: skip
    check_acyclic(broader, concepts, faults)
    reader = Reader(schema, concepts, sources, weights or ConfidenceSettings(), faults)
    claims = reader.read(folder / "claims")
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
    for each in concepts.by_id.values():
        if not broader[each.id]:
            scheme = resource(f"scheme-{KINDS[each.class_name]}")
            yield Quad(scheme, SKOS.hasTopConcept, each.iri, DefaultGraph())


def pinyin_of(concept: object) -> str:
    """Give a concept's pinyin with tone marks, made from its label where its row has none."""
    from pypinyin import Style, lazy_pinyin

    given, label = getattr(concept, "pinyin", ""), getattr(concept, "zh", "")
    return str(given or "".join(lazy_pinyin(label, style=Style.TONE)))
