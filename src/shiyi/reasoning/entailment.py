"""What OWL 2 RL lets follow from accepted claims: converses, broader relations, chains of one relation.

Rules prp-symp, prp-inv, prp-spo1 and prp-trp of https://www.w3.org/TR/owl2-profiles/, Table 5. What warns follows
by rules of its own (:mod:`shiyi.reasoning.inheritance`), and answers read both ends of a claim without these;
they are for SPARQL, in a graph apart, so that a claim and its converse are never counted as two.
"""

import heapq
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Final, Self

from shiyi.artefacts import artefact
from shiyi.model.names import VOCAB, content_hash, graph, resource
from shiyi.model.rdf import NamedNode, Quad, Triple, canonical, decimal, parse_turtle, text
from shiyi.ontology.terms import PREFIXES, PROV, RDF, SHIYI
from shiyi.reasoning.projection import Edge

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
            {name: frozenset(found) for name, found in inverse.items()},
            {name: frozenset(found) for name, found in broader.items()},
        )  # fmt: skip

    def of_one(self, said: Statement) -> Iterator[tuple[Statement, str]]:
        """Yield what follows from one statement, and by which rule."""
        subject, predicate, object_ = said
        if predicate in self.symmetric:
            yield (object_, predicate, subject), SYMMETRIC
        for other in self.inverse.get(predicate, ()):
            yield (object_, other, subject), INVERSE
        for above in self.broader.get(predicate, ()):
            yield (subject, above, object_), BROADER


@dataclass(frozen=True, slots=True)
class Entailed:
    """A statement that nobody made and that follows, at the weakest premise's confidence."""

    statement: Statement
    confidence: float
    rules: tuple[str, ...]
    premises: tuple[str, ...]  # claims


def entail(edges: Iterable[Edge], axioms: Axioms) -> Iterator[Entailed]:
    """Yield what follows, each once by its surest way; what is stated, or joins a thing to itself, is not.

    Statements are taken the surest first, so a chain is as sure as its weakest link and no way is surer.
    """
    claims = sorted(edges, key=lambda e: e.claim)
    stated = {(e.subject, e.predicate, e.object) for e in claims}
    waiting: list[tuple[float, Statement, tuple[str, ...], tuple[str, ...]]] = [
        (-e.confidence, (e.subject, e.predicate, e.object), (), (e.claim,)) for e in claims
    ]
    heapq.heapify(waiting)
    held: dict[Statement, tuple[float, tuple[str, ...], tuple[str, ...]]] = {}
    after: dict[tuple[str, str], list[Statement]] = defaultdict(list)
    before: dict[tuple[str, str], list[Statement]] = defaultdict(list)
    while waiting:
        doubt, said, rules, premises = heapq.heappop(waiting)
        if said in held:
            continue
        held[said] = doubt, rules, premises
        subject, predicate, object_ = said
        if said not in stated:
            yield Entailed(said, -doubt, rules, premises)
        for follows, rule in axioms.of_one(said):
            if follows[0] != follows[2] and follows not in held:
                heapq.heappush(waiting, (doubt, follows, _with(rules, [rule]), premises))
        if predicate not in axioms.transitive:
            continue
        after[subject, predicate].append(said)
        before[object_, predicate].append(said)
        joined = [(subject, other[2], other) for other in after[object_, predicate]]
        joined += [(other[0], object_, other) for other in before[subject, predicate]]
        for start, end, other in joined:
            if start == end or (start, predicate, end) in held:
                continue
            weaker, more, because = held[other]
            heapq.heappush(waiting, (
                max(doubt, weaker), (start, predicate, end), _with(rules, [*more, TRANSITIVE]),
                _with(premises, because),
            ))  # fmt: skip


def entailed_quads(found: Iterable[Entailed]) -> Iterator[Quad]:
    """Yield statements for graph:entailed, each with its confidence, rules and premises.

    They are no claims and have no status: nobody made them.
    """
    for each in found:
        subject, predicate, object_ = map(NamedNode, each.statement)
        name = content_hash(*map(canonical, (subject, predicate, object_)), "positive")
        node = resource(f"claim/{name}")
        yield Quad(subject, predicate, object_, ENTAILED)
        yield Quad(node, RDF.reifies, Triple(subject, predicate, object_), ENTAILED)
        yield Quad(node, SHIYI.confidence, decimal(each.confidence), ENTAILED)
        for rule in each.rules:
            yield Quad(node, SHIYI.derivedBy, resource(f"rule-{rule}"), ENTAILED)
        for premise in each.premises:
            yield Quad(node, PROV.wasDerivedFrom, NamedNode(premise), ENTAILED)


def _with(one: Iterable[str], other: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted({*one, *other}))
