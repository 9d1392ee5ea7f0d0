"""Who is spoken of and when; what is no matter of food; emergencies in everyday words."""

import pytest

from shiyi.answering.conversation import Context
from shiyi.answering.pipeline import METHODS, Runtime
from shiyi.model.profile import Profile
from tests.support.questions import ask, converse, profile_in, read
from tests.tables import from_table

# what is stated, and what has to be stored of the person: states, medicines, allergies, foods left out


def stored(runtime: Runtime, text: str) -> set[str]:
    person = read(runtime, text).person
    states = (*person.states, *person.drugs, *person.allergies, *person.left_out)
    return {iri.rpartition("/")[2].partition("-")[2] for iri in states}


@from_table
def test_patient_is_read_as_stated(
    runtime: Runtime, text: str, wanted: list[str], denied: str
) -> None:
    names = stored(runtime, text)
    for each in wanted:
        assert any(name.startswith(each) for name in names), names
    assert denied not in names


@from_table
def test_ages_are_read_as_people_tell_them(runtime: Runtime, text: str, wanted: str) -> None:
    assert wanted in stored(runtime, text)


def test_loose_word_for_child_gives_way_to_age(runtime: Runtime) -> None:
    assert "infant" not in stored(runtime, "三岁宝宝能吃蜂蜜吗")
    assert "infant" in stored(runtime, "三岁宝宝和刚满月的婴儿能吃蜂蜜吗")


def _barred(runtime: Runtime, question: str) -> bool:
    answer = ask(runtime, question)
    words = ("过敏", "allerg")
    return any(
        w.severity == "contraindicated" and any(x in w.text.lower() for x in words)
        for w in answer.warnings
        if "食物过敏" not in w.text and "food allergy" not in w.text
    )


@from_table
def test_allergy_counts_for_its_person_when_eating(runtime: Runtime, question: str) -> None:
    assert _barred(runtime, question)


@from_table
def test_allergy_of_another_is_ignored_and_stated(runtime: Runtime, question: str) -> None:
    assert not _barred(runtime, question)
    answer = ask(runtime, question).text
    assert "没有算在内" in answer or "left out of account" in answer


@from_table
def test_state_of_another_does_not_enter_profile(runtime: Runtime, words: str) -> None:
    assert profile_in(runtime, words) == Profile()


def test_state_of_asker_is_not_applied_to_another(runtime: Runtime) -> None:
    first = converse(runtime, "我在吃华法林，睡不好，老公也不理解我，我应该吃什么", Context())
    second = converse(runtime, "我妈也想喝点什么，她没吃药", first.context)
    assert not any(
        "华法林" in note for note in second.answer.trace.notes if note.startswith("read as 华法林")
    )


@from_table
def test_how_long_something_lasts_is_no_age(runtime: Runtime, text: str, age: str) -> None:
    stages = read(runtime, text).populations
    results = [stage for stage in stages if stage.endswith(("infant", "child", "elderly"))]
    assert (results[0] if results else "").endswith(age)
    assert bool(results) == bool(age)


@pytest.mark.parametrize("method", sorted(METHODS))
@from_table
def test_question_not_about_food_gets_no_food(runtime: Runtime, question: str, method: str) -> None:
    answer = ask(runtime, question, method=method)
    assert not answer.recommendations
    assert any(word in answer.sentences[0].text for word in ("答不了", "cannot answer"))
    assert not [s for s in answer.sentences if "适宜食物" in s.text or "少用或不用" in s.text]


def test_a_poisoning_that_happened_stays_one(runtime: Runtime) -> None:
    for question in ("吃了发芽土豆后呕吐，会不会中毒", "误食了农药，会中毒吗"):
        assert read(runtime, question).urgent, question
