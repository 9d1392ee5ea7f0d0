"""Sources that disagree."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain, combinations, product

from shiyi.model.claim import Claim, Polarity, claim_iri
from shiyi.model.rdf import DefaultGraph, NamedNode, Object, Quad, local_name, text
from shiyi.ontology.terms import SHIYI, SKOS
from shiyi.sparql.store.port import QuadStore

_FOR = {SHIYI.suitableFood: True, SHIYI.indicatedFor: False, SHIYI.relieves: False}
_AGAINST = {
    SHIYI.unsuitableFood: True, SHIYI.contraindicatedIn: False, SHIYI.cautionIn: False,
    SHIYI.aggravates: False,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Statement:
    """The triple of an accepted, positive claim."""

    subject: NamedNode
    predicate: NamedNode
    object: Object

    @property
    def iri(self) -> NamedNode:
        """Name the claim."""
        return claim_iri(self.subject, self.predicate, self.object, Polarity.POSITIVE)


def missing_conflicts(store: QuadStore) -> list[Quad]:
    """List the links between claims of the accepted view that it lacks."""
    default = DefaultGraph()
    values = [
        Statement(quad.subject, predicate, quad.object)
        for predicate in (SHIYI.hasNature, *_FOR, *_AGAINST)
        for quad in store.match(None, predicate, None, default)
        if isinstance(quad.subject, NamedNode) and isinstance(quad.object, NamedNode)
    ]
    broader: dict[str, list[str]] = defaultdict(list)
    for node in {value.object for value in values if value.predicate == SHIYI.hasNature}:
        if isinstance(node, NamedNode):
            above = store.match(node, SKOS.broader, None, default)
            broader[local_name(node.value)] = [local_name(text(quad.object)) for quad in above]
    quads = set(store.match(None, SHIYI.conflictsWith, None, default))
    return sorted(set(conflict_quads(values, broader)) - quads, key=str)


def conflict_quads(
    claims: Iterable[Claim | Statement], broader: Mapping[str, list[str]]
) -> Iterator[Quad]:
    """Yield ``conflictsWith`` both ways: of natures of a material, advice, denials."""
    values = list(claims)
    for one, other in chain(_pairs(values, broader), _denials(values)):
        yield Quad(one.iri, SHIYI.conflictsWith, other.iri, DefaultGraph())
        yield Quad(other.iri, SHIYI.conflictsWith, one.iri, DefaultGraph())


def _pairs(
    claims: Iterable[Claim | Statement], broader: Mapping[str, list[str]]
) -> Iterator[tuple[Claim | Statement, Claim | Statement]]:
    natures: dict[str, list[Claim | Statement]] = defaultdict(list)
    stated_for: dict[tuple[str, str], list[Claim | Statement]] = defaultdict(list)
    stated_against: dict[tuple[str, str], list[Claim | Statement]] = defaultdict(list)
    for claim in claims:
        if isinstance(claim, Claim) and claim.polarity is Polarity.NEGATIVE:
            continue
        if claim.predicate == SHIYI.hasNature:
            natures[claim.subject.value].append(claim)
        for advice, remaining in ((_FOR, stated_for), (_AGAINST, stated_against)):
            if claim.predicate in advice:
                remaining[_condition_and_food(claim, advice[claim.predicate])].append(claim)
    for group in natures.values():
        for one, other in combinations(group, 2):
            if not _degrees_of_one(one, other, broader):
                yield one, other
    for key in stated_for.keys() & stated_against.keys():
        yield from product(stated_for[key], stated_against[key])


def _denials(claims: Iterable[Claim | Statement]) -> Iterator[tuple[Claim | Statement, Claim]]:
    """Yield each claim with its denial, where both are made."""
    stated = {claim.iri: claim for claim in claims}
    for claim in stated.values():
        if isinstance(claim, Claim) and claim.polarity is Polarity.NEGATIVE:
            positive = claim_iri(claim.subject, claim.predicate, claim.object, Polarity.POSITIVE)
            if positive in stated:
                yield stated[positive], claim


def _condition_and_food(claim: Claim | Statement, condition_first: bool) -> tuple[str, str]:
    subject, values = claim.subject.value, text(claim.object)
    return (subject, values) if condition_first else (values, subject)


def _degrees_of_one(
    one: Claim | Statement, other: Claim | Statement, broader: Mapping[str, list[str]]
) -> bool:
    """Return whether one nature is a degree of the other, as slightly cold is of cold."""
    first, second = local_name(text(one.object)), local_name(text(other.object))
    return second in broader.get(first, ()) or first in broader.get(second, ())
