"""What a reading process sends, down to the bytes; its threads and lines are in test_deployment.py."""

import socket
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from gunicorn.config import Config
from gunicorn.glogging import Logger
from gunicorn.workers.gthread import TConn

from shiyi.server.reader_process import ReaderProcess

ASKED = b"%s / HTTP/1.1\r\nHost: a\r\n\r\n"
Application = Callable[[Any, Any], Any]


class Reader(ReaderProcess):
    """One without a process of its own."""

    def __init__(self, wsgi: Application) -> None:
        self.cfg = Config()
        self.log, self.wsgi, self.alive = Logger(self.cfg), wsgi, True
        self.nr, self.max_requests = 0, sys.maxsize


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
