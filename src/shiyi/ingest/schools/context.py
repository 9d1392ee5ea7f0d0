"""Claims and passages near a chain."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from shiyi.linking.embedding.embedder import Embedder, Vectors
from shiyi.model.rdf import DefaultGraph, Literal, NamedNode, Triple, local_name, text
from shiyi.ontology.terms import PROV, RDF, SHIYI, SKOS
from shiyi.sparql.store.port import QuadStore

_PASSAGES = 20_000  # of a base that are compared with a question, the first by name (Shiyi's)


@dataclass(frozen=True)
class GeneralKnowledge:
    """Accepted claims as sentences with their vectors; TCM-DiffRAG recalls by cosine.

    The vector of a *set* of triples is left open there: here each triple of a chain recalls by
    itself, and the union keeps each claim's best score.
    """

    store: QuadStore
    embedder: Embedder | None
    triples: int
    passages: int
    _default: DefaultGraph = field(default_factory=DefaultGraph)

    def recall(self, sentences: Sequence[str]) -> tuple[NamedNode, ...]:
        """Return the claims nearest to any of some sentences, nearest first."""
        if not sentences or self.embedder is None or not self._claims[0]:
            return ()
        best = (self.embedder.encode(list(sentences)) @ self._claims[2].T).max(axis=0)
        nearest = np.argsort(-best, kind="stable")[: self.triples]
        return tuple(self._claims[0][place] for place in nearest.tolist() if best[place] > 0)

    def sentence(self, claim: NamedNode) -> str:
        """Return a recalled claim in words."""
        return self._claims[1][self._claims[0].index(claim)]

    def passages_of(
        self, claims: Sequence[NamedNode], question: str
    ) -> tuple[tuple[NamedNode, str], ...]:
        """Return the passages that claims stand in (M1), then those nearest to a question."""
        results: dict[NamedNode, str] = {}
        for claim in claims:
            for evidence in self.store.match(claim, SHIYI.evidence, None, self._default):
                if isinstance(evidence.object, NamedNode):
                    for quad in self.store.match(evidence.object, PROV.wasDerivedFrom):
                        if isinstance(quad.object, NamedNode) and (
                            target := self._text(quad.object)
                        ):
                            results.setdefault(quad.object, target)
        for node in self._nearest(question):
            results.setdefault(node, self._text(node))
        return tuple(results.items())[: self.passages]

    def _nearest(self, question: str) -> tuple[NamedNode, ...]:
        nodes, rows = self._texts
        if not nodes or self.embedder is None:
            return ()
        cosines = (self.embedder.encode([question]) @ rows.T)[0]
        return tuple(
            nodes[place] for place in np.argsort(-cosines, kind="stable")[: self.passages].tolist()
        )

    def _text(self, node: NamedNode) -> str:
        return next((text(quad.object) for quad in self.store.match(node, RDF.value)), "")

    @cached_property
    def _texts(self) -> tuple[list[NamedNode], Vectors]:
        nodes = sorted(
            {
                q.subject
                for q in self.store.match(None, RDF.type, SHIYI.Passage)
                if isinstance(q.subject, NamedNode)
            },
            key=lambda node: node.value,
        )[:_PASSAGES]
        return nodes, self._rows([self._text(node) for node in nodes])

    @cached_property
    def _claims(self) -> tuple[list[NamedNode], list[str], Vectors]:
        claims, sentences = [], []
        for quad in self.store.match(None, RDF.reifies, None, self._default):
            target = quad.object
            if not (isinstance(target, Triple) and isinstance(quad.subject, NamedNode)):
                continue
            if isinstance(target.object, NamedNode):
                words = (target.subject, target.predicate, target.object)
                claims.append(quad.subject)
                sentences.append(" ".join(self._label(text(term)) for term in words))
        order = sorted(range(len(claims)), key=lambda place: claims[place].value)
        sentences = [sentences[place] for place in order]
        return [claims[place] for place in order], sentences, self._rows(sentences)

    def _rows(self, texts: list[str]) -> Vectors:
        if self.embedder is None or not texts:
            return np.zeros((0, 1), np.float32)
        return self.embedder.encode(texts)

    @cached_property
    def _labels(self) -> dict[str, str]:
        return {
            text(quad.subject): quad.object.value
            for quad in self.store.match(None, SKOS.prefLabel, None, self._default)
            if isinstance(quad.object, Literal) and quad.object.language == "zh"
        }

    def _label(self, iri: str) -> str:
        return self._labels.get(iri, local_name(iri))
