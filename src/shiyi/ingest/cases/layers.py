"""The words of cases tied to the terms below them, as SKOS matches with SSSOM metadata."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from shiyi.ingest.cases.case import Case, Mention
from shiyi.linking.embedder import Embedder
from shiyi.linking.labels import LabelIndex
from shiyi.linking.layers import CURATED, LayerEntry, LayerLink, link_layers
from shiyi.linking.normalise import fold
from shiyi.model.names import content_hash, resource
from shiyi.model.rdf import Literal, NamedNode, Quad, decimal
from shiyi.ontology.terms import RDF, SHIYI, SKOS, Vocabulary
from shiyi.ontology.vocabulary import Schema
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
        """Take the labels of every condition in an index."""
        kinds = Schema.load().subclasses("Condition")
        entries = tuple(
            LayerEntry(index.concepts[each.concept].iri, each.text)
            for each in index.labels if index.concepts[each.concept].kind in kinds
        )  # fmt: skip
        return cls(entries, embedder, settings)

    def link(self, cases: Iterable[Case]) -> Iterator[Quad]:
        """Yield the links of all mentions of some cases, in no graph of their own."""
        mentions = {
            each.iri(case.iri).value: each for case in cases for each in case.mentions
            if each.kind != "treatment"
        }  # fmt: skip
        known = {fold(each.text): each for each in reversed(self.entries)}
        links, rest = list[LayerLink](), list[LayerEntry]()
        for iri, mention in mentions.items():
            entry, term = LayerEntry(iri, mention.words), known.get(fold(mention.words))
            if term and (mention.concept is None or mention.concept.value == term.iri):
                links.append(LayerLink(entry, term, 1.0, self._threshold, True, LEXICAL))
            else:
                rest.append(entry)
        if rest and self.embedder:
            links += self._near(rest)
        for link in links:
            yield from _quads(link)

    @property
    def _threshold(self) -> float:
        return self.settings.layer_distance

    def _near(self, entries: Sequence[LayerEntry]) -> tuple[LayerLink, ...]:
        if self.embedder is None:
            return ()
        return link_layers(
            entries, self.entries, self.embedder, self._threshold, self.settings.layer_direction
        )


def predicate_of(link: LayerLink) -> NamedNode:
    """Say how a mention matches: exactly, to something broader it contains, or closely.

    Words that hold a term and more are narrower than it: 脉浮大数 has the broad match 脉浮.
    """
    mention, term = fold(link.case.text), fold(link.term.text)
    if link.justification in {CURATED, LEXICAL} or mention == term:
        return SKOS.exactMatch
    return SKOS.broadMatch if term in mention else SKOS.closeMatch


def _quads(link: LayerLink) -> Iterator[Quad]:
    mention, term, predicate = (
        NamedNode(link.case.iri),
        NamedNode(link.term.iri),
        predicate_of(link),
    )
    node = resource(f"mapping/{content_hash(mention.value, predicate.value, term.value)}")
    yield Quad(mention, SHIYI.theReferenceOf, term)
    yield Quad(mention, predicate, term)
    yield Quad(node, RDF.type, SSSOM.Mapping)
    yield Quad(node, SSSOM.subject_id, mention)
    yield Quad(node, SSSOM.subject_label, Literal(link.case.text))
    yield Quad(node, SSSOM.predicate_id, predicate)
    yield Quad(node, SSSOM.object_id, term)
    yield Quad(node, SSSOM.object_label, Literal(link.term.text))
    yield Quad(node, SSSOM.mapping_justification, NamedNode(link.justification.replace(
        "semapv:", "https://w3id.org/semapv/vocab/")))  # fmt: skip
    yield Quad(node, SSSOM.similarity_score, decimal(round(max(0.0, link.similarity), 4)))
    yield Quad(node, SSSOM.similarity_measure, Literal("cosine"))
    mutual = str(link.mutual).lower()
    yield Quad(node, SSSOM.other, Literal(f"threshold={link.threshold:.2f}|mutual={mutual}"))


def words_of(mentions: Iterable[Mention]) -> tuple[str, ...]:
    """Give the words by which a case is filed: what ails the patient, not what is done about it."""
    return tuple(each.words for each in mentions if each.kind != "treatment")
