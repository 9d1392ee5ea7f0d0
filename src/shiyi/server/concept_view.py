"""A concept as its page shows it: what it is, safety first, then the rest by theme."""

from collections import defaultdict
from dataclasses import dataclass

from shiyi.model.names import VOCAB, graph
from shiyi.model.rdf import NamedNode, local_name, text
from shiyi.ontology.terms import RDF, SHIYI, SKOS
from shiyi.server.links import href
from shiyi.server.reading import Reader, Statement, Thing

# theme -> predicates, in the order they are shown; safety comes first on every page
THEMES: dict[str, tuple[str, ...]] = {
    "safety": (
        "contraindicatedIn", "derivedCaution", "cautionIn", "interactsWith",
        "potentiallyInteractsWith", "opposes", "fears", "incompatibleWith", "aggravates",
        "unsuitableFood", "hasAdverseReaction", "hasAdverseEffectOn", "hasToxicity", "hasRedFlag",
        "warrantsCheckFor", "confusedWith", "useRestriction", "safetyNote",
    ),
    "nature": ("hasNature", "hasFlavour", "hasMeridianTropism", "hasThermalNature"),
    "benefit": (
        "hasEfficacy", "indicatedFor", "isEffectiveFor", "relieves", "suitableFood",
        "dietaryBenefit", "primaryEffect", "mechanismOfAction",
    ),
    "clinical": (
        "relatedConstitution", "hasManifestation", "hasSyndrome", "impliesSyndrome",
        "hasTreatmentPrinciple", "realisedBy", "hasCause", "hasDiseaseLocation", "predisposesTo",
        "questionText",
    ),
    "composition": (
        "hasIngredient", "hasPart", "derivedFromOrganism", "usesPart", "hasActiveConstituent",
        "hasNutrient", "preparedBy", "suitableSeason", "complementsInUse", "cookingMethod",
        "consumptionMethod", "processing", "sourceMaterial",
    ),
    "standing": ("regulatoryStatus", "hasTherapeuticClass", "ruleText", "background"),
}  # fmt: skip
SYMMETRIC = frozenset(
    {
        "opposes", "fears", "incompatibleWith", "interactsWith", "complementsInUse", "confusedWith",
        "potentiallyInteractsWith",
    }
)  # fmt: skip
TEXTS = frozenset(
    {
        "cookingMethod", "consumptionMethod", "dietaryBenefit", "primaryEffect", "processing",
        "useRestriction", "background", "mechanismOfAction", "safetyNote", "sourceMaterial",
        "ruleText", "questionText",
    }
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Group:
    """All claims of one relation in one direction."""

    predicate: str
    forward: bool
    statements: tuple[Statement, ...]
    heading: str  # the vocabulary's label in the reader's language

    @property
    def is_text(self) -> bool:
        """Tell whether the objects are texts rather than concepts."""
        return self.predicate in TEXTS

    @property
    def key(self) -> str:
        """Name the heading in the catalogue."""
        return self.predicate if self.forward else f"{self.predicate}-inverse"


@dataclass(frozen=True, slots=True)
class Mapping:
    """A match to another vocabulary."""

    relation: str
    iri: str
    cui: str


@dataclass(frozen=True, slots=True)
class ConceptView:
    """A concept with everything its page shows."""

    iri: str
    name: Thing
    kinds: tuple[Thing, ...]
    aliases: tuple[str, ...]
    pinyin: str
    latin: str
    notation: tuple[str, ...]
    definition: str
    broader: tuple[Thing, ...]
    narrower: tuple[Thing, ...]
    themes: tuple[tuple[str, tuple[Group, ...]], ...]
    cuis: tuple[str, ...]
    mappings: tuple[Mapping, ...]
    importance: float
    claims: int


def concept_view(reader: Reader, node: NamedNode) -> ConceptView:
    """Read what the page of ``node`` shows."""
    statements = _unique(reader, node)
    return ConceptView(
        iri=node.value,
        name=reader.thing(node),
        kinds=tuple(reader.thing(kind) for kind in reader.kinds(node)),
        aliases=_aliases(reader, node),
        pinyin=reader.said(node, SHIYI.pinyin),
        latin=reader.said(node, SHIYI.latinName),
        notation=reader.texts(node, SKOS.notation),
        definition=reader.said(node, SKOS.definition),
        broader=_things(reader, node, forward=True),
        narrower=_things(reader, node, forward=False),
        themes=tuple(_themes(reader, statements)),
        cuis=reader.texts(node, SHIYI.umlsCui),
        mappings=_mappings(reader, node),
        importance=reader.number(node, SHIYI.pageRank, graph("derived")),
        claims=len(statements),
    )


def _unique(reader: Reader, node: NamedNode) -> list[Statement]:
    seen: dict[str, Statement] = {}
    for each in reader.statements(node):
        seen.setdefault(each.claim, each)
    return list(seen.values())


def _aliases(reader: Reader, node: NamedNode) -> tuple[str, ...]:
    labels = reader.labels(node)
    found = {text(term) for term in reader.values(node, SKOS.altLabel)} - set(labels.values())
    return tuple(sorted(found))


def _things(reader: Reader, node: NamedNode, *, forward: bool) -> tuple[Thing, ...]:
    if forward:
        found = list(reader.values(node, SKOS.broader))
    else:
        found = [quad.subject for quad in reader.store.match(None, SKOS.broader, node)]
    return tuple(sorted({reader.thing(each) for each in found}, key=lambda each: each.label))


def _mappings(reader: Reader, node: NamedNode) -> tuple[Mapping, ...]:
    found = [
        Mapping(local_name(relation.value), text(term), local_name(text(term)))
        for relation in (
            SKOS.exactMatch, SKOS.closeMatch, SKOS.broadMatch, SKOS.narrowMatch, SKOS.relatedMatch
        )
        for term in reader.values(node, relation)
        if href(text(term))
    ]  # fmt: skip
    return tuple(found)


def _themes(reader: Reader, statements: list[Statement]) -> list[tuple[str, tuple[Group, ...]]]:
    grouped: dict[tuple[str, bool], list[Statement]] = defaultdict(list)
    for each in statements:
        forward = each.forward or each.predicate in SYMMETRIC
        grouped[each.predicate, forward].append(each)
    known = {name for names in THEMES.values() for name in names}
    rest = tuple(sorted({predicate for predicate, _ in grouped} - known))
    themes = []
    for theme, names in (*THEMES.items(), ("other", rest)):
        groups = tuple(
            Group(name, forward, _sorted(grouped[name, forward]), heading(reader, name))
            for name in names
            for forward in (True, False)
            if (name, forward) in grouped
        )
        if groups:
            themes.append((theme, groups))
    return themes


def heading(reader: Reader, name: str) -> str:
    """Give the label of a property or class of the vocabulary."""
    return reader.thing(NamedNode(VOCAB + name)).label


def _sorted(statements: list[Statement]) -> tuple[Statement, ...]:
    return tuple(sorted(statements, key=lambda each: (-each.confidence, each.other.label)))


def is_concept(reader: Reader, node: NamedNode) -> bool:
    """Tell whether the store names ``node`` as a concept."""
    return next(reader.values(node, SKOS.prefLabel), None) is not None


def is_source(reader: Reader, node: NamedNode) -> bool:
    """Tell whether ``node`` is a source."""
    return SHIYI.Source in reader.values(node, RDF.type)


def is_evidence(reader: Reader, node: NamedNode) -> bool:
    """Tell whether ``node`` is a piece of evidence."""
    return SHIYI.Evidence in reader.values(node, RDF.type, None)
