"""Concept tables: one row a concept, and how a claim's cell names one."""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from shiyi.ingest.tables import Faults, Place, Row, check_columns, read_tables
from shiyi.model.concept import Concept
from shiyi.model.names import resource
from shiyi.model.rdf import DefaultGraph, Literal, Quad
from shiyi.ontology.terms import RDF, SHIYI, SKOS
from shiyi.ontology.vocabulary import Schema

COLUMNS = (
    "id", "class", "zh", "en", "alt_zh", "alt_en", "pinyin", "latin", "notation", "broader",
    "definition_zh", "definition_en", "scope_zh", "scope_en", "note",
)  # fmt: skip
KINDS = {
    "MFHSubstance": "substance", "Food": "substance", "Herb": "substance", "Dish": "dish",
    "Formula": "formula", "DSIngredient": "supplement", "DSProduct": "product", "Drug": "drug",
    "DrugClass": "drug", "Disease": "disease", "TCMDisease": "disease", "Symptom": "symptom",
    "EmergencySign": "symptom", "Syndrome": "syndrome", "Constitution": "constitution",
    "Nature": "nature", "Flavour": "flavour", "Meridian": "meridian", "ToxicityLevel": "toxicity",
    "Efficacy": "efficacy", "Therapy": "therapy", "Season": "season", "Population": "population",
    "Organism": "organism", "OrganismPart": "part", "ChemicalEntity": "constituent",
    "RegulatoryStatus": "status", "TherapeuticClass": "class", "SystemOrganClass": "soc",
    "CausalFactor": "cause", "Method": "method", "Rule": "rule", "FoodGroup": "foodgroup",
}  # fmt: skip
TCM_ONLY = "tcm-only"  # the note of a sign that Western medicine has no name for
ID_FORM = re.compile(r"[a-z]+(-[a-z0-9]+)+")


@dataclass(frozen=True, slots=True)
class TabledConcept(Concept):
    """One concept of the starter knowledge base, and where its row stands."""

    tcm_only: bool = False  # a purely Chinese sign, which Western medicine does not name
    place: Place = field(default=Place("", 0), compare=False)


class Concepts:
    """All concepts, found by id, or by a label among the classes a property takes."""

    def __init__(self, concepts: Iterable[TabledConcept], schema: Schema) -> None:
        self.by_id = {each.id: each for each in concepts}
        self._schema = schema
        self._preferred: dict[str, list[TabledConcept]] = defaultdict(list)
        self._alias: dict[str, list[TabledConcept]] = defaultdict(list)
        for each in self.by_id.values():
            for label in dict.fromkeys((each.zh, each.en)):
                self._preferred[label.casefold()].append(each)
            for label in dict.fromkeys((*each.alt_zh, *each.alt_en, *each.latin)):
                self._alias[label.casefold()].append(each)

    def __len__(self) -> int:
        return len(self.by_id)

    def find(self, cell: str, wanted: frozenset[str], place: Place, faults: Faults) -> str:
        """Give the id that ``cell`` names among ``wanted`` classes; else record why not."""
        if named := self.by_id.get(cell):
            if not self._schema.fits(named.class_name, wanted):
                faults.add(
                    place, f"{cell} is a {named.class_name}, not a {' or '.join(sorted(wanted))}"
                )
            return cell
        for labels in (self._preferred, self._alias):
            fitting = [
                each for each in labels.get(cell.casefold(), ())
                if self._schema.fits(each.class_name, wanted)
            ]  # fmt: skip
            if len(fitting) == 1:
                return fitting[0].id
            if fitting:
                faults.add(place, f"{cell!r} may be {' or '.join(each.id for each in fitting)}")
                return ""
        faults.unknown(place, "concept", cell, (*self.by_id, *self._preferred))
        return ""


def read_concepts(folder: Path, schema: Schema, faults: Faults) -> Concepts:
    """Read every concept table of ``folder``."""
    concepts: dict[str, TabledConcept] = {}
    labels: dict[tuple[str, str, str], TabledConcept] = {}
    for header, rows in read_tables(folder, faults):
        check_columns(header, ("id", "class", "zh", "en"), COLUMNS, rows, faults)
        for row in rows:
            concept = _concept(row)
            _check(concept, concepts, labels, schema, faults)
            concepts.setdefault(concept.id, concept)
    return Concepts(concepts.values(), schema)


def _concept(row: Row) -> TabledConcept:
    return TabledConcept(
        id=row.get("id"), class_name=row.get("class"), zh=row.get("zh"), en=row.get("en"),
        alt_zh=row.values("alt_zh"), alt_en=row.values("alt_en"), pinyin=row.get("pinyin"),
        latin=row.values("latin"), notation=row.values("notation"), broader=row.values("broader"),
        definition_zh=row.get("definition_zh"), definition_en=row.get("definition_en"),
        scope_zh=row.get("scope_zh"), scope_en=row.get("scope_en"),
        tcm_only=row.get("note") == TCM_ONLY, place=row.place,
    )  # fmt: skip


def _check(
    concept: TabledConcept, known: dict[str, TabledConcept], labels: dict[tuple[str, str, str], TabledConcept],
    schema: Schema, faults: Faults,
) -> None:  # fmt: skip
    place = concept.place
    if not ID_FORM.fullmatch(concept.id):
        faults.add(place, f"id {concept.id!r} is not <kind>-<slug> in lower-case ASCII")
    if concept.id in known:
        faults.add(place, f"id {concept.id} stands already at {known[concept.id].place}")
    if concept.class_name not in KINDS:
        faults.unknown(place, "class", concept.class_name, KINDS)
    elif concept.id.partition("-")[0] != KINDS[concept.class_name]:
        faults.add(place, f"a {concept.class_name} has an id {KINDS[concept.class_name]}-…")
    for language, label in (("zh", concept.zh), ("en", concept.en)):
        if not label:
            faults.add(place, f"{concept.id} has no {language} label")
            continue
        key = (KINDS.get(concept.class_name, ""), language, label.casefold())
        first = labels.setdefault(key, concept)
        if first.id != concept.id:
            faults.add(place, f"{label!r} is already the {language} label of {first.id}")


def broader_of(concept: TabledConcept, concepts: Concepts, faults: Faults) -> list[str]:
    """Resolve the broader concepts of one concept, within its kind."""
    kind = KINDS.get(concept.class_name, "")
    wanted = frozenset(name for name, each in KINDS.items() if each == kind)
    found = [
        concepts.find(
            cell, wanted, Place(concept.place.file, concept.place.line, "broader"), faults
        )
        for cell in concept.broader
    ]
    return [each for each in found if each]


def check_acyclic(parents: dict[str, list[str]], concepts: Concepts, faults: Faults) -> None:
    """Record each concept that is its own broader concept, over any number of steps."""
    for start, above in parents.items():
        seen, waiting = set(), list(above)
        while waiting:
            node = waiting.pop()
            if node == start:
                faults.add(concepts.by_id[start].place, f"{start} is broader than itself")
                break
            if node not in seen:
                seen.add(node)
                waiting.extend(parents.get(node, ()))


def concept_quads(concept: TabledConcept, broader: Iterable[str], pinyin: str) -> Iterator[Quad]:
    """Yield type, labels, codes and place in the hierarchy, in the default graph."""
    node, default = concept.iri, DefaultGraph()
    yield Quad(node, RDF.type, getattr(SHIYI, concept.class_name), default)
    yield Quad(node, RDF.type, SKOS.Concept, default)
    yield Quad(node, SKOS.inScheme, resource(f"scheme-{KINDS[concept.class_name]}"), default)
    if concept.tcm_only:
        yield Quad(node, SKOS.inScheme, resource("scheme-tcm-sign"), default)
    for predicate, values, language in (
        (SKOS.prefLabel, (concept.zh,), "zh"), (SKOS.prefLabel, (concept.en,), "en"),
        (SKOS.altLabel, concept.alt_zh, "zh"), (SKOS.altLabel, concept.alt_en, "en"),
        (SHIYI.latinName, concept.latin, None), (SKOS.notation, concept.notation, None),
        (SHIYI.pinyin, (pinyin,), None),
        (SKOS.definition, (concept.definition_zh,), "zh"),
        (SKOS.definition, (concept.definition_en,), "en"),
        (SKOS.scopeNote, (concept.scope_zh,), "zh"), (SKOS.scopeNote, (concept.scope_en,), "en"),
    ):  # fmt: skip
        for value in dict.fromkeys(values):
            if value:
                yield Quad(node, predicate, Literal(value, language=language), default)
    for parent in broader:
        yield Quad(node, SKOS.broader, resource(parent), default)
