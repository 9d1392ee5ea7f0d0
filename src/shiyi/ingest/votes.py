"""What the confidence of a claim rests on: the weight of each lineage of its sources."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from shiyi.model.claim import Claim, Source
from shiyi.model.confidence import Confidence, fuse
from shiyi.model.rdf import DefaultGraph, NamedNode, Quad, decimal, local_name, text
from shiyi.ontology.statements import Graph as Place
from shiyi.ontology.terms import DCTERMS, RDF, SHIYI
from shiyi.sparql.store import QuadStore


@dataclass(slots=True)
class _Votes:
    best: dict[str, Confidence]  # by lineage
    new: bool  # whether the store did not hold the claim
    said: Quad | None = None  # the confidence that this run gave it


class Votes:
    """What each claim rests on so far in its graph, so that its one confidence is kept up to date.

    The claims of late are in memory; all others are in the store.
    """

    def __init__(self, store: QuadStore) -> None:
        self._store = store
        self._late: dict[tuple[NamedNode, Place], _Votes] = {}
        self._before: dict[tuple[NamedNode, Place], _Votes] = {}
        self._through = 0
        self._told: set[NamedNode] = set()

    def __len__(self) -> int:
        """Count the claims of late."""
        return len(self._late)

    def turn(self, sequence: int) -> int:
        """Let the claims of late be those before, after change ``sequence``; forget those before.

        Gives the change through which the store must be read from now on.
        """
        self._before, self._late = self._late, {}
        through, self._through = self._through, sequence
        return through

    def add(self, claim: Claim, place: Place) -> None:
        """Count a claim's evidence."""
        best = self._of(claim.iri, place).best
        for each in claim.evidence:
            lineage = each.source.lineage or each.source.id
            known = best.get(lineage)
            best[lineage] = max(known, each.confidence) if known else each.confidence

    def confidence(self, iri: NamedNode, place: Place) -> tuple[Quad, list[Quad]]:
        """Give the fused confidence of a counted claim, and what it replaces."""
        kept = self._of(iri, place)
        said = Quad(iri, SHIYI.confidence, decimal(fuse(kept.best.items()).value), place)
        if kept.said:
            old = [kept.said]
        else:
            old = [] if kept.new else list(self._store.match(iri, SHIYI.confidence, None, place))
        kept.said = said
        return said, [quad for quad in old if quad != said]

    def untold(self, source: Source) -> bool:
        """Tell, once, whether the accepted view does not know a source yet."""
        if source.iri in self._told:
            return False
        self._told.add(source.iri)
        return not any(self._store.match(source.iri, RDF.type, SHIYI.Source, DefaultGraph()))

    def _of(self, iri: NamedNode, place: Place) -> _Votes:
        kept = self._late.get((iri, place))
        if kept is None:
            kept = self._before.pop((iri, place), None)
            if kept is None:
                best = dict(_best(votes(self._store, iri, place)))
                kept = _Votes(best, new=not best)
            self._late[iri, place] = kept
        return kept


def votes(store: QuadStore, claim: NamedNode, place: Place) -> Iterator[tuple[str, Confidence]]:
    """Yield lineage and weight of each piece of evidence that a claim has in a graph."""
    for quad in store.match(claim, SHIYI.evidence, None, place):
        if isinstance(quad.object, NamedNode):
            weight = _first(store, quad.object, SHIYI.extractionConfidence, place)
            source = NamedNode(_first(store, quad.object, DCTERMS.source, place))
            lineage = _first(store, source, SHIYI.lineage, None) or local_name(source.value)
            yield lineage, Confidence(float(weight))


def _best(found: Iterable[tuple[str, Confidence]]) -> Iterator[tuple[str, Confidence]]:
    best: dict[str, Confidence] = {}
    for lineage, weight in found:
        best[lineage] = max(best.get(lineage, weight), weight)
    yield from best.items()


def _first(store: QuadStore, subject: NamedNode, predicate: NamedNode, place: Place | None) -> str:
    return next((text(q.object) for q in store.match(subject, predicate, None, place)), "")
