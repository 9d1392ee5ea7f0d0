"""Every shape file has a sound graph and a faulty one that breaks the expected constraint."""

import pyshacl
import pytest
from rdflib import RDFS, SH, Graph, Literal, Namespace, URIRef
from rdflib.term import Node

from shiyi.errors import KnowledgeBaseError
from shiyi.shapes.validation import shape_names, shapes_graph, validate
from tests.tables import cases, from_table

S = Namespace("https://w3id.org/shiyi/vocab#")
PREFIXES = """
PREFIX : <https://example.org/> PREFIX s: <https://w3id.org/shiyi/vocab#>
PREFIX rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#>
PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#>
PREFIX skos: <http://www.w3.org/2004/02/skos/core#> PREFIX dc: <http://purl.org/dc/terms/>
PREFIX prov: <http://www.w3.org/ns/prov#> PREFIX dcat: <http://www.w3.org/ns/dcat#>
"""
# shape file -> a graph that conforms, a graph that does not, and the component it breaks
CASES = {name: values for name, *values in cases("shapes", "shapes")}


def graph(turtle: str) -> Graph:
    return Graph().parse(data=PREFIXES + turtle, format="turtle")


def test_every_shape_file_has_a_case() -> None:
    assert len(shape_names()) == 23
    assert set(shape_names()) == set(CASES)


@pytest.mark.parametrize("name", CASES)
def test_a_sound_graph_conforms(name: str) -> None:
    assert validate(graph(CASES[name][0]), shapes_graph(name)) == ()


@pytest.mark.parametrize("name", CASES)
def test_a_faulty_graph_breaks_the_expected_constraint(name: str) -> None:
    _, faulty, broken = CASES[name]
    [result] = validate(graph(faulty), shapes_graph(name))
    assert URIRef(result.component) == SH[broken]


@pytest.mark.parametrize("name", CASES)
def test_every_message_there_in_both_languages_with_severity(name: str) -> None:
    shapes = shapes_graph(name)
    constraints = list(shapes.objects(None, SH.property))
    assert len(constraints) > 0
    for constraint in constraints:
        languages = {
            m.language for m in shapes.objects(constraint, SH.message) if isinstance(m, Literal)
        }
        assert languages == {"zh", "en"}
        assert shapes.value(constraint, SH.severity) is not None


@from_table
def test_an_amount_has_a_number_and_a_unit(name: str, sound: str, faulty: str) -> None:
    base = CASES[name][0]
    shapes, node = shapes_graph(name), ":e" if name == "evidence" else ":x"
    assert validate(graph(f"{base} {node} {sound} ."), shapes) == ()
    [result] = validate(graph(f"{base} {node} {faulty} ."), shapes)
    assert URIRef(result.component) == SH.PatternConstraintComponent


def test_subclass_is_validated_by_shape_of_its_superclass() -> None:
    data = graph(":x a s:MFHSubstance ; s:hasNature :n . :n a s:Flavour .")
    data.add((S.MFHSubstance, RDFS.subClassOf, S.Food))
    data.add((S.Food, RDFS.subClassOf, S.DietaryMaterial))
    assert len(validate(data, shapes_graph("substance"))) == 1


def test_empty_graph_is_error_and_never_conforms() -> None:
    with pytest.raises(KnowledgeBaseError, match="nothing to validate"):
        validate(Graph(), shapes_graph("claim"))


def test_validating_finds_what_the_engine_finds_by_itself() -> None:
    seen = 0
    for name, (_, faulty, _) in CASES.items():
        data, shapes = graph(faulty), shapes_graph(name)
        _, report, _ = pyshacl.validate(data, shacl_graph=shapes)
        expected = sorted((str(f), str(p)) for f, p in _pairs(report))
        assert sorted((r.focus, r.path) for r in validate(data, shapes)) == expected
        seen += len(expected)
    assert seen >= len(CASES)


def _pairs(report: Graph) -> list[tuple[Node | None, Node | None]]:
    found = report.subjects(SH.resultSeverity, None)
    return [(report.value(r, SH.focusNode), report.value(r, SH.resultPath)) for r in found]


TOGETHER = (
    PREFIXES
    + """
PREFIX sh: <http://www.w3.org/ns/shacl#>
:shape a sh:NodeShape ; sh:targetNode :x ;
    sh:property [ sh:path s:hasNature ; sh:minCount 1 ] {extra} .
"""
)


@from_table
def test_property_shape_stays_with_its_node_shape(extra: str, broken: list[URIRef]) -> None:
    shapes = Graph().parse(data=TOGETHER.replace("{extra}", extra))
    data = Graph().parse(data=PREFIXES + ":x s:hasFlavour :sweet .")
    assert sorted(result.component for result in validate(data, shapes)) == sorted(map(str, broken))
