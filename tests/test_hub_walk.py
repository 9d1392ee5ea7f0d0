"""Paths over whole arrays are those that walking finds one by one, scored and in order."""

import random

import numpy as np
import pytest

from shiyi.answering.ranking import mean_entities
from shiyi.errors import RangeError
from shiyi.model.path import Step
from shiyi.reasoning.hub_walk import best_paths, importance_of
from shiyi.reasoning.projection import Edge, Projection

STEPS = [Step(name, forward) for name in ("p", "q") for forward in (True, False)]


def graph(seed: int, edges: int = 400, nodes: int = 30) -> Projection:
    draw = random.Random(seed)  # noqa: S311 - a made-up graph
    drawn = {
        (f"n{int(nodes * draw.random() ** 3)}", draw.choice("pq"), f"n{draw.randrange(nodes)}")
        for _ in range(edges)
    }
    return Projection.from_edges(
        [Edge(s, p, o, f"c{i}", round(draw.random(), 3)) for i, (s, p, o) in enumerate(sorted(drawn))],
        "test",
    )  # fmt: skip


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("length", [1, 2, 3])
def test_whole_arrays_find_what_walking_finds(seed: int, length: int) -> None:
    projection, draw = graph(seed), random.Random(seed)  # noqa: S311 - made up
    rank = {node: draw.random() for node in projection.nodes}
    plan = tuple(draw.choice(STEPS) for _ in range(length))
    seeds = ("n0", "n5", "absent", "n0")
    walked = projection.walk(plan, seeds, 10**6).paths
    least = 0.2
    expected = {
        tuple(hop.claim for hop in path.hops): pytest.approx(mean_entities(path, rank))
        for path in walked if path.weakest >= least
    }  # fmt: skip
    importance = importance_of(projection, rank)
    found = best_paths(projection, plan, seeds, importance, 10**6, least)
    assert {tuple(hop.claim for hop in p.hops): p.score for p in found.paths} == expected
    assert found.found == len(expected)
    scores = [path.score for path in found.paths]
    assert scores == sorted(scores, reverse=True)
    cut = best_paths(projection, plan, seeds, importance, 7, least)
    assert cut.paths == found.paths[:7]
    assert cut.found == found.found


def test_what_is_not_there_leads_nowhere() -> None:
    projection = graph(1)
    importance = np.ones(len(projection.nodes))
    assert best_paths(projection, (Step("p"),), ("absent",), importance, 5).paths == ()
    assert best_paths(projection, (Step("none"),), ("n0",), importance, 5).paths == ()
    with pytest.raises(RangeError):
        best_paths(projection, (), ("n0",), importance, 5)
