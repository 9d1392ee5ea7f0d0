"""Claims as columns for sorting and filtering."""

import gc
import json
import threading
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from shiyi.curation.changes import graph_name
from shiyi.curation.reviews import PLACES
from shiyi.model.claim import Status, Tier, confidence_value
from shiyi.model.iris import graph
from shiyi.model.rdf import DefaultGraph, NamedNode, Quad, Triple, local_name, text
from shiyi.ontology.schema import Schema
from shiyi.ontology.terms import DCTERMS, PROV, RDF, SHIYI
from shiyi.sparql.store.files import write_private
from shiyi.sparql.store.port import QuadStore, match_own

STATUSES: Final = tuple(PLACES)
TIERS: Final = tuple(Tier)
HARM: Final = 3.0  # how much more a claim about harm weighs than another (Shiyi's)
FLOOR: Final = (
    0.05  # of uncertainty, so that a sure claim that many lean on still has a place (Shiyi's)
)
_PAGE_RANK, _DERIVED = SHIYI.pageRank, graph("derived")
_SCHOOLS: Final = (graph("school", "x").value[:-1], graph("schools", "x").value[:-1])
_ASIDE: Final = frozenset({"Claim", "Evidence", "Review"})
_ARRAYS: Final = (
    "confidence", "harm", "status", "tiers", "relation", "school", "subject", "object", "kind",
    "cited", "rank",
)  # fmt: skip
Floats = NDArray[np.float64]
Ints = NDArray[np.int32]
Mask = NDArray[np.bool_]


@dataclass(slots=True)
class Row:
    """One claim before it is a row of numbers."""

    subject: str = ""
    predicate: str = ""
    object: str = ""
    status: Status = Status.CANDIDATE
    confidence: float = 0.0
    school: str = ""
    sources: list[str] = field(default_factory=list)
    tiers: list[str] = field(default_factory=list)


class Numbers:
    """Numbers names in the order they come."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self._known: dict[str, int] = {}

    def __call__(self, name: str) -> int:
        """Return the number of a name."""
        if name not in self._known:
            self._known[name] = len(self.names)
            self.names.append(name)
        return self._known[name]

    def find(self, name: str) -> int:
        """Return the number of a name, -1 for one that never came."""
        return self._known.get(name, -1)


class Columns:
    """Claims by number; what a filter asks and what the order is made of, as arrays."""

    def __init__(self, store: QuadStore, schema: Schema, classes: Mapping[str, str]) -> None:
        self._store, self._schema, self._classes = store, schema, classes
        self.lock = threading.RLock()  # a reader of several columns holds it too
        self.claims, self.relations = Numbers(), Numbers()
        self.sources, self.schools, self.ends, self.kinds = (
            Numbers(),
            Numbers(),
            Numbers(),
            Numbers(),
        )
        self.schools(""), self.kinds("")
        self.of_source: dict[int, set[int]] = defaultdict(set)
        collecting = gc.isenabled()
        gc.disable()  # millions of small objects that all stay: looking through them takes as long
        try:
            rows = read_rows(store)
        finally:
            if collecting:
                gc.enable()
        size = len(rows)
        self.confidence, self.harm = np.zeros(size), np.ones(size)
        self.status, self.tiers = np.zeros(size, np.int8), np.zeros(size, np.int32)
        self.relation, self.school = np.zeros(size, np.int32), np.zeros(size, np.int32)
        self.subject, self.object = np.zeros(size, np.int32), np.zeros(size, np.int32)
        self.kind, self.cited = np.zeros(size, np.int32), np.zeros(size)
        self.rank = np.zeros(size)
        self._of_end = {
            text(q.subject): float(text(q.object))
            for q in match_own(store, None, _PAGE_RANK, None, _DERIVED)
        }
        for claim, row in rows.items():
            self._set(self.claims(claim), row)
        resting = Counter(
            text(q.object) for q in match_own(store, None, PROV.wasDerivedFrom, None, _DERIVED)
        )
        for claim, count in resting.items():
            if (place := self.claims.find(claim)) >= 0:
                self.cited[place] = count

    def __len__(self) -> int:
        """Count the claims."""
        return len(self.confidence)

    def update(self, claims: Iterable[str]) -> None:
        """Read some claims again; one that is nowhere any more leaves every queue."""
        with self.lock:
            claims = list(claims)
            rows = read_rows(self._store, claims)
            for claim in claims:
                row, place = rows.get(claim), self.claims(claim)
                if place >= len(self):
                    self._grow(place + 1)
                if row is None:
                    self.status[place] = -1
                else:
                    self._set(place, row)

    def cite(self, claims: Mapping[str, int]) -> None:
        """Add citations of claims by answers."""
        with self.lock:
            for claim, count in claims.items():
                if 0 <= (place := self.claims.find(claim)) < len(self):
                    self.cited[place] += count

    def priority(self) -> Floats:
        """Return uncertainty times use times harm, for every claim."""
        uncertain = np.maximum(FLOOR, 1.0 - np.abs(2.0 * self.confidence - 1.0))
        use = 1.0 + np.log1p(self.rank) + np.log1p(self.cited)
        return uncertain * use * self.harm

    def _set(self, place: int, row: Row) -> None:
        known = self._schema.properties.get(local_name(row.predicate))
        self.confidence[place] = row.confidence
        self.harm[place] = HARM if known and known.is_safety else 1.0
        self.status[place] = STATUSES.index(row.status) if row.status in STATUSES else -1
        self.relation[place] = self.relations(local_name(row.predicate))
        self.school[place] = self.schools(row.school)
        self.subject[place], self.object[place] = self.ends(row.subject), self.ends(row.object)
        self.kind[place] = self.kinds(self._classes.get(row.subject, ""))
        self.rank[place] = self._of_end.get(row.subject, 0.0) + self._of_end.get(row.object, 0.0)
        bits = 0
        for name in row.tiers:
            bits |= 1 << TIERS.index(Tier(name)) if name in set(TIERS) else 0
        self.tiers[place] = bits
        for source in row.sources:
            self.of_source[self.sources(source)].add(place)

    def _grow(self, size: int) -> None:
        room = max(size, len(self) + len(self) // 8 + 64)
        for name in _ARRAYS:
            old = getattr(self, name)
            new = np.full(room, -1 if name == "status" else 0, dtype=old.dtype)
            new[: len(old)] = old
            setattr(self, name, new)


def read_rows(store: QuadStore, claims: Iterable[str] | None = None) -> dict[str, Row]:
    """Read some claims, or every claim that can be reviewed, outside the derived graph."""
    chosen = None if claims is None else [NamedNode(each) for each in claims]

    def match(predicate: NamedNode, nodes: Iterable[NamedNode] | None) -> Iterator[Quad]:
        for node in (None,) if nodes is None else nodes:
            yield from match_own(store, node, predicate)

    rows: dict[str, Row] = {}
    for quad in match(SHIYI.status, chosen):
        if (place := graph_name(quad)) != _DERIVED.value:
            row = rows.setdefault(text(quad.subject), Row())
            _seen(row, local_name(text(quad.object)), place)
    for quad in match(RDF.reifies, chosen):
        if (row_of := rows.get(text(quad.subject))) and isinstance(quad.object, Triple):
            triple = quad.object
            row_of.subject, row_of.predicate = text(triple.subject), triple.predicate.value
            row_of.object = text(triple.object) if isinstance(triple.object, NamedNode) else ""
    for quad in match(SHIYI.confidence, chosen):
        if (row_of := rows.get(text(quad.subject))) and graph_name(quad) != _DERIVED.value:
            row_of.confidence = confidence_value(quad.object) or 0.0
    evidence = [
        (rows[text(quad.subject)], quad.object)
        for quad in match(SHIYI.evidence, chosen)
        if text(quad.subject) in rows and isinstance(quad.object, NamedNode)
    ]
    nodes = None if chosen is None else [node for _, node in evidence]
    source = {quad.subject: text(quad.object) for quad in match(DCTERMS.source, nodes)}
    tier = {quad.subject: text(quad.object) for quad in match(SHIYI.sourceTier, nodes)}
    for row, node in evidence:
        row.sources.append(source.get(node, ""))
        row.tiers.append(local_name(tier.get(node, "")).removeprefix("tier-"))
    return rows


def _seen(row: Row, status: str, place: str) -> None:
    """Add a status; a claim that is accepted anywhere is accepted."""
    if row.status is not Status.ACCEPTED and status in set(Status):
        row.status = Status(status)
    for prefix in _SCHOOLS:
        if place.startswith(prefix):
            row.school = place.removeprefix(prefix)


def classes_of(store: QuadStore, schema: Schema) -> dict[str, str]:
    """Return each concept its most specific class of Shiyi's."""
    results: dict[str, str] = {}
    for quad in match_own(store, None, RDF.type, None, DefaultGraph()):
        name, iri = local_name(text(quad.object)), text(quad.subject)
        if name not in schema.parents or name in _ASIDE:
            continue
        known = results.get(iri)
        if known is None or known in schema.superclasses(name):
            results[iri] = name
    return results


FILE: Final = "citations.json"
EVERY: Final = 200  # answers after which the counts are written down


class Citations:
    """Citations by claim; neither questions nor askers are stored."""

    def __init__(self, kb: Path) -> None:
        self._path, self._lock = kb / FILE, threading.Lock()
        self.counts: Counter[str] = Counter()
        self._unread: Counter[str] = Counter()
        self._answers = 0
        try:
            payload = json.loads(self._path.read_text(encoding="utf-8"))
            self.counts.update({str(claim): int(count) for claim, count in payload.items()})
        except (FileNotFoundError, ValueError, AttributeError):
            pass  # none yet, or cut off: counts begin again

    def count(self, claims: Iterable[str]) -> None:
        """Count one answer that cites some claims."""
        with self._lock:
            cited = set(claims)
            self.counts.update(cited)
            self._unread.update(cited)
            self._answers += 1
            if self._answers % EVERY:
                return
        self.save()

    def fresh(self) -> Counter[str]:
        """Return the counts since the last call."""
        with self._lock:
            results, self._unread = self._unread, Counter()
            return results

    def save(self) -> None:
        """Save the counts."""
        with self._lock:
            counts = dict(self.counts)
        if counts:
            write_private(self._path, json.dumps(counts))
