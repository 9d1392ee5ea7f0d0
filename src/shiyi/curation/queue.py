"""The review queue: claims in a table of SQLite, sorted and filtered for one curator."""

import json
import sqlite3
import threading
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, fields
from functools import partial
from math import log1p
from pathlib import Path
from typing import Any, Final

from shiyi.curation.changes import Change, Changes, Edit, agent, graph_name
from shiyi.curation.desks.feedback import reported_claims
from shiyi.curation.opinions import Opinions
from shiyi.curation.reviews import PLACES
from shiyi.errors import FormatError, UsageError
from shiyi.model.claim import Status, Tier, confidence_value
from shiyi.model.iris import graph
from shiyi.model.rdf import DefaultGraph, NamedNode, Quad, Triple, local_name, text
from shiyi.ontology.schema import Schema
from shiyi.ontology.terms import DCTERMS, PROV, RDF, SHIYI
from shiyi.sparql.store.files import replace_file, write_private
from shiyi.sparql.store.port import QuadStore, match_own

STATUSES: Final = tuple(PLACES)
TIERS: Final = tuple(Tier)
VIEWS: Final = ("open", "mine", "disputed", "waiting", "reported", "done", "all")
MOST: Final = 200  # claims of one page, or of one batch
HARM: Final = 3.0  # how much more a claim about harm weighs than another (Shiyi's)
FLOOR: Final = 0.05  # of uncertainty, so that a sure claim in much use still has a place (Shiyi's)
_DERIVED: Final = graph("derived")
_SCHOOLS: Final = (graph("school", "x").value[:-1], graph("schools", "x").value[:-1])
_ASIDE: Final = frozenset({"Claim", "Evidence", "Review"})
_OPENED: Final = frozenset({"read", "row"})
_GRAVE: Final = frozenset({"contraindicated", "major"})
_READ: Final = (
    DCTERMS.source, SHIYI.sourceTier, SHIYI.evidenceKind, SHIYI.severity, SHIYI.rating,
)  # fmt: skip
# the columns that a filter compares, and the columns of the other tables
_EQUAL: Final = ("relation", "shape", "school", "status")
_TABLES: Final = """
CREATE TABLE claim (iri TEXT PRIMARY KEY, subject TEXT, object TEXT, relation TEXT, shape TEXT,
    school TEXT, status TEXT, confidence REAL, harm INTEGER, unread INTEGER, rank REAL,
    cited REAL DEFAULT 0, weight REAL DEFAULT 0, rested REAL DEFAULT 0) WITHOUT ROWID;
CREATE TABLE ground (claim TEXT, source TEXT, tier TEXT);
CREATE INDEX ground_claim ON ground (claim);
CREATE INDEX ground_source ON ground (source);
"""
_NAMED: Final = """
CREATE TEMP TABLE chosen (iri TEXT PRIMARY KEY) WITHOUT ROWID;
CREATE TEMP TABLE skipped (iri TEXT PRIMARY KEY) WITHOUT ROWID;
"""
# citations by answers are recounted when a saved table is opened
_SAVED: Final = """
UPDATE claim SET weight = 0 WHERE cited <> rested;
UPDATE claim SET cited = rested;
CREATE TABLE state (release TEXT, sequence INTEGER, digest TEXT);
"""
_SCORE: Final = f"max({FLOOR}, 1 - abs(2 * confidence - 1)) * weight"


@dataclass(frozen=True, slots=True)
class Filter:
    """The filter of a queue; an empty field matches everything.

    ``view``: ``open`` (what this person has not reviewed), ``mine`` (assigned to them),
    ``disputed`` (one for, one against), ``waiting`` (reviewed once, a second is awaited),
    ``reported`` (by readers), ``done`` (reviewed by them), ``all``. ``shape``: the subject class.
    """

    source: str = ""
    relation: str = ""
    shape: str = ""
    tier: str = ""
    school: str = ""
    status: str = ""
    concept: str = ""
    harm: str = ""  # "yes": safety claims alone
    view: str = "open"

    @classmethod
    def of(cls, values: Mapping[str, str]) -> "Filter":
        """Read a filter from a form or a query string; ``FormatError`` for a closed list's name."""
        named = {
            each.name: values.get(each.name, "").strip()[:300] or str(each.default)
            for each in fields(cls)
        }
        for what, name, known in (
            ("status", named["status"], tuple(STATUSES)),
            ("tier", named["tier"], TIERS),
            ("queue", named["view"], VIEWS),
        ):
            if name and name not in known:
                raise FormatError(what, name, known)
        return cls(**named)

    def parameters(self) -> dict[str, str]:
        """Return the fields that differ from an open filter, as in a query string."""
        return {
            each.name: value
            for each in fields(self)
            if (value := getattr(self, each.name)) and value != each.default
        }


@dataclass(frozen=True, slots=True)
class Item:
    """One claim of the queue; ``unread``: it is grave, and none of its evidence was opened."""

    claim: str
    priority: float
    confidence: float
    status: Status
    safety: bool
    unread: bool
    assigned: str = ""
    reviewers: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Page:
    """A piece of the queue, best first, and how many claims fit the filter."""

    items: tuple[Item, ...]
    total: int
    offset: int


class Queue:
    """The claims of a base, ordered for one curator: what is doubtful, harmful and much used."""

    def __init__(
        self,
        store: QuadStore,
        opinions: Opinions,
        changes: Changes | None = None,
        saved: Path | None = None,
        release: str = "",
    ) -> None:
        """Read the claims of ``store``, or open a table ``saved`` of the same ``release``.

        If it was opened, ``sequence`` is the number of the last change that the table had seen,
        and ``digest`` the checksum of that change.
        """
        self._store, self.opinions, self._changes = store, opinions, changes
        self._schema, self._lock = Schema.load(), threading.RLock()
        # a file without a name: in memory while it is small, else on the disk
        self._table = sqlite3.connect("", check_same_thread=False, isolation_level=None)
        self.sequence, self.digest = self._read_table(saved, release) if saved else (None, "")
        if self.sequence is None:
            self._table.executescript(_TABLES)
            self._insert(read_rows(store), None)
            resting = match_own(store, None, PROV.wasDerivedFrom, None, _DERIVED)
            self.cite(Counter(text(quad.object) for quad in resting))
            self._table.execute("UPDATE claim SET rested = cited")
        self._table.executescript(_NAMED)
        self.cite({})

    def save(self, path: Path, release: str, sequence: int, digest: str) -> None:
        """Write the table to a file that its owner alone reads."""
        with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
            with self._lock:
                self._table.backup(connection)
            connection.executescript(_SAVED)
            connection.execute("INSERT INTO state VALUES (?, ?, ?)", (release, sequence, digest))
            replace_file(path, connection.serialize(), private=True)

    def _read_table(self, path: Path, release: str) -> tuple[int | None, str]:
        """Read the table of a release from a file; return its last change, None for another."""
        if not path.is_file():
            return None, ""
        try:
            with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as found:
                of, sequence, digest = found.execute("SELECT * FROM state").fetchone()
                if of != release:
                    return None, ""
                found.backup(self._table)
            self._table.execute("DROP TABLE state")
        except (sqlite3.Error, TypeError, ValueError):  # cut off or of another form: rebuilt
            self._table = sqlite3.connect("", check_same_thread=False, isolation_level=None)
            return None, ""
        return int(sequence), str(digest)

    def __len__(self) -> int:
        return self._number("SELECT count(*) FROM claim")

    def update(self, claims: Iterable[str]) -> None:
        """Reload some claims; one that is in no graph any more leaves every queue."""
        names = [(claim,) for claim in claims]
        rows = read_rows(self._store, [each for (each,) in names])
        ends = {NamedNode(end) for row in rows.values() for end in (row.subject, row.object) if end}
        with self._lock:
            cited = self._rows("SELECT cited, rested, iri FROM claim WHERE cited > 0")
            for statement in ("ground WHERE claim", "claim WHERE iri"):
                self._table.executemany(f"DELETE FROM {statement} = ?", names)  # noqa: S608
            self._insert(rows, ends)
            self._table.executemany(
                "UPDATE claim SET cited = ?, rested = ? WHERE iri = ?",
                [each for each in cited if each[2] in rows],
            )
            self.cite({})

    def cite(self, claims: Mapping[str, float]) -> None:
        """Add citations of claims by answers and by derived claims."""
        with self._lock:
            self._table.executemany(
                "UPDATE claim SET cited = cited + ?2 WHERE iri = ?1", list(claims.items())
            )
            now = self._rows(
                "SELECT iri, harm, rank, cited FROM claim WHERE weight = 0 OR cited > 0"
            )
            self._table.executemany(
                "UPDATE claim SET weight = ?2 WHERE iri = ?1",
                [
                    (iri, (HARM if harm else 1.0) * (1.0 + log1p(rank) + log1p(cited)))
                    for iri, harm, rank, cited in now
                ],
            )

    def page(self, agent: str, chosen: Filter, offset: int = 0, count: int = 25) -> Page:
        """Return a page; claims that the curator skipped come last."""
        with self._lock:
            where, values = self._condition(agent, chosen)
            self._name("skipped", self.opinions.skipped_by(agent))
            total = self._number(f"SELECT count(*) FROM claim WHERE {where}", *values)  # noqa: S608
            results = self._rows(
                f"SELECT iri, {_SCORE} AS score, confidence, status, harm, unread FROM claim "  # noqa: S608
                f"WHERE {where} ORDER BY iri IN skipped, unread DESC, score DESC, iri "
                "LIMIT ? OFFSET ?",
                *values,
                min(count, MOST),
                offset,
            )
            items = tuple(
                Item(
                    iri,
                    round(score, 4),
                    confidence,
                    Status(status),
                    bool(harm),
                    bool(unread),
                    self.opinions.assignee(iri),
                    tuple(sorted(self.opinions.of(iri))),
                )
                for iri, score, confidence, status, harm, unread in results
            )
        return Page(items, total, offset)

    def next_after(self, agent: str, chosen: Filter, claim: str) -> str:
        """Return the claim that follows one in the queue, the first where it is not in it."""
        items = [item.claim for item in self.page(agent, chosen, 0, MOST).items]
        if claim in items:
            items = items[items.index(claim) + 1 :] + items[: items.index(claim)]
        return items[0] if items else ""

    def assign(
        self, claims: Sequence[str], to: str, who: str, reason: str = ""
    ) -> tuple[Change, ...]:
        """Assign some claims; the empty name returns them to everyone."""
        if self._changes is None:
            raise UsageError("a queue that is only read assigns nothing")
        if not 0 < len(claims) <= MOST:
            raise UsageError(f"1 to {MOST} claims are assigned at a time")
        for claim in claims:
            if not self._number("SELECT count(*) FROM claim WHERE iri = ?", claim):
                raise UsageError(f"there is no claim {claim[:200]!r} to assign")
        notes = ((DCTERMS.audience, agent(to)),)
        return self._changes.make_all(
            [Edit("assign", (claim,), reason, notes=notes) for claim in claims], who
        )

    def choices(self) -> dict[str, list[str]]:
        """List the values of each filter that occur in the base."""
        columns = {**dict.fromkeys(("relation", "shape", "school"), "claim"), "source": "ground"}
        with self._lock:
            results = {
                name: [value for (value,) in self._rows(f"SELECT DISTINCT {name} FROM {table}")]  # noqa: S608
                for name, table in columns.items()
            }
        listed = {"tier": [e.value for e in TIERS], "status": [e.value for e in STATUSES]}
        return {name: sorted(filter(None, group)) for name, group in results.items()} | listed

    def _condition(self, agent: str, chosen: Filter) -> tuple[str, list[object]]:
        """Return the condition of a filter and its values."""
        equal = [name for name in _EQUAL if getattr(chosen, name)]
        terms = [f"{name} = ?" for name in equal]
        values: list[object] = [getattr(chosen, name) for name in equal]
        if not chosen.status and chosen.view == "open":  # the others wait at other desks
            terms.append("status NOT IN ('rejected', 'quarantined')")
        if chosen.harm:
            terms.append("harm")
        if chosen.concept:
            terms.append("? IN (subject, object)")
            values.append(chosen.concept)
        for name in ("source", "tier"):
            if value := getattr(chosen, name):
                terms.append(f"iri IN (SELECT claim FROM ground WHERE {name} = ?)")  # noqa: S608
                values.append(value)
        if chosen.view != "all":
            self._name("chosen", self._of(agent, chosen.view))
            terms.append("iri NOT IN chosen" if chosen.view == "open" else "iri IN chosen")
        if chosen.view == "waiting":
            terms.append("harm")
        return " AND ".join(terms) or "1", values

    def _of(self, agent: str, message: str) -> Iterable[str]:
        opinions = self.opinions
        if message in {"open", "done"}:
            return opinions.done_by(agent)
        if message == "mine":
            return opinions.assigned_to(agent)
        if message == "disputed":
            return opinions.disputed_claims()
        if message == "reported":
            return reported_claims(self._store)
        once = {claim for claim in opinions.reviewed_claims() if len(opinions.of(claim)) == 1}
        return once - opinions.done_by(agent)

    def _insert(self, rows: Mapping[str, "Row"], ends: Iterable[NamedNode] | None) -> None:
        """Insert rows between some concepts, or between all."""
        classes = _classes_of(self._store, self._schema, ends)
        ranks = {
            text(q.subject): confidence_value(q.object) or 0.0
            for q in _match(self._store, SHIYI.pageRank, ends, _DERIVED)
        }
        claims: list[tuple[object, ...]] = []
        grounds: list[tuple[str, str, str]] = []
        for iri, row in rows.items():
            if row.status not in STATUSES:
                continue
            known = self._schema.properties.get(local_name(row.predicate))
            rank = ranks.get(row.subject, 0.0) + ranks.get(row.object, 0.0)
            is_unread = row.grave and not _OPENED & set(row.kinds)
            names = iri, row.subject, row.object, local_name(row.predicate)
            place = classes.get(row.subject, ""), row.school, row.status.value
            safety = bool(known and known.is_safety)
            claims.append((*names, *place, row.confidence, safety, is_unread, rank))
            grounds += {(iri, *each) for each in zip(row.sources, row.tiers, strict=True)}
        with self._lock:
            self._table.execute("BEGIN")
            marks = ", ".join("?" * 11)
            self._table.executemany(
                f"INSERT OR REPLACE INTO claim VALUES ({marks}, 0, 0, 0)",  # noqa: S608
                claims,
            )
            self._table.executemany("INSERT INTO ground VALUES (?, ?, ?)", grounds)
            self._table.execute("COMMIT")

    def _name(self, table: str, claims: Iterable[str]) -> None:
        """Fill a table of names that a query compares with."""
        self._table.execute(f"DELETE FROM {table}")  # noqa: S608
        self._table.executemany(
            f"INSERT OR IGNORE INTO {table} VALUES (?)",  # noqa: S608
            [(claim,) for claim in claims],
        )

    def _rows(self, query: str, *values: object) -> list[tuple[Any, ...]]:
        return self._table.execute(query, values).fetchall()

    def _number(self, query: str, *values: object) -> int:
        with self._lock:
            return int(self._table.execute(query, values).fetchone()[0])


@dataclass(slots=True)
class Row:
    """One claim as the store has it."""

    subject: str = ""
    predicate: str = ""
    object: str = ""
    status: Status = Status.CANDIDATE
    confidence: float = 0.0
    school: str = ""
    sources: list[str] = field(default_factory=list)
    tiers: list[str] = field(default_factory=list)
    kinds: list[str] = field(default_factory=list)
    grave: bool = False  # a source calls it contraindicated or major


def read_rows(store: QuadStore, claims: Iterable[str] | None = None) -> dict[str, Row]:
    """Read some claims, or every claim that can be reviewed, outside the derived graph."""
    chosen_nodes = None if claims is None else [NamedNode(claim) for claim in claims]
    match = partial(_match, store)
    rows: dict[str, Row] = {}
    for quad in match(SHIYI.status, chosen_nodes):
        if (place := graph_name(quad)) != _DERIVED.value:
            row = rows.setdefault(text(quad.subject), Row())
            _add_status(row, local_name(text(quad.object)), place)
    for quad in match(RDF.reifies, chosen_nodes):
        if (row_of := rows.get(text(quad.subject))) and isinstance(quad.object, Triple):
            triple = quad.object
            row_of.subject, row_of.predicate = text(triple.subject), triple.predicate.value
            row_of.object = text(triple.object) if isinstance(triple.object, NamedNode) else ""
    for quad in match(SHIYI.confidence, chosen_nodes):
        if (row_of := rows.get(text(quad.subject))) and graph_name(quad) != _DERIVED.value:
            row_of.confidence = confidence_value(quad.object) or 0.0
    evidence = [
        (rows[text(quad.subject)], quad.object)
        for quad in match(SHIYI.evidence, chosen_nodes)
        if text(quad.subject) in rows and isinstance(quad.object, NamedNode)
    ]
    nodes = None if chosen_nodes is None else [node for _, node in evidence]
    source, tier, kind, severity, rating = (
        {quad.subject: text(quad.object) for quad in match(predicate, nodes)} for predicate in _READ
    )
    for row, node in evidence:
        row.sources.append(source.get(node, ""))
        row.tiers.append(local_name(tier.get(node, "")).removeprefix("tier-"))
        row.kinds.append(local_name(kind.get(node, "")).lower())
        row.grave |= bool({severity.get(node), rating.get(node)} & _GRAVE)
    return rows


def _match(
    store: QuadStore,
    predicate: NamedNode,
    nodes: Iterable[NamedNode] | None,
    place: NamedNode | DefaultGraph | None = None,
) -> Iterator[Quad]:
    """Yield the quads of some subjects, or of all."""
    for node in (None,) if nodes is None else nodes:
        yield from match_own(store, node, predicate, None, place)


def _add_status(row: Row, status: str, place: str) -> None:
    """Add a status; a claim that is accepted anywhere is accepted."""
    if row.status is not Status.ACCEPTED and status in set(Status):
        row.status = Status(status)
    for prefix in _SCHOOLS:
        if place.startswith(prefix):
            row.school = place.removeprefix(prefix)


def _classes_of(
    store: QuadStore, schema: Schema, concepts: Iterable[NamedNode] | None
) -> dict[str, str]:
    """Return the most specific class of Shiyi's of some concepts, or of all."""
    results: dict[str, str] = {}
    for quad in _match(store, RDF.type, concepts, DefaultGraph()):
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
            pass  # none yet, or cut off: counts start from zero

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
