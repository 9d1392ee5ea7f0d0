"""Diets and allergies: what people do not eat is left out, and its kin is warned of."""

from shiyi.answering.conversation import Context
from shiyi.answering.pipeline import Runtime
from shiyi.answering.understanding.patient import allergens, find_not_eaten
from shiyi.linking.normalization import QuestionText
from shiyi.model.iris import resource
from shiyi.model.profile import Profile
from shiyi.ontology.terms import SHIYI
from tests.support.questions import ask, converse, profile_in


def test_diet_is_no_danger_and_warning_names_it(runtime: Runtime) -> None:
    answer = ask(runtime, "vegetarian, can I take fish oil?")
    assert {w.severity for w in answer.warnings} == {"caution"}
    assert "vegetarians leave out" in answer.sentences[0].text
    assert "doctor" not in answer.text.split("###")[0]


def test_diet_lasts_for_session_of_its_person(runtime: Runtime) -> None:
    turn = converse(runtime, "我吃素", Context())
    after = converse(runtime, "贫血吃什么", turn.context)
    named = {r.label for r in after.answer.recommendations}
    assert named
    assert not named & {
        r.label for r in ask(runtime, "贫血吃什么").recommendations if "羊肉" in r.label
    }
    assert "清真" not in ask(runtime, "阿胶适合孕妇吃吗").text


def test_allergy_stated_after_question_is_read_with_it(runtime: Runtime) -> None:
    turn = converse(runtime, "能吃螃蟹吗", Context())
    message = converse(runtime, "我对海鲜过敏", turn.context)
    assert "过敏" in message.answer.sentences[0].text
    assert message.answer.warnings


def test_a_group_of_a_profile_is_excluded(runtime: Runtime) -> None:
    answer = ask(runtime, "失眠吃什么", profile=Profile(allergies=("坚果",)))
    assert not [r for r in answer.recommendations if "核桃" in r.label]
    assert not [m for m in answer.missing if "坚果" in m]


def test_list_of_excluded_foods_is_read_to_end(runtime: Runtime) -> None:
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
            m.text for m in find_not_eaten(QuestionText.of(question), runtime.linker.link(question))
        ] == names


def test_harm_for_disease_precedes_excluded_group(runtime: Runtime) -> None:
    answer = ask(runtime, "我有乳糜泻，可以吃麦芽吗？")
    harms = [
        f.claim
        for f in runtime.facts.of(resource("substance-maiya").value, SHIYI.contraindicatedIn)
    ]
    assert {c for w in answer.warnings for c in w.claims} & set(harms)


def test_denied_allergy_adds_nothing_to_the_profile(runtime: Runtime) -> None:
    content = "I'm not allergic to anything, can I eat royal jelly?"
    assert profile_in(runtime, content).allergies == ()
