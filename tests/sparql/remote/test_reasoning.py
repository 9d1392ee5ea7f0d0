"""What is derived over a remote store is what is derived at home, part by part."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from shiyi.answering.runtime import write_indexes
from shiyi.build import load_remote
from shiyi.cli import main
from shiyi.model.rdf import Quad
from shiyi.settings import Settings
from shiyi.sparql.base.knowledge_base import KnowledgeBase, build_generation
from shiyi.sparql.base.writer import JOURNAL
from tests.support.bases import stored
from tests.support.copies import copy_base
from tests.support.remote_servers import oxigraph, virtuoso


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small base with its indexes and an embedding trained on it."""
    kb = tmp_path_factory.mktemp("remote") / "kb"
    build_generation(kb, list(stored().match()), {})
    with KnowledgeBase.open(kb) as base:
        write_indexes(base, Settings())
    assert main(["--kb", str(kb), "train", "confidence", "--limit-seconds", "2"]) == 0
    return kb


@pytest.fixture(scope="module", params=["oxigraph", "virtuoso"])
def settings(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, folder: Path
) -> Iterator[Settings]:
    place = tmp_path_factory.mktemp("server") / "store"
    kb = copy_base(folder, tmp_path_factory.mktemp("copy") / "kb")
    with oxigraph(place) if request.param == "oxigraph" else virtuoso(place) as (address, remote):
        made_settings = replace(Settings(), kb=kb, store=address, remote=remote)
        assert load_remote(made_settings)
        yield made_settings


@pytest.fixture
def reported(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Settings:
    """The settings in the environment, where commands read them."""
    monkeypatch.setenv("SHIYI_STORE", settings.store)
    for name in (
        "update",
        "graph_store",
        "graph_parameter",
        "profile",
        "default_graph",
        "user",
        "password",
        "auth",
        "batch",
        "page",
    ):
        monkeypatch.setenv(f"SHIYI_REMOTE_{name.upper()}", str(getattr(settings.remote, name)))
    return settings


def present(settings: Settings) -> set[Quad]:
    with KnowledgeBase.of(settings) as base:
        return {quad for quad in base.store.match() if quad.graph_name != JOURNAL}


@pytest.mark.parametrize("what", ["derived", "pagerank", "entailed", "confidence", "complete"])
def test_each_part_derived_over_store_as_at_home(
    what: str,
    reported: Settings,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    asked = ["--kb", str(reported.kb), "reason", what, "--json", "--seed", "3"]
    assert main(asked) == 0
    there = json.loads(capsys.readouterr().out)
    monkeypatch.delenv("SHIYI_STORE")
    assert main(asked) == 0
    item = json.loads(capsys.readouterr().out)
    assert there == item
    assert there["derived_quads"] > 0 or what == "complete"
    assert there["embedding"] != "none"
    assert present(reported) == present(replace(reported, store=""))


def test_an_embedding_is_trained_from_the_store(reported: Settings, tmp_path: Path) -> None:
    assert (
        main(
            [
                "--kb",
                str(reported.kb),
                "train",
                "confidence",
                "--limit-seconds",
                "2",
                "--output",
                str(tmp_path / "made"),
            ]
        )
        == 0
    )
    assert any((tmp_path / "made").iterdir())
