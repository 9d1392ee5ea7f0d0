"""States that are told in roundabout words: denied of the past, denied twice, quoted, shared; warnings must stay."""

import pytest

from shiyi.answering import Runtime
from shiyi.answering.reading import read_question
from shiyi.linking.normalise import language_of
from shiyi.model.profile import Profile

# what is said, and what has to be held of the person: states, medicines, allergies, foods left out
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


def held(runtime: Runtime, said: str) -> set[str]:
    person = read_question(said, language_of(said), Profile(), runtime.linker, runtime.facts).person
    every = (*person.states, *person.drugs, *person.allergies, *person.left_out)
    return {iri.rpartition("/")[2].partition("-")[2] for iri in every}


@pytest.mark.parametrize(("said", "wanted"), KEPT)
def test_what_is_so_is_held_however_it_is_said(runtime: Runtime, said: str, wanted: str) -> None:
    names = held(runtime, said)
    for each in wanted.split(","):
        assert any(name.startswith(each) for name in names), names


@pytest.mark.parametrize(("said", "wanted", "denied"), DROPPED)
def test_what_is_denied_is_not_held_beside_what_is_so(
    runtime: Runtime, said: str, wanted: str, denied: str
) -> None:
    names = held(runtime, said)
    assert any(name.startswith(wanted) for name in names)
    assert denied not in names


@pytest.mark.parametrize(
    ("said", "wanted"),
    [
        ("奶奶今年82了，能吃人参吗", "elderly"), ("my grandma is 82, is licorice ok", "elderly"),
        ("三岁宝宝能吃蜂蜜吗", "child"), ("两岁宝宝能吃蜂蜜吗", "young-child"), ("两个多月的宝宝能喝水吗", "infant"),
    ],
)  # fmt: skip
def test_ages_are_read_as_people_tell_them(runtime: Runtime, said: str, wanted: str) -> None:
    assert wanted in held(runtime, said)


def test_a_loose_word_for_a_child_gives_way_to_its_age(runtime: Runtime) -> None:
    assert "infant" not in held(runtime, "三岁宝宝能吃蜂蜜吗")
    assert "infant" in held(runtime, "三岁宝宝和刚满月的婴儿能吃蜂蜜吗")
