"""`shiyi evaluate confidence`: embeddings beside simple guesses, errors and ranked tails."""

import json
from pathlib import Path

import numpy as np
import pytest

from shiyi.cli import main
from shiyi.reasoning.benchmark import gauged, symmetric_relations, trained
from shiyi.reasoning.triples import Row
from shiyi.settings import ReasoningSettings
from shiyi.sparql.generations import build_generation
from tests import kitchen

QUICK = ReasoningSettings(embedding_dim=16, epochs=30, batch=64, learning_rate=0.05, negatives=1)


def both_ways() -> list[Row]:
    """Two groups; what is within one is held 0.9, what is between them 0.2; each told twice."""
    random = np.random.default_rng(0)
    pairs = {(int(a), int(b)) for a, b in random.integers(0, 24, (200, 2)) if a != b}
    pairs |= {(b, a) for a, b in pairs}
    return [(f"e{a}", "r", f"e{b}", 0.9 if a % 2 == b % 2 else 0.2) for a, b in sorted(pairs)]


def written(path: Path, rows: list[Row]) -> str:
    path.write_text("".join("\t".join(map(str, row)) + "\n" for row in rows), "utf-8")
    return str(path)


@pytest.fixture(scope="module")
def kb(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("confidence") / "kb"
    build_generation(folder, tuple(kitchen.quads()), {})
    return folder


@pytest.mark.neural
def test_the_command_gives_errors_and_ranked_tails_with_intervals(
    kb: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = both_ways()
    words = ["confidence", written(tmp_path / "test.tsv", rows[::9]), "--train",
             written(tmp_path / "train.tsv", [r for i, r in enumerate(rows) if i % 9]),
             "--method", "fused,additive,none", "--limit-seconds", "20", "--json"]  # fmt: skip
    assert main(["--kb", str(kb), "evaluate", *words]) == 0
    fused, additive, none = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert fused["n"] == len(rows[::9])
    for name in ("mse", "mae", "hits@1", "hits@10", "mrr"):
        m = fused["metrics"][name]
        assert 0 <= m["low"] <= m["value"] <= m["high"] <= 1, name
    assert fused["metrics"]["mse"]["value"] < none["metrics"]["mse"]["value"]
    assert "hits@1" not in additive["metrics"]
    assert fused["settings"]["limit_seconds"] == 20


@pytest.mark.neural
def test_what_symmetric_relations_say_from_the_other_end_helps_where_it_is_looked_up() -> None:
    rows = both_ways()
    model = trained(rows[50:], "ukge_logi", 1, 30.0, QUICK)
    plain, looked = (gauged(model, rows[50:], rows[:50], 1, 30, each) for each in (False, True))
    assert len(plain.places) == len(plain.both_ways) == 30
    assert (plain.both_ways <= plain.places).all()
    assert plain.places.min() >= 1
    assert looked.gaps.mean() < plain.gaps.mean()
    assert looked.places.mean() <= plain.places.mean()


def test_a_relation_is_symmetric_where_most_of_it_stands_both_ways() -> None:
    one: list[Row] = [("a", "with", "b", 1.0), ("b", "with", "a", 1.0), ("a", "has", "b", 1.0)]
    assert symmetric_relations(one) == {"with"}


def test_too_few_triples_are_guessed_by_means_and_the_notes_say_so(
    kb: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    few: list[Row] = [("a", "r", "b", 0.5), ("b", "r", "c", 0.7)]
    words = ["confidence", written(tmp_path / "test.tsv", few), "--train",
             written(tmp_path / "train.tsv", few)]  # fmt: skip
    assert main(["--kb", str(kb), "evaluate", *words]) == 0
    assert "too few for an embedding; additive instead" in capsys.readouterr().out


def test_without_training_material_the_command_says_what_to_give(
    kb: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = written(tmp_path / "test.tsv", [("a", "r", "b", 0.5)])
    assert main(["--kb", str(kb), "evaluate", "confidence", file]) == 2
    assert "--train" in capsys.readouterr().err
