"""Claims of the base, asked for by the labels of their ends: "no record" is true."""

import os
import random
import re
from typing import Any

import pytest

from shiyi.answering.pipeline import AskRequest, Runtime, ask
from shiyi.model.profile import Profile
from tests.tables import from_table

FORMS = {"zh": "{}和{}有什么关系？", "en": "How are {} and {} related?"}


@pytest.mark.parametrize("language", FORMS)
def test_recorded_pairs_are_seldom_not_on_record(runtime: Runtime, language: str) -> None:
    """A sample in CI; every claim with ``SHIYI_NIGHTLY``."""
    claims = sorted((f for f in runtime.claims.values() if not f.language), key=lambda f: f.claim)
    if not os.environ.get("SHIYI_NIGHTLY"):
        claims = random.Random(29).sample(claims, 400)  # noqa: S311 - a draw, no secret
    kinds = []
    for fact in claims:
        ends = (runtime.facts.label(name, language) for name in (fact.subject, fact.object))
        request = AskRequest(FORMS[language].format(*ends), language=language)
        kinds.append(ask(runtime, request).verdict.kind)
    assert kinds.count("not_on_record") <= 0.01 * len(kinds)


@from_table
def test_contents_of_a_thing_are_stated_without_permission(
    runtime: Runtime, question: str, kind: str
) -> None:
    answer = ask(runtime, AskRequest(question))
    assert answer.verdict.kind == kind
    citations = [
        c for c in answer.citations if c.predicate.iri.endswith(("hasIngredient", "hasNutrient"))
    ]
    assert bool(citations) == (kind == "record")


@from_table
def test_no_advice_answers_question_about_unknown_thing(
    runtime: Runtime, question: str, unknown: bool
) -> None:
    answer = ask(runtime, AskRequest(question))
    assert (answer.verdict.kind == "not_on_record") == unknown
    assert not (unknown and answer.recommendations)
    assert ("没有认出" in answer.text or "Not recognised" in answer.text[:60]) == unknown


@from_table
def test_an_answer_opens_with_what_decides(
    runtime: Runtime, question: str, profile: dict[str, Any], first: str
) -> None:
    answer = ask(runtime, AskRequest(question, profile=Profile.from_json(profile)))
    opening = answer.text.partition("###")[0]
    assert first in re.sub(r" ?\[\d+\]", "", opening)


@from_table
def test_what_was_not_asked_is_left_out(runtime: Runtime, question: str, words: str) -> None:
    assert words not in ask(runtime, AskRequest(question)).text
