"""Balanced questions of what to eat, made from a base whose claims are known; names of one character."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from shiyi.errors import UsageError
from shiyi.evaluation.bench import Bench, Request
from shiyi.evaluation.closed_names import ClosedNames
from shiyi.evaluation.hidden_layer import HiddenLayer
from shiyi.evaluation.items import Choice
from shiyi.evaluation.mfh_questions import mfh_questions
from shiyi.evaluation.readers import StatementReader
from shiyi.evaluation.runner import evaluate
from shiyi.model.names import resource
from shiyi.settings import Settings
from shiyi.sparql.generations import build_generation
from shiyi.sparql.knowledge_base import KnowledgeBase
from tests import kitchen
from tests.kitchen import claim

STATES = ("symptom-sleep", "disease-anemia", "syndrome-heat", "syndrome-cold")
THINGS = ("substance-goji", "substance-yam", "dish-peanut")


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KnowledgeBase]:
    folder = tmp_path_factory.mktemp("mfh") / "kb"
    extra = [claim(state, "suitableFood", resource(each)) for state in STATES for each in THINGS]
    extra.append(claim("constitution-yin-deficiency", "unsuitableFood", resource("substance-yam")))
    build_generation(folder, tuple(kitchen.quads(extra)), {})
    with KnowledgeBase.open(folder) as opened:
        yield opened


def bench(base: KnowledgeBase) -> Bench:
    return Bench(base, Settings(), Request("recommend", "claims"))


def test_as_many_questions_are_asked_for_symptoms_diseases_and_syndromes(
    base: KnowledgeBase,
) -> None:
    asked, _ = mfh_questions(base.store, bench(base).linker.index, seed=0)
    assert Counter(each.stratum for each in asked.items) == {
        "Symptom": 1, "Disease": 1, "Syndrome": 1,
    }  # fmt: skip
    constitutions = Counter(each.symptoms[1] for each in asked.items)
    assert max(constitutions.values()) - min(constitutions.values()) <= 1


def test_what_is_bad_for_the_constitution_is_no_right_answer(base: KnowledgeBase) -> None:
    asked, _ = mfh_questions(base.store, bench(base).linker.index, seed=0)
    for each in asked.items:
        assert ("山药" in each.herbs) == (each.symptoms[1] != "阴虚质")


def test_the_claims_that_answer_at_once_are_withheld(base: KnowledgeBase) -> None:
    opened = bench(base)
    asked, held = mfh_questions(base.store, opened.linker.index, seed=0)
    assert len(held) >= 3 * len(asked.items)
    less = Bench(base, Settings(), opened.request, held=held)
    assert held <= set(opened.view.projection.claims)
    assert not held & set(less.view.projection.claims)
    assert less.view.withheld == len(held)


def test_recommendations_are_measured_on_the_questions_by_kind_of_condition(
    base: KnowledgeBase,
) -> None:
    request = Request("recommend", "claims", methods=("paths", "bm25", "none"))
    report = evaluate(base, Settings(), request)
    assert report.n == 3
    figures = report.to_json()[0]["metrics"]
    assert {"hits@1", "f1@10", "hits@1:Symptom", "f1@10:Disease", "ndcg_of_found@20"} <= set(
        figures
    )


def test_a_base_without_advice_is_told_so(tmp_path: Path) -> None:
    build_generation(tmp_path / "kb", tuple(kitchen.quads()), {})
    with (
        KnowledgeBase.open(tmp_path / "kb") as opened,
        pytest.raises(UsageError, match="too few conditions"),
    ):
        evaluate(opened, Settings(), Request("recommend", "claims"))


def test_natures_of_one_character_are_read_where_they_are_asked_for(base: KnowledgeBase) -> None:
    opened = bench(base)
    reader = StatementReader(opened.view, opened.linking)

    def said(statement: str) -> frozenset[str]:
        return reader.read(Choice("1", statement, (), frozenset({"true"}))).chosen

    assert said("绿豆的药性为寒。") == {"true"}
    assert said("绿豆的药性为热。") == {"false"}


def test_a_character_inside_a_longer_name_names_nothing(base: KnowledgeBase) -> None:
    names = ClosedNames.of(bench(base).linker.index)
    text = "脾胃虚寒证的药性是寒"
    found = list(names.find(text, {"Nature"}, longer=[(0, 5)]))
    assert [(start, end) for start, end, _ in found] == [(9, 10)]
    assert not list(names.find(text, {"Meridian"}))


def test_a_hidden_layer_learns_which_herbs_go_with_two_symptoms_together() -> None:
    had = np.array([[1, 0], [0, 1], [1, 1]] * 40, dtype=float)
    given = np.array([[1, 0, 0], [1, 0, 0], [0, 0, 1]] * 40, dtype=float)
    layer = HiddenLayer.trained(had, given)
    alone, together = layer.shares(np.array([1.0, 0.0])), layer.shares(np.array([1.0, 1.0]))
    assert alone.sum() == pytest.approx(1.0, abs=1e-4)
    assert together[2] / together[0] > alone[2] / alone[0]
    again = HiddenLayer.trained(had, given)
    assert (again.outer == layer.outer).all()
