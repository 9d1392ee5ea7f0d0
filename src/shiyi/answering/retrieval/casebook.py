"""Clinical cases, and the reasoning chains of answered questions."""

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Final, Self

from shiyi.answering.retrieval.bm25 import TextIndex
from shiyi.linking.normalization import fold
from shiyi.model.iris import GRAPH
from shiyi.model.rdf import Literal, NamedNode, text
from shiyi.ontology.lexicon import sentences
from shiyi.ontology.terms import PROV, RDF, RDFS, SHIYI, SKOS
from shiyi.sparql.store.port import QuadStore, match_own, text_value

SYMPTOM, PATTERN = "symptom", "pattern"
_CASES, _SCHOOLS = f"{GRAPH}cases/", f"{GRAPH}schools/"
_MATCHES: Final = (SKOS.exactMatch, SKOS.broadMatch, SKOS.closeMatch)
_WORDS: Final = 5  # Shiyi's: terms a text needs at least to be compared; fewer say nothing


@dataclass(frozen=True, slots=True)
class Words:
    """Words of a case: their kind, the concept they refer to, how they match it, what follows."""

    iri: str
    text: str
    kind: str
    concept: str = ""
    match: str = ""  # exactMatch, broadMatch or closeMatch
    leads_to: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Case:
    """A case: classes it is filed under, facets of the patient, and its words.

    ``made_up`` cases are samples of no patient.
    """

    iri: str
    filed: tuple[str, ...]
    age_group: str
    sex: str
    history: frozenset[str]
    words: tuple[Words, ...]
    text: str = ""
    source: str = ""
    made_up: bool = False

    def concepts(self, kind: str) -> tuple[str, ...]:
        """List the concepts that words of one kind refer to."""
        return tuple(dict.fromkeys(w.concept for w in self.words if w.kind == kind and w.concept))

    @property
    def steps(self) -> tuple[tuple[str, str], ...]:
        """List pairs of words, from what to what was reasoned."""
        texts = {word.iri: word.text for word in self.words}
        pairs = ((w.text, texts[to]) for w in self.words for to in w.leads_to if to in texts)
        return tuple(sorted(pairs))


@dataclass(frozen=True, slots=True)
class Chain:
    """A question that was answered before, its triples in words, and the claims among them.

    ``school`` is the IRI of the school that answered, if it was one.
    """

    iri: str
    question: str
    steps: tuple[str, ...]
    answer: str = ""
    triples: tuple[tuple[str, ...], ...] = ()
    reasoning: str = ""
    passages: tuple[str, ...] = ()
    school: str = ""


@dataclass(frozen=True, eq=False)
class Casebook:
    """Every case and every reasoning chain of a base; often none."""

    cases: tuple[Case, ...] = ()
    chains: tuple[Chain, ...] = ()

    @classmethod
    def read(cls, store: QuadStore) -> Self:
        """Read the cases and chains of all graphs."""
        return cls(tuple(_cases(store)), tuple(chains(store)))

    @cached_property
    def references(self) -> Mapping[str, str]:
        """Return the concept that each wording of the cases refers to (the links of two layers)."""
        return {w.text: w.concept for case in self.cases for w in case.words if w.concept}


def score_by_words(book: Casebook, text: str) -> Mapping[str, float]:
    """Return how well the words of each case cover those of a text, in [0, 1], by BM25; by IRI."""
    index = _text_index(book)
    best = index.ceiling(text)
    if not best or index.count_known_terms(text) < _WORDS:
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
    samples = list_sample_sources(store)
    for quad in match_own(store, None, RDF.type, SHIYI.PatientCase, None):
        case = text(quad.subject)
        own = _values(store, case)
        source = _first(own, PROV.wasDerivedFrom)
        yield Case(
            case,
            tuple(sorted(own.get(SHIYI.recordedIn, ()))),
            _first(own, SHIYI.ageGroup),
            _first(own, SHIYI.sex),
            frozenset(own.get(SHIYI.medicalHistory, ())),
            tuple(sorted(words.get(case, ()), key=lambda each: each.iri)),
            _first(own, RDF.value),
            source,
            source in samples,
        )


def list_sample_sources(store: QuadStore) -> frozenset[str]:
    """List the sources that are samples: nobody in them is real."""
    return frozenset(text(quad.subject) for quad in store.match(None, SHIYI.madeUp, None, None))


def _words(store: QuadStore, node: str) -> Words:
    own = _values(store, node)
    match = next((p for p in _MATCHES if p in own), None)
    return Words(
        node,
        _first(own, RDFS.label),
        _first(own, SHIYI.mentionKind),
        _first(own, SHIYI.theReferenceOf),
        match.value.rpartition("#")[2] if match else "",
        tuple(own.get(SHIYI.leadsTo, ())),
    )


def chains(store: QuadStore, school: str = "") -> Iterator[Chain]:
    """Yield the reasoning chains of a school, or of all, in a lasting order."""
    schools: dict[object, str] = {
        quad.graph_name: text(quad.subject)
        for quad in store.match(None, RDF.type, SHIYI.School)
        if isinstance(quad.graph_name, NamedNode) and quad.graph_name.value.startswith(_SCHOOLS)
    }
    quads = match_own(store, None, RDF.type, SHIYI.ReasoningChain, None)
    for quad in sorted(quads, key=lambda q: (str(q.graph_name), text(q.subject))):
        own, node, place = _values(store, text(quad.subject)), quad.subject, quad.graph_name
        if not isinstance(place, NamedNode):
            continue
        by = schools.get(place, "")
        if (school and by != school) or not (question := _first(own, RDFS.label)):
            continue
        reasoning: dict[NamedNode, list[str]] = {}
        for derived in store.match(None, PROV.wasDerivedFrom, node, place):
            reasoning = _values(store, text(derived.subject))
        origins = reasoning.get(PROV.wasDerivedFrom, ())
        yield Chain(
            text(node),
            question,
            tuple(own.get(SHIYI.hasStep, ())),
            _first(own, SHIYI.answerText),
            tuple(tuple(line.split("\t")) for line in _first(own, RDF.value).splitlines()),
            _first(reasoning, RDF.value),
            tuple(sorted(origin for origin in origins if origin != text(node))),
            by,
        )


def training_lines(chains: Iterable[Chain]) -> Iterator[str]:
    """Yield JSON Lines of the usual chat format, two for each chain; a question comes once.

    Learning rate, batch and cut-off are the trainer's; TCM-DiffRAG took 1e-4, 2 and 2,046 tokens.
    """
    seen: set[tuple[str, str]] = set()
    systems = {name: " ".join(texts) for name, texts in sentences("reasoning").items()}
    for chain in chains:
        triples = "\n".join("\t".join(triple) for triple in chain.triples)
        for task, target in (("reasoning", chain.reasoning), ("triples", triples)):
            if target and (task, chain.question) not in seen:
                seen.add((task, chain.question))
                texts = systems[f"train_{task}"], chain.question, target
                turns = zip(("system", "user", "assistant"), texts, strict=True)
                messages = [{"role": role, "content": content} for role, content in turns]
                yield json.dumps({"messages": messages}, ensure_ascii=False)


def _values(store: QuadStore, node: str) -> dict[NamedNode, list[str]]:
    values: dict[NamedNode, list[str]] = defaultdict(list)
    for quad in store.match(NamedNode(node), None, None, None):
        if isinstance(quad.object, NamedNode | Literal):
            values[quad.predicate].append(text(quad.object))
    return values


def _first(own: Mapping[NamedNode, list[str]], predicate: NamedNode) -> str:
    return next(iter(own.get(predicate, ())), "")


@dataclass(frozen=True, slots=True)
class CaseCount:
    """How often cases speak of a concept: by age group, by sex, and in words of two cases or more.

    The most frequent stand first; ``made_up`` is how many are samples.
    """

    cases: int
    made_up: int
    age_groups: tuple[tuple[str, int], ...]
    sexes: tuple[tuple[str, int], ...]
    words: tuple[tuple[str, int], ...]


def count_cases(store: QuadStore, concept: str) -> CaseCount:
    """Count the cases that name a concept, or are filed under it; none is quoted."""
    nodes: dict[str, NamedNode] = {}
    words, node = Counter[str](), NamedNode(concept)
    for quad in match_own(store, None, SHIYI.recordedIn, node, None):
        if isinstance(place := quad.graph_name, NamedNode) and place.value.startswith(_CASES):
            nodes[text(quad.subject)] = place
    for quad in match_own(store, None, SHIYI.theReferenceOf, node, None):
        place = quad.graph_name
        if isinstance(place, NamedNode) and isinstance(quad.subject, NamedNode):
            nodes[text_value(store, quad.subject, SHIYI.mentionedIn, place)] = place
            words[text_value(store, quad.subject, RDFS.label, place)] += 1

    def count_texts(predicate: NamedNode) -> Counter[str]:
        return Counter(
            text_value(store, NamedNode(case), predicate, place) for case, place in nodes.items()
        )

    samples = list_sample_sources(store) if nodes else frozenset[str]()
    sources = count_texts(PROV.wasDerivedFrom)
    return CaseCount(
        len(nodes),
        sum(n for source, n in sources.items() if source in samples),
        _sort_counts(count_texts(SHIYI.ageGroup)),
        _sort_counts(count_texts(SHIYI.sex)),
        tuple((word, n) for word, n in _sort_counts(words) if n > 1),
    )


def _sort_counts(counts: Counter[str]) -> tuple[tuple[str, int], ...]:
    ranked = sorted(counts.items(), key=lambda row: (-row[1], row[0]))
    return tuple((each, n) for each, n in ranked if each)
