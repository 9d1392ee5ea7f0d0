"""The inherited cautions after the accepted view changed: only what differs is written."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from shiyi.model.rdf import NamedNode, Quad, Triple, text
from shiyi.ontology.terms import PROV, RDF, SHIYI
from shiyi.ontology.vocabulary import Schema
from shiyi.reasoning.inheritance import DERIVED, Derivation, Premises, derivation_quads, infer
from shiyi.reasoning.projection import Edge
from shiyi.sparql.store import QuadStore

Ways = Mapping[str, tuple[Derivation, ...]]  # by the claim that follows
_WRITTEN = frozenset({
    RDF.reifies, RDF.type, SHIYI.status, SHIYI.polarity, SHIYI.confidence, SHIYI.derivedBy,
    PROV.wasDerivedFrom,
})  # fmt: skip


@dataclass(frozen=True, slots=True)
class Followed:
    """One derived claim: its triple, its confidence to six places, all it rests on."""

    subject: str
    predicate: str
    object: str
    confidence: float
    premises: frozenset[str]


@dataclass(frozen=True, slots=True)
class Rederived:
    """What is to be removed and added, and the derived claims it is about."""

    removed: tuple[Quad, ...]
    added: tuple[Quad, ...]
    claims: tuple[str, ...]


def ways_of(edges: Iterable[Edge], broader: Mapping[str, Iterable[str]], schema: Schema) -> Ways:
    """Infer every safety claim that follows from accepted claims, with all ways to it."""
    by: dict[str, list[Edge]] = defaultdict(list)
    for edge in edges:
        by[edge.predicate].append(edge)
    safety = [e for name, found in by.items() if inherits(schema, name) for e in found]
    premises = Premises(
        tuple(sorted(safety, key=lambda e: e.claim)),
        tuple(by[SHIYI.hasIngredient.value]), tuple(by[SHIYI.impliesSyndrome.value]),
        {node: frozenset(above) for node, above in broader.items()}, schema,
    )  # fmt: skip
    return ways_by_claim(infer(premises))


def ways_by_claim(derivations: Iterable[Derivation]) -> Ways:
    """Group derivations by the claim that follows."""
    found: dict[str, list[Derivation]] = defaultdict(list)
    for each in derivations:
        found[each.claim.value].append(each)
    return {claim: tuple(sorted(ways, key=_order)) for claim, ways in found.items()}


def held_in(store: QuadStore) -> Mapping[str, Followed]:
    """Read what the derived graph of a store holds."""
    premises: dict[str, set[str]] = defaultdict(set)
    for quad in store.match(None, PROV.wasDerivedFrom, None, DERIVED):
        premises[text(quad.subject)].add(text(quad.object))
    sure = {
        text(q.subject): float(text(q.object))
        for q in store.match(None, SHIYI.confidence, None, DERIVED)
    }
    found = {}
    for quad in store.match(None, RDF.reifies, None, DERIVED):
        claim, said = text(quad.subject), quad.object
        if isinstance(said, Triple) and claim in premises:
            found[claim] = Followed(
                text(said.subject), said.predicate.value, text(said.object), sure[claim],
                frozenset(premises[claim]),
            )  # fmt: skip
    return found


def followed(ways: Ways) -> Mapping[str, Followed]:
    """Give what stands in the derived graph of each claim that follows."""
    return {
        claim: Followed(
            found[0].subject, found[0].predicate, found[0].object,
            round(max(each.confidence for each in found), 6),
            frozenset(premise for each in found for premise in each.premises),
        )
        for claim, found in ways.items()
    }  # fmt: skip


def rederived(store: QuadStore, before: Mapping[str, Followed], ways: Ways) -> Rederived:
    """Compare what the derived graph holds with what follows now; the rest of it stays."""
    after = followed(ways)
    claims = sorted(c for c in before.keys() | after.keys() if before.get(c) != after.get(c))
    new = {q for claim in claims for q in derivation_quads(ways.get(claim, ()))}
    old: set[Quad] = set()
    for claim in claims:
        node = NamedNode(claim)
        old |= {q for q in store.match(node, None, None, DERIVED) if q.predicate in _WRITTEN}
        if (was := before.get(claim)) is not None:
            ends = (NamedNode(was.subject), NamedNode(was.predicate), NamedNode(was.object))
            old |= set(store.match(*ends, DERIVED))
    return Rederived(
        tuple(sorted(old - new, key=str)), tuple(sorted(new - old, key=str)), tuple(claims)
    )


def inherits(schema: Schema, predicate: str) -> bool:
    """Tell whether something follows from claims of a property."""
    known = schema.properties.get(predicate.rpartition("#")[2])
    return bool(known and known.inherits)


def matters(schema: Schema, predicate: str) -> bool:
    """Tell whether a claim of this property is a premise of any rule."""
    links = {SHIYI.hasIngredient.value, SHIYI.impliesSyndrome.value}
    return predicate in links or inherits(schema, predicate)


def _order(each: Derivation) -> tuple[object, ...]:
    return each.rule, each.premises, each.confidence, each.subject, each.object
