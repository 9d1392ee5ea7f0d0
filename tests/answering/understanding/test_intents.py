"""What somebody wants is read from the whole question: to stop nursing, to leave out, to end a pregnancy."""

from shiyi.answering.runtime import Runtime
from shiyi.answering.understanding.reading import find_foreign_topics
from shiyi.linking.normalization import QuestionText
from shiyi.model.iris import resource
from tests.support.questions import ask, read
from tests.tables import from_table


def test_what_helps_asks_for_anything(runtime: Runtime) -> None:
    for question in (
        "有没有能缓解咳嗽的食物吗",
        "喝什么能缓解咳嗽",
        "Can you help me with a cough?",
    ):
        assert read(runtime, question).wants("advice")


def test_dish_is_known_by_what_people_call_it(runtime: Runtime) -> None:
    answer = ask(runtime, "川贝炖雪梨怎么做")
    assert resource("dish-fritillaria-stewed-pear").value in {m.iri for m in answer.linked}
    assert "隔水炖" in answer.text


@from_table
def test_question_of_abortion_refers_to_doctor(runtime: Runtime, question: str) -> None:
    assert "abortion" in find_foreign_topics(QuestionText.of(question))
    answer = ask(runtime, question)
    assert not any(
        result in answer.text for result in ("可以考虑", "推荐与理由", "What to consider")
    )
    assert "请问医生" in answer.text or "ask a doctor" in answer.text


@from_table
def test_who_fears_or_has_had_miscarriage_is_answered(question: str) -> None:
    assert not find_foreign_topics(QuestionText.of(question))


@from_table
def test_what_animals_may_eat_is_not_known_here(question: str) -> None:
    assert find_foreign_topics(QuestionText.of(question)) == ("animals",)


@from_table
def test_who_feels_ill_after_wild_mushroom_is_emergency(
    runtime: Runtime, question: str, emergency: bool
) -> None:
    assert read(runtime, question).urgent is emergency


@from_table
def test_excluded_food_is_no_wish_for_advice(runtime: Runtime, question: str) -> None:
    asked = read(runtime, question)
    assert asked.wants("avoid")
    assert not asked.wants("advice")


def test_milk_of_mother_is_no_food_of_cow(runtime: Runtime) -> None:
    answer = ask(runtime, "how to dry up breast milk naturally, can I drink sage tea")
    cow = resource("substance-niunai").value
    assert cow not in {mention.iri for mention in answer.linked}


def test_a_cramp_is_no_soy_sauce(runtime: Runtime) -> None:
    answer = ask(runtime, "晚上老抽筋补什么")
    assert "酱油" not in answer.text
    assert resource("symptom-muscle-cramps").value in {m.iri for m in answer.linked}


@from_table
def test_salt_with_potassium_warned_of_where_potassium_rises(
    runtime: Runtime, question: str, severity: str
) -> None:
    answer = ask(runtime, question)
    salt = resource("substance-low-sodium-salt").value
    about = {c.number for c in answer.citations if salt in {c.subject.iri, c.object.iri}}
    assert about
    assert severity == answer.warnings[0].severity
    assert any(word in answer.warnings[0].text for word in ("低钠盐", "Low-sodium salt"))
