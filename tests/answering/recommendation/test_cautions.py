"""Cautions beside advice, and the grades of cautions."""

import pytest

from shiyi.answering.knowledge.severity import forbids
from shiyi.answering.pipeline import Runtime
from shiyi.answering.wording.verbalization import Verbalizer
from shiyi.model.iris import resource
from shiyi.ontology.terms import SHIYI
from tests.support import bases
from tests.support.questions import ask
from tests.tables import from_table

QUESTION = "失眠吃什么好？"
EXTRA = [
    bases.kitchen_claim("substance-yam", "cautionIn", resource("population-pregnant")),
    bases.kitchen_claim("substance-yam", "interactsWith", resource("drug-warfarin")),
]


@pytest.fixture(scope="module")
def kitchen_runtime() -> Runtime:
    return bases.runtime(EXTRA)


@pytest.mark.parametrize(
    ("question", "asked"),
    [(QUESTION, "正在用哪些药"), ("What helps with insomnia?", "Which medicines")],
)
def test_advice_asks_once_about_states_with_warnings(
    kitchen_runtime: Runtime, question: str, asked: str
) -> None:
    answer = ask(kitchen_runtime, question)
    sentences = [sentence.text for sentence in answer.sentences]
    assert len(sentences) == len(set(sentences))
    assert answer.text.count(asked) == 1
    assert "孕妇" not in answer.text
    assert "pregnant women" not in answer.text
    assert 1 <= len(answer.recommendations) <= 4


@from_table
def test_only_graver_interactions_of_a_thing_named(
    runtime: Runtime, question: str, medicine: str, named: bool
) -> None:
    lines = [s.text for s in ask(runtime, question).sentences]
    lines = [line for line in lines if "if you take " in line or "正在用" in line]
    assert any(medicine in line for line in lines) is named


@from_table
def test_each_caution_has_its_gravity(
    runtime: Runtime, question: str, said: str, not_: str
) -> None:
    text = ask(runtime, question).text
    assert said in text
    assert not_ not in text


def test_prohibition_of_any_source_is_stated_as_prohibition(runtime: Runtime) -> None:
    safety, evidences = runtime.safety, runtime.safety.evidences
    english = Verbalizer("en", runtime.facts, evidences)
    differing = forbidden = 0
    for claim, [fact, *_] in runtime.facts.by_claim.items():
        if fact.predicate != SHIYI.cautionIn:
            continue
        grades = {
            value
            for evidence in evidences.of(claim, "en")
            for name, value in evidence.qualifiers
            if name == "grade"
        }
        if not any(forbids(grade) for grade in grades):
            continue
        forbidden += 1
        differing += not all(forbids(grade) for grade in grades)
        assert safety.severity(fact) == "contraindicated", grades
        assert english.grade(fact) in {"contraindicated", "to be avoided"}, grades
    assert forbidden > 100
    assert differing > 5
