"""Slow, silent and many clients, at the real server in its own process: the others are served."""

import json
import resource
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import SimpleNamespace
from urllib.parse import quote

import psutil
import pytest

from shiyi.server.patience import CALM, SHORT, Doorkeeper, places
from shiyi.sparql.generations import build_generation
from tests import kitchen

BEGUN = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-Slow: "
UPLOAD = b"POST /api/link HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 900\r\n\r\n{"


@pytest.fixture(scope="module")
def kb(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made, quads = tmp_path_factory.mktemp("slow") / "kb", list(kitchen.quads())
    build_generation(made, quads, {"quads": len(quads)})
    return made


@contextmanager
def serving(kb: Path, descriptors: int) -> Iterator[tuple[int, psutil.Process]]:
    """Run ``shiyi serve`` with so many descriptors; give its port and process."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    process = subprocess.Popen(  # noqa: S603 - our own interpreter
        [sys.executable, "-m", "shiyi", "--kb", str(kb), "serve", "--port", str(port)],
        stderr=subprocess.DEVNULL,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (descriptors, descriptors)),  # noqa: PLW1509 - before anything has threads
    )  # fmt: skip
    try:
        until = time.monotonic() + 60
        while not answered(port, "/healthz", 2.0):
            assert process.poll() is None
            assert time.monotonic() < until
            time.sleep(0.1)
        yield port, psutil.Process(process.pid)
    finally:
        process.terminate()
        process.wait(30)


def answered(port: int, path: str, seconds: float = 20.0) -> bool:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=seconds) as reply:
            return bool(json.loads(reply.read()))
    except urllib.error.HTTPError as fault:
        fault.close()
        return False
    except OSError:
        return False


def query(n: int) -> str:
    return f"/sparql?query={quote(f'SELECT ?s {{ ?s ?p ?o }} LIMIT {n}')}"


def opened(port: int, said: bytes, count: int, stack: ExitStack) -> list[socket.socket]:
    made = []
    for _ in range(count):
        line = stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=5))
        line.sendall(said)
        made.append(line)
    return made


def gone(lines: list[socket.socket]) -> int:
    """Count the connections that the server has closed."""
    closed = 0
    for line in lines:
        line.setblocking(False)
        try:
            closed += line.recv(1) == b""
        except BlockingIOError:
            continue
        except OSError:
            closed += 1
    return closed


@pytest.mark.parametrize("said", [BEGUN, UPLOAD], ids=["head", "body"])
def test_more_slow_sockets_than_places_keep_nobody_out(kb: Path, said: bytes) -> None:
    with serving(kb, 128) as (port, process), ExitStack() as stack:
        slow = opened(port, said, 45, stack)
        for number in range(1, 11):  # each waits for a place at most
            assert answered(port, query(number), 60.0), number
        assert gone(slow) > 10
        assert process.is_running()


def test_without_descriptors_it_recovers_by_itself(kb: Path) -> None:
    with serving(kb, 256) as (port, process):
        assert answered(port, query(1))
        held = process.num_fds()
        for limit in (held, held - 2):  # none is left, not even for a worker
            process.rlimit(psutil.RLIMIT_NOFILE, (limit, 256))
            for child in process.children():
                child.kill()
            with ExitStack() as stack:
                opened(port, BEGUN, 20, stack)
                answered(port, query(2), 2.0)
        process.rlimit(psutil.RLIMIT_NOFILE, (256, 256))
        assert any(answered(port, query(3 + n)) for n in range(3))
        for number in range(10, 20):
            assert answered(port, query(number)), number
        assert abs(process.num_fds() - held) <= 4


def channel(**said: object) -> SimpleNamespace:
    found = {"total_outbufs_len": 0, "requests": [], "request": None, "last_activity": 1.0, "will_close": False}  # fmt: skip
    return SimpleNamespace(**{**found, **said})


class _Hashed(SimpleNamespace):
    __hash__ = object.__hash__  # type: ignore[assignment] # as channels are found


def keeper(*channels: SimpleNamespace, most: int = 100) -> Doorkeeper:
    made = [_Hashed(**vars(each)) for each in channels]
    server = SimpleNamespace(
        readable=lambda: True, active_channels=dict(enumerate(made)),
        adj=SimpleNamespace(connection_limit=most),
    )  # fmt: skip
    return Doorkeeper(server)


HALF, HEAD = SimpleNamespace(headers_finished=True), SimpleNamespace(headers_finished=False)


@pytest.mark.parametrize(
    ("said", "calm", "short"),
    [
        ({}, CALM.silent, SHORT.silent), ({"request": HEAD}, CALM.head, SHORT.head),
        ({"request": HALF}, CALM.body, SHORT.body),
        ({"total_outbufs_len": 5, "requests": [1]}, CALM.listening, SHORT.listening),
    ],
)  # fmt: skip
def test_patience_ends_at_its_time_and_sooner_in_a_crowd(
    said: dict[str, object], calm: float, short: float
) -> None:
    for most, seconds in ((100, calm), (1, short)):
        door = keeper(channel(**said), most=most)
        assert [door.look(0.0), door.look(seconds), door.look(seconds + 0.1)] == [0, 0, 1]


def test_who_is_served_or_says_something_new_is_not_let_go() -> None:
    assert keeper(channel(requests=[1])).look(0.0) == 0
    door = keeper(channel(requests=[1]))
    assert [door.look(0.0), door.look(10_000.0)] == [0, 0]
    door = keeper(channel())
    assert door.look(0.0) == 0
    door._server.active_channels[0].last_activity = 2.0
    assert [door.look(CALM.silent + 5), door.look(2 * CALM.silent + 4)] == [0, 0]


def test_there_are_no_more_places_than_descriptors_allow() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(128, hard), hard))
        assert places() == 32
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert 8 <= places() <= 512
