"""SKOS matches to clinical terms."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from shiyi.ingest.cases.records import Case, Mention
from shiyi.linking.case_terms import CURATED, LayerEntry, LayerLink, link_layers
from shiyi.linking.embedding.embedder import Embedder
from shiyi.linking.labels import LabelIndex
from shiyi.linking.normalization import fold
from shiyi.model.iris import content_hash, resource
from shiyi.model.rdf import Literal, NamedNode, Quad, decimal
from shiyi.ontology.schema import Schema
from shiyi.ontology.terms import RDF, SHIYI, SKOS, Vocabulary
from shiyi.settings import LinkingSettings

LEXICAL = "semapv:LexicalMatching"


class SSSOM(Vocabulary, base="https://w3id.org/sssom/"):
    """Terms of the Simple Standard for Sharing Ontological Mappings."""

    Mapping: NamedNode
    subject_id: NamedNode
    subject_label: NamedNode
    predicate_id: NamedNode
    object_id: NamedNode
    object_label: NamedNode
    mapping_justification: NamedNode
    similarity_score: NamedNode
    similarity_measure: NamedNode
    other: NamedNode


@dataclass(frozen=True, slots=True)
class Terms:
    """The conditions of the term layer, by every label."""

    entries: tuple[LayerEntry, ...]
    embedder: Embedder | None
    settings: LinkingSettings

    @classmethod
    def of(cls, index: LabelIndex, embedder: Embedder | None, settings: LinkingSettings) -> "Terms":
        """Select the labels of every condition in an index."""
        kinds = Schema.load().subclasses("Condition")
        entries = tuple(
            LayerEntry(index.concepts[label.concept].iri, label.text)
            for label in index.labels
            if index.concepts[label.concept].kind in kinds
        )
        return cls(entries, embedder, settings)

    def link(self, cases: Iterable[Case], place: NamedNode) -> Iterator[Quad]:
        """Yield the links of all mentions of some cases, in a graph."""
        mentions = {
            each.iri(case.iri).value: each
            for case in cases
            for each in case.mentions
            if each.kind != "treatment"
        }
        entries = {fold(each.text): each for each in reversed(self.entries)}
        links, rest = list[LayerLink](), list[LayerEntry]()
        for iri, mention in mentions.items():
            entry, term = LayerEntry(iri, mention.words), entries.get(fold(mention.words))
            if term and (mention.concept is None or mention.concept.value == term.iri):
                links.append(LayerLink(entry, term, 1.0, self._threshold, True, LEXICAL))
            else:
                rest.append(entry)
        if rest and self.embedder:
            links += self._link_nearest(rest)
        for link in links:
            yield from (Quad(*triple, place) for triple in _triples(link))

    @property
    def _threshold(self) -> float:
        return self.settings.layer_distance

    def _link_nearest(self, entries: Sequence[LayerEntry]) -> tuple[LayerLink, ...]:
        if self.embedder is None:
            return ()
        return link_layers(
            entries, self.entries, self.embedder, self._threshold, self.settings.layer_direction
        )


def predicate_of(link: LayerLink) -> NamedNode:
    """Return how a mention matches: exactly, to something broader it contains, or closely.

    Words that contain a term are narrower: a floating rapid pulse matches floating pulse broadly.
    """
    mention, term = fold(link.case.text), fold(link.term.text)
    if link.justification in {CURATED, LEXICAL} or mention == term:
        return SKOS.exactMatch
    return SKOS.broadMatch if term in mention else SKOS.closeMatch


def _triples(link: LayerLink) -> Iterator[tuple[NamedNode, NamedNode, NamedNode | Literal]]:
    mention, term = NamedNode(link.case.iri), NamedNode(link.term.iri)
    predicate = predicate_of(link)
    node = resource(f"mapping/{content_hash(mention.value, predicate.value, term.value)}")
    ground = link.justification.replace("semapv:", "https://w3id.org/semapv/vocab/")
    mutual = str(link.mutual).lower()
    yield mention, SHIYI.theReferenceOf, term
    yield mention, predicate, term
    yield node, RDF.type, SSSOM.Mapping
    yield node, SSSOM.subject_id, mention
    yield node, SSSOM.subject_label, Literal(link.case.text)
    yield node, SSSOM.predicate_id, predicate
    yield node, SSSOM.object_id, term
    yield node, SSSOM.object_label, Literal(link.term.text)
    yield node, SSSOM.mapping_justification, NamedNode(ground)
    yield node, SSSOM.similarity_score, decimal(round(max(0.0, link.similarity), 4))
    yield node, SSSOM.similarity_measure, Literal("cosine")
    yield node, SSSOM.other, Literal(f"threshold={link.threshold:.2f}|mutual={mutual}")


def list_words(mentions: Iterable[Mention]) -> tuple[str, ...]:
    """Return the words by which a case is classified: conditions, not treatments."""
    return tuple(mention.words for mention in mentions if mention.kind != "treatment")
