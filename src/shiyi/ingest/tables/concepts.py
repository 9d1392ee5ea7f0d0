"""Concepts with their labels in two languages, and the tables that hold them."""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from shiyi.ingest.tables.tsv import Faults, Place, Row, check_columns, read_tables
from shiyi.model.iris import graph, resource
from shiyi.model.rdf import XSD_BOOLEAN, DefaultGraph, Literal, NamedNode, Quad
from shiyi.ontology.schema import Schema
from shiyi.ontology.terms import DCTERMS, OWL, RDF, RDFS, SHIYI, SKOS

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


LISTS = ("alt_zh", "alt_en", "latin", "notation", "broader")


@dataclass(frozen=True, slots=True)
class Concept:
    """One concept: its class, labels, codes, the ids of what is broader, and where its row stands.

    >>> Concept("nature-cold", "Nature", "han", "cold").iri.value
    'https://w3id.org/shiyi/id/nature-cold'
    """

    id: str
    class_name: str
    zh: str
    en: str
    alt_zh: tuple[str, ...] = ()
    alt_en: tuple[str, ...] = ()
    pinyin: str = ""
    latin: tuple[str, ...] = ()
    notation: tuple[str, ...] = ()
    broader: tuple[str, ...] = ()
    definition_zh: str = ""
    definition_en: str = ""
    scope_zh: str = ""  # for whom, or for what, the name is meant
    scope_en: str = ""
    tcm_only: bool = False  # a purely Chinese sign, which Western medicine does not name
    place: Place = field(default=Place("", 0), compare=False)

    @property
    def iri(self) -> NamedNode:
        """Name the concept."""
        return resource(self.id)

    def cells(self) -> dict[str, str]:
        """Return the row of the concept's table."""
        cells = {name: "|".join(getattr(self, name)) for name in LISTS}
        cells |= {
            name: getattr(self, name) for name in COLUMNS if name not in _OTHER | cells.keys()
        }
        return cells | {"class": self.class_name, "note": TCM_ONLY if self.tcm_only else ""}


_OTHER = frozenset({"class", "note"})  # columns that are no field of that name


class Concepts:
    """All concepts, found by id, or by a label among the classes a property takes."""

    def __init__(self, concepts: Iterable[Concept], schema: Schema) -> None:
        self.by_id = {each.id: each for each in concepts}
        self._schema = schema
        self._preferred: dict[str, list[Concept]] = defaultdict(list)
        self._alias: dict[str, list[Concept]] = defaultdict(list)
        for concept in self.by_id.values():
            for label in dict.fromkeys((concept.zh, concept.en)):
                self._preferred[label.casefold()].append(concept)
            for label in dict.fromkeys((*concept.alt_zh, *concept.alt_en, *concept.latin)):
                self._alias[label.casefold()].append(concept)

    def __len__(self) -> int:
        return len(self.by_id)

    def find(self, cell: str, classes: frozenset[str], place: Place, faults: Faults) -> str:
        """Return the id that ``cell`` names among ``keys`` classes; else record why not."""
        if named := self.by_id.get(cell):
            if not self._schema.fits(named.class_name, classes):
                faults.add(
                    place, f"{cell} is a {named.class_name}, not a {' or '.join(sorted(classes))}"
                )
            return cell
        for labels in (self._preferred, self._alias):
            fitting = [
                label
                for label in labels.get(cell.casefold(), ())
                if self._schema.fits(label.class_name, classes)
            ]
            if len(fitting) == 1:
                return fitting[0].id
            if fitting:
                faults.add(place, f"{cell!r} may be {' or '.join(each.id for each in fitting)}")
                return ""
        faults.unknown(place, "concept", cell, (*self.by_id, *self._preferred))
        return ""


def read_concepts(folder: Path, schema: Schema, faults: Faults) -> Concepts:
    """Read every concept table of ``folder``."""
    concepts: dict[str, Concept] = {}
    labels: dict[tuple[str, str, str], Concept] = {}
    for header, rows in read_tables(folder, faults):
        check_columns(header, ("id", "class", "zh", "en"), COLUMNS, rows, faults)
        for row in rows:
            concept = _concept(row)
            _check(concept, concepts, labels, schema, faults)
            concepts.setdefault(concept.id, concept)
    return Concepts(concepts.values(), schema)


def _concept(row: Row) -> Concept:
    cells: dict[str, Any] = {
        name: row.values(name) if name in LISTS else row.get(name)
        for name in COLUMNS
        if name not in _OTHER
    }
    tcm_only = row.get("note") == TCM_ONLY
    return Concept(class_name=row.get("class"), tcm_only=tcm_only, place=row.place, **cells)


def concept_pinyin(concept: Concept) -> str:
    """Return a concept's pinyin with tone marks, made from its label where its row has none."""
    from pypinyin import Style, lazy_pinyin

    return concept.pinyin or "".join(lazy_pinyin(concept.zh, style=Style.TONE))


def _check(
    concept: Concept,
    known: dict[str, Concept],
    labels: dict[tuple[str, str, str], Concept],
    schema: Schema,
    faults: Faults,
) -> None:
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


def resolve_broader(concept: Concept, concepts: Concepts, faults: Faults) -> list[str]:
    """Resolve the broader concepts of one concept, within its kind."""
    kind = KINDS.get(concept.class_name, "")
    wanted = frozenset(name for name, each in KINDS.items() if each == kind)
    results = [
        concepts.find(
            cell, wanted, Place(concept.place.file, concept.place.line, "broader"), faults
        )
        for cell in concept.broader
    ]
    return [result for result in results if result]


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


def concept_quads(concept: Concept, broader: Iterable[str], pinyin: str) -> Iterator[Quad]:
    """Yield type, labels, codes and place in the hierarchy, in the default graph."""
    node, default = concept.iri, DefaultGraph()
    yield Quad(node, RDF.type, getattr(SHIYI, concept.class_name), default)
    yield Quad(node, RDF.type, SKOS.Concept, default)
    yield Quad(node, SKOS.inScheme, resource(f"scheme-{KINDS[concept.class_name]}"), default)
    if concept.tcm_only:
        yield Quad(node, SKOS.inScheme, resource("scheme-tcm-sign"), default)
    for predicate, values, language in (
        (SKOS.prefLabel, (concept.zh,), "zh"),
        (SKOS.prefLabel, (concept.en,), "en"),
        (SKOS.altLabel, concept.alt_zh, "zh"),
        (SKOS.altLabel, concept.alt_en, "en"),
        (SHIYI.latinName, concept.latin, None),
        (SKOS.notation, concept.notation, None),
        (SHIYI.pinyin, (pinyin,), None),
        (SKOS.definition, (concept.definition_zh,), "zh"),
        (SKOS.definition, (concept.definition_en,), "en"),
        (SKOS.scopeNote, (concept.scope_zh,), "zh"),
        (SKOS.scopeNote, (concept.scope_en,), "en"),
    ):
        for value in dict.fromkeys(values):
            if value:
                yield Quad(node, predicate, Literal(value, language=language), default)
    for parent in broader:
        yield Quad(node, SKOS.broader, resource(parent), default)


RETIRED_COLUMNS = ("id", "zh", "en", "replaced_by", "reason")
RETIRED = graph("retired")


@dataclass(frozen=True, slots=True)
class RetiredConcept:
    """A retired concept; ``replaced_by`` is the id of what took its place, or empty."""

    id: str
    zh: str
    en: str
    replaced_by: str = ""
    reason: str = ""

    @property
    def iri(self) -> NamedNode:
        """Name the concept."""
        return resource(self.id)


def read_retired(folder: Path, concepts: Concepts, faults: Faults) -> list[RetiredConcept]:
    """Read every table of ``folder``, which may be absent; an id in use is a fault."""
    results: dict[str, RetiredConcept] = {}
    for header, rows in read_tables(folder, faults):
        check_columns(header, ("id", "zh", "en"), RETIRED_COLUMNS, rows, faults)
        for row in rows:
            each = RetiredConcept(*(row.get(name) for name in RETIRED_COLUMNS))
            if each.id in concepts.by_id:
                faults.add(row.at("id"), f"{each.id} was retired, but stands among the concepts")
            if each.id in results:
                faults.add(row.at("id"), f"{each.id} is retired twice")
            results[each.id] = each
            if each.replaced_by and each.replaced_by not in concepts.by_id:
                faults.unknown(row.at("replaced_by"), "concept", each.replaced_by, concepts.by_id)
    return list(results.values())


def retired_quads(concept: RetiredConcept) -> Iterator[Quad]:
    """Yield the tombstone: names, reason, and where it went."""
    node = concept.iri
    yield Quad(node, OWL.deprecated, Literal("true", datatype=XSD_BOOLEAN), RETIRED)
    for label, language in ((concept.zh, "zh"), (concept.en, "en")):
        if label:
            yield Quad(node, SKOS.prefLabel, Literal(label, language=language), RETIRED)
    if concept.reason:
        yield Quad(node, RDFS.comment, Literal(concept.reason), RETIRED)
    if concept.replaced_by:
        yield Quad(node, DCTERMS.isReplacedBy, resource(concept.replaced_by), RETIRED)
