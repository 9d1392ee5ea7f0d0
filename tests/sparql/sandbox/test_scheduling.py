"""Workers and the server's time are shared out: nobody's long queries keep the others waiting."""

import http.client
import os
import threading
import time
from dataclasses import replace
from pathlib import Path
from urllib.parse import quote

import pytest

from shiyi.errors import QueryLimitError
from shiyi.server.app import create_app
from shiyi.server.http.rate_limit import client_network
from shiyi.server.site.site import PooledQueries
from shiyi.settings import QuerySettings
from shiyi.sparql.base.knowledge_base import KnowledgeBase
from shiyi.sparql.queries.requests import FreeQuery
from shiyi.sparql.queries.results import ResultFormat
from shiyi.sparql.sandbox.pool import QueryPool
from shiyi.sparql.sandbox.scheduling import MOMENT, WorkerScheduler
from tests.support.processes import running
from tests.support.sites import open_test_site

BOMB = "SELECT (COUNT(*) AS ?n) { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i . ?j ?k ?l }"
ALL_PAIRS = "{ ?a ?b ?c . ?d ?e ?f FILTER(STRLEN(STR(?d)) > 3) }"
SLOW = f"SELECT (COUNT(*) AS ?n) {{ {' UNION '.join([ALL_PAIRS] * 3)} }}"
LIMITS = QuerySettings(timeout=10.0, memory_mib=512, workers=3, cache_bytes=0)


class Clock:
    """A clock that stands until it is set ahead."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


def turns(count: int, clock: Clock) -> WorkerScheduler[str]:
    scheduler = WorkerScheduler[str](count, clock)
    for number in range(count):
        scheduler.release(f"worker {number}")
    return scheduler


def indebted(made: WorkerScheduler[str], asker: str, seconds: float = 20.0) -> None:
    thing = made.acquire(asker, 0)
    made.charge(asker, seconds, True)
    made.release(thing)


def refused(made: WorkerScheduler[str], asker: str) -> str:
    with pytest.raises(QueryLimitError) as caught:
        made.acquire(asker, 0)
    return caught.value.limit


def test_a_modest_asker_may_have_every_worker(clock: Clock) -> None:
    scheduler = turns(3, clock)
    assert len({scheduler.acquire("a", 0) for _ in range(3)}) == 3
    assert refused(scheduler, "b") == "busy"


def test_client_over_quota_never_takes_last_worker(clock: Clock) -> None:
    scheduler = turns(3, clock)
    for asker in "abc":
        indebted(scheduler, asker)
    assert scheduler.acquire("a", 0)
    assert refused(scheduler, "a") == "busy"
    assert scheduler.acquire("b", 0)
    assert refused(scheduler, "c") == "busy"
    assert scheduler.acquire("modest", 0)


def test_debt_is_forgiven_with_time(clock: Clock) -> None:
    scheduler = turns(2, clock)
    indebted(scheduler, "a")
    scheduler.acquire("other", 0)
    assert refused(scheduler, "a") == "busy"
    clock.now += 300
    assert scheduler.acquire("a", 0)


def test_short_queries_do_not_count_against_a_client(clock: Clock) -> None:
    scheduler = turns(2, clock)
    for _ in range(1000):
        thing = scheduler.acquire("a", 0)
        scheduler.charge("a", MOMENT / 2, False)
        scheduler.release(thing)
    assert len({scheduler.acquire("a", 0) for _ in range(2)}) == 2


def test_one_request_over_quota_may_wait(clock: Clock) -> None:
    scheduler = turns(2, clock)
    indebted(scheduler, "a")
    things = [scheduler.acquire("b", 0) for _ in range(2)]
    got: list[str] = []
    waiting = threading.Thread(target=lambda: got.append(scheduler.acquire("a", 20)))
    waiting.start()
    while not scheduler._line:
        time.sleep(0.001)
    assert refused(scheduler, "a") == "share"
    for thing in things:
        scheduler.charge("b", 0, False)
        scheduler.release(thing)
    waiting.join()
    assert got


def test_anonymous_client_gets_last_worker(clock: Clock) -> None:
    scheduler = turns(2, clock)
    for _ in range(9):
        indebted(scheduler, "")
    assert len({scheduler.acquire("", 0) for _ in range(2)}) == 2


def test_next_worker_goes_to_least_debt(clock: Clock) -> None:
    scheduler, came = turns(1, clock), list[str]()
    thing = scheduler.acquire("a", 0)
    indebted_first = [scheduler._asker_of(name) for name in ("owing", "free")]
    indebted_first[0].owed, indebted_first[0].at = 2.0, clock.now

    def wait(asker: str) -> None:
        mine = scheduler.acquire(asker, 20)
        came.append(asker)
        scheduler.charge(asker, 0, False)
        scheduler.release(mine)

    threads = []
    for place, asker in enumerate(("a", "owing", "free"), 1):
        threads.append(threading.Thread(target=wait, args=(asker,)))
        threads[-1].start()
        while len(scheduler._line) < place:
            time.sleep(0.001)
    scheduler.release(thing)  # while the first of "a" still counts as running
    for thread in threads:
        thread.join()
    assert came == ["free", "owing", "a"]


def test_long_queries_leave_one_worker_free(clock: Clock) -> None:
    scheduler = turns(3, clock)
    scheduler.acquire_long_slot("a")
    with pytest.raises(QueryLimitError) as caught:
        scheduler.acquire_long_slot("a")
    assert caught.value.limit == "share"
    scheduler.acquire_long_slot("b")
    with pytest.raises(QueryLimitError) as caught:
        scheduler.acquire_long_slot("c")
    assert caught.value.limit == "busy"
    scheduler.release_long_slot("a")
    scheduler.acquire_long_slot("c")


def test_askers_are_not_remembered_without_end(clock: Clock) -> None:
    scheduler = turns(1, clock)
    for number in range(10_050):
        scheduler.charge(str(number), 5.0, False)
    assert len(scheduler._askers) <= 10_001


def test_bombs_of_one_address_leave_workers_to_others(shared_kb: Path) -> None:
    with KnowledgeBase.open(shared_kb) as kb, QueryPool(kb, LIMITS) as pool:
        limits: list[str] = []

        def attack() -> None:
            try:
                pool.query(FreeQuery(BOMB, timeout=3.0, asker="enemy"))
            except QueryLimitError as fault:
                limits.append(fault.limit)

        threads = [threading.Thread(target=attack) for _ in range(6)]
        for thread in threads:
            thread.start()
        while "share" not in limits:
            time.sleep(0.01)
        for number in range(20):
            asked = f"ASK {{ ?s ?p {number} }}"
            assert pool.query(FreeQuery(asked, timeout=2.0, asker="friend")).rows == 1
        for thread in threads:
            thread.join()
    assert limits.count("time") == 1
    assert set(limits) <= {"time", "share", "busy"}


def test_query_that_takes_longer_than_moment_answered_whole(shared_kb: Path) -> None:
    with KnowledgeBase.open(shared_kb) as kb, QueryPool(kb, LIMITS) as pool:
        began = time.monotonic()
        body = pool.query(FreeQuery(SLOW, asker="friend")).body
        assert time.monotonic() - began > MOMENT
        assert b'"12000000"' in body


def niceness(pool: QueryPool) -> list[int]:
    return [
        os.getpriority(os.PRIO_PROCESS, worker.process.pid)
        for worker in pool._workers
        if worker.lives
    ]


def test_long_query_yields_and_worker_returns(shared_kb: Path) -> None:
    own = os.getpriority(os.PRIO_PROCESS, 0)
    with KnowledgeBase.open(shared_kb) as kb, QueryPool(kb, LIMITS) as pool:
        assert niceness(pool) == [own] * 3
        thread = threading.Thread(target=lambda: pool.query(FreeQuery(SLOW, timeout=50.0)))
        thread.start()
        seen = 0
        while thread.is_alive():
            seen = max(seen, *niceness(pool))
            time.sleep(0.02)
        assert seen > own
        assert niceness(pool) == [own] * 3


def test_worker_that_system_keeps_back_is_replaced(
    shared_kb: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lower = os.setpriority

    def forbidden(which: int, who: int, wanted: int) -> None:
        if wanted < os.getpriority(which, who):
            raise PermissionError
        lower(which, who, wanted)

    monkeypatch.setattr(os, "setpriority", forbidden)  # as it is for all but the superuser
    own = os.getpriority(os.PRIO_PROCESS, 0)
    with KnowledgeBase.open(shared_kb) as kb, QueryPool(kb, LIMITS) as pool:
        before = {worker.process.pid for worker in pool._workers}
        assert pool.query(FreeQuery(SLOW, timeout=50.0)).rows == 1
        until = time.monotonic() + 20
        while len(niceness(pool)) < 3 and time.monotonic() < until:
            time.sleep(0.01)
        assert niceness(pool) == [own] * 3
        assert len(before - {worker.process.pid for worker in pool._workers}) == 1


def test_a_network_of_ipv6_is_one_client() -> None:
    assert client_network("2001:db8::1") == client_network("2001:db8::ffff:1")
    assert client_network("2001:db8::1") != client_network("2001:db8:0:1::1")
    assert client_network("::ffff:192.0.2.7") == client_network("192.0.2.7") == "192.0.2.7"
    assert client_network("unix:") == "unix:"


def test_used_quota_is_429_with_retry_after(shared_kb: Path, tmp_path: Path) -> None:
    statuses: list[tuple[int, str | None]] = []

    def attack(host: str) -> None:
        line = http.client.HTTPConnection(host, timeout=60)
        line.request("GET", f"/sparql?timeout=2&query={quote(BOMB)}", headers={"Accept": "*/*"})
        reply = line.getresponse()
        reply.read()
        statuses.append((reply.status, reply.headers["Retry-After"]))
        line.close()

    with KnowledgeBase.open(shared_kb) as kb, QueryPool(kb, LIMITS) as pool:
        site = open_test_site(tmp_path)
        app = create_app(replace(site, free=PooledQueries(pool)))
        with running(app, threads=8) as address:
            host = address.removeprefix("http://")
            threads = [threading.Thread(target=attack, args=(host,)) for _ in range(4)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        site.close()
    assert (504, None) in statuses
    assert (429, "5") in statuses
    assert set(statuses) <= {(504, None), (429, "5"), (503, "5")}


def test_some_threads_never_wait_for_workers_of_queries(shared_kb: Path) -> None:
    def asked(text: str) -> FreeQuery:
        return FreeQuery(text, ResultFormat.of("json"), 50.0)

    with KnowledgeBase.open(shared_kb) as kb, QueryPool(kb, LIMITS) as pool:
        free = PooledQueries(pool, threads=3)
        slow = threading.Thread(target=free.answer, args=(asked(SLOW),))
        slow.start()
        while free._places._value:  # until it has begun
            time.sleep(0.001)
        with pytest.raises(QueryLimitError) as caught:
            free.answer(asked("ASK {}"))
        assert caught.value.limit == "busy"
        slow.join()
        assert b"true" in free.answer(asked("ASK {}"))
