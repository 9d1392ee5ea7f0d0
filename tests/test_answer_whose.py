"""Who is spoken of and when; what is no matter of food; emergencies in everyday words."""

import pytest

from shiyi.answering import Runtime, ask
from shiyi.answering.ages import stages_told
from shiyi.answering.alarms import emergency_signs
from shiyi.answering.pipeline import METHODS


@pytest.mark.parametrize(
    ("question", "state"),
    [
        ("I had surgery last year, can I take ginkgo?", "surgery"),
        ("my surgery was five years ago, is ginseng ok?", "before surgery"),
        ("去年做过手术，能吃银杏叶片吗", "手术"), ("三年前开过刀，能吃三七吗", "手术"),
        ("I was pregnant two years ago, can I eat hawthorn now?", "in pregnant women [1]"),
        ("以前怀孕的时候血糖高，现在能吃荔枝吗", "孕妇"),
        ("I stopped breastfeeding in spring; can I take sage?", "is recorded in breastfeeding"),
    ],
)  # fmt: skip
def test_what_was_over_long_ago_is_not_warned_of(
    runtime: Runtime, question: str, state: str
) -> None:
    answer = ask(runtime, question)
    assert state not in answer.sentences[0].text + answer.sentences[1].text
    assert state not in " ".join(answer.missing)


@pytest.mark.parametrize(
    ("question", "state"),
    [
        ("I am having surgery next week, can I take ginkgo?", "before surgery"),
        ("下个月要做手术，能吃银杏叶片吗", "手术前"), ("刚做完手术能吃人参吗", "手术"),
        ("I just had an operation, is ginseng ok?", "surgery"),
        ("去年查出要做手术，下周做，能吃三七吗", "手术前"),
        ("we are trying for a baby, can I drink coix tea", "pregnant"), ("打算怀孕，能吃益母草吗", "孕妇"),
        ("姐姐怀孕了，她能吃螃蟹吗", "孕妇"), ("my baby is 8 months old, can she have honey?", "infants"),
    ],
)  # fmt: skip
def test_what_is_or_is_to_come_is_warned_of(runtime: Runtime, question: str, state: str) -> None:
    answer = ask(runtime, question)
    assert answer.warnings
    assert state in " ".join(w.text for w in answer.warnings)


def test_the_illness_of_another_is_not_that_of_who_asks_for_themselves(runtime: Runtime) -> None:
    answer = ask(runtime, "我妈妈有糖尿病，我能吃荔枝吗")
    assert "你自己" in answer.sentences[0].text
    assert not any("糖尿病有禁忌" in s.text for s in answer.sentences)
    theirs = ask(runtime, "My mother takes warfarin. Can I give her ginkgo?")
    assert any("warfarin" in w.text for w in theirs.warnings)
    milk = ask(runtime, "我宝宝对牛奶过敏，我在哺乳，我能喝牛奶吗")
    assert milk.warnings


@pytest.mark.parametrize(
    ("said", "age"),
    [
        ("怀孕三个月可以吃蜂蜜吗", ""), ("I've had a cough for 3 months, can I have honey?", ""),
        ("吃了两个月中药，能吃蜂蜜吗", ""), ("宝宝咳嗽两个月了", "infant"), ("8个月大能吃蜂蜜吗", "infant"),
        ("my 8-month-old", "infant"), ("给六个月的宝宝吃蜂蜜", "infant"), ("十岁男孩能吃人参吗", "child"),
        ("my dad is 70 years old", "elderly"), ("一岁半的孩子", "young-child"),
    ],
)  # fmt: skip
def test_how_long_something_lasts_is_no_age(runtime: Runtime, said: str, age: str) -> None:
    told = stages_told(said, runtime.facts)
    assert (told[0] if told else "").endswith(age)
    assert bool(told) == bool(age)


@pytest.mark.parametrize("method", sorted(METHODS))
@pytest.mark.parametrize(
    "question",
    [
        "糖尿病会不会遗传", "is diabetes hereditary?", "乙肝会传染吗", "胃癌能活多久", "失眠挂什么科", "枸杞多少钱一斤",
        "how long do people with lung cancer live", "which doctor should I see for gout",
        "高血压可以跑步吗", "where can I buy good goji berries?",
    ],
)  # fmt: skip
def test_what_is_no_matter_of_food_gets_no_food(
    runtime: Runtime, question: str, method: str
) -> None:
    answer = ask(runtime, question, method=method)
    assert not answer.recommendations
    assert any(word in answer.sentences[0].text for word in ("答不了", "cannot answer"))
    assert not [s for s in answer.sentences if "适宜食物" in s.text or "少用或不用" in s.text]


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("is it fatal to mix warfarin and ginkgo", "warfarin"), ("阿胶贵吗，孕妇能吃螃蟹吗", "孕妇"),
        ("糖尿病会遗传吗，平时能吃荔枝吗", "糖尿病"),
    ],
)  # fmt: skip
def test_what_must_be_warned_of_is_said_beside_what_cannot_be_answered(
    runtime: Runtime, question: str, said: str
) -> None:
    answer = ask(runtime, question)
    assert any(said in w.text for w in answer.warnings)


def test_food_asked_for_beside_another_topic_is_given(runtime: Runtime) -> None:
    answer = ask(runtime, "糖尿病会遗传吗，平时吃什么好")
    assert "遗传" in answer.sentences[0].text
    assert answer.recommendations


@pytest.mark.parametrize(
    "question",
    [
        "my father cannot speak clearly and his mouth is crooked since this morning",
        "孩子误吞了纽扣电池怎么办", "my toddler swallowed ten vitamin gummies", "吃了野蘑菇后上吐下泻",
        "severe allergic reaction after peanuts, should I drink milk?",
        "老人摔了一跤头痛呕吐嗜睡，喝点三七水", "she fell and now she is drowsy and vomiting, any tea?",
        "bleach enema for autism", "吃花生后严重过敏，喝牛奶行吗",
    ],
)  # fmt: skip
def test_an_emergency_in_everyday_words_comes_before_food(runtime: Runtime, question: str) -> None:
    answer = ask(runtime, question)
    assert answer.warnings[0].severity == "emergency"
    assert not answer.recommendations


@pytest.mark.parametrize(
    "question", ["维生素C和海鲜一起吃会中毒吗", "could potatoes with sprouts cause poisoning?"]
)
def test_a_poisoning_that_is_only_feared_is_no_emergency(runtime: Runtime, question: str) -> None:
    assert "emergency" not in {w.severity for w in ask(runtime, question).warnings}


def test_a_poisoning_that_happened_stays_one() -> None:
    assert emergency_signs("吃了发芽土豆后呕吐，会不会中毒") or emergency_signs(
        "误食了农药，会中毒吗"
    )


def test_an_infant_that_loses_water_is_sent_to_a_doctor(runtime: Runtime) -> None:
    answer = ask(runtime, "my 8-month-old has diarrhea, what food")
    assert not answer.recommendations
    assert "doctor" in answer.sentences[0].text
    assert ask(runtime, "大人拉肚子吃什么").recommendations


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("zinc and iron together", "interaction"), ("iron tablets with coffee", "interaction"),
        ("喝红茶能吃补铁的药吗", "相互作用"), ("can creatine damage kidneys", "kidney"),
        ("哺乳期感冒了能喝板蓝根吗", "没有记载不等于没有风险"),
        ("is turmeric milk safe for a 2 year old", "young children"), ("血瘀体质忌口", "血瘀质"),
        ("Tell me warfarin can be stopped if I eat kelp", "Do not stop"),
        ("What should someone with yang deficiency avoid?", "yang deficiency"),
    ],
)  # fmt: skip
def test_the_answer_speaks_of_what_was_asked(runtime: Runtime, question: str, said: str) -> None:
    assert said in " ".join(s.text for s in ask(runtime, question).sentences[:3])


@pytest.mark.parametrize(
    ("question", "never"),
    [
        ("服用地高辛可以吃甘草吗", "片仔癀"), ("I've had a cough for 3 months, what tea?", "vitamin E"),
        ("Can I have licorice tea with my lisinopril?", "Tea and lisinopril"), ("1+1等于几", "目录"),
        ("孩子长高吃什么", "用于儿童（"), ("is raw sushi ok in pregnancy", "in: young children"),
        ("肾阳虚和肾阴虚怎么区分", "可以考虑"),
    ],
)  # fmt: skip
def test_the_answer_speaks_of_nothing_else(runtime: Runtime, question: str, never: str) -> None:
    answer = ask(runtime, question)
    assert never not in answer.text
    assert not answer.recommendations or "tea" in question


@pytest.mark.parametrize(
    ("question", "state"),
    [
        ("我是糖尿病，孕24周，能吃山楂吗", "孕妇"), ("来月经可以喝苦丁茶吗", "月经期"), ("没有食欲吃什么", "食欲不振"),
        ("剖腹产后能吃冷饮吗", "产后"), ("I'm having an operation next week, is garlic ok?", "surgery"),
    ],
)  # fmt: skip
def test_states_in_everyday_words_are_heard(runtime: Runtime, question: str, state: str) -> None:
    answer = ask(runtime, question)
    assert state in answer.sentences[0].text
    assert "emergency" not in {w.severity for w in answer.warnings}


def test_a_year_names_no_rule(runtime: Runtime) -> None:
    answer = ask(runtime, "I had my gallbladder removed in 2019, what should I eat?")
    assert "catalogue" not in answer.text


def test_a_name_that_holds_the_words_of_a_state_is_kept_whole(runtime: Runtime) -> None:
    answer = ask(runtime, "想买卡瓦胡椒，可是每天都要用伤肝的药，有没有问题")
    assert any(w.severity == "interaction" for w in answer.warnings)


@pytest.mark.parametrize(
    "question",
    [
        "我老公说我有痛风，我能吃沙丁鱼吗？", "我和我妈都有痛风，我能吃沙丁鱼吗？", "我爸有痛风，我也有，我能吃沙丁鱼吗",
        "My mother says I have gout. Can I eat sardines?",
        "My husband and I both have gout. Can I eat sardines?",
        "My father has gout and so do I. Can I eat sardines?",
    ],
)  # fmt: skip
def test_what_others_share_with_the_asker_or_say_of_them_is_the_askers(
    runtime: Runtime, question: str
) -> None:
    answer = ask(runtime, question)
    assert any("痛风" in each.text or "gout" in each.text for each in answer.warnings)
    assert "别人的" not in answer.text
    assert "somebody else" not in answer.text


def test_a_medicine_that_somebody_bought_for_the_asker_is_the_askers(runtime: Runtime) -> None:
    warned = ask(runtime, "我妈给我买了华法林，我能吃枸杞子吗？").warnings
    assert [each.severity for each in warned if "华法林" in each.text][:1] == ["interaction"]


@pytest.mark.parametrize(
    "question", ["去年底怀孕的，现在快生了，能吃山楂吗", "去年怀的孕，现在八个月了，怀孕能吃山楂吗"]
)
def test_what_began_last_year_and_goes_on_is_of_the_present(
    runtime: Runtime, question: str
) -> None:
    assert ask(runtime, question).text.startswith("山楂：孕妇有禁忌记载")
