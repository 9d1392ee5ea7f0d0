"""What is said beside a name is heard however it is typed: spaces, scripts, curly marks, fractions."""

import pytest

from shiyi.answering import Runtime, ask
from shiyi.answering.clauses import in_place
from shiyi.answering.conversation import Context, converse
from shiyi.answering.reading import Reading, read_question
from shiyi.answering.statements import is_question, stated
from shiyi.linking.normalise import fold, language_of
from shiyi.model.names import resource
from shiyi.model.profile import Profile


def read(runtime: Runtime, question: str) -> Reading:
    return read_question(
        question, language_of(question), Profile(), runtime.linker, runtime.facts
    )  # fmt: skip


@pytest.mark.parametrize(
    "question",
    [
        "我对花生过敏,能吃核桃吗", "i don't eat pork or lamb, which foods help with cold hands",
        "血压有点低,能喝人参汤吗", "vitamin c and e together", "我没有胃口,能吃西瓜吗",
        "i haven't stopped breastfeeding, can i have ginseng", "三高能吃红曲吗",
        "肾不好,能吃杨桃吗", "my mother is diabetic, can i eat lychee",
    ],
)  # fmt: skip
@pytest.mark.parametrize("before", [" ", "½ ", "\u200b", "\ufb01 "])
def test_a_question_says_the_same_where_folding_changes_its_length(
    runtime: Runtime, question: str, before: str
) -> None:
    plain, typed = (read(runtime, each) for each in (question, before + question))
    assert typed.person == plain.person
    assert typed.theirs == plain.theirs
    assert typed.made == plain.made
    words = [(m.text, m.iri, m.negated) for m in plain.mentions]
    assert [
        (m.text, m.iri, m.negated) for m in typed.mentions if m.iri or m.text in question
    ] == words


@pytest.mark.parametrize(
    ("simplified", "traditional"),
    [
        ("当归的归经是什么？", "當歸的歸經是什麼？"), ("我对花生过敏，便秘吃什么", "我對花生過敏，便秘吃什麼"),
        ("术后能喝鸡汤吗", "術後能喝雞湯嗎"), ("夏天喝什么茶清热", "夏天喝什麼茶清熱"),
        ("胸口像压了块石头，喘不上气，吃什么", "胸口像壓了塊石頭，喘不上氣，吃什麼"),
        ("我儿子8个月大，能吃蜂蜜吗", "我兒子8個月大，能吃蜂蜜嗎"), ("高血压能停药吗", "高血壓能停藥嗎"),
        ("血压有点低，能喝人参汤吗", "血壓有點低，能喝人參湯嗎"), ("维生素B6和12能一起吃吗", "維生素B6和12能一起吃嗎"),
    ],
)  # fmt: skip
def test_an_answer_is_the_same_in_either_script(
    runtime: Runtime, simplified: str, traditional: str
) -> None:
    one, other = (ask(runtime, each) for each in (simplified, traditional))
    assert fold(one.text) == fold(other.text)
    assert [w.claims for w in one.warnings] == [w.claims for w in other.warnings]


def test_an_allergy_is_heard_in_the_other_script_and_across_two_spaces(runtime: Runtime) -> None:
    answer = ask(runtime, "我對花生過敏，  可以吃花生嗎")
    assert "contraindicated" in {w.severity for w in answer.warnings}
    assert (
        resource("substance-huasheng").value
        in read(runtime, "我對花生過敏，  可以吃核桃嗎").person.allergies
    )


@pytest.mark.parametrize(
    ("typed", "plain"),
    [
        ("我懷孕了，65歲，對花生過敏", "我怀孕了，65岁，对花生过敏"), ("我在餵奶  我不吃豬肉", "我在喂奶  我不吃猪肉"),
        ("Ｉ’ｍ pregnant,  allergic to  Peanuts", "I'm pregnant, allergic to Peanuts"),
    ],
)  # fmt: skip
def test_what_somebody_tells_of_themselves_is_the_same_however_it_is_typed(
    runtime: Runtime, typed: str, plain: str
) -> None:
    said, expected = (stated(each, runtime.linker, runtime.facts) for each in (typed, plain))
    assert (said.pregnant, said.lactating, said.age) == (
        expected.pregnant, expected.lactating, expected.age,
    )  # fmt: skip
    assert said != Profile()
    for one, other in ((said.allergies, expected.allergies), (said.avoids, expected.avoids)):
        assert [*map(fold, one)] == [*map(fold, other)]


def test_a_follow_up_is_read_in_either_script(runtime: Runtime) -> None:
    assert is_question("可以吃嗎")
    first = converse(runtime, "枸杞能和华法林一起吃吗", Context())
    for said in ("那綠豆可以嗎", "那绿豆可以吗"):
        assert "华法林" in converse(runtime, said, first.context).answer.text


@pytest.mark.parametrize(
    "text", ["我不吃猪肉", "I don’t eat", "ＶＣ片，好吗？", "", "🙂", "β-胡萝卜素"]
)
def test_every_character_stays_where_it_is(text: str) -> None:
    folded = in_place(text)
    assert len(folded) == len(text)
    if len(fold(text)) == len(text):
        assert folded == fold(text)
