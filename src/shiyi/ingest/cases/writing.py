"""Cases as quads of their own named graph, checked against their shape."""

from collections.abc import Iterable, Iterator

from shiyi.ingest.cases.case import Case
from shiyi.ingest.cases.layers import Terms
from shiyi.model.names import graph
from shiyi.model.rdf import Literal, NamedNode, Quad
from shiyi.ontology.terms import PROV, RDF, RDFS, SHIYI
from shiyi.shapes.validation import Result, lowered, shapes_graph, validate


def cases_graph(release: str) -> NamedNode:
    """Name the graph of the cases of one release of a source."""
    return graph("cases", release)


def case_quads(case: Case, source: NamedNode, place: NamedNode) -> Iterator[Quad]:
    """Yield a case: text, facets, classes, words and the reasoning between them."""
    node = case.iri
    yield Quad(node, RDF.type, SHIYI.PatientCase, place)
    yield Quad(node, RDF.value, Literal(case.text, language=case.language), place)
    yield Quad(node, PROV.wasDerivedFrom, source, place)
    for predicate, said in ((SHIYI.ageGroup, case.age_group), (SHIYI.sex, case.sex)):
        if said:
            yield Quad(node, predicate, Literal(said), place)
    for predicate, things in (
        (SHIYI.medicalHistory, case.history), (SHIYI.recordedIn, case.classes)
    ):  # fmt: skip
        for each in things:
            yield Quad(node, predicate, each, place)
    for mention in case.mentions:
        iri = mention.iri(node)
        yield Quad(iri, RDF.type, SHIYI.CaseMention, place)
        yield Quad(iri, RDFS.label, Literal(mention.words, language=case.language), place)
        yield Quad(iri, SHIYI.mentionKind, Literal(mention.kind), place)
        yield Quad(iri, SHIYI.mentionedIn, node, place)
    for before, after in case.steps:
        yield Quad(before.iri(node), SHIYI.leadsTo, after.iri(node), place)


def layer_quads(cases: Iterable[Case], terms: Terms, place: NamedNode) -> Iterator[Quad]:
    """Yield the links of the words of cases to terms."""
    for quad in terms.link(cases):
        yield Quad(quad.subject, quad.predicate, quad.object, place)


def faults_of(cases: Iterable[Case], source: NamedNode) -> dict[NamedNode, Result]:
    """Give what the shape of cases says against some of them, their classes taken for what they are."""
    place, found = cases_graph("checked"), dict[NamedNode, Result]()
    quads: list[Quad] = []
    for case in cases:
        quads += (each for each in case_quads(case, source, place) if each.subject == case.iri)
        quads += (Quad(each, RDF.type, SHIYI.TCMDisease, place) for each in case.classes)
    for each in validate(lowered(quads), shapes_graph("case")) if quads else ():
        if each.severity == "Violation":
            found.setdefault(NamedNode(each.focus), each)
    return found
