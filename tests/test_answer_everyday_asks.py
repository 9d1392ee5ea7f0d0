"""What people ask of every day: children, an extract for a leaf, nutrients, pinyin, words of their own."""

import pytest

from shiyi.answering import Runtime, ask
from shiyi.ontology.terms import SHIYI


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("宝宝8个月拉肚子三天了，能不能喝苹果水", "容易脱水"),
        ("孩子发烧39度能喝姜汤吗", "请带去看医生"),
        ("My 6 month old has diarrhea, can I give her apple juice?", "may soon lack water"),
    ],
)
def test_a_child_that_needs_a_doctor_is_sent_there_before_a_food_is_judged(
    runtime: Runtime, question: str, said: str
) -> None:
    opening = ask(runtime, question).text.strip().split("\n")[0]
    assert said in opening


@pytest.mark.parametrize(
    ("question", "leaf", "extract"),
    [
        ("在吃华法林，能喝红茶吗", "红茶", "绿茶提取物"),
        ("乳腺癌吃他莫昔芬能吃豆腐吗", "豆腐", "大豆异黄酮"),
    ],
)
def test_what_is_recorded_of_a_relative_is_said_to_be_so(
    runtime: Runtime, question: str, leaf: str, extract: str
) -> None:
    answer = ask(runtime, question)
    assert f"没有{leaf}本身与" in answer.text
    assert extract in answer.text


@pytest.mark.parametrize(
    ("question", "nutrient", "food"),
    [
        ("补铁吃什么", "铁", "猪肝"), ("补钙吃什么好", "钙", "牛奶"), ("缺锌吃什么食物", "锌", "牡蛎"),
        ("Which foods are rich in iron?", "iron", "pig liver"), ("什么食物含钾高，肾病不能吃", "钾", "香蕉"),
    ],
)  # fmt: skip
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


@pytest.mark.parametrize(
    ("question", "found"),
    [
        ("我 period 痛，能喝红糖姜水吗", "痛经"), ("健身，吃肌酸，我肾功能一般", "慢性肾脏病"),
        ("我爸刚做完支架，能吃三七粉吗", "冠心病"), ("最近大便有点黏，吃什么", "大便黏滞"),
        ("怕流产，能吃山楂吗", "先兆流产"), ("十八反是哪十八反", "藜芦"), ("十九畏有哪些", "五灵脂"),
    ],
)  # fmt: skip
def test_words_of_their_own_are_understood(runtime: Runtime, question: str, found: str) -> None:
    answer = ask(runtime, question)
    labels = {m.label_zh for m in answer.linked}
    assert found in labels or found in answer.text


@pytest.mark.parametrize(
    "question",
    ["I drank a whole bottle of cough syrup, what tea helps", "喝了一整瓶止咳糖浆，喝什么能缓解",
     "she took a bottle of tylenol, what should she eat"],
)  # fmt: skip
def test_a_bottle_of_medicine_is_an_emergency(runtime: Runtime, question: str) -> None:
    answer = ask(runtime, question)
    assert answer.warnings[0].severity == "emergency"
    assert not answer.recommendations


def test_the_gravest_of_several_interactions_with_one_medicine_is_told(runtime: Runtime) -> None:
    answer = ask(runtime, "患者长期服用甘草，联用氢氯噻嗪，有何风险")
    assert "评级：严重" in answer.text
    assert "低血钾" in answer.text


@pytest.mark.parametrize(
    "question", ["孕妇吃什么好", "What should pregnant women eat?", "老年人吃什么好"]
)
def test_those_who_ask_for_a_stage_of_life_are_given_what_suits_it(
    runtime: Runtime, question: str
) -> None:
    assert ask(runtime, question).recommendations


def test_driving_after_a_remedy_tells_what_is_recorded_of_the_remedy(runtime: Runtime) -> None:
    answer = ask(runtime, "喝了藿香正气水能开车吗")
    assert "藿香正气水" in answer.text
    assert "慎用" in answer.text


@pytest.mark.parametrize(
    ("question", "thing"),
    [
        ("is raw milk ok when pregnant", "raw milk"), ("孕妇能吃溏心蛋吗", "生鸡蛋"),
        ("Can I eat brie when pregnant?", "cheese"), ("孕妇能吃剑鱼吗", "汞"),
        ("宝宝辅食什么时候加盐", "食盐"), ("吃碳酸锂要少吃盐吗", "食盐"),
        ("阿仑膦酸钠能用牛奶送服吗", "牛奶"), ("糖尿病能喝粥吗", "白粥"),
    ],
)  # fmt: skip
def test_foods_of_risk_that_people_ask_about_are_warned_of(
    runtime: Runtime, question: str, thing: str
) -> None:
    answer = ask(runtime, question)
    assert any(thing in w.text.lower() for w in answer.warnings)


@pytest.mark.parametrize(
    "question", ["孕妇能喝牛奶吗", "Can pregnant women drink milk?", "孕妇能吃鸡蛋吗"]
)
def test_the_plain_food_is_not_warned_of_for_its_raw_kind(runtime: Runtime, question: str) -> None:
    assert not ask(runtime, question).warnings


@pytest.mark.parametrize(
    "question", ["阿莫西林过敏能吃头孢吗", "I'm allergic to penicillin. Can I take cephalexin?"]
)
def test_an_allergy_to_penicillin_warns_of_cephalosporins(runtime: Runtime, question: str) -> None:
    answer = ask(runtime, question)
    assert "contraindicated" in {w.severity for w in answer.warnings}


@pytest.mark.parametrize(
    ("question", "absent"),
    [
        ("癌症晚期病人没胃口吃什么", "孕妇"),
        ("女儿第一次来月经要补什么", "益肾"),
        ("牙龈出血缺什么维生素", "维生素E"),
    ],
)
def test_a_piece_of_a_word_names_nothing(runtime: Runtime, question: str, absent: str) -> None:
    assert absent not in {m.label_zh for m in ask(runtime, question).linked}
