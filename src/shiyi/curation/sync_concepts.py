"""Concepts and mappings that the desks changed, written to their tables."""

from collections.abc import Iterable, Mapping

from shiyi.curation.editing_claims import one
from shiyi.curation.mappings import Mapping as Mapped
from shiyi.curation.mappings import read_mapping
from shiyi.curation.mappings_sssom import default_head
from shiyi.curation.sync_tables import Tables, TableText
from shiyi.curation.vocabulary import LISTS, Entry, entry_of
from shiyi.ingest import mappings as sssom
from shiyi.ingest.claims import Stated
from shiyi.ingest.concepts import COLUMNS, TCM_ONLY, TabledConcept
from shiyi.ingest.retired import COLUMNS as GONE
from shiyi.ingest.retired import RETIRED
from shiyi.model.names import ID
from shiyi.model.rdf import Literal, NamedNode, text
from shiyi.ontology.terms import DCTERMS, RDFS, SKOS
from shiyi.sparql.store import QuadStore

DESK = "concepts/desk.tsv"
STONES = "retired/concepts.tsv"
MAPPED = "mappings/desk.sssom.tsv"


def sync_concepts(
    tables: Tables, known: Mapping[str, TabledConcept], broader: Mapping[str, list[str]],
    stated: Iterable[Stated], store: QuadStore, touched: Iterable[str],
) -> int:  # fmt: skip
    """Make the concept tables hold what the base holds of the touched concepts; count them."""
    changed, renamed = 0, dict[str, tuple[TabledConcept, Entry]]()
    for iri in touched:
        entry, old = entry_of(store, iri), known.get(iri.removeprefix(ID))
        if entry is None and any(store.match(NamedNode(iri), None, None, RETIRED)):
            changed += _retire(tables, store, iri, old)
        elif entry is not None and old is None:
            tables.file(DESK, COLUMNS).append(entry.cells())
            changed += 1
        elif entry is not None and old is not None:
            changed += _rewrite(tables, entry, old, broader.get(old.id, []))
            if (entry.zh, entry.en) != (old.zh, old.en):
                renamed[iri] = (old, entry)
    _name_anew(tables, stated, known, renamed)
    return changed


def _rewrite(tables: Tables, entry: Entry, old: TabledConcept, broader: list[str]) -> int:
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
            held = [x.strip() for x in now.split("|") if x.strip()]
            wanted = getattr(entry, column)
            if set(held) != set(wanted):
                kept = [each for each in held if each in wanted]
                more = [each for each in wanted if each not in kept]
                table.set(line, column, "|".join((*kept, *more)))
                changed = True
        elif now != cells[column]:
            table.set(line, column, cells[column])
            changed = True
    if entry.tcm_only != (table.get(line, "note") == TCM_ONLY):
        table.set(line, "note", TCM_ONLY if entry.tcm_only else "")
        changed = True
    return int(changed)


def _retire(tables: Tables, store: QuadStore, iri: str, old: TabledConcept | None) -> int:
    node, stones = NamedNode(iri), tables.file(STONES, GONE)
    if old is not None:
        tables.file(old.place.file).drop(old.place.line)
    elif _has(stones, iri.removeprefix(ID)):
        return 0
    labels = {
        q.object.language: q.object.value
        for q in store.match(node, SKOS.prefLabel, None, RETIRED) if isinstance(q.object, Literal)
    }  # fmt: skip
    heir = one(store, node, DCTERMS.isReplacedBy, RETIRED).removeprefix(ID)
    reason = " ".join(one(store, node, RDFS.comment, RETIRED).split())
    stones.append({"id": iri.removeprefix(ID), "zh": labels.get("zh", ""), "en": labels.get("en", ""),
                   "replaced_by": heir, "reason": reason})  # fmt: skip
    return 1


def _has(table: TableText, name: str) -> bool:
    return any(line.split("\t")[0] == name for line in table.before.split("\n"))


def _name_anew(
    tables: Tables, stated: Iterable[Stated], known: Mapping[str, TabledConcept],
    renamed: Mapping[str, tuple[TabledConcept, Entry]],
) -> None:  # fmt: skip
    """Write the identifier where a cell named a concept by a label that it has no more."""
    if not renamed:
        return
    for each in stated:
        table, line = tables.file(each.row.place.file), each.row.place.line
        if not table.stands(line):
            continue
        _subject(table, line, each, renamed)
        target = text(each.claim.object)
        turned = each.claim.subject.value  # a symmetric claim may stand the other way round
        for iri in (target, turned):
            if (
                iri in renamed
                and each.value in _old_names(*renamed[iri])
                and "@" not in each.column
            ):
                values = [x.strip() for x in table.get(line, each.column).split("|")]
                fresh = [iri.removeprefix(ID) if x == each.value else x for x in values]
                if fresh != values:
                    table.set(line, each.column, "|".join(fresh))
    for concept in known.values():
        hits = [x for x in concept.broader for o, e in renamed.values() if x in _old_names(o, e)
                and o.id.partition("-")[0] == concept.id.partition("-")[0]]  # fmt: skip
        if hits and tables.file(concept.place.file).stands(concept.place.line):
            ids = {o.zh: o.id for o, _ in renamed.values()} | {
                o.en: o.id for o, _ in renamed.values()
            }
            cells = [ids.get(x, x) if x in hits else x for x in concept.broader]
            tables.file(concept.place.file).set(concept.place.line, "broader", "|".join(cells))


def _subject(
    table: TableText, line: int, each: Stated, renamed: Mapping[str, tuple[TabledConcept, Entry]]
) -> None:
    name = table.get(line, "subject")
    for iri in (each.claim.subject.value, text(each.claim.object)):
        if iri in renamed and name in _old_names(*renamed[iri]):
            table.set(line, "subject", iri.removeprefix(ID))


def _old_names(old: TabledConcept, now: Entry) -> set[str]:
    return {old.zh, old.en} - {now.zh, now.en}


def sync_mappings(tables: Tables, store: QuadStore, touched: Iterable[str]) -> int:
    """Make the mapping tables hold the touched rows that are accepted, and no other of them."""
    places = dict(_places(tables))
    changed = 0
    for iri in touched:
        known = read_mapping(store, NamedNode(iri))
        wanted = known if known and known.status == "accepted" else None
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


def _cells(table: TableText, line: int, wanted: Mapped) -> int:
    cells = dict(wanted.row.cells)
    changed = [c for c in {*table.columns, *cells} if table.get(line, c) != cells.get(c, "")]
    for column in sorted(changed):
        table.set(line, column, cells.get(column, ""))
    return int(bool(changed))


def _file_of(tables: Tables, wanted: Mapped) -> TableText:
    name = wanted.mapping_set.removeprefix(sssom.SETS)
    if wanted.mapping_set.startswith(sssom.SETS) and name.replace("-", "").isalnum():
        path = f"mappings/{name}.sssom.tsv"
        if (tables.folder / path).is_file():
            return tables.file(path)
    if MAPPED not in tables.files:
        table = tables.file(MAPPED)
        if not table.before:
            table.begin([*default_head([wanted.row]), "\t".join(sssom.COLUMNS)])
    return tables.file(MAPPED)
