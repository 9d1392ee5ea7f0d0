"""Claims written as lines of N-Quads, without a quad in between: many at a time, and fast."""

from functools import lru_cache

from shiyi.model.claim import Checked, Claim, Evidence, Polarity, Source, Status
from shiyi.model.confidence import Confidence
from shiyi.model.names import resource
from shiyi.model.rdf import Literal, NamedNode, canonical, decimal
from shiyi.ontology.statements import POLARITIES, QUALIFIERS, STATUSES, TIERS, Graph
from shiyi.ontology.terms import DCTERMS, PROV, RDF, SHIYI

_NODE = "\0"  # stands for a claim or a piece of evidence; no line has it
_SUBJECT, _PREDICATE, _OBJECT, _REIFIES, _CONFIDENCE = map(
    canonical, (RDF.subject, RDF.predicate, RDF.object, RDF.reifies, SHIYI.confidence)
)
_EVIDENCE, _FROM, _LOCATOR, _QUOTE = map(
    canonical, (SHIYI.evidence, PROV.wasDerivedFrom, SHIYI.sourceLocator, SHIYI.quote)
)


def line_end(graph: Graph) -> str:
    r"""Give what ends a line of a quad in ``graph``.

    >>> from shiyi.model.rdf import DefaultGraph
    >>> line_end(NamedNode("https://e.org/g")), line_end(DefaultGraph())
    (' <https://e.org/g> .\n', ' .\n')
    """
    return f" {graph} .\n" if isinstance(graph, NamedNode) else " .\n"


def claim_blocks(claim: Claim, graph: Graph, fused: bool = True) -> list[str]:
    """List the lines of ``claim_quads``: a block for the claim, then one for each evidence.

    Blocks that are equal say the same, so that a caller may write each but once.
    """
    node = claim.iri
    iri, end = canonical(node), line_end(graph)
    subject, predicate = canonical(claim.subject), canonical(claim.predicate)
    said = canonical(claim.object)
    triple = f"{subject} {predicate} {said}"
    head = (
        f"{triple}{end}" if claim.asserted
        else f"{iri} {_SUBJECT} {subject}{end}{iri} {_PREDICATE} {predicate}{end}"
             f"{iri} {_OBJECT} {said}{end}"
    )  # fmt: skip
    head += f"{iri} {_REIFIES} <<( {triple} )>>{end}"
    head += _of_claims(claim.status, claim.polarity, end).replace(_NODE, iri)
    if fused:
        head += f"{iri} {_CONFIDENCE} {decimal(claim.confidence.value)}{end}"
    return [head, *(_evidence(node, iri, each, end) for each in claim.evidence)]


def _evidence(claim: NamedNode, iri: str, evidence: Evidence, end: str) -> str:
    node = canonical(evidence.iri(claim))
    origin = evidence.passage or evidence.source.iri
    common = _of_evidence(
        evidence.source, evidence.confidence, evidence.checked, evidence.activity, end
    )
    block = f"{iri} {_EVIDENCE} {node}{end}{node} {_FROM} {origin}{end}"
    block += common.replace(_NODE, node)
    if evidence.locator:
        block += f"{node} {_LOCATOR} {Literal(evidence.locator)}{end}"
    if evidence.quote:
        block += f"{node} {_QUOTE} {Literal(evidence.quote)}{end}"
    for name, value in evidence.qualifiers:
        written, language = QUALIFIERS[name]
        block += f"{node} {written} {Literal(value, language=language)}{end}"
    return block


@lru_cache(maxsize=64)
def _of_claims(status: Status, polarity: Polarity, end: str) -> str:
    return (
        f"{_NODE} {RDF.type} {SHIYI.Claim}{end}{_NODE} {SHIYI.status} {STATUSES[status]}{end}"
        f"{_NODE} {SHIYI.polarity} {POLARITIES[polarity]}{end}"
    )


@lru_cache(maxsize=4096)  # each row of a table, and each passage of a book, has the same
def _of_evidence(
    source: Source, confidence: Confidence, checked: Checked, activity: str, end: str
) -> str:
    return (
        f"{_NODE} {RDF.type} {SHIYI.Evidence}{end}{_NODE} {DCTERMS.source} {source.iri}{end}"
        f"{_NODE} {PROV.wasGeneratedBy} {resource(f'activity-{activity}')}{end}"
        f"{_NODE} {SHIYI.sourceTier} {TIERS[source.tier]}{end}"
        f"{_NODE} {SHIYI.extractionConfidence} {decimal(confidence.value)}{end}"
        f"{_NODE} {SHIYI.checked} {Literal(str(checked))}{end}"
    )
