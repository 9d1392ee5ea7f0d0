"""Diets and allergies: what people do not eat is left out, and its kin is warned of."""

from shiyi.answering.conversation import Context
from shiyi.answering.pipeline import Runtime
from shiyi.answering.understanding.attribution import allergens, foods_not_eaten
from shiyi.linking.normalization import QuestionText
from shiyi.model.iris import resource
from shiyi.model.profile import Profile
from shiyi.ontology.terms import SHIYI
from tests.support.questions import ask, converse, profile_in
from tests.tables import from_table


@from_table
def test_what_somebody_leaves_out_is_not_recommended(
    runtime: Runtime, question: str, without: tuple[str, ...]
) -> None:
    answer = ask(runtime, question)
    assert answer.recommendations
    named = " ".join(each.label.lower() for each in answer.recommendations)
    assert not [word for word in without if word in named]


@from_table
def test_an_allergy_warns_of_what_is_of_the_same_group(runtime: Runtime, question: str) -> None:
    answer = ask(runtime, question)
    assert "contraindicated" in {w.severity for w in answer.warnings}
    assert answer.sentences[0].claims
    assert not answer.recommendations


def test_with_an_allergy_labels_are_to_be_read_and_signs_of_alarm_named(runtime: Runtime) -> None:
    text = ask(runtime, "对海鲜过敏，能吃虾皮吗").text
    assert "配料表" in text
    assert "呼吸困难" in text
    assert "不要自行多用" not in text


def test_a_diet_is_no_danger_and_its_warning_says_who_leaves_it_out(runtime: Runtime) -> None:
    answer = ask(runtime, "vegetarian, can I take fish oil?")
    assert {w.severity for w in answer.warnings} == {"caution"}
    assert "vegetarians leave out" in answer.sentences[0].text
    assert "doctor" not in answer.text.split("###")[0]


def test_a_diet_stays_for_the_session_and_is_said_of_nobody_else(runtime: Runtime) -> None:
    turn = converse(runtime, "我吃素", Context())
    after = converse(runtime, "贫血吃什么", turn.context)
    named = {r.label for r in after.answer.recommendations}
    assert named
    assert not named & {
        r.label for r in ask(runtime, "贫血吃什么").recommendations if "羊肉" in r.label
    }
    assert "清真" not in ask(runtime, "阿胶适合孕妇吃吗").text


def test_an_allergy_told_after_a_question_is_read_with_it(runtime: Runtime) -> None:
    turn = converse(runtime, "能吃螃蟹吗", Context())
    message = converse(runtime, "我对海鲜过敏", turn.context)
    assert "过敏" in message.answer.sentences[0].text
    assert message.answer.warnings


def test_a_group_of_a_profile_is_kept_from(runtime: Runtime) -> None:
    answer = ask(runtime, "失眠吃什么", profile=Profile(allergies=("坚果",)))
    assert not [r for r in answer.recommendations if "核桃" in r.label]
    assert not [m for m in answer.missing if "坚果" in m]


@from_table
def test_of_a_group_that_is_asked_about_its_members_are_told(
    runtime: Runtime, question: str, listed: str, never: str
) -> None:
    text = ask(runtime, question).text
    assert listed in text
    assert never not in text


def test_lists_of_what_is_not_eaten_are_read_to_their_end(runtime: Runtime) -> None:
    def result(question: str) -> list[str]:
        return [m.text for m in allergens(QuestionText.of(question), runtime.linker.link(question))]

    assert result("allergic to nuts, dairy and eggs") == ["nuts", "dairy", "eggs"]
    assert result("对牛奶和鸡蛋过敏") == ["牛奶", "鸡蛋"]
    assert result("allergic to shrimp, crab ok?") == ["shrimp"]
    for question, names in (
        ("我不吃羊肉和猪肉", ["羊肉", "猪肉"]),
        ("能不能吃羊肉", []),
        ("孕妇不能吃螃蟹吗", []),
    ):
        assert [
            m.text
            for m in foods_not_eaten(QuestionText.of(question), runtime.linker.link(question))
        ] == names


@from_table
def test_foods_of_the_group_that_is_asked_for_are_named(
    runtime: Runtime, question: str, among: set[str]
) -> None:
    named = {each.label for each in ask(runtime, question).recommendations}
    assert named
    assert named <= among


def test_fruit_that_diabetes_forbids_is_listed_when_fruit_is_asked_about(runtime: Runtime) -> None:
    text = ask(runtime, "糖尿病能吃水果吗").text
    assert "荔枝" in text
    assert "腌制食品" not in text


@from_table
def test_an_allergy_is_always_spoken_to(runtime: Runtime, question: str, message: str) -> None:
    assert message in ask(runtime, question).sentences[0].text


def test_groups_of_foods_are_told_of_nobody_who_did_not_ask(runtime: Runtime) -> None:
    assert "食物类别" not in ask(runtime, "打完疫苗能吃海鲜吗").text


def test_a_harm_recorded_for_a_disease_stands_before_the_group_it_leaves_out(
    runtime: Runtime,
) -> None:
    answer = ask(runtime, "我有乳糜泻，可以吃麦芽吗？")
    harms = [
        f.claim
        for f in runtime.facts.of(resource("substance-maiya").value, SHIYI.contraindicatedIn)
    ]
    assert {c for w in answer.warnings for c in w.claims} & set(harms)


@from_table
def test_what_is_said_of_anybody_is_not_what_the_asker_leaves_out(
    runtime: Runtime, question: str, there: str, gone: str
) -> None:
    text = ask(runtime, question).text
    assert there in text
    assert gone not in text


@from_table
def test_an_allergy_to_a_class_of_medicines_is_one_to_its_members(
    runtime: Runtime, question: str, message: str
) -> None:
    answer = ask(runtime, question)
    assert message.lower() in answer.sentences[0].text.lower()
    assert answer.warnings[0].severity == "contraindicated"


def test_nothing_is_held_of_who_is_allergic_to_nothing(runtime: Runtime) -> None:
    content = "I'm not allergic to anything, can I eat royal jelly?"
    assert profile_in(runtime, content).allergies == ()
