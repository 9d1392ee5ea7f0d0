"""The derived graph: its construction and incremental maintenance."""

import secrets
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from shiyi.errors import FormatError, UsageError
from shiyi.model.rdf import Literal, NamedNode, Quad, Triple, decimal, text
from shiyi.ontology.schema import Schema
from shiyi.ontology.terms import DCTERMS, PROV, RDF, RDFS, SHIYI
from shiyi.reasoning import rules
from shiyi.reasoning.adjacency import Edge, Projection, load_edges
from shiyi.reasoning.classification import Definitions, class_quads, stored_classifications
from shiyi.settings import Settings
from shiyi.sparql.base.writer import JOURNAL
from shiyi.sparql.store.port import QuadStore


def derive_quads(store: QuadStore, settings: Settings) -> Iterator[Quad]:
    """Yield inherited safety claims, each concept's importance, members of defined classes."""
    yield from rule_quads(store)
    yield from rank_quads(store, settings)
    yield from class_quads(store)


def rule_quads(store: QuadStore) -> Iterator[Quad]:
    """Yield the safety claims that follow by rule."""
    yield from rules.derivation_quads(rules.infer(rules.Premises.read(store, Schema.load())))


def entailment_quads(store: QuadStore) -> Iterator[Quad]:
    """Yield the OWL 2 RL entailments of accepted claims that no rule for cautions derives."""
    derived = {
        (text(q.subject), q.predicate.value, text(q.object))
        for q in store.match(None, None, None, rules.DERIVED)
        if isinstance(q.object, NamedNode)
    }
    entailments = rules.entail(load_edges(store), rules.Axioms.load())
    yield from rules.entailed_quads(each for each in entailments if each.statement not in derived)


def rank_quads(store: QuadStore, settings: Settings) -> Iterator[Quad]:
    """Yield each concept's importance."""
    rank = Projection.from_store(store, release="").importance(settings.pagerank)
    for iri, value in sorted(rank.all().items()):
        yield Quad(NamedNode(iri), SHIYI.pageRank, decimal(value), rules.DERIVED)


Ways = Mapping[str, tuple[rules.Derivation, ...]]  # by the claim that follows
_WRITTEN = frozenset({
    RDF.reifies, RDF.type, SHIYI.status, SHIYI.polarity, SHIYI.confidence, SHIYI.derivedBy,
    PROV.wasDerivedFrom,
})  # fmt: skip


@dataclass(frozen=True, slots=True)
class DerivedClaim:
    """One derived claim: its triple, its confidence to six places, all it rests on."""

    subject: str
    predicate: str
    object: str
    confidence: float
    premises: frozenset[str]


@dataclass(frozen=True, slots=True)
class DerivedChange:
    """What is to be removed and added, and the derived claims it is about."""

    removed: tuple[Quad, ...]
    added: tuple[Quad, ...]
    claims: tuple[str, ...]


def infer_all(edges: Iterable[Edge], broader: Mapping[str, Iterable[str]], schema: Schema) -> Ways:
    """Infer every safety claim that follows from accepted claims, with all ways to it."""
    by: dict[str, list[Edge]] = defaultdict(list)
    for edge in edges:
        by[edge.predicate].append(edge)
    safety = [e for name, found_edges in by.items() if inherits(schema, name) for e in found_edges]
    premises = rules.Premises(
        tuple(sorted(safety, key=lambda e: e.claim)),
        tuple(by[SHIYI.hasIngredient.value]),
        tuple(by[SHIYI.impliesSyndrome.value]),
        {node: frozenset(above) for node, above in broader.items()},
        schema,
    )
    return ways_by_claim(rules.infer(premises))


def ways_by_claim(derivations: Iterable[rules.Derivation]) -> Ways:
    """Group derivations by the claim that follows."""
    groups: dict[str, list[rules.Derivation]] = defaultdict(list)
    for each in derivations:
        groups[each.claim.value].append(each)
    return {claim: tuple(sorted(ways, key=_order)) for claim, ways in groups.items()}


def read_derived(store: QuadStore) -> Mapping[str, DerivedClaim]:
    """Read the claims of the derived graph."""
    premises: dict[str, set[str]] = defaultdict(set)
    for quad in store.match(None, PROV.wasDerivedFrom, None, rules.DERIVED):
        premises[text(quad.subject)].add(text(quad.object))
    confidences = {
        text(q.subject): float(text(q.object))
        for q in store.match(None, SHIYI.confidence, None, rules.DERIVED)
    }
    claims = {}
    for quad in store.match(None, RDF.reifies, None, rules.DERIVED):
        claim, triple = text(quad.subject), quad.object
        if isinstance(triple, Triple) and claim in premises:
            claims[claim] = DerivedClaim(
                text(triple.subject),
                triple.predicate.value,
                text(triple.object),
                confidences[claim],
                frozenset(premises[claim]),
            )
    return claims


def derive_claims(ways: Ways) -> Mapping[str, DerivedClaim]:
    """Return the entry in the derived graph of each inferred claim."""
    return {
        claim: DerivedClaim(
            derivations[0].subject,
            derivations[0].predicate,
            derivations[0].object,
            round(max(each.confidence for each in derivations), 6),
            frozenset(premise for each in derivations for premise in each.premises),
        )
        for claim, derivations in ways.items()
    }


def compare(store: QuadStore, before: Mapping[str, DerivedClaim], ways: Ways) -> DerivedChange:
    """Compare what the derived graph holds with what follows now; the rest of it stays.

    Members of defined classes follow too; they are no claims.
    """
    after = derive_claims(ways)
    claims = sorted(c for c in before.keys() | after.keys() if before.get(c) != after.get(c))
    new = {q for claim in claims for q in rules.derivation_quads(ways.get(claim, ()))}
    old: set[Quad] = set()
    for claim in claims:
        node = NamedNode(claim)
        old |= {q for q in store.match(node, None, None, rules.DERIVED) if q.predicate in _WRITTEN}
        if (old_claim := before.get(claim)) is not None:
            ends = (
                NamedNode(old_claim.subject),
                NamedNode(old_claim.predicate),
                NamedNode(old_claim.object),
            )
            old |= set(store.match(*ends, rules.DERIVED))
    new |= set(class_quads(store))
    old |= {q for q in stored_classifications(store) if q.predicate != RDFS.subClassOf}
    return DerivedChange(
        tuple(sorted(old - new, key=str)), tuple(sorted(new - old, key=str)), tuple(claims)
    )


def inherits(schema: Schema, predicate: str) -> bool:
    """Return whether something follows from claims of a property."""
    known = schema.properties.get(predicate.rpartition("#")[2])
    return bool(known and known.inherits)


def is_premise(schema: Schema, predicate: str) -> bool:
    """Return whether a claim of this property is a premise of any rule."""
    links = {SHIYI.hasIngredient.value, SHIYI.impliesSyndrome.value}
    defining = Definitions.load().predicates
    return predicate in links or predicate in defining or inherits(schema, predicate)


def _order(item: rules.Derivation) -> tuple[object, ...]:
    return (item.rule, item.premises, item.confidence, item.subject, item.object)


SECTIONS: Final = ("rules", "pagerank", "confidence", "complete", "entailed", "classes")
PARTS: Final = (
    SHIYI.textPart, SHIYI.entityPart, SHIYI.relationPart, SHIYI.pathPart, SHIYI.fusedConfidence,
)  # fmt: skip


def replace_derived(store: QuadStore, new: Iterable[Quad], sections: Collection[str]) -> int:
    """Replace by ``new``: the named sections of what is derived; return how many it has.

    The old stay until all of the new are made: a fault while making them changes nothing.
    Raise ``FormatError`` for an unknown section, ``UsageError`` for another graph.
    """
    for name in sections:
        if name not in SECTIONS:
            raise FormatError("section", name, SECTIONS)
    quads = tuple(new)
    if any(quad.graph_name not in (rules.DERIVED, rules.ENTAILED) for quad in quads):
        raise UsageError("what is derived stands in graph:derived and graph:entailed alone")
    removed = {quad for quad, section in load_derivations(store) if section in sections}
    added = set(quads)
    removed |= set(_notes(store))
    added.add(Quad(rules.DERIVED, DCTERMS.identifier, Literal(secrets.token_hex(8)), JOURNAL))
    store.change(add=list(added - removed), remove=list(removed - added))
    return len(quads)


def derivation(store: QuadStore) -> str:
    """Return the identifier of the last derivation; nothing where that was the build."""
    return " ".join(sorted(text(quad.object) for quad in _notes(store)))


def _notes(store: QuadStore) -> Iterator[Quad]:
    return store.match(rules.DERIVED, DCTERMS.identifier, None, JOURNAL)


def load_derivations(store: QuadStore) -> Iterator[tuple[Quad, str]]:
    """Yield the quads of graph:derived and graph:entailed, each with its section."""
    classes = set(stored_classifications(store))
    for quad in store.match(None, None, None, rules.ENTAILED):
        yield quad, "classes" if quad in classes else "entailed"
    terms = {
        quad.subject for quad in store.match(None, SHIYI.status, SHIYI.predicted, rules.DERIVED)
    }
    for quad in store.match(None, None, None, rules.DERIVED):
        if quad.predicate == SHIYI.pageRank:
            yield quad, "pagerank"
        elif quad.predicate in PARTS:
            yield quad, "confidence"
        else:
            yield quad, "complete" if quad.subject in terms else "rules"
