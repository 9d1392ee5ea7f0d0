"""Real processes killed, real hostile queries: nothing acknowledged is lost, nobody gets out."""

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

import shiyi
from shiyi.errors import QueryError, QueryLimitError
from shiyi.settings import QuerySettings
from shiyi.sparql.base.knowledge_base import KnowledgeBase, build_generation
from shiyi.sparql.base.writer import last_applied
from shiyi.sparql.queries.requests import FreeQuery
from shiyi.sparql.queries.results import Spool
from shiyi.sparql.sandbox.pool import QueryPool
from shiyi.sparql.sandbox.process import Deadline, WorkerGoneError, WorkerProcess
from tests.support.bases import BATCH, batches
from tests.support.places import ROOT
from tests.support.processes import Canary

SEED = 20250101
LIMITS = QuerySettings(timeout=1.0, memory_mib=512, workers=1, cache_bytes=0)

WRITER = """
import sys
from pathlib import Path
from tests.support.bases import batch
from shiyi.sparql.base.knowledge_base import KnowledgeBase
with KnowledgeBase.open(Path(sys.argv[1]), write=True) as kb:
    number = kb.sequence + 1
    print("ready", flush=True)
    while True:
        kb.writer.write(batch(number), batch(number - 10), key=f"k{number}", agent="w", reason="test")
        print(number, flush=True)
        if number % 7 == 0:
            kb.store.flush()
        number += 1
"""


def child(program: str, *arguments: str) -> subprocess.Popen[bytes]:
    roots = (Path(shiyi.__file__).parents[1], ROOT)
    return subprocess.Popen(  # noqa: S603 - our own program
        [sys.executable, "-c", program, *arguments],
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(map(str, roots))},
    )


def killed(process: subprocess.Popen[bytes], seconds: float, lines: int = 0) -> list[str]:
    """Kill ``process`` some time after it was ready and stated so many lines; return all it stated."""
    assert process.stdout is not None
    assert process.stdout.readline() == b"ready\n"
    output = [process.stdout.readline() for _ in range(lines)]
    time.sleep(seconds)
    process.kill()
    rest, _ = process.communicate()
    output += rest.splitlines(keepends=True)
    return [line.decode() for line in output if line.endswith(b"\n")]  # a part acknowledges nothing


def expected(last: int) -> Counter[int]:
    return Counter(dict.fromkeys(range(max(1, last - 9), last + 1), BATCH))


ELSEWHERE = Path("/dev/shm")  # noqa: S108 - a file system of its own, where it is there


@pytest.fixture(params=["beside the store", "on another file system"])
def snapshots(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[bool]:
    """Choose a place for the snapshots of ``tmp_path``; return whether they can be links."""
    if request.param == "beside the store":
        yield True
        return
    if not ELSEWHERE.is_dir() or ELSEWHERE.stat().st_dev == tmp_path.stat().st_dev:
        pytest.skip("there is no other file system")
    with tempfile.TemporaryDirectory(dir=ELSEWHERE) as folder:
        (tmp_path / "snapshots").symlink_to(folder)
        yield False


def test_readers_beside_busy_writer_see_one_whole_moment(
    tmp_path: Path, snapshots: bool, caplog: pytest.LogCaptureFixture
) -> None:
    build_generation(tmp_path, [], {})
    process = child(WRITER, str(tmp_path))
    assert process.stdout is not None
    try:
        assert process.stdout.readline() == b"ready\n"
        for _ in range(25):
            acknowledged = int(process.stdout.readline())
            with KnowledgeBase.open(tmp_path) as kb:
                last = last_applied(kb.store)
                assert last >= acknowledged
                assert batches(kb.store) == expected(last)
    finally:
        process.kill()
        process.communicate()
    assert list((tmp_path / "snapshots").iterdir()) == []
    results = [
        record.getMessage() for record in caplog.records if "whole copy" in record.getMessage()
    ]
    assert len(results) == (0 if snapshots else 1)
    assert all("one file system" in item for item in results)


def test_a_killed_reader_leaves_nothing_behind_for_long(small_kb: Path) -> None:
    program = """
import sys, time
from pathlib import Path
from shiyi.sparql.base.knowledge_base import KnowledgeBase
kb = KnowledgeBase.open(Path(sys.argv[1]))
print("ready", flush=True)
time.sleep(60)
"""
    killed(child(program, str(small_kb)), 0)
    assert len(list((small_kb / "snapshots").iterdir())) == 2
    KnowledgeBase.open(small_kb).close()
    assert list((small_kb / "snapshots").iterdir()) == []


def test_full_disk_gives_error_and_writing_resumes(tmp_path: Path) -> None:
    build_generation(tmp_path, [], {})
    program = """
import resource, signal, sys
from pathlib import Path
from tests.support.bases import batch
from shiyi.errors import KnowledgeBaseError
from shiyi.sparql.base.knowledge_base import KnowledgeBase
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
with KnowledgeBase.open(Path(sys.argv[1]), write=True) as kb:
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]), resource.RLIM_INFINITY))
    number = 0
    try:
        while number < 1000:
            kb.writer.write(batch(number + 1), key=f"k{number + 1}", agent="w", reason="test")
            number += 1
    except KnowledgeBaseError as fault:
        assert "make room" in str(fault), fault
    else:
        raise SystemExit("the disk was never full")
    assert len(list(kb.store.match())) >= number * 20
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    for again in (number + 1, number + 2):
        kb.writer.write(batch(again), key=f"k{again}", agent="w", reason="test")
    print("wrote", number, kb.sequence, flush=True)
"""
    process = child(program, str(tmp_path), "200000")
    text, _ = process.communicate(timeout=60)
    assert process.returncode == 0
    number, sequence = map(int, text.split()[1:])
    with KnowledgeBase.open(tmp_path, write=True) as kb:
        assert kb.sequence == sequence == number + 2 > 10
        assert batches(kb.store) == Counter(dict.fromkeys(range(1, sequence + 1), BATCH))


# ---------------------------------------------------------------------------- hostile queries

DOUBLING = (
    "SELECT ?x40 { BIND('xxxxxxxxxx' AS ?x0) "
    + " ".join(f"BIND(CONCAT(?x{i}, ?x{i}) AS ?x{i + 1})" for i in range(40))
    + " }"
)
HOSTILE = {
    "nested braces": "SELECT * {" + "{" * 5000 + "}" * 5000 + "}",
    "nested parentheses": "SELECT * { ?a ?b ?c FILTER(" + "(" * 5000 + "1" + ")" * 5000 + ") }",
    "nested EXISTS": "ASK {" + "FILTER EXISTS {" * 2000 + "}" * 2000 + "}",
    "many negations": "SELECT * { ?a ?b ?c FILTER(" + "!" * 20_000 + "?a) }",
    "a long sum": "SELECT * { ?a ?b ?c FILTER(" + "1+" * 20_000 + "1 > 0) }",
    "doubling": DOUBLING,
    "cartesian count": "SELECT (COUNT(*) AS ?n) { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i . ?j ?k ?l }",
    "cartesian order": "SELECT * { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i } ORDER BY ?i ?a",
    "cartesian rows": "SELECT * { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i }",
    "cartesian graph": "CONSTRUCT { ?a ?b ?f } { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i }",
    "endless path": "SELECT * { ?a (!<urn:x>)* ?b . ?c (!<urn:y>|^!<urn:z>)* ?d }",
    "an update": "DROP ALL",
    "no text": "",
}  # fmt: skip


@pytest.fixture(scope="module")
def pool(shared_kb: Path) -> Iterator[QueryPool]:
    with KnowledgeBase.open(shared_kb) as kb, QueryPool(kb, LIMITS) as made:
        yield made


def whole(pool: QueryPool) -> int:
    """Count all triples, once a new worker has started, which may take longer than a deadline."""
    for _ in range(20):
        with suppress(QueryLimitError):
            return pool.query(FreeQuery("SELECT * { ?s ?p ?o }")).rows
    raise AssertionError("no worker answers")


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_query_is_refused_and_next_is_answered(pool: QueryPool, name: str) -> None:
    with pytest.raises(QueryError):
        pool.query(FreeQuery(HOSTILE[name]))
    assert whole(pool) == 2000


@pytest.mark.parametrize("name", ["nested braces", "nested EXISTS", "many negations", "doubling"])
def test_what_passes_guard_kills_worker_and_nothing_else(
    pool: QueryPool, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shiyi.sparql.sandbox.pool.check_query", lambda *_: None)
    with pytest.raises(QueryLimitError):
        pool.query(FreeQuery(HOSTILE[name]))
    assert whole(pool) == 2000


def test_a_worker_killed_from_outside_is_replaced(pool: QueryPool) -> None:
    for _ in range(3):
        pool.query(FreeQuery("ASK {}"))
        os.kill(pool._workers[0].process.pid, signal.SIGKILL)
        with pytest.raises(QueryLimitError):
            pool.query(FreeQuery("ASK {}"))
        assert whole(pool) == 2000


def test_a_worker_without_a_parent_ends_itself(shared_kb: Path) -> None:
    with KnowledgeBase.open(shared_kb) as kb:
        snapshot = kb.take_snapshot()
        worker = WorkerProcess(LIMITS)
        request = _request(str(snapshot.path), HOSTILE["cartesian count"])
        with pytest.raises(TimeoutError):
            worker.ask({**request, "seconds": 0.1}, time.monotonic() + 0.2)
        with pytest.raises(WorkerGoneError) as gone:  # nobody kills it
            worker.rest(Deadline(time.monotonic() + 30.0), Spool())
        assert gone.value.status == -signal.SIGALRM
        worker.end()
        snapshot.remove()


def _request(snapshot: str, text: str) -> dict[str, object]:
    return {
        "snapshot": snapshot,
        "query": text,
        "seconds": 5.0,
        "solutions": "json",
        "graph": "ttl",
        "default_graphs": [],
        "named_graphs": [],
        "profile": "",
        "prefixes": {},
        "base": "",
    }


SSRF = [
    "SELECT * {{ SERVICE <{0}> {{ ?s ?p ?o }} }}",
    "SELECT * {{ service <{0}> {{ ?s ?p ?o }} }}",
    "SELECT * {{ SERVICE SILENT <{0}> {{ ?s ?p ?o }} }}",
    "PREFIX e: <{0}> SELECT * {{ SERVICE e:x {{ ?s ?p ?o }} }}",
    "SELECT * {{ SERVICE#}}\n<{0}> {{ ?s ?p ?o }} }}",
    "SELECT * {{ VALUES ?e {{ <{0}> }} SERVICE ?e {{ ?s ?p ?o }} }}",
    "ASK {{ FILTER EXISTS {{ SERVICE <{0}> {{ ?s ?p ?o }} }} }}",
    "SELECT * {{ ?s ?p ?o SERVICE <{0}> {{ SELECT ?x {{ BIND(?s AS ?x) }} }} }}",
    "SELECT * FROM <{0}> {{ ?s ?p ?o }}",
    "SELECT * FROM NAMED <{0}> {{ GRAPH <{0}> {{ ?s ?p ?o }} }}",
    "LOAD <{0}>",
]


def test_worker_that_was_not_guarded_still_reaches_nobody(shared_kb: Path, canary: Canary) -> None:
    with KnowledgeBase.open(shared_kb) as kb:
        snapshot = kb.take_snapshot()
        worker = WorkerProcess(replace(LIMITS, timeout=10.0))
        assert worker.wait_for_greeting()["network_blocked"] is True
        for query in SSRF:
            worker.ask(
                _request(str(snapshot.path), query.format(canary.address)), time.monotonic() + 10
            )
        worker.end()
        snapshot.remove()
    assert canary.visits == 0


def test_pool_reports_missing_network_isolation(
    shared_kb: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    greeting = {"outcome": "ready", "network_blocked": False}
    monkeypatch.setattr(WorkerProcess, "wait_for_greeting", lambda _: greeting)
    with KnowledgeBase.open(shared_kb) as kb, QueryPool(kb, LIMITS) as pool:
        assert pool.network_blocked is False
        with pytest.raises(QueryError, match="SERVICE"):
            pool.query(FreeQuery("SELECT * { SERVICE ?e }"))
