"""What tests of updates share: an empty base that is written to, its workers, and an author."""

from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest

from shiyi.settings import QuerySettings
from shiyi.sparql.base.knowledge_base import KnowledgeBase, build_generation
from shiyi.sparql.sandbox.pool import QueryPool
from shiyi.sparql.updates.update import Author

_numbers = count()


def author() -> Author:
    """Return a curator with a key of its own."""
    return Author(f"key-{next(_numbers)}", "curator", "a test")


@pytest.fixture
def kb(tmp_path: Path) -> Iterator[KnowledgeBase]:
    """An empty base, open for writing."""
    build_generation(tmp_path / "kb", [], {})
    with KnowledgeBase.open(tmp_path / "kb", write=True) as base:
        yield base


@pytest.fixture
def pool(kb: KnowledgeBase) -> Iterator[QueryPool]:
    """One confined worker over it."""
    with QueryPool(kb, QuerySettings(workers=1)) as opened:
        yield opened
