"""A source that was retracted: said by command, taken back by command, and what it does."""

import json
from pathlib import Path

import pytest

from shiyi.cli import main
from shiyi.curation.people import People
from shiyi.curation.roles import Role
from shiyi.reasoning.review_records import decayed_claims, is_retracted
from shiyi.sparql.knowledge_base import KnowledgeBase
from tests.curation_base import BOOK, SWEETNESS, build

PASSWORD = "correct horse battery"  # noqa: S105 - of test accounts


@pytest.fixture
def kb(tmp_path: Path) -> Path:
    made = build(tmp_path / "kb")
    people = People(made)
    people.add("wang", Role.EDITOR, PASSWORD)
    people.add("li", Role.CURATOR, PASSWORD)
    return made


def test_a_retracted_source_counts_half_until_that_is_undone(
    kb: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    name = BOOK.iri.value
    why = ["--reason", "taken back by its publisher", "--json"]
    assert main(["--kb", str(kb), "review", "retract", name, "--as", "wang", *why]) == 0
    number = json.loads(capsys.readouterr().out)["number"]
    with KnowledgeBase.open(kb) as base:
        assert is_retracted(base.store, name)
        assert decayed_claims(base.store)[SWEETNESS.iri.value] < 0.8
    assert main(["--kb", str(kb), "review", "undo", str(number), "--as", "wang"]) == 0
    with KnowledgeBase.open(kb) as base:
        assert not is_retracted(base.store, name)
        assert not decayed_claims(base.store)


def test_a_retraction_needs_a_source_a_reason_and_an_editor(
    kb: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = ["--kb", str(kb), "review", "retract"]
    for words, said in (
        ([BOOK.iri.value, "--as", "wang"], "--reason"),
        (["source/none", "--as", "wang", "--reason", "why"], "holds no source"),
        ([BOOK.iri.value, "--as", "li", "--reason", "why"], "right to approve"),
    ):
        assert main([*asked, *words]) != 0
        assert said in capsys.readouterr().err


def test_a_review_beside_a_running_writer_says_how_to_send_it_there(
    kb: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with KnowledgeBase.open(kb, write=True):
        asked = ["review", "accept", SWEETNESS.iri.value, "--as", "wang"]
        assert main(["--kb", str(kb), *asked]) != 0
    assert "/curate/review" in capsys.readouterr().err
