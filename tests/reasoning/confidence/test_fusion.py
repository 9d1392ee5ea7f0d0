from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from shiyi.errors import FormatError, RangeError, UsageError
from shiyi.model.iris import graph as graph_name
from shiyi.model.rdf import NamedNode, Quad, decimal
from shiyi.ontology.terms import SHIYI
from shiyi.publishing.description import explain_claim
from shiyi.reasoning.adjacency import Edge, Projection
from shiyi.reasoning.confidence.evidence import Structure
from shiyi.reasoning.confidence.fusion import (
    Calibration,
    Fusion,
    disputes,
    draw_corrupted,
    fit_fusion,
    number_claims,
    number_triples,
    weigh,
)
from shiyi.reasoning.derivation import derive_quads, replace_derived
from shiyi.reasoning.rules import DERIVED
from shiyi.settings import Settings
from shiyi.sparql.store.oxigraph import OxigraphStore
from tests.support import bases


def test_calibrated_beliefs_have_no_error() -> None:
    belief = np.repeat([0.2, 0.8], 10)
    holds = np.array([True] * 2 + [False] * 8 + [True] * 8 + [False] * 2)
    calibration = Calibration.of(belief, holds)
    assert calibration.ece == pytest.approx(0.0)
    assert calibration.brier == pytest.approx(0.16)
    assert calibration.auc == pytest.approx((64 + 0.5 * (2 * 8 + 8 * 2)) / 100, abs=1e-9)
    assert [count for _, _, count in calibration.bins] == [10, 10]


def test_area_is_one_for_perfect_order() -> None:
    holds = np.array([False, False, True, True])
    assert Calibration.of(np.array([0.1, 0.2, 0.7, 0.9]), holds).auc == 1.0
    assert Calibration.of(np.full(4, 0.5), holds).auc == 0.5


def test_one_outcome_alone_cannot_be_measured() -> None:
    with pytest.raises(UsageError, match="hold"):
        Calibration.of(np.array([0.1, 0.2]), np.array([True, True]))


def test_claims_of_two_communities_distinguished_from_corrupted_ones() -> None:
    random = np.random.default_rng(0)
    pairs = {(f"h{s}{a}", f"t{s}{b}") for s in range(4) for a, b in random.integers(0, 12, (60, 2))}
    edges = [Edge(h, "p", t, h + t, 0.9) for h, t in sorted(pairs)]
    _, calibration = fit_fusion(Structure.of(Projection.from_edges(edges, "")))
    assert calibration.auc > 0.7
    assert calibration.ece < 0.2


def test_rejected_claims_are_negative_examples() -> None:
    random = np.random.default_rng(0)
    pairs = {(f"h{s}{a}", f"t{s}{b}") for s in range(4) for a, b in random.integers(0, 12, (60, 2))}
    edges = [Edge(h, "p", t, h + t, 0.9) for h, t in sorted(pairs)]
    structure = Structure.of(Projection.from_edges(edges, ""))
    plain, calibration = fit_fusion(structure)
    within = {(f"h{s}{a}", "p", f"t{s}{b}") for s in range(4) for a in range(12) for b in range(12)}
    wrong = {row for row in within if row[::2] not in pairs and row[0] in structure.graph.nodes}
    strict, more = fit_fusion(structure, refused=[*wrong, ("never", "seen", "before")])
    assert more.rows > calibration.rows
    near = np.array([[0.9, 0.9, 0.9]])
    assert strict.structure(near)[0] < plain.structure(near)[0]  # likeness no longer proves it
    assert len(number_triples(structure.graph, wrong)) <= len(wrong)
    assert len(number_triples(structure.graph, [("never", "seen", "before")])) == 0


def graph(*edges: tuple[str, str, str, float]) -> Projection:
    return Projection.from_edges([Edge(s, p, o, f"{s}{p}{o}", c) for s, p, o, c in edges], "r")


def asked(stored: Projection, *triples: tuple[str, str, str]) -> np.ndarray:
    rows = [
        (stored.nodes.index(s), stored.predicates.index(p), stored.nodes.index(o))
        for s, p, o in triples
    ]
    return np.array(rows, dtype=np.int64)


TRIANGLE = graph(
    ("a", "p", "b", 0.9), ("b", "p", "c", 0.8), ("a", "q", "c", 0.7), ("d", "p", "e", 0.6)
)


def test_second_path_supports_claim() -> None:
    parts = Structure.of(TRIANGLE).ask(
        asked(TRIANGLE, ("a", "q", "c"), ("d", "p", "e")), np.array([0.7, 0.6])
    )
    # a - b - c, through b of degree 2
    assert parts.path[0] == pytest.approx(0.9 * 0.8 / np.log2(4))
    assert parts.path[1] == 0.5
    assert parts.entity[1] == 0.5
    assert 0.5 < parts.entity[0] <= 1.0


def test_a_claim_does_not_support_itself() -> None:
    with_claim = Structure.of(TRIANGLE).ask(asked(TRIANGLE, ("a", "q", "c")), np.array([0.7]))
    lone = graph(("a", "p", "b", 0.9), ("b", "p", "c", 0.8), ("d", "q", "e", 0.6))
    without = Structure.of(lone).ask(asked(lone, ("a", "q", "c")), np.array([0.0]))
    assert with_claim.path == pytest.approx(without.path)


def test_parallel_claim_is_path_of_one_hop() -> None:
    double = graph(("a", "p", "b", 0.9), ("a", "q", "b", 0.4))
    parts = Structure.of(double).ask(asked(double, ("a", "p", "b")), np.array([0.9]))
    assert parts.path[0] == pytest.approx(0.4)


def test_heads_with_shared_claims_have_low_energy() -> None:
    edges = [(f"h{i}", "p", f"t{j}", 0.9) for i in range(6) for j in range(6)]
    edges += [(f"g{i}", "p", f"s{j}", 0.9) for i in range(6) for j in range(6)]
    projection = graph(*edges)
    likely, unlikely = Structure.of(projection).profiles.plausibility(
        asked(projection, ("h0", "p", "t0"), ("h0", "p", "s0")), np.array([0.9, 0.0])
    )
    assert likely > unlikely + 0.2


def test_parts_that_say_nothing_leave_what_sources_say() -> None:
    text = np.array([0.3, 0.9])
    assert Fusion().fuse(text, np.full((2, 3), 0.5)) == pytest.approx(text)


def test_level_that_would_count_against_itself_counts_nothing() -> None:
    random = np.random.default_rng(0)
    holds = random.random(2000) < 0.5
    parts = np.column_stack(
        [np.where(holds, 0.7, 0.4), random.random(2000), np.where(holds, 0.2, 0.6)]
    )
    fusion = Fusion.fit(np.clip(parts + random.normal(0, 0.2, parts.shape), 0, 1), holds)
    assert fusion.weights[0] > 0
    assert fusion.weights[2] == 0.0


def test_corrupted_claims_are_in_no_graph() -> None:
    random = np.random.default_rng(1)
    projection = graph(*{(f"h{a}", "p", f"t{b}", 0.9) for a, b in random.integers(0, 30, (200, 2))})
    structure = Structure.of(projection)
    false = {tuple(row) for row in draw_corrupted(structure, 0).tolist()}
    assert len(false) > 50
    assert not false & {tuple(row) for row in number_claims(structure).tolist()}


def test_empty_graph_is_refused_with_advice() -> None:
    with pytest.raises(UsageError, match="shiyi build"):
        weigh(graph())


def test_nodes_that_hang_apart_are_weighed_too() -> None:
    weighed = weigh(graph(("a", "p", "b", 0.9), ("c", "p", "d", 0.4)))
    assert np.isfinite(weighed.fused).all()
    assert weighed.calibration is None


def test_disputed_claim_has_less_support_in_text() -> None:
    weighed = weigh(TRIANGLE, {"apb": 0.8})
    assert weighed.text[weighed.graph.claims.index("apb")] == pytest.approx(0.9 * (1 - 0.25 * 0.8))


@pytest.fixture
def base() -> OxigraphStore:
    store = OxigraphStore.in_memory()
    store.change(add=bases.kitchen_quads())
    replace_derived(store, derive_quads(store, Settings()), ("rules", "pagerank"))
    return store


def test_parts_stand_beside_claim_and_its_confidence_stays(base: OxigraphStore) -> None:
    nodes = {DERIVED, graph_name("journal")}  # the journal notes what was derived last
    before = {q for q in base.match() if q.graph_name not in nodes}
    projection = Projection.from_store(base, "")
    replace_derived(base, weigh(projection, disputes(base)).quads(), ("confidence",))
    assert {q for q in base.match() if q.graph_name not in nodes} == before
    message = explain_claim(base, projection.claims[0])
    assert message is not None
    assert set(message["parts"]) == {"text", "entity", "relation", "path", "fused"}


def test_swapping_one_section_leaves_the_others(base: OxigraphStore) -> None:
    before = set(base.match(graph=DERIVED))
    parts = list(weigh(Projection.from_store(base, "")).quads())
    replace_derived(base, parts, ("confidence",))
    assert set(base.match(graph=DERIVED)) == before | set(parts)
    replace_derived(base, (), ("confidence",))
    assert set(base.match(graph=DERIVED)) == before


def test_a_fault_while_deriving_leaves_the_old_graph(base: OxigraphStore) -> None:
    before = set(base.match(graph=DERIVED))

    def failing() -> Iterator[Quad]:
        yield Quad(NamedNode("urn:a"), SHIYI.pageRank, decimal(1.0), DERIVED)
        raise RangeError("broken off")

    with pytest.raises(RangeError, match="broken off"):
        replace_derived(base, failing(), ("pagerank",))
    assert set(base.match(graph=DERIVED)) == before


def test_unknown_section_and_quad_of_another_graph_refused(base: OxigraphStore) -> None:
    with pytest.raises(FormatError, match="rules"):
        replace_derived(base, (), ("rank",))
    with pytest.raises(UsageError, match="graph:derived"):
        replace_derived(
            base, [Quad(NamedNode("urn:a"), SHIYI.pageRank, decimal(1.0))], ("pagerank",)
        )


def test_text_that_is_no_number_is_refused() -> None:
    with pytest.raises(RangeError, match="belief"):
        replace(Fusion(), share=0.1).fuse(np.array([np.nan]), np.full((1, 3), 0.5))
