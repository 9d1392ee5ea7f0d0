"""Yaoshi-RAG and its baselines."""

import random
from collections import defaultdict
from collections.abc import Mapping
from typing import Any, Final

from shiyi.answering.knowledge.facts import BENEFIT, BRIDGES, WITH_EFFECT, Fact
from shiyi.answering.methods.method import Query, assemble, claims_at, expand, rank_all, recall
from shiyi.answering.methods.model_calls import ask_model
from shiyi.answering.recommendation.candidates import seasonal
from shiyi.answering.retrieval.passages import CLAIM
from shiyi.answering.retrieval.paths import Plans, Retrieval
from shiyi.answering.runtime import Runtime
from shiyi.model.iris import VOCAB
from shiyi.model.path import RelationPath, Step
from shiyi.model.rdf import local_name
from shiyi.ontology.terms import SHIYI
from shiyi.prompts.chat import ChatModel

_BENEFITS = tuple(map(local_name, (*(node.value for node in BENEFIT), WITH_EFFECT.predicate)))


def retrieve_paths(query: Query, runtime: Runtime, model: ChatModel | None) -> Retrieval:
    """Return scored paths from the seeds to what is wanted; nothing where no advice is sought."""
    if not query.advice:
        return Retrieval()
    plans, steps = ({}, ()) if model is None else propose_paths(query, runtime, model)
    seeds, near = query.seeds, [n for seed in query.seeds for n in _nearby(runtime, seed)]
    retriever, k, least = runtime.retriever, query.k, query.least
    fit = seasonal(query.parsed, runtime.facts)
    retrieval = retriever.retrieve((*seeds, *near), query.wanted, k, least, plans, fit)
    if not retrieval.paths and seeds:
        below = [narrower for seed in seeds for narrower in runtime.facts.below(seed)[1:]]
        retrieval = retriever.retrieve(below, query.wanted, k, least, plans, fit)
    return retrieval.with_steps(steps)


def _nearby(runtime: Runtime, seed: str) -> tuple[str, ...]:
    """List broader symptoms of a symptom and narrower effects of an effect."""
    if runtime.facts.is_a(seed, SHIYI.Efficacy):
        below = runtime.facts.below(seed)[1:]
        return tuple(
            narrower for narrower in below if not runtime.facts.of(narrower, SHIYI.hasRedFlag)
        )
    if not runtime.facts.is_a(seed, SHIYI.Symptom):
        return ()
    return runtime.facts.above(seed)[1:]


def propose_paths(
    query: Query, runtime: Runtime, model: ChatModel
) -> tuple[Plans, tuple[Mapping[str, Any], ...]]:
    """Return the relation paths a model writes over all relations, but for those that lead nowhere.

    They are followed before the planned ones. What the model says of classes is not taken on
    trust: each step must join classes of the schema, and the last must be a benefit.
    """
    facts = runtime.facts
    starts = sorted({facts.classes[seed] for seed in query.seeds if seed in facts.classes})
    relations = "\n".join(
        f"- {local_name(step.predicate)}{'' if step.forward else ' (read backwards: ^)'}: "
        f"{local_name(one.value)} -> {local_name(other.value)}"
        for one, step, other in BRIDGES
    )
    reply, step = ask_model(
        model,
        "plan-relation-paths",
        question=query.text,
        starts=", ".join(starts),
        ends=", ".join(local_name(node.value) for node in query.wanted),
        relations=relations,
        benefits=", ".join(_BENEFITS),
    )
    written = reply.get("paths", []) if reply else []
    results: dict[str, tuple[RelationPath, ...]] = {}
    refused: list[str] = []
    for item in written if isinstance(written, list) else []:
        path = _parse_relation_path(item, runtime)
        fitting = [start for start in starts if path and _leads(runtime, start, path)]
        if not path or not fitting:
            refused.append(str(item)[:120])
        for start in fitting:
            results[start] = (*results.get(start, ()), path)
    return results, (dict(step) | {"kept": sorted(map(str, results)), "refused": refused},)


def _parse_relation_path(text: object, runtime: Runtime) -> RelationPath:
    """Read ``["relatedConstitution", "suitableFood"]``; nothing where a relation is unknown."""
    if not isinstance(text, list) or not 1 <= len(text) <= runtime.settings.paths.max_hops:
        return ()
    steps = []
    for word in text:
        name = str(word).removeprefix("shiyi:").removeprefix("^")
        if VOCAB + name not in runtime.retriever.known:
            return ()
        steps.append(Step(VOCAB + name, forward="^" not in str(word)))
    return tuple(steps)


def _leads(runtime: Runtime, start: str, path: RelationPath) -> bool:
    """Return whether claims of the base join a path's steps, from a class to a benefit."""
    planner, group = runtime.retriever.planner, {start}
    if local_name(path[-1].predicate) not in _BENEFITS:
        return False
    for place, step in enumerate(path):
        following = set[str]()
        for subject, predicate, object_ in planner.joins:
            one, other = (subject, object_) if step.forward else (object_, subject)
            if predicate == step.predicate and one in group:
                last = place == len(path) - 1
                following |= (
                    {other} if last or planner.leads(one, step, other, first=place == 0) else set()
                )
        group = following
    return bool(group)


_WALKED: Final = 200  # paths followed along one relation path


def retrieve_random_paths(query: Query, runtime: Runtime, model: ChatModel | None) -> Retrieval:
    """Follow ten relation paths drawn from those the base has, the same for the same question.

    A path that does not soundly lead to advice gives claims, never a recommendation.
    """
    settings, facts = runtime.settings.paths, runtime.facts
    draw = random.Random(query.text)  # noqa: S311 - a draw, no secret
    leaving = _steps_from_classes(runtime)
    scores: dict[str, float] = {}
    steps = []
    for seed in query.concepts:
        for _ in range(settings.relation_paths):
            plan = _draw_path(draw, leaving, facts.classes.get(seed, ""), settings.max_hops)
            if not plan:
                continue
            walk = runtime.retriever.finder.follow(plan, (seed,), _WALKED)
            steps.append(
                {
                    "step": "drawn",
                    "seed": seed,
                    "path": [str(s) for s in plan],
                    "paths": len(walk.paths),
                }
            )
            for path in walk.paths:
                worth = sum(h.confidence * runtime.rank.get(h.end, 0.0) for h in path.hops)
                for hop in path.hops:
                    scores[hop.claim] = max(scores.get(hop.claim, 0.0), worth / len(path.hops))
    known_facts = {claim: fact for claim in scores if (fact := runtime.claims.get(claim))}
    ranked_facts = rank_all({c: s for c, s in scores.items() if c in known_facts}, known_facts)
    return assemble(query, runtime, ranked_facts, (), steps)


def _steps_from_classes(runtime: Runtime) -> Mapping[str, list[tuple[Step, str]]]:
    results: dict[str, list[tuple[Step, str]]] = defaultdict(list)
    for subject, predicate, object_ in sorted(runtime.retriever.planner.joins):
        results[subject].append((Step(predicate), object_))
        results[object_].append((Step(predicate, forward=False), subject))
    return results


def _draw_path(
    draw: random.Random, leaving: Mapping[str, list[tuple[Step, str]]], start: str, limit: int
) -> RelationPath:
    here, plan = start, list[Step]()
    for _ in range(draw.randint(1, limit)):
        if not leaving.get(here):
            break
        step, here = draw.choice(leaving[here])
        plan.append(step)
    return tuple(plan)


def retrieve_bm25(query: Query, runtime: Runtime, model: ChatModel | None) -> Retrieval:
    """Return the 30 best triples; of the whole base where the question names no concept."""
    facts = {f.claim: f for iri in query.concepts for f in claims_at(runtime.facts, iri)}
    most = runtime.settings.baselines.triples
    words_of_query = expand(query, runtime.facts)
    hits = runtime.library.by_words(words_of_query, most, (CLAIM,), facts)
    known_facts = facts or runtime.claims
    scores = {h.unit.iri: h.score for h in hits if h.unit.iri in known_facts}
    steps = ({"step": "subgraph", "claims": len(facts)}, recall("BM25", hits))
    return assemble(query, runtime, rank_all(scores, known_facts), (), steps)


def retrieve_transe(query: Query, runtime: Runtime, model: ChatModel | None) -> Retrieval:
    """Return the 30 triples that TransE finds likeliest."""
    return _retrieve("transe", query, runtime)


def retrieve_rotate(query: Query, runtime: Runtime, model: ChatModel | None) -> Retrieval:
    """Return the 30 triples that RotatE finds likeliest."""
    return _retrieve("rotate", query, runtime)


def _retrieve(kind: str, query: Query, runtime: Runtime) -> Retrieval:
    settings = runtime.settings.baselines
    facts = _collect_claims(query, runtime, settings.hops)
    embedding = runtime.shelf.translation(kind)
    distances = {
        fact.claim: embedding.distance(fact.subject, fact.predicate.value, fact.object)
        for fact in facts.values()
    }
    scores = {claim: 1 / (1 + far) for claim, far in distances.items() if far != float("inf")}
    ranked_facts = rank_all(scores, facts)[: settings.triples]
    steps = (
        {"step": "subgraph", "hops": settings.hops, "claims": len(facts)},
        {"step": kind, "ranked": len(scores)},
    )
    return assemble(query, runtime, ranked_facts, (), steps)


def _collect_claims(query: Query, runtime: Runtime, hops: int) -> dict[str, Fact]:
    """Collect the claims at most ``hops`` from the question's concepts."""
    facts: dict[str, Fact] = {}
    reached, front = set(query.concepts), set(query.concepts)
    for _ in range(hops):
        record = {f.claim: f for iri in sorted(front) for f in claims_at(runtime.facts, iri)}
        facts |= record
        front = {end for f in record.values() if not f.language for end in (f.subject, f.object)}
        front -= reached
        reached |= front
    return facts
