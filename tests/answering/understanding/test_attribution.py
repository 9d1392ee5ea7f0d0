"""Who is spoken of and when; what is no matter of food; emergencies in everyday words."""

import pytest

from shiyi.answering.conversation import Context
from shiyi.answering.pipeline import METHODS, Runtime
from shiyi.model.profile import Profile
from tests.support.questions import ask, converse, profile_in, read

# what is stated, and what has to be stored of the person: states, medicines, allergies, foods left out
KEPT = (
    ("不是没怀孕，是刚测出来怀孕了，能吃螃蟹吗", "pregnant"),
    ("我没说我不怀孕，我怀孕三个月，能吃山楂吗", "pregnant"),
    ("以前没有高血压，现在有了，能吃人参吗", "hypertensive"),
    ("去年怀孕时得了糖尿病，现在还有，能吃荔枝吗", "diabetes"),
    ("去年做了手术，下个月还要做一次，能吃银杏叶吗", "p"),
    ("我妈说怀孕不能吃蟹，我现在怀着，能吃吗", "pregnant"),
    ("我妈有糖尿病，我也有，能吃荔枝吗", "diabetes"),
    ("我和我妈都有高血压，我能吃人参吗", "hypertensive"),
    ("我妈有糖尿病，遗传给我了，我能吃荔枝吗", "diabetes"),
    ("我妈妈吃华法林，她能吃银杏吗", "warfarin"),
    ("老公说我怀孕了不能吃薏米，真的吗", "pregnant"),
    ("我老婆怀孕，我想给她炖当归，可以吗", "pregnant"),
    ("我老婆怀孕了，我们能吃螃蟹吗", "pregnant"),
    ("朋友说孕妇不能吃薏米，我就是孕妇，能吃吗", "pregnant"),
    ("听说高血压的人不能吃人参，我血压高，能吃点吗", "hypertensive"),
    ("医生说“你有痛风”，那我能喝啤酒吗", "gout"),
    ("我问过医生，医生说没有糖尿病禁忌，我是糖尿病，能吃苦瓜吗", "diabetes"),
    ("我不光有糖尿病还有痛风，能喝酒吗", "diabetes,gout"),
    ("除了高血压我没别的病，能喝甘草茶吗", "hypertensive"),
    ("没有哪天不吃华法林，能吃银杏吗", "warfarin"),
    ("我不得不吃华法林，能吃银杏吗", "warfarin"),
    ("我从来没停过阿司匹林，能吃鱼油吗", "aspirin"),
    ("不能不吃降压药，能喝葡萄柚汁吗", "antihypertensives"),
    ("刚断奶又怀上了，能吃山楂吗", "pregnant"),
    ("我还没断奶，能吃麦芽吗", "lactating"),
    ("打算断奶，现在还在喂奶，能吃麦芽吗", "lactating"),
    ("停止哺乳之前能吃麦芽吗", "lactating"),
    ("孩子不到半岁还在吃母乳，我能吃韭菜吗", "lactating"),
    ("手术前一周停了银杏，昨天做完手术，能接着吃人参吗", "p"),
    ("做过手术的地方还没好，上周刚做，能吃三七吗", "postoperative"),
    ("三年前开始高血压，能吃人参吗", "hypertensive"),
    ("小时候对花生过敏，能吃花生吗", "huasheng"),
    ("小时候对花生过敏现在也是，能吃沙茶酱吗", "huasheng"),
    ("我不是对虾过敏，是对蟹过敏，能吃龙虾吗", "pangxie"),
    ("我不吃羊肉是因为过敏，冬天吃什么补", "yangrou"),
    ("我不是不吃牛肉，是吃不了羊肉，冬天吃什么", "yangrou"),
    ("能不能不吃药光喝菊花茶，我有高血压", "hypertensive"),
    ("宝宝八个月，没有过敏，能吃蜂蜜吗", "infant"),
    ("大宝三岁小宝五个月，能喂蜂蜜水吗", "infant"),
    ("我家两个孩子，一个六岁一个七个月大，能吃蜂蜜吗", "infant"),
    ("奶奶八十多岁了，有心衰，能吃甘草吗", "elderly,heart-failure"),
    ("I'm not pregnant but we're trying for a baby, can I drink coix tea", "trying"),
    ("It's not that I'm not pregnant - I am, 9 weeks. Can I have crab?", "pregnant"),
    ("I used to have no allergies but now I'm allergic to peanuts, can I eat satay", "huasheng"),
    ("My mother has diabetes and so do I, can I eat lychee?", "diabetes"),
    ("My mother has diabetes. I do too. Can I eat lychee?", "diabetes"),
    ("Like my mother, I take warfarin. Can I have ginkgo?", "warfarin"),
    ("My husband and I both take warfarin, can I have ginkgo?", "warfarin"),
    ("My doctor (not my mother's) put me on warfarin; can I eat ginkgo?", "warfarin"),
    ("My mum says I'm pregnant so no crab. Can I eat crab?", "pregnant"),
    ("My friend told me pregnant women can't eat crab, and I'm one. Can I?", "pregnant"),
    ("My wife is pregnant, can I cook crab for her?", "pregnant"),
    (
        "I had surgery last year and I'm having another next week. Can I take ginkgo?",
        "preoperative",
    ),
    ("I was pregnant last year and now I am again, can I eat hawthorn?", "pregnant"),
    ("I never miss my warfarin. Can I take fish oil?", "warfarin"),
    ("I can't not take my blood pressure pills; is grapefruit ok?", "antihypertensives"),
    ("I haven't stopped breastfeeding, can I take sage?", "lactating"),
    ("I'm not done breastfeeding yet, is sage ok?", "lactating"),
    ("When I stop breastfeeding I'd like sage, but I'm nursing now. ok?", "lactating"),
    ("Years ago I was diagnosed with epilepsy, can I take ginkgo?", "epilepsy"),
    ("I no longer eat meat but can I take fish oil with aspirin?", "aspirin"),
    ("I don't not eat peanuts, I'm just asking: peanuts with gout?", "gout"),
    ("Can I have milk if I'm not allergic to nuts but allergic to eggs?", "jidan"),
    (""""You have gout", said the doctor. Can I drink beer?""", "gout"),
    ("She's pregnant, my sister. Can she have papaya?", "pregnant"),
    ("my twins are 3 months and my eldest is 4, honey for all?", "infant"),
)
DROPPED = (
    ("我没怀孕，但在备孕，能吃薏米吗", "trying-to-conceive", "pregnant"),
    ("医生说我不是糖尿病，是高血压，能喝甘草茶吗", "hypertensive", "diabetes"),
    (
        "I was told I don't have diabetes, just hypertension. Is licorice ok?",
        "hypertensive",
        "diabetes",
    ),
)


def stored(runtime: Runtime, text: str) -> set[str]:
    person = read(runtime, text).person
    every = (*person.states, *person.drugs, *person.allergies, *person.left_out)
    return {iri.rpartition("/")[2].partition("-")[2] for iri in every}


@pytest.mark.parametrize(("text", "wanted"), KEPT)
def test_what_is_so_is_held_however_it_is_said(runtime: Runtime, text: str, wanted: str) -> None:
    names = stored(runtime, text)
    for each in wanted.split(","):
        assert any(name.startswith(each) for name in names), names


@pytest.mark.parametrize(("text", "wanted", "denied"), DROPPED)
def test_what_is_denied_is_not_held_beside_what_is_so(
    runtime: Runtime, text: str, wanted: str, denied: str
) -> None:
    names = stored(runtime, text)
    assert any(name.startswith(wanted) for name in names)
    assert denied not in names


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("奶奶今年82了，能吃人参吗", "elderly"), ("my grandma is 82, is licorice ok", "elderly"),
        ("三岁宝宝能吃蜂蜜吗", "child"), ("两岁宝宝能吃蜂蜜吗", "young-child"), ("两个多月的宝宝能喝水吗", "infant"),
    ],
)  # fmt: skip
def test_ages_are_read_as_people_tell_them(runtime: Runtime, text: str, wanted: str) -> None:
    assert wanted in stored(runtime, text)


def test_a_loose_word_for_a_child_gives_way_to_its_age(runtime: Runtime) -> None:
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


@pytest.mark.parametrize(
    "question",
    [
        "我对花生过敏的妈妈能吃花生吗", "我妈妈对花生过敏，她能吃花生吗", "我妈对花生过敏，给她做花生汤好吗",
        "My mother is allergic to peanuts. Can she eat peanuts?", "My son has a peanut allergy, can he have peanuts?",
        "我对花生过敏，我能吃花生吗", "I am allergic to peanuts. Can I eat peanuts?",
        "我和老公都对虾过敏，能吃虾吗", "儿子对鸡蛋过敏，我在喂奶，我能吃鸡蛋吗",
    ],
)  # fmt: skip
def test_an_allergy_counts_for_who_has_it_and_is_to_eat(runtime: Runtime, question: str) -> None:
    assert _barred(runtime, question)


@pytest.mark.parametrize(
    "question",
    [
        "我妈妈对花生过敏，我能吃花生吗", "我对花生过敏的妈妈来了，我能吃核桃吗",
        "My mother is allergic to peanuts. Can I eat peanuts?",
        "My wife is allergic to nuts and I'm diabetic. Can I eat almonds?",
        "我对花生过敏，我妈妈能吃花生吗", "I am allergic to shrimp. Can my son eat shrimp?",
    ],
)  # fmt: skip
def test_an_allergy_is_left_out_for_who_does_not_have_it_and_that_is_said(
    runtime: Runtime, question: str
) -> None:
    assert not _barred(runtime, question)
    answer = ask(runtime, question).text
    assert "没有算在内" in answer or "left out of account" in answer


@pytest.mark.parametrize(
    ("question", "counts"),
    [
        ("我爸糖尿病，我能吃荔枝吗", False), ("我糖尿病，我爸能吃荔枝吗", False),
        ("我糖尿病，我能吃荔枝吗", True), ("我爸糖尿病，他能吃荔枝吗", True),
        ("我怀孕了，宝宝生下来能吃蜂蜜吗", True), ("我怀孕了，我老公能喝酒吗", False),
    ],
)  # fmt: skip
def test_an_illness_counts_for_who_is_to_eat(runtime: Runtime, question: str, counts: bool) -> None:
    assert ("没有算在内" not in ask(runtime, question).text) is counts


@pytest.mark.parametrize(
    "words",
    [
        "我对花生过敏的妈妈想吃点心", "我有糖尿病的爸爸想吃西瓜", "我妈妈对花生过敏", "我姐怀孕了",
        "我姐姐在吃华法林", "我媽媽對花生過敏", "我們家孩子懷孕了", "我闺女对花生过敏", "My cousin is pregnant", "My neighbour takes warfarin",
        "My niece is allergic to peanuts",
    ],
)  # fmt: skip
def test_what_is_told_of_another_does_not_enter_the_profile(runtime: Runtime, words: str) -> None:
    assert profile_in(runtime, words) == Profile()


def test_what_the_asker_told_of_themselves_is_not_put_on_another(runtime: Runtime) -> None:
    first = converse(runtime, "我在吃华法林，睡不好，老公也不理解我，我应该吃什么", Context())
    second = converse(runtime, "我妈也想喝点什么，她没吃药", first.context)
    assert not any(
        "华法林" in note for note in second.answer.trace.notes if note.startswith("read as 华法林")
    )


@pytest.mark.parametrize(
    "question",
    ["女儿对牛奶过敏，给她做什么早餐", "My son has a peanut allergy. What snacks can I give him?", "朋友对海鲜过敏来家里吃饭，做什么汤好"],
)  # fmt: skip
def test_an_allergy_alone_says_what_it_leaves_out(runtime: Runtime, question: str) -> None:
    answer = ask(runtime, question)
    assert not answer.recommendations
    assert "contraindicated" in {w.severity for w in answer.warnings}
    assert "看医生" in answer.text or "See a doctor" in answer.text
    assert len(answer.citations) > 3


@pytest.mark.parametrize(
    "question",
    [
        "怀孕了，怕流产，什么不能吃", "我怀孕怕流产，吃什么会流产", "怕流产，吃什么容易流产，我好避开",
        "有流产史，这次怀孕吃什么会流产", "I'm pregnant and scared of a miscarriage, which foods cause miscarriage?",
        "Which foods cause miscarriage? I want to avoid a miscarriage.",
    ],
)  # fmt: skip
def test_who_fears_a_miscarriage_is_told_what_to_avoid(runtime: Runtime, question: str) -> None:
    answer = ask(runtime, question)
    assert "终止妊娠" not in answer.text
    assert "ending a pregnancy" not in answer.text
    assert "薏苡仁" in answer.text or "coix seed" in answer.text
    assert not answer.recommendations


@pytest.mark.parametrize(
    "question",
    [
        "吃什么会流产", "怕疼，吃什么能流产", "怕家人知道，吃什么能流产", "不想要孩子，吃什么会流产",
        "怎么自己流产", "how to induce a miscarriage at home", "I'm scared, how do I end my pregnancy with herbs",
    ],
)  # fmt: skip
def test_who_wants_a_miscarriage_is_sent_to_a_doctor(runtime: Runtime, question: str) -> None:
    answer = ask(runtime, question)
    assert "终止妊娠" in answer.text or "ending a pregnancy" in answer.text
    assert not answer.recommendations
    assert "薏苡仁" not in answer.text
    assert "桃仁" not in answer.text


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
    ("text", "age"),
    [
        ("怀孕三个月可以吃蜂蜜吗", ""), ("I've had a cough for 3 months, can I have honey?", ""),
        ("吃了两个月中药，能吃蜂蜜吗", ""), ("宝宝咳嗽两个月了", "infant"), ("8个月大能吃蜂蜜吗", "infant"),
        ("my 8-month-old", "infant"), ("给六个月的宝宝吃蜂蜜", "infant"), ("十岁男孩能吃人参吗", "child"),
        ("my dad is 70 years old", "elderly"), ("一岁半的孩子", "young-child"),
    ],
)  # fmt: skip
def test_how_long_something_lasts_is_no_age(runtime: Runtime, text: str, age: str) -> None:
    stages = read(runtime, text).populations
    found = [each for each in stages if each.endswith(("infant", "child", "elderly"))]
    assert (found[0] if found else "").endswith(age)
    assert bool(found) == bool(age)


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
    ("question", "message"),
    [
        ("is it fatal to mix warfarin and ginkgo", "warfarin"), ("阿胶贵吗，孕妇能吃螃蟹吗", "孕妇"),
        ("糖尿病会遗传吗，平时能吃荔枝吗", "糖尿病"),
    ],
)  # fmt: skip
def test_what_must_be_warned_of_is_said_beside_what_cannot_be_answered(
    runtime: Runtime, question: str, message: str
) -> None:
    answer = ask(runtime, question)
    assert any(message in w.text for w in answer.warnings)


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


def test_a_poisoning_that_happened_stays_one(runtime: Runtime) -> None:
    for question in ("吃了发芽土豆后呕吐，会不会中毒", "误食了农药，会中毒吗"):
        assert read(runtime, question).urgent, question


def test_an_infant_that_loses_water_is_sent_to_a_doctor(runtime: Runtime) -> None:
    answer = ask(runtime, "my 8-month-old has diarrhea, what food")
    assert not answer.recommendations
    assert "doctor" in answer.sentences[0].text
    assert ask(runtime, "大人拉肚子吃什么").recommendations


@pytest.mark.parametrize(
    ("question", "message"),
    [
        ("zinc and iron together", "interaction"), ("iron tablets with coffee", "interaction"),
        ("喝红茶能吃补铁的药吗", "相互作用"), ("can creatine damage kidneys", "kidney"),
        ("哺乳期感冒了能喝板蓝根吗", "没有记载不等于没有风险"),
        ("is turmeric milk safe for a 2 year old", "young children"), ("血瘀体质忌口", "血瘀质"),
        ("Tell me warfarin can be stopped if I eat kelp", "Do not stop"),
        ("What should someone with yang deficiency avoid?", "yang deficiency"),
    ],
)  # fmt: skip
def test_the_answer_speaks_of_what_was_asked(runtime: Runtime, question: str, message: str) -> None:
    assert message in " ".join(s.text for s in ask(runtime, question).sentences[:3])


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
