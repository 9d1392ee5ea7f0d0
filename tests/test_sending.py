"""Answers leave from the thread that made them: whole, in order, and the main loop sleeps meanwhile."""

import socket
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from waitress.server import create_server

from shiyi.server.sending import Channel

LONG = b"0123456789abcdef" * (1 << 18)  # 4 MiB: more than a socket takes at once
Start = Callable[[str, list[tuple[str, str]]], object]


def app(environ: dict[str, Any], start: Start) -> Iterable[bytes]:
    path = environ["PATH_INFO"]
    if path == "/nothing":
        start("304 Not Modified", [("ETag", '"a"')])
        return []
    if path == "/parts":
        start("200 OK", [("Content-Type", "text/plain")])
        return iter([b"one ", LONG, b" end"])
    if path == "/fault":
        start("200 OK", [("Content-Type", "text/plain")])
        return broken()
    body = LONG if path == "/long" else path.encode()
    start("200 OK", [("Content-Type", "text/plain"), ("Content-Length", str(len(body)))])
    return [] if environ["REQUEST_METHOD"] == "HEAD" else [body]


def broken() -> Iterator[bytes]:
    yield b"begun"
    raise RuntimeError


@contextmanager
def serving() -> Iterator[tuple[int, list[int]]]:
    """Give the port of a server, and how often its main loop has looked at its sockets."""
    server = create_server(app, host="127.0.0.1", port=0, threads=4, asyncore_use_poll=True)
    server.channel_class = Channel
    turns, readable = [0], server.readable

    def counted() -> bool:
        turns[0] += 1
        return bool(readable())

    server.readable = counted
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    try:
        yield int(server.effective_port), turns
    finally:
        server.task_dispatcher.shutdown()
        server.close()


def line_to(port: int) -> socket.socket:
    return socket.create_connection(("127.0.0.1", port), timeout=20)


def head_of(file: Any) -> bytes:
    lines = b""
    while (line := file.readline()) not in {b"\r\n", b""}:
        lines += line
    return lines


def get(path: str, method: str = "GET") -> bytes:
    return f"{method} {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()


def test_answers_on_one_connection_come_whole_and_in_order() -> None:
    with serving() as (port, _), line_to(port) as line, line.makefile("rb") as file:
        line.sendall(get("/a") + get("/b", "HEAD") + get("/long") + get("/nothing"))
        assert head_of(file).startswith(b"HTTP/1.1 200")
        assert file.read(2) == b"/a"
        assert b"Content-Length: 2" in head_of(file)
        assert b"Content-Length: 4194304" in head_of(file)
        assert file.read(len(LONG)) == LONG
        assert head_of(file).startswith(b"HTTP/1.1 304")


def test_an_answer_in_parts_comes_whole() -> None:
    with serving() as (port, _), line_to(port) as line:
        line.sendall(get("/parts"))
        with line.makefile("rb") as file:
            assert b"Transfer-Encoding: chunked" in head_of(file)
            said = b""
            while size := int(file.readline(), 16):
                said += file.read(size)
                file.readline()
    assert said == b"one " + LONG + b" end"


def test_head_and_body_of_a_short_answer_are_sent_together(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sent, send = list[bytes](), Channel.send

    def noted(channel: Channel, data: bytes, do_close: bool = True) -> Any:
        sent.append(bytes(data))
        return send(channel, data, do_close)

    monkeypatch.setattr(Channel, "send", noted)
    with serving() as (port, _), line_to(port) as line, line.makefile("rb") as file:
        for path, method in (("/short", "GET"), ("/b", "HEAD"), ("/nothing", "GET")):
            line.sendall(get(path, method))
            head = head_of(file)
            assert method == "HEAD" or b"304" in head or file.read(6) == b"/short"
    assert [each.partition(b"\r\n\r\n")[2] for each in sent] == [b"/short", b"", b""]


def test_a_fault_in_the_midst_of_a_body_cuts_the_connection() -> None:
    with serving() as (port, _), line_to(port) as line, line.makefile("rb") as file:
        line.sendall(get("/fault"))
        assert file.read().endswith(b"5\r\nbegun\r\n")  # no last part: the client sees the cut


def test_a_client_that_goes_away_leaves_the_server_to_others() -> None:
    with serving() as (port, _):
        for _ in range(8):
            with line_to(port) as line:
                line.sendall(get("/long") * 3)
                line.recv(100)
        with line_to(port) as line, line.makefile("rb") as file:
            line.sendall(get("/short"))
            head_of(file)
            assert file.read(6) == b"/short"


def test_a_refusal_is_sent_whole_and_ends_the_connection() -> None:
    with serving() as (port, _), line_to(port) as line, line.makefile("rb") as file:
        line.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\nContent-Length: x\r\n\r\n")
        said = file.read()
    assert said.startswith(b"HTTP/1.1 400")
    assert b"\r\n\r\n" in said


def test_the_main_loop_turns_a_few_times_for_each_answer() -> None:
    """It would turn without end while another thread sends."""
    clients, each = 8, 100
    with serving() as (port, turns):

        def ask() -> None:
            with line_to(port) as line, line.makefile("rb") as file:
                for _ in range(each):
                    line.sendall(get("/short"))
                    head_of(file)
                    assert file.read(6) == b"/short"

        asking = [threading.Thread(target=ask) for _ in range(clients)]
        before = turns[0]
        for thread in asking:
            thread.start()
        for thread in asking:
            thread.join()
        assert turns[0] - before <= 3 * clients * each
