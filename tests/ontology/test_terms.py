"""The names in the code are the subjects of the vocabulary, and each is fully described."""

from itertools import pairwise

from rdflib import DCTERMS, OWL, RDF, RDFS, SKOS, VANN, Graph, Literal, URIRef

from shiyi.artefacts import artefact
from shiyi.model.iris import VOCAB
from shiyi.ontology.schema import Schema
from shiyi.ontology.terms import SHIYI

TURTLE = Graph().parse(data=artefact("ontology/shiyi.ttl").read_text(encoding="utf-8"))
DECLARED = {str(s).removeprefix(VOCAB) for s in TURTLE.subjects() if str(s).startswith(VOCAB)}
INVERSES = {str(s).removeprefix(VOCAB) for s in TURTLE.subjects(OWL.inverseOf)}


def test_names_and_turtle_agree_but_for_the_inverses() -> None:
    assert len(SHIYI.names()) > 100
    assert set(SHIYI.names()) == DECLARED - INVERSES


def test_the_ontology_names_its_version_prefix_and_terms() -> None:
    ontology = URIRef(VOCAB.removesuffix("#"))
    version = TURTLE.value(ontology, OWL.versionInfo)
    assert TURTLE.value(ontology, OWL.versionIRI) == URIRef(f"{ontology}/{version}")
    assert TURTLE.value(ontology, VANN.preferredNamespacePrefix) == Literal("shiyi")
    assert TURTLE.value(ontology, VANN.preferredNamespaceUri) == Literal(VOCAB)
    assert TURTLE.value(ontology, DCTERMS.creator)
    assert {str(s).removeprefix(VOCAB) for s in TURTLE.subjects(RDFS.isDefinedBy, ontology)} == (
        DECLARED
    )


def test_every_term_has_labels_in_both_languages() -> None:
    for name in DECLARED:
        labels = TURTLE.objects(URIRef(VOCAB + name), RDFS.label)
        assert {label.language for label in labels if isinstance(label, Literal)} == {"zh", "en"}, (
            name
        )


def test_every_class_and_property_defined_in_both_languages() -> None:
    kinds = (OWL.Class, OWL.ObjectProperty, OWL.DatatypeProperty)
    terms = {s for kind in kinds for s in TURTLE.subjects(RDF.type, kind) if isinstance(s, URIRef)}
    assert len(terms) > 100
    for term in terms:
        found = TURTLE.objects(term, SKOS.definition)
        assert {item.language for item in found if isinstance(item, Literal)} == {"zh", "en"}, term


def test_benefits_inherit_nothing_and_safety_something() -> None:
    schema = Schema.load()
    for name in ("indicatedFor", "isEffectiveFor", "relieves", "suitableFood", "suitableSeason"):
        assert schema.property(name).inherits == frozenset(), name
    for name in (
        "contraindicatedIn",
        "cautionIn",
        "interactsWith",
        "incompatibleWith",
        "aggravates",
    ):
        assert schema.property(name).is_safety, name


def test_no_fact_property_is_functional_since_sources_disagree() -> None:
    assert list(TURTLE.subjects(RDF.type, OWL.FunctionalProperty)) == []
    assert list(TURTLE.subjects(OWL.propertyDisjointWith)) == []


def test_every_class_hierarchy_ends() -> None:
    schema = Schema.load()
    assert schema.superclasses("MFHSubstance") == {"MFHSubstance", "Food", "DietaryMaterial"}
    for name in schema.parents:
        above = [name, *schema.superclasses(name) - {name}]
        assert all(one != other for one, other in pairwise(above))
