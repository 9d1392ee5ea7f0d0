"""Questions as people put them: a thing nobody knows, a thing named beside a wish, a list wanted."""

import pytest

from shiyi.answering.pipeline import METHODS, Runtime
from shiyi.ontology.terms import SHIYI
from tests.support.questions import ask
from tests.tables import from_table

WORT = "What helps with insomnia if I also take sertraline? St John's wort?"


@pytest.mark.parametrize("method", sorted(METHODS))
def test_thing_named_beside_wish_for_advice_is_checked(runtime: Runtime, method: str) -> None:
    answer = ask(runtime, WORT, method=method)
    (warning,) = [w for w in answer.warnings if w.severity == "interaction" and "major" in w.text]
    assert warning.text.startswith("St John's wort")


def test_what_gout_forbids_is_named_by_groups(runtime: Runtime) -> None:
    (line,) = [
        s.text for s in ask(runtime, "痛风要避免什么食物").sentences if "少用或不用" in s.text
    ]
    names = {part.partition("（")[0] for part in line.partition("：")[2].strip("。").split("、")}
    assert "动物内脏" in names  # a group before its members
    assert "冷饮" not in line


@from_table
def test_foods_rich_in_nutrient_are_listed_with_claims(
    runtime: Runtime, question: str, nutrient: str, food: str
) -> None:
    answer = ask(runtime, question)
    facts = [f for c in answer.citations for f in runtime.facts.by_claim[c.claim]]
    assert any(f.predicate == SHIYI.hasNutrient for f in facts)
    assert nutrient in answer.text
    assert food in answer.text.lower()
    assert not answer.recommendations


@from_table
def test_words_of_their_own_are_understood(runtime: Runtime, question: str, found: str) -> None:
    answer = ask(runtime, question)
    labels = {m.label_zh for m in answer.linked}
    assert found in labels or found in answer.text
