"""A small base of claims for tests of curation: three accepted, two candidates, one conflict."""

from pathlib import Path

from shiyi.model.claim import Claim, Evidence, Polarity, Source, Status, Tier
from shiyi.model.confidence import Confidence
from shiyi.model.names import graph, resource
from shiyi.model.rdf import DefaultGraph, Literal, NamedNode, Quad
from shiyi.ontology.statements import claim_quads, source_quads
from shiyi.ontology.terms import RDF, SHIYI, SKOS
from shiyi.sparql.generations import build_generation

BOOK = Source("book", "书", "Book", Tier.TEXTBOOK)
PAPER = Source("paper", "文", "Paper", Tier.PAPER)
GOJI, DATE, WARFARIN = (resource(n) for n in ("substance-goji", "food-date", "drug-warfarin"))
SWEET, WARM, TIRED = (resource(n) for n in ("flavour-sweet", "nature-warm", "symptom-tired"))
NAMES = {
    GOJI: ("枸杞子", "goji", SHIYI.MFHSubstance), DATE: ("大枣", "jujube", SHIYI.MFHSubstance),
    WARFARIN: ("华法林", "warfarin", SHIYI.Drug), SWEET: ("甘", "sweet", SHIYI.Flavour),
    WARM: ("温", "warm", SHIYI.Nature), TIRED: ("乏力", "tiredness", SHIYI.Symptom),
}  # fmt: skip


def claim(
    subject: NamedNode, predicate: NamedNode, object_: NamedNode, *sure: float,
    status: Status = Status.ACCEPTED, polarity: Polarity = Polarity.POSITIVE,
) -> Claim:  # fmt: skip
    """Make a claim with one piece of evidence for each number."""
    evidence = tuple(
        Evidence(source, Confidence(value), f"p. {i}")
        for i, (source, value) in enumerate(zip((BOOK, PAPER), sure, strict=False), 1)
    )
    return Claim(subject, predicate, object_, evidence, polarity, status)


SWEETNESS = claim(GOJI, SHIYI.hasFlavour, SWEET, 0.8)
WARMTH = claim(DATE, SHIYI.hasNature, WARM, 0.6, 0.5)
INTERACTION = claim(GOJI, SHIYI.interactsWith, WARFARIN, 0.7)
RELIEF = claim(DATE, SHIYI.relieves, TIRED, 0.55, status=Status.CANDIDATE)
HARM = claim(DATE, SHIYI.interactsWith, WARFARIN, 0.4, status=Status.CANDIDATE)
COLD = claim(DATE, SHIYI.hasNature, WARM, 0.5, polarity=Polarity.NEGATIVE)
CLAIMS = (SWEETNESS, WARMTH, INTERACTION, RELIEF, HARM, COLD)


def quads() -> list[Quad]:
    """Give the base's quads."""
    found: list[Quad] = []
    for each in CLAIMS:
        candidate = each.status is Status.CANDIDATE
        found += claim_quads(each, graph("candidates") if candidate else DefaultGraph())
    for source, place in ((BOOK, DefaultGraph()), (PAPER, DefaultGraph())):
        found += source_quads(source, place)
    for node, (zh, en, kind) in NAMES.items():
        found.append(Quad(node, RDF.type, kind, DefaultGraph()))
        found += [
            Quad(node, SKOS.prefLabel, Literal(word, language=language), DefaultGraph())
            for word, language in ((zh, "zh"), (en, "en"))
        ]
    for one, other in ((WARMTH, COLD), (COLD, WARMTH)):
        found.append(Quad(one.iri, SHIYI.conflictsWith, other.iri, DefaultGraph()))
    return found


def build(kb: Path) -> Path:
    """Build the base and give its folder."""
    build_generation(kb, quads(), {"claims": len(CLAIMS)})
    return kb
