"""Claims read back from the store."""

from collections.abc import Iterator
from dataclasses import dataclass

from shiyi.curation.changes import REJECTED
from shiyi.curation.changes import parse_iri as node_of
from shiyi.ingest.gate import CANDIDATES, QUARANTINE
from shiyi.model.claim import (
    Claim,
    Confidence,
    Evidence,
    EvidenceKind,
    Polarity,
    Source,
    Status,
    Text,
    Tier,
    confidence_value,
)
from shiyi.model.iris import ID, VOCAB, is_text, resource
from shiyi.model.rdf import DefaultGraph, Literal, NamedNode, Quad, Triple, local_name, text
from shiyi.ontology.schema import Schema
from shiyi.ontology.serialization import ABOUT, QUALIFIERS, ids_of
from shiyi.ontology.terms import DCTERMS, PROV, RDF, RDFS, SHIYI, SKOS
from shiyi.sparql.store.port import QuadStore, text_value

ACCEPTED = DefaultGraph()
HOMES = (ACCEPTED, CANDIDATES, QUARANTINE, REJECTED)
Home = NamedNode | DefaultGraph


@dataclass(frozen=True, slots=True)
class StoredClaim:
    """A claim as a store holds it; ``nodes`` names its pieces of evidence in the claim's order."""

    iri: NamedNode
    claim: Claim
    home: Home
    nodes: tuple[NamedNode, ...]
    confidence: float

    @property
    def status(self) -> str:
        """Return the local name of its status."""
        return self.claim.status.value


def load_claim(store: QuadStore, iri: str) -> StoredClaim | None:
    """Read one claim, the accepted view first; None where none of these graphs holds it whole."""
    try:
        node = NamedNode(iri)
    except ValueError:  # no name, so nobody's
        return None
    homes = {quad.graph_name for quad in store.match(node, RDF.reifies, None, None)}
    home = next((each for each in HOMES if each in homes), None)
    if home is None:
        return None
    triple = next(q.object for q in store.match(node, RDF.reifies, None, home))
    if not isinstance(triple, Triple) or not isinstance(triple.subject, NamedNode):
        return None
    target = triple.object
    results = [
        (each, evidence)
        for each in sorted(_nodes(store, node, SHIYI.evidence, home), key=str)
        if (evidence := load_evidence(store, each, home)) is not None
    ]
    polarity = local_name(text_value(store, node, SHIYI.polarity, home)) or "positive"
    status = local_name(text_value(store, node, SHIYI.status, home)) or "candidate"
    known = polarity in set(Polarity) and status in set(Status)
    if not (known and results and isinstance(target, NamedNode | Literal)):
        return None
    claim = Claim(
        triple.subject,
        triple.predicate,
        target,
        tuple(created for _, created in results),
        Polarity(polarity),
        Status(status),
        load_text(store, target),
    )
    stored = _number(store, node, SHIYI.confidence, home)
    confidence = claim.confidence.value if stored is None else stored
    return StoredClaim(node, claim, home, tuple(each for each, _ in results), confidence)


def _number(store: QuadStore, node: NamedNode, predicate: NamedNode, home: Home) -> float | None:
    return confidence_value(Literal(text_value(store, node, predicate, home)))


def load_text(store: QuadStore, target: NamedNode | Literal) -> Text | None:
    """Read the text that an object names; None where it is none, or changed past curation."""
    if isinstance(target, Literal) or not is_text(target.value):
        return None
    values = load_labels(store, target)
    if not values.keys() & {"zh", "en"}:
        return None
    stated = Text(values.get("zh", ""), values.get("en", ""))
    return stated if stated.iri == target else None


def load_labels(
    store: QuadStore, node: NamedNode, predicate: NamedNode = RDFS.label, home: Home | None = None
) -> dict[str, str]:
    """Return the labels of a thing by language; one without a language by the empty text."""
    terms = (quad.object for quad in store.match(node, predicate, None, home))
    return {term.language or "": term.value for term in terms if isinstance(term, Literal)}


def load_evidence(store: QuadStore, node: NamedNode, home: Home) -> Evidence | None:
    """Read one piece of evidence; None where its source is not known."""
    source = load_source(store, text_value(store, node, DCTERMS.source, home))
    if source is None:
        return None
    passage = next(
        (each for each in _nodes(store, node, PROV.wasDerivedFrom, home) if each != source.iri),
        None,
    )
    activity = local_name(text_value(store, node, PROV.wasGeneratedBy, home)).removeprefix(
        "activity-"
    )
    kind = local_name(text_value(store, node, SHIYI.evidenceKind, home)).lower()
    suggested = text_value(store, node, SHIYI.suggestedSource, home)
    return Evidence(
        source,
        Confidence(_number(store, node, SHIYI.extractionConfidence, home) or 0.0),
        text_value(store, node, SHIYI.sourceLocator, home),
        EvidenceKind(kind) if kind in set(EvidenceKind) else EvidenceKind.RECALLED,
        text_value(store, node, SHIYI.quote, home),
        passage,
        tuple(_qualifiers(store, node, home)),
        activity or "curation",
        load_source(store, suggested) if suggested else None,
    )


def load_source(store: QuadStore, iri: str) -> Source | None:
    """Read a source from the graph that describes it; None where none does."""
    try:
        node = NamedNode(iri)
    except ValueError:
        return None
    if not any(store.match(node, RDF.type, SHIYI.Source, None)):
        return None
    titles = load_labels(store, node)
    tier = local_name(text_value(store, node, SHIYI.sourceTier, None)).removeprefix("tier-")
    name = local_name(iri).removeprefix("source-")
    any_title = next(iter(titles.values()), name)
    return Source(
        name,
        titles.get("zh", any_title),
        titles.get("en", any_title),
        Tier(tier) if tier in set(Tier) else Tier.WEBPAGE,
        text_value(store, node, DCTERMS.date, None),
        text_value(store, node, DCTERMS.identifier, None),
        text_value(store, node, DCTERMS.license, None),
        text_value(store, node, SHIYI.lineage, None),
        text_value(store, node, RDFS.comment, None),
    )


def passage_text(store: QuadStore, passage: str) -> str:
    """Return the words of a passage, or nothing where it is not known."""
    return text_value(store, NamedNode(passage), RDF.value, None) if passage else ""


def load_classes(store: QuadStore, iri: str) -> frozenset[str]:
    """Return the local names of a thing's classes in our vocabulary, with those above them."""
    schema = Schema.load()
    names = {
        local_name(text(quad.object))
        for quad in store.match(NamedNode(iri), RDF.type, None, ACCEPTED)
        if text(quad.object).startswith(VOCAB)
    }
    return frozenset(above for name in names for above in schema.superclasses(name))


def find_concepts(store: QuadStore, words: str, kinds: tuple[str, ...] = ()) -> list[str]:
    """List the concepts that an IRI, an id or a label names; none of another kind where asked."""
    words = words.strip()
    if words.startswith(ID):
        quads = [words]
    elif words and all(c.isascii() and (c.isalnum() or c == "-") for c in words) and "-" in words:
        quads = [resource(words).value]
    else:
        quads = []
    quads = [quad for quad in quads if any(store.match(node_of(quad), RDF.type, SKOS.Concept))]
    return quads or [
        each
        for each in _find_labelled(store, words)
        if not kinds or load_classes(store, each) & frozenset(kinds)
    ]


def _find_labelled(store: QuadStore, words: str) -> list[str]:
    for predicate in (SKOS.prefLabel, SKOS.altLabel):
        results: dict[str, None] = {}
        for language in ("zh", "en"):
            for written in dict.fromkeys((words, words.lower(), words.capitalize())):
                value = Literal(written, language=language)
                for quad in store.match(None, predicate, value, ACCEPTED):
                    results[text(quad.subject)] = None
        if results:
            return list(results)
    return []


def _nodes(
    store: QuadStore, node: NamedNode, predicate: NamedNode, home: Home
) -> Iterator[NamedNode]:
    for quad in store.match(node, predicate, None, home):
        if isinstance(quad.object, NamedNode):
            yield quad.object


def _qualifiers(store: QuadStore, node: NamedNode, home: Home) -> Iterator[tuple[str, str]]:
    for name, (written, language) in sorted(QUALIFIERS.items()):
        terms = [q.object for q in store.match(node, written, None, home)]
        if name == ABOUT and terms:
            yield name, ids_of(terms)
        else:
            for term in terms:
                if language is None or (isinstance(term, Literal) and term.language == language):
                    yield name, text(term)


def quads_of(store: QuadStore, stored: StoredClaim) -> list[Quad]:
    """List what a graph says of a claim and of its evidence, and its triple where asserted."""
    quads = list(store.match(stored.iri, None, None, stored.home))
    for node in stored.nodes:
        quads += store.match(node, None, None, stored.home)
    claim = stored.claim
    if stored.home == ACCEPTED and claim.polarity is Polarity.POSITIVE:
        quads += store.match(claim.subject, claim.predicate, claim.object, ACCEPTED)
    return quads
