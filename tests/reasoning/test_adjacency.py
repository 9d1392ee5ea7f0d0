from pathlib import Path

import pytest

from shiyi.errors import IndexMismatchError, RangeError
from shiyi.model.path import Step
from shiyi.ontology.terms import SHIYI
from shiyi.reasoning.adjacency import Edge, Projection, update_edges
from shiyi.reasoning.path_search import importance_vector
from shiyi.settings import PageRankSettings
from tests.support import bases

A, B, C = "https://e.org/a", "https://e.org/b", "https://e.org/c"
P = "https://e.org/p"
EDGES = [Edge(A, P, B, "urn:1", 0.9), Edge(B, P, C, "urn:2", 0.5), Edge(A, P, C, "urn:3", 0.4)]


def test_a_saved_projection_comes_back_equal(tmp_path: Path) -> None:
    projection = Projection.from_edges(EDGES, "sha256:1")
    projection.save(tmp_path)
    read = Projection.load(tmp_path, "sha256:1")
    assert read.claims == projection.claims
    path = (Step(P), Step(P))
    assert read.walk(path, [A], 9).paths == projection.walk(path, [A], 9).paths


def test_a_projection_of_another_release_is_refused(tmp_path: Path) -> None:
    Projection.from_edges(EDGES, "sha256:1").save(tmp_path)
    with pytest.raises(IndexMismatchError):
        Projection.load(tmp_path, "sha256:2")


def test_a_missing_projection_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(IndexMismatchError, match="shiyi index"):
        Projection.load(tmp_path, "sha256:1")


def test_a_walk_goes_through_no_node_twice() -> None:
    projection = Projection.from_edges([*EDGES, Edge(C, P, A, "urn:4", 1.0)], "x")
    for path in projection.walk((Step(P),) * 3, [A, B, C], 99).paths:
        assert len(set(path.entities)) == 4


def test_a_confidence_outside_its_range_is_refused() -> None:
    with pytest.raises(RangeError):
        Projection.from_edges([Edge(A, P, B, "urn:1", float("nan"))], "x")


def test_texts_no_edges_and_importance_covers_every_node() -> None:
    projection = Projection.from_store(bases.stored(), "x")
    assert SHIYI.ruleText.value not in projection.predicates
    assert len(projection) > 20
    assert sum(projection.importance(PageRankSettings()).values()) == pytest.approx(
        len(projection.nodes)
    )


def test_stored_importance_is_current_until_graph_changes(tmp_path: Path) -> None:
    projection = bases.runtime().projection
    settings = PageRankSettings()
    projection.save(tmp_path, settings)
    opened = Projection.load(tmp_path, projection.release)
    rank = opened.importance(settings)
    assert rank.all() == dict(rank) == projection.importance(settings)
    assert list(importance_vector(opened, rank)) == list(importance_vector(projection, rank.all()))
    other = PageRankSettings(damping=0.5)
    assert opened.importance(other) == projection.importance(other)
    edge = Edge(
        projection.nodes[0], projection.predicates[0], projection.nodes[-1], "urn:fresh", 0.9
    )
    after = update_edges(opened, [projection.claims[0]], [edge])
    lookup = after.importance(settings, rank)
    assert lookup == pytest.approx(
        update_edges(projection, [projection.claims[0]], [edge]).importance(settings), abs=1e-4
    )
    assert lookup != rank.all()
