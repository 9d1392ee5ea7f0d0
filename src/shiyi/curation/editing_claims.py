"""Claims read back from a store as values, with the graph they stand in."""

from collections.abc import Iterator
from dataclasses import dataclass

from shiyi.curation.ledger import REJECTED
from shiyi.curation.ledger import named as node_of
from shiyi.ingest.gate import CANDIDATES, QUARANTINE
from shiyi.model.claim import Checked, Claim, Evidence, Polarity, Source, Status, Tier
from shiyi.model.confidence import Confidence
from shiyi.model.names import ID, VOCAB, resource
from shiyi.model.rdf import DefaultGraph, Literal, NamedNode, Quad, Term, Triple, local_name, text
from shiyi.ontology.statements import QUALIFIERS
from shiyi.ontology.terms import DCTERMS, PROV, RDF, RDFS, SHIYI, SKOS
from shiyi.ontology.vocabulary import Schema
from shiyi.sparql.store import QuadStore

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
        """Give the local name of its status."""
        return self.claim.status.value


def stored_claim(store: QuadStore, iri: str) -> StoredClaim | None:
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
    said = triple.object
    found = [
        (each, made) for each in sorted(_nodes(store, node, SHIYI.evidence, home), key=str)
        if (made := stored_evidence(store, each, home)) is not None
    ]  # fmt: skip
    if not found or not isinstance(said, NamedNode | Literal):
        return None
    claim = Claim(
        triple.subject, triple.predicate, said, tuple(made for _, made in found),
        Polarity(local_name(one(store, node, SHIYI.polarity, home)) or "positive"),
        Status(local_name(one(store, node, SHIYI.status, home)) or "candidate"),
    )  # fmt: skip
    held = float(one(store, node, SHIYI.confidence, home) or claim.confidence.value)
    return StoredClaim(node, claim, home, tuple(each for each, _ in found), held)


def stored_evidence(store: QuadStore, node: NamedNode, home: Home) -> Evidence | None:
    """Read one piece of evidence; None where its source is not known."""
    source = stored_source(store, one(store, node, DCTERMS.source, home))
    if source is None:
        return None
    passage = next(
        (each for each in _nodes(store, node, PROV.wasDerivedFrom, home) if each != source.iri),
        None,
    )
    activity = local_name(one(store, node, PROV.wasGeneratedBy, home)).removeprefix("activity-")
    checked = one(store, node, SHIYI.checked, home)
    return Evidence(
        source, Confidence(float(one(store, node, SHIYI.extractionConfidence, home) or 0)),
        one(store, node, SHIYI.sourceLocator, home),
        Checked(checked) if checked in set(Checked) else Checked.UNCHECKED,
        one(store, node, SHIYI.quote, home), passage, tuple(_qualifiers(store, node, home)),
        activity or "curation",
    )  # fmt: skip


def stored_source(store: QuadStore, iri: str) -> Source | None:
    """Read a source from whichever graph describes it."""
    node = NamedNode(iri) if iri else None
    if node is None or not any(store.match(node, RDF.type, SHIYI.Source, None)):
        return None
    titles = {
        quad.object.language or "": quad.object.value
        for quad in store.match(node, RDFS.label, None, None)
        if isinstance(quad.object, Literal)
    }
    tier = local_name(one(store, node, SHIYI.sourceTier, None)).removeprefix("tier-")
    name = local_name(iri).removeprefix("source-")
    any_title = next(iter(titles.values()), name)
    return Source(
        name, titles.get("zh", any_title), titles.get("en", any_title),
        Tier(tier) if tier in set(Tier) else Tier.WEBPAGE, one(store, node, DCTERMS.date, None),
        one(store, node, DCTERMS.identifier, None), one(store, node, DCTERMS.license, None),
        one(store, node, SHIYI.lineage, None), one(store, node, RDFS.comment, None),
    )  # fmt: skip


def passage_text(store: QuadStore, passage: str) -> str:
    """Give the words of a passage, or nothing where it is not known."""
    return one(store, NamedNode(passage), RDF.value, None) if passage else ""


def classes_of(store: QuadStore, iri: str) -> frozenset[str]:
    """Give the local names of a thing's classes in our vocabulary, with those above them."""
    schema = Schema.load()
    names = {
        local_name(text(quad.object))
        for quad in store.match(NamedNode(iri), RDF.type, None, ACCEPTED)
        if text(quad.object).startswith(VOCAB)
    }
    return frozenset(above for name in names for above in schema.superclasses(name))


def named(store: QuadStore, words: str, kinds: tuple[str, ...] = ()) -> list[str]:
    """List the concepts that an IRI, an id or a label names; none of another kind where asked."""
    words = words.strip()
    if words.startswith(ID):
        found = [words]
    elif words and all(c.isascii() and (c.isalnum() or c == "-") for c in words) and "-" in words:
        found = [resource(words).value]
    else:
        found = []
    found = [each for each in found if any(store.match(node_of(each), RDF.type, SKOS.Concept))]
    return found or [
        each for each in _labelled(store, words)
        if not kinds or classes_of(store, each) & frozenset(kinds)
    ]  # fmt: skip


def _labelled(store: QuadStore, words: str) -> list[str]:
    for predicate in (SKOS.prefLabel, SKOS.altLabel):
        found: dict[str, None] = {}
        for language in ("zh", "en"):
            for written in dict.fromkeys((words, words.lower(), words.capitalize())):
                said = Literal(written, language=language)
                for quad in store.match(None, predicate, said, ACCEPTED):
                    found[text(quad.subject)] = None
        if found:
            return list(found)
    return []


def one(store: QuadStore, node: NamedNode, predicate: NamedNode, home: Home | None) -> str:
    """Give one value as text, or nothing."""
    return next((text(quad.object) for quad in store.match(node, predicate, None, home)), "")


def _nodes(
    store: QuadStore, node: NamedNode, predicate: NamedNode, home: Home
) -> Iterator[NamedNode]:
    for quad in store.match(node, predicate, None, home):
        if isinstance(quad.object, NamedNode):
            yield quad.object


def _qualifiers(store: QuadStore, node: NamedNode, home: Home) -> Iterator[tuple[str, str]]:
    for name, (written, language) in sorted(QUALIFIERS.items()):
        for quad in store.match(node, written, None, home):
            if _speaks(quad.object, language):
                yield name, text(quad.object)


def _speaks(term: Term, language: str | None) -> bool:
    return language is None or (isinstance(term, Literal) and term.language == language)


def quads_of(store: QuadStore, held: StoredClaim) -> list[Quad]:
    """List what a graph says of a claim and of its evidence, and its triple where asserted."""
    found = list(store.match(held.iri, None, None, held.home))
    for node in held.nodes:
        found += store.match(node, None, None, held.home)
    claim = held.claim
    if held.home == ACCEPTED and claim.polarity is Polarity.POSITIVE:
        found += store.match(claim.subject, claim.predicate, claim.object, ACCEPTED)
    return found
