"""The kitchen's base, built once for the tests of evaluation."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from shiyi.sparql.base.knowledge_base import KnowledgeBase, build_generation
from tests.support import bases


@pytest.fixture(scope="session")
def kitchen_kb(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("kitchen") / "kb"
    build_generation(folder, tuple(bases.kitchen_quads()), {})
    return folder


@pytest.fixture(scope="module")
def kitchen(kitchen_kb: Path) -> Iterator[KnowledgeBase]:
    with KnowledgeBase.open(kitchen_kb) as base:
        yield base
