"""The verdict of an answer, what is offered and not, and the numbers to call."""

from dataclasses import replace

import pytest

from shiyi.answering.pipeline import Runtime
from shiyi.errors import UsageError
from shiyi.model.answer import Answer
from shiyi.settings import Settings
from tests.support.questions import ask
from tests.tables import from_table


@from_table
def test_an_answer_comes_down_to_a_verdict(
    runtime: Runtime, question: str, kind: str, severity: str
) -> None:
    answer = ask(runtime, question)
    assert (answer.verdict.kind, answer.verdict.severity) == (kind, severity)
    shown = {s.text for s in answer.sentences} | {w.text for w in answer.warnings}
    assert answer.verdict.text in shown
    assert answer.to_json()["verdict"]["text"] == answer.verdict.text


@pytest.mark.parametrize("question", ["痛风不能吃什么", "what is off limits with gout"])
def test_verdict_on_what_to_avoid_is_list(runtime: Runtime, question: str) -> None:
    answer = ask(runtime, question)
    verdict = next(s for s in answer.sentences if s.text == answer.verdict.text)
    assert verdict.claims
    assert not answer.recommendations


def test_nothing_is_offered_unless_advice_is_asked_for(runtime: Runtime) -> None:
    settings = runtime.settings
    never = replace(settings.understanding, advice_from=1.01)
    strict = replace(runtime, settings=replace(settings, understanding=never))
    assert ask(runtime, "失眠吃什么好").recommendations
    assert not ask(strict, "失眠吃什么好").recommendations


def _urgent(answer: Answer) -> str:
    return next(w.text for w in answer.warnings if w.severity == "emergency")


def test_numbers_to_call_are_those_of_country(runtime: Runtime) -> None:
    def within(country: str) -> Runtime:
        settings = replace(Settings().answer, country=country)
        return replace(runtime, settings=replace(runtime.settings, answer=settings))

    question = "I want to end my life"
    assert "988" in _urgent(ask(runtime, question))
    assert "116 123" in _urgent(ask(within("GB"), question))
    assert "988" not in _urgent(ask(within("GB"), question))
    assert "120" in _urgent(ask(runtime, "喝了农药"))
    assert "119" in _urgent(ask(within("TW"), "喝了农药"))
    with pytest.raises(UsageError, match=r"answer\.country 'XX' is none of CN"):
        ask(within("XX"), question)
