"""Members of defined classes follow from accepted claims, and follow their changes."""

import pytest

from shiyi.model.iris import VOCAB, resource
from shiyi.model.rdf import DefaultGraph, NamedNode, Quad
from shiyi.ontology.terms import RDF, SHIYI
from shiyi.reasoning.classification import (
    Definitions,
    class_quads,
    classify,
    load_defined_members,
    stored_classifications,
)
from shiyi.reasoning.derivation import compare, is_premise, replace_derived
from shiyi.sparql.store.oxigraph import OxigraphStore


def quad(subject: str, predicate: NamedNode, value: NamedNode) -> Quad:
    return Quad(resource(subject), predicate, value, DefaultGraph())


FORBIDDEN = quad("substance-taoren", SHIYI.contraindicatedIn, resource("population-pregnant"))
PEACH = (
    quad("substance-taoren", RDF.type, SHIYI.MFHSubstance),
    quad("formula-x", RDF.type, SHIYI.Formula),
    quad("formula-x", SHIYI.hasIngredient, resource("substance-taoren")),
    FORBIDDEN,
)


@pytest.fixture
def store() -> OxigraphStore:
    made = OxigraphStore.in_memory()
    made.change(add=list(PEACH))
    replace_derived(made, class_quads(made), ["classes"])
    return made


def members(store: OxigraphStore, name: NamedNode) -> set[str]:
    return {str(term) for term in load_defined_members(store)[name]}


def test_a_member_names_its_claims_and_rules(store: OxigraphStore) -> None:
    statements = {
        statement.statement[2]: statement for statement in classify(store, Definitions.load())
    }
    assert set(statements) == {f"{VOCAB}PregnancyTaboo", f"{VOCAB}PreparationTabooInPregnancy"}
    formula = statements[f"{VOCAB}PreparationTabooInPregnancy"]
    assert formula.statement[0] == resource("formula-x").value
    assert len(formula.premises) == 2
    assert {"cls-int1", "cls-hv2", "cls-svf1", "cls-uni", "cax-sco"} == set(formula.rules)


def test_a_withdrawn_claim_takes_its_members_along(store: OxigraphStore) -> None:
    assert members(store, SHIYI.PreparationTabooInPregnancy)
    store.change(remove=[FORBIDDEN])
    change = compare(store, {}, {})
    store.change(add=list(change.added), remove=list(change.removed))
    assert not members(store, SHIYI.PregnancyTaboo)
    assert not members(store, SHIYI.PreparationTabooInPregnancy)
    assert not list(stored_classifications(store))


def test_another_population_is_no_taboo_in_pregnancy() -> None:
    store = OxigraphStore.in_memory()
    other = quad("substance-taoren", SHIYI.contraindicatedIn, resource("population-child"))
    store.change(add=[*PEACH[:3], other])
    assert not list(class_quads(store))


def test_claims_of_definition_call_for_new_inference() -> None:
    from shiyi.ontology.schema import Schema

    assert is_premise(Schema.load(), SHIYI.hasNature.value)
    assert not is_premise(Schema.load(), SHIYI.hasMeridianTropism.value)
