"""A base of the vocabulary and all concepts, without claims, to ingest into."""

from pathlib import Path

import pytest

from shiyi.sparql.base.knowledge_base import build_generation
from tests.support.bases import concept_base
from tests.support.copies import copy_base


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    kb = tmp_path_factory.mktemp("ingest") / "kb"
    build_generation(kb, concept_base(), {})
    return kb


@pytest.fixture
def kb(built: Path, tmp_path: Path) -> Path:
    return copy_base(built, tmp_path / "kb")
