"""Inherited cautions and OWL 2 RL entailments.

Rules prp-symp, prp-inv, prp-spo1 and prp-trp of https://www.w3.org/TR/owl2-profiles/, Table 5. What
warns follows by rules of its own, and answers read both ends of a claim without these;
they are for SPARQL, in a graph apart, so that a claim and its converse are never counted as two.
"""

import heapq
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Final, Self

from shiyi.artefacts import artefact
from shiyi.model.iris import VOCAB, content_hash, graph, resource
from shiyi.model.rdf import (
    DefaultGraph,
    NamedNode,
    Quad,
    Triple,
    canonical,
    decimal,
    local_name,
    parse_turtle,
    text,
)
from shiyi.ontology.schema import Schema
from shiyi.ontology.terms import PREFIXES, PROV, RDF, SHIYI, SKOS
from shiyi.reasoning.adjacency import Edge, load_edges
from shiyi.sparql.store.port import QuadStore

DERIVED = graph("derived")
_INTERACTS = SHIYI.interactsWith.value
_CAUTIONS = {SHIYI.contraindicatedIn.value, SHIYI.cautionIn.value, SHIYI.aggravates.value}
_UNSUITABLE = SHIYI.unsuitableFood.value


@dataclass(frozen=True, slots=True)
class Derivation:
    """One claim that follows from premises by one rule, at the weakest premise's confidence."""

    subject: str
    predicate: str
    object: str
    rule: str
    premises: tuple[str, ...]
    confidence: float

    @property
    def claim(self) -> NamedNode:
        """Name the claim by its content, as every positive claim is named."""
        terms = (NamedNode(x) for x in (self.subject, self.predicate, self.object))
        return resource(f"claim/{content_hash(*map(canonical, terms), 'positive')}")


@dataclass(frozen=True, slots=True)
class Premises:
    """What the rules read: safety claims, composition, implication, and the hierarchies."""

    safety: tuple[Edge, ...]
    ingredients: tuple[Edge, ...]
    implications: tuple[Edge, ...]
    broader: Mapping[str, frozenset[str]]
    schema: Schema = field(repr=False)

    def ingredient_edges(self) -> Mapping[str, list[Edge]]:
        """Return the ``hasIngredient`` claims by ingredient."""
        return _by_object(self.ingredients)

    def syndrome_edges(self) -> Mapping[str, list[Edge]]:
        """Return the ``impliesSyndrome`` claims by what is implied."""
        return _by_object(self.implications)

    @classmethod
    def read(cls, store: QuadStore, schema: Schema) -> "Premises":
        """Read the accepted view."""
        by: dict[str, list[Edge]] = defaultdict(list)
        for edge in load_edges(store):
            by[edge.predicate].append(edge)
        broader: dict[str, set[str]] = defaultdict(set)
        for quad in store.match(None, SKOS.broader, None, DefaultGraph()):
            if isinstance(quad.subject, NamedNode) and isinstance(quad.object, NamedNode):
                broader[quad.subject.value].add(quad.object.value)
        safety = [e for name in by if _rules(schema, name) for e in by[name]]
        return cls(
            tuple(sorted(safety, key=lambda e: e.claim)),
            tuple(by[SHIYI.hasIngredient.value]),
            tuple(by[SHIYI.impliesSyndrome.value]),
            {node: frozenset(above) for node, above in broader.items()},
            schema,
        )


def infer(premises: Premises) -> Iterator[Derivation]:
    """Yield every derivation; one claim may follow in several ways, none is an asserted one."""
    asserted = {(e.subject, e.predicate, e.object) for e in premises.safety}
    asserted |= {(e.subject, e.predicate, e.object) for e in _as_cautions(premises.safety)}
    narrower = _closure(_inverse(premises.broader))
    implying, containing = premises.syndrome_edges(), premises.ingredient_edges()
    for edge in _as_cautions(premises.safety):
        for derivation in (
            *_to_narrower(edge, narrower, premises.schema),
            *_along_implication(edge, implying, premises.schema),
            *_to_containers(edge, containing, premises.schema),
        ):
            if (derivation.subject, derivation.predicate, derivation.object) in asserted:
                continue
            if derivation.subject != derivation.object and not _is_stated(derivation, asserted):
                yield derivation


def derivation_quads(found: Iterable[Derivation]) -> Iterator[Quad]:
    """Yield each derived claim once: its best derivation's confidence, all premises and rules."""
    named = cache(NamedNode)  # many derivations share rules and premises
    ways: dict[NamedNode, list[Derivation]] = defaultdict(list)
    for derivation in found:
        ways[derivation.claim].append(derivation)
    for claim, derivations in sorted(ways.items(), key=lambda item: item[0].value):
        first = derivations[0]
        subject, predicate = named(first.subject), named(first.predicate)
        object_ = named(first.object)
        yield Quad(subject, predicate, object_, DERIVED)
        yield Quad(claim, RDF.reifies, Triple(subject, predicate, object_), DERIVED)
        yield Quad(claim, RDF.type, SHIYI.Claim, DERIVED)
        yield Quad(claim, SHIYI.status, SHIYI.accepted, DERIVED)
        yield Quad(claim, SHIYI.polarity, SHIYI.positive, DERIVED)
        best = max(each.confidence for each in derivations)
        yield Quad(claim, SHIYI.confidence, decimal(best), DERIVED)
        for rule in sorted({each.rule for each in derivations}):
            yield Quad(claim, SHIYI.derivedBy, named(rule), DERIVED)
        for premise in sorted({p for each in derivations for p in each.premises}):
            yield Quad(claim, PROV.wasDerivedFrom, named(premise), DERIVED)


def _as_cautions(edges: Iterable[Edge]) -> Iterator[Edge]:
    """Read ``condition unsuitableFood food`` from the food's side."""
    for e in edges:
        if e.predicate == _UNSUITABLE:
            yield Edge(e.object, e.predicate, e.subject, e.claim, e.confidence)
        else:
            yield e


def _is_stated(derivation: Derivation, asserted: set[tuple[str, str, str]]) -> bool:
    """Return whether a source already says as much or more about the same two."""
    if derivation.predicate == SHIYI.derivedCaution.value:
        names = (*_CAUTIONS, _UNSUITABLE)
        return any((derivation.subject, name, derivation.object) in asserted for name in names)
    return any(
        (one, _INTERACTS, two) in asserted
        for one, two in (
            (derivation.subject, derivation.object),
            (derivation.object, derivation.subject),
        )
    )


def _to_narrower(
    edge: Edge, narrower: Mapping[str, frozenset[str]], schema: Schema
) -> Iterator[Derivation]:
    rules = _rules(schema, edge.predicate)
    if "narrower" in rules:
        for below in narrower.get(edge.object, ()):
            yield Derivation(
                edge.subject,
                SHIYI.derivedCaution.value,
                below,
                SHIYI.inheritsToNarrower.value,
                (edge.claim,),
                edge.confidence,
            )
    if "member" in rules:
        for one, other in ((edge.subject, edge.object), (edge.object, edge.subject)):
            for member in narrower.get(other, ()):
                yield Derivation(
                    one,
                    SHIYI.potentiallyInteractsWith.value,
                    member,
                    SHIYI.inheritsToMember.value,
                    (edge.claim,),
                    edge.confidence,
                )


def _along_implication(
    edge: Edge, implying: Mapping[str, list[Edge]], schema: Schema
) -> Iterator[Derivation]:
    """Carry a fact on B to A where ``A impliesSyndrome B``, never the other way."""
    if "implication" not in _rules(schema, edge.predicate):
        return
    queue: list[tuple[str, tuple[str, ...], float]] = [
        (edge.object, (edge.claim,), edge.confidence)
    ]
    seen = {edge.object}
    while queue:
        implied, because, confidence = queue.pop(0)
        for link in implying.get(implied, ()):
            if link.subject in seen:
                continue
            seen.add(link.subject)
            grounds, weakest = (*because, link.claim), min(confidence, link.confidence)
            queue.append((link.subject, grounds, weakest))
            yield Derivation(
                edge.subject,
                SHIYI.derivedCaution.value,
                link.subject,
                SHIYI.inheritsAlongImplication.value,
                grounds,
                weakest,
            )


def _to_containers(
    edge: Edge, containing: Mapping[str, list[Edge]], schema: Schema
) -> Iterator[Derivation]:
    if edge.predicate != _UNSUITABLE and "ingredient" not in _rules(schema, edge.predicate):
        return
    sides = [(edge.subject, edge.object)]
    if schema.property(local_name(edge.predicate)).symmetric:
        sides.append((edge.object, edge.subject))
    for material, other in sides:
        for link in containing.get(material, ()):
            yield Derivation(
                link.subject,
                _for_container(edge.predicate),
                other,
                SHIYI.inheritsFromIngredient.value,
                (edge.claim, link.claim),
                min(edge.confidence, link.confidence),
            )


def _for_container(predicate: str) -> str:
    if predicate in _CAUTIONS or predicate == _UNSUITABLE:
        return SHIYI.derivedCaution.value
    if predicate == _INTERACTS:
        return SHIYI.potentiallyInteractsWith.value
    if predicate in {SHIYI.opposes.value, SHIYI.fears.value}:
        return SHIYI.incompatibleWith.value
    return predicate


def _by_object(edges: Iterable[Edge]) -> Mapping[str, list[Edge]]:
    found_edges: dict[str, list[Edge]] = defaultdict(list)
    for edge in edges:
        found_edges[edge.object].append(edge)
    return found_edges


def _rules(schema: Schema, predicate: str) -> frozenset[str]:
    known = schema.properties.get(local_name(predicate))
    return known.inherits if known else frozenset()


def _inverse(links: Mapping[str, frozenset[str]]) -> Mapping[str, frozenset[str]]:
    turned: dict[str, set[str]] = defaultdict(set)
    for node, others in links.items():
        for other in others:
            turned[other].add(node)
    return {node: frozenset(others) for node, others in turned.items()}


def _closure(links: Mapping[str, frozenset[str]]) -> Mapping[str, frozenset[str]]:
    """Return what each node reaches, itself left out even on a cycle."""
    reached = {}
    for start in links:
        seen, queue = {start}, [start]
        while queue:
            for following in links.get(queue.pop(), ()):
                if following not in seen:
                    seen.add(following)
                    queue.append(following)
        reached[start] = frozenset(seen - {start})
    return reached


ENTAILED: Final = graph("entailed")
SYMMETRIC, INVERSE, BROADER, TRANSITIVE = "prp-symp", "prp-inv", "prp-spo1", "prp-trp"
_OWL: Final = PREFIXES["owl"]
_BROADER: Final = PREFIXES["rdfs"] + "subPropertyOf"

Statement = tuple[str, str, str]


@dataclass(frozen=True, slots=True)
class Axioms:
    """What the vocabulary says of its relations; IRIs."""

    symmetric: frozenset[str]
    transitive: frozenset[str]
    inverse: Mapping[str, frozenset[str]]
    broader: Mapping[str, frozenset[str]]

    @classmethod
    @cache
    def load(cls) -> Self:
        """Read the shipped vocabulary, once."""
        kinds: dict[str, set[str]] = defaultdict(set)
        inverse: dict[str, set[str]] = defaultdict(set)
        broader: dict[str, set[str]] = defaultdict(set)
        for quad in parse_turtle(artefact("ontology/shiyi.ttl").read_text(encoding="utf-8")):
            one, other = text(quad.subject), text(quad.object)
            if quad.predicate == RDF.type:
                kinds[other].add(one)
            elif quad.predicate.value == _OWL + "inverseOf":
                inverse[one].add(other)
                inverse[other].add(one)
            elif quad.predicate.value == _BROADER and other.startswith(VOCAB):
                broader[one].add(other)
        return cls(
            frozenset(kinds[_OWL + "SymmetricProperty"]),
            frozenset(kinds[_OWL + "TransitiveProperty"]),
            {name: frozenset(results) for name, results in inverse.items()},
            {name: frozenset(results) for name, results in broader.items()},
        )

    def of_one(self, statement: Statement) -> Iterator[tuple[Statement, str]]:
        """Yield what follows from one statement, and by which rule."""
        subject, predicate, object_ = statement
        if predicate in self.symmetric:
            yield (object_, predicate, subject), SYMMETRIC
        for other in self.inverse.get(predicate, ()):
            yield (object_, other, subject), INVERSE
        for above in self.broader.get(predicate, ()):
            yield (subject, above, object_), BROADER


@dataclass(frozen=True, slots=True)
class EntailedStatement:
    """A statement that nobody made and that follows, at the weakest premise's confidence."""

    statement: Statement
    confidence: float
    rules: tuple[str, ...]
    premises: tuple[str, ...]  # claims


def entail(edges: Iterable[Edge], axioms: Axioms) -> Iterator[EntailedStatement]:
    """Yield what follows, each once by its surest way, without what is stated or is reflexive.

    The surest statements come first, so a chain is as sure as its weakest link and no way is surer.
    """
    claims = sorted(edges, key=lambda e: e.claim)
    stated = {(e.subject, e.predicate, e.object) for e in claims}
    waiting: list[tuple[float, Statement, tuple[str, ...], tuple[str, ...]]] = [
        (-e.confidence, (e.subject, e.predicate, e.object), (), (e.claim,)) for e in claims
    ]
    heapq.heapify(waiting)
    derived: dict[Statement, tuple[float, tuple[str, ...], tuple[str, ...]]] = {}
    after: dict[tuple[str, str], list[Statement]] = defaultdict(list)
    before: dict[tuple[str, str], list[Statement]] = defaultdict(list)
    while waiting:
        doubt, statement, rules, premises = heapq.heappop(waiting)
        if statement in derived:
            continue
        derived[statement] = doubt, rules, premises
        subject, predicate, object_ = statement
        if statement not in stated:
            yield EntailedStatement(statement, -doubt, rules, premises)
        for follows, rule in axioms.of_one(statement):
            if follows[0] != follows[2] and follows not in derived:
                heapq.heappush(waiting, (doubt, follows, _with(rules, [rule]), premises))
        if predicate not in axioms.transitive:
            continue
        after[subject, predicate].append(statement)
        before[object_, predicate].append(statement)
        joined = [(subject, other[2], other) for other in after[object_, predicate]]
        joined += [(other[0], object_, other) for other in before[subject, predicate]]
        for start, end, other in joined:
            if start == end or (start, predicate, end) in derived:
                continue
            weaker, more, because = derived[other]
            heapq.heappush(
                waiting,
                (
                    max(doubt, weaker),
                    (start, predicate, end),
                    _with(rules, [*more, TRANSITIVE]),
                    _with(premises, because),
                ),
            )


def entailed_quads(statements: Iterable[EntailedStatement]) -> Iterator[Quad]:
    """Yield statements for graph:entailed, each with its confidence, rules and premises.

    They are no claims and have no status: nobody made them.
    """
    for statement in statements:
        subject, predicate, object_ = map(NamedNode, statement.statement)
        name = content_hash(*map(canonical, (subject, predicate, object_)), "positive")
        node = resource(f"claim/{name}")
        yield Quad(subject, predicate, object_, ENTAILED)
        yield Quad(node, RDF.reifies, Triple(subject, predicate, object_), ENTAILED)
        yield Quad(node, SHIYI.confidence, decimal(statement.confidence), ENTAILED)
        for rule in statement.rules:
            yield Quad(node, SHIYI.derivedBy, resource(f"rule-{rule}"), ENTAILED)
        for premise in statement.premises:
            yield Quad(node, PROV.wasDerivedFrom, NamedNode(premise), ENTAILED)


def _with(one: Iterable[str], other: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted({*one, *other}))
