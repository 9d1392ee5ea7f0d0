"""Confidences and importance after any reviews are those computed from everything."""

import random
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from shiyi.answering.runtime import Runtime, RuntimeHolder
from shiyi.cli import main
from shiyi.curation.changes import Changes
from shiyi.curation.reviews import Decisions, ReviewDecision
from shiyi.errors import RangeError
from shiyi.model.claim import Status
from shiyi.model.iris import graph
from shiyi.model.rdf import DefaultGraph, Quad
from shiyi.ontology.serialization import claim_quads
from shiyi.ontology.terms import SHIYI
from shiyi.reasoning.adjacency import Edge, Projection
from shiyi.reasoning.adjacency import update_edges as changed_adjacency
from shiyi.reasoning.confidence.fusion import disputes, load_rejected, weigh
from shiyi.reasoning.confidence.reviews import (
    ConfidenceInputs,
    Level,
    Review,
    Vote,
    agreement,
    apply_reviews,
    compute_decayed,
    krippendorff_alpha,
    list_reviewed,
    load_inputs,
)
from shiyi.server.site.opening import Refresher
from shiyi.settings import PageRankSettings, Settings
from shiyi.sparql.base.knowledge_base import KnowledgeBase
from tests.support import bases
from tests.support.bases import BOOK, CLAIMS, GOJI, SWEETNESS, WARM, WARMTH, build

NONE = float("nan")
# the worked example of Krippendorff 2011: four observers, twelve units
OBSERVED = np.array([
    [1, 2, 3, 3, 2, 1, 4, 1, 2, NONE, NONE, NONE],
    [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, NONE, 3],
    [NONE, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, NONE],
    [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, NONE],
])  # fmt: skip


@pytest.mark.parametrize(
    ("level", "published"), [("nominal", 0.743), ("ordinal", 0.815), ("interval", 0.849)]
)
def test_alpha_is_that_of_the_published_example(level: Level, published: float) -> None:
    assert krippendorff_alpha(OBSERVED, level) == pytest.approx(published, abs=5e-4)


def test_alpha_below_nothing_where_raters_contradict_each_other() -> None:
    alpha = krippendorff_alpha(np.array([[0.0, 1.0, 0.0, 1.0], [1.0, 0.0, 1.0, 0.0]]), "nominal")
    assert alpha is not None
    assert alpha < 0


@pytest.mark.parametrize("ratings", [[[1.0, NONE], [NONE, 2.0]], [[3.0, 3.0], [3.0, 3.0]], [[1.0]]])
def test_no_comparable_ratings_give_no_alpha(ratings: list[list[float]]) -> None:
    assert krippendorff_alpha(np.array(ratings), "ordinal") is None


STEP = st.tuples(
    st.sampled_from(range(len(CLAIMS))),
    st.sampled_from(["li", "wang", "zhao"]),
    st.sampled_from([-1.0, -0.4, 0.0, 0.3, 1.0]),
    st.booleans(),
)


def kind_of(agreed: float) -> str:
    return "accept" if agreed > 0 else "reject" if agreed < 0 else "unsure"


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KnowledgeBase]:
    with KnowledgeBase.open(build(tmp_path_factory.mktemp("reviews") / "kb"), write=True) as opened:
        yield opened


@given(st.lists(STEP, max_size=8))
@settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck))
def test_incremental_confidence_equals_recount(
    base: KnowledgeBase, steps: list[tuple[int, str, float, bool]]
) -> None:
    desk = Decisions(Changes(base.writer))
    for place, who, agreed, taken_back in steps:
        iri = CLAIMS[place].iri.value
        change = desk.review(iri, ReviewDecision(kind_of(agreed), who, agreement=agreed))
        if taken_back:
            desk.undo(change.iri, who, "")
    for claim in CLAIMS:
        weighed = desk.assess(claim.iri.value)
        second = load_inputs(base.store, claim.iri.value)
        assert second.confidence == pytest.approx(weighed.standing.confidence, abs=1e-12)
        if not weighed.outcome.waits:
            assert weighed.claim.confidence == pytest.approx(second.confidence, abs=1e-6)
        reviewed = claim.iri.value in list_reviewed(base.store)
        assert reviewed == bool(desk.reviews(claim.iri.value))


def test_reviewed_confidence_leaves_accepted_view(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kb = build(tmp_path / "kb")
    iri = CLAIMS[0].iri
    with KnowledgeBase.open(kb, write=True) as opened:
        before = weigh(Projection.from_store(opened.store, ""), disputes(opened.store))
        Decisions(Changes(opened.writer)).review(
            iri.value, ReviewDecision("reject", "li", agreement=-0.4)
        )
    assert main(["--kb", str(kb), "reason", "confidence", "--json"]) == 0
    assert '"reviewed": 1' in capsys.readouterr().out
    with KnowledgeBase.open(kb) as opened:
        after = weigh(Projection.from_store(opened.store, ""), disputes(opened.store))
        place = after.graph.claims.index(iri.value)
        assert after.text[place] < before.text[before.graph.claims.index(iri.value)]
        [quad] = opened.store.match(iri, SHIYI.confidence, None, DefaultGraph())
        [fused] = opened.store.match(iri, SHIYI.fusedConfidence, None, None)
        assert isinstance(quad, Quad)
        assert float(fused.object.value) == pytest.approx(after.fused[place], abs=1e-6)  # type: ignore[union-attr]


def test_claim_follows_retraction_and_return_of_source(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kb = build(tmp_path / "kb")
    quad = Quad(BOOK.iri, SHIYI.status, SHIYI.retracted, DefaultGraph())
    alone, beside = SWEETNESS.iri.value, WARMTH.iri.value  # the second has a paper too
    with KnowledgeBase.open(kb, write=True) as opened:
        assert compute_decayed(opened.store) == {}
        before = {name: load_inputs(opened.store, name).confidence for name in (alone, beside)}
        opened.writer.write(
            (quad,), (), key="retract", agent="li", reason="withdrawn by its publisher"
        )
        results = compute_decayed(opened.store)
        assert results[alone] == pytest.approx(0.4)
        desk = Decisions(Changes(opened.writer))
        assert desk.assess(alone).standing.confidence == pytest.approx(results[alone])
        assert results[beside] == pytest.approx(1 - (1 - 0.3) * (1 - 0.5))
    assert main(["--kb", str(kb), "reason", "confidence", "--json"]) == 0
    assert '"decayed": ' in capsys.readouterr().out
    with KnowledgeBase.open(kb, write=True) as opened:
        [text] = opened.store.match(SWEETNESS.iri, SHIYI.textPart, None, None)
        assert float(text.object.value) == pytest.approx(0.4)  # type: ignore[union-attr]
        opened.writer.write((), (quad,), key="restore", agent="li", reason="it was an error")
        after = {name: load_inputs(opened.store, name).confidence for name in (alone, beside)}
        assert after == before


def test_rejections_are_read_unless_accepted_later(tmp_path: Path) -> None:
    with KnowledgeBase.open(build(tmp_path / "kb"), write=True) as opened:
        assert load_rejected(opened.store) == frozenset()
        place = graph("rejected")
        wrong = bases.claim(GOJI, SHIYI.hasNature, WARM, 0.5)
        quads = [
            *claim_quads(replace(wrong, status=Status.REJECTED), place),
            Quad(SWEETNESS.iri, SHIYI.status, SHIYI.rejected, place),
        ]
        opened.writer.write(quads, (), key="refuse", agent="li", reason="it is neutral")
        assert load_rejected(opened.store) == {(GOJI.value, SHIYI.hasNature.value, WARM.value)}


def graph_of(chance: random.Random, count: int) -> list[Edge]:
    return [
        Edge(f"n{chance.randrange(30)}", "r", f"n{chance.randrange(30)}", f"c{i}", chance.random())
        for i in range(count)
    ]


@given(st.integers(0, 10_000))
@settings(max_examples=25, deadline=None)
def test_importance_from_ranks_before_that_counted_from_nothing(seed: int) -> None:
    chance = random.Random(seed)  # noqa: S311
    edges = graph_of(chance, 80)
    one = Projection.from_edges(edges, "")
    gone = {edge.claim for edge in chance.sample(edges, 3)}
    new_edges = [Edge("n1", "r", "new", "c-new", 0.7), Edge("n2", "r", "n3", "c5", 0.1)]
    remaining_edges = [e for e in edges if e.claim not in gone | {"c5"}] + new_edges
    after = changed_adjacency(one, gone | {"c5"}, new_edges).importance(
        PageRankSettings(), one.importance(PageRankSettings())
    )
    full = Projection.from_edges(remaining_edges, "").importance(PageRankSettings())
    assert after.keys() == full.keys()
    assert all(after[node] == pytest.approx(full[node], abs=1e-7) for node in full)


def test_review_is_in_ranking_that_answers_use() -> None:
    with (
        TemporaryDirectory() as home,
        KnowledgeBase.open(build(Path(home) / "kb"), write=True) as opened,
    ):
        living = RuntimeHolder(Runtime.open(opened, Settings()))
        changes = Changes(opened.writer)
        Refresher(living, changes, lambda: None).rederive_soon = lambda: None  # type: ignore[method-assign]
        before = dict(living.current.rank)
        Decisions(changes).review(CLAIMS[1].iri.value, ReviewDecision("reject", "li"))
        now, fresh = living.current.rank, Projection.from_store(opened.store, "")
        assert now != before
        full = fresh.importance(Settings().pagerank)
        assert now.keys() == full.keys()
        assert all(now[n] == pytest.approx(full[n], abs=1e-7) for n in full)
        assert living.current.retriever.rank == now


UNIT = st.floats(0.0, 1.0)
AGREED = st.floats(-1.0, 1.0)
VOTES = st.lists(
    st.builds(Vote, st.sampled_from("abcd"), st.sampled_from("xyz"), UNIT), min_size=1, max_size=5
).map(tuple)
REVIEWS = st.lists(st.builds(Review, st.sampled_from(["li", "wang", "zhao"]), AGREED), max_size=8)


@given(UNIT, AGREED)
def test_confidence_stays_in_its_range_under_any_review(number: float, agreed: float) -> None:
    assert 0.0 <= apply_reviews(number, agreed) <= 1.0


@given(UNIT)
def test_one_reviewer_moves_confidence_half_way(number: float) -> None:
    top = max(number, 0.99)
    assert apply_reviews(number, 1.0) == pytest.approx(min(top, number + (1.0 - number) / 2))
    assert apply_reviews(number, -1.0) == pytest.approx(number / 2)
    assert apply_reviews(number, 0.0) == number


@given(st.floats(0.0, 0.98), st.integers(1, 9))
def test_agreeing_reviewers_raise_confidence_below_one(number: float, n: int) -> None:
    assert apply_reviews(number, 1.0, n) <= apply_reviews(number, 1.0, n + 1) <= 0.99
    assert apply_reviews(number, -1.0, n) >= apply_reviews(number, -1.0, n + 1) >= 0.0


def test_the_formula_is_as_documented() -> None:
    assert apply_reviews(0.6, 0.5) == pytest.approx(0.75 * 0.6 + 0.25 * 0.75)
    assert apply_reviews(0.6, -0.5, 2) == pytest.approx(0.625 * 0.6 + 0.375 * 0.25)


@given(VOTES, REVIEWS, st.frozensets(st.sampled_from("abcd")))
def test_step_by_step_gives_what_recomputing_everything_gives(
    votes: tuple[Vote, ...], reviews: list[Review], gone: frozenset[str]
) -> None:
    step = ConfidenceInputs(votes, retracted=gone)
    for review in reviews:
        step = step.with_review(review)
    latest = {each.reviewer: each for each in reviews}
    assert step.confidence == ConfidenceInputs(votes, latest, gone).confidence


@given(st.lists(AGREED, max_size=6), st.randoms(use_true_random=False))
def test_the_order_of_reviewers_does_not_matter(agreed: list[float], chance: random.Random) -> None:
    reviews = [Review(str(i), each) for i, each in enumerate(agreed)]
    mixed_reviews = reviews[:]
    chance.shuffle(mixed_reviews)
    assert agreement(reviews) == agreement(mixed_reviews)


def test_retracted_source_counts_for_half_and_others_stay() -> None:
    votes, gone = (Vote("a", "a", 0.8), Vote("b", "b", 0.5)), frozenset("a")
    assert ConfidenceInputs(votes).confidence == 0.9
    assert ConfidenceInputs(votes, retracted=gone).confidence == pytest.approx(1 - 0.6 * 0.5)
    assert ConfidenceInputs(votes[:1], retracted=gone).confidence == pytest.approx(0.4)


def test_second_review_replaces_first_by_same_person() -> None:
    one = (
        ConfidenceInputs((Vote("a", "a", 0.8),))
        .with_review(Review("li", -1.0))
        .with_review(Review("li", 1.0))
    )
    assert one.confidence == pytest.approx(0.9)


@pytest.mark.parametrize("wrong", [float("nan"), 1.1, -2.0])
def test_agreement_that_is_no_number_in_range_refused(wrong: float) -> None:
    with pytest.raises(RangeError, match="agreement"):
        Review("li", wrong)
    with pytest.raises(RangeError, match="agreement"):
        apply_reviews(0.5, wrong)
