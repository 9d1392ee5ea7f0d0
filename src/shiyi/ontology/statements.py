"""How claims, evidence and sources are written in RDF 1.2, and lowered to RDF 1.1."""

from collections.abc import Iterator

from shiyi.model.claim import Claim, Evidence, Polarity, Source, Status, Tier
from shiyi.model.names import resource
from shiyi.model.rdf import DefaultGraph, Literal, NamedNode, Quad, Triple, decimal
from shiyi.ontology.terms import DCTERMS, PROV, RDF, RDFS, SHIYI

Graph = NamedNode | DefaultGraph
DEFAULT = DefaultGraph()

STATUSES = {each: getattr(SHIYI, each.value) for each in Status}
POLARITIES = {each: getattr(SHIYI, each.value) for each in Polarity}
TIERS = {each: resource(f"tier-{each.value}") for each in Tier}

# qualifier columns of the claim tables, and the property each is written with
QUALIFIERS = {
    "amount": (SHIYI.amount, None), "grade": (SHIYI.grade, None), "rating": (SHIYI.rating, None),
    "severity": (SHIYI.severity, None), "population": (SHIYI.population, None),
    "dose": (SHIYI.dose, None), "duration": (SHIYI.duration, None),
    "note_zh": (SHIYI.noteText, "zh"), "note_en": (SHIYI.noteText, "en"),
}  # fmt: skip


def claim_quads(claim: Claim, graph: Graph = DEFAULT, fused: bool = True) -> list[Quad]:
    """List the triple if it is asserted, its named reifier, and all its evidence.

    A claim that is not asserted also carries ``rdf:subject``, ``rdf:predicate`` and
    ``rdf:object``, since the store has no index inside triple terms. Without ``fused`` its
    confidence is left to the caller.
    """
    iri, triple = claim.iri, Triple(claim.subject, claim.predicate, claim.object)
    if claim.asserted:
        quads = [Quad(claim.subject, claim.predicate, claim.object, graph)]
    else:
        quads = [
            Quad(iri, RDF.subject, claim.subject, graph),
            Quad(iri, RDF.predicate, claim.predicate, graph),
            Quad(iri, RDF.object, claim.object, graph),
        ]
    quads += (
        Quad(iri, RDF.reifies, triple, graph),
        Quad(iri, RDF.type, SHIYI.Claim, graph),
        Quad(iri, SHIYI.status, STATUSES[claim.status], graph),
        Quad(iri, SHIYI.polarity, POLARITIES[claim.polarity], graph),
    )
    if fused:
        quads.append(Quad(iri, SHIYI.confidence, decimal(claim.confidence.value), graph))
    for evidence in claim.evidence:
        node = evidence.iri(iri)
        quads.append(Quad(iri, SHIYI.evidence, node, graph))
        quads += _evidence_quads(node, evidence, graph)
    return quads


def _evidence_quads(node: NamedNode, evidence: Evidence, graph: Graph) -> Iterator[Quad]:
    yield Quad(node, RDF.type, SHIYI.Evidence, graph)
    yield Quad(node, DCTERMS.source, evidence.source.iri, graph)
    yield Quad(node, PROV.wasDerivedFrom, evidence.passage or evidence.source.iri, graph)
    yield Quad(node, PROV.wasGeneratedBy, resource(f"activity-{evidence.activity}"), graph)
    yield Quad(node, SHIYI.sourceTier, TIERS[evidence.source.tier], graph)
    yield Quad(node, SHIYI.extractionConfidence, decimal(evidence.confidence.value), graph)
    yield Quad(node, SHIYI.checked, Literal(str(evidence.checked)), graph)
    if evidence.locator:
        yield Quad(node, SHIYI.sourceLocator, Literal(evidence.locator), graph)
    if evidence.quote:
        yield Quad(node, SHIYI.quote, Literal(evidence.quote), graph)
    for name, value in evidence.qualifiers:
        written, language = QUALIFIERS[name]
        yield Quad(node, written, Literal(value, language=language), graph)


def source_quads(source: Source, graph: Graph = DEFAULT) -> Iterator[Quad]:
    """Yield what a reader needs to find the source."""
    node = source.iri
    yield Quad(node, RDF.type, SHIYI.Source, graph)
    yield Quad(node, RDFS.label, Literal(source.title_zh, language="zh"), graph)
    yield Quad(node, RDFS.label, Literal(source.title_en, language="en"), graph)
    yield Quad(node, SHIYI.sourceTier, TIERS[source.tier], graph)
    yield Quad(node, SHIYI.lineage, Literal(source.lineage or source.id), graph)
    for written, value in (
        (DCTERMS.date, source.year), (DCTERMS.identifier, source.identifier),
        (DCTERMS.license, source.licence), (RDFS.comment, source.note),
    ):  # fmt: skip
        if value:
            yield Quad(node, written, Literal(value), graph)
