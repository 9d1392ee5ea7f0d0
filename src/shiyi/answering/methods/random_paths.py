"""Yaoshi-RAG's switch: relation paths drawn by chance instead of planned."""

import random
from collections import defaultdict
from collections.abc import Mapping
from typing import Final

from shiyi.answering.methods.claims import best_first, retrieved
from shiyi.answering.methods.port import Query
from shiyi.answering.paths import Retrieved
from shiyi.answering.runtime import Runtime
from shiyi.model.path import RelationPath, Step
from shiyi.prompts.chat import ChatModel

_WALKED: Final = 200  # paths followed along one relation path


def retrieve(query: Query, runtime: Runtime, model: ChatModel | None) -> Retrieved:
    """Follow ten relation paths drawn from those the base has, the same for the same question.

    A path that does not soundly lead to advice gives claims, never a recommendation.
    """
    settings, facts = runtime.settings.paths, runtime.facts
    draw = random.Random(query.text)  # noqa: S311 - a draw, no secret
    leaving = _leaving(runtime)
    scores: dict[str, float] = {}
    steps = []
    for seed in query.concepts:
        for _ in range(settings.relation_paths):
            plan = _drawn(draw, leaving, facts.classes.get(seed, ""), settings.max_hops)
            if not plan:
                continue
            walk = runtime.retriever.finder.follow(plan, (seed,), _WALKED)
            steps.append({"step": "drawn", "seed": seed, "path": [str(s) for s in plan],
                          "paths": len(walk.paths)})  # fmt: skip
            for path in walk.paths:
                worth = sum(h.confidence * runtime.rank.get(h.end, 0.0) for h in path.hops)
                for hop in path.hops:
                    scores[hop.claim] = max(scores.get(hop.claim, 0.0), worth / len(path.hops))
    known = {claim: fact for claim in scores if (fact := runtime.claims.get(claim))}
    ranked = best_first({c: s for c, s in scores.items() if c in known}, known)
    return retrieved(query, runtime, ranked, (), steps)


def _leaving(runtime: Runtime) -> Mapping[str, list[tuple[Step, str]]]:
    found: dict[str, list[tuple[Step, str]]] = defaultdict(list)
    for subject, predicate, object_ in sorted(runtime.retriever.planner.joins):
        found[subject].append((Step(predicate), object_))
        found[object_].append((Step(predicate, forward=False), subject))
    return found


def _drawn(
    draw: random.Random, leaving: Mapping[str, list[tuple[Step, str]]], start: str, most: int
) -> RelationPath:
    here, plan = start, list[Step]()
    for _ in range(draw.randint(1, most)):
        if not leaving.get(here):
            break
        step, here = draw.choice(leaving[here])
        plan.append(step)
    return tuple(plan)
