"""Workers and the server's time are shared out: nobody's long queries keep the others waiting."""

import http.client
import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from flask import Flask
from waitress.server import create_server
from werkzeug.exceptions import TooManyRequests

from shiyi.errors import QueryLimitError
from shiyi.server import guard
from shiyi.server.app import create_app
from shiyi.server.metrics import Metrics
from shiyi.server.opening import PooledQueries
from shiyi.server.sending import Channel
from shiyi.server.shares import Shares, household
from shiyi.server.turnstile import Turnstile
from shiyi.settings import QuerySettings, Settings
from shiyi.sparql.free_query import FreeQuery
from shiyi.sparql.knowledge_base import KnowledgeBase
from shiyi.sparql.results import ResultFormat
from shiyi.sparql.turns import MOMENT, Turns
from shiyi.sparql.workers import QueryPool
from tests.server_site import open_test_site
from tests.stopping import stop

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


def turns(count: int, clock: Clock) -> Turns[str]:
    made = Turns[str](count, clock)
    for number in range(count):
        made.put(f"worker {number}")
    return made


def indebted(made: Turns[str], asker: str, seconds: float = 20.0) -> None:
    thing = made.take(asker, 0)
    made.left(asker, seconds, True)
    made.put(thing)


def refused(made: Turns[str], asker: str) -> str:
    with pytest.raises(QueryLimitError) as caught:
        made.take(asker, 0)
    return caught.value.limit


def test_a_modest_asker_may_have_every_worker(clock: Clock) -> None:
    made = turns(3, clock)
    assert len({made.take("a", 0) for _ in range(3)}) == 3
    assert refused(made, "b") == "busy"


def test_who_owes_much_runs_one_query_and_never_takes_the_last_worker(clock: Clock) -> None:
    made = turns(3, clock)
    for asker in "abc":
        indebted(made, asker)
    assert made.take("a", 0)
    assert refused(made, "a") == "busy"
    assert made.take("b", 0)
    assert refused(made, "c") == "busy"
    assert made.take("modest", 0)


def test_debt_is_forgiven_with_time(clock: Clock) -> None:
    made = turns(2, clock)
    indebted(made, "a")
    made.take("other", 0)
    assert refused(made, "a") == "busy"
    clock.now += 300
    assert made.take("a", 0)


def test_short_queries_are_not_held_against_anybody(clock: Clock) -> None:
    made = turns(2, clock)
    for _ in range(1000):
        thing = made.take("a", 0)
        made.left("a", MOMENT / 2, False)
        made.put(thing)
    assert len({made.take("a", 0) for _ in range(2)}) == 2


def test_one_of_who_owes_much_may_wait_and_the_next_is_told_so(clock: Clock) -> None:
    made = turns(2, clock)
    indebted(made, "a")
    things = [made.take("b", 0) for _ in range(2)]
    got: list[str] = []
    waiting = threading.Thread(target=lambda: got.append(made.take("a", 20)))
    waiting.start()
    while not made._line:
        time.sleep(0.001)
    assert refused(made, "a") == "share"
    for thing in things:
        made.left("b", 0, False)
        made.put(thing)
    waiting.join()
    assert got


def test_nobody_in_particular_owes_nothing_and_gets_the_last_worker(clock: Clock) -> None:
    made = turns(2, clock)
    for _ in range(9):
        indebted(made, "")
    assert len({made.take("", 0) for _ in range(2)}) == 2


def test_the_next_worker_goes_to_who_runs_least_and_owes_least(clock: Clock) -> None:
    made, came = turns(1, clock), list[str]()
    thing = made.take("a", 0)
    indebted_first = [made._known(name) for name in ("owing", "free")]
    indebted_first[0].owed, indebted_first[0].at = 2.0, clock.now

    def wait(asker: str) -> None:
        mine = made.take(asker, 20)
        came.append(asker)
        made.left(asker, 0, False)
        made.put(mine)

    threads = []
    for place, asker in enumerate(("a", "owing", "free"), 1):
        threads.append(threading.Thread(target=wait, args=(asker,)))
        threads[-1].start()
        while len(made._line) < place:
            time.sleep(0.001)
    made.put(thing)  # while the first of "a" still counts as running
    for thread in threads:
        thread.join()
    assert came == ["free", "owing", "a"]


def test_long_queries_have_one_seat_less_than_there_are_workers(clock: Clock) -> None:
    made = turns(3, clock)
    made.sit("a")
    with pytest.raises(QueryLimitError) as caught:
        made.sit("a")
    assert caught.value.limit == "share"
    made.sit("b")
    with pytest.raises(QueryLimitError) as caught:
        made.sit("c")
    assert caught.value.limit == "busy"
    made.rise("a")
    made.sit("c")


def test_askers_are_not_remembered_without_end(clock: Clock) -> None:
    made = turns(1, clock)
    for number in range(10_050):
        made.left(str(number), 5.0, False)
    assert len(made._askers) <= 10_001


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


def test_a_query_that_takes_longer_than_a_moment_is_answered_whole(shared_kb: Path) -> None:
    with KnowledgeBase.open(shared_kb) as kb, QueryPool(kb, LIMITS) as pool:
        began = time.monotonic()
        body = pool.query(FreeQuery(SLOW, asker="friend")).body
        assert time.monotonic() - began > MOMENT
        assert b'"12000000"' in body


def niceness(pool: QueryPool) -> list[int]:
    return [
        os.getpriority(os.PRIO_PROCESS, each.process.pid) for each in pool._workers if each.lives
    ]


def test_a_query_that_runs_on_gives_way_to_others_and_its_worker_comes_back(
    shared_kb: Path,
) -> None:
    ours = os.getpriority(os.PRIO_PROCESS, 0)
    with KnowledgeBase.open(shared_kb) as kb, QueryPool(kb, LIMITS) as pool:
        assert niceness(pool) == [ours] * 3
        asked = threading.Thread(target=lambda: pool.query(FreeQuery(SLOW, timeout=50.0)))
        asked.start()
        seen = 0
        while asked.is_alive():
            seen = max(seen, *niceness(pool))
            time.sleep(0.02)
        assert seen > ours
        assert niceness(pool) == [ours] * 3


def test_a_worker_that_the_system_keeps_back_is_replaced(
    shared_kb: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lower = os.setpriority

    def forbidden(which: int, who: int, wanted: int) -> None:
        if wanted < os.getpriority(which, who):
            raise PermissionError
        lower(which, who, wanted)

    monkeypatch.setattr(os, "setpriority", forbidden)  # as it is for all but the superuser
    ours = os.getpriority(os.PRIO_PROCESS, 0)
    with KnowledgeBase.open(shared_kb) as kb, QueryPool(kb, LIMITS) as pool:
        before = {each.process.pid for each in pool._workers}
        assert pool.query(FreeQuery(SLOW, timeout=50.0)).rows == 1
        until = time.monotonic() + 20
        while len(niceness(pool)) < 3 and time.monotonic() < until:
            time.sleep(0.01)
        assert niceness(pool) == [ours] * 3
        assert len(before - {each.process.pid for each in pool._workers}) == 1


@contextmanager
def crowd(settings: Settings, waiting: int, folder: Path) -> Iterator[Any]:
    site = replace(open_test_site(folder), settings=settings)
    app = create_app(site)
    guard.admit(app, lambda: waiting)
    try:
        yield app.test_client()
    finally:
        site.close()


def test_a_household_is_one_to_the_turnstile_however_many_addresses_it_has() -> None:
    entrance = Turnstile(Metrics(), 10)
    entrance.waiting = lambda: 8
    entrance.took("/", "GET", 200, "192.0.2.1", 0.1)
    entrance.took("/", "GET", 200, "2001:db8::1", 9.0)
    entrance.check("/page/x", "192.0.2.1")
    with pytest.raises(TooManyRequests):
        entrance.check("/page/x", "2001:db8::2")


def test_in_a_crowd_who_had_more_than_a_share_is_told_to_come_again(tmp_path: Path) -> None:
    with crowd(Settings(), 40, tmp_path) as client:
        enemy, friend = ({"REMOTE_ADDR": each} for each in ("192.0.2.1", "192.0.2.2"))
        statuses = set[int]()
        until = time.monotonic() + 10
        while 429 not in statuses and time.monotonic() < until:
            assert client.get("/browse?lang=en", environ_base=friend).status_code == 200
            for number in range(40):
                path = f"/concept-search?q=goji{number}"
                statuses.add(client.get(path, environ_base=enemy).status_code)
        assert statuses == {200, 429}
        told = client.get("/concept-search?q=goji", environ_base=enemy)
        assert (told.status_code, told.headers["Retry-After"]) == (429, "5")
        assert client.get("/browse?lang=en", environ_base=friend).status_code == 200
        assert b'shiyi_shed_total{kind="share"}' in client.get("/metrics", environ_base=enemy).data


def test_who_is_alone_may_have_all_of_it(clock: Clock) -> None:
    shares = Shares(clock)
    shares.took("a", 100.0)
    assert not shares.greedy("a")
    shares.took("b", 1.0)
    assert shares.greedy("a")
    assert not shares.greedy("b")
    clock.now += 5
    assert not shares.greedy("a")


def test_a_household_of_ipv6_is_one_asker() -> None:
    assert household("2001:db8::1") == household("2001:db8::ffff:1") != household("2001:db8:0:1::1")
    assert household("::ffff:192.0.2.7") == household("192.0.2.7") == "192.0.2.7"
    assert household("unix:") == "unix:"


def test_over_http_a_share_that_is_used_up_is_429_with_a_time_to_wait(
    shared_kb: Path, tmp_path: Path
) -> None:
    statuses: list[tuple[int, str | None]] = []

    def attack(port: int) -> None:
        line = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        line.request("GET", f"/sparql?timeout=2&query={quote(BOMB)}", headers={"Accept": "*/*"})
        reply = line.getresponse()
        reply.read()
        statuses.append((reply.status, reply.headers["Retry-After"]))
        line.close()

    with KnowledgeBase.open(shared_kb) as kb, QueryPool(kb, LIMITS) as pool:
        site = open_test_site(tmp_path)
        with served(create_app(replace(site, free=PooledQueries(pool)))) as port:
            threads = [threading.Thread(target=attack, args=(port,)) for _ in range(4)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        site.close()
    assert (504, None) in statuses
    assert (429, "5") in statuses
    assert set(statuses) <= {(504, None), (429, "5"), (503, "5")}


def test_some_threads_never_wait_for_the_workers_of_queries(shared_kb: Path) -> None:
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


def test_an_answer_tells_how_long_its_request_waited_for_a_thread(tmp_path: Path) -> None:
    site = open_test_site(tmp_path)
    app, go, waited = create_app(site), threading.Event(), list[float]()
    guard.admit(app, lambda: 0, Channel.waited)

    @app.get("/wait")
    def wait() -> str:
        waited.append(Channel.waited())
        go.wait(10)
        return ""

    def ask(port: int) -> None:
        line = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        line.request("GET", "/wait")
        line.getresponse().read()
        line.close()

    with served(app) as port:
        threads = [threading.Thread(target=ask, args=(port,)) for _ in range(9)]
        for thread in threads:
            thread.start()
        until = time.monotonic() + 10
        while len(waited) < 8 and time.monotonic() < until:
            time.sleep(0.01)
        time.sleep(0.2)
        go.set()
        for thread in threads:
            thread.join()
    site.close()
    assert len(waited) == 9
    assert waited[-1] >= 0.1  # the ninth may come a little after the eighth was let in


@contextmanager
def served(app: Flask) -> Iterator[int]:
    server = create_server(app, map={}, host="127.0.0.1", port=0, threads=8)
    server.channel_class = Channel
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    try:
        yield server.effective_port
    finally:
        stop(server)
        thread.join(10)
