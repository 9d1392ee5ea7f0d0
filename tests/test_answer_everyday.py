"""Questions as people put them: a thing nobody knows, a thing named beside a wish, a list wanted."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from shiyi.answering import Runtime, ask
from shiyi.answering.pipeline import METHODS
from shiyi.settings import Settings
from shiyi.sparql.knowledge_base import KnowledgeBase

WORT = "What helps with insomnia if I also take sertraline? St John's wort?"


@pytest.fixture(scope="module")
def runtime(starter_kb: Path) -> Iterator[Runtime]:
    with KnowledgeBase.open(starter_kb) as base:
        yield Runtime.open(base, Settings())


@pytest.mark.parametrize("method", sorted(METHODS))
def test_a_thing_named_beside_a_wish_for_advice_is_checked(runtime: Runtime, method: str) -> None:
    answer = ask(runtime, WORT, method=method)
    (warned,) = [w for w in answer.warnings if w.text.startswith("St John's wort")]
    assert warned.severity == "interaction"
    assert "major" in warned.text


def test_its_warning_stands_before_the_advice(runtime: Runtime) -> None:
    answer = ask(runtime, WORT)
    assert answer.text.startswith("St John's wort: an interaction with sertraline")
    assert answer.recommendations
    assert "wort" not in " ".join(each.label for each in answer.recommendations)
    assert "no taboo was found" not in answer.text


@pytest.mark.parametrize(
    ("question", "word", "listed"),
    [
        ("痛风能喝老火靓汤吗", "老火靓", "啤酒"),
        ("I'm 30 weeks pregnant, can I drink zobo tea?", "zobo", "alcohol"),
    ],
)
def test_of_a_thing_nobody_heard_of_nothing_good_is_said(
    runtime: Runtime, question: str, word: str, listed: str
) -> None:
    answer = ask(runtime, question)
    assert "nothing recorded against it" not in answer.text
    assert not answer.recommendations
    assert word in answer.sentences[0].text
    assert listed in answer.text


@pytest.mark.parametrize(
    "question",
    [
        "夏天湿气重怎么吃", "有哪些药食同源的食材适合气虚体质", "适合痛风患者的食物有哪些",
        "Which MFH foods suit the qi-deficiency constitution?",
    ],
)  # fmt: skip
def test_foods_that_are_asked_for_are_named(runtime: Runtime, question: str) -> None:
    assert len(ask(runtime, question).recommendations) >= 3


def test_who_may_eat_a_food_is_no_wish_for_foods(runtime: Runtime) -> None:
    answer = ask(runtime, "哪些人适合吃山药")
    assert not answer.recommendations
    assert "山药" in answer.sentences[0].text


def test_of_two_things_nobody_joins_both_are_described(runtime: Runtime) -> None:
    text = ask(runtime, "薏苡仁和山楂可以一起煮水吗").text
    assert "薏苡仁性" in text
    assert "山楂性" in text


def test_favism_is_the_lack_of_the_enzyme(runtime: Runtime) -> None:
    answer = ask(runtime, "我有蚕豆病，能吃维生素C吗")
    assert "慎用" in answer.sentences[0].text
    assert answer.citations


def test_what_gout_forbids_is_what_few_other_states_forbid(runtime: Runtime) -> None:
    (line,) = [s.text for s in ask(runtime, "痛风吃什么").sentences if "少用或不用" in s.text]
    assert {"啤酒", "肉汤", "动物内脏"} & set(line.partition("：")[2].strip("。").split("、"))
    assert "冷饮" not in line
