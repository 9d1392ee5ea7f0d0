"""Every claim of a base as columns of numbers, so that a queue of a million sorts in milliseconds."""

import gc
import threading
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray

from shiyi.curation.standing import PLACES
from shiyi.curation.state import text_graph
from shiyi.model.claim import Status, Tier
from shiyi.model.names import graph
from shiyi.model.rdf import DefaultGraph, NamedNode, Triple, local_name, text
from shiyi.ontology.terms import DCTERMS, PROV, RDF, SHIYI
from shiyi.ontology.vocabulary import Schema
from shiyi.sparql.store import QuadStore

STATUSES: Final = tuple(PLACES)
TIERS: Final = tuple(Tier)
HARM: Final = 3.0  # how much more a claim about harm weighs than another (ours)
FLOOR: Final = (
    0.05  # of uncertainty, so that a sure claim that many lean on still has a place (ours)
)
_PAGE_RANK, _DERIVED = SHIYI.pageRank, graph("derived")
_SCHOOLS: Final = (graph("school", "x").value[:-1], graph("schools", "x").value[:-1])
_ASIDE: Final = frozenset({"Claim", "Evidence", "Review"})
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
    """Gives each name a number, in the order they come."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self._known: dict[str, int] = {}

    def __call__(self, name: str) -> int:
        """Give the number of a name."""
        if name not in self._known:
            self._known[name] = len(self.names)
            self.names.append(name)
        return self._known[name]

    def find(self, name: str) -> int:
        """Give the number of a name, -1 for one that never came."""
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
            text(q.subject): float(text(q.object)) for q in store.match(None, _PAGE_RANK, None, _DERIVED)
        }  # fmt: skip
        for claim, row in rows.items():
            self._set(self.claims(claim), row)
        resting = Counter(
            text(q.object) for q in store.match(None, PROV.wasDerivedFrom, None, _DERIVED)
        )
        for claim, count in resting.items():
            if (place := self.claims.find(claim)) >= 0:
                self.cited[place] = count

    def __len__(self) -> int:
        """Count the claims."""
        return len(self.confidence)

    def update(self, claims: Iterable[str]) -> None:
        """Read some claims anew; one that is nowhere any more leaves every queue."""
        with self.lock:
            for claim in claims:
                row = _row(self._store, claim)
                place = self.claims(claim)
                if place >= len(self):
                    self._grow(place + 1)
                if row is None:
                    self.status[place] = -1
                else:
                    self._set(place, row)

    def cite(self, claims: Mapping[str, int]) -> None:
        """Count that answers cited some claims."""
        with self.lock:
            for claim, count in claims.items():
                if 0 <= (place := self.claims.find(claim)) < len(self):
                    self.cited[place] += count

    def priority(self) -> Floats:
        """Give uncertainty times use times harm, for every claim."""
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
        for name in (
            "confidence", "harm", "status", "tiers", "relation", "school", "subject", "object",
            "kind", "cited", "rank",
        ):  # fmt: skip
            old = getattr(self, name)
            new = np.full(room, -1 if name == "status" else 0, dtype=old.dtype)
            new[: len(old)] = old
            setattr(self, name, new)


def read_rows(store: QuadStore) -> dict[str, Row]:
    """Read every claim that can be reviewed, in any graph but the derived one."""
    rows: dict[str, Row] = {}
    for quad in store.match(None, SHIYI.status):
        place = text_graph(quad)
        if place == _DERIVED.value:
            continue
        row = rows.setdefault(text(quad.subject), Row())
        _seen(row, local_name(text(quad.object)), place)
    for quad in store.match(None, RDF.reifies):
        if (found := rows.get(text(quad.subject))) and isinstance(quad.object, Triple):
            triple = quad.object
            found.subject, found.predicate = text(triple.subject), triple.predicate.value
            found.object = text(triple.object) if isinstance(triple.object, NamedNode) else ""
    for quad in store.match(None, SHIYI.confidence):
        if (found := rows.get(text(quad.subject))) and text_graph(quad) != _DERIVED.value:
            found.confidence = float(text(quad.object))
    source = {text(q.subject): text(q.object) for q in store.match(None, DCTERMS.source)}
    tier = {
        text(q.subject): local_name(text(q.object)) for q in store.match(None, SHIYI.sourceTier)
    }
    for quad in store.match(None, SHIYI.evidence):
        if found := rows.get(text(quad.subject)):
            node = text(quad.object)
            found.sources.append(source.get(node, ""))
            found.tiers.append(tier.get(node, "").removeprefix("tier-"))
    return rows


def _row(store: QuadStore, claim: str) -> Row | None:
    row = Row()
    there = False
    for quad in store.match(NamedNode(claim)):
        place, said = text_graph(quad), quad.object
        if place == _DERIVED.value:
            continue
        if quad.predicate == SHIYI.status:
            there = True
            _seen(row, local_name(text(said)), place)
        elif quad.predicate == RDF.reifies and isinstance(said, Triple):
            row.subject, row.predicate = text(said.subject), said.predicate.value
            row.object = text(said.object) if isinstance(said.object, NamedNode) else ""
        elif quad.predicate == SHIYI.confidence:
            row.confidence = float(text(said))
        elif quad.predicate == SHIYI.evidence and isinstance(said, NamedNode):
            for q in store.match(said):
                if q.predicate == DCTERMS.source:
                    row.sources.append(text(q.object))
                elif q.predicate == SHIYI.sourceTier:
                    row.tiers.append(local_name(text(q.object)).removeprefix("tier-"))
    return row if there else None


def _seen(row: Row, status: str, place: str) -> None:
    """Note a status; what is accepted and read again elsewhere is accepted."""
    if row.status is not Status.ACCEPTED:
        row.status = Status(status)
    for prefix in _SCHOOLS:
        if place.startswith(prefix):
            row.school = place.removeprefix(prefix)


def classes_of(store: QuadStore, schema: Schema) -> dict[str, str]:
    """Give each concept its most specific class of ours."""
    found: dict[str, str] = {}
    for quad in store.match(None, RDF.type, None, DefaultGraph()):
        name, iri = local_name(text(quad.object)), text(quad.subject)
        if name not in schema.parents or name in _ASIDE:
            continue
        known = found.get(iri)
        if known is None or known in schema.superclasses(name):
            found[iri] = name
    return found
