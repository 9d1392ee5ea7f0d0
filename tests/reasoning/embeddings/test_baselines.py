from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from shiyi.errors import FormatError, IndexMismatchError, RangeError, UsageError
from shiyi.reasoning.embeddings.baselines import (
    KINDS,
    Links,
    LinkSettings,
    Translation,
    TranslationSettings,
    train_links,
    train_translation,
)
from shiyi.reasoning.embeddings.ranking import filtered_ranks
from shiyi.reasoning.embeddings.triples import Names, Row, TripleArray
from shiyi.settings import Settings
from tests.support.bases import runtime
from tests.support.questions import ask

QUICK = LinkSettings(dim=16, epochs=25, batch=8, learning_rate=0.05)


def kinship(size: int = 40) -> list[Row]:
    """Each follows the next on a ring, and precedes the one before; the ring has no end."""
    follows = [(f"e{i:02}", "before", f"e{(i + 1) % size:02}", 0.9) for i in range(size)]
    return follows + [(t, "after", h, c) for h, _, t, c in follows]


def hits1(links: Links, rows: TripleArray) -> float:
    return float(np.mean(np.array(filtered_ranks(links, rows, rows.triples)) <= 1))


@pytest.mark.neural
def test_complex_learns_directions_inverses_and_repeats_itself() -> None:
    rows = kinship()
    links = train_links(rows[10:], QUICK, seed=1)  # ten stand only from their other end
    learnt, left_out = (TripleArray.of(group, links.names) for group in (rows[10:], rows[:10]))
    assert hits1(links, learnt) > 0.8
    assert (
        np.mean(1 / np.array(filtered_ranks(links, left_out, left_out.triples))) > 0.3
    )  # by chance 0.1
    converse = TripleArray.of([(t, r, h, c) for h, r, t, c in rows], links.names)
    assert hits1(links, converse) < 0.2
    short = LinkSettings(dim=4, epochs=1, batch=32)
    one, same = (train_links(rows, short, seed=3) for _ in range(2))
    assert (one.entities == same.entities).all()
    at_once = train_links(rows, short, seed=3, limit_seconds=1e-9)
    assert np.isfinite(at_once.entities).all()
    assert (one.entities != at_once.entities).any()


def test_invalid_training_input_is_refused() -> None:
    with pytest.raises(UsageError, match="too few"):
        train_links(kinship()[:3])
    with pytest.raises(RangeError, match="even"):
        LinkSettings(dim=3)
    two = np.ones((1, 2), np.complex64)
    with pytest.raises(RangeError, match="NaN"):
        Links(Names(("a",), ("r",)), two * np.nan, two)


QUICK_TRANSLATION = TranslationSettings(dim=16, epochs=50, batch=64, negatives=4)
# twelve things, each one step before the next, and each opposite to the one six steps on
ROWS: list[Row] = [(f"n{i}", "before", f"n{i + 1}", 1.0) for i in range(11)] + [
    (f"n{i}", "opposite", f"n{i + 6}", 1.0) for i in range(6)
]


@pytest.mark.neural
@pytest.mark.parametrize("kind", KINDS)
def test_stated_triples_lie_nearer_and_checkpoint_read_back(kind: str, tmp_path: Path) -> None:
    trained = train_translation(ROWS, kind, QUICK_TRANSLATION, release="sha256:one")
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
    same = train_translation(ROWS, kind, QUICK_TRANSLATION)
    assert np.array_equal(trained.entities, same.entities)
    trained.save(tmp_path)
    again = Translation.load(tmp_path, kind, "sha256:one")
    assert again.distance("n0", "before", "n1") == trained.distance("n0", "before", "n1")


def test_rotation_turns_and_translation_moves() -> None:
    names = Names(("a", "b"), ("r",))
    ends = np.array([[1.0, 0.0], [0.0, 1.0]], np.float32)
    moved = Translation("transe", names, ends, np.array([[-1.0, 1.0]], np.float32))
    turned = Translation("rotate", names, ends, np.array([[0.0, 1.0]], np.float32))
    assert moved.distance("a", "r", "b") == 0
    assert turned.distance("a", "r", "b") == pytest.approx(0, abs=1e-6)
    assert turned.distance("b", "r", "a") == pytest.approx(2)
    assert moved.distance("a", "r", "nobody") == float("inf")


def test_checkpoint_of_another_release_or_older_version_refused(tmp_path: Path) -> None:
    one = np.ones((1, 2), np.float32)
    Translation("transe", Names(("a",), ("r",)), one, one, "sha256:one").save(tmp_path)
    with pytest.raises(IndexMismatchError, match="was trained on sha256:one"):
        Translation.load(tmp_path, "transe", "sha256:two")
    with pytest.raises(IndexMismatchError, match="has no rotate"):
        Translation.load(tmp_path, "rotate", "sha256:one")
    about = tmp_path / "transe.json"
    about.write_text(
        about.read_text("utf-8").replace("pykeen", "").replace("trainer", "by"), "utf-8"
    )
    with pytest.raises(IndexMismatchError, match="older version"):
        Translation.load(tmp_path, "transe", "sha256:one")


@pytest.mark.neural
def test_empty_graph_and_unknown_kind_are_refused() -> None:
    with pytest.raises(UsageError, match="empty graph"):
        train_translation([], "transe")
    with pytest.raises(FormatError):
        train_translation(ROWS, "transh")


@pytest.mark.neural
@pytest.mark.parametrize("kind", KINDS)
def test_baseline_cites_thirty_likeliest_triples_near_question(kind: str) -> None:
    base = runtime()
    answer = ask(base, "枸杞和华法林能一起吃吗", method=kind)
    assert answer.method == kind
    assert answer.citations
    subgraph, ranked = (step for step in answer.trace.steps if step["step"] in ("subgraph", kind))
    assert subgraph["hops"] == 2
    assert 0 < int(str(ranked["ranked"])) <= int(str(subgraph["claims"]))
    near = replace(base, settings=Settings.read("baselines.hops = 1", {}))
    fewer = ask(near, "枸杞和华法林能一起吃吗", method=kind).trace
    assert len(fewer.claims) < len(answer.trace.claims)
