"""Paths over whole arrays are those that walking finds one by one, scored and in order."""

import random

import numpy as np
import pytest

from shiyi.answering.retrieval.planning import SCORERS, mean_entities, whole_scores
from shiyi.errors import RangeError
from shiyi.model.path import Step
from shiyi.reasoning.adjacency import Edge, Ints, Projection
from shiyi.reasoning.path_search import (
    Bools,
    best_rows,
    importance_vector,
    leading_rows,
    ways_along,
)

STEPS = [Step(name, forward) for name in ("p", "q") for forward in (True, False)]


def graph(seed: int, edges: int = 400, nodes: int = 30) -> Projection:
    draw = random.Random(seed)  # noqa: S311 - a made-up graph
    drawn = {
        (f"n{int(nodes * draw.random() ** 3)}", draw.choice("pq"), f"n{draw.randrange(nodes)}")
        for _ in range(edges)
    }
    return Projection.from_edges(
        [
            Edge(s, p, o, f"c{i}", round(draw.random(), 3))
            for i, (s, p, o) in enumerate(sorted(drawn))
        ],
        "test",
    )


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
        for path in walked
        if path.weakest >= least
    }
    ways = ways_along(projection, plan, seeds, least)
    importance = importance_vector(projection, rank)
    ranks = tuple(importance[column] for column in ways.nodes[1:])
    scores = whole_scores("mean_entities", ways.confidences(), ranks).tolist()
    paths = ways.paths(range(len(ways)), scores)
    assert {tuple(hop.claim for hop in path.hops): path.score for path in paths} == expected
    assert len(paths) == len(expected)


def test_absent_nodes_and_properties_have_no_paths() -> None:
    projection = graph(1)
    assert len(ways_along(projection, (Step("p"),), ("absent",))) == 0
    assert len(ways_along(projection, (Step("none"),), ("n0",))) == 0
    with pytest.raises(RangeError):
        ways_along(projection, (), ("n0",))


@pytest.mark.parametrize("seed", range(3))
def test_hop_is_filtered_by_its_ends(seed: int) -> None:
    projection, plan = graph(seed), (Step("p"), Step("q", forward=False))
    even = {place for place, node in enumerate(projection.nodes) if int(node[1:]) % 2 == 0}

    def admits(place: int, starts: Ints, ends: Ints) -> Bools:
        return np.isin(ends, list(even)) if place == 0 else np.isin(starts, list(even))

    columns = ways_along(projection, plan, ("n0", "n1"), 0.1, admits)
    walked = projection.walk(plan, ("n0", "n1"), 10**6).paths
    expected = {
        tuple(hop.claim for hop in path.hops)
        for path in walked
        if path.weakest >= 0.1 and int(path.hops[0].end[1:]) % 2 == 0
    }
    assert {
        tuple(h.claim for h in path.hops) for path in columns.paths(range(len(columns)))
    } == expected
    assert not columns.cut


def test_three_hops_from_hub_bounded_and_keep_surest() -> None:
    projection, plan = (
        graph(2, edges=3000, nodes=60),
        (Step("p"), Step("p", forward=False), Step("q")),
    )
    whole, cut = (ways_along(projection, plan, ("n0",), widest=w) for w in (10**7, 2000))
    assert (whole.cut, cut.cut) == (False, True)
    assert 0 < len(cut) <= 2000 < len(whole)
    product = [path.hops[0].confidence for path in cut.paths(range(len(cut)))]
    every = [path.hops[0].confidence for path in whole.paths(range(len(whole)))]
    assert sum(product) / len(product) > sum(every) / len(every)


@pytest.mark.parametrize("name", SCORERS)
def test_scores_over_columns_are_those_of_each_path(name: str) -> None:
    projection, draw = graph(3), random.Random(3)  # noqa: S311 - made up
    rank = {node: draw.random() for node in projection.nodes}
    ways = ways_along(projection, (Step("p"), Step("q")), ("n0", "n2"))
    importance = importance_vector(projection, rank)
    ranks = tuple(importance[column] for column in ways.nodes[1:])
    scores = whole_scores(name, ways.confidences(), ranks)
    group = [SCORERS[name](path, rank) for path in ways.paths(range(len(ways)))]
    assert scores.tolist() == pytest.approx(group)


def test_first_of_each_group_are_taken_in_order() -> None:
    groups = np.array([7, 7, 3, 7, 3, 3])
    assert leading_rows(groups, np.array([5, 0, 3, 1, 2, 4]), 2).tolist() == [5, 0, 3, 2]


@pytest.mark.parametrize("groups", [2, 40, 4000])
def test_best_rows_those_of_all_put_in_order(groups: int) -> None:
    draw = np.random.default_rng(groups)
    group, score = draw.integers(0, groups, 9000), np.round(draw.random(9000), 2)  # many are equal
    for through, most in ((3, 50), (12, 300), (1, 9000)):
        expected = leading_rows(group, np.argsort(-score, kind="stable"), through)[:most]
        assert best_rows(group, score, through, most).tolist() == expected.tolist()


def test_claims_are_listed_by_node_and_property() -> None:
    projection = graph(4)
    ends = {
        True: (projection.source, projection.target),
        False: (projection.target, projection.source),
    }
    every = np.arange(len(projection.nodes), dtype=np.int32)
    for forward, (near, _) in ends.items():
        for kind, name in enumerate(projection.predicates):
            origin, edges = projection.outgoing(every, Step(name, forward))
            expected = [
                (n, e)
                for n in every
                for e in np.flatnonzero((near == n) & (projection.kind == kind))
            ]
            assert list(zip(origin.tolist(), edges.tolist(), strict=True)) == expected
