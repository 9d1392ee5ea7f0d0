"""The knowledge base as tables: CSV, Neo4j bulk import, KGX and SSSOM."""

import csv
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from shiyi.model.names import UMLS
from shiyi.model.rdf import NamedNode, local_name, text
from shiyi.publishing.licences import withheld
from shiyi.sparql.queries import Query
from shiyi.sparql.store import QuadStore

BIOLINK = {
    "DSIngredient": "biolink:ChemicalMixture", "Drug": "biolink:Drug", "Disease": "biolink:Disease",
    "Symptom": "biolink:PhenotypicFeature", "EmergencySign": "biolink:PhenotypicFeature",
    "Food": "biolink:Food", "MFHSubstance": "biolink:Food", "Dish": "biolink:Food",
    "Organism": "biolink:OrganismTaxon", "ChemicalEntity": "biolink:ChemicalEntity",
}  # fmt: skip
_ANY = "biolink:NamedThing"


@dataclass(frozen=True, slots=True)
class Table:
    """One file: its name, its header, its rows."""

    name: str
    header: tuple[str, ...]
    rows: tuple[Sequence[str], ...]


def claim_rows(store: QuadStore, licence: str | None = None) -> Iterator[Mapping[str, str]]:
    """Yield each accepted, positive claim between concepts that may leave, as plain text."""
    held = withheld(store, licence).claims
    for row in store.select(Query.named("claims").text):
        given = {key: text(term) for key, term in row.items()}
        if given["claim"] not in held and given["polarity"].endswith("#positive"):
            yield given | {"literal": "" if isinstance(row["o"], NamedNode) else "1"}


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
    """Yield KGX node and edge files with Biolink categories where one fits."""
    concepts = concept_rows(store)
    nodes = [
        [iri, BIOLINK.get(each["class"], _ANY), each["en"],
         f"UMLS:{each['cui']}" if each.get("cui") else ""]
        for iri, each in concepts.items()
    ]  # fmt: skip
    yield Table("nodes.tsv", ("id", "category", "name", "xref"), tuple(nodes))
    edges = [
        [claim["claim"], claim["s"], "biolink:related_to", claim["p"], claim["o"],
         claim["confidence"], "knowledge_assertion", "manual_agent"]
        for claim in claim_rows(store, licence)
        if claim["s"] in concepts and claim["o"] in concepts
    ]  # fmt: skip
    header = ("id", "subject", "predicate", "original_predicate", "object",
              "has_confidence_score", "knowledge_level", "agent_type")  # fmt: skip
    yield Table("edges.tsv", header, tuple(edges))


def sssom_table(store: QuadStore) -> Table:
    """Give every mapping of the accepted view as SSSOM rows."""
    rows = []
    for row in store.select(Query.named("mappings").text):
        other = text(row["other"])
        curie = f"UMLS:{other.removeprefix(UMLS)}" if other.startswith(UMLS) else other
        rows.append(
            [f"shiyi:{local_name(text(row['concept']))}", text(row["label"]),
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
                file.write("#curie_map:\n#  shiyi: https://w3id.org/shiyi/id/\n"
                           f"#  UMLS: {UMLS}\n#license: https://creativecommons.org/licenses/by/4.0/\n")  # fmt: skip
            writer.writerow(table.header)
            writer.writerows(table.rows)
        count += len(table.rows)
    return count
