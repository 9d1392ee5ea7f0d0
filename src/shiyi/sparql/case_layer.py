"""The layer of cases, read: who (in facets), under which class, in which words, and what they mean."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from shiyi.model.names import GRAPH
from shiyi.model.rdf import NamedNode, text
from shiyi.ontology.terms import PROV, RDF, RDFS, SHIYI, SKOS
from shiyi.sparql.store import QuadStore
from shiyi.sparql.words import word_of, words_of

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
    """Count the cases whose words refer to a concept, or that are filed under it; none is quoted."""
    found: dict[str, NamedNode] = {}
    words = Counter[str]()
    for place in case_graphs(store):
        for quad in store.match(None, SHIYI.recordedIn, NamedNode(concept), place):
            found[text(quad.subject)] = place
        for quad in store.match(None, SHIYI.theReferenceOf, NamedNode(concept), place):
            if isinstance(quad.subject, NamedNode):
                found[word_of(store, quad.subject, SHIYI.mentionedIn, place)] = place
                words[word_of(store, quad.subject, RDFS.label, place)] += 1

    def told(predicate: NamedNode) -> tuple[tuple[str, int], ...]:
        said = Counter(
            word_of(store, NamedNode(case), predicate, place) for case, place in found.items()
        )
        return tuple((each, n) for each, n in sorted(said.items(), key=_most) if each)

    return CaseCount(
        len(found),
        told(SHIYI.ageGroup),
        told(SHIYI.sex),
        tuple((said, n) for said, n in sorted(words.items(), key=_most) if n > 1),
    )


def _most(each: tuple[str, int]) -> tuple[int, str]:
    return -each[1], each[0]


def case_graphs(store: QuadStore) -> tuple[NamedNode, ...]:
    """List the graphs that hold cases."""
    found = {
        quad.graph_name for quad in store.match(None, RDF.type, SHIYI.PatientCase)
        if isinstance(quad.graph_name, NamedNode) and quad.graph_name.value.startswith(_CASES)
    }  # fmt: skip
    return tuple(sorted(found, key=lambda each: each.value))


def cases(store: QuadStore) -> Iterator[PatientCase]:
    """Yield every case."""
    for place in case_graphs(store):
        for quad in store.match(None, RDF.type, SHIYI.PatientCase, place):
            if isinstance(quad.subject, NamedNode):
                yield _case(store, quad.subject, place)


def cases_under(store: QuadStore, disease: str) -> Iterator[PatientCase]:
    """Yield the cases filed under a disease class, of the first level or the second."""
    for place in case_graphs(store):
        for quad in store.match(None, SHIYI.recordedIn, NamedNode(disease), place):
            if isinstance(quad.subject, NamedNode):
                yield _case(store, quad.subject, place)


def referring_to(store: QuadStore, term: str) -> Iterator[tuple[str, CaseWords]]:
    """Yield the words of cases that refer to a term, each with the IRI of its case."""
    for place in case_graphs(store):
        for quad in store.match(None, SHIYI.theReferenceOf, NamedNode(term), place):
            if isinstance(quad.subject, NamedNode):
                case = word_of(store, quad.subject, SHIYI.mentionedIn, place)
                yield case, _words(store, quad.subject, place)


def _case(store: QuadStore, node: NamedNode, place: NamedNode) -> PatientCase:
    nodes = [
        quad.subject for quad in store.match(None, SHIYI.mentionedIn, node, place)
        if isinstance(quad.subject, NamedNode)
    ]  # fmt: skip
    words = {each.value: _words(store, each, place) for each in nodes}
    steps = tuple(sorted(
        (words[each.value].words, words[text(quad.object)].words)
        for each in nodes for quad in store.match(each, SHIYI.leadsTo, None, place)
        if text(quad.object) in words
    ))  # fmt: skip
    return PatientCase(
        node.value, word_of(store, node, RDF.value, place), word_of(store, node, SHIYI.ageGroup, place),
        word_of(store, node, SHIYI.sex, place), words_of(store, node, SHIYI.medicalHistory, place),
        words_of(store, node, SHIYI.recordedIn, place),
        tuple(sorted(words.values(), key=lambda each: each.iri)), steps,
        word_of(store, node, PROV.wasDerivedFrom, place),
    )  # fmt: skip


def _words(store: QuadStore, node: NamedNode, place: NamedNode) -> CaseWords:
    match = term = ""
    for predicate in _MATCHES:
        if not term and (term := word_of(store, node, predicate, place)):
            match = predicate.value.rpartition("#")[2]
    return CaseWords(
        node.value, word_of(store, node, RDFS.label, place),
        word_of(store, node, SHIYI.mentionKind, place), term, match,
    )  # fmt: skip
