from pathlib import Path

import numpy as np
import pytest

from shiyi.cli import main
from shiyi.errors import RangeError
from shiyi.model.iris import VOCAB, graph
from shiyi.model.rdf import Quad
from shiyi.ontology.schema import Schema
from shiyi.ontology.terms import SHIYI
from shiyi.publishing.description import explain_claim
from shiyi.reasoning.adjacency import Projection
from shiyi.reasoning.completion import (
    Prediction,
    complete,
    concept_kinds,
    is_predictable,
    prediction_quads,
)
from shiyi.reasoning.derivation import replace_derived
from shiyi.reasoning.embeddings.triples import Longs
from shiyi.reasoning.rules import DERIVED
from shiyi.settings import CompletionSettings
from shiyi.sparql.base.knowledge_base import KnowledgeBase, build_generation
from shiyi.sparql.store.oxigraph import OxigraphStore
from tests.support import bases

SCHEMA = Schema.load()
ALL = CompletionSettings()


@pytest.fixture
def base() -> OxigraphStore:
    store = OxigraphStore.in_memory()
    store.change(add=bases.kitchen_quads())
    return store


def predicted(
    store: OxigraphStore, belief: float, settings: CompletionSettings = ALL
) -> list[Prediction]:
    graph = Projection.from_store(store, "")

    def score(triples: Longs) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        return np.full(len(triples), belief)

    return list(complete(graph, concept_kinds(store), SCHEMA, score, settings))


def test_prediction_needs_confidence_above_bound(base: OxigraphStore) -> None:
    assert predicted(base, 0.85) == []
    assert len(predicted(base, 0.8501)) > 10


def test_no_relation_that_warns_is_ever_completed(base: OxigraphStore) -> None:
    made = {prediction.predicate.removeprefix(VOCAB) for prediction in predicted(base, 1.0)}
    assert made
    assert not [name for name in made if SCHEMA.property(name).is_safety]
    for name in SCHEMA.properties:
        if SCHEMA.property(name).is_safety:
            assert not is_predictable(SCHEMA, VOCAB + name)
    for name in ("hasRedFlag", "warrantsCheckFor", "confusedWith", "hasIngredient", "hasToxicity"):
        assert not is_predictable(SCHEMA, VOCAB + name), name


def test_every_tail_of_range_and_nothing_stated_predicted(base: OxigraphStore) -> None:
    kinds = concept_kinds(base)
    graph = Projection.from_store(base, "")
    stated = {
        (graph.nodes[s], graph.predicates[k], graph.nodes[t])
        for s, k, t in zip(graph.source, graph.kind, graph.target, strict=True)
    }
    for prediction in predicted(base, 1.0):
        wanted = SCHEMA.property(prediction.predicate.removeprefix(VOCAB)).range
        assert SCHEMA.fits(kinds[prediction.object], wanted), prediction
        assert (prediction.subject, prediction.predicate, prediction.object) not in stated
        assert prediction.subject != prediction.object


def test_tails_by_head_and_relation_are_limited(base: OxigraphStore) -> None:
    few = predicted(base, 1.0, CompletionSettings(tails_per_head=1))
    assert len({(p.subject, p.predicate) for p in few}) == len(few)


def test_a_prediction_is_reified_and_never_asserted(base: OxigraphStore) -> None:
    predictions = predicted(base, 0.9)[:3]
    replace_derived(base, prediction_quads(predictions), ("complete",))
    for prediction in predictions:
        status = [q.object for q in base.match(prediction.claim, SHIYI.status, None, DERIVED)]
        assert status == [SHIYI.predicted]
    asserted = {
        str(q.subject) for q in base.match() if q.predicate.value == predictions[0].predicate
    }
    triples = {(q.subject, q.predicate, q.object) for q in base.match()}
    assert asserted
    for quad in prediction_quads(predictions):
        if quad.predicate.value.endswith("reifies"):
            term = quad.object
            assert (term.subject, term.predicate, term.object) not in triples  # type: ignore[union-attr]


def test_explanation_says_that_no_source_states_prediction(base: OxigraphStore) -> None:
    predictions = predicted(base, 0.9)[:1]
    replace_derived(base, prediction_quads(predictions), ("complete",))
    message = explain_claim(base, predictions[0].claim.value)
    assert message is not None
    assert message["status"] == "predicted"
    assert "no source states it" in message["why"]


def test_removing_the_predictions_restores_the_state(base: OxigraphStore) -> None:
    def text() -> set[Quad]:
        return {quad for quad in base.match() if quad.graph_name != graph("journal")}

    before = text()
    replace_derived(base, prediction_quads(predicted(base, 0.9)), ("complete",))
    assert text() != before
    replace_derived(base, (), ("complete",))
    assert text() == before


def test_predictions_do_not_enter_graph_that_answers_read(base: OxigraphStore) -> None:
    before = Projection.from_store(base, "").claims
    replace_derived(base, prediction_quads(predicted(base, 0.9)), ("complete",))
    assert Projection.from_store(base, "").claims == before


def test_a_model_that_gives_nan_is_refused(base: OxigraphStore) -> None:
    with pytest.raises(RangeError, match="no number"):
        predicted(base, float("nan"))


@pytest.mark.parametrize(("write", "is_retained"), [("false", False), ("true", True)])
def test_predictions_are_written_only_where_that_is_chosen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, write: str, is_retained: bool
) -> None:
    kb = tmp_path / "kb"
    build_generation(kb, list(bases.kitchen_quads()), {})
    monkeypatch.setenv("SHIYI_COMPLETION_WRITE", write)
    monkeypatch.setenv("SHIYI_COMPLETION_MIN_CONFIDENCE", "0.01")
    assert main(["--kb", str(kb), "reason", "complete"]) == 0
    with KnowledgeBase.open(kb) as opened:
        quads = list(opened.store.match(None, SHIYI.status, SHIYI.predicted, DERIVED))
    assert bool(quads) is is_retained
