"""SSSOM files: concepts mapped to UMLS, and terms of the vocabulary to other vocabularies."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from shiyi.ingest.concepts import Concepts
from shiyi.ingest.tables import Faults, Row, check_columns, read_tables
from shiyi.model.names import UMLS, VOCAB, resource
from shiyi.model.rdf import DefaultGraph, Literal, NamedNode, Quad
from shiyi.ontology.terms import PREFIXES, SHIYI, SKOS

COLUMNS = (
    "subject_id", "subject_label", "predicate_modifier", "predicate_id", "object_id",
    "object_label", "mapping_justification", "confidence", "subject_source", "object_source",
    "mapping_tool", "mapping_date", "author_id", "comment", "license",
)  # fmt: skip
TERM = "voc:"  # subjects that are terms of the vocabulary, not concepts
_CUI = re.compile(r"C[0-9]{7}")
_PREFIXES = {
    "UMLS": UMLS, "shiyi": "https://w3id.org/shiyi/id/",
    "ICD11": "http://id.who.int/icd/release/11/mms/", "icd11": "http://id.who.int/icd/release/11/mms/",
    "MONDO": "http://purl.obolibrary.org/obo/MONDO_", "HP": "http://purl.obolibrary.org/obo/HP_",
    "DOID": "http://purl.obolibrary.org/obo/DOID_", "MESH": "http://id.nlm.nih.gov/mesh/",
    "FOODON": "http://purl.obolibrary.org/obo/FOODON_",
    "NCBITaxon": "http://purl.obolibrary.org/obo/NCBITaxon_",
    "RO": "http://purl.obolibrary.org/obo/RO_", "BFO": "http://purl.obolibrary.org/obo/BFO_",
    "CHEBI": "http://purl.obolibrary.org/obo/CHEBI_", "oa": "http://www.w3.org/ns/oa#",
    **{name: PREFIXES[name] for name in ("biolink", "dcat", "dcterms", "prov", "rdf", "schema",
                                         "skos", "sssom")},
}  # fmt: skip
_PREDICATES = {
    f"skos:{name}": getattr(SKOS, name)
    for name in ("exactMatch", "closeMatch", "broadMatch", "narrowMatch", "relatedMatch")
}


@dataclass(frozen=True, slots=True)
class Mapping:
    """One SSSOM row that holds; rows with the modifier ``Not`` are kept in the file only."""

    subject: str  # concept id, or ``voc:`` and the name of a term
    predicate: NamedNode
    object: str  # IRI
    cui: str
    justification: str
    confidence: float

    @property
    def node(self) -> NamedNode:
        """Name what is mapped."""
        if self.subject.startswith(TERM):
            return NamedNode(VOCAB + self.subject.removeprefix(TERM))
        return resource(self.subject)


def read_mappings(folder: Path, concepts: Concepts, faults: Faults) -> list[Mapping]:
    """Read every ``*.sssom.tsv`` of ``folder``."""
    found: list[Mapping] = []
    for header, rows in read_tables(folder, faults):
        required = ("subject_id", "predicate_id", "object_id", "mapping_justification")
        check_columns(header, required, COLUMNS, rows, faults)
        found.extend(mapping for row in rows if (mapping := _mapping(row, concepts, faults)))
    return found


def _mapping(row: Row, concepts: Concepts, faults: Faults) -> Mapping | None:
    subject = row.get("subject_id").removeprefix("shiyi:").removeprefix("id:")
    if not _known(subject, row, concepts, faults):
        return None
    prefix, _, local = row.get("object_id").partition(":")
    if prefix not in _PREFIXES or not local:
        faults.unknown(row.at("object_id"), "prefix", prefix, _PREFIXES)
        return None
    if prefix == "UMLS" and not _CUI.fullmatch(local):
        faults.add(row.at("object_id"), f"{local!r} is no CUI: C and seven digits (CN… is MedGen)")
        return None
    if row.get("predicate_id") not in _PREDICATES:
        faults.unknown(row.at("predicate_id"), "predicate", row.get("predicate_id"), _PREDICATES)
        return None
    if row.get("predicate_modifier") == "Not":
        return None
    if not row.get("mapping_justification").startswith("semapv:"):
        faults.add(row.at("mapping_justification"), "is a semapv: term")
    try:
        confidence = float(row.get("confidence") or 1.0)
    except ValueError:
        faults.add(row.at("confidence"), f"{row.get('confidence')!r} is not a number")
        confidence = 0.0
    return Mapping(
        subject, _PREDICATES[row.get("predicate_id")], _PREFIXES[prefix] + local,
        local if prefix == "UMLS" else "", row.get("mapping_justification"), confidence,
    )  # fmt: skip


def _known(subject: str, row: Row, concepts: Concepts, faults: Faults) -> bool:
    if subject.startswith(TERM):
        what, name, known = "term", subject.removeprefix(TERM), set(SHIYI.names())
    else:
        what, name, known = "concept", subject, set(concepts.by_id)
    if name not in known:
        faults.unknown(row.at("subject_id"), what, name, sorted(known))
    return name in known


def mapping_quads(mappings: list[Mapping]) -> Iterator[Quad]:
    """Yield the SKOS links, and for each concept the literal of its best CUI."""
    default = DefaultGraph()
    rank = {SKOS.exactMatch: 0, SKOS.closeMatch: 1}
    best: dict[str, Mapping] = {}
    for each in mappings:
        yield Quad(each.node, each.predicate, NamedNode(each.object), default)
        if each.cui and each.predicate in rank:
            known = best.get(each.subject)
            key = (rank[each.predicate], -each.confidence, each.cui)
            if not known or key < (rank[known.predicate], -known.confidence, known.cui):
                best[each.subject] = each
    for subject, each in best.items():
        yield Quad(resource(subject), SHIYI.umlsCui, Literal(each.cui), default)
