"""Cautions of several things together: each state and medicine once, with what it concerns."""

import pytest

from shiyi.answering import Runtime, ask
from shiyi.answering.cautions import caution_lines
from shiyi.answering.leanings import leaning_of
from shiyi.answering.parts import Desk
from shiyi.answering.reading import read_question
from shiyi.answering.thermal import differentiate
from shiyi.answering.voice import Voice
from shiyi.model.names import resource
from shiyi.model.profile import Profile
from tests import kitchen
from tests.kitchen import iri

QUESTION = "失眠吃什么好？"
EXTRA = [
    kitchen.claim("substance-yam", "cautionIn", resource("population-pregnant")),
    kitchen.claim("substance-yam", "interactsWith", resource("drug-warfarin")),
]


@pytest.fixture(scope="module")
def runtime() -> Runtime:
    return kitchen.runtime(EXTRA)


def lines(runtime: Runtime, language: str, *items: str) -> list[str]:
    reading = read_question(QUESTION, language, Profile(), runtime.linker, runtime.facts)
    voice = Voice(language, runtime.facts, runtime.evidences)
    differential = differentiate(runtime.facts, (), (), leaning_of(QUESTION))
    desk = Desk(
        reading, runtime.facts, runtime.evidences, runtime.safety, voice, differential
    )  # fmt: skip
    about = {iri(each): list(runtime.safety.conditional(iri(each))) for each in items}
    return ["".join(words for words, _ in pieces) for pieces in caution_lines(desk, about)]


def test_a_state_and_a_medicine_stand_once_with_all_they_concern(runtime: Runtime) -> None:
    assert lines(runtime, "zh", "substance-yam", "substance-lily", "substance-goji") == [
        "慎用：孕妇（山药、百合）",
        "可能相互作用，先问医生或药师：正在用华法林（山药、枸杞子）",
    ]
    assert lines(runtime, "en", "substance-yam", "substance-lily") == [
        "With caution: pregnant women (Chinese yam and lily bulb)",
        "Ask your doctor or pharmacist first (possible interaction) with warfarin (Chinese yam)",
    ]


def test_what_forbids_stands_before_what_asks_for_care(runtime: Runtime) -> None:
    said = lines(runtime, "zh", "dish-peanut", "substance-lily")
    assert [each[:3] for each in said] == ["忌用：", "慎用："]


@pytest.mark.parametrize("question", [QUESTION, "What helps with insomnia?"])
def test_an_answer_names_each_caution_in_one_place(runtime: Runtime, question: str) -> None:
    answer = ask(runtime, question)
    sentences = [each.text for each in answer.sentences]
    assert len(sentences) == len(set(sentences))
    word = "先问医生或药师" if answer.language == "zh" else "Ask your doctor or pharmacist"
    assert sum(word in each for each in sentences) == 1
    assert len(answer.citations) <= 20
