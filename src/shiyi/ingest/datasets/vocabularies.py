"""SKOS, OWL and SSSOM files."""

import csv
import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import TypeVar

from shiyi.errors import TableError, UsageError
from shiyi.ingest.batches import Batch, Content, ImportRun, Report
from shiyi.ingest.datasets.dataset import Dataset
from shiyi.ingest.datasets.lexicon import Lexicon
from shiyi.ingest.datasets.limits import decode, lines, open_bytes
from shiyi.ingest.gate import ProposedClaim
from shiyi.model.claim import Claim, Confidence, Evidence, EvidenceKind, Source, Tier
from shiyi.model.iris import UMLS, content_hash
from shiyi.model.rdf import DefaultGraph, Literal, NamedNode, Quad, Subject, Term, parse_stream
from shiyi.ontology.terms import RDF, RDFS, SKOS
from shiyi.settings import Settings
from shiyi.sparql.base.digests import file_digest
from shiyi.sparql.store.port import QuadStore

KINDS = ("sssom", "skos", "owl")
ENDINGS = {
    ".ttl": "ttl", ".nt": "nt", ".rdf": "rdfxml", ".owl": "rdfxml", ".xml": "rdfxml",
    ".jsonld": "jsonld", ".json": "jsonld",
}  # fmt: skip
_OBO = "http://www.geneontology.org/formats/oboInOwl#"
_OWL = "http://www.w3.org/2002/07/owl#"
_OBJECTS = 2_000_000  # triples of one file that are taken at most (Shiyi's)
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
class BaseConcepts:
    """The concepts of a base: its own IRIs with their classes, and the concepts by name."""

    kinds: Mapping[str, str]
    lexicons: Mapping[str, Lexicon]
    same: Mapping[str, str] = field(default_factory=dict)  # of others' IRIs, the base's own

    def concept(self, iri: str, label: str, language: str) -> NamedNode | None:
        """Return the base's concept of an IRI of its own, else of a name."""
        if iri in self.kinds:
            return NamedNode(iri)
        if iri in self.same:
            return NamedNode(self.same[iri])
        return self.lexicons[language].find(label, CLASSES) if label else None


def load_matches(store: QuadStore) -> dict[str, str]:
    """Return the outside IRIs that are an exact match of exactly one accepted concept."""
    results: dict[str, set[str]] = defaultdict(set)
    for quad in store.match(None, SKOS.exactMatch, None, DefaultGraph()):
        if isinstance(quad.subject, NamedNode) and isinstance(quad.object, NamedNode):
            results[quad.object.value].add(quad.subject.value)
    return {iri: concepts.pop() for iri, concepts in results.items() if len(concepts) == 1}


CLASSES = (
    "MFHSubstance", "Herb", "Food", "DSIngredient", "ChemicalEntity", "Disease", "TCMDisease",
    "Symptom", "Syndrome", "Drug", "DrugClass", "Dish", "Formula", "Organism", "OrganismPart",
)  # fmt: skip


def describe_vocabulary(kind: str, path: Path) -> Dataset:
    """Describe a user's own vocabulary file; its version is the digest of its bytes."""
    if not path.is_file():
        raise UsageError(f"{path} is no file")
    stem = re.sub(r"[^a-z0-9]+", "-", path.name.lower().partition(".")[0]).strip("-")
    digest = file_digest(path)
    name = f"{kind}-{stem or digest[:8]}"
    title, licence, note = path.name, "not stated", f"ingested from {path.name}"
    if kind == "sssom":
        values = dict(_FACT.findall(_head(path)))
        title = (values.get("mapping_set_title") or values.get("mapping_set_id") or title).strip(
            " \"'"
        )
        licence = values.get("license", licence).strip(" \"'")
    source = Source(name, title, title, Tier.REVIEW, licence=licence, note=note)
    return Dataset(name, digest[:12], source, digests={path.name: digest})


def vocabulary_batches(
    run: ImportRun, kind: str, path: Path, known: BaseConcepts
) -> Iterator[Batch]:
    """Yield the batches of a file of one of :data:`KINDS`."""
    run.report.documents += 1
    if kind == "sssom":
        rows = islice(_sssom(path, run.settings), run.limit or None)
        yield from _batches(run, rows, "sssom", _matches(run, known))
        return
    concepts = _concepts(path, run.report)
    chosen = islice(sorted(concepts.items()), run.limit or None)
    yield from _batches(run, chosen, kind, _describer(run, known))


def _batches(
    run: ImportRun, items: Iterator[_T], kind: str, take: Callable[[_T, int, Content], None]
) -> Iterator[Batch]:
    at = 0
    while part := list(islice(items, run.settings.ingest.table_batch)):

        def make(part: list[_T] = part, at: int = at) -> Content:
            content = Content(rows=len(part))
            for number, item in enumerate(part, start=at + 1):
                take(item, number, content)
            return content

        yield Batch(content_hash(kind, run.dataset.version, str(at), str(len(part))), make)
        at += len(part)


def _sssom(path: Path, settings: Settings) -> Iterator[dict[str, str]]:
    """Yield the rows of a mapping set with IRIs in place of CURIEs."""
    prefixes = dict(_PREFIX.findall(_head(path))) | {"UMLS": UMLS, "umls": UMLS}
    text = (decode(block, path.name) for block in lines(path, settings.ingest.max_text_bytes))
    remaining = (line for line in text if not line.startswith("#"))
    reader = csv.DictReader(remaining, delimiter="\t", quoting=csv.QUOTE_NONE)
    needed = {"subject_id", "predicate_id", "object_id"}
    if missing := needed - set(reader.fieldnames or ()):
        raise TableError([f"{path.name} is no SSSOM: it lacks {', '.join(sorted(missing))}"])
    for row in reader:
        values = {key: value or "" for key, value in row.items() if key}
        for column in ("subject_id", "object_id"):
            values[column] = _expand_curie(values[column], prefixes)
        yield values


def _head(path: Path) -> str:
    with open_bytes(path) as file:
        taken = []
        for line in islice(iter(lambda: file.readline(1 << 16), b""), 1000):
            if not line.startswith(b"#"):
                break
            taken.append(line.decode("utf-8", "replace"))
    return "".join(taken)


def _expand_curie(curie: str, prefixes: Mapping[str, str]) -> str:
    prefix, mark, local = curie.partition(":")
    return prefixes[prefix] + local if mark and prefix in prefixes else curie


def _matches(run: ImportRun, known: BaseConcepts) -> Callable[[dict[str, str], int, Content], None]:
    def take(row: dict[str, str], number: int, content: Content) -> None:
        predicate = _MATCHES.get(row["predicate_id"])
        if predicate is None:
            content.unlinked[f"predicate {row['predicate_id'][:40]}"] += 1
            return
        subject = known.concept(row["subject_id"], row.get("subject_label", ""), "en")
        target = _node(row["object_id"])
        if subject is None and row["object_id"] in known.same:  # HP to UMLS: of Shiyi's is the CUI
            subject, target = NamedNode(known.same[row["object_id"]]), _node(row["subject_id"])
            predicate = _INVERSE.get(predicate, predicate)
        if subject is None or target is None:
            content.unlinked["subject" if subject is None else "object"] += 1
            return
        sure = _share(row.get("confidence", ""))
        locator = (
            f"{row['subject_id']} {row.get('mapping_justification', '')}, row {number}".strip()
        )
        claim = _claim(run, subject, predicate, target, locator, sure)
        content.proposed.append(ProposedClaim(claim))

    return take


def _concepts(path: Path, report: Report) -> dict[str, list[tuple[NamedNode, Term]]]:
    """Return the statements about each concept or class of a file, without deprecated ones."""
    ending = ENDINGS.get(Path(path.name.removesuffix(".gz").removesuffix(".xz")).suffix.lower())
    if ending is None:
        raise UsageError(f"{path} ends in none of {', '.join(ENDINGS)}")
    remaining: dict[str, list[tuple[NamedNode, Term]]] = {}
    own, gone = set[str](), set[str]()
    with open_bytes(path) as file:
        for number, quad in enumerate(parse_stream(file, ending, path.name)):
            if number >= _OBJECTS:
                raise UsageError(f"{path} has more than {_OBJECTS:,} triples; take a part of it")
            if isinstance(quad.subject, NamedNode):
                _sort(quad, quad.subject.value, remaining, own, gone)
    report.unlinked["deprecated"] += len(own & gone)
    return {iri: remaining.get(iri, []) for iri in own - gone}


def _sort(
    quad: Quad,
    iri: str,
    remaining: dict[str, list[tuple[NamedNode, Term]]],
    found: set[str],
    gone: set[str],
) -> None:
    predicate, values = quad.predicate.value, quad.object
    if quad.predicate == RDF.type and isinstance(values, NamedNode):
        if values == SKOS.Concept or values.value == f"{_OWL}Class":
            found.add(iri)
    elif (
        predicate == f"{_OWL}deprecated" and isinstance(values, Literal) and values.value == "true"
    ):
        gone.add(iri)
    elif predicate == f"{_OBO}hasDbXref" and isinstance(values, Literal):
        cui = values.value.rpartition(":")[2]
        if re.fullmatch(r"UMLS(_CUI)?:C[0-9]{7}", values.value):
            remaining.setdefault(iri, []).append((SKOS.closeMatch, NamedNode(UMLS + cui)))
    elif (node := _WRITTEN.get(predicate)) and isinstance(values, NamedNode | Literal):
        remaining.setdefault(iri, []).append((node, values))


def _describer(
    run: ImportRun, known: BaseConcepts
) -> Callable[[tuple[str, list[tuple[NamedNode, Term]]], int, Content], None]:
    place = run.dataset.graph

    def take(item: tuple[str, list[tuple[NamedNode, Term]]], number: int, content: Content) -> None:
        iri, facts = item
        node = NamedNode(iri)
        content.quads.append(Quad(node, RDF.type, SKOS.Concept, place))
        same: set[NamedNode] = set()
        for predicate, values in dict.fromkeys(facts):
            if predicate == SKOS.broader and isinstance(values, Literal):
                continue
            content.quads.append(Quad(node, predicate, values, place))
            if predicate == SKOS.prefLabel and isinstance(values, Literal):
                language = "zh" if (values.language or "").startswith("zh") else "en"
                if result := known.concept(iri, values.value, language):
                    same.add(result)
        for result in same - {node}:
            claim = _claim(run, result, SKOS.closeMatch, node, f"concept {number}", 1.0)
            content.proposed.append(ProposedClaim(claim))
        if not same:
            content.unlinked["closeMatch (name)"] += 1

    return take


def _claim(
    run: ImportRun,
    subject: NamedNode,
    predicate: NamedNode,
    value: Subject,
    locator: str,
    sure: float,
) -> Claim:
    weights, dataset = run.settings.confidence, run.dataset
    weight: float = getattr(weights, dataset.source.tier.value.replace("-", "_"))
    evidence = Evidence(
        dataset.source,
        Confidence(round(weight * weights.row * sure, 6)),
        locator,
        EvidenceKind.ROW,
        activity="vocabulary-1",
    )
    if not isinstance(value, NamedNode):
        raise TypeError(value)
    return Claim(subject, predicate, value, (evidence,))


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
