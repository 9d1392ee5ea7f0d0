"""Tables and base compared and reconciled, row by row."""

import tempfile
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from shutil import copytree

from shiyi.curation.changes import Change, Changes, Edit
from shiyi.curation.editing.claims import ACCEPTED, StoredClaim, load_claim, load_labels
from shiyi.curation.sync.tables import Tables, TableText
from shiyi.curation.vocabulary.concepts import load_concept
from shiyi.curation.vocabulary.mappings import Mapping as Mapped
from shiyi.curation.vocabulary.mappings import read_mapping
from shiyi.curation.vocabulary.proposals import PROPOSALS, read_proposal
from shiyi.curation.vocabulary.sssom import default_head
from shiyi.errors import TableError, UsageError
from shiyi.ingest.tables import mappings as sssom
from shiyi.ingest.tables.claims import LONG, ClaimCell, ClaimTableReader, default_confidence
from shiyi.ingest.tables.concepts import COLUMNS, KINDS, LISTS, RETIRED, TCM_ONLY, Concept
from shiyi.ingest.tables.concepts import RETIRED_COLUMNS as GONE
from shiyi.ingest.tables.mappings import MAPPINGS
from shiyi.ingest.tables.starter import Starter, load_starter
from shiyi.ingest.tables.tsv import Faults
from shiyi.model.claim import UNOPENED, Claim, Evidence, Polarity, Text
from shiyi.model.iris import ID, content_hash
from shiyi.model.rdf import BlankNode, DefaultGraph, NamedNode, Quad, Triple, local_name, text
from shiyi.ontology.schema import Schema
from shiyi.ontology.terms import DCTERMS, RDFS, SHIYI, SKOS
from shiyi.settings import ConfidenceSettings
from shiyi.sparql.base.journal import Record, read_journal
from shiyi.sparql.base.knowledge_base import KnowledgeBase
from shiyi.sparql.base.writer import JOURNAL_FILE
from shiyi.sparql.store.port import QuadStore, text_value

TABLED = (DefaultGraph(), RETIRED, MAPPINGS)  # the graphs that tables make
ONTO = "sync from tables"  # the kind of a change that brought tables in


@dataclass(slots=True)
class CuratedQuads:
    """The net quads that curators added and removed, and their subjects."""

    added: set[Quad] = field(default_factory=set)
    removed: set[Quad] = field(default_factory=set)
    subjects: set[str] = field(default_factory=set)

    @classmethod
    def of(cls, records: Iterable[Record]) -> "CuratedQuads":
        """Sum up the records of a journal, without what came from the tables."""
        created_quads = cls()
        for record in records:
            from_tables = record.why.startswith(ONTO)
            for quads, ups, downs in (
                (record.removed, created_quads.removed, created_quads.added),
                (record.added, created_quads.added, created_quads.removed),
            ):
                for quad in quads:
                    if quad.graph_name in TABLED and isinstance(quad.subject, NamedNode):
                        downs.discard(quad)
                        if not from_tables:
                            ups.add(quad)
                            created_quads.subjects.add(quad.subject.value)
        return created_quads

    @classmethod
    def read(cls, kb: Path) -> "CuratedQuads":
        """Sum up the journal of a base."""
        return cls.of(read_journal(kb / JOURNAL_FILE))

    def iris_of_kind(self, kind: str) -> Iterator[str]:
        """Yield the touched IRIs with a name that begins with ``kind``."""
        return (subject for subject in sorted(self.subjects) if subject.startswith(f"{ID}{kind}"))

    def claims(self) -> set[str]:
        """Return the claims that were touched, themselves or by their evidence."""
        results = set(self.iris_of_kind("claim/"))
        for quad in self.added | self.removed:
            if quad.predicate == SHIYI.evidence:
                results.add(text(quad.subject))
        return results


_ABOUT = 100  # things that one change names; a sync may touch more


@dataclass(slots=True)
class Outgoing:
    """Changes of the tables to match the base; some claims stay in the base alone."""

    tables: Tables
    claims: int = 0
    concepts: int = 0
    mappings: int = 0
    terms: int = 0
    unapplied: list[str] = field(default_factory=list)

    @property
    def is_empty(self) -> bool:
        """Return whether nothing changes."""
        return next(self.tables.changed_files(), None) is None

    def counts(self) -> dict[str, int]:
        """Count what changes."""
        return {
            "claims": self.claims,
            "concepts": self.concepts,
            "mappings": self.mappings,
            "terms": self.terms,
            "kept": len(self.unapplied),
            "files": sum(1 for _ in self.tables.changed_files()),
        }


@dataclass(frozen=True, slots=True)
class Incoming:
    """Changes of the base to match the tables; what curators changed stays."""

    added: tuple[Quad, ...]
    removed: tuple[Quad, ...]

    @property
    def is_empty(self) -> bool:
        """Return whether nothing changes."""
        return not (self.added or self.removed)


def write_outgoing(
    base: KnowledgeBase, folder: Path, weights: ConfidenceSettings | None = None
) -> Outgoing:
    """Write the curators' changes into the tables of ``folder``, in memory.

    The result is built once from a copy before it is returned: :class:`TableError` where it would
    not build, as when both sides renamed one thing.
    """
    weights = weights or ConfidenceSettings()
    quads, store = CuratedQuads.read(base.path), base.store
    starter = load_starter(folder, weights)
    cells = list(cells_of(folder, starter, weights))
    result = Outgoing(Tables(folder))
    sync_claims(result, cells, store, quads.claims(), weights)
    kinds = tuple(dict.fromkeys(KINDS.values()))
    concepts = [iri for kind in kinds for iri in quads.iris_of_kind(f"{kind}-")]
    result.concepts = sync_concepts(
        result.tables, starter.concepts.by_id, starter.broader, cells, store, concepts
    )
    result.mappings = sync_mappings(result.tables, store, quads.iris_of_kind("mapping/"))
    result.terms = _terms(result.tables, store, folder)
    if not result.is_empty:
        _check(result, folder, weights)
    return result


def cells_of(folder: Path, starter: Starter, weights: ConfidenceSettings) -> Iterator[ClaimCell]:
    """Yield the claim of each cell of the claim tables."""
    reader = ClaimTableReader(Schema.load(), starter.concepts, starter.sources, weights, Faults())
    return reader.read_cells(folder / "claims")


def _terms(tables: Tables, store: QuadStore, folder: Path) -> int:
    """Add approved relations to the vocabulary and the names in code, approved shapes to theirs."""
    done = 0
    nodes = sorted(
        (q.subject for q in store.match(None, SHIYI.status, SHIYI.accepted, PROPOSALS)), key=str
    )
    for node in nodes:
        result = read_proposal(store, node.value) if isinstance(node, NamedNode) else None
        if result is None:
            continue
        is_relation = result.kind == "relation"
        path = folder / "shiyi.ttl" if is_relation else folder.parent / "shapes" / "concept.ttl"
        if not path.is_file():
            continue
        name = f"{path.parent.name}/{path.name}"
        before, after = tables.extra.get(name, (path.read_text("utf-8"),) * 2)
        if result.turtle.strip() in after:
            continue
        tables.extra[name] = (before, f"{after.rstrip()}\n\n{result.turtle}")
        done += 1
        code = folder.parent / "src/shiyi/ontology/terms.py"
        if is_relation and code.is_file():
            key = "src/shiyi/ontology/terms.py"
            old, new = tables.extra.get(key, (code.read_text("utf-8"),) * 2)
            mark = "\n\n\nclass RDF("
            tables.extra[key] = (old, new.replace(mark, f"\n    {result.name}: NamedNode{mark}", 1))
    return done


def _check(result: Outgoing, folder: Path, weights: ConfidenceSettings) -> None:
    """Build from a copy of the changed tables; raise their faults where that fails."""
    with tempfile.TemporaryDirectory(prefix="shiyi-sync-") as place:
        copy = Path(place) / folder.name
        copytree(folder, copy)
        result.tables.write(Path(place))
        try:
            load_starter(copy, weights)
        except TableError as fault:
            raise TableError(
                [
                    "the tables would not build with the desks' changes; mend either side:",
                    *fault.faults,
                ]
            ) from fault


def read_incoming(
    base: KnowledgeBase, folder: Path, weights: ConfidenceSettings | None = None
) -> Incoming:
    """Return the changes of the tables alone since the last build.

    What curators changed stays as they left it until it is in the tables. The vocabulary itself
    (lists of classes) needs ``shiyi build``.
    """
    quads = CuratedQuads.read(base.path)
    wanted_quads = {q for q in load_starter(folder, weights).quads() if _plain(q)}
    stored_quads = {q for place in TABLED for q in base.store.match(graph=place) if _plain(q)}
    added_quads = [q for q in wanted_quads - stored_quads if q not in quads.removed]
    removed_quads = [q for q in stored_quads - wanted_quads if q not in quads.added]
    theirs = quads.claims()
    theirs |= {
        text(q.object)
        for q in (*wanted_quads, *stored_quads)
        if q.predicate == SHIYI.evidence and text(q.subject) in theirs
    }
    return Incoming(
        tuple(sorted((q for q in added_quads if not _is_contested(q, theirs)), key=str)),
        tuple(sorted((q for q in removed_quads if not _is_contested(q, theirs)), key=str)),
    )


def apply_table_changes(changes: Changes, result: Incoming, agent: str) -> Change:
    """Write what the tables changed, as one change that can be undone."""
    if result.is_empty:
        raise UsageError("the base holds what the tables hold already")
    names = dict.fromkeys(
        quad.subject.value
        for quad in (*result.added, *result.removed)
        if isinstance(quad.subject, NamedNode)
    )
    key = f"sync {content_hash(*map(str, result.added), '-', *map(str, result.removed))}"
    edit = Edit(
        ONTO,
        tuple(islice(names, _ABOUT)),
        "the tables changed",
        result.removed,
        result.added,
        key=f"{key} {changes.last}",
    )
    return changes.make(edit, agent)


def _plain(quad: Quad) -> bool:
    """Return whether a quad can be compared: blank nodes have other names in each build."""
    terms = (quad.subject, quad.object)
    return not any(isinstance(term, BlankNode) for term in terms)


def _is_contested(quad: Quad, theirs: set[str]) -> bool:
    """Return whether a quad is of a claim that curators changed and that is not exported yet."""
    target = "" if isinstance(quad.object, Triple) else text(quad.object)
    return text(quad.subject) in theirs or target in theirs


CLAIM_DESK = "claims/desk.tsv"
Key = tuple[str, str]  # claim and evidence


def sync_claims(
    result: Outgoing,
    stated: Iterable[ClaimCell],
    store: QuadStore,
    touched: Iterable[str],
    weights: ConfidenceSettings,
) -> None:
    """Update the tables to the base's version of the touched claims; other cells stay."""
    done, values = set(touched), defaultdict[str, list[ClaimCell]](list)
    for cell in stated:
        if cell.claim.iri.value in done:
            values[cell.claim.iri.value].append(cell)
    for iri in sorted(done):
        claim = load_claim(store, iri)
        claim = claim if claim is not None and claim.home == ACCEPTED else None
        _write_cells(result, values.get(iri, []), claim, weights, iri)


def _write_cells(
    result: Outgoing,
    values: list[ClaimCell],
    stored: StoredClaim | None,
    weights: ConfidenceSettings,
    iri: str,
) -> None:
    wanted_evidence = (
        {each.iri(NamedNode(iri)).value: each for each in stored.claim.evidence} if stored else {}
    )
    record = {name: e for name, e in wanted_evidence.items() if not e.passage and not e.quote}
    if len(record) < len(wanted_evidence):
        result.unapplied.append(iri)
    known: dict[str, list[tuple[ClaimCell, Evidence]]] = defaultdict(list)
    for cell in values:
        for evidence in cell.claim.evidence:
            known[evidence.iri(NamedNode(iri)).value].append((cell, evidence))
    leaving: dict[int, tuple[ClaimCell, list[Evidence]]] = {}
    for name, places in known.items():
        if name in record and _is_same_evidence(record[name], [e for _, e in places]):
            record.pop(name)
            continue
        for cell, evidence in places:
            leaving.setdefault(id(cell), (cell, []))[1].append(evidence)
    for cell, old_evidence in leaving.values():
        stays = [e for e in cell.claim.evidence if e not in old_evidence]
        _remove_from_cell(result.tables, cell, stays, weights)
        result.claims += len(old_evidence)
    if stored:
        for evidence in record.values():
            result.tables.file(CLAIM_DESK, LONG).append(build_row(stored.claim, evidence, weights))
            result.claims += 1


def _is_same_evidence(one: Evidence, others: list[Evidence]) -> bool:
    """Return whether rows state a piece of evidence as the base does; qualifiers add up."""
    qualifiers = {pair for evidence in others for pair in evidence.qualifiers}
    return set(one.qualifiers) == qualifiers and all(
        evidence.kind == one.kind and abs(evidence.confidence.value - one.confidence.value) < 1e-6
        for evidence in others
    )


def build_row(claim: Claim, evidence: Evidence, weights: ConfidenceSettings) -> Mapping[str, str]:
    """Write one piece of evidence as a row of a long table."""
    value, predicate = claim.object, local_name(claim.predicate.value)
    body = claim.text or Text(text(value).removeprefix(ID))
    work = evidence.suggested if evidence.kind in UNOPENED else evidence.source
    own = default_confidence(evidence.source, evidence.kind, weights)
    return {
        "subject": claim.subject.value.removeprefix(ID),
        "predicate": predicate,
        "object": body.zh,
        "object_en": body.en,
        "source": work.id if work else "",
        "locator": evidence.locator,
        "kind": evidence.kind.value,
        "confidence": "" if own == evidence.confidence else f"{evidence.confidence.value:g}",
        "polarity": "" if claim.polarity is Polarity.POSITIVE else claim.polarity.value,
        **dict(evidence.qualifiers),
    }


def _remove_from_cell(
    tables: Tables, cell: ClaimCell, stays: list[Evidence], weights: ConfidenceSettings
) -> None:
    """Remove a claim from its cell; its remaining evidence stays in the tables."""
    table, line = tables.file(cell.row.place.file), cell.row.place.line
    if not table.has_line(line):
        return
    if cell.column == "object":  # a long row states one claim
        if not stays:
            table.drop(line)
            return
        locators = [e.locator for e in stays]
        table.set(line, "source", "|".join(e.source.id for e in stays))
        table.set(line, "locator", locators[0] if len(set(locators)) == 1 else "|".join(locators))
        return
    if cell.claim.text:
        for language in ("zh", "en"):
            column = f"{cell.column.partition('@')[0]}@{language}"
            if column in table.columns:
                table.set(line, column, "")
    else:
        values = [x.strip() for x in table.get(line, cell.column).split("|")]
        if cell.value in values:
            values.remove(cell.value)
            table.set(line, cell.column, "|".join(values))
    for evidence in stays:  # of the same cell, from another source of the row
        tables.file(CLAIM_DESK, LONG).append(build_row(cell.claim, evidence, weights))
    if not any(table.get(line, column) for column in table.columns if column not in _FRAME):
        table.drop(line)


_FRAME = frozenset({"subject", "source", "locator", "kind", "confidence", "polarity", "note"})


CONCEPT_DESK = "concepts/desk.tsv"
STONES = "retired/concepts.tsv"
MAPPED = "mappings/desk.sssom.tsv"


def sync_concepts(
    tables: Tables,
    known: Mapping[str, Concept],
    broader: Mapping[str, list[str]],
    stated: Iterable[ClaimCell],
    store: QuadStore,
    touched: Iterable[str],
) -> int:
    """Update the concept tables to the base's version of the touched concepts; count them."""
    changed, renamed = 0, dict[str, tuple[Concept, Concept]]()
    for iri in touched:
        entry, old = load_concept(store, iri), known.get(iri.removeprefix(ID))
        if entry is None and any(store.match(NamedNode(iri), None, None, RETIRED)):
            changed += _retire(tables, store, iri, old)
        elif entry is not None and old is None:
            tables.file(CONCEPT_DESK, COLUMNS).append(entry.cells())
            changed += 1
        elif entry is not None and old is not None:
            changed += _rewrite(tables, entry, old, broader.get(old.id, []))
            if (entry.zh, entry.en) != (old.zh, old.en):
                renamed[iri] = (old, entry)
    _rename_in_cells(tables, stated, known, renamed)
    return changed


def _rewrite(tables: Tables, entry: Concept, old: Concept, broader: list[str]) -> int:
    table, line = tables.file(old.place.file), old.place.line
    cells = entry.cells()
    changed = False
    for column in COLUMNS:
        if column in {"id", "note"}:
            continue
        now = table.get(line, column)
        if column == "broader":
            if set(entry.broader) != set(broader):
                table.set(line, column, cells[column])
                changed = True
        elif column in LISTS:
            stored = [x.strip() for x in now.split("|") if x.strip()]
            wanted = getattr(entry, column)
            if set(stored) != set(wanted):
                remaining = [each for each in stored if each in wanted]
                more = [item for item in wanted if item not in remaining]
                table.set(line, column, "|".join((*remaining, *more)))
                changed = True
        elif now != cells[column]:
            table.set(line, column, cells[column])
            changed = True
    if entry.tcm_only != (table.get(line, "note") == TCM_ONLY):
        table.set(line, "note", TCM_ONLY if entry.tcm_only else "")
        changed = True
    return int(changed)


def _retire(tables: Tables, store: QuadStore, iri: str, old: Concept | None) -> int:
    node, stones = NamedNode(iri), tables.file(STONES, GONE)
    if old is not None:
        tables.file(old.place.file).drop(old.place.line)
    elif any(line.split("\t")[0] == iri.removeprefix(ID) for line in stones.before.split("\n")):
        return 0
    labels = load_labels(store, node, SKOS.prefLabel, RETIRED)
    heir = text_value(store, node, DCTERMS.isReplacedBy, RETIRED).removeprefix(ID)
    reason = " ".join(text_value(store, node, RDFS.comment, RETIRED).split())
    stones.append(
        {
            "id": iri.removeprefix(ID),
            "zh": labels.get("zh", ""),
            "en": labels.get("en", ""),
            "replaced_by": heir,
            "reason": reason,
        }
    )
    return 1


def _rename_in_cells(
    tables: Tables,
    stated: Iterable[ClaimCell],
    known: Mapping[str, Concept],
    renamed: Mapping[str, tuple[Concept, Concept]],
) -> None:
    """Write the identifier where a cell names a concept by a former label."""
    if not renamed:
        return
    for cell in stated:
        table, line = tables.file(cell.row.place.file), cell.row.place.line
        if not table.has_line(line):
            continue
        _subject(table, line, cell, renamed)
        target = text(cell.claim.object)
        value = cell.claim.subject.value  # a symmetric claim may stand the other way round
        for iri in (target, value):
            if (
                iri in renamed
                and cell.value in _old_names(*renamed[iri])
                and "@" not in cell.column
            ):
                values = [x.strip() for x in table.get(line, cell.column).split("|")]
                fresh = [iri.removeprefix(ID) if x == cell.value else x for x in values]
                if fresh != values:
                    table.set(line, cell.column, "|".join(fresh))
    for concept in known.values():
        hits = [
            x
            for x in concept.broader
            for o, e in renamed.values()
            if x in _old_names(o, e) and o.id.partition("-")[0] == concept.id.partition("-")[0]
        ]
        if hits and tables.file(concept.place.file).has_line(concept.place.line):
            ids = {o.zh: o.id for o, _ in renamed.values()} | {
                o.en: o.id for o, _ in renamed.values()
            }
            cells = [ids.get(x, x) if x in hits else x for x in concept.broader]
            tables.file(concept.place.file).set(concept.place.line, "broader", "|".join(cells))


def _subject(
    table: TableText, line: int, cell: ClaimCell, renamed: Mapping[str, tuple[Concept, Concept]]
) -> None:
    name = table.get(line, "subject")
    for iri in (cell.claim.subject.value, text(cell.claim.object)):
        if iri in renamed and name in _old_names(*renamed[iri]):
            table.set(line, "subject", iri.removeprefix(ID))


def _old_names(old: Concept, now: Concept) -> set[str]:
    return {old.zh, old.en} - {now.zh, now.en}


def sync_mappings(tables: Tables, store: QuadStore, touched: Iterable[str]) -> int:
    """Update the mapping tables to the accepted ones of the touched rows."""
    places = dict(_places(tables))
    changed = 0
    for iri in touched:
        mapping = read_mapping(store, NamedNode(iri))
        wanted = mapping if mapping and mapping.status == "accepted" else None
        place = places.get(iri)
        if wanted is None and place:
            tables.file(place[0]).drop(place[1])
            changed += 1
        elif wanted is not None and place:
            changed += _cells(tables.file(place[0]), place[1], wanted)
        elif wanted is not None:
            _file_of(tables, wanted).append(dict(wanted.row.cells))
            changed += 1
    return changed


def _places(tables: Tables) -> Iterable[tuple[str, tuple[str, int]]]:
    """Yield the name of every row of the mapping tables, and where it stands."""
    for path in sorted((tables.folder / "mappings").glob("*.sssom.tsv")):
        name = f"mappings/{path.name}"
        table = tables.file(name)
        for number, line in enumerate(table.before.split("\n"), 1):
            if line.strip() and not line.startswith("#") and line.split("\t")[0] != "subject_id":
                cells = dict(
                    zip(table.columns, (x.strip() for x in line.split("\t")), strict=False)
                )
                yield sssom.mapping_node(cells).value, (name, number)


def _cells(table: TableText, line: int, mapping: Mapped) -> int:
    cells = dict(mapping.row.cells)
    changed = [c for c in {*table.columns, *cells} if table.get(line, c) != cells.get(c, "")]
    for column in sorted(changed):
        table.set(line, column, cells.get(column, ""))
    return int(bool(changed))


def _file_of(tables: Tables, mapping: Mapped) -> TableText:
    name = mapping.mapping_set.removeprefix(sssom.SETS)
    if mapping.mapping_set.startswith(sssom.SETS) and name.replace("-", "").isalnum():
        path = f"mappings/{name}.sssom.tsv"
        if (tables.folder / path).is_file():
            return tables.file(path)
    if MAPPED not in tables.files:
        table = tables.file(MAPPED)
        if not table.before:
            table.begin([*default_head([mapping.row]), "\t".join(sssom.COLUMNS)])
    return tables.file(MAPPED)
