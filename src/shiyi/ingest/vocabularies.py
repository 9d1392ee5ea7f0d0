"""Vocabularies of others: SKOS and OWL files as schemes of their own, SSSOM sets as matches."""

import csv
import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import TypeVar

from shiyi.errors import TableError, UsageError
from shiyi.ingest.datasets import Dataset, file_digest
from shiyi.ingest.extraction.lexicon import Lexicon
from shiyi.ingest.gate import Proposed
from shiyi.ingest.report import Report
from shiyi.ingest.run import Batch, Content
from shiyi.ingest.text.bytes import decode, lines, open_bytes
from shiyi.model.claim import Checked, Claim, Evidence, Source, Tier
from shiyi.model.confidence import Confidence
from shiyi.model.names import UMLS, content_hash
from shiyi.model.rdf import (
    DefaultGraph,
    Literal,
    NamedNode,
    Quad,
    Subject,
    Term,
    parse_stream,
)
from shiyi.ontology.terms import RDF, RDFS, SKOS
from shiyi.settings import Settings
from shiyi.sparql.store import QuadStore

KINDS = ("sssom", "skos", "owl")
ENDINGS = {".ttl": "ttl", ".nt": "nt", ".rdf": "rdfxml", ".owl": "rdfxml", ".xml": "rdfxml",
           ".jsonld": "jsonld", ".json": "jsonld"}  # fmt: skip
_OBO = "http://www.geneontology.org/formats/oboInOwl#"
_OWL = "http://www.w3.org/2002/07/owl#"
_OBJECTS = 2_000_000  # triples of one file that are taken at most (ours)
_PREFIX = re.compile(r"#\s+([A-Za-z][\w.-]*):\s*[\"']?(https?://[^\s\"']+)")
_FACT = re.compile(r"#\s*(mapping_set_id|mapping_set_version|mapping_set_title|license):\s*(.+)")
_MATCHES = {
    "skos:exactMatch": SKOS.exactMatch, "skos:closeMatch": SKOS.closeMatch,
    "skos:broadMatch": SKOS.broadMatch, "skos:narrowMatch": SKOS.narrowMatch,
    "skos:relatedMatch": SKOS.relatedMatch, "oboInOwl:hasDbXref": SKOS.closeMatch,
    "owl:equivalentClass": SKOS.exactMatch,
}  # fmt: skip
_INVERSE = {SKOS.broadMatch: SKOS.narrowMatch, SKOS.narrowMatch: SKOS.broadMatch}
# what a property of SKOS or OWL is written as; anything else is left out
_WRITTEN = {
    SKOS.prefLabel.value: SKOS.prefLabel, SKOS.altLabel.value: SKOS.altLabel,
    SKOS.definition.value: SKOS.definition, SKOS.notation.value: SKOS.notation,
    SKOS.broader.value: SKOS.broader, SKOS.exactMatch.value: SKOS.exactMatch,
    SKOS.closeMatch.value: SKOS.closeMatch, SKOS.inScheme.value: SKOS.inScheme,
    RDFS.label.value: SKOS.prefLabel, RDFS.subClassOf.value: SKOS.broader,
    f"{_OBO}hasExactSynonym": SKOS.altLabel, f"{_OBO}hasRelatedSynonym": SKOS.altLabel,
    "http://purl.obolibrary.org/obo/IAO_0000115": SKOS.definition,
    "http://purl.obolibrary.org/obo/IAO_0000118": SKOS.altLabel,
}  # fmt: skip


_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Known:
    """What a base knows: its own IRIs with their classes, and the concept of a name."""

    kinds: Mapping[str, str]
    lexicons: Mapping[str, Lexicon]
    same: Mapping[str, str] = field(default_factory=dict)  # of others' IRIs, the base's own

    def concept(self, iri: str, label: str, language: str) -> NamedNode | None:
        """Give the base's concept of an IRI of its own, else of a name."""
        if iri in self.kinds:
            return NamedNode(iri)
        if iri in self.same:
            return NamedNode(self.same[iri])
        return self.lexicons[language].find(label, CLASSES) if label else None


def same_as(store: QuadStore) -> dict[str, str]:
    """Give the IRIs of others that exactly one concept of the accepted view is an exact match of."""
    found: dict[str, set[str]] = defaultdict(set)
    for quad in store.match(None, SKOS.exactMatch, None, DefaultGraph()):
        if isinstance(quad.subject, NamedNode) and isinstance(quad.object, NamedNode):
            found[quad.object.value].add(quad.subject.value)
    return {iri: concepts.pop() for iri, concepts in found.items() if len(concepts) == 1}


CLASSES = (
    "MFHSubstance", "Herb", "Food", "DSIngredient", "ChemicalEntity", "Disease", "TCMDisease",
    "Symptom", "Syndrome", "Drug", "DrugClass", "Dish", "Formula", "Organism", "OrganismPart",
)  # fmt: skip


def vocabulary_of(kind: str, path: Path) -> Dataset:
    """Describe a person's own vocabulary file: its version is the digest of its bytes."""
    if not path.is_file():
        raise UsageError(f"{path} is no file")
    stem = re.sub(r"[^a-z0-9]+", "-", path.name.lower().partition(".")[0]).strip("-")
    digest = file_digest(path)
    name = f"{kind}-{stem or digest[:8]}"
    title, licence, note = path.name, "not stated", f"ingested from {path.name}"
    if kind == "sssom":
        said = dict(_FACT.findall(_head(path)))
        title = (said.get("mapping_set_title") or said.get("mapping_set_id") or title).strip(" \"'")
        licence = said.get("license", licence).strip(" \"'")
    source = Source(name, title, title, Tier.REVIEW, licence=licence, note=note)
    return Dataset(name, digest[:12], source, digests={path.name: digest})


def vocabulary_batches(
    kind: str, dataset: Dataset, path: Path, known: Known, settings: Settings, report: Report,
    limit: int = 0,
) -> Iterator[Batch]:  # fmt: skip
    """Yield what a file of a kind of :data:`KINDS` says, a batch at a time."""
    report.documents += 1
    if kind == "sssom":
        rows = islice(_sssom(path, settings), limit or None)
        yield from _batched(dataset, rows, settings, "sssom", _matches(dataset, known, settings))
        return
    concepts = _concepts(path, report)
    chosen = islice(sorted(concepts.items()), limit or None)
    yield from _batched(dataset, chosen, settings, kind, _described(dataset, known, settings))


def _batched(
    dataset: Dataset, items: Iterator[_T], settings: Settings, kind: str,
    take: Callable[[_T, int, Content], None],
) -> Iterator[Batch]:  # fmt: skip
    at = 0
    while part := list(islice(items, settings.ingest.table_batch)):

        def make(part: list[_T] = part, at: int = at) -> Content:
            content = Content(rows=len(part))
            for number, item in enumerate(part, start=at + 1):
                take(item, number, content)
            return content

        yield Batch(content_hash(kind, dataset.version, str(at), str(len(part))), make)
        at += len(part)


def _sssom(path: Path, settings: Settings) -> Iterator[dict[str, str]]:
    """Yield the rows of a mapping set with IRIs in place of CURIEs."""
    prefixes = dict(_PREFIX.findall(_head(path))) | {"UMLS": UMLS, "umls": UMLS}
    text = (decode(each, path.name) for each in lines(path, settings.ingest.max_text_bytes))
    kept = (line for line in text if not line.startswith("#"))
    reader = csv.DictReader(kept, delimiter="\t", quoting=csv.QUOTE_NONE)
    needed = {"subject_id", "predicate_id", "object_id"}
    if missing := needed - set(reader.fieldnames or ()):
        raise TableError([f"{path.name} is no SSSOM: it lacks {', '.join(sorted(missing))}"])
    for row in reader:
        said = {key: value or "" for key, value in row.items() if key}
        for column in ("subject_id", "object_id"):
            said[column] = _expanded(said[column], prefixes)
        yield said


def _head(path: Path) -> str:
    with open_bytes(path) as file:
        taken = []
        for line in islice(iter(lambda: file.readline(1 << 16), b""), 1000):
            if not line.startswith(b"#"):
                break
            taken.append(line.decode("utf-8", "replace"))
    return "".join(taken)


def _expanded(curie: str, prefixes: Mapping[str, str]) -> str:
    prefix, mark, local = curie.partition(":")
    return prefixes[prefix] + local if mark and prefix in prefixes else curie


def _matches(
    dataset: Dataset, known: Known, settings: Settings
) -> Callable[[dict[str, str], int, Content], None]:
    def take(row: dict[str, str], number: int, content: Content) -> None:
        predicate = _MATCHES.get(row["predicate_id"])
        if predicate is None:
            content.unlinked[f"predicate {row['predicate_id'][:40]}"] += 1
            return
        subject = known.concept(row["subject_id"], row.get("subject_label", ""), "en")
        target = _node(row["object_id"])
        if subject is None and row["object_id"] in known.same:  # HP to UMLS: of ours is the CUI
            subject, target = NamedNode(known.same[row["object_id"]]), _node(row["subject_id"])
            predicate = _INVERSE.get(predicate, predicate)
        if subject is None or target is None:
            content.unlinked["subject" if subject is None else "object"] += 1
            return
        sure = _share(row.get("confidence", ""))
        locator = (
            f"{row['subject_id']} {row.get('mapping_justification', '')}, row {number}".strip()
        )
        claim = _claim(dataset, settings, subject, predicate, target, locator, sure)
        content.proposed.append(Proposed(claim))

    return take


def _concepts(path: Path, report: Report) -> dict[str, list[tuple[NamedNode, Term]]]:
    """Give the named concepts and classes of a file with what is said of each, deprecated ones out."""
    ending = ENDINGS.get(Path(path.name.removesuffix(".gz").removesuffix(".xz")).suffix.lower())
    if ending is None:
        raise UsageError(f"{path} ends in none of {', '.join(ENDINGS)}")
    kept: dict[str, list[tuple[NamedNode, Term]]] = {}
    ours, gone = set[str](), set[str]()
    with open_bytes(path) as file:
        for number, quad in enumerate(parse_stream(file, ending, path.name)):
            if number >= _OBJECTS:
                raise UsageError(f"{path} has more than {_OBJECTS:,} triples; take a part of it")
            if isinstance(quad.subject, NamedNode):
                _sort(quad, quad.subject.value, kept, ours, gone)
    report.unlinked["deprecated"] += len(ours & gone)
    return {iri: kept.get(iri, []) for iri in ours - gone}


def _sort(
    quad: Quad, iri: str, kept: dict[str, list[tuple[NamedNode, Term]]], ours: set[str],
    gone: set[str],
) -> None:  # fmt: skip
    predicate, said = quad.predicate.value, quad.object
    if quad.predicate == RDF.type and isinstance(said, NamedNode):
        if said == SKOS.Concept or said.value == f"{_OWL}Class":
            ours.add(iri)
    elif predicate == f"{_OWL}deprecated" and isinstance(said, Literal) and said.value == "true":
        gone.add(iri)
    elif predicate == f"{_OBO}hasDbXref" and isinstance(said, Literal):
        cui = said.value.rpartition(":")[2]
        if re.fullmatch(r"UMLS(_CUI)?:C[0-9]{7}", said.value):
            kept.setdefault(iri, []).append((SKOS.closeMatch, NamedNode(UMLS + cui)))
    elif (written := _WRITTEN.get(predicate)) and isinstance(said, NamedNode | Literal):
        kept.setdefault(iri, []).append((written, said))


def _described(
    dataset: Dataset, known: Known, settings: Settings
) -> Callable[[tuple[str, list[tuple[NamedNode, Term]]], int, Content], None]:
    place = dataset.graph

    def take(item: tuple[str, list[tuple[NamedNode, Term]]], number: int, content: Content) -> None:
        iri, facts = item
        node = NamedNode(iri)
        content.quads.append(Quad(node, RDF.type, SKOS.Concept, place))
        same: set[NamedNode] = set()
        for predicate, said in dict.fromkeys(facts):
            if predicate == SKOS.broader and isinstance(said, Literal):
                continue
            content.quads.append(Quad(node, predicate, said, place))
            if predicate == SKOS.prefLabel and isinstance(said, Literal):
                language = "zh" if (said.language or "").startswith("zh") else "en"
                if found := known.concept(iri, said.value, language):
                    same.add(found)
        for found in same - {node}:
            claim = _claim(
                dataset, settings, found, SKOS.closeMatch, node, f"concept {number}", 1.0
            )
            content.proposed.append(Proposed(claim))
        if not same:
            content.unlinked["closeMatch (name)"] += 1

    return take


def _claim(
    dataset: Dataset, settings: Settings, subject: NamedNode, predicate: NamedNode,
    said: Subject, locator: str, sure: float,
) -> Claim:  # fmt: skip
    weights = settings.confidence
    weight: float = getattr(weights, dataset.source.tier.value.replace("-", "_"))
    evidence = Evidence(
        dataset.source, Confidence(round(weight * weights.secondary * sure, 6)), locator,
        Checked.SECONDARY, activity="vocabulary-1",
    )  # fmt: skip
    if not isinstance(said, NamedNode):
        raise TypeError(said)
    return Claim(subject, predicate, said, (evidence,))


def _node(iri: str) -> NamedNode | None:
    try:
        return NamedNode(iri) if iri.startswith(("http://", "https://", "urn:")) else None
    except ValueError:
        return None


def _share(cell: str) -> float:
    try:
        return min(1.0, max(0.0, float(cell))) if cell else 1.0
    except ValueError:
        return 1.0
