"""Literals as they were written, set aside in a copy that follows the writer."""

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from shiyi.model.rdf import BlankNode, DefaultGraph, Literal, NamedNode, Quad
from shiyi.settings import QuerySettings
from shiyi.sparql.knowledge_base import KnowledgeBase
from shiyi.sparql.oxigraph import OxigraphStore
from shiyi.sparql.snapshots import Snapshot
from shiyi.sparql.updates import Updater
from shiyi.sparql.withheld import hide
from shiyi.sparql.workers import QueryPool
from shiyi.sparql.written import ASIDE, any_form
from tests.updating import HEAD, NUMBERS, XSD, author, kb, pool, put, rows

__all__ = ["kb", "pool"]  # the fixtures
UPDATES = (
    "INSERT DATA {{ :s{n} :p 0{n} , {n}.50 , 'x' . GRAPH :g{n} {{ :s{n} :q +{n} }} }}",
    "DELETE WHERE {{ :s{n} :p ?o }}", "DROP SILENT GRAPH :g{n}", "CREATE SILENT GRAPH :g{n}",
    "DELETE {{ ?s :p ?o }} INSERT {{ ?s :p 00{n} . _:b :r 01 }} WHERE {{ ?s :p ?o }}",
    "COPY SILENT :g{n} TO DEFAULT", "MOVE SILENT :g{n} TO :h",
)  # fmt: skip


@pytest.fixture
def updater(kb: KnowledgeBase, pool: QueryPool) -> Iterator[Updater]:
    made = Updater(kb, QuerySettings(timeout=20), pool.expire)
    yield made
    made.close()


def held(folder: Path) -> tuple[list[str], list[str]]:
    """Give the quads in a folder, and the graphs that are in it."""
    store = OxigraphStore.read_only(folder)
    try:
        names = store.select("SELECT ?g { GRAPH ?g { } }")
        return sorted(map(str, store.match())), sorted(str(row["g"]) for row in names)
    finally:
        store.close()


def made_anew(kb: KnowledgeBase, home: Path) -> list[object]:
    """Give the same of a copy that nothing was taken out of."""
    assert isinstance(kb.store, OxigraphStore)
    return taken(Snapshot.of_store(kb.store, home))


def taken(snapshot: Snapshot) -> list[object]:
    """Give what those who see all see of a snapshot, and what is set aside in it."""
    hide(snapshot, whole=True)
    found = [held(each) for each in (snapshot.path, snapshot.path / ASIDE)]
    snapshot.remove()
    return [*found]


@pytest.mark.parametrize("seed", range(3))
def test_a_copy_that_follows_is_one_made_anew(
    kb: KnowledgeBase, updater: Updater, tmp_path: Path, seed: int
) -> None:
    chance = random.Random(seed)  # noqa: S311
    put(updater, "https://e.org/kept", NUMBERS)
    kb.take_snapshot().remove()
    copy = kb._set_aside
    assert copy is not None
    for step in range(8):
        for _ in range(chance.randrange(1, 4)):
            chosen = chance.choice((*UPDATES, ""))
            if chosen:
                updater.update(HEAD + chosen.format(n=chance.randrange(1, 4)), author())
            else:  # a curator, past the updater
                old = list(kb.store.match(None, NamedNode("https://e.org/p"), None, DefaultGraph()))
                new = Quad(BlankNode(f"n{step}"), NamedNode("urn:p"), Literal("said"))
                kb.writer.write([new], old[:1], key=author().key, who="w", why="y")
        assert taken(kb.take_snapshot()) == made_anew(kb, tmp_path / "home")
    assert kb._set_aside is copy


def test_a_large_load_and_what_goes_again_are_followed(
    kb: KnowledgeBase, updater: Updater, pool: QueryPool, tmp_path: Path
) -> None:
    put(updater, "https://e.org/g", NUMBERS)
    kb.take_snapshot().remove()
    copy = kb._set_aside
    lines = (f'<urn:{n}> <urn:p> "{n}"^^<{XSD}integer> .\n' for n in range(12_000))
    kb.writer.load((), key="many", who="w", why="y", lines=lines)
    assert taken(kb.take_snapshot()) == made_anew(kb, tmp_path / "home")
    pool.refresh()
    assert rows(pool, "SELECT (COUNT(*) AS ?n) { ?s <urn:p> ?o }") == ["12000"]
    assert rows(pool, "SELECT ?o { GRAPH :g { :a :p ?o } }") == ["01"]
    assert kb._set_aside is copy
    updater.update("DROP ALL", author())
    assert not any_form(kb.store.match)
    kb.take_snapshot().remove()
    assert kb._set_aside is None
    assert rows(pool, "SELECT * { ?s ?p ?o }") == []
