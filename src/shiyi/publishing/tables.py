"""CSV, KGX, Neo4j, SSSOM."""

import csv
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from operator import itemgetter
from pathlib import Path

from shiyi.artefacts import artefact
from shiyi.model.iris import ID, UMLS, is_text
from shiyi.model.rdf import DefaultGraph, Literal, local_name, text
from shiyi.ontology.terms import DCTERMS, RDFS, SHIYI
from shiyi.sparql.queries.named import Query
from shiyi.sparql.store.port import QuadStore
from shiyi.sparql.store.visibility import find_restricted

# a broader term is still true of what it is stated of; a related one need not be
_MATCHES = ("skos:exactMatch", "skos:closeMatch", "skos:broadMatch")


@cache
def biolink_terms() -> Mapping[str, str]:
    """Return the Biolink CURIE of a class or property by its local name, the closest first.

    >>> (
    ...     biolink_terms()["Syndrome"],
    ...     biolink_terms()["hasIngredient"],
    ...     "cautionIn" in biolink_terms(),
    ... )
    ('biolink:DiseaseOrPhenotypicFeature', 'biolink:has_part', False)
    """
    text = artefact("ontology/mappings/vocabulary.sssom.tsv").read_text(encoding="utf-8")
    rows = [line for line in text.splitlines() if not line.startswith("#")]
    results: dict[str, tuple[int, str]] = {}
    for row in csv.DictReader(rows, delimiter="\t", quoting=csv.QUOTE_NONE):
        name = row["subject_id"].removeprefix("voc:")
        fits = row["object_id"].startswith("biolink:") and row["predicate_id"] in _MATCHES
        if fits and not row["predicate_modifier"]:
            closeness = (_MATCHES.index(row["predicate_id"]), row["object_id"])
            results[name] = min(results.get(name, closeness), closeness)
    return {name: curie for name, (_, curie) in results.items()}


_ACCEPTED = DefaultGraph()
_PREFIX, _INFORES = "shiyi.id", "infores:shiyi"  # in CURIEs; `shiyi:` is the vocabulary
_DOI = re.compile(r"10\.[0-9]{4,9}/[^\s,;|]+")
_PUBMED = re.compile(r"\b(?:PMID|pubmed)[:\s/]*([0-9]+)", re.IGNORECASE)
_PAPERS = f"""SELECT DISTINCT ?claim ?identifier {{
  ?claim {SHIYI.evidence} ?evidence . ?evidence {DCTERMS.source} ?source .
  ?source {DCTERMS.identifier} ?identifier }}"""
_ANY, _RELATED = "biolink:NamedThing", "biolink:related_to"
_ATTRIBUTE = "biolink:has_attribute"  # of a node: no predicate of edges
LICENCE = "https://creativecommons.org/licenses/by/4.0/"
_SSSOM_HEAD = (
    "#mapping_set_id: https://w3id.org/shiyi/mappings\n#mapping_set_title: Shiyi mappings\n"
    f"#license: {LICENCE}\n#curie_map:\n#  {_PREFIX}: {ID}\n#  UMLS: {UMLS}\n"
    "#  skos: http://www.w3.org/2004/02/skos/core#\n#  semapv: https://w3id.org/semapv/vocab/\n"
)


@dataclass(frozen=True, slots=True)
class Table:
    """One file: its name, its header, its rows."""

    name: str
    header: tuple[str, ...]
    rows: tuple[Sequence[str], ...]


GROUNDS = (
    "polarity", "rating", "grade", "severity", "evidence_kind", "source", "lineage",
    "suggested_source",
)  # fmt: skip


def claim_rows(store: QuadStore, licence: str | None = None) -> Iterator[Mapping[str, str]]:
    """Yield each publishable claim as plain text with its grounds, by relation and subject.

    Several values of one column, one a piece of evidence, are joined with bars.
    """
    content = find_restricted(store, licence)
    grounds = _grounds(store, content.evidence)
    rows = [
        {key: text(term) for key, term in row.items()}
        for row in store.select(Query.named("claims").text)
    ]
    for record in sorted(rows, key=itemgetter("p", "s", "o", "claim")):
        if record["claim"] not in content.claims:
            own = grounds.get(record["claim"], {})
            columns = (*GROUNDS, *BIOLINK, *QUALIFYING)
            qualified = {name: "|".join(sorted(own.get(name, ()))) for name in columns}
            yield record | qualified | {"polarity": local_name(record["polarity"])}


BIOLINK, QUALIFYING = ("knowledge_level", "agent_type"), ("amount", "population", "duration")
_WRITTEN = {
    SHIYI.rating: "rating", SHIYI.grade: "grade", SHIYI.severity: "severity",
    SHIYI.evidenceKind: "evidence_kind", DCTERMS.source: "source",
    SHIYI.suggestedSource: "suggested_source", SHIYI.knowledgeLevel: "knowledge_level",
    SHIYI.agentType: "agent_type", SHIYI.amount: "amount", SHIYI.population: "population",
    SHIYI.duration: "duration",
}  # fmt: skip


def _grounds(store: QuadStore, hidden: Collection[str]) -> dict[str, dict[str, set[str]]]:
    """Return what the evidence of each claim says that is not ``hidden``, by claim and column."""
    claims: dict[object, str] = {
        q.object: text(q.subject)
        for q in store.match(None, SHIYI.evidence, None, _ACCEPTED)
        if text(q.object) not in hidden
    }
    lineages: dict[object, str] = {
        q.subject: text(q.object) for q in store.match(None, SHIYI.lineage, None, _ACCEPTED)
    }
    results: dict[str, dict[str, set[str]]] = {}
    for predicate, name in _WRITTEN.items():
        for quad in store.match(None, predicate, None, _ACCEPTED):
            if quad.subject not in claims:
                continue
            columns = results.setdefault(claims[quad.subject], {})
            columns.setdefault(name, set()).add(_cell_text(name, text(quad.object)))
            if name == "source" and quad.object in lineages:
                columns.setdefault("lineage", set()).add(lineages[quad.object])
    return results


def _cell_text(name: str, value: str) -> str:
    """Return a value as the column shows it: Biolink and kinds by name, sources as they stand."""
    if name == "evidence_kind":
        return local_name(value).lower()
    for start in ("knowledge-level-", "agent-type-"):
        if name in BIOLINK and local_name(value).startswith(start):
            return local_name(value).removeprefix(start).replace("-", "_")
    return value


def concept_rows(store: QuadStore) -> dict[str, dict[str, str]]:
    """Return each concept's class, labels and codes by IRI; several codes are joined with bars."""
    results: dict[str, dict[str, str]] = {}
    for row in store.select(Query.named("concepts").text):
        given = {key: text(term) for key, term in row.items()} | {
            "class": local_name(text(row["class"]))
        }
        known = results.setdefault(given["concept"], given)
        if known is not given:
            for key in ("cui", "notation"):
                values = dict.fromkeys((*known.get(key, "").split("|"), given.get(key, "")))
                known[key] = "|".join(value for value in values if value)
    return results


_CSV = ("claim", "s", "s_label", "o", "o_label", "confidence", *GROUNDS)  # columns of a relation


def csv_tables(store: QuadStore, licence: str | None = None) -> Iterator[Table]:
    """Yield one table per entity type and one per relation, as iDISK 2.0 publishes its data."""
    concepts, texts = concept_rows(store), _texts(store)
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
        subject, values = (concepts.get(claim[key], {}).get("en", "") for key in ("s", "o"))
        labels = {"s_label": subject, "o_label": values or texts.get(claim["o"], "")}
        row = [{**claim, **labels}[name] for name in _CSV]
        by_relation.setdefault(local_name(claim["p"]), []).append(row)
    header = ("claim", "subject", "subject_label", "object", "object_label", *_CSV[5:])
    for name, rows in sorted(by_relation.items()):
        yield Table(f"relation-{name}.csv", header, tuple(rows))


def _texts(store: QuadStore) -> dict[str, str]:
    """Return what each text says, in English where it has that."""
    results: dict[str, str] = {}
    for quad in store.match(None, RDFS.label, None, _ACCEPTED):
        if is_text(text(quad.subject)) and isinstance(quad.object, Literal):
            iri = text(quad.subject)
            if quad.object.language == "en" or iri not in results:
                results[iri] = quad.object.value
    return results


def _edge_type(claim: Mapping[str, str]) -> str:
    """Name the type of an edge so that no query takes a denied claim for an asserted one."""
    denied = "not_" if claim["polarity"] == "negative" else ""
    return denied + local_name(claim["p"])


def neo4j_tables(store: QuadStore, licence: str | None = None) -> Iterator[Table]:
    """Yield the two files that ``neo4j-admin database import`` takes."""
    concepts = concept_rows(store)
    nodes = [
        [iri, record["zh"], record["en"], record.get("cui", ""), record["class"]]
        for iri, record in concepts.items()
    ]
    yield Table("nodes.csv", ("iri:ID", "label_zh", "label_en", "cui", ":LABEL"), tuple(nodes))
    columns = ("s", "o", "type", "claim", "confidence", *GROUNDS)
    edges = [
        [{**claim, "type": _edge_type(claim)}[name] for name in columns]
        for claim in claim_rows(store, licence)
        if claim["s"] in concepts and claim["o"] in concepts
    ]
    header = (":START_ID", ":END_ID", ":TYPE", "claim", "confidence:float", *GROUNDS)
    yield Table("relationships.csv", header, tuple(edges))


# an edge has one of each in Biolink: that of its surest evidence
LEVELS = ("knowledge_assertion", "logical_entailment", "prediction")
AGENTS = ("manual_agent", "automated_agent", "computational_model")


def _best_value(values: str, order: Sequence[str]) -> str:
    """Return the first of ``order`` among values joined with bars.

    >>> _best_value("not_provided|prediction", LEVELS), _best_value("not_provided", LEVELS)
    ('prediction', 'not_provided')
    """
    given = values.split("|")
    return next((each for each in order if each in given), "not_provided")


# what the evidence of a relation states that Biolink has a qualifier for; () is any relation
_QUALIFIERS = {
    "has_confidence_level": ("rating", ("isEffectiveFor", "studiedFor")),
    "severity_qualifier": ("severity", ("hasAdverseReaction",)),
    "quantifier_qualifier": ("amount", ("hasIngredient",)),
    "object_part_qualifier": ("part", ("derivedFromOrganism",)),
    "population_context_qualifier": ("population", ()),
    "temporal_interval_qualifier": ("duration", ()),
}
_CLAIM = ("id", "subject", "predicate", "original_predicate", "object", "has_confidence_score")
_KNOWN = (
    "knowledge_level", "agent_type", "primary_knowledge_source", "publications", "negated",
    *_QUALIFIERS,
)  # fmt: skip


def kgx_tables(store: QuadStore, licence: str | None = None) -> Iterator[Table]:
    """Yield KGX node and edge files: CURIEs, and Biolink terms where one fits.

    What Biolink has as an attribute is one of the node; its claims are a table of their own.
    """
    concepts, biolink, papers = concept_rows(store), biolink_terms(), _publications(store)
    claims = [
        claim
        for claim in claim_rows(store, licence)
        if claim["s"] in concepts and claim["o"] in concepts
    ]
    parts, attributes = _values(claims, "usesPart"), _values(claims, _ATTRIBUTE)
    edges: dict[bool, list[Sequence[str]]] = {True: [], False: []}
    for claim in claims:
        predicate = biolink.get(local_name(claim["p"]), _RELATED)
        used = [concepts[part]["en"] for part in parts.get(claim["s"], ())]
        row = (
            _curie(claim["claim"]),
            _curie(claim["s"]),
            predicate,
            claim["p"],
            _curie(claim["o"]),
            claim["confidence"],
            _best_value(claim["knowledge_level"], LEVELS),
            _best_value(claim["agent_type"], AGENTS),
            _INFORES,
            "|".join(sorted(papers.get(claim["claim"], ()))),
            "true" if claim["polarity"] == "negative" else "false",
            *_qualifiers({**claim, "part": "|".join(used)}),
            *(claim[name] for name in GROUNDS),
        )
        edges[predicate == _ATTRIBUTE].append(row)
    nodes = [
        (
            _curie(iri),
            biolink.get(record["class"], _ANY),
            record["en"],
            "|".join(f"UMLS:{cui}" for cui in record.get("cui", "").split("|") if cui),
            "|".join(_curie(value) for value in attributes.get(iri, ())),
        )
        for iri, record in concepts.items()
    ]
    yield Table("nodes.tsv", ("id", "category", "name", "xref", "has_attribute"), tuple(nodes))
    header = (*_CLAIM, *_KNOWN, *GROUNDS)
    yield Table("edges.tsv", header, tuple(edges[False]))
    yield Table("attributes.tsv", header, tuple(edges[True]))


def _values(claims: Iterable[Mapping[str, str]], relation: str) -> Mapping[str, Sequence[str]]:
    """Return what each concept has by a relation, of Shiyi or of Biolink, that is not denied."""
    results: dict[str, dict[str, None]] = {}
    for claim in claims:
        name = local_name(claim["p"])
        if relation in (name, biolink_terms().get(name)) and claim["polarity"] != "negative":
            results.setdefault(claim["s"], {})[claim["o"]] = None
    return {iri: tuple(values) for iri, values in results.items()}


def _qualifiers(claim: Mapping[str, str]) -> Iterator[str]:
    """Yield the value of each qualifier of an edge, which has one: none where sources differ.

    >>> list(_qualifiers({"p": "hasIngredient", "amount": "9 g", "population": "", "duration": ""}))
    ['', '', '9 g', '', '', '']
    """
    for column, relations in _QUALIFIERS.values():
        value = claim[column] if not relations or local_name(claim["p"]) in relations else ""
        yield "" if "|" in value else value


def _curie(iri: str) -> str:
    """Return the CURIE of a resource: ``shiyi.id:`` and its local name."""
    return f"{_PREFIX}:{iri.removeprefix(ID)}" if iri.startswith(ID) else iri


def _publications(store: QuadStore) -> dict[str, set[str]]:
    """Return the DOIs and PubMed numbers of the sources of each claim, as CURIEs."""
    results: dict[str, set[str]] = {}
    for row in store.select(_PAPERS):
        if curie := _paper(text(row["identifier"])):
            results.setdefault(text(row["claim"]), set()).add(curie)
    return results


def _paper(identifier: str) -> str:
    """Return the CURIE of a paper; empty for other identifiers.

    >>> _paper("doi:10.2196/75279"), _paper("PMID 123"), _paper("GB 2760")
    ('DOI:10.2196/75279', 'PMID:123', '')
    """
    if doi := _DOI.search(identifier):
        return f"DOI:{doi[0]}"
    pubmed = _PUBMED.search(identifier)
    return f"PMID:{pubmed[1]}" if pubmed else ""


def sssom_tables(store: QuadStore, licence: str | None = None) -> Iterator[Table]:
    """Yield every accepted mapping as one SSSOM table; mappings are the project's own."""
    if licence in (None, LICENCE):
        yield sssom_table(store)


def sssom_table(store: QuadStore) -> Table:
    """Return every mapping of the accepted view as SSSOM rows."""
    rows = []
    for row in store.select(Query.named("mappings").text):
        other = text(row["other"])
        curie = f"UMLS:{other.removeprefix(UMLS)}" if other.startswith(UMLS) else other
        rows.append(
            [
                _curie(text(row["concept"])),
                text(row["label"]),
                f"skos:{local_name(text(row['predicate']))}",
                curie,
                "semapv:ManualMappingCuration",
            ]
        )
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
