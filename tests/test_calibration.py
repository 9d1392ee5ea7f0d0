import numpy as np
import pytest

from shiyi.errors import UsageError
from shiyi.reasoning.evidence import Structure
from shiyi.reasoning.fusion import Calibration, calibrated, named
from shiyi.reasoning.projection import Edge, Projection


def test_beliefs_that_come_true_as_often_as_said_have_no_error() -> None:
    belief = np.repeat([0.2, 0.8], 10)
    holds = np.array([True] * 2 + [False] * 8 + [True] * 8 + [False] * 2)
    found = Calibration.of(belief, holds)
    assert found.ece == pytest.approx(0.0)
    assert found.brier == pytest.approx(0.16)
    assert found.auc == pytest.approx((64 + 0.5 * (2 * 8 + 8 * 2)) / 100, abs=1e-9)
    assert [count for _, _, count in found.bins] == [10, 10]


def test_a_perfect_order_has_area_one_and_a_constant_one_half() -> None:
    holds = np.array([False, False, True, True])
    assert Calibration.of(np.array([0.1, 0.2, 0.7, 0.9]), holds).auc == 1.0
    assert Calibration.of(np.full(4, 0.5), holds).auc == 0.5


def test_one_outcome_alone_cannot_be_measured() -> None:
    with pytest.raises(UsageError, match="hold"):
        Calibration.of(np.array([0.1, 0.2]), np.array([True, True]))


def test_claims_of_two_communities_are_told_from_corrupted_ones() -> None:
    random = np.random.default_rng(0)
    pairs = {(f"h{s}{a}", f"t{s}{b}") for s in range(4) for a, b in random.integers(0, 12, (60, 2))}
    edges = [Edge(h, "p", t, h + t, 0.9) for h, t in sorted(pairs)]
    _, found = calibrated(Structure.of(Projection.from_edges(edges, "")))
    assert found.auc > 0.7
    assert found.ece < 0.2


def test_what_curators_rejected_is_learnt_from_as_claims_that_do_not_hold() -> None:
    random = np.random.default_rng(0)
    pairs = {(f"h{s}{a}", f"t{s}{b}") for s in range(4) for a, b in random.integers(0, 12, (60, 2))}
    edges = [Edge(h, "p", t, h + t, 0.9) for h, t in sorted(pairs)]
    structure = Structure.of(Projection.from_edges(edges, ""))
    plain, found = calibrated(structure)
    within = {(f"h{s}{a}", "p", f"t{s}{b}") for s in range(4) for a in range(12) for b in range(12)}
    wrong = {each for each in within if each[::2] not in pairs and each[0] in structure.graph.nodes}
    strict, more = calibrated(structure, refused=[*wrong, ("never", "seen", "before")])
    assert more.rows > found.rows
    near = np.array([[0.9, 0.9, 0.9]])
    assert strict.structure(near)[0] < plain.structure(near)[0]  # likeness no longer proves it
    assert len(named(structure.graph, wrong)) <= len(wrong)
    assert len(named(structure.graph, [("never", "seen", "before")])) == 0
