"""Confidences and importance after any course of reviews are those counted anew from everything."""

import random
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from shiyi.answering.living import Living
from shiyi.answering.runtime import Runtime
from shiyi.cli import main
from shiyi.curation.changes import Changes
from shiyi.curation.decisions import Decisions
from shiyi.model.claim import Status
from shiyi.model.names import graph
from shiyi.model.rdf import DefaultGraph, Quad
from shiyi.ontology.statements import claim_quads
from shiyi.ontology.terms import SHIYI
from shiyi.reasoning.projection import Edge, Projection
from shiyi.reasoning.projection_changes import changed
from shiyi.reasoning.review_records import decayed_claims, reviewed_claims, standing_of
from shiyi.reasoning.weigh import disputes, refused, weigh
from shiyi.server.refreshing import Refresher
from shiyi.settings import PageRankSettings, Settings
from shiyi.sparql.knowledge_base import KnowledgeBase
from tests import curation_base
from tests.curation_base import BOOK, CLAIMS, GOJI, SWEETNESS, WARM, WARMTH, build

STEP = st.tuples(
    st.sampled_from(range(len(CLAIMS))), st.sampled_from(["li", "wang", "zhao"]),
    st.sampled_from([-1.0, -0.4, 0.0, 0.3, 1.0]), st.booleans(),
)  # fmt: skip


def kind_of(agreed: float) -> str:
    return "accept" if agreed > 0 else "reject" if agreed < 0 else "unsure"


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KnowledgeBase]:
    with KnowledgeBase.open(build(tmp_path_factory.mktemp("reviews") / "kb"), write=True) as opened:
        yield opened


@given(st.lists(STEP, max_size=8))
@settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck))
def test_step_by_step_in_the_base_equals_counting_everything_anew(
    base: KnowledgeBase, steps: list[tuple[int, str, float, bool]]
) -> None:
    desk = Decisions(Changes(base.writer))
    for place, who, agreed, taken_back in steps:
        iri = CLAIMS[place].iri.value
        made = desk.review(iri, kind_of(agreed), who, agreement=agreed)
        if taken_back:
            desk.undo(made.iri, who, "")
    for claim in CLAIMS:
        weighed = desk.weighing(claim.iri.value)
        anew = standing_of(base.store, claim.iri.value)
        assert anew.confidence == pytest.approx(weighed.made.confidence, abs=1e-12)
        if not weighed.verdict.waits:
            assert weighed.claim.confidence == pytest.approx(anew.confidence, abs=1e-6)
        reviewed = claim.iri.value in reviewed_claims(base.store)
        assert reviewed == bool(desk.reviews(claim.iri.value))


def test_weighing_takes_the_reviewed_confidence_and_leaves_the_accepted_view_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kb = build(tmp_path / "kb")
    iri = CLAIMS[0].iri
    with KnowledgeBase.open(kb, write=True) as opened:
        before = weigh(Projection.from_store(opened.store, ""), disputes(opened.store))
        Decisions(Changes(opened.writer)).review(iri.value, "reject", "li", agreement=-0.4)
    assert main(["--kb", str(kb), "reason", "confidence", "--json"]) == 0
    assert '"reviewed": 1' in capsys.readouterr().out
    with KnowledgeBase.open(kb) as opened:
        after = weigh(Projection.from_store(opened.store, ""), disputes(opened.store))
        place = after.graph.claims.index(iri.value)
        assert after.text[place] < before.text[before.graph.claims.index(iri.value)]
        [held] = opened.store.match(iri, SHIYI.confidence, None, DefaultGraph())
        [fused] = opened.store.match(iri, SHIYI.fusedConfidence, None, None)
        assert isinstance(held, Quad)
        assert float(fused.object.value) == pytest.approx(after.fused[place], abs=1e-6)  # type: ignore[union-attr]


def test_a_claim_of_a_retracted_source_decays_and_comes_back_with_the_source(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kb = build(tmp_path / "kb")
    gone = Quad(BOOK.iri, SHIYI.status, SHIYI.retracted, DefaultGraph())
    alone, beside = SWEETNESS.iri.value, WARMTH.iri.value  # the second has a paper too
    with KnowledgeBase.open(kb, write=True) as opened:
        assert decayed_claims(opened.store) == {}
        before = {each: standing_of(opened.store, each).confidence for each in (alone, beside)}
        opened.writer.write((gone,), (), key="retract", who="li", why="withdrawn by its publisher")
        found = decayed_claims(opened.store)
        assert found[alone] == pytest.approx(0.4)
        desk = Decisions(Changes(opened.writer))
        assert desk.weighing(alone).made.confidence == pytest.approx(found[alone])
        assert found[beside] == pytest.approx(1 - (1 - 0.3) * (1 - 0.5))
    assert main(["--kb", str(kb), "reason", "confidence", "--json"]) == 0
    assert '"decayed": ' in capsys.readouterr().out
    with KnowledgeBase.open(kb, write=True) as opened:
        [text] = opened.store.match(SWEETNESS.iri, SHIYI.textPart, None, None)
        assert float(text.object.value) == pytest.approx(0.4)  # type: ignore[union-attr]
        opened.writer.write((), (gone,), key="restore", who="li", why="it was an error")
        after = {each: standing_of(opened.store, each).confidence for each in (alone, beside)}
        assert after == before


def test_what_curators_rejected_is_read_unless_it_is_accepted_after_all(tmp_path: Path) -> None:
    with KnowledgeBase.open(build(tmp_path / "kb"), write=True) as opened:
        assert refused(opened.store) == frozenset()
        place = graph("rejected")
        wrong = curation_base.claim(GOJI, SHIYI.hasNature, WARM, 0.5)
        quads = [*claim_quads(replace(wrong, status=Status.REJECTED), place),
                 Quad(SWEETNESS.iri, SHIYI.status, SHIYI.rejected, place)]  # fmt: skip
        opened.writer.write(quads, (), key="refuse", who="li", why="it is neutral")
        assert refused(opened.store) == {(GOJI.value, SHIYI.hasNature.value, WARM.value)}


def graph_of(chance: random.Random, count: int) -> list[Edge]:
    return [
        Edge(f"n{chance.randrange(30)}", "r", f"n{chance.randrange(30)}", f"c{i}", chance.random())
        for i in range(count)
    ]


@given(st.integers(0, 10_000))
@settings(max_examples=25, deadline=None)
def test_importance_from_the_ranks_before_is_that_counted_from_nothing(seed: int) -> None:
    chance = random.Random(seed)  # noqa: S311
    edges = graph_of(chance, 80)
    one = Projection.from_edges(edges, "")
    gone = {edge.claim for edge in chance.sample(edges, 3)}
    come = [Edge("n1", "r", "new", "c-new", 0.7), Edge("n2", "r", "n3", "c5", 0.1)]
    left = [e for e in edges if e.claim not in gone | {"c5"}] + come
    after = changed(one, gone | {"c5"}, come).importance(
        PageRankSettings(), one.importance(PageRankSettings())
    )
    full = Projection.from_edges(left, "").importance(PageRankSettings())
    assert after.keys() == full.keys()
    assert all(after[node] == pytest.approx(full[node], abs=1e-7) for node in full)


def test_a_review_is_in_the_ranking_that_answers_use() -> None:
    with TemporaryDirectory() as home, KnowledgeBase.open(build(Path(home) / "kb"), write=True) as opened:  # fmt: skip
        living = Living(Runtime.open(opened, Settings()))
        changes = Changes(opened.writer)
        Refresher(living, changes, lambda: None).rederive_soon = lambda: None  # type: ignore[method-assign]
        before = dict(living.current.rank)
        Decisions(changes).review(CLAIMS[1].iri.value, "reject", "li")
        now, fresh = living.current.rank, Projection.from_store(opened.store, "")
        assert now != before
        full = fresh.importance(Settings().pagerank)
        assert now.keys() == full.keys()
        assert all(now[n] == pytest.approx(full[n], abs=1e-7) for n in full)
        assert living.current.retriever.rank == now
