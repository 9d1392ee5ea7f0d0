import tomllib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from shiyi.errors import FormatError, IndexMismatchError, RangeError, UsageError
from shiyi.evaluation.tasks.confidence import gaps, train_model
from shiyi.reasoning.embeddings.model import KINDS, Model
from shiyi.reasoning.embeddings.ranking import confidence_errors, filtered_ranks
from shiyi.reasoning.embeddings.triples import Names, Row, TripleArray
from shiyi.reasoning.embeddings.ukge import train
from shiyi.settings import ReasoningSettings
from tests.tables import cases

SMALL = ReasoningSettings(embedding_dim=16, epochs=30, batch=64, learning_rate=0.05, negatives=1)


def community(seed: int = 0) -> list[Row]:
    """Two groups: triples within one have confidence 0.9, between them 0.2."""
    random = np.random.default_rng(seed)
    pairs = {(int(a), int(b)) for a, b in random.integers(0, 24, (400, 2)) if a != b}
    return [(f"e{a}", "r", f"e{b}", 0.9 if a % 2 == b % 2 else 0.2) for a, b in sorted(pairs)]


@pytest.mark.neural
@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_learns_better_than_the_mean(kind: str) -> None:
    rows = community()
    model = train(rows, [], replace(SMALL, embedding=kind), seed=1)
    errors = confidence_errors(model, TripleArray.of(rows, model.names))
    values = np.array([row[3] for row in rows])
    assert errors.mse < 0.6 * values.var()


@pytest.mark.neural
@pytest.mark.parametrize(("option", "value"), cases("other", "training_options"))
def test_each_option_of_training_changes_confidences(option: str, value: str) -> None:
    rows, chosen = community(), replace(SMALL, epochs=12, soft_after=100, patience=20)
    valid: list[Row] = [(*rows[0][:3], 0.8)]  # is met worse in between
    both = chosen, replace(chosen, **tomllib.loads(f"{option} = {value}"))
    one, other = (train(rows[40:], valid, each, seed=1).entities.tobytes() for each in both)
    assert one != other


@pytest.mark.neural
def test_same_seed_gives_same_model_and_another_another() -> None:
    one, again, other = (train(community(), [], SMALL, seed=s) for s in (3, 3, 4))
    assert (one.entities == again.entities).all()
    assert (one.entities != other.entities).any()


@pytest.mark.neural
def test_many_entities_train_with_sparse_gradients() -> None:
    rows: list[Row] = [(f"e{i}", "r", f"e{i + 1}", 0.8) for i in range(200)]
    model = train(rows, [], ReasoningSettings(embedding_dim=4, epochs=2, batch=8), seed=0)
    assert len(model.names.entities) == 201


@pytest.mark.neural
def test_unknown_row_is_guessed_and_counted() -> None:
    rows = community()
    training, test = rows[:-40], [*rows[-40:], ("new", "r", "e1", 0.5)]
    found_gaps, unknown = gaps(
        train_model(training, seed=0, limit_seconds=60.0, settings=SMALL), training, test
    )
    assert len(found_gaps) == 41
    assert unknown == 1
    assert 0.0 < (found_gaps**2).mean() < found_gaps.mean() < 0.5
    assert found_gaps[-1] == pytest.approx(abs(np.mean([row[3] for row in training]) - 0.5))


def test_empty_graph_and_too_few_triples_are_refused() -> None:
    with pytest.raises(UsageError, match="empty graph"):
        train([], [])
    with pytest.raises(UsageError, match="too few"):
        train_model([("a", "r", "b", 0.5)])


@pytest.mark.parametrize("wrong", [float("nan"), 1.5, -0.1, float("inf")])
def test_confidence_that_is_no_number_in_range_refused(wrong: float) -> None:
    with pytest.raises(RangeError, match="confidence"):
        train([("a", "r", "b", wrong)], [])


def model(release: str = "sha256:1") -> Model:
    random = np.random.default_rng(0)
    entities = random.normal(size=(3, 4)).astype(np.float32)
    relations = random.normal(size=(1, 4)).astype(np.float32)
    return Model(
        "ukge_logi", Names(("a", "b", "c"), ("r",)), entities, relations, 1.0, 0.0, release
    )


def test_a_model_comes_back_as_it_was_saved(tmp_path: Path) -> None:
    model().save(tmp_path)
    again = Model.load(tmp_path, "sha256:1")
    assert again.confidence("a", "r", "b") == model().confidence("a", "r", "b")


def test_a_checkpoint_of_another_release_is_refused(tmp_path: Path) -> None:
    model().save(tmp_path)
    with pytest.raises(IndexMismatchError, match="shiyi train confidence"):
        Model.load(tmp_path, "sha256:2")
    with pytest.raises(IndexMismatchError, match="holds no embedding"):
        Model.load(tmp_path / "nowhere", "sha256:1")


def test_a_relation_or_entity_never_seen_is_named() -> None:
    with pytest.raises(UsageError, match="relation q"):
        model().confidence("a", "q", "b")
    with pytest.raises(UsageError, match="entity z"):
        model().confidence("z", "r", "b")


def test_vectors_with_nan_and_unknown_kinds_are_refused() -> None:
    one = np.ones((1, 2), dtype=np.float32)
    with pytest.raises(RangeError, match="NaN"):
        Model("ukge_logi", Names(("a",), ("r",)), one * np.nan, one, 1.0, 0.0)
    with pytest.raises(FormatError, match="ukge_rect"):
        Model("transe", Names(("a",), ("r",)), one, one, 1.0, 0.0)


def test_the_plausibilities_are_the_published_ones() -> None:
    two = np.array([[1.0, 2.0], [3.0, -1.0]], dtype=np.float32)
    row = np.array([[0, 0, 1]], dtype=np.int64)
    names, r = Names(("a", "b"), ("r",)), np.array([[0.5, 1.0]], dtype=np.float32)
    rect = Model("ukge_rect", names, two, r, 1.0, 0.75)
    assert rect.confidences(row)[0] == pytest.approx(0.5 * 3 - 2 + 0.75)
    logi = Model("ukge_logi", names, two, r, 1.0, 0.0)
    assert logi.confidences(row)[0] == pytest.approx(1 / (1 + np.exp(0.5)))
    # (1+2i)(0.5+1i) = -1.5+2i; its product with conj(3-1i) has real part -4.5-2
    bent = Model("passleaf_complex", names, two, r, 1.0, 0.0)
    assert bent.confidences(row)[0] == pytest.approx(1 / (1 + np.exp(6.5)), rel=1e-4)


def test_a_filtered_rank_leaves_out_what_is_known() -> None:
    names = Names(("a", "b", "c"), ("r",))
    entities = np.array([[1.0], [2.0], [3.0]], dtype=np.float32)
    one = Model("ukge_rect", names, entities, np.ones((1, 1), dtype=np.float32), 0.1, 0.0)
    asked = TripleArray(np.array([[0, 0, 1]]), np.array([0.9], dtype=np.float32))
    alone, beside = np.array([[0, 0, 1]]), np.array([[0, 0, 1], [0, 0, 2]])
    assert filtered_ranks(one, asked, alone) == [2.0]
    assert filtered_ranks(one, asked, beside) == [1.0]
