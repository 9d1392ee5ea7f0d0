"""Parent side of one worker process."""

import json
import math
import os
import select
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import shiyi
from shiyi.errors import KnowledgeBaseError
from shiyi.settings import QuerySettings
from shiyi.sparql.queries.results import Spool
from shiyi.sparql.sandbox.framing import FRAME, pack

_START: Final = (
    "import sys; sys.path.append(sys.argv[1]); "
    "from importlib import import_module; import_module(sys.argv[2]).main(*sys.argv[3:])"
)
_PASSED_ON = ("PATH", "PYTHONPATH", "PYTHONHOME", "LD_LIBRARY_PATH", "LANG", "LC_ALL", "TMPDIR")
_START_SECONDS = 20.0  # a worker takes 0.1 s; more means a machine in distress
_CHUNK = 1 << 18  # bytes
_LOWER: Final = 10  # niceness increment: about a ninth of contended CPU time

Reply = tuple[dict[str, Any], Spool]


class WorkerGoneError(Exception):
    """A worker died in the middle of a query; ``status`` is its exit status."""

    def __init__(self, status: int) -> None:
        self.status = status


@dataclass(slots=True)
class Deadline:
    """When a reply must be there, on the monotonic clock; ``moments`` come before and end nothing.

    Each is a time and what is called then, which may raise to end the wait; earliest first.
    """

    until: float
    moments: list[tuple[float, Callable[[], None]]] = field(default_factory=list)

    def remaining(self) -> float:
        """Return the seconds until one or the other."""
        now = time.monotonic()
        while self.moments and now >= self.moments[0][0]:
            self.moments.pop(0)[1]()
        return min(self.until, self.moments[0][0] if self.moments else math.inf) - now


class WorkerProcess:
    """One confined process; it knows no secret, since it gets hardly any environment."""

    def __init__(self, limits: QuerySettings, program: str = "shiyi.sparql.sandbox.worker") -> None:
        """Start ``program``, a module with a ``main`` that confines itself and speaks in frames."""
        environment = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
        root = str(Path(shiyi.__file__).parents[1])
        self._process = subprocess.Popen(  # noqa: S603 - our own program, no shell
            [
                sys.executable,
                "-P",
                "-c",
                _START,
                root,
                program,
                str(limits.memory_mib),
                str(limits.rows),
                str(limits.bytes),
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            bufsize=0,
            env={**environment, "MALLOC_ARENA_MAX": "2", "PYTHONUTF8": "1"},
        )
        assert self._process.stdout is not None  # noqa: S101 - Popen was given PIPE
        self._poll = select.poll()
        self._poll.register(self._process.stdout, select.POLLIN)
        self._ready: dict[str, Any] | None = None
        self._was: int | None = None  # its niceness before it gave way
        self._received = bytearray()  # what came and belongs to the next message

    @property
    def pid(self) -> int:
        """Return the process id."""
        return self._process.pid

    def wait_for_greeting(self) -> dict[str, Any]:
        """Wait until the worker is up, and return its greeting."""
        if self._ready is None:
            try:
                deadline = Deadline(time.monotonic() + _START_SECONDS)
                self._ready = self.rest(deadline, Spool())
            except (WorkerGoneError, TimeoutError) as fault:
                self.end()
                raise KnowledgeBaseError(
                    "no query worker could be started; is pyoxigraph installed, and does "
                    "query.memory_mib leave room for it?"
                ) from fault
        return self._ready

    def ask(self, request: dict[str, Any], deadline: float | Deadline, body: bytes = b"") -> Reply:
        """Return the reply; TimeoutError at the ``deadline`` of the monotonic clock.

        The spool is the caller's to close.
        """
        into = Spool()
        until = deadline if isinstance(deadline, Deadline) else Deadline(deadline)
        try:
            header = self.begin(request, until, into, body)
            return header if header is not None else self.rest(until, into), into
        except BaseException:
            into.close()
            raise

    def begin(
        self, request: dict[str, Any], deadline: Deadline, into: Spool, body: bytes = b""
    ) -> dict[str, Any] | None:
        """Send a request; return the header of a short reply, None where :meth:`rest` follows."""
        self.wait_for_greeting()
        assert self._process.stdin is not None  # noqa: S101 - Popen was given PIPE
        try:
            left = memoryview(pack(request, body))
            while len(left):
                left = left[self._process.stdin.write(left) or 0 :]
        except OSError as fault:
            raise WorkerGoneError(self.end()) from fault
        return self._part(deadline, into)

    def rest(self, deadline: Deadline, into: Spool) -> dict[str, Any]:
        """Return the header of a reply that was begun, when all of it came."""
        while (header := self._part(deadline, into)) is None:
            pass
        return header

    def lower_priority(self) -> None:
        """Lower the priority of the process."""
        with suppress(OSError):  # it is gone, which the one that waits for it finds
            self._was = os.getpriority(os.PRIO_PROCESS, self.pid)
            os.setpriority(os.PRIO_PROCESS, self.pid, self._was + _LOWER)

    def restore_priority(self) -> bool:
        """Restore the priority of the process; False where the system forbids that."""
        if self._was is None:
            return True
        try:
            os.setpriority(os.PRIO_PROCESS, self.pid, self._was)
        except OSError:
            return False
        self._was = None
        return True

    def kill(self) -> None:
        """Kill the process; waiting for its reply then raises WorkerGoneError."""
        self._process.kill()

    def end(self) -> int:
        """Kill the process and give its exit status; twice does no harm."""
        self._process.kill()
        status = self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()
        return status

    def _part(self, deadline: Deadline, into: Spool) -> dict[str, Any] | None:
        """Receive one message, which has no header where the body goes on."""
        received, needed = self._received, FRAME.size
        while True:
            while len(received) < needed:
                received += self._read_chunk(deadline)
            header_size, body_size = FRAME.unpack_from(received)
            begin = FRAME.size + header_size
            needed = begin + body_size
            if len(received) >= needed:
                break
        into.add(bytes(received[begin:needed]))
        header: dict[str, Any] | None = None
        if header_size:
            header = json.loads(received[FRAME.size : begin].decode())
        del received[:needed]
        return header

    def _read_chunk(self, deadline: Deadline) -> bytes:
        assert self._process.stdout is not None  # noqa: S101 - Popen was given PIPE
        while (left := deadline.remaining()) > 0:
            if not self._poll.poll(left * 1000):
                continue
            part = os.read(self._process.stdout.fileno(), _CHUNK)
            if not part:
                raise WorkerGoneError(self._exit_status())
            return part
        raise TimeoutError

    def _exit_status(self) -> int:
        """Return the status the process died of, before ``end`` would put its own kill there."""
        try:
            return self._process.wait(timeout=1.0)
        except subprocess.TimeoutExpired:
            return self.end()
