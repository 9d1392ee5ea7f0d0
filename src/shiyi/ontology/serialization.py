"""Claims, evidence and sources as quads and N-Quads lines."""

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache

from shiyi.model.claim import (
    UNOPENED,
    Claim,
    Confidence,
    Evidence,
    EvidenceKind,
    Polarity,
    Source,
    Status,
    Text,
    Tier,
)
from shiyi.model.iris import ID, resource
from shiyi.model.rdf import DefaultGraph, Literal, NamedNode, Quad, Term, Triple, decimal, text
from shiyi.ontology.terms import DCTERMS, PROV, RDF, RDFS, SHIYI

Graph = NamedNode | DefaultGraph
DEFAULT = DefaultGraph()

STATUSES = {each: getattr(SHIYI, each.value) for each in Status}
POLARITIES = {each: getattr(SHIYI, each.value) for each in Polarity}
TIERS = {tier: resource(f"tier-{tier.value}") for tier in Tier}
KINDS = {each: getattr(SHIYI, each.value.capitalize()) for each in EvidenceKind}
# knowledge level and agent type of each kind, as Biolink names them
BIOLINK = {
    EvidenceKind.READ: ("knowledge-assertion", "manual-agent"),
    EvidenceKind.ROW: ("knowledge-assertion", "automated-agent"),
    EvidenceKind.RECALLED: ("not-provided", "not-provided"),
    EvidenceKind.INFERRED: ("logical-entailment", "automated-agent"),
    EvidenceKind.PREDICTED: ("prediction", "computational-model"),
}

# qualifier columns of the claim tables, and the property each is written with
QUALIFIERS = {
    "amount": (SHIYI.amount, None), "grade": (SHIYI.grade, None), "rating": (SHIYI.rating, None),
    "severity": (SHIYI.severity, None), "population": (SHIYI.population, None),
    "dose": (SHIYI.dose, None), "duration": (SHIYI.duration, None),
    "note_zh": (SHIYI.noteText, "zh"), "note_en": (SHIYI.noteText, "en"),
    "topic": (SHIYI.topic, None), "about": (SHIYI.about, None), "verdict": (SHIYI.verdict, None),
}  # fmt: skip
ABOUT = "about"  # the qualifier that names concepts: their ids, joined with bars
TOPICS = (  # of guidance
    "suitability", "effect", "combination", "difference", "amount", "timing", "preparation",
    "storage", "part", "content", "nature", "reason", "toxicity", "identity", "meaning",
    "regulation", "substitute", "avoid", "eat", "doctor", "use",
)  # fmt: skip
JUDGED = ("suitability", "effect", "combination")  # the topics with a verdict
VERDICTS = ("no", "ask", "limited", "unknown", "yes")  # the gravest first

EFFECT_RATINGS = ("effective", "likely", "possible", "insufficient", "ineffective")
INTERACTION_RATINGS = ("major", "moderate", "minor")  # the gravest first
RATINGS = (*EFFECT_RATINGS, *INTERACTION_RATINGS)


def ids_of(terms: Iterable[Term]) -> str:
    """Return concepts as the tables name them, as a value of the qualifier ``about``.

    >>> ids_of([resource("substance-b"), resource("disease-a")])
    'disease-a|substance-b'
    """
    return "|".join(sorted(text(term).removeprefix(ID) for term in terms))


def assess_rating(predicate: NamedNode, rating: str) -> tuple[NamedNode, Polarity]:
    """Return the property and the polarity that the rating of an effect decides.

    Only what is likely effective or better is asserted; what is ineffective is denied, and
    anything between was studied without a settled result. Other properties stay as they are.

    >>> name, polarity = assess_rating(SHIYI.isEffectiveFor, "insufficient")
    >>> name == SHIYI.studiedFor, polarity.value
    (True, 'positive')
    """
    if predicate != SHIYI.isEffectiveFor or rating in ("", "effective", "likely"):
        return predicate, Polarity.POSITIVE
    if rating == "ineffective":
        return predicate, Polarity.NEGATIVE
    return SHIYI.studiedFor, Polarity.POSITIVE


def source_quads(source: Source, graph: Graph = DEFAULT) -> Iterator[Quad]:
    """Yield what a reader needs to find the source."""
    node = source.iri
    yield Quad(node, RDF.type, SHIYI.Source, graph)
    yield Quad(node, RDFS.label, Literal(source.title_zh, language="zh"), graph)
    yield Quad(node, RDFS.label, Literal(source.title_en, language="en"), graph)
    yield Quad(node, SHIYI.sourceTier, TIERS[source.tier], graph)
    yield Quad(node, SHIYI.lineage, Literal(source.lineage or source.id), graph)
    for written, value in (
        (DCTERMS.date, source.year),
        (DCTERMS.identifier, source.identifier),
        (DCTERMS.license, source.licence),
        (RDFS.comment, source.note),
    ):
        if value:
            yield Quad(node, written, Literal(value), graph)


def claim_quads(claim: Claim, graph: Graph = DEFAULT, fused: bool = True) -> list[Quad]:
    """Return the quads of a claim: its triple if it is asserted, its named reifier, its evidence.

    A claim that is not asserted also carries ``rdf:subject``, ``rdf:predicate`` and
    ``rdf:object``, since the store has no index inside triple terms. ``fused`` adds its confidence.
    """
    return [
        Quad(subject, predicate, value, graph)
        for block in _blocks(claim, fused)
        for subject, pairs in block
        for predicate, value in pairs
    ]


def claim_blocks(claim: Claim, graph: Graph, fused: bool = True) -> list[str]:
    """Return the N-Quads lines of :func:`claim_quads`: of the claim, then of each evidence.

    Texts that are equal say the same, so that a caller may write each but once.
    """
    end = line_end(graph)
    return [
        "".join(
            f"{subject} {predicate} {_text(value)}{end}"
            for subject, pairs in block
            for predicate, value in pairs
        )
        for block in _blocks(claim, fused)
    ]


def line_end(graph: Graph) -> str:
    r"""Return what ends a line of a quad in ``graph``.

    >>> line_end(NamedNode("https://e.org/g")), line_end(DefaultGraph())
    (' <https://e.org/g> .\n', ' .\n')
    """
    return f" {graph} .\n" if isinstance(graph, NamedNode) else " .\n"


Pairs = Sequence[tuple[NamedNode, Term]]  # predicates and objects
Block = list[tuple[NamedNode, Pairs]]  # by subject


def _text(term: Term) -> str:
    return f"<<( {term} )>>" if isinstance(term, Triple) else str(term)


def _blocks(claim: Claim, fused: bool) -> Iterator[Block]:
    iri = claim.iri
    subject, predicate, value = claim.subject, claim.predicate, claim.object
    reified: Pairs = [(RDF.reifies, Triple(subject, predicate, value))]
    confidence: Pairs = [(SHIYI.confidence, decimal(claim.confidence.value))] if fused else []
    if claim.is_asserted:
        triple: tuple[NamedNode, Pairs] = subject, [(predicate, value)]
    else:
        parts = (RDF.subject, subject), (RDF.predicate, predicate), (RDF.object, value)
        triple = iri, parts
    texts: Block = [(claim.text.iri, _text_pairs(claim.text))] if claim.text else []
    yield [
        *texts,
        triple,
        (iri, reified),
        (iri, _status_pairs(claim.status, claim.polarity)),
        (iri, confidence),
    ]
    for evidence in claim.evidence:
        node = evidence.iri(iri)
        yield [
            (iri, [(SHIYI.evidence, node)]),
            (node, _evidence_pairs(evidence)),
            (
                node,
                _support_pairs(
                    evidence.source, evidence.confidence, evidence.kind, evidence.activity
                ),
            ),
        ]


def _text_pairs(text: Text) -> Pairs:
    return ((RDF.type, SHIYI.Text), *((RDFS.label, literal) for literal in text.labels))


@lru_cache(maxsize=64)
def _status_pairs(status: Status, polarity: Polarity) -> Pairs:
    return (
        (RDF.type, SHIYI.Claim),
        (SHIYI.status, STATUSES[status]),
        (SHIYI.polarity, POLARITIES[polarity]),
    )


def _evidence_pairs(evidence: Evidence) -> Pairs:
    pairs: list[tuple[NamedNode, Term]] = []
    if evidence.passage or evidence.kind not in UNOPENED:
        pairs.append((PROV.wasDerivedFrom, evidence.passage or evidence.source.iri))
    if evidence.suggested:
        pairs.append((SHIYI.suggestedSource, evidence.suggested.iri))
    if evidence.locator:
        pairs.append((SHIYI.sourceLocator, Literal(evidence.locator)))
    if evidence.quote:
        pairs.append((SHIYI.quote, Literal(evidence.quote)))
    for name, value in evidence.qualifiers:
        predicate, language = QUALIFIERS[name]
        if name == ABOUT:
            pairs += [(predicate, resource(part)) for part in value.split("|")]
        else:
            pairs.append((predicate, Literal(value, language=language)))
    return pairs


@lru_cache(maxsize=4096)  # each row of a table, and each passage of a book, has the same
def _support_pairs(
    source: Source, confidence: Confidence, kind: EvidenceKind, activity: str
) -> Pairs:
    level, agent = BIOLINK[kind]
    return (
        (RDF.type, SHIYI.Evidence),
        (DCTERMS.source, source.iri),
        (PROV.wasGeneratedBy, resource(f"activity-{activity}")),
        (SHIYI.sourceTier, TIERS[source.tier]),
        (SHIYI.extractionConfidence, decimal(confidence.value)),
        (SHIYI.evidenceKind, KINDS[kind]),
        (SHIYI.knowledgeLevel, resource(f"knowledge-level-{level}")),
        (SHIYI.agentType, resource(f"agent-type-{agent}")),
    )
