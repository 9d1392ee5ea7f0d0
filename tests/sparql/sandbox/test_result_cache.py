"""Results that are stored: the same bytes, never an old state of the base, never too many."""

from dataclasses import replace

from shiyi.model.rdf import Quad
from shiyi.settings import QuerySettings
from shiyi.sparql.base.knowledge_base import KnowledgeBase
from shiyi.sparql.queries.requests import FreeQuery
from shiyi.sparql.queries.results import ResultFormat, Spool, StreamedResult
from shiyi.sparql.sandbox.pool import LARGEST, QueryPool, ResultCache
from tests.contracts import A, B, C, P

SETTINGS = QuerySettings(workers=1, snapshot_seconds=0.0)
ASKED = f"SELECT ?o {{ {A} {P} ?o }}"
TEXT = FreeQuery("text")


def made(size: int) -> StreamedResult:
    spool = Spool()
    spool.add(b"x" * size)
    return StreamedResult("text/csv", spool, "solutions", 1)


def test_cached_result_needs_no_worker_and_change_seen(writable_kb: KnowledgeBase) -> None:
    with QueryPool(writable_kb, SETTINGS) as pool:
        writable_kb.writer.write([Quad(A, P, B)], key="1", agent="me", reason="test")
        first = pool.query(FreeQuery(ASKED))
        pid = pool._workers[0].process.pid
        pool._workers[0].process.kill()
        assert pool.query(FreeQuery(ASKED)) == first  # the dead worker was not asked
        assert pool._workers[0].process.pid == pid
        writable_kb.writer.write([Quad(A, P, C)], key="2", agent="me", reason="test")
        pool._workers[0].process.end()
        pool._workers[0].process = type(pool._workers[0].process)(SETTINGS)
        assert pool.query(FreeQuery(ASKED)).rows == 2


def test_another_way_of_asking_is_another_result(writable_kb: KnowledgeBase) -> None:
    with QueryPool(writable_kb, SETTINGS) as pool:
        every = "SELECT * { ?s ?p ?o }"
        bodies = {
            pool.query(FreeQuery(every)).body,
            pool.query(FreeQuery(every, ResultFormat.of("csv"))).body,
            pool.query(FreeQuery(every, default_graphs=("https://example.org/names",))).body,
        }
        assert len(bodies) == 3


def test_what_may_differ_each_time_asked_each_time(writable_kb: KnowledgeBase) -> None:
    with QueryPool(writable_kb, SETTINGS) as pool:
        for function in ("RAND()", "UUID()", "struuid()", "BNODE()"):
            query = f"SELECT ({function} AS ?x) {{}}"
            assert pool.query(FreeQuery(query)).body != pool.query(FreeQuery(query)).body


def test_nothing_is_cached_where_the_settings_forbid(writable_kb: KnowledgeBase) -> None:
    with QueryPool(writable_kb, replace(SETTINGS, cache_bytes=0)) as pool:
        assert pool.query(FreeQuery(ASKED)) == pool.query(FreeQuery(ASKED))
        assert pool._results is None


def test_result_cache_key_covers_whole_request() -> None:
    cache, graph = ResultCache(5000), f"urn:{'x' * 3000}"
    for query in (
        FreeQuery("ASK {}", default_graphs=(graph,)),
        FreeQuery("ASK {}", named_graphs=(graph,)),
        FreeQuery("ASK {}", base=graph),
        FreeQuery("ASK {}", asker=graph),
    ):
        cache.keep(0, query, made(200))
        cache.keep(1, query, made(200))
        assert (cache.find(0, query) is None, cache.find(1, query) is None) == (True, False)


def test_the_cache_has_a_bound() -> None:
    cache = ResultCache(4400)
    for number in range(10):
        cache.keep(number, TEXT, made(200))
    assert [number for number in range(10) if cache.find(number, TEXT)] == [6, 7, 8, 9]
    cache.keep("large", TEXT, made(4001))
    assert cache.find("large", TEXT) is None
    longest = ResultCache(LARGEST * 4)
    longest.keep("long", TEXT, made(LARGEST + 1))
    assert longest.find("long", TEXT) is None
    result = cache.find(9, TEXT)
    assert result is not None
    assert result.body.read() == b"x" * 200
