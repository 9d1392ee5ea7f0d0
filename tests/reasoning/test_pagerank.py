from typing import Literal

import numpy as np
import pytest

from shiyi.answering.knowledge.facts import EDIBLE
from shiyi.errors import RangeError
from shiyi.model.path import Hop, Path
from shiyi.reasoning.adjacency import pagerank
from shiyi.reasoning.path_search import importance_on_paths
from shiyi.settings import PageRankSettings, PathSettings, Settings
from tests.support import bases

PLAIN = PageRankSettings(scale_by_n=False)


def ints(*values: int) -> np.ndarray[tuple[int], np.dtype[np.int32]]:
    return np.array(values, dtype=np.int32)


def test_sum_one_although_node_has_no_way_out() -> None:
    rank = pagerank(4, ints(0, 0, 1), ints(1, 2, 2), np.array([0.9, 0.3, 0.5]), PLAIN)
    assert rank.sum() == pytest.approx(1.0, abs=1e-9)


def test_two_nodes_that_point_at_one_another_equal() -> None:
    rank = pagerank(2, ints(0, 1), ints(1, 0), np.array([0.2, 0.9]), PLAIN)
    assert rank.tolist() == pytest.approx([0.5, 0.5])


def test_a_hand_solved_star_comes_out() -> None:
    # a -> b with weight 3, a -> c with weight 1 (of 4); b and c dangle; d = 0.8
    rank = pagerank(3, ints(0, 0), ints(1, 2), np.array([0.75, 0.25]), PLAIN)
    a = 0.2 / 3 + 0.8 * (1 - rank[0]) / 3
    assert rank[0] == pytest.approx(a, abs=1e-8)
    assert rank[1] == pytest.approx(a + 0.8 * 0.75 * a, abs=1e-8)
    assert rank[2] == pytest.approx(a + 0.8 * 0.25 * a, abs=1e-8)
    assert a == pytest.approx((0.2 / 3 + 0.8 / 3) / (1 + 0.8 / 3), abs=1e-8)


def test_without_damping_all_nodes_are_equal() -> None:
    flat = PageRankSettings(damping=0.0, scale_by_n=False)
    rank = pagerank(3, ints(0, 1), ints(1, 2), np.array([1.0, 1.0]), flat)
    assert rank.tolist() == pytest.approx([1 / 3] * 3)


def test_scaled_ranks_have_a_mean_of_one() -> None:
    rank = pagerank(3, ints(0, 1), ints(1, 2), np.array([1.0, 0.5]), PageRankSettings())
    assert rank.mean() == pytest.approx(1.0)


@pytest.mark.parametrize("weight", [float("nan"), -0.1, 1.1])
def test_a_weight_that_is_no_confidence_is_refused(weight: float) -> None:
    with pytest.raises(RangeError):
        pagerank(2, ints(0), ints(1), np.array([weight]), PLAIN)


def test_an_empty_graph_has_no_ranks() -> None:
    assert pagerank(0, ints(), ints(), np.array([], dtype=np.float64), PLAIN).size == 0


def test_question_graph_counts_each_path_claim_once() -> None:
    hop = Hop("a", "p", "b", "1", 0.5)
    paths = [Path((hop, Hop("b", "p", "c", "2", 0.4))), Path((hop, Hop("b", "p", "d", "3", 0.8)))]
    rank = importance_on_paths(paths, PLAIN)
    assert set(rank) == {"a", "b", "c", "d"}
    assert sum(rank.values()) == pytest.approx(1.0)
    assert rank["d"] - rank["a"] == pytest.approx(2 * (rank["c"] - rank["a"]))  # 0.8 against 0.4
    assert importance_on_paths([], PLAIN) == {}


def test_ranking_uses_release_or_question_graph() -> None:
    seeds = [iri for iri in bases.runtime().facts.classes if "symptom" in iri or "syndrome" in iri]
    scores = []
    settings = PathSettings(scorer="mean_entities")
    scopes: tuple[Literal["global", "query_subgraph"], ...] = ("global", "query_subgraph")
    for scope in scopes:
        ranking = PageRankSettings(scope=scope)
        retriever = bases.runtime(settings=Settings(pagerank=ranking, paths=settings)).retriever
        paths = retriever.retrieve(seeds, EDIBLE, 10, 0.3).paths
        within = importance_on_paths(paths, ranking)
        again = retriever.rank if scope == "global" else within
        path = paths[0]
        worth = sum(hop.confidence * again[hop.end] for hop in path.hops)
        assert path.score == pytest.approx(worth / (len(path.hops) + 1))
        scores.append(path.score)
    assert scores[0] != scores[1]
