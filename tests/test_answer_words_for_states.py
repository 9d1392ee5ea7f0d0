"""Values that are low, words for several states, parts of the body: what is read, and what is not guessed."""

import pytest

from shiyi.answering import Runtime, ask
from shiyi.answering.conversation import Context, after_history, converse
from shiyi.model.profile import Profile


def linked(runtime: Runtime, question: str) -> set[str]:
    found = ask(runtime, question).linked
    return {m.iri.rpartition("/")[2] for m in found if m.iri and not m.negated}


@pytest.mark.parametrize(
    ("question", "state"),
    [
        ("血压有点低，头晕，吃什么补", "disease-hypotensive-disorder"),
        ("my blood pressure is a bit low, what to eat", "disease-hypotensive-disorder"),
        ("血糖老是偏低吃什么", "disease-hypoglycemia"), ("血压高不高都能吃人参吗", "disease-hypertensive-disorder"),
        ("吃药后血压正常，能喝甘草茶吗", "disease-hypertensive-disorder"),
        ("血压低能吃什么", "disease-hypotensive-disorder"), ("血糖控制得正常，能吃荔枝吗", "disease-diabetes-mellitus"),
    ],
)  # fmt: skip
def test_a_value_is_read_as_low_or_high_as_it_is_told(
    runtime: Runtime, question: str, state: str
) -> None:
    assert state in linked(runtime, question)


@pytest.mark.parametrize(
    ("question", "state"),
    [
        ("血压有点低，头晕，吃什么补", "disease-hypertensive-disorder"),
        ("血脂不高，能吃蛋黄吗", "disease-hyperlipidemia"), ("尿酸不高，能吃虾吗", "disease-hyperuricemia"),
        ("甲状腺手术后能吃海带吗", "drug-thyroid-hormones"), ("lose weight fast with green tea", "substance-fast-food"),
        ("化疗期间白细胞低，吃什么升白", "substance-water-bamboo"), ("婆婆炖了汤，孕妇能喝吗", "substance-pugongying"),
        ("coix seed porridge in pregnancy", "dish-spinach-congee"),
    ],
)  # fmt: skip
def test_nothing_is_guessed_that_was_not_said(runtime: Runtime, question: str, state: str) -> None:
    assert state not in linked(runtime, question)


@pytest.mark.parametrize(
    ("question", "also"),
    [
        ("三高的人早餐吃什么", ""), ("有三高能吃蛋黄吗", ""), ("老三高能喝酒吗", ""), ("四高人群适合吃什么", "gout"),
        ("I have the three highs, what can I eat", ""),
    ],
)  # fmt: skip
def test_the_three_highs_are_three_states(runtime: Runtime, question: str, also: str) -> None:
    found = linked(runtime, question)
    assert {"disease-hypertensive-disorder", "disease-hyperlipidemia"} <= found
    assert "disease-diabetes-mellitus" in found
    assert not also or "disease-hyperuricemia" in found


def test_a_railway_is_no_illness(runtime: Runtime) -> None:
    assert "disease-hypertensive-disorder" not in linked(runtime, "三高速公路上吃什么")


def test_a_congee_of_a_thing_is_that_thing(runtime: Runtime) -> None:
    assert "dish-coix-congee" in linked(runtime, "coix seed porridge for damp")
    assert "substance-nangua" in linked(runtime, "pumpkin porridge with diabetes")


def test_what_is_not_eaten_holds_for_the_session_and_can_be_dropped(runtime: Runtime) -> None:
    context = after_history(runtime, ["我不吃羊肉，也对花生过敏，血虚吃什么"])
    assert context.profile == Profile(allergies=("花生",), avoids=("羊肉",))
    turn = converse(runtime, "冬天手脚冰凉吃什么", context)
    assert not any("羊肉" in each.label for each in turn.answer.recommendations)
    asked = converse(runtime, "当归生姜羊肉汤能喝吗", context).answer
    assert any("不吃" in w.text for w in asked.warnings)
    freed = context.without({("avoids", "羊肉")})
    assert freed.profile == Profile(allergies=("花生",))
    assert not any("不吃" in w.text for w in converse(runtime, "羊肉能吃吗", freed).answer.warnings)


def test_a_new_thing_takes_no_place_among_what_is_not_eaten(runtime: Runtime) -> None:
    said = "I don't eat pork and I'm allergic to shellfish. What helps qi deficiency?"
    answer = converse(runtime, "what about crab?", after_history(runtime, [said])).answer
    assert "shellfish" in answer.sentences[0].text
    assert answer.warnings[0].severity == "contraindicated"


def test_the_age_and_cold_of_a_child_are_not_those_of_the_asker(runtime: Runtime) -> None:
    turn = converse(runtime, "my 5 year old has a cold, elderberry ok?", Context())
    assert turn.context.profile == Profile()


def test_what_is_held_of_a_state_is_what_it_was_read_as(runtime: Runtime) -> None:
    low = converse(runtime, "我现在血压有点低，能喝决明子茶吗").context.profile
    assert low.conditions == ("低血压",)
    three = converse(runtime, "我有三高，能吃蛋黄吗").context.profile
    assert three.conditions == ("高血压", "高脂血症", "糖尿病")
    once = converse(runtime, "我以前怀孕的时候血糖高，现在能吃荔枝吗").context.profile
    assert once.pregnant is None


@pytest.mark.parametrize(
    ("turns", "said", "so"),
    [
        (["我妈有糖尿病，她能吃荔枝吗", "给她做山药粥行吗"], "糖尿病有禁忌", True),
        (["我妈有糖尿病，她能吃荔枝吗", "我呢"], "糖尿病有禁忌", False),
        (["我妈有糖尿病，她能吃荔枝吗", "我呢", "给她做山药粥行吗"], "糖尿病有禁忌", True),
        (["my mother takes warfarin, can she have ginkgo", "can she drink cranberry juice"],
         "interaction with warfarin", True),
        (["my mother takes warfarin, can she have ginkgo", "and me?"], "interaction with warfarin", False),
    ],
)  # fmt: skip
def test_the_state_of_another_holds_for_them_and_for_nobody_else(
    runtime: Runtime, turns: list[str], said: str, so: bool
) -> None:
    answer = converse(runtime, turns[-1], after_history(runtime, turns[:-1])).answer
    assert (said in answer.text) is so
    assert not answer.abstained
