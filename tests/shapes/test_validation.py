"""Every shape file has a sound graph and a faulty one that breaks the expected constraint."""

import pyshacl
import pytest
from rdflib import RDFS, SH, Graph, Literal, Namespace, URIRef
from rdflib.term import Node

from shiyi.errors import KnowledgeBaseError
from shiyi.shapes.validation import shape_names, shapes_graph, validate
from tests.tables import from_table

S = Namespace("https://w3id.org/shiyi/vocab#")
PREFIXES = """
PREFIX : <https://example.org/> PREFIX s: <https://w3id.org/shiyi/vocab#>
PREFIX rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#>
PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#>
PREFIX skos: <http://www.w3.org/2004/02/skos/core#> PREFIX dc: <http://purl.org/dc/terms/>
PREFIX prov: <http://www.w3.org/ns/prov#> PREFIX dcat: <http://www.w3.org/ns/dcat#>
"""
SOUND_CLAIM = """
:c a s:Claim ; s:status s:accepted ; s:polarity s:positive ; s:confidence 0.9 ; s:evidence :e ;
  rdf:subject :a ; rdf:predicate s:hasNature ; rdf:object :b . :e a s:Evidence .
"""
SOUND_EVIDENCE = """
:e a s:Evidence ; dc:source :b ; s:sourceTier :t ; s:extractionConfidence 0.9 ;
  s:evidenceKind s:Read ; s:rating "major" . :b a s:Source ; s:lineage "b" .
"""
# shape file -> a graph that conforms, a graph that does not, and the component it breaks
CASES: dict[str, tuple[str, str, URIRef]] = {
    "substance": (
        ":x a s:DietaryMaterial ; s:hasNature :n . :n a s:Nature .",
        ":x a s:DietaryMaterial ; s:hasNature :n . :n a s:Flavour .",
        SH.ClassConstraintComponent,
    ),
    "catalogue-substance": (
        ":x a s:MFHSubstance ; s:regulatoryStatus :b ; s:hasNature :n .",
        ":x a s:MFHSubstance ; s:hasNature :n .",
        SH.MinCountConstraintComponent,
    ),
    "dish": (
        (
            ":x a s:Dish ; s:hasIngredient :i ; s:cookingMethod :t . :i a s:DSIngredient ."
            ' :t a s:Text ; rdfs:label "煮"@zh , "Boil."@en .'
        ),
        ':x a s:Dish ; s:cookingMethod :t . :t a s:Text ; rdfs:label "煮"@zh .',
        SH.MinCountConstraintComponent,
    ),
    "formula": (
        ":x a s:Formula ; s:hasIngredient :i . :i a s:DietaryMaterial .",
        ":x a s:Formula .",
        SH.MinCountConstraintComponent,
    ),
    "supplement": (
        ":x a s:DSIngredient ; s:interactsWith :d . :d a s:Drug .",
        ":x a s:DSIngredient ; s:interactsWith :d . :d a s:Symptom .",
        SH.OrConstraintComponent,
    ),
    "product": (
        ":x a s:DSProduct ; s:hasIngredient :i . :i a s:DSIngredient .",
        ":x a s:DSProduct .",
        SH.MinCountConstraintComponent,
    ),
    "medicine": (
        ":x a s:Drug ; s:hasTherapeuticClass :t . :t a s:TherapeuticClass .",
        ":x a s:Drug ; s:hasTherapeuticClass :t .",
        SH.ClassConstraintComponent,
    ),
    "disease": (
        ":x a s:Disease ; s:hasSyndrome :y . :y a s:Syndrome .",
        ":x a s:TCMDisease ; s:hasSyndrome :y . :y a s:Symptom .",
        SH.ClassConstraintComponent,
    ),
    "syndrome": (
        ":x a s:Syndrome ; s:hasManifestation :y . :y a s:Symptom .",
        ":x a s:Syndrome ; s:hasManifestation :y . :y a s:Disease .",
        SH.ClassConstraintComponent,
    ),
    "symptom": (
        ":x a s:Symptom ; s:hasRedFlag :y . :y a s:Symptom .",
        ":x a s:Symptom ; s:hasRedFlag :y . :y a s:Drug .",
        SH.ClassConstraintComponent,
    ),
    "constitution": (
        (
            ":x a s:Constitution ; s:hasManifestation :p , :q , :r . "
            ":p a s:Symptom . :q a s:Symptom . :r a s:Symptom ."
        ),
        ":x a s:Constitution .",
        SH.MinCountConstraintComponent,
    ),
    "population": (
        ":x a s:Population ; s:suitableFood :f . :f a s:Dish .",
        ":x a s:Population ; s:suitableFood :f . :f a s:Drug .",
        SH.OrConstraintComponent,
    ),
    "therapy": (
        ":x a s:Therapy ; s:realisedBy :f . :f a s:Formula .",
        ":x a s:Therapy ; s:realisedBy :f . :f a s:Symptom .",
        SH.OrConstraintComponent,
    ),
    "concept": (
        ':x a skos:Concept ; skos:prefLabel "姜"@zh , "ginger"@en ; s:umlsCui "C0162751" .',
        ':x a skos:Concept ; skos:prefLabel "姜"@zh , "ginger"@en ; s:umlsCui "CN12345" .',
        SH.PatternConstraintComponent,
    ),
    "claim": (
        SOUND_CLAIM,
        SOUND_CLAIM.replace("s:confidence 0.9", "s:confidence 1.5"),
        SH.MaxInclusiveConstraintComponent,
    ),
    "evidence": (
        SOUND_EVIDENCE,
        SOUND_EVIDENCE.replace("major", "terrible"),
        SH.InConstraintComponent,
    ),
    "source": (
        ':x a s:Source ; rdfs:label "书"@zh , "Book"@en ; s:sourceTier :t ; s:lineage "b" .',
        ':x a s:Source ; rdfs:label "书"@zh ; s:sourceTier :t ; s:lineage "b" .',
        SH.MinCountConstraintComponent,
    ),
    "mapping": (
        ":x skos:exactMatch :y ; skos:closeMatch :z .",
        ":x skos:exactMatch :y ; skos:closeMatch :y .",
        SH.DisjointConstraintComponent,
    ),
    "passage": (
        (
            ":x a s:Passage ; s:partOfSection :y ; prov:wasDerivedFrom :z . :y a s:Section . "
            ":z a s:Source ."
        ),
        ":x a s:Passage ; s:partOfSection :y . :y a s:Section .",
        SH.MinCountConstraintComponent,
    ),
    "case": (
        ":x a s:PatientCase ; s:recordedIn :y . :y a s:TCMDisease .",
        ':x a s:PatientCase ; s:recordedIn :y ; skos:prefLabel "张三"@zh . :y a s:TCMDisease .',
        SH.MaxCountConstraintComponent,
    ),
    "dataset": (
        ':x a dcat:Dataset ; dcat:version "1" ; s:statusOnEntry s:accepted .',
        ':x a dcat:Dataset ; dcat:version "1" ; s:statusOnEntry s:predicted .',
        SH.InConstraintComponent,
    ),
    "review": (
        ':x a s:Review ; prov:wasAttributedTo :y ; prov:generatedAtTime "2026-01-01" .',
        ':x a s:Review ; prov:generatedAtTime "2026-01-01" .',
        SH.MinCountConstraintComponent,
    ),
}


def graph(turtle: str) -> Graph:
    return Graph().parse(data=PREFIXES + turtle, format="turtle")


def test_every_shape_file_has_a_case() -> None:
    assert len(shape_names()) == 22
    assert set(shape_names()) == set(CASES)


@pytest.mark.parametrize("name", CASES)
def test_a_sound_graph_conforms(name: str) -> None:
    assert validate(graph(CASES[name][0]), shapes_graph(name)) == ()


@pytest.mark.parametrize("name", CASES)
def test_a_faulty_graph_breaks_the_expected_constraint(name: str) -> None:
    _, faulty, broken = CASES[name]
    [result] = validate(graph(faulty), shapes_graph(name))
    assert URIRef(result.component) == broken


@pytest.mark.parametrize("name", CASES)
def test_every_message_is_there_in_both_languages_with_a_severity(name: str) -> None:
    shapes = shapes_graph(name)
    constraints = list(shapes.objects(None, SH.property))
    assert len(constraints) > 0
    for each in constraints:
        languages = {m.language for m in shapes.objects(each, SH.message) if isinstance(m, Literal)}
        assert languages == {"zh", "en"}
        assert shapes.value(each, SH.severity) is not None


@from_table
def test_an_amount_has_a_number_and_a_unit(name: str, sound: str, faulty: str) -> None:
    base = SOUND_EVIDENCE if name == "evidence" else CASES["product"][0]
    shapes, node = shapes_graph(name), ":e" if name == "evidence" else ":x"
    assert validate(graph(f"{base} {node} {sound} ."), shapes) == ()
    [result] = validate(graph(f"{base} {node} {faulty} ."), shapes)
    assert URIRef(result.component) == SH.PatternConstraintComponent


def test_a_subclass_is_held_to_the_shape_of_its_superclass() -> None:
    data = graph(":x a s:MFHSubstance ; s:hasNature :n . :n a s:Flavour .")
    data.add((S.MFHSubstance, RDFS.subClassOf, S.Food))
    data.add((S.Food, RDFS.subClassOf, S.DietaryMaterial))
    assert len(validate(data, shapes_graph("substance"))) == 1


def test_an_empty_graph_is_an_error_and_never_conforms() -> None:
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


@pytest.mark.parametrize(
    ("extra", "broken"),
    [
        ("", [SH.MinCountConstraintComponent]),
        ("; sh:deactivated true", []),
        ("; sh:closed true", [SH.ClosedConstraintComponent, SH.MinCountConstraintComponent]),
    ],
)
def test_a_property_shape_stays_with_a_node_shape_it_means_something_to(
    extra: str, broken: list[URIRef]
) -> None:
    shapes = Graph().parse(data=TOGETHER.replace("{extra}", extra))
    data = Graph().parse(data=PREFIXES + ":x s:hasFlavour :sweet .")
    assert sorted(each.component for each in validate(data, shapes)) == sorted(map(str, broken))
