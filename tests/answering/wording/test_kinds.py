"""Answers say how each claim is known, and tell every rating of an effect."""

from dataclasses import replace

import pytest

from shiyi.answering.pipeline import AskRequest, Runtime, ask
from shiyi.answering.wording.verbalization import has_kind, rating_text
from shiyi.ontology.terms import SHIYI
from tests.tables import from_table

RATED = (SHIYI.isEffectiveFor, SHIYI.studiedFor)
SLEEP = "失眠多梦吃什么？"


@from_table
def test_each_rated_effect_is_stated_with_its_rating(
    runtime: Runtime, language: str, question: str
) -> None:
    missed, asked = [], 0
    for fact in (f for facts in runtime.facts.by_subject.values() for f in facts):
        rating = runtime.evidences.rating(fact.claim) if fact.predicate in RATED else ""
        if not rating:
            continue
        x, y = (runtime.facts.label(name, language) for name in (fact.subject, fact.object))
        answer = ask(runtime, AskRequest(question.format(x=x, y=y), language=language))
        asked += 1
        if rating_text(language, rating) not in answer.text:
            missed.append((x, y, rating))
    assert asked >= 150
    assert not missed


@pytest.mark.parametrize("question", [SLEEP, "华法林能和银杏一起吃吗？", "Is ginger warm?"])
def test_each_claim_sentence_names_kind_of_evidence(runtime: Runtime, question: str) -> None:
    answer = ask(runtime, AskRequest(question))
    resting = [sentence.text for sentence in answer.sentences if sentence.claims]
    assert resting
    assert [text for text in resting if not has_kind(answer.language, text)] == []
    result = answer.to_json()
    assert sum(result["evidence_counts"].values()) == sum(len(c.evidence) for c in answer.citations)
    for item in (e for c in result["citations"] for e in c["evidence"]):
        assert item["opened"] is (item["kind"] in {"read", "row"})


def test_from_opened_evidence_alone_nothing_recalled_is_recommended(runtime: Runtime) -> None:
    free, strict = (ask(runtime, AskRequest(SLEEP, evidence=e)) for e in ("any", "opened"))
    opened = runtime.evidences.is_opened
    assert strict.recommendations
    assert all(
        opened(claim)
        for recommendation in strict.recommendations
        for claim in recommendation.claims
    )
    assert not all(
        opened(claim) for recommendation in free.recommendations for claim in recommendation.claims
    )
    answering = replace(runtime.settings.answer, evidence="opened")
    by_setting = replace(runtime, settings=replace(runtime.settings, answer=answering))
    assert ask(by_setting, AskRequest(SLEEP)).text == strict.text


def test_what_is_left_out_as_unopened_is_counted(runtime: Runtime) -> None:
    question = "枸杞怎么吃"
    free, strict = (ask(runtime, AskRequest(question, evidence=e)) for e in ("any", "opened"))
    note = "只用已打开过的来源"
    assert any(note in each for each in strict.missing)
    assert not any(note in each for each in free.missing)
