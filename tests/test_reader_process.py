"""What a reading process sends, down to the bytes; its threads and lines are in test_deployment.py."""

import select
import socket
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import Any

import pytest
from gunicorn.config import Config
from gunicorn.glogging import Logger
from gunicorn.workers.gthread import PollableMethodQueue, TConn

from shiyi.server.patience import CALM, SHORT
from shiyi.server.reader_process import ReaderProcess

ASKED = b"%s / HTTP/1.1\r\nHost: a\r\n\r\n"
Application = Callable[[Any, Any], Any]


class Reader(ReaderProcess):
    """One without a process of its own."""

    def __init__(self, wsgi: Application) -> None:
        self.cfg = Config()
        self.cfg.set("keepalive", 75)
        self.method_queue = PollableMethodQueue()
        self.method_queue.init()
        self.log, self.wsgi, self.alive = Logger(self.cfg), wsgi, True
        self.nr, self.max_requests = 0, sys.maxsize
        self.worker_connections, self.nr_conns = 8, 0
        self._silent, self._next_look = {}, 0.0
        self.keepalived_conns: deque[TConn] = deque()
        self._lines = select.epoll()
        self.tpool = self  # which puts what is handed out here
        self.taken: list[TConn] = []

    def put(self, conn: TConn) -> None:
        """Note what a thread would take."""
        self.taken.append(conn)


def sent(wsgi: Application, method: bytes = b"GET") -> tuple[bytes, int]:
    """Give what a client reads until the line ends or the answer is there, and in how many packets."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    conn = TConn(Config(), ours, ("127.0.0.1", 1), ("127.0.0.1", 80))
    conn.data_ready = True
    with ours, theirs:
        theirs.sendall(ASKED % method)
        Reader(wsgi).handle(conn)
        ours.close()
        packets = list(iter(lambda: theirs.recv(1 << 20), b""))
    return b"".join(packets), len(packets)


def app(parts: Callable[[], Iterator[bytes]], *head: tuple[str, str]) -> Application:
    def answer(environ: Any, start: Any) -> Any:
        start("200 OK", [("Content-Type", "text/plain"), *head])
        return parts()

    return answer


def test_the_head_goes_with_the_body() -> None:
    said, packets = sent(app(lambda: iter([b"all"]), ("Content-Length", "3")))
    assert said.startswith(b"HTTP/1.1 200 OK\r\n")
    assert said.endswith(b"\r\n\r\nall")
    assert packets == 1


def test_a_long_body_is_not_copied_for_it() -> None:
    body = b"x" * 70_000
    said, packets = sent(app(lambda: iter([body]), ("Content-Length", "70000")))
    assert said.endswith(b"\r\n\r\n" + body)
    assert packets == 2


@pytest.mark.parametrize(("method", "parts"), [(b"HEAD", [b"all"]), (b"GET", [])])
def test_a_head_that_nothing_follows_is_sent(method: bytes, parts: list[bytes]) -> None:
    said, _ = sent(app(lambda: iter(parts), ("Content-Length", str(sum(map(len, parts))))), method)
    assert said.startswith(b"HTTP/1.1 200 OK\r\n")
    assert said.endswith(b"\r\n\r\n")


def test_parts_of_unknown_length_go_as_they_come() -> None:
    said, packets = sent(app(lambda: iter([b"one", b"two"])))
    assert said.endswith(b"\r\n\r\n3\r\none\r\n3\r\ntwo\r\n0\r\n\r\n")
    assert packets == 3


def failing(*parts: bytes) -> Iterator[bytes]:
    yield from parts
    raise RuntimeError("a fault")


def test_a_fault_before_an_answer_is_an_answer() -> None:
    said, _ = sent(app(failing, ("Content-Length", "9")))
    assert said.startswith(b"HTTP/1.1 500")
    assert said.count(b"HTTP/1.1") == 1


def test_no_page_of_a_fault_follows_half_an_answer() -> None:
    said, _ = sent(app(lambda: failing(b"half"), ("Content-Length", "9")))
    assert said.startswith(b"HTTP/1.1 200 OK\r\n")
    assert said.endswith(b"\r\n\r\nhalf")
    assert said.count(b"HTTP/1.1") == 1


@contextmanager
def new_line(reader: Reader) -> Iterator[tuple[TConn, socket.socket]]:
    """Give a connection that a reader has just taken, and its client's end."""
    ours, theirs = socket.socketpair()
    conn = TConn(Config(), ours, ("127.0.0.1", 1), ("127.0.0.1", 80))
    reader.nr_conns += 1
    reader.enqueue_req(conn)
    with theirs, suppress(OSError), ours:
        yield conn, theirs


def pass_on(reader: Reader) -> None:
    """Do what the main thread does when something has come, and what threads do with it."""
    reader._hand_out(reader._lines)
    while reader.taken:
        reader._answer(reader.taken.pop())


@pytest.mark.parametrize("before", [b"", b"\r\n\r\n"])
def test_a_head_may_come_in_parts_and_a_thread_waits_for_none(before: bytes) -> None:
    reader = Reader(app(lambda: iter([b"all"]), ("Content-Length", "3")))
    with new_line(reader) as (conn, client):
        client.settimeout(0.0)
        for letter in before + ASKED % b"GET":
            with pytest.raises(BlockingIOError):
                client.recv(1)
            assert conn.timeout <= time.monotonic() + CALM.head
            client.send(bytes([letter]))
            pass_on(reader)
        assert client.recv(1 << 16).endswith(b"\r\n\r\nall")
        assert conn.timeout > time.monotonic() + CALM.head  # it may keep silent for longer now


def test_a_head_without_end_is_refused() -> None:
    reader = Reader(app(lambda: iter([b"all"])))
    with new_line(reader) as (_, client):
        client.settimeout(1.0)
        client.sendall(b"GET / HTTP/1.1\r\n")
        for _ in range(20):
            client.sendall(b"X-Long: " + b"x" * 4_000 + b"\r\n")
            pass_on(reader)
            if not reader._silent:
                break
        assert not reader._silent
        assert b" 200 " not in client.recv(1 << 16)


def test_who_does_not_ask_in_time_has_to_go_and_sooner_in_a_crowd() -> None:
    reader = Reader(app(lambda: iter([b"all"])))
    with ExitStack() as kept:
        lines = [kept.enter_context(new_line(reader)) for _ in range(6)]
        for conn, _ in lines:
            conn.timeout -= CALM.head - SHORT.head - 0.2  # nearly 9 seconds ago
        reader._next_look = 0.0
        reader.murder_keepalived()
        assert reader.nr_conns == 6
        lines += [kept.enter_context(new_line(reader))]  # of eight that there may be
        for conn, _ in lines[:6]:
            conn.timeout -= 0.3
        reader._next_look = 0.0
        reader.murder_keepalived()
        assert reader.nr_conns == 1
        assert lines[0][1].recv(1) == b""
