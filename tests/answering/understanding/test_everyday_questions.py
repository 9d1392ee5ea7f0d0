"""Questions as people put them: a thing nobody knows, a thing named beside a wish, a list wanted."""

import pytest

from shiyi.answering.pipeline import METHODS, Runtime
from shiyi.ontology.terms import SHIYI
from tests.support.questions import ask
from tests.tables import from_table

WORT = "What helps with insomnia if I also take sertraline? St John's wort?"


@pytest.mark.parametrize("method", sorted(METHODS))
def test_a_thing_named_beside_a_wish_for_advice_is_checked(runtime: Runtime, method: str) -> None:
    answer = ask(runtime, WORT, method=method)
    (warned,) = [w for w in answer.warnings if w.severity == "interaction"]
    assert warned.text.startswith("St John's wort")
    assert "major" in warned.text


def test_its_warning_stands_before_the_advice(runtime: Runtime) -> None:
    answer = ask(runtime, WORT)
    assert answer.text.startswith("St John's wort: an interaction with sertraline")
    assert answer.recommendations
    assert "wort" not in " ".join(each.label for each in answer.recommendations)
    assert "no taboo was found" not in answer.text


@from_table
def test_of_a_thing_nobody_heard_of_nothing_good_is_said(
    runtime: Runtime, question: str, word: str, listed: str
) -> None:
    answer = ask(runtime, question)
    assert "nothing recorded against it" not in answer.text
    assert not answer.recommendations
    assert word in answer.sentences[0].text
    assert listed in answer.text


@from_table
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


def test_what_gout_forbids_is_named_by_groups(runtime: Runtime) -> None:
    (line,) = [s.text for s in ask(runtime, "痛风吃什么").sentences if "少用或不用" in s.text]
    names = {each.partition("（")[0] for each in line.partition("：")[2].strip("。").split("、")}
    assert "动物内脏" in names  # a group before its members
    assert "冷饮" not in line


@from_table
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
    first = {s.text.partition("：")[0] for s in answer.sentences}
    assert {"气虚证的症状表现", "阳虚证的症状表现"} <= first


@from_table
def test_what_a_pattern_is_begins_with_its_signs(
    runtime: Runtime, question: str, seen: str
) -> None:
    assert seen in ask(runtime, question).sentences[0].text


@from_table
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


@from_table
def test_what_must_not_be_missed_stands_in_the_first_sentence(
    runtime: Runtime, question: str, first: str
) -> None:
    answer = ask(runtime, question)
    assert first in answer.sentences[0].text
    assert answer.sentences[0].claims
    assert {w.severity for w in answer.warnings} & {"contraindicated", "caution", "interaction"}


@from_table
def test_aims_and_times_as_people_name_them_are_heard(runtime: Runtime, question: str) -> None:
    assert ask(runtime, question).recommendations


def test_a_drink_named_in_english_is_asked_about_and_not_for(runtime: Runtime) -> None:
    answer = ask(runtime, "Can I give my baby fennel tea for colic?")
    assert not answer.recommendations
    assert "Fennel" in answer.sentences[0].text


def test_who_may_not_have_a_food_is_not_told_how_constitutions_are_scored(runtime: Runtime) -> None:
    assert "绿茶" in ask(runtime, "什么体质不适合喝绿茶").sentences[0].text


@from_table
def test_a_child_that_needs_a_doctor_is_sent_there_before_a_food_is_judged(
    runtime: Runtime, question: str, message: str
) -> None:
    opening = ask(runtime, question).text.strip().split("\n")[0]
    assert message in opening


@from_table
def test_what_is_recorded_of_a_relative_is_said_to_be_so(
    runtime: Runtime, question: str, leaf: str, extract: str
) -> None:
    answer = ask(runtime, question)
    assert f"没有{leaf}本身与" in answer.text
    assert extract in answer.text


@from_table
def test_foods_rich_in_a_nutrient_are_listed_with_their_claims(
    runtime: Runtime, question: str, nutrient: str, food: str
) -> None:
    answer = ask(runtime, question)
    facts = [f for c in answer.citations for f in runtime.facts.by_claim[c.claim]]
    assert any(f.predicate == SHIYI.hasNutrient for f in facts)
    assert nutrient in answer.text
    assert food in answer.text.lower()
    assert not answer.recommendations


@pytest.mark.parametrize("question", ["wo shi mian chi shen me", "shi mian ke yi chi shen me"])
def test_pinyin_is_answered_in_chinese(runtime: Runtime, question: str) -> None:
    answer = ask(runtime, question)
    assert answer.language == "zh"
    assert answer.recommendations


@from_table
def test_words_of_their_own_are_understood(runtime: Runtime, question: str, found: str) -> None:
    answer = ask(runtime, question)
    labels = {m.label_zh for m in answer.linked}
    assert found in labels or found in answer.text


@from_table
def test_a_bottle_of_medicine_is_an_emergency(runtime: Runtime, question: str) -> None:
    answer = ask(runtime, question)
    assert answer.warnings[0].severity == "emergency"
    assert not answer.recommendations


def test_the_gravest_of_several_interactions_with_one_medicine_is_told(runtime: Runtime) -> None:
    answer = ask(runtime, "患者长期服用甘草，联用氢氯噻嗪，有何风险")
    assert "评级：严重" in answer.text
    assert "低血钾" in answer.text


@from_table
def test_those_who_ask_for_a_stage_of_life_are_given_what_suits_it(
    runtime: Runtime, question: str
) -> None:
    assert ask(runtime, question).recommendations


def test_driving_after_a_remedy_tells_what_is_recorded_of_the_remedy(runtime: Runtime) -> None:
    answer = ask(runtime, "喝了藿香正气水能开车吗")
    assert "藿香正气水" in answer.text
    assert "慎用" in answer.text


@from_table
def test_foods_of_risk_that_people_ask_about_are_warned_of(
    runtime: Runtime, question: str, thing: str
) -> None:
    answer = ask(runtime, question)
    assert any(thing in w.text.lower() for w in answer.warnings)


@from_table
def test_the_plain_food_is_not_warned_of_for_its_raw_kind(runtime: Runtime, question: str) -> None:
    assert not ask(runtime, question).warnings


@from_table
def test_an_allergy_to_penicillin_warns_of_cephalosporins(runtime: Runtime, question: str) -> None:
    answer = ask(runtime, question)
    assert "contraindicated" in {w.severity for w in answer.warnings}


@from_table
def test_a_piece_of_a_word_names_nothing(runtime: Runtime, question: str, absent: str) -> None:
    assert absent not in {m.label_zh for m in ask(runtime, question).linked}


@from_table
def test_what_is_recorded_beside_a_question_is_cited(
    runtime: Runtime, question: str, text: str
) -> None:
    (line,) = [s for s in ask(runtime, question).sentences if text in s.text][:1]
    assert line.claims


@from_table
def test_a_verdict_that_warns_is_the_sentence_of_the_warning(
    runtime: Runtime, question: str, text: str
) -> None:
    verdict = ask(runtime, question).verdict
    assert verdict.severity
    assert text in verdict.text


@from_table
def test_what_is_not_asked_about_is_not_written(
    runtime: Runtime, question: str, absent: str
) -> None:
    assert absent not in ask(runtime, question).text


@from_table
def test_a_group_to_avoid_is_named_before_its_members(
    runtime: Runtime, question: str, group: str, member: str
) -> None:
    text = ask(runtime, question).text
    assert 0 <= text.find(group) < text.find(member)


@from_table
def test_what_warms_or_cools_waits_until_cold_or_heat_is_known(
    runtime: Runtime, question: str, absent: str
) -> None:
    answer = ask(runtime, question)
    assert answer.recommendations
    assert absent not in {each.label for each in answer.recommendations}
    assert absent in answer.text  # among what suits if it is cold, or heat


@from_table
def test_two_names_of_one_thing_are_named_as_such(
    runtime: Runtime, question: str, text: str
) -> None:
    assert ask(runtime, question).sentences[0].text == text


@from_table
def test_a_poison_asked_about_alone_has_a_verdict(
    runtime: Runtime, question: str, kind: str
) -> None:
    assert ask(runtime, question).verdict.kind == kind


@from_table
def test_never_to_stop_a_medicine_is_stated_beside_an_alarm(
    runtime: Runtime, question: str, text: str
) -> None:
    answer = ask(runtime, question)
    assert answer.verdict.kind == "emergency"
    assert text in answer.text


@from_table
def test_a_warning_comes_before_what_texts_hold_of_a_word(
    runtime: Runtime, question: str, text: str
) -> None:
    assert text in ask(runtime, question).sentences[0].text


def test_what_the_catalogue_means_is_no_question_of_proof(runtime: Runtime) -> None:
    asked = {"proof": "Does a place in the medicine-food catalogue prove that it works?"}
    asked["meaning"] = "What does the medicine-food catalogue mean?"
    first = {name: ask(runtime, text).sentences[0].text for name, text in asked.items()}
    assert first["proof"].startswith("No.")
    assert first["meaning"].startswith("Medicine-food homology catalogue")
