"""What tests of updates share: an empty base that is written to, its workers, and an author."""

from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Final

import pytest

from shiyi.settings import QuerySettings
from shiyi.sparql.free_query import FreeQuery
from shiyi.sparql.generations import build_generation
from shiyi.sparql.knowledge_base import KnowledgeBase
from shiyi.sparql.results import ResultFormat
from shiyi.sparql.updates import Author, Part, Updater
from shiyi.sparql.workers import QueryPool

XSD: Final = "http://www.w3.org/2001/XMLSchema#"
HEAD: Final = f"PREFIX xsd: <{XSD}> PREFIX : <https://e.org/> "
NUMBERS: Final = """
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> . @prefix : <https://e.org/> .
:a :p "01"^^xsd:integer ; :q 1 . :b :p "-3"^^xsd:negativeInteger ; :q 1.50 . :c :p 1 .
:claim <http://www.w3.org/1999/02/22-rdf-syntax-ns#reifies> <<( :a :dose 1.50 )>> .
"""
_numbers = count()


def author() -> Author:
    """Give a curator with a key of its own."""
    return Author(f"key-{next(_numbers)}", "curator", "a test")


@pytest.fixture
def kb(tmp_path: Path) -> Iterator[KnowledgeBase]:
    """An empty base, open for writing."""
    build_generation(tmp_path / "kb", [], {})
    with KnowledgeBase.open(tmp_path / "kb", write=True) as opened:
        yield opened


@pytest.fixture
def pool(kb: KnowledgeBase) -> Iterator[QueryPool]:
    """One confined worker over it."""
    with QueryPool(kb, QuerySettings(workers=1)) as opened:
        yield opened


def put(updater: Updater, graph: str, turtle: str) -> None:
    """Put Turtle into a graph in the place of what it held."""
    updater.replace(graph, [Part("ttl", turtle.encode())], "https://e.org/", author())


def rows(pool: QueryPool, query: str) -> list[str]:
    """Give the rows of a result as sorted lines of TSV."""
    made = pool.query(FreeQuery(HEAD + query, accept=ResultFormat("tsv", "nt")))
    return sorted(made.body.decode().splitlines()[0 if made.kind == "graph" else 1 :])
