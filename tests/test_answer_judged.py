"""What a state is judged as for safety, and warnings that stood beside something else and were missed."""

import pytest

from shiyi.answering import Runtime, ask
from shiyi.model.names import resource


@pytest.mark.parametrize(
    ("question", "warned"),
    [
        ("我有红斑狼疮能吃紫锥菊吗", "自身免疫性疾病"), ("is kava ok if I have hepatitis B", "liver disease"),
        ("肾病综合征能吃杨桃吗", "慢性肾脏病"), ("kidney failure, is noni juice ok", "chronic kidney disease"),
        ("胃反酸烧心能喝薄荷茶吗", "胃食管反流病"), ("备孕能吃薏米吗", "孕妇"),
        ("拔牙后能吃大蒜吗", "手术后患者"), ("after my knee replacement last week can I take turmeric", "surgery"),
        ("妊娠期糖尿病能吃薏米吗", "孕妇"), ("血小板减少能吃三七吗", "凝血障碍"),
        ("尿酸高能喝啤酒吗", "痛风"), ("大爷有前列腺增生，能不能喝麻黄汤", "麻黄"),
        ("want to lose weight fast, is ephedra ok, I have high BP", "hypertension"),
        ("月经量大能吃当归吗", "月经量多"), ("newborn baby, is comfrey ok", "children"),
    ],
)  # fmt: skip
def test_a_state_is_warned_of_as_what_it_is_judged_as(
    runtime: Runtime, question: str, warned: str
) -> None:
    assert warned in " ".join(w.text for w in ask(runtime, question).warnings)


def test_it_is_said_why_a_state_is_judged_so(runtime: Runtime) -> None:
    text = ask(runtime, "手术后能吃人参吗").text
    assert "人参：手术后患者有慎用" in text
    assert "同样先问手术医生" in text


@pytest.mark.parametrize(
    ("question", "first"),
    [
        ("can my 6 month old have honey in warm water for cough", "infants"),
        ("慢性肾衰能不能吃香蕉", "慢性肾脏病"), ("荨麻疹犯了能喝酒吗", "荨麻疹"),
    ],
)  # fmt: skip
def test_what_is_forbidden_stands_before_cold_and_heat(
    runtime: Runtime, question: str, first: str
) -> None:
    opening = ask(runtime, question).sentences[0].text
    assert first in opening
    assert "warming" not in opening


@pytest.mark.parametrize(
    ("question", "told"),
    [
        ("湿疹能吃海鲜和芒果吗", "虾"), ("痛风能吃海鲜和豆腐吗", "贝类"),
        ("吃左旋多巴能吃蛋白质和铁剂吗", "蛋白质与左旋多巴"),
        ("levodopa and protein, also iron supplement", "protein with levodopa"),
        ("chemo next week, are vitamin C and E fine", "Vitamin E"), ("化疗能吃维生素C和E吗", "维生素E"),
        ("吃华法林、有肝病能喝绿茶吗", "绿茶提取物"), ("喝酒前吃头孢了怎么办", "双硫仑"),
        ("can I use potassium salt substitute with lisinopril", "Potassium may interact with ACE"),
    ],
)  # fmt: skip
def test_nothing_that_is_named_is_passed_over(runtime: Runtime, question: str, told: str) -> None:
    assert told in ask(runtime, question).text


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("风寒感冒能喝菊花茶吗", "偏寒凉"), ("咳黄痰，能吃生姜红糖水吗", "偏温热"),
        ("怕冷手脚冰凉能吃西瓜吗", "西瓜"),
    ],
)  # fmt: skip
def test_a_cooling_thing_is_held_back_in_a_cold_pattern(
    runtime: Runtime, question: str, said: str
) -> None:
    answer = ask(runtime, question)
    assert said in answer.sentences[0].text
    assert "不建议" in answer.text or "不推荐" in answer.text


@pytest.mark.parametrize(
    "question", ["糖尿病人可以喝南瓜粥吗", "痛风能吃樱桃吗", "我焦虑能喝咖啡吗"]
)
def test_a_disease_is_not_taken_for_heat(runtime: Runtime, question: str) -> None:
    assert "偏热" not in ask(runtime, question).text


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("对花生过敏能吃花生油吗", "不要食用"), ("allergic to peanuts, is peanut oil ok", "do not take it"),
        ("对菊科过敏能喝菊花茶吗", "菊科植物"), ("I'm allergic to ragweed, is chamomile safe?", "daisy family"),
        ("坚果过敏能吃花生吗", "花生是豆类，不是树坚果"), ("对花生过敏能吃杏仁吗", "花生是豆类，不是树坚果"),
    ],
)  # fmt: skip
def test_an_allergen_is_found_in_what_is_made_of_it_and_told_from_its_kin(
    runtime: Runtime, question: str, said: str
) -> None:
    answer = ask(runtime, question)
    assert said in answer.text
    assert answer.warnings


def test_nobody_is_told_to_go_on_drinking(runtime: Runtime) -> None:
    text = ask(runtime, "can I take melatonin together with alcohol").text
    assert "do not stop or change" not in text
    assert "interaction with alcohol" in text


@pytest.mark.parametrize(
    ("question", "there", "gone"),
    [
        ("酸枣仁安全吗", "镇静催眠药", "没有查到酸枣仁不宜"),
        ("is comfrey tea safe to drink", "liver injury", "Nothing else is recorded"),
        ("鱼油和维生素E、银杏一起吃行吗", "白果", "活性成分"),
    ],
)  # fmt: skip
def test_what_harms_is_not_contradicted_by_the_first_line(
    runtime: Runtime, question: str, there: str, gone: str
) -> None:
    text = ask(runtime, question).text
    assert there in text
    assert gone not in text


@pytest.mark.parametrize(
    ("question", "state", "told"),
    [
        ("吃二甲双胍能吃荔枝吗", "糖尿病", "用这类药的人多有糖尿病"),
        ("is dong quai ok with tamoxifen", "hormone-sensitive", "mostly taken for breast cancer"),
        ("吃别嘌醇能喝啤酒吗", "痛风", "用这类药的人多有痛风"),
    ],
)  # fmt: skip
def test_a_medicine_tells_of_the_disease_it_is_for(
    runtime: Runtime, question: str, state: str, told: str
) -> None:
    answer = ask(runtime, question)
    assert state in " ".join(w.text for w in answer.warnings)
    assert told in answer.text


def test_one_allergy_does_not_forbid_every_common_allergen(runtime: Runtime) -> None:
    answer = ask(runtime, "我对虾过敏，能喝牛奶吗")
    assert not answer.warnings
    assert "没有查到牛奶含有你所说的过敏物虾" in answer.text
    assert ask(runtime, "我对虾过敏，能吃螃蟹吗").warnings


def test_a_kind_of_what_was_asked_about_is_named(runtime: Runtime) -> None:
    opening = ask(runtime, "how much vitamin D should a 2 year old take").sentences[0].text
    assert "cod liver oil" in opening


def test_little_milk_is_no_wish_to_eat_little(runtime: Runtime) -> None:
    assert ask(runtime, "产后奶少吃什么下奶").recommendations


@pytest.mark.parametrize("method", ["fused", "bm25"])
def test_each_of_many_things_is_checked(runtime: Runtime, method: str) -> None:
    question = "孕妇能不能吃龙眼、荔枝、樱桃、苹果、螃蟹、马齿苋、藏红花"
    warned = " ".join(w.text for w in ask(runtime, question, method=method).warnings)
    for each in ("螃蟹", "马齿苋", "西红花"):
        assert each in warned


def test_a_word_for_many_diseases_is_warned_of_as_each(runtime: Runtime) -> None:
    assert "肝炎慎用" in " ".join(w.text for w in ask(runtime, "肝不好能吃何首乌吗").warnings)
    assert "系统性红斑狼疮" not in ask(runtime, "类风湿能吃苜蓿吗").text


@pytest.mark.parametrize(
    ("question", "warned"),
    [
        ("我有心脏病能吃麻黄汤吗", "心脏病的一种"), ("heart disease, is licorice ok", "A disease of the heart"),
        ("甲状腺不好能吃海带吗", "甲状腺疾病的一种"),
    ],
)  # fmt: skip
def test_a_loose_word_for_an_organ_is_enough_to_warn(
    runtime: Runtime, question: str, warned: str
) -> None:
    assert warned in " ".join(w.text for w in ask(runtime, question).warnings)


def test_a_formula_is_not_unopposed_where_its_parts_are_warned_of(runtime: Runtime) -> None:
    text = ask(runtime, "麻黄汤安全吗").text
    assert "没有查到麻黄汤不宜" not in text
    assert "麻黄" in text
    assert "冠心病" in text


@pytest.mark.parametrize(
    ("question", "warned"),
    [
        ("不到一岁的宝宝能吃蜂蜜吗", True), ("一岁以内能吃蜂蜜吗", True), ("一岁宝宝能喝蜂蜜吗", True),
        ("baby under 1 year old, honey?", True), ("新生儿能喝蜂蜜水吗", True),
        ("一岁半的宝宝能吃蜂蜜吗", False), ("三岁宝宝能吃蜂蜜吗", False), ("my 2 year old, honey ok?", False),
    ],
)  # fmt: skip
def test_honey_is_warned_of_up_to_the_first_birthday(
    runtime: Runtime, question: str, warned: bool
) -> None:
    said = " ".join(w.text for w in ask(runtime, question).warnings)
    assert ("婴儿" in said or "infants" in said) is warned


def test_what_is_recorded_of_a_disease_itself_is_said_before_what_is_of_its_kinds(
    runtime: Runtime,
) -> None:
    told = ask(runtime, "我有慢性肾脏病，可以吃钾吗？")
    kidney = resource("disease-chronic-kidney-disease").value
    assert kidney in {citation.object.iri for citation in told.citations}
    assert "肾衰竭忌用" not in told.warnings[0].text
