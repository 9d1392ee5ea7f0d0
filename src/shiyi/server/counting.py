"""How much a knowledge base holds, counted once when it is opened."""

from typing import Final

from shiyi.model.names import VOCAB
from shiyi.model.rdf import DefaultGraph, NamedNode
from shiyi.ontology.terms import RDF, SHIYI, SKOS
from shiyi.sparql.store import QuadStore

# classes of concepts, in the order the browse page shows them
CLASSES: Final = (
    "MFHSubstance", "Food", "Herb", "Dish", "Formula", "Constitution", "Syndrome", "Symptom",
    "Disease", "TCMDisease", "DSIngredient", "DSProduct", "Drug", "DrugClass", "Population",
    "EmergencySign", "Efficacy", "Therapy", "Nature", "Flavour", "Meridian", "Season", "Method",
    "RegulatoryStatus", "Rule", "ChemicalEntity", "Organism", "OrganismPart", "CausalFactor",
    "TherapeuticClass", "SystemOrganClass", "ToxicityLevel",
)  # fmt: skip


def counts_of(store: QuadStore) -> dict[str, int]:
    """Count quads, claims, evidence, sources, concepts, and the concepts of each class that has any."""
    whole = {
        name: instances(store, kind)
        for name, kind in (
            ("claims", SHIYI.Claim), ("evidence", SHIYI.Evidence), ("sources", SHIYI.Source),
        )
    }  # fmt: skip
    labelled = store.match(None, SKOS.prefLabel, None, DefaultGraph())
    whole["concepts"] = len({quad.subject for quad in labelled})
    classes = {name: instances(store, NamedNode(VOCAB + name)) for name in CLASSES}
    whole["quads"] = len(store)
    return whole | {name: count for name, count in classes.items() if count}


def instances(store: QuadStore, kind: NamedNode) -> int:
    """Count what the accepted view types as ``kind``."""
    return sum(1 for _ in store.match(None, RDF.type, kind, DefaultGraph()))
