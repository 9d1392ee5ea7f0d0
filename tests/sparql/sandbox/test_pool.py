import gc
import json
import os
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from shiyi.errors import (
    FormatError,
    KnowledgeBaseError,
    QueryError,
    QueryLimitError,
    QueryRefusedError,
    UsageError,
)
from shiyi.model.rdf import Quad, Triple
from shiyi.ontology.terms import RDF
from shiyi.settings import QuerySettings
from shiyi.sparql.base.knowledge_base import KnowledgeBase
from shiyi.sparql.queries.requests import FreeQuery
from shiyi.sparql.queries.results import GRAPH_TYPES, SOLUTION_TYPES, ResultFormat
from shiyi.sparql.sandbox import views
from shiyi.sparql.sandbox.background import LOWEST
from shiyi.sparql.sandbox.framing import RowCounter
from shiyi.sparql.sandbox.pool import QueryPool
from shiyi.sparql.store.snapshots import Snapshot
from tests.contracts import A, B, P

NAMES = "https://example.org/names"
FROM_NAMES = "SELECT * FROM <https://example.org/names> { ?s ?p ?o }"
EVERYTHING = "SELECT * { ?s ?p ?o }"
GRAPH = "CONSTRUCT { ?s ?p ?o } { ?s ?p ?o }"
LIMITS = QuerySettings(timeout=5.0, memory_mib=512, snapshot_seconds=3600.0)


@pytest.fixture(scope="module")
def pool(shared_kb: Path) -> Iterator[QueryPool]:
    with KnowledgeBase.open(shared_kb) as kb, QueryPool(kb, LIMITS) as made:
        yield made


@pytest.mark.parametrize("form", SOLUTION_TYPES)
def test_solutions_come_whole_in_each_format(pool: QueryPool, form: str) -> None:
    result = pool.query(FreeQuery(EVERYTHING, accept=ResultFormat.of(form)))
    assert (result.media_type, result.kind) == (SOLUTION_TYPES[form], "solutions")
    assert result.rows == 2000
    assert b"https://example.org/n1999" in result.body


@pytest.mark.parametrize("form", GRAPH_TYPES)
def test_graphs_come_whole_in_each_format(pool: QueryPool, form: str) -> None:
    result = pool.query(FreeQuery(GRAPH, accept=ResultFormat.of(form)))
    assert (result.media_type, result.kind, result.rows) == (GRAPH_TYPES[form], "graph", 2000)
    assert b"example.org/n1999" in result.body


def test_a_boolean_is_a_boolean(pool: QueryPool) -> None:
    result = pool.query(FreeQuery("ASK { ?s ?p ?o }"))
    assert (result.kind, json.loads(result.body)["boolean"]) == ("boolean", True)


def test_chinese_comes_through(pool: QueryPool) -> None:
    result = pool.query(FreeQuery(f"SELECT ?o {{ GRAPH <{NAMES}> {{ ?s ?p ?o }} }}"))
    (row,) = json.loads(result.body)["results"]["bindings"]
    assert row["o"] == {"type": "literal", "value": "枸杞子", "xml:lang": "zh"}


def test_the_default_dataset_is_the_default_graph_alone(pool: QueryPool) -> None:
    assert pool.query(FreeQuery('ASK { ?s ?p "枸杞子"@zh }')).body.endswith(b"false}")
    assert pool.query(FreeQuery('ASK { GRAPH ?g { ?s ?p "枸杞子"@zh } }')).body.endswith(b"true}")


def test_from_and_the_protocol_choose_the_dataset(pool: QueryPool) -> None:
    assert pool.query(FreeQuery(FROM_NAMES)).rows == 1
    assert pool.query(FreeQuery(EVERYTHING, default_graphs=(NAMES,))).rows == 1
    named = "SELECT * { GRAPH ?g { ?s ?p ?o } }"
    assert pool.query(FreeQuery(named, named_graphs=(NAMES,))).rows == 1
    assert pool.query(FreeQuery(named, named_graphs=("https://example.org/other",))).rows == 0
    assert pool.query(FreeQuery(named, default_graphs=(NAMES,))).rows == 0
    replaced = pool.query(FreeQuery(FROM_NAMES, default_graphs=("https://example.org/other",)))
    assert replaced.rows == 0


def test_an_iri_of_the_protocol_is_checked(pool: QueryPool) -> None:
    with pytest.raises(QueryError, match="IRI"):
        pool.query(FreeQuery(EVERYTHING, default_graphs=("not an iri",)))


def test_a_faulty_query_is_answered_with_its_place(pool: QueryPool) -> None:
    with pytest.raises(QueryError, match=r"2:\d+"):
        pool.query(FreeQuery("SELECT *\n  ! { ?s ?p ?o }"))


def test_result_of_another_kind_than_accepted_is_refused(pool: QueryPool) -> None:
    with pytest.raises(FormatError):
        pool.query(FreeQuery("ASK {}", accept=ResultFormat.of("ttl")))
    with pytest.raises(FormatError):
        pool.query(FreeQuery(GRAPH, accept=ResultFormat.of("csv")))
    with pytest.raises(FormatError):
        ResultFormat.of("jsonp")


@pytest.mark.parametrize("form", [*SOLUTION_TYPES, *GRAPH_TYPES])
@pytest.mark.parametrize("limit", ["rows", "bytes"])
def test_result_past_limit_is_error_and_never_cut(shared_kb: Path, limit: str, form: str) -> None:
    settings = replace(
        LIMITS,
        workers=1,
        rows=1999 if limit == "rows" else LIMITS.rows,
        bytes=1999 if limit == "bytes" else LIMITS.bytes,
    )
    text = GRAPH if form in GRAPH_TYPES else EVERYTHING
    with KnowledgeBase.open(shared_kb) as kb, QueryPool(kb, settings) as pool:
        with pytest.raises(QueryLimitError) as caught:
            pool.query(FreeQuery(text, accept=ResultFormat.of(form)))
        assert caught.value.limit == limit
        assert pool.query(FreeQuery(text + " LIMIT 5", accept=ResultFormat.of(form))).rows == 5


def test_worker_is_replaced_without_free_threads(
    shared_kb: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    with KnowledgeBase.open(shared_kb) as kb, QueryPool(kb, replace(LIMITS, workers=1)) as pool:
        with monkeypatch.context() as full:
            full.setattr(threading.Thread, "start", refuse)
            with pytest.raises(QueryLimitError, match="longer"):
                pool.query(FreeQuery("SELECT * { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i }", timeout=0.1))
        assert pool.query(FreeQuery("ASK {}")).rows == 1


@pytest.mark.parametrize("seconds", [0.0, -1.0, float("nan")])
def test_a_timeout_is_above_nothing(pool: QueryPool, seconds: float) -> None:
    with pytest.raises(UsageError):
        pool.query(FreeQuery(EVERYTHING, timeout=seconds))


def test_a_change_is_seen_after_a_refresh(writable_kb: KnowledgeBase) -> None:
    asked = f"ASK {{ {A} {P} {B} }}"
    with QueryPool(writable_kb, LIMITS) as pool:
        writable_kb.writer.write([Quad(A, P, B)], key="k", agent="me", reason="test")
        assert pool.query(FreeQuery(asked)).body.endswith(b"false}")
        pool.refresh()
        assert pool.query(FreeQuery(asked)).body.endswith(b"true}")


def test_change_seen_by_itself_once_snapshot_old_enough(writable_kb: KnowledgeBase) -> None:
    with QueryPool(writable_kb, replace(LIMITS, snapshot_seconds=0.0)) as pool:
        for number in range(3):
            node = f"<https://example.org/new{number}>"
            quad = Quad(type(A)(node[1:-1]), P, B)
            writable_kb.writer.write([quad], key=f"k{number}", agent="me", reason="test")
            assert pool.query(FreeQuery(f"ASK {{ {node} ?p ?o }}")).body.endswith(b"true}")


def test_old_snapshots_go_when_no_worker_reads_them(writable_kb: KnowledgeBase) -> None:
    home = writable_kb.path / "snapshots"
    with QueryPool(writable_kb, replace(LIMITS, workers=2)) as pool:
        for number in range(5):
            writable_kb.writer.write([Quad(A, P, B)], key=f"k{number}", agent="me", reason="test")
            pool.refresh()
            pool.query(FreeQuery("ASK {}"))
        assert 1 <= len(list(home.glob("*.lock"))) <= 3
    assert list(home.iterdir()) == []


def test_many_clients_share_few_workers(pool: QueryPool) -> None:
    counts: list[int] = []

    def client() -> None:
        counts.extend(pool.query(FreeQuery(EVERYTHING + " LIMIT 7")).rows for _ in range(20))

    threads = [threading.Thread(target=client) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert counts == [7] * 160


def test_busy_workers_are_reported(shared_kb: Path) -> None:
    with KnowledgeBase.open(shared_kb) as kb, QueryPool(kb, replace(LIMITS, workers=1)) as pool:
        slow = threading.Thread(target=_expect_time_limit, args=(pool,))
        with pool._borrow_worker("", 1.0):
            slow.start()
            slow.join()
        assert pool.query(FreeQuery("ASK {}")).rows == 1


def _expect_time_limit(pool: QueryPool) -> None:
    with pytest.raises(QueryLimitError, match="busy"):
        pool.query(FreeQuery("ASK {}", timeout=0.2))


def test_workers_know_none_of_our_secrets(shared_kb: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "canary-key")
    with KnowledgeBase.open(shared_kb) as kb, QueryPool(kb, LIMITS) as pool:
        pool.query(FreeQuery("ASK {}"))
        for worker in pool._workers:
            environment = Path(f"/proc/{worker.process.pid}/environ").read_bytes()
            assert b"PATH=" in environment
            assert b"canary-key" not in environment


def test_closed_pool_has_no_processes_and_answers_nothing(shared_kb: Path) -> None:
    with KnowledgeBase.open(shared_kb) as kb:
        pool = QueryPool(kb, LIMITS)
        pids = [worker.process.pid for worker in pool._workers]
        pool.close()
        pool.close()
        with pytest.raises(KnowledgeBaseError, match="closed"):
            pool.query(FreeQuery("ASK {}"))
    gc.collect()  # a pipe left open would warn here
    for pid in pids:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


@pytest.mark.parametrize(
    ("form", "body", "rows"),
    [
        ("json", b'{"head":{"vars":["a","b"]},"results":{"bindings":[]}}', 0),
        ("json", rb'{"results":{"bindings":[{"a":{"value":"[{,{\\\",{"}},{},{"b":{}}]}}', 3),
        ("csv", b"a,b\r\n", 0),
        ("csv", b'a\r\n"x\r\n""y\r\n"\r\n\r\n', 2),
        ("tsv", b"?a\n\n\n", 2),
        ("xml", b"<results><result></result><result></result></results>", 2),
    ],
)
def test_rows_are_counted_in_what_was_written(form: str, body: bytes, rows: int) -> None:
    counter = RowCounter(form)
    counter.feed(body)
    assert max(0, counter.rows) == rows


def test_rdf_11_copy_is_made_by_deadline(
    writable_kb: KnowledgeBase, monkeypatch: pytest.MonkeyPatch
) -> None:
    go, lower = threading.Event(), views.lower_snapshot

    def lower_late(snapshot: Snapshot, is_closed: Callable[[], bool]) -> None:
        assert go.wait(60)
        lower(snapshot, is_closed)

    monkeypatch.setattr(views, "lower_snapshot", lower_late)
    claim = Quad(A, RDF.reifies, Triple(A, P, B))
    writable_kb.writer.write([claim], key="k", agent="me", reason="test")
    lowered = FreeQuery(f"ASK {{ ?claim <{RDF.object.value}> ?o }}", profile="rdf11", timeout=0.5)
    with QueryPool(writable_kb, LIMITS) as pool:
        for _ in range(2):
            with pytest.raises(QueryLimitError, match="is being made") as refused:
                pool.query(lowered)
            assert refused.value.limit == "busy"
        assert pool.query(FreeQuery(EVERYTHING)).rows == 2001
        go.set()
        later = replace(lowered, timeout=5.0)
        assert pool.query(later).body.endswith(b"true}")
        writable_kb.writer.write((), [claim], key="l", agent="me", reason="test")
        pool.refresh()
        assert pool.query(later).body.endswith(b"false}")
    assert list((writable_kb.path / "snapshots").iterdir()) == []


def test_read_only_base_has_no_rdf11_copy(
    writable_kb: KnowledgeBase, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Snapshot, "is_original", property(lambda _: True))
    monkeypatch.setattr(views, "run_in_background", lambda *_, **__: pytest.fail("was started"))
    with QueryPool(writable_kb, LIMITS) as pool:
        pool.seen.prepare()
        with pytest.raises(QueryRefusedError, match="read-only"):
            pool.query(FreeQuery(EVERYTHING, profile="rdf11"))


def test_rdf_11_query_does_not_wait_for_idle(
    writable_kb: KnowledgeBase, monkeypatch: pytest.MonkeyPatch
) -> None:
    event, asked = threading.Event(), list[int]()

    def lower_beside(
        target: object, copy: Snapshot, *, is_closed: Callable[[], bool], priority: int
    ) -> int:
        asked.append(priority)
        event.set()
        while priority and not is_closed():
            time.sleep(0.01)
        if not priority:
            views.lower_snapshot(copy)
        return priority

    monkeypatch.setattr(views, "run_in_background", lower_beside)
    monkeypatch.setattr(views, "_SMALL", 0)
    claim = Quad(A, RDF.reifies, Triple(A, P, B))
    writable_kb.writer.write([claim], key="k", agent="me", reason="test")
    lowered = FreeQuery(f"ASK {{ ?claim <{RDF.object.value}> ?o }}", profile="rdf11")
    with QueryPool(writable_kb, LIMITS) as pool:
        preparing = threading.Thread(target=pool.seen.prepare)
        preparing.start()
        assert event.wait(60)
        assert pool.query(lowered).body.endswith(b"true}")
        preparing.join(60)
    assert asked == [LOWEST, 0]


def test_closing_gives_up_a_copy_in_the_making(
    writable_kb: KnowledgeBase, monkeypatch: pytest.MonkeyPatch
) -> None:
    began, lower, raised = threading.Event(), views.lower_snapshot, list[str]()

    def lower_noted(snapshot: Snapshot, is_closed: Callable[[], bool]) -> None:
        began.set()
        while not is_closed():
            time.sleep(0.01)
        try:
            lower(snapshot, is_closed)
        except KnowledgeBaseError as fault:
            raised.append(str(fault))
            raise

    monkeypatch.setattr(views, "lower_snapshot", lower_noted)
    claim = Quad(A, RDF.reifies, Triple(A, P, B))
    writable_kb.writer.write([claim], key="k", agent="me", reason="test")
    pool = QueryPool(writable_kb, LIMITS)
    lowered = FreeQuery(f"ASK {{ ?claim <{RDF.object.value}> ?o }}", profile="rdf11")
    asking = threading.Thread(target=pytest.raises, args=(KnowledgeBaseError, pool.query, lowered))
    asking.start()
    assert began.wait(60)
    pool.close()
    asking.join(60)
    assert raised == ["the query pool is closed"]
    assert list((writable_kb.path / "snapshots").iterdir()) == []
