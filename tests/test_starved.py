"""A server that gets hardly any of the processor answers everybody: what it can, or that they come again."""

import http.client
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path

ROOT = Path(__file__).parent.parent
ASKED = (
    "/sparql?query=SELECT%20*%20%7B%20%3Fs%20%3Fp%20%3Fo%20%7D%20LIMIT%20{}",
    "/concept-search?q=goji{}", "/api/complete?q=gou&limit={}", "/api/ask?q=goji{}", "/vocab?x={}",
)  # fmt: skip
CLIENTS, EACH = 30, 5


def ask(port: int, path: str) -> tuple[int, str | None]:
    line = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    try:
        line.request("GET", path, headers={"Accept": "*/*"})
        reply = line.getresponse()
        reply.read()
        return reply.status, reply.headers["Retry-After"]
    finally:
        line.close()


@contextmanager
def served(kb: Path) -> Iterator[tuple[int, int]]:
    """Serve ``kb``; give the port and the process."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "shiyi", "--kb", str(kb), "serve", "--port", str(port)]
    server = subprocess.Popen(  # noqa: S603 - ours
        [*command, "--read-only"], cwd=ROOT, stderr=subprocess.DEVNULL
    )
    try:
        for _ in range(300):
            with suppress(OSError):
                ask(port, "/metrics")
                break
            time.sleep(0.1)
        yield port, server.pid
    finally:
        server.terminate()
        server.wait(60)


@contextmanager
def starved(server: int) -> Iterator[None]:
    """Let a process have what is left by others that want all of the processor, after other tests."""
    for task in Path(f"/proc/{server}/task").iterdir():
        os.setpriority(os.PRIO_PROCESS, int(task.name), 19)
    hogs = [
        subprocess.Popen(["nice", "-n", "10", sys.executable, "-c", "while True: pass"])  # noqa: S607
        for _ in range(2 * (os.cpu_count() or 1))
    ]
    try:
        yield
    finally:
        for hog in hogs:
            hog.kill()
            hog.wait()


def test_everybody_is_answered_or_told_to_come_again(shared_kb: Path) -> None:
    with served(shared_kb) as (port, server), ThreadPoolExecutor(CLIENTS) as pool:
        paths = [ASKED[n % len(ASKED)].format(1 + n // len(ASKED)) for n in range(CLIENTS * EACH)]
        with starved(server):
            told = list(pool.map(lambda path: ask(port, path), paths))
        assert len(told) == CLIENTS * EACH
        assert {status for status, _ in told} <= {200, 429, 503}
        assert all((after is not None) == (status != 200) for status, after in told)
        assert {ask(port, path)[0] for path in paths[:5]} == {200}
