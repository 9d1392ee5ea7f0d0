"""Members of the classes that the vocabulary defines (``owl:equivalentClass``), by OWL 2 RL.

HermiT finds the same members (:mod:`shiyi.ontology.reasoner`, a test compares them); these rules
need no Java and take 0.1 s on the starter base, so they run at every build and change.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Final, Self

from shiyi.artefacts import artefact
from shiyi.model.iris import VOCAB, content_hash, resource
from shiyi.model.rdf import DefaultGraph, NamedNode, Quad, Term, Triple, canonical, parse_turtle
from shiyi.model.rdf import text as text_of
from shiyi.ontology.schema import Schema
from shiyi.ontology.terms import RDF, RDFS, SHIYI
from shiyi.reasoning.rules import ENTAILED, EntailedStatement, entailed_quads
from shiyi.sparql.store.port import QuadStore

_OWL: Final = "http://www.w3.org/2002/07/owl#"
_LIST: Final = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
_FIRST, _REST = f"{_LIST}first", f"{_LIST}rest"
_ACCEPTED: Final = DefaultGraph()
INTERSECTION, UNION, VALUE, SOME, ASSERTED = "cls-int1", "cls-uni", "cls-hv2", "cls-svf1", "cax-sco"


@dataclass(frozen=True, slots=True)
class Ground:
    """Why a thing is a member: confidence of the weakest claim, the claims, and the rules."""

    confidence: float = 1.0
    premises: frozenset[str] = frozenset()
    rules: frozenset[str] = frozenset()

    def join(self, other: "Ground", rule: str) -> "Ground":
        """Return the ground of what needs both."""
        return Ground(
            min(self.confidence, other.confidence),
            self.premises | other.premises,
            self.rules | other.rules | {rule},
        )


Members = Mapping[Term, Ground]


@dataclass(frozen=True, slots=True)
class Definitions:
    """The class expressions of the vocabulary, as a graph, and the classes they define."""

    values: Mapping[tuple[Term, str], tuple[Term, ...]]
    defined: Mapping[NamedNode, Term]

    @classmethod
    @cache
    def load(cls) -> Self:
        """Read the shipped vocabulary, once."""
        return cls.parse(artefact("ontology/shiyi.ttl").read_text(encoding="utf-8"))

    @classmethod
    def parse(cls, turtle: str) -> Self:
        """Read the definitions of a vocabulary written in Turtle."""
        found_terms: dict[tuple[Term, str], list[Term]] = defaultdict(list)
        for quad in parse_turtle(turtle):
            found_terms[quad.subject, quad.predicate.value].append(quad.object)
        defined_terms = {
            subject: terms[0]
            for (subject, predicate), terms in found_terms.items()
            if predicate == f"{_OWL}equivalentClass" and isinstance(subject, NamedNode)
        }
        return cls({key: tuple(terms) for key, terms in found_terms.items()}, defined_terms)

    @property
    def predicates(self) -> frozenset[str]:
        """List the relations that definitions name, narrower ones included."""
        named = {
            text_of(terms[0])
            for (_, predicate), terms in self.values.items()
            if predicate == f"{_OWL}onProperty"
        }
        return frozenset(each for name in named for each in self.narrower(name))

    def narrower(self, predicate: str) -> tuple[str, ...]:
        """List a relation and those below it."""
        schema = Schema.load()
        below = (
            VOCAB + name
            for name, known in schema.properties.items()
            if VOCAB + name != predicate and predicate.removeprefix(VOCAB) in known.parents
        )
        return (predicate, *below)

    def one(self, node: Term, name: str) -> Term | None:
        """Return a value of an OWL property of a class expression."""
        return next(iter(self.values.get((node, _OWL + name), ())), None)

    def list_items(self, head: Term) -> Iterator[Term]:
        """Yield the items of an RDF list."""
        while first := self.values.get((head, _FIRST)):
            yield first[0]
            head = self.values[head, _REST][0]


def classify(store: QuadStore, definitions: Definitions) -> Iterator[EntailedStatement]:
    """Yield the members of every defined class, each by its surest ground."""
    membership = _Membership(store, definitions)
    for name in sorted(definitions.defined, key=str):
        for node, ground in sorted(membership.of(name).items(), key=lambda row: str(row[0])):
            yield EntailedStatement(
                (text_of(node), RDF.type.value, name.value),
                ground.confidence,
                tuple(sorted(ground.rules)),
                tuple(sorted(ground.premises)),
            )


def class_quads(store: QuadStore) -> Iterator[Quad]:
    """Yield the memberships for graph:entailed, each with confidence, rules and premises."""
    yield from entailed_quads(classify(store, Definitions.load()))


def stored_classifications(store: QuadStore) -> Iterator[Quad]:
    """Yield what graph:entailed holds of memberships and of the class hierarchy."""
    nodes = {
        quad.subject
        for quad in store.match(None, RDF.reifies, None, ENTAILED)
        if isinstance(quad.object, Triple) and quad.object.predicate == RDF.type
    }
    for quad in store.match(None, None, None, ENTAILED):
        if quad.predicate in {RDF.type, RDFS.subClassOf} or quad.subject in nodes:
            yield quad


def load_defined_members(store: QuadStore) -> dict[Term, frozenset[Term]]:
    """Return the members of each defined class as graph:entailed holds them."""
    return {
        name: frozenset(quad.subject for quad in store.match(None, RDF.type, name, ENTAILED))
        for name in Definitions.load().defined
    }


class _Membership:
    """Evaluates class expressions over the accepted view of a store."""

    def __init__(self, store: QuadStore, definitions: Definitions) -> None:
        self._store, self._definitions = store, definitions
        self._known: dict[Term, Members] = {}

    def of(self, expression: Term) -> Members:
        """Return the members of a class or class expression; nothing for one that is not OWL RL."""
        if expression not in self._known:
            self._known[expression] = {}  # a definition that uses itself adds nothing
            self._known[expression] = self._members(expression)
        return self._known[expression]

    def _members(self, expression: Term) -> Members:
        definitions = self._definitions
        if isinstance(expression, NamedNode):
            term = definitions.defined.get(expression)
            return self.of(term) if term is not None else self._asserted_members(expression)
        if (head := definitions.one(expression, "intersectionOf")) is not None:
            first, *rest = (self.of(item) for item in definitions.list_items(head))
            for other in rest:
                first = {n: g.join(other[n], INTERSECTION) for n, g in first.items() if n in other}
            return first
        if (head := definitions.one(expression, "unionOf")) is not None:
            return _union(self.of(item) for item in definitions.list_items(head))
        if (head := definitions.one(expression, "oneOf")) is not None:
            return {item: Ground() for item in definitions.list_items(head)}
        return self._restricted_members(expression)

    def _asserted_members(self, name: NamedNode) -> Members:
        below = Schema.load().subclasses(name.value.removeprefix(VOCAB))
        return {
            quad.subject: Ground(rules=frozenset([ASSERTED]) if node != name else frozenset())
            for node in (NamedNode(VOCAB + kind) for kind in below)
            for quad in self._store.match(None, RDF.type, node, _ACCEPTED)
        }

    def _restricted_members(self, expression: Term) -> Members:
        relation = self._definitions.one(expression, "onProperty")
        value = self._definitions.one(expression, "hasValue")
        some = self._definitions.one(expression, "someValuesFrom")
        if relation is None or (value is None and some is None):
            return {}
        grounds = {value: Ground()} if value is not None else self.of(some) if some else {}
        rule = VALUE if value is not None else SOME
        found_grounds: dict[Term, Ground] = {}
        for name in self._definitions.narrower(text_of(relation)):
            for quad in self._store.match(None, NamedNode(name), None, _ACCEPTED):
                if (stored := grounds.get(quad.object)) is None:
                    continue
                ground = self._ground_of_claim(quad).join(stored, rule)
                known = found_grounds.get(quad.subject)
                if known is None or ground.confidence > known.confidence:
                    found_grounds[quad.subject] = ground
        return found_grounds

    def _ground_of_claim(self, quad: Quad) -> Ground:
        parts = (quad.subject, quad.predicate, quad.object)
        claim = resource(f"claim/{content_hash(*map(canonical, parts), 'positive')}")
        stated = next(self._store.match(claim, SHIYI.confidence, None, _ACCEPTED), None)
        sure = float(text_of(stated.object)) if stated else 1.0
        return Ground(sure, frozenset([claim.value]))


def _union(parts: Iterator[Members]) -> Members:
    grounds: dict[Term, Ground] = {}
    for members in parts:
        for node, ground in members.items():
            if node not in grounds or ground.confidence > grounds[node].confidence:
                grounds[node] = ground.join(Ground(), UNION)
    return grounds
