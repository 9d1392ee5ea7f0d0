"""Yaoshi-RAG: relation paths from the schema, or from a model, followed, scored and ranked."""

from collections.abc import Mapping
from typing import Any

from shiyi.answering.candidates import seasonal
from shiyi.answering.methods.consulting import consulted
from shiyi.answering.methods.port import Query
from shiyi.answering.paths import Plans, Retrieved
from shiyi.answering.roles import BENEFIT, BRIDGES, WITH_EFFECT
from shiyi.answering.runtime import Runtime
from shiyi.model.names import VOCAB
from shiyi.model.path import RelationPath, Step
from shiyi.model.rdf import local_name
from shiyi.ontology.terms import SHIYI
from shiyi.prompts.chat import ChatModel

_BENEFITS = tuple(map(local_name, (*(each.value for each in BENEFIT), WITH_EFFECT.predicate)))


def retrieve(query: Query, runtime: Runtime, model: ChatModel | None) -> Retrieved:
    """Give scored paths from the seeds to what is wanted; nothing where no advice is sought."""
    if not query.advice:
        return Retrieved()
    plans, steps = ({}, ()) if model is None else proposed(query, runtime, model)
    seeds, near = query.seeds, [n for seed in query.seeds for n in _nearby(runtime, seed)]
    retriever, k, least = runtime.retriever, query.k, query.least
    fit = seasonal(query.reading, runtime.facts)
    found = retriever.retrieve((*seeds, *near), query.wanted, k, least, plans, fit)
    if not found.paths and seeds:
        below = [each for seed in seeds for each in runtime.facts.below(seed)[1:]]
        found = retriever.retrieve(below, query.wanted, k, least, plans, fit)
    return found.with_steps(steps)


def _nearby(runtime: Runtime, seed: str) -> tuple[str, ...]:
    """List the broader symptoms of a symptom, and the effects below an effect; a path says so by its start."""
    if runtime.facts.is_a(seed, SHIYI.Efficacy):
        below = runtime.facts.below(seed)[1:]
        return tuple(each for each in below if not runtime.facts.of(each, SHIYI.hasRedFlag))
    if not runtime.facts.is_a(seed, SHIYI.Symptom):
        return ()
    return runtime.facts.above(seed)[1:]


def proposed(
    query: Query, runtime: Runtime, model: ChatModel
) -> tuple[Plans, tuple[Mapping[str, Any], ...]]:
    """Let a model write relation paths over all relations; those that lead nowhere are left out.

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
    said, step = consulted(
        model, "plan-relation-paths", question=query.text, starts=", ".join(starts),
        ends=", ".join(local_name(each.value) for each in query.wanted), relations=relations,
        benefits=", ".join(_BENEFITS),
    )  # fmt: skip
    written = said.get("paths", []) if said else []
    found: dict[str, tuple[RelationPath, ...]] = {}
    refused: list[str] = []
    for each in written if isinstance(written, list) else []:
        path = _parsed(each, runtime)
        fitting = [start for start in starts if path and _leads(runtime, start, path)]
        if not path or not fitting:
            refused.append(str(each)[:120])
        for start in fitting:
            found[start] = (*found.get(start, ()), path)
    return found, (dict(step) | {"kept": sorted(map(str, found)), "refused": refused},)


def _parsed(said: object, runtime: Runtime) -> RelationPath:
    """Read ``["relatedConstitution", "suitableFood"]``; nothing where a relation is unknown."""
    if not isinstance(said, list) or not 1 <= len(said) <= runtime.settings.paths.max_hops:
        return ()
    steps = []
    for word in said:
        name = str(word).removeprefix("shiyi:").removeprefix("^")
        if VOCAB + name not in runtime.retriever.known:
            return ()
        steps.append(Step(VOCAB + name, forward="^" not in str(word)))
    return tuple(steps)


def _leads(runtime: Runtime, start: str, path: RelationPath) -> bool:
    """Tell whether claims of the base join a path's steps, from a class to a benefit."""
    planner, here = runtime.retriever.planner, {start}
    if local_name(path[-1].predicate) not in _BENEFITS:
        return False
    for place, step in enumerate(path):
        following = set[str]()
        for subject, predicate, object_ in planner.joins:
            one, other = (subject, object_) if step.forward else (object_, subject)
            if predicate == step.predicate and one in here:
                last = place == len(path) - 1
                following |= (
                    {other} if last or planner.leads(one, step, other, first=place == 0) else set()
                )
        here = following
    return bool(here)
