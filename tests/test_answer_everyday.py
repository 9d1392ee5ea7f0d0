"""Questions as people put them: a thing nobody knows, a thing named beside a wish, a list wanted."""

import pytest

from shiyi.answering import Runtime, ask
from shiyi.answering.pipeline import METHODS

WORT = "What helps with insomnia if I also take sertraline? St John's wort?"


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


@pytest.mark.parametrize(
    ("question", "named"),
    [
        ("哪些中药和华法林有相互作用", "丹参"),
        ("which herbs interact with digoxin", "St John's wort"),
        ("What foods interact with MAOIs?", "soy sauce"),
    ],
)
def test_what_meets_a_medicine_is_listed_with_a_citation_each(
    runtime: Runtime, question: str, named: str
) -> None:
    (line,) = [s for s in ask(runtime, question).sentences if named in s.text]
    assert len(line.claims) >= 8


def test_of_food_that_is_not_named_only_what_is_forbidden_is_said(runtime: Runtime) -> None:
    answer = ask(runtime, "我妈糖尿病，能喝吗")
    assert "说不了" in answer.sentences[0].text
    assert any("甜食" in s.text for s in answer.sentences)
    assert not answer.recommendations


def test_one_claim_found_through_two_names_is_told_once(runtime: Runtime) -> None:
    assert ask(runtime, "乳腺癌患者能吃大豆吗").text.count("大豆异黄酮：乳腺癌慎用") == 1


def test_two_patterns_are_told_apart_by_what_is_seen_in_them(runtime: Runtime) -> None:
    answer = ask(runtime, "气虚和阳虚有什么区别")
    assert not answer.recommendations
    assert {"气虚证 · 症状表现", "阳虚证 · 症状表现"} <= {
        s.text.partition("：")[0] for s in answer.sentences
    }


@pytest.mark.parametrize(
    ("question", "seen"), [("什么是气虚", "症状表现"), ("what is qi deficiency", "manifestation")]
)
def test_what_a_pattern_is_begins_with_its_signs(
    runtime: Runtime, question: str, seen: str
) -> None:
    assert seen in ask(runtime, question).sentences[0].text


@pytest.mark.parametrize(
    "question",
    ["被蛇咬了吃什么", "喝了一瓶白酒又吃了头孢怎么办", "a snakebite, what herb helps?"],
)
def test_a_bite_and_a_mixture_that_was_taken_are_no_matter_for_food(
    runtime: Runtime, question: str
) -> None:
    answer = ask(runtime, question)
    assert answer.warnings[0].severity == "emergency"
    assert not answer.recommendations


def test_what_may_be_drunk_with_a_medicine_is_no_emergency(runtime: Runtime) -> None:
    answer = ask(runtime, "吃了头孢后能喝白酒吗")
    assert {w.severity for w in answer.warnings} == {"interaction"}


def test_to_eat_apart_is_not_to_eat_nothing(runtime: Runtime) -> None:
    assert ask(runtime, "风寒咳嗽和风热咳嗽分别吃什么").recommendations


@pytest.mark.parametrize(
    ("question", "first"),
    [
        ("why is mung bean soup bad for a cold stomach", "stomach cold"),
        ("孕早期能吃山楂吗", "孕妇"), ("我有蚕豆病，能吃金银花吗", "蚕豆病"),
        ("吃了头孢能喝藿香正气水吗", "头孢"), ("Can I drink hibiscus tea? I'm 30 weeks pregnant.", "pregnant"),
        ("牛黄解毒片孕妇能吃吗", "孕妇"), ("肾病能吃杨桃吗", "肾"),
    ],
)  # fmt: skip
def test_what_must_not_be_missed_stands_in_the_first_sentence(
    runtime: Runtime, question: str, first: str
) -> None:
    answer = ask(runtime, question)
    assert first in answer.sentences[0].text
    assert answer.sentences[0].claims
    assert {w.severity for w in answer.warnings} & {"contraindicated", "caution", "interaction"}


@pytest.mark.parametrize(
    "question",
    [
        "孩子积食吃什么", "什么茶有助于睡眠", "冬至吃什么进补", "降血压的食物有哪些", "产后缺奶吃什么",
        "how can I lower my blood sugar naturally with herbs while on metformin",
    ],
)  # fmt: skip
def test_aims_and_times_as_people_name_them_are_heard(runtime: Runtime, question: str) -> None:
    assert ask(runtime, question).recommendations


def test_a_drink_named_in_english_is_asked_about_and_not_for(runtime: Runtime) -> None:
    answer = ask(runtime, "Can I give my baby fennel tea for colic?")
    assert not answer.recommendations
    assert "Fennel" in answer.sentences[0].text


def test_who_may_not_have_a_food_is_not_told_how_constitutions_are_scored(runtime: Runtime) -> None:
    assert "绿茶" in ask(runtime, "什么体质不适合喝绿茶").sentences[0].text
