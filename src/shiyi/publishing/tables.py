"""The knowledge base as tables: CSV, Neo4j bulk import, KGX and SSSOM."""

import csv
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from shiyi.model.names import ID, UMLS
from shiyi.model.rdf import NamedNode, Term, local_name, text
from shiyi.publishing.biolink import biolink_terms
from shiyi.sparql.queries import Query
from shiyi.sparql.store import QuadStore
from shiyi.sparql.withheld import withheld

_ANY, _RELATED = "biolink:NamedThing", "biolink:related_to"
LICENCE = "https://creativecommons.org/licenses/by/4.0/"
_SSSOM_HEAD = (
    "#mapping_set_id: https://w3id.org/shiyi/mappings\n#mapping_set_title: Shiyi mappings\n"
    f"#license: {LICENCE}\n#curie_map:\n#  shiyi: {ID}\n#  UMLS: {UMLS}\n"
    "#  skos: http://www.w3.org/2004/02/skos/core#\n#  semapv: https://w3id.org/semapv/vocab/\n"
)


@dataclass(frozen=True, slots=True)
class Table:
    """One file: its name, its header, its rows."""

    name: str
    header: tuple[str, ...]
    rows: tuple[Sequence[str], ...]


def claim_rows(store: QuadStore, licence: str | None = None) -> Iterator[Mapping[str, str]]:
    """Yield each accepted, positive claim that may leave, as plain text, by relation and subject."""
    held = withheld(store, licence).claims
    for row in sorted(store.select(Query.named("claims").text), key=_in_order):
        given = {key: text(term) for key, term in row.items()}
        if given["claim"] not in held and given["polarity"].endswith("#positive"):
            yield given | {"literal": "" if isinstance(row["o"], NamedNode) else "1"}


def _in_order(row: Mapping[str, Term]) -> tuple[str, ...]:
    return tuple(text(row[key]) for key in ("p", "s", "o", "claim"))


def concept_rows(store: QuadStore) -> dict[str, dict[str, str]]:
    """Give each concept's class, labels and codes by IRI; several codes are joined with bars."""
    found: dict[str, dict[str, str]] = {}
    for row in store.select(Query.named("concepts").text):
        given = {key: text(term) for key, term in row.items()} | {
            "class": local_name(text(row["class"]))
        }
        known = found.setdefault(given["concept"], given)
        if known is not given:
            for key in ("cui", "notation"):
                values = dict.fromkeys((*known.get(key, "").split("|"), given.get(key, "")))
                known[key] = "|".join(each for each in values if each)
    return found


def csv_tables(store: QuadStore, licence: str | None = None) -> Iterator[Table]:
    """Yield one table per entity type and one per relation, as iDISK 2.0 publishes its data."""
    concepts = concept_rows(store)
    by_class: dict[str, list[Sequence[str]]] = {}
    for iri, each in concepts.items():
        columns = ("zh", "en", "cui", "notation")
        by_class.setdefault(each["class"], []).append([iri, *(each.get(c, "") for c in columns)])
    for name, rows in sorted(by_class.items()):
        yield Table(
            f"entity-{name}.csv", ("iri", "label_zh", "label_en", "cui", "notation"), tuple(rows)
        )
    by_relation: dict[str, list[Sequence[str]]] = {}
    for claim in claim_rows(store, licence):
        subject, said = (concepts.get(claim[key], {}) for key in ("s", "o"))
        row = [claim["claim"], claim["s"], subject.get("en", ""), claim["o"], said.get("en", ""),
               claim["confidence"]]  # fmt: skip
        by_relation.setdefault(local_name(claim["p"]), []).append(row)
    header = ("claim", "subject", "subject_label", "object", "object_label", "confidence")
    for name, rows in sorted(by_relation.items()):
        yield Table(f"relation-{name}.csv", header, tuple(rows))


def neo4j_tables(store: QuadStore, licence: str | None = None) -> Iterator[Table]:
    """Yield the two files that ``neo4j-admin database import`` takes."""
    concepts = concept_rows(store)
    nodes = [
        [iri, each["zh"], each["en"], each.get("cui", ""), each["class"]]
        for iri, each in concepts.items()
    ]
    yield Table("nodes.csv", ("iri:ID", "label_zh", "label_en", "cui", ":LABEL"), tuple(nodes))
    edges = [
        [claim["s"], claim["o"], local_name(claim["p"]), claim["claim"], claim["confidence"]]
        for claim in claim_rows(store, licence)
        if claim["s"] in concepts and claim["o"] in concepts
    ]
    header = (":START_ID", ":END_ID", ":TYPE", "claim", "confidence:float")
    yield Table("relationships.csv", header, tuple(edges))


def kgx_tables(store: QuadStore, licence: str | None = None) -> Iterator[Table]:
    """Yield KGX node and edge files, in Biolink terms where one fits."""
    concepts, biolink = concept_rows(store), biolink_terms()
    nodes = [
        [iri, biolink.get(each["class"], _ANY), each["en"],
         "|".join(f"UMLS:{cui}" for cui in each.get("cui", "").split("|") if cui)]
        for iri, each in concepts.items()
    ]  # fmt: skip
    yield Table("nodes.tsv", ("id", "category", "name", "xref"), tuple(nodes))
    edges = [
        [claim["claim"], claim["s"], biolink.get(local_name(claim["p"]), _RELATED), claim["p"], claim["o"],
         claim["confidence"], "knowledge_assertion", "manual_agent"]
        for claim in claim_rows(store, licence)
        if claim["s"] in concepts and claim["o"] in concepts
    ]  # fmt: skip
    header = ("id", "subject", "predicate", "original_predicate", "object",
              "has_confidence_score", "knowledge_level", "agent_type")  # fmt: skip
    yield Table("edges.tsv", header, tuple(edges))


def sssom_tables(store: QuadStore, licence: str | None = None) -> Iterator[Table]:
    """Yield every mapping of the accepted view as one SSSOM table; mappings are the project's own."""
    if licence in (None, LICENCE):
        yield sssom_table(store)


def sssom_table(store: QuadStore) -> Table:
    """Give every mapping of the accepted view as SSSOM rows."""
    rows = []
    for row in store.select(Query.named("mappings").text):
        other = text(row["other"])
        curie = f"UMLS:{other.removeprefix(UMLS)}" if other.startswith(UMLS) else other
        rows.append(
            [f"shiyi:{text(row['concept']).removeprefix(ID)}", text(row["label"]),
             f"skos:{local_name(text(row['predicate']))}", curie, "semapv:ManualMappingCuration"]
        )  # fmt: skip
    header = ("subject_id", "subject_label", "predicate_id", "object_id", "mapping_justification")
    return Table("mappings.sssom.tsv", header, tuple(rows))


def write_tables(tables: Iterable[Table], folder: Path) -> int:
    """Write each table into ``folder``, tab-separated where its name ends so; count the rows."""
    folder.mkdir(parents=True, exist_ok=True)
    count = 0
    for table in tables:
        tabs = table.name.endswith(".tsv")
        with (folder / table.name).open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, delimiter="\t" if tabs else ",", lineterminator="\n")
            if table.name.endswith(".sssom.tsv"):
                file.write(_SSSOM_HEAD)
            writer.writerow(table.header)
            writer.writerows(table.rows)
        count += len(table.rows)
    return count
