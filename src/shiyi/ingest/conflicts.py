"""Where sources disagree, both claims stay and are linked; none wins."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations, product

from shiyi.model.claim import Claim, Polarity, claim_iri
from shiyi.model.rdf import DefaultGraph, NamedNode, Object, Quad, local_name, text
from shiyi.ontology.terms import SHIYI, SKOS
from shiyi.sparql.store import QuadStore

_FOR = {SHIYI.suitableFood: True, SHIYI.indicatedFor: False, SHIYI.relieves: False}
_AGAINST = {SHIYI.unsuitableFood: True, SHIYI.contraindicatedIn: False, SHIYI.cautionIn: False,
            SHIYI.aggravates: False}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Said:
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
    said = [
        Said(quad.subject, predicate, quad.object)
        for predicate in (SHIYI.hasNature, *_FOR, *_AGAINST)
        for quad in store.match(None, predicate, None, default)
        if isinstance(quad.subject, NamedNode) and isinstance(quad.object, NamedNode)
    ]
    broader: dict[str, list[str]] = defaultdict(list)
    for node in {each.object for each in said if each.predicate == SHIYI.hasNature}:
        if isinstance(node, NamedNode):
            above = store.match(node, SKOS.broader, None, default)
            broader[local_name(node.value)] = [local_name(text(quad.object)) for quad in above]
    held = set(store.match(None, SHIYI.conflictsWith, None, default))
    return sorted(set(conflict_quads(said, broader)) - held, key=str)


def conflict_quads(
    claims: Iterable[Claim | Said], broader: Mapping[str, list[str]]
) -> Iterator[Quad]:
    """Yield ``conflictsWith`` both ways: two natures of one material, advice for and against."""
    for one, other in _pairs(list(claims), broader):
        yield Quad(one.iri, SHIYI.conflictsWith, other.iri, DefaultGraph())
        yield Quad(other.iri, SHIYI.conflictsWith, one.iri, DefaultGraph())


def _pairs(
    claims: Iterable[Claim | Said], broader: Mapping[str, list[str]]
) -> Iterator[tuple[Claim | Said, Claim | Said]]:
    natures: dict[str, list[Claim | Said]] = defaultdict(list)
    said_for: dict[tuple[str, str], list[Claim | Said]] = defaultdict(list)
    said_against: dict[tuple[str, str], list[Claim | Said]] = defaultdict(list)
    for claim in claims:
        if isinstance(claim, Claim) and claim.polarity is Polarity.NEGATIVE:
            continue
        if claim.predicate == SHIYI.hasNature:
            natures[claim.subject.value].append(claim)
        for advice, kept in ((_FOR, said_for), (_AGAINST, said_against)):
            if claim.predicate in advice:
                kept[_condition_and_food(claim, advice[claim.predicate])].append(claim)
    for group in natures.values():
        for one, other in combinations(group, 2):
            if not _degrees_of_one(one, other, broader):
                yield one, other
    for key in said_for.keys() & said_against.keys():
        yield from product(said_for[key], said_against[key])


def _condition_and_food(claim: Claim | Said, condition_first: bool) -> tuple[str, str]:
    subject, said = claim.subject.value, text(claim.object)
    return (subject, said) if condition_first else (said, subject)


def _degrees_of_one(
    one: Claim | Said, other: Claim | Said, broader: Mapping[str, list[str]]
) -> bool:
    """Tell whether one nature is a degree of the other, as 微寒 is of 寒."""
    first, second = local_name(text(one.object)), local_name(text(other.object))
    return second in broader.get(first, ()) or first in broader.get(second, ())
