"""Clinical cases that a base holds: what they are filed under, of whom they are, what they say."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Self

from shiyi.model.rdf import Literal, NamedNode, text
from shiyi.ontology.terms import RDF, RDFS, SHIYI
from shiyi.sparql.store import QuadStore

SYMPTOM, PATTERN = "symptom", "pattern"


@dataclass(frozen=True, slots=True)
class Words:
    """Words of a case: their kind, the concept they refer to, and what is reasoned from them."""

    iri: str
    text: str
    kind: str
    concept: str = ""
    leads_to: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Case:
    """A case: classes it is filed under, facets of the patient, and its words."""

    iri: str
    filed: tuple[str, ...]
    age_group: str
    sex: str
    history: frozenset[str]
    words: tuple[Words, ...]

    def concepts(self, kind: str) -> tuple[str, ...]:
        """List the concepts that words of one kind refer to."""
        return tuple(dict.fromkeys(w.concept for w in self.words if w.kind == kind and w.concept))


@dataclass(frozen=True, slots=True)
class Chain:
    """A question that was answered before, and the claims that its answer went through."""

    iri: str
    question: str
    steps: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Casebook:
    """Every case and every reasoning chain of a base; often none."""

    cases: tuple[Case, ...] = ()
    chains: tuple[Chain, ...] = ()

    @classmethod
    def read(cls, store: QuadStore) -> Self:
        """Read the cases and chains of all graphs."""
        return cls(tuple(_cases(store)), tuple(_chains(store)))

    @property
    def references(self) -> Mapping[str, str]:
        """Give the concept that each wording of the cases refers to (the links of two layers)."""
        return {w.text: w.concept for case in self.cases for w in case.words if w.concept}


def _cases(store: QuadStore) -> Iterator[Case]:
    words: dict[str, list[Words]] = defaultdict(list)
    for quad in store.match(None, SHIYI.mentionedIn, None, None):
        words[text(quad.object)].append(_words(store, text(quad.subject)))
    for quad in store.match(None, RDF.type, SHIYI.PatientCase, None):
        case = text(quad.subject)
        own = _own(store, case)
        yield Case(
            case, tuple(own.get(SHIYI.recordedIn, ())), _first(own, SHIYI.ageGroup),
            _first(own, SHIYI.sex), frozenset(own.get(SHIYI.medicalHistory, ())),
            tuple(sorted(words.get(case, ()), key=lambda each: each.iri)),
        )  # fmt: skip


def _words(store: QuadStore, node: str) -> Words:
    own = _own(store, node)
    return Words(
        node, _first(own, RDFS.label), _first(own, SHIYI.mentionKind),
        _first(own, SHIYI.theReferenceOf), tuple(own.get(SHIYI.leadsTo, ())),
    )  # fmt: skip


def _chains(store: QuadStore) -> Iterator[Chain]:
    for quad in store.match(None, RDF.type, SHIYI.ReasoningChain, None):
        own = _own(store, text(quad.subject))
        if question := _first(own, RDFS.label):
            yield Chain(text(quad.subject), question, tuple(own.get(SHIYI.hasStep, ())))


def _own(store: QuadStore, node: str) -> dict[NamedNode, list[str]]:
    said: dict[NamedNode, list[str]] = defaultdict(list)
    for quad in store.match(NamedNode(node), None, None, None):
        if isinstance(quad.object, NamedNode | Literal):
            said[quad.predicate].append(text(quad.object))
    return said


def _first(own: Mapping[NamedNode, list[str]], predicate: NamedNode) -> str:
    return next(iter(own.get(predicate, ())), "")
