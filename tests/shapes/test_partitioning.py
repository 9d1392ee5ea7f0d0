"""Validation by parts says what validation of everything at once says."""

import os
import random
from collections.abc import Iterable
from pathlib import Path

import pytest
from rdflib import Graph

from shiyi.errors import KnowledgeBaseError
from shiyi.model.iris import VOCAB
from shiyi.model.rdf import DefaultGraph, Literal, NamedNode, Quad, Term, Triple, parse
from shiyi.ontology.terms import RDF, RDFS, SHIYI
from shiyi.shapes.partitioning import Reach, class_statements, validate_parts
from shiyi.shapes.validation import Result, shapes_graph, to_graph, validate
from shiyi.sparql.base.knowledge_base import KnowledgeBase
from tests.shapes.test_validation import CASES, PREFIXES
from tests.tables import from_table

EXAMPLE = "https://example.org/"
FAR = (
    PREFIXES
    + """
PREFIX sh: <http://www.w3.org/ns/shacl#>
:shape a sh:NodeShape ; sh:targetClass s:Food ; sh:property [ {said} ; sh:message "far"@en ] .
"""
)


def reported(results: Iterable[Result]) -> list[str]:
    return sorted(map(repr, results))


def in_parts(quads: Iterable[Quad], shapes: Graph, part: int) -> list[str]:
    text = sorted(quads, key=lambda quad: str(quad.subject))
    return reported(validate_parts(lambda: text, class_statements(text), shapes, part))


def planted() -> list[Quad]:
    """Every faulty graph of the shapes' own tests, under names of its own, among sound ones."""
    quads = list[Quad]()
    for number, (sound, faulty, _) in enumerate(CASES.values()):
        for text, name in ((sound, f"sound-{number}/"), (faulty, f"faulty-{number}/")):
            turtle = PREFIXES.replace(f"<{EXAMPLE}>", f"<{EXAMPLE}{name}>") + text
            quads += parse(turtle, "case.ttl")
    return quads


def test_planted_faults_are_found_in_any_partition() -> None:
    quads, shapes = planted(), shapes_graph()
    expected = reported(validate(to_graph(quads), shapes))
    assert len(expected) >= len(CASES)
    assert all(f"faulty-{number}/" in "".join(expected) for number in range(len(CASES)))
    for part in (4, 200) if "SHIYI_NIGHTLY" in os.environ else (24,):
        assert in_parts(quads, shapes, part) == expected


def test_our_own_shapes_all_look_near() -> None:
    assert Reach.of(shapes_graph()).far is None


def test_piece_of_starter_base_gets_same_report(starter_kb: Path) -> None:
    with KnowledgeBase.open(starter_kb) as base:
        subjects = [q.subject for q in base.store.match(None, RDF.type, graph=DefaultGraph())]
        some = {term for term in subjects[::50] if not isinstance(term, Triple)}
        quads = [q for term in some for q in base.store.match(term, graph=DefaultGraph())]
    shapes = shapes_graph()
    expected = reported(validate(to_graph(quads), shapes))
    assert len(expected) > 50  # most of what is referred to is missing
    types = class_statements(quads)
    assert reported(validate_parts(lambda: quads, types, shapes, len(quads) // 7)) == expected


def test_subclass_instance_is_validated_and_valid_value() -> None:
    def of(turtle: str) -> list[Quad]:
        return list(parse(PREFIXES + turtle, "x.ttl"))

    below = """:Broth rdfs:subClassOf :Soup . :Soup rdfs:subClassOf s:Dish .
        :Sweet rdfs:subClassOf s:DSIngredient . :y a :Sweet . :t a s:Text ."""
    sound = of(":x a :Broth ; s:hasIngredient :y ; s:cookingMethod :t ." + below)
    faulty = of(":x a :Broth ; s:hasIngredient :z ; s:cookingMethod :t . :z a :Broth ." + below)
    shapes = shapes_graph("dish")
    assert in_parts(sound, shapes, 1) == reported(validate(to_graph(sound), shapes)) == []
    results = in_parts(faulty, shapes, 1)
    assert results == reported(validate(to_graph(faulty), shapes))
    assert len(results) == 3


def test_value_of_every_class_that_is_looked_for() -> None:
    text = "sh:path s:hasNature ; sh:class s:Nature , s:Flavour"
    shapes = Graph().parse(data=FAR.replace("{said}", text))
    both = (
        ":v a :Both . :Both rdfs:subClassOf s:Nature , s:Flavour . :a a s:Food ; s:hasNature :v ."
    )
    assert in_parts(parse(PREFIXES + both, "x.ttl"), shapes, 1) == []


def test_value_without_name_is_of_its_classes_too() -> None:
    shapes = Graph().parse(data=FAR.replace("{said}", "sh:path s:hasNature ; sh:class s:Nature"))
    sound = ":a a s:Food ; s:hasNature _:hot . _:hot a s:Nature ."
    faulty = ":b a s:Food ; s:hasNature _:bitter . _:bitter a s:Flavour ."
    quads = list(parse(PREFIXES + sound + faulty, "x.ttl"))
    [result] = in_parts(quads, shapes, 1)
    assert [result] == reported(validate(to_graph(quads), shapes))
    assert f"{EXAMPLE}b" in result


@from_table
def test_shape_that_looks_further_is_checked_over_everything(text: str) -> None:
    shapes = Graph().parse(data=FAR.replace("{said}", text))
    quads = list(
        parse(
            PREFIXES
            + """
        :a a s:Food , :Fruit ; s:hasNature :hot . :hot skos:prefLabel "hot"@en .
        :b a s:Dish ; s:hasIngredient :a .
        :c a s:Food ; s:hasNature :cold . :cold a s:Flavour . :d s:hasIngredient :c .
        :e a s:Food .
    """,
            "far.ttl",
        )
    )
    expected = reported(validate(to_graph(quads), shapes))
    assert expected
    assert Reach.of(shapes).far is not None
    assert in_parts(quads, shapes, 1) == expected


def test_random_graphs_of_few_names_get_same_report() -> None:
    draw, shapes = random.Random(7), shapes_graph()  # noqa: S311 - no secret
    kinds = [SHIYI.Food, SHIYI.Dish, SHIYI.Nature, SHIYI.Claim, SHIYI.Evidence, SHIYI.Source]
    names = ("hasNature", "hasIngredient", "evidence", "status", "rating", "conflictsWith")
    found_nodes = [*(NamedNode(f"{VOCAB}{name}") for name in names), RDF.type, RDFS.subClassOf]
    seen = 0
    for _ in range(2):
        nodes = [NamedNode(f"{EXAMPLE}{name}") for name in range(8)]
        values: list[Term] = [*nodes, *kinds, *kinds, Literal("major")]
        quads = {
            Quad(draw.choice([*nodes, *kinds[:2]]), draw.choice(found_nodes), value)
            for value in draw.choices(values, k=40)
        }
        expected = reported(validate(to_graph(quads), shapes))
        assert in_parts(quads, shapes, 10) == expected
        seen += len(expected)
    assert seen > 20


def test_quads_of_subject_that_stand_apart_are_refused() -> None:
    quads = list(parse(PREFIXES + CASES["dish"][1] + CASES["claim"][0], "x.ttl"))
    with pytest.raises(KnowledgeBaseError, match="stand apart"):
        validate_parts(lambda: [*quads, quads[0]], class_statements(quads), shapes_graph())


def test_nothing_to_validate_is_an_error() -> None:
    with pytest.raises(KnowledgeBaseError, match="nothing to validate"):
        validate_parts(list, (), shapes_graph())
