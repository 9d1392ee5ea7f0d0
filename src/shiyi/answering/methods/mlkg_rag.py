"""TCM MLKG-RAG."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np

from shiyi.answering.knowledge.facts import AILMENT, BENEFIT, BRIDGES, CAUTION, Fact, Facts
from shiyi.answering.methods.method import (
    Query,
    assemble,
    both_labels,
    claims_at,
    neighbours,
    rank_all,
)
from shiyi.answering.retrieval.casebook import PATTERN, SYMPTOM, Case, score_by_words
from shiyi.answering.retrieval.paths import RankedFact, Retrieval
from shiyi.answering.runtime import Runtime
from shiyi.answering.wording.verbalization import verbalize
from shiyi.linking.case_terms import age_group, euphemisms, find_class_codes, patient_sex
from shiyi.linking.embedding.embedder import Embedder
from shiyi.linking.normalization import fold
from shiyi.model.iris import ID
from shiyi.model.rdf import local_name
from shiyi.ontology.terms import SHIYI
from shiyi.prompts.chat import ChatModel

_OTHER_RELATION: Final = 0.5  # Shiyi's: what a relation weighs that the question did not ask for
_NEAREST: Final = 0.9  # Shiyi's: what a term weighs that is only near to the word
_MOST: Final = 60  # claims handed on


def retrieve_layers(query: Query, runtime: Runtime, model: ChatModel | None) -> Retrieval:
    """Return the claims that hold the terms nearest to the question's words.

    Classical and veiled words go to the term that a person chose for them, words of cases
    to the term they refer to, the others to the ten nearest terms within the distance of layers.
    """
    claims, step = retrieve_by_terms(query, runtime)
    if not query.advice:
        claims = claims[:_MOST]
    return assemble(query, runtime, claims, (), (step,))


def retrieve_by_terms(
    query: Query, runtime: Runtime, *, nearest: bool = True
) -> tuple[tuple[RankedFact, ...], Mapping[str, Any]]:
    """Return the claims at the terms a question names, best first, and the step of the trace.

    Without ``nearest`` a term is named by the linker or by a link between the layers alone.
    """
    terms, matches = _terms(query, runtime, nearest=nearest)
    scores: dict[str, float] = {}
    facts: dict[str, Fact] = {}
    for iri, likeness in terms.items():
        for fact in claims_at(runtime.facts, iri):
            worth = likeness * fact.confidence
            if query.predicates and local_name(fact.predicate.value) not in query.predicates:
                worth *= _OTHER_RELATION
            facts[fact.claim] = fact
            scores[fact.claim] = max(scores.get(fact.claim, 0.0), worth)
    step = {"step": "terms", "k": runtime.settings.terms.top_k, "terms": matches}
    return rank_all(scores, facts), step


def _terms(
    query: Query, runtime: Runtime, *, nearest: bool
) -> tuple[dict[str, float], list[Mapping[str, Any]]]:
    results: dict[str, float] = {}
    matches = list[Mapping[str, Any]]()
    for word, iri, likeness, why in _list_named(query, runtime, nearest=nearest):
        if iri in query.parsed.absent or iri not in runtime.facts.classes:
            continue
        if likeness > results.get(iri, 0.0):
            results[iri] = likeness
            match = {"word": word, "term": iri, "likeness": round(likeness, 3), "by": why}
            matches.append(match | {"name": both_labels(runtime.facts, iri)})
    return results, matches


def _list_named(
    query: Query, runtime: Runtime, *, nearest: bool
) -> Iterator[tuple[str, str, float, str]]:
    for iri in query.concepts:
        yield runtime.facts.label(iri, query.parsed.language), iri, 1.0, "linked"
    if runtime.settings.linking.layer_distance <= 0:
        return  # no links between layers: the term layer alone
    text = fold(query.text)
    for expression, euphemism in euphemisms().items():
        if expression in text:
            for mention in runtime.linker.link(euphemism.term):
                if mention.iri and len(mention.text) == len(euphemism.term):
                    yield expression, mention.iri, 1.0, f"layer link, {euphemism.register}"
    for expression, concept in runtime.casebook.references.items():
        if len(expression) > 1 and fold(expression) in text:
            yield expression, concept, 1.0, "layer link, words of a case"
    if nearest:
        yield from _nearest(query, runtime)


def _nearest(query: Query, runtime: Runtime) -> Iterator[tuple[str, str, float, str]]:
    """Yield the terms nearest to each mention, within the distance of layers."""
    most, least = runtime.settings.terms.top_k, 1 - runtime.settings.linking.layer_distance
    for mention in query.parsed.mentions:
        if mention.negated:
            continue
        for match in runtime.linker.candidates(mention.text, most):
            if match.iri and match.score >= least:
                yield mention.text, match.iri, match.score * _NEAREST, "near"


RELAXED: Final = ("history", "age", "sex")  # Shiyi's: in this order, where no case is left
_ALIKE: Final = 0.3  # Shiyi's: share of the words from which a case is similar, in any class
_SHARED: Final = 0.5  # Shiyi's: what the share of common symptoms weighs beside the words
_FILED: Final = 0.1  # Shiyi's: what it weighs that a case is filed under the classes
_BESIDE: Final = 0.5  # Shiyi's: what a pattern weighs that no disease of the classes shows
_OF_CASES: Final = 1.5  # Shiyi's: what a pattern weighs that like cases were given
_FOLLOWED: Final = frozenset(
    p.value for p in (*BENEFIT, *CAUTION, SHIYI.unsuitableFood, SHIYI.hasTreatmentPrinciple)
)
_LEADING: Final = frozenset(step.predicate for _, step, _ in BRIDGES)


@dataclass(frozen=True, slots=True)
class ClassDescent:
    """The classes reached, nearest first, with their summed distances, and the steps of the way."""

    leaves: tuple[tuple[str, float], ...]
    steps: tuple[Mapping[str, Any], ...]


def retrieve_therapy(query: Query, runtime: Runtime, model: ChatModel | None) -> Retrieval:
    """Return the claims from the disease entities through patterns to treatment.

    Patterns of the classes that the entities descend to, and of cases of like patients, go first.
    Without disease entities or words of a class the term layer is searched instead.
    """
    entities = tuple(e for e in query.concepts if runtime.facts.is_a(e, *AILMENT))
    embedder = runtime.shelf.embedder
    named = tuple(
        iri
        for code in find_class_codes(query.text)
        if (iri := f"{ID}disease-gbt-{code}") in runtime.facts.classes
    )
    if not (entities or named) or embedder is None:
        detail = {"step": "no descent", "why": "the question names no disease entity"}
        return retrieve_layers(query, runtime, model).with_steps((detail,))
    settings = runtime.settings.terms
    if named:
        way = _by_name(runtime, named[: settings.beam], settings.levels)
    else:
        way = descend(runtime, embedder, entities, settings.beam, settings.levels)
        way = _sure(way, len(entities), settings.class_distance)
    cases, facets, remarks = _find_similar(
        query, runtime, entities, [leaf for leaf, _ in way.leaves]
    )
    patterns = _patterns(runtime, [leaf for leaf, _ in way.leaves], cases)
    claims = _claims(query, runtime, patterns)
    steps = (*way.steps, facets, {"step": "patterns", "patterns": sorted(patterns)})
    retrieval = assemble(query, runtime, claims, (), steps)
    return retrieval.with_remarks(remarks)


def descend(
    runtime: Runtime, embedder: Embedder, entities: Sequence[str], beam: int, levels: int
) -> ClassDescent:
    """Go down the classes: D(Q, c) = sum over the entities of 1 - cosine, summed along the way.

    ``beam`` classes are stored at each level and only their children are looked at; beam 1 is the
    paper's. A class is as near as the nearest of its name and the names filed under it (Shiyi's).
    """
    facts = runtime.facts
    roots = [c for c in facts.members(SHIYI.TCMDisease) if not facts.broader.get(c)]
    vectors = embedder.encode([facts.label(e, "zh") for e in entities])
    frontier: list[tuple[str, float]] = [("", 0.0)]
    steps: list[Mapping[str, Any]] = []
    for level in range(1, levels + 1):
        children = [
            (child, total)
            for above, total in frontier
            for child in (roots if level == 1 else facts.narrower.get(above, ()))
        ]
        if not children:
            break
        fits = _fits(runtime, embedder, vectors, [child for child, _ in children])
        ranked = sorted(
            ((child, total + fit) for (child, total), fit in zip(children, fits, strict=True)),
            key=lambda row: (row[1], row[0]),
        )
        frontier = ranked[:beam]
        step = {"step": "descent", "level": level, "beam": beam, "looked at": len(ranked)}
        reached = [[c, facts.label(c, "zh"), round(d, 3)] for c, d in frontier]
        steps.append(step | {"kept": reached})
    return ClassDescent(tuple(frontier), tuple(steps))


def _by_name(runtime: Runtime, names: Sequence[str], levels: int) -> ClassDescent:
    """Return the classes that the words of the question name, at the level asked for."""
    facts = runtime.facts
    if levels == 1:
        names = tuple(dict.fromkeys(a for n in names for a in facts.broader.get(n, ())))
    results = [[iri, facts.label(iri, "zh"), 0.0] for iri in names]
    return ClassDescent(
        tuple((iri, 0.0) for iri in names), ({"step": "descent", "by": "name", "kept": results},)
    )


def _sure(way: ClassDescent, entities: int, limit: float) -> ClassDescent:
    """Abstain where even the nearest class is farther than ``limit``, on the mean of its steps."""
    distances = [total / (max(1, len(way.steps)) * entities) for _, total in way.leaves]
    if not distances or distances[0] <= limit:
        return way
    step = {"step": "abstained", "distance": round(distances[0], 3), "most": limit}
    return ClassDescent((), (*way.steps, step))


def _fits(
    runtime: Runtime, embedder: Embedder, vectors: np.ndarray[Any, Any], classes: Sequence[str]
) -> list[float]:
    facts = runtime.facts
    names = {class_: [facts.label(b, "zh") for b in facts.below(class_)] for class_ in classes}
    every = list(dict.fromkeys(n for group in names.values() for n in group))
    place = {name: i for i, name in enumerate(every)}
    cosines = vectors @ embedder.encode(every).T
    return [
        float((1 - cosines[:, [place[n] for n in names[class_]]].max(axis=1)).sum())
        for class_ in classes
    ]


def _find_similar(
    query: Query, runtime: Runtime, entities: Sequence[str], leaves: Iterable[str]
) -> tuple[tuple[Case, ...], Mapping[str, Any], tuple[str, ...]]:
    """Return cases of the classes from patients like this one; relax facets if need be."""
    book, facts = runtime.casebook, runtime.facts
    classes = {below for leaf in leaves for below in facts.below(leaf)}
    likeness = score_by_words(book, fold(query.text))
    filed_cases = [case for case in book.cases if classes & set(case.filed)]
    taken = {case.iri for case in filed_cases}
    other_cases = (case for case in book.cases if case.iri not in taken)
    alike_cases = [case for case in other_cases if likeness.get(case.iri, 0.0) >= _ALIKE]
    facets = read_facets(query, facts)
    shown = {name: v if isinstance(v, str) else sorted(v) for name, v in facets.items()}
    step: dict[str, Any] = {"step": "cases", "in the base": len(book.cases), "facets": shown}
    step |= {"under the classes": len(filed_cases), "by their words": len(alike_cases)}
    relaxed = list[str]()
    filed_cases += alike_cases
    found_cases = filed_cases
    for facet in (None, *RELAXED):
        if facet:
            facets.pop(facet, None)
            relaxed.append(facet)
        found_cases = [case for case in filed_cases if _matches(case, facets)]
        if found_cases or not filed_cases:
            break
    asked = neighbours(facts, entities)

    def worth(case: Case) -> float:
        shared = len(asked & set(case.concepts(SYMPTOM))) / max(1, len(entities))
        return likeness.get(case.iri, 0.0) + _SHARED * shared + _FILED * (case.iri in taken)

    ranked_cases = sorted(found_cases, key=lambda c: (-worth(c), c.iri))
    cases = tuple(ranked_cases[: runtime.settings.terms.cases])
    step |= {"relaxed": relaxed if filed_cases else [], "cases": [case.iri for case in cases]}
    step["made up"] = [case.iri for case in cases if case.made_up]
    return cases, step, _remarks(query, runtime, cases, relaxed if filed_cases else [])


def read_facets(query: Query, facts: Facts) -> dict[str, str | frozenset[str]]:
    """Return age group, sex and history of the person, as far as they are known."""
    person, facets = query.parsed.profile, dict[str, str | frozenset[str]]()
    if group := age_group(query.text, "" if person.age is None else str(int(person.age))):
        facets["age"] = group
    if sex := person.sex or patient_sex(query.text):
        facets["sex"] = sex
    history = frozenset(
        state
        for state in query.parsed.person.states
        if facts.is_a(state, SHIYI.Disease) and state not in query.seeds
    )
    if history:
        facets["history"] = history
    return facets


def _matches(case: Case, facets: Mapping[str, str | frozenset[str]]) -> bool:
    history = facets.get("history")
    return (
        facets.get("age") in {None, case.age_group}
        and facets.get("sex") in {None, case.sex}
        and (not isinstance(history, frozenset) or bool(history & case.history))
    )


def _remarks(
    query: Query, runtime: Runtime, cases: Sequence[Case], relaxed: Sequence[str]
) -> tuple[str, ...]:
    if not cases:
        return ()
    language = query.parsed.language
    met = dict.fromkeys(p for case in cases for p in case.concepts(PATTERN))
    names = [runtime.facts.label(p, language) for p in met][:4]
    comma = verbalize(language, "v_comma")
    judged = comma.join(names) or verbalize(language, "t_not_stated")
    remark = verbalize(language, "t_cases", n=str(len(cases)), names=judged)
    if samples := sum(case.made_up for case in cases):
        remark += verbalize(language, "t_made_up", n=str(samples))
    facets = read_facets(query, runtime.facts)
    if loose := [verbalize(language, f"facet_{r}") for r in relaxed if r in facets]:
        remark += verbalize(language, "t_not_matched", facets=comma.join(loose))
    return (remark,)


def _patterns(
    runtime: Runtime, leaves: Iterable[str], cases: Iterable[Case]
) -> Mapping[str, float]:
    """Return the patterns of the diseases in the classes and of the cases, with their weights."""
    facts, results = runtime.facts, dict[str, float]()
    for leaf in leaves:
        for disease in facts.below(leaf):
            for fact in facts.of(disease, SHIYI.hasSyndrome):
                results[fact.object] = max(results.get(fact.object, 0.0), 1.0)
    for case in cases:
        for pattern in case.concepts(PATTERN):
            results[pattern] = _OF_CASES
    return results


@dataclass(slots=True)
class _Best:
    """Claims with the best worth they were met with."""

    scores: dict[str, float] = field(default_factory=dict)
    known: dict[str, Fact] = field(default_factory=dict)

    def add(self, fact: Fact, worth: float) -> float:
        """Keep a claim; return its worth times its confidence."""
        gained = worth * fact.confidence
        self.known[fact.claim] = fact
        self.scores[fact.claim] = max(self.scores.get(fact.claim, 0.0), gained)
        return gained


def _claims(
    query: Query, runtime: Runtime, patterns: Mapping[str, float]
) -> tuple[RankedFact, ...]:
    """Follow claims from the seeds to patterns, then to treatment and what realises it."""
    facts, taken, front = runtime.facts, _Best(), dict[str, float]()
    for seed in neighbours(facts, query.seeds or query.concepts):
        for fact in claims_at(facts, seed):
            if fact.predicate.value not in _LEADING | _FOLLOWED:
                continue
            other = fact.other(seed)
            if not facts.is_a(other, SHIYI.Syndrome, SHIYI.Constitution):
                taken.add(fact, 1.0)
                continue
            worth = taken.add(fact, patterns.get(other, _BESIDE))
            front[other] = max(front.get(other, 0.0), worth)
    for _ in range(2):  # from a pattern to its treatment, from there to what realises it
        front = _follow(facts, taken, front)
    return rank_all(taken.scores, taken.known)


def _follow(facts: Facts, best: _Best, front: Mapping[str, float]) -> dict[str, float]:
    following: dict[str, float] = {}
    for node, worth in front.items():
        for fact in claims_at(facts, node):
            if fact.predicate.value in _FOLLOWED and not fact.language:
                gained = best.add(fact, worth)
                if fact.predicate == SHIYI.hasTreatmentPrinciple:
                    following[fact.other(node)] = gained
    return following
