"""Concepts and claims whose every text is hostile."""

from collections.abc import Iterator, Sequence

from shiyi.model.claim import Claim, Evidence, Source, Tier
from shiyi.model.confidence import Confidence
from shiyi.model.names import content_hash, resource
from shiyi.model.rdf import DefaultGraph, Literal, NamedNode, Quad
from shiyi.ontology.statements import claim_quads, source_quads
from shiyi.ontology.terms import RDF, RDFS, SHIYI, SKOS

TOGETHER = 50  # texts of one concept


def planted(texts: Sequence[str]) -> Iterator[Quad]:
    """State concepts that have those texts for names, notes, and claims with a quote."""
    for at in range(0, len(texts), TOGETHER):
        node = resource(f"food-many-{at}")
        yield Quad(node, RDF.type, SKOS.Concept)
        yield Quad(node, RDF.type, SHIYI.Food)
        yield Quad(node, SKOS.prefLabel, Literal(f"许多{at}", language="zh"))
        for number, text in enumerate(texts[at : at + TOGETHER]):
            said = (SKOS.altLabel, SKOS.hiddenLabel, RDFS.comment)[number % 3]
            yield Quad(node, said, Literal(text, language="zh"))
            claim = quoting(node, text)
            yield from source_quads(claim.evidence[0].source, DefaultGraph())
            yield from claim_quads(claim, DefaultGraph())


def quoting(node: NamedNode, text: str) -> Claim:
    """Make a claim whose source, place and quote are that text."""
    source = Source(f"hostile-{content_hash(text)[:12]}", text, text, Tier.PAPER)
    evidence = Evidence(source, Confidence(0.7), text, quote=text)
    return Claim(node, SHIYI.safetyNote, Literal(text), (evidence,))
