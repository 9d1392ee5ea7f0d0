"""The derived graph, made anew from the accepted view."""

from collections.abc import Iterator

from shiyi.model.rdf import NamedNode, Quad, decimal, text
from shiyi.ontology.terms import SHIYI
from shiyi.ontology.vocabulary import Schema
from shiyi.reasoning.entailment import Axioms, entail, entailed_quads
from shiyi.reasoning.inheritance import DERIVED, Premises, derivation_quads, infer
from shiyi.reasoning.projection import Projection, accepted_edges
from shiyi.settings import Settings
from shiyi.sparql.store import QuadStore


def derived_quads(store: QuadStore, settings: Settings) -> Iterator[Quad]:
    """Yield inherited safety claims, then each concept's importance, all in graph:derived."""
    yield from rule_quads(store)
    yield from rank_quads(store, settings)


def rule_quads(store: QuadStore) -> Iterator[Quad]:
    """Yield the safety claims that follow by rule."""
    yield from derivation_quads(infer(Premises.read(store, Schema.load())))


def entailment_quads(store: QuadStore) -> Iterator[Quad]:
    """Yield what OWL 2 RL lets follow from accepted claims and no rule for cautions derives."""
    derived = {
        (text(q.subject), q.predicate.value, text(q.object))
        for q in store.match(None, None, None, DERIVED)
        if isinstance(q.object, NamedNode)
    }
    found = entail(accepted_edges(store), Axioms.load())
    yield from entailed_quads(each for each in found if each.statement not in derived)


def rank_quads(store: QuadStore, settings: Settings) -> Iterator[Quad]:
    """Yield each concept's importance."""
    rank = Projection.from_store(store, release="").importance(settings.pagerank)
    for iri, value in sorted(rank.all().items()):
        yield Quad(NamedNode(iri), SHIYI.pageRank, decimal(value), DERIVED)
