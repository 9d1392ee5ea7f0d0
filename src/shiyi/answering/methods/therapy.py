"""TCM MLKG-RAG, therapy retrieval: down the classes of disease, to cases of like patients, to terms."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np

from shiyi.answering.casebook import PATTERN, SYMPTOM, Case
from shiyi.answering.facts import Fact, Facts
from shiyi.answering.methods import layers
from shiyi.answering.methods.claims import at, best_first, near, retrieved
from shiyi.answering.methods.port import Query
from shiyi.answering.paths import Found, Retrieved
from shiyi.answering.roles import AILMENT, BENEFIT, BRIDGES, CAUTION
from shiyi.answering.runtime import Runtime
from shiyi.linking.embedder import Embedder
from shiyi.ontology.terms import SHIYI
from shiyi.prompts.chat import ChatModel

RELAXED: Final = ("history", "age", "sex")  # ours: in this order, where no case is left
_BESIDE: Final = 0.5  # ours: what a pattern weighs that no disease of the classes shows
_OF_CASES: Final = 1.5  # ours: what a pattern weighs that like cases were given
_FOLLOWED: Final = frozenset(
    p.value for p in (*BENEFIT, *CAUTION, SHIYI.unsuitableFood, SHIYI.hasTreatmentPrinciple)
)
_LEADING: Final = frozenset(step.predicate for _, step, _ in BRIDGES)


@dataclass(frozen=True, slots=True)
class Descent:
    """The classes reached, nearest first, with their summed distances, and the steps of the way."""

    leaves: tuple[tuple[str, float], ...]
    steps: tuple[Mapping[str, Any], ...]


def retrieve(query: Query, runtime: Runtime, model: ChatModel | None) -> Retrieved:
    """Give the claims from the disease entities through patterns to treatment.

    Patterns of the classes that the entities descend to, and of cases of like patients, go first.
    Without disease entities there is no descent, and the term layer is searched instead.
    """
    entities = tuple(e for e in query.concepts if runtime.facts.is_a(e, *AILMENT))
    embedder = runtime.shelf.embedder
    if not entities or embedder is None:
        told = {"step": "no descent", "why": "the question names no disease entity"}
        return layers.retrieve(query, runtime, model).with_steps((told,))
    settings = runtime.settings.terms
    way = descend(runtime, embedder, entities, settings.beam, settings.levels)
    cases, facets, remarks = _like(query, runtime, entities, [leaf for leaf, _ in way.leaves])
    patterns = _patterns(runtime, [leaf for leaf, _ in way.leaves], cases)
    claims = _claims(query, runtime, patterns)
    steps = (*way.steps, facets, {"step": "patterns", "patterns": sorted(patterns)})
    found = retrieved(query, runtime, claims, (), steps)
    return found.with_remarks(remarks)


def descend(
    runtime: Runtime, embedder: Embedder, entities: Sequence[str], beam: int, levels: int
) -> Descent:
    """Go down the classes: D(Q, c) = sum over the entities of 1 - cosine, summed along the way.

    ``beam`` classes are kept at each level and only their children are looked at; beam 1 is the
    paper's. A class is as near as the nearest of its own name and the names filed under it (ours).
    """
    facts = runtime.facts
    roots = [c for c in facts.members(SHIYI.TCMDisease) if not facts.broader.get(c)]
    asked = embedder.encode([facts.label(e, "zh") for e in entities])
    kept: list[tuple[str, float]] = [("", 0.0)]
    steps: list[Mapping[str, Any]] = []
    for level in range(1, levels + 1):
        children = [
            (child, total) for above, total in kept
            for child in (roots if level == 1 else facts.narrower.get(above, ()))
        ]  # fmt: skip
        if not children:
            break
        fits = _fits(runtime, embedder, asked, [child for child, _ in children])
        ranked = sorted(
            ((child, total + fit) for (child, total), fit in zip(children, fits, strict=True)),
            key=lambda each: (each[1], each[0]),
        )
        kept = ranked[:beam]
        steps.append({"step": "descent", "level": level, "beam": beam, "looked at": len(ranked),
                      "kept": [[c, facts.label(c, "zh"), round(d, 3)] for c, d in kept]})  # fmt: skip
    return Descent(tuple(kept), tuple(steps))


def _fits(
    runtime: Runtime, embedder: Embedder, asked: np.ndarray[Any, Any], classes: Sequence[str]
) -> list[float]:
    facts = runtime.facts
    names = {each: [facts.label(b, "zh") for b in facts.below(each)] for each in classes}
    every = list(dict.fromkeys(n for listed in names.values() for n in listed))
    place = {name: i for i, name in enumerate(every)}
    cosines = asked @ embedder.encode(every).T
    return [
        float((1 - cosines[:, [place[n] for n in names[each]]].max(axis=1)).sum())
        for each in classes
    ]


def _like(
    query: Query, runtime: Runtime, entities: Sequence[str], leaves: Iterable[str]
) -> tuple[tuple[Case, ...], Mapping[str, Any], tuple[str, ...]]:
    """Give cases filed under the classes, of patients like this one; facets are relaxed if need be."""
    book, facts = runtime.casebook, runtime.facts
    classes = {below for leaf in leaves for below in facts.below(leaf)}
    filed = [case for case in book.cases if classes & set(case.filed)]
    facets = facets_of(query)
    step: dict[str, Any] = {"step": "cases", "in the base": len(book.cases),
                            "under the classes": len(filed), "facets": dict(facets)}  # fmt: skip
    relaxed = list[str]()
    found = filed
    for dropped in (None, *RELAXED):
        if dropped:
            facets.pop(dropped, None)
            relaxed.append(dropped)
        found = [case for case in filed if _matches(case, facets)]
        if found or not filed:
            break
    asked = near(facts, entities)
    ranked = sorted(found, key=lambda c: (-len(asked & set(c.concepts(SYMPTOM))), c.iri))
    kept = tuple(ranked[: runtime.settings.terms.cases])
    step |= {"relaxed": relaxed if filed else [], "cases": [case.iri for case in kept]}
    return kept, step, _remarks(query, runtime, kept, relaxed if filed else [])


def facets_of(query: Query) -> dict[str, str | frozenset[str]]:
    """Give age group, sex and history of the person, as far as they are known."""
    person, found = query.reading.profile, dict[str, str | frozenset[str]]()
    if person.age is not None:
        groups = (("infant", 1), ("child", 14), ("adolescent", 18), ("adult", 65), ("elder", 999))
        found["age"] = next(name for name, below in groups if person.age < below)
    if person.sex:
        found["sex"] = person.sex
    history = frozenset(query.reading.person.states) - set(query.seeds)
    if history:
        found["history"] = history
    return found


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
    zh = query.reading.language == "zh"
    met = dict.fromkeys(p for case in cases for p in case.concepts(PATTERN))
    names = [runtime.facts.label(p, query.reading.language) for p in met][:4]
    said = (
        f"另有{len(cases)}则相近病例，辨为{'、'.join(names) or '未注明'}；病例只是例子，不作疗效依据"
        if zh else
        f"{len(cases)} similar cases were judged as {', '.join(names) or 'not stated'}; cases are "
        "examples, no evidence of benefit"
    )  # fmt: skip
    words = {
        "history": ("既往史", "history"),
        "age": ("年龄段", "age group"),
        "sex": ("性别", "sex"),
    }
    given = facets_of(query)
    loose = [words[r][0 if zh else 1] for r in relaxed if r in given]
    if loose:
        said += (
            f"（未能同时符合：{'、'.join(loose)}）" if zh else f" (not matched: {', '.join(loose)})"
        )
    return (said,)


def _patterns(
    runtime: Runtime, leaves: Iterable[str], cases: Iterable[Case]
) -> Mapping[str, float]:
    """Give the patterns of the diseases in the classes and of the cases, with their weights."""
    facts, found = runtime.facts, dict[str, float]()
    for leaf in leaves:
        for disease in facts.below(leaf):
            for fact in facts.of(disease, SHIYI.hasSyndrome):
                found[fact.object] = max(found.get(fact.object, 0.0), 1.0)
    for case in cases:
        for pattern in case.concepts(PATTERN):
            found[pattern] = _OF_CASES
    return found


@dataclass(slots=True)
class _Taken:
    """Claims with the best worth they were met with."""

    scores: dict[str, float] = field(default_factory=dict)
    known: dict[str, Fact] = field(default_factory=dict)

    def take(self, fact: Fact, worth: float) -> float:
        """Keep a claim; give its worth times its confidence."""
        gained = worth * fact.confidence
        self.known[fact.claim] = fact
        self.scores[fact.claim] = max(self.scores.get(fact.claim, 0.0), gained)
        return gained


def _claims(query: Query, runtime: Runtime, patterns: Mapping[str, float]) -> tuple[Found, ...]:
    """Follow the claims from the seeds to patterns, from there to treatment and what realises it."""
    facts, taken, front = runtime.facts, _Taken(), dict[str, float]()
    for seed in near(facts, query.seeds or query.concepts):
        for fact in at(facts, seed):
            if fact.predicate.value not in _LEADING | _FOLLOWED:
                continue
            other = fact.other(seed)
            if not facts.is_a(other, SHIYI.Syndrome, SHIYI.Constitution):
                taken.take(fact, 1.0)
                continue
            worth = taken.take(fact, patterns.get(other, _BESIDE))
            front[other] = max(front.get(other, 0.0), worth)
    for _ in range(2):  # from a pattern to its treatment, from there to what realises it
        front = _followed(facts, taken, front)
    return best_first(taken.scores, taken.known)


def _followed(facts: Facts, taken: _Taken, front: Mapping[str, float]) -> dict[str, float]:
    following: dict[str, float] = {}
    for node, worth in front.items():
        for fact in at(facts, node):
            if fact.predicate.value in _FOLLOWED and not fact.language:
                gained = taken.take(fact, worth)
                if fact.predicate == SHIYI.hasTreatmentPrinciple:
                    following[fact.other(node)] = gained
    return following
