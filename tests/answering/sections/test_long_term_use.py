"""Questions on daily or long-term use are answered from the notes of claims."""

import pytest

from shiyi.answering.pipeline import Runtime
from tests.support.questions import ask, frame_of
from tests.tables import from_table

_LEAD = ("天天或长期用：", "Every day or for long: ")
_NONE = (
    "知识库没有记载；没有记载不等于没有风险，打算长期用",
    "may be taken every day, or how long: the knowledge base holds no record",
)


def _asks(runtime: Runtime, question: str) -> bool:
    return frame_of(runtime, question).has_cue("long-term")


@from_table
def test_long_or_daily_use_is_recognised(runtime: Runtime, question: str) -> None:
    assert _asks(runtime, question)


@from_table
def test_what_lasts_or_taken_already_no_such_question(runtime: Runtime, question: str) -> None:
    assert not _asks(runtime, question)


@from_table
def test_records_of_long_use_come_first_with_claims(
    runtime: Runtime, question: str, found: tuple[str, ...]
) -> None:
    answer = ask(runtime, question)
    body = [s for s in answer.sentences[:3] if s.text.startswith(_LEAD)]
    assert len(body) == 1
    cited = {citation.claim for citation in answer.citations}
    assert body[0].claims
    assert cited.issuperset(body[0].claims)
    assert all(each in body[0].text for each in found)
    assert body[0].text in {warning.text for warning in answer.warnings}


@pytest.mark.parametrize("question", ["阳桃可以每天吃吗", "Can I drink green tea every day?"])
def test_missing_record_of_long_use_is_no_consent(runtime: Runtime, question: str) -> None:
    answer = ask(runtime, question)
    assert any(each in answer.sentences[0].text for each in _NONE)
    assert not answer.sentences[0].claims


@from_table
def test_long_use_is_not_mentioned_unasked(runtime: Runtime, question: str) -> None:
    assert not any(s.text.startswith(_LEAD) for s in ask(runtime, question).sentences)
