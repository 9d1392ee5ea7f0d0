from pathlib import Path

import numpy as np
import pytest

from shiyi.answering import ask
from shiyi.errors import FormatError, IndexMismatchError, UsageError
from shiyi.reasoning.translation import (
    KINDS,
    Translation,
    TranslationSettings,
    train_translation,
)
from shiyi.reasoning.triples import Names, Row
from tests.kitchen import runtime

pytestmark = pytest.mark.neural
QUICK = TranslationSettings(dim=16, epochs=60, batch=64, negatives=4)
# twelve things, each one step before the next, and each opposite to the one six steps on
ROWS: list[Row] = [(f"n{i}", "before", f"n{i + 1}", 1.0) for i in range(11)] + [
    (f"n{i}", "opposite", f"n{i + 6}", 1.0) for i in range(6)
]


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_stated_lies_nearer_than_what_is_not(kind: str) -> None:
    trained = train_translation(ROWS, kind, QUICK)
    stated = {row[:3] for row in ROWS}
    right = total = 0
    for head, relation, tail, _ in ROWS:
        mine = trained.distance(head, relation, tail)
        for other in trained.names.entities:
            if (head, relation, other) not in stated:
                right += mine < trained.distance(head, relation, other)
                total += 1
    assert total > 150
    assert right / total > 0.9


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_rows_and_seed_give_the_same_vectors_and_another_seed_others(kind: str) -> None:
    one, same, other = (train_translation(ROWS, kind, QUICK, seed) for seed in (1, 1, 2))
    assert np.array_equal(one.entities, same.entities)
    assert not np.array_equal(one.entities, other.entities)


def test_rotation_turns_and_translation_moves() -> None:
    names = Names(("a", "b"), ("r",))
    ends = np.array([[1.0, 0.0], [0.0, 1.0]], np.float32)
    moved = Translation("transe", names, ends, np.array([[-1.0, 1.0]], np.float32))
    turned = Translation("rotate", names, ends, np.array([[np.pi / 2]], np.float32))
    assert moved.distance("a", "r", "b") == 0
    assert turned.distance("a", "r", "b") == pytest.approx(0, abs=1e-6)
    assert turned.distance("b", "r", "a") == pytest.approx(2)
    assert moved.distance("a", "r", "nobody") == float("inf")


def test_a_checkpoint_is_read_back_and_that_of_another_release_is_refused(tmp_path: Path) -> None:
    trained = train_translation(ROWS, "transe", QUICK, release="sha256:one")
    trained.save(tmp_path)
    again = Translation.load(tmp_path, "transe", "sha256:one")
    assert again.distance("n0", "before", "n1") == trained.distance("n0", "before", "n1")
    with pytest.raises(IndexMismatchError, match="was trained on sha256:one"):
        Translation.load(tmp_path, "transe", "sha256:two")
    with pytest.raises(IndexMismatchError, match="holds no rotate"):
        Translation.load(tmp_path, "rotate", "sha256:one")


def test_an_empty_graph_and_an_unknown_kind_are_refused() -> None:
    with pytest.raises(UsageError, match="empty graph"):
        train_translation([], "transe")
    with pytest.raises(FormatError):
        train_translation(ROWS, "transh")


@pytest.mark.parametrize("kind", KINDS)
def test_the_baseline_cites_the_thirty_likeliest_triples_near_the_question(kind: str) -> None:
    asked = ask(runtime(), "枸杞和华法林能一起吃吗", method=kind)
    assert asked.method == kind
    assert asked.citations
    subgraph, ranked = (each for each in asked.trace.steps if each["step"] in ("subgraph", kind))
    assert subgraph["hops"] == 2
    assert 0 < int(str(ranked["ranked"])) <= int(str(subgraph["claims"]))
