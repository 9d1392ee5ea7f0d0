"""A question that names a relation of the vocabulary is answered with that relation first."""

import pytest

from shiyi.answering import Runtime, ask
from shiyi.answering.asked import asked_predicates, named_in
from shiyi.answering.cues import Intent, intents_of
from shiyi.model.rdf import local_name


@pytest.mark.parametrize(
    ("question", "relation"),
    [
        ("金银花的活性成分是什么？", "hasActiveConstituent"),
        ("大黄的用药部位是什么？", "usesPart"),
        ("Which active constituents does honeysuckle flower have?", "hasActiveConstituent"),
    ],
)
def test_the_relation_asked_for_is_told_first(
    runtime: Runtime, question: str, relation: str
) -> None:
    answer = ask(runtime, question)
    assert local_name(answer.citations[0].predicate.iri) == relation
    first = answer.text.splitlines()[0]
    assert answer.citations[0].object.label in first
    assert "[1]" in first


def test_a_piece_of_a_relations_name_is_no_thing(runtime: Runtime) -> None:
    answer = ask(runtime, "金银花的活性成分是什么？")
    assert "活性炭" not in answer.text


def test_a_concept_that_is_the_whole_name_stays(runtime: Runtime) -> None:
    assert named_in("活性炭能解毒吗？") == ()
    assert "活性炭" in ask(runtime, "活性炭是什么？").text


def test_names_are_whole_words_in_english() -> None:
    assert named_in("Does dandelion unrelieves?") == ()
    assert asked_predicates("Which symptom does ginger relieves") >= {"relieves"}


def test_what_may_warn_is_left_to_the_safety_check(runtime: Runtime) -> None:
    answer = ask(runtime, "大黄的禁忌是什么？")
    assert answer.warnings
    assert "禁忌：" not in answer.text.splitlines()[0]


def test_a_word_of_one_clause_asks_for_nothing_in_the_next() -> None:
    text = "什么是感冒？桂枝汤与药有相互作用"
    assert Intent.AVOID not in intents_of(text)
    assert Intent.AVOID in intents_of("什么和阿司匹林有相互作用")
    assert Intent.AVOID in intents_of("高血压 which foods to avoid 呢")
