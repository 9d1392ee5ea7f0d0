"""A process of gunicorn whose threads do all of a request, and whose main thread only hands them out.

gunicorn's own has its main thread take each connection back from the thread that answered, put it
among those it waits for, and see a client off that is told to leave, for up to two seconds. Here a
thread does that; the system tells the main thread of the next request (epoll(7), EPOLLONESHOT).
Nor does a thread wait for a client that says nothing, or half the head of a request: it takes what
came, and the connection waits among the others until the rest does.
"""

import select
import selectors
import socket
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from queue import SimpleQueue
from typing import Any, Final

from gunicorn import util
from gunicorn.http import wsgi
from gunicorn.workers.gthread import TConn, ThreadWorker
from typing_extensions import override

from shiyi.server.patience import CALM, CROWDED, SHORT

_AT_ONCE: Final = 64  # requests handed out before others of the main thread's duties
_OFTEN: Final = 1.0  # seconds between looks for connections that are silent for too long
_COPIED: Final = 1 << 16  # bytes of a part that goes with the head
_LINGERS: Final = 0.2  # seconds for a client that is told to go to do so
_ASKED: Final = 8192  # bytes read at once
_LONGEST: Final = 1 << 16  # bytes of a head
_END: Final = b"\r\n\r\n"
_WAITS: Final = select.EPOLLIN | select.EPOLLONESHOT


class Takers:
    """Threads that take connections on which a request has come; the first comes first."""

    def __init__(self, many: int, handle: Callable[[Any], None]) -> None:
        self._queue: SimpleQueue[tuple[Any, float]] = SimpleQueue()
        self._handle, self._taken = handle, threading.local()
        for number in range(many):
            threading.Thread(target=self._run, name=f"reader-{number}", daemon=True).start()

    def put(self, conn: Any) -> None:
        """Let a thread take a connection."""
        self._queue.put((conn, time.monotonic()))

    def waiting(self) -> int:
        """Count the connections that wait for a thread."""
        return self._queue.qsize()

    def waited(self) -> float:
        """Give the seconds that the request of this thread waited for it."""
        return float(getattr(self._taken, "waited", 0.0))

    def shutdown(self, wait: bool = False) -> None:
        """Leave the threads; they end with the process."""

    def _run(self) -> None:
        while True:
            conn, since = self._queue.get()
            self._taken.waited = time.monotonic() - since
            self._handle(conn)


class _Joined:
    """Sends what is written to a socket, but the first, a head, with what comes after it."""

    def __init__(self, line: Any) -> None:
        self._line, self._head, self.has_sent = line, b"", False

    def send(self, data: bytes) -> None:
        """Send what comes before any answer: that the client may go on."""
        self._line.sendall(data)

    def sendall(self, data: bytes) -> None:
        """Send a part of an answer."""
        if not self.has_sent and not self._head:
            self._head = data
            return
        if len(data) > _COPIED:
            self.flush()
        self._line.sendall(self._head + data)
        self._head, self.has_sent = b"", True

    def flush(self) -> None:
        """Send a head that nothing follows."""
        if self._head:
            self._line.sendall(self._head)
            self._head, self.has_sent = b"", True


class ReaderProcess(ThreadWorker):  # type: ignore[misc] # gunicorn has no types
    """Serves requests; ``tpool`` are its threads."""

    tpool: Takers

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._silent: dict[int, TConn] = {}  # connections that wait for a request
        self._next_look = 0.0

    @property
    def is_full(self) -> bool:
        """Tell whether so many connections are kept that the next had better end."""
        return len(self._silent) >= int(self.max_keepalived)

    @override
    def get_thread_pool(self) -> Takers:
        return Takers(self.cfg.threads, self._answer)

    @override
    def init_process(self) -> None:
        self._lines = select.epoll()
        super().init_process()  # which runs until the end

    @override
    def run(self) -> None:
        self.poller.register(self._lines, selectors.EVENT_READ, self._hand_out)
        super().run()

    @override
    def handle_request(self, req: Any, conn: TConn) -> bool:
        """Answer one request; the head goes with the first of the body, as one packet."""
        self.cfg.pre_request(self, req)
        joined = _Joined(conn.sock)
        answer, environ = wsgi.create(req, joined, conn.client, conn.server, self.cfg)
        environ["wsgi.multithread"] = True
        self.nr += 1
        if self.nr >= self.max_requests:
            self.alive = False
        if not self.alive:
            answer.force_close()
        is_whole = False
        try:
            parts = self.wsgi(environ, answer.start_response)
            try:
                for part in parts:
                    answer.write(part)
                answer.close()
            finally:
                if hasattr(parts, "close"):
                    parts.close()
            joined.flush()
            is_whole = True
        finally:
            if joined.has_sent and not is_whole:  # no page of a fault may follow half an answer
                util.close_graceful(conn.sock, _LINGERS)
        return not answer.should_close()

    @override
    def enqueue_req(self, conn: TConn) -> None:
        if conn.initialized:
            self.tpool.put(conn)
        else:  # it is new
            self._keep(conn, time.monotonic() + CALM.head)

    def _hand_out(self, lines: Any) -> None:
        for descriptor, _ in lines.poll(0, _AT_ONCE):
            if conn := self._silent.pop(descriptor, None):
                self.tpool.put(conn)

    def _answer(self, conn: TConn) -> None:
        """Answer one request in a thread; then let the connection wait for the next, or end it."""
        if not self._is_asked(conn):
            self._keep(conn, min(conn.timeout, time.monotonic() + CALM.head))
            return
        said = self.handle(conn)
        if said is True and self.alive:
            if conn.parser.unreader.buf.getbuffer().nbytes:
                self.tpool.put(conn)  # the next request came with this one
            else:
                self._keep(conn, time.monotonic() + self.cfg.keepalive)
            return
        if said is False:
            util.close_graceful(conn.sock, _LINGERS)
        done: Future[Any] = Future()
        done.set_result(said)
        self.method_queue.defer(self.finish_request, conn, done)

    def _is_asked(self, conn: TConn) -> bool:
        """Take what came, and tell whether the parser will not have to wait for a head."""
        if self.cfg.is_ssl:
            return True
        heard = getattr(conn, "heard", b"")
        if conn.initialized:
            heard += conn.parser.unreader.take_buffered()
        conn.sock.setblocking(False)
        try:
            while _END not in (heard := heard.lstrip(b"\r\n")):
                part = conn.sock.recv(_ASKED) if len(heard) < _LONGEST else b""
                if not part:
                    conn.sock.shutdown(socket.SHUT_RD)  # the parser says what is wrong with it
                    break
                heard += part
        except BlockingIOError:
            conn.heard = heard
            return False
        except OSError:  # as the parser will find
            pass
        conn.init()
        conn.parser.unreader.unread(heard)
        conn.heard = b""
        return True

    def _keep(self, conn: TConn, until: float) -> None:
        conn.timeout = until
        descriptor = conn.sock.fileno()
        self._silent[descriptor] = conn  # before its next request can come
        with suppress(OSError, ValueError):  # the process ends, and has closed it
            if getattr(conn, "is_listed", False):
                self._lines.modify(descriptor, _WAITS)
            else:
                conn.is_listed = True
                self._lines.register(descriptor, _WAITS)

    @override
    def murder_keepalived(self, force: bool = False) -> None:
        super().murder_keepalived(force)
        now = time.monotonic()
        if now < self._next_look and not force:
            return
        self._next_look = now + _OFTEN
        crowded = len(self._silent) > CROWDED * self.worker_connections
        sooner = CALM.head - SHORT.head if crowded else 0.0
        for descriptor, conn in list(self._silent.items()):
            if force or conn.timeout - (0.0 if conn.initialized else sooner) <= now:
                del self._silent[descriptor]
                self.nr_conns -= 1
                conn.close()

    def _cap_keepalive(self, deadline: float) -> None:
        super()._cap_keepalive(deadline)
        for conn in list(self._silent.values()):
            conn.timeout = min(conn.timeout, deadline)
