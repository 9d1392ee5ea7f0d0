"""Which claims enter accepted: what the policy of their dataset allows, and nothing against experts."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

from shiyi.ingest.datasets import Dataset
from shiyi.ingest.gate import Proposed
from shiyi.model.claim import Status, Tier
from shiyi.model.names import VOCAB, graph
from shiyi.model.rdf import DefaultGraph, NamedNode, Object
from shiyi.ontology.terms import DCTERMS, SKOS
from shiyi.sparql.store import QuadStore

_REVIEWS = graph("reviews")


@dataclass(slots=True)
class Entry:
    """The policy of a dataset over a base: ``shiyi:statusOnEntry`` of its ``source.ttl``.

    Where it says accepted, a claim still enters as a candidate if a model read it, if an expert
    has decided on it, if it gives a name or a match, which all else is linked with, or if the
    accepted view does not hold the concepts it speaks of.
    """

    dataset: Dataset
    store: QuadStore
    _known: dict[NamedNode, bool] = field(default_factory=dict)

    @property
    def accepts(self) -> bool:
        """Tell whether any claim may enter accepted."""
        return self.dataset.entry is Status.ACCEPTED

    def of(self, proposed: Iterable[Proposed], held_back: Counter[str]) -> list[Proposed]:
        """Give each claim the status it enters with; count by reason what the policy leaves aside."""
        if not self.accepts:
            return list(proposed)
        return [self._entering(each, held_back) for each in proposed]

    def _entering(self, each: Proposed, held_back: Counter[str]) -> Proposed:
        if why := next(self._against(each), ""):
            held_back[why] += 1
            return each
        return replace(each, entry=Status.ACCEPTED)

    def _against(self, each: Proposed) -> Iterator[str]:
        claim = each.claim
        if each.by_model or any(e.source.tier is Tier.MODEL for e in claim.evidence):
            yield "read by a model"
        if not claim.predicate.value.startswith(VOCAB):
            yield "a name or match"
        if not (self._holds(claim.subject) and self._holds(claim.object)):
            yield "of a concept that is not in the accepted view"
        if any(self.store.match(None, DCTERMS.subject, claim.iri, _REVIEWS)):
            yield "an expert has decided"

    def _holds(self, node: Object) -> bool:
        if not isinstance(node, NamedNode):
            return True
        if node not in self._known:
            said = self.store.match(node, SKOS.prefLabel, None, DefaultGraph())
            self._known[node] = any(said)
        return self._known[node]
