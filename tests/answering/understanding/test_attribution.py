"""Who is spoken of and when; what is no matter of food; emergencies in everyday words."""

import pytest

from shiyi.answering.conversation import Context
from shiyi.answering.pipeline import METHODS, Runtime
from shiyi.model.profile import Profile
from tests.support.questions import ask, converse, profile_in, read
from tests.tables import from_table

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


@from_table
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


@from_table
def test_an_allergy_counts_for_who_has_it_and_is_to_eat(runtime: Runtime, question: str) -> None:
    assert _barred(runtime, question)


@from_table
def test_an_allergy_is_left_out_for_who_does_not_have_it_and_that_is_said(
    runtime: Runtime, question: str
) -> None:
    assert not _barred(runtime, question)
    answer = ask(runtime, question).text
    assert "没有算在内" in answer or "left out of account" in answer


@from_table
def test_an_illness_counts_for_who_is_to_eat(runtime: Runtime, question: str, counts: bool) -> None:
    assert ("没有算在内" not in ask(runtime, question).text) is counts


@from_table
def test_what_is_told_of_another_does_not_enter_the_profile(runtime: Runtime, words: str) -> None:
    assert profile_in(runtime, words) == Profile()


def test_what_the_asker_told_of_themselves_is_not_put_on_another(runtime: Runtime) -> None:
    first = converse(runtime, "我在吃华法林，睡不好，老公也不理解我，我应该吃什么", Context())
    second = converse(runtime, "我妈也想喝点什么，她没吃药", first.context)
    assert not any(
        "华法林" in note for note in second.answer.trace.notes if note.startswith("read as 华法林")
    )


@from_table
def test_an_allergy_alone_says_what_it_leaves_out(runtime: Runtime, question: str) -> None:
    answer = ask(runtime, question)
    assert not answer.recommendations
    assert "contraindicated" in {w.severity for w in answer.warnings}
    assert "看医生" in answer.text or "See a doctor" in answer.text
    assert len(answer.citations) > 3


@from_table
def test_who_fears_a_miscarriage_is_told_what_to_avoid(runtime: Runtime, question: str) -> None:
    answer = ask(runtime, question)
    assert "终止妊娠" not in answer.text
    assert "ending a pregnancy" not in answer.text
    assert "薏苡仁" in answer.text or "coix seed" in answer.text
    assert not answer.recommendations


@from_table
def test_who_wants_a_miscarriage_is_sent_to_a_doctor(runtime: Runtime, question: str) -> None:
    answer = ask(runtime, question)
    assert "终止妊娠" in answer.text or "ending a pregnancy" in answer.text
    assert not answer.recommendations
    assert "薏苡仁" not in answer.text
    assert "桃仁" not in answer.text


@from_table
def test_what_was_over_long_ago_is_not_warned_of(
    runtime: Runtime, question: str, state: str
) -> None:
    answer = ask(runtime, question)
    assert state not in answer.sentences[0].text + answer.sentences[1].text
    assert state not in " ".join(answer.missing)


@from_table
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


@from_table
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


@from_table
def test_what_must_be_warned_of_is_said_beside_what_cannot_be_answered(
    runtime: Runtime, question: str, message: str
) -> None:
    answer = ask(runtime, question)
    assert any(message in w.text for w in answer.warnings)


def test_food_asked_for_beside_another_topic_is_given(runtime: Runtime) -> None:
    answer = ask(runtime, "糖尿病会遗传吗，平时吃什么好")
    assert "遗传" in answer.sentences[0].text
    assert answer.recommendations


@from_table
def test_an_emergency_in_everyday_words_comes_before_food(runtime: Runtime, question: str) -> None:
    answer = ask(runtime, question)
    assert answer.warnings[0].severity == "emergency"
    assert not answer.recommendations


@from_table
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


@from_table
def test_the_answer_speaks_of_what_was_asked(runtime: Runtime, question: str, message: str) -> None:
    assert message in " ".join(s.text for s in ask(runtime, question).sentences[:3])


@from_table
def test_the_answer_speaks_of_nothing_else(runtime: Runtime, question: str, never: str) -> None:
    answer = ask(runtime, question)
    assert never not in answer.text
    assert not answer.recommendations or "tea" in question


@from_table
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


@from_table
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


@from_table
def test_what_began_last_year_and_goes_on_is_of_the_present(
    runtime: Runtime, question: str
) -> None:
    assert ask(runtime, question).text.startswith("山楂：孕妇有禁忌记载")
