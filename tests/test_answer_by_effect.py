"""What is said of a herb and a symptom that only a traditional efficacy joins: 润肺止咳 and cough."""

import pytest

from shiyi.answering import Runtime, ask
from shiyi.answering.candidates import Candidate
from shiyi.answering.roles import EDIBLE
from shiyi.answering.sentence_check import check
from shiyi.model.answer import Answer
from shiyi.model.names import resource
from shiyi.model.path import Hop, Path, Step
from shiyi.ontology.terms import SHIYI

JOINS = ("没有直接的记载，只有传统功效", "nothing is recorded of them directly, only")
PROOF = ("不证明有效", "no proof that it works")


def joined(answer: Answer) -> list[str]:
    """Give the sentences that join by an efficacy."""
    return [each.text for each in answer.sentences if any(said in each.text for said in JOINS)]


@pytest.mark.parametrize(
    ("question", "efficacy", "symptom"),
    [
        ("川贝母能治咳嗽吗", "efficacy-runfeizhike", "symptom-cough"),
        ("川贝母对咳嗽有用吗", "efficacy-runfeizhike", "symptom-cough"),
        ("Is fritillaria good for cough?", "efficacy-runfeizhike", "symptom-cough"),
        ("乌梅能治口渴吗", "efficacy-shengjinzhike", "symptom-thirst"),
        ("柏子仁能治失眠吗", "efficacy-yangxinanshen", "symptom-insomnia"),
        ("番泻叶能治便秘吗", "efficacy-xieretongbian", "symptom-constipation"),
    ],
)  # fmt: skip
def test_an_efficacy_that_is_for_the_symptom_is_told_with_both_claims_and_as_no_proof(
    runtime: Runtime, question: str, efficacy: str, symptom: str
) -> None:
    answer = ask(runtime, question)
    (sentence,) = (s for s in answer.sentences if any(said in s.text for said in JOINS))
    assert any(said in sentence.text for said in PROOF)
    facts = [f for claim in sentence.claims for f in runtime.facts.by_claim[claim]]
    has = [f for f in facts if f.predicate == SHIYI.hasEfficacy]
    assert resource(efficacy).value in {f.object for f in has}
    aim = [f for f in facts if f.predicate == SHIYI.directedAt]
    assert (resource(efficacy).value, resource(symptom).value) in {
        (f.subject, f.object) for f in aim
    }
    assert not answer.recommendations


@pytest.mark.parametrize(
    "question",
    [
        "川贝母能治失眠吗", "川贝母能治腹泻吗", "Is fritillaria good for diarrhoea?",  # other effects
        "咳血能吃川贝母吗", "孩子发烧吃葛根行吗", "三岁孩子发烧，能吃葛根吗",  # a doctor comes first
        "不咳嗽，但是便秘，能吃川贝母吗", "我没有咳嗽，失眠能吃川贝母吗",  # denied
        "火麻仁对便秘有用吗", "鱼腥草能治咳嗽吗",  # recorded for it directly
        "我对梨过敏，咳嗽能吃川贝炖梨吗", "孕妇痛经能吃红花吗",  # not to be taken
        "吃什么止血", "三七能治流鼻血吗", "红花能治痛经吗",  # nothing joins these
    ],
)  # fmt: skip
def test_nothing_is_joined_where_no_efficacy_is_for_what_was_said(
    runtime: Runtime, question: str
) -> None:
    assert not joined(ask(runtime, question))


def test_several_symptoms_are_told_in_one_sentence(runtime: Runtime) -> None:
    (sentence,) = joined(ask(runtime, "黄痰咳嗽，能吃川贝母吗"))
    assert "川贝母与痰黄黏稠、咳嗽" in sentence
    assert "所对的是痰多、咳嗽" in sentence


@pytest.mark.parametrize(
    ("question", "warned"),
    [
        ("糖尿病人咳嗽能吃川贝炖梨吗", "糖尿病"), ("感冒咳嗽，流清涕，怕冷，能吃川贝吗", "偏寒"),
        ("番泻叶能治便秘吗", "孕妇"),
    ],
)  # fmt: skip
def test_what_speaks_against_it_stays(runtime: Runtime, question: str, warned: str) -> None:
    answer = ask(runtime, question)
    assert joined(answer)
    assert warned in answer.text


def test_paths_lead_from_a_symptom_through_an_efficacy_to_what_has_it(runtime: Runtime) -> None:
    way = (
        Step(SHIYI.directedAt.value, forward=False),
        Step(SHIYI.hasEfficacy.value, forward=False),
    )
    assert way in runtime.retriever.planner.plan("Symptom", EDIBLE, 3, 10)
    assert not any(
        way[1] in plan and plan != way for plan in runtime.retriever.planner.plan("Symptom", EDIBLE, 3, 10)
    )  # fmt: skip


def test_a_direct_record_ranks_above_an_efficacy_and_explains(runtime: Runtime) -> None:
    cough, effect, food = (
        resource(n).value for n in ("symptom-cough", "efficacy-zhike-cough", "x")
    )
    direct = Path((Hop(food, SHIYI.relieves.value, cough, "c1", 0.6, forward=False),))
    through = Path((
        Hop(effect, SHIYI.directedAt.value, cough, "c2", 0.98, forward=False),
        Hop(food, SHIYI.hasEfficacy.value, effect, "c3", 0.98, forward=False),
    ))  # fmt: skip
    assert Candidate(food, (direct,)).support > Candidate(food, (through,)).support > 0
    assert Candidate(food, (through, direct)).reason() == (direct,)


@pytest.mark.parametrize(
    ("text", "stands"),
    [
        ("川贝母的传统功效是润肺止咳，所对的是咳嗽，这不证明有效。", True),
        ("川贝母能缓解咳嗽。", False), ("传统上川贝母用于咳嗽。", False),
    ],
)  # fmt: skip
def test_a_model_may_not_make_a_use_of_it(runtime: Runtime, text: str, stands: bool) -> None:
    answer = ask(runtime, "川贝母能治咳嗽吗")
    assert (check(text, answer.citations[1:3], answer, runtime.linker) == "") is stands


def test_no_efficacy_left_to_doctors_is_for_a_symptom_and_none_for_a_sign_of_alarm(
    runtime: Runtime,
) -> None:
    facts = runtime.facts
    aims = [f for e in facts.members(SHIYI.Efficacy) for f in facts.of(e, SHIYI.directedAt)]
    assert len(aims) >= 60
    for each in aims:
        assert not facts.of(each.subject, SHIYI.hasRedFlag)
        assert not facts.is_a(each.object, SHIYI.EmergencySign)
