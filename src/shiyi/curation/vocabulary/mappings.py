"""Mappings to review."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Final

from shiyi.curation.changes import Edit, is_stored, parse_iri
from shiyi.curation.editing.form import fault
from shiyi.curation.vocabulary.sssom import MappingSet, Row
from shiyi.errors import FormatError, FormError, UsageError
from shiyi.ingest.datasets.umls import open_umls_linker
from shiyi.ingest.tables.concepts import Concept
from shiyi.ingest.tables.mappings import (
    LINKS,
    MAPPINGS,
    SSSOM,
    choose_cuis,
    head_quads,
    object_iri,
    row_quads,
)
from shiyi.model.iris import ID, UMLS, VOCAB, graph, resource
from shiyi.model.rdf import DefaultGraph, Literal, NamedNode, Quad, Term, text
from shiyi.ontology.terms import DCTERMS, RDF, RDFS, SHIYI, SKOS
from shiyi.sparql.store.port import QuadStore

_CLASS = NamedNode(f"{SSSOM}Mapping")
_HEAD = NamedNode(f"{SSSOM}head")
CASES = graph("cases")
_STATUSES = ("candidate", "accepted", "rejected")
DEFAULT = DefaultGraph()


@dataclass(frozen=True, slots=True)
class Mapping:
    """One row and where it stands; ``subject`` and ``object`` are IRIs."""

    row: Row
    status: str
    subject: str
    object: str
    mapping_set: str = ""

    @property
    def iri(self) -> str:
        """Name the mapping."""
        return self.row.node.value

    @property
    def cui(self) -> str:
        """Return the CUI that it maps to, or nothing."""
        return self.object.removeprefix(UMLS) if self.object.startswith(UMLS) else ""


def read_mapping(store: QuadStore, node: NamedNode) -> Mapping | None:
    """Read one mapping; None where the base has none of that name."""
    cells: dict[str, str] = {}
    status, subject, target, group = "", "", "", ""
    for quad in store.match(node, None, None, MAPPINGS):
        name, value = quad.predicate, text(quad.object)
        if name == SHIYI.status:
            status = value.removeprefix(VOCAB)
        elif name == DCTERMS.subject:
            subject = value
        elif name == DCTERMS.identifier:
            target = value
        elif name == DCTERMS.source:
            group = value
        elif name.value.startswith(SSSOM):
            cells[name.value.removeprefix(SSSOM)] = value
    return Mapping(Row.of(cells), status, subject, target, group) if status else None


def list_mappings(
    store: QuadStore, status: str = "candidate", start: int = 0, count: int = 25, about: str = ""
) -> list[Mapping]:
    """List mappings of a status from place ``start``; of one concept where ``about`` names it."""
    if status not in _STATUSES:
        raise FormatError("status of mappings", status, _STATUSES)
    wanted: NamedNode = getattr(SHIYI, status)
    if about:
        nodes = (q.subject for q in store.match(None, DCTERMS.subject, parse_iri(about), MAPPINGS))
    else:
        nodes = (q.subject for q in store.match(None, SHIYI.status, wanted, MAPPINGS))
    results = (read_mapping(store, node) for node in nodes if isinstance(node, NamedNode))
    return list(
        islice((each for each in results if each and each.status == status), start, start + count)
    )


def list_mappings_of(store: QuadStore, subject: str) -> list[Mapping]:
    """List every mapping of a concept, of any status."""
    nodes = [q.subject for q in store.match(None, DCTERMS.subject, NamedNode(subject), MAPPINGS)]
    results = (read_mapping(store, node) for node in nodes if isinstance(node, NamedNode))
    return [result for result in results if result]


def counts(store: QuadStore) -> dict[str, int]:
    """Count the mappings by status."""
    return {
        name: sum(1 for _ in store.match(None, SHIYI.status, getattr(SHIYI, name), MAPPINGS))
        for name in _STATUSES
    }


def import_mappings(store: QuadStore, results: MappingSet) -> Edit:
    """Import a table: new rows become candidates, known rows stay as they are."""
    quads: list[Quad] = []
    place = (
        NamedNode(results.name) if results.name.startswith("http") else resource("mappings-desk")
    )
    for row in results.rows:
        if any(store.match(row.node, RDF.type, _CLASS, MAPPINGS)):
            mapping = read_mapping(store, row.node)
            if mapping and mapping.row != row:
                raise UsageError(
                    f"{row.get('subject_id')} → {row.get('object_id')} is known with other cells; "
                    "change it at the desk, or leave the row out"
                )
            continue
        quads += _row_quads(row, results, place, "candidate")
    if not quads:
        raise UsageError("every mapping of this table is known already")
    if results.head:
        quads += head_quads(results.head, place)
    names = tuple(dict.fromkeys(q.subject.value for q in quads if isinstance(q.subject, NamedNode)))
    return Edit("import-mappings", names[:50], added=tuple(quads))


def export_mappings(
    store: QuadStore, status: str = "accepted", mapping_set: str = ""
) -> MappingSet:
    """Return the mappings of a status, or those of one set with the head it came with.

    ``status`` ``all`` gives every one.
    """
    kinds = _STATUSES if status == "all" else (status,)
    results = [
        mapping
        for kind in kinds
        for mapping in list_mappings(store, kind, 0, 10_000_000)
        if not mapping_set or mapping.mapping_set == mapping_set
    ]
    rows = tuple(sorted((result.row for result in results), key=lambda row: row.cells))
    if not mapping_set:
        return MappingSet(rows)
    heads = store.match(parse_iri(mapping_set), _HEAD, None, MAPPINGS)
    head = next((text(quad.object) for quad in heads), "")
    return MappingSet(rows, tuple(head.split("\n")) if head else ())


def sets(store: QuadStore) -> list[str]:
    """List the mapping sets that rows came in."""
    results = {text(q.object) for q in store.match(None, DCTERMS.source, None, MAPPINGS)}
    return sorted(results)


def decide_mapping(
    store: QuadStore,
    iri: str,
    status: str,
    *,
    predicate: str = "",
    negated: bool = False,
    reviewer: str = "",
) -> Edit:
    """Accept or reject a mapping; it may change its predicate or be ruled out (``Not``)."""
    mapping = read_mapping(store, NamedNode(iri))
    if mapping is None:
        raise FormError([fault("mapping", "no_mapping")])
    if status not in _STATUSES:
        raise FormatError("status of mappings", status, _STATUSES)
    predicate = predicate or mapping.row.get("predicate_id")
    if predicate not in LINKS:
        raise FormatError("predicate of mappings", predicate, sorted(LINKS))
    cells = dict(mapping.row.cells) | {"predicate_id": predicate}
    cells["predicate_modifier"] = "Not" if negated else ""
    if reviewer and status == "accepted":
        cells["reviewer_id"] = f"agent:{reviewer}"
    row = Row.of(cells)
    if row.node != mapping.row.node and any(store.match(row.node, RDF.type, _CLASS, MAPPINGS)):
        raise UsageError("that mapping stands already; reject this one instead")
    quads = list(store.match(NamedNode(iri), None, None, MAPPINGS))
    place = NamedNode(mapping.mapping_set) if mapping.mapping_set else resource("mappings-desk")
    new_quads = list(_row_quads(row, None, place, status, mapping))
    if row.node != mapping.row.node:  # the old name leads to the new
        new_quads.append(Quad(NamedNode(iri), DCTERMS.isReplacedBy, row.node, MAPPINGS))
    gone_links, come_links = _links(store, mapping, row, status)
    about = tuple(dict.fromkeys((iri, row.node.value, mapping.subject)))
    return Edit(f"mapping-{status}", about, "", (*quads, *gone_links), (*new_quads, *come_links))


def _row_quads(
    row: Row,
    results: MappingSet | None,
    place: NamedNode,
    status: str,
    known: Mapping | None = None,
) -> Iterator[Quad]:
    more = results.prefixes if results else {}
    subject = known.subject if known else subject_iri(row.get("subject_id"), results)
    target = known.object if known else object_iri(row.get("object_id"), more)
    if not subject or not target:
        raise UsageError(
            f"{row.get('subject_id')} → {row.get('object_id')}: a prefix is not in the table's "
            "curie_map"
        )
    yield from row_quads(dict(row.cells), place, getattr(SHIYI, status), subject, target)


def subject_iri(curie: str, results: MappingSet | None = None) -> str:
    """Write a subject out: a concept, or a term of the vocabulary."""
    prefix, _, local = curie.partition(":")
    if prefix in ("shiyi", "id"):
        return ID + local
    if prefix == "voc":
        return VOCAB + local
    return results.iri(curie) if results else ""


def _links(
    store: QuadStore, known: Mapping, row: Row, status: str
) -> tuple[list[Quad], list[Quad]]:
    """Return the links of the accepted view that go and come, with the concept's best CUI."""
    subject = NamedNode(known.subject)
    others = [
        mapping
        for mapping in list_mappings(store, "accepted", 0, 1000, known.subject)
        if mapping.iri != known.iri
    ]
    now = Mapping(row, status, known.subject, known.object, known.mapping_set)
    standing = [*others, *([now] if status == "accepted" else [])]
    case = any(store.match(subject, RDF.type, SHIYI.CaseMention, None))
    quads = {q for each in standing for q in _link(each, case)}
    old_quads = [q for q in _link(known, case) if q not in quads and is_stored(store, q)]
    cuis = list(store.match(subject, SHIYI.umlsCui, None, DEFAULT))
    best = choose_cuis(
        (
            known.subject,
            each.row.get("predicate_id"),
            float(each.row.get("confidence") or 1),
            each.cui,
        )
        for each in standing
        if each.cui and each.row.get("predicate_modifier") != "Not"
    ).get(known.subject, "")
    stored = {text(q.object) for q in cuis}
    if known.cui and stored != ({best} if best else set()):
        old_quads += cuis
        quads |= {Quad(subject, SHIYI.umlsCui, Literal(best), DEFAULT)} if best else set()
    return old_quads, sorted(quads, key=str)


def _link(item: Mapping, case: bool) -> Iterable[Quad]:
    """Yield the assertion of a mapping: a SKOS link, or the reference of a case's words."""
    if item.row.get("predicate_modifier") == "Not" or item.row.get("predicate_id") not in LINKS:
        return
    link = LINKS[item.row.get("predicate_id")]
    if not case:
        yield Quad(NamedNode(item.subject), link, NamedNode(item.object), DEFAULT)
    elif link in (SKOS.exactMatch, SKOS.closeMatch):
        yield Quad(NamedNode(item.subject), SHIYI.theReferenceOf, NamedNode(item.object), CASES)


def case_rows(store: QuadStore) -> MappingSet:
    """Return the links from words of cases to terms that no row stands for yet, as a table."""
    rows: list[Row] = []
    for quad in islice(store.match(None, SHIYI.theReferenceOf, None, None), 2000):
        row = Row.of(
            {
                "subject_id": f"shiyi:{text(quad.subject).removeprefix(ID)}",
                "subject_label": _label(store, quad.subject),
                "predicate_id": "skos:closeMatch",
                "object_id": f"shiyi:{text(quad.object).removeprefix(ID)}",
                "object_label": _label(store, quad.object),
                "mapping_justification": "semapv:SemanticSimilarityThresholdMatching",
            }
        )
        if text(quad.subject).startswith(ID) and text(quad.object).startswith(ID):
            rows.append(row)
    return MappingSet(tuple(rows))


def _label(store: QuadStore, node: Term) -> str:
    if not isinstance(node, NamedNode):
        return ""
    for predicate in (SKOS.prefLabel, RDFS.label):
        for quad in store.match(node, predicate, None, None):
            return text(quad.object)
    return ""


MOST: Final = 8  # candidates of one concept
GROUND: Final = "semapv:LexicalMatching"


def candidates(entry: Concept, kb: Path) -> MappingSet:
    """Return CUIs by the similarity of their names to a concept's English ones, best first.

    The names themselves stay in the index: a UMLS licence lets nobody pass them on.
    ``UsageError`` where no release was ingested, or nothing is alike.
    """
    linker = open_umls_linker(kb)
    if linker is None:
        raise UsageError("there is no index of UMLS names: `shiyi ingest umls FOLDER` makes it")
    best: dict[str, tuple[float, str]] = {}
    for name in (entry.en, *entry.alt_en):
        for match in linker.candidates(name, entry.class_name):
            known = best.get(match.cui, (0.0, ""))
            best[match.cui] = max(known, (match.similarity, match.predicate))
    if not best:
        raise UsageError(f"no name of the UMLS release is like {entry.en!r}")
    ranked = sorted(best.items(), key=lambda item: (-item[1][0], item[0]))[:MOST]
    return MappingSet(tuple(_row(entry, cui, *value) for cui, value in ranked))


def _row(entry: Concept, cui: str, similarity: float, predicate: str) -> Row:
    return Row.of(
        {
            "subject_id": f"shiyi:{entry.id}",
            "subject_label": entry.en,
            "predicate_id": predicate,
            "object_id": f"UMLS:{cui}",
            "mapping_justification": GROUND,
            "confidence": f"{similarity:.2f}",
            "similarity_score": f"{similarity:.4f}",
            "mapping_tool": "shiyi",
            "object_source": "infores:umls",
        }
    )
