"""Questions for what has an effect: 吃什么补血, which foods moisten the lung."""

import pytest

from shiyi.answering import Runtime, ask
from shiyi.answering.pipeline import METHODS
from shiyi.model.names import resource
from shiyi.model.profile import Profile
from shiyi.ontology.terms import SHIYI


@pytest.mark.parametrize(
    ("question", "effect"),
    [
        ("吃什么补血", "补血"), ("能吃什么补肾？", "益肾"), ("哪些食物润肺", "润肺"),
        ("清热解毒的食物有哪些", "清热解毒"), ("怀孕了想吃点安神的", "安神"),
        ("Which foods moisten the lung?", "moistens the lung"),
        ("What can I eat to tonify the blood?", "tonifies blood"),
    ],
)  # fmt: skip
def test_what_has_an_effect_is_suggested_with_the_claim_that_says_so(
    runtime: Runtime, question: str, effect: str
) -> None:
    answer = ask(runtime, question)
    assert answer.recommendations
    for each in answer.recommendations:
        facts = [f for claim in each.claims for f in runtime.facts.by_claim[claim]]
        assert any(f.predicate == SHIYI.hasEfficacy and f.subject == each.iri for f in facts)
    assert effect in answer.text
    assert "知识库里没有足够的记载" not in answer.text


@pytest.mark.parametrize(
    ("method", "question"),
    [
        ("fused", "吃什么止血"), ("fused", "吃什么杀虫消积"),
        *((method, "有什么安胎的食物") for method in sorted(METHODS)),
    ],
)  # fmt: skip
def test_nothing_is_suggested_for_what_a_doctor_has_to_see_first(
    runtime: Runtime, method: str, question: str
) -> None:
    assert not ask(runtime, question, method=method).recommendations


def test_effects_left_to_doctors_are_those_with_a_red_flag_in_the_tables(runtime: Runtime) -> None:
    flagged = [
        iri for iri in runtime.facts.members(SHIYI.Efficacy)
        if runtime.facts.of(iri, SHIYI.hasRedFlag)
    ]  # fmt: skip
    assert len(flagged) >= 20
    assert any(runtime.facts.label(iri, "zh") == "止血" for iri in flagged)


@pytest.mark.parametrize(
    ("question", "effect"),
    [
        ("活血的食物有哪些", "活血"), ("什么止咳", "止咳"), ("吃什么散寒", "散寒"), ("吃什么明目", "明目"),
        ("疏肝吃什么好", "疏肝"),
    ],
)  # fmt: skip
def test_an_effect_said_in_two_characters_finds_those_that_have_it_in_their_name(
    runtime: Runtime, question: str, effect: str
) -> None:
    answer = ask(runtime, question)
    assert len(answer.recommendations) >= 2
    assert effect in answer.text


def test_who_asks_for_an_effect_is_heeded(runtime: Runtime) -> None:
    free = {each.iri for each in ask(runtime, "吃什么安神").recommendations}
    answer = ask(runtime, "我对大枣过敏，吃什么安神")
    kept = {each.iri for each in answer.recommendations}
    jujube = resource("substance-dazao").value
    parts = {f.object for iri in kept for f in runtime.facts.of(iri, SHIYI.hasIngredient)}
    assert kept != free
    assert jujube not in kept | parts
    assert any("大枣" in each.text for each in answer.warnings)


def test_a_group_that_is_shared_is_named_by_what_both_are_of(runtime: Runtime) -> None:
    warned = [each.text for each in ask(runtime, "我对花生过敏，吃什么补肾").warnings]
    assert any("同属一类（坚果和花生）" in each for each in warned)
    assert not any("同属一类（树坚果）" in each for each in warned)


def test_medicines_of_the_asker_are_heeded_too(runtime: Runtime) -> None:
    answer = ask(runtime, "吃什么补气", profile=Profile(medicines=("华法林",)))
    assert "人参" not in " ".join(each.label for each in answer.recommendations)
