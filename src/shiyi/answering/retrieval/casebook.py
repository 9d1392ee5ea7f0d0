"""Clinical cases."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Self

from shiyi.answering.retrieval.bm25 import TextIndex
from shiyi.linking.normalization import fold
from shiyi.model.iris import GRAPH
from shiyi.model.rdf import Literal, NamedNode, text
from shiyi.ontology.terms import PROV, RDF, RDFS, SHIYI, SKOS
from shiyi.sparql.store.port import QuadStore, match_own, text_value, text_values

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
    text: str = ""

    def concepts(self, kind: str) -> tuple[str, ...]:
        """List the concepts that words of one kind refer to."""
        return tuple(dict.fromkeys(w.concept for w in self.words if w.kind == kind and w.concept))


@dataclass(frozen=True, slots=True)
class Chain:
    """A question that was answered before, and the claims that its answer went through."""

    iri: str
    question: str
    steps: tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False)
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
        """Return the concept that each wording of the cases refers to (the links of two layers)."""
        return {w.text: w.concept for case in self.cases for w in case.words if w.concept}


_WORDS = 5  # Shiyi's: terms a text needs at least to be compared; fewer say nothing


def worded(book: Casebook, text: str) -> Mapping[str, float]:
    """Return how well the words of each case cover those of a text, in [0, 1], by BM25; by IRI."""
    index = _text_index(book)
    best = index.ceiling(text)
    if not best or index.known(text) < _WORDS:
        return {}
    scores = (index.scores(text) / best).clip(0, 1)
    return {
        case.iri: score for case, score in zip(book.cases, scores.tolist(), strict=True) if score
    }


@lru_cache(maxsize=2)
def _text_index(book: Casebook) -> TextIndex:
    lines = (" ".join((case.text, *(w.text for w in case.words))) for case in book.cases)
    return TextIndex.bm25([fold(line) for line in lines])


def _cases(store: QuadStore) -> Iterator[Case]:
    words: dict[str, list[Words]] = defaultdict(list)
    for quad in match_own(store, None, SHIYI.mentionedIn, None, None):
        words[text(quad.object)].append(_words(store, text(quad.subject)))
    for quad in match_own(store, None, RDF.type, SHIYI.PatientCase, None):
        case = text(quad.subject)
        own = _own(store, case)
        yield Case(
            case,
            tuple(own.get(SHIYI.recordedIn, ())),
            _first(own, SHIYI.ageGroup),
            _first(own, SHIYI.sex),
            frozenset(own.get(SHIYI.medicalHistory, ())),
            tuple(sorted(words.get(case, ()), key=lambda each: each.iri)),
            _first(own, RDF.value),
        )


def _words(store: QuadStore, node: str) -> Words:
    own = _own(store, node)
    return Words(
        node,
        _first(own, RDFS.label),
        _first(own, SHIYI.mentionKind),
        _first(own, SHIYI.theReferenceOf),
        tuple(own.get(SHIYI.leadsTo, ())),
    )


def _chains(store: QuadStore) -> Iterator[Chain]:
    for quad in match_own(store, None, RDF.type, SHIYI.ReasoningChain, None):
        own = _own(store, text(quad.subject))
        if question := _first(own, RDFS.label):
            yield Chain(text(quad.subject), question, tuple(own.get(SHIYI.hasStep, ())))


def _own(store: QuadStore, node: str) -> dict[NamedNode, list[str]]:
    values: dict[NamedNode, list[str]] = defaultdict(list)
    for quad in store.match(NamedNode(node), None, None, None):
        if isinstance(quad.object, NamedNode | Literal):
            values[quad.predicate].append(text(quad.object))
    return values


def _first(own: Mapping[NamedNode, list[str]], predicate: NamedNode) -> str:
    return next(iter(own.get(predicate, ())), "")


_CASES = f"{GRAPH}cases/"
_MATCHES = (SKOS.exactMatch, SKOS.broadMatch, SKOS.closeMatch)


@dataclass(frozen=True, slots=True)
class CaseWords:
    """Words of a case: their kind, the term they refer to, if any, and how they match it."""

    iri: str
    words: str
    kind: str
    term: str = ""
    match: str = ""  # exactMatch, broadMatch or closeMatch


@dataclass(frozen=True, slots=True)
class PatientCase:
    """One case; ``steps`` are pairs of words, from what to what was reasoned."""

    iri: str
    text: str
    age_group: str
    sex: str
    history: tuple[str, ...]
    classes: tuple[str, ...]
    words: tuple[CaseWords, ...]
    steps: tuple[tuple[str, str], ...]
    source: str


@dataclass(frozen=True, slots=True)
class CaseCount:
    """How often cases speak of a concept: by age group, by sex, and in words of two cases or more.

    The most frequent stand first.
    """

    cases: int
    age_groups: tuple[tuple[str, int], ...]
    sexes: tuple[tuple[str, int], ...]
    words: tuple[tuple[str, int], ...]


def counted(store: QuadStore, concept: str) -> CaseCount:
    """Count the cases that name a concept, or are filed under it; none is quoted."""
    found: dict[str, NamedNode] = {}
    words = Counter[str]()
    for place in case_graphs(store):
        for quad in match_own(store, None, SHIYI.recordedIn, NamedNode(concept), place):
            found[text(quad.subject)] = place
        for quad in match_own(store, None, SHIYI.theReferenceOf, NamedNode(concept), place):
            if isinstance(quad.subject, NamedNode):
                found[text_value(store, quad.subject, SHIYI.mentionedIn, place)] = place
                words[text_value(store, quad.subject, RDFS.label, place)] += 1

    def told(predicate: NamedNode) -> tuple[tuple[str, int], ...]:
        counts = Counter(
            text_value(store, NamedNode(case), predicate, place) for case, place in found.items()
        )
        return tuple((each, n) for each, n in sorted(counts.items(), key=_most) if each)

    return CaseCount(
        len(found),
        told(SHIYI.ageGroup),
        told(SHIYI.sex),
        tuple((word, n) for word, n in sorted(words.items(), key=_most) if n > 1),
    )


def _most(each: tuple[str, int]) -> tuple[int, str]:
    return -each[1], each[0]


def case_graphs(store: QuadStore) -> tuple[NamedNode, ...]:
    """List the graphs that hold cases."""
    found = {
        quad.graph_name
        for quad in match_own(store, None, RDF.type, SHIYI.PatientCase)
        if isinstance(quad.graph_name, NamedNode) and quad.graph_name.value.startswith(_CASES)
    }
    return tuple(sorted(found, key=lambda each: each.value))


def cases(store: QuadStore) -> Iterator[PatientCase]:
    """Yield every case."""
    for place in case_graphs(store):
        for quad in match_own(store, None, RDF.type, SHIYI.PatientCase, place):
            if isinstance(quad.subject, NamedNode):
                yield _case(store, quad.subject, place)


def cases_under(store: QuadStore, disease: str) -> Iterator[PatientCase]:
    """Yield the cases filed under a disease class, of the first level or the second."""
    for place in case_graphs(store):
        for quad in match_own(store, None, SHIYI.recordedIn, NamedNode(disease), place):
            if isinstance(quad.subject, NamedNode):
                yield _case(store, quad.subject, place)


def referring_to(store: QuadStore, term: str) -> Iterator[tuple[str, CaseWords]]:
    """Yield the words of cases that refer to a term, each with the IRI of its case."""
    for place in case_graphs(store):
        for quad in match_own(store, None, SHIYI.theReferenceOf, NamedNode(term), place):
            if isinstance(quad.subject, NamedNode):
                case = text_value(store, quad.subject, SHIYI.mentionedIn, place)
                yield case, _layer_words(store, quad.subject, place)


def _case(store: QuadStore, node: NamedNode, place: NamedNode) -> PatientCase:
    nodes = [
        quad.subject
        for quad in match_own(store, None, SHIYI.mentionedIn, node, place)
        if isinstance(quad.subject, NamedNode)
    ]
    words = {each.value: _layer_words(store, each, place) for each in nodes}
    steps = tuple(
        sorted(
            (words[each.value].words, words[text(quad.object)].words)
            for each in nodes
            for quad in store.match(each, SHIYI.leadsTo, None, place)
            if text(quad.object) in words
        )
    )
    return PatientCase(
        node.value,
        text_value(store, node, RDF.value, place),
        text_value(store, node, SHIYI.ageGroup, place),
        text_value(store, node, SHIYI.sex, place),
        text_values(store, node, SHIYI.medicalHistory, place),
        text_values(store, node, SHIYI.recordedIn, place),
        tuple(sorted(words.values(), key=lambda each: each.iri)),
        steps,
        text_value(store, node, PROV.wasDerivedFrom, place),
    )


def _layer_words(store: QuadStore, node: NamedNode, place: NamedNode) -> CaseWords:
    match = term = ""
    for predicate in _MATCHES:
        if not term and (term := text_value(store, node, predicate, place)):
            match = predicate.value.rpartition("#")[2]
    return CaseWords(
        node.value,
        text_value(store, node, RDFS.label, place),
        text_value(store, node, SHIYI.mentionKind, place),
        term,
        match,
    )
