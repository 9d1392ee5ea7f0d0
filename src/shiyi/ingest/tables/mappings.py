"""SSSOM mapping sets."""

import re
from collections.abc import Iterable, Iterator
from collections.abc import Mapping as Map
from dataclasses import dataclass
from pathlib import Path

from shiyi.ingest.tables.concepts import Concepts
from shiyi.ingest.tables.tsv import Faults, Row, check_columns, read_tables
from shiyi.model.iris import UMLS, VOCAB, content_hash, graph, resource
from shiyi.model.rdf import DefaultGraph, Literal, NamedNode, Quad
from shiyi.ontology.terms import DCTERMS, RDF, SHIYI, SKOS
from shiyi.ontology.terms import PREFIXES as STANDARD

COLUMNS = (
    "subject_id", "subject_label", "predicate_modifier", "predicate_id", "object_id",
    "object_label", "mapping_justification", "confidence", "subject_source", "object_source",
    "mapping_tool", "mapping_date", "author_id", "comment", "license", "reviewer_id",
    "subject_category", "object_category", "subject_type", "object_type", "similarity_score",
    "similarity_measure", "see_also", "other",
)  # fmt: skip
MAPPINGS = graph("mappings")
SSSOM = "https://w3id.org/sssom/"
SETS = "https://w3id.org/shiyi/mappings/"
_IDENTITY = (
    "subject_id", "predicate_modifier", "predicate_id", "object_id", "mapping_justification",
)  # fmt: skip
TERM = "voc:"  # subjects that are terms of the vocabulary, not concepts
_CUI = re.compile(r"C[0-9]{7}")
PREFIXES = {
    "UMLS": UMLS, "shiyi": "https://w3id.org/shiyi/id/",
    "ICD11": "http://id.who.int/icd/release/11/mms/", "icd11": "http://id.who.int/icd/release/11/mms/",
    "MONDO": "http://purl.obolibrary.org/obo/MONDO_", "HP": "http://purl.obolibrary.org/obo/HP_",
    "DOID": "http://purl.obolibrary.org/obo/DOID_", "MESH": "http://id.nlm.nih.gov/mesh/",
    "FOODON": "http://purl.obolibrary.org/obo/FOODON_",
    "NCBITaxon": "http://purl.obolibrary.org/obo/NCBITaxon_",
    "RO": "http://purl.obolibrary.org/obo/RO_", "BFO": "http://purl.obolibrary.org/obo/BFO_",
    "CHEBI": "http://purl.obolibrary.org/obo/CHEBI_", "oa": "http://www.w3.org/ns/oa#",
    **{name: STANDARD[name] for name in ("biolink", "dcat", "dcterms", "prov", "rdf", "schema",
                                         "skos", "sssom")},
}  # fmt: skip
LINKS = {
    f"skos:{name}": getattr(SKOS, name)
    for name in ("exactMatch", "closeMatch", "broadMatch", "narrowMatch", "relatedMatch")
}


@dataclass(frozen=True, slots=True)
class Mapping:
    """One SSSOM row that holds; rows with the modifier ``Not`` are stored in the file only."""

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
    results: list[Mapping] = []
    for header, rows in read_tables(folder, faults):
        required = ("subject_id", "predicate_id", "object_id", "mapping_justification")
        check_columns(header, required, COLUMNS, rows, faults)
        results.extend(mapping for row in rows if (mapping := _mapping(row, concepts, faults)))
    return results


def _mapping(row: Row, concepts: Concepts, faults: Faults) -> Mapping | None:
    subject = row.get("subject_id").removeprefix("shiyi:").removeprefix("id:")
    if not _is_known(subject, row, concepts, faults):
        return None
    prefix, _, local = row.get("object_id").partition(":")
    if prefix not in PREFIXES or not local:
        faults.unknown(row.at("object_id"), "prefix", prefix, PREFIXES)
        return None
    if prefix == "UMLS" and not _CUI.fullmatch(local):
        faults.add(row.at("object_id"), f"{local!r} is no CUI: C and seven digits (CN… is MedGen)")
        return None
    if row.get("predicate_id") not in LINKS:
        faults.unknown(row.at("predicate_id"), "predicate", row.get("predicate_id"), LINKS)
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
        subject,
        LINKS[row.get("predicate_id")],
        PREFIXES[prefix] + local,
        local if prefix == "UMLS" else "",
        row.get("mapping_justification"),
        confidence,
    )


def _is_known(subject: str, row: Row, concepts: Concepts, faults: Faults) -> bool:
    if subject.startswith(TERM):
        what, name, known = "term", subject.removeprefix(TERM), set(SHIYI.names())
    else:
        what, name, known = "concept", subject, set(concepts.by_id)
    if name not in known:
        faults.unknown(row.at("subject_id"), what, name, sorted(known))
    return name in known


def object_iri(curie: str, more: Map[str, str] | None = None) -> str:
    """Write a CURIE out by the known prefixes and those of a table; nothing where none fits.

    >>> object_iri("UMLS:C0011849")
    'http://identifiers.org/umls/C0011849'
    """
    prefix, _, local = curie.partition(":")
    base = PREFIXES.get(prefix) or (more or {}).get(prefix, "")
    return base + local if base and local else ""


def choose_cuis(results: Iterable[tuple[str, str, float, str]]) -> dict[str, str]:
    """Choose the CUI of each subject: exact matches before close ones, then the most confident.

    Each mapping is its subject, predicate (``skos:…``), confidence and CUI; others give no CUI.

    >>> choose_cuis([("a", "skos:closeMatch", 0.9, "C2"), ("a", "skos:exactMatch", 0.5, "C1")])
    {'a': 'C1'}
    """
    rank = {"skos:exactMatch": 0, "skos:closeMatch": 1}
    best: dict[str, tuple[int, float, str]] = {}
    for subject, predicate, confidence, cui in results:
        if cui and predicate in rank:
            key = (rank[predicate], -confidence, cui)
            best[subject] = min(best.get(subject, key), key)
    return {subject: cui for subject, (_, _, cui) in best.items()}


def mapping_quads(mappings: list[Mapping]) -> Iterator[Quad]:
    """Yield the SKOS links, and for each concept the literal of its best CUI."""
    default = DefaultGraph()
    for mapping in mappings:
        yield Quad(mapping.node, mapping.predicate, NamedNode(mapping.object), default)
    names = {iri: name for name, iri in LINKS.items()}
    rows = ((e.subject, names[e.predicate], e.confidence, e.cui) for e in mappings)
    for subject, cui in choose_cuis(rows).items():
        yield Quad(resource(subject), SHIYI.umlsCui, Literal(cui), default)


def mapping_node(cells: Map[str, str]) -> NamedNode:
    """Name a row by what it maps, how, and on what ground."""
    return resource(f"mapping/{content_hash(*(cells.get(each, '') for each in _IDENTITY))}")


def row_quads(
    cells: Map[str, str], place: NamedNode, status: NamedNode, subject: str, target: str
) -> Iterator[Quad]:
    """Yield a row as a ``sssom:Mapping`` of a set: every filled cell, its place, both ends."""
    node = mapping_node(cells)
    yield Quad(node, RDF.type, NamedNode(f"{SSSOM}Mapping"), MAPPINGS)
    yield Quad(node, SHIYI.status, status, MAPPINGS)
    yield Quad(node, DCTERMS.subject, NamedNode(subject), MAPPINGS)
    yield Quad(node, DCTERMS.identifier, Literal(target), MAPPINGS)
    yield Quad(node, DCTERMS.source, place, MAPPINGS)
    for slot, value in cells.items():
        if value:
            yield Quad(node, NamedNode(SSSOM + slot), Literal(value), MAPPINGS)


def head_quads(head: Iterable[str], place: NamedNode) -> Iterator[Quad]:
    """Yield what stands above the rows of a set: its prefixes, licence, title."""
    yield Quad(place, RDF.type, NamedNode(f"{SSSOM}MappingSet"), MAPPINGS)
    yield Quad(place, NamedNode(f"{SSSOM}head"), Literal("\n".join(head)), MAPPINGS)


def table_quads(folder: Path) -> Iterator[Quad]:
    """Yield the rows of every ``*.sssom.tsv`` as they stand, those ruled out with them."""
    for path in sorted(folder.glob("*.sssom.tsv")):
        place = NamedNode(f"{SETS}{path.name.removesuffix('.sssom.tsv')}")
        lines = path.read_text(encoding="utf-8").splitlines()
        yield from head_quads((line for line in lines if line.startswith("#")), place)
        rows = [line.split("\t") for line in lines if line.strip() and not line.startswith("#")]
        for cells in (dict(zip(rows[0], row, strict=False)) for row in rows[1:]):
            name = cells["subject_id"].removeprefix("shiyi:").removeprefix("id:")
            term = name.removeprefix(TERM)
            subject = VOCAB + term if name.startswith(TERM) else resource(name).value
            target = object_iri(cells["object_id"])
            yield from row_quads(cells, place, SHIYI.accepted, subject, target)
