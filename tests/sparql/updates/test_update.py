"""Updates and uploads: tried on a copy in a confined worker, journaled, then done at once."""

import re
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

import pytest

from shiyi.errors import QueryError, QueryLimitError, QueryRefusedError
from shiyi.metrics import LISTENER_FAULTS
from shiyi.model.rdf import DefaultGraph, NamedNode, Quad
from shiyi.settings import QuerySettings
from shiyi.sparql.base import writer
from shiyi.sparql.base.journal import read_journal
from shiyi.sparql.base.knowledge_base import KnowledgeBase, build_generation
from shiyi.sparql.queries.requests import FreeQuery
from shiyi.sparql.sandbox.pool import QueryPool
from shiyi.sparql.updates import update as updates
from shiyi.sparql.updates.update import Change, Part, Updater, set_dataset
from tests.contracts import A, B, C, P
from tests.support.updates import author, kb, pool

__all__ = ["kb", "pool"]  # the fixtures
ALL = "SELECT * { { ?s ?p ?o } UNION { GRAPH ?g { ?s ?p ?o } } }"
INSERT = "INSERT DATA { <urn:a> <urn:p> 01 . GRAPH <urn:g> { <urn:a> <urn:p> _:b } }"


@pytest.fixture
def updater(kb: KnowledgeBase, pool: QueryPool) -> Iterator[Updater]:
    made = Updater(kb, QuerySettings(timeout=5, bytes=20_000), pool.expire)
    yield made
    made.close()


@pytest.mark.parametrize("shortcut", [True, False])
def test_update_is_seen_at_once_and_only_data(
    updater: Updater, pool: QueryPool, shortcut: bool
) -> None:
    if shortcut:
        pool.seen.shortcut = updater.snapshot
    assert pool.query(FreeQuery(ALL)).rows == 0
    assert updater.update(INSERT, author()).added == 2
    assert pool.query(FreeQuery(ALL)).rows == 2  # the writer's own note is not among them
    assert pool.query(FreeQuery("CONSTRUCT WHERE { ?s ?p ?o }")).rows == 1
    change = updater.update("DELETE { ?s ?p 1 } INSERT { ?s ?p 2 } WHERE { ?s ?p 1 }", author())
    assert (change.removed, change.added) == (1, 1)
    assert b'"2"' in pool.query(FreeQuery(ALL)).body
    assert updater.update("DROP ALL", author()).removed == 2
    assert pool.query(FreeQuery("SELECT ?g { GRAPH ?g {} }")).rows == 0


def test_worker_serves_until_copy_has_taken_in_much(
    updater: Updater, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(updates, "UNFLUSHED", 3)
    processes = []
    for number in range(4):
        one, text = author(), f"INSERT DATA {{ <urn:a> <urn:p> {number}, {number + 10} }}"
        assert updater.update(text, one) == Change(0, 2)
        assert updater.update(text, one) == Change(0, 0)  # the same key
        processes.append(updater._process)
    assert processes[0] is processes[1]
    assert processes[1] is not processes[2]
    assert processes[2] is processes[3]


def test_slow_update_blocks_no_reader(
    kb: KnowledgeBase, pool: QueryPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Pages, queries and /healthz read the number of the last change and take copies."""
    monkeypatch.setattr(updates, "_WAIT_SECONDS", 0.0)
    updater = Updater(kb, QuerySettings(), pool.expire, places=1)
    updater.update(INSERT, author())
    with ThreadPoolExecutor(2) as executor, kb.writer.turn():
        slow = executor.submit(updater.update, "CLEAR GRAPH <urn:g>", author())
        while updater._places._value:
            time.sleep(0.001)
        future = executor.submit(lambda: (kb.sequence, pool.query(FreeQuery(ALL)).rows))
        assert future.result(60) == (1, 2)
        with pytest.raises(QueryLimitError, match="other updates"):
            updater.update("CLEAR GRAPH <urn:g>", author())
    assert slow.result().removed == 1
    updater.close()


def test_journal_has_what_update_moved_and_replays_it(updater: Updater, kb: KnowledgeBase) -> None:
    updater.update(INSERT, author())
    updater.update("DELETE WHERE { <urn:a> ?p ?o } ; CREATE GRAPH <urn:empty>", author())
    first, second = read_journal(kb.path / "journal.nq")
    assert (len(first.added), len(second.removed)) == (2, 1)
    assert second.graphs[1][0].value == "urn:empty"
    assert second.who == "curator"
    before = {quad for quad in kb.store.match() if quad.predicate == P or quad.object == B}
    updater.close()
    kb.close()
    build_generation(kb.path, [], {})  # a new base repeats the journal
    with KnowledgeBase.open(kb.path) as base:
        assert {q for q in base.store.match() if q.predicate == P or q.object == B} == before


def test_numbers_come_back_in_canonical_form(updater: Updater, pool: QueryPool) -> None:
    """Literals of equal value are one literal to Oxigraph."""
    number = b'"001"^^<http://www.w3.org/2001/XMLSchema#integer>'
    updater.replace("", [Part("nt", b"<urn:a> <urn:p> " + number + b" .")], "", author())
    assert updater.update("INSERT DATA { <urn:a> <urn:p> 1 , 1.50 }", author()).added == 1
    dumped = pool.dump("", "nt")
    assert dumped is not None
    values = re.findall(rb'"(.*?)"', dumped.body.read())
    assert sorted(values) == [b"1", b"1.5"]
    assert updater.update("DELETE DATA { <urn:a> <urn:p> 01 }", author()).removed == 1


def test_an_update_after_another_writer_sees_that_write(
    updater: Updater, kb: KnowledgeBase
) -> None:
    updater.update(INSERT, author())
    kb.writer.write([Quad(A, P, B)], key="other", agent="other", reason="test")
    pattern = f"DELETE {{ {A} {P} {B} }} INSERT {{ {A} {P} {C} }} WHERE {{ {A} {P} {B} }}"
    assert updater.update(pattern, author()).removed == 1
    assert list(kb.store.match(A)) == [Quad(A, P, C)]


@pytest.mark.parametrize(
    ("update", "error"),
    [
        ("DROP ALL x", QueryError),
        ("LOAD <http://127.0.0.1:1/>", QueryRefusedError),
        ("PREFIX e: <http://127.0.0.1:1/> load e:x INTO GRAPH <urn:g>", QueryRefusedError),
        ("INSERT { ?s ?p 1 } WHERE { SERVICE <urn:x> { ?s ?p ?o } }", QueryRefusedError),
        ("INSERT DATA { GRAPH <https://w3id.org/shiyi/graph/journal> { <a:a> <a:b> 1 } }",
         QueryError),
        ("DROP GRAPH <urn:nothing-here>", QueryError),
        (f"INSERT DATA {{ <urn:x> <urn:x> {'<<( <urn:x> <urn:x> ' * 12}1{')>>' * 12} }}",
         QueryError),
        ("INSERT { ?s ?p ?x } WHERE { ?s ?p ?o . BIND(CONCAT(STR(?o), '" + "x" * 9000 + "') AS ?x)"
         " VALUES ?y { 1 2 3 } }", QueryLimitError),
        ("CLEAR " * 20_000, QueryError),
    ],
)  # fmt: skip
def test_refused_update_changes_nothing_and_next_one_works(
    updater: Updater, kb: KnowledgeBase, update: str, error: type[Exception]
) -> None:
    updater.update("INSERT DATA { <urn:a> <urn:p> 1, 2, 3 }", author())
    with pytest.raises((error, ValueError)):
        updater.update(update, author())
    assert kb.sequence == 1
    assert updater.update("INSERT DATA { <urn:a> <urn:p> 4 }", author()).added == 1
    assert len(list(kb.store.match(graph=DefaultGraph()))) == 4


def test_endless_update_is_stopped_and_leaves_no_trace(updater: Updater, kb: KnowledgeBase) -> None:
    values = " ".join(f"VALUES ?v{i} {{ {' '.join(map(str, range(40)))} }}" for i in range(7))
    with pytest.raises(QueryLimitError):
        updater.update(
            f"INSERT {{ <urn:a> <urn:p> ?n }} WHERE {{ SELECT (COUNT(*) AS ?n) {{ {values} }} }}",
            author(),
            timeout=0.4,
        )
    assert kb.sequence == 0
    assert updater.update(INSERT, author()).added == 2


def test_fault_after_change_is_logged_and_change_stands(
    updater: Updater, pool: QueryPool, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(moved: Sequence[Quad]) -> None:
        raise ValueError(f"{len(moved)} quads")

    updater.listener = fail
    before = LISTENER_FAULTS.labels("update")._value.get()
    assert updater.update(INSERT, author()).added == 2
    assert "is written" in caplog.text
    assert LISTENER_FAULTS.labels("update")._value.get() == before + 1
    assert pool.query(FreeQuery(ALL)).rows == 2


def test_uploads_merge_replace_and_drop_one_graph(updater: Updater, pool: QueryPool) -> None:
    parts = [Part("ttl", b"<x> <y> 1 ."), Part("nt", b"<urn:x> <urn:y> <urn:z> .")]
    change = updater.merge("urn:g", parts, "http://base.example/", author())
    assert (change.existed, change.added) == (False, 2)
    dumped = pool.dump("urn:g", "ttl")
    assert dumped is not None
    assert b"<http://base.example/x>" in dumped.body.read()
    put = updater.replace("urn:g", [Part("nt", b'<urn:x> <urn:y> "z" .')], "", author())
    assert (put.existed, put.removed, put.added) == (True, 2, 1)
    assert updater.replace("urn:empty", [Part("ttl", b"")], "", author()).existed is False
    empty = pool.dump("urn:empty", "nt")
    assert empty is not None
    assert empty.body.read() == b""
    assert updater.drop("urn:g", author()).removed == 1
    assert pool.dump("urn:g", "ttl") is None


@pytest.mark.parametrize(
    "part",
    [
        Part("ttl", b"<x> <y> ."),
        Part("trig", b"<urn:g2> { <urn:a> <urn:b> 1 }"),
        Part("ttl", b"\xff\xfe"),
        Part("ttl", b"<urn:a> <urn:b> " + b"(" * 40_000),
        Part("jsonld", b'{"@context": "http://127.0.0.1:1/", "@id": "urn:a"}'),
    ],
)
def test_a_bad_upload_is_refused_whole(updater: Updater, kb: KnowledgeBase, part: Part) -> None:
    with pytest.raises(QueryError):
        updater.merge("urn:g", [Part("nt", b"<urn:a> <urn:b> 1 ."), part], "", author())
    assert kb.sequence == 0


def test_data_set_of_request_applies_to_operations() -> None:
    update = "DELETE { ?where ?p 1 } # WHERE\nWHERE { ?where ?p 'WHERE' }"
    bare = update.replace("# WHERE", "       ").replace("'WHERE'", "'     '")
    written = set_dataset(update, bare, ["urn:a"], ["urn:b"])
    assert written.count("USING <urn:a> USING NAMED <urn:b> WHERE") == 1
    with pytest.raises(QueryError, match="USING"):
        set_dataset(
            "WITH <urn:x> DELETE {} WHERE {}", "WITH <urn:x> DELETE {} WHERE {}", ["urn:a"], []
        )
    with pytest.raises(QueryError, match="absolute"):
        set_dataset("DELETE {} WHERE {}", "DELETE {} WHERE {}", ["urn:a> } ; DROP ALL #"], [])
    with pytest.raises(QueryError, match="in full"):
        set_dataset("DELETE WHERE {}", "DELETE WHERE {}", ["urn:a"], [])


def test_many_small_changes_are_flushed_to_disk(
    updater: Updater, kb: KnowledgeBase, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (updates, writer):
        monkeypatch.setattr(module, "UNFLUSHED", 100)

    def unflushed() -> list[int]:  # a store keeps a log of what it holds in memory alone
        assert updater._copy is not None
        return [
            sum(log.stat().st_size for log in folder.glob("*.log"))
            for folder in (kb.folder / "store", updater._copy.path)
        ]

    def change(verb: str, number: int) -> None:
        triples = " ".join(f"<urn:s{number}> <urn:p> {each} ." for each in range(20))
        updater.update(f"{verb} DATA {{ {triples} }}", author())

    change("INSERT", 0)
    first = unflushed()
    for number in range(1, 21):
        change("INSERT", number)
        change("DELETE", number)
    assert all(now < 15 * once for now, once in zip(unflushed(), first, strict=True))
    assert len(list(kb.store.match(None, NamedNode("urn:p")))) == 20
