"""Claims written as lines of N-Quads, without a quad in between: many at a time, and fast."""

from functools import lru_cache

from shiyi.model.claim import Checked, Claim, Evidence, Source
from shiyi.model.confidence import Confidence
from shiyi.model.names import resource
from shiyi.model.rdf import Literal, NamedNode, canonical, decimal
from shiyi.ontology.statements import POLARITIES, QUALIFIERS, STATUSES, TIERS
from shiyi.ontology.terms import DCTERMS, PROV, RDF, SHIYI

_NODE = "\0"  # stands for the node of some evidence; no line has it


def claim_blocks(claim: Claim, graph: NamedNode, fused: bool = True) -> list[str]:
    """List the lines of ``claim_quads``: a block for the claim, then one for each evidence.

    Blocks that are equal say the same, so that a caller may write each but once.
    """
    iri, end = canonical(claim.iri), f" {graph} .\n"
    said = canonical(claim.subject), canonical(claim.predicate), canonical(claim.object)
    triple = " ".join(said)
    if claim.asserted:
        head = f"{triple}{end}"
    else:
        head = (
            f"{iri} {RDF.subject} {said[0]}{end}{iri} {RDF.predicate} {said[1]}{end}"
            f"{iri} {RDF.object} {said[2]}{end}"
        )
    head += (
        f"{iri} {RDF.reifies} <<( {triple} )>>{end}{iri} {RDF.type} {SHIYI.Claim}{end}"
        f"{iri} {SHIYI.status} {STATUSES[claim.status]}{end}"
        f"{iri} {SHIYI.polarity} {POLARITIES[claim.polarity]}{end}"
    )
    if fused:
        head += f"{iri} {SHIYI.confidence} {decimal(claim.confidence.value)}{end}"
    return [head, *(_evidence(claim.iri, iri, each, end) for each in claim.evidence)]


def _evidence(claim: NamedNode, iri: str, evidence: Evidence, end: str) -> str:
    node = canonical(evidence.iri(claim))
    origin = evidence.passage or evidence.source.iri
    block = (
        f"{iri} {SHIYI.evidence} {node}{end}{node} {PROV.wasDerivedFrom} {origin}{end}"
        + _common(evidence.source, evidence.confidence, evidence.checked, evidence.activity, end)
        .replace(_NODE, node)
    )  # fmt: skip
    if evidence.locator:
        block += f"{node} {SHIYI.sourceLocator} {Literal(evidence.locator)}{end}"
    if evidence.quote:
        block += f"{node} {SHIYI.quote} {Literal(evidence.quote)}{end}"
    for name, value in evidence.qualifiers:
        written, language = QUALIFIERS[name]
        block += f"{node} {written} {Literal(value, language=language)}{end}"
    return block


@lru_cache(maxsize=4096)  # of a table or a book, each row and passage has the same
def _common(
    source: Source, confidence: Confidence, checked: Checked, activity: str, end: str
) -> str:
    return (
        f"{_NODE} {RDF.type} {SHIYI.Evidence}{end}{_NODE} {DCTERMS.source} {source.iri}{end}"
        f"{_NODE} {PROV.wasGeneratedBy} {resource(f'activity-{activity}')}{end}"
        f"{_NODE} {SHIYI.sourceTier} {TIERS[source.tier]}{end}"
        f"{_NODE} {SHIYI.extractionConfidence} {decimal(confidence.value)}{end}"
        f"{_NODE} {SHIYI.checked} {Literal(str(checked))}{end}"
    )
