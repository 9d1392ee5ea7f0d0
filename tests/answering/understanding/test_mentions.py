"""Values that are low, words for several states, parts of the body: what is read, and what is not guessed."""

import re

import pytest

from shiyi.answering.conversation import Context, context_after
from shiyi.answering.pipeline import Runtime
from shiyi.answering.understanding.follow_ups import is_statement
from shiyi.linking.normalization import QuestionText, fold, to_traditional
from shiyi.model.iris import resource
from shiyi.model.profile import Profile
from tests.support.questions import ask, converse, frame_of, profile_in, read
from tests.tables import from_table

_NUMBERS = re.compile("（[^（）]*120[^（）]*）")  # of other regions too, in traditional characters


@pytest.mark.parametrize("before", [" ", "½ ", "\u200b", "\ufb01 "])
@from_table
def test_question_says_same_where_folding_changes_its_length(
    runtime: Runtime, question: str, before: str
) -> None:
    plain, typed = (read(runtime, name) for name in (question, before + question))
    assert typed.person == plain.person
    assert typed.theirs == plain.theirs
    assert [f.within for f in typed.frame.focus] == [f.within for f in plain.frame.focus]
    words = [(m.text, m.iri, m.negated) for m in plain.mentions]
    assert [
        (m.text, m.iri, m.negated) for m in typed.mentions if m.iri or m.text in question
    ] == words


@from_table
def test_an_answer_is_the_same_in_either_script(
    runtime: Runtime, simplified: str, traditional: str
) -> None:
    one, other = (ask(runtime, name) for name in (simplified, traditional))
    texts = [to_traditional(fold(_NUMBERS.sub("", answer.text))) for answer in (one, other)]
    assert texts[0] == texts[1]
    assert [w.claims for w in one.warnings] == [w.claims for w in other.warnings]


def test_allergy_is_read_in_other_script_and_spacing(runtime: Runtime) -> None:
    answer = ask(runtime, "我對花生過敏，  可以吃花生嗎")
    assert "contraindicated" in {w.severity for w in answer.warnings}
    assert (
        resource("substance-huasheng").value
        in read(runtime, "我對花生過敏，  可以吃核桃嗎").person.allergies
    )


@from_table
def test_profile_is_same_in_any_typing(runtime: Runtime, typed: str, plain: str) -> None:
    result, profile = (profile_in(runtime, name) for name in (typed, plain))
    assert (result.pregnant, result.lactating, result.age) == (
        profile.pregnant,
        profile.lactating,
        profile.age,
    )
    assert result != Profile()
    for one, other in ((result.allergies, profile.allergies), (result.avoids, profile.avoids)):
        assert [*map(fold, one)] == [*map(fold, other)]


def test_a_follow_up_is_read_in_either_script(runtime: Runtime) -> None:
    assert not is_statement(frame_of(runtime, "可以吃嗎"))
    first = converse(runtime, "枸杞能和华法林一起吃吗", Context())
    for result in ("那綠豆可以嗎", "那绿豆可以吗"):
        assert "华法林" in fold(converse(runtime, result, first.context).answer.text)


@pytest.mark.parametrize(
    "text", ["我不吃猪肉", "I don’t eat", "ＶＣ片，好吗？", "", "🙂", "β-胡萝卜素"]
)
def test_every_character_stays_where_it_is(text: str) -> None:
    aligned = QuestionText.of(text).aligned
    assert len(aligned) == len(text)
    if len(fold(text)) == len(text):
        assert aligned == fold(text)


def linked(runtime: Runtime, question: str) -> set[str]:
    mentions = ask(runtime, question).linked
    return {m.iri.rpartition("/")[2] for m in mentions if m.iri and not m.negated}


@from_table
def test_value_is_read_as_low_or_high(runtime: Runtime, question: str, state: str) -> None:
    assert state in linked(runtime, question)


@from_table
def test_nothing_is_guessed_that_was_not_stated(
    runtime: Runtime, question: str, state: str
) -> None:
    assert state not in linked(runtime, question)


@from_table
def test_the_three_highs_are_three_states(runtime: Runtime, question: str, also: str) -> None:
    results = linked(runtime, question)
    assert {"disease-hypertensive-disorder", "disease-hyperlipidemia"} <= results
    assert "disease-diabetes-mellitus" in results
    assert not also or "disease-hyperuricemia" in results


def test_a_railway_is_no_illness(runtime: Runtime) -> None:
    assert "disease-hypertensive-disorder" not in linked(runtime, "三高速公路上吃什么")


def test_a_congee_of_a_thing_is_that_thing(runtime: Runtime) -> None:
    assert "dish-coix-congee" in linked(runtime, "coix seed porridge for damp")
    assert "substance-nangua" in linked(runtime, "pumpkin porridge with diabetes")


def test_exclusion_lasts_for_session_until_dropped(runtime: Runtime) -> None:
    context = context_after(runtime, ["我不吃羊肉，也对花生过敏，血虚吃什么"])
    assert context.profile == Profile(allergies=("花生",), avoids=("羊肉",))
    turn = converse(runtime, "冬天手脚冰凉吃什么", context)
    assert not any("羊肉" in recommendation.label for recommendation in turn.answer.recommendations)
    answer = converse(runtime, "当归生姜羊肉汤能喝吗", context).answer
    assert any("不吃" in w.text for w in answer.warnings)
    freed = context.without({("avoids", "羊肉")})
    assert freed.profile == Profile(allergies=("花生",))
    assert not any("不吃" in w.text for w in converse(runtime, "羊肉能吃吗", freed).answer.warnings)


def test_new_thing_does_not_join_exclusions(runtime: Runtime) -> None:
    content = "I don't eat pork and I'm allergic to shellfish. What helps qi deficiency?"
    answer = converse(runtime, "what about crab?", context_after(runtime, [content])).answer
    assert "shellfish" in answer.sentences[0].text
    assert answer.warnings[0].severity == "contraindicated"


def test_state_of_child_is_not_of_asker(runtime: Runtime) -> None:
    turn = converse(runtime, "my 5 year old has a cold, elderberry ok?", Context())
    assert turn.context.profile == Profile()


def test_stored_state_is_as_it_was_read(runtime: Runtime) -> None:
    low = converse(runtime, "我现在血压有点低，能喝决明子茶吗").context.profile
    assert low.conditions == ("低血压",)
    three = converse(runtime, "我有三高，能吃蛋黄吗").context.profile
    assert three.conditions == ("高血压", "高脂血症", "糖尿病")
    once = converse(runtime, "我以前怀孕的时候血糖高，现在能吃荔枝吗").context.profile
    assert once.pregnant is None


@from_table
def test_state_of_another_applies_to_them_alone(
    runtime: Runtime, turns: list[str], message: str, so: bool
) -> None:
    answer = converse(runtime, turns[-1], context_after(runtime, turns[:-1])).answer
    assert (message in answer.text) is so
    assert not answer.abstained


@from_table
def test_ordinary_words_are_no_things(
    runtime: Runtime, question: str, named: set[str], unknown: set[str]
) -> None:
    found = read(runtime, question)
    assert {f.iri.rpartition("/")[2] for f in found.frame.focus if f.iri} >= named
    assert {*found.unknown} == unknown
