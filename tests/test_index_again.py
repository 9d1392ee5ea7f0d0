"""Indexes that an older Shiyi wrote, or that are gone, are written anew by one command."""

import json
from pathlib import Path

import pytest

from shiyi.answering.pipeline import ask
from shiyi.answering.runtime import Runtime
from shiyi.cli import main
from shiyi.settings import Settings
from shiyi.sparql.knowledge_base import KnowledgeBase
from shiyi.sparql.scrub import scrub
from tests.curation_base import build

QUESTION = "Can I take goji with warfarin?"


@pytest.fixture
def kb(tmp_path: Path) -> Path:
    return build(tmp_path / "kb")


def answered(kb: Path) -> str:
    with KnowledgeBase.open(kb) as base:
        return ask(Runtime.open(base, Settings()), QUESTION).text


def test_indexes_that_are_gone_come_back_and_answers_stay(
    kb: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = answered(kb)
    with KnowledgeBase.open(kb) as base:
        folder = base.folder / "index"
    for each in folder.glob("*.safetensors"):
        each.unlink()
    assert main(["--kb", str(kb), "index", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["bytes"] > 1000
    assert len(list(folder.glob("*.safetensors"))) >= 4
    assert answered(kb) == before
    assert not scrub(kb).damages


def test_while_somebody_writes_nothing_is_indexed(
    kb: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with KnowledgeBase.open(kb, write=True):
        assert main(["--kb", str(kb), "index"]) == 2
    assert "process" in capsys.readouterr().err
