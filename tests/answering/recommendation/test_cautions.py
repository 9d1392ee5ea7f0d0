"""Cautions of several things together: each state and medicine once, with what it concerns."""

import pytest

from shiyi.answering.knowledge.severity import forbids
from shiyi.answering.pipeline import Runtime
from shiyi.answering.recommendation.cautions import caution_lines
from shiyi.answering.understanding.differentiation import differentiate
from shiyi.answering.wording.draft import AnswerContext
from shiyi.answering.wording.verbalization import Verbalizer
from shiyi.model.iris import resource
from shiyi.ontology.terms import SHIYI
from tests.support import bases
from tests.support.bases import iri
from tests.support.questions import ask, read

QUESTION = "失眠吃什么好？"
EXTRA = [
    bases.kitchen_claim("substance-yam", "cautionIn", resource("population-pregnant")),
    bases.kitchen_claim("substance-yam", "interactsWith", resource("drug-warfarin")),
]


@pytest.fixture(scope="module")
def kitchen_runtime() -> Runtime:
    return bases.runtime(EXTRA)


def lines(runtime: Runtime, language: str, *items: str) -> list[str]:
    parsed = read(runtime, QUESTION, language)
    verbalizer = Verbalizer(language, runtime.facts, runtime.evidences)
    differential = differentiate(runtime.facts, (), (), parsed.frame.leaning)
    context = AnswerContext(
        parsed, runtime.facts, runtime.evidences, runtime.safety, verbalizer, differential
    )
    about = {iri(each): list(runtime.safety.conditional(iri(each))) for each in items}
    return ["".join(words for words, _ in pieces) for pieces in caution_lines(context, about)]


def test_state_and_medicine_stand_once_with_all_they_concern(kitchen_runtime: Runtime) -> None:
    assert lines(kitchen_runtime, "zh", "substance-yam", "substance-lily", "substance-goji") == [
        "慎用：孕妇（山药、百合）",
        "可能相互作用，先问医生或药师：正在用华法林（山药、枸杞子）",
    ]
    assert lines(kitchen_runtime, "en", "substance-yam", "substance-lily") == [
        "With caution: pregnant women (Chinese yam and lily bulb)",
        "Ask your doctor or pharmacist first (possible interaction) with warfarin (Chinese yam)",
    ]


def test_what_forbids_stands_before_what_asks_for_care(kitchen_runtime: Runtime) -> None:
    text = lines(kitchen_runtime, "zh", "dish-peanut", "substance-lily")
    assert [each[:3] for each in text] == ["忌用：", "慎用："]


@pytest.mark.parametrize("question", [QUESTION, "What helps with insomnia?"])
def test_an_answer_names_each_caution_in_one_place(kitchen_runtime: Runtime, question: str) -> None:
    answer = ask(kitchen_runtime, question)
    sentences = [each.text for each in answer.sentences]
    assert len(sentences) == len(set(sentences))
    word = "先问医生或药师" if answer.language == "zh" else "Ask your doctor or pharmacist"
    assert sum(word in each for each in sentences) == 1
    assert len(answer.citations) <= 20


def test_what_any_source_forbids_forbidden_and_in_english_nothing_forbidden_caution(
    runtime: Runtime,
) -> None:
    safety, evidences = runtime.safety, runtime.safety.evidences
    english = Verbalizer("en", runtime.facts, evidences)
    differing = forbidden = 0
    for claim, [fact, *_] in runtime.facts.by_claim.items():
        if fact.predicate != SHIYI.cautionIn:
            continue
        grades = {
            value
            for each in evidences.of(claim, "en")
            for name, value in each.qualifiers
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
